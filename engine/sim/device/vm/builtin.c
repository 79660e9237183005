/* builtin.c - functions that device code calls without defining them: vprintf, __assertfail, malloc and free. runtime.c
 * implements the functions of the device runtime. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_access.h"
#include "vm_builtin.h"
#include "vm_child.h"
#include "vm_fault.h"
#include "vm_hooks.h"
#include "vm_memory.h"
#include "vm_print.h"
#include "vm_runtime.h"

uint32_t vm_builtin_find(const char *name)
{
    static const char *const names[VM_BUILTINS] = {"vprintf", "__assertfail", "malloc", "free"};
    for (uint32_t k = 0; k < VM_BUILTINS; k++)
        if (strcmp(name, names[k]) == 0)
            return k + 1;
    uint32_t runtime = vm_runtime_find(name);
    return runtime ? VM_BUILTINS + runtime : 0;
}

bool vm_is_builtin(const char *function) { return vm_builtin_find(function) != 0; }

/* The thread whose printf runs. vm_print_format() reads the memory of this thread. */
typedef struct print_thread {
    vm_warp *w;
    const vm_code *i;
    uint32_t lane;
} print_thread;

static bool read_for_print(void *user, uint64_t address, uint32_t bytes, void *to)
{
    const print_thread *t = user;
    const unsigned char *p = vm_reach(t->w, t->i, t->lane, PTX_SPACE_GENERIC, address, bytes, false);
    if (p)
        memcpy(to, p, bytes);
    return p != NULL;
}

static void run_print(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    vm_run_state *run = w->runner->run;
    kiln__text out = {.mem = run->device->mem};
    VM_EACH(lane, m) {
        print_thread thread = {w, i, lane};
        int count;
        if (!vm_print_format(read_for_print, &thread, vm_argument(w, call, lane, 0), vm_argument(w, call, lane, 1),
                             &out, &count))
            break;
        vm_answer(w, call, lane, (uint64_t)(uint32_t)count);
    }
    vm_charge(w, out.length >> 8);
    pthread_mutex_lock(&run->family->lock);
    if (out.length && run->launch->print)
        run->launch->print(run->launch->user, out.data, out.length);
    else if (out.length)
        fwrite(out.data, 1, out.length, stdout);
    pthread_mutex_unlock(&run->family->lock);
    kiln__text_free(&out);
}

static void run_assert(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    uint32_t lane = (uint32_t)__builtin_ctz(m);
    char message[200] = "", file[200] = "", function[100] = "";
    if (vm_read_string(w, i, lane, vm_argument(w, call, lane, 0), message, sizeof message) &&
        vm_read_string(w, i, lane, vm_argument(w, call, lane, 1), file, sizeof file) && call->argument_count > 3 &&
        vm_read_string(w, i, lane, vm_argument(w, call, lane, 3), function, sizeof function))
        vm_fault_raise(w, i, lane, VM_FAULT_ASSERT, 0, 0, "%.90s:%u: %.60s: Assertion `%.100s` failed", file,
                       (uint32_t)vm_argument(w, call, lane, 2), function, message);
}

void vm_builtin_run(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    vm_device *device = w->runner->run->device;
    if (call->builtin > VM_BUILTINS) {
        vm_runtime_run(w, i, m, call->builtin - VM_BUILTINS - 1);
        return;
    }
    switch ((vm_builtin)(call->builtin - 1)) {
    case VM_BUILTIN_PRINTF: run_print(w, i, m); return;
    case VM_BUILTIN_ASSERT: run_assert(w, i, m); return;
    case VM_BUILTIN_MALLOC:
        VM_EACH(lane, m) {
            uint64_t bytes = vm_argument(w, call, lane, 0), limit = vm_child_limit(w->runner->run, VM_LIMIT_HEAP);
            const vm_allocation *got = bytes ? vm_allocate_heap(device, bytes, limit) : NULL;
            uint64_t made = got ? got->base : 0;
            vm_answer(w, call, lane, made);
            if (made && w->runner->met)
                w->runner->run->hooks->malloced(w, i, lane, made);
            vm_charge(w, made ? 1 + (bytes >> 14) : 0);
        }
        return;
    default:
        w->event |= VM_EVENT_SWITCH; /* freed memory is released once this warp has refreshed its caches */
        VM_EACH(lane, m) {
            uint64_t address = vm_argument(w, call, lane, 0);
            if (address && !vm_free_from_kernel(w, address)) {
                vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 0,
                               "free of 0x%" PRIx64 ", which no kernel has allocated", address);
                return;
            }
        }
        return;
    }
}
