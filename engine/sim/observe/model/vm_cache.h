/* vm_cache.h - the caches of the replay: an L1 that is modelled line by line, and an approximation of the L2. */
#ifndef KILN_SIM_VM_CACHE_H
#define KILN_SIM_VM_CACHE_H

#include "vm_cost.h"
#include "vm_trace.h"

/* The replay uses the trace of one block for one block in each round, but each of these blocks has separate lines. So
 * these functions identify a line by two parts. The upper four bits are the round, and the other bits are the number of
 * the line in the trace (VM_TRACE_LINE). */
typedef struct vm_cache vm_cache;
vm_cache *model_cache_new(const kiln_allocator *mem,
                          double bytes); /* A cache of 0 bytes never hits. Returns NULL if memory runs out. */
void model_cache_free(vm_cache *cache);
/* Returns the sectors that the cache lacks. From this call on, they count as requested. Sets *pending to the clock at
 * which the sectors that the cache has become available. */
uint32_t model_cache_load(vm_cache *cache, uint32_t line, uint32_t sectors, uint32_t *pending);
void model_cache_fill(vm_cache *cache, uint32_t line, uint32_t at);

typedef struct vm_footprint vm_footprint;
vm_footprint *model_footprint_new(const kiln_allocator *mem, vm_device *device, const struct vm_trace *trace,
                                  const vm_cost *cost, const sim_model *model, uint64_t block_count);
void model_footprint_free(vm_footprint *footprint);
/* Returns the bytes that memory transfers for an access, which are the bytes that the SM accesses for the first time.
 * If the launch touches more data than the L2 holds, the first write of bytes counts even if the SM has read them
 * before. Other SMs may need the same bytes, so *share becomes the part of the bytes that this SM must fetch. *missing
 * becomes true if the access must wait for memory, and not only for the L2. `cold` tells that the launch has just
 * started, with empty caches. */
double model_footprint_touch(vm_footprint *footprint, uint32_t line, uint32_t sectors, bool write, bool cold,
                             double *share, bool *missing);
/* Returns the number of passes that the atomics of the traced blocks need at the group of lines that they use most. */
double model_footprint_hottest(const vm_footprint *footprint);
bool model_footprint_failed(const vm_footprint *footprint);
#endif
