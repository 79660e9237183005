/* flow.c - reconvergence points of divergent branches: immediate post-dominators.
 *
 * A node of the control-flow graph is a basic block, a .branchtargets list, or the exit. A .branchtargets list is a
 * node so that many brx.idx with the same long list share one set of edges. Post-dominators are the dominators of the
 * reversed graph. The algorithm of Lengauer and Tarjan with path compression finds them in O(m log n) steps for a graph
 * with m edges and n nodes, without recursion. */
#include <string.h>

#include "ptx_internal.h"

#define NOWHERE UINT32_MAX

typedef struct ptx_graph {
    uint32_t node_count, exit;
    uint32_t edge_count;
    uint32_t *from, *to; /* the edges of the control-flow graph */
    /* in_edges: the sources of the edges, sorted by target; node k has in_edges[in_start[k]] to in_edges[in_start[k +
     * 1] - 1], its successors in the reversed graph */
    uint32_t *in_start, *in_edges;
    uint32_t *out_start, *out_edges; /* out_edges: the targets of the edges, sorted by source */
} ptx_graph;

/* Allocates an array of count + 1 zeros in an arena that ptx_flow() frees. Returns NULL if memory runs out. */
static uint32_t *ptx_array(kiln__arena *arena, size_t count)
{
    return kiln__arena_alloc(arena, (count + 1) * sizeof(uint32_t));
}

/* Sorts the edges by `key` with counting sort. The values of the edges with key k become sorted[start[k]] to
 * sorted[start[k + 1] - 1]. */
static bool ptx_sort_edges(kiln__arena *arena, const ptx_graph *graph, const uint32_t *key, const uint32_t *value,
                           uint32_t **start, uint32_t **sorted)
{
    *start = ptx_array(arena, (size_t)graph->node_count + 1);
    *sorted = ptx_array(arena, graph->edge_count);
    if (!*start || !*sorted)
        return false;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        (*start)[key[i] + 1]++;
    for (uint32_t i = 0; i < graph->node_count; i++)
        (*start)[i + 1] += (*start)[i];
    /* at[k] is the next free place of key k; *start must keep the first place of each key */
    uint32_t *at = ptx_array(arena, graph->node_count);
    if (!at)
        return false;
    memcpy(at, *start, graph->node_count * sizeof *at);
    for (uint32_t i = 0; i < graph->edge_count; i++)
        (*sorted)[at[key[i]]++] = value[i];
    return true;
}

typedef struct ptx_dominance {
    uint32_t *number; /* indexed by node: its depth-first number + 1, or 0 if the node was not reached */
    uint32_t *node;   /* indexed by number: the node that has this depth-first number */
    /* the arrays from here on are indexed by depth-first number */
    uint32_t *parent, *semi, *idom, *ancestor, *label, *bucket, *bucket_next, *stack;
    uint32_t count;
} ptx_dominance;

/* Searches the reversed graph depth-first from the exit, and numbers the nodes in this order. Only nodes from which the
 * exit can be reached get a number. edge[k] is scratch memory for the next edge of node k. */
static void ptx_depth_first(const ptx_graph *graph, ptx_dominance *d, uint32_t *edge)
{
    uint32_t top = 0;
    d->number[graph->exit] = 1;
    d->node[0] = graph->exit;
    d->parent[0] = NOWHERE;
    d->count = 1;
    d->stack[top] = graph->exit;
    memcpy(edge, graph->in_start, graph->node_count * sizeof *edge);
    while (top != NOWHERE) {
        uint32_t node = d->stack[top];
        if (edge[node] == graph->in_start[node + 1]) {
            top--; /* node 0 has no parent: 0 - 1 is NOWHERE */
            continue;
        }
        uint32_t next = graph->in_edges[edge[node]++];
        if (d->number[next])
            continue;
        d->node[d->count] = next;
        d->parent[d->count] = d->number[node] - 1;
        d->number[next] = ++d->count;
        d->stack[++top] = next;
    }
}

/* Returns the vertex with the least semidominator on the path from `v` to the root of its tree, without the root.
 * Compresses the path (EVAL of Lengauer and Tarjan). */
static uint32_t ptx_evaluate(ptx_dominance *d, uint32_t v)
{
    if (d->ancestor[v] == NOWHERE)
        return v;
    uint32_t top = 0;
    for (uint32_t u = v; d->ancestor[d->ancestor[u]] != NOWHERE; u = d->ancestor[u])
        d->stack[top++] = u;
    while (top) {
        uint32_t u = d->stack[--top], a = d->ancestor[u];
        if (d->semi[d->label[a]] < d->semi[d->label[u]])
            d->label[u] = d->label[a];
        d->ancestor[u] = d->ancestor[a];
    }
    return d->label[v];
}

/* Computes the immediate dominators of the reversed graph, which are the immediate post-dominators of the graph.
 *
 * This is the simple version of the algorithm of Lengauer and Tarjan (1979). Vertices are depth-first numbers, and
 * vertex 0 is the exit. The three steps are:
 * 1. Number the vertices. During this step `semi` holds the cursors of the depth-first search.
 * 2. Visit the vertices from the last to the first. Compute the semidominator of the vertex, link the vertex to its
 *    parent, and evaluate the vertices that wait in the parent's bucket.
 * 3. Visit the vertices from the first to the last, and complete each immediate dominator that differs from the
 *    semidominator.
 *
 * d->idom is valid for the `count` vertices that were reached. Returns false if memory runs out. */
static bool ptx_dominators(kiln__arena *arena, const ptx_graph *graph, ptx_dominance *d)
{
    uint32_t **const arrays[] = {&d->number,   &d->node,  &d->parent, &d->semi,        &d->idom,
                                 &d->ancestor, &d->label, &d->bucket, &d->bucket_next, &d->stack};
    for (size_t i = 0; i < KILN__COUNT(arrays); i++)
        if (!(*arrays[i] = ptx_array(arena, graph->node_count)))
            return false;
    ptx_depth_first(graph, d, d->semi);
    for (uint32_t i = 0; i < d->count; i++) {
        d->semi[i] = d->label[i] = i;
        d->ancestor[i] = d->bucket[i] = NOWHERE;
    }
    for (uint32_t w = d->count; w-- > 1;) {
        uint32_t node = d->node[w], parent = d->parent[w];
        for (uint32_t e = graph->out_start[node]; e < graph->out_start[node + 1]; e++) {
            uint32_t number = d->number[graph->out_edges[e]];
            if (!number)
                continue;
            uint32_t u = ptx_evaluate(d, number - 1);
            if (d->semi[u] < d->semi[w])
                d->semi[w] = d->semi[u];
        }
        d->bucket_next[w] = d->bucket[d->semi[w]];
        d->bucket[d->semi[w]] = w;
        d->ancestor[w] = parent;
        for (uint32_t v = d->bucket[parent]; v != NOWHERE; v = d->bucket_next[v]) {
            uint32_t u = ptx_evaluate(d, v);
            d->idom[v] = d->semi[u] < d->semi[v] ? u : parent;
        }
        d->bucket[parent] = NOWHERE;
    }
    d->idom[0] = 0;
    for (uint32_t w = 1; w < d->count; w++)
        if (d->idom[w] != d->semi[w])
            d->idom[w] = d->idom[d->idom[w]];
    return true;
}

static bool is_leave(const ptx_insn *insn)
{
    return insn->op == PTX_OP_RET || insn->op == PTX_OP_EXIT || insn->op == PTX_OP_TRAP;
}

static bool is_branch(const ptx_insn *insn) { return insn->op == PTX_OP_BRA || insn->op == PTX_OP_BRX; }

/* Numbers the basic blocks. block[i] becomes the block of instruction i, and block[count] becomes the exit. Returns the
 * number of blocks, which is also the node of the exit. The .branchtargets lists get numbers from 1 on. list[k] is the
 * number of the list whose first element is k, and *lists is the number of lists. The nodes of these lists come after
 * the node of the exit. */
static uint32_t ptx_number_blocks(const ptx_insn *insns, uint32_t count, const ptx_operand *elements, uint32_t *block,
                                  uint32_t *list, uint32_t *lists)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_branch(&insns[i]) && !is_leave(&insns[i]))
            continue;
        block[i + 1] = 1;
        if (insns[i].op == PTX_OP_BRA)
            block[insns[i].operands[0].index] = 1;
        if (insns[i].op != PTX_OP_BRX || list[insns[i].operands[1].index])
            continue;
        list[insns[i].operands[1].index] = ++*lists;
        for (uint32_t k = 0; k < insns[i].operands[1].count; k++)
            block[elements[insns[i].operands[1].index + k].index] = 1;
    }
    block[0] = 0;
    for (uint32_t i = 1; i < count; i++)
        block[i] += block[i - 1];
    uint32_t blocks = count ? block[count - 1] + 1 : 0;
    block[count] = blocks;
    return blocks;
}

static void ptx_edge(ptx_graph *graph, uint32_t from, uint32_t to)
{
    graph->from[graph->edge_count] = from;
    graph->to[graph->edge_count++] = to;
}

static void ptx_add_edges(ptx_graph *graph, const ptx_insn *insns, uint32_t count, const ptx_operand *elements,
                          const uint32_t *block, uint32_t *list)
{
    for (uint32_t i = 0; i < count; i++) {
        const ptx_insn *insn = &insns[i];
        bool branch = is_branch(insn), leave = is_leave(insn), last = block[i + 1] != block[i];
        if (leave)
            ptx_edge(graph, block[i], graph->exit);
        if (insn->op == PTX_OP_BRA)
            ptx_edge(graph, block[i], block[insn->operands[0].index]);
        if (insn->op == PTX_OP_BRX) {
            uint32_t first = insn->operands[1].index, node = graph->exit + (list[first] & ~(1u << 31));
            ptx_edge(graph, block[i], node);
            for (uint32_t k = 0; !(list[first] >> 31) && k < insn->operands[1].count; k++)
                ptx_edge(graph, node, block[elements[first + k].index]);
            list[first] |= 1u << 31;
        }
        if (last && (insn->guard != PTX_NO_PRED || (!branch && !leave)))
            ptx_edge(graph, block[i], block[i + 1]);
    }
}

bool ptx_flow(ptx_parser *p, ptx_insn *insns, uint32_t count, const ptx_operand *elements)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++)
        any |= is_branch(&insns[i]);
    if (!any)
        return true;
    kiln__arena arena = {.mem = p->mem};
    bool good = false;
    ptx_graph graph = {0};
    ptx_dominance d = {0};
    uint32_t lists = 0, *block = ptx_array(&arena, (size_t)count + 1), *list = ptx_array(&arena, p->element_count);
    if (!block || !list)
        goto done;
    graph.exit = ptx_number_blocks(insns, count, elements, block, list, &lists);
    graph.node_count = graph.exit + 1 + lists;
    size_t edges = (size_t)count * 2 + graph.exit + p->element_count;
    graph.from = ptx_array(&arena, edges);
    graph.to = ptx_array(&arena, edges);
    uint32_t *start = ptx_array(&arena, graph.node_count); /* the first instruction of each block */
    if (!graph.from || !graph.to || !start)
        goto done;
    for (uint32_t i = count; i-- > 0;)
        start[block[i]] = i;
    start[graph.exit] = count;
    ptx_add_edges(&graph, insns, count, elements, block, list);
    if (!ptx_sort_edges(&arena, &graph, graph.to, graph.from, &graph.in_start, &graph.in_edges) ||
        !ptx_sort_edges(&arena, &graph, graph.from, graph.to, &graph.out_start, &graph.out_edges) ||
        !ptx_dominators(&arena, &graph, &d))
        goto done;
    /* A .branchtargets list is no instruction, so lanes cannot reconverge there. They reconverge at the post-dominator
     * of the list instead. If this post-dominator is again a list, the loop has already replaced it, because its number
     * is lower. */
    for (uint32_t w = 1; w < d.count; w++)
        if (d.node[d.idom[w]] > graph.exit)
            d.idom[w] = d.idom[d.idom[w]];
    for (uint32_t i = 0; i < count; i++) {
        if (!is_branch(&insns[i]))
            continue;
        uint32_t number = d.number[block[i]];
        /* a block from which the exit cannot be reached has no reconvergence point */
        uint32_t node = number ? d.node[d.idom[number - 1]] : graph.exit;
        insns[i].reconverge = start[node];
    }
    good = true;
done:
    kiln__arena_free(&arena);
    return good || ptx_out_of_memory(p);
}
