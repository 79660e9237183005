/* vmm_internal.h - what the files of virtual memory management share: physical.c, range.c, multicast.c, vmm.c. */
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
    /* numbers of references by handles, and by mappings and multicast objects; no handles: the handle is invalid */
    unsigned handles, maps;
    bool counted; /* counted as memory of this process; false if another process made it */
} sim_physical;

/* A multicast object: the memory that each device of a team has bound, in vm_team.replicas. */
typedef struct sim_multicast {
    sim_object object;
    CUmulticastObjectProp prop;
    unsigned ordinal[VM_TEAM_MOST]; /* indexed by member of the team: the ordinal of the device */
    vm_team team;
    /* the memory of each replica, in the order of team.replicas: the handle of physical memory, or 0 for memory of a
     * pool, which the replica shares by a file */
    uint64_t *bound;
    size_t replica_capacity, bound_capacity;
    unsigned handles, maps;
} sim_multicast;

/* A mapping of physical memory, or of the part of a multicast object that begins at `offset`. */
typedef struct sim_mapping {
    uint64_t base, bytes;
    sim_physical *physical;
    sim_multicast *multicast; /* NULL: physical memory, or an object that has ended with its context */
    uint64_t offset;
    CUmemAccess_flags access[SIM_DEVICES_MOST]; /* access of each device */
} sim_mapping;

typedef struct sim_range {
    sim_object object;
    uint64_t base, bytes;
    unsigned char *host;
    sim_mapping *maps; /* sorted by address */
    size_t count, capacity;
} sim_range;

/* ---- physical.c ---- */
/* Returns the context that is used for the device: `context` if it is on the device, or NULL if the device has no
 * context. */
sim_context *sim_context_for(sim_context *context, CUdevice device);
sim_physical *sim_physical_at(sim_context *context, CUmemGenericAllocationHandle handle);
/* Frees the memory if nothing refers to it any more. */
void sim_physical_release(sim_physical *physical);

/* ---- range.c ---- */
/* Returns true if the context can use the mapped memory. */
bool sim_range_usable(const sim_context *context, const sim_mapping *map);
/* Removes the access of all contexts of one device, or of all devices, to the mapped memory. */
void sim_range_take(unsigned ordinal, sim_mapping *map);
void sim_range_take_all(sim_mapping *map);
/* Returns the range that holds [pointer, pointer + bytes), also if its context is on another device or has ended. Returns
 * NULL if no range does. */
sim_range *sim_range_at(const sim_context *context, CUdeviceptr pointer, uint64_t bytes);
/* Returns the index of the first mapping that ends after the address. */
size_t sim_mapping_after(const sim_range *range, uint64_t address);
/* Returns the mapping that holds the address, or NULL. */
const sim_mapping *sim_mapping_at(const sim_context *context, CUdeviceptr pointer);
/* Returns an address of the byte at `offset` of physical memory, of which `bytes` are mapped there, or 0. */
uint64_t sim_physical_address(const sim_physical *physical, uint64_t offset, uint64_t bytes);
/* Ends the access of all devices to the mappings of a multicast object, which is about to be freed. */
void sim_multicast_lost(const sim_multicast *multicast);

/* ---- multicast.c ---- */
sim_multicast *sim_multicast_at(sim_context *context, CUmemGenericAllocationHandle handle);
/* Frees the object if nothing refers to it any more. */
void sim_multicast_release(sim_multicast *multicast);
/* Waits until all devices of the team have joined, as the manual says for calls that bind or map memory. Other threads
 * may continue meanwhile. Returns the object, or NULL with *result set. If *context becomes NULL, the call has ended. */
sim_multicast *sim_multicast_await(sim_context **context, CUmemGenericAllocationHandle handle, CUresult *result);
/* Finds the addresses of bound memory again, after memory was mapped, unmapped or bound. */
void sim_multicast_refresh(void);

#endif
