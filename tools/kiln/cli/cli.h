/* cli.h - what the subcommands of `kiln` share. It uses the public headers only.
 *
 * A subcommand is one file with one `cli_command`: its words, its options as a table, and the function that does it.
 * The tables drive the parser, --help, the completion scripts and the man page, so these cannot disagree. */
#ifndef KILN_CLI_H
#define KILN_CLI_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kiln.h>
#include <kiln_sim.h>
#include <kiln_tune.h>

#define CLI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define CLI_COUNT(array) (sizeof(array) / sizeof *(array))
#define CLI_USAGE 2 /* the exit code of a wrong command line */

/* ---- memory: freed when the command ends; if no memory is left the command ends with a message ---- */

void *cli_alloc(size_t size); /* zeroed */
char *cli_strndup(const char *text, size_t length);
char *cli_printf(const char *format, ...) CLI_PRINTF(1, 2);
char *cli_vprintf(const char *format, va_list arguments);
/* Memory that was allocated since a mark can be freed early, for work that is repeated often. */
void *cli_mark(void);
void cli_release(void *mark);
void cli_free_all(void);

typedef struct cli_list {
    const char **items;
    size_t count, room;
} cli_list;
void cli_list_add(cli_list *list, const char *item);

/* ---- options ---- */

typedef enum cli_kind {
    CLI_FLAG,     /* bool */
    CLI_TEXT,     /* const char * */
    CLI_OPTIONAL, /* const char *: "-" unless given as --name=VALUE */
    CLI_LIST,     /* cli_list: every use adds one */
    CLI_COMMAS,   /* cli_list: split at commas, every use adds */
    CLI_WHOLE,    /* uint64_t, at least 1 */
    CLI_NUMBER,   /* double, above 0 */
    CLI_LIMIT,    /* double, above 0; 0 means none and is stored as -1 */
    CLI_BYTES,    /* uint64_t: 64M, 1.5GiB */
    CLI_WORD      /* const char *: one of `words` */
} cli_kind;

typedef enum cli_completes {
    CLI_NOTHING,
    CLI_FILES,
    CLI_FOLDERS,
    CLI_SPECS,
    CLI_VARIANTS,
    CLI_PARAMS,
    CLI_SIZES,
    CLI_DEVICES,
    CLI_WORDS
} cli_completes;

typedef struct cli_option {
    const char *name; /* "variant" */
    char letter;      /* 'v', or 0 */
    cli_kind kind;
    size_t offset;     /* of the field of cli_args */
    const char *value; /* "NAME" in help; NULL for flags */
    cli_completes completes;
    const char *words; /* "auto always never": for CLI_WORD */
    const char *help;  /* sentences; completions show only the first one */
} cli_option;

typedef struct cli_group {
    const char *title;
    const cli_option *options;
    size_t count;
} cli_group;
typedef struct cli_example {
    const char *line, *says;
} cli_example;

typedef struct cli_args {
    cli_list words; /* arguments that are not options */
    const char *variant, *arch, *device, *cache_dir, *worker, *log_level, *only, *csv;
    const char *over, *at_block, *store, *known, *export_to, *format;
    const char *replay, *prior, *strategy, *plot, *estimates;
    const char *report_to, *gnuplot, *charts, *compare, *vega;
    const char *capture, *trace_to, *sandbox;
    const char *kernel, *output_to, *space; /* of init */
    const char *source, *ptx, *cubin;       /* files to write; NULL: none, "-": standard output */
    cli_list variants, params, sizes, inputs, outputs, paths, strategies, objectives;
    bool no_verify, no_measure, flush_l2, keep_l2, no_cache, no_workers, read_anywhere, allow_commands, isolate,
        no_isolate;
    bool check, notes, json, quiet, help, names, metrics, all, show_source, show_ptx, page, schema, lines, each,
        no_machine_code;
    bool mpi, no_mpi, profile, counters, every_launch;
    bool strict, no_store, fresh, failed, energy, no_early_stop, no_finals, lead_only, repeatable, png;
    uint64_t jobs, top, repetitions, verify_runs, max_configurations, max_size, memory_limit, seed, seeds, finalists,
        stagnation, devices;
    bool has_max_size;
    double budget, precision, max_seconds, compile_timeout, sample_timeout, older, tune_seconds;
    double max_roofline, improvement, lease;
} cli_args;

typedef struct cli_command cli_command;
typedef struct cli { /* one run of the command */
    const cli_command *command;
    cli_args args;
    const char *line;      /* the whole command, as a shell takes it */
    kiln_engine *engine;   /* from cli_engine(); closed by main */
    kiln_spec *spec;       /* from cli_spec(); freed by main */
    kiln_ranks *ranks;     /* of `kiln tune`; NULL: this process alone. Closed by main, after the engine */
    unsigned sandbox;      /* flag of kiln_options, from cli_sandbox(); 0: none */
    bool stopped;          /* such a process was interrupted, and this one shows what there is */
    bool apart;            /* this is the process that cli_apart() made */
    int apart_fd;          /* of it: to the command's own process */
    const char *apart_why; /* what that said of a file that it could not write; NULL: nothing */
    kiln_status apart_status;
} cli;

struct cli_command {
    const char *name, *summary; /* "run", "run one configuration of a spec" */
    const char *arguments;      /* "SPEC" in the usage line, "" */
    const char *about;          /* paragraphs, an empty line between them */
    size_t min_words, max_words;
    cli_completes completes;        /* what the words are */
    const char *passes_on;          /* after this first word and one more, nothing is an option */
    const char *words;              /* for CLI_WORDS: "list show gc"; with CLI_SPECS: the word before the spec */
    const cli_group *const *groups; /* ends with NULL; the common ones are added by cli_groups() */
    const cli_example *examples;    /* ends with a NULL line */
    int (*run)(cli *c);             /* the exit code */
};

/* Groups that several commands take. */
extern const cli_group cli_choice_group, cli_run_group, cli_engine_group, cli_sandbox_group, cli_output_group;
#define CLI_OPTION_FIELD(field) offsetof(cli_args, field)
// clang-format off: it takes the braces in a macro for a block

/* Rows that the tables of several commands have. */
#define CLI_SIZE_OPTION                                                                                                      \
    {                                                                                                                        \
        "size", 's', CLI_LIST, CLI_OPTION_FIELD(sizes), "SIZE", CLI_SIZES, NULL,                                             \
            "A size set of the spec by name, or NAME=VALUE for a single size of it. Repeatable. Default: the first set; on " \
            "the simulated device `tiny` where there is one."                                                                \
    }
#define CLI_INPUT_OPTION                                                                                               \
    {                                                                                                                  \
        "input", 'i', CLI_LIST, CLI_OPTION_FIELD(inputs), "BUFFER=FILE", CLI_FILES, NULL,                              \
            "Fill a buffer from a .npy file, in place of the fill of the spec. Repeatable."                            \
    }
#define CLI_RUN_OPTIONS                                                                                                \
    {"no-verify", 0, CLI_FLAG, CLI_OPTION_FIELD(no_verify), NULL, CLI_NOTHING, NULL, "Do not check the answer."},      \
        {"verify-runs",                                                                                                \
         0,                                                                                                            \
         CLI_WHOLE,                                                                                                    \
         CLI_OPTION_FIELD(verify_runs),                                                                                \
         "COUNT",                                                                                                      \
         CLI_NOTHING,                                                                                                  \
         NULL,                                                                                                         \
         "Compare the answers of this many runs, each from the initial contents of the buffers. This finds kernels "   \
         "that are right in most runs only. Default: 1; `tune` runs the best again at the end."},                      \
        {"no-measure", 0,           CLI_FLAG, CLI_OPTION_FIELD(no_measure),                                            \
         NULL,         CLI_NOTHING, NULL,     "Run once without measuring."},                                          \
        {"budget",  'b',         CLI_NUMBER, CLI_OPTION_FIELD(budget),                                                 \
         "SECONDS", CLI_NOTHING, NULL,       "Repeat a configuration for at most this long. Default: 1 on a GPU."},    \
        {"precision", 0,                                                                                               \
         CLI_NUMBER,  CLI_OPTION_FIELD(precision),                                                                     \
         "SHARE",     CLI_NOTHING,                                                                                     \
         NULL,        "Stop repeating when the median is known within this share of it. Default: 0.01."},              \
        {"repetitions", 'n',         CLI_WHOLE, CLI_OPTION_FIELD(repetitions),                                         \
         "COUNT",       CLI_NOTHING, NULL,      "Repeat exactly this often."},                                         \
        {"flush-l2", 0,                                                                                                \
         CLI_FLAG,   CLI_OPTION_FIELD(flush_l2),                                                                       \
         NULL,       CLI_NOTHING,                                                                                      \
         NULL,       "Flush the L2 cache before each repetition. Default: if the buffers fit in it."},                 \
        {"keep-l2", 0, CLI_FLAG, CLI_OPTION_FIELD(keep_l2), NULL, CLI_NOTHING, NULL, "Never flush the L2 cache."},     \
    {                                                                                                                  \
        "energy", 0, CLI_FLAG, CLI_OPTION_FIELD(energy), NULL, CLI_NOTHING, NULL,                                      \
            "Measure energy too, if the GPU has an energy counter: about one second more per configuration."           \
    }

/* Of commands that run on a device; read by cli_take_arch(). */
#define CLI_ARCH_OPTION                                                                                                \
    {                                                                                                                  \
        "arch", 'a', CLI_TEXT, CLI_OPTION_FIELD(arch), "ARCH", CLI_WORDS, "sm_75 sm_80 sm_89 sm_90",                   \
            "Estimate for the simulated GPU that is nearest to this architecture: the same as --device sim:ARCH."      \
    }

#define CLI_TIMEOUT_OPTION(more)                                                                                       \
    {                                                                                                                  \
        "sample-timeout", 0, CLI_LIMIT, CLI_OPTION_FIELD(sample_timeout), "SECONDS", CLI_NOTHING, NULL,                \
            "Time limit for a configuration, from its first launch on; 0: none. Default: 60" more                      \
    }

#define CLI_STORE_OPTION                                                                                               \
    {                                                                                                                  \
        "store", 0, CLI_TEXT, CLI_OPTION_FIELD(store), "FILE", CLI_FILES, NULL,                                        \
            "The file in which samples are stored. Default: $KILN_STORE, else ~/.local/share/kiln/samples.db."         \
    }
// clang-format on

/* ---- kernels in a sandbox (apart.c) ---- */

/* Sets `sandbox` from --sandbox, for cli_engine(). False: kernels will run without one, or on a GPU. */
bool cli_sandbox(cli *c);
/* Calls work(c, user) in a process of its own, whose exit code it returns, if there is a sandbox; else in this one. In the
 * child it returns too, with `apart` set: the command then has nothing else to do. To be called before the library has
 * opened a device or compiled anything. */
int cli_apart(cli *c, int (*work)(cli *c, void *user), void *user);
int cli_apart_write(void *c, const char *path, const void *data, size_t bytes); /* `write` of kiln_run_options there */
int cli_apart_error(const cli *c, kiln_error *error); /* as cli_error(), after a file could not be written too */

/* ---- SIGINT and SIGTERM, and kernels that do not end ---- */

/* From now on the first signal sets a flag and prints that the command is ending (after `what`; "": at once); the
 * second one ends it. A command that has not ended ten seconds after the first signal is ended too, unless it has something
 * else than kernels to finish first. */
void cli_catch_signals(const char *what);
/* For kiln_options.limit: kernels that have not ended when their time limit is long over end the process. */
void cli_watch(void *user, double seconds);
bool cli_interrupted(void);
const volatile int *cli_interrupt_flag(void); /* for kiln_run_options.stop */

/* The nearest of `count` names by edit distance, NULL if none is near. */
const char *cli_nearest(const char *name, const char *const *names, size_t count);
/* Parses what follows the command's name. False after cli_fail(). */
bool cli_parse(cli *c, int argc, char **argv);

/* ---- settings: NAME=VALUE ---- */

typedef struct cli_choice { /* -v, -p and -s in the library's form */
    kiln_choice choice;
    const char *variant; /* for printing: the variant, also if it was not named */
} cli_choice;
/* Values get the kinds of the spec's params. `variant` NULL: of any variant. False after cli_fail(). */
bool cli_make_choice(cli *c, const char *variant, cli_choice *choice);
/* The sizes of -s without a spec: only NAME=VALUE. */
bool cli_make_sizes(cli *c, const kiln_setting **sizes);
bool cli_make_files(cli *c, const cli_list *list, const char *option, const kiln_file_binding **files);
void cli_make_run(cli *c, kiln_run_options *options);
/* The complete configuration of a choice: the variant's params, with defaults. */
size_t cli_whole_params(const kiln_spec *spec, size_t variant, const kiln_choice *choice, kiln_setting **params);
size_t cli_whole_sizes(const kiln_spec *spec, const kiln_choice *choice, bool simulated, const char **set,
                       kiln_setting **sizes);
const char *cli_value_text(kiln_value value);
/* What a command takes for a spec that was loaded by `word`: its name if the same file is found by it, else `word`. */
const char *cli_spec_word(cli *c, const char *word);
/* By which name and path the store knows the spec that `word` means, a name or a path, for every command that reads
 * samples. Loads c->spec; a spec that cannot be found any more (c->spec stays NULL, and *path is "") may still have
 * samples under its name. Returns an exit code: a path that cannot be loaded is an error. */
int cli_stored_spec(cli *c, const char *word, const char **name, const char **path);
const char *cli_settings_text(const kiln_setting *settings, size_t count); /* "A=1 B=2" */

/* ---- the engine ---- */

/* Each returns 0, or the exit code after an error message. */
/* The log of an engine, and its user data; it may be called from any thread. */
void cli_log(void *user, kiln_log_level level, const char *message);
void *cli_log_to(const cli *c);
int cli_engine(cli *c); /* opens it by the options */
int cli_spec(cli *c);   /* the same, and loads the spec that the first word names */

/* Every device of this machine. */
typedef struct cli_devices {
    kiln_device_info *items;
    size_t count, room;
} cli_devices;
kiln_status cli_list_devices(cli *c, cli_devices *list, kiln_error **error);
/* Makes a device's name of --arch, if that is given. False: both are; it was reported. */
bool cli_take_arch(cli *c);
const char *cli_usual_device(void);                        /* of KILN_DEVICE; NULL: none */
const char *cli_device_name(const kiln_device_info *info); /* says where it is simulated */

/* ---- output: standard output is written at the end, so that in JSON an error is the only output ---- */

/* For people: control characters are escaped (\x1b), except newlines, tabs and the codes of out_bold() and similar
 * functions. */
void out_puts(const char *text);
void out_printf(const char *format, ...) CLI_PRINTF(1, 2);
/* One word per line, for scripts and completions; a word with control characters is skipped. */
void out_word(const char *word);
void out_write(const void *data, size_t length); /* a file's bytes, unchanged; escaped on a terminal */
void out_wrapped(const char *text, unsigned indent, unsigned width); /* paragraphs */
void out_flush(void);
int out_finish(int code); /* writes the rest; returns the exit code: 5 if that failed */
bool out_is_terminal(void);
unsigned out_width(void); /* columns of help and prose */
const char *out_bold(void);
const char *out_dim(void);
const char *out_red(void);
const char *out_green(void);
const char *out_plain(void);
void out_start_json(void); /* from here on standard output gets one JSON object and nothing else */
void out_release(void);    /* ends that: standard output is as the process got it, for a program that is started */
void out_json(const char *text);
void out_keep_json(void);        /* what is written so from here on is not written but kept, the last of it, */
const char *out_kept_json(void); /* until this is called; NULL: nothing was */
void out_start(void);            /* checks the terminal and the locale, once */
bool out_utf8(void);
int out_character_columns(uint32_t code); /* of a character on a terminal; below 0: it cannot be shown */
/* Columns of `text` on a terminal, as it is shown. */
size_t out_columns(const char *text);

/* ---- untrusted text (visible.c) ---- */

/* The character at `text`, which has `length` bytes. Returns its bytes; 0: not UTF-8. */
size_t cli_utf8(const char *text, size_t length, uint32_t *code);
bool cli_is_control(uint32_t code); /* C0, C1, DEL, bidirectional marks */
/* Escapes control characters except those in `as_is` ("\n\t"), and bytes that are not UTF-8, as \x1b or \u202e. From
 * malloc(), for any thread; NULL: out of memory. */
char *cli_escape(const char *text, size_t length, const char *as_is);
const char *cli_visible(const char *text);    /* the same as one line, in memory of cli_alloc() */
bool cli_is_plain(const char *text);          /* nothing in it would be escaped */
const char *cli_shell_word(const char *text); /* quoted for a shell if needed */
/* Bytes of the first character of an escaped text, and its columns. */
size_t cli_character(const char *text, size_t *columns);

typedef struct cli_table {
    const char *align;
    size_t columns;
    cli_list cells;
    unsigned indent;
} cli_table;
/* `align` has one letter per column: l or r. The first row is the heading. */
void table_start(cli_table *table, const char *align);
void table_cell(cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);
void table_print(const cli_table *table, bool heading);

/* Numbers for people. */
const char *cli_seconds(double seconds);                /* "1.234 ms" */
const char *cli_duration(double seconds);               /* "1 min 20 s" */
const char *cli_bytes(uint64_t bytes);                  /* "1.5 MiB" */
const char *cli_whole(uint64_t number);                 /* "116,928" */
const char *cli_significant(double number, int digits); /* never with an exponent */
/* The next name of "NAME=NUMBER ..." (metrics, host functions), and its number; NULL at the end. */
const char *cli_named_number(const char **text, double *number);
bool cli_find_number(const char *text, const char *name, double *number); /* false: it is not there */
/* A suitable unit of time for `seconds`, and its length in seconds. */
const char *cli_time_unit(double seconds, double *length);
double cli_ratio(uint64_t a, uint64_t b);             /* 0 if b is 0 */
const char *cli_share(uint64_t part, uint64_t whole); /* "12.5 %"; "" if whole is 0 */
const char *cli_per(uint64_t a, uint64_t b);          /* "4", "" for none */

/* ---- errors ---- */

int cli_exit_code(kiln_status status);
/* Prints the error (with --json as JSON) and returns the exit code. */
int cli_fail(const cli *c, kiln_status status, const char *format, ...) CLI_PRINTF(3, 4);
int cli_usage(const cli *c, const char *format, ...) CLI_PRINTF(2, 3);
/* The same for an error of the library, which is freed. */
int cli_error(const cli *c, kiln_error *error);

/* ---- files (files.c) ---- */

/* Writes a whole file by kiln_file_write(). 0, or the exit code. */
int cli_write_file(const cli *c, const char *path, const void *data, size_t size);
/* The same for text that was printed to a stream in memory. */
typedef struct cli_stream {
    FILE *file;
    char *text;
    size_t size;
} cli_stream;
FILE *cli_stream_open(cli_stream *stream);                                /* NULL: out of memory */
int cli_write_stream(const cli *c, const char *path, cli_stream *stream); /* and closes it */
/* Reads a regular file of at most `most` bytes; NULL: see errno. Never waits. */
const char *cli_read_file(const char *path, size_t most);
void cli_complain(const char *text); /* "kiln: text" to standard error, past a progress line */

/* ---- JSON ---- */

json_t *js_object(void);
json_t *js_array(void);
void js_set(json_t *object, const char *key, json_t *value); /* takes ownership of value */
void js_add(json_t *array, json_t *value);
json_t *js_text(const char *text); /* bytes that are not UTF-8 are replaced; NULL gives null */
json_t *js_real(double value);     /* null for NaN and infinities */
json_t *js_whole(uint64_t value);
json_t *js_value(kiln_value value);
json_t *js_settings(const kiln_setting *settings, size_t count);
json_t *js_result(const kiln_result *result);
json_t *js_host_times(const char *text); /* of "NAME=SECONDS ...", as an object */
json_t *js_device(const kiln_device_info *info);
json_t *js_error(kiln_status status, const char *message);
char *js_dump(const json_t *object, size_t flags); /* as a text; flags of json_dumps() */
void js_print(json_t *object);                     /* to standard output; frees it */
/* The same JSON with control characters outside ASCII escaped, as jansson does not escape them. */
const char *js_visible(const char *json);

/* ---- a progress line on a terminal ---- */

bool progress_wanted(const cli *c);
void progress_show(const char *left, const char *middle, const char *right); /* the middle is shortened if needed */
void progress_clear(void);
void progress_line(const char *text); /* the whole line; from any thread */

/* ---- the tables as text, for help, manual page and completion ---- */

/* The groups of a command with the common ones; at most CLI_MAX_GROUPS. */
#define CLI_MAX_GROUPS 8
size_t cli_groups(const cli_command *command, const cli_group **groups);
/* "-v, --variant NAME" */
const char *cli_option_text(const cli_option *option);

/* Environment variables and their meaning, for --help and the man page. X(name, says) */
#define CLI_ENVIRONMENT(X)                                                                                             \
    X("KILN_DEVICE", "The device to use without --device.")                                                            \
    X("KILN_CACHE_DIR", "The folder of the disk cache; else $XDG_CACHE_HOME/kiln, else ~/.cache/kiln.")                \
    X("KILN_STORE", "The file in which samples are stored; else $XDG_DATA_HOME/kiln/samples.db, else "                 \
                    "~/.local/share/kiln/samples.db.")                                                                 \
    X("KILN_VEGA", "The folder of the charting library Vega, or its vega.min.js.")                                     \
    X("KILN_PATH", "Folders with specs, sources and headers, separated by ':'; searched before the installed ones.")   \
    X("KILN_INCLUDE", "Folders with headers, separated by ':'; searched last.")                                        \
    X("KILN_NVRTC", "The NVRTC library to load (libnvrtc.so.13 for instance).")                                        \
    X("KILN_WORKER", "The compile worker program.")                                                                    \
    X("NO_COLOR", "Set to anything: no colours.")

#endif
