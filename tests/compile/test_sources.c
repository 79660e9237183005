/* Tests that need no NVRTC: the options that a spec may give, and the headers that a source reaches. */
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "compile_internal.h"

/* Tests options that a spec may give, and options that Kiln refuses. Each refusal has the reason in its message. */
static void test_options(void)
{
    static const char *const good[] = {
        "-DX",
        "-DX=1",
        "-D X=a b/c@d",
        "-D=X",
        "--define-macro=X=3",
        "-UX",
        "-std=c++20",
        "--std=c++17",
        "--use_fast_math",
        "-use_fast_math",
        "-fmad=false",
        "--ftz=true",
        "-maxrregcount=64",
        "-lineinfo",
        "-G",
        "-default-device",
        "-w",
        "-diag-suppress=177,20012",
        "--frandom-seed=7",
        "-Xptxas=-v",
        "-Xptxas=-O1",
        "--ptxas-options=-dlcm=ca",
        "-Xptxas=--opt-level=3",
        "-Xptxas=-warn-spills",
        "--device-stack-protector",
        "-device-stack-protector=true",
        "-Ofc=max",
        "--dopt=on",
        "-restrict",
    };
    static const char *const bad[][2] = {
        {"", "does not begin with '-'"},
        {"@/etc/passwd", "does not begin with '-'"},
        {"x.cu", "does not begin"},
        {"-I/etc", "reads files"},
        {"-I", "reads files"},
        {"--include-path=/etc", "reads files"},
        {"-include=/etc/passwd", "reads files"},
        {"--pre-include=/etc/passwd", "reads files"},
        {"--options-file=/tmp/x", "reads files"},
        {"-time=/tmp/x", "writes a file"},
        {"--time=/tmp/x", "writes a file"},
        {"-time", "writes a file"},
        {"--fdevice-time-trace=/tmp/x", "writes a file"},
        {"--pch", "writes a file"},
        {"--create-pch=/tmp/x", "writes a file"},
        {"--pch-dir=/tmp", "writes a file"},
        {"--keep", "writes a file"},
        {"-dlto", "link step"},
        {"-dc", "link step"},
        {"--optix-ir", "link step"},
        {"-arch=sm_90", "the device or --arch gives the architecture"},
        {"--gpu-architecture=sm_90", "the device or --arch gives the architecture"},
        {"--no-source-include", "engine sets"},
        {"--split-compile=0", "cores"},
        {"-Xnvvm=-x", "not allowed in a spec"},
        {"--maxregcount=3", "did you mean '--maxrregcount'?"},
        {"-use_fastmath", "did you mean '-use_fast_math'?"},
        {"-Xptxas", "options of ptxas"},
        {"-Xptxas=-o,/tmp/x", "options of ptxas"},
        {"-Xptxas=-o=/tmp/x", "options of ptxas"},
        {"-Xptxas=-v,-o", "options of ptxas"},
        {"-Xptxas=--output-file=/tmp/x", "options of ptxas"},
        {"-Xptxas=--options-file=/tmp/x", "options of ptxas"},
        {"-Xptxas=@/tmp/x", "options of ptxas"},
        {"-Xptxas=/tmp/x", "options of ptxas"},
        {"-Xptxas=-O3 -o /tmp/x", "needs a word"},
        {"-Xptxas=-v=1", "takes no value"},
        {"-Xptxas -v", "not allowed"},
        {"-fmad", "needs a word"},
        {"-fmad=", "needs a word"},
        {"-std=/tmp/x", "needs a word"},
        {"-w=1", "takes no value"},
        {"-D", "needs the name of a macro"},
        {"-D=1", "needs the name of a macro"},
        {"-DX=1\n-o", "control character"},
        {"-", "not allowed in a spec"},
        {"--", "not allowed in a spec"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kiln_error *error = NULL;
        CHECK_OK(kiln__option_check(NULL, good[i], &error), error);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kiln_error *error = NULL;
        kiln_status status = kiln__option_check(NULL, bad[i][0], &error);
        bool there = strstr(kiln_error_message(error), bad[i][1]) != NULL;
        if (status != KILN_ERROR_REFUSED || !there)
            fprintf(stderr, "'%s': %s: %s\n", bad[i][0], kiln_status_name(status), kiln_error_message(error));
        CHECK(status == KILN_ERROR_REFUSED && there);
        kiln_error_free(error);
    }
}

/* ---- headers ---- */

static char folder[64];

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_write(NULL, path, text, strlen(text), &error), error);
}

/* Compares the collected names, joined by spaces, or the error. *source gets the text for the compiler; the caller
 * frees it. */
static void check_in(const kiln__include_paths *where, const char *text, const char *wanted, char **source)
{
    char path[128];
    snprintf(path, sizeof path, "%s/project/main.cu", folder);
    kiln__arena arena = {0};
    kiln__includes includes = {0};
    kiln_error *error = NULL;
    kiln__text got = {0};
    kiln_status status = kiln__includes_collect(NULL, &arena, path, text, where, &includes, &error);
    for (size_t i = 0; status == KILN_OK && i < includes.count; i++)
        kiln__text_printf(&got, "%s%s", i ? " " : "", includes.items[i].name);
    if (status != KILN_OK) {
        bool there = strstr(kiln_error_message(error), wanted) != NULL;
        if (!there)
            fprintf(stderr, "%s\n", kiln_error_message(error));
        CHECK(there && *wanted);
    } else {
        CHECK_TEXT(kiln__text_get(&got), wanted);
    }
    if (source)
        *source = kiln__strdup(NULL, includes.source ? includes.source : "");
    kiln_error_free(error);
    kiln__text_free(&got);
    kiln__arena_free(&arena);
}

static void check_headers(const char *text, const char *wanted)
{
    char project[96];
    snprintf(project, sizeof project, "%s/project", folder);
    const char *folders[] = {project};
    const kiln__include_paths where = {.folders = folders, .folder_count = 1, .allowed = folders, .allowed_count = 1};
    check_in(&where, text, wanted, NULL);
}

/* Checks a header whose name the compiler gets in another form. */
static void check_renamed(const kiln__include_paths *where, const char *text, const char *wanted, const char *as)
{
    char *source = NULL;
    check_in(where, text, wanted, &source);
    CHECK_TEXT(source, as);
    kiln__free(NULL, source);
}

/* Repeats a text, with its number in place of "%d". The caller frees the text. */
static char *repeat(const char *text, int times)
{
    kiln__text all = {0};
    for (int i = 0; i < times; i++)
        kiln__text_printf(&all, text, i);
    CHECK(!all.failed);
    return all.data;
}

/* Tests texts that would make the collection take time or memory without a bound. All names of a line may extend to the
 * end of the line. A source may name any number of Kiln's own headers, and search them in any number of folders. */
static void check_bounds(void)
{
    enum { FOLDERS = 1000 };
    static const struct {
        const char *text;
        int times;
        const char *wanted;
    } cases[] = {
        {"/**/#include <x", 1000, "main.cu:1: the name of a header has more than 4095 bytes"},
        {" __has_include(<x", 1000, "main.cu:1: the name of a header has more than 4095 bytes"},
        {"#include <cublas%d.h>\n", 5000, "more than 4096 headers are included"},
        {"#include <x>\n", 5000, "finding its headers takes too long"},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        char *text = repeat(cases[i].text, cases[i].times);
        const char *folders[FOLDERS];
        for (size_t k = 0; k < FOLDERS; k++)
            folders[k] = "/none";
        const kiln__include_paths where = {
            .folders = folders, .folder_count = i == 3 ? FOLDERS : 1, .allowed = folders, .allowed_count = 1};
        kiln__text ended = {0};
        kiln__text_printf(&ended, "%s>)\n#include <y>\n", text);
        check_in(&where, kiln__text_get(&ended), cases[i].wanted, NULL);
        kiln__text_free(&ended);
        kiln__free(NULL, text);
    }
}

/* Tests a project with src/ and include/, and a folder outside, once allowed and once forbidden. */
static void test_folders(void)
{
    static const char *const made[] = {"project", "project/include", "project/include/deep", "others", "secret"};
    char path[128], other[160], roots[3][96];
    strcpy(folder, "/tmp/kiln-includes-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    put("project/a.h", "int of_project;\n");
    put("project/include/a.h", "#pragma once\n#include \"b.h\"\n");
    put("project/include/b.h", "#include <deep/c.h>\n#include \"../include/a.h\"\n");
    put("project/include/deep/c.h", "#include \"a.h\"\n#include \"../b.h\"\n");
    put("others/d.h", "#include \"e.h\"\n");
    put("others/e.h", "int e;\n");
    put("secret/s.h", "int s;\n");
    static const char *const links[][2] = {{"others", "project/linked"}, {"secret/s.h", "project/include/s.h"}};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, links[i][0]);
        snprintf(other, sizeof other, "%s/%s", folder, links[i][1]);
        CHECK(symlink(path, other) == 0);
    }
    for (int i = 0; i < 3; i++)
        snprintf(roots[i], sizeof roots[i], "%s/%s", folder,
                 i == 0   ? "project"
                 : i == 1 ? "project/include"
                          : "others");
    const char *folders[] = {roots[0], roots[1]}, *allowed[] = {roots[0], roots[2]};
    kiln__include_paths where = {.folders = folders, .folder_count = 2, .allowed = allowed, .allowed_count = 1};

    /* the header beside main.cu comes first */
    check_in(&where, "#include <deep/c.h>\n", "deep/c.h a.h b.h include/a.h", NULL);
    /* One file has one name, so #pragma once works. Two files have two names. */
    check_renamed(&where, "#include \"include/b.h\"\n#include \"b.h\"\n", "include/b.h deep/c.h a.h include/a.h",
                  "#include \"include/b.h\"\n#include \"include/b.h\"\n");
    check_renamed(&where, "#include \"include/../include/b.h\" // here\nint i;\n",
                  "include/b.h deep/c.h a.h include/a.h", "#include \"include/b.h\" // here\nint i;\n");
    check_headers("#include <deep/c.h>\n", ""); /* the folder of the header is not given */
    check_in(&where, "#include \"linked/d.h\"\n", "others/d.h is outside the folders that may be read", NULL);
    check_in(&where, "\n#include \"s.h\"\n", "main.cu:2: #include \"s.h\": ", NULL);
    check_in(&where, "#include <s.h>\n", "allow its folder with -I FOLDER, or any with --read-anywhere", NULL);
    where.allowed_count = 2;
    check_in(&where, "#include \"linked/d.h\"\n", "linked/d.h e.h", NULL);
    check_in(&where, "#include \"../others/d.h\"\n", "others/d.h e.h", NULL);
    check_in(&where, "#include \"../secret/s.h\"\n", "secret/s.h is outside", NULL);
    check_in(&where, "#include \"../secret/none.h\"\n", "not found", NULL);
    check_in(&where, "#include \"s.h\"\n", "secret/s.h is outside", NULL);
    allowed[1] = "/"; /* --read-anywhere */
    check_renamed(&where, "#include \"../secret/s.h\"\n#include \"s.h\"\n", "secret/s.h",
                  "#include \"secret/s.h\"\n#include \"secret/s.h\"\n");
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
}

/* Checks that the compiler gets the file name that a macro stands for. */
static void check_macros(void)
{
    char project[96];
    snprintf(project, sizeof project, "%s/project", folder);
    const char *folders[] = {project};
    const kiln__include_paths where = {.folders = folders, .folder_count = 1, .allowed = folders, .allowed_count = 1};
    check_renamed(&where, "#define H \"sub/c.h\" // one\n#include H // here\n", "sub/c.h",
                  "#define H \"sub/c.h\" // one\n#include \"sub/c.h\" // here\n");
    check_renamed(&where, "#define STD(name) <cuda/std/name>\n#include STD(tuple)\n# include STD( a/b-2.h )\n", "",
                  "#define STD(name) <cuda/std/name>\n#include <cuda/std/tuple>\n# include <cuda/std/a/b-2.h>\n");
    put("project/std.h", "#define IN(name) <sub/name.h>\n");
    check_renamed(&where, "#include \"std.h\"\n#include IN(c)", "std.h sub/c.h",
                  "#include \"std.h\"\n#include <sub/c.h>");
    check_renamed(&where, "#include \"sub/c.h\"\n#define H \"../project/sub/c.h\"\n#include H", "sub/c.h",
                  "#include \"sub/c.h\"\n#define H \"../project/sub/c.h\"\n#include \"sub/c.h\"");
    check_headers("#if X\n#define H <a.h>\n#else\n#define H <a.h>\n#endif\n#include H", "a.h sub/b.h c.h");
    check_renamed(&where, "#ifdef H // no text defines it\n#include H\n#endif\n#include \"sub/c.h\"\n", "sub/c.h",
                  "#ifdef H // no text defines it\n#include \"H, a macro that neither the source nor its headers "
                  "define\"\n#endif\n#include \"sub/c.h\"\n");
    static const char *const refused[] = {
        "#define H G\n#include H",
        "#include __FILE__\n", /* a macro of the compiler */
        "#if X\n#define H <a.h>\n#else\n#define H \"a.h\"\n#endif\n#include H",
        "#define H(x) <x>\n#include H",
        "#define H <a.h>\n#include H(x)",
        "#define H(x, y) <x>\n#include H(x)",
        "#define a b\n#define H(x) <x.h>\n#include H(a)",
        "#define H <a.h> x\n#include H",
        "#define H <a.h\n#include H",
        "#define H <>\n#include H",
        "#define H <a.h>\n#include H x",
        "#define H <a_name_that_is_longer_than_the_reader_of_macros_has_room_for_in_a_word.h>\n#include H",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_headers(refused[i], "kiln supports #include \"name\", #include <name>");
    check_headers("#define H \"/etc/passwd\"\n#include H", "main.cu:2: #include of an absolute path");
    check_headers("#define H \"../secret.h\"\n#include H", "outside the folders");
}

/* A text of a megabyte is refused if its comments, joined lines or macros go on to its end. Reading such a text from
 * every line start would take hours. */
static void check_endless(const char *begin, const char *repeated, const char *wanted)
{
    enum { MEGABYTE = 1 << 20 };
    kiln__text text = {0};
    kiln__text_puts(&text, begin);
    while (text.length < MEGABYTE && !text.failed)
        kiln__text_puts(&text, repeated);
    check_headers(kiln__text_get(&text), wanted);
    kiln__text_free(&text);
}

static void check_all_endless(void)
{
    static const char late[] = "finding its #include lines takes too long";
    check_endless("// include\n", "#/*\n", late);
    check_endless("// include\n", "\\\n", late);
    if (CHECK_SANITIZER[0]) /* each text is read up to the limit, and a sanitizer takes two seconds for that */
        return;
    check_endless("// include\n", "\f", late);
    check_endless("// include\n", "i\\\n", late);
    check_endless("// include\n", "__has_include/*", late);
    check_endless("// include\n", "_\\\n", late);
    check_endless("#define A \"a.h\"\n", "#include A/*\n", late);
    check_endless("#define A \"a.h\"\n", "#include A\n", ", and #include of a macro that");
}

static void test_headers(void)
{
    strcpy(folder, "/tmp/kiln-includes-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    char path[128], other[128];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i ? "project/sub" : "project");
        CHECK(mkdir(path, 0700) == 0);
    }
    put("secret.h", "int secret;\n");
    put("project/a.h", "#pragma once\n#include \"sub/b.h\"\n");
    put("project/loop.h", "#include \"loop.h\"\n#include \"a.h\"\n");
    put("project/same.h", "int outer;\n");
    put("project/sub/b.h", "#include \"c.h\"\n");
    put("project/sub/c.h", "int c;\n");
    put("project/sub/same.h", "int inner;\n");
    put("project/sub/user.h", "#include \"same.h\"\n");
    put("project/sub/up.h", "#include \"../a.h\"\n");
    put("project/sub/out.h", "#include \"../../secret.h\"\n");
    snprintf(path, sizeof path, "%s/secret.h", folder);
    snprintf(other, sizeof other, "%s/project/link.h", folder);
    CHECK(symlink(path, other) == 0);

    check_headers("", "");
    check_headers("int x; // no directive: #include \"a.h\"", "");
    check_headers("#include \"a.h\"\n", "a.h sub/b.h c.h");
    check_headers("  #  include/**/\"a.h\" // \"x\n#include <a.h>", "a.h sub/b.h c.h");
    check_headers("#include \\\n \"a.h\"", "a.h sub/b.h c.h");
    check_headers("/* #include \"loop.h\" */ #include \"sub/c.h\"", "sub/c.h");
    check_headers("/* comment\n*/ #include \"sub/c.h\"", "sub/c.h");
    check_headers("const char *s = \"\\\n#include \\\"a.h\\\"\";\nint i = 1'000;\n#include \"sub/c.h\"", "sub/c.h");
    check_headers("auto s = R\"x(\n#include \"a.h\"\n)\" )x\";\n#include \"sub/c.h\"",
                  "a.h sub/b.h c.h"); /* an #include inside a string counts too */
    check_headers("char c = '\"';\n#include \"sub/c.h\"\nchar d = '\"';", "sub/c.h");
    check_headers("#inc\\\nlude \"a.h\"", "a.h sub/b.h c.h"); /* joined lines, within words too */
    check_headers("%\\\r\n:\\\ninclud\\\ne \"a.h\"", "a.h sub/b.h c.h");
    check_headers("#inc\\\nlude \"/etc/pass\\\nwd\"", ", #include <name>, and #include of a macro");
    check_headers("#inc\\\nlude \"/etc/passwd\"", "an absolute path");
    check_headers("/\\\n* \"\n#include \"a.h\"\n*\\\n/#include \"sub/c.h\"", "a.h sub/b.h c.h");
    check_headers("#define FOOR\nauto s = FOOR\"x(\";\n#include \"sub/c.h\"\n//)x\"", "sub/c.h");
    check_headers("auto s = u8R\"x(\n#include \"a.h\"\n)x\" LR\"(\n#include \"sub/c.h\")\";", "a.h sub/b.h c.h");
    check_headers("auto c = u8'\"'; auto s = \"/*\";\n#include \"sub/c.h\"\n//*/", "sub/c.h");
    check_headers("int i = 0x1'a\"/*\"_s + .5e+1'0;\n#include \"sub/c.h\"\n//*/'", "sub/c.h");
    check_headers("#define include_other 1\n#include_other \"a.h\"", "");
    /* #if is not evaluated */
    check_headers("#if 0\n#include \"sub/c.h\"\n#endif", "sub/c.h");
    check_headers("#include \"loop.h\"", "loop.h a.h sub/b.h c.h");
    check_headers("#include \"sub/up.h\"", "sub/up.h a.h sub/b.h c.h");
    check_headers("#include <cuda_fp16.h>\n#include \"cuda_fp16.h\"\n#includes", "");
    check_headers("#include_next \"sub/c.h\"", "sub/c.h");

    /* Directives that NVRTC executes, but that a simple reader takes for a text, a comment or nothing. */
    check_headers("#if 0\nR\"x(\n#endif\n#include \"sub/c.h\"\n//)x\"", "sub/c.h");
    check_headers("int i = 0'a /*';\n#include \"sub/c.h\"\n//*/", "sub/c.h");
    check_headers("const char *s = R\"(\";\n#include \"sub/c.h\"\n//)\";", "sub/c.h"); /* -std=c++03 */
    check_headers("?\?=include \"sub/c.h\"", "sub/c.h");
    check_headers("#inc?\?/\nlude \"sub/c.h\"", "sub/c.h");
    check_headers("// what?\?/\r\n#include \"sub/c.h\"", "sub/c.h");
    check_headers("%\\\n:include \"sub/c.h\"", "sub/c.h");
    check_headers("#inc\\\r\r\nlude \"sub/c.h\"", "sub/c.h"); /* several carriage returns do not end a line */
    check_headers("#inc?\?/\r\r\r\nlude \"sub/c.h\"", "sub/c.h");
    check_headers("#inc\\\r\r\nlude \"/etc/passwd\"", "an absolute path");
    check_headers("imp\\\r\r\nort \"a.h\";", "import of a header");
    check_headers("_\\\r\r\n_has_include(\"/etc/passwd\")", "__has_include of a path");
    check_headers("#\finclude\v\"sub/c.h\"\r\n", "sub/c.h"); /* white space */
    check_headers("// a\r#include \"sub/c.h\"", "sub/c.h");  /* one carriage return may end a line */
    check_headers("int x;\f#include \"sub/c.h\"", "sub/c.h");
    check_headers("int x;\v#include \"/etc/passwd\"", "an absolute path");
    check_headers("\xef\xbb\xbf#include \"sub/c.h\"", "sub/c.h");
    check_headers("int x; /* a */ # /* b\n*/ include \"sub/c.h\"", "sub/c.h");
    check_headers("#if 0\nR\"x(\n#endif\n#include \"/etc/passwd\"\n//)x\"", "main.cu:4: #include of an absolute path");
    check_headers("/*\n#include \"/etc/passwd\"\n*/", "main.cu:2: #include of an absolute path");
    check_headers("#include \"a?\?/b.h\"", "trigraph");
    check_headers("#include __FILE__", ", #include <name>, and #include of a macro");
    check_headers("\nimport \"/etc/passwd\";", "main.cu:2: import of a header");
    check_headers("export  import <a.h>;", "import of a header");
    check_headers("/**/ imp\\\nort \"a.h\";", "import of a header");
    check_headers("#define M \"a.h\"\nimport M;", "main.cu:2: import of a header");
    check_headers("/* To see this,\nimport the data\nexported from it. */ int import = 1, y = import < 3;", "");
    check_headers("#embed \"/etc/passwd\"", "#embed is not supported");
    check_headers("\n#if __has_include(\"/etc/passwd\")", "main.cu:2: __has_include of a path");
    check_headers("#if __has_\\\ninclude ( <sub/../../x> )", "__has_include of a path");
    check_headers("_\\\n_has_include(\"/etc/passwd\")", "__has_include of a path");
    check_headers("#if defined(__has_include) && __has_include(<cuda_fp16.h>)\n#include <cuda_fp16.h>\n#endif", "");
    check_headers("#include \"..\"", "not found");
    check_headers("#include \"same.h\"\n#include \"sub/user.h\"", "same.h sub/user.h sub/same.h");
    check_headers("#include \"link.h\"", "outside the folders");
    check_all_endless();
    check_headers("#include \"sub/out.h\"", "outside the folders");
    check_headers("#include \"../secret.h\"", "outside the folders");
    check_headers("\n#include </etc/passwd>", "main.cu:2: #include of an absolute path");
    check_headers("#include \"a.h", ", #include <name>, and #include of a macro");
    check_headers("#include", ", #include <name>, and #include of a macro");
    check_headers("#include \"\"", ", #include <name>, and #include of a macro");

    check_macros();

    /* Headers of the host that Kiln provides. A header of the project with the same name comes first. */
    check_headers("#include <cstdint>\n#include \"stdint.h\"\n#include <vector>\n",
                  "cstdint stdint.h vector bits/stl_algobase.h");
    put("project/sub/stdint.h", "int mine;\n");
    check_headers("#include \"sub/stdint.h\"\n#include <stdint.h>\n", "sub/stdint.h stdint.h");
    check_headers("#include <stdint.h>\n#include <math.h>\n#include \"sub/stdint.h\"\n",
                  "stdint.h math.h sub/stdint.h");
    put("project/math.h", "int math;\n");
    check_headers("#include <cmath>\n", "cmath math.h");

    kiln__text deep = {0};
    for (int i = 0; i < 80; i++) {
        char name[64], text[64];
        snprintf(name, sizeof name, "project/deep%d.h", i);
        snprintf(text, sizeof text, "#include \"deep%d.h\"\n", i + 1);
        put(name, text);
    }
    check_headers("#include \"deep0.h\"", "more than 64 deep");
    kiln__text_free(&deep);
    check_bounds();

    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln__includes includes = {0};
        kiln_error *error = NULL;
        snprintf(path, sizeof path, "%s/project", folder);
        const char *folders[] = {path};
        const kiln__include_paths where = {
            .folders = folders, .folder_count = 1, .allowed = folders, .allowed_count = 1};
        snprintf(other, sizeof other, "%s/project/main.cu", folder);
        kiln_status status = kiln__includes_collect(&mem, &arena, other, "#include \"a.h\"\n#include \"sub/up.h\"\n",
                                                    &where, &includes, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        CHECK(oom.failed || includes.count == 4);
        kiln_error_free(error);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
}

/* Tests a line number that no compiler accepts. The lines after it keep their own numbers, and no sum of numbers
 * overflows. */
static void test_numbers_of_lines(void)
{
    char text[] = "#line 9223372036854775807\n\n\n\nint a = b;\n#line 20\nint c = d;\n";
    kiln__text places = {0};
    CHECK(kiln__host_remove(NULL, text, "a.cu", "a.cu(5): error: x\na.cu(20): error: y\n", NULL, NULL, &places) == 2);
    CHECK_TEXT(kiln__text_get(&places), "a.cu:5, a.cu:20");
    CHECK(strstr(text, "int") == NULL);
    kiln__text_free(&places);
}

/* Tests a cubin with many sections that all refer to the same bytes of the file. */
static void test_sections_that_share_bytes(void)
{
    enum { SECTIONS = 1000, BYTES = 1 << 16 };
    static const char names[] = "\0.nv.info";
    static unsigned char file[sizeof(Elf64_Ehdr) + BYTES + 16 + SECTIONS * sizeof(Elf64_Shdr)];
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = 190, /* EM_CUDA */
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof header + BYTES + 16,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = 1};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(file + sizeof header + BYTES, names, sizeof names);
    for (size_t shared = 0; shared < 2; shared++) {
        kiln__cubin_kernel *kernels = NULL;
        kiln_error *error = NULL;
        size_t count = 1;
        memcpy(file, &header, sizeof header);
        for (size_t k = 1; k < SECTIONS; k++) {
            Elf64_Shdr section = {.sh_name = k > 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof header, .sh_size = 16};
            if (k == 1)
                section =
                    (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = sizeof header + BYTES, .sh_size = sizeof names};
            else if (shared)
                section.sh_size = BYTES;
            memcpy(file + header.e_shoff + k * sizeof section, &section, sizeof section);
        }
        const kiln_status status = kiln__cubin_kernels(NULL, file, sizeof file, &kernels, &count, &error);
        CHECK(status == (shared ? KILN_ERROR_IO : KILN_OK));
        CHECK(!shared || strcmp(kiln_error_message(error), "the cubin's sections are longer than the file") == 0);
        CHECK(shared || count == 0);
        kiln_error_free(error);
        kiln__free(NULL, kernels);
    }
}

/* Thousands of symbols may share one long name. Measuring the name for each symbol would take minutes, so the name is
 * read up to the limit of a name only. A table of names that does not end is refused. */
static void test_long_names(void)
{
    enum { SYMBOLS = 1 << 19, BYTES = 1 << 22, SECTIONS = 3 };
    static const char names[] = "\0.symtab";
    const size_t symbols = SYMBOLS * sizeof(Elf64_Sym);
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = 190, /* EM_CUDA */
                         .e_version = EV_CURRENT,
                         .e_shoff = sizeof header + BYTES + symbols,
                         .e_ehsize = sizeof header,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = 1};
    Elf64_Shdr sections[SECTIONS] = {{0},
                                     {.sh_type = SHT_STRTAB, .sh_offset = sizeof header, .sh_size = BYTES},
                                     {.sh_name = 1,
                                      .sh_type = SHT_SYMTAB,
                                      .sh_offset = sizeof header + BYTES,
                                      .sh_size = symbols,
                                      .sh_link = 1,
                                      .sh_entsize = sizeof(Elf64_Sym),
                                      .sh_addralign = 8}};
    const size_t length = header.e_shoff + sizeof sections;
    unsigned char *file = calloc(length, 1);
    kiln__cubin_kernel *kernels = NULL;
    kiln_error *error = NULL;
    size_t count = 1;
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(file, &header, sizeof header);
    memset(file + sizeof header, 'a', BYTES - 1);
    memcpy(file + sizeof header, names, sizeof names);
    for (size_t k = 0; k < SYMBOLS; k++) {
        const Elf64_Sym symbol = {.st_name = 16, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10};
        memcpy(file + sizeof header + BYTES + k * sizeof symbol, &symbol, sizeof symbol);
    }
    memcpy(file + header.e_shoff, sections, sizeof sections);
    CHECK_OK(kiln__cubin_kernels(NULL, file, length, &kernels, &count, &error), error);
    CHECK(count == 0);
    kiln__free(NULL, kernels);
    /* the symbols get a table of their own, which is the same bytes without the NUL at the end */
    sections[0] = sections[1];
    sections[0].sh_size--;
    sections[2].sh_link = 0;
    memcpy(file + header.e_shoff, sections, sizeof sections);
    CHECK(kiln__cubin_kernels(NULL, file, length, &kernels, &count, &error) == KILN_ERROR_IO);
    CHECK_TEXT(kiln_error_message(error), "the names of the cubin's symbols do not end");
    kiln_error_free(error);
    error = NULL;
    header.e_shstrndx = 0;
    memcpy(file, &header, sizeof header);
    CHECK(kiln__cubin_kernels(NULL, file, length, &kernels, &count, &error) == KILN_ERROR_IO);
    CHECK_TEXT(kiln_error_message(error), "not a cubin");
    kiln_error_free(error);
    free(file);
}

/* Replaces the definitions of the names A and B in a text, and of the same names in one header. Checks the new texts,
 * and the names that the macros then have. */
static void check_replaced(const char *text, const char *header, const char *want, const char *want_header,
                           const char *a, const char *b)
{
    kiln__arena arena = {0};
    const kiln__include item = {.name = "h.cuh", .text = header, .path = "/h.cuh"};
    kiln__includes includes = {.source = text, .items = &item, .count = header != NULL};
    kiln__prelude_macro macros[] = {{"A", "32"}, {"B", "64"}};
    CHECK(kiln__definitions_replace(NULL, &arena, &includes, macros, 2, NULL) == KILN_OK);
    CHECK_TEXT(includes.source, want);
    if (header)
        CHECK_TEXT(includes.items[0].text, want_header);
    CHECK_TEXT(macros[0].name, a);
    CHECK_TEXT(macros[1].name, b);
    kiln__arena_free(&arena);
}

/* A macro of the caller replaces a #define and a constant of the same name. A name keeps all its definitions if one of
 * them is not plain. For example, a directive tests or undefines the name, or one of its constants may be code of the
 * host. */
static void test_kept_definitions(void)
{
    static const char *const kept[] = {
        "int x = A;\n",
        "#define A\n",
        "#define A(x) x\n",
        "#define A \"text\"\n",
        "#define A // a/*\nint x; /* why */\n", /* no value */
        "#define A 1\n#undef A\n",
        "#define AB 1\n#define C A\n",
        "// #define A 1\n",
        "const char *s = \"#define A 1\";\n",
        "__constant__ const int A = 1;\n",
        "const float A = 1;\n",
        "int A = 1;\n",
        "const int A = f();\n",
        "void host() { const int A = 1; }\n",
        "template <class T> void host() { if (1) { const int A = 1; } }\n",
        /* a directive tests the name */
        "#ifndef A\nconstexpr int A = 16;\n#endif\n#if A % 4 == 0\nint x;\n#endif\n",
        "#ifdef A\nint x = A;\n#else\nconstexpr int A = 16;\n#endif\n",
        "constexpr int A = 16;\n#if A == 16\n#endif\n",
        "constexpr int A = 16;\n#if 0\n#elif defined(A)\n#endif\n",
        "#define A 1\n#ifdef A\n#endif\n",
        "#if defined A\n#endif\n#define A 1\n",
        "#ifndef A\n#define A 1\n#define C 2\n#endif\n#define A 3\n",
        "#define A 1\n#pragma push_macro(\"A\")\n#pragma pop_macro(\"A\")\n",
        "#if 0\nconstexpr int A = 16;\n#endif\n",
        "#ifndef __CUDACC_RTC__\nconstexpr int A = 16;\n#endif\n__global__ void k() { int x = A; }\n",
        "#define C (A * 2)\nconstexpr int A = 16;\n",
        /* only a part of the constants can be replaced */
        "namespace f { constexpr int A = 16; }\nnamespace b { constexpr int A = 2 * 8; }\n",
        "namespace f { constexpr int A = 16; }\nnamespace b { enum { A = 16 }; }\n",
        "namespace f { constexpr int A = 16; }\nnamespace b { enum { C, A }; }\n",
        "namespace f { constexpr int A = 16; }\nnamespace b { constexpr int A{16}; }\n",
        "namespace f { constexpr int A = 16; }\nnamespace b { constexpr int A(16); }\n",
        "namespace f { constexpr int A = 16; }\nnamespace b { constexpr int C = 1, A = 16; }\n",
        "namespace f { constexpr int A = 16; }\ntemplate <int A> __global__ void k() {}\n",
        "namespace f { constexpr int A = 16; }\n#define A 16\n",
        "void host() { const int A = 1; }\n__global__ void k() { { constexpr int A = 1; } }\n",
        /* a scope that may belong to the host */
        "template <class T> void run() const { const int A = 128; }\n",
        "template <class T> void run() noexcept { const int A = 128; }\n",
        "template <class T> auto run(T x) -> struct s { const int A = 128; }\n",
        "struct s { const int A = 1; };\n",
        "#ifdef X\n__global__ void k(int a) {\n#else\n__global__ void k(float a) {\n#endif\n}\n"
        "void host() { const int A = 1; }\n",
        "} const int A = 1;\n",
        "const int A = 1; {\n",
        "__global__ void k() { for (const int A = 1; A < x;) {} }\n",
        "__global__ void k(int n) { if (n > 1'000) { } }\nvoid host() { const int A = 1; }\n",
        /* types and values that do not hold every whole number */
        "const unsigned char A = 1;\n",
        "const bool A = 1;\n",
        "const short A = 1;\n",
        "const int A = 1.5;\n",
        "constexpr auto A = 1u;\n",
        /* other words for the compiler */
        "?\?=define A 2\n#define A 1\n",
        "%:undef A\n#define A 1\n",
        "// joined \\\n#define A 1\n",
        "/* *\\\n/ const int A = 1; /* */\n",
        "const int X\\\nA = 1;\nconst int A = 1;\n",
        "#define A 1 \\\r\r\n + 2\n",
        "const char *s = \"x\\\r\n#define A 1\";\n",
        "#if 0\nR\"x(\n#endif\n#undef A\n//)x\"\n#define A 1\n",
        "auto s = FOOR\"x(\";\n#define A 1\n//)x\"\n",
    };
    for (size_t i = 0; i < KILN__COUNT(kept); i++)
        check_replaced(kept[i], NULL, kept[i], NULL, "A", "B");
    check_replaced("#define A 1\n", "#if A == 1\n#endif\n", "#define A 1\n", "#if A == 1\n#endif\n", "A", "B");
    check_replaced("const int A = 1;\n", "void host() { const int A = 1; }\n", "const int A = 1;\n",
                   "void host() { const int A = 1; }\n", "A", "B");
}

static void test_definitions(void)
{
    static const char v[] = "KILN_VALUE_OF_A";
    check_replaced("#define A 1\nint x = A;\n", "# define B (2 + \\\n 3) // why\n", "           \nint x = A;\n",
                   "                \\\n    // why\n", "A", "B");
    check_replaced("#define A 1 /* goes\non */ + 2\nint x;\n", NULL, "            /* goes\non */    \nint x;\n", NULL,
                   "A", "B");
    check_replaced("#ifndef A\n#define A 1\n#endif\n", NULL, "#ifndef A\n           \n#endif\n", NULL, "A", "B");
    check_replaced("static constexpr int A = 1;\n", "namespace n { struct s { static const unsigned A = 2u; }; }\n",
                   "static constexpr int A = KILN_VALUE_OF_A;\n",
                   "namespace n { struct s { static const unsigned A = KILN_VALUE_OF_A; }; }\n", v, "B");
    check_replaced("void host() { run(A); }\n__global__ void k() { { constexpr std::size_t A = 1; } }\n", NULL,
                   "void host() { run(A); }\n__global__ void k() { { constexpr std::size_t A = KILN_VALUE_OF_A; } }\n",
                   NULL, v, "B");
    check_replaced("const int A = 1;\nconst int B = 2;\n#define C 3\n", NULL,
                   "const int A = KILN_VALUE_OF_A;\nconst int B = KILN_VALUE_OF_B;\n#define C 3\n", NULL, v,
                   "KILN_VALUE_OF_B");
    /* the name in other directives */
    check_replaced("#define A 1\n#define C (A * A)\n#pragma unroll A\n", NULL,
                   "           \n#define C (A * A)\n#pragma unroll A\n", NULL, "A", "B");
    check_replaced("const int A = 1;\n#pragma unroll A\n", NULL, "const int A = KILN_VALUE_OF_A;\n#pragma unroll A\n",
                   NULL, v, "B");
    check_replaced("#define A 1\n#define NAME <x.h>\n#include NAME\n", NULL,
                   "           \n#define NAME <x.h>\n#include NAME\n", NULL, "A", "B");
    /* the end of a directive */
    check_replaced("#define A 16 // see src/*.cu\n__global__ void k() {}\nint f(); /* helper */\n", NULL,
                   "             // see src/*.cu\n__global__ void k() {}\nint f(); /* helper */\n", NULL, "A", "B");
    check_replaced("#define A 16 //* a\nint f(); /* helper */\n", NULL, "             //* a\nint f(); /* helper */\n",
                   NULL, "A", "B");
    check_replaced("#define A f(\"/*\")\nint f(); /* helper */\n", NULL, "                 \nint f(); /* helper */\n",
                   NULL, "A", "B");
    /* the lines keep their numbers */
    check_replaced("#define A f(\"x\\\ny\")\nint x;\n", NULL, "              \\\n   \nint x;\n", NULL, "A", "B");
    /* the constant is in a header with a guard, in a structure, or in an inline namespace */
    check_replaced("#include \"h.cuh\"\n", "#ifndef H\n#define H\nconst int A = 1;\n#if X\n#endif\n#endif // H\n",
                   "#include \"h.cuh\"\n",
                   "#ifndef H\n#define H\nconst int A = KILN_VALUE_OF_A;\n#if X\n#endif\n#endif // H\n", v, "B");
    check_replaced("template <class T> struct s : b<T> { public: static const int A = 1; int f() { return A; } };\n",
                   NULL,
                   "template <class T> struct s : b<T> { public: static const int A = KILN_VALUE_OF_A; int f() { "
                   "return A; } };\n",
                   NULL, v, "B");
    check_replaced("inline namespace n { extern \"C\" { const int A = 1; } }\n", NULL,
                   "inline namespace n { extern \"C\" { const int A = KILN_VALUE_OF_A; } }\n", NULL, v, "B");
}

/* Tests values that are no whole numbers, a macro that is twice in the list, too many constants, and a text that is too
 * long. */
static void test_many_definitions(void)
{
    enum { CONSTANTS = 65, WORDS = 1 << 20 };
    static const char constant[] = "const int A = 1;\n";
    static const char *const values[] = {"1.5", "half", "-1", "4294967296", ""};
    for (size_t i = 0; i < KILN__COUNT(values); i++) {
        kiln__arena arena = {0};
        kiln__includes includes = {.source = "const unsigned A = 1;\n"};
        kiln__prelude_macro macro = {"A", values[i]};
        CHECK(kiln__definitions_replace(NULL, &arena, &includes, &macro, 1, NULL) == KILN_OK);
        CHECK_TEXT(includes.source, "const unsigned A = 1;\n");
        CHECK_TEXT(macro.name, "A");
        kiln__arena_free(&arena);
    }
    kiln__arena arena = {0};
    kiln__includes includes = {.source = constant};
    kiln__prelude_macro twice[] = {{"A", "2"}, {"A", "2"}};
    CHECK(kiln__definitions_replace(NULL, &arena, &includes, twice, 2, NULL) == KILN_OK);
    CHECK_TEXT(includes.source, "const int A = KILN_VALUE_OF_A;\n");
    CHECK_TEXT(twice[0].name, "KILN_VALUE_OF_A");
    CHECK_TEXT(twice[1].name, "KILN_VALUE_OF_A");
    kiln__arena_free(&arena);
    kiln__text many = {0}, large = {0};
    for (int i = 0; i < CONSTANTS; i++)
        kiln__text_printf(&many, "namespace n%d { %s }\n", i, constant);
    check_replaced(many.data, NULL, many.data, NULL, "A", "B");
    kiln__text_puts(&large, "#define A 1\n");
    for (int i = 0; i < WORDS; i++)
        kiln__text_puts(&large, ";");
    kiln__text_puts(&large, "\n#undef A\n");
    check_replaced(large.data, NULL, large.data, NULL, "A", "B");
    kiln__text_free(&many);
    kiln__text_free(&large);
}

/* Memory may run out at each allocation of the replacement. */
static void test_definitions_without_memory(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        kiln_error *error = NULL;
        const kiln__include item = {.name = "h.cuh", .text = "#define A 1\n", .path = "/h.cuh"};
        kiln__includes includes = {.source = "const int B = 1;\n", .items = &item, .count = 1};
        kiln__prelude_macro macros[] = {{"A", "32"}, {"B", "64"}};
        const kiln_status status = kiln__definitions_replace(&mem, &arena, &includes, macros, 2, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        if (!oom.failed)
            CHECK_TEXT(includes.source, "const int B = KILN_VALUE_OF_B;\n");
        kiln_error_free(error);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

static const check_case cases[] = {{"options", test_options},
                                   {"long names", test_long_names},
                                   {"headers", test_headers},
                                   {"folders", test_folders},
                                   {"numbers of lines", test_numbers_of_lines},
                                   {"definitions", test_definitions},
                                   {"kept definitions", test_kept_definitions},
                                   {"many definitions", test_many_definitions},
                                   {"definitions without memory", test_definitions_without_memory},
                                   {"sections that share bytes", test_sections_that_share_bytes}};
KILN_SUITE("sources", cases)
