/* vm_cache.h - the caches for the replay: the L1 of an SM, line by line, and an approximation of the L2. */
#ifndef KILN_SIM_VM_CACHE_H
#define KILN_SIM_VM_CACHE_H

#include "vm_cost.h"
#include "vm_trace.h"

/* The replay uses the trace of one block for several blocks, one in each round, and each of these blocks has separate
 * lines. So the functions name a line by two parts: the upper four bits are the round, and the other bits are the
 * number that the trace gives to the line (VM_TRACE_LINE). */
typedef struct vm_cache vm_cache;
vm_cache *model_cache_new(const kiln_allocator *mem,
                          double bytes); /* With 0 bytes no access ever hits. Returns NULL if memory runs out. */
void model_cache_free(vm_cache *cache);
/* Returns the missing sectors, which count as requested from now on. Sets *pending to the clock at which the present
 * sectors are available. */
uint32_t model_cache_load(vm_cache *cache, uint32_t line, uint32_t sectors, uint32_t *pending);
void model_cache_fill(vm_cache *cache, uint32_t line, uint32_t at);

typedef struct vm_footprint vm_footprint;
vm_footprint *model_footprint_new(const kiln_allocator *mem, vm_device *device, const struct vm_trace *trace,
                                  const vm_cost *cost, const sim_model *model, uint64_t block_count);
void model_footprint_free(vm_footprint *footprint);
/* Returns the bytes that memory transfers for an access: bytes that the SM reads or writes for the first time. If the
 * launch touches more than the L2 holds, the first write also counts if the bytes were read before. Other SMs may need
 * the same bytes, so *share becomes the part of them that this SM must fetch. *missing becomes true if the access must
 * wait for memory. `cold` is true if the caches were empty at the start of the launch. */
double model_footprint_touch(vm_footprint *footprint, uint32_t line, uint32_t sectors, bool write, bool cold,
                             double *share, bool *missing);
/* Returns the number of atomics of the traced blocks at the most used line. */
double model_footprint_hottest(const vm_footprint *footprint);
bool model_footprint_failed(const vm_footprint *footprint);
#endif
