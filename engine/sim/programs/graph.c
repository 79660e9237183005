/* graph.c - graphs: nodes, dependencies, copies, references to user objects. graph_node.c implements the kinds of
 * nodes, and graph_exec.c runs graphs. A graph belongs to the context that was current when it was created. */
#include <stdio.h>
#include <string.h>

#include "cu_graph.h"

/* The largest nesting depth of child graphs. The limit is needed because the functions that traverse child graphs are
 * recursive. */
enum { GRAPH_DEPTH = 32 };

/* ---- edges ---- */

static bool edge_push(sim_edges *edges, sim_node *node, CUgraphEdgeData data)
{
    if (!kiln__grow(sim_memory(), &edges->list, &edges->capacity, edges->count + 1, sizeof *edges->list))
        return false;
    edges->list[edges->count++] = (sim_edge){node, data};
    return true;
}

static size_t edge_find(const sim_edges *edges, const sim_node *node)
{
    size_t i = 0;
    while (i < edges->count && edges->list[i].node != node)
        i++;
    return i;
}

static void edge_drop(sim_edges *edges, const sim_node *node)
{
    size_t i = edge_find(edges, node);
    if (i == edges->count)
        return;
    memmove(edges->list + i, edges->list + i + 1, (edges->count - i - 1) * sizeof *edges->list);
    edges->count--;
}

/* Adds an edge to the lists of both nodes. If memory runs out, the function changes neither list and returns false. */
static bool add_edge(sim_node *from, sim_node *to, CUgraphEdgeData data)
{
    if (!edge_push(&from->after, to, data))
        return false;
    if (edge_push(&to->before, from, data))
        return true;
    edge_drop(&from->after, to);
    return false;
}

static void remove_edge(sim_node *from, sim_node *to)
{
    edge_drop(&from->after, to);
    edge_drop(&to->before, from);
}

/* Returns true if the data of an edge fit its first node. An edge that is not full must begin at a port of a kernel.
 * The simulator runs this kernel to its end before it runs the second node. Only the checks treat such an edge as
 * weaker (graph_check.c). */
static bool right_data(const CUgraphEdgeData *data, const sim_node *from)
{
    static const unsigned char zeros[sizeof data->reserved];
    if (memcmp(data->reserved, zeros, sizeof zeros) != 0 || data->to_port != 0)
        return false;
    bool kernel = from->op.what.type == CU_GRAPH_NODE_TYPE_KERNEL;
    return data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT
               ? data->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT ||
                     (kernel && data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
               : data->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && kernel && data->from_port != 0 &&
                     data->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
}

/* Returns true if a program may add an edge that ends at this node. A programmatic edge must end at a kernel. Only a
 * capture makes programmatic edges that end at other nodes. */
static bool right_end(const CUgraphEdgeData *data, const sim_op *to)
{
    return data->type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || to->what.type == CU_GRAPH_NODE_TYPE_KERNEL;
}

bool sim_edges_fit(const sim_edge *edges, size_t count, const sim_op *to)
{
    for (size_t i = 0; i < count; i++)
        if (!right_end(&edges[i].data, to))
            return false;
    return true;
}

CUresult sim_edges_read(sim_context *context, const sim_graph *graph, const CUgraphNode *nodes,
                        const CUgraphEdgeData *data, size_t count, sim_edge **edges)
{
    *edges = NULL;
    if (count == 0)
        return CUDA_SUCCESS;
    if (!nodes || count > graph->count)
        return CUDA_ERROR_INVALID_VALUE;
    sim_edge *list = kiln__calloc(sim_memory(), count, sizeof *list);
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (sim_node *node = graph->first; node; node = node->next)
        node->number = 0;
    for (size_t i = 0; i < count; i++) {
        sim_node *node = sim_node_of(context, nodes[i]);
        /* each node must belong to this graph and occur only once in the list */
        if (!node || node->graph != graph || node->number++ > 0 || (data && !right_data(&data[i], node))) {
            kiln__free(sim_memory(), list);
            return CUDA_ERROR_INVALID_VALUE;
        }
        list[i].node = node;
        if (data)
            list[i].data = data[i];
    }
    *edges = list;
    return CUDA_SUCCESS;
}

/* ---- nodes ---- */

static bool uses_memory(const sim_op *op)
{
    return op->what.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || op->what.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

sim_node *sim_node_of(const sim_context *context, CUgraphNode handle)
{
    sim_node *node = sim_object_find(context, handle, SIM_NODE);
    return node && !node->graph->internal ? node : NULL;
}

static void node_drop(sim_object *object)
{
    sim_node *node = (sim_node *)object;
    kiln__free(sim_memory(), node->before.list);
    kiln__free(sim_memory(), node->after.list);
    kiln__free(sim_memory(), node->op.owned); /* a child graph is a separate object and is freed separately */
}

/* Adds a node with its incoming edges. If memory runs out, the function undoes everything. The function refuses child
 * graphs that would nest too deeply. Cycles cannot arise, because the node is new. */
CUresult sim_node_add(sim_context *context, sim_graph *graph, const sim_edge *before, size_t count, sim_op *op,
                      sim_node **out)
{
    const unsigned bodies = sim_condition_count(op);
    unsigned below = op->child ? op->child->depth + 1 : 0, level = 0;
    for (unsigned k = 0; k < bodies; k++) {
        const unsigned depth = sim_condition_body(context, op, k)->depth + 1;
        below = depth > below ? depth : below;
    }
    if (!sim_condition_allows(graph, op->what.type))
        return CUDA_ERROR_NOT_SUPPORTED;
    for (const sim_graph *up = graph; up->owner; up = up->owner->graph)
        level++;
    if (level + below > GRAPH_DEPTH)
        return CUDA_ERROR_NOT_SUPPORTED;
    sim_node *node = sim_object_new(context, SIM_NODE, sizeof *node);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->graph = graph;
    node->object.drop = node_drop;
    for (size_t i = 0; i < count; i++)
        if (!add_edge(before[i].node, node, before[i].data)) {
            while (node->before.count > 0)
                remove_edge(node->before.list[0].node, node);
            sim_object_free(context, node);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    node->previous = graph->last;
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->count++;
    node->op = *op;
    *op = (sim_op){0};
    graph->memory_nodes += uses_memory(&node->op);
    if (node->op.child)
        node->op.child->owner = node;
    for (unsigned k = 0; k < bodies; k++)
        sim_condition_body(context, &node->op, k)->owner = node;
    for (sim_graph *up = graph; up->depth < below; up = up->owner->graph, below++) {
        up->depth = below;
        if (!up->owner)
            break;
    }
    *out = node;
    return CUDA_SUCCESS;
}

void sim_node_close(sim_context *context, sim_node *node)
{
    sim_graph *graph = node->graph;
    while (node->before.count > 0)
        remove_edge(node->before.list[node->before.count - 1].node, node);
    while (node->after.count > 0)
        remove_edge(node, node->after.list[node->after.count - 1].node);
    *(node->previous ? &node->previous->next : &graph->first) = node->next;
    *(node->next ? &node->next->previous : &graph->last) = node->previous;
    graph->count--;
    graph->memory_nodes -= uses_memory(&node->op);
    sim_op_free(context, &node->op);
    sim_object_free(context, node);
}

/* ---- graphs ---- */

static void graph_drop(sim_object *object) { kiln__free(sim_memory(), ((sim_graph *)object)->holds); }

sim_graph *sim_graph_new(sim_context *context)
{
    sim_graph *graph = sim_object_new(context, SIM_GRAPH, sizeof *graph);
    if (graph)
        graph->object.drop = graph_drop;
    return graph;
}

void sim_graph_close(sim_context *context, sim_graph *graph)
{
    /* close the newest node first, because its edges are at the end of the lists of other nodes */
    while (graph->last) {
        sim_node *node = graph->last;
        node->before.count = node->after.count = 0; /* no list needs an update, because all other nodes are freed too */
        sim_node_close(context, node);
    }
    for (size_t i = 0; i < graph->hold_count; i++)
        sim_user_release(context, graph->holds[i].user, graph->holds[i].count);
    sim_object_free(context, graph);
}

sim_graph *sim_graph_of(const sim_context *context, CUgraph handle)
{
    sim_graph *graph = sim_object_find(context, handle, SIM_GRAPH);
    return graph && !graph->internal ? graph : NULL;
}

/* Adds references to the user objects of a graph, so that its copy keeps these objects alive. Returns false if memory
 * runs out. */
static bool copy_references(sim_context *context, const sim_graph *from, sim_graph *to)
{
    for (size_t i = 0; i < from->hold_count; i++) {
        if (!kiln__grow(sim_memory(), &to->holds, &to->hold_capacity, to->hold_count + 1, sizeof *to->holds))
            return false;
        struct sim_user *user = sim_object_find(context, (const void *)(uintptr_t)from->holds[i].user, SIM_USER);
        if (!user)
            continue;
        to->holds[to->hold_count++] = from->holds[i];
        sim_user_retain(user, from->holds[i].count);
    }
    return true;
}

/* Copies the nodes in the order of their creation, and then the edges. Each copy remembers the handle of its
 * original. */
CUresult sim_graph_clone(sim_context *context, const sim_graph *from, sim_graph **out)
{
    sim_graph *to = sim_graph_new(context);
    sim_node **made = kiln__calloc(sim_memory(), from->count + 1, sizeof *made);
    bool ok = to && made && copy_references(context, from, to);
    size_t i = 0;
    CUresult result = ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (sim_node *node = from->first; ok && node; node = node->next, i++) {
        sim_op op;
        node->number = i;
        result = sim_op_copy(context, &node->op, &op);
        if (result == CUDA_SUCCESS)
            result = sim_node_add(context, to, NULL, 0, &op, &made[i]);
        if (result != CUDA_SUCCESS) {
            sim_op_free(context, &op);
            ok = false;
            break;
        }
        made[i]->original = node->object.handle;
    }
    for (const sim_node *node = from->first; ok && node; node = node->next)
        for (size_t k = 0; ok && k < node->before.count; k++)
            ok = add_edge(made[node->before.list[k].node->number], made[node->number], node->before.list[k].data);
    kiln__free(sim_memory(), made);
    if (!ok) {
        if (to)
            sim_graph_close(context, to);
        return result == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : result;
    }
    to->original = from->object.handle;
    *out = to;
    return CUDA_SUCCESS;
}

/* Kahn's algorithm: During the sort, `number` of a node counts its open dependencies. The function appends a node
 * without open dependencies to the order. Each successor of the node then has one open dependency less. */
CUresult sim_graph_order(sim_context *context, sim_graph *graph, sim_node **order, sim_node **stuck)
{
    size_t head = 0, tail = 0;
    (void)context;
    for (sim_node *node = graph->first; node; node = node->next) {
        node->number = node->before.count; /* number of open dependencies of the node */
        if (node->number == 0)
            order[tail++] = node;
    }
    while (head < tail) {
        const sim_node *node = order[head++];
        for (size_t i = 0; i < node->after.count; i++)
            if (--node->after.list[i].node->number == 0)
                order[tail++] = node->after.list[i].node;
    }
    if (tail == graph->count)
        return CUDA_SUCCESS;
    *stuck = graph->first;
    while (*stuck && (*stuck)->number == 0)
        *stuck = (*stuck)->next;
    return CUDA_ERROR_INVALID_VALUE; /* a cycle */
}

static bool is_captured_inside(const sim_context *context, const sim_node *node);

/* Returns true if a stream is being captured into the graph, or into a child graph or body inside it. Such a graph must
 * not be freed, because the capture and its streams point to the graph's nodes. */
static bool is_captured(const sim_context *context, const sim_graph *graph)
{
    bool captured = graph->capturing;
    for (const sim_node *node = graph->first; node && !captured; node = node->next)
        captured = is_captured_inside(context, node);
    return captured;
}

/* Returns true if a stream is being captured into the child graph or a body of a node. */
static bool is_captured_inside(const sim_context *context, const sim_node *node)
{
    bool captured = node->op.child && is_captured(context, node->op.child);
    for (unsigned k = 0; k < sim_condition_count(&node->op) && !captured; k++)
        captured = is_captured(context, sim_condition_body(context, &node->op, k));
    return captured;
}

/* Begins a call about a graph. If it returns CUDA_SUCCESS, the caller holds the state lock. */
static CUresult begin_graph(CUgraph handle, sim_context **context, sim_graph **graph)
{
    SIM_TRY(sim_begin(context));
    *graph = sim_graph_of(*context, handle);
    return *graph ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

static CUresult begin_node(CUgraphNode handle, sim_context **context, sim_node **node)
{
    SIM_TRY(sim_begin(context));
    *node = sim_node_of(*context, handle);
    return *node ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuGraphCreate(CUgraph *graph, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!graph || flags != 0)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_graph *made = sim_graph_new(context);
    if (!made)
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    *graph = SIM_HANDLE(CUgraph, made);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphDestroy(CUgraph handle)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    /* a child graph is freed with its node, and a graph that is being captured is in use */
    if (graph->owner || is_captured(context, graph))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_graph_close(context, graph);
    sim_end(CUDA_SUCCESS);
    sim_bury_users();
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *clone, CUgraph handle)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL, *made = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    if (!clone)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (graph->memory_nodes > 0)
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    CUresult result = sim_graph_clone(context, graph, &made);
    if (result == CUDA_SUCCESS)
        *clone = SIM_HANDLE(CUgraph, made);
    return sim_end(result);
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode original, CUgraph handle)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    if (!found || !graph->original)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    for (const sim_node *node = graph->first; node; node = node->next)
        if (node->original == (uintptr_t)original) {
            *found = SIM_HANDLE(CUgraphNode, node);
            return sim_end(CUDA_SUCCESS);
        }
    return sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode handle)
{
    sim_context *context = NULL;
    sim_node *node = NULL;
    SIM_TRY(begin_node(handle, &context, &node));
    if (node->graph->memory_nodes > 0)
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    if (node->graph->capturing || is_captured_inside(context, node))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_node_close(context, node);
    sim_end(CUDA_SUCCESS);
    sim_bury_users();
    return CUDA_SUCCESS;
}

/* ---- queries ---- */

/* The output of a query that returns a list of handles. A program makes two calls: one without an array to get the
 * count, then one with an array. The function sets unused entries of the array to NULL. */
typedef struct listing {
    CUgraphNode *first, *second;
    CUgraphEdgeData *data;
    size_t room, count;
} listing;

static void list_one(listing *list, const sim_node *first, const sim_node *second, const CUgraphEdgeData *data)
{
    size_t at = list->count++;
    if (at >= list->room)
        return;
    if (list->first)
        list->first[at] = SIM_HANDLE(CUgraphNode, first);
    if (list->second)
        list->second[at] = SIM_HANDLE(CUgraphNode, second);
    if (list->data)
        list->data[at] = *data;
}

static CUresult list_end(const listing *list, size_t *count)
{
    if (!list->first) {
        *count = list->count;
        return sim_end(CUDA_SUCCESS);
    }
    for (size_t at = list->count; at < list->room; at++) {
        list->first[at] = NULL;
        if (list->second)
            list->second[at] = NULL;
    }
    *count = list->count < list->room ? list->count : list->room;
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    if (!count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    listing list = {.first = nodes, .room = nodes ? *count : 0};
    for (const sim_node *node = graph->first; node; node = node->next)
        list_one(&list, node, NULL, NULL);
    return list_end(&list, count);
}

CUresult sim_cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    if (!count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    listing list = {.first = nodes, .room = nodes ? *count : 0};
    for (const sim_node *node = graph->first; node; node = node->next)
        if (node->before.count == 0)
            list_one(&list, node, NULL, NULL);
    return list_end(&list, count);
}

static bool has_data(const sim_edges *edges)
{
    for (size_t i = 0; i < edges->count; i++)
        if (edges->list[i].data.type != 0 || edges->list[i].data.from_port != 0)
            return true;
    return false;
}

CUresult sim_cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    SIM_TRY(begin_graph(handle, &context, &graph));
    if (!count || !from != !to || (data && !from))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    listing list = {.first = from, .second = to, .data = data, .room = from ? *count : 0};
    for (const sim_node *node = graph->first; node; node = node->next) {
        if (from && !data && has_data(&node->after))
            return sim_end(CUDA_ERROR_LOSSY_QUERY);
        for (size_t i = 0; i < node->after.count; i++)
            list_one(&list, node, node->after.list[i].node, &node->after.list[i].data);
    }
    return list_end(&list, count);
}

static CUresult list_neighbours(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count,
                                bool before)
{
    sim_context *context = NULL;
    sim_node *node = NULL;
    SIM_TRY(begin_node(handle, &context, &node));
    const sim_edges *edges = before ? &node->before : &node->after;
    if (!count || (data && !nodes))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (nodes && !data && has_data(edges))
        return sim_end(CUDA_ERROR_LOSSY_QUERY);
    listing list = {.first = nodes, .data = data, .room = nodes ? *count : 0};
    for (size_t i = 0; i < edges->count; i++)
        list_one(&list, edges->list[i].node, NULL, &edges->list[i].data);
    return list_end(&list, count);
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    return list_neighbours(node, nodes, data, count, true);
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data, size_t *count)
{
    return list_neighbours(node, nodes, data, count, false);
}

CUresult sim_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    sim_context *context = NULL;
    sim_node *node = NULL;
    SIM_TRY(begin_node(handle, &context, &node));
    if (!type)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    *type = node->op.what.type;
    return sim_end(CUDA_SUCCESS);
}

/* Implements the older form of the function, which has no edge data. */
CUresult sim_cuGraphGetEdges_v1(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return sim_cuGraphGetEdges(graph, from, to, NULL, count);
}

CUresult sim_cuGraphNodeGetDependencies_v1(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return list_neighbours(node, nodes, NULL, count, true);
}

CUresult sim_cuGraphNodeGetDependentNodes_v1(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return list_neighbours(node, nodes, NULL, count, false);
}

/* ---- dependencies ---- */

/* Adds or removes all edges, or no edge. */
static CUresult change_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t count, bool add)
{
    sim_context *context = NULL;
    sim_graph *graph = NULL;
    CUresult result = begin_graph(handle, &context, &graph);
    if (result != CUDA_SUCCESS || count == 0)
        return result != CUDA_SUCCESS ? result : sim_end(CUDA_SUCCESS);
    if (!from || !to)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!add && graph->memory_nodes > 0)
        return sim_end(CUDA_ERROR_NOT_SUPPORTED);
    size_t done = 0;
    for (; done < count; done++) {
        sim_node *source = sim_node_of(context, from[done]), *target = sim_node_of(context, to[done]);
        static const CUgraphEdgeData none;
        const CUgraphEdgeData *edge = data ? &data[done] : &none;
        result = CUDA_ERROR_INVALID_VALUE;
        if (!source || !target || source == target || source->graph != graph || target->graph != graph ||
            (add && (!right_data(edge, source) || !right_end(edge, &target->op))))
            break;
        size_t at = edge_find(&source->after, target);
        if (add ? at < source->after.count
                : at == source->after.count || memcmp(&source->after.list[at].data, edge, sizeof *edge) != 0)
            break;
        result = CUDA_ERROR_OUT_OF_MEMORY;
        if (add && !add_edge(source, target, *edge))
            break;
        if (!add)
            remove_edge(source, target);
        result = CUDA_SUCCESS;
    }
    while (result != CUDA_SUCCESS && done-- > 0) { /* undo the changes; adding a removed edge again cannot fail */
        sim_node *source = sim_node_of(context, from[done]), *target = sim_node_of(context, to[done]);
        if (add)
            remove_edge(source, target);
        else
            (void)add_edge(source, target, data ? data[done] : (CUgraphEdgeData){0});
    }
    return sim_end(result);
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                    const CUgraphEdgeData *data, size_t count)
{
    return change_edges(graph, from, to, data, count, true);
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       const CUgraphEdgeData *data, size_t count)
{
    return change_edges(graph, from, to, data, count, false);
}

CUresult sim_cuGraphAddDependencies_v1(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return change_edges(graph, from, to, NULL, count, true);
}

CUresult sim_cuGraphRemoveDependencies_v1(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return change_edges(graph, from, to, NULL, count, false);
}
