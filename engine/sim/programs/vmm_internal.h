/* vmm_internal.h - declarations that the files of virtual memory management share: physical.c, range.c, multicast.c,
 * vmm.c. */
#ifndef KILN_SIM_VMM_INTERNAL_H
#define KILN_SIM_VMM_INTERNAL_H

#include "cu_graph.h"

enum { SIM_GRANULARITY = 2 << 20 };
#define SIM_RANGE_MOST ((uint64_t)1 << 44)

/* Physical memory: a file without a name. */
typedef struct sim_physical {
    sim_object object;
    int file;
    uint64_t bytes;
    CUmemAllocationProp prop;
    /* handles: number of references by handles, where 0 makes the handle invalid. maps: number of references by
     * mappings and multicast objects. */
    unsigned handles, maps;
    bool counted; /* the memory counts as memory of this process, because no other process has made it */
} sim_physical;

/* A multicast object. Its memory is the memory that each device of a team has bound, in vm_team.replicas. */
typedef struct sim_multicast {
    sim_object object;
    CUmulticastObjectProp prop;
    unsigned ordinal[VM_TEAM_MOST]; /* for each member of the team, the ordinal of its device */
    vm_team team;
    /* bound[k] belongs to team.replicas[k]: the handle of its physical memory, or 0 if the memory belongs to a pool and
     * is shared through a file. */
    uint64_t *bound;
    size_t replica_capacity, bound_capacity;
    unsigned handles, maps;
} sim_multicast;

/* A mapping of physical memory, or of the part of a multicast object that begins at `offset`. */
typedef struct sim_mapping {
    uint64_t base, bytes;
    sim_physical *physical;
    /* the multicast object. NULL for a mapping of physical memory, or if the object has ended with its context */
    sim_multicast *multicast;
    uint64_t offset;
    CUmemAccess_flags access[SIM_DEVICES_MOST]; /* access rights of each device */
} sim_mapping;

typedef struct sim_range {
    sim_object object;
    uint64_t base, bytes;
    unsigned char *host;
    sim_mapping *maps; /* sorted by address */
    size_t count, capacity;
} sim_range;

/* ---- physical.c ---- */
/* Returns the context that represents the device: `context` if it is on the device, or NULL if the device has no
 * context. */
sim_context *sim_context_for(sim_context *context, CUdevice device);
sim_physical *sim_physical_at(sim_context *context, CUmemGenericAllocationHandle handle);
/* Frees the memory if no handle, no mapping and no multicast object refers to it. */
void sim_physical_release(sim_physical *physical);

/* ---- range.c ---- */
/* Returns true if the context can use the mapped memory. */
bool sim_range_usable(const sim_context *context, const sim_mapping *map);
/* Removes the access of all contexts of one device, or of all devices, to the mapped memory. */
void sim_range_take(unsigned ordinal, sim_mapping *map);
void sim_range_take_all(sim_mapping *map);
/* Returns the range that holds [pointer, pointer + bytes), or NULL. Also finds ranges whose context is on another
 * device or has ended. */
sim_range *sim_range_at(const sim_context *context, CUdeviceptr pointer, uint64_t bytes);
/* Returns the index of the first mapping that ends after the address. */
size_t sim_mapping_after(const sim_range *range, uint64_t address);
/* Returns the mapping that contains the address, or NULL. */
const sim_mapping *sim_mapping_at(const sim_context *context, CUdeviceptr pointer);
/* Returns an address at which `bytes` bytes of the physical memory are mapped, beginning with the byte at `offset`.
 * Returns 0 if there is no such mapping. */
uint64_t sim_physical_address(const sim_physical *physical, uint64_t offset, uint64_t bytes);
/* Ends the access of all devices to the mappings of a multicast object, which is about to be freed. */
void sim_multicast_lost(const sim_multicast *multicast);

/* ---- multicast.c ---- */
sim_multicast *sim_multicast_at(sim_context *context, CUmemGenericAllocationHandle handle);
/* Frees the object if neither a handle nor a mapping refers to it. */
void sim_multicast_release(sim_multicast *multicast);
/* Waits until all devices of the team have joined, as NVIDIA's manual demands for calls that bind or map memory. Other
 * threads may continue during the wait. Returns the object. On failure sets *result and returns NULL. If the function
 * sets *context to NULL, it has already ended the call. */
sim_multicast *sim_multicast_await(sim_context **context, CUmemGenericAllocationHandle handle, CUresult *result);
/* Updates the addresses of bound memory (vm_replica.alias). It runs after memory was mapped, unmapped or bound. */
void sim_multicast_refresh(void);

#endif
