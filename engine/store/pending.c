/* pending.c - keeps pending samples, which cannot be added because another process holds the store's lock. Pending
 * samples are written at once into a separate store in the same folder (STORE.pending-TIME-PID), which only this
 * process has open. This pending file serves as a write-ahead log of the store.
 *
 * The store has two states, with these transitions:
 *
 * - no pending file: `pending` is NULL. A write that finds the database locked makes the file -> pending.
 * - pending: New samples go into the file. When the database is free, one transaction adds all of them to the store,
 *   and the file is removed -> no pending file.
 *
 * If the process ends while samples are pending, the pending file stays. The next process that opens the store for
 * writing adds the samples of this file. Adding a sample twice changes nothing, because the keys of samples are unique.
 * All functions of this file run under the store's lock. */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "store_internal.h"

/* Closes the pending file. Removes it if all its samples are in the store. */
static void close_pending(kiln_store *store, bool remove_it)
{
    kiln_store *pending = store->pending;
    char *path = pending->path;
    store->pending = NULL;
    pending->path = NULL;
    if (remove_it) /* removes the file while it is locked, so that no other process begins to read the file */
        unlink(path);
    kiln_store_close(pending);
    for (int i = 0; remove_it && i < 2; i++) {
        kiln__text rest = {.mem = store->mem};
        kiln__text_printf(&rest, "%s-%s", path, i ? "shm" : "wal");
        if (!rest.failed)
            unlink(rest.data);
        kiln__text_free(&rest);
    }
    kiln__free(store->mem, path);
}

/* Adds all pending samples to the store. *read gets the result of reading the pending file. SQLITE_DONE means that all
 * samples were read. */
static int add_pending_rows(kiln_store *store, uint64_t *count, int *read)
{
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_DONE;
    kiln__scan_begin(store->pending);
    *read = sqlite3_prepare_v2(store->pending->db,
                               "SELECT " KILN__STORE_LIST " FROM sample WHERE kiln_rises(id) ORDER BY id", -1,
                               &statement, NULL);
    while (code == SQLITE_DONE && statement && (*read = kiln__scan_step(store->pending, statement)) == SQLITE_ROW) {
        kiln__store_row row;
        /* Skips a row that this library would not write, so that it does not block the other rows. */
        bool fit = kiln__store_read_row(statement, &row) == NULL;
        code = fit ? kiln__store_insert(store, &row, NULL) : SQLITE_DONE;
        *count += fit && code == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int add_in_transaction(kiln_store *store, uint64_t *count, int *read)
{
    int code = kiln__store_run(store, "BEGIN IMMEDIATE");
    *count = 0;
    *read = SQLITE_DONE;
    if (code != SQLITE_OK)
        return code;
    code = add_pending_rows(store, count, read);
    if (code == SQLITE_OK && *read != SQLITE_DONE && !kiln__store_is_damage(*read))
        code = *read;
    if (code == SQLITE_OK)
        code = kiln__store_run(store, "COMMIT");
    if (code != SQLITE_OK)
        kiln__store_run(store, "ROLLBACK");
    return code;
}

/* Handles a pending file if some of its rows could not be read. The readable part of the file is already in the store.
 * A damaged pending file is renamed and kept. If a second check finds the file intact, the function reads all rows
 * again. Returns SQLite's code. If the returned code is not SQLITE_OK, the caller keeps the file. */
static int read_again(kiln_store *store, uint64_t *count, int read)
{
    kiln_store *pending = store->pending;
    const ino_t before = pending->inode;
    pending->log = store->log;
    if (kiln__store_replace(pending, sqlite3_errstr(read), NULL) != KILN_OK)
        return read;
    if (pending->inode != before)
        return SQLITE_OK;
    const int code = add_in_transaction(store, count, &read);
    return code != SQLITE_OK ? code : read == SQLITE_DONE ? SQLITE_OK : read;
}

int kiln__pending_settle(kiln_store *store)
{
    uint64_t count = 0;
    if (!store->pending || !store->pending->db || !store->db)
        return SQLITE_OK;
    int read, code = add_in_transaction(store, &count, &read);
    if (kiln__store_is_damage(code) && kiln__store_replace(store, sqlite3_errstr(code), NULL) == KILN_OK)
        code = add_in_transaction(store, &count, &read);
    if (code == SQLITE_OK && read != SQLITE_DONE)
        code = read_again(store, &count, read);
    if (code != SQLITE_OK)
        return code;
    if (count)
        kiln__logf(&store->log, KILN_LOG_INFO, "added %llu pending samples from %s to the store %s",
                   (unsigned long long)count, store->pending->path, store->path);
    close_pending(store, true);
    return SQLITE_OK;
}

uint64_t kiln__pending_count(const kiln_store *store)
{
    int64_t count = 0;
    if (store->pending && store->pending->db)
        kiln__store_number(store->pending, "SELECT count(*) FROM sample", &count);
    return (uint64_t)count;
}

/* ---- the pending file of this process ---- */

/* Opens the pending file of this process. Another process that collects pending files may find the new file before it
 * is locked, and remove it. Then this function tries another name. It tries at most three names. */
static kiln_status open_pending(kiln_store *store, kiln_error **error)
{
    kiln_status status = KILN_ERROR_TIMEOUT;
    for (int tries = 0; tries < 3 && status == KILN_ERROR_TIMEOUT; tries++) {
        kiln__text path = {.mem = store->mem};
        kiln_error *why = NULL;
        kiln__text_printf(&path, "%s.pending-%lld-%d", store->path, (long long)kiln__today_ns(), (int)getpid());
        status = path.failed ? kiln__fail_memory(&why)
                             : kiln__store_open_for(store->mem, NULL, path.data, KILN__STORE_BESIDE, 0, NULL,
                                                    &store->pending, &why);
        if (status == KILN_OK && !kiln__file_exists(path.data)) {
            close_pending(store, false);
            status = KILN_ERROR_TIMEOUT;
        }
        kiln__text_free(&path);
        if (status != KILN_OK && status != KILN_ERROR_TIMEOUT && error && !*error)
            *error = why;
        else
            kiln_error_free(why);
    }
    if (status == KILN_OK)
        kiln__logf(&store->log, KILN_LOG_WARNING,
                   "the store %s: another process has it locked: samples are kept in %s until it "
                   "is free",
                   store->path, store->pending->path);
    return status;
}

kiln_status kiln__pending_add(kiln_store *store, const kiln__store_row *row, kiln_error **error)
{
    kiln_error *why = NULL;
    kiln_status status = store->pending ? KILN_OK : open_pending(store, &why);
    if (status == KILN_OK)
        status = kiln__store_add(store->pending, row, NULL, &why);
    if (status != KILN_OK)
        status = kiln__fail(store->mem, error, status,
                            "the store %s: another process has it locked, and the sample cannot be "
                            "written to a pending file: %s",
                            store->path, kiln_error_message(why));
    kiln_error_free(why);
    return status;
}

/* ---- closing ---- */

static kiln_status report_pending(kiln_store *store, kiln_error **error)
{
    return kiln__fail(
        store->mem, error, KILN_ERROR_TIMEOUT,
        "%llu samples are not in the store %s yet, because another "
        "process has it locked: they are in %s, and the next process that opens the store for writing adds them",
        (unsigned long long)kiln__pending_count(store), store->path, store->pending->path);
}

kiln_status kiln__store_settle(kiln_store *store, bool wait, kiln_error **error)
{
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&store->lock);
    if (store->pending) {
        if (wait)
            kiln__logf(&store->log, KILN_LOG_WARNING,
                       "waiting up to %g s for the process that has locked the store %s: %llu "
                       "samples are pending in %s",
                       store->patience / 1e3, store->path, (unsigned long long)kiln__pending_count(store),
                       store->pending->path);
        store->hurry = !wait;
        store->told = true; /* this function reports the pending samples, so nothing else needs to */
        kiln__pending_settle(store);
        if (store->pending)
            status = report_pending(store, error);
        store->told = status != KILN_OK;
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

void kiln__pending_close(kiln_store *store)
{
    if (!store->pending)
        return;
    store->hurry = true;
    kiln__pending_settle(store);
    if (!store->pending)
        return;
    kiln_error *why = NULL;
    if (!store->told) {
        report_pending(store, &why);
        kiln__logf(&store->log, KILN_LOG_WARNING, "%s", kiln_error_message(why));
        kiln_error_free(why);
    }
    close_pending(store, false);
}

/* ---- pending files of other processes ---- */

static kiln_status take_pending_file(kiln_store *store, const char *path, kiln_error **error)
{
    kiln_error *why = NULL;
    if (store->read_only) {
        kiln__logf(
            &store->log, KILN_LOG_WARNING,
            "the samples in %s are not in the store yet: the next process that opens the store for writing, such as a "
            "sweep, adds them",
            path);
        return KILN_OK;
    }
    kiln_status status = kiln__store_open_for(store->mem, &store->log, path, KILN__STORE_BESIDE, 0, NULL,
                                              &store->pending, &why);
    if (status == KILN_OK) {
        store->hurry = true;
        int code = kiln__pending_settle(store);
        if (store->pending) {
            kiln__store_fail(store, code, "adding pending samples", &why);
            close_pending(store, false);
        }
    }
    bool lives = status == KILN_ERROR_TIMEOUT; /* the process that writes to this pending file still runs */
    if (why && !lives && status != KILN_ERROR_MEMORY)
        kiln__logf(&store->log, KILN_LOG_WARNING, "cannot add the samples in %s: %s", path, kiln_error_message(why));
    kiln_error_free(why);
    return status == KILN_ERROR_MEMORY ? kiln__fail_memory(error) : KILN_OK;
}

kiln_status kiln__pending_collect(kiln_store *store, kiln_error **error)
{
    kiln__arena arena = {.mem = store->mem};
    kiln__text path = {.mem = store->mem};
    const char *folder = kiln__arena_folder(&arena, store->path), *name = strrchr(store->path, '/');
    DIR *list = folder ? opendir(folder) : NULL;
    kiln_status status = folder ? KILN_OK : kiln__fail_memory(error);
    name = name ? name + 1 : store->path;
    for (struct dirent *item; status == KILN_OK && list && (item = readdir(list));) {
        static const char mark[] = ".pending-";
        size_t length = strlen(name);
        const char *rest = item->d_name + length + sizeof mark - 1;
        if (strncmp(item->d_name, name, length) != 0 || strncmp(item->d_name + length, mark, sizeof mark - 1) != 0 ||
            !*rest || rest[strspn(rest, "0123456789-")])
            continue;
        path.length = 0;
        kiln__text_printf(&path, "%s/%s", folder, item->d_name);
        status = path.failed ? kiln__fail_memory(error) : take_pending_file(store, path.data, error);
    }
    if (list)
        closedir(list);
    kiln__text_free(&path);
    kiln__arena_free(&arena);
    return status;
}
