/* frame.c - the memory of frames. A frame holds the registers and parameters of one call of a device function. */
#include <string.h>

#include "vm_jit.h"
#include "vm_limit.h"
#include "vm_machine.h"
#include "vm_path.h"

/* The pool of frames. Paths of one warp take turns, so frames are allocated and freed in any order, and a stack of
 * frames is impossible. The pool is a segregated free list: it keeps free chunks in one list for each power of two. The
 * pool does not keep large chunks. Most pages of a large chunk are never touched, and new pages from the system are
 * already zero. */
struct vm_chunk {
    struct vm_chunk *next;
};
#define POOL_MOST ((size_t)1 << 32) /* limit of the bytes of frames that one host thread may hold */
#define POOL_LARGE ((size_t)4 << 20)

static unsigned get_size_class(size_t bytes)
{
    unsigned n = 0;
    while (((size_t)64 << n) < bytes)
        n++;
    return n;
}

/* Returns zeroed memory from the pool, or NULL if memory or a limit runs out. */
void *vm_pool_get(vm_runner *runner, size_t bytes)
{
    const kiln_allocator *mem = runner->run->device->mem;
    const unsigned n = get_size_class(bytes);
    if (n >= KILN__COUNT(runner->pool.free))
        return NULL;
    const size_t size = (size_t)64 << n;
    struct vm_chunk *chunk = runner->pool.free[n];
    if (chunk) {
        runner->pool.free[n] = chunk->next;
        return memset(chunk, 0, bytes);
    }
    if (runner->pool.bytes + size > POOL_MOST || !vm_hold(runner->run->family, size))
        return NULL;
    chunk = size >= POOL_LARGE ? kiln__calloc(mem, 1, bytes) : kiln__alloc(mem, size);
    if (!chunk) {
        vm_let_go(runner->run->family, size);
        return NULL;
    }
    runner->pool.bytes += size;
    return size >= POOL_LARGE ? (void *)chunk : memset(chunk, 0, bytes);
}

void vm_pool_put(vm_runner *runner, void *pointer, size_t bytes)
{
    const unsigned n = get_size_class(bytes);
    const size_t size = (size_t)64 << n;
    struct vm_chunk *chunk = pointer;
    if (size >= POOL_LARGE) {
        kiln__free(runner->run->device->mem, chunk);
        vm_let_go(runner->run->family, size);
        runner->pool.bytes -= size;
        return;
    }
    chunk->next = runner->pool.free[n];
    runner->pool.free[n] = chunk;
}

void vm_pool_clear(vm_runner *runner)
{
    for (unsigned n = 0; n < KILN__COUNT(runner->pool.free); n++)
        while (runner->pool.free[n]) {
            struct vm_chunk *chunk = runner->pool.free[n];
            runner->pool.free[n] = chunk->next;
            kiln__free(runner->run->device->mem, chunk);
        }
    /* the bytes of the pool include the frames of paths that a fault has ended */
    vm_let_go(runner->run->family, runner->pool.bytes);
    runner->pool.bytes = 0;
}

/* Writes the registers that a function never writes: the predicate that is always true, and the address of the block's
 * window. In most blocks the window's address is 0, which the register contains already. */
static void write_fixed_registers(const vm_warp *w, const vm_frame *frame)
{
    vm_u32 *window = (vm_u32 *)(void *)(frame->regs + frame->function->window);
    memset(frame->regs, 0xff, 4);
    for (uint32_t lane = 0; lane < VM_LANES && w->block->window; lane++)
        window[lane] = (uint32_t)w->block->window;
}

/* Allocates a frame and lays out registers, parameters and variables in it. The registers begin as zero, so that every
 * run gives the same results. Returns NULL if memory runs out. */
vm_frame *vm_frame_new(vm_warp *w, const vm_function *function, vm_frame *caller)
{
    enum { ALIGN = 64 };
    size_t params = function->ptx->entry ? 0 : (size_t)function->ptx->param_bytes * VM_LANES;
    size_t vars = (size_t)function->ptx->frame_bytes * VM_LANES;
    size_t head = (sizeof(vm_frame) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    size_t bytes = head + ALIGN + function->reg_bytes + params + vars;
    vm_frame *frame = vm_pool_get(w->runner, bytes);
    if (!frame)
        return NULL;
    frame->bytes = bytes;
    frame->caller = caller;
    frame->function = function;
    frame->depth = caller ? caller->depth + 1 : 0;
    frame->chain = bytes + (caller ? caller->chain : 0);
    frame->regs = (unsigned char *)(((uintptr_t)frame + head + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    frame->params = frame->regs + function->reg_bytes;
    frame->vars = frame->params + params;
    frame->local_base = caller ? caller->local_top : 0;
    frame->local_top = frame->local_base + function->local_bytes;
    write_fixed_registers(w, frame);
    vm_charge(w, bytes >> 14);
    return frame;
}

/* Makes the kernel's frame of a warp ready for its next block: allocates a frame for the first block, and resets the
 * frame for later blocks. The function sets registers to zero. The compiler may have found which registers the kernel
 * can read before it writes them (vm_compiled.blank). In this case the function sets only these registers to zero,
 * because clearing all registers takes longer than a short kernel. Returns false if memory runs out. */
bool vm_frame_renew(vm_warp *w, const vm_function *kernel)
{
    vm_frame *frame = w->root;
    if (!frame)
        return (w->root = vm_frame_new(w, kernel, NULL)) != NULL;
    const size_t vars = (size_t)kernel->ptx->frame_bytes * VM_LANES;
    const vm_compiled *compiled = kernel->compiled;
    if (!atomic_load_explicit(&compiled->blank, memory_order_acquire))
        memset(frame->regs, 0, (size_t)(frame->vars - frame->regs) + vars);
    else
        for (uint32_t k = 0; k < compiled->clear_count; k++)
            memset(frame->regs + compiled->clear[k].slot, 0, compiled->clear[k].bytes);
    write_fixed_registers(w, frame);
    frame->join = (vm_sync){0};
    /* frees the memory that alloca has taken in the previous block */
    frame->local_top = frame->local_base + kernel->local_bytes;
    vm_charge(w, frame->bytes >> 14);
    return true;
}

void vm_frame_free(vm_warp *w, vm_frame *frame) { vm_pool_put(w->runner, frame, frame->bytes); }

/* If `in` is true, copies the arguments from the caller's registers or .param variables to the callee's parameter
 * blocks. If `in` is false, copies the results from the callee's parameter blocks to the caller's registers or .param
 * variables. */
void vm_frame_copy(vm_warp *w, vm_frame *caller, vm_frame *callee, const vm_call *call, uint32_t lanes, bool in)
{
    size_t vars = (size_t)caller->function->ptx->frame_bytes, block = (size_t)callee->function->ptx->param_bytes;
    uint32_t count = in ? call->argument_count : call->result_count;
    unsigned char *save = w->base[0], *constants = w->base[1];
    w->base[0] = caller->regs;
    w->base[1] = caller->function->constants;
    for (uint32_t k = 0; k < count; k++) {
        const vm_transfer *t = (in ? call->arguments : call->results) + k;
        const ptx_function *f = callee->function->ptx; /* in the list of parameters the results come first */
        size_t to = (size_t)callee->function->module->ptx->symbols[f->params[in ? f->return_count + k : k]].offset;
        VM_EACH(lane, lanes) {
            unsigned char *there = callee->params + lane * block + to;
            if (t->is_register && in) {
                uint64_t value = t->wide ? vm_r64(w, t->slot)[lane] : vm_r32(w, t->slot)[lane];
                memcpy(there, &value, t->bytes);
            } else if (t->is_register) {
                uint64_t value = 0;
                memcpy(&value, there, t->bytes);
                if (t->wide)
                    vm_r64(w, t->slot)[lane] = value;
                else
                    vm_r32(w, t->slot)[lane] = (uint32_t)value;
            } else if (in) {
                memcpy(there, caller->vars + lane * vars + t->from, t->bytes);
            } else {
                memcpy(caller->vars + lane * vars + t->from, there, t->bytes);
            }
        }
    }
    w->base[0] = save;
    w->base[1] = constants;
}
