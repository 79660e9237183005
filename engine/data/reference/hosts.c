#include "hosts.h"
#include "sparse.h"

const kiln__host kiln__builtin_hosts[] = {
#define KILN_X(name, uses, function, ...) {#name, uses, function, NULL},
    KILN__HOSTS(KILN_X) KILN__SPARSE_HOSTS(KILN_X)
#undef KILN_X
};
const size_t kiln__builtin_host_count = KILN__COUNT(kiln__builtin_hosts);

static const kiln_host_info infos[] = {
#define KILN_X(name, uses, function, takes, gives) {#name, uses, takes, gives},
    KILN__HOSTS(KILN_X) KILN__SPARSE_HOSTS(KILN_X)
#undef KILN_X
};

const kiln_host_info *kiln_host(size_t number) { return number < KILN__COUNT(infos) ? &infos[number] : NULL; }
