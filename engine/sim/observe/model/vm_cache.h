/* vm_cache.h - the caches of the replayed SM (time.c): an L1 that is modelled line by line, and an approximation of the
 * L2. */
#ifndef KILN_SIM_VM_CACHE_H
#define KILN_SIM_VM_CACHE_H

#include "vm_cost.h"
#include "vm_trace.h"

/* The replay of an SM uses the trace of a block several times: once in each round of blocks (time.c). The blocks of
 * different rounds must access different lines. So these functions identify a cache line by a number with two parts.
 * The upper four bits are the round, and the other bits are the number of the line in the trace (VM_TRACE_LINE). */
typedef struct vm_cache vm_cache;
vm_cache *model_cache_new(const kiln_allocator *mem,
                          /* Makes a cache of `bytes` bytes; with 0 bytes it never hits. Returns NULL if memory runs
                           * out. */
                          double bytes);
void model_cache_free(vm_cache *cache);
/* Looks up sectors of a line. Returns the bits of the sectors that miss, which count as requested from this call on. If
 * other sectors hit, sets *pending to the clock at which the line's data has arrived. */
uint32_t model_cache_load(vm_cache *cache, uint32_t line, uint32_t sectors, uint32_t *pending);
void model_cache_fill(vm_cache *cache, uint32_t line, uint32_t at);

typedef struct vm_footprint vm_footprint;
vm_footprint *model_footprint_new(const kiln_allocator *mem, vm_device *device, const struct vm_trace *trace,
                                  const vm_cost *cost, const sim_model *model, uint64_t block_count);
void model_footprint_free(vm_footprint *footprint);
/* Returns the number of bytes that memory transfers for an access: the bytes that the SM accesses for the first time.
 * If the launch accesses more data than the L2 holds, the first write of bytes counts even if the SM has read them
 * before. Other SMs may need the same bytes, so *share becomes the share of the bytes that this SM must fetch. *missing
 * becomes true if the access must wait for memory, and not only for the L2. `cold` is true for the first blocks of the
 * launch, whose caches are empty. */
double model_footprint_touch(vm_footprint *footprint, uint32_t line, uint32_t sectors, bool write, bool cold,
                             double *share, bool *missing);
/* Returns the number of L2 passes that the atomics of the traced blocks need at the group of lines that they use
 * most. */
double model_footprint_hottest(const vm_footprint *footprint);
bool model_footprint_failed(const vm_footprint *footprint);
#endif
