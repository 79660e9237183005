/* protocol.c - writes and reads the messages between a sweep and its runner. */
#include <limits.h>
#include <string.h>

#include "confine.h"
#include "protocol_internal.h"
#include "wire.h"

/* ---- settings ---- */

static void write_settings(kiln__text *out, kiln__settings settings)
{
    kiln__wire_number(out, settings.count);
    for (size_t i = 0; i < settings.count; i++) {
        const kiln_value *value = &settings.items[i].value;
        kiln__wire_string(out, settings.items[i].name);
        kiln__wire_number(out, (uint64_t)value->kind);
        if (value->kind == KILN_TEXT)
            kiln__wire_string(out, value->as.text);
        else if (value->kind == KILN_FLOAT)
            kiln__wire_real(out, value->as.f);
        else
            kiln__wire_number(out, (uint64_t)value->as.i);
    }
}

static kiln__settings read_settings(kiln__wire *in, kiln__arena *arena)
{
    size_t count = kiln__wire_read_count(in);
    kiln_setting *list = kiln__arena_alloc(arena, (count + 1) * sizeof *list);
    for (size_t i = 0; list && i < count && !in->failed; i++) {
        list[i].name = kiln__wire_read_string(in);
        uint64_t kind = kiln__wire_read_number(in);
        if (kind > KILN_TEXT)
            in->failed = true;
        list[i].value.kind = in->failed ? KILN_INT : (kiln_kind)kind;
        if (list[i].value.kind == KILN_TEXT)
            list[i].value.as.text = kiln__wire_read_string(in);
        else if (list[i].value.kind == KILN_FLOAT)
            list[i].value.as.f = kiln__wire_read_real(in);
        else
            list[i].value.as.i = (int64_t)kiln__wire_read_number(in);
    }
    return (kiln__settings){count, list};
}

/* Reads a number. Fails if the number is above `most`. */
static uint64_t read_small(kiln__wire *in, uint64_t most)
{
    uint64_t number = kiln__wire_read_number(in);
    if (number > most)
        in->failed = true;
    return in->failed ? 0 : number;
}

/* ---- messages for the whole sweep ---- */

/* Writes the opening message for a process. The order in which this function writes the fields is the format.
 * kiln__runner_read_open() reads them in the same order. Sender and receiver must come from the same build. open_all()
 * compares their versions. */
void kiln__runner_write_open(kiln__text *message, const kiln__runner_setup *setup)
{
    const kiln_run_options *run = &setup->run;
    kiln__wire_begin(message, KILN__RUNNER_OPEN);
    kiln__wire_string(message, setup->version);
    kiln__wire_string(message, setup->device);
    kiln__wire_number(message, setup->flags);
    kiln__wire_number(message, setup->memory_limit);
    kiln__wire_number(message, setup->near);
    kiln__wire_string(message, setup->search_path);
    kiln__wire_string(message, setup->references);
    kiln__wire_string(message, setup->name);
    kiln__wire_bytes(message, setup->text, setup->text_length);
    kiln__wire_number(message, setup->choice.size_set != NULL);
    kiln__wire_string(message, setup->choice.size_set ? setup->choice.size_set : "");
    write_settings(message, KILN__SIZES(&setup->choice));
    kiln__wire_string(message, setup->smaller);
    kiln__wire_number(message, run->flags);
    kiln__wire_real(message, run->budget);
    kiln__wire_real(message, run->precision);
    kiln__wire_number(message, run->min_repetitions);
    kiln__wire_number(message, run->max_repetitions);
    kiln__wire_number(message, run->verify_runs);
    kiln__wire_real(message, run->verify_seconds);
    kiln__wire_number(message, run->input_count);
    for (size_t i = 0; i < run->input_count; i++) {
        kiln__wire_string(message, run->inputs[i].buffer);
        kiln__wire_string(message, run->inputs[i].path);
    }
    kiln__wire_end(message);
}

/* Reads the message that kiln__runner_write_open() wrote. The texts of *setup point into `body`. The settings and
 * inputs are allocated in the arena. The message is malformed if a field is missing or out of range, or if there are
 * bytes behind the last field. */
bool kiln__runner_read_open(const char *body, size_t length, kiln__arena *arena, kiln__runner_setup *setup)
{
    kiln__wire in = {.at = body, .left = length};
    *setup = (kiln__runner_setup){.run = {.size = sizeof setup->run}};
    kiln_run_options *run = &setup->run;
    setup->version = kiln__wire_read_string(&in);
    setup->device = kiln__wire_read_string(&in);
    setup->flags = (unsigned)read_small(&in, UINT_MAX);
    setup->memory_limit = kiln__wire_read_number(&in);
    setup->near = read_small(&in, 1) == 1;
    setup->search_path = kiln__wire_read_string(&in);
    setup->references = kiln__wire_read_string(&in);
    setup->name = kiln__wire_read_string(&in);
    setup->text = kiln__wire_read_bytes(&in, &setup->text_length);
    bool has_set = read_small(&in, 1) == 1;
    const char *set = kiln__wire_read_string(&in);
    setup->choice.size_set = has_set ? set : NULL;
    const kiln__settings sizes = read_settings(&in, arena);
    setup->choice.sizes = sizes.items;
    setup->choice.size_count = sizes.count;
    setup->smaller = kiln__wire_read_string(&in);
    run->flags = (unsigned)read_small(&in, UINT_MAX);
    run->budget = kiln__wire_read_real(&in);
    run->precision = kiln__wire_read_real(&in);
    run->min_repetitions = (unsigned)read_small(&in, UINT_MAX);
    run->max_repetitions = (unsigned)read_small(&in, UINT_MAX);
    run->verify_runs = (unsigned)read_small(&in, UINT_MAX);
    run->verify_seconds = kiln__wire_read_real(&in);
    run->input_count = kiln__wire_read_count(&in);
    kiln_file_binding *inputs = kiln__arena_alloc(arena, (run->input_count + 1) * sizeof *inputs);
    for (size_t i = 0; inputs && i < run->input_count; i++) {
        inputs[i].buffer = kiln__wire_read_string(&in);
        inputs[i].path = kiln__wire_read_string(&in);
    }
    run->inputs = inputs;
    return !in.failed && in.left == 0 && !arena->failed;
}

void kiln__runner_write_ready(kiln__text *message, const kiln__runner_greeting *greeting)
{
    kiln__wire_begin(message, KILN__RUNNER_READY);
    kiln__wire_number(message, (uint64_t)greeting->status);
    kiln__wire_string(message, greeting->why);
    kiln__wire_number(message, greeting->sandbox);
    kiln__wire_number(message, greeting->confined);
    kiln__wire_string(message, greeting->how);
    kiln__wire_end(message);
}

bool kiln__runner_read_ready(const char *body, size_t length, kiln__runner_greeting *greeting)
{
    kiln__wire in = {.at = body, .left = length};
    greeting->status = kiln__wire_read_status(&in);
    greeting->why = kiln__wire_read_string(&in);
    greeting->sandbox = read_small(&in, 1) == 1;
    greeting->confined = (unsigned)read_small(&in, KILN__CONFINED_FILES | KILN__CONFINED_CALLS);
    greeting->how = kiln__wire_read_string(&in);
    return !in.failed && in.left == 0;
}

/* ---- the request of a sample ---- */

static void write_unit(kiln__text *message, const kiln__unit *unit)
{
    kiln__wire_bytes(message, unit->ptx, unit->ptx_length);
    kiln__wire_bytes(message, unit->cubin, unit->cubin_length);
    kiln__wire_bytes(message, unit->lowered, unit->lowered_length);
}

static void read_unit(kiln__wire *in, kiln__unit *unit)
{
    unit->ptx = kiln__wire_read_bytes(in, &unit->ptx_length);
    unit->cubin = kiln__wire_read_bytes(in, &unit->cubin_length);
    unit->lowered = kiln__wire_read_bytes(in, &unit->lowered_length);
}

void kiln__runner_write_run(kiln__text *message, const kiln__runner_request *request)
{
    kiln__wire_begin(message, KILN__RUNNER_RUN);
    /* the first number of the message, because kiln__runner_mark_whole() sets it */
    kiln__wire_number(message, request->whole);
    kiln__wire_string(message, request->variant);
    write_settings(message, request->params);
    kiln__wire_real(message, request->trial.stop_early_above);
    kiln__wire_real(message, request->trial.cut_above);
    kiln__wire_real(message, request->trial.most_seconds);
    kiln__wire_real(message, request->trial.timeout);
    kiln__wire_number(message, request->trial.again);
    kiln__wire_real(message, request->trial.verify_seconds);
    kiln__wire_number(message, request->trial.answer);
    write_unit(message, &request->unit);
    write_unit(message, &request->small);
    kiln__wire_end(message);
}

void kiln__runner_mark_whole(kiln__text *message)
{
    const uint64_t whole = 1;
    memcpy(message->data + sizeof(kiln__message_header), &whole, sizeof whole);
}

bool kiln__runner_read_run(const char *body, size_t length, kiln__arena *arena, kiln__runner_request *request)
{
    kiln__wire in = {.at = body, .left = length};
    *request = (kiln__runner_request){0};
    request->whole = read_small(&in, 1) == 1;
    request->variant = kiln__wire_read_string(&in);
    request->params = read_settings(&in, arena);
    request->trial.stop_early_above = kiln__wire_read_real(&in);
    request->trial.cut_above = kiln__wire_read_real(&in);
    request->trial.most_seconds = kiln__wire_read_real(&in);
    request->trial.timeout = kiln__wire_read_real(&in);
    request->trial.again = (unsigned)read_small(&in, UINT_MAX);
    request->trial.verify_seconds = kiln__wire_read_real(&in);
    request->trial.answer = (kiln__answer_use)read_small(&in, KILN__ANSWER_WHOLE);
    read_unit(&in, &request->unit);
    read_unit(&in, &request->small);
    return !in.failed && in.left == 0 && !arena->failed;
}

/* ---- a finding of the checks ---- */

static void write_three(kiln__text *message, const unsigned numbers[3])
{
    for (int i = 0; i < 3; i++)
        kiln__wire_number(message, numbers[i]);
}

static void read_three(kiln__wire *in, unsigned numbers[3])
{
    for (int i = 0; i < 3; i++)
        numbers[i] = (unsigned)read_small(in, UINT_MAX);
}

static void write_side(kiln__text *message, const kiln_check_side *side)
{
    kiln__wire_number(message, side->what != NULL);
    kiln__wire_string(message, side->what ? side->what : "");
    kiln__wire_string(message, side->file ? side->file : "");
    kiln__wire_number(message, side->line);
    kiln__wire_number(message, side->ptx_line);
    kiln__wire_string(message, side->text ? side->text : "");
    kiln__wire_string(message, side->inlined ? side->inlined : "");
    write_three(message, side->block);
    write_three(message, side->thread);
    kiln__wire_number(message, side->has_block != 0);
    kiln__wire_number(message, side->has_thread != 0);
}

static void read_side(kiln__wire *in, kiln_check_side *side)
{
    bool has = read_small(in, 1) == 1;
    const char *what = kiln__wire_read_string(in);
    side->what = has ? what : NULL;
    side->file = kiln__wire_read_string(in);
    side->line = (unsigned)read_small(in, UINT_MAX);
    side->ptx_line = (unsigned)read_small(in, UINT_MAX);
    side->text = kiln__wire_read_string(in);
    side->inlined = kiln__wire_read_string(in);
    read_three(in, side->block);
    read_three(in, side->thread);
    side->has_block = read_small(in, 1) == 1;
    side->has_thread = read_small(in, 1) == 1;
}

void kiln__runner_write_finding(kiln__text *message, const kiln_check_finding *finding)
{
    kiln__wire_begin(message, KILN__RUNNER_FINDING);
    kiln__wire_number(message, (uint64_t)finding->kind);
    kiln__wire_number(message, finding->note != 0);
    kiln__wire_string(message, finding->kernel);
    kiln__wire_string(message, finding->message);
    write_side(message, &finding->at);
    write_side(message, &finding->other);
    kiln__wire_string(message, finding->space);
    kiln__wire_number(message, finding->address);
    kiln__wire_number(message, finding->bytes);
    kiln__wire_string(message, finding->allocation);
    kiln__wire_number(message, finding->count);
    kiln__wire_string(message, finding->buffer);
    kiln__wire_string(message, finding->role);
    kiln__wire_number(message, (uint64_t)finding->offset);
    kiln__wire_number(message, finding->buffer_bytes);
    kiln__wire_end(message);
}

bool kiln__runner_read_finding(const char *body, size_t length, kiln_check_finding *finding)
{
    kiln__wire in = {.at = body, .left = length};
    *finding = (kiln_check_finding){.kind = (kiln_check_kind)read_small(&in, KILN_CHECK_KINDS - 1)};
    finding->note = read_small(&in, 1) == 1;
    finding->kernel = kiln__wire_read_string(&in);
    finding->message = kiln__wire_read_string(&in);
    read_side(&in, &finding->at);
    read_side(&in, &finding->other);
    finding->space = kiln__wire_read_string(&in);
    finding->address = kiln__wire_read_number(&in);
    finding->bytes = kiln__wire_read_number(&in);
    finding->allocation = kiln__wire_read_string(&in);
    finding->count = kiln__wire_read_number(&in);
    finding->buffer = kiln__wire_read_string(&in);
    finding->role = kiln__wire_read_string(&in);
    finding->offset = (int64_t)kiln__wire_read_number(&in);
    finding->buffer_bytes = kiln__wire_read_number(&in);
    return !in.failed && in.left == 0;
}

/* ---- a reference for the disk ---- */

void kiln__runner_write_keep(kiln__text *message, const kiln__kept_reference *kept)
{
    kiln__wire_begin(message, KILN__RUNNER_KEEP);
    kiln__wire_bytes(message, kept->key, kept->key_length);
    kiln__wire_string(message, kept->spec);
    kiln__wire_string(message, kept->function);
    kiln__wire_string(message, kept->sizes);
    kiln__wire_bytes(message, kept->list, kept->list_length);
    kiln__wire_bytes(message, kept->data, kept->data_length);
    kiln__wire_end(message);
}

bool kiln__runner_read_keep(const char *body, size_t length, kiln__kept_reference *kept)
{
    kiln__wire in = {.at = body, .left = length};
    kept->key = kiln__wire_read_bytes(&in, &kept->key_length);
    kept->spec = kiln__wire_read_string(&in);
    kept->function = kiln__wire_read_string(&in);
    kept->sizes = kiln__wire_read_string(&in);
    kept->list = kiln__wire_read_bytes(&in, &kept->list_length);
    kept->data = kiln__wire_read_bytes(&in, &kept->data_length);
    return !in.failed && in.left == 0;
}

/* ---- the result of a sample ---- */

void kiln__runner_write_waiting(kiln__text *message, const char *why)
{
    kiln__wire_begin(message, KILN__RUNNER_WAITING);
    kiln__wire_string(message, why);
    kiln__wire_end(message);
}

bool kiln__runner_read_waiting(const char *body, size_t length, const char **why)
{
    kiln__wire in = {.at = body, .left = length};
    *why = kiln__wire_read_string(&in);
    return !in.failed && in.left == 0;
}

void kiln__runner_write_launching(kiln__text *message)
{
    kiln__wire_begin(message, KILN__RUNNER_LAUNCHING);
    kiln__wire_end(message);
}

/* Macros that write and read one field of KILN_RESULT_MAP. There is one pair of macros for each kind of field. */
#define WRITE(kind, name, unit, text) WRITE_##kind(answer->result.name);
#define WRITE_FLAG(value) kiln__wire_number(message, (value) != 0)
#define WRITE_COUNT(value) kiln__wire_number(message, value)
#define WRITE_THROTTLE(value) kiln__wire_number(message, value)
#define WRITE_UNIT(value) kiln__wire_number(message, value)
#define WRITE_NANOSECONDS(value) kiln__wire_number(message, value)
#define WRITE_MICROSECONDS(value) kiln__wire_number(message, (uint64_t)(value))
#define WRITE_REAL(value) kiln__wire_real(message, value)
#define WRITE_SECONDS(value) kiln__wire_real(message, value)
#define WRITE_KNOWN(value) kiln__wire_real(message, value)
#define WRITE_HOSTS(value) kiln__wire_string(message, value.text)
#define WRITE_METRICS(value) kiln__wire_string(message, value.text)

#define READ(kind, name, unit, text) answer->result.name = READ_##kind;
#define READ_FLAG read_small(&in, 1) == 1
#define READ_COUNT (unsigned)read_small(&in, UINT_MAX)
#define READ_THROTTLE (unsigned)read_small(&in, UINT_MAX)
#define READ_UNIT (unsigned)read_small(&in, UINT_MAX)
#define READ_NANOSECONDS kiln__wire_read_number(&in)
#define READ_MICROSECONDS (int64_t) kiln__wire_read_number(&in)
#define READ_REAL kiln__wire_read_real(&in)
#define READ_SECONDS kiln__wire_read_real(&in)
#define READ_KNOWN kiln__wire_read_real(&in)
#define READ_HOSTS read_hosts(&in)
#define READ_METRICS read_metrics(&in)

static void read_text(kiln__wire *in, char *to, size_t room)
{
    const char *text = kiln__wire_read_string(in);
    size_t length = strlen(text);
    if (length >= room)
        in->failed = true;
    else
        memcpy(to, text, length + 1);
}

static kiln_host_times read_hosts(kiln__wire *in)
{
    kiln_host_times times = {{0}};
    read_text(in, times.text, sizeof times.text);
    return times;
}

static kiln_metric_values read_metrics(kiln__wire *in)
{
    kiln_metric_values values = {{0}};
    read_text(in, values.text, sizeof values.text);
    return values;
}

void kiln__runner_write_result(kiln__text *message, const kiln__runner_answer *answer)
{
    kiln__wire_begin(message, KILN__RUNNER_RESULT);
    kiln__wire_number(message, (uint64_t)answer->status);
    kiln__wire_number(message, (uint64_t)answer->cuda);
    kiln__wire_number(message, answer->lost);
    kiln__wire_number(message, answer->passing);
    kiln__wire_string(message, answer->why);
    KILN_RESULT_MAP(WRITE)
    kiln__wire_bytes(message, answer->times, answer->time_count * sizeof(double));
    kiln__wire_string(message, answer->features);
    kiln__wire_end(message);
}

bool kiln__runner_read_result(const char *body, size_t length, kiln__runner_answer *answer)
{
    kiln__wire in = {.at = body, .left = length};
    *answer = (kiln__runner_answer){0};
    answer->status = kiln__wire_read_status(&in);
    answer->cuda = (int)read_small(&in, INT_MAX);
    answer->lost = read_small(&in, 1) == 1;
    answer->passing = read_small(&in, 1) == 1;
    answer->why = kiln__wire_read_string(&in);
    KILN_RESULT_MAP(READ)
    size_t bytes = 0;
    answer->times = kiln__wire_read_bytes(&in, &bytes);
    answer->time_count = bytes / sizeof(double);
    answer->features = kiln__wire_read_string(&in);
    return !in.failed && in.left == 0 && bytes % sizeof(double) == 0;
}
