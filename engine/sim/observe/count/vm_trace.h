/* vm_trace.h - traces. A trace has the instructions that the warps of some blocks execute. The estimate of a launch's
 * time (observe/model/time.c) replays the trace.
 *
 * A trace consists of words. A *run* is a sequence of consecutive instructions. A run names its instructions by their
 * tally index (vm_watch.h). A run begins with two words: the index of its first instruction, and the number of
 * instructions. Then it has a record for each instruction of the run that touches memory, in order:
 *     word   bit fields: number of lines, wavefronts of shared memory, lanes at the most used address, and the flags
 *            VM_TRACE_*
 *     lines  for each line of 128 bytes: its number, and which of its four sectors
 * Bulk copies and mbarriers have another record (VM_TRACE_ENGINE, trace_engine.c). */
#ifndef KILN_SIM_VM_TRACE_H
#define KILN_SIM_VM_TRACE_H

#include "vm_watch.h"

#define VM_TRACE_LINE_BYTES 128u
#define VM_TRACE_LINES(word) ((word)&127u)
/* number of wavefronts of shared memory, with 32 banks of 4 bytes */
#define VM_TRACE_WAVEFRONTS(word) ((word) >> 7 & 127u)
#define VM_TRACE_MEETING(word) ((word) >> 14 & 63u) /* of an atomic: the number of lanes at its most used address */
/* the load belongs to a group whose first load has the cost: see vm_traced */
#define VM_TRACE_MERGED (1u << 20)
#define VM_TRACE_LOCAL (1u << 21)
/* after the lines, the record has one more word for each line: the number of passes that an atomic needs in the L2 */
#define VM_TRACE_COUNTED (1u << 22)
#define VM_TRACE_ENGINE (1u << 31)
/* in a record of VM_TRACE_ENGINE: the number of words that follow */
#define VM_TRACE_REST(word) ((word) >> 4 & 0x7ffffffu)
#define VM_TRACE_SIZE(word)                                                                                            \
    ((word)&VM_TRACE_ENGINE ? 1u + VM_TRACE_REST(word)                                                                 \
                            : 1u + VM_TRACE_LINES(word) * ((word)&VM_TRACE_COUNTED ? 2u : 1u))
#define VM_TRACE_LINE(word) ((word) >> 4)
#define VM_TRACE_SECTORS(word) ((word)&15u)

/* The kinds of a record of VM_TRACE_ENGINE. The first word of the record has the kind, and the number of words that
 * follow. The phases of mbarriers are numbered within a block, from 1. 0 means no phase. */
enum {
    /* The operation has no effect in the replay: it tests an incomplete phase, no lane takes part, or its mbarrier is
     * unknown. */
    VM_ENGINE_NOTHING,
    /* 3 words follow: the phase in which the copy completes, the bytes that all blocks get in sum, and the number of
     * blocks. If lanes copy to different numbers of blocks, it is the mean over the bytes. After these words follow the
     * lines. */
    VM_ENGINE_COPY,
    VM_ENGINE_STORE,  /* a copy from shared to global memory; its words are the words of VM_ENGINE_COPY */
    VM_ENGINE_ARRIVE, /* 1 word follows: the phase in which the arrival counts */
    VM_ENGINE_WAIT,   /* 1 word follows: the phase for which the warp waits */
    /* 1 word follows: the phase in which the bytes of st.async or red.async arrive in this block. The phase is 0 if the
     * bytes go to another block. */
    VM_ENGINE_SEND
};
#define VM_TRACE_KIND(word) ((word)&15u)
#define VM_TRACE_COPY_LINES 4u /* number of words of a copy's record before the lines, including the first word */

/* Tells how the trace records an instruction. Consecutive loads of shared memory may form a group. If the addresses of
 * all lanes are aligned, the group costs as much as one wider load, because ptxas combines such loads. */
typedef struct vm_traced {
    bool memory; /* the trace records the memory accesses of the instruction */
    bool engine; /* the record of the instruction is a record of VM_TRACE_ENGINE */
    bool atomic;
    bool merge_lead; /* the load is the first load of its group */
    /* merge_index: index of the load in its group; merge_count: size of the group, or 1 if the load has no group */
    uint8_t merge_index, merge_count;
} vm_traced;

/* A place in a trace to which the trace can be cut back: the state before an instruction. */
typedef struct vm_trace_mark {
    bool valid;
    uint32_t insn, next, left; /* left: number of instructions of the current run at this place */
    size_t count, run;
    uint64_t traced;
} vm_trace_mark;

/* The trace of one warp. Only the host thread that runs the warp writes its trace. */
typedef struct vm_trace_warp {
    uint32_t *words;
    size_t count, capacity, run; /* run: index in `words` at which the current run begins */
    size_t before;               /* the value of `count` before the record of the last instruction */
    uint32_t next;               /* index of the instruction that would continue the current run */
    /* traced: number of instructions in the trace; issued: number of all instructions that the warp has executed,
     * computed by count_trace_end() */
    uint64_t traced, issued;
    uint64_t spun; /* number of instructions that were cut from the trace */
    /* here: the state before the current instruction; failed_test: the state before the last test of an incomplete
     * phase */
    vm_trace_mark here, failed_test;
    bool closed, failed; /* closed: the trace takes no more instructions; failed: memory has run out */
} vm_trace_warp;

/* An mbarrier of a block that is traced. Each change of its parity begins a new phase, so the trace can number the
 * phases. */
typedef struct vm_trace_bar {
    uint64_t address;
    int parity;
    uint32_t phase, last; /* the number of the current phase and of the previous phase, or 0 */
} vm_trace_bar;

/* A traced block. */
typedef struct vm_trace_block {
    vm_trace_bar *bars;
    uint32_t *phases; /* indexed by phase - 1: the number of recorded arrivals and copies that complete in the phase */
    size_t bar_count, bar_capacity, phase_count, phase_capacity;
    uint64_t number;
    bool whole; /* all threads of the block have ended, so `issued` of its warps counts all their instructions */
    bool done;
} vm_trace_block;

/* The blocks of a launch that are traced, in ascending order. */
struct vm_trace {
    const kiln_allocator *mem;
    const vm_traced *insns; /* indexed by tally index; one entry begins `stride` bytes after the previous entry */
    size_t stride;
    const vm_launch *launch; /* the launch that is traced; launches that its kernels make are not traced */
    uint32_t block_count, warps_per_block;
    vm_trace_block *blocks;
    vm_trace_warp *warps; /* indexed by block and by warp; each block has warps_per_block entries */
    uint64_t limit;       /* largest number of instructions in the trace of a warp */
    /* If true, only the traced blocks run, and all of them except the first end as soon as their traces are
     * complete. */
    bool only;
};

/* Makes a trace. Returns NULL if memory runs out. */
struct vm_trace *count_trace_new(const kiln_allocator *mem, uint32_t blocks, uint32_t warps_per_block);
void count_trace_free(struct vm_trace *trace);
/* Returns the warps of the block `number`, or NULL if this block is not traced. */
vm_trace_warp *count_trace_find(struct vm_trace *trace, uint64_t number);
void count_trace_put(vm_warp *w, vm_trace_warp *t, uint32_t word);
void count_trace_engine(vm_warp *w, vm_trace_warp *t, const vm_code *i, uint32_t m); /* trace_engine.c */
/* Returns the word that stands for a line in a record. */
uint32_t count_trace_line(uint64_t address, uint32_t sectors);
void count_trace_insn(vm_warp *w, const vm_code *i, uint32_t m);
void count_trace_unseen(vm_warp *w, const vm_code *i);
static inline bool count_trace_is_open(const vm_warp *w)
{
    return w->block->trace && !w->block->trace[w->index].closed;
}
/* Returns the length of a warp's next turn, which is at most `most`. */
uint64_t count_trace_slice(const vm_warp *w, uint64_t most);
/* Returns true if the block may end now because the traces of all its warps are complete. */
bool count_trace_enough(const vm_block *block);
void count_trace_end(vm_block *block);
#endif
