/* vm_cache.h - the caches behind an SM, for the replay: its L1, line by line, and what the L2 has by then. */
#ifndef KILN_SIM_VM_CACHE_H
#define KILN_SIM_VM_CACHE_H

#include "vm_cost.h"
#include "vm_trace.h"

/* Lines are those of a trace, with the round in which a block is replayed in the upper four bits: a block that is
 * replayed again stands for another one, with lines of its own. */
typedef struct vm_cache vm_cache;
vm_cache *vm_cache_new(const kiln_allocator *mem, double bytes); /* 0 bytes: nothing ever hits; NULL: out of memory */
void vm_cache_free(vm_cache *cache);
/* The sectors that are not there, which are then on their way; *pending: when those that are can be had. */
uint32_t vm_cache_load(vm_cache *cache, uint32_t line, uint32_t sectors, uint32_t *pending);
void vm_cache_fill(vm_cache *cache, uint32_t line, uint32_t at);

typedef struct vm_footprint vm_footprint;
vm_footprint *vm_footprint_new(const kiln_allocator *mem, vm_device *device, const struct vm_trace *trace,
                               const vm_cost *cost, const sim_model *model, uint64_t block_count);
void vm_footprint_free(vm_footprint *footprint);
/* Bytes that the SM touches for the first time. *share: of these, how much is this SM's own to fetch, since other SMs
 * need them too; *missing: this access has to wait for memory. `cold`: nothing was there when the launch began. */
double vm_footprint_touch(vm_footprint *footprint, uint32_t line, uint32_t sectors, bool cold, double *share,
                          bool *missing);
/* Atomics one after the other at the line that is hit most, in the traced blocks. */
double vm_footprint_hottest(const vm_footprint *footprint);
bool vm_footprint_failed(const vm_footprint *footprint);
#endif
