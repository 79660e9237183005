/* vm_count.h - the counters of an observed launch, for each PTX instruction. COUNTERS.md has the rules. kiln_sim.h has
 * the list of counters (KILN_COUNTER_MAP) and the list of classes (KILN_CLASS_MAP). */
#ifndef KILN_SIM_VM_COUNT_H
#define KILN_SIM_VM_COUNT_H

#include "vm_watch.h"

/* The counters of one module. The tally index of an instruction is count_tally_first(module, function) + the index of
 * the instruction in its PTX function. Several launches may add their counts to the same profile. `tally` has the
 * counts `executed` and `lanes` of all instructions. An instruction that can have other counts (accesses, branches,
 * barriers) has a site, and the site holds these counts. If a counted kernel launches other kernels, these are counted
 * too. */
#define VM_NO_SITE UINT32_MAX
typedef struct vm_profile {
    const kiln_allocator *mem;
    const vm_module *module;
    size_t insn_count, site_count;
    vm_tally *tally;
    uint32_t *site_of; /* indexed by tally index: the index of the instruction's site, or VM_NO_SITE */
    /* indexed by site: true if the site is an atomic whose lanes with the same address update memory once */
    bool *joined;
    kiln_counters *sites;
} vm_profile;
/* Makes a profile in which all counts are 0. Returns NULL if memory runs out. */
vm_profile *count_profile_new(const kiln_allocator *mem, const vm_module *module);
void count_profile_free(vm_profile *profile); /* Does nothing if `profile` is NULL. */
void count_profile_clear(vm_profile *profile);

void count_add_counters(kiln_counters *sum, const kiln_counters *more);
/* Adds all counters of one instruction to *sum, including `executed` and `lanes`. */
void count_profile_at(const vm_profile *profile, uint32_t function, uint32_t insn, kiln_counters *sum);
/* The executions of all instructions and the lanes of these executions, summed by class. */
typedef struct vm_class_counts {
    uint64_t executed[KILN_CLASS_COUNT], lanes[KILN_CLASS_COUNT];
} vm_class_counts;
/* Adds the counts of all instructions to *sum and to *classes. Either pointer may be NULL. */
void count_profile_sum(const vm_profile *profile, kiln_counters *sum, vm_class_counts *classes);

kiln_class count_class_of(const ptx_insn *in);
/* Returns the number of floating-point operations of one lane: 2 for fma, 1 for add, sub and mul, twice as many for
 * packed types, and 0 for other instructions. */
unsigned count_flops_of(const ptx_insn *in);

/* ---- the rules of counting; models of caches (functions vm_watch.see) use them too ---- */
/* Divides memory into pieces of 2^shift bytes, and lists the different pieces that the lanes touch. `out` gets the
 * numbers of these pieces (address >> shift) in ascending order. Returns the number of pieces in the list. */
unsigned count_pieces(const vm_access *access, unsigned shift, uint64_t out[2 * VM_LANES]);
/* Returns the number of different addresses of the access. Sets *most to the number of lanes at the most used
 * address. */
unsigned count_addresses(const vm_access *access, unsigned *most);
/* Returns the number of passes (wavefronts) that the access needs through the banks. Sets *ideal to the number of
 * passes that it would need without conflicts. */
unsigned count_wavefronts_of(const vm_access *access, unsigned *ideal);

/* ---- for watch.c: each runner (a host thread of a launch) has separate counters ---- */
void count_access(kiln_counters *c, const vm_access *a);
void count_instruction(kiln_counters *c, vm_warp *w, const vm_code *i, uint32_t m, vm_access *list, unsigned count);
void count_engines(kiln_counters *c, vm_warp *w, const vm_code *i, const ptx_insn *in, uint32_t m); /* engines.c */
bool count_begin_runner(vm_runner *runner); /* Returns false if memory runs out. */
void count_end_runner(vm_runner *runner);   /* Adds the counters of the runner to the counters of the launch. */
void count_drop(vm_runner *runner);
#endif
