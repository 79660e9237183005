/* bound.c - names the bottleneck of a launch. It uses the shares of the time for which units and paths are busy
 * (vm_time_result). */
#include "vm_time.h"

/* The least share of the time for which a unit must be busy to be the bottleneck. If every unit is busy for a smaller
 * share, the bottleneck is latency: warps wait for results. */
#define BOUND_LEAST 0.6

/* If starting the launch takes longer than its work, returns "launch". If atomics at one address take as long as the
 * work, returns "atomics". Otherwise returns the unit or path with the greatest share of at least BOUND_LEAST, or
 * "latency" if no share is that large. */
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
