/* Reads any bytes as a file of samples, as CSV, and as a recorded space. The result is rows that can be listed, or an
 * error with a message. */
#include <stdlib.h>
#include <string.h>

#include "store_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *user, const kiln_record *record)
{
    *(size_t *)user += strlen(record->key) + record->param_count + record->size_count;
    return 0;
}

static void import_as(kiln_store *store, bool json, const uint8_t *data, size_t size)
{
    uint64_t read = 0, taken = 0;
    size_t seen = 0;
    kiln_error *error = NULL;
    char *text = malloc(size + 1); /* CSV is cut up in place */
    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
    kiln_status status = json ? kiln__json_import(store, "fuzz", text, size, &read, &taken, &error)
                              : kiln__csv_import(store, "fuzz", text, size, &read, &taken, &error);
    if (status != KILN_OK && !*kiln_error_message(error))
        __builtin_trap();
    if (status == KILN_OK && (taken > read || kiln_store_list(store, NULL, look, &seen, NULL) != KILN_OK))
        __builtin_trap();
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    kiln_error_free(error);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kiln_store *store = NULL;
    if (kiln__store_open(NULL, NULL, ":memory:", 0, &store, NULL) != KILN_OK)
        __builtin_trap();
    import_as(store, true, data, size);
    import_as(store, false, data, size);
    kiln_store_close(store);
    return 0;
}
