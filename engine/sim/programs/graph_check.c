/* graph_check.c - computes for the checks which nodes of a graph have no order before another node.
 *
 * Two nodes of a graph count as ordered unless an edge says that a node does not wait for the end of a kernel. Such an
 * edge is a programmatic dependency, or a dependency that only waits until the kernel has begun. Each step of a launch
 * has two sets of other steps. The first set has the steps that are not ordered before the beginning of the step. The
 * second set is a subset of the first set. It has the steps that are not even ordered before the step's accesses after
 * griddepcontrol.wait. The sets of a node N follow from the edges that end at N. The first node of such an edge, and
 * each step in the sets of the first node, is a candidate. A candidate belongs to a set of N unless an edge of N orders
 * the candidate before N. A copy or a fill never executes griddepcontrol.wait (its `did` is zero), so the steps in its
 * sets are also in the sets of the nodes after it.
 *
 * The sets of a chain of nodes that never wait grow with each node, so time and memory would be unlimited. Therefore a
 * launch reads at most WORK_MOST entries and edges for its sets. When a launch reaches this limit, the remaining nodes
 * get no sets and count as ordered. */
#include "cu_graph.h"
#include "vm_checks.h"

/* largest number of entries and edges that a launch reads, which takes less than a second */
enum { WORK_MOST = 1 << 27 };

/* An entry in the set of a step S: another step that is not ordered before S. If `beyond` is true, griddepcontrol.wait
 * does not order the other step either. */
typedef struct apart {
    size_t step;
    bool beyond;
} apart;
typedef struct part {
    vm_period span; /* the time span in which the step ran; `until` is 0 if the step has not run */
    vm_dependence did;
    size_t first, count; /* position and number of the step's entries in the list `aparts` */
    bool made;           /* the sets of the step exist; a step in a loop keeps the sets of its first run */
    size_t visited;      /* number of the last search that visited the step */
} part;
typedef struct sim_parts {
    part *list; /* indexed by step */
    apart *aparts;
    size_t apart_count, apart_room, searches;
    size_t work; /* number of entries and edges that this launch has read */
    vm_prior *priors;
    size_t prior_room;
    const sim_node **open; /* stack of a depth-first search */
    size_t open_room;
} sim_parts;

bool sim_edge_is_full(const CUgraphEdgeData *data)
{
    return data->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && data->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT;
}

void sim_parts_close(sim_exec *exec)
{
    sim_parts *parts = exec->parts;
    exec->parts = NULL;
    if (!parts)
        return;
    kiln__free(sim_memory(), parts->list);
    kiln__free(sim_memory(), parts->aparts);
    kiln__free(sim_memory(), parts->priors);
    kiln__free(sim_memory(), (void *)parts->open);
    kiln__free(sim_memory(), parts);
}

void sim_parts_open(sim_exec *exec)
{
    bool checked = false, partial = false;
    for (const sim_context *any = sim_context_after(NULL); any && !checked; any = sim_context_after(any))
        checked = any->check != NULL;
    for (size_t i = 0; checked && i < exec->step_count; i++) {
        exec->steps[i]->number = i;
        for (size_t k = 0; k < exec->steps[i]->before.count; k++)
            partial = partial || !sim_edge_is_full(&exec->steps[i]->before.list[k].data);
    }
    if (!partial)
        return;
    exec->parts = kiln__calloc(sim_memory(), 1, sizeof *exec->parts);
    if (exec->parts)
        exec->parts->list = kiln__calloc(sim_memory(), exec->step_count, sizeof *exec->parts->list);
    if (exec->parts && !exec->parts->list) /* memory ran out, so all nodes count as ordered */
        sim_parts_close(exec);
}

/* Returns the entry of step `x` in the sets of step `of`, or NULL. */
static const apart *find_apart(sim_parts *parts, size_t of, size_t x)
{
    const part *p = &parts->list[of];
    parts->work += p->count + 1;
    for (size_t k = p->first; k < p->first + p->count; k++)
        if (parts->aparts[k].step == x)
            return &parts->aparts[k];
    return NULL;
}

/* Returns true if the node depends on step `x`, by edges of any kind. Uses a depth-first search backwards along edges.
 * Edges lead to later steps, so the search skips nodes before `x`. If memory runs out, the node counts as dependent. */
static bool depends_on(sim_parts *parts, const sim_node *node, size_t x)
{
    size_t top = 0;
    const size_t search = ++parts->searches;
    for (const sim_node *now = node; now; now = top ? parts->open[--top] : NULL) {
        parts->work += now->before.count;
        for (size_t k = 0; k < now->before.count; k++) {
            const sim_node *before = now->before.list[k].node;
            if (before->number == x)
                return true;
            if (before->number < x || parts->list[before->number].visited == search)
                continue;
            parts->list[before->number].visited = search;
            if (!kiln__grow(sim_memory(), (void *)&parts->open, &parts->open_room, top + 1, sizeof(const sim_node *)))
                return true;
            parts->open[top++] = before;
        }
    }
    return false;
}

/* Finds out which order an edge guarantees. Sets *itself if the edge does not order its first node before its second
 * node. Sets *waited if the edge orders the steps for which its first node waits by griddepcontrol.wait. If
 * `after_wait` is true, the answers apply to accesses of the second node after its own wait. */
static void read_edge(const sim_parts *parts, const sim_edge *edge, bool after_wait, bool *itself, bool *waited)
{
    const vm_dependence did = parts->list[edge->node->number].did;
    const bool programmatic = edge->data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    *itself = !sim_edge_is_full(&edge->data) && !(after_wait && programmatic);
    *waited = !*itself                                                         ? did.waited
              : edge->data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ? did.waited_first
                                                                               : false;
}

/* Returns true if an edge orders step `x` before the second node of the edge. */
static bool edge_orders(sim_parts *parts, const sim_edge *edge, size_t x, bool after_wait)
{
    bool itself, waited;
    read_edge(parts, edge, after_wait, &itself, &waited);
    if (edge->node->number == x)
        return !itself;
    const apart *entry = find_apart(parts, edge->node->number, x);
    return entry ? waited && !entry->beyond : depends_on(parts, edge->node, x);
}

static bool is_ordered(sim_parts *parts, const sim_node *node, size_t x, bool after_wait)
{
    bool ordered = false;
    for (size_t k = 0; k < node->before.count && !ordered; k++)
        ordered = edge_orders(parts, &node->before.list[k], x, after_wait);
    return ordered;
}

/* Adds step `x` to the sets of a node, unless an edge of the node orders the step or the sets already contain it.
 * Returns false if memory runs out, or if the launch has read WORK_MOST entries and edges. */
static bool add_apart(sim_parts *parts, const sim_node *node, size_t x)
{
    part *p = &parts->list[node->number];
    if (parts->work > WORK_MOST)
        return false;
    if (find_apart(parts, node->number, x) || is_ordered(parts, node, x, false))
        return true;
    if (!kiln__grow(sim_memory(), &parts->aparts, &parts->apart_room, parts->apart_count + 1, sizeof *parts->aparts))
        return false;
    parts->aparts[parts->apart_count++] = (apart){x, !is_ordered(parts, node, x, true)};
    p->count++;
    return true;
}

/* Makes the sets of a node. The candidates are the first nodes of the node's edges, and the steps in the sets of these
 * first nodes. */
static void make_sets(sim_parts *parts, const sim_node *node)
{
    part *p = &parts->list[node->number];
    if (p->made)
        return;
    p->made = true;
    p->first = parts->apart_count;
    for (size_t k = 0; k < node->before.count; k++) {
        const part *before = &parts->list[node->before.list[k].node->number];
        if (!add_apart(parts, node, node->before.list[k].node->number))
            return;
        for (size_t n = 0; n < before->count; n++)
            if (!add_apart(parts, node, parts->aparts[before->first + n].step))
                return;
    }
}

/* Passes the steps that are not ordered before `step` to the checks, sorted by time. */
void sim_parts_begin(sim_context *context, const sim_exec *exec, size_t step)
{
    sim_parts *parts = exec->parts;
    if (!parts)
        return;
    part *p = &parts->list[step];
    make_sets(parts, exec->steps[step]);
    size_t count = 0;
    if (!kiln__grow(sim_memory(), &parts->priors, &parts->prior_room, p->count, sizeof *parts->priors))
        return;
    for (size_t k = p->first; k < p->first + p->count; k++) {
        const vm_prior prior = {.span = parts->list[parts->aparts[k].step].span,
                                .why = parts->aparts[k].beyond ? VM_APART_BEYOND_WAIT : VM_APART_UNTIL_WAIT};
        if (!prior.span.until) /* a disabled node has not run, so it needs no order */
            continue;
        size_t at = count++;
        for (; at > 0 && parts->priors[at - 1].span.after > prior.span.after; at--)
            parts->priors[at] = parts->priors[at - 1];
        parts->priors[at] = prior;
    }
    sim_order_part(context, parts->priors, count);
    const sim_context *in = sim_op_context(context, &exec->steps[step]->op);
    sim_order_time();
    p->did = (vm_dependence){0};
    p->span = (vm_period){.after = in && in->check ? check_host_advance_time(in->check) : 0};
}

void sim_parts_end(const sim_context *in, const sim_exec *exec, size_t step)
{
    sim_parts *parts = exec->parts;
    if (!parts || !in || !in->check)
        return;
    sim_order_time();
    parts->list[step].span.until = check_host_advance_time(in->check);
    if (exec->steps[step]->op.what.type == CU_GRAPH_NODE_TYPE_KERNEL)
        parts->list[step].did = check_dependence(in->check);
}
