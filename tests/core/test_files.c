/* Tests finding files: the names by which files are found, and the files that are refused. */
#include "engine.h"
#include "core_internal.h"
#include "scratch.h"

#define SPEC(title)                                                                                                    \
    "kiln: 1\nname: thing\ntitle: " title "\nsource: thing.cu\nsizes:\n  default: {N: 64}\n"                           \
    "buffers:\n  x: {type: f32, shape: [N], out: true}\n"                                                              \
    "variants:\n  plain:\n    launch: {kernel: k, grid: [1], block: [N], args: [x, N]}\n"

static kiln_engine *open_engine(const char *path, unsigned flags)
{
    setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    unsetenv("KILN_PATH");
    unsetenv("KILN_INCLUDE");
    unsetenv("KILN_WORKER");
    kiln_options options = {
        .size = sizeof options, .device = "sim", .search_path = path, .flags = KILN_NO_CACHE | flags};
    kiln_engine *engine = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    return engine;
}

static void finds(kiln_engine *engine, const char *folder, const char *name, bool source, const char *want)
{
    kiln__arena arena = {0};
    kiln_error *error = NULL;
    const char *path = NULL;
    kiln_status status = source ? kiln__engine_find_source(engine, folder, name, &arena, &path, &error)
                                : kiln__engine_find_file(engine, folder, name, &arena, &path, &error);
    CHECK_OK(status, error);
    char full[4200];
    snprintf(full, sizeof full, "%s/%s", scratch_folder, want);
    CHECK_TEXT(path, full);
    kiln__arena_free(&arena);
}

static void refuses(kiln_engine *engine, const char *name, bool source, kiln_status want, const char *message)
{
    kiln__arena arena = {0};
    kiln_error *error = NULL;
    const char *path = NULL;
    kiln_status status = source ? kiln__engine_find_source(engine, "specs", name, &arena, &path, &error)
                                : kiln__engine_find_file(engine, "specs", name, &arena, &path, &error);
    CHECK(status == want);
    CHECK(path == NULL);
    const char *got = kiln_error_message(error);
    if (strncmp(got, message, strlen(message)) != 0)
        CHECK_TEXT(got, message);
    kiln_error_free(error);
    kiln__arena_free(&arena);
}

/* Tests the folders that the engine makes of `include`, as names below the scratch folder with spaces between them, or
 * the error. */
static void check_include(kiln_engine *engine, const char *const *include, size_t count, const char *want)
{
    kiln__arena arena = {0};
    kiln_error *error = NULL;
    kiln__include_paths paths;
    kiln__text got = {0};
    char source[4200];
    snprintf(source, sizeof source, "%s/specs/src/k.cu", scratch_folder);
    if (kiln__engine_include_paths(engine, "specs", source, include, count, &arena, &paths, &error) == KILN_OK)
        for (size_t i = 0; i < paths.folder_count; i++) {
            const char *folder = paths.folders[i];
            size_t length = strlen(scratch_folder);
            bool inside = strncmp(folder, scratch_folder, length) == 0;
            if (!strstr(folder, "share/kiln")) /* leaves out the folders of an installed Kiln */
                kiln__text_printf(&got, "%s%s", i ? " " : "", inside ? folder + length + 1 : folder);
        }
    else
        kiln__text_puts(&got, kiln_error_message(error));
    if (strncmp(kiln__text_get(&got), want, strlen(want)) != 0)
        CHECK_TEXT(kiln__text_get(&got), want);
    kiln_error_free(error);
    kiln__text_free(&got);
    kiln__arena_free(&arena);
}

/* Tests the folders of `include`: their order, the folders of the search path, and folders outside, which are refused.
 */
static void test_include(void)
{
    scratch_enter();
    scratch_file("specs/src/k.cu", "k");
    scratch_file("specs/heads/h.h", "h");
    scratch_file("more/deep/h.h", "h");
    scratch_file("outside/h.h", "s");
    scratch_file("own/h.h", "s");
    CHECK(symlink("../outside", "specs/link") == 0);
    kiln_engine *engine = open_engine("more", 0);
    check_include(engine, NULL, 0, "specs/src more");
    check_include(engine, (const char *[]){"deep", "heads", "../more/deep"}, 3,
                  "specs/src more/deep specs/heads more/deep more");
    check_include(engine, (const char *[]){"nothing"}, 1,
                  "a folder of 'include': nothing: not found; searched specs, more");
    check_include(engine, (const char *[]){"heads/h.h"}, 1, "heads/h.h is not a folder");
    check_include(engine, (const char *[]){"../outside"}, 1,
                  "a folder of 'include': ../outside: a spec may only read files below specs, more");
    check_include(engine, (const char *[]){"link"}, 1,
                  "a folder of 'include': link: a spec may only read files below specs, more");
    kiln_engine_close(engine);
    engine = open_engine("more", KILN_READ_ANYWHERE);
    check_include(engine, (const char *[]){"link", "../outside"}, 2, "specs/src outside outside more");
    kiln_engine_close(engine);
    setenv("KILN_INCLUDE", "own:outside", 1);
    kiln_options options = {.size = sizeof options, .device = "sim", .search_path = "more", .flags = KILN_NO_CACHE};
    kiln_error *error = NULL;
    CHECK_OK(kiln_engine_open(&options, &engine, &error), error);
    unsetenv("KILN_INCLUDE");
    CHECK(engine->include_count == 2);
    check_include(engine, (const char *[]){"link"}, 1, "specs/src outside more");
    kiln_engine_close(engine);
    scratch_leave();
}

static void test_trust(void)
{
    scratch_enter();
    scratch_file("specs/a.npy", "a");
    scratch_file("specs/deep/b.npy", "b");
    scratch_file("more/c.npy", "c");
    scratch_file("outside/secret", "s");
    scratch_file("specsoutside/secret", "s");
    scratch_file("kernel_src/k.cu", "k");
    scratch_file("more/kernel_src/m.cu", "m");
    CHECK(symlink("../outside/secret", "specs/link") == 0);
    CHECK(symlink("../outside", "specs/folder") == 0);
    CHECK(symlink("deep/b.npy", "specs/inside") == 0);
    kiln_engine *engine = open_engine("more", 0);
    finds(engine, "specs", "a.npy", false, "specs/a.npy");
    finds(engine, "specs", "deep/b.npy", false, "specs/deep/b.npy");
    finds(engine, "specs", "deep/../a.npy", false, "specs/a.npy");
    finds(engine, "specs", "inside", false, "specs/deep/b.npy");
    finds(engine, "specs", "c.npy", false, "more/c.npy");
    finds(engine, "specs", "../more/c.npy", false, "more/c.npy"); /* the file lies in the search path */
    char absolute[4200];
    snprintf(absolute, sizeof absolute, "%s/specs/a.npy", scratch_folder);
    finds(engine, "specs", absolute, false, "specs/a.npy");
    finds(engine, "specs", "k.cu", true, "kernel_src/k.cu");
    finds(engine, "specs", "m.cu", true, "more/kernel_src/m.cu");
    finds(engine, "specs", "../kernel_src/k.cu", true, "kernel_src/k.cu");
    refuses(engine, "k.cu", false, KILN_ERROR_NOT_FOUND, "k.cu: not found; searched specs, more");
    refuses(engine, "../kernel_src/k.cu", false, KILN_ERROR_REFUSED,
            "../kernel_src/k.cu: a spec may only read files "
            "below specs, more");
    static const char *const names[] = {"../outside/secret",      "link",        "folder/secret",
                                        "../specsoutside/secret", "/etc/passwd", "deep/../../outside/secret"};
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        refuses(engine, names[i], false, KILN_ERROR_REFUSED, names[i]);
        refuses(engine, names[i], true, KILN_ERROR_REFUSED, names[i]);
    }
    refuses(engine, "nothing", false, KILN_ERROR_NOT_FOUND, "nothing: not found; searched specs, more");
    refuses(engine, "/nothing", false, KILN_ERROR_NOT_FOUND, "/nothing: not found");
    refuses(engine, "", false, KILN_ERROR_ARGUMENT, "the name of a file is empty");
    kiln_engine_close(engine);
    engine = open_engine("more", KILN_READ_ANYWHERE);
    finds(engine, "specs", "link", false, "outside/secret");
    finds(engine, "specs", "../outside/secret", true, "outside/secret");
    kiln_engine_close(engine);
    scratch_leave();
}

/* A folder from a stranger may contain links. A link kernel_src must not lead out, inside a spec's folder or beside
 * it. */
static void test_kernel_src(void)
{
    scratch_enter();
    scratch_file("pack/specs/a.npy", "a");
    scratch_file("pack/specs/own/k.cu", "k");
    scratch_file("pack/home/secret.cu", "s");
    scratch_file("outside/secret.cu", "s");
    kiln_engine *engine = open_engine("more", 0);
    static const char *const links[][3] = {
        /* the link, its target, and a file that it would reach */
        {"pack/specs/kernel_src", "/", "etc/passwd"},
        {"pack/specs/kernel_src", "/etc", "passwd"},
        {"pack/specs/kernel_src", "../../outside", "secret.cu"},
        {"pack/specs/kernel_src", "..", "home/secret.cu"},
        {"pack/kernel_src", "/", "etc/passwd"},
        {"pack/kernel_src", "../outside", "secret.cu"},
        {"pack/kernel_src", ".", "home/secret.cu"},
        {"pack/kernel_src", "home", "secret.cu"},
    };
    for (size_t i = 0; i < KILN__COUNT(links); i++) {
        kiln__arena arena = {0};
        kiln_error *error = NULL;
        const char *path = NULL;
        char absolute[4300];
        snprintf(absolute, sizeof absolute, "%s/outside/secret.cu", scratch_folder);
        CHECK(symlink(links[i][1], links[i][0]) == 0);
        CHECK(kiln__engine_find_source(engine, "pack/specs", links[i][2], &arena, &path, &error) == KILN_ERROR_REFUSED);
        CHECK(error && strstr(kiln_error_message(error), "kernel_src is a link to another place and is not used"));
        kiln_error_free(error);
        CHECK(kiln__engine_find_source(engine, "pack/specs", "/etc/passwd", &arena, &path, NULL) == KILN_ERROR_REFUSED);
        CHECK(kiln__engine_find_source(engine, "pack/specs", absolute, &arena, &path, NULL) == KILN_ERROR_REFUSED);
        CHECK(path == NULL);
        engine->flags |= KILN_READ_ANYWHERE;
        CHECK(kiln__engine_find_source(engine, "pack/specs", links[i][2], &arena, &path, NULL) == KILN_OK);
        engine->flags &= ~KILN_READ_ANYWHERE;
        CHECK(unlink(links[i][0]) == 0);
        kiln__arena_free(&arena);
    }
    CHECK(symlink("specs/own", "pack/kernel_src") == 0); /* the file may be read without the link too */
    finds(engine, "pack/specs", "k.cu", true, "pack/specs/own/k.cu");
    kiln_engine_close(engine);
    /* The same for a folder of the search path. In the build tree, specs is a link to the specs of the source tree. */
    engine = open_engine("share/specs", 0);
    CHECK(mkdir("share", 0700) == 0 && symlink("../pack/specs", "share/specs") == 0 && unlink("pack/kernel_src") == 0);
    scratch_file("pack/kernel_src/m.cu", "m");
    finds(engine, "outside", "m.cu", true, "pack/kernel_src/m.cu");
    CHECK(rename("pack/kernel_src", "pack/other") == 0 && symlink("/", "pack/kernel_src") == 0);
    kiln__arena arena = {0};
    const char *path = NULL;
    CHECK(kiln__engine_find_source(engine, "outside", "etc/passwd", &arena, &path, NULL) == KILN_ERROR_REFUSED &&
          !path);
    kiln__arena_free(&arena);
    kiln_engine_close(engine);
    scratch_leave();
}

/* Tests a folder that becomes a link between the search and the opening. The link must not be followed. */
static void test_race(void)
{
    scratch_enter();
    scratch_file("specs/deep/k.cu", "inside");
    scratch_file("outside/k.cu", "outside");
    kiln_engine *engine = open_engine("more", 0);
    kiln__arena arena = {0};
    kiln_error *error = NULL;
    const char *path = NULL;
    char *data = NULL;
    size_t length = 0;
    CHECK_OK(kiln__engine_find_source(engine, "specs", "deep/k.cu", &arena, &path, &error), error);
    CHECK(rename("specs/deep", "specs/was") == 0 && symlink("../outside", "specs/deep") == 0);
    CHECK(kiln__file_read_resolved(NULL, path, 0, &data, &length, NULL) == KILN_ERROR_REFUSED && !data);
    CHECK(unlink("specs/deep") == 0);
    /* Tests the folder of a spec once the spec is loaded. */
    scratch_file("specs/thing.yaml", SPEC("a spec"));
    kiln_spec *spec = NULL;
    CHECK_OK(kiln_spec_load(engine, "specs/thing.yaml", &spec, &error), error);
    CHECK(rename("specs", "was") == 0 && symlink("outside", "specs") == 0);
    path = NULL;
    CHECK(kiln__engine_find_source(engine, spec->folder, "k.cu", &arena, &path, NULL) == KILN_ERROR_REFUSED && !path);
    CHECK(unlink("specs") == 0 && rename("was", "specs") == 0);
    scratch_file("specs/k.cu", "inside");
    finds(engine, spec->folder, "k.cu", true, "specs/k.cu");
    kiln_spec_free(spec);
    kiln__arena_free(&arena);
    kiln_engine_close(engine);
    scratch_leave();
}

/* ---- specs ---- */

static void loads(kiln_engine *engine, const char *name, const char *title, const char *path)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln_spec_load(engine, name, &spec, &error), error);
    if (spec) {
        CHECK_TEXT(kiln_spec_title(spec), title);
        CHECK_TEXT(kiln_spec_path(spec), path);
    }
    kiln_spec_free(spec);
}

static int add_line(void *user, const char *name, const char *title, const char *path)
{
    kiln__text_printf(user, "%s|%s|%s\n", name, title, path);
    return 0;
}

static int warnings;
static void count_warning(void *user, kiln_log_level level, const char *message)
{
    (void)user;
    warnings += level == KILN_LOG_WARNING && strstr(message, "broken.yaml") != NULL;
}

static void test_specs(void)
{
    scratch_enter();
    scratch_file("here.yaml", SPEC("of this folder"));
    scratch_file("compose.yaml", "services: {}\n");
    scratch_file("specs/thing.yaml", SPEC("of specs"));
    scratch_file("lib/thing.yaml", SPEC("of lib"));
    scratch_file("lib/other.yaml", SPEC("other"));
    scratch_file("lib/broken.yaml", "kiln: 1\nnonsense: [\n");
    scratch_file("plain", SPEC("without an ending"));
    kiln_engine *engine = open_engine("lib", 0);
    loads(engine, "here", "of this folder", "here.yaml");
    loads(engine, "thing", "of specs", "specs/thing.yaml");
    loads(engine, "other", "other", "lib/other.yaml");
    loads(engine, "lib/thing.yaml", "of lib", "lib/thing.yaml");
    loads(engine, "here.yaml", "of this folder", "here.yaml");
    loads(engine, "plain", "without an ending", "plain");
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK(kiln_spec_load(engine, "thign", &spec, &error) == KILN_ERROR_NOT_FOUND);
    const char *start = "there is no spec 'thign'; did you mean 'thing'? Searched ., specs, lib";
    CHECK(strncmp(kiln_error_message(error), start, strlen(start)) == 0);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_spec_load(engine, "lib/none.yaml", &spec, &error) == KILN_ERROR_NOT_FOUND);
    CHECK_TEXT(kiln_error_message(error), "lib/none.yaml: No such file or directory");
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_spec_load(engine, "broken", &spec, &error) == KILN_ERROR_SPEC);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln_spec_load(engine, "", &spec, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    error = NULL;
    const char *text = SPEC("in memory");
    CHECK_OK(kiln_spec_parse(engine, text, strlen(text), "memory.yaml", &spec, &error), error);
    CHECK_TEXT(kiln_spec_title(spec), "in memory");
    kiln_spec_free(spec);

    kiln__text lines = {0};
    engine->search_count = 1; /* the specs that are installed on this machine must not be found */
    engine->log = (kiln__log){count_warning, NULL};
    CHECK_OK(kiln_spec_list(engine, add_line, &lines, &error), error);
    CHECK_TEXT(kiln__text_get(&lines), "here|of this folder|here.yaml\nother|other|lib/other.yaml\n"
                                       "thing|of specs|specs/thing.yaml\n");
    CHECK(warnings == 1);
    kiln__text_free(&lines);
    CHECK(kiln_spec_list(engine, NULL, NULL, &error) == KILN_ERROR_ARGUMENT);
    kiln_error_free(error);
    kiln_engine_close(engine);
    scratch_leave();
}

/* ---- folders ---- */

static void test_folders(void)
{
    kiln__arena arena = {0};
    CHECK(kiln__executable_folder(&arena) != NULL);
    CHECK(kiln__library_folder(&arena) != NULL);
    scratch_enter();
    static const char *const names[] = {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    char *saved[3];
    for (int i = 0; i < 3; i++) {
        const char *text = getenv(names[i]);
        saved[i] = text ? strdup(text) : NULL;
        unsetenv(names[i]);
    }
    CHECK(kiln__cache_folder_find(&arena, NULL) != NULL); /* the home folder of the account */
    setenv("HOME", "/home/me", 1);
    CHECK_TEXT(kiln__cache_folder_find(&arena, NULL), "/home/me/.cache/kiln");
    setenv("XDG_CACHE_HOME", "relative", 1);
    CHECK_TEXT(kiln__cache_folder_find(&arena, NULL), "/home/me/.cache/kiln");
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    CHECK_TEXT(kiln__cache_folder_find(&arena, NULL), "/xdg/kiln");
    setenv("KILN_CACHE_DIR", "/own", 1);
    CHECK_TEXT(kiln__cache_folder_find(&arena, NULL), "/own");
    CHECK_TEXT(kiln__cache_folder_find(&arena, "given"), "given");
    for (int i = 0; i < 3; i++) {
        if (saved[i])
            setenv(names[i], saved[i], 1);
        else
            unsetenv(names[i]);
        free(saved[i]);
    }
    setenv("KILN_WORKER", "/some/worker", 1);
    CHECK_TEXT(kiln__worker_find(&arena, NULL), "/some/worker");
    CHECK_TEXT(kiln__worker_find(&arena, "mine"), "mine");
    unsetenv("KILN_WORKER");
    kiln__arena_free(&arena);

    kiln_engine *engine = open_engine("a:b::c", 0);
    CHECK(engine->search_count >= 3);
    CHECK_TEXT(engine->search_path[0], "a");
    CHECK_TEXT(engine->search_path[2], "c");
    kiln_engine_close(engine);
    setenv("KILN_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    setenv("KILN_PATH", "d", 1);
    kiln_options options = {.size = sizeof options, .device = "sim", .search_path = "a", .flags = KILN_NO_CACHE};
    CHECK(kiln_engine_open(&options, &engine, NULL) == KILN_OK);
    CHECK_TEXT(engine->search_path[1], "d");
    kiln_engine_close(engine);
    unsetenv("KILN_PATH");
    scratch_leave();
}

/* Fails the first, second, ... allocation of the functions that find and list specs. */
static void test_oom(void)
{
    scratch_enter();
    scratch_file("specs/thing.yaml", SPEC("of specs"));
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_options options = {.size = sizeof options, .device = "sim", .flags = KILN_NO_CACHE, .allocator = &mem};
        kiln_engine *engine = NULL;
        CHECK(kiln_engine_open(&options, &engine, NULL) == KILN_OK);
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln__arena arena = {.mem = &mem};
        const char *path = NULL;
        kiln__text lines = {0};
        engine->search_count = 0;
        oom.countdown = n;
        kiln_status status = kiln_spec_load(engine, "thing", &spec, &error);
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY && !spec));
        kiln_error_free(error);
        error = NULL;
        status = kiln_spec_load(engine, "thign", &spec, &error);
        CHECK(status == KILN_ERROR_NOT_FOUND || (oom.failed && status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        error = NULL;
        status = kiln_spec_list(engine, add_line, &lines, &error);
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        error = NULL;
        status = kiln__engine_find_source(engine, "specs", "thing.yaml", &arena, &path, &error);
        CHECK(status == KILN_OK || (oom.failed && status == KILN_ERROR_MEMORY && !path));
        kiln_error_free(error);
        error = NULL;
        path = NULL;
        status = kiln__engine_find_file(engine, "specs", "/etc/passwd", &arena, &path, &error);
        CHECK(status == KILN_ERROR_REFUSED || (oom.failed && status == KILN_ERROR_MEMORY));
        kiln_error_free(error);
        kiln__arena_free(&arena);
        kiln__text_free(&lines);
        kiln_spec_free(spec);
        kiln_engine_close(engine);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    scratch_leave();
}

static const check_case cases[] = {
    {"trust", test_trust}, {"include", test_include}, {"kernel_src", test_kernel_src}, {"race", test_race},
    {"specs", test_specs}, {"folders", test_folders}, {"out of memory", test_oom}};
KILN_SUITE("core files", cases)
