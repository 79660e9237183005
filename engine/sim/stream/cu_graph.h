/* cu_graph.h - work as data. Whatever can be put into a stream is a sim_op first: it is run at once, or becomes a node of
 * the graph that the stream is captured into (capture.c), and a graph that is launched runs the ops of its nodes. */
#ifndef KILN_SIM_CU_GRAPH_H
#define KILN_SIM_CU_GRAPH_H

#include "cu_objects.h"

typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;

/* What a node does, in the driver API's own description; what that points to is the op's own memory. */
typedef struct sim_op {
    CUgraphNodeParams what;
    void *owned;
    size_t owned_bytes, pointers; /* of a kernel: `owned` begins with so many pointers into itself */
    sim_graph *child;             /* CU_GRAPH_NODE_TYPE_GRAPH: its own copy */
    CUcontext to, from;           /* of a copy between contexts; NULL: the op's own */
    bool cooperative;
    int priority; /* kept and reported, as is the window */
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
    size_t number;     /* scratch of what walks a graph */
    bool disabled;     /* of an executable graph */
};

typedef struct sim_hold {
    uint64_t user;
    unsigned count;
} sim_hold;

struct sim_graph {
    sim_object object;
    sim_node *first, *last;
    size_t count;
    sim_node *owner;     /* a child graph's node */
    uint64_t original;   /* the graph that this one was cloned from */
    unsigned depth;      /* levels of child graphs below */
    size_t memory_nodes; /* such a graph can be neither cloned nor instantiated twice at a time */
    uint64_t instance;   /* the executable graph of one with memory nodes */
    bool capturing;      /* nodes are being captured into it */
    bool internal;       /* of an executable graph: nobody has its handle */
    sim_hold *holds;     /* user objects that it keeps */
    size_t hold_count, hold_capacity;
};

typedef struct sim_exec {
    sim_object object;
    sim_graph *graph; /* its own copy */
    uint64_t source;  /* the graph that it was made from, if that has memory nodes */
    sim_node **steps; /* all nodes, child graphs' too, in an order that dependencies allow */
    size_t step_count, step_capacity;
    cuuint64_t flags;
    bool busy, doomed; /* being launched, and perhaps destroyed meanwhile */
} sim_exec;

/* ---- ops (op.c) ---- */

/* A copy that owns what it points to. `op` may be the caller's parameters with nothing owned. Under the state lock. */
CUresult sim_op_make(sim_context *context, const CUgraphNodeParams *what, sim_op *op);
CUresult sim_op_check(sim_context *context, const sim_op *op); /* of a node that is made */
CUresult sim_op_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_op_free(sim_context *context, sim_op *op);
/* Puts `op` into the stream: runs it, or captures it, in which case the graph takes over what it owns. Under both locks;
 * *context is NULL afterwards if it went while a function of the host was running. */
CUresult sim_submit(sim_context **context, CUstream stream, sim_op *op, sim_node **captured);
CUresult sim_op_run(sim_context **context, const sim_op *op);

/* The parts of it, each where it belongs. */
CUresult sim_kernel_make(sim_context *context, const CUDA_KERNEL_NODE_PARAMS *what, sim_op *op);
CUresult sim_kernel_run(sim_context *context, const sim_op *op);
CUresult sim_copy_check(sim_context *context, const sim_op *op);
CUresult sim_copy_run(sim_context *context, const sim_op *op);
CUresult sim_fill_check(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_fill_run(sim_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *what);
CUresult sim_memops_check(sim_context *context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
CUresult sim_memops_run(sim_context **context, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *what);
/* True for an address in what a node of a graph will have allocated. */
bool sim_graph_memory(const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact);

/* ---- graphs (graph.c) ---- */

sim_graph *sim_graph_new(sim_context *context);
void sim_graph_close(sim_context *context, sim_graph *graph); /* with nodes and child graphs; user objects let go */
CUresult sim_graph_clone(sim_context *context, const sim_graph *from, sim_graph **to);
sim_graph *sim_graph_of(const sim_context *context, CUgraph handle); /* NULL: none, or not for users */
sim_node *sim_node_of(const sim_context *context, CUgraphNode handle);
/* A node that takes `op` over; the dependencies are nodes of the graph. */
CUresult sim_node_add(sim_context *context, sim_graph *graph, const sim_edge *before, size_t count, sim_op *op,
                      sim_node **node);
void sim_node_close(sim_context *context, sim_node *node);
/* Reads dependencies as the API gives them; *edges is for the caller to free. */
CUresult sim_edges_read(sim_context *context, const sim_graph *graph, const CUgraphNode *nodes,
                        const CUgraphEdgeData *data, size_t count, sim_edge **edges);
CUresult sim_graph_order(sim_context *context, sim_graph *graph, sim_node **order, sim_node **stuck);

/* The node's parameters anew; kind and attributes stay. */
CUresult sim_op_replace(sim_context *context, sim_op *at, const CUgraphNodeParams *what);

/* ---- executable graphs (graph_exec.c) ---- */

/* CUDA_SUCCESS with both locks held and an executable graph that is not being launched. */
CUresult sim_exec_begin(CUgraphExec handle, sim_context **context, sim_exec **exec);
sim_node *sim_exec_node(const sim_exec *exec, CUgraphNode handle); /* what became of the graph's node; NULL: none */

/* ---- capture (capture.c) ---- */

/* The stream that captures what is put into `stream`, NULL: none does. An error is also what a capture forbids. */
CUresult sim_capture_enter(sim_context *context, CUstream stream, sim_stream **capturing);
CUresult sim_capture_op(sim_context *context, sim_stream *stream, sim_op *op, sim_node **node);
/* Of a call that asks whether the stream is done, or waits for it. */
CUresult sim_capture_wait(sim_context *context, CUstream stream);
CUresult sim_capture_record(sim_context *context, sim_stream *stream, sim_event *event);
/* What waiting for the event means to the capture of either side; CUDA_SUCCESS also where there is none. */
CUresult sim_capture_wait_event(sim_context *context, CUstream stream, const sim_event *event);
CUresult sim_capture_look_event(sim_context *context, const sim_event *event); /* cuEventQuery and cuEventSynchronize */
void sim_capture_leave(sim_context *context, sim_stream *stream);
#endif
