/* histogram.c - the reference histogram_exact of histograms. It sets counts[b] to the number of keys that equal b,
 * modulo 2^32. It does not count keys for which there is no bin. */
#include <string.h>

#include "catalogue.h"

enum { PARTS = 64, LEAST = 1 << 20 }; /* the largest number of parts, and the smallest number of keys in a part */

typedef struct histogram {
    const kiln_array *keys;
    uint64_t n, stretch, bins;
    uint32_t *counts; /* the bins of all parts, one part after the other */
} histogram;

static void count(void *user, size_t index, size_t worker)
{
    (void)worker;
    const histogram *h = user;
    uint32_t *counts = h->counts + index * h->bins;
    uint64_t first = index * h->stretch, end = h->n - first < h->stretch ? h->n : first + h->stretch;
    const uint8_t *bytes = h->keys->data;
    const uint32_t *words = h->keys->data;
    bool wide = h->keys->type == KILN_u32;
    for (uint64_t i = first; i < end; i++) {
        uint32_t key = wide ? words[i] : bytes[i];
        if (key < h->bins)
            counts[key]++;
    }
}

/* Computes the counts. Each part of the keys has its own bins, and the function adds up these bins at the end. The
 * counts are integers, so the result does not depend on the number of threads. */
static kiln_status histogram_exact(void *user, kiln_call *call)
{
    (void)user;
    histogram h = {0};
    kiln_array *counts;
    if (kiln_call_array(call, "keys", &h.keys) != KILN_OK || kiln_call_output(call, "counts", &counts) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (h.keys->dims != 1 || (h.keys->type != KILN_u8 && h.keys->type != KILN_u32) || counts->dims != 1 ||
        counts->type != KILN_u32)
        return kiln_call_fail(call, "keys must be one-dimensional, of u8 or u32, and counts one-dimensional, of u32");
    h.n = h.keys->shape[0];
    h.bins = counts->shape[0];
    if (h.bins == 0)
        return KILN_OK;
    memset(counts->data, 0, (size_t)h.bins * sizeof *h.counts);
    if (h.n == 0)
        return KILN_OK;
    h.stretch = (h.n - 1) / PARTS + 1;
    h.stretch = h.stretch < LEAST ? LEAST : h.stretch;
    size_t parts = (size_t)((h.n - 1) / h.stretch + 1);
    if (h.bins <= SIZE_MAX / sizeof *h.counts / PARTS)
        h.counts = kiln__calloc(kiln_call_allocator(call), parts * (size_t)h.bins, sizeof *h.counts);
    if (!h.counts)
        return kiln_call_fail(call, "out of host memory");
    kiln__parallel(0, parts, count, &h);
    uint32_t *sums = counts->data;
    for (size_t i = 0; i < parts; i++)
        for (uint64_t b = 0; b < h.bins; b++)
            sums[b] += h.counts[i * h.bins + b];
    kiln__free(kiln_call_allocator(call), h.counts);
    return KILN_OK;
}

KILN__FAMILY(histogram, KILN__HOST("histogram_exact", KILN_HOST_REFERENCE, histogram_exact, "keys", "counts"))
