/* sql.c - runs statements of SQLite, and makes messages about their failures. */
#include "store_internal.h"

/* the time that a sweep waits for another process, after it has once waited in vain for the full time */
#define HURRY_MS 20

unsigned kiln__store_patience(const kiln_store *store)
{
    return store->hurry && store->patience > HURRY_MS ? HURRY_MS : store->patience;
}

bool kiln__store_stopped(const kiln_store *store) { return store->stop && *store->stop; }

bool kiln__store_is_busy(int code) { return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED; }

bool kiln__store_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_INTERRUPT;
}

/* Makes the error for a code of SQLite, with the status that corresponds to the code. Each message names the path, the
 * operation, and the remedy if there is a known remedy. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error)
{
    const kiln_allocator *mem = store->mem;
    int system = store->db ? sqlite3_system_errno(store->db) : 0;
    const char *why = system ? kiln__error_text(system) : sqlite3_errstr(code);
    switch (code & 0xff) {
    case SQLITE_NOMEM: return kiln__fail_memory(error);
    case SQLITE_FULL:
        return kiln__fail(mem, error, KILN_ERROR_IO, "the store %s: %s: the disk is full", store->path, doing);
    case SQLITE_READONLY:
        return kiln__fail(mem, error, KILN_ERROR_IO, "the store %s: %s: the file, its folder or its disk is read-only",
                          store->path, doing);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (kiln__store_stopped(store))
            return kiln__fail(mem, error, KILN_ERROR_INTERRUPTED,
                              "the store %s: %s: interrupted while another process has it locked", store->path, doing);
        return kiln__fail(mem, error, KILN_ERROR_TIMEOUT,
                          "the store %s: %s: another process has it locked; waited "
                          "%g s (fuser shows which one); end it, or give another store (--store)",
                          store->path, doing, kiln__store_patience(store) / 1e3);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return kiln__fail(mem, error, KILN_ERROR_IO, "the store %s: %s: it is damaged (%s)", store->path, doing,
                          sqlite3_errstr(code));
    case SQLITE_INTERRUPT:
        return kiln__fail(mem, error, KILN_ERROR_IO,
                          "the store %s: %s: it is damaged (it takes more steps than a file of its size needs)",
                          store->path, doing);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_IOERR:
    case SQLITE_AUTH: return kiln__fail(mem, error, KILN_ERROR_IO, "the store %s: %s: %s", store->path, doing, why);
    case SQLITE_TOOBIG:
        return kiln__fail(mem, error, KILN_ERROR_IO, "the store %s: %s: a value is larger than a store can have",
                          store->path, doing);
    case SQLITE_ERROR: /* the tables were correct when the store was opened, so they have changed since */
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return kiln__fail(mem, error, KILN_ERROR_IO,
                          "the store %s: %s: its tables were changed or are damaged: %s; move it "
                          "away or give another store (--store)",
                          store->path, doing, store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(code));
    default:
        return kiln__fail(mem, error, KILN_ERROR_INTERNAL, "the store %s: %s: %s", store->path, doing,
                          store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(code));
    }
}

int kiln__store_number(kiln_store *store, const char *sql, int64_t *value)
{
    sqlite3_stmt *statement = NULL;
    kiln__scan_begin(store);
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        *value = sqlite3_column_int64(statement, 0);
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

int kiln__store_run(kiln_store *store, const char *sql)
{
    kiln__scan_begin(store);
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

kiln_status kiln__store_import_on(const kiln_store *store, const char *path, kiln_error **error)
{
    return !kiln__store_stopped(store)
               ? KILN_OK
               : kiln__fail(store->mem, error, KILN_ERROR_INTERRUPTED, "%s: interrupted; nothing was imported", path);
}
