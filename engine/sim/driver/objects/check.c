/* check.c - starts and ends the checks (sim.h, engine/sim/observe/check/CHECKS.md). While a context is checked, its
 * launches are observed, and its memory has shadow memory. A program that knows Kiln starts the checks of a context
 * with kiln__sim_check_begin(). The environment variable KILN_SIM_CHECK starts them for every context of a process.
 * Then check_report.c reports the findings of a context when the context or the process ends. */
#include <stdlib.h>
#include <string.h>

#include "cu_objects.h"
#include "vm_checks.h"

/* ---- starting and ending ---- */

bool sim_check_wanted(void)
{
    const char *text = getenv("KILN_SIM_CHECK");
    return text && *text && strcmp(text, "0") != 0;
}

bool sim_check_open(sim_context *context)
{
    context->check = check_new(sim_memory());
    if (!context->check)
        return false;
    check_attach(context->device, context->check);
    return true;
}

void sim_check_show(sim_context *context, bool locked, bool leaks)
{
    if (!context->check || !context->check_shown)
        return;
    if (locked && context->order)
        context->order_end(context); /* this call may report the last findings of the context */
    if (locked && context->sticky == CUDA_SUCCESS)
        check_leaks(context->device, leaks);
    sim_report(context);
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
        check_forget_bytes(context->device, address, bytes);
    sim_end_work(context, CUDA_SUCCESS);
}

void kiln__sim_check_end(kiln_check_fn report, void *user)
{
    sim_context *context;
    if (sim_begin_any(&context) != CUDA_SUCCESS)
        return;
    vm_check *check = context->check_shown ? NULL : context->check;
    if (check) {
        check_leaks(context->device, false);
        check_attach(context->device, NULL);
        context->check = NULL;
        if (context->order)
            context->order_end(context);
    }
    sim_end_work(context, CUDA_SUCCESS); /* releases both locks, because `report` must be called without a lock */
    for (size_t k = 0; check && report && k < check_count_findings(check); k++)
        if (report(user, check_get_finding(check, k)))
            break;
    check_free(check);
}
