/* hosts.h - for the suites of the catalogue's host functions: gives a function in the form that an engine has after its
 * registration. */
#ifndef TEST_HOSTS_H
#define TEST_HOSTS_H

#include "call.h"
#include "catalogue.h"
#include "check.h"

/* Returns the host function of this name, which the catalogue must have. */
static inline const kiln__host *builtin(const char *name)
{
    static kiln__host hosts[128];
    const kiln_host_info *info;
    size_t i = 0;
    while ((info = kiln_catalogue_host(i)) && strcmp(info->name, name) != 0)
        i++;
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    CU_ASSERT_FATAL(i < KILN__COUNT(hosts));
    hosts[i] = (kiln__host){info->name, info->uses, kiln__catalogue_find(name)->function, NULL};
    return &hosts[i];
}

#endif
