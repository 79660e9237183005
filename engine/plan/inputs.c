/* inputs.c - checks whether a run has changed an input. An input is a buffer with data that is not declared as an
 * output. */
#include <inttypes.h>
#include <string.h>

#include "answer_internal.h"
#include "count_internal.h"
#include "layout_internal.h"
#include "plan_internal.h"
#include "shared_internal.h"
#include "verify_internal.h"

/* Only some pieces of a larger input are compared. The first and the last piece are among them. Reading back a whole
 * GiB for each configuration of a sweep would take longer than measuring. */
#define WHOLE_BYTES (64u << 20)
#define PIECE_BYTES (1u << 20)
#define PIECES (WHOLE_BYTES / PIECE_BYTES)

/* Returns whether a kernel must not change the buffer. T1 files do not state which buffers a kernel changes in
 * place. */
static bool must_stay(const kiln_plan *plan, const kiln__plan_buffer *b)
{
    return !plan->spec->from_t1 && !b->custom && b->bytes && kiln__variant_keeps(plan->variant, b->buffer);
}

/* Compares a buffer with the copy of its content that a sweep keeps on the device, if there is such a copy. A kernel of
 * the spec never gets the address of this copy. */
static kiln_status compare_on_device(kiln_plan *plan, const kiln__plan_buffer *b, bool *same, kiln_error **error)
{
    kiln__text key = {.mem = plan->mem};
    *same = false;
    if (!b->key || !kiln__counts_on_device(plan, b->bytes))
        return KILN_OK;
    kiln__text_printf(&key, "device %s", b->key);
    const kiln__plan_entry *copy = key.failed ? NULL : kiln__shared_find(plan->shared, key.data);
    kiln__text_free(&key);
    return copy ? kiln__memory_same(plan, (const CUdeviceptr[]){copy->device, b->pointer}, b->bytes, same, error)
                : KILN_OK;
}

/* Compares a buffer on the device with the content that the host filled it with. Appends a message to `wrong` if the
 * two differ. A large buffer is compared in PIECES pieces of PIECE_BYTES at equal distances. The last piece ends at the
 * buffer's end. */
static kiln_status compare(kiln_plan *plan, kiln__plan_buffer *b, kiln__text *wrong, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    const char *name = b->buffer->name;
    kiln_array before;
    bool temporary = false, whole = b->bytes <= WHOLE_BYTES, same;
    kiln_status status = compare_on_device(plan, b, &same, error);
    if (status != KILN_OK || same)
        return status;
    status = kiln__plan_content(plan, b, &before, &temporary, error);
    if (status != KILN_OK)
        return status;
    size_t size = kiln__type_bytes(b->type), pieces = whole ? 1 : PIECES;
    uint64_t count = whole ? b->elements : PIECE_BYTES / size;
    kiln__change change = {0};
    void *now = kiln__shared_staging(plan->shared, count * size);
    if (!now)
        status = kiln__fail(plan->mem, error, KILN_ERROR_MEMORY, "out of host memory for %" PRIu64 " bytes of %s",
                            count * size, name);
    for (size_t k = 0; k < pieces && status == KILN_OK; k++) {
        uint64_t first = pieces > 1 ? (b->elements - count) / (pieces - 1) * k : 0;
        if (k && k == pieces - 1)
            first = b->elements - count;
        CUresult result = driver->cuMemcpyDtoH_(now, b->pointer + first * size, (size_t)(count * size));
        if (result != CUDA_SUCCESS)
            status = kiln__driver_fail(driver, plan->mem, result, error, "copying buffer %s from the device", name);
        else
            kiln__array_changed(name, &before, now, first, count, &change);
    }
    if (temporary)
        kiln__array_free(plan->mem, &before);
    if (status == KILN_OK && change.count)
        kiln__text_printf(wrong,
                          "\n  %s is an input, and the kernel changed it: %s; %" PRIu64 " of %" PRIu64
                          " elements changed%s. If the kernel may change it, write `out: true` in the buffer",
                          name, change.text, change.count, pieces * count,
                          whole ? "" : ", in the pieces that were compared");
    return status;
}

kiln_status kiln__plan_inputs_same(kiln_plan *plan, kiln__text *wrong, kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < plan->variant->buffer_count && status == KILN_OK; i++)
        if (must_stay(plan, &plan->buffers[i]))
            status = compare(plan, &plan->buffers[i], wrong, error);
    return status;
}
