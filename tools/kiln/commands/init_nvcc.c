/* init_nvcc.c - the options --nvcc and --stub of `kiln init`: reads a command line of nvcc, and makes empty headers. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "init.h"

/* ---- the words of a command line ---- */

/* Splits a command line into words as a shell does, with blanks, quotes and backslashes. Variables and patterns in the
 * command line are not expanded. */
static void split_words(const char *line, cli_list *words)
{
    char *word = cli_alloc(strlen(line) + 1);
    size_t length = 0;
    bool begun = false;
    char quote = '\0';
    for (const char *at = line;; at++) {
        if (!*at || (!quote && strchr(" \t\n", *at))) {
            if (begun)
                cli_list_add(words, cli_strndup(word, length));
            length = 0;
            begun = false;
            if (!*at)
                return;
        } else if (quote ? *at == quote : *at == '"' || *at == '\'') {
            quote = quote ? '\0' : *at;
            begun = true;
        } else {
            if (*at == '\\' && quote != '\'' && at[1])
                at++;
            word[length++] = *at;
            begun = true;
        }
    }
}

/* Options of nvcc that a spec can also contain, with their values. */
static const struct {
    const char *names[2];
    const char *as; /* the name of the option in the spec */
    bool value;
} kept[] = {
    {{"-std", "--std"}, "-std", true},
    {{"-use_fast_math", "--use_fast_math"}, "--use_fast_math", false},
    {{"-maxrregcount", "--maxrregcount"}, "--maxrregcount", true},
    {{"-fmad", "--fmad"}, "--fmad", true},
    {{"-ftz", "--ftz"}, "--ftz", true},
    {{"-prec-div", "--prec-div"}, "--prec-div", true},
    {{"-prec-sqrt", "--prec-sqrt"}, "--prec-sqrt", true},
    {{"-lineinfo", "--generate-line-info"}, "--generate-line-info", false},
    {{"-extra-device-vectorization", "--extra-device-vectorization"}, "--extra-device-vectorization", false},
};
/* Options of nvcc whose value is the next word, and which do not matter for a kernel in a spec. */
static const char *const with_value[] = {"-o",
                                         "--output-file",
                                         "-arch",
                                         "--gpu-architecture",
                                         "-gencode",
                                         "--generate-code",
                                         "-code",
                                         "--gpu-code",
                                         "-Xcompiler",
                                         "--compiler-options",
                                         "-Xlinker",
                                         "-ccbin",
                                         "--compiler-bindir",
                                         "-x",
                                         "-L",
                                         "-l",
                                         "-t",
                                         "--threads",
                                         "-MF",
                                         "-isystem"};

/* Returns the value of the option `name` at word *i, written as "-std=c++17" or "-std c++17". Returns NULL if the word
 * is another option. */
static const char *value_of(const cli_list *words, size_t *i, const char *name)
{
    const char *word = words->items[*i];
    size_t length = strlen(name);
    if (strcmp(word, name) == 0 && *i + 1 < words->count)
        return words->items[++*i];
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

/* ---- folders ---- */

/* Returns the path of `folder` relative to `base`, which is "." if both are the same folder. Returns NULL if `folder`
 * is not below `base`, or if a folder does not exist. */
static const char *path_below(const char *folder, const char *base)
{
    char whole[PATH_MAX], root[PATH_MAX];
    if (!realpath(folder, whole) || !realpath(base, root))
        return NULL;
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(whole, root, length) != 0 || (whole[length] && whole[length] != '/'))
        return NULL;
    return whole[length] ? cli_printf("%s", whole + length + 1) : ".";
}

/* Returns the path that leads from `folder` to `file`, with ".." for each step upwards. `file` and `folder` are
 * absolute paths without symbolic links. */
static const char *path_between(const char *folder, const char *file)
{
    size_t same = 0;
    for (size_t i = 0; folder[i] && folder[i] == file[i]; i++)
        if (folder[i] == '/')
            same = i + 1;
    size_t length = strlen(folder);
    if (strncmp(folder, file, length) == 0 && file[length] == '/')
        same = length + 1;
    const char *up = "";
    for (const char *rest = same > length ? "" : folder + same; *rest;) {
        up = cli_printf("../%s", up);
        rest += strcspn(rest, "/");
        rest += *rest == '/';
    }
    return cli_printf("%s%s", up, file + same);
}

const char *init_path_between(const char *folder, const char *file)
{
    char base[PATH_MAX];
    if (!realpath(folder, base))
        return file;
    return strcmp(base, file) == 0 ? "." : path_between(strcmp(base, "/") == 0 ? "" : base, file);
}

void init_add_include(cli *c, init_plan *plan, const char *folder)
{
    init_args *args = c->args;
    struct stat info;
    /* this folder has CUDA's own headers, which Kiln finds itself */
    if (stat(cli_printf("%s/cuda_runtime.h", folder), &info) == 0)
        return;
    const char *below = path_below(folder, plan->folder);
    if (below)
        cli_list_add(&plan->includes, below);
    else
        cli_list_add(&args->engine.paths, folder);
}

static void add_define(init_plan *plan, const char *text)
{
    const char *equals = strchr(text, '=');
    if (plan->define_count == plan->define_room) {
        kiln_setting *more = cli_alloc((plan->define_room = 2 * plan->define_room + 16) * sizeof *more);
        if (plan->define_count)
            memcpy(more, plan->defines, plan->define_count * sizeof *more);
        plan->defines = more;
    }
    plan->defines[plan->define_count++] = (kiln_setting){equals ? cli_strndup(text, (size_t)(equals - text)) : text,
                                                         equals ? init_value(equals + 1)
                                                                : (kiln_value){.kind = KILN_INT, .as.i = 1}};
}

/* ---- the command line of nvcc ---- */

/* Adds a macro. Refuses a macro with arguments such as `MIN(a,b)=...`, because the key `define` of a spec has only
 * macros without arguments. */
static int take_define(cli *c, init_plan *plan, const char *text)
{
    if (text[strcspn(text, "(=")] == '(')
        return cli_usage(
            c,
            "--nvcc: -D%s defines a macro with arguments. A spec cannot define one: write the #define into the source",
            text);
    add_define(plan, text);
    return 0;
}

/* Takes the options of nvcc's -Xptxas, which are separated by commas: "-v,-O3". The option -v is dropped because it
 * only prints. */
static void take_ptxas(init_plan *plan, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        const char *one = cli_strndup(list, length);
        if (length && strcmp(one, "-v") != 0 && strcmp(one, "--verbose") != 0)
            cli_list_add(&plan->options, cli_printf("--ptxas-options=%s", one));
        list += length + (list[length] == ',');
    }
}

/* Returns true if nvcc would compile the file: its name ends as the name of a source. */
static bool is_source(const char *name)
{
    static const char *const ends[] = {".cu", ".cuh", ".cc", ".cpp", ".cxx"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < CLI_COUNT(ends) && dot; i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return false;
}

/* A word that is the value of an option, such as `-o k.cu`, is no source. */
int init_find_source(cli *c, const char **source)
{
    const init_args *args = c->args;
    cli_list words = {0};
    size_t count = 0;
    split_words(args->nvcc ? args->nvcc : "", &words);
    for (size_t i = 1; i < words.count; i++) {
        const char *before = words.items[i - 1];
        bool value = strcmp(before, "-I") == 0 || strcmp(before, "-D") == 0;
        for (size_t k = 0; k < CLI_COUNT(with_value); k++)
            value |= strcmp(before, with_value[k]) == 0;
        if (value || *words.items[i] == '-' || !is_source(words.items[i]))
            continue;
        *source = words.items[i];
        count++;
    }
    if (count > 1)
        return cli_usage(c, "--nvcc compiles %zu sources, so name the source of the kernel: 'kiln init %s --nvcc LINE'",
                         count, cli_shell_word(*source));
    if (count == 0)
        return cli_usage(c, args->nvcc ? "--nvcc has no source, so name the source: 'kiln init SOURCE.cu --nvcc LINE'"
                                       : "an argument is missing: SOURCE|SIGNATURE");
    return 0;
}

int init_read_nvcc(cli *c, const char *source, init_plan *plan)
{
    const init_args *args = c->args;
    cli_list words = {0};
    const char *left = "";
    split_words(args->nvcc, &words);
    for (size_t i = 0; i < words.count; i++) {
        const char *word = words.items[i], *value = NULL;
        bool taken = i == 0 && !strchr("-", *word); /* the first word is the name of nvcc itself */
        if (strncmp(word, "-I", 2) == 0 && (word[2] || i + 1 < words.count)) {
            init_add_include(c, plan, word[2] ? word + 2 : words.items[++i]);
            taken = true;
        } else if ((value = value_of(&words, &i, "--include-path")) != NULL ||
                   (value = value_of(&words, &i, "-isystem")) != NULL) {
            init_add_include(c, plan, value);
            taken = true;
        } else if (strncmp(word, "-D", 2) == 0 && (word[2] || i + 1 < words.count)) {
            int code = take_define(c, plan, word[2] ? word + 2 : words.items[++i]);
            if (code)
                return code;
            taken = true;
        } else if ((value = value_of(&words, &i, "--define-macro")) != NULL) {
            int code = take_define(c, plan, value);
            if (code)
                return code;
            taken = true;
        } else if ((value = value_of(&words, &i, "-Xptxas")) != NULL ||
                   (value = value_of(&words, &i, "--ptxas-options")) != NULL) {
            take_ptxas(plan, value);
            taken = true;
        } else if (strcmp(word, "-include") == 0 || strcmp(word, "--pre-include") == 0) {
            return cli_usage(
                c,
                "--nvcc: %s puts a header before the source. A spec cannot do this: write the #include into the source",
                word);
        }
        for (size_t k = 0; k < CLI_COUNT(kept) && !taken; k++)
            for (size_t n = 0; n < 2 && !taken; n++) {
                const char *name = kept[k].names[n];
                value = kept[k].value ? value_of(&words, &i, name) : strcmp(word, name) == 0 ? "" : NULL;
                if (value)
                    cli_list_add(&plan->options, kept[k].value ? cli_printf("%s=%s", kept[k].as, value) : kept[k].as);
                taken = value != NULL;
            }
        if (taken || !strcmp(word, source))
            continue;
        for (size_t k = 0; k < CLI_COUNT(with_value) && i + 1 < words.count; k++)
            if (strcmp(word, with_value[k]) == 0)
                word = cli_printf("%s %s", word, words.items[++i]);
        left = cli_printf("%s %s", left, word);
    }
    if (*left)
        cli_complain(cli_printf("note: left out of --nvcc, because a spec does not need it:%s", left));
    return 0;
}

/* ---- empty headers ---- */

/* Makes every missing folder of a path. Returns false, with errno set, if one cannot be made. */
static bool make_folders(const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
        if (mkdir(cli_strndup(path, (size_t)(slash - path)), 0777) != 0 && errno != EEXIST)
            return false;
    return true;
}

int init_make_stubs(cli *c, init_plan *plan)
{
    const init_args *args = c->args;
    for (size_t i = 0; i < args->stubs.count; i++) {
        const char *name = args->stubs.items[i];
        struct stat info;
        if (!*name || *name == '/' || strstr(name, "..") || name[strlen(name) - 1] == '/')
            return cli_usage(c, "--stub needs the name that follows #include, such as 'glm/glm.hpp', not '%s'", name);
        const char *path = strcmp(plan->folder, ".") == 0 ? cli_printf("stubs/%s", name)
                                                          : cli_printf("%s/stubs/%s", plan->folder, name);
        if (stat(path, &info) == 0)
            continue;
        const char *text = cli_printf(
            "#pragma once\n/* %s for kernels. `kiln init --stub %s` made this file empty. Declare here the functions "
            "and types that a kernel needs from it. */\n",
            name, name);
        if (!make_folders(path))
            return cli_fail(c, KILN_ERROR_IO, "%s: %s", path, strerror(errno));
        int code = cli_write_file(c, path, text, strlen(text));
        if (code)
            return code;
        cli_complain(cli_printf(
            "note: %s is an empty header. Declare in it the functions and types that a kernel needs from it", path));
    }
    if (args->stubs.count)
        cli_list_add(&plan->includes, "stubs");
    return 0;
}
