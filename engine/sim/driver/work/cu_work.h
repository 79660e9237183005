/* cu_work.h - a piece of work as data. Every piece of work that a program can put into a stream becomes an operation
 * (sim_op). If no capture records the stream, the operation runs at once. If a capture records the stream, the
 * operation becomes a node of the graph that the capture makes (programs/).
 *
 * The state lock guards objects, and the work lock guards the work of the device. The comment above a function names
 * the locks that the caller must hold. If a comment names no lock, the caller must hold the state lock. */
#ifndef KILN_SIM_CU_WORK_H
#define KILN_SIM_CU_WORK_H

#include "cu_objects.h"
#include "vm_checks.h"

typedef struct sim_op sim_op;

/* The moments of a launch that an event of the launch can mark (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
 * LAUNCH_COMPLETION_EVENT). */
typedef enum sim_trigger {
    SIM_TRIGGER_BLOCKS, /* each block has executed griddepcontrol.launch_dependents or has ended */
    /* each block has begun, and the launch behaves as if each block executed launch_dependents at its start */
    SIM_TRIGGER_START,
    /* Each block has begun. The griddepcontrol.wait of a kernel that waits for this event does not wait for the end of
     * the launch. */
    SIM_TRIGGER_BEGUN,
    SIM_TRIGGERS
} sim_trigger;

/* An operation has a kind and parameters, in the form of the driver API. The operation owns the memory to which its
 * parameters point. */
struct sim_op {
    CUgraphNodeParams what;
    /* Runs an operation whose kind the driver does not know (programs/). The pointer is NULL if the driver knows the
     * kind, or if the operation has no effect. If the context ends while the operation runs, the function sets *context
     * to NULL. Needs both locks. */
    CUresult (*run)(sim_context **context, const sim_op *op);
    void *owned;
    /* owned_bytes: size of `owned`. pointers: number of pointers into `owned` at the beginning of a kernel's `owned` */
    size_t owned_bytes, pointers;
    /* for CU_GRAPH_NODE_TYPE_GRAPH: a copy of the child graph, which the operation owns */
    struct sim_graph *child;
    CUcontext to, from; /* the two contexts of a copy; NULL stands for the context of the operation */
    CUcontext in;       /* the context in which the operation runs; NULL stands for the context of the graph */
    bool cooperative;
    bool dependent; /* a kernel that may begin before the previous kernel of its stream has ended */
    /* For each moment of a launch (sim_trigger) the event that marks it, or NULL. The launch of a graph's node has no
     * such events. */
    CUevent marks[SIM_TRIGGERS];
    unsigned cluster[3]; /* number of blocks of a cluster in x, y and z; 0 means the size that the kernel requires */
    int priority;        /* programs can set and query `priority` and `window`, but both have no effect */
    CUaccessPolicyWindow window;
};

/* ---- operations (op.c) ---- */

/* Submits an operation to a stream. If no capture records the stream, the function runs the operation, and the caller
 * still owns op->owned. If a capture records the stream, the function adds the operation to the graph of the capture.
 * The graph takes over op->owned, and the function sets op->owned to NULL. Needs both locks. If the context ends while
 * a host function runs, the function sets *context to NULL. */
CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op);
CUresult sim_op_run(sim_context **context, CUstream stream, const sim_op *op);
/* Returns the context in which an operation of a graph runs. This is `context`, unless the operation names another
 * context. Returns NULL if the context of the operation has ended. The caller must hold the state lock. */
sim_context *sim_op_context(sim_context *context, const sim_op *op);

/* Returns the stream of an operation, for the profile of a program (program.c). Returns NULL if no such profile is
 * being made. */
sim_stream *sim_stream_noted(sim_context *context, CUstream stream);

/* The functions that make, check and run each kind of operation: kernels in launch.c, copies in transfer.c, fills in
 * memory.c. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op);
CUresult sim_kernel_run(sim_context *context, const sim_op *op);
/* Checks `cluster`, the size of a launch's clusters in blocks for each axis. If `cluster` is 0, sets it to the size
 * that the kernel requires. If the kernel requires no size, `cluster` stays 0. */
CUresult sim_cluster_of(const sim_function *function, const unsigned grid[3], unsigned cluster[3]);
/* Returns how many clusters of `size` blocks are resident on the device at once, if an SM holds `per_sm` blocks. */
uint64_t sim_resident_clusters(uint64_t per_sm, uint64_t size);
CUresult sim_copy_check(sim_context *context, const sim_op *op);
CUresult sim_copy_run(sim_context *context, const sim_op *op);
/* Returns true if the operation copies from the memory of one device to the memory of another device. Sets `both` to
 * the contexts of target and source. In the legacy stream, such a copy waits for all earlier work of both devices, and
 * all later work of both devices waits for the copy. */
bool sim_copy_across(sim_context *context, const sim_op *op, sim_context *both[2]);
/* Returns true if the host counts as having waited for the copy. This is so for a copy in the legacy stream. It is also
 * so if the call declares the source or the target as host memory, and this memory is not pinned. */
bool sim_copy_waits(const sim_context *context, CUstream stream, const sim_op *op);
CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
/* Returns true if an access policy window is valid. A stream, a launch or a node of a graph may have such a window. */
bool sim_right_window(const CUaccessPolicyWindow *window);
/* ---- the order of streams ---- */

/* The happens-before order of the work of all checked contexts (order.c). If no context is checked, the functions
 * sim_order_...() do nothing. For a function about work that runs now, the caller must hold both locks. For every other
 * function, the caller must hold the state lock. */
typedef struct sim_order sim_order;
/* Begins a piece of work in the stream. `op` is the operation, or NULL for work that is not a single operation. */
void sim_order_begin(sim_context *context, CUstream stream, const sim_op *op);
/* Records that the work that runs now accesses a range of memory. `what` names the operation for messages, such as "the
 * host's copy". order.c keeps the pointer `what`, so `what` should be a string constant. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write);
void sim_order_end(sim_context *context);
/* Calls a host function from the work that runs now. sim_call_out() releases the locks during the call. Returns false
 * if the function has destroyed the context. */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user);
/* Guards the pinned and managed memory that enqueued work uses, in all contexts (pinned.c). The guards detect accesses
 * of the host. */
void sim_order_guard(void);
/* Removes the page guards of memory that host and device share. The driver calls this function before it frees the
 * memory. `home` is the context to which the memory belongs. Needs both locks, because work of any context may have
 * used the memory. */
void sim_order_shared_gone(const sim_context *home, uint64_t address);
/* These three functions record a wait of the host: for the stream, for all work of the context, or for the work that
 * the event marks. */
void sim_order_waited(sim_context *context, CUstream stream);
void sim_order_waited_all(sim_context *context);
void sim_order_waited_event(sim_context *context, const sim_event *event);
/* Records that the event marks the work of the stream so far. If `stream` is NULL, it marks all work of the context so
 * far. */
void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event);
/* For work that consists of several parts, such as the nodes of a graph. `priors` has the time spans of the earlier
 * parts that are not ordered before the next part. They replace the spans of the previous call. The function copies the
 * array, which must be sorted by time. */
void sim_order_part(sim_context *context, const vm_prior *priors, size_t count);
/* Records that `event` marks the moment `trigger` of the launch that has just run in the stream. */
void sim_order_triggered(sim_context *context, CUstream stream, sim_event *event, sim_trigger trigger);
/* Records that the stream waits for the work that the event marks. The event may belong to another context. If `event`
 * is NULL, the stream waits for all work of its own context. */
void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event);
/* Adds the happens-before edges of an operation that has run: a host function, or a batch of memory operations. Either
 * may tell another thread that the work of the stream is done. So the host counts as having waited for the stream. */
void sim_order_told(sim_context *context, CUstream stream, const sim_op *op);
/* Orders all earlier work of these contexts before all later work of them. */
void sim_order_devices_wait(sim_context *const *contexts, size_t count);
/* Sets the time of the checks of all contexts to the same value. The driver calls this function before each launch. */
void sim_order_time(void);
void sim_order_stream_gone(sim_context *context, const sim_stream *stream);
/* Sets a guard on whole pages of memory, which records the first access of the host to these pages. If `reads` is true,
 * the device only reads the pages, and the guard records only a write of the host. Returns the number of the guard, or
 * -1 if no guard can be set. The caller must hold the state lock. */
int sim_guard_set(uint64_t address, uint64_t bytes, bool reads);
/* Removes a guard. Returns true if the host has accessed the pages. `where` then describes the code that accessed them,
 * or is empty. *address is the accessed address. */
bool sim_guard_clear(int number, uint64_t *address, char *where, size_t room);
#endif
