/* condition.c - conditional nodes of graphs: if, while, switch. A condition is a word in device memory, and its handle
 * is the address of the word. In a kernel, cudaGraphSetConditional() writes the word (device/vm/runtime.c). A condition
 * exists as long as its context, because executable graphs and kernels may use it after its graph was destroyed. */
#include <string.h>

#include "cu_graph.h"

typedef struct sim_condition {
    sim_object object;
    uint64_t address;
    uint32_t initial;
    bool assigns; /* each launch sets the condition to its initial value */
} sim_condition;

static sim_condition *find_condition(const sim_context *context, uint64_t handle)
{
    for (sim_object *object = context->objects; object; object = object->next)
        if (object->kind == SIM_CONDITION && ((sim_condition *)object)->address == handle)
            return (sim_condition *)object;
    return NULL;
}

CUresult sim_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext of,
                                            unsigned initial, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin_work(&context));
    if (!handle || !sim_graph_of(context, graph) || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT))
        return sim_end_work(context, CUDA_ERROR_INVALID_VALUE);
    if (of && sim_context_find(of) != context)
        return sim_end_work(context, CUDA_ERROR_INVALID_CONTEXT);
    const uint64_t address = vm_alloc(context->device, sizeof(uint32_t));
    sim_condition *made = address ? sim_object_new(context, SIM_CONDITION, sizeof *made) : NULL;
    if (!made) {
        if (address)
            vm_free(context->device, address);
        return sim_end_work(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    vm_set_internal(context->device, address);
    vm_set_owner(context->device, address, made->object.handle);
    memset(vm_pointer(context->device, address, sizeof(uint32_t)), 0, sizeof(uint32_t));
    made->address = address;
    made->initial = initial;
    made->assigns = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    *handle = address;
    return sim_end_work(context, CUDA_SUCCESS);
}

/* ---- nodes ----
 *
 * The operation has two copies of the list of its bodies' handles. The operation uses the first copy. The program gets
 * the second copy, so that the program cannot change the first copy. */

unsigned sim_condition_count(const sim_op *op)
{
    return op->what.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && op->owned ? op->what.conditional.size : 0;
}

sim_graph *sim_condition_body(const sim_context *context, const sim_op *op, unsigned index)
{
    return sim_object_find(context, ((const CUgraph *)op->owned)[index], SIM_GRAPH);
}

void sim_condition_close(sim_context *context, const sim_op *op)
{
    for (unsigned k = 0; k < sim_condition_count(op); k++) {
        sim_graph *body = sim_condition_body(context, op, k);
        if (body)
            sim_graph_close(context, body);
    }
}

static bool right_size(CUgraphConditionalNodeType type, unsigned size)
{
    enum { MOST = 1 << 16 };
    switch (type) {
    case CU_GRAPH_COND_TYPE_IF: return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return size > 0 && size <= MOST;
    }
    return false;
}

CUresult sim_condition_make(sim_context *context, sim_op *op)
{
    CUDA_CONDITIONAL_NODE_PARAMS *what = &op->what.conditional;
    if (!find_condition(context, what->handle) || !right_size(what->type, what->size))
        return CUDA_ERROR_INVALID_VALUE;
    if (what->ctx && sim_context_find(what->ctx) != context)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUgraph *bodies = kiln__calloc(sim_memory(), what->size, 2 * sizeof(CUgraph));
    if (!bodies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->owned = bodies;
    op->owned_bytes = what->size * 2 * sizeof(CUgraph);
    what->phGraph_out = bodies + what->size;
    for (unsigned k = 0; k < what->size; k++) {
        const sim_graph *made = sim_graph_new(context);
        if (!made) { /* the caller frees the bodies that were already made before the failure */
            sim_op_free(context, op);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        bodies[k] = what->phGraph_out[k] = SIM_HANDLE(CUgraph, made);
    }
    return CUDA_SUCCESS;
}

CUresult sim_condition_copy(sim_context *context, const sim_op *from, sim_op *to)
{
    CUgraph *bodies = to->owned;
    memset(bodies, 0, to->owned_bytes);
    to->what.conditional.phGraph_out = bodies + to->what.conditional.size;
    for (unsigned k = 0; k < to->what.conditional.size; k++) {
        sim_graph *made = NULL;
        SIM_TRY(sim_graph_clone(context, sim_condition_body(context, from, k), &made));
        bodies[k] = to->what.conditional.phGraph_out[k] = SIM_HANDLE(CUgraph, made);
    }
    return CUDA_SUCCESS;
}

bool sim_condition_allows(const sim_graph *graph, CUgraphNodeType type)
{
    bool inside = false;
    for (const sim_graph *up = graph; up->owner && !inside; up = up->owner->graph)
        inside = up->owner->op.what.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    return !inside || type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_EMPTY ||
           type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* ---- launches ---- */

void sim_condition_start(sim_context *context, const sim_op *op)
{
    const sim_condition *condition = sim_condition_count(op) ? find_condition(context, op->what.conditional.handle)
                                                             : NULL;
    void *word = condition && condition->assigns ? vm_pointer(context->device, condition->address, sizeof(uint32_t))
                                                 : NULL;
    if (word)
        memcpy(word, &condition->initial, sizeof condition->initial);
}

int sim_condition_choose(const sim_context *context, const sim_op *op)
{
    const CUDA_CONDITIONAL_NODE_PARAMS *what = &op->what.conditional;
    const void *word = vm_pointer_read(context->device, what->handle, sizeof(uint32_t));
    uint32_t value = 0;
    if (word)
        memcpy(&value, word, sizeof value);
    if (what->type == CU_GRAPH_COND_TYPE_SWITCH)
        return value < what->size ? (int)value : -1;
    return value ? 0 : what->type == CU_GRAPH_COND_TYPE_IF && what->size == 2 ? 1 : -1;
}
