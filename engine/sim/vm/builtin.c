/* builtin.c - functions that device code calls without defining them: vprintf, __assertfail, malloc, free. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vm_hooks.h"
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

uint64_t vm_argument(vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index)
{
    const vm_transfer *t = &call->arguments[index];
    uint64_t value = 0;
    if (t->is_register)
        return t->wide ? vm_r64(w, t->slot)[lane] : vm_r32(w, t->slot)[lane];
    memcpy(&value, w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from,
           t->bytes > 8 ? 8 : t->bytes);
    return value;
}

bool vm_is_builtin(const char *function) { return vm_builtin_find(function) != 0; }

/* An argument that was passed as an array of bytes; zeros if it was not. */
void vm_argument_bytes(const vm_warp *w, const vm_call *call, uint32_t lane, uint32_t index, void *out, size_t bytes)
{
    const vm_transfer *t = &call->arguments[index];
    memset(out, 0, bytes);
    if (!t->is_register && t->bytes <= bytes)
        memcpy(out, w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from, t->bytes);
}

void vm_answer(vm_warp *w, const vm_call *call, uint32_t lane, uint64_t value)
{
    if (call->result_count == 0)
        return;
    const vm_transfer *t = &call->results[0];
    if (t->is_register && t->wide)
        vm_r64(w, t->slot)[lane] = value;
    else if (t->is_register)
        vm_r32(w, t->slot)[lane] = (uint32_t)value;
    else
        memcpy(w->frame->vars + lane * (size_t)w->frame->function->ptx->frame_bytes + t->from, &value,
               t->bytes > 8 ? 8 : t->bytes);
}

/* The next argument: 8 bytes, or 4 for what C promotes to int; each is aligned to its size. */
static bool fetch(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t block, uint64_t *at, uint32_t bytes,
                  uint64_t *value)
{
    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    const unsigned char *p = vm_reach(w, i, lane, PTX_SPACE_GENERIC, block + *at, bytes, false);
    if (!p)
        return false;
    *value = 0;
    memcpy(value, p, bytes);
    *at += bytes;
    return true;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One conversion, "%...c", whose flags, width and precision were checked. Returns how many arguments it took, -1 on a
 * fault. */
static int convert(vm_warp *w, const vm_code *i, uint32_t lane, const char *spec, size_t length, unsigned longs,
                   uint64_t block, uint64_t *at, kiln__text *out)
{
    enum { FIELD_MOST = 4096 };
    char format[96], field[FIELD_MOST];
    char kind = spec[length - 1];
    size_t n = 0;
    uint64_t value;
    int taken = 0;
    for (size_t k = 0; k + 1 < length; k++) {
        if (spec[k] == '*') {
            if (!fetch(w, i, lane, block, at, 4, &value))
                return -1;
            int star = (int32_t)(uint32_t)value;
            star = star > 1024 ? 1024 : star < -1024 ? -1024 : star;
            n += (size_t)snprintf(format + n, 12, "%d", star);
            taken++;
        } else if (!strchr("hlLjztq", spec[k])) {
            format[n++] = spec[k];
        }
    }
    bool wide = longs >= 1 || strchr("fFeEgGaApsn", kind);
    if (!fetch(w, i, lane, block, at, wide ? 8 : 4, &value))
        return -1;
    taken++;
    double real;
    memcpy(&real, &value, sizeof real);
    switch (kind) {
    case 'd':
    case 'i':
        memcpy(format + n, PRId64, sizeof PRId64 - 1), n += sizeof PRId64 - 1, format[n] = '\0';
        snprintf(field, sizeof field, format, wide ? (int64_t)value : (int64_t)(int32_t)(uint32_t)value);
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        format[n++] = 'l', format[n++] = 'l', format[n++] = kind, format[n] = '\0';
        snprintf(field, sizeof field, format, (unsigned long long)value);
        break;
    case 'c':
        format[n++] = 'c', format[n] = '\0';
        snprintf(field, sizeof field, format, (int)(value & 0xff));
        break;
    case 'p': snprintf(field, sizeof field, "0x%" PRIx64, value); break;
    case 's': {
        char text[2048];
        if (value == 0)
            snprintf(text, sizeof text, "(null)");
        else if (!vm_read_string(w, i, lane, value, text, sizeof text))
            return -1;
        format[n++] = 's', format[n] = '\0';
        snprintf(field, sizeof field, format, text);
        break;
    }
    case 'n': field[0] = '\0'; break;
    default:
        format[n++] = kind, format[n] = '\0';
        kiln__format(field, sizeof field, format, real);
        break;
    }
    kiln__text_puts(out, field);
    return taken;
}
#pragma GCC diagnostic pop

/* The length of the conversion at `spec` ("%" ... letter), 0: not a conversion; counts its l and j z t. */
static size_t conversion(const char *spec, unsigned *longs)
{
    size_t n = 1, digits = 0;
    *longs = 0;
    while (spec[n] && strchr("-+ #0", spec[n]))
        n++;
    while ((spec[n] >= '0' && spec[n] <= '9') || spec[n] == '.' || spec[n] == '*') {
        digits = spec[n] >= '0' && spec[n] <= '9' ? digits + 1 : 0;
        if (digits > 4 || n > 20) /* wider than any field that is supported here */
            return 0;
        n++;
    }
    while (spec[n] && strchr("hlLjztq", spec[n])) {
        *longs += spec[n] != 'h' && spec[n] != 'L';
        n++;
        if (n > 24)
            return 0;
    }
    return spec[n] && strchr("diuoxXcsfFeEgGaApn", spec[n]) ? n + 1 : 0;
}

static int print(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t format_at, uint64_t block, kiln__text *out)
{
    enum { OUTPUT_MOST = 1 << 16 };
    char format[4096];
    if (!vm_read_string(w, i, lane, format_at, format, sizeof format))
        return -1;
    uint64_t at = 0;
    size_t start = out->length;
    int count = 0;
    for (const char *p = format; *p && out->length - start < OUTPUT_MOST;) { /* a GPU's buffer is limited too */
        size_t plain = strcspn(p, "%");
        kiln__text_add(out, p, plain);
        p += plain;
        if (!*p)
            break;
        unsigned longs = 0;
        size_t length = p[1] == '%' ? 2 : conversion(p, &longs);
        if (p[1] == '%' || length == 0) {
            kiln__text_add(out, "%", 1);
            p += length == 0 ? 1 : 2;
            continue;
        }
        int taken = convert(w, i, lane, p, length, longs, block, &at, out);
        if (taken < 0)
            return -1;
        count += taken;
        p += length;
    }
    return count;
}

static void run_print(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_call *call = i->extra;
    vm_run_state *run = w->runner->run;
    kiln__text out = {.mem = run->device->mem};
    VM_EACH(lane, m) {
        int count = print(w, i, lane, vm_argument(w, call, lane, 0), vm_argument(w, call, lane, 1), &out);
        if (count < 0)
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
            if (address && !vm_free_from_kernel(device, address)) {
                vm_fault_raise(w, i, lane, VM_FAULT_ADDRESS, address, 0,
                               "free of 0x%" PRIx64 ", which is not from malloc", address);
                return;
            }
        }
        return;
    }
}
