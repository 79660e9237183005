/* cu_graph.h - work as data. Everything that can be put into a stream is an operation (sim_op). An operation runs at
 * once, or becomes a node of the graph into which its stream is captured (capture.c). Launching a graph runs the
 * operations of its nodes in topological order.
 *
 * Locks: the state lock guards objects, the work lock guards work. A comment says which of them a function needs;
 * without such a comment it needs the state lock. */
#ifndef KILN_SIM_CU_GRAPH_H
#define KILN_SIM_CU_GRAPH_H

#include "cu_objects.h"

typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;

/* An operation: its kind and parameters in the form of the driver API. It owns the memory to which its parameters
 * point. */
typedef struct sim_op {
    CUgraphNodeParams what;
    void *owned;
    size_t owned_bytes, pointers; /* kernels: `owned` begins with this many pointers into itself */
    sim_graph *child;             /* CU_GRAPH_NODE_TYPE_GRAPH: its own copy */
    CUcontext to, from;           /* the two contexts of a copy; NULL: the context of the operation */
    CUcontext in;                 /* the context in which it runs; NULL: the context of the graph */
    bool cooperative;
    unsigned cluster[3]; /* blocks of a cluster; 0: the size that the kernel requires */
    int priority;        /* priority and window are stored and reported, and have no effect */
    CUaccessPolicyWindow window;
} sim_op;

/* An edge of the dependency graph: the node at its other end, and the data of the API. */
typedef struct sim_edge {
    sim_node *node;
    CUgraphEdgeData data;
} sim_edge;
typedef struct sim_edges {
    sim_edge *list;
    size_t count, capacity;
} sim_edges;

/* A node of a graph. `before` are the nodes on which it depends, `after` those that depend on it; every edge is in both
 * lists. */
struct sim_node {
    sim_object object;
    sim_graph *graph;
    sim_node *next, *previous; /* in the graph, in order of creation */
    sim_edges before, after;
    sim_op op;
    uint64_t original; /* handle of the node from which it was cloned, or 0 */
    size_t number;     /* scratch value of algorithms that traverse the graph */
    bool disabled;     /* only in an executable graph */
};

/* References of a graph to one user object. */
typedef struct sim_hold {
    uint64_t user;
    unsigned count;
} sim_hold;

/* A graph of dependencies. States: open; `capturing`, while a stream is captured into it; `internal`, if it is the copy
 * of an executable graph or the clone of such a copy. */
struct sim_graph {
    sim_object object;
    sim_node *first, *last;
    size_t count;
    sim_node *owner;   /* the node that owns this child graph, or NULL */
    uint64_t original; /* handle of the graph from which it was cloned */
    unsigned depth;    /* levels of child graphs below it */
    /* nodes that allocate or free; such a graph cannot be cloned, nor instantiated twice at a time */
    size_t memory_nodes;
    uint64_t instance;           /* handle of its executable graph, if it has memory nodes */
    bool capturing;              /* a stream is being captured into it */
    bool internal;               /* it belongs to an executable graph, and its handle is not public */
    size_t first_step, end_step; /* range of steps, if it is the body of a condition in an executable graph */
    sim_hold *holds;             /* user objects that it keeps alive */
    size_t hold_count, hold_capacity;
};

/* An executable graph. States: idle; `busy`, while a launch runs; `doomed`, if it was destroyed during a launch. A
 * doomed graph is freed at the end of that launch. */
typedef struct sim_exec {
    sim_object object;
    sim_graph *graph; /* its own copy of the graph */
    uint64_t source;  /* handle of the graph from which it was made, if that graph has memory nodes */
    /* all nodes in topological order, with the nodes of child graphs and bodies behind their owner */
    sim_node **steps;
    size_t step_count, step_capacity;
    cuuint64_t flags;
    bool busy, doomed; /* see above */
} sim_exec;

/* ---- ops (op.c) ---- */

/* Makes an operation from the API's parameters. It owns a copy of the memory to which they point. Needs the state
 * lock. */
CUresult sim_op_make(sim_context *context, const CUgraphNodeParams *what, sim_op *op);
/* Checks the parameters of an operation for a new node. */
CUresult sim_op_check(sim_context *context, const sim_op *op);
CUresult sim_op_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_op_free(sim_context *context, sim_op *op);
/* Submits an operation to a stream. If the stream is not captured, runs the operation. Otherwise adds it to the graph,
 * which takes ownership of its memory. Needs both locks. *context is NULL afterwards if the context ended while a host
 * function was running. */
CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op, sim_node **captured);
CUresult sim_op_run(sim_context **context, CUstream stream, const sim_op *op);
/* Returns the context in which an operation of a graph runs: `context`, or another one. Returns NULL if that context
 * has ended. Needs the state lock. */
sim_context *sim_op_context(sim_context *context, const sim_op *op);

/* Returns the stream for the profile of a program (program.c), or NULL if no profile is made. */
sim_stream *sim_stream_noted(sim_context *context, CUstream stream);

/* The functions for each kind of operation, in the files of that kind. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op);
CUresult sim_kernel_run(sim_context *context, const sim_op *op);
/* Checks the clusters of a launch. If `cluster` is 0, it becomes the size that the kernel requires, or stays 0 if it
 * requires none. */
CUresult sim_cluster_of(const sim_function *function, const unsigned grid[3], unsigned cluster[3]);
/* Returns how many clusters of `size` blocks are resident at once, if an SM holds `per_sm` blocks. */
uint64_t sim_resident_clusters(uint64_t per_sm, uint64_t size);
CUresult sim_copy_check(sim_context *context, const sim_op *op);
CUresult sim_copy_run(sim_context *context, const sim_op *op);
/* Returns true for a copy between two devices. In the legacy stream such a copy waits for all work of both, and all
 * later work waits for it. */
bool sim_copy_across(sim_context *context, const sim_op *op, sim_context *both[2]);
/* Returns true if the host counts as waiting for the copy: it is in the legacy stream, and its host memory is not
 * shared. */
bool sim_copy_waits(const sim_context *context, CUstream stream, const sim_op *op);
CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_memops_check(sim_context *context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
CUresult sim_memops_run(sim_context **context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
/* Returns true if the window of a stream, launch or node is valid. */
bool sim_right_window(const CUaccessPolicyWindow *window);
/* Returns true for an address in memory that a node of a graph will allocate. */
bool sim_graph_memory(const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact);

/* ---- graphs (graph.c) ---- */

sim_graph *sim_graph_new(sim_context *context);
/* Frees a graph with its nodes and child graphs, and releases its user objects. */
void sim_graph_close(sim_context *context, sim_graph *graph);
CUresult sim_graph_clone(sim_context *context, const sim_graph *from, sim_graph **to);
/* Returns the graph with that handle, or NULL. Internal graphs are not found. */
sim_graph *sim_graph_of(const sim_context *context, CUgraph handle);
sim_node *sim_node_of(const sim_context *context, CUgraphNode handle);
/* Adds a node, which takes ownership of `op`. The dependencies must be nodes of the graph. */
CUresult sim_node_add(sim_context *context, sim_graph *graph, const sim_edge *before, size_t count, sim_op *op,
                      sim_node **node);
void sim_node_close(sim_context *context, sim_node *node);
/* Reads dependencies in the API's form, and rejects nodes of other graphs and duplicates. The caller frees *edges. */
CUresult sim_edges_read(sim_context *context, const sim_graph *graph, const CUgraphNode *nodes,
                        const CUgraphEdgeData *data, size_t count, sim_edge **edges);
/* Sorts the graph's nodes topologically (Kahn's algorithm). If there is a cycle, *stuck becomes a node that is in the
 * cycle or depends on it. */
CUresult sim_graph_order(sim_context *context, sim_graph *graph, sim_node **order, sim_node **stuck);

/* Replaces the parameters of a node. Kind and attributes stay. With `exec`, the node is in an executable graph, and its
 * context stays too. */
CUresult sim_op_replace(sim_context *context, sim_op *at, const CUgraphNodeParams *what, bool exec);

/* ---- conditions (condition.c): the bodies of a conditional node are graphs, whose handles its operation owns ---- */

CUresult sim_condition_make(sim_context *context, sim_op *op);
/* Replaces the bodies of `to`, which shares the array of `from`, by copies. */
CUresult sim_condition_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_condition_close(sim_context *context, const sim_op *op);
/* Returns how many bodies the operation has; 0: it is not a condition. */
unsigned sim_condition_count(const sim_op *op);
sim_graph *sim_condition_body(const sim_context *context, const sim_op *op, unsigned index);
/* Returns true if a node of that type may be in the graph. Bodies of conditions allow only some types. */
bool sim_condition_allows(const sim_graph *graph, CUgraphNodeType type);
/* Called when a graph with that node is launched: sets the condition to its default, if it has one. */
void sim_condition_start(sim_context *context, const sim_op *op);
/* Returns the number of the body that runs now, or -1. */
int sim_condition_choose(const sim_context *context, const sim_op *op);

/* ---- pools that processes share (pool_share.c). Under the state lock ---- */

/* Returns the pool with that handle, also a default pool, or NULL. */
sim_pool *sim_pool_at(sim_context *context, CUmemoryPool handle);
/* Gives the pool a file. `number` is the number of its device on the machine. */
bool sim_pool_open(sim_pool *pool, unsigned number);
/* Allocates zeroed memory in the pool's file. Returns its address, or 0. */
uint64_t sim_pool_take(sim_pool *pool, uint64_t bytes);
/* Tells that memory was freed. Does nothing if the memory is not in a shared pool. */
void sim_pool_let(sim_context *context, uint64_t address);

/* ---- executable graphs (graph_exec.c) ---- */

/* Returns CUDA_SUCCESS with both locks held and an executable graph that no launch is using. Waits for a running
 * launch. */
CUresult sim_exec_begin(CUgraphExec handle, sim_context **context, sim_exec **exec);
/* Returns the copy of a graph's node in the executable graph, or NULL. */
sim_node *sim_exec_node(const sim_exec *exec, CUgraphNode handle);

/* ---- capture (capture.c) ---- */

/* Sets `capturing` to the captured stream for work that is put into `stream`, or to NULL if it is not captured. Returns
 * an error if a capture forbids the call. */
CUresult sim_capture_enter(sim_context *context, CUstream stream, sim_stream **capturing);
/* Adds an operation to the graph of a captured stream. It depends on the stream's tips and becomes the only tip. */
CUresult sim_capture_op(sim_context *context, sim_stream *stream, sim_op *op, sim_node **node);
/* Checks a call that queries the stream or waits for it: a capture forbids it. */
CUresult sim_capture_wait(sim_context *context, CUstream stream);
/* Records an event in a captured stream: the event gets the stream's tips. */
CUresult sim_capture_record(sim_context *context, sim_stream *stream, sim_event *event);
/* Lets a stream wait for an event if one of them is captured: the stream joins the event's capture. Returns
 * CUDA_SUCCESS also without a capture. */
CUresult sim_capture_wait_event(sim_context *context, CUstream stream, const sim_event *event);
/* Checks cuEventQuery and cuEventSynchronize: a captured event cannot be queried. */
CUresult sim_capture_look_event(sim_context *context, const sim_event *event);
void sim_capture_leave(sim_context *context, sim_stream *stream);

/* ---- the order of streams ---- */

/* The happens-before order of the work of checked contexts (order.c). Without checks these functions do nothing.
 * Functions about work that runs need both locks; the other ones need the state lock. */
typedef struct sim_order sim_order;
void sim_order_begin(sim_context *context, CUstream stream); /* Begins work in the stream. */
/* Tells that the running work touches memory. `what` names the operation, "the host's copy"; its text must stay valid
 * until the order forgets the work. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write);
void sim_order_end(sim_context *context);
/* Calls a function of the host from the running work, without locks (sim_call_out()). */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user);
/* Guards the pinned memory of asynchronous copies from now on, in all contexts (pinned.c). */
void sim_order_guard(void);
/* Tell that the host has waited: for the stream, for all work of the context, or for the work that the event marks. */
void sim_order_waited(sim_context *context, CUstream stream);
void sim_order_waited_all(sim_context *context);
void sim_order_waited_event(sim_context *context, const sim_event *event);
/* Tells that the event marks the stream's work so far. If `stream` is NULL, it marks all work of the context. */
void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event);
/* Tells that the stream waits for the work that the event marks, which may belong to another context. If `event` is
 * NULL, the stream waits for all work of its own context. */
void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event);
/* Called after the operation has run. A host function, or a value in memory, may tell others that the stream's work is
 * done. */
void sim_order_told(sim_context *context, CUstream stream, const sim_op *op);
/* Orders all work of these contexts so far before all their later work. */
void sim_order_devices_wait(sim_context *const *contexts, size_t count);
/* Called before each launch: sets the time of the checks of all contexts to the same value. */
void sim_order_time(void);
void sim_order_stream_gone(sim_context *context, const sim_stream *stream);
/* Protects whole pages. `reads`: the copy only reads them, so only writes of the host are caught. Returns the number of
 * the guard, or -1 if it cannot be set. Needs the state lock. */
int sim_guard_set(uint64_t address, uint64_t bytes, bool reads);
/* Removes a guard. Returns true if the host has touched the pages; `where` then says from where, or is empty. */
bool sim_guard_clear(int number, uint64_t *address, char *where, size_t room);
#endif
