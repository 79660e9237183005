/* vm_hooks.h - the table of functions through which observers (counters, traces, checks) follow a launch. The
 * interpreter uses observers only through this table. A launch without a table has no overhead.
 *
 * Threads: a runner (a host thread of the launch) calls the functions about itself and its blocks on its own host
 * thread. Several runners may call the functions at the same time. */
#ifndef KILN_SIM_VM_HOOKS_H
#define KILN_SIM_VM_HOOKS_H

#include "vm_collective.h"
#include "vm_machine.h"

struct vm_hooks {
    /* ---- a launch by the host (vm_launch.hooks) ---- */
    /* Called when the host launches a kernel. The function may set run->serial, so that the launch uses only one host
     * thread. Returns false if memory runs out. */
    bool (*begin)(vm_run_state *run);
    void (*end)(vm_run_state *run);
    /* Called before a grid runs. The function may set run->block_count and run->chosen, so that only some blocks of the
     * grid run. */
    void (*grid)(vm_run_state *run);
    /* returns the number of the chosen block with this index; the numbers ascend */
    uint64_t (*chosen)(const vm_run_state *run, uint64_t index);
    bool (*runner_begin)(vm_runner *runner); /* returns false if memory runs out */
    /* called when all blocks of the runner have run, under the lock of the launch's family */
    void (*runner_end)(vm_runner *runner);
    void (*runner_free)(vm_runner *runner);

    /* ---- functions about a block ---- */
    bool (*block_new)(vm_block *block); /* returns false if memory runs out */
    void (*block_free)(vm_block *block);
    void (*block_start)(vm_block *block);
    void (*block_end)(vm_block *block);
    /* returns true if the observers need no more of the block, which then ends early */
    bool (*enough)(const vm_block *block);
    /* called when a barrier is complete, while the paths still wait */
    void (*barrier)(vm_block *block, uint32_t barrier);
    /* called when no warp of the block can continue, before lanes at reconvergence points are released */
    void (*stuck)(vm_block *block);
    void (*deadlock)(vm_block *block); /* called when no warp of the block will ever continue */
    void (*children)(vm_block *block); /* called when the work that the block launched has run */

    /* ---- functions about a warp ---- */
    /* tells whether the interpreter calls insn() in the warp's next turn */
    bool (*wants)(const vm_warp *w);
    uint64_t (*slice)(const vm_warp *w, uint64_t most); /* returns the number of instructions of the warp's next turn */
    /* Called before an instruction executes. The mask `m` may be 0. Returns the lanes that may execute the
     * instruction. */
    uint32_t (*insn)(vm_warp *w, const vm_code *i, uint32_t m);
    const uint8_t *(*shown)(const vm_runner *runner); /* returns the value of vm_runner.shown */
    /* Called before a whole warp makes an access in compiled code, if the function shown() has selected the
     * instruction. Only the registers of the address are in the frame. Returns 0 if the observer cannot decide with
     * these registers. The runner then calls insn(). */
    uint32_t (*access)(vm_warp *w, const vm_code *i);
    bool (*compiles)(const vm_runner *runner); /* tells whether compiled code may call access() for this runner */
    /* Called for lanes that must wait for other lanes in a warp operation. The runner has called insn() for these lanes
     * before. If `all` is true, no lane executes the operation now. */
    void (*unseen)(vm_warp *w, const vm_code *i, uint32_t lanes, bool all);
    /* Called for lanes that had waited for a warp operation and execute it now, together with the lanes that arrived
     * last. If `more` is true, these lanes are at another instruction, or in another call, than the lanes for which the
     * previous call of late() was made. */
    void (*late)(vm_warp *w, const vm_share *share, bool more);
    /* Called when all lanes of a warp operation have arrived. `m` are the lanes that arrived last. Some of these lanes
     * may still have to wait. */
    void (*met)(vm_warp *w, const vm_code *i, uint32_t m, const vm_meeting *meeting);
    /* Called for a texture read with integer coordinates if the coordinate `at` is outside [0, size), where `size` is
     * the number of texels in this dimension. `linear` is true if the texture is bound to linear memory. */
    void (*outside)(vm_warp *w, const vm_code *i, uint32_t lane, int64_t at, uint32_t size, bool linear);
    void (*malloced)(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address);

    /* ---- functions about memory (vm_device.hooks), called under the device's lock ---- */
    /* returns NULL if memory runs out */
    struct vm_shadow *(*shadow_new)(vm_device *device, uint64_t bytes, bool written);
    void (*shadow_free)(vm_device *device, struct vm_shadow *shadow, uint64_t bytes);
    void (*shadow_write)(struct vm_shadow *shadow, uint64_t offset, uint64_t bytes); /* called when the host writes */
};
#endif
