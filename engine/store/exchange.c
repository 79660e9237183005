/* exchange.c - exports and imports samples. Detects the format of a file, and imports a file completely or not at
 * all. */
#include <string.h>

#include "store_internal.h"

#define LIMIT ((size_t)4 << 30) /* the largest number of bytes that an imported file may have */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

kiln_status kiln_store_export(kiln_store *store, const kiln_store_filter *given, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error)
{
    uint64_t count = 0;
    kiln_store_filter filter;
    KILN__NEEDS(NULL, error, store);
    KILN__TRY(kiln__take_filter(store->mem, error, __func__, given, &filter));
    KILN__NEEDS_TEXT(store->mem, error, path);
    KILN__NEEDS_ENUM(store->mem, error, format, KILN_FORMAT_COUNT);
    if (format == KILN_FORMAT_AUTO)
        format = ends_with(path, ".json") || ends_with(path, ".json.gz") ? KILN_FORMAT_T4 : KILN_FORMAT_CSV;
    kiln_status status = format == KILN_FORMAT_CSV ? kiln__csv_export(store, &filter, path, &count, error)
                                                   : kiln__json_export(store, &filter, path, format, &count, error);
    if (status == KILN_OK && written)
        *written = count;
    return status;
}

/* Returns whether a file is JSON. The file may be packed with gzip. The heading of a CSV file begins with a letter. */
static bool is_json(const char *data, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \t\r\n", data[at]) && data[at])
        at++;
    return at < length && (data[at] == '{' || data[at] == '\x1f');
}

/* Reads the whole file, then imports it in one transaction. */
kiln_status kiln_store_import(kiln_store *store, const char *path, uint64_t *read, uint64_t *taken, kiln_error **error)
{
    KILN__NEEDS(NULL, error, store);
    KILN__NEEDS_TEXT(store->mem, error, path);
    if (store->read_only)
        return kiln__fail(store->mem, error, KILN_ERROR_ARGUMENT, "the store %s was opened read-only", store->path);
    char *data = NULL;
    size_t length = 0;
    kiln_status status = kiln__file_read(store->mem, path, LIMIT, &data, &length, error);
    if (status != KILN_OK)
        return status;
    uint64_t rows = 0, mine = 0;
    pthread_mutex_lock(&store->lock);
    store->hurry = false;
    status = kiln__store_reach(store, error);
    int code = status == KILN_OK ? sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) : SQLITE_OK;
    if (status != KILN_OK) {
        rows = mine = 0;
    } else if (code != SQLITE_OK) {
        status = kiln__store_fail(store, code, "importing", error);
    } else {
        status = is_json(data, length) ? kiln__json_import(store, path, data, length, &rows, &mine, error)
                                       : kiln__csv_import(store, path, data, length, &rows, &mine, error);
        code = status == KILN_OK ? sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) : SQLITE_OK;
        if (code != SQLITE_OK)
            status = kiln__store_fail(store, code, "importing", error);
        if (status != KILN_OK)
            sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    pthread_mutex_unlock(&store->lock);
    kiln__free(store->mem, data);
    if (status == KILN_OK && read)
        *read = rows;
    if (status == KILN_OK && taken)
        *taken = mine;
    return status;
}
