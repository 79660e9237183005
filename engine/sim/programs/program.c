/* program.c - the profile of a program. $KILN_SIM_PROFILE and $KILN_SIM_TRACE each name an output file. The functions
 * here write launches and copies to these files, with the times that they would take on the profile's device.
 * engine/sim/programs/PROFILE.md describes both files. Launches of a kernel with the same shape share a row. Only some
 * of these launches are estimated. The code writes each event at once, so that no event is lost, however the process
 * ends. The caller of each function holds the state lock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cu_graph.h"
#include "journal.h"
#include "timeline.h"
#include "vm_count.h"

enum { BUCKETS = 1024, BOUNDS = 4, FIRST = 4 };

/* The properties that all launches of a row have in common. The code compares shapes byte by byte, so the padding must
 * be set too. */
typedef struct shape {
    uint32_t grid[3], block[3], cluster[3], registers;
    uint64_t dynamic_shared, static_shared, local_bytes, instructions;
    uint64_t symbol[2]; /* hash of the kernel's symbol */
} shape;

typedef struct sim_row {
    struct sim_row *next; /* next row in the same bucket of the hash table */
    shape shape;
    const char *what; /* text that describes a copy, or NULL for a kernel */
    char *text;       /* the part of the row's text that does not change */
    char *title;      /* the name of the kernel as JSON */
    off_t at;         /* offset of the row in the file */
    uint64_t calls, estimated, failed, counted, bytes;
    double share; /* share of the SMs that one launch of the row uses */
    /* `last` is the time of the last estimated launch, or negative if no launch was estimated */
    double seconds, estimated_seconds, least, most, last, end;
    /* sums of the shares, where each launch has its estimated seconds as weight */
    double issue, unit, shared, l2, dram, overhead;
    struct {
        const char *text;
        double seconds;
    } bounds[BOUNDS];
    kiln_counters *counters; /* sums of the counters of `counted` launches, or NULL if the user requested no counters */
} sim_row;

static struct {
    bool read, counters;
    const char *profile_path, *trace_path; /* paths of the output files; NULL if the user did not request the file */
    /* number of first launches of a shape that are all estimated; 0 means all launches */
    uint64_t first;
    pid_t process; /* the process that has opened the files, or 0 until a process opens them */
    sim_journal profile, trace;
    sim_timeline timeline;
    sim_timeline_device devices[SIM_DEVICES_MOST];
    uint64_t stream; /* handle of the stream of the next entry, or 0 for the legacy stream */
    bool waits;      /* the host waits for copies in this stream */
    unsigned tracks;
    struct {
        unsigned number;
        bool shown;
    } legacy[SIM_DEVICES_MOST]; /* the tracks of the legacy streams */
    sim_row *rows[BUCKETS];
} program;

/* ---- beginning ---- */

static const char *get_setting(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

bool sim_program_open(void)
{
    uint64_t counters = 0, first = FIRST;
    if (program.read)
        return true;
    if (!sim_environment("KILN_SIM_PROFILE_COUNTERS", &counters) ||
        (get_setting("KILN_SIM_PROFILE_LAUNCHES") && !sim_environment("KILN_SIM_PROFILE_LAUNCHES", &first)))
        return false;
    program.read = true;
    program.counters = counters != 0;
    program.first = first;
    program.profile_path = get_setting("KILN_SIM_PROFILE");
    program.trace_path = get_setting("KILN_SIM_TRACE");
    return true;
}

static void put_command(kiln__text *out)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    sim_json_string(out, path);
}

static void put_head(bool trace)
{
    const sim_profile *device = sim_current_profile();
    kiln__text text = {0};
    if (trace) {
        kiln__text_printf(&text, "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %ld, \"args\": {\"name\": ",
                          (long)program.process);
        kiln__text title = {0};
        kiln__text_printf(&title, "%s, times estimated", device->title);
        sim_json_string(&text, kiln__text_get(&title));
        kiln__text_free(&title);
        kiln__text_puts(&text, "}}");
    } else {
        kiln__text_printf(&text,
                          "{\"kiln\": \"profile\", \"version\": 1, \"pid\": %ld, \"program\": ", (long)program.process);
        put_command(&text);
        kiln__text_puts(&text, ", \"device\": ");
        sim_json_string(&text, device->name);
        kiln__text_puts(&text, ", \"title\": ");
        sim_json_string(&text, device->title);
        kiln__text_printf(&text, ", \"estimates\": %s, \"first_launches\": %llu}", device->model ? "true" : "false",
                          (unsigned long long)program.first);
    }
    sim_journal_add(trace ? &program.trace : &program.profile, &text);
    kiln__text_free(&text);
}

static void forget_rows(void)
{
    for (size_t k = 0; k < BUCKETS; k++)
        while (program.rows[k]) {
            sim_row *row = program.rows[k];
            program.rows[k] = row->next;
            kiln__free(NULL, row->text);
            kiln__free(NULL, row->title);
            kiln__free(NULL, row->counters);
            kiln__free(NULL, row);
        }
}

/* Returns true if the profile is on. The function opens the files at the first use, and again in a process that was
 * forked from this process. */
static bool start_noting(void)
{
    if (!sim_program_on())
        return false;
    if (program.process == getpid())
        return program.profile.path || program.trace.path;
    const bool child = program.process != 0;
    program.process = getpid();
    sim_journal_close(&program.profile);
    sim_journal_close(&program.trace);
    forget_rows();
    program.timeline = (sim_timeline){0};
    memset(program.devices, 0, sizeof program.devices);
    memset(program.legacy, 0, sizeof program.legacy);
    program.tracks = 0;
    if (program.profile_path && sim_journal_open(&program.profile, program.profile_path, child))
        put_head(false);
    if (program.trace_path && sim_journal_open(&program.trace, program.trace_path, child))
        put_head(true);
    return program.profile.path || program.trace.path;
}

/* ---- rows ---- */

static void put_name(kiln__text *out, const char *symbol)
{
    char *name = sim_readable_name(symbol);
    sim_json_string(out, name ? name : symbol);
    free(name);
}

static void put_axes(kiln__text *out, const char *name, const uint32_t at[3])
{
    kiln__text_printf(out, ", \"%s\": [%u, %u, %u]", name, at[0], at[1], at[2]);
}

static void put_shape(kiln__text *out, const shape *s)
{
    put_axes(out, "grid", s->grid);
    put_axes(out, "block", s->block);
    if (s->cluster[0] * s->cluster[1] * s->cluster[2] > 1)
        put_axes(out, "cluster", s->cluster);
    kiln__text_printf(out, ", \"registers\": %u, \"static_shared\": %llu, \"dynamic_shared\": %llu", s->registers,
                      (unsigned long long)s->static_shared, (unsigned long long)s->dynamic_shared);
}

/* Makes the texts of a row that do not change. Returns false if memory runs out. */
static bool describe_row(sim_row *row, const char *symbol, uint32_t resident)
{
    kiln__text text = {0}, title = {0};
    if (row->what)
        sim_json_string(&title, row->what);
    else
        put_name(&title, symbol);
    kiln__text_printf(&text, ", \"kind\": \"%s\", \"name\": %s", row->what ? "copy" : "kernel", kiln__text_get(&title));
    if (!row->what) {
        kiln__text_puts(&text, ", \"symbol\": ");
        sim_json_string(&text, symbol);
        put_shape(&text, &row->shape);
        kiln__text_printf(&text, ", \"local_bytes\": %llu, \"blocks_per_sm\": %u",
                          (unsigned long long)row->shape.local_bytes, resident);
    }
    row->text = text.data;
    row->title = title.data;
    return !text.failed && !title.failed;
}

static sim_row *row_of(const shape *s, const char *what, const char *symbol, uint32_t resident)
{
    sim_row **at = &program.rows[kiln__hash(s, sizeof *s).low % BUCKETS];
    for (; *at; at = &(*at)->next)
        if (!(*at)->what == !what && (!what || strcmp((*at)->what, what) == 0) &&
            memcmp(&(*at)->shape, s, sizeof *s) == 0)
            return *at;
    sim_row *row = kiln__calloc(NULL, 1, sizeof *row);
    if (!row)
        return NULL;
    row->shape = *s;
    row->what = what;
    row->last = -1;
    if (program.counters && !what)
        row->counters = kiln__calloc(NULL, 1, sizeof *row->counters);
    if (!describe_row(row, symbol, resident)) {
        kiln__free(NULL, row->text);
        kiln__free(NULL, row->title);
        kiln__free(NULL, row->counters);
        kiln__free(NULL, row);
        return NULL;
    }
    return *at = row;
}

/* Writes a number with a fixed width, so that the new text of a row exactly replaces the old text. */
static void put_whole(kiln__text *out, const char *name, uint64_t value)
{
    kiln__text_printf(out, "%s\"%s\": %20llu", out->length > 1 ? ", " : "", name, (unsigned long long)value);
}

static void put_real(kiln__text *out, const char *name, bool known, double value)
{
    if (known)
        kiln__text_printf(out, ", \"%s\": %24.17g", name, value);
    else
        kiln__text_printf(out, ", \"%s\": %24s", name, "null");
}

static void put_share(kiln__text *out, const char *name, const sim_row *row, double sum)
{
    put_real(out, name, row->estimated > 0, sum / (row->estimated_seconds > 0 ? row->estimated_seconds : 1));
}

static const char *bound_of(const sim_row *row)
{
    size_t most = 0;
    for (size_t k = 1; k < BOUNDS; k++)
        most = row->bounds[k].seconds > row->bounds[most].seconds ? k : most;
    return row->bounds[most].text;
}

/* Writes a row of the profile at the place of its earlier text. If `whole` is true, the function also writes the texts
 * that do not change. */
static void put_row(sim_row *row, bool whole)
{
    const bool known = row->last >= 0;
    kiln__text text = {0};
    kiln__text_puts(&text, "{");
    put_whole(&text, "calls", row->calls);
    put_whole(&text, "estimated", row->estimated);
    put_whole(&text, "failed", row->failed);
    put_real(&text, "seconds", known, row->seconds);
    put_real(&text, "least_seconds", known, row->least);
    put_real(&text, "most_seconds", known, row->most);
    put_real(&text, "last_end_seconds", known, row->end);
    if (row->what) {
        put_whole(&text, "bytes", row->bytes);
    } else {
        const char *bound = bound_of(row);
        kiln__text_printf(&text, ", \"bound\": %s%s%s%*s", bound ? "\"" : "", bound ? bound : "null", bound ? "\"" : "",
                          (int)(24 - (bound ? strlen(bound) + 2 : 4)), "");
        put_whole(&text, "counted", row->counted);
        put_share(&text, "memory", row, row->dram);
        put_share(&text, "l2", row, row->l2);
        put_share(&text, "shared_memory", row, row->shared);
        put_share(&text, "issue", row, row->issue);
        put_share(&text, "busiest_unit", row, row->unit);
        put_share(&text, "launch", row, row->overhead);
    }
    kiln__text_puts(&text, row->text);
    if (whole && row->counters) {
        kiln__text_puts(&text, ", \"counters\": {");
        const char *before = "";
#define KILN_X(name, adds, words)                                                                                      \
    kiln__text_printf(&text, "%s\"" #name "\": %20llu", before, (unsigned long long)row->counters->name);              \
    before = ", ";
        KILN_COUNTER_MAP(KILN_X)
#undef KILN_X
        kiln__text_puts(&text, "}");
    }
    if (whole)
        kiln__text_puts(&text, "}");
    if (row->at == 0)
        row->at = sim_journal_add(&program.profile, &text);
    else
        sim_journal_put(&program.profile, row->at, &text);
    kiln__text_free(&text);
}

/* ---- the timeline ---- */

bool sim_program_on(void) { return program.profile_path || program.trace_path; }

void sim_program_stream(const sim_stream *stream, bool waits)
{
    program.stream = stream ? stream->object.handle : 0;
    program.waits = waits;
}

static sim_stream *stream_now(const sim_context *context)
{
    return program.stream ? sim_object_find(context, (const void *)(uintptr_t)program.stream, SIM_STREAM) : NULL;
}

/* Returns the number of a stream's track. The first use of a track also writes the name of the track. */
static unsigned track_of(const sim_context *context, sim_stream *stream)
{
    kiln__text text = {0};
    unsigned *number = stream ? &stream->track : &program.legacy[context->ordinal].number, track = *number;
    if (stream ? track > 0 : program.legacy[context->ordinal].shown)
        return track;
    if (stream || context->ordinal > 0) /* track 0 is the default stream of the first device */
        track = *number = ++program.tracks;
    if (!stream)
        program.legacy[context->ordinal].shown = true;
    kiln__text_printf(&text,
                      "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %ld, \"tid\": %u, \"args\": {\"name\": ",
                      (long)program.process, track);
    kiln__text_puts(&text, "\"");
    if (sim_device_count() > 1)
        kiln__text_printf(&text, "device %u, ", context->ordinal);
    if (stream)
        kiln__text_printf(&text, "stream %u", track);
    else
        kiln__text_puts(&text, "default stream");
    if (stream && context->id != 1 && sim_device_count() == 1)
        kiln__text_printf(&text, " of context %llu", (unsigned long long)context->id);
    kiln__text_puts(&text, "\"}}");
    sim_journal_add(&program.trace, &text);
    kiln__text_free(&text);
    return track;
}

/* Writes an event of the timeline: a launch, copy or fill, on the track of its stream. */
static void put_event(const sim_context *context, sim_stream *stream, const sim_row *row, const sim_span *span,
                      const sim_noted *noted, uint64_t bytes)
{
    kiln__text text = {0};
    if (!program.trace.path)
        return;
    const unsigned track = track_of(context, stream);
    kiln__text_printf(
        &text,
        "{\"name\": %s, \"cat\": \"%s\", \"ph\": \"X\", \"pid\": %ld, \"tid\": %u, \"ts\": %.4f, \"dur\": "
        "%.4f, \"args\": {",
        row->title, row->what ? "copy" : "kernel", (long)program.process, track, span->start * 1e6,
        (span->end - span->start) * 1e6);
    if (row->what) {
        const double seconds = span->end - span->start;
        kiln__text_printf(&text, "\"bytes\": %llu, \"gb_per_second\": %.4g", (unsigned long long)bytes,
                          seconds > 0 ? (double)bytes / seconds * 1e-9 : 0);
    } else {
        const char *bound = bound_of(row);
        kiln__text_printf(&text, "\"estimated\": \"%s\"",
                          row->last < 0      ? "no"
                          : noted->estimated ? "this launch"
                                             : "as an earlier launch");
        put_shape(&text, &row->shape);
        if (bound)
            kiln__text_printf(&text, ", \"bound\": \"%s\"", bound);
    }
    kiln__text_puts(&text, "}}");
    sim_journal_add(&program.trace, &text);
    kiln__text_free(&text);
}

static sim_span put_work(const sim_context *context, sim_stream *stream, sim_lane lane, double seconds, double share)
{
    const bool blocking = stream && !(stream->flags & CU_STREAM_NON_BLOCKING);
    return sim_timeline_put(&program.timeline, &program.devices[context->ordinal], stream ? &stream->device_end : NULL,
                            blocking, lane, seconds > 0 ? seconds : 0, share);
}

static void add_call(sim_row *row, double seconds, const sim_span *span)
{
    row->calls++;
    row->end = span->end;
    if (seconds < 0)
        return;
    row->least = row->seconds <= 0 || seconds < row->least ? seconds : row->least;
    row->most = seconds > row->most ? seconds : row->most;
    row->seconds += seconds;
}

/* ---- launches ---- */

/* Returns true if a launch must be estimated: the first launches of a shape, and then each launch whose number is a
 * power of two. Later launches of a kernel may behave differently, but an estimate of every launch would take too
 * long. */
static bool is_chosen(uint64_t call) { return program.first == 0 || call <= program.first || (call & (call - 1)) == 0; }

/* Prepares the profile of a launch: finds its row, and decides whether the launch is estimated and counted. */
void sim_program_launch(const sim_function *function, uint32_t resident, const vm_launch *launch,
                        struct vm_watch *watch, sim_noted *noted)
{
    *noted = (sim_noted){0};
    if (!start_noting())
        return;
    const ptx_function *source = &vm_module_ptx(function->module->vm)->functions[function->kernel];
    const kiln__hash128 symbol = kiln__hash(source->name, strlen(source->name));
    shape s;
    memset(&s, 0, sizeof s);
    memcpy(s.grid, launch->grid, sizeof s.grid);
    memcpy(s.block, launch->block, sizeof s.block);
    memcpy(s.cluster, launch->cluster, sizeof s.cluster);
    s.registers = function->resources.register_estimate;
    s.dynamic_shared = launch->dynamic_shared;
    s.static_shared = function->resources.static_shared;
    s.local_bytes = function->resources.local_bytes;
    s.instructions = source->insn_count;
    s.symbol[0] = symbol.low;
    s.symbol[1] = symbol.high;
    noted->row = row_of(&s, NULL, source->name, resident);
    if (!noted->row)
        return;
    const sim_model *model = sim_current_profile()->model;
    const double blocks = (double)s.grid[0] * s.grid[1] * s.grid[2],
                 places = model ? model->sm_count * (resident ? resident : 1) : 1;
    noted->row->share = fmin(1, blocks / places);
    noted->estimated = is_chosen(noted->row->calls + 1);
    if (noted->estimated && noted->row->counters && !watch->profile)
        watch->profile = noted->counters = count_profile_new(sim_memory(), function->module->vm);
}

static void add_estimate(sim_row *row, const sim_timed *timed)
{
    const vm_time_result *result = &timed->result;
    double unit = 0, seconds = timed->seconds;
    for (size_t k = 0; k < VM_UNITS; k++)
        unit = result->unit[k] > unit ? result->unit[k] : unit;
    row->estimated++;
    row->last = seconds;
    row->estimated_seconds += seconds;
    row->dram += fmin(1, result->dram) * seconds;
    row->l2 += fmin(1, result->l2) * seconds;
    row->shared += fmin(1, result->shared) * seconds;
    row->issue += fmin(1, result->issue) * seconds;
    row->unit += fmin(1, unit) * seconds;
    row->overhead += timed->overhead;
    for (size_t k = 0; k < BOUNDS; k++)
        if (!row->bounds[k].text || row->bounds[k].text == timed->bound) {
            row->bounds[k].text = timed->bound;
            row->bounds[k].seconds += seconds;
            break;
        }
}

void sim_program_ran(sim_context *context, sim_noted *noted, bool whole, const sim_timed *timed)
{
    sim_row *row = noted->row;
    if (!row)
        return;
    if (noted->counters && whole) {
        kiln_counters sum = {0};
        count_profile_sum(noted->counters, &sum, NULL);
        count_add_counters(row->counters, &sum);
        row->counted++;
    }
    count_profile_free(noted->counters);
    if (timed->known)
        add_estimate(row, timed);
    else
        row->failed += noted->estimated && sim_current_profile()->model;
    const locale_t before = kiln__locale_enter();
    sim_stream *stream = stream_now(context);
    const double seconds = row->last;
    const sim_span span = put_work(context, stream, SIM_LANE_KERNEL, seconds, row->share);
    add_call(row, seconds, &span);
    put_row(row, row->calls == 1 || noted->estimated);
    put_event(context, stream, row, &span, noted, 0);
    kiln__locale_leave(before);
}

void sim_program_moved(sim_context *context, sim_lane lane, const char *what, uint64_t bytes, double seconds)
{
    if (!start_noting())
        return;
    shape s;
    memset(&s, 0, sizeof s);
    s.dynamic_shared = (uint64_t)lane;
    sim_row *row = row_of(&s, what, "", 0);
    if (!row)
        return;
    const locale_t before = kiln__locale_enter();
    sim_stream *stream = stream_now(context);
    const sim_span span = put_work(context, stream, lane, seconds, 0);
    if (program.waits && (lane == SIM_LANE_TO_DEVICE || lane == SIM_LANE_FROM_DEVICE))
        sim_timeline_host_waits(&program.timeline, span.end);
    row->last = seconds;
    row->estimated++;
    row->bytes += bytes;
    add_call(row, seconds, &span);
    put_row(row, true);
    put_event(context, stream, row, &span, NULL, bytes);
    kiln__locale_leave(before);
}

/* ---- order ---- */

static bool is_noted(void) { return program.process != 0; }

void sim_program_record(sim_context *context, sim_event *event)
{
    const sim_stream *stream = is_noted() ? stream_now(context) : NULL;
    event->device_time = is_noted() ? sim_timeline_mark(&program.timeline, &program.devices[context->ordinal],
                                                        stream ? &stream->device_end : NULL)
                                    : 0;
}

void sim_program_after(const sim_context *context, sim_stream *stream, const sim_event *event)
{
    if (is_noted())
        sim_timeline_after(&program.devices[context->ordinal], stream ? &stream->device_end : NULL, event->device_time);
}

void sim_program_wait(const sim_context *context, const sim_stream *stream)
{
    if (is_noted())
        sim_timeline_host_waits(&program.timeline,
                                sim_timeline_mark(&program.timeline, &program.devices[context->ordinal],
                                                  stream ? &stream->device_end : NULL));
}

void sim_program_wait_event(const sim_event *event) { sim_timeline_host_waits(&program.timeline, event->device_time); }

void sim_program_wait_all(const sim_context *context)
{
    sim_timeline_host_waits(&program.timeline, program.devices[context->ordinal].end);
}
