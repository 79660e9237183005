/* libcuda.c - libcuda.so.1: the simulated driver under the names that libcuda exports, for programs that do not know
 * Kiln. The files of the driver are compiled here again as one file, because an alias must be in the same file as its
 * function. */
#define SIM_MARK 0x53u /* the mark of this library's contexts; libkiln, which may be in the process too, has another */
#define SIM_CHOOSE sim_library_choose
#define SIM_PAGE (2u << 20) /* accesses are checked by pages of this size, as on a GPU */
#define SIM_ZEROED true
#define SIM_NVIDIA sim_library_nvidia
#include "choose.h"

#include "../cuda/state.c"
#include "../cuda/array.c"
#include "../stream/capture.c"
#include "../stream/cluster.c"
#include "../stream/condition.c"
#include "../cuda/context.c"
#include "../cuda/device.c"
#include "../cuda/error.c"
#include "../stream/graph.c"
#include "../stream/graph_exec.c"
#include "../stream/graph_node.c"
#include "../stream/graph_print.c"
#include "../stream/host.c"
#include "../stream/ipc.c"
#include "../stream/launch.c"
#include "../cuda/library.c"
#include "../cuda/link.c"
#include "../stream/memory.c"
#include "../cuda/module.c"
#include "../cuda/occupancy.c"
#include "../stream/op.c"
#include "../stream/pool.c"
#include "../stream/pool_share.c"
#include "../stream/stream.c"
#include "../stream/table.c"
#include "../cuda/tensor_map.c"
#include "../cuda/texture.c"
#include "../stream/transfer.c"
#include "../stream/user.c"
#include "../stream/vmm.c"

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
