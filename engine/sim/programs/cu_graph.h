/* cu_graph.h - declarations that the files of sim/programs share. The nodes of a CUDA graph are operations (cu_work.h).
 * A captured stream adds nodes to a graph (capture.c). A launch of the graph runs the operations of its nodes in
 * topological order.
 *
 * The state lock guards objects, and the work lock guards work. The comment of a function names the locks that its
 * caller must hold. If the comment names no lock, the caller must hold the state lock. */
#ifndef KILN_SIM_CU_GRAPH_H
#define KILN_SIM_CU_GRAPH_H

#include "cu_programs_api.h"
#include "cu_work.h"

#pragma GCC diagnostic push
/* this header also declares functions that CUDA has deprecated */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SIM_X(name, since) __typeof__(name) sim_##name;
SIM_PROGRAMS_API_MAP(SIM_X)
#undef SIM_X
#pragma GCC diagnostic pop
CUresult sim_cuGraphAddKernelNode_v1(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_cuGraphKernelNodeGetParams_v1(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_cuGraphKernelNodeSetParams_v1(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_cuGraphExecKernelNodeSetParams_v1(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1 *kernel);
CUresult sim_cuGraphAddNode_v1(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                               CUgraphNodeParams *what);
CUresult sim_cuGraphGetEdges_v1(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);
CUresult sim_cuGraphNodeGetDependencies_v1(CUgraphNode node, CUgraphNode *nodes, size_t *count);
CUresult sim_cuGraphNodeGetDependentNodes_v1(CUgraphNode node, CUgraphNode *nodes, size_t *count);
CUresult sim_cuGraphAddDependencies_v1(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult sim_cuGraphRemoveDependencies_v1(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult sim_cuGraphInstantiate_v1(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size);
CUresult sim_cuGraphExecUpdate_v1(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *why);
CUresult sim_cuStreamBeginCapture_v1(CUstream stream);
CUresult sim_cuStreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id);
CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **nodes, size_t *count);
CUresult sim_cuStreamUpdateCaptureDependencies_v1(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags);
CUresult sim_cuMemPrefetchAsync_v1(CUdeviceptr pointer, size_t bytes, CUdevice device, CUstream stream);
CUresult sim_cuMemAdvise_v1(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUdevice device);

/* The functions that the driver calls (cu_objects.h). */
#define SIM_X(result, name, arguments) result sim_##name arguments;
SIM_PROGRAMS_CALLS(SIM_X)
#undef SIM_X
extern const sim_programs_table sim_all_programs; /* join.c */

typedef struct sim_graph sim_graph;
typedef struct sim_node sim_node;

/* An edge of the dependency graph, as one node sees it: the node at the other end, and the edge's data of the API. */
typedef struct sim_edge {
    sim_node *node;
    CUgraphEdgeData data;
} sim_edge;
typedef struct sim_edges {
    sim_edge *list;
    size_t count, capacity;
} sim_edges;

/* A node of a graph. `before` lists the nodes on which this node depends, and `after` lists the nodes that depend on
 * this node. Every edge is in the lists of both of its nodes. */
struct sim_node {
    sim_object object;
    sim_graph *graph;
    sim_node *next, *previous; /* the next and the previous node of the graph, in order of creation */
    sim_edges before, after;
    sim_op op;
    uint64_t original; /* handle of the node of which this node is a copy, or 0 */
    size_t number;     /* a number that algorithms use while they traverse the graph */
    bool disabled;     /* the node does not run; used only in executable graphs */
};

/* The references of a graph to one user object. */
typedef struct sim_hold {
    uint64_t user;
    unsigned count;
} sim_hold;

/* A graph of dependencies. A graph is `capturing` while a stream is captured into it. A graph is `internal` if it is
 * the copy that belongs to an executable graph, or a clone of such a copy. Any other graph is open to the program. */
struct sim_graph {
    sim_object object;
    sim_node *first, *last;
    size_t count;
    sim_node *owner;   /* the node to which this child graph belongs, or NULL */
    uint64_t original; /* handle of the graph of which this graph is a copy */
    unsigned depth;    /* number of levels of child graphs below this graph */
    /* Number of nodes that allocate or free memory. A program cannot clone a graph with such nodes, and the graph can
     * have only one executable graph at a time. */
    size_t memory_nodes;
    uint64_t instance; /* handle of the executable graph, if this graph has memory nodes */
    bool capturing;    /* a stream is being captured into it */
    bool internal;     /* the graph belongs to an executable graph, and its handle is not public */
    /* range [first_step, end_step) of the steps of a condition's body in an executable graph */
    size_t first_step, end_step;
    sim_hold *holds; /* the user objects that the graph keeps alive */
    size_t hold_count, hold_capacity;
};

/* An executable graph is `busy` while a launch runs, and idle at other times. It is `doomed` if the program destroyed
 * it during a launch. The simulator frees it at the end of that launch. */
typedef struct sim_exec {
    sim_object object;
    sim_graph *graph; /* a private copy of the graph */
    /* handle of the graph from which this executable graph was made, if that graph has memory nodes */
    uint64_t source;
    /* all nodes in topological order, where the nodes of child graphs and bodies follow their owner */
    sim_node **steps;
    size_t step_count, step_capacity;
    cuuint64_t flags;
    bool busy, doomed; /* see the comment of this structure */
    /* Data of graph_check.c, during a checked launch of a graph that has an edge that is not full. Otherwise NULL. */
    struct sim_parts *parts;
} sim_exec;

/* ---- operations of nodes (graph_op.c) ---- */

/* Makes an operation from the parameters of the API. The operation owns a copy of the memory to which the parameters
 * point. The caller holds the state lock. */
CUresult sim_op_make(sim_context *context, const CUgraphNodeParams *what, sim_op *op);
/* Checks the parameters of an operation for a new node. */
CUresult sim_op_check(sim_context *context, const sim_op *op);
CUresult sim_op_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_op_free(sim_context *context, sim_op *op);
/* Copies `bytes` of the caller's memory into the operation. The caller then sets the operation's pointer to the
 * copy. */
CUresult sim_op_own(sim_op *op, const void *data, size_t bytes);
/* Frees memory (sim_op.run). */
CUresult sim_free_run(sim_context **context, const sim_op *op);
/* Makes an operation on values in memory that a stream writes, or for which it waits (value.c). */
CUresult sim_memops_make(sim_context *context, sim_op *op);
/* Adds an operation to the graph of a captured stream. The operation depends on the stream's tips, and its node becomes
 * the only tip. */
CUresult sim_capture_op(sim_context *context, sim_stream *stream, sim_op *op);

/* ---- user objects (user.c) ---- */

void sim_user_release(sim_context *context, uint64_t user, unsigned count);
struct sim_user;
void sim_user_retain(struct sim_user *user, unsigned count);

/* ---- graphs (graph.c) ---- */

sim_graph *sim_graph_new(sim_context *context);
/* Frees a graph with its nodes and child graphs, and releases its user objects. */
void sim_graph_close(sim_context *context, sim_graph *graph);
CUresult sim_graph_clone(sim_context *context, const sim_graph *from, sim_graph **to);
/* Returns the graph with this handle, or NULL. The function does not find internal graphs. */
sim_graph *sim_graph_of(const sim_context *context, CUgraph handle);
sim_node *sim_node_of(const sim_context *context, CUgraphNode handle);
/* Adds a node, which takes ownership of `op`. The dependencies must be nodes of the same graph. */
CUresult sim_node_add(sim_context *context, sim_graph *graph, const sim_edge *before, size_t count, sim_op *op,
                      sim_node **node);
void sim_node_close(sim_context *context, sim_node *node);
/* Reads a list of dependencies in the form of the API, and rejects nodes of other graphs and duplicates. The caller
 * frees *edges. */
CUresult sim_edges_read(sim_context *context, const sim_graph *graph, const CUgraphNode *nodes,
                        const CUgraphEdgeData *data, size_t count, sim_edge **edges);
/* Returns true if a program may add a node with these dependencies. */
bool sim_edges_fit(const sim_edge *edges, size_t count, const sim_op *to);
/* Sorts the graph's nodes topologically (Kahn's algorithm). If there is a cycle, *stuck becomes a node that is in the
 * cycle or depends on it. */
CUresult sim_graph_order(sim_context *context, sim_graph *graph, sim_node **order, sim_node **stuck);

/* Replaces the parameters of a node. The kind and the attributes of the node do not change. If `exec` is true, the node
 * is in an executable graph, and its context does not change either. */
CUresult sim_op_replace(sim_context *context, sim_op *at, const CUgraphNodeParams *what, bool exec);

/* ---- conditions (condition.c): the bodies of a conditional node are graphs; the operation of the node owns their
 * handles ---- */

CUresult sim_condition_make(sim_context *context, sim_op *op);
/* Replaces the bodies of `to`, which shares its array of bodies with `from`, by copies. */
CUresult sim_condition_copy(sim_context *context, const sim_op *from, sim_op *to);
void sim_condition_close(sim_context *context, const sim_op *op);
/* Returns the number of bodies of an operation, or 0 if it is not a condition. */
unsigned sim_condition_count(const sim_op *op);
sim_graph *sim_condition_body(const sim_context *context, const sim_op *op, unsigned index);
/* Returns true if a node of this type may be in the graph. Bodies of conditions allow only some types. */
bool sim_condition_allows(const sim_graph *graph, CUgraphNodeType type);
/* This function runs when a graph with this node is launched. If the condition has a default value, the function sets
 * the condition to it. */
void sim_condition_start(sim_context *context, const sim_op *op);
/* Returns the number of the body that the condition selects now, or -1 if it selects none. */
int sim_condition_choose(const sim_context *context, const sim_op *op);

/* ---- pools that processes share (pool_share.c). Under the state lock ---- */

/* Returns the pool with this handle, which may be a default pool, or NULL. */
sim_pool *sim_pool_at(sim_context *context, CUmemoryPool handle);
/* Makes a file for the pool. `number` is the number of the pool's device on the machine. */
bool sim_pool_open(sim_pool *pool, unsigned number);
/* Allocates zeroed memory in the file of the pool. Returns the address of the memory, or 0 after a failure. */
uint64_t sim_pool_take(sim_pool *pool, uint64_t bytes);
/* This function runs after memory was freed. If the memory belongs to a shared pool, the function returns it to the
 * pool's file. For other memory the function does nothing. */
void sim_pool_let(sim_context *context, uint64_t address);

/* ---- executable graphs (graph_exec.c) ---- */

/* Begins a call about an executable graph. Waits until no launch uses the graph. On success holds both locks, sets
 * *context and *exec, and returns CUDA_SUCCESS. */
CUresult sim_exec_begin(CUgraphExec handle, sim_context **context, sim_exec **exec);
/* Returns the node of an executable graph that is the copy of a graph's node, or NULL. */
sim_node *sim_exec_node(const sim_exec *exec, CUgraphNode handle);

/* ---- the order of nodes, for checks (graph_check.c). Under both locks. If sim_exec.parts is NULL, these functions do
 * nothing ---- */

/* Returns true if the edge is full, which means that its second node waits for the end of its first node. */
bool sim_edge_is_full(const CUgraphEdgeData *data);
/* Prepares a launch: sets exec->parts if the launch is checked and the graph has an edge that is not full. */
void sim_parts_open(sim_exec *exec);
void sim_parts_close(sim_exec *exec);
/* Tells the checks which nodes are not ordered before step `step`, which is the next step to run. */
void sim_parts_begin(sim_context *context, const sim_exec *exec, size_t step);
/* Records that step `step` has run in the context `in`. */
void sim_parts_end(const sim_context *in, const sim_exec *exec, size_t step);

#endif
