/* init.c - kiln init: drafts a first spec from a CUDA source. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "init.h"

enum { COMPILE_SECONDS = 1200 }; /* the limit for one compile, in seconds of wall time */

/* ---- --space: the values in a recorded search space ---- */

typedef struct value_list {
    kiln_setting *items;
    size_t count, room;
} value_list;

static bool is_same(kiln_value a, kiln_value b)
{
    return a.kind == b.kind && (a.kind == KILN_TEXT    ? strcmp(a.as.text, b.as.text) == 0
                                : a.kind == KILN_FLOAT ? a.as.f == b.as.f
                                                       : a.as.i == b.as.i);
}

static void add_value(value_list *list, kiln_setting one)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, one.name) == 0 && is_same(list->items[i].value, one.value))
            return;
    if (list->count == list->room) {
        kiln_setting *more = cli_alloc((list->room = list->room ? 2 * list->room : 64) * sizeof *more);
        if (list->count)
            memcpy(more, list->items, list->count * sizeof *more);
        list->items = more;
    }
    one.name = cli_printf("%s", one.name);
    if (one.value.kind == KILN_TEXT)
        one.value.as.text = cli_printf("%s", one.value.as.text);
    list->items[list->count++] = one;
}

static int take_step(void *user, const kiln_replay_step *step)
{
    for (size_t i = 0; i < step->param_count; i++)
        add_value(user, step->params[i]);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const kiln_setting *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names || x->value.kind != KILN_INT || y->value.kind != KILN_INT)
        return names;
    return (x->value.as.i > y->value.as.i) - (x->value.as.i < y->value.as.i);
}

/* Adds every value that a configuration of the recorded space uses. Returns 0 or the exit code. */
static int read_space(cli *c, value_list *list)
{
    const init_args *args = c->args;
    kiln_recording *recording = NULL;
    kiln_error *error = NULL;
    kiln_replay_options options = {.size = sizeof options};
    kiln_status status = kiln_recording_load(c->engine, args->space, &recording, &error);
    if (status == KILN_OK)
        status = kiln_replay(recording, &options, take_step, list, &error);
    kiln_recording_free(recording);
    if (status != KILN_OK)
        return cli_error(c, error);
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_value);
    return 0;
}

/* ---- --param: values that the user gives ---- */

kiln_value init_value(const char *text)
{
    char *end = NULL;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    bool octal = text[0] == '0' && text[1]; /* 010 is 8 in C, so 010 must stay a text and not become the number 10 */
    if (*text && !*end && errno == 0 && !octal)
        return (kiln_value){.kind = KILN_INT, .as.i = whole};
    return (kiln_value){.kind = KILN_TEXT, .as.text = text};
}

static bool is_name(const char *text)
{
    bool name = *text && !(*text >= '0' && *text <= '9');
    for (; *text && name; text++)
        name = *text == '_' || (*text >= '0' && *text <= '9') || ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'z');
    return name;
}

/* Returns the length of the first value of a list. A comma between '<' and '>' belongs to the value, as in
 * "pair<int,float>". If a '<' has no matching '>', the value ends at the first comma. */
static size_t value_length(const char *list)
{
    size_t depth = 0;
    for (size_t i = 0; list[i]; i++) {
        if (list[i] == ',' && depth == 0)
            return i;
        depth += list[i] == '<';
        depth -= list[i] == '>' && depth > 0;
    }
    return depth > 0 ? strcspn(list, ",") : strlen(list);
}

/* Returns the ',' before the next value, or NULL after the last value. `at` points to the character before a value. */
static const char *next_value(const char *at)
{
    at += 1 + value_length(at + 1);
    return *at ? at : NULL;
}

/* Returns the number of the value that begins behind `at`. `from` points to the '=' before the first value. */
static size_t count_values(const char *from, const char *at)
{
    size_t count = 1;
    for (; from && from < at; from = next_value(from))
        count++;
    return count;
}

/* Adds the values of the options --param, such as "BLOCK=64,128". Returns 0 or the exit code. */
static int read_params(cli *c, value_list *list)
{
    const init_args *args = c->args;
    for (size_t i = 0; i < args->params.count; i++) {
        const char *name = args->params.items[i], *equals = strchr(name, '=');
        if (!equals || equals == name || !equals[1])
            return cli_usage(c, "--param needs NAME=VALUE,VALUE,..., not '%s'", name);
        for (const char *at = equals; at; at = next_value(at))
            if (at[1] == ',' || !at[1])
                return cli_usage(c, "--param %s: value %zu is empty", name, count_values(equals, at));
        name = cli_strndup(name, (size_t)(equals - name));
        if (!is_name(name))
            return cli_usage(c,
                             "--param %s: '%s' is not a name: a name has letters, digits and '_', and does not begin "
                             "with a digit",
                             args->params.items[i], name);
        for (const char *at = equals; at; at = next_value(at))
            add_value(list, (kiln_setting){name, init_value(cli_strndup(at + 1, value_length(at + 1)))});
    }
    return 0;
}

/* ---- --launch: a file, a line, or both ---- */

/* Splits "FILE", "LINE" or "FILE:LINE". *file becomes NULL if the text names no file; the launch is then in the source
 * itself. Returns the line number, or 0 if the text has no line number. */
static unsigned split_launch(const char *text, const char **file)
{
    const char *colon = text ? strrchr(text, ':') : NULL, *digits = colon ? colon + 1 : text;
    char *end = NULL;
    unsigned long line = digits && *digits >= '0' && *digits <= '9' ? strtoul(digits, &end, 10) : 0;
    *file = text;
    if (!line || *end || line > INT_MAX)
        return 0;
    *file = colon ? cli_strndup(text, (size_t)(colon - text)) : NULL;
    return (unsigned)line;
}

/* ---- the spec ---- */

/* Returns the path that a spec in `folder` uses to name the source. A spec may read files below its own folder. Files
 * outside this folder need --read-anywhere. The user allowed this by naming the source. */
static const char *name_from(init_args *args, const char *source, const char *folder)
{
    char whole[PATH_MAX];
    if (!realpath(source, whole))
        return source;
    const char *name = init_path_between(folder, whole);
    if (strncmp(name, "../", 3) == 0) {
        cli_complain(
            "warning: a spec reads only files below its own folder: write the spec beside the source (--output), "
            "or use it with --read-anywhere");
        args->engine.read_anywhere = true;
    }
    return name;
}

typedef struct drafted {
    char *text;
    size_t length;
} drafted;

static int keep_draft(void *user, const char *spec, size_t length)
{
    *(drafted *)user = (drafted){cli_strndup(spec, length), length};
    return 0;
}

static bool ends_in(const char *path, const char *end)
{
    return strlen(path) >= strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0;
}

/* `kiln init`: drafts a spec from a CUDA source, and prints it or writes it to a new file. If the user gives --space,
 * the values of params come from the recorded space. */
static int init_run(cli *c)
{
    init_args *args = c->args;
    struct stat there;
    drafted made = {0};
    value_list values = {0};
    kiln_error *error = NULL;
    const char *source = c->words.count ? c->words.items[0] : NULL, *to = args->output_to, *folder = ".";
    const int missing = source ? 0 : init_find_source(c, &source);
    if (missing)
        return missing;
    if (ends_in(source, ".json") || ends_in(source, ".json.gz"))
        return cli_usage(
            c,
            "%s is not a CUDA source. If it is a problem file (T1), it is a spec already: 'kiln tune %s'. If it is a "
            "recorded space, it can give the values of params: 'kiln init SOURCE.cu --space %s'",
            source, source, source);
    if (ends_in(source, ".yaml") || ends_in(source, ".yml"))
        return cli_usage(c, "%s is a spec already: 'kiln tune %s'", source, source);
    if (to && lstat(to, &there) == 0)
        return cli_fail(c, KILN_ERROR_IO, "%s exists already, and kiln init does not overwrite it", to);
    if (to && strrchr(to, '/'))
        folder = strrchr(to, '/') == to ? "/" : cli_strndup(to, (size_t)(strrchr(to, '/') - to));
    if (init_is_signature(source))
        return init_from_signature(c, source, to, folder);
    if (!args->engine.device)
        args->engine.device = "sim";
    /* a long time limit makes the draft independent of the load of the machine */
    if (args->engine.compile_timeout == 0)
        args->engine.compile_timeout = COMPILE_SECONDS;
    if (ends_in(source, ".py") &&
        (args->params.count || args->space || args->launch || args->nvcc || args->stubs.count))
        return cli_usage(c, "%s is a script: --param, --space, --launch, --nvcc and --stub are for CUDA sources",
                         source);
    if (ends_in(source, ".py"))
        return init_from_script(c, source, to, folder);
    init_plan plan = {.folder = folder};
    const char *named = name_from(args, source, folder);
    int code = read_params(c, &values);
    if (!code && args->nvcc)
        code = init_read_nvcc(c, source, &plan);
    if (!code)
        code = init_make_stubs(c, &plan);
    if (!code)
        code = cli_engine(c, &args->engine);
    if (!code && args->space)
        code = read_space(c, &values);
    if (code)
        return code;
    const char *launch = NULL;
    const unsigned launch_line = split_launch(args->launch, &launch);
    kiln_status status = KILN_OK;
    for (bool again = true; again;) { /* each folder of headers that is found leads to one more round */
        const kiln_draft_options options = {.size = sizeof options,
                                            .kernel = args->kernel,
                                            .source = named,
                                            .folder = folder,
                                            .values = values.items,
                                            .value_count = values.count,
                                            .launch = launch,
                                            .launch_line = launch_line,
                                            .includes = plan.includes.items,
                                            .include_count = plan.includes.count,
                                            .options = plan.options.items,
                                            .option_count = plan.options.count,
                                            .defines = plan.defines,
                                            .define_count = plan.define_count};
        status = kiln_draft(c->engine, source, &options, keep_draft, &made, &error);
        again = status != KILN_OK && init_find_headers(c, &plan, kiln_error_message(error));
        if (again) {
            kiln_error_free(error);
            error = NULL;
            code = cli_engine(c, &args->engine);
            if (code)
                return code;
        }
    }
    if (status != KILN_OK) {
        const char *near = access(source, F_OK) == 0 ? NULL : cli_similar_file(source, ".cu .cuh");
        if (!near)
            return cli_error(c, error);
        code = cli_fail(c, KILN_ERROR_NOT_FOUND, "%s; did you mean '%s'?", kiln_error_message(error), near);
        kiln_error_free(error);
        return code;
    }
    if (to) {
        code = cli_write_file(c, to, made.text, made.length);
        if (!code && !c->output.json)
            out_printf("%s is written. Read its comments, then: kiln tune %s%s\n", to, cli_shell_word(to),
                       cli_spec_options(&args->engine));
    } else if (!c->output.json) {
        out_write(made.text, made.length);
    }
    if (!code && c->output.json) {
        json_t *object = js_object();
        js_set(object, "spec", js_text(made.text));
        js_set(object, "file", to ? js_text(to) : json_null());
        js_print(object);
    }
    return code;
}

#define FIELD(field) offsetof(init_args, field)

static const cli_option options[] = {
    {"kernel", 'k', CLI_TEXT, FIELD(kernel), "NAME", CLI_NOTHING, NULL,
     "The kernel, if the source has several. Default: the first."},
    {"output", 'o', CLI_TEXT, FIELD(output_to), "FILE", CLI_FILES, NULL,
     "Write the spec to this file, which must not exist. Default: standard output."},
    {"launch", 0, CLI_TEXT, FIELD(launch), "FILE", CLI_FILES, NULL,
     "A file whose host code launches the kernel (<<<grid, block>>>). Default: the source itself. FILE:LINE, or LINE for "
     "a line of the source, chooses one of several launches."},
    {"nvcc", 0, CLI_TEXT, FIELD(nvcc), "LINE", CLI_NOTHING, NULL,
     "The command line that compiles the source with nvcc, as one text. Its folders of headers (-I), macros (-D) and "
     "options such as -std and --use_fast_math go into the spec. SOURCE may be left out if the line has one source."},
    {"stub", 0, CLI_LIST, FIELD(stubs), "HEADER", CLI_NOTHING, NULL,
     "Make an empty header of this name in the folder 'stubs' beside the spec, for a library that only the host needs. "
     "Repeatable."},
    {"param", 'p', CLI_LIST, FIELD(params), "NAME=VALUES", CLI_NOTHING, NULL,
     "The values of a macro or of a template's parameter, separated by commas; the one in the middle is the default. "
     "Repeatable. Default: a guess."},
    {"space", 0, CLI_TEXT, FIELD(space), "FILE", CLI_FILES, NULL,
     "Take params and their values from a recorded space: Kernel Tuner's cache file or T4 results, gzipped or not."},
};
static const cli_group group = {"The spec", options, CLI_COUNT(options)};

const cli_command cli_init_command = {
    .name = "init",
    .summary = "write a first spec for a kernel of a CUDA source",
    .arguments = "SOURCE|SIGNATURE",
    .about =
        "Reads and compiles a CUDA source, and writes a spec for one of its kernels. `kiln tune` can run this spec. "
        "These become params: macros that the source uses but does not define, macros that it defines within "
        "#ifndef, and parameters of templates. The compiler gives the types of the arguments. The use of blockIdx, "
        "blockDim and threadIdx gives grid and block. kiln runs the kernel once on the simulated device to find the "
        "sizes of its arrays, and which arrays it writes.\n\n"
        "A script in Python that calls Kernel Tuner gives a spec too: its kernel, params, restrictions, grid, arrays "
        "and "
        "answer. kiln reads the script and does not run it. This needs python3.\n\n"
        "The signature of a function on arrays gives a contract for `kiln judge`, and beside it a kernel in which you write "
        "the answer.\n\n"
        "The spec is a first guess, and its comments tell you what to check. It has no reference yet: kiln compares "
        "each answer with the answer of the default configuration.",
    .max_words = 1,
    .completes = CLI_FILES,
    .args_size = sizeof(init_args),
    .groups = (const cli_use[]){{&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples =
        (const cli_example[]){
            {"kiln init saxpy.cu > saxpy.yaml && kiln tune saxpy.yaml", "From a kernel to its best "
                                                                        "configuration."},
            {"kiln init kernels.cu --kernel gemm -o gemm.yaml", "One kernel of several."},
            {"kiln init sort.cu -p VECTOR=1,2,4 -p TYPE=uint", "If the guessed values do not compile."},
            {"kiln init sgemm.cuh --launch runner.cu -o sgemm.yaml", "If another file launches the kernel."},
            {"kiln init sort.cu --launch 120", "If the source launches the kernel in several ways."},
            {"kiln init k.cu --nvcc 'nvcc -O3 -Iinclude -DREAL=float --use_fast_math k.cu' -o k.yaml",
             "With the compiler options of your build."},
            {"kiln init convolution.py -o convolution.yaml", "From a script for Kernel Tuner."},
            {"kiln init 'softmax(x: f32[M, N]) -> f32[M, N]' -o softmax.yaml", "A contract from a signature."},
            {"kiln init gemm.cu --space gemm_cache.json -o gemm.yaml", "With the values that Kernel Tuner tried."},
            {0}},
    .run = init_run,
};
