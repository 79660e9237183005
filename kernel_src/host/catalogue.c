/* catalogue.c - the list of the host functions of all families, and their registration. */
#include <string.h>

#include "catalogue.h"

static const kiln__family *const families[] = {
#define KILN_X(name) &kiln__family_##name,
    KILN__FAMILIES(KILN_X)
#undef KILN_X
};

/* Returns the host function with this number. The numbers count the functions of all families in order. After the last
 * function, returns NULL. */
static const kiln__family_host *host_at(size_t number)
{
    for (size_t i = 0; i < KILN__COUNT(families); i++) {
        if (number < families[i]->count)
            return &families[i]->hosts[number];
        number -= families[i]->count;
    }
    return NULL;
}

const kiln__family_host *kiln__catalogue_find(const char *name)
{
    const kiln__family_host *host;
    for (size_t i = 0; (host = host_at(i)) && strcmp(host->info.name, name) != 0; i++)
        ;
    return host;
}

const kiln_host_info *kiln_catalogue_host(size_t number)
{
    const kiln__family_host *host = host_at(number);
    return host ? &host->info : NULL;
}

/* libkiln makes every error that leaves this library, even the error for an engine that is NULL. The caller frees the
 * error with the kiln_error_free() of libkiln. This function does not know the constant error in this library's copy of
 * base/. */
kiln_status kiln_catalogue_register(kiln_engine *engine, kiln_error **error)
{
    const kiln__family_host *host;
    kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && (host = host_at(i)); i++) {
        status = kiln_register_host(engine, host->info.name, host->info.uses | KILN_HOST_SHIPPED, host->function, NULL,
                                    error);
        if (status == KILN_OK)
            status = kiln_describe_host(engine, host->info.name, host->info.takes, error);
    }
    return status;
}
