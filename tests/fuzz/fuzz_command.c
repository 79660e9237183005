/* Runs the command with arguments and an environment from the input. The bytes choose a subcommand, options from its
 * own tables, values and KILN_* variables. main() then runs with them in a separate folder. Commands that would
 * compile, launch or search the machine only explain themselves (--help). The target requires that the command does not
 * crash, that its exit code is stable, and that it prints one JSON object if the arguments ask for JSON. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int kiln_main(int argc, char **argv); /* main() of tools/kiln/main.c */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 24, MOST_BYTES = 512 };

/* ---- the folder ---- */

static const struct {
    const char *name, *text;
} files[] = {
    {"add.yaml",
     "kiln: 1\nname: add\ntitle: \"two \\u2713\"\nsource: add.cu\nsizes:\n  default: {N: 8}\n  tiny: {N: 4}\n"
     "buffers:\n  x: {type: f32, shape: [N], fill: {iota: [1, 1]}}\n  y: {type: f32, shape: [N], out: true}\n"
     "variants:\n  plain:\n    params: {BLOCK: [2, 4, 8]}\n    where: [BLOCK <= N]\n    steps:\n"
     "      - launch: {kernel: add, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}\n"},
    {"bad.yaml", "kiln: 1\nname: bad\nbuffers: {x: {type: f33}}\n"},
    {"add.cu", "extern \"C\" __global__ void add(const float *x, float *y, int n) {}\n"},
    {"bad.profile", "title: Nothing\n"},
    {"space.json",
     "{\"device_name\": \"d\", \"kernel_name\": \"k\", \"tune_params_keys\": [\"B\"], \"tune_params\": {\"B\": [1, 2]}, "
     "\"cache\": {\"1\": {\"B\": 1, \"time\": 2.0}, \"2\": {\"B\": 2, \"time\": 1.0}}}\n"},
    {"known.yaml", "kiln-best: 1\n"},
};
static char folder[64], inner[96];
static int before = -1; /* the folder in which the fuzzer was started, because the fuzzer has relative paths */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    return where->level > 0 || kind == FTW_F ? remove(path) : 0;
}

/* Removes everything that a run has left, so that the next run does not see it. */
static void fresh_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (mkdir(inner, 0700) != 0 && errno != EEXIST) {
        /* A failure of the machine is not a finding. */
        dprintf(STDERR_FILENO, "%s cannot be made: %s\n", inner, strerror(errno));
        abort();
    }
    WANT(chdir(inner) == 0);
    for (size_t i = 0; i < CLI_COUNT(files); i++) {
        FILE *file = fopen(files[i].name, "w");
        WANT(file);
        fputs(files[i].text, file);
        fclose(file);
    }
}

static void leave_folder(void)
{
    if (chdir("/") == 0)
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    rmdir(folder);
}

/* A path with `..` must still lead to a place inside the fuzzer's own folder. */
static void enter(void)
{
    snprintf(folder, sizeof folder, "/tmp/kiln-fuzz-XXXXXX");
    WANT(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/here", folder);
    atexit(leave_folder);
    before = open(".", O_RDONLY | O_DIRECTORY);
    WANT(before >= 0);
    if (!getenv("KILN_FUZZ_SHOW")) { /* the fuzzer has its own handle on standard error by now */
        FILE *quiet = fopen("/dev/null", "w");
        WANT(quiet);
        stderr = quiet;
    }
}

/* ---- the words of the command line ---- */

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;
static unsigned next(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

// clang-format off: one word a line would be seventy lines
static const char *const values[] = {
    "add",
    "add.yaml",
    "bad.yaml",
    "nothing",
    "space.json",
    "known.yaml",
    "bad.profile",
    "out.csv",
    "out.json",
    "out.json.gz",
    "out.html",
    "samples.db",
    "samples.csv",
    "plain",
    "BLOCK=4",
    "BLOCK=3",
    "BLOCK=",
    "=",
    "N=8",
    "N=-1",
    "N=1e400",
    "tiny",
    "x=a.npy",
    "sim",
    "sim:h200",
    "sim:bad.profile",
    "sim:",
    "cuda:0",
    "cuda:99999999999",
    "sm_90",
    "0",
    "1",
    "-1",
    "4G",
    "1e308",
    "nan",
    "",
    "-",
    "--",
    "list",
    "show",
    "gc",
    "clear",
    "verify",
    "export",
    "import",
    "compare",
    "prune",
    "convert",
    "coverage",
    "bash",
    "zsh",
    "fish",
    "exit-codes",
    "csv",
    "t4",
    "kernel-tuner",
    "auto",
    "none",
    "debug",
    "random",
    "greedy",
    "time",
    "min:energy",
    "00",
    "30d",
    "\xff\xfe",
    "\033[2J",
    "*",
    "a,b,,c",
};
// clang-format on
static const char *const variables[] = {
    "KILN_DEVICE",     "KILN_CACHE_DIR",   "KILN_STORE",           "KILN_PATH",   "KILN_INCLUDE",
    "KILN_CAPTURE",    "KILN_CAPTURE_DIR", "KILN_CAPTURE_LIMIT",   "KILN_WORKER", "KILN_LOCK_DIR",
    "KILN_NVRTC",      "KILN_LIBCUDA",     "KILN_LIBNVML",         "KILN_VEGA",   "KILN_SIM_CHECK",
    "KILN_SIM_MEMORY", "KILN_SIM_THREADS", "CUDA_VISIBLE_DEVICES", "NO_COLOR",    "TERM",
};
/* Commands that compile, launch, take seconds, or start programs. */
static const char *const explained[] = {
    "run", "tune", "check", "profile", "study", "inspect", "doctor", "compare-strategies", "sim"};

/* Returns a value from the list, or the bytes unchanged. No value leads out of the folder: no value has a '/', and the
 * parent folder ('..') is still inside. */
static char *value(bytes *b)
{
    unsigned kind = next(b);
    if (kind < 200)
        return cli_printf("%s", values[kind % CLI_COUNT(values)]);
    size_t length = kind - 200;
    char *word = cli_alloc(length + 1);
    for (size_t i = 0; i < length; i++) {
        word[i] = (char)next(b);
        if (word[i] == '/')
            word[i] = '_';
        if (!word[i])
            break;
    }
    return word;
}

static char *option(bytes *b, const cli_command *command, bool *json)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    size_t count = cli_groups(command, groups);
    const cli_group *group = groups[next(b) % count];
    if (group->count == 0)
        return cli_printf("-");
    const cli_option *o = &group->options[next(b) % group->count];
    *json = *json || strcmp(o->name, "json") == 0;
    unsigned how = next(b);
    if (how % 4 == 0 && o->letter)
        return how % 8 == 0 ? cli_printf("-%c", o->letter) : cli_printf("-%c%s", o->letter, value(b));
    return how % 4 == 1 ? cli_printf("--%s=%s", o->name, value(b)) : cli_printf("--%s", o->name);
}

static void clear_environment(void)
{
    for (size_t i = 0; i < CLI_COUNT(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", inner, 1);
    setenv("XDG_CACHE_HOME", inner, 1);
    setenv("XDG_DATA_HOME", inner, 1);
    setenv("KILN_DEVICE", "sim", 1);
}

static size_t make_words(bytes *b, char **words)
{
    size_t count = 0, commands = 0;
    bool json = false;
    while (cli_commands[commands])
        commands++;
    unsigned which = next(b);
    const cli_command *command = cli_commands[which % commands];
    words[count++] = cli_printf("kiln");
    words[count++] = which < 240 ? cli_printf("%s", command->name) : value(b);
    for (size_t i = 0; i < CLI_COUNT(explained); i++)
        if (strcmp(words[1], explained[i]) == 0)
            words[count++] = cli_printf("--help");
    while (b->at < b->end && count < MOST_WORDS) {
        unsigned what = next(b) % 8;
        if (what == 0)
            setenv(variables[next(b) % CLI_COUNT(variables)], value(b), 1);
        else
            words[count++] = what < 5 ? option(b, command, &json) : value(b);
    }
    words[count] = NULL;
    return count;
}

/* Returns true if the word is an option whose value is the next word. */
static bool takes_next(const char *name, const char *word)
{
    const cli_group *groups[CLI_MAX_GROUPS];
    for (size_t i = 0; cli_commands[i]; i++) {
        size_t count = strcmp(cli_commands[i]->name, name) == 0 ? cli_groups(cli_commands[i], groups) : 0;
        for (size_t g = 0; g < count; g++)
            for (size_t k = 0; k < groups[g]->count; k++) {
                const cli_option *o = &groups[g]->options[k];
                const char letter[] = {'-', o->letter, '\0'};
                if (o->value && ((strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) ||
                                 (o->letter && strcmp(word, letter) == 0)))
                    return true;
            }
    }
    return false;
}

/* ---- the run ---- */

static bool is_exit_code(int code)
{
#define KILN_X(name, number, text, exit_code)                                                                          \
    if (code == (exit_code))                                                                                           \
        return true;
    KILN_STATUS_MAP(KILN_X)
#undef KILN_X
    return code == 1;
}

/* Tests the output of --json: it is empty, or exactly one JSON value. */
static void check_json(int fd)
{
    off_t length = lseek(fd, 0, SEEK_END);
    WANT(length >= 0 && length < 1 << 28);
    char *text = malloc((size_t)length + 1);
    WANT(text && pread(fd, text, (size_t)length, 0) == length);
    json_error_t why;
    json_t *parsed = json_loadb(text, (size_t)length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    WANT(length == 0 || parsed);
    json_decref(parsed);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!*folder)
        enter();
    if (size > MOST_BYTES)
        return 0;
    bytes b = {data, data + size};
    char *words[MOST_WORDS + 1], *kept[MOST_WORDS + 1];
    clear_environment();
    size_t count = make_words(&b, words);
    bool json = false, ended = false;
    for (size_t i = 0; i <= count; i++) {
        kept[i] = words[i] ? strdup(words[i]) : NULL; /* the command frees all that it has allocated at its end */
        ended = ended || (i > 0 && words[i] && strcmp(words[i], "--") == 0);
        json = json ||
               (i > 0 && words[i] && !ended && strcmp(words[i], "--json") == 0 && !takes_next(words[1], words[i - 1]));
    }
    cli_free_all();
    fresh_folder();
    int saved = dup(STDOUT_FILENO), to = open("../stdout", O_RDWR | O_CREAT | O_TRUNC, 0600);
    WANT(saved >= 0 && to >= 0 && dup2(to, STDOUT_FILENO) >= 0);
    const pid_t self = getpid();
    int code = kiln_main((int)count, kept);
    /* a child of the command, such as the child that judges a candidate, ends in the same way as the command */
    if (getpid() != self)
        _exit(code);
    WANT(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
    WANT(fchdir(before) == 0);
    WANT(is_exit_code(code));
    if (json)
        check_json(to);
    close(to);
    for (size_t i = 0; i < count; i++)
        free(kept[i]);
    return 0;
}
