/* cache.c - kiln cache: lists, shows and removes the entries of the disk cache */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"

typedef struct cache_args {
    cli_engine_args engine;
    cli_amount max_size;
    bool show_source, show_ptx;
} cache_args;

static json_t *entry_json(const kiln_cache_entry *entry, bool verified)
{
    json_t *object = js_object();
    js_set(object, "id", js_text(entry->id));
    js_set(object, "source", js_text(entry->source));
    js_set(object, "arch", js_text(entry->arch));
    js_set(object, "compiler", js_text(entry->compiler));
    js_set(object, "options", js_text(entry->options));
    js_set(object, "bytes", js_whole(entry->bytes));
    js_set(object, "used", json_integer(entry->used));
    if (verified)
        js_set(object, "intact", json_boolean(entry->intact));
    return object;
}

static const char *age_text(int64_t used)
{
    double seconds = difftime(time(NULL), (time_t)used);
    if (seconds < 90)
        return "now";
    if (seconds < 5400)
        return cli_printf("%.0f min", seconds / 60);
    if (seconds < 129600)
        return cli_printf("%.0f h", seconds / 3600);
    return cli_printf("%.0f d", seconds / 86400);
}

typedef struct listing {
    cli_table table;
    json_t *entries;
    bool verify;
    uint64_t count, damaged, bytes;
} listing;

static int add_entry(void *user, const kiln_cache_entry *entry)
{
    listing *l = user;
    l->count++;
    l->bytes += entry->bytes;
    l->damaged += l->verify && !entry->intact;
    js_add(l->entries, entry_json(entry, l->verify));
    if (l->verify && entry->intact)
        return 0; /* the table already shows the fault */
    table_cell(&l->table, "%.12s", entry->id);
    table_cell(&l->table, "%s", entry->source ? entry->source : "");
    table_cell(&l->table, "%s", entry->arch ? entry->arch : "");
    table_cell(&l->table, "%s", entry->compiler ? entry->compiler : "");
    table_cell(&l->table, "%s", cli_bytes(entry->bytes));
    table_cell(&l->table, "%s", age_text(entry->used));
    table_cell(&l->table, "%s", entry->options ? entry->options : "");
    return 0;
}

/* Lists the entries of the disk cache. With `verify`, it also checks each entry and removes damaged entries. With
 * `brief`, it ends with a line about the other actions of `kiln cache`. */
static int cache_list(cli *c, bool verify, bool brief)
{
    listing l = {.entries = js_array(), .verify = verify};
    kiln_error *error = NULL;
    table_start(&l.table, "llllrrl");
    static const char *const heads[] = {"id", "source", "arch", "compiler", "size", "used", "options"};
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        table_cell(&l.table, "%s", heads[i]);
    kiln_status status = (verify ? kiln_cache_verify : kiln_cache_list)(c->engine, add_entry, &l, &error);
    if (status != KILN_OK) {
        json_decref(l.entries);
        return cli_error(c, error);
    }
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "folder", js_text(kiln_cache_dir(c->engine)));
        js_set(object, "entries", l.entries);
        js_set(object, "bytes", js_whole(l.bytes));
        if (verify)
            js_set(object, "damaged", js_whole(l.damaged));
        js_print(object);
        return 0;
    }
    json_decref(l.entries);
    if (!brief && (verify ? l.damaged > 0 : l.count > 0))
        table_print(&l.table, true);
    out_printf("%s entr%s, %s, in ", cli_whole(l.count), l.count == 1 ? "y" : "ies", cli_bytes(l.bytes));
    out_puts(kiln_cache_dir(c->engine));
    if (verify)
        out_printf("; %s damaged%s", l.damaged ? cli_whole(l.damaged) : "none",
                   l.damaged ? " and removed; kiln makes them again when it needs them" : "");
    out_puts("\n");
    if (brief)
        out_puts("kiln cache list, show ID, gc --max-size BYTES, clear, verify: see 'kiln cache --help'\n");
    return 0;
}

typedef struct shown {
    cli *c;
} shown;

/* Shows one entry of the cache, as a callback of kiln_cache_show_entry(). */
static int show_entry(void *user, const kiln_cache_entry *entry, const char *source, const char *ptx, size_t cubin)
{
    const cli *c = ((shown *)user)->c;
    const cache_args *args = c->args;
    if (c->output.json) {
        json_t *object = entry_json(entry, false);
        js_set(object, "source_text", js_text(source));
        js_set(object, "ptx", js_text(ptx));
        js_set(object, "cubin_bytes", js_whole(cubin));
        js_print(object);
        return 0;
    }
    bool parts = args->show_source || args->show_ptx;
    if (args->show_source)
        out_write(source ? source : "", source ? strlen(source) : 0);
    if (args->show_ptx)
        out_write(ptx ? ptx : "", ptx ? strlen(ptx) : 0);
    if (parts)
        return 0;
    cli_table table;
    table_start(&table, "ll");
    const char *const rows[][2] = {
        {"id", entry->id},
        {"source", entry->source},
        {"arch", entry->arch},
        {"compiler", entry->compiler},
        {"options", entry->options},
        {"size", cli_bytes(entry->bytes)},
        {"used", age_text(entry->used)},
        {"ptx", cli_bytes(ptx ? strlen(ptx) : 0)},
        {"cubin", cubin ? cli_bytes(cubin) : "none"},
    };
    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        table_cell(&table, "%s", rows[i][0]);
        table_cell(&table, "%s", rows[i][1] ? rows[i][1] : "");
    }
    table_print(&table, false);
    return 0;
}

static int cache_show(cli *c, const char *id)
{
    kiln_error *error = NULL;
    shown s = {c};
    if (kiln_cache_show(c->engine, id, show_entry, &s, &error) != KILN_OK)
        return cli_error(c, error);
    return 0;
}

/* Removes the kept verdicts of `kiln judge`, and returns their number. */
static uint64_t remove_verdicts(const cli *c)
{
    const char *folder = cli_printf("%s/" JUDGE_FOLDER, kiln_cache_dir(c->engine));
    uint64_t removed = 0;
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open && (entry = readdir(open));)
        if (strstr(entry->d_name, ".json"))
            removed += unlinkat(dirfd(open), entry->d_name, 0) == 0;
    if (open)
        closedir(open);
    return removed;
}

static int cache_gc(cli *c, bool clear)
{
    const cache_args *args = c->args;
    uint64_t removed = 0, kept = 0;
    kiln_error *error = NULL;
    kiln_status status = clear ? kiln_cache_clear(c->engine, &removed, &error)
                               : kiln_cache_gc(c->engine, args->max_size.bytes, &removed, &kept, &error);
    if (status != KILN_OK)
        return cli_error(c, error);
    removed += clear ? remove_verdicts(c) : 0;
    if (c->output.json) {
        json_t *object = js_object();
        js_set(object, "removed", js_whole(removed));
        js_set(object, "kept_bytes", js_whole(kept));
        js_print(object);
        return 0;
    }
    out_printf("%s entr%s removed", cli_whole(removed), removed == 1 ? "y" : "ies");
    if (!clear)
        out_printf(", %s kept", cli_bytes(kept));
    out_puts("\n");
    return 0;
}

/* `kiln cache`: finds the action that the user named, and runs it. Without an action it lists the entries. */
static int cache_run(cli *c)
{
    const cache_args *args = c->args;
    const cli_list *words = &c->words;
    static const char *const actions[] = {"list", "show", "gc", "clear", "verify"};
    const char *action = words->count ? words->items[0] : "list";
    bool is_show = strcmp(action, "show") == 0;
    if (is_show && words->count < 2)
        return cli_usage(c, "show needs the id of an entry; 'kiln cache list' lists them");
    if (!is_show && words->count > 1)
        return cli_usage(c, "one argument too many: '%s'", words->items[1]);
    size_t known = 0;
    while (known < CLI_COUNT(actions) && strcmp(actions[known], action) != 0)
        known++;
    if (known == CLI_COUNT(actions)) {
        const char *near = cli_nearest(action, actions, CLI_COUNT(actions));
        return cli_usage(c, "unknown action '%s'%s", action, near ? cli_printf(" (did you mean '%s'?)", near) : "");
    }
    if (strcmp(action, "gc") == 0 && !args->max_size.given)
        return cli_usage(c, "gc needs --max-size, for example --max-size 256M");
    int code = cli_engine(c, &args->engine);
    if (code)
        return code;
    if (!kiln_cache_dir(c->engine))
        return cli_fail(c, KILN_ERROR_UNSUPPORTED,
                        "there is no disk cache: it is switched off, or no folder for it "
                        "is known (set KILN_CACHE_DIR)");
    if (is_show)
        return cache_show(c, words->items[1]);
    if (strcmp(action, "list") == 0 || strcmp(action, "verify") == 0)
        return cache_list(c, strcmp(action, "verify") == 0, words->count == 0);
    return cache_gc(c, strcmp(action, "clear") == 0);
}

#define FIELD(field) offsetof(cache_args, field)

static const cli_option options[] = {
    {"max-size", 0, CLI_BYTES, FIELD(max_size), "BYTES", CLI_NOTHING, NULL,
     "For gc: how much to keep, for example 256M."},
    {"source", 0, CLI_FLAG, FIELD(show_source), NULL, CLI_NOTHING, NULL, "For show: print the filled source."},
    {"ptx", 0, CLI_FLAG, FIELD(show_ptx), NULL, CLI_NOTHING, NULL, "For show: print the PTX."},
};
static const cli_group group = {"Cache", options, CLI_COUNT(options)};

const cli_command cli_cache_command = {
    .name = "cache",
    .summary = "show and manage the disk cache of compiled kernels and references",
    .arguments = "[list|show ID|gc|clear|verify]",
    .about =
        "The compiler's output is stored on disk under a key of everything that determines it, so that the same "
        "kernel is never compiled twice. References that host functions and commands computed are stored too, in at "
        "most 2 GiB.\n\n"
        "`list` shows the entries. `show` prints one entry; any unique prefix of its id names it. `gc` removes the "
        "least recently used entries until at most --max-size is left. `clear` removes all entries. `verify` reads "
        "every entry and removes damaged ones. A kernel or reference that was removed is made again when a command "
        "needs it. Without an action the command prints the folder and the number of entries.",
    .min_words = 0,
    .max_words = 2,
    .completes = CLI_WORDS,
    .words = "list show gc clear verify",
    .args_size = sizeof(cache_args),
    .groups = (const cli_use[]){{&group, 0}, {&cli_engine_group, FIELD(engine)}, {0}},
    .examples =
        (const cli_example[]){{"kiln cache gc --max-size 256M", "Keeps the entries that were used most recently."},
                              {"kiln cache show 3f2a --ptx", "The PTX of one entry."},
                              {0}},
    .run = cache_run,
};
