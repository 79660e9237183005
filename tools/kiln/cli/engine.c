/* engine.c - makes an engine, a spec and a choice from the options. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "kiln_catalogue.h"

typedef struct log_to {
    int least;
    bool progress; /* true: messages that begin with "reading " are shown as a progress line */
} log_to;

void cli_log(void *user, kiln_log_level level, const char *message)
{
    static const char *const prefix[] = {"kiln: debug: ", "kiln: ", "kiln: warning: "};
    const log_to *to = user;
    bool progress = to->progress && level == KILN_LOG_INFO && strncmp(message, "reading ", strlen("reading ")) == 0;
    if ((int)level < to->least && !progress)
        return;
    /* This callback runs in any thread, so it must not call cli_printf(), whose memory belongs to one thread. */
    char *shown = cli_escape(message, strlen(message), "\n\t");
    if (progress && shown)
        progress_line(shown);
    if (progress) {
        free(shown);
        return;
    }
    progress_clear();
    fprintf(stderr, "%s%s\n", prefix[level <= KILN_LOG_WARNING ? level : KILN_LOG_WARNING],
            shown ? shown : "out of memory for a message");
    free(shown);
}

static int least_level(const cli *c)
{
    const char *level = c->output.log_level;
    if (!level)
        return c->output.quiet ? KILN_LOG_WARNING + 1 : KILN_LOG_WARNING;
    return strcmp(level, "debug") == 0     ? KILN_LOG_DEBUG
           : strcmp(level, "info") == 0    ? KILN_LOG_INFO
           : strcmp(level, "warning") == 0 ? KILN_LOG_WARNING
                                           : KILN_LOG_WARNING + 1;
}

void *cli_log_to(const cli *c)
{
    log_to *to = cli_alloc(sizeof *to);
    to->least = least_level(c);
    to->progress = progress_wanted(c) && !c->output.log_level;
    return to;
}

/* Opens the engine with the options of the command line, unless it is open already. Returns 0, or the exit code after
 * an error message. */
int cli_engine(cli *c, const cli_engine_args *args)
{
    static const cli_engine_args usual = {0};
    if (c->engine)
        return 0;
    if (!args)
        args = &usual;
    char *path = NULL;
    for (size_t i = 0; i < args->paths.count; i++)
        path = path ? cli_printf("%s:%s", path, args->paths.items[i]) : cli_printf("%s", args->paths.items[i]);
    kiln_options options = {
        .size = sizeof options,
        .device = args->device,
        .cache_dir = args->cache_dir,
        .search_path = path,
        .worker = args->worker,
        .jobs = args->jobs < 4096 ? (unsigned)args->jobs : 4096,
        .flags = (args->no_cache ? KILN_NO_CACHE : 0) | (args->read_anywhere ? KILN_READ_ANYWHERE : 0) |
                 (args->no_workers ? KILN_NO_WORKERS : 0) | (args->allow_commands ? KILN_ALLOW_COMMANDS : 0) |
                 c->sandbox,
        .compile_timeout = args->compile_timeout,
        .memory_limit = args->memory_limit.bytes,
        .log = cli_log,
        .log_user = cli_log_to(c),
        .stop = cli_interrupt_flag(),
        .ranks = c->ranks,
        .limit = cli_watch,
    };
    kiln_error *error = NULL;
    if (kiln_engine_open(&options, &c->engine, &error) != KILN_OK ||
        kiln_catalogue_register(c->engine, &error) != KILN_OK)
        return cli_error(c, error);
    return 0;
}

/* Reports that a spec was not found. Names a file with a similar name, or tells how to find specs. */
static int fail_spec(const cli *c, const char *word, kiln_error *error)
{
    if (kiln_error_status(error) != KILN_ERROR_NOT_FOUND)
        return cli_error(c, error);
    const char *near = cli_similar_file(word, ".yaml .yml .json");
    const char *source = near ? NULL : cli_similar_file(word, ".cu");
    const char *hint = near     ? cli_printf("; did you mean '%s'?", near)
                       : source ? cli_printf("; 'kiln init %s' writes a spec for a source", cli_shell_word(source))
                                : "; 'kiln list' lists the specs that are found by name";
    int code = cli_fail(c, KILN_ERROR_NOT_FOUND, "%s%s", kiln_error_message(error), hint);
    kiln_error_free(error);
    return code;
}

int cli_spec(cli *c, const cli_engine_args *args)
{
    kiln_error *error = NULL;
    const char *word = c->words.items[0], *dot = strrchr(word, '.');
    if (dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cuh") == 0 || strcmp(dot, ".py") == 0)) {
        const char *spec = cli_printf("%.*s.yaml", (int)(dot - word), word);
        return cli_usage(
            c,
            "%s is a source, and this command takes a spec, which describes it. Write one first: 'kiln init %s "
            "-o %s'",
            word, cli_shell_word(word), cli_shell_word(spec));
    }
    int code = cli_engine(c, args);
    if (code)
        return code;
    return kiln_spec_load(c->engine, word, &c->spec, &error) == KILN_OK ? 0 : fail_spec(c, word, error);
}

const char *cli_spec_options(const cli_engine_args *args)
{
    const char *line = "";
    for (size_t i = 0; i < args->paths.count; i++)
        line = cli_printf("%s -I %s", line, cli_shell_word(args->paths.items[i]));
    if (args->read_anywhere)
        line = cli_printf("%s --read-anywhere", line);
    return args->allow_commands ? cli_printf("%s --allow-commands", line) : line;
}

static int add_device(void *user, const kiln_device_info *info)
{
    cli_devices *list = user;
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        kiln_device_info *more = cli_alloc(list->room * sizeof *more);
        if (list->count)
            memcpy(more, list->items, list->count * sizeof *more);
        list->items = more;
    }
    list->items[list->count++] = *info;
    return 0;
}

kiln_status cli_list_devices(cli *c, cli_devices *list, kiln_error **error)
{
    *list = (cli_devices){0};
    return kiln_devices(c->engine, add_device, list, error);
}

extern char **environ;

void cli_check_environment(void)
{
    static const char prefix[] = "KILN_";
    static const char *const known[] = {"BLAS",
                                        "CACHE_DIR",
                                        "CAPTURE",
                                        "CAPTURE_DIR",
                                        "CAPTURE_LIMIT",
                                        "CONFINE",
                                        "CUDA_INCLUDE",
                                        "DEVICE",
                                        "INCLUDE",
                                        "LAPACK",
                                        "LIBCUDA",
                                        "LIBNVML",
                                        "LOCK_DIR",
                                        "LOCK_SECONDS",
                                        "MPI",
                                        "NVJITLINK",
                                        "NVRTC",
                                        "PATH",
                                        "PCI_DEVICES",
                                        "SIM_CHECK",
                                        "SIM_CHECK_EXIT",
                                        "SIM_CHECK_FILE",
                                        "SIM_CHECK_FORMAT",
                                        "SIM_CHECK_SUPPRESS",
                                        "SIM_DEVICE",
                                        "SIM_DEVICES",
                                        "SIM_ISA",
                                        "SIM_JIT",
                                        "SIM_MEMORY",
                                        "SIM_PROFILE",
                                        "SIM_PROFILE_COUNTERS",
                                        "SIM_PROFILE_LAUNCHES",
                                        "SIM_STEPS",
                                        "SIM_TARGET",
                                        "SIM_THREADS",
                                        "SIM_TRACE",
                                        "STORE",
                                        "VEGA",
                                        "WORKER"};
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        if (!equals || strncmp(*at, prefix, strlen(prefix)) != 0)
            continue;
        const char *name = cli_strndup(*at + strlen(prefix), (size_t)(equals - *at) - strlen(prefix));
        size_t i = 0;
        while (i < CLI_COUNT(known) && strcmp(known[i], name) != 0)
            i++;
        const char *near = i == CLI_COUNT(known) ? cli_nearest(name, known, CLI_COUNT(known)) : NULL;
        if (near)
            cli_complain(cli_printf("warning: kiln reads no variable KILN_%s; did you mean KILN_%s?", name, near));
    }
}

const char *cli_usual_device(void)
{
    const char *usual = getenv("KILN_DEVICE");
    return usual && *usual ? usual : NULL;
}

bool cli_take_arch(cli *c, const char *arch, cli_engine_args *args)
{
    if (arch && args->device) {
        cli_usage(c, "--arch and --device exclude each other");
        return false;
    }
    const char *number = arch && strncmp(arch, "sm_", 3) == 0        ? NULL
                         : arch && strncmp(arch, "compute_", 8) == 0 ? arch + 8
                         : arch && strncmp(arch, "sm", 2) == 0       ? arch + 2
                                                                     : arch;
    if (number && *number >= '0' && *number <= '9') {
        cli_usage(c, "--arch takes an architecture such as sm_90, not '%s': write --arch sm_%s", arch, number);
        return false;
    }
    if (arch)
        args->device = cli_printf("sim:%s", arch);
    return true;
}

const char *cli_device_name(const kiln_device_info *info)
{
    bool said = !info->simulated || strstr(info->name, "simulated");
    return said ? info->name : cli_printf("%s (simulated)", info->name);
}

/* ---- settings ---- */

static bool value_int(const char *text, kiln_value *value)
{
    char *end;
    errno = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits < '0' || *digits > '9')
        return false;
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    long long parsed = strtoll(text, &end, hex ? 16 : 10);
    if (*end || errno)
        return false;
    *value = (kiln_value){.kind = KILN_INT, .as.i = parsed};
    return true;
}

static bool value_float(const char *text, kiln_value *value)
{
    char *end;
    double parsed = strtod(text, &end);
    if (!*text || !strchr("+-.0123456789", *text) || *end || !isfinite(parsed))
        return false;
    *value = (kiln_value){.kind = KILN_FLOAT, .as.f = parsed};
    return true;
}

static bool value_bool(const char *text, kiln_value *value)
{
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "False") != 0)
        return false;
    *value = (kiln_value){.kind = KILN_BOOL, .as.i = yes};
    return true;
}

/* Converts `text` to a value of `kind`. If the text cannot be converted, the function returns a value of the kind that
 * the text looks like, and the library later reports the error. */
static kiln_value value_of(const char *text, const kiln_kind *kind)
{
    kiln_value value = {.kind = KILN_TEXT, .as.text = text};
    if (kind && *kind == KILN_TEXT)
        return value;
    if (kind && *kind == KILN_FLOAT && value_float(text, &value))
        return value;
    if (kind && *kind == KILN_BOOL && (strcmp(text, "0") == 0 || strcmp(text, "1") == 0))
        return (kiln_value){.kind = KILN_BOOL, .as.i = text[0] == '1'};
    (void)(value_int(text, &value) || value_float(text, &value) || value_bool(text, &value));
    return value;
}

/* Returns the kind of the param `name` in the given variant, or in any variant if `variant` is negative. Returns NULL
 * if no such param exists. */
static const kiln_kind *param_kind(const kiln_spec *spec, int variant, const char *name)
{
    for (size_t v = 0; v < kiln_spec_variant_count(spec); v++) {
        for (size_t p = 0; (variant < 0 || (size_t)variant == v) && p < kiln_spec_param_count(spec, v); p++) {
            const kiln_param_info *info = kiln_spec_param(spec, v, p);
            if (strcmp(info->name, name) == 0 && info->count)
                return &info->values[0].kind;
        }
    }
    return NULL;
}

static bool split(cli *c, const char *option, const char *wants, const char *text, const char **name,
                  const char **value)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        cli_usage(c, "%s needs %s, not '%s'", option, wants, text);
        return false;
    }
    *name = cli_strndup(text, (size_t)(equals - text));
    *value = equals + 1;
    return true;
}

/* Reports a size set that does not exist. The user may also have written a size without its value, or a value without
 * its size. The library reports all other mistakes in sizes. */
static bool check_size_set(cli *c, const char *word)
{
    const kiln_size_set *first = kiln_spec_size_set(c->spec, 0);
    const char *only = first->count > 0 ? first->settings[0].name : "N";
    kiln_value value;
    for (size_t i = 0; i < kiln_spec_size_set_count(c->spec); i++)
        if (strcmp(kiln_spec_size_set(c->spec, i)->name, word) == 0)
            return true;
    if (value_int(word, &value)) {
        cli_usage(c, "--size takes a size set or NAME=VALUE, not a number alone: write -s %s=%s", only, word);
        return false;
    }
    for (size_t i = 0; i < first->count; i++)
        if (strcmp(first->settings[i].name, word) == 0) {
            cli_usage(c, "'%s' is a size, and --size takes a size set or NAME=VALUE: write -s %s=%s", word, word,
                      cli_value_text(first->settings[i].value));
            return false;
        }
    return true;
}

/* Makes the library's choice from -v, -p and -s. -s takes the name of a size set or NAME=VALUE. The arrays live until
 * the command ends. */
bool cli_make_choice(cli *c, const cli_choice_args *args, const char *variant, cli_choice *out)
{
    memset(out, 0, sizeof *out);
    int index = variant ? kiln_spec_variant_find(c->spec, variant) : -1;
    out->variant = variant ? variant : kiln_spec_variant_name(c->spec, kiln_spec_variant_first(c->spec));
    out->choice.variant = variant;

    kiln_setting *params = cli_alloc((args->params.count + 1) * sizeof *params);
    for (size_t i = 0; i < args->params.count; i++) {
        const char *value;
        if (!split(c, "--param", "NAME=VALUE", args->params.items[i], &params[i].name, &value))
            return false;
        params[i].value = value_of(value, param_kind(c->spec, index, params[i].name));
    }
    out->choice.params = params;
    out->choice.param_count = args->params.count;

    kiln_setting *sizes = cli_alloc((args->sizes.count + 1) * sizeof *sizes);
    size_t count = 0;
    for (size_t i = 0; i < args->sizes.count; i++) {
        const char *text = args->sizes.items[i], *value;
        if (!strchr(text, '=')) {
            if (out->choice.size_set) {
                cli_usage(c, "--size names two size sets, '%s' and '%s'", out->choice.size_set, text);
                return false;
            }
            if (!check_size_set(c, text))
                return false;
            out->choice.size_set = text;
            continue;
        }
        if (!split(c, "--size", "the name of a size set or NAME=VALUE", text, &sizes[count].name, &value))
            return false;
        sizes[count++].value = value_of(value, NULL);
    }
    out->choice.sizes = sizes;
    out->choice.size_count = count;
    return true;
}

bool cli_make_sizes(cli *c, const cli_list *list, const kiln_setting **out)
{
    kiln_setting *sizes = cli_alloc((list->count + 1) * sizeof *sizes);
    for (size_t i = 0; i < list->count; i++) {
        const char *value;
        if (!split(c, "--size", "NAME=VALUE", list->items[i], &sizes[i].name, &value))
            return false;
        sizes[i].value = value_of(value, NULL);
    }
    *out = sizes;
    return true;
}

bool cli_make_files(cli *c, const cli_list *list, const char *option, const kiln_file_binding **out)
{
    kiln_file_binding *files = cli_alloc((list->count + 1) * sizeof *files);
    for (size_t i = 0; i < list->count; i++)
        if (!split(c, option, "BUFFER=FILE", list->items[i], &files[i].buffer, &files[i].path))
            return false;
    *out = files;
    return true;
}

void cli_make_run(const cli_run_args *args, kiln_run_options *options)
{
    unsigned exactly = args->repetitions < UINT32_MAX ? (unsigned)args->repetitions : UINT32_MAX;
    *options = (kiln_run_options){
        .size = sizeof *options,
        .flags = (args->no_verify ? KILN_RUN_NO_VERIFY : 0) | (args->no_measure ? KILN_RUN_NO_MEASURE : 0) |
                 (args->flush_l2 ? KILN_RUN_FLUSH_L2 : 0) | (args->keep_l2 ? KILN_RUN_KEEP_L2 : 0) |
                 (args->check ? KILN_RUN_CHECK : 0) | (args->energy ? KILN_RUN_ENERGY : 0),
        .budget = args->budget,
        .precision = args->precision,
        .min_repetitions = exactly,
        .max_repetitions = exactly,
        .sample_timeout = args->sample_timeout,
        .verify_runs = args->verify_runs < UINT32_MAX ? (unsigned)args->verify_runs : UINT32_MAX,
        .stop = cli_interrupt_flag(),
    };
}

static const kiln_setting *find_setting(const kiln_setting *settings, size_t count, const char *name)
{
    for (size_t i = count; i-- > 0;) /* the last setting of a name counts, so the loop runs backwards */
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

size_t cli_whole_params(const kiln_spec *spec, size_t variant, const kiln_choice *choice, kiln_setting **out)
{
    size_t count = kiln_spec_param_count(spec, variant);
    kiln_setting *params = cli_alloc((count + 1) * sizeof *params);
    for (size_t i = 0; i < count; i++) {
        const kiln_param_info *info = kiln_spec_param(spec, variant, i);
        const kiln_setting *set = find_setting(choice->params, choice->param_count, info->name);
        params[i] = (kiln_setting){info->name, set ? set->value : info->values[info->initial]};
    }
    *out = params;
    return count;
}

const char *cli_tuned_set(const kiln_spec *spec, bool simulated, bool device_named, bool sizes_named,
                          const kiln_size_set **small)
{
    *small = NULL;
    if (!simulated || device_named || sizes_named)
        return NULL;
    for (size_t i = 1; i < kiln_spec_size_set_count(spec); i++)
        if (strcmp(kiln_spec_size_set(spec, i)->name, "tiny") == 0)
            *small = kiln_spec_size_set(spec, i);
    return *small ? kiln_spec_size_set(spec, 0)->name : NULL;
}

const char *cli_why_set(const kiln_spec *spec, const char *set, bool simulated, bool tuned, const cli_list *sizes)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (!strchr(sizes->items[i], '='))
            return NULL;
    if (!simulated || sizes->count >= kiln_spec_size_set(spec, 0)->count) /* the user gave every size */
        return NULL;
    const char *first = kiln_spec_size_set(spec, 0)->name;
    if (tuned && strcmp(set, first) == 0)
        return cli_printf(
            "the set %s, which 'tune' and 'best' take if no device and no sizes are named; -s tiny takes the "
            "small sizes",
            set);
    return strcmp(set, first) == 0
               ? NULL
               : cli_printf("the set %s, which a simulated device takes; -s %s takes a GPU's default", set,
                            cli_shell_word(first));
}

const char *cli_set_text(const kiln_spec *spec, const char *name, const kiln_setting *sizes, size_t count)
{
    const char *changed = "";
    size_t changes = 0;
    for (size_t s = 0; s < kiln_spec_size_set_count(spec); s++) {
        const kiln_size_set *set = kiln_spec_size_set(spec, s);
        for (size_t i = 0; strcmp(set->name, name) == 0 && i < count; i++) {
            const kiln_setting *own = find_setting(set->settings, set->count, sizes[i].name);
            if (own && strcmp(cli_settings_text(own, 1), cli_settings_text(&sizes[i], 1)) == 0)
                continue;
            changed = cli_printf("%s%s%s", changed, changes++ ? " and " : "", sizes[i].name);
        }
    }
    return changes == 0      ? cli_printf(" (%s)", name)
           : changes < count ? cli_printf(" (%s, %s changed)", name, changed)
                             : "";
}

size_t cli_whole_sizes(const kiln_spec *spec, const kiln_choice *choice, bool simulated, const char **set_name,
                       kiln_setting **out)
{
    const kiln_size_set *set = kiln_spec_size_set(spec, 0); /* every spec has a size set */
    const char *wanted = choice->size_set ? choice->size_set : simulated ? "tiny" : NULL;
    for (size_t i = 1; wanted && i < kiln_spec_size_set_count(spec); i++) {
        const kiln_size_set *here = kiln_spec_size_set(spec, i);
        if (strcmp(here->name, wanted) == 0)
            set = here;
    }
    kiln_setting *sizes = cli_alloc((set->count + 1) * sizeof *sizes);
    for (size_t i = 0; i < set->count; i++) {
        const kiln_setting *own = find_setting(choice->sizes, choice->size_count, set->settings[i].name);
        sizes[i] = (kiln_setting){set->settings[i].name, own ? own->value : set->settings[i].value};
    }
    *set_name = set->name;
    *out = sizes;
    return set->count;
}

/* ---- printing values ---- */

const char *cli_value_text(kiln_value value)
{
    switch (value.kind) {
    case KILN_INT: return cli_printf("%lld", (long long)value.as.i);
    case KILN_BOOL: return value.as.i ? "true" : "false";
    case KILN_TEXT: return value.as.text;
    case KILN_FLOAT: break;
    }
    for (int digits = 1; digits < 17; digits++) { /* finds the fewest digits from which the same number is read back */
        char *text = cli_printf("%.*g", digits, value.as.f);
        if (strtod(text, NULL) == value.as.f)
            return strpbrk(text, ".en") ? text : cli_printf("%s.0", text);
    }
    return cli_printf("%.17g", value.as.f);
}

int cli_stored_spec(cli *c, const char *word, const char **name, const char **path)
{
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    const char *dot = strrchr(word, '.');
    bool is_path = strchr(word, '/') != NULL;
    kiln_error *error = NULL;
    for (size_t i = 0; dot && i < CLI_COUNT(endings); i++)
        is_path = is_path || strcmp(dot, endings[i]) == 0;
    *name = word;
    *path = "";
    if (kiln_spec_load(c->engine, word, &c->spec, &error) == KILN_OK) {
        *name = kiln_spec_name(c->spec);
        *path = kiln_spec_path(c->spec);
        return 0;
    }
    if (is_path)
        return cli_error(c, error);
    kiln_error_free(error);
    return 0;
}

const char *cli_spec_word(cli *c, const char *word)
{
    kiln_spec *found = NULL;
    kiln_error *error = NULL;
    const char *name = kiln_spec_name(c->spec);
    bool same = kiln_spec_load(c->engine, name, &found, &error) == KILN_OK &&
                strcmp(kiln_spec_path(found), kiln_spec_path(c->spec)) == 0;
    const char *known = same ? cli_printf("%s", name) : word;
    kiln_spec_free(found);
    kiln_error_free(error);
    return known;
}

const char *cli_settings_text(const kiln_setting *settings, size_t count)
{
    char *text = cli_printf("%s", "");
    for (size_t i = 0; i < count; i++)
        text = cli_printf("%s%s%s=%s", text, i ? " " : "", settings[i].name, cli_value_text(settings[i].value));
    return text;
}
