/* random_program.h - shared by random_program.c, random_calls.c and random_team.c: the objects that all threads use. */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLOTS = 8, THREADS = 4, DEVICES = 4, PAGE = 4096, RANGE_BYTES = 4 << 20, PIECE = 2 << 20, CALLS = 60000 };
enum kind {
    CONTEXT,
    STREAM,
    EVENT,
    MEMORY,
    SHARED, /* pinned or managed memory */
    OWN,    /* pages of the program, registered or not */
    MODULE,
    FUNCTION, /* put */
    CHOICE,   /* choose */
    LIBRARY,
    GRAPH,
    NODE, /* a node of any kind; a node of the kinds below is also kept as a NODE */
    KERNEL_NODE,
    COPY_NODE,
    FILL_NODE,
    HOST_NODE,
    RECORD_NODE,
    WAIT_NODE,
    VALUE_NODE,
    ALLOC_NODE,
    FREE_NODE,
    CHILD_NODE,
    EXEC,
    CONDITION,
    USER,
    POOL,
    RANGE,
    PHYSICAL,
    ARRAY,
    MIPMAPPED,
    TEXTURE,
    SURFACE,
    LINK,
    TEAM,         /* a multicast object */
    TEAM_ADDRESS, /* where a multicast object is mapped */
    TEAM_FUNCTION,
    FOREIGN, /* memory of another process */
    KINDS
};
/* Returns a random number below the limit, from the thread's own sequence. */
unsigned pick(unsigned limit);
/* Returns a handle or an address of this kind, or 0 if no object of this kind exists. Another thread may destroy the
 * object at any time. */
uint64_t get(enum kind kind);
/* Sets *node to a node of this kind, and returns an executable graph that probably has a copy of the node. */
CUgraphExec get_exec(enum kind kind, CUgraphNode *node);
uint64_t take(enum kind kind); /* returns an object that the caller destroys */
void keep(enum kind kind, uint64_t handle);
#define GET(type, kind) ((type)(uintptr_t)get(kind))
#define TAKE(type, kind) ((type)(uintptr_t)take(kind))
/* Puts the object that a call has made into the table, if the call succeeds. */
#define KEEP(kind, call, made)                                                                                         \
    do {                                                                                                               \
        if ((call) == CUDA_SUCCESS)                                                                                    \
            keep(kind, (uint64_t)(uintptr_t)(made));                                                                   \
    } while (0)

CUstream any_stream(void);
CUdevice any_device(void);
unsigned device_count(void);
CUdevice device_at(unsigned k); /* k may be too large by a few */
CUdeviceptr any_address(void);
CUdeviceptr kernel_address(void); /* an argument for a kernel; rarely an address that ends the context by a fault */
/* This is a host function or the destructor of a user object. It destroys other objects while its stream or graph is
 * working. */
void CUDA_CB destroy_any(void *none);
/* Makes one random call of the functions that random_program.c does not call. */
void call_any(void);
/* random_team.c. share_team() prepares the memory and the sockets of two processes. After the process has forked, each of them
 * calls join_team(). call_team() makes one random call. */
bool share_team(void);
void join_team(bool first);
void call_team(void);
extern const char random_text[]; /* a module */
