/* cu_graph.h - work as data. Everything that can be put into a stream is a sim_op. It is run at once, or becomes a node
 * of the graph into which the stream is captured (capture.c). Launching a graph runs the ops of its nodes. */
#ifndef KILN_SIM_CU_GRAPH_H
#define KILN_SIM_CU_GRAPH_H

#include "cu_objects.h"

typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;

/* What a node does, as the driver API's struct; memory to which it points is owned by the op. */
typedef struct sim_op {
    CUgraphNodeParams what;
    void *owned;
    size_t owned_bytes, pointers; /* of a kernel: `owned` starts with this many pointers into itself */
    sim_graph *child;             /* CU_GRAPH_NODE_TYPE_GRAPH: its own copy */
    CUcontext to, from;           /* of a copy between contexts; NULL: the op's context */
    CUcontext in;                 /* in which it runs; NULL: the graph's */
    bool cooperative;
    unsigned cluster[3]; /* of a kernel; 0: as it says itself */
    int priority;        /* stored and reported only, as the window is */
    CUaccessPolicyWindow window;
} sim_op;

typedef struct sim_edge {
    sim_node *node;
    CUgraphEdgeData data;
} sim_edge;
typedef struct sim_edges {
    sim_edge *list;
    size_t count, capacity;
} sim_edges;

struct sim_node {
    sim_object object;
    sim_graph *graph;
    sim_node *next, *previous; /* in the graph, in order of creation */
    sim_edges before, after;
    sim_op op;
    uint64_t original; /* the node that this one was cloned from, or 0 */
    size_t number;     /* scratch value for walks over a graph */
    bool disabled;     /* in an executable graph */
};

typedef struct sim_hold {
    uint64_t user;
    unsigned count;
} sim_hold;

struct sim_graph {
    sim_object object;
    sim_node *first, *last;
    size_t count;
    sim_node *owner;             /* the node of a child graph */
    uint64_t original;           /* the graph that this one was cloned from */
    unsigned depth;              /* levels of child graphs below */
    size_t memory_nodes;         /* a graph with such nodes cannot be cloned, nor instantiated twice at a time */
    uint64_t instance;           /* its executable graph, if it has memory nodes */
    bool capturing;              /* nodes are being captured into it */
    bool internal;               /* of an executable graph: its handle is not public */
    size_t first_step, end_step; /* of the body of a condition in an executable graph */
    sim_hold *holds;             /* user objects that it references */
    size_t hold_count, hold_capacity;
};

typedef struct sim_exec {
    sim_object object;
    sim_graph *graph; /* its own copy */
    uint64_t source;  /* the graph from which it was made, if that has memory nodes */
    sim_node **steps; /* all nodes, child graphs' too, in an order that the dependencies allow */
    size_t step_count, step_capacity;
    cuuint64_t flags;
    bool busy, doomed; /* busy: being launched; doomed: destroyed meanwhile */
} sim_exec;

/* ---- ops (op.c) ---- */

/* A copy that owns the memory to which it points; `op` may own nothing. Under the state lock. */
CUresult sim_op_make(sim_context *context, const CUgraphNodeParams *what, sim_op *op);
CUresult sim_op_check(sim_context *context, const sim_op *op); /* for a new node */
CUresult sim_op_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_op_free(sim_context *context, sim_op *op);
/* Puts `op` into the stream: runs it, or captures it, then the graph takes ownership of its memory. Under both locks;
 * *context is NULL afterwards if it ended while a host function was running. */
CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op, sim_node **captured);
CUresult sim_op_run(sim_context **context, CUstream stream, const sim_op *op);
/* The context in which a graph's op runs: `context`, or another one; NULL: that is gone. Under the state lock. */
sim_context *sim_op_context(sim_context *context, const sim_op *op);

/* The stream for the profile of a program (program.c): NULL also if nobody asks for one. */
sim_stream *sim_stream_noted(sim_context *context, CUstream stream);

/* The parts of it, in the files for each kind. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op);
CUresult sim_kernel_run(sim_context *context, const sim_op *op);
/* Checks the clusters of a launch. `cluster` 0 becomes what the kernel requires, or stays 0: none. */
CUresult sim_cluster_of(const sim_function *function, const unsigned grid[3], unsigned cluster[3]);
/* The clusters of `size` blocks that are resident at once, where an SM holds `per_sm` blocks. */
uint64_t sim_resident_clusters(uint64_t per_sm, uint64_t size);
CUresult sim_copy_check(sim_context *context, const sim_op *op);
CUresult sim_copy_run(sim_context *context, const sim_op *op);
/* Whether it is between the memory of two devices, which all work of both waits for in the legacy stream. */
bool sim_copy_across(sim_context *context, const sim_op *op, sim_context *both[2]);
/* Whether the host counts as waiting for the copy: in the legacy stream, and of host memory that is not shared. */
bool sim_copy_waits(const sim_context *context, CUstream stream, const sim_op *op);
CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_memops_check(sim_context *context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
CUresult sim_memops_run(sim_context **context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
/* Whether the driver takes the window, of a stream, a launch or a node. */
bool sim_right_window(const CUaccessPolicyWindow *window);
/* True for an address in memory that a graph's node will allocate. */
bool sim_graph_memory(const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact);

/* ---- graphs (graph.c) ---- */

sim_graph *sim_graph_new(sim_context *context);
void sim_graph_close(sim_context *context, sim_graph *graph); /* with nodes and child graphs; releases user objects */
CUresult sim_graph_clone(sim_context *context, const sim_graph *from, sim_graph **to);
sim_graph *sim_graph_of(const sim_context *context, CUgraph handle); /* NULL: none, or an internal one */
sim_node *sim_node_of(const sim_context *context, CUgraphNode handle);
/* Adds a node, which takes ownership of `op`; the dependencies are nodes of the graph. */
CUresult sim_node_add(sim_context *context, sim_graph *graph, const sim_edge *before, size_t count, sim_op *op,
                      sim_node **node);
void sim_node_close(sim_context *context, sim_node *node);
/* Reads dependencies in the API's form; the caller frees *edges. */
CUresult sim_edges_read(sim_context *context, const sim_graph *graph, const CUgraphNode *nodes,
                        const CUgraphEdgeData *data, size_t count, sim_edge **edges);
CUresult sim_graph_order(sim_context *context, sim_graph *graph, sim_node **order, sim_node **stuck);

/* Replaces the node's parameters; kind and attributes are kept, and in an executable graph (exec) the context. */
CUresult sim_op_replace(sim_context *context, sim_op *at, const CUgraphNodeParams *what, bool exec);

/* ---- conditions (condition.c): a node's bodies are graphs of their own, whose handles its op owns ---- */

CUresult sim_condition_make(sim_context *context, sim_op *op);
/* The bodies of `to`, which has the array of those of `from`, become copies. */
CUresult sim_condition_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_condition_close(sim_context *context, const sim_op *op);
unsigned sim_condition_count(const sim_op *op); /* of bodies; 0: the op is no condition */
sim_graph *sim_condition_body(const sim_context *context, const sim_op *op, unsigned index);
/* Whether such a node may be in the graph: bodies have only some kinds. */
bool sim_condition_allows(const sim_graph *graph, CUgraphNodeType type);
/* At the launch of a graph with that node: sets the condition, if it was made so. */
void sim_condition_start(sim_context *context, const sim_op *op);
/* Which body runs now; -1: none. */
int sim_condition_choose(const sim_context *context, const sim_op *op);

/* ---- pools that processes share (pool_share.c). Under the state lock ---- */

sim_pool *sim_pool_at(sim_context *context, CUmemoryPool handle); /* default ones too; NULL: there is none */
bool sim_pool_open(sim_pool *pool, unsigned number); /* gives it a file; `number`: of its device on the machine */
/* Memory in the file, which is zero; 0: there is none. */
uint64_t sim_pool_take(sim_pool *pool, uint64_t bytes);
void sim_pool_let(sim_context *context, uint64_t address); /* that memory was freed; nothing happens to other memory */

/* ---- executable graphs (graph_exec.c) ---- */

/* CUDA_SUCCESS with both locks held and an executable graph that is not being launched. */
CUresult sim_exec_begin(CUgraphExec handle, sim_context **context, sim_exec **exec);
sim_node *sim_exec_node(const sim_exec *exec, CUgraphNode handle); /* its copy of the graph's node; NULL: none */

/* ---- capture (capture.c) ---- */

/* The captured stream for work that is put into `stream`; NULL: not captured. An error: also for calls that a capture
 * forbids. */
CUresult sim_capture_enter(sim_context *context, CUstream stream, sim_stream **capturing);
CUresult sim_capture_op(sim_context *context, sim_stream *stream, sim_op *op, sim_node **node);
/* For a call that queries the stream or waits for it. */
CUresult sim_capture_wait(sim_context *context, CUstream stream);
CUresult sim_capture_record(sim_context *context, sim_stream *stream, sim_event *event);
/* Handles waiting for the event in captures of either side; CUDA_SUCCESS also without a capture. */
CUresult sim_capture_wait_event(sim_context *context, CUstream stream, const sim_event *event);
CUresult sim_capture_look_event(sim_context *context, const sim_event *event); /* cuEventQuery and cuEventSynchronize */
void sim_capture_leave(sim_context *context, sim_stream *stream);

/* ---- the order of streams ---- */

/* Which work of checked contexts is ordered before which (order.c). Without checks these do nothing. Under both locks, but
 * sim_order_waited() and the like need the state lock alone. */
typedef struct sim_order sim_order;
void sim_order_begin(sim_context *context, CUstream stream); /* work that is put into the stream runs now */
/* It touches memory as `what` says: "the host's copy". Not to be kept. */
void sim_order_touch(sim_context *context, const char *what, uint64_t address, uint64_t bytes, bool write);
void sim_order_end(sim_context *context);
/* sim_call_out() from the work that runs. */
bool sim_order_call_out(sim_context *context, void (*function)(void *), void *user);
void sim_order_guard(void); /* what work has copied asynchronously, from now on, in all contexts (pinned.c) */
/* The host has waited for the stream, for all, for what the event marks. */
void sim_order_waited(sim_context *context, CUstream stream);
void sim_order_waited_all(sim_context *context);
void sim_order_waited_event(sim_context *context, const sim_event *event);
/* The event marks the stream's work. NULL: all work. */
void sim_order_record(sim_context *context, const CUstream *stream, sim_event *event);
/* The stream waits for what the event marks, which may be of another context. NULL: for all of its own. */
void sim_order_stream_waits(sim_context *context, CUstream stream, const sim_event *event);
/* The stream's work so far ended with that: a function of the host, or a value in memory, may tell others. */
void sim_order_told(sim_context *context, CUstream stream, const sim_op *op);
/* All work of these contexts so far is before all that comes. */
void sim_order_devices_wait(sim_context *const *contexts, size_t count);
void sim_order_time(void); /* before each launch: the time of the checks of all contexts is the same */
void sim_order_stream_gone(sim_context *context, const sim_stream *stream);
/* Protects whole pages; `reads`: against writes alone. -1: it cannot. Under the state lock. */
int sim_guard_set(uint64_t address, uint64_t bytes, bool reads);
/* Opens them again. True: the host has touched them, and `where` says from where, or "". */
bool sim_guard_clear(int number, uint64_t *address, char *where, size_t room);
#endif
