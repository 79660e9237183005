/* check.c - checks (sim.h, engine/sim/check/CHECKS.md): while a context is checked, its launches are observed and its memory is
 * shadowed. A program starts it with kiln__sim_check_begin(); the environment variable KILN_SIM_CHECK starts it for
 * every context of a process, and then the findings go to standard error when the context or the process ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"
#include "vm_checks.h"

/* ---- findings as text ---- */

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* Names of kernels and files are from the module (untrusted), and standard error may be a terminal: other characters
 * than printable ASCII and newlines are escaped. */
static void put_text(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n' || (*text >= 0x20 && *text < 0x7f))
            fputc(*text, to);
        else
            fprintf(to, "\\x%02x", (unsigned)(unsigned char)*text);
    }
}

static void put_side(FILE *to, const kiln_check_side *side)
{
    fputs("    ", to);
    put_text(to, side->what);
    if (side->file[0]) {
        fputs(" at ", to);
        put_text(to, base_name(side->file));
        fprintf(to, ":%u", side->line);
    } else if (side->ptx_line) {
        fprintf(to, " at PTX line %u", side->ptx_line);
    }
    if (side->inlined[0]) {
        fputs(" (", to);
        put_text(to, side->inlined);
        fputs(")", to);
    }
    if (side->has_block)
        fprintf(to, ", block (%u,%u,%u)", side->block[0], side->block[1], side->block[2]);
    if (side->has_thread)
        fprintf(to, ", thread (%u,%u,%u)", side->thread[0], side->thread[1], side->thread[2]);
    fputc('\n', to);
}

static void put_finding(FILE *to, const kiln_check_finding *f)
{
    fprintf(to, "%s%s: ", f->note ? "note: " : "", kiln_check_text(f->kind));
    put_text(to, f->message);
    fputs("\n", to);
    if (f->kernel[0]) {
        fputs("    in kernel ", to);
        put_text(to, f->kernel);
        fprintf(to, ", %llu time%s\n", (unsigned long long)f->count, f->count == 1 ? "" : "s");
    }
    if (f->at.what)
        put_side(to, &f->at);
    if (f->other.what)
        put_side(to, &f->other);
}

static void put_all(const vm_check *check)
{
    size_t errors = 0, notes = 0;
    for (size_t k = 0; k < vm_check_count(check); k++) {
        notes += vm_check_at(check, k)->note != 0;
        errors += !vm_check_at(check, k)->note;
        put_finding(stderr, vm_check_at(check, k));
    }
    fprintf(stderr, "kiln checks: %zu finding%s, %zu note%s", errors, errors == 1 ? "" : "s", notes,
            notes == 1 ? "" : "s");
    if (vm_check_dropped(check))
        fprintf(stderr, "; further findings were dropped");
    if (vm_check_starved(check))
        fprintf(stderr, "; the checks ran out of memory, so races may have been missed");
    fputc('\n', stderr);
}

/* ---- starting and ending ---- */

bool sim_check_wanted(void)
{
    const char *text = getenv("KILN_SIM_CHECK");
    return text && *text && strcmp(text, "0") != 0;
}

bool sim_check_open(sim_context *context)
{
    context->check = vm_check_new(sim_memory());
    if (!context->check)
        return false;
    vm_check_attach(context->device, context->check);
    return true;
}

void sim_check_show(sim_context *context, bool leaks)
{
    if (!context->check || !context->check_shown)
        return;
    if (leaks && context->sticky == CUDA_SUCCESS)
        vm_check_leaks(context->device, true);
    put_all(context->check);
    context->check_shown = false;
}

bool kiln__sim_check_begin(void)
{
    sim_context *context;
    if (sim_begin_work(&context) != CUDA_SUCCESS)
        return false;
    bool begun = !context->check && sim_check_open(context);
    sim_end_work(context, CUDA_SUCCESS);
    return begun;
}

void kiln__sim_check_forget(uint64_t address, uint64_t bytes)
{
    sim_context *context;
    if (sim_begin_work(&context) != CUDA_SUCCESS)
        return;
    if (context->check)
        vm_check_forget(context->device, address, bytes);
    sim_end_work(context, CUDA_SUCCESS);
}

void kiln__sim_check_end(kiln_check_fn report, void *user)
{
    sim_context *context;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return;
    vm_check *check = context->check_shown ? NULL : context->check;
    if (check) {
        vm_check_leaks(context->device, false);
        vm_check_attach(context->device, NULL);
        context->check = NULL;
    }
    sim_end_work(context, CUDA_SUCCESS); /* the caller's function is called under no lock */
    for (size_t k = 0; check && report && k < vm_check_count(check); k++)
        if (report(user, vm_check_at(check, k)))
            break;
    vm_check_free(check);
}
