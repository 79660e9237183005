/* options.c - parses the command line by the option tables. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- groups of options for several commands ---- */

static const cli_option choice_options[] = {
    {"variant", 'v', CLI_TEXT, offsetof(cli_choice_args, variant), "NAME", CLI_VARIANTS, NULL,
     "The variant. Default: the spec's first contender."},
    {"param", 'p', CLI_LIST, offsetof(cli_choice_args, params), "NAME=VALUE", CLI_PARAMS, NULL,
     "Set a param. Repeatable. Other params have their defaults."},
    CLI_SIZE_OPTION(offsetof(cli_choice_args, sizes)),
};
const cli_group cli_choice_group = {"What to run", choice_options, CLI_COUNT(choice_options)};

static const cli_option run_options[] = {
    CLI_INPUT_OPTION(offsetof(cli_run_args, inputs)),
    {"output", 'o', CLI_LIST, offsetof(cli_run_args, outputs), "BUFFER=FILE", CLI_FILES, NULL,
     "Write a buffer to a .npy file after the verified run. Repeatable."},
    CLI_RUN_OPTIONS(0),
    CLI_TIMEOUT_OPTION(0, ", plus twice the budget, plus four times the first run for each of the --repetitions."),
};
const cli_group cli_run_group = {"Running", run_options, CLI_COUNT(run_options)};

static const cli_option sandbox_options[] = {
    {"sandbox", 0, CLI_WORD, offsetof(cli_engine_args, sandbox), "WHEN", CLI_WORDS, "auto off required",
     "Run kernels of the simulated device in a process that cannot write files, use the network or start programs. "
     "If the system does not support this, auto prints a warning, and required is an error. Default: auto."},
};
const cli_group cli_sandbox_group = {"Sandbox", sandbox_options, CLI_COUNT(sandbox_options)};

static const cli_option engine_options[] = {
    {"device", 'd', CLI_TEXT, offsetof(cli_engine_args, device), "DEVICE", CLI_DEVICES, NULL,
     "A GPU (cuda:0), a simulated GPU whose times are estimated (sim:h200 or h200, or sim:sm_80 by its architecture), or "
     "the plain simulated device (sim). `kiln devices` lists them. Default: $KILN_DEVICE, or the first GPU, or "
     "sim:h200. Without a GPU, `check`, `profile` and `study` use sim."},
    {"jobs", 'j', CLI_WHOLE, offsetof(cli_engine_args, jobs), "COUNT", CLI_NOTHING, NULL,
     "How many kernels to compile at once. Default: one per core."},
    {"no-cache", 0, CLI_FLAG, offsetof(cli_engine_args, no_cache), NULL, CLI_NOTHING, NULL,
     "Do not read or write the disk cache."},
    {"cache-dir", 0, CLI_TEXT, offsetof(cli_engine_args, cache_dir), "FOLDER", CLI_FOLDERS, NULL,
     "The folder of the disk cache. Default: $KILN_CACHE_DIR."},
    {"path", 'I', CLI_LIST, offsetof(cli_engine_args, paths), "FOLDER", CLI_FOLDERS, NULL,
     "Search this folder first for specs, sources and headers. Repeatable."},
    {"read-anywhere", 0, CLI_FLAG, offsetof(cli_engine_args, read_anywhere), NULL, CLI_NOTHING, NULL,
     "Let specs name files outside their own folder and the search path."},
    {"allow-commands", 0, CLI_FLAG, offsetof(cli_engine_args, allow_commands), NULL, CLI_NOTHING, NULL,
     "Let specs run the commands that they name as references."},
    {"no-workers", 0, CLI_FLAG, offsetof(cli_engine_args, no_workers), NULL, CLI_NOTHING, NULL,
     "Compile inside this process, without a time limit."},
    {"worker", 0, CLI_TEXT, offsetof(cli_engine_args, worker), "FILE", CLI_FILES, NULL,
     "The compile worker program. Default: $KILN_WORKER, or the installed one."},
    {"compile-timeout", 0, CLI_NUMBER, offsetof(cli_engine_args, compile_timeout), "SECONDS", CLI_NOTHING, NULL,
     "Time limit for a compile. Default: 120."},
    {"memory-limit", 0, CLI_BYTES, offsetof(cli_engine_args, memory_limit), "BYTES", CLI_NOTHING, NULL,
     "Refuse sizes whose buffers need more memory than this on the device or on the host, for example 512M or 4G."},
};
const cli_group cli_engine_group = {"Device, compiler, cache", engine_options, CLI_COUNT(engine_options)};

static const cli_option output_options[] = {
    {"json", 0, CLI_FLAG, offsetof(cli_output_args, json), NULL, CLI_NOTHING, NULL,
     "Print the results, and errors too, as one JSON "
     "object."},
    {"quiet", 'q', CLI_FLAG, offsetof(cli_output_args, quiet), NULL, CLI_NOTHING, NULL,
     "Print no progress line and no warnings."},
    {"log-level", 0, CLI_WORD, offsetof(cli_output_args, log_level), "LEVEL", CLI_WORDS, "debug info warning none",
     "The messages on standard error: debug, info, warning or none. Default: warning."},
    {"help", 'h', CLI_FLAG, offsetof(cli_output_args, help), NULL, CLI_NOTHING, NULL, "Show the help of the command."},
    {"help-all", 0, CLI_FLAG, offsetof(cli_output_args, help_all), NULL, CLI_NOTHING, NULL,
     "Show the help with every option."},
};
const cli_group cli_output_group = {"Output", output_options, CLI_COUNT(output_options)};

size_t cli_groups(const cli_command *command, const cli_group **groups)
{
    size_t count = 0;
    for (; command->groups && command->groups[count].group && count + 1 < CLI_MAX_GROUPS; count++)
        groups[count] = command->groups[count].group;
    groups[count++] = &cli_output_group;
    return count;
}

const char *cli_option_text(const cli_option *option)
{
    const char *value = !option->value ? "" : option->value;
    const char *gap = !option->value ? "" : option->kind == CLI_OPTIONAL ? "[=" : " ";
    const char *close = option->kind == CLI_OPTIONAL ? "]" : "";
    if (option->letter)
        return cli_printf("-%c, --%s%s%s%s", option->letter, option->name, gap, value, close);
    return cli_printf("    --%s%s%s%s", option->name, gap, value, close);
}

/* ---- suggestions for misspelt names ---- */

static size_t least_of_three(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the edit distance of two names (Damerau-Levenshtein: a swap of two neighbouring letters is one edit). Names
 * longer than 63 bytes count as never similar. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    unsigned char d[64][64];
    if (n > 63 || m > 63)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (unsigned char)(i + j);
                continue;
            }
            size_t best = least_of_three(d[i - 1][j] + 1u, d[i][j - 1] + 1u,
                                         d[i - 1][j - 1] + (size_t)(a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = least_of_three(best, best, d[i - 2][j - 2] + 1u);
            d[i][j] = (unsigned char)best;
        }
    }
    return d[n][m];
}

const char *cli_nearest(const char *name, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t limit = strlen(name) / 3 + 1; /* a name with more edits than this is a different word */
    size_t least_score = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t edits = distance(name, names[i]), length = strlen(name);
        if (length > 2 && strncmp(name, names[i], length) == 0) /* abbreviated */
            edits = edits ? 1 : 0;
        /* users seldom mistype the first letter, so a different first letter counts against a name */
        size_t score = 2 * edits + (names[i][0] != name[0]);
        if (edits <= limit && score < least_score) {
            best = names[i];
            least_score = score;
        }
    }
    return best;
}

static const char *suggest(const char *before, const char *name, const cli_list *names)
{
    const char *near = cli_nearest(name, names->items, names->count);
    return near ? cli_printf(" (did you mean '%s%s'?)", before, near) : "";
}

/* ---- values ---- */

static const char *option_name(const cli_option *option, bool by_letter)
{
    return by_letter ? cli_printf("-%c", option->letter) : cli_printf("--%s", option->name);
}

static bool parse_whole(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || parsed == 0)
        return false;
    *value = parsed;
    return true;
}

static bool parse_number(const char *text, double *value)
{
    char *end;
    double parsed = strtod(text, &end);
    if (isspace((unsigned char)*text) || end == text || *end || !isfinite(parsed) || parsed <= 0)
        return false;
    *value = parsed;
    return true;
}

static bool is_zero(const char *text) { return *text && text[strspn(text, "0.")] == '\0' && strchr(text, '0'); }

static bool parse_bytes(const char *text, uint64_t *value)
{
    static const char letters[] = "KMGTP";
    char *end;
    double parsed = strtod(text, &end);
    if (!isdigit((unsigned char)*text) || end == text || !isfinite(parsed) || parsed < 0)
        return false;
    const char *letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    if (letter) {
        parsed = ldexp(parsed, 10 * (int)(letter - letters + 1));
        end++;
        if (end[0] == 'i' && end[1] == 'B')
            end += 2;
    } else if (*end == 'B') {
        end++;
    }
    if (*end || parsed >= 0x1p63)
        return false;
    *value = (uint64_t)parsed;
    return true;
}

static bool is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

static void add_commas(cli_list *list, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        if (length)
            cli_list_add(list, cli_strndup(text, length));
        text += length + (text[length] == ',');
    }
}

/* Returns a pointer to the value of an option, which belongs to the group number `group` of the command. */
static void *field_of(cli *c, size_t group, const cli_option *option)
{
    const cli_use *use = c->command->groups ? &c->command->groups[group] : NULL;
    if (!use || !use->group) /* the common group comes after the command's own groups */
        return (char *)&c->output + option->offset;
    return (char *)c->args + use->at + option->offset;
}

/* Stores a value ("" for a flag) in the field. `as` is the spelling of the option that the user wrote, for messages. */
static bool store(cli *c, const cli_option *option, void *field, const char *as, const char *value)
{
    bool fits = true;
    const char *wants = "";
    switch (option->kind) {
    case CLI_FLAG: *(bool *)field = true; break;
    case CLI_OPTIONAL:
    case CLI_TEXT: *(const char **)field = value; break;
    case CLI_LIST: cli_list_add(field, value); break;
    case CLI_COMMAS: add_commas(field, value); break;
    case CLI_WHOLE:
        fits = parse_whole(value, field);
        wants = "a whole number above 0";
        break;
    case CLI_SEED:
        *(uint64_t *)field = 0;
        fits = parse_whole(value, field) || (*value && value[strspn(value, "0")] == '\0');
        wants = "a whole number";
        break;
    case CLI_NUMBER:
        fits = parse_number(value, field);
        wants = "a number above 0";
        break;
    case CLI_LIMIT:
        fits = parse_number(value, field);
        if (!fits && is_zero(value)) {
            *(double *)field = -1;
            fits = true;
        }
        wants = "a number above 0, or 0 for none";
        break;
    case CLI_BYTES:
        fits = ((cli_amount *)field)->given = parse_bytes(value, &((cli_amount *)field)->bytes);
        wants = "a number of bytes, for example 512M or 1.5GiB";
        break;
    case CLI_WORD:
        fits = is_word_of(option->words, value);
        wants = cli_printf("one of: %s", option->words);
        *(const char **)field = value;
        break;
    }
    const size_t digits = strspn(value, "0123456789.");
    const bool unit = (option->kind == CLI_NUMBER || option->kind == CLI_LIMIT || option->kind == CLI_WHOLE) &&
                      digits && value[digits] && strspn(value + digits, "sSmMhH ") == strlen(value + digits);
    if (!fits && unit)
        cli_usage(c, "%s needs %s, in %s and without a unit, not '%s': write %s %.*s", as, wants, option->value, value,
                  as, (int)digits, value);
    else if (!fits)
        cli_usage(c, "%s needs %s, not '%s'", as, wants, value);
    return fits;
}

/* ---- the parser ---- */

typedef struct cursor {
    int argc, at;
    char **argv;
} cursor;

/* Finds an option by its name, or by its letter if `name` is NULL, and sets *field to the place of its value. Returns
 * NULL if the command has no such option. */
static const cli_option *find_option(cli *c, const char *name, size_t length, char letter, void **field)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(c->command, groups);
    for (size_t g = 0; g < count; g++) {
        for (size_t i = 0; i < groups[g]->count; i++) {
            const cli_option *option = &groups[g]->options[i];
            if (name ? strlen(option->name) == length && strncmp(option->name, name, length) == 0
                     : option->letter == letter) {
                *field = field_of(c, g, option);
                return option;
            }
        }
    }
    return NULL;
}

static bool unknown_option(cli *c, const char *shown, const char *name)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(c->command, groups);
    cli_list names = {0};
    for (size_t g = 0; name && g < count; g++)
        for (size_t i = 0; i < groups[g]->count; i++)
            cli_list_add(&names, groups[g]->options[i].name);
    /* names that other programs use for an option of Kiln */
    static const char *const others[][2] = {{"time", "max-seconds"},
                                            {"seconds", "max-seconds"},
                                            {"max-time", "max-seconds"},
                                            {"time-limit", "max-seconds"},
                                            {"timeout", "sample-timeout"},
                                            {"gpu", "device"},
                                            {"gpus", "devices"},
                                            {"trials", "max-configurations"},
                                            {"max-fevals", "max-configurations"},
                                            {"iterations", "repetitions"},
                                            {"repeat", "repetitions"},
                                            {"reps", "repetitions"},
                                            {"out", "output"},
                                            {"metric", "objective"},
                                            {"size", "size"},
                                            {"sizes", "size"},
                                            {"params", "param"},
                                            {"include", "path"},
                                            {"no-check", "no-verify"},
                                            {"kernel", "variant"},
                                            {"method", "strategy"}};
    const char *near = name ? suggest("--", name, &names) : "";
    if (!name && shown[1] == 'D')
        near = " (a param is set with -p NAME=VALUE)";
    else if (!name && shown[1] == 'o')
        near = " (files have options by name, such as --csv FILE or --json; see the help)";
    else if (!name && shown[1] == 'f')
        near = " (the spec stands alone, without an option)";
    size_t length = name ? strcspn(name, "=") : 0;
    for (size_t i = 0; name && i < CLI_COUNT(others); i++)
        for (size_t k = 0;
             k < names.count && strlen(others[i][0]) == length && strncmp(others[i][0], name, length) == 0; k++)
            if (strcmp(names.items[k], others[i][1]) == 0)
                near = cli_printf(" (did you mean '--%s'?)", others[i][1]);
    cli_usage(c, "unknown option '%s'%s", shown, near);
    return false;
}

static bool parse_long(cli *c, cursor *in, const char *text)
{
    size_t length = strcspn(text, "=");
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    const char *name = cli_strndup(text, length);
    void *field = NULL;
    const cli_option *option = find_option(c, name, length, 0, &field);
    if (!option)
        return unknown_option(c, cli_printf("--%s", name), name);
    const char *as = option_name(option, false);
    if (option->kind == CLI_FLAG) {
        if (!value)
            return store(c, option, field, as, "");
        cli_usage(c, "%s takes no value", as);
        return false;
    }
    if (option->kind == CLI_OPTIONAL && !value)
        value = "-";
    if (!value && in->at < in->argc)
        value = in->argv[in->at++];
    if (!value) {
        cli_usage(c, "%s needs a value: %s", as, option->value);
        return false;
    }
    return store(c, option, field, as, value);
}

static bool parse_short(cli *c, cursor *in, const char *text)
{
    for (; *text; text++) {
        void *field = NULL;
        const cli_option *option = find_option(c, NULL, 0, *text, &field);
        if (!option)
            return unknown_option(c, cli_printf("-%c", isprint((unsigned char)*text) ? *text : '?'), NULL);
        const char *as = option_name(option, true);
        if (option->kind == CLI_FLAG) {
            if (!store(c, option, field, as, ""))
                return false;
            continue;
        }
        const char *value = text[1] ? text + 1 : in->at < in->argc ? in->argv[in->at++] : NULL;
        if (!value) {
            cli_usage(c, "%s needs a value: %s", as, option->value);
            return false;
        }
        return store(c, option, field, as, value);
    }
    return true;
}

static bool has_commas(const cli_command *command)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g]->count; i++)
            if (groups[g]->options[i].kind == CLI_COMMAS)
                return true;
    return false;
}

/* Reports an argument that the command does not accept, and guesses which option the user meant. */
static void fail_many(cli *c)
{
    const char *extra = c->words.items[c->command->max_words];
    const char *first = c->words.items[0], *equals = strchr(extra, '=');
    const char *hint = cli_printf("; the command is kiln %s %s", c->command->name, c->command->arguments);
    if (c->command->max_words > 0 && strcmp(extra, first) == 0)
        hint = ": the argument is given twice; leave one out";
    else if (equals && equals != extra)
        hint = cli_printf(": write -p %s for a param, or -s %s for a size", extra, extra);
    else if (extra[strspn(extra, "-+.0123456789")] == '\0')
        hint = ": an option takes its value with '=', such as -p NAME=VALUE and -s NAME=VALUE";
    else if (c->command->completes == CLI_SPECS && has_commas(c->command))
        hint = cli_printf("%s; several names for one option have commas between them: -v A,B", hint);
    cli_usage(c, "one argument too many: '%s'%s", extra, hint);
}

/* Parses the arguments after the command's name by the option tables. The word `--` ends the options. For a command
 * such as `kiln sim run PROGRAM`, everything after the program belongs to the program. Returns false after a
 * message. */
bool cli_parse(cli *c, int argc, char **argv)
{
    cursor in = {.argc = argc, .argv = argv};
    bool options = true;
    while (in.at < argc) {
        const char *text = argv[in.at++];
        if (c->command->passes_on && c->words.count == 2 && strcmp(c->words.items[0], c->command->passes_on) == 0)
            options = false;
        if (!options || text[0] != '-' || !text[1]) {
            cli_list_add(&c->words, text);
        } else if (strcmp(text, "--") == 0) {
            options = false;
        } else if (!(text[1] == '-' ? parse_long(c, &in, text + 2) : parse_short(c, &in, text + 1))) {
            return false;
        }
    }
    if (c->output.help || c->output.help_all)
        return true;
    if (c->words.count < c->command->min_words) {
        cli_usage(c, "an argument is missing: %s", c->command->arguments);
        return false;
    }
    if (c->words.count > c->command->max_words) {
        fail_many(c);
        return false;
    }
    return true;
}
