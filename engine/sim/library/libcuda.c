/* libcuda.so.1: the simulated driver under the names that libcuda exports, for programs that know nothing of Kiln. The
 * files of the driver are compiled here once more as one, because an alias must stand beside what it names. */
#define SIM_MARK 0x53u /* of contexts: those of the device in libkiln, which may be in the process too, have another */
#include "sim/cu_internal.h"

#include "sim/cu_state.c"
#include "sim/cu_array.c"
#include "sim/cu_capture.c"
#include "sim/cu_context.c"
#include "sim/cu_device.c"
#include "sim/cu_error.c"
#include "sim/cu_graph.c"
#include "sim/cu_graph_exec.c"
#include "sim/cu_graph_node.c"
#include "sim/cu_graph_print.c"
#include "sim/cu_host.c"
#include "sim/cu_launch.c"
#include "sim/cu_library.c"
#include "sim/cu_link.c"
#include "sim/cu_memory.c"
#include "sim/cu_module.c"
#include "sim/cu_op.c"
#include "sim/cu_pool.c"
#include "sim/cu_stream.c"
#include "sim/cu_table.c"
#include "sim/cu_texture.c"
#include "sim/cu_transfer.c"
#include "sim/cu_user.c"
#include "sim/cu_vmm.c"

#define EXPORT(c_name, symbol, target)                                                                                 \
    extern __typeof__(target) c_name __asm__(symbol) __attribute__((alias(#target), visibility("default")));
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
/* TEXT(name) is what cuda.h makes of the name: "cuMemAlloc_v2". */
#define SIM_X(name, since) EXPORT(export_##name, TEXT(name), sim_##name)
SIM_API_MAP(SIM_X)
#undef SIM_X
#define SIM_X(name, since) EXPORT(export_##name##_ptds, TEXT(name) "_ptds", sim_##name)
SIM_PTDS_MAP(SIM_X)
#undef SIM_X
#define SIM_X(name, since) EXPORT(export_##name##_ptsz, TEXT(name) "_ptsz", sim_##name)
SIM_PTSZ_MAP(SIM_X)
#undef SIM_X
#define FORM_NAME_(line) form_##line
#define FORM_NAME(line) FORM_NAME_(line)
#define SIM_X(symbol, name, since, function) EXPORT(FORM_NAME(__COUNTER__), symbol, function)
SIM_FORM_MAP(SIM_X)
