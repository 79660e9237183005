/* count.c - counts the valid configurations of a space. */
#include "index.h"
#include "space_internal.h"

kiln_status kiln__space_count_within(const kiln__space *space, kiln__effort *effort, bool *counted, uint64_t *valid,
                                     kiln_error **error)
{
    kiln__index *index = NULL;
    kiln_status status = kiln__index_open_within(space, effort, &index, valid, error);
    *counted = index != NULL;
    if (index)
        *valid = kiln__index_count(index);
    kiln__index_free(index);
    if (status != KILN_OK || *counted || *valid > 0 || !effort || effort->stopped)
        return status;
    /* The index ended before it had counted all groups of tuning parameters, so it has no lower bound. A short walk may
     * give a lower bound. */
    kiln__effort little = {.most = 1 << 22, .stop = effort->stop, .user = effort->user};
    status = kiln__space_walk_count(space, &little, valid, error);
    *counted = status == KILN_OK && !little.over && *valid < UINT64_MAX;
    effort->stopped |= little.stopped;
    return status;
}

kiln_status kiln__space_count(const kiln__space *space, uint64_t *valid, kiln_error **error)
{
    bool counted;
    return kiln__space_count_within(space, NULL, &counted, valid, error);
}
