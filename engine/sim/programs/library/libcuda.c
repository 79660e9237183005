/* libcuda.c - libcuda.so.1, the simulated driver under the names that libcuda exports. Programs that do not know Kiln
 * use it. This file includes the files of the driver, because an alias must be in the same file as its function. */
/* the mark in handles of contexts of this library; libkiln, which may be in the same process, uses another mark */
#define SIM_MARK 0x53u
#define SIM_CHOOSE sim_library_choose
#define SIM_PAGE (2u << 20) /* size of the pages by which the device checks accesses, as on a GPU */
#define SIM_ZEROED true
#define SIM_NVIDIA sim_library_nvidia
#define SIM_TELL sim_library_tell
#define SIM_PROGRAMS &sim_all_programs
#include "choose.h"
#include "cu_graph.h"

#include "../../driver/objects/state.c"
#include "../../driver/objects/alone.c"
#include "../../driver/objects/array.c"
#include "../capture.c"
#include "../../driver/work/cluster.c"
#include "../condition.c"
#include "../../driver/objects/context.c"
#include "../../driver/objects/device.c"
#include "../../driver/objects/error.c"
#include "../graph.c"
#include "../graph_exec.c"
#include "../graph_node.c"
#include "../graph_op.c"
#include "../graph_print.c"
#include "../host.c"
#include "../ipc.c"
#include "../../driver/work/launch.c"
#include "../join.c"
#include "../library.c"
#include "../multicast.c"
#include "../../driver/objects/link.c"
#include "../../driver/work/memory.c"
#include "../../driver/objects/module.c"
#include "../../driver/objects/occupancy.c"
#include "../../driver/work/op.c"
#include "../old_launch.c"
#include "../physical.c"
#include "../pool.c"
#include "../pool_share.c"
#include "../range.c"
#include "../../driver/work/stream.c"
#include "../../driver/work/table.c"
#include "../../driver/objects/tensor_map.c"
#include "../../driver/objects/texture.c"
#include "../../driver/work/transfer.c"
#include "../user.c"
#include "../value.c"
#include "../vmm.c"

#define EXPORT(c_name, symbol, target)                                                                                 \
    extern __typeof__(target) c_name __asm__(symbol) __attribute__((alias(#target), visibility("default")));
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
/* TEXT(name) is the name as a string after the macros of cuda.h, such as "cuMemAlloc_v2". */
#define SIM_X(name, since) EXPORT(export_##name, TEXT(name), sim_##name)
SIM_API_MAP(SIM_X)
SIM_PROGRAMS_API_MAP(SIM_X)
#undef SIM_X
#define SIM_X(name, since) EXPORT(export_##name##_ptds, TEXT(name) "_ptds", sim_##name)
SIM_PTDS_MAP(SIM_X)
SIM_PROGRAMS_PTDS_MAP(SIM_X)
#undef SIM_X
#define SIM_X(name, since) EXPORT(export_##name##_ptsz, TEXT(name) "_ptsz", sim_##name)
SIM_PTSZ_MAP(SIM_X)
SIM_PROGRAMS_PTSZ_MAP(SIM_X)
#undef SIM_X
#define FORM_NAME_(line) form_##line
#define FORM_NAME(line) FORM_NAME_(line)
#define SIM_X(symbol, name, since, function) EXPORT(FORM_NAME(__COUNTER__), symbol, function)
SIM_FORM_MAP(SIM_X)
SIM_PROGRAMS_FORM_MAP(SIM_X)
