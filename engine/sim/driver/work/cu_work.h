/* cu_work.h - work as data. Everything that can be put into a stream is an operation (sim_op). If its stream is not
 * captured, an operation runs at once. Otherwise it becomes a node of the graph of the capture (programs/).
 *
 * Locks: the state lock guards objects, the work lock guards work. The comment above a function names the locks that
 * its caller must hold. If it names none, the caller must hold the state lock. */
#ifndef KILN_SIM_CU_WORK_H
#define KILN_SIM_CU_WORK_H

#include "cu_objects.h"
#include "vm_checks.h"

typedef struct sim_op sim_op;

/* The times of a launch that an event can mark (CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT). */
typedef enum sim_trigger {
    SIM_TRIGGER_BLOCKS, /* each block has executed griddepcontrol.launch_dependents or has ended */
    SIM_TRIGGER_START,  /* each block has begun; the launch behaves as if each block triggered at its start */
    /* Each block has begun. A kernel that waits for this event does not wait for the launch by griddepcontrol.wait. */
    SIM_TRIGGER_BEGUN,
    SIM_TRIGGERS
} sim_trigger;

/* An operation: its kind and parameters in the form of the driver API. It owns the memory to which its parameters
 * point. */
struct sim_op {
    CUgraphNodeParams what;
    /* Runs an operation of a kind that the driver does not know (programs/). NULL if the driver knows the kind, or if
     * the operation does nothing. If the context ends during the operation, sets *context to NULL. Needs both locks. */
    CUresult (*run)(sim_context **context, const sim_op *op);
    void *owned;
    size_t owned_bytes, pointers; /* pointers: for a kernel, `owned` begins with this number of pointers into itself */
    /* for CU_GRAPH_NODE_TYPE_GRAPH: a copy of the child graph that belongs to this operation */
    struct sim_graph *child;
    CUcontext to, from; /* the two contexts of a copy; NULL means the context of the operation */
    CUcontext in;       /* the context in which the operation runs; NULL means the context of the graph */
    bool cooperative;
    bool dependent;              /* a kernel that may begin before the kernel before it in its stream has ended */
    CUevent marks[SIM_TRIGGERS]; /* The events that mark times of a launch, or NULL. Nodes of graphs have no marks. */
    unsigned cluster[3];         /* blocks of a cluster; 0 means the size that the kernel requires */
    int priority;                /* priority and window can be set and queried, but have no effect */
    CUaccessPolicyWindow window;
};

/* ---- operations (op.c) ---- */

/* Submits an operation to a stream. If the stream is not captured, runs the operation, and the caller keeps the memory
 * that the operation owns. Otherwise adds the operation to the graph, which takes the memory and sets op->owned to
 * NULL. Needs both locks. If the context ends while a host function runs, sets *context to NULL. */
CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op);
CUresult sim_op_run(sim_context **context, CUstream stream, const sim_op *op);
/* Returns the context in which an operation of a graph runs: `context`, or another one. Returns NULL if that context
 * has ended. Needs the state lock. */
sim_context *sim_op_context(sim_context *context, const sim_op *op);

/* Returns the stream of an operation for the profile of a program (program.c), or NULL if no profile is made. */
sim_stream *sim_stream_noted(sim_context *context, CUstream stream);

/* The functions for each kind of operation, in the files of that kind. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op);
CUresult sim_kernel_run(sim_context *context, const sim_op *op);
/* Checks the size of a launch's clusters, in blocks for each axis. If `cluster` is 0, sets it to the size that the
 * kernel requires. It stays 0 if the kernel requires no size. */
CUresult sim_cluster_of(const sim_function *function, const unsigned grid[3], unsigned cluster[3]);
/* Returns how many clusters of `size` blocks are resident at once, if an SM holds `per_sm` blocks. */
uint64_t sim_resident_clusters(uint64_t per_sm, uint64_t size);
CUresult sim_copy_check(sim_context *context, const sim_op *op);
CUresult sim_copy_run(sim_context *context, const sim_op *op);
/* Returns true for a copy from the memory of one device to the memory of another, and sets `both` to the contexts of
 * target and source. In the legacy stream such a copy waits for all work of both devices, and all later work of both
 * waits for the copy. */
bool sim_copy_across(sim_context *context, const sim_op *op, sim_context *both[2]);
/* Returns true if the host counts as waiting for the copy. It waits if the copy is in the legacy stream, or if one side
 * is declared as host memory that is not pinned. */
bool sim_copy_waits(const sim_context *context, CUstream stream, const sim_op *op);
CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
/* Returns true if the window of a stream, launch or node is valid. */
bool sim_right_window(const CUaccessPolicyWindow *window);
/* ---- the order of streams ---- */

/* The happens-before order of the work of checked contexts (order.c). Without checks these functions do nothing.
 * Functions about work that runs need both locks; all other functions need the state lock. */
typedef struct sim_order sim_order;
/* Begins work in the stream. `op` is the operation, or NULL for work that is not a single operation. */
void sim_order_begin(sim_context *context, CUstream stream, const sim_op *op);
/* Records that the running work accesses a range of memory. `what` names the operation, such as "the host's copy". The
 * text must stay valid until the order forgets the work. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write);
void sim_order_end(sim_context *context);
/* Calls a host function from the running work, through sim_call_out(), which releases the locks during the call.
 * Returns false if the function has destroyed the context. */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user);
/* Switches on the guards for pinned memory of asynchronous copies, for all contexts (pinned.c). */
void sim_order_guard(void);
/* Called before memory that host and device share is freed: removes its guards. Work of any context may have used the
 * memory. Needs both locks. `home` is the context that has the memory. */
void sim_order_shared_gone(const sim_context *home, uint64_t address);
/* These three functions record that the host has waited for the stream, for all work of the context, or for the work
 * that the event marks. */
void sim_order_waited(sim_context *context, CUstream stream);
void sim_order_waited_all(sim_context *context);
void sim_order_waited_event(sim_context *context, const sim_event *event);
/* Records that the event marks the stream's work so far, or all work of the context if `stream` is NULL. */
void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event);
/* The running work consists of several parts, such as the nodes of a graph. Sets the earlier parts that are not ordered
 * before its next part, and replaces the parts of the last call. Copies the array, which must be sorted by time. */
void sim_order_part(sim_context *context, const vm_prior *priors, size_t count);
/* Records that the event marks the trigger of the launch that has just run in the stream. */
void sim_order_triggered(sim_context *context, CUstream stream, sim_event *event, sim_trigger trigger);
/* Records that the stream waits for the work that the event marks. The event may belong to another context. If `event`
 * is NULL, the stream waits for all work of its own context. */
void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event);
/* Adds the happens-before edges of a host function or of a batch of memory operations that has run. The function or the
 * batch may tell another thread that the stream's work is done, so the host counts as having waited for the stream. */
void sim_order_told(sim_context *context, CUstream stream, const sim_op *op);
/* Orders all earlier work of these contexts before all their later work. */
void sim_order_devices_wait(sim_context *const *contexts, size_t count);
/* Sets the time of the checks of all contexts to the same value. Called before each launch. */
void sim_order_time(void);
void sim_order_stream_gone(sim_context *context, const sim_stream *stream);
/* Protects whole pages, so that an access of the host to them is recorded. If `reads` is true, the copy only reads the
 * pages, and only writes of the host are recorded. Returns the number of the guard, or -1 if it cannot be set. Needs
 * the state lock. */
int sim_guard_set(uint64_t address, uint64_t bytes, bool reads);
/* Removes a guard. Returns true if the host has touched the pages; `where` then describes the code that accessed them,
 * or is empty. */
bool sim_guard_clear(int number, uint64_t *address, char *where, size_t room);
#endif
