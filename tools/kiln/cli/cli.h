/* cli.h - functions and types that the subcommands of `kiln` share. The subcommands use only the public headers of the
 * library.
 *
 * A subcommand is one file with one `cli_command`: its words, its table of options, and its function. The parser,
 * --help, the completion scripts and the man page all use these tables, so they cannot disagree. */
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

/* ---- memory ----
 *
 * The functions free all memory of the command when the command ends. If no memory is left, the command ends with a
 * message. */

void *cli_alloc(size_t size); /* zeroed */
char *cli_strndup(const char *text, size_t length);
char *cli_printf(const char *format, ...) CLI_PRINTF(1, 2);
char *cli_vprintf(const char *format, va_list arguments);
/* cli_release() frees the memory that was allocated after the mark. Code that repeats its work many times marks the
 * memory before each repetition, and releases it afterwards. */
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
    CLI_OPTIONAL, /* const char *: "-" if the user gives the option without =VALUE */
    CLI_LIST,     /* cli_list: each use adds one text */
    CLI_COMMAS,   /* cli_list: each use adds the texts between its commas */
    CLI_WHOLE,    /* uint64_t, at least 1 */
    CLI_SEED,     /* uint64_t, 0 or more */
    CLI_NUMBER,   /* double, above 0 */
    CLI_LIMIT,    /* double above 0; the user writes 0 for "no limit", which is stored as -1 */
    CLI_BYTES,    /* cli_amount: 64M, 1.5GiB */
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
    CLI_STRATEGIES,
    CLI_WORDS
} cli_completes;

/* The value of an option of kind CLI_BYTES. */
typedef struct cli_amount {
    bool given; /* true if the user gave the option, because 0 is a valid value */
    uint64_t bytes;
} cli_amount;

typedef struct cli_option {
    const char *name; /* "variant" */
    char letter;      /* 'v', or 0 */
    cli_kind kind;
    size_t offset;     /* offset of the field in the struct of its group */
    const char *value; /* "NAME" in help; NULL for flags */
    cli_completes completes;
    const char *words; /* for CLI_WORD: the allowed words, "auto always never" */
    const char *help;  /* sentences; completions show only the first sentence */
} cli_option;

typedef struct cli_group {
    const char *title;
    const cli_option *options;
    size_t count;
} cli_group;
/* A group of options, and the place where a command stores its values. `at` is the offset of the group's struct in the
 * arguments of the command. */
typedef struct cli_use {
    const cli_group *group;
    size_t at;
} cli_use;
typedef struct cli_example {
    const char *line, *says;
} cli_example;

/* ---- arguments ----
 *
 * Each command has a struct of its own for the values of its options (`args` of cli). Options that several commands
 * share have their fields in these structs, which are members of the structs of the commands. A field is 0 or NULL if
 * the user does not give the option, or if the command does not have it. */

typedef struct cli_choice_args { /* the configuration */
    const char *variant;
    cli_list params, sizes; /* "NAME=VALUE"; in sizes also the name of a size set */
} cli_choice_args;

typedef struct cli_run_args { /* options for the run */
    bool check, no_verify, no_measure, flush_l2, keep_l2, energy;
    uint64_t verify_runs, repetitions;
    double budget, precision, sample_timeout; /* seconds, share, seconds */
    cli_list inputs, outputs;                 /* "BUFFER=FILE" */
} cli_run_args;

typedef struct cli_engine_args { /* the device, the compiler, the cache, and the sandbox of the kernels */
    const char *device, *cache_dir, *worker, *sandbox;
    cli_list paths;
    bool no_cache, no_workers, read_anywhere, allow_commands;
    uint64_t jobs;
    double compile_timeout; /* seconds */
    cli_amount memory_limit;
} cli_engine_args;

typedef struct cli_output_args { /* the options of output, which every command has */
    bool json, quiet, help, help_all;
    const char *log_level;
} cli_output_args;

typedef struct cli_command cli_command;
typedef struct cli { /* one run of the command, from the parsed command line to the exit code */
    const cli_command *command;
    cli_list words; /* the arguments of the command line that are not options */
    cli_output_args output;
    /* the struct with the values of the command's options; NULL if the command has no options of its own */
    void *args;
    const char *line;    /* the whole command line, quoted for a shell */
    kiln_engine *engine; /* the engine that cli_engine() opened; main() closes it */
    kiln_spec *spec;     /* the spec that cli_spec() loaded; main() frees it */
    /* the ranks of an MPI job, for `kiln tune`; NULL means that only this process works. main() closes the ranks after
     * the engine */
    kiln_ranks *ranks;
    unsigned sandbox; /* sandbox flag of kiln_options, from cli_sandbox(); 0 means no sandbox */
    bool stopped;     /* the sandboxed process was interrupted, and this process shows the results so far */
    bool apart;       /* this is the sandboxed process that cli_apart() made */
    int apart_fd;     /* in the sandboxed process: a socket to the command's own process */
    /* the files that the sandboxed process may ask the parent to write, each as "BUFFER=FILE" */
    const cli_list *apart_outputs;
    /* in the sandboxed process: why the command could not write a file; NULL means no such error */
    const char *apart_why;
    kiln_status apart_status;
} cli;

struct cli_command {
    const char *name, *summary; /* "run", "run one configuration of a spec" */
    const char *arguments;      /* the arguments in the usage line, such as "SPEC", or "" */
    const char *about;          /* the description for --help: paragraphs with an empty line between them */
    /* A command with many options sets the next two members. `--help` then shows only `brief` and the options of
     * `common`, and `--help-all` shows `about` and every option. */
    const char *brief;  /* paragraphs */
    const char *common; /* names of options in the order of the help, with spaces between them */
    size_t min_words, max_words;
    cli_completes completes; /* the kind of the arguments that are not options, for completion */
    /* the action that starts a program: after this word and the program, all arguments belong to the program */
    const char *passes_on;
    /* for CLI_WORDS the possible words, such as "list show gc"; for CLI_SPECS the word before the spec */
    const char *words;
    size_t args_size;            /* size in bytes of the struct with the values of the command's options */
    const cli_use *groups;       /* the groups of options, ended by {0}; cli_groups() adds the common group */
    const cli_example *examples; /* the examples of --help, ended by an element whose line is NULL */
    int (*run)(cli *c);          /* runs the command and returns its exit code */
};

/* Groups of options that several commands have. Their values are in cli_choice_args, cli_run_args, cli_engine_args (two
 * groups) and cli_output_args. */
extern const cli_group cli_choice_group, cli_run_group, cli_engine_group, cli_sandbox_group, cli_output_group;
// clang-format off: the formatter mistakes the braces in a macro for a block

/* Rows of options that the tables of several commands have. `at` is the offset of the option's field, or of a
 * cli_run_args. */
#define CLI_SIZE_OPTION(at)                                                                                            \
    {                                                                                                                  \
        "size", 's', CLI_LIST, at, "SIZE", CLI_SIZES, NULL,                                                            \
            "A size set of the spec by name, or NAME=VALUE for a single size of it. Repeatable. "                      \
            "Default: the first set; on the simulated device the set `tiny`, if the spec has it."                      \
    }
#define CLI_INPUT_OPTION(at)                                                                                           \
    {                                                                                                                  \
        "input", 'i', CLI_LIST, at, "BUFFER=FILE", CLI_FILES, NULL,                                                    \
            "Fill a buffer from a .npy file, in place of the fill of the spec. Repeatable."                            \
    }
#define CLI_RUN_OPTIONS(at)                                                                                            \
    {"no-verify", 0,           CLI_FLAG, (at) + offsetof(cli_run_args, no_verify),                                     \
     NULL,        CLI_NOTHING, NULL,     "Do not check the answer."},                                                  \
        {"verify-runs",                                                                                                \
         0,                                                                                                            \
         CLI_WHOLE,                                                                                                    \
         (at) + offsetof(cli_run_args, verify_runs),                                                                   \
         "COUNT",                                                                                                      \
         CLI_NOTHING,                                                                                                  \
         NULL,                                                                                                         \
         "Compare the answers of this many runs, each from the initial contents of the buffers. This "                 \
         "finds kernels that are right in most runs but not in all. Default: 1; `tune` runs the best "                 \
         "again at the end."},                                                                                         \
        {"no-measure", 0,           CLI_FLAG, (at) + offsetof(cli_run_args, no_measure),                               \
         NULL,         CLI_NOTHING, NULL,     "Run once without measuring."},                                          \
        {"budget",  'b',         CLI_NUMBER, (at) + offsetof(cli_run_args, budget),                                    \
         "SECONDS", CLI_NOTHING, NULL,       "Repeat a configuration for at most this long. Default: 1 on a GPU."},    \
        {"precision", 0,                                                                                               \
         CLI_NUMBER,  (at) + offsetof(cli_run_args, precision),                                                        \
         "SHARE",     CLI_NOTHING,                                                                                     \
         NULL,        "Stop repeating when the median is known within this share of it. Default: 0.01."},              \
        {"repetitions", 'n',         CLI_WHOLE, (at) + offsetof(cli_run_args, repetitions),                            \
         "COUNT",       CLI_NOTHING, NULL,      "Repeat exactly this many times."},                                    \
        {"flush-l2", 0,                                                                                                \
         CLI_FLAG,   (at) + offsetof(cli_run_args, flush_l2),                                                          \
         NULL,       CLI_NOTHING,                                                                                      \
         NULL,       "Flush the L2 cache before each repetition. Default: if the buffers fit in it."},                 \
        {"keep-l2", 0,           CLI_FLAG, (at) + offsetof(cli_run_args, keep_l2),                                     \
         NULL,      CLI_NOTHING, NULL,     "Never flush the L2 cache."},                                               \
    {                                                                                                                  \
        "energy", 0, CLI_FLAG, (at) + offsetof(cli_run_args, energy), NULL, CLI_NOTHING, NULL,                         \
            "Measure energy too, if the GPU has an energy counter. This takes about one second more per "              \
            "configuration."                                                                                           \
    }

/* The rules that order estimates which are nearly equal (engine/sim/observe/model/ties.c). */
#define CLI_TIE_RULE "prefer fewer instructions, more waves of blocks, no data sent between blocks, no spills"

/* The options --arch and --device of commands that run on a device; cli_take_arch() reads them. */
#define CLI_ARCH_OPTION(at)                                                                                            \
    {                                                                                                                  \
        "arch", 'a', CLI_TEXT, at, "ARCH", CLI_WORDS, "sm_75 sm_80 sm_89 sm_90",                                       \
            "Estimate times for the simulated GPU that is nearest to this architecture. This is the same as --device " \
            "sim:ARCH."                                                                                                \
    }

#define CLI_TIMEOUT_OPTION(at, more)                                                                                   \
    {                                                                                                                  \
        "sample-timeout", 0, CLI_LIMIT, (at) + offsetof(cli_run_args, sample_timeout), "SECONDS", CLI_NOTHING, NULL,   \
            "Time limit for a configuration, from its first launch on. 0 means no limit. Default: 60" more             \
    }

#define CLI_STORE_OPTION(at)                                                                                           \
    {                                                                                                                  \
        "store", 0, CLI_TEXT, at, "FILE", CLI_FILES, NULL,                                                             \
            "The file in which samples are stored. Default: $KILN_STORE, or ~/.local/share/kiln/samples.db."           \
    }
// clang-format on

/* ---- kernels in a sandbox (apart.c) ---- */

/* Sets c->sandbox from the option --sandbox, for cli_engine(). Returns false if kernels will run without a sandbox or
 * on a GPU. */
bool cli_sandbox(cli *c, const cli_engine_args *args);
/* Calls work(c, user) in a sandboxed child process and returns its exit code. Without a sandbox, the function calls
 * work() in this process. The function also returns in the child, where `apart` is set; the command must then end
 * without further work. `run` tells how long the child may take, and which files the child may ask the parent to write.
 * Call this function before the library has opened a device or compiled a kernel. */
int cli_apart(cli *c, const cli_engine_args *args, const cli_run_args *run, int (*work)(cli *c, void *user),
              void *user);
/* writes a file in the sandboxed process, as `write` of kiln_run_options */
int cli_apart_write(void *c, const char *path, const void *data, size_t bytes);
/* like cli_error(), but also reports a file that could not be written */
int cli_apart_error(const cli *c, kiln_error *error);

/* ---- SIGINT and SIGTERM, and kernels that do not end ---- */

/* Catches SIGINT and SIGTERM. The first signal sets a flag and prints that the command will end after `what`; an empty
 * `what` means at once. The second signal ends the command at once. Ten seconds after the first signal the watchdog
 * ends the command, unless the command has to finish work other than kernels. */
void cli_catch_signals(const char *what);
/* Sets the watchdog's deadline, as `limit` of kiln_options. If kernels have not ended long after their time limit, the
 * watchdog ends the process. */
void cli_watch(void *user, double seconds);
bool cli_interrupted(void);
const volatile int *cli_interrupt_flag(void); /* for kiln_run_options.stop */

/* Returns the nearest of `count` names by edit distance, or NULL if no name is near. */
const char *cli_nearest(const char *name, const char *const *names, size_t count);
/* Parses the arguments after the command's name. Returns false after cli_fail() has reported an error. */
bool cli_parse(cli *c, int argc, char **argv);

/* ---- settings: NAME=VALUE ---- */

typedef struct cli_choice { /* the settings of -v, -p and -s in the form that the library takes */
    kiln_choice choice;
    const char *variant; /* the variant to print, set even if the user did not name a variant */
} cli_choice;
/* Makes the library's kiln_choice from the options of the user. The text of each value becomes a value of the kind that
 * the param has in the spec. If `variant` is NULL, the params of every variant are allowed. Returns false after
 * cli_fail() has reported an error. */
bool cli_make_choice(cli *c, const cli_choice_args *args, const char *variant, cli_choice *choice);
/* Reads sizes without a spec, each as NAME=VALUE. */
bool cli_make_sizes(cli *c, const cli_list *list, const kiln_setting **sizes);
bool cli_make_files(cli *c, const cli_list *list, const char *option, const kiln_file_binding **files);
void cli_make_run(const cli_run_args *args, kiln_run_options *options);
/* Completes a choice: returns all params of the variant, with defaults. */
size_t cli_whole_params(const kiln_spec *spec, size_t variant, const kiln_choice *choice, kiln_setting **params);
/* Returns the size set that `tune` and `best` take without a GPU if the user named neither a device nor sizes. This set
 * is the spec's first set, for which a GPU is tuned. *small becomes the set `tiny`, at which answers are verified. NULL
 * means that the device's default set is used. */
const char *cli_tuned_set(const kiln_spec *spec, bool simulated, bool device_named, bool sizes_named,
                          const kiln_size_set **small);
/* Returns the reason why a command chose a set of sizes, as a sentence without a full stop. NULL means that the user
 * chose the sizes. */
const char *cli_why_set(const kiln_spec *spec, const char *set, bool simulated, bool tuned, const cli_list *sizes);
/* Returns a text that tells the size set from which sizes come: " (tiny)", or " (tiny, N changed)" if the user changed
 * the size N. "" means that the user gave every size. */
const char *cli_set_text(const kiln_spec *spec, const char *set, const kiln_setting *sizes, size_t count);
size_t cli_whole_sizes(const kiln_spec *spec, const kiln_choice *choice, bool simulated, const char **set,
                       kiln_setting **sizes);
const char *cli_value_text(kiln_value value);
/* Returns a word by which a later command finds the spec that was loaded by `word`. The result is the name of the spec
 * if the name leads to the same file, otherwise `word`. */
const char *cli_spec_word(cli *c, const char *word);
/* Finds the name and the path under which the store knows a spec. `word` is a name or a path. All commands that read
 * stored samples use this function. The function loads c->spec. If the spec no longer exists, c->spec stays NULL and
 * *path becomes "", because the store may still have samples of this spec. Returns 0 or an exit code; a path that
 * cannot be loaded is an error. */
int cli_stored_spec(cli *c, const char *word, const char **name, const char **path);
const char *cli_settings_text(const kiln_setting *settings, size_t count); /* "A=1 B=2" */

/* ---- the engine ---- */

/* Functions of this section that return an int return 0, or the exit code after an error message. */
/* The log callback of an engine, and its user data. Any thread may call the callback. */
void cli_log(void *user, kiln_log_level level, const char *message);
void *cli_log_to(const cli *c);
/* Opens the engine with the options of the command line, unless the engine is already open. If `args` is NULL, the
 * engine gets the default options. */
int cli_engine(cli *c, const cli_engine_args *args);
/* Opens the engine and loads the spec that the first argument names. */
int cli_spec(cli *c, const cli_engine_args *args);

/* Returns the options that a later command needs to read the same spec, such as " -I FOLDER --allow-commands". Returns
 * "" if the present command line has none of these options. */
const char *cli_spec_options(const cli_engine_args *args);

/* Visits all devices of this machine. */
typedef struct cli_devices {
    kiln_device_info *items;
    size_t count, room;
} cli_devices;
kiln_status cli_list_devices(cli *c, cli_devices *list, kiln_error **error);
/* Turns --arch into a device name. Returns false and reports an error if --arch and --device are both given. */
bool cli_take_arch(cli *c, const char *arch, cli_engine_args *args);
/* Warns about environment variables whose names are almost the name of a variable that Kiln reads. */
void cli_check_environment(void);
const char *cli_usual_device(void); /* the value of KILN_DEVICE; NULL if it is not set */
/* the name of the device, with a note if the device is simulated */
const char *cli_device_name(const kiln_device_info *info);

/* ---- output ----
 *
 * Standard output is written only at the end. Therefore with --json an error message is the only output. */

/* Prints text for people: control characters are escaped (\x1b), except newlines, tabs and the codes of out_bold() and
 * similar functions. */
void out_puts(const char *text);
void out_printf(const char *format, ...) CLI_PRINTF(1, 2);
/* Prints one word per line, for scripts and completions; a word with control characters is skipped. */
void out_word(const char *word);
/* writes a file's bytes unchanged into a pipe, escaped on a terminal */
void out_write(const void *data, size_t length);
void out_wrapped(const char *text, unsigned indent, unsigned width); /* paragraphs */
void out_flush(void);
int out_finish(int code); /* writes the remaining output and returns the exit code, which is 5 if writing failed */
bool out_is_terminal(void);
unsigned out_width(void); /* the number of columns for help texts and prose */
const char *out_bold(void);
const char *out_dim(void);
const char *out_red(void);
const char *out_green(void);
const char *out_plain(void);
void out_start_json(void); /* after this call standard output gets one JSON object and no other text */
/* In a forked process: after this call `fd` gets one JSON object and nothing else. */
void out_collect(int fd);
/* ends the JSON mode and restores the original standard output, for a program that the command starts */
void out_release(void);
void out_json(const char *text);
void out_keep_json(void); /* after this call js_print() keeps its object instead of writing it */
const char *
out_kept_json(void);  /* returns the last kept object, or NULL if no object was kept; js_print() writes again */
int out_error(void);  /* errno of the first write that failed; 0 means that no write failed */
void out_start(void); /* finds out once whether standard output is a terminal, and the locale */
bool out_utf8(void);
/* the number of columns that a character takes on a terminal; negative if the character cannot be shown */
int out_character_columns(uint32_t code);
/* Returns the number of columns that `text` takes on a terminal, with escapes. */
size_t out_columns(const char *text);

/* ---- untrusted text (visible.c) ---- */

/* Reads the character at `text`, which has `length` bytes. Returns its number of bytes, or 0 if it is not UTF-8. */
size_t cli_utf8(const char *text, size_t length, uint32_t *code);
bool cli_is_control(uint32_t code); /* true for C0 and C1 control characters, DEL, and bidirectional marks */
/* Writes control characters, except those in `as_is` ("\n\t"), and bytes that are not UTF-8 as \x1b or \u202e. The
 * result comes from malloc(), so any thread may call this function. Returns NULL if memory runs out. */
char *cli_escape(const char *text, size_t length, const char *as_is);
const char *cli_visible(const char *text);    /* cli_escape() for one line, with the result in memory of cli_alloc() */
bool cli_is_plain(const char *text);          /* true if cli_escape() would not change the text */
const char *cli_shell_word(const char *text); /* the word, quoted for a shell if this is needed */
/* Returns the number of bytes of the first character of an escaped text, and sets *columns to the columns that it
 * takes. */
size_t cli_character(const char *text, size_t *columns);

typedef struct cli_table {
    const char *align;
    size_t columns;
    cli_list cells;
    unsigned indent;
} cli_table;
/* `align` has one letter per column: l for left, r for right. The first row of a table is its heading. */
void table_start(cli_table *table, const char *align);
void table_cell(cli_table *table, const char *format, ...) CLI_PRINTF(2, 3);
void table_print(const cli_table *table, bool heading);

/* Numbers for people. */
const char *cli_seconds(double seconds);  /* "1.234 ms" */
const char *cli_duration(double seconds); /* a duration for people, such as "1 min 20 s" */
const char *cli_bytes(uint64_t bytes);    /* "1.5 MiB" */
const char *cli_whole(uint64_t number);   /* "116,928" */
/* a number with `digits` significant digits, without an exponent */
const char *cli_significant(double number, int digits);
/* Returns the next name of "NAME=NUMBER ..." (metrics, host functions) and its number, or NULL at the end. */
const char *cli_named_number(const char **text, double *number);
/* returns false if no such name exists */
bool cli_find_number(const char *text, const char *name, double *number);
/* Chooses a unit for `seconds`, and sets *length to its length in seconds. */
const char *cli_time_unit(double seconds, double *length);
double cli_ratio(uint64_t a, uint64_t b);             /* 0 if b is 0 */
const char *cli_share(uint64_t part, uint64_t whole); /* a share such as "12.5 %"; "" if `whole` is 0 */
const char *cli_per(uint64_t a, uint64_t b);          /* "4"; "" if b is 0 */

/* ---- errors ---- */

int cli_exit_code(kiln_status status);
/* Prints an error message (with --json as JSON) and returns its exit code. */
int cli_fail(const cli *c, kiln_status status, const char *format, ...) CLI_PRINTF(3, 4);
int cli_usage(const cli *c, const char *format, ...) CLI_PRINTF(2, 3);
/* Prints an error of the library as cli_fail() does, and frees the error. */
int cli_error(const cli *c, kiln_error *error);

/* ---- files (files.c) ---- */

/* Writes a whole file by kiln_file_write(). Returns 0 or the exit code. */
int cli_write_file(const cli *c, const char *path, const void *data, size_t size);
/* A stream that collects text in memory, which is then written to a file. */
typedef struct cli_stream {
    FILE *file;
    char *text;
    size_t size;
} cli_stream;
FILE *cli_stream_open(cli_stream *stream); /* returns NULL if memory runs out */
/* writes the collected text to the file, and closes the stream */
int cli_write_stream(const cli *c, const char *path, cli_stream *stream);
/* Reads a regular file of at most `most` bytes. Returns NULL and sets errno on an error. The function refuses a FIFO,
 * so it never waits for one. A zero byte follows the last byte of the file. *length becomes the number of bytes of the
 * file, unless `length` is NULL. */
const char *cli_read_file(const char *path, size_t most, size_t *length);
/* Returns the file in the folder of `path` whose name is the nearest, among the names that end in one of `ends` (".yaml
 * .yml"). NULL means that no file has a similar name. */
const char *cli_similar_file(const char *path, const char *ends);
void cli_complain(const char *text); /* prints "kiln: text" to standard error, after it has removed a progress line */

/* ---- JSON ---- */

json_t *js_object(void);
json_t *js_array(void);
void js_set(json_t *object, const char *key, json_t *value); /* takes ownership of value */
void js_add(json_t *array, json_t *value);
json_t *js_text(const char *text); /* makes a JSON text, null for NULL; bytes that are not UTF-8 are replaced */
json_t *js_real(double value);     /* makes a JSON number; NaN and infinities give null */
json_t *js_whole(uint64_t value);
json_t *js_value(kiln_value value);
json_t *js_settings(const kiln_setting *settings, size_t count);
json_t *js_result(const kiln_result *result);
json_t *js_host_times(const char *text); /* makes an object from "NAME=SECONDS ..." */
json_t *js_device(const kiln_device_info *info);
json_t *js_error(kiln_status status, const char *message);
char *js_dump(const json_t *object, size_t flags); /* returns JSON text; `flags` are flags of json_dumps() */
void js_print(json_t *object);                     /* prints to standard output and frees the object */
/* Escapes control characters outside ASCII in JSON text, because jansson does not escape them. */
const char *js_visible(const char *json);

/* ---- a progress line on a terminal ---- */

bool progress_wanted(const cli *c);
/* shows a progress line; the middle part is shortened if the terminal is narrow */
void progress_show(const char *left, const char *middle, const char *right);
void progress_clear(void);
void progress_line(const char *text); /* shows a whole line; any thread may call it */

/* ---- the tables as text, for help, manual page and completion ---- */

/* Returns the option groups of a command, followed by the common group: at most CLI_MAX_GROUPS groups. */
#define CLI_MAX_GROUPS 8
size_t cli_groups(const cli_command *command, const cli_group **groups);
/* "-v, --variant NAME" */
const char *cli_option_text(const cli_option *option);

/* The environment variables and their meaning, for --help and the manual page. X(name, says) */
#define CLI_ENVIRONMENT(X)                                                                                             \
    X("KILN_DEVICE", "The device to use without --device.")                                                            \
    X("KILN_CACHE_DIR", "The folder of the disk cache. Default: $XDG_CACHE_HOME/kiln, or ~/.cache/kiln.")              \
    X("KILN_STORE", "The file in which samples are stored. Default: $XDG_DATA_HOME/kiln/samples.db, or "               \
                    "~/.local/share/kiln/samples.db.")                                                                 \
    X("KILN_VEGA", "The folder of the charting library Vega, or its vega.min.js.")                                     \
    X("KILN_PATH", "Folders with specs, sources and headers, separated by ':'. Kiln searches them before the "         \
                   "installed folders.")                                                                               \
    X("KILN_INCLUDE", "Folders with headers, separated by ':'. Kiln searches them last.")                              \
    X("KILN_NVRTC", "The NVRTC library to load, for example libnvrtc.so.13.")                                          \
    X("KILN_WORKER", "The compile worker program.")                                                                    \
    X("NO_COLOR", "If this is set to anything, kiln prints no colours.")

#endif
