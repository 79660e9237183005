/* memory.c has the reference increment_exact: y = x + 1 for integers of any width, modulo 2^bits. */
#include "catalogue.h"

enum { PIECE = 1 << 20 };

typedef struct increment {
    const kiln_array *x;
    kiln_array *y;
    uint64_t count;
} increment;

#define NEXT(type)                                                                                                     \
    do {                                                                                                               \
        const type *from = job->x->data;                                                                               \
        type *to = job->y->data;                                                                                       \
        for (uint64_t i = first; i < end; i++)                                                                         \
            to[i] = (type)(from[i] + 1u);                                                                              \
    } while (0)

static void piece(void *user, size_t index, size_t worker)
{
    (void)worker;
    const increment *job = user;
    uint64_t first = (uint64_t)index * PIECE, end = job->count - first < PIECE ? job->count : first + PIECE;
    /* unsigned addition wraps around, and gives the same bits as signed addition */
    switch (kiln__type_bytes(job->x->type)) {
    case 1: NEXT(uint8_t); break;
    case 2: NEXT(uint16_t); break;
    case 4: NEXT(uint32_t); break;
    case 8: NEXT(uint64_t); break;
    }
}

static kiln_status increment_exact(void *user, kiln_call *call)
{
    (void)user;
    increment job = {.count = 1};
    if (kiln_call_array(call, "x", &job.x) != KILN_OK || kiln_call_output(call, "y", &job.y) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (job.x->type != job.y->type || !kiln__type_is_integer(job.x->type))
        return kiln_call_fail(call, "x and y must be of the same integer type, not %s and %s",
                              kiln__type_name(job.x->type), kiln__type_name(job.y->type));
    bool same = job.x->dims == job.y->dims;
    for (int d = 0; same && d < job.x->dims; d++) {
        same = job.x->shape[d] == job.y->shape[d];
        job.count *= job.x->shape[d];
    }
    if (!same)
        return kiln_call_fail(call, "x and y must have the same shape");
    kiln__parallel(0, (size_t)((job.count + PIECE - 1) / PIECE), piece, &job);
    return KILN_OK;
}

KILN__FAMILY(memory, KILN__HOST("increment_exact", KILN_HOST_REFERENCE, increment_exact, "x", "y"))
