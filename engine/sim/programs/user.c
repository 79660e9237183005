/* user.c - user objects. A user object is an object of the host that exists as long as the program or a graph
 * references it. The call that releases the last reference runs the destructor before it returns, and holds no locks
 * meanwhile. */
#include <limits.h>

#include "cu_graph.h"

struct sim_user {
    sim_object object;
    unsigned count;
    sim_end_of *end;
};

static void user_drop(sim_object *object)
{
    sim_end_of *end = ((struct sim_user *)object)->end;
    if (end)
        sim_bury(end);
}

void sim_user_retain(struct sim_user *user, unsigned count)
{
    user->count = count <= UINT_MAX - user->count ? user->count + count : UINT_MAX;
}

void sim_user_release(sim_context *context, uint64_t handle, unsigned count)
{
    struct sim_user *user = sim_object_find(context, (const void *)(uintptr_t)handle, SIM_USER);
    if (!user)
        return;
    user->count -= count < user->count ? count : user->count;
    if (user->count == 0)
        sim_object_free(context, user);
}

CUresult sim_cuUserObjectCreate(CUuserObject *object, void *pointer, CUhostFn destroy, unsigned count, unsigned flags)
{
    sim_context *context;
    SIM_TRY(sim_begin(&context));
    if (!object || !destroy || count == 0 || count > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    struct sim_user *made = sim_object_new(context, SIM_USER, sizeof *made);
    sim_end_of *end = made ? kiln__calloc(sim_memory(), 1, sizeof *end) : NULL;
    if (!end) {
        if (made)
            sim_object_free(context, made);
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *end = (sim_end_of){.destroy = destroy, .pointer = pointer};
    made->end = end;
    made->count = count;
    made->object.drop = user_drop;
    *object = SIM_HANDLE(CUuserObject, made);
    return sim_end(CUDA_SUCCESS);
}

/* Begins a call about `count` references to a user object. */
static CUresult begin_user(CUuserObject handle, unsigned count, sim_context **context, struct sim_user **user)
{
    SIM_TRY(sim_begin(context));
    *user = sim_object_find(*context, handle, SIM_USER);
    return *user && count > 0 && count <= INT_MAX ? CUDA_SUCCESS : sim_end(CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    sim_context *context = NULL;
    struct sim_user *user = NULL;
    SIM_TRY(begin_user(handle, count, &context, &user));
    sim_user_retain(user, count);
    return sim_end(CUDA_SUCCESS);
}

CUresult sim_cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    sim_context *context = NULL;
    struct sim_user *user = NULL;
    SIM_TRY(begin_user(handle, count, &context, &user));
    if (count > user->count)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    sim_user_release(context, user->object.handle, count);
    sim_end(CUDA_SUCCESS);
    sim_bury_users();
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count, unsigned flags)
{
    sim_context *context = NULL;
    struct sim_user *user = NULL;
    SIM_TRY(begin_user(handle, count, &context, &user));
    sim_graph *graph = sim_graph_of(context, graph_handle);
    if (!graph || (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE) ||
        ((flags & CU_GRAPH_USER_OBJECT_MOVE) && count > user->count))
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    if (!kiln__grow(sim_memory(), &graph->holds, &graph->hold_capacity, graph->hold_count + 1, sizeof *graph->holds))
        return sim_end(CUDA_ERROR_OUT_OF_MEMORY);
    /* with CU_GRAPH_USER_OBJECT_MOVE the caller's references become references of the graph */
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        sim_user_retain(user, count);
    graph->holds[graph->hold_count++] = (sim_hold){user->object.handle, count};
    return sim_end(CUDA_SUCCESS);
}

/* Releases references of a graph to a user object. If no reference is left, the function runs the destructor without
 * locks. */
CUresult sim_cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned count)
{
    sim_context *context = NULL;
    struct sim_user *user = NULL;
    SIM_TRY(begin_user(handle, count, &context, &user));
    sim_graph *graph = sim_graph_of(context, graph_handle);
    uint64_t held = 0;
    for (size_t i = 0; graph && i < graph->hold_count; i++)
        held += graph->holds[i].user == user->object.handle ? graph->holds[i].count : 0;
    if (!graph || count > held)
        return sim_end(CUDA_ERROR_INVALID_VALUE);
    unsigned left = count;
    for (size_t i = 0; i < graph->hold_count; i++) {
        sim_hold *hold = &graph->holds[i];
        unsigned now = hold->user != user->object.handle ? 0 : left < hold->count ? left : hold->count;
        hold->count -= now;
        left -= now;
    }
    size_t kept = 0;
    for (size_t i = 0; i < graph->hold_count; i++)
        if (graph->holds[i].count > 0)
            graph->holds[kept++] = graph->holds[i];
    graph->hold_count = kept;
    sim_user_release(context, user->object.handle, count);
    sim_end(CUDA_SUCCESS);
    sim_bury_users();
    return CUDA_SUCCESS;
}
