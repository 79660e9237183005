/* vm_trace.h - traces: what the warps of some blocks of a launch executed, for the estimate of its time (model/time.c).
 *
 * A trace is words. A run of instructions that follow one another in the module (vm_tally_first()) is two words, the
 * first instruction and their number; for each of them that touches memory a record follows, in order:
 *     word    kind, wavefronts of shared memory, lines, most lanes at one address (VM_TRACE_* below)
 *     lines   of 128 bytes: which, and which of its four sectors
 * Bulk copies and mbarriers have another record (VM_TRACE_ENGINE, trace_engine.c). */
#ifndef KILN_SIM_VM_TRACE_H
#define KILN_SIM_VM_TRACE_H

#include "vm_watch.h"

#define VM_TRACE_LINE_BYTES 128u
#define VM_TRACE_LINES(word) ((word)&127u)
#define VM_TRACE_WAVEFRONTS(word) ((word) >> 7 & 127u) /* of shared memory, 32 banks of 4 bytes */
#define VM_TRACE_MEETING(word) ((word) >> 14 & 63u)    /* lanes of an atomic at the address that most of them share */
#define VM_TRACE_MERGED (1u << 20)                     /* done by the first load of its group: see vm_traced */
#define VM_TRACE_LOCAL (1u << 21)
#define VM_TRACE_COUNTED (1u << 22) /* after the lines, for each: an atomic's passes in the L2 */
#define VM_TRACE_ENGINE (1u << 31)
#define VM_TRACE_REST(word) ((word) >> 4 & 0x7ffffffu) /* of an engine's record: how many words follow */
#define VM_TRACE_SIZE(word)                                                                                            \
    ((word)&VM_TRACE_ENGINE ? 1u + VM_TRACE_REST(word)                                                                 \
                            : 1u + VM_TRACE_LINES(word) * ((word)&VM_TRACE_COUNTED ? 2u : 1u))
#define VM_TRACE_LINE(word) ((word) >> 4)
#define VM_TRACE_SECTORS(word) ((word)&15u)

/* An engine's record: in the first word the kind and how many words follow. Phases of mbarriers are numbered within a
 * block, from 1; 0: none. */
enum {
    VM_ENGINE_NOTHING, /* it did nothing: a test of a phase that is not complete yet, or no lane */
    VM_ENGINE_COPY,    /* phase that it completes in, bytes in shared memory, blocks that get them, then lines */
    VM_ENGINE_STORE,   /* the same, from shared to global memory */
    VM_ENGINE_ARRIVE,  /* phase */
    VM_ENGINE_WAIT     /* phase that is complete */
};
#define VM_TRACE_KIND(word) ((word)&15u)
#define VM_TRACE_COPY_LINES 4u /* words before a copy's lines */

/* What is recorded of an instruction, and which loads of shared memory are combined if they are aligned. */
typedef struct vm_traced {
    bool memory; /* its accesses are recorded */
    bool engine; /* by an engine's record */
    bool atomic;
    bool merge_lead;                  /* the first of several loads, which does it for all */
    uint8_t merge_index, merge_count; /* count 1: alone */
} vm_traced;

/* How long a trace was before a test of a phase that was not complete. */
typedef struct vm_trace_mark {
    bool valid;
    uint32_t insn, next, left; /* left: of the run that grew */
    size_t count, run;
    uint64_t traced;
} vm_trace_mark;

typedef struct vm_trace_warp {
    uint32_t *words;
    size_t count, capacity, run;     /* run: the words of the run that grows */
    size_t before;                   /* count without the last instruction's record */
    uint32_t next;                   /* the instruction that would continue it */
    uint64_t traced, issued;         /* instructions in the trace; executed in total */
    uint64_t spun;                   /* that were in it: vm_trace_mark */
    vm_trace_mark here, failed_test; /* before this instruction; before the test that a loop repeats */
    bool closed, failed;             /* closed: no longer recorded; failed: out of memory */
} vm_trace_warp;

/* An mbarrier of a traced block: its number of phases so far, by the changes of its parity. */
typedef struct vm_trace_bar {
    uint64_t address;
    int parity;
    uint32_t phase, last; /* the current phase and the one before, 0: none */
} vm_trace_bar;

typedef struct vm_trace_block {
    vm_trace_bar *bars;
    uint32_t *phases; /* by phase - 1: recorded arrivals and copies that complete in it */
    size_t bar_count, bar_capacity, phase_count, phase_capacity;
    uint64_t number;
    bool whole; /* it ran to its end, so `issued` is complete */
    bool done;
} vm_trace_block;

/* The traced blocks of a launch, in ascending order. */
struct vm_trace {
    const kiln_allocator *mem;
    const vm_traced *insns; /* by vm_tally_first(), `stride` bytes apart */
    size_t stride;
    const vm_launch *launch; /* not launches by its kernels */
    uint32_t block_count, warps_per_block;
    vm_trace_block *blocks;
    vm_trace_warp *warps; /* block by block */
    uint64_t limit;       /* instructions of a warp that are recorded */
    bool only;            /* no other block runs, and all but the first end when they are recorded */
};

struct vm_trace *vm_trace_new(const kiln_allocator *mem, uint32_t blocks, uint32_t warps_per_block);
void vm_trace_free(struct vm_trace *trace);
/* The warps of block `number`, NULL if it is not traced. */
vm_trace_warp *vm_trace_find(struct vm_trace *trace, uint64_t number);
void vm_trace_put(vm_warp *w, vm_trace_warp *t, uint32_t word);
void vm_trace_engine(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m); /* trace_engine.c */
uint32_t vm_trace_line(uint64_t address, uint32_t sectors);                       /* the word for a line */
void vm_trace_insn(vm_warp *w, const vm_code *i, uint32_t m);
void vm_trace_unseen(vm_warp *w, const vm_code *i);
static inline bool vm_trace_wants(const vm_warp *w) { return w->block->trace && !w->block->trace[w->index].closed; }
/* The block need not continue. */
uint64_t vm_trace_slice(const vm_warp *w, uint64_t most);
bool vm_trace_enough(const vm_block *block);
void vm_trace_end(vm_block *block);
#endif
