/* child.c - work that kernels launch: parameter buffers, launches, copies and fills, streams and events of a block.
 *
 * Work that a block launches goes into the block's list. The work runs in the order of the calls, when the block has
 * ended or synchronises. The rules of streams and events would allow other orders too. The simulator uses this order
 * because it is the same in every run. Work in a grid's tail stream goes into the grid's list. It runs when all blocks
 * of the grid, and the work that they launched, have ended. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_child.h"
#include "vm_hooks.h"
#include "vm_limit.h"
#include "vm_memory.h"
#include "vm_runtime.h"

#define PENDING_DEFAULT 2048u /* cudaLimitDevRuntimePendingLaunchCount */
#define SYNC_DEPTH_DEFAULT 2u /* cudaLimitDevRuntimeSyncDepth */
#define HANDLES_MOST 4096u    /* the largest number of streams and events that a block may have at once */
#define LAUNCH_STEPS 64u      /* steps that a launch adds to the budget's count */
#define MOVE_LOOK 256u        /* steps of a copy or fill between two tests of the launch's limits */

/* Memory into which a kernel writes the parameters of a launch. */
typedef struct vm_buffer {
    uint64_t address;
    uint32_t bytes; /* size of the buffer */
    bool taken;
    /* the buffer was made by cudaGetParameterBufferV2, so the kernel and the shape of the launch are already known */
    bool shaped;
    uint32_t wanted, kernel, shared; /* wanted: requested bytes */
    uint32_t grid[3], block[3];
} vm_buffer;

/* The launches, buffers, streams, events and errors of one block. */
struct vm_children {
    vm_task *first, **last;
    uint32_t pending; /* tasks in the list */
    uint32_t taken;   /* number of buffers that were given out and are not yet used for a launch */
    vm_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    uint64_t *handles;
    size_t handle_count, handle_capacity;
    uint64_t next_handle;
    uint32_t *errors; /* indexed by thread: the error for cudaGetLastError; NULL until a thread has an error */
};

/* Returns the block's data about launched work. The first call creates it. Returns NULL if memory runs out. */
static struct vm_children *open_children(vm_block *block)
{
    struct vm_children *c = block->children;
    if (!c) {
        c = kiln__calloc(block->runner->run->device->mem, 1, sizeof *c);
        if (!c)
            return NULL;
        c->last = &c->first;
        block->children = c;
    }
    return c;
}

void vm_task_free(const kiln_allocator *mem, vm_task *task) { kiln__free(mem, task); }

void vm_children_reset(vm_block *block)
{
    struct vm_children *c = block->children;
    const kiln_allocator *mem = block->runner->run->device->mem;
    if (!c)
        return;
    while (c->first) {
        vm_task *task = c->first;
        c->first = task->next;
        vm_task_free(mem, task);
    }
    c->last = &c->first;
    c->pending = c->taken = 0;
    for (size_t k = 0; k < c->buffer_count; k++)
        c->buffers[k].taken = false;
    c->handle_count = 0;
    kiln__free(mem, c->errors);
    c->errors = NULL;
}

void vm_children_free(vm_block *block)
{
    struct vm_children *c = block->children;
    vm_device *device = block->runner->run->device;
    if (!c)
        return;
    vm_children_reset(block);
    /* frees the newest buffer first, because then few entries of the device's list move */
    for (size_t k = c->buffer_count; k-- > 0;)
        vm_free(device, c->buffers[k].address);
    kiln__free(device->mem, c->buffers);
    kiln__free(device->mem, c->handles);
    kiln__free(device->mem, c);
    block->children = NULL;
}

/* ---- errors ---- */

static size_t get_thread(const vm_warp *w, uint32_t lane) { return (size_t)w->index * VM_LANES + lane; }

uint32_t vm_child_fail(vm_warp *w, uint32_t lane, uint32_t error)
{
    struct vm_children *c = open_children(w->block);
    if (c && !c->errors)
        c->errors = kiln__calloc(w->runner->run->device->mem, (size_t)w->block->warp_count * VM_LANES,
                                 sizeof *c->errors);
    if (c && c->errors)
        c->errors[get_thread(w, lane)] = error;
    return error;
}

uint32_t vm_child_error(vm_warp *w, uint32_t lane, bool clear)
{
    struct vm_children *c = w->block->children;
    if (!c || !c->errors)
        return VM_CUDA_SUCCESS;
    uint32_t error = c->errors[get_thread(w, lane)];
    if (clear)
        c->errors[get_thread(w, lane)] = VM_CUDA_SUCCESS;
    return error;
}

uint64_t vm_child_limit(const vm_run_state *run, uint32_t which)
{
    static const uint64_t usual[VM_LIMITS] = {1024, 1 << 20, 8 << 20, SYNC_DEPTH_DEFAULT, PENDING_DEFAULT};
    return run->launch->limits ? run->launch->limits[which] : usual[which];
}

/* ---- parameter buffers ---- */

/* Returns a buffer of the block for `bytes` of parameters. Returns NULL and sets *error on failure. */
static vm_buffer *take_buffer(vm_warp *w, uint64_t bytes, uint32_t *error)
{
    enum { PARAMETERS_MOST = 32764, GRAIN = 64 };
    struct vm_children *c = open_children(w->block);
    vm_device *device = w->runner->run->device;
    if (bytes > PARAMETERS_MOST) {
        *error = VM_CUDA_INVALID_VALUE;
        return NULL;
    }
    if (c && (uint64_t)c->pending + c->taken >= vm_child_limit(w->runner->run, VM_LIMIT_PENDING)) {
        *error = VM_CUDA_PENDING;
        return NULL;
    }
    *error = VM_CUDA_MEMORY;
    if (!c)
        return NULL;
    uint32_t size = ((uint32_t)bytes / GRAIN + 1) * GRAIN;
    vm_buffer *found = NULL;
    /* In a launch with checks, each launch by the kernel gets a new buffer. If two threads used the same buffer one
     * after the other, the race check would report their writes. */
    for (size_t k = device->hooks ? 0 : c->buffer_count; k-- > 0 && !found;)
        if (!c->buffers[k].taken && c->buffers[k].bytes == size)
            found = &c->buffers[k];
    vm_charge(w, c->buffer_count >> 6);
    if (!found) {
        if (!kiln__grow(device->mem, &c->buffers, &c->buffer_capacity, c->buffer_count + 1, sizeof *c->buffers))
            return NULL;
        vm_allocation *made = vm_allocate(device, size, "parameter buffer");
        if (!made)
            return NULL;
        found = &c->buffers[c->buffer_count++];
        *found = (vm_buffer){.address = made->base, .bytes = size};
    }
    found->taken = true;
    found->shaped = false;
    found->wanted = (uint32_t)bytes;
    c->taken++;
    return found;
}

static vm_buffer *find_buffer(vm_warp *w, uint64_t address)
{
    struct vm_children *c = w->block->children;
    if (c)
        vm_charge(w, c->buffer_count >> 6);
    for (size_t k = c ? c->buffer_count : 0; k-- > 0;)
        if (c->buffers[k].taken && c->buffers[k].address == address)
            return &c->buffers[k];
    return NULL;
}

bool vm_child_kernel(const vm_warp *w, uint64_t pointer, uint32_t *kernel)
{
    const vm_module *module = w->runner->run->launch->module;
    uint64_t index = (pointer - VM_CODE_BASE) / 16;
    if (pointer < VM_CODE_BASE || pointer % 16 || index >= module->ptx->function_count ||
        !module->ptx->functions[index].entry || !module->functions[index].code)
        return false;
    *kernel = (uint32_t)index;
    return true;
}

uint64_t vm_child_buffer(vm_warp *w, uint32_t lane, uint64_t bytes)
{
    uint32_t error;
    const vm_buffer *buffer = take_buffer(w, bytes, &error);
    if (buffer)
        return buffer->address;
    vm_child_fail(w, lane, error);
    return 0;
}

/* Returns a buffer for a given kernel and shape, for cudaGetParameterBufferV2(). */
uint64_t vm_child_buffer_for(vm_warp *w, uint32_t lane, uint64_t pointer, const uint32_t grid[3],
                             const uint32_t block[3], uint32_t shared)
{
    uint32_t kernel, error = VM_CUDA_FUNCTION;
    vm_buffer *buffer = NULL;
    if (vm_child_kernel(w, pointer, &kernel))
        buffer = take_buffer(w, w->runner->run->launch->module->ptx->functions[kernel].param_bytes, &error);
    if (!buffer) {
        vm_child_fail(w, lane, error);
        return 0;
    }
    buffer->shaped = true;
    buffer->kernel = kernel;
    buffer->shared = shared;
    memcpy(buffer->grid, grid, sizeof buffer->grid);
    memcpy(buffer->block, block, sizeof buffer->block);
    return buffer->address;
}

/* ---- launches ---- */

/* Checks a launch against the limits of the device, the kernel's directives and the resources that it needs. Returns
 * the error. */
static uint32_t check_launch(const vm_run_state *parent, const vm_launch *launch)
{
    enum { GRID_YZ = 65535, BLOCK_Z = 64 };
    vm_run_state run = {.device = parent->device, .launch = launch};
    vm_fault fault;
    vm_fault_kind kind = vm_launch_prepare(&run, &fault);
    if (kind != VM_OK)
        return kind == VM_FAULT_STACK ? VM_CUDA_RESOURCES : VM_CUDA_CONFIGURATION;
    const ptx_function *f = run.kernel->ptx;
    bool fits = launch->grid[0] <= INT32_MAX && launch->grid[1] <= GRID_YZ && launch->grid[2] <= GRID_YZ &&
                launch->block[2] <= BLOCK_Z && run.block_threads <= vm_max_threads(f);
    for (unsigned axis = 0; axis < 3; axis++)
        fits = fits && (f->req_threads[axis] == 0 || f->req_threads[axis] == launch->block[axis]);
    return fits ? VM_CUDA_SUCCESS : VM_CUDA_CONFIGURATION;
}

/* Appends work to the block's list, or to the grid's list of tail launches. */
static void enqueue(vm_block *block, vm_task *task, uint64_t stream)
{
    vm_run_state *run = block->runner->run;
    struct vm_children *c = block->children;
    if (stream != VM_STREAM_TAIL) {
        *c->last = task;
        c->last = &task->next;
        c->pending++;
        return;
    }
    pthread_mutex_lock(&run->family->lock);
    vm_task **last = &run->tails;
    while (*last)
        last = &(*last)->next;
    *last = task;
    run->tail_count++;
    pthread_mutex_unlock(&run->family->lock);
}

/* Returns an error if the block has no such stream, or if the stream is the tail stream and is full. All blocks of a
 * grid share one tail stream, so its length is limited for the whole grid. */
static uint32_t check_stream(vm_warp *w, uint64_t stream)
{
    vm_run_state *run = w->runner->run;
    struct vm_children *c = w->block->children;
    if (stream == VM_STREAM_TAIL) {
        pthread_mutex_lock(&run->family->lock);
        bool full = run->tail_count >= vm_child_limit(run, VM_LIMIT_PENDING);
        pthread_mutex_unlock(&run->family->lock);
        return full ? VM_CUDA_PENDING : VM_CUDA_SUCCESS;
    }
    if (stream <= VM_STREAM_LAST)
        return VM_CUDA_SUCCESS;
    for (size_t k = 0; c && k < c->handle_count; k++)
        if (c->handles[k] == stream && vm_is_stream(stream))
            return VM_CUDA_SUCCESS;
    return VM_CUDA_INVALID_VALUE; /* an H200 returns this error, not an invalid handle */
}

/* Checks a launch and enqueues it with a copy of its parameters. Returns the error. */
static uint32_t try_launch(vm_warp *w, const vm_code *i, const vm_buffer *buffer, uint64_t stream)
{
    const vm_run_state *run = w->runner->run;
    vm_device *device = run->device;
    uint32_t error = check_stream(w, stream);
    if (error != VM_CUDA_SUCCESS)
        return error;
    if (stream != VM_STREAM_TAIL && run->depth + 1 >= VM_NEST_MAX)
        return VM_CUDA_DEPTH;
    size_t bytes = (size_t)run->launch->module->ptx->functions[buffer->kernel].param_bytes;
    if (bytes > buffer->wanted)
        return VM_CUDA_INVALID_VALUE;
    vm_launch launch = {.module = run->launch->module,
                        .kernel = (int)buffer->kernel,
                        .dynamic_shared = buffer->shared,
                        .hooks = run->launch->hooks,
                        .watch = run->launch->watch,
                        .limits = run->launch->limits,
                        .print = run->launch->print,
                        .user = run->launch->user};
    memcpy(launch.grid, buffer->grid, sizeof launch.grid);
    memcpy(launch.block, buffer->block, sizeof launch.block);
    error = check_launch(run, &launch);
    if (error != VM_CUDA_SUCCESS)
        return error;
    const void *params = vm_pointer(device, buffer->address, buffer->bytes); /* NULL if a kernel has freed the buffer */
    if (!params)
        return VM_CUDA_INVALID_VALUE;
    vm_task *task = kiln__calloc(device->mem, 1, sizeof *task + bytes + 1);
    if (!task)
        return VM_CUDA_MEMORY;
    task->is_launch = true;
    task->at = i;
    memcpy(task->block, w->block->id, sizeof task->block);
    task->launch = launch;
    task->launch.params = memcpy(task + 1, params, bytes);
    enqueue(w->block, task, stream);
    vm_charge(w, LAUNCH_STEPS);
    return VM_CUDA_SUCCESS;
}

/* Ends a launch call, makes its buffer free again, and returns `error`. `buffer` is NULL if the call named no buffer of
 * this block. A buffer is free after every launch call that names it, even if the launch fails. */
static uint32_t end_launch(vm_warp *w, uint32_t lane, vm_buffer *buffer, uint32_t error)
{
    if (buffer) {
        buffer->taken = false;
        w->block->children->taken--;
    }
    return error == VM_CUDA_SUCCESS ? error : vm_child_fail(w, lane, error);
}

uint32_t vm_child_launch(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t address, uint64_t stream)
{
    vm_buffer *buffer = find_buffer(w, address);
    const bool shaped = buffer && buffer->shaped;
    return end_launch(w, lane, buffer, shaped ? try_launch(w, i, buffer, stream) : VM_CUDA_INVALID_VALUE);
}

uint32_t vm_child_launch_as(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t pointer, uint64_t address,
                            const uint32_t grid[3], const uint32_t block[3], uint32_t shared, uint64_t stream)
{
    uint32_t kernel;
    vm_buffer *buffer = find_buffer(w, address);
    if (!vm_child_kernel(w, pointer, &kernel))
        return end_launch(w, lane, buffer, VM_CUDA_FUNCTION);
    if (!buffer && address == 0) /* a kernel without parameters needs no buffer */
        buffer = find_buffer(w, vm_child_buffer(w, lane, 0));
    if (!buffer)
        return vm_child_fail(w, lane, VM_CUDA_INVALID_VALUE);
    buffer->kernel = kernel;
    buffer->shared = shared;
    memcpy(buffer->grid, grid, sizeof buffer->grid);
    memcpy(buffer->block, block, sizeof buffer->block);
    return end_launch(w, lane, buffer, try_launch(w, i, buffer, stream));
}

/* ---- streams and events ---- */

uint64_t vm_child_handle(vm_warp *w, bool stream)
{
    struct vm_children *c = open_children(w->block);
    if (!c || c->handle_count >= HANDLES_MOST ||
        !kiln__grow(w->runner->run->device->mem, &c->handles, &c->handle_capacity, c->handle_count + 1,
                    sizeof *c->handles))
        return 0;
    uint64_t handle = VM_HANDLE_BASE + 2 * ++c->next_handle + (stream ? 0 : 1);
    c->handles[c->handle_count++] = handle;
    return handle;
}

bool vm_child_handle_known(vm_warp *w, uint64_t handle, bool stream)
{
    const struct vm_children *c = w->block->children;
    for (size_t k = 0; c && k < c->handle_count; k++)
        if (c->handles[k] == handle)
            return vm_is_stream(handle) == stream;
    return false;
}

bool vm_child_stream_known(vm_warp *w, uint64_t stream)
{
    return stream <= VM_STREAM_LAST || vm_child_handle_known(w, stream, true);
}

bool vm_child_handle_drop(vm_warp *w, uint64_t handle, bool stream)
{
    struct vm_children *c = w->block->children;
    for (size_t k = 0; c && k < c->handle_count; k++)
        if (c->handles[k] == handle && vm_is_stream(handle) == stream) {
            c->handles[k] = c->handles[--c->handle_count];
            return true;
        }
    return false;
}

/* ---- copies and fills ---- */

/* Returns true if the extent of the copy does not wrap around the address space, and its rows do not overlap. */
static bool extent_fits(const vm_task *t, uint64_t address, uint64_t pitch, uint64_t slice)
{
    uint64_t rows, slices, end;
    if ((t->height > 1 && pitch < t->width) || (t->depth > 1 && t->height && slice / t->height < t->width))
        return false;
    return !__builtin_mul_overflow(t->height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(t->depth - 1, slice, &slices) && !__builtin_add_overflow(address, rows, &end) &&
           !__builtin_add_overflow(end, slices, &end) && !__builtin_add_overflow(end, t->width, &end);
}

uint32_t vm_child_move(vm_warp *w, const vm_code *i, uint32_t lane, const vm_task *what, uint64_t stream)
{
    if (!what->width || !what->height || !what->depth)
        return VM_CUDA_SUCCESS;
    if (!extent_fits(what, what->target, what->target_pitch, what->target_slice) ||
        (what->source && !extent_fits(what, what->source, what->source_pitch, what->source_slice)))
        return vm_child_fail(w, lane, VM_CUDA_INVALID_VALUE);
    /* Addresses in shared and local memory are not allowed. */
    if (what->target < VM_GLOBAL_BASE || (what->source && what->source < VM_GLOBAL_BASE))
        return vm_child_fail(w, lane, VM_CUDA_INVALID_VALUE);
    const vm_run_state *run = w->runner->run;
    struct vm_children *c = open_children(w->block);
    uint32_t error = c ? check_stream(w, stream) : VM_CUDA_MEMORY;
    if (error == VM_CUDA_SUCCESS && (uint64_t)c->pending + c->taken >= vm_child_limit(run, VM_LIMIT_PENDING))
        error = VM_CUDA_PENDING;
    vm_task *task = error == VM_CUDA_SUCCESS ? kiln__alloc(run->device->mem, sizeof *task) : NULL;
    if (!task)
        return vm_child_fail(w, lane, error == VM_CUDA_SUCCESS ? VM_CUDA_MEMORY : error);
    *task = *what;
    task->next = NULL;
    task->at = i;
    memcpy(task->block, w->block->id, sizeof task->block);
    enqueue(w->block, task, stream);
    return VM_CUDA_SUCCESS;
}

/* Records the fault of a copy or fill by a kernel, and stops the launch. `address` is the address of the row that
 * failed. */
static void raise_move_fault(vm_run_state *run, const vm_task *task, vm_fault_kind kind, uint64_t address)
{
    vm_family *family = run->family;
    char where[200];
    vm_describe(run->device, address, where, sizeof where);
    pthread_mutex_lock(&family->lock);
    vm_fault *fault = family->fault;
    if (fault->kind == VM_OK) {
        memset(fault, 0, sizeof *fault);
        fault->kind = kind;
        fault->address = address;
        fault->bytes = task->width > UINT32_MAX ? UINT32_MAX : (uint32_t)task->width;
        memcpy(fault->block, task->block, sizeof fault->block);
        snprintf(fault->kernel, sizeof fault->kernel, "%s", run->kernel->ptx->name);
        const char *what = task->source ? "copy" : "fill";
        if (kind == VM_FAULT_STEPS || kind == VM_FAULT_TIME || kind == VM_FAULT_STOPPED)
            snprintf(fault->message, sizeof fault->message, "the launch %s in a %s by kernel '%.80s'",
                     kind == VM_FAULT_STEPS  ? "has used up its budget"
                     : kind == VM_FAULT_TIME ? "has not ended within its time limit, and was"
                                             : "was stopped on request",
                     what, fault->kernel);
        else
            snprintf(fault->message, sizeof fault->message,
                     "%s of %" PRIu64 " bytes at 0x%" PRIx64 ", %s: enqueued by kernel '%.80s', block (%u,%u,%u)", what,
                     task->width, address, where, fault->kernel, task->block[0], task->block[1], task->block[2]);
    }
    pthread_mutex_unlock(&family->lock);
    atomic_store(&family->stop, 1);
}

/* Copies or fills one row from `source` to `target`. The row may be as large as the device's memory, so the function
 * works in pieces, counts steps, and tests the limits of the launch every MOVE_LOOK steps. Returns false after a
 * fault. */
static bool move_row(vm_run_state *run, const vm_task *t, uint64_t to, unsigned char *target,
                     const unsigned char *source, uint64_t *unlooked)
{
    enum { STEP_BYTES = 4096, PIECE = MOVE_LOOK * STEP_BYTES };
    for (uint64_t at = 0; at < t->width; at += PIECE) {
        const uint64_t bytes = t->width - at < PIECE ? t->width - at : PIECE, steps = 1 + bytes / STEP_BYTES;
        const bool spent = atomic_fetch_add(&run->family->steps, steps) > run->family->budget;
        *unlooked += steps;
        const vm_fault_kind late = spent ? VM_FAULT_STEPS : *unlooked >= MOVE_LOOK ? vm_limit_ask(run->family) : VM_OK;
        if (late != VM_OK) {
            raise_move_fault(run, t, late, to);
            return false;
        }
        *unlooked = *unlooked < MOVE_LOOK ? *unlooked : 0;
        if (source)
            memmove(target + at, source + at, (size_t)bytes);
        else
            memset(target + at, t->value, (size_t)bytes);
    }
    return true;
}

/* Performs a copy or fill row by row. Searches the allocation again for each row, because kernels may free memory
 * between the copies of two rows. */
static void move_rows(vm_run_state *run, const vm_task *t)
{
    uint64_t unlooked = MOVE_LOOK;
    for (uint64_t z = 0; z < t->depth; z++)
        for (uint64_t y = 0; y < t->height; y++) {
            uint64_t to = t->target + z * t->target_slice + y * t->target_pitch;
            uint64_t from = t->source + z * t->source_slice + y * t->source_pitch;
            vm_span span;
            bool constant = false, read_only = false;
            if (!vm_find(run->device, to, &span, &constant, &read_only) || read_only || t->width > span.end - to) {
                raise_move_fault(run, t, VM_FAULT_ADDRESS, to);
                return;
            }
            if (run->device->hooks) /* for the checks, the target counts as written */
                vm_pointer(run->device, to, t->width);
            const void *source = t->source ? vm_pointer_read(run->device, from, t->width) : NULL;
            if (t->source && !source) {
                raise_move_fault(run, t, VM_FAULT_ADDRESS, from);
                return;
            }
            if (!move_row(run, t, to, span.host + (to - span.base), source, &unlooked))
                return;
        }
}

/* Performs a copy or fill. A kernel on another host thread may free the memory meanwhile. So the function first
 * registers a runner without blocks. vm_bury() does not unmap freed memory that a registered runner may still use. */
void vm_task_move(vm_run_state *run, const vm_task *t)
{
    vm_runner keeper;
    memset(&keeper, 0, sizeof keeper);
    keeper.run = run;
    atomic_init(&keeper.generation, atomic_load(&run->device->generation));
    vm_runner_enter(run->device, &keeper);
    move_rows(run, t);
    vm_runner_leave(run->device, &keeper);
}

/* ---- running ---- */

/* Runs one task of a block's list. */
static void run_task(vm_run_state *run, const vm_task *task)
{
    if (!task->is_launch) {
        vm_task_move(run, task);
        return;
    }
    vm_run_state child = {.device = run->device,
                          .family = run->family,
                          .launch = &task->launch,
                          .depth = run->depth + 1,
                          .launcher = run->kernel->ptx->name};
    vm_fault fault;
    if (vm_launch_prepare(&child, &fault) == VM_OK) /* the launch was already checked when it was requested */
        vm_grid_run(&child);
}

/* Runs the tasks of the block's list until the list is empty or the launch ends. A task may be a grid that launches
 * grids itself. The host's stack grows with each level of grids, and VM_NEST_MAX limits the levels. */
void vm_children_run(vm_block *block)
{
    struct vm_children *c = block->children;
    vm_runner *runner = block->runner;
    if (!c || !c->first)
        return;
    atomic_store(&runner->generation, UINT64_MAX); /* clears the runner's caches before their next use */
    while (c->first && !atomic_load(&runner->run->family->stop)) {
        vm_task *task = c->first;
        c->first = task->next;
        c->last = c->first ? c->last : &c->first;
        c->pending--;
        run_task(runner->run, task);
        vm_task_free(runner->run->device->mem, task);
    }
    if (runner->run->hooks)
        runner->run->hooks->children(block);
}

uint32_t vm_child_synchronize(vm_warp *w, uint32_t m)
{
    const vm_run_state *run = w->runner->run;
    if (run->depth >= vm_child_limit(run, VM_LIMIT_SYNC_DEPTH)) {
        VM_EACH(lane, m)
            vm_child_fail(w, lane, VM_CUDA_SYNC_DEPTH);
        return VM_CUDA_SYNC_DEPTH;
    }
    w->event |= VM_EVENT_SWITCH;
    vm_children_run(w->block);
    return VM_CUDA_SUCCESS;
}
