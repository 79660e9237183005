/* capture.c - captures a launch. It writes the contents before the launch and the outputs after it into a folder, which
 * appears when the capture is complete. CAPTURE.md lists the files and their purposes.
 *
 * States of a capture:
 *   begun    contents before the launch are written to a hidden folder
 *   ended    outputs and the spec are written, and the folder is renamed
 *   dropped  after a failure: the hidden folder is removed */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls_internal.h"
#include "capture.h"
#include "capture_internal.h"
#include "layout_internal.h"
#include "names_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "steps_internal.h"
#include "wire.h"

/* ---- the params on which captured contents depend ---- */

static void follow_expr(const kiln_plan *plan, const kiln__origins *to, const kiln__expr *expr);

static void follow_input(const kiln_plan *plan, const kiln__origins *to, size_t input)
{
    if (to->inputs[input])
        return;
    to->inputs[input] = true;
    for (size_t i = 0; i < plan->variant->inputs[input].arg_count; i++)
        follow_expr(plan, to, plan->variant->inputs[input].args[i].expr);
}

static void follow_name(const kiln_plan *plan, const kiln__origins *to, const char *name)
{
    const kiln__variant *variant = plan->variant;
    size_t root = strcspn(name, ".");
    for (size_t i = 0; i < variant->param_count; i++)
        if (strcmp(variant->params[i].name, name) == 0)
            to->params[i] = true;
    for (size_t i = 0; i < variant->let_count; i++)
        if (strcmp(variant->lets[i].name, name) == 0 && !to->lets[i]) {
            to->lets[i] = true;
            follow_expr(plan, to, variant->lets[i].expr);
        }
    for (size_t i = 0; i < variant->input_count; i++)
        if (strlen(variant->inputs[i].name) == root && memcmp(variant->inputs[i].name, name, root) == 0)
            follow_input(plan, to, i);
}

static void follow_expr(const kiln_plan *plan, const kiln__origins *to, const kiln__expr *expr)
{
    for (size_t i = 0; expr && i < kiln__expr_name_count(expr); i++)
        follow_name(plan, to, kiln__expr_name(expr, i));
}

/* Collects the params on which the type and the shape of a buffer depend. A file of the buffer's content is valid only
 * for the current values of these params. */
static void follow_shape(const kiln_plan *plan, const kiln__origins *to, const kiln__buffer *buffer)
{
    follow_expr(plan, to, buffer->type_expr);
    for (int d = 0; d < buffer->dims; d++)
        follow_expr(plan, to, buffer->shape[d]);
    if (buffer->dims < 0 && buffer->fill.kind == KILN__FILL_FROM)
        follow_name(plan, to, buffer->fill.text);
}

static bool make_origins(kiln__capture *c, kiln__origins *to)
{
    const kiln__variant *variant = c->plan->variant;
    to->params = kiln__arena_alloc(&c->arena, variant->param_count + 1);
    to->lets = kiln__arena_alloc(&c->arena, variant->let_count + 1);
    to->inputs = kiln__arena_alloc(&c->arena, variant->input_count + 1);
    return !c->arena.failed;
}

static bool shape_varies(kiln__capture *c, const kiln__buffer *buffer)
{
    kiln__origins from;
    bool varies = false;
    if (!make_origins(c, &from))
        return true;
    follow_shape(c->plan, &from, buffer);
    for (size_t i = 0; i < c->plan->variant->param_count; i++)
        varies = varies || from.params[i];
    return varies;
}

/* ---- the folder of a capture ---- */

void kiln__capture_drop(kiln__capture *c)
{
    if (!c)
        return;
    const kiln_allocator *mem = c->plan->mem;
    if (c->work)
        kiln__folder_remove(c->work);
    for (size_t i = 0; c->buffers && i < c->plan->variant->buffer_count; i++)
        if (c->buffers[i].held)
            kiln__array_free(mem, &c->buffers[i].before);
    if (!c->plan->shared->sweep) /* drops the fills that were made for comparing them with the contents */
        kiln__shared_drop(c->plan->shared, "fill ");
    kiln__text_free(&c->notes);
    kiln__arena_free(&c->arena);
    kiln__free(mem, c);
}

static kiln_status make_work(kiln__capture *c, kiln_error **error)
{
    static atomic_uint serial; /* makes the temporary names of two threads differ */
    const kiln_allocator *mem = c->plan->mem;
    kiln_status status = kiln__make_folders(mem, c->order.folder, 0777, error);
    if (status != KILN_OK)
        return status;
    const char *work = kiln__arena_printf(&c->arena, "%s/.%s.tmp-%ld-%u", c->order.folder, c->name, (long)getpid(),
                                          atomic_fetch_add(&serial, 1));
    if (!work)
        return kiln__fail_memory(error);
    if (mkdir(work, 0777) != 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", work, kiln__error_text(errno));
    c->work = work;
    return KILN_OK;
}

/* Renames the finished folder without replacing another folder. The number in the name grows until the name is free. */
static kiln_status publish(kiln__capture *c, kiln_error **error)
{
    enum { MOST = 100000 };
    const kiln_allocator *mem = c->plan->mem;
    for (unsigned i = 0; i < MOST; i++) {
        kiln__text path = {.mem = mem};
        kiln__text_printf(&path, "%s/%s-%03u", c->order.folder, c->name, i);
        if (path.failed) {
            kiln__text_free(&path);
            return kiln__fail_memory(error);
        }
        int failed = -1;
        errno = EEXIST;
        if (access(path.data, F_OK) != 0) {
            failed = renameat2(AT_FDCWD, c->work, AT_FDCWD, path.data, RENAME_NOREPLACE);
            if (failed && (errno == EINVAL || errno == ENOSYS)) /* the file system does not support RENAME_NOREPLACE */
                failed = rename(c->work, path.data);
        }
        if (!failed) {
            kiln__free(mem, c->plan->captured);
            c->plan->captured = path.data; /* from here on the plan owns the path */
            c->work = NULL;
            return KILN_OK;
        }
        kiln_status status = KILN_OK;
        if (errno != EEXIST && errno != ENOTEMPTY)
            status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: %s", path.data, kiln__error_text(errno));
        kiln__text_free(&path);
        if (status != KILN_OK)
            return status;
    }
    return kiln__fail(mem, error, KILN_ERROR_IO, "%s: already has %d captures of %s", c->order.folder, (int)MOST,
                      c->name);
}

/* ---- contents before the launch ---- */

static kiln_status reserve(kiln__capture *c, uint64_t bytes, const char *what, kiln_error **error)
{
    if (bytes <= c->order.limit - c->bytes) {
        c->bytes += bytes;
        return KILN_OK;
    }
    return kiln__fail(c->plan->mem, error, KILN_ERROR_REFUSED,
                      "with %s (%" PRIu64 " bytes) the contents would be more than the %" PRIu64 " bytes that a "
                      "capture may have; raise kiln_capture_options.limit or KILN_CAPTURE_LIMIT",
                      what, bytes, c->order.limit);
}

static bool same_content(const kiln_array *a, const kiln_array *b, uint64_t bytes)
{
    bool same = a->type == b->type && a->dims == b->dims;
    for (int d = 0; same && d < a->dims; d++)
        same = a->shape[d] == b->shape[d];
    return same && (bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0);
}

/* Finds out whether the content of a buffer is still the fill of the spec. */
static kiln_status is_filled(kiln_plan *plan, const kiln__plan_buffer *b, const kiln_array *now, bool *same,
                             kiln_error **error)
{
    kiln_array fill;
    bool temporary;
    kiln__plan_buffer plain = *b;
    plain.custom = false;
    plain.key = NULL;
    kiln_status status = kiln__plan_content(plan, &plain, &fill, &temporary, error);
    if (status == KILN_OK) {
        *same = same_content(now, &fill, b->bytes);
        if (temporary)
            kiln__array_free(plan->mem, &fill);
    }
    kiln__free(plan->mem, plain.key);
    return status;
}

static const kiln__export *export_of(const kiln_plan *plan, const char *name, size_t *input)
{
    size_t root = strcspn(name, ".");
    for (size_t i = 0; name[root] && i < plan->variant->input_count; i++)
        if (strlen(plan->variant->inputs[i].name) == root && memcmp(plan->variant->inputs[i].name, name, root) == 0 &&
            plan->inputs[i].entry) {
            *input = i;
            return kiln__export_find(plan->inputs[i].entry->values, name + root + 1);
        }
    return NULL;
}

/* Captures a buffer whose content is an input's export. If the application has replaced the content, the new content
 * becomes the export. So other variants use the new content too. A second buffer with the same export gets a file of
 * its own. */
static kiln_status take_exported(kiln__capture *c, kiln__plan_buffer *b, const kiln_array *now, bool *done,
                                 kiln_error **error)
{
    size_t input = 0;
    const kiln__export *export = export_of(c->plan, b->buffer->fill.text, &input);
    *done = export && same_content(now, &export->array, b->bytes) && !kiln__capture_taken(c, export);
    if (*done || !export || !c->replaced[input] || kiln__capture_taken(c, export))
        return KILN_OK;
    c->taken[c->taken_count++] = export;
    *done = true;
    return kiln__capture_array(c, kiln__capture_export_file(c, input, export), now, error);
}

static kiln_status take_content(kiln__capture *c, size_t index, kiln__plan_buffer *b, kiln_array *now,
                                kiln_error **error)
{
    kiln__captured *to = &c->buffers[index];
    kiln__fill_kind kind = b->file ? KILN__FILL_FILE : b->buffer->fill.kind;
    kiln_status status = KILN_OK;
    bool done = false;
    if (kind == KILN__FILL_NONE && b->buffer->out) {
        to->held = true;
        to->before = *now;
        *now = (kiln_array){0};
        return KILN_OK;
    }
    if (kind == KILN__FILL_FROM)
        status = take_exported(c, b, now, &done, error);
    else if (kind == KILN__FILL_VALUE || kind == KILN__FILL_IOTA ||
             (kind != KILN__FILL_NONE && kind != KILN__FILL_FILE && shape_varies(c, b->buffer)))
        status = is_filled(c->plan, b, now, &done, error);
    if (status != KILN_OK || done)
        return status;
    follow_shape(c->plan, &c->fixed, b->buffer);
    to->file = kiln__arena_printf(&c->arena, "%s.npy", b->buffer->name);
    return kiln__capture_array(c, to->file, now, error);
}

static kiln_status take_before(kiln__capture *c, size_t index, kiln_error **error)
{
    kiln__plan_buffer *b = &c->plan->buffers[index]; /* a launch begins with the buffers under their original names */
    bool own = index >= c->plan->spec->buffer_count, empty = b->buffer->fill.kind == KILN__FILL_NONE && !b->file;
    kiln_status status = KILN_OK;
    if (b->buffer->out) {
        follow_shape(c->plan, &c->fixed, b->buffer);
        status = reserve(c, b->bytes, b->buffer->name, error);
    } else if (empty && (own || !b->custom)) {
        return KILN_OK; /* scratch */
    }
    kiln_array now;
    if (status == KILN_OK)
        status = reserve(c, b->bytes, b->buffer->name, error);
    if (status == KILN_OK)
        status = kiln__plan_download(c->plan, b, &now, error);
    if (status != KILN_OK)
        return status;
    status = take_content(c, index, b, &now, error);
    kiln__array_free(c->plan->mem, &now);
    return status;
}

static kiln_status look_at_inputs(kiln__capture *c, kiln_error **error)
{
    const kiln_plan *plan = c->plan;
    size_t exports = 0;
    for (size_t i = 0; i < plan->variant->input_count; i++) {
        c->replaced[i] = i < plan->spec->input_count ||
                         !kiln__engine_host_is_shipped(plan->engine, plan->variant->inputs[i].function);
        if (!c->replaced[i] || !plan->inputs[i].entry)
            continue;
        follow_input(plan, &c->fixed, i);
        for (const kiln__export *at = plan->inputs[i].entry->values; at; at = at->next, exports++) {
            uint64_t bytes = 0;
            if (at->is_array)
                kiln__array_bytes(at->array.type, at->array.dims, at->array.shape, &bytes);
            kiln_status status = reserve(c, bytes, plan->variant->inputs[i].name, error);
            if (status != KILN_OK)
                return status;
        }
    }
    c->taken = kiln__arena_alloc(&c->arena, (exports + 1) * sizeof *c->taken);
    return c->taken ? KILN_OK : kiln__fail_memory(error);
}

/* Makes a file name from the spec's name, which may contain any character in a T1 file. Only letters, digits, '_' and
 * '-' stay. */
static const char *file_name(kiln__capture *c)
{
    char *name = kiln__arena_strndup(&c->arena, c->plan->spec->name, strnlen(c->plan->spec->name, 64));
    for (char *at = name; at && *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *at))
            *at = '_';
    return name && !*name ? "problem" : name;
}

static kiln_status wait_for(kiln_plan *plan, CUstream stream, const char *what, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    CUresult result = driver->cuStreamSynchronize_(stream);
    return result == CUDA_SUCCESS ? KILN_OK : kiln__driver_fail(driver, plan->mem, result, error, "%s", what);
}

static kiln_status begin(kiln__capture *c, CUstream stream, kiln_error **error)
{
    kiln_plan *plan = c->plan;
    const kiln__driver *driver = &plan->engine->driver;
    CUstreamCaptureStatus recording = CU_STREAM_CAPTURE_STATUS_NONE;
    if (driver->cuStreamIsCapturing_ && driver->cuStreamIsCapturing_(stream, &recording) == CUDA_SUCCESS &&
        recording != CU_STREAM_CAPTURE_STATUS_NONE)
        return kiln__fail(plan->mem, error, KILN_ERROR_UNSUPPORTED,
                          "the launch is captured into a CUDA graph, so kiln cannot wait for it");
    c->name = file_name(c);
    c->buffers = kiln__arena_alloc(&c->arena, (plan->variant->buffer_count + 1) * sizeof *c->buffers);
    c->replaced = kiln__arena_alloc(&c->arena, plan->variant->input_count + 1);
    if (!c->name || !c->buffers || !c->replaced || !make_origins(c, &c->fixed))
        return kiln__fail_memory(error);
    kiln_status status = wait_for(plan, stream, "waiting for the work before the launch", error);
    if (status == KILN_OK)
        status = look_at_inputs(c, error);
    if (status == KILN_OK)
        status = make_work(c, error);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++)
        status = take_before(c, i, error);
    return status;
}

kiln_status kiln__capture_begin(kiln_plan *plan, const kiln__capture_order *order, CUstream stream,
                                kiln__capture **capture, kiln_error **error)
{
    kiln__capture *made = kiln__calloc(plan->mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    made->plan = plan;
    made->arena.mem = made->notes.mem = plan->mem;
    made->order = (kiln__capture_order){kiln__arena_strdup(&made->arena, order->folder), order->limit};
    kiln_status status = made->order.folder ? begin(made, stream, error) : kiln__fail_memory(error);
    if (status == KILN_OK)
        *capture = made;
    else
        kiln__capture_drop(made);
    return status;
}

/* ---- outputs after the launch ---- */

/* Returns whether the content before the launch must be captured, for an output without a fill. If the launch changed
 * nothing, a buffer that no kernel writes would pass as the answer. If the launch changed all bytes of Kiln's own
 * memory, the old content does not matter. If the application bound the memory, the old content matters, because the
 * kernel may also have read it. */
static bool before_matters(const kiln__plan_buffer *b, const kiln_array *before, const kiln_array *after)
{
    size_t size = kiln__type_bytes(b->type);
    const char *x = before->data, *y = after->data;
    uint64_t changed = 0;
    for (uint64_t i = 0; i < b->elements; i++)
        changed += memcmp(x + i * size, y + i * size, size) != 0;
    return changed > 0 && (b->custom || changed < b->elements);
}

static kiln_status take_after(kiln__capture *c, size_t index, kiln_error **error)
{
    kiln_plan *plan = c->plan;
    kiln__captured *to = &c->buffers[index];
    const kiln__plan_buffer *was = &plan->buffers[index];
    const char *name = was->buffer->name;
    kiln_array after;
    kiln_status status = kiln__plan_download(plan, kiln__plan_buffer_named(plan, name), &after, error);
    if (status != KILN_OK)
        return status;
    to->want = kiln__arena_printf(&c->arena, "%s.want.npy", name);
    status = kiln__capture_array(c, to->want, &after, error);
    if (status == KILN_OK && to->held && before_matters(was, &to->before, &after)) {
        to->file = kiln__arena_printf(&c->arena, "%s.npy", name);
        status = kiln__capture_array(c, to->file, &to->before, error);
    }
    kiln__array_free(plan->mem, &after);
    return status;
}

kiln_status kiln__capture_end(kiln__capture *c, CUstream stream, kiln_error **error)
{
    kiln_plan *plan = c->plan;
    kiln_status status = wait_for(plan, stream, "waiting for the launch", error);
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++)
        if (plan->buffers[i].buffer->out)
            status = take_after(c, i, error);
    if (status == KILN_OK)
        status = kiln__capture_spec(c, error);
    if (status == KILN_OK)
        status = publish(c, error);
    if (status == KILN_OK)
        kiln__logf(&plan->engine->log, KILN_LOG_INFO, "captured a launch of %s in %s", plan->spec->name,
                   plan->captured);
    kiln__capture_drop(c);
    return status;
}

/* ---- the launches that are captured ---- */

kiln_status kiln_plan_capture(kiln_plan *plan, const char *folder, kiln_error **error)
{
    KILN__NEEDS(NULL, error, plan);
    kiln__arena arena = {.mem = plan->mem};
    kiln__capture_order order;
    char *kept = kiln__capture_default(folder, &arena, &order) ? kiln__strdup(plan->mem, order.folder) : NULL;
    kiln__arena_free(&arena);
    if (!kept)
        return kiln__fail_memory(error);
    kiln__free(plan->mem, plan->capture_folder);
    plan->capture_folder = kept;
    return KILN_OK;
}

const char *kiln_plan_captured(const kiln_plan *plan) { return plan ? plan->captured : NULL; }

kiln_status kiln__capture_asked(kiln_plan *plan, kiln__arena *arena, kiln__capture_order *order, bool *asked,
                                kiln_error **error)
{
    *asked = plan->capture_folder != NULL;
    if (!*asked)
        return KILN_OK;
    bool fine = kiln__capture_default(plan->capture_folder, arena, order);
    kiln__free(plan->mem, plan->capture_folder);
    plan->capture_folder = NULL;
    return fine ? KILN_OK : kiln__fail_memory(error);
}

/* Returns whether a plan launches the thing named `what`. `what` is the name of its spec, of a kernel, or of a kernel
 * template without its arguments. */
static bool launches(void *user, const char *what)
{
    const kiln_plan *plan = user;
    size_t length = strlen(what);
    bool found = strcmp(plan->spec->name, what) == 0;
    for (size_t i = 0; i < plan->kernel_count && !found; i++) {
        const char *name = plan->kernels[i].name;
        found = strncmp(name, what, length) == 0 && (name[length] == '\0' || name[length] == '<');
    }
    return found;
}

/* Makes one launch, and captures it. If the capture fails, logs the failure and makes the launch nevertheless. If
 * kiln_plan_capture() requested the capture, a failed capture makes the launch fail too. */
kiln_status kiln__capture_launch(kiln_plan *plan, CUstream stream, kiln_error **error)
{
    kiln__arena arena = {.mem = plan->mem};
    kiln__capture_order order;
    kiln__capture *capture = NULL;
    kiln_error *why = NULL;
    bool asked, claimed = false;
    kiln_status status = kiln__capture_asked(plan, &arena, &order, &asked, error);
    if (status == KILN_OK && !asked)
        claimed = kiln__capture_claim(plan->engine, launches, plan, &arena, &order);
    kiln_status captured = status;
    if (status == KILN_OK && (asked || claimed))
        captured = kiln__capture_begin(plan, &order, stream, &capture, &why);
    if (captured == KILN_OK || !asked)
        status = kiln__steps_enqueue(plan, false, stream, error);
    if (capture && status == KILN_OK)
        captured = kiln__capture_end(capture, stream, &why);
    else
        kiln__capture_drop(capture);
    if (status == KILN_OK && captured != KILN_OK && asked)
        status = kiln__fail(plan->mem, error, captured, "the launch of %s cannot be captured: %s", plan->spec->name,
                            kiln_error_message(why));
    else if (captured != KILN_OK)
        kiln__logf(&plan->engine->log, KILN_LOG_WARNING, "a launch of %s is not captured: %s", plan->spec->name,
                   kiln_error_message(why));
    kiln_error_free(why);
    kiln__arena_free(&arena);
    return status;
}
