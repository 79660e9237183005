/* finding.c - findings. Each place has one finding, with a count and the first example. */
#include <stdio.h>
#include <string.h>

#include "finding_internal.h"
#include "look_internal.h"
#include "vm_checks_internal.h"
#include "vm_memory.h"

static const char none[] = "";

const char *check_print(vm_check *check, const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    int length = kiln__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = length < 0 ? NULL : kiln__arena_strdup(&check->arena, text);
    return kept ? kept : none;
}

void check_label(vm_check *check, vm_device *device, kiln_check_finding *f)
{
    vm_labelled at;
    if (!vm_labelled_at(device, f->address, &at))
        return;
    f->buffer = check_print(check, "%s", at.name);
    f->role = check_print(check, "%s", at.role);
    f->offset = at.offset;
    f->buffer_bytes = at.bytes;
}

/* ---- places ---- */

/* Returns a text for the calls that were inlined at a place: "in f, called at a.cu:12, in g, called at b.cu:7". */
static const char *describe_inlining(vm_check *check, const ptx_module *ptx, const ptx_loc *loc)
{
    enum { MOST = 16 };
    kiln__text text = {.mem = check->mem};
    for (unsigned k = 0; k < MOST && loc->inlined_at && loc->inlined_at < ptx->loc_count; k++) {
        const ptx_loc *outer = &ptx->locs[loc->inlined_at];
        const char *file = outer->file < ptx->file_count && ptx->files[outer->file] ? ptx->files[outer->file] : "?";
        const char *name = strrchr(file, '/');
        kiln__text_printf(&text, "%sin %.200s, called at %.200s:%u", k ? ", " : "",
                          loc->inlined_from ? loc->inlined_from : "a function", name ? name + 1 : file, outer->line);
        loc = outer;
    }
    const char *kept = text.length ? kiln__arena_strdup(&check->arena, kiln__text_get(&text)) : none;
    kiln__text_free(&text);
    return kept ? kept : none;
}

const vm_function *check_function_of(const vm_module *module, uint32_t insn)
{
    for (uint32_t f = 0; f < module->ptx->function_count; f++) {
        const size_t first = module->functions[f].first_tally;
        if (insn >= first && insn - first < module->ptx->functions[f].insn_count)
            return &module->functions[f];
    }
    return NULL;
}

/* Finds the function that contains the instruction, and then the line of the instruction in the debug information. */
void check_side_place(vm_check *check, const vm_module *module, uint32_t insn, kiln_check_side *side)
{
    const ptx_module *ptx = module->ptx;
    const vm_function *function = check_function_of(module, insn);
    side->file = side->inlined = side->text = none;
    if (!function)
        return;
    const ptx_insn *in = &function->ptx->insns[insn - function->first_tally];
    side->ptx_line = in->line;
    if (in->loc == 0 || in->loc >= ptx->loc_count)
        return;
    const ptx_loc *loc = &ptx->locs[in->loc];
    side->line = loc->line;
    if (loc->file < ptx->file_count && ptx->files[loc->file])
        side->file = check_print(check, "%s", ptx->files[loc->file]);
    side->inlined = describe_inlining(check, ptx, loc);
}

/* Sets the coordinates of a thread in its block from the thread's number. */
static void set_thread(const vm_run_state *run, uint32_t number, unsigned out[3])
{
    const uint32_t *size = run->launch->block;
    out[0] = number % size[0];
    out[1] = number / size[0] % size[1];
    out[2] = number / size[0] / size[1];
}

/* Sets the coordinates of a block in the grid from the block's number. */
static void set_block(const vm_run_state *run, uint64_t number, unsigned out[3])
{
    const uint32_t *grid = run->launch->grid;
    out[0] = (unsigned)(number % grid[0]);
    out[1] = (unsigned)(number / grid[0] % grid[1]);
    out[2] = (unsigned)(number / grid[0] / grid[1]);
}

void check_side_thread(const vm_warp *w, const vm_mark *s, kiln_check_side *side)
{
    set_block(w->runner->run, s->block, side->block);
    set_thread(w->runner->run, s->who & VM_WHO, side->thread);
    side->has_block = side->has_thread = 1;
}

/* ---- findings ---- */

static vm_found *found_at(const vm_check *check, size_t index)
{
    return &check->found[index / VM_FOUND_MOST][index % VM_FOUND_MOST];
}

/* Returns true if there is memory for one more finding, and fewer than VM_FOUND_MOST findings are shown. The caller
 * sets the texts of a finding after the finding was added. So the rules of suppression can judge a finding only when
 * the next finding is added. */
static bool has_room(vm_check *check)
{
    for (; check->judged < check->found_count; check->judged++)
        check->shown += !check->is_suppressed || !check->is_suppressed(&found_at(check, check->judged)->finding);
    const size_t piece = check->found_count / VM_FOUND_MOST;
    if (check->shown == VM_FOUND_MOST || piece == VM_FOUND_PIECES)
        return false;
    if (!check->found[piece])
        check->found[piece] = kiln__calloc(check->mem, VM_FOUND_MOST, sizeof *check->found[piece]);
    return check->found[piece];
}

/* Returns the finding with this key. If there is none, adds a new finding. Sets *known to true if the finding existed
 * before. If there is no room for a new finding, counts the finding as dropped and returns NULL. There may be many
 * suppressed findings, so a hash table of lists finds the key. */
static vm_found *find_or_add(vm_check *check, const vm_module *module, kiln_check_kind kind, bool note, uint32_t insn,
                             uint32_t other, bool *known)
{
    uint32_t *head =
        &check->found_heads[(insn * 0x9e3779b1u ^ other * 0x85ebca6bu) / (UINT32_MAX / VM_FOUND_HEADS + 1)];
    *known = true;
    for (uint32_t k = *head; k; k = found_at(check, k - 1)->next) {
        vm_found *f = found_at(check, k - 1);
        if (f->module == module && f->insn == insn && f->other == other && f->finding.kind == kind &&
            f->finding.note == note)
            return f;
    }
    *known = false;
    if (!has_room(check)) {
        check->dropped++;
        return NULL;
    }
    vm_found *made = found_at(check, check->found_count);
    *made = (vm_found){.module = module, .insn = insn, .other = other, .next = *head};
    kiln_check_side empty = {.file = none, .inlined = none, .text = none};
    made->finding = (kiln_check_finding){.kind = kind,
                                         .note = note,
                                         .kernel = none,
                                         .message = none,
                                         .at = empty,
                                         .other = empty,
                                         .space = none,
                                         .allocation = none,
                                         .buffer = none,
                                         .role = none};
    *head = (uint32_t)++check->found_count;
    return made;
}

/* The key is the module, both instructions, the kind, and whether the finding is a note. Only a new finding gets
 * texts. */
kiln_check_finding *check_find_finding(vm_warp *w, kiln_check_kind kind, bool note, uint32_t insn, uint32_t other,
                                       uint32_t lane, unsigned times)
{
    vm_check *check = w->runner->run->device->check;
    const vm_module *module = w->runner->run->launch->module;
    bool known;
    vm_found *found = find_or_add(check, module, kind, note, insn, other, &known);
    if (!found)
        return NULL;
    found->finding.count += times;
    if (known)
        return NULL;
    kiln_check_finding *f = &found->finding;
    f->kernel = check_print(check, "%s", w->runner->run->kernel->ptx->name);
    check_side_place(check, module, insn, &f->at);
    if (other != VM_NO_INSN)
        check_side_place(check, module, other, &f->other);
    vm_mark me = {.who = w->index * VM_LANES + lane, .block = (uint32_t)w->block->number};
    check_side_thread(w, &me, &f->at);
    return f;
}

kiln_check_finding *check_host_finding(vm_check *check, kiln_check_kind kind, bool note, uint64_t key)
{
    bool known;
    vm_found *found = find_or_add(check, NULL, kind, note, (uint32_t)key, (uint32_t)(key >> 32), &known);
    if (!found)
        return NULL;
    found->finding.count++;
    return known ? NULL : &found->finding;
}

static const char *space_name(unsigned space)
{
    return space == PTX_SPACE_SHARED ? "shared" : space == PTX_SPACE_LOCAL ? "local" : "global";
}

/* Returns the name of an access for a message, such as "asynchronous write of 4 bytes". */
static const char *access_name(vm_check *check, const vm_access *a)
{
    const char *what = a->kind & VM_ATOMIC ? "atomic" : a->kind & VM_WRITE ? "write" : "read";
    return check_print(check, "%s%s of %u byte%s", a->kind & VM_ASYNC ? "asynchronous " : "", what, a->bytes,
                       a->bytes == 1 ? "" : "s");
}

kiln_check_finding *check_start(vm_look *k, kiln_check_kind kind, bool note, uint32_t other, uint32_t lane,
                                uint32_t lanes)
{
    kiln_check_finding *f = check_find_finding(k->w, kind, note, k->insn, other, lane,
                                               (unsigned)__builtin_popcount(lanes));
    if (!f)
        return NULL;
    f->at.what = access_name(k->check, k->a);
    f->space = space_name(k->a->space);
    f->address = k->a->address[lane];
    f->bytes = k->a->bytes;
    if (k->a->space == PTX_SPACE_GLOBAL)
        check_label(k->check, k->w->runner->run->device, f);
    return f;
}

/* Returns the kind of finding that a fault gets. Each rule of tensor memory has a separate kind. */
static kiln_check_kind get_fault_kind(const vm_fault *fault)
{
    static const kiln_check_kind kinds[] = {[VM_RULE_NONE] = KILN_CHECK_FAULT,
                                            [VM_RULE_PHASE] = KILN_CHECK_TENSOR_PHASE,
                                            [VM_RULE_COLUMNS] = KILN_CHECK_TENSOR_COLUMNS,
                                            [VM_RULE_OWNER] = KILN_CHECK_TENSOR_OWNER,
                                            [VM_RULE_BOUNDS] = KILN_CHECK_TENSOR_BOUNDS,
                                            [VM_RULE_SIZE] = KILN_CHECK_TENSOR_SIZE,
                                            [VM_RULE_ALIGNMENT] = KILN_CHECK_TENSOR_ALIGNMENT,
                                            [VM_RULE_SPARSE_FLAG] = KILN_CHECK_SPARSE_FLAG,
                                            [VM_RULE_SPARSE_USE] = KILN_CHECK_SPARSE_USE};
    return kinds[fault->rule];
}

/* Reports a fault that has ended the launch. A memory fault needs no report here, because it was already reported as an
 * access out of bounds. */
void check_end_launch(vm_run_state *run)
{
    vm_check *check = run->device->check;
    const vm_fault *fault = run->family->fault;
    if (check->told || fault->kind == VM_OK || fault->kind == VM_FAULT_MEMORY || fault->kind == VM_FAULT_STOPPED)
        return;
    bool known;
    const kiln_check_kind kind = get_fault_kind(fault);
    vm_found *found = find_or_add(check, run->launch->module, kind, false, fault->ptx_line, VM_NO_INSN - 1, &known);
    if (!found)
        return;
    found->finding.count++;
    if (known)
        return;
    kiln_check_finding *f = &found->finding;
    f->kernel = check_print(check, "%s", fault->kernel);
    f->message = check_print(check, "%s", fault->message);
    f->at = (kiln_check_side){.what = "end of the launch",
                              .file = check_print(check, "%s", fault->file),
                              .inlined = none,
                              .text = none,
                              .line = fault->file_line,
                              .ptx_line = fault->ptx_line,
                              .has_block = 1,
                              .has_thread = 1};
    memcpy(f->at.block, fault->block, sizeof f->at.block);
    memcpy(f->at.thread, fault->thread, sizeof f->at.thread);
    f->address = fault->address;
    f->bytes = fault->bytes;
    f->space = fault->rule ? "tensor" : none;
}
