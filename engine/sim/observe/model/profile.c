/* profile.c - reads device profiles (.profile files), which describe simulated devices. Lines are `key: value`; `#`
 * begins a comment. The key of each figure must occur exactly once, and its value must be within the bounds. Only a
 * figure with a default may be absent. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* The figures that are also attributes of the device: X(key, smallest valid value, largest valid value). */
#define TOLD(X)                                                                                                        \
    X(compute_capability, 7.0, 12.1)                                                                                   \
    X(sm_count, 1, 4096)                                                                                               \
    X(clock_mhz, 1, 100000)                                                                                            \
    X(memory_clock_mhz, 1, 1000000)                                                                                    \
    X(memory_bus_bits, 1, 65536)                                                                                       \
    X(memory_bytes, 1 << 20, 1e15)                                                                                     \
    X(l2_cache_bytes, 1024, 2e9)                                                                                       \
    X(shared_bytes_per_sm, 1024, 16777216)                                                                             \
    X(shared_bytes_per_block_optin, 1024, 16777216)                                                                    \
    X(shared_bytes_reserved_per_block, 0, 65536)                                                                       \
    X(blocks_per_sm, 1, 1024)                                                                                          \
    X(threads_per_sm, 32, 65536)

typedef enum figure_use {
#define SIM_X(key, least, most) TOLD_##key,
    TOLD(SIM_X)
#undef SIM_X
        TOLD_COUNT
} figure_use;

typedef struct figure {
    const char *key;
    double least, most, usual; /* bounds of the value; usual: the default, or 0 if the profile must state the figure */
} figure;
static const figure figures[] = {
#define SIM_X(key, least, most) {#key, least, most, 0},
    TOLD(SIM_X)
#undef SIM_X
#define SIM_X(member, key, least, most) {key, least, most, 0},
        SIM_MODEL_MAP(SIM_X)
#undef SIM_X
#define SIM_X(member, key, least, most, usual) {key, least, most, usual},
            SIM_LINK_MAP(SIM_X)
#undef SIM_X
};

typedef struct reader {
    const char *name; /* name of the profile's text, for messages */
    unsigned line;
    double values[KILN__COUNT(figures)];
    bool set[KILN__COUNT(figures)];
    sim_model *model;
    char title[96];
    kiln__text *log;
    bool failed;
} reader;

static void report_problem(reader *r, const char *format, ...) KILN__PRINTF(2, 3);
static void report_problem(reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kiln__text_printf(r->log, "%s%s:%u: ", r->failed ? "\n" : "", r->name, r->line);
    kiln__text_vprintf(r->log, format, arguments);
    va_end(arguments);
    r->failed = true;
}

static bool read_number(const char *text, double *value, const char **rest)
{
    char *end;
    errno = 0;
    *value = kiln__parse_double(text, &end);
    *rest = end;
    return end != text && errno == 0 && isfinite(*value);
}

/* A profile key whose value is a list of numbers with spaces between them. *count is the number of values. */
typedef struct number_list {
    const char *key;
    double least, most;
    bool ascending;
    double unit, *values; /* the reader stores each number times `unit` in `values` */
    unsigned *count;
} number_list;
#define LIST_MOST KILN__COUNT(((sim_model *)0)->carveouts)
_Static_assert(LIST_MOST == KILN__COUNT(((sim_model *)0)->gpcs), "lists have room for as many");

static void read_list(reader *r, const number_list *l, const char *text)
{
    double value;
    if (*l->count)
        report_problem(r, "%s occurs twice", l->key);
    while (read_number(text, &value, &text)) {
        const bool grows = !l->ascending || *l->count == 0 || value * l->unit > l->values[*l->count - 1];
        if (value < l->least || value > l->most || !grows || *l->count == LIST_MOST) {
            report_problem(r, "%s: at most %zu numbers, %sfrom %g to %g", l->key, LIST_MOST,
                           l->ascending ? "ascending, " : "", l->least, l->most);
            return;
        }
        l->values[(*l->count)++] = value * l->unit;
    }
    if (*text || *l->count == 0)
        report_problem(r, "%s: expected numbers separated by spaces", l->key);
}

/* If `key` names a list, reads the list and returns true. */
static bool read_as_list(reader *r, const char *key, const char *text)
{
    sim_model *m = r->model;
    const number_list lists[] = {
        {"shared_carveouts_kib", 0, 16384, true, 1024, m->carveouts, &m->carveout_count},
        {"gpc_sms", 1, 4096, false, 1, m->gpcs, &m->gpc_count},
    };
    for (size_t k = 0; k < KILN__COUNT(lists); k++)
        if (strcmp(key, lists[k].key) == 0) {
            read_list(r, &lists[k], text);
            return true;
        }
    return false;
}

static void read_figure(reader *r, const char *key, const char *text)
{
    const char *known[KILN__COUNT(figures)], *rest;
    for (size_t k = 0; k < KILN__COUNT(figures); k++) {
        double value;
        known[k] = figures[k].key;
        if (strcmp(key, known[k]) != 0)
            continue;
        if (r->set[k])
            report_problem(r, "%s occurs twice", key);
        else if (!read_number(text, &value, &rest) || *rest)
            report_problem(r, "%s: '%.40s' is not a number", key, text);
        else if (value < figures[k].least || value > figures[k].most)
            report_problem(r, "%s: %g is not between %g and %g", key, value, figures[k].least, figures[k].most);
        else
            r->values[k] = value;
        r->set[k] = true;
        return;
    }
    const char *near = kiln__nearest(key, known, KILN__COUNT(figures));
    report_problem(r, "unknown key '%.40s'%s%s%s", key, near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

/* Reads one line `key: value`, without its comment. */
static void read_line(reader *r, char *line)
{
    line[strcspn(line, "#")] = '\0';
    size_t length = strlen(line);
    while (length && strchr(" \t\r", line[length - 1]))
        line[--length] = '\0';
    line += strspn(line, " \t");
    if (!*line)
        return;
    char *colon = strchr(line, ':');
    if (!colon) {
        report_problem(r, "'%.40s': a line must be `key: value`", line);
        return;
    }
    *colon = '\0';
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    if (strcmp(line, "title") == 0) {
        if (!*value || strlen(value) >= sizeof r->title)
            report_problem(r, "title: must have 1 to %zu characters", sizeof r->title - 1);
        else
            memcpy(r->title, value, strlen(value) + 1);
    } else if (!read_as_list(r, line, value)) {
        read_figure(r, line, value);
    }
}

/* Reads a profile line by line, then reports the figures that the profile lacks. */
static void read_text(reader *r, const char *text, size_t length)
{
    char line[512];
    for (size_t at = 0; at < length && !r->log->failed;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t count = end ? (size_t)(end - text) - at : length - at;
        r->line++;
        if (count >= sizeof line || memchr(text + at, '\0', count)) {
            report_problem(r, "expected a line of text of at most %zu characters", sizeof line - 1);
            return;
        }
        memcpy(line, text + at, count);
        line[count] = '\0';
        read_line(r, line);
        at += count + 1;
    }
    if (!*r->title)
        report_problem(r, "title is missing");
    size_t missing = 0;
    for (size_t k = 0; k < KILN__COUNT(figures); k++) {
        if (r->set[k])
            continue;
        if (figures[k].usual > 0) {
            r->values[k] = figures[k].usual;
            continue;
        }
        if (missing++ == 0)
            report_problem(r, "missing:");
        kiln__text_printf(r->log, " %s", figures[k].key);
    }
    double cc = r->values[TOLD_compute_capability];
    if (!r->failed && fabs(cc * 10 - round(cc * 10)) > 1e-6)
        report_problem(r, "compute_capability: expected a major and a minor number, such as 9.0");
    double sms = 0;
    for (unsigned k = 0; k < r->model->gpc_count; k++)
        sms += r->model->gpcs[k];
    if (!r->failed && r->model->gpc_count && sms != r->values[TOLD_sm_count])
        report_problem(r, "gpc_sms: %g in sum, but sm_count is %g", sms, r->values[TOLD_sm_count]);
}

/* Copies the figures from the reader into the profile: into the model, and into the list of device attributes. */
static void set_profile(sim_profile_data *data, const reader *r)
{
    const double *v = r->values;
    int cc = (int)lround(v[TOLD_compute_capability] * 10);
    const sim_attribute list[SIM_PROFILE_ATTRIBUTES] = {
#define A(name, value) {CU_DEVICE_ATTRIBUTE_##name, (int)(value)}
        A(COMPUTE_CAPABILITY_MAJOR, cc / 10),
        A(COMPUTE_CAPABILITY_MINOR, cc % 10),
        A(MULTIPROCESSOR_COUNT, v[TOLD_sm_count]),
        A(CLOCK_RATE, v[TOLD_clock_mhz] * 1000),
        A(MEMORY_CLOCK_RATE, v[TOLD_memory_clock_mhz] * 1000),
        A(GLOBAL_MEMORY_BUS_WIDTH, v[TOLD_memory_bus_bits]),
        A(L2_CACHE_SIZE, v[TOLD_l2_cache_bytes]),
        A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, v[TOLD_shared_bytes_per_sm]),
        A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, v[TOLD_shared_bytes_per_block_optin]),
        A(RESERVED_SHARED_MEMORY_PER_BLOCK, v[TOLD_shared_bytes_reserved_per_block]),
        A(MAX_BLOCKS_PER_MULTIPROCESSOR, v[TOLD_blocks_per_sm]),
        A(MAX_THREADS_PER_MULTIPROCESSOR, v[TOLD_threads_per_sm]),
#undef A
    };
    memcpy(data->attributes, list, sizeof list);
    data->memory = (uint64_t)v[TOLD_memory_bytes];
    sim_model *m = &data->model;
    const double *from = v + TOLD_COUNT;
#define SIM_X(member, key, least, most) m->member = *from++;
    SIM_MODEL_MAP(SIM_X)
#undef SIM_X
#define SIM_X(member, key, least, most, usual) m->member = *from++;
    SIM_LINK_MAP(SIM_X)
#undef SIM_X
    m->clock = v[TOLD_clock_mhz] * 1e6;
    m->l2_size = v[TOLD_l2_cache_bytes];
    m->sm_count = floor(v[TOLD_sm_count]);
    m->schedulers = floor(m->schedulers);
}

bool sim_profile_read(const char *text, size_t length, const char *name, sim_profile_data *data, kiln__text *log)
{
    reader r = {.name = name, .model = &data->model, .log = log};
    memset(data, 0, sizeof *data);
    read_text(&r, text, length);
    if (r.failed || log->failed)
        return false;
    memcpy(data->title, r.title, sizeof data->title);
    set_profile(data, &r);
    return true;
}
