/* sim_profile.c - the profile of a program on the simulated device. Reads the files that the program's processes left,
 * and shows the kernels and copies by estimated time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "sim.h"

enum { ROWS_MOST = 40 }; /* largest number of rows of a table; --json has all rows */

/* ---- reading ---- */

/* Returns the number with this key, or a negative number if the row does not have it. */
static double real_of(const json_t *row, const char *key)
{
    const double most = 1e15; /* a limit for one number, so that the sum of all rows stays finite */
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) && json_number_value(value) <= most ? json_number_value(value) : -1;
}

static uint64_t whole_of(const json_t *row, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(row, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

/* Reads a profile, which is a JSON array: the head, followed by the rows. Returns NULL after a message if the file
 * cannot be read. */
static json_t *read_profile(const char *path)
{
    json_error_t error;
    json_t *array = json_load_file(path, 0, &error);
    if (!array) {
        cli_complain(cli_printf("%s: %s", path, error.text));
        return NULL;
    }
    bool right = strcmp(text_of(json_array_get(array, 0), "kiln"), "profile") == 0 &&
                 whole_of(json_array_get(array, 0), "version") == 1;
    for (size_t i = 1; right && i < json_array_size(array); i++)
        right = json_is_object(json_array_get(array, i));
    if (right)
        return array;
    cli_complain(cli_printf("%s is not a profile of a program (version 1)", path));
    json_decref(array);
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    const double left = real_of(x, "seconds"), right = real_of(y, "seconds");
    if (left > right || left < right)
        return left > right ? -1 : 1;
    const uint64_t calls = whole_of(x, "calls"), others = whole_of(y, "calls");
    return calls != others ? (calls > others ? -1 : 1) : 0;
}

typedef struct process {
    json_t *array, *head;
    json_t **kernels, **copies; /* rows of the profile, sorted by time; `head` owns them */
    size_t kernel_count, copy_count;
    double kernel_seconds, copy_seconds, end; /* `end` is the end of the device's timeline, in seconds */
    uint64_t launches, estimated, failed;
} process;

static process read_process(json_t *array)
{
    const size_t count = json_array_size(array);
    process p = {.array = array,
                 .head = json_array_get(array, 0),
                 .kernels = cli_alloc((count + 1) * sizeof(json_t *)),
                 .copies = cli_alloc((count + 1) * sizeof(json_t *))};
    for (size_t i = 1; i < count; i++) {
        json_t *row = json_array_get(array, i);
        const bool copy = strcmp(text_of(row, "kind"), "copy") == 0;
        const double seconds = real_of(row, "seconds"), end = real_of(row, "last_end_seconds");
        *(copy ? &p.copy_seconds : &p.kernel_seconds) += seconds > 0 ? seconds : 0;
        p.end = end > p.end ? end : p.end;
        if (copy) {
            p.copies[p.copy_count++] = row;
            continue;
        }
        p.kernels[p.kernel_count++] = row;
        p.launches += whole_of(row, "calls");
        p.estimated += whole_of(row, "estimated");
        p.failed += whole_of(row, "failed");
    }
    qsort(p.kernels, p.kernel_count, sizeof *p.kernels, by_time);
    qsort(p.copies, p.copy_count, sizeof *p.copies, by_time);
    return p;
}

/* ---- JSON ---- */

static json_t *rows_json(json_t *const *rows, size_t count, double all)
{
    json_t *list = js_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_deep_copy(rows[i]);
        const double seconds = real_of(row, "seconds");
        const uint64_t calls = whole_of(row, "calls");
        if (!row)
            continue;
        js_set(row, "mean_seconds", seconds >= 0 && calls ? js_real(seconds / (double)calls) : json_null());
        js_set(row, "share", seconds >= 0 && all > 0 ? js_real(seconds / all) : json_null());
        js_add(list, row);
    }
    return list;
}

static json_t *process_json(const process *p)
{
    json_t *object = js_object();
    const bool known = json_is_true(json_object_get(p->head, "estimates"));
    js_set(object, "pid", js_whole(whole_of(p->head, "pid")));
    js_set(object, "program", js_text(text_of(p->head, "program")));
    js_set(object, "device", js_text(text_of(p->head, "device")));
    js_set(object, "device_name", js_text(text_of(p->head, "title")));
    js_set(object, "estimates", json_boolean(known));
    js_set(object, "launches", js_whole(p->launches));
    js_set(object, "estimated_launches", js_whole(p->estimated));
    js_set(object, "kernel_seconds", known ? js_real(p->kernel_seconds) : json_null());
    js_set(object, "copy_seconds", known ? js_real(p->copy_seconds) : json_null());
    js_set(object, "timeline_seconds", known ? js_real(p->end) : json_null());
    js_set(object, "kernels", rows_json(p->kernels, p->kernel_count, p->kernel_seconds));
    js_set(object, "copies", rows_json(p->copies, p->copy_count, p->copy_seconds));
    return object;
}

/* ---- text ---- */

static const char *axes_text(const json_t *row, const char *key)
{
    const json_t *axes = json_object_get(row, key);
    uint64_t at[3] = {1, 1, 1};
    for (size_t i = 0; i < 3; i++)
        at[i] = (uint64_t)json_integer_value(json_array_get(axes, i));
    return at[2] > 1   ? cli_printf("%llux%llux%llu", (unsigned long long)at[0], (unsigned long long)at[1],
                                    (unsigned long long)at[2])
           : at[1] > 1 ? cli_printf("%llux%llu", (unsigned long long)at[0], (unsigned long long)at[1])
                       : cli_printf("%llu", (unsigned long long)at[0]);
}

static const char *seconds_text(double seconds) { return seconds >= 0 ? cli_seconds(seconds) : "-"; }

static const char *share_text(double part, double all)
{
    return part >= 0 && all > 0 ? cli_printf("%.1f %%", 100 * part / all) : "-";
}

static void start_table(cli_table *table, const char *align, const char *const *texts)
{
    table_start(table, align);
    table->indent = 2;
    for (size_t i = 0; texts[i]; i++)
        table_cell(table, "%s", texts[i]);
}

static void add_times(cli_table *table, const json_t *row, double all)
{
    const double seconds = real_of(row, "seconds");
    const uint64_t calls = whole_of(row, "calls");
    table_cell(table, "%s", seconds_text(seconds));
    table_cell(table, "%s", share_text(seconds, all));
    table_cell(table, "%s", cli_whole(calls));
    table_cell(table, "%s", seconds_text(seconds >= 0 && calls ? seconds / (double)calls : -1));
}

static void show_kernels(const process *p)
{
    static const char *const texts[] = {"time", "share", "calls", "mean",   "estimated", "bound by",
                                        "grid", "block", "regs",  "shared", "kernel",    NULL};
    cli_table table;
    start_table(&table, "rrrrrlrrrrl", texts);
    for (size_t i = 0; i < p->kernel_count && i < ROWS_MOST; i++) {
        const json_t *row = p->kernels[i];
        const uint64_t shared = whole_of(row, "static_shared") + whole_of(row, "dynamic_shared");
        add_times(&table, row, p->kernel_seconds);
        table_cell(&table, "%s", cli_whole(whole_of(row, "estimated")));
        table_cell(&table, "%s", *text_of(row, "bound") ? cli_visible(text_of(row, "bound")) : "-");
        table_cell(&table, "%s", axes_text(row, "grid"));
        table_cell(&table, "%s", axes_text(row, "block"));
        table_cell(&table, "%s", cli_whole(whole_of(row, "registers")));
        table_cell(&table, "%s", shared ? cli_bytes(shared) : "-");
        table_cell(&table, "%s", cli_visible(text_of(row, "name")));
    }
    table_print(&table, true);
    if (p->kernel_count > ROWS_MOST)
        out_printf("  and %s more, which --json shows\n", cli_whole(p->kernel_count - ROWS_MOST));
}

static void show_copies(const process *p)
{
    static const char *const texts[] = {"time", "share", "calls", "mean", "bytes", "copy", NULL};
    cli_table table;
    if (p->copy_count == 0)
        return;
    start_table(&table, "rrrrrl", texts);
    for (size_t i = 0; i < p->copy_count; i++) {
        add_times(&table, p->copies[i], p->copy_seconds);
        table_cell(&table, "%s", cli_bytes(whole_of(p->copies[i], "bytes")));
        table_cell(&table, "%s", cli_visible(text_of(p->copies[i], "name")));
    }
    out_puts("\n");
    table_print(&table, true);
}

static void show_counters(const process *p)
{
    for (size_t i = 0; i < p->kernel_count && i < ROWS_MOST; i++) {
        const json_t *row = p->kernels[i], *from = json_object_get(row, "counters");
        kiln_counters counters = {0};
        if (!from)
            continue;
#define CLI_X(name, adds, text) counters.name = whole_of(from, #name);
        KILN_COUNTER_MAP(CLI_X)
#undef CLI_X
        out_printf("\n%s, grid %s: %s of %s launches counted, %s warp instructions, %s lanes each\n",
                   cli_visible(text_of(row, "name")), axes_text(row, "grid"), cli_whole(whole_of(row, "counted")),
                   cli_whole(whole_of(row, "calls")), cli_whole(counters.executed),
                   cli_per(counters.lanes, counters.executed));
        profile_show_counters(&counters);
    }
}

/* Prints the profile of one process: the totals, the kernels and the copies. */
static void show_process(const cli *c, const process *p)
{
    const sim_args *args = c->args;
    const bool known = json_is_true(json_object_get(p->head, "estimates"));
    const char *program = text_of(p->head, "program"), *slash = strrchr(program, '/');
    out_printf("%s (process %llu) on %s\n", cli_visible(slash ? slash + 1 : program),
               (unsigned long long)whole_of(p->head, "pid"), cli_visible(text_of(p->head, "title")));
    if (known)
        out_printf("  estimated: kernels %s, copies %s; the device had finished all work after %s\n",
                   cli_seconds(p->kernel_seconds), cli_seconds(p->copy_seconds), cli_seconds(p->end));
    else
        out_printf("  no times: the profile '%s' has no figures for estimates; choose another with --device\n",
                   cli_visible(text_of(p->head, "device")));
    out_puts("\n");
    if (p->kernel_count)
        show_kernels(p);
    else
        out_puts("  no kernel was launched\n");
    show_copies(p);
    if (args->counters)
        show_counters(p);
    if (known && p->estimated < p->launches)
        out_printf(
            "\n  %s of %s launches were estimated; every other launch has the time of the last estimate before it "
            "(--every-launch estimates all)\n",
            cli_whole(p->estimated), cli_whole(p->launches));
    if (p->failed)
        out_printf("  %s launches could not be estimated\n", cli_whole(p->failed));
}

/* ---- all ---- */

static const char *end_text(const sim_end *end)
{
    return end->signal ? cli_printf("signal %d, %s", end->signal, strsignal(end->signal))
                       : cli_printf("exit code %d", end->code);
}

/* Shows the profiles that the processes of a program left, as text or as JSON. If a file cannot be read, the function
 * prints a message and skips the file. */
bool sim_profile_show(const cli *c, const cli_list *files, const sim_end *end)
{
    json_t *processes = js_array(), *object = js_object();
    size_t found = 0;
    for (size_t i = 0; i < files->count; i++) {
        json_t *array = read_profile(files->items[i]);
        if (!array)
            continue;
        const process p = read_process(array);
        if (c->output.json) {
            js_add(processes, process_json(&p));
        } else {
            out_puts(found ? "\n" : "");
            show_process(c, &p);
        }
        found++;
        json_decref(array);
    }
    js_set(object, "processes", processes);
    if (end) {
        js_set(object, "exit_code", end->signal ? json_null() : json_integer(end->code));
        js_set(object, "signal", end->signal ? json_integer(end->signal) : json_null());
    }
    if (c->output.json && (end || found)) {
        js_print(object);
        return true;
    }
    json_decref(object);
    if (end && !found)
        out_puts("kiln sim run: no process used the simulated device\n");
    if (end && (end->signal || end->code))
        out_printf("%sthe program ended with %s\n", found ? "\n" : "", end_text(end));
    return found > 0;
}

static bool write_whole(int to, const char *data, size_t length)
{
    while (length > 0) {
        const ssize_t done = write(to, data, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data += done;
        length -= (size_t)done;
    }
    return true;
}

/* Joins the traces. Each file is an array with one element per line; "[" and "]" stand on lines of
 * their own (cuda/journal.c). */
bool sim_trace_join(const cli_list *files, int to)
{
    bool good = write_whole(to, "[\n", 2), any = false;
    for (size_t i = 0; i < files->count; i++) {
        FILE *file = fopen(files->items[i], "re");
        char *line = NULL;
        size_t room = 0;
        for (ssize_t length; file && (length = getline(&line, &room, file)) > 0;) {
            if (line[0] != '{')
                continue;
            while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == ','))
                length--;
            good = good && (!any || write_whole(to, ",\n", 2)) && write_whole(to, line, (size_t)length);
            any = true;
        }
        free(line);
        if (file)
            fclose(file);
    }
    good = good && (any ? write_whole(to, "\n]\n", 3) : write_whole(to, "]\n", 2));
    if (!good)
        cli_complain(cli_printf("the trace: %s", strerror(errno)));
    return good;
}
