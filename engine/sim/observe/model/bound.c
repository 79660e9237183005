/* bound.c - names the bottleneck of a launch. The replay of the launch has found for which share of the time each part
 * is busy (vm_time.h). */
#include "vm_time.h"

/* A unit that is busy for this share of the time or more is the bottleneck of the launch. If every unit is busy for a
 * smaller share, the bottleneck is latency: warps wait for results. */
#define BOUND_LEAST 0.6

/* Names the launch's overhead, or atomics at one address, if it takes at least as long as the rest of the launch. If
 * neither does, names the unit or path with the greatest share of at least BOUND_LEAST. */
const char *model_time_bound(const vm_time_result *result, double overhead)
{
    static const char *const units[VM_UNITS] = {
        [VM_UNIT_ALU] = "integer units", [VM_UNIT_FMA] = "fp32 units",      [VM_UNIT_MULTIPLY] = "multiplier",
        [VM_UNIT_FP64] = "fp64 units",   [VM_UNIT_FP16] = "fp16 units",     [VM_UNIT_SFU] = "special units",
        [VM_UNIT_SHUFFLE] = "shuffles",  [VM_UNIT_TENSOR] = "tensor cores", [VM_UNIT_MEMORY] = "addresses"};
    const struct {
        const char *text;
        double share;
    } others[] = {{"memory", result->dram},
                  {"L2", result->l2},
                  {"shared memory", result->shared},
                  {"issue", result->issue},
                  {"block starts", result->starting}};
    if (overhead > result->clocks)
        return "launch";
    if (result->hottest > 0 && result->hottest >= result->clocks)
        return "atomics";
    const char *best = "latency";
    double most = BOUND_LEAST;
    for (size_t k = 0; k < KILN__COUNT(others); k++)
        if (others[k].share >= most) {
            most = others[k].share;
            best = others[k].text;
        }
    for (size_t k = 0; k < VM_UNITS; k++)
        if (units[k] && result->unit[k] >= most) {
            most = result->unit[k];
            best = units[k];
        }
    return best;
}
