/* scan.c - limits the work of reading a database that somebody else may have made.
 *
 * SQLite does not notice if the pages of a table refer to the same page many times. A file of a few kilobytes may then
 * have more rows than any computer can read. The values of many rows may also share their pages. So each statement has
 * three limits:
 *
 * - The ids of the rows must rise. The SQL function kiln_rises(id) tests this, so reading a page twice causes an error.
 *   The function stands first in a WHERE clause, so SQLite calls it for every row of a scan.
 * - All values that a statement reads may together have at most as many bytes as the file (kiln__scan_step).
 * - The steps of SQLite's machine have a limit in proportion to the file, also while SQLite reads the schema. */
#include <sys/stat.h>

#include "store_internal.h"

/* A row has a header with one byte for each column. So a row takes more bytes in the file than SQLite needs steps for
 * it. */
enum { STEPS_LEAST = 1 << 26, STEPS_OF_BYTE = 16, STEPS_BETWEEN = 1 << 16 };
/* a text that is stored in UTF-16 may become longer in UTF-8 */
enum { BYTES_LEAST = 1 << 20, TIMES_LONGER = 2 };

static uint64_t measure_file(const kiln_store *store)
{
    uint64_t bytes = 0;
    for (int part = 0; part < 2; part++) {
        struct stat info;
        kiln__text path = {.mem = store->mem};
        kiln__text_printf(&path, "%s%s", store->path, part ? "-wal" : "");
        if (!path.failed && stat(path.data, &info) == 0 && info.st_size > 0)
            bytes += (uint64_t)info.st_size;
        kiln__text_free(&path);
    }
    return bytes;
}

void kiln__scan_begin(kiln_store *store) { store->scan = (kiln__scan){0}; }

/* Returns the size of the file, plus 1. A statement asks the system for the size only if it needs the size, and only
 * once. */
static uint64_t get_size(kiln_store *store)
{
    if (!store->scan.size)
        store->scan.size = measure_file(store) + 1;
    return store->scan.size;
}

static int count_steps(void *user)
{
    kiln_store *store = user;
    store->scan.steps += STEPS_BETWEEN;
    return store->scan.steps > STEPS_LEAST && store->scan.steps / STEPS_OF_BYTE > get_size(store);
}

static void rises(sqlite3_context *context, int count, sqlite3_value **values)
{
    kiln_store *store = sqlite3_user_data(context);
    const int64_t id = count ? sqlite3_value_int64(values[0]) : 0;
    if (store->scan.rows++ && id <= store->scan.last)
        sqlite3_result_error_code(context, SQLITE_CORRUPT);
    else
        sqlite3_result_int(context, 1);
    store->scan.last = id;
}

int kiln__scan_open(kiln_store *store)
{
    kiln__scan_begin(store);
    sqlite3_progress_handler(store->db, STEPS_BETWEEN, count_steps, store);
    return sqlite3_create_function_v2(store->db, "kiln_rises", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, store, rises, NULL,
                                      NULL, NULL);
}

int kiln__scan_step(kiln_store *store, sqlite3_stmt *statement)
{
    const int code = sqlite3_step(statement);
    for (int at = 0; code == SQLITE_ROW && at < sqlite3_column_count(statement); at++) {
        const int type = sqlite3_column_type(statement, at);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            store->scan.bytes += (uint64_t)sqlite3_column_bytes(statement, at);
    }
    const bool longer = store->scan.bytes > BYTES_LEAST && store->scan.bytes / TIMES_LONGER > get_size(store);
    return code == SQLITE_ROW && longer ? SQLITE_CORRUPT : code;
}
