/* store.c - opens a store, waits for other processes, and replaces a damaged database.
 *
 * A kiln_store object is in one of two states:
 *
 * - connected: `db` is open.
 * - disconnected: `db` is NULL, because damage could not be repaired or a reopening failed. kiln__store_reach()
 *   reconnects.
 *
 * In both states `pending` is set while another process holds the lock (see pending.c). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "store_internal.h"

#define TELL_MS 1000 /* a wait that takes longer than this number of milliseconds is logged */

#define MARK(kind, name, unit, text) "?,"
#define SET(kind, name, unit, text) #name "=excluded." #name ","
static const char insert_sql[] = "INSERT INTO sample (" KILN__STORE_LIST ") VALUES (" KILN__STORE_COLUMNS(
    MARK) "?) "
          "ON CONFLICT (key) DO UPDATE SET " KILN__STORE_COLUMNS(
              SET) "times=excluded.times, path=CASE WHEN sample.path = '' OR length(sample.path) > " KILN__FILES_LONG
                   " THEN excluded.path WHEN excluded.path = '' OR instr(char(10) || sample.path || char(10), char(10) "
                   "|| excluded.path || char(10)) THEN sample.path ELSE sample.path || char(10) || excluded.path END, "
                   "taken=CASE WHEN typeof(sample.taken) = 'integer' AND sample.taken > excluded.taken THEN sample.taken "
                   "ELSE excluded.taken END "
                   /* a row whose column `made` is damaged is replaced too */
                   "WHERE excluded.made > sample.made OR typeof(sample.made) <> 'integer' OR (excluded.made = "
                   "sample.made AND excluded.taken > sample.taken)";
static const char find_sql[] = "SELECT " KILN__STORE_LIST " FROM sample WHERE key = ? AND reusable";
#undef MARK
#undef SET

/* ---- the connection ---- */

static void disconnect(kiln_store *store)
{
    sqlite3_finalize(store->insert);
    sqlite3_finalize(store->find);
    sqlite3_close_v2(store->db);
    store->insert = store->find = NULL;
    store->db = NULL;
}

/* SQLite calls this busy handler when another process holds the lock. The handler returns 1 to let SQLite try again. It
 * returns 0 when the time is over or the caller stops. It logs a long wait once. */
static int wait_for_lock(void *user, int tries)
{
    kiln_store *store = user;
    uint64_t now = kiln__now_ns();
    if (tries == 0) {
        store->wait_from = now;
        store->wait_told = store->beside || store->told;
    }
    uint64_t waited = (now - store->wait_from) / 1000000, most = kiln__store_patience(store);
    if (kiln__store_stopped(store))
        return 0;
    if (waited >= most) {
        store->vain += !store->hurry;
        store->late = true;
        return 0;
    }
    if (waited >= TELL_MS && !store->wait_told) {
        store->wait_told = true;
        kiln__logf(&store->log, KILN_LOG_WARNING, "the store %s: another process has it locked: waiting up to %g s",
                   store->path, (double)most / 1e3);
    }
    nanosleep(&(struct timespec){.tv_nsec = tries < 10 ? 1000000 : 5000000}, NULL);
    return 1;
}

/* Sets the journal mode of the database. The index of a write-ahead log is in memory that all processes of a machine
 * share. On a network file system, processes of two machines would damage the database. So the store uses a rollback
 * journal there, which needs only locks. SQLite does not wait for other processes when the journal mode changes, so
 * this function waits. */
static int set_journal(kiln_store *store)
{
    for (unsigned waited = 0;; waited += 5) {
        int code = kiln__store_run(store, store->network ? "PRAGMA journal_mode=TRUNCATE" : "PRAGMA journal_mode=WAL");
        if ((code & 0xff) != SQLITE_BUSY || waited >= kiln__store_patience(store) || kiln__store_stopped(store))
            return code;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

/* Hardens the connection. Creates the tables if the database is empty. If it is not empty, checks its tables, and
 * upgrades an earlier version. Then prepares the statements. *code gets SQLite's code. */
static kiln_status prepare_database(kiln_store *store, int *code, kiln_error **error)
{
    int64_t version = 0, objects = 0;
    kiln_status status = KILN_OK;
    *code = kiln__schema_harden(store);
    if (*code == SQLITE_OK && store->beside)
        *code = kiln__store_run(store, "PRAGMA locking_mode=EXCLUSIVE");
    if (*code == SQLITE_OK)
        *code = kiln__store_number(store, "SELECT count(*) FROM sqlite_master", &objects);
    if (*code == SQLITE_OK && objects == 0 && !store->read_only) {
        *code = set_journal(store);
        if (*code == SQLITE_OK)
            *code = kiln__schema_make(store);
    }
    if (*code == SQLITE_OK)
        status = kiln__schema_check(store, &version, code, error);
    if (*code != SQLITE_OK)
        return kiln__store_fail(store, *code, "opening it", error);
    if (status != KILN_OK)
        return status;
    if (!store->read_only)
        *code = set_journal(store);
    if (*code == SQLITE_OK && version < KILN__STORE_VERSION)
        *code = kiln__schema_upgrade(store, version);
    if (*code == SQLITE_OK && !store->read_only) {
        /* If a process is killed, no samples are lost. A power failure may lose the last samples. On a network file
         * system the database has a rollback journal. With a rollback journal a power failure could damage the
         * database. So on a network file system each commit is synced. */
        *code = kiln__store_run(store, store->network ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
        if (*code == SQLITE_OK)
            *code = sqlite3_prepare_v3(store->db, insert_sql, -1, SQLITE_PREPARE_PERSISTENT, &store->insert, NULL);
    }
    if (*code == SQLITE_OK)
        *code = sqlite3_prepare_v3(store->db, find_sql, -1, SQLITE_PREPARE_PERSISTENT, &store->find, NULL);
    return *code == SQLITE_OK ? KILN_OK : kiln__store_fail(store, *code, "opening it", error);
}

/* Returns "file:PATH?immutable=1". SQLite needs this form on read-only media, where it cannot create its shared
 * memory. */
static char *immutable_name(kiln_store *store)
{
    kiln__text name = {.mem = store->mem};
    kiln__text_puts(&name, "file:");
    for (const char *at = store->path; *at; at++)
        if (strchr("?#%", *at))
            kiln__text_printf(&name, "%%%02x", (unsigned char)*at);
        else
            kiln__text_add(&name, at, 1);
    kiln__text_puts(&name, "?immutable=1");
    if (!name.failed)
        return name.data;
    kiln__text_free(&name);
    return NULL;
}

static void check_disk(kiln_store *store)
{
    char folder[4096];
    const char *slash = strrchr(store->path, '/');
    int length = slash ? (int)(slash - store->path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? store->path : ".");
    store->network = kiln__network_disk(folder);
    if (store->network && !store->told_network && !store->beside)
        kiln__logf(
            &store->log, KILN_LOG_INFO,
            "the store %s is on a network file system (%s), so it uses a rollback journal, which is slower; a store "
            "on a local disk is faster (--store, KILN_STORE)",
            store->path, store->network);
    store->told_network = true;
}

static kiln_status connect_to(kiln_store *store, const char *name, int flags, int *code, kiln_error **error)
{
    struct stat info;
    check_disk(store);
    *code = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (*code != SQLITE_OK) {
        kiln_status status = kiln__store_fail(store, *code, "opening it", error);
        disconnect(store);
        return status;
    }
    sqlite3_busy_handler(store->db, wait_for_lock, store);
    *code = kiln__scan_open(store);
    kiln_status status = *code == SQLITE_OK ? prepare_database(store, code, error)
                                            : kiln__store_fail(store, *code, "opening it", error);
    if (stat(store->path, &info) == 0) {
        store->device = info.st_dev;
        store->inode = info.st_ino;
    }
    if (status != KILN_OK)
        disconnect(store);
    return status;
}

static kiln_status connect_store(kiln_store *store, int *code, kiln_error **error)
{
    if (!store->read_only)
        return connect_to(store, store->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, code, error);
    kiln_error *why = NULL;
    kiln_status status = connect_to(store, store->path, SQLITE_OPEN_READONLY, code, &why);
    int kind = *code & 0xff;
    if (status == KILN_ERROR_IO && (kind == SQLITE_CANTOPEN || kind == SQLITE_READONLY)) {
        char *name = immutable_name(store);
        if (!name) {
            kiln_error_free(why);
            return kiln__fail_memory(error);
        }
        kiln_error_free(why);
        why = NULL;
        status = connect_to(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, code, &why);
        kiln__free(store->mem, name);
    }
    if (status != KILN_OK && error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

/* ---- damage ---- */

/* Renames a damaged database and the files that belong to it. Returns 0, or the number of a system error. */
static int rename_damaged(kiln_store *store, kiln__text *to)
{
    /* The database itself is renamed last. If renaming one of the other files fails, the next attempt still finds the
     * database. */
    static const char *const parts[] = {"-wal", "-shm", ""};
    kiln__text_printf(to, "%s.damaged-%lld-%d", store->path, (long long)(kiln__today_ns() / 1000000000), (int)getpid());
    for (size_t i = 0; i < KILN__COUNT(parts); i++) {
        kiln__text from = {.mem = store->mem}, into = {.mem = store->mem};
        kiln__text_printf(&from, "%s%s", store->path, parts[i]);
        kiln__text_printf(&into, "%s%s", kiln__text_get(to), parts[i]);
        bool failed = from.failed || into.failed || to->failed;
        int wrong = failed ? ENOMEM : rename(from.data, into.data) == 0 ? 0 : errno;
        kiln__text_free(&from);
        kiln__text_free(&into);
        if (wrong && (wrong != ENOENT || !*parts[i]))
            return wrong;
    }
    return 0;
}

/* Renames the damaged database, if its path still leads to the file that was open. Another process may have found the
 * damage too, so this function meanwhile locks the folder with flock(). Returns 0, or the number of a system error. If
 * the path now leads to another file, `to` stays empty. */
static int rename_if_same(kiln_store *store, kiln__text *to)
{
    kiln__arena arena = {.mem = store->mem};
    const char *name = kiln__arena_folder(&arena, store->path);
    int folder = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int wrong = name ? (folder < 0 ? errno : 0) : ENOMEM;
    kiln__arena_free(&arena);
    if (wrong)
        return wrong;
    struct stat info;
    if (flock(folder, LOCK_EX) != 0)
        wrong = errno;
    else if (stat(store->path, &info) == 0 && info.st_dev == store->device && info.st_ino == store->inode)
        wrong = rename_damaged(store, to);
    close(folder);
    return wrong;
}

/* Checks the whole database again before its file is renamed, because SQLite also reports a momentary read error of the
 * disk as damage (SQLITE_IOERR_CORRUPTFS). */
static bool is_whole(const kiln_store *store)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    bool whole = false;
    if (sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(db, (int)store->patience);
        whole = sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    }
    sqlite3_finalize(statement);
    sqlite3_close_v2(db);
    return whole;
}

/* Closes the database. If a second check finds the database intact, opens the file again. If the database is damaged,
 * renames its file and begins a new file. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error)
{
    kiln__text to = {.mem = store->mem};
    struct stat info;
    if (!store->inode && stat(store->path, &info) == 0) {
        store->device = info.st_dev;
        store->inode = info.st_ino;
    }
    disconnect(store);
    int code;
    if (is_whole(store)) {
        kiln__logf(&store->log, KILN_LOG_WARNING, "the store %s could not be read for a moment (%s); it is intact",
                   store->path, why);
        return connect_store(store, &code, error);
    }
    int wrong = rename_if_same(store, &to);
    if (wrong) {
        kiln__text_free(&to);
        return kiln__fail(store->mem, error, KILN_ERROR_IO, "the store %s is damaged (%s), and cannot be renamed: %s",
                          store->path, why, kiln__error_text(wrong));
    }
    if (to.length)
        kiln__logf(&store->log, KILN_LOG_WARNING,
                   "the store %s is damaged (%s): it was renamed to %s, and a new one was created", store->path, why,
                   to.data);
    kiln__text_free(&to);
    return connect_store(store, &code, error);
}

/* ---- opening and closing a store ---- */

/* Checks the kind of each file of the store without opening the file. SQLite would wait for a FIFO without end. SQLite
 * would report a file that is no database (/dev/zero) as damaged, and the store would then rename it. Closing a
 * descriptor of the file would release the locks of another store of this process. */
static kiln_status check_files(kiln_store *store, kiln_error **error)
{
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < KILN__COUNT(parts) && status == KILN_OK; i++) {
        kiln__text path = {.mem = store->mem};
        kiln__text_printf(&path, "%s%s", store->path, parts[i]);
        status = path.failed ? kiln__fail_memory(error) : kiln__file_check(store->mem, path.data, error);
        kiln__text_free(&path);
    }
    return status;
}

/* Connects to the database. If the database is damaged and may be written, begins a new file. */
static kiln_status open_path(kiln_store *store, kiln_error **error)
{
    const kiln_allocator *mem = store->mem;
    kiln_status checked = check_files(store, error);
    if (checked != KILN_OK)
        return checked;
    if (store->read_only && !kiln__file_exists(store->path))
        return kiln__fail(mem, error, KILN_ERROR_NOT_FOUND, "there is no store %s; the first sweep creates it",
                          store->path);
    if (!store->read_only) {
        kiln__arena arena = {.mem = mem};
        char *folder = kiln__arena_folder(&arena, store->path);
        kiln_status status = folder ? kiln__make_folders(mem, folder, 0700, error) : kiln__fail_memory(error);
        kiln__arena_free(&arena);
        if (status != KILN_OK)
            return status;
    }
    int code = SQLITE_OK;
    kiln_error *why = NULL;
    kiln_status status = connect_store(store, &code, &why);
    if (status != KILN_OK && status != KILN_ERROR_REFUSED && kiln__store_is_damage(code) && !store->read_only) {
        kiln_error_free(why);
        return kiln__store_replace(store, sqlite3_errstr(code), error);
    }
    if (status != KILN_OK && error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    return status;
}

/* Samples that are written to a removed or replaced file would be lost. So the store continues in the file that is now
 * at its path. */
kiln_status kiln__store_reach(kiln_store *store, kiln_error **error)
{
    struct stat info;
    bool there = stat(store->path, &info) == 0;
    if (store->db && (!store->inode || (there && info.st_dev == store->device && info.st_ino == store->inode)))
        return KILN_OK;
    if (store->db)
        kiln__logf(&store->log, KILN_LOG_WARNING,
                   "the store %s was %s together with its samples while it was open: continuing in %s", store->path,
                   there ? "replaced" : "removed", there ? "the new one" : "a new one");
    disconnect(store);
    return open_path(store, error);
}

kiln_status kiln__store_open(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                             kiln_store **store, kiln_error **error)
{
    return kiln__store_open_for(mem, log, path, flags, KILN__STORE_WAIT_MS, NULL, store, error);
}

/* Makes the object, opens the file, and adds the pending files of processes that have ended. */
kiln_status kiln__store_open_for(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                                 unsigned wait_ms, const volatile int *stop, kiln_store **store, kiln_error **error)
{
    kiln_store *made = kiln__calloc(mem, 1, sizeof *made);
    if (!made)
        return kiln__fail_memory(error);
    if (mem) {
        made->mem_copy = *mem;
        made->mem = &made->mem_copy;
    }
    if (log)
        made->log = *log;
    made->read_only = flags & KILN_STORE_READ;
    made->beside = flags & KILN__STORE_BESIDE;
    made->patience = wait_ms;
    made->stop = stop;
    made->path = kiln__strdup(mem, path);
    if (!made->path || pthread_mutex_init(&made->lock, NULL) != 0) {
        kiln__free(mem, made->path);
        kiln__free(mem, made);
        return kiln__fail_memory(error);
    }
    kiln_status status = open_path(made, error);
    if (status == KILN_OK && !made->beside)
        status = kiln__pending_collect(made, error);
    if (status != KILN_OK) {
        kiln_store_close(made);
        return status;
    }
    *store = made;
    return KILN_OK;
}

void kiln_store_close(kiln_store *store)
{
    if (!store)
        return;
    kiln__pending_close(store);
    disconnect(store);
    pthread_mutex_destroy(&store->lock);
    kiln_allocator copy = store->mem_copy;
    const kiln_allocator *mem = store->mem ? &copy : NULL;
    kiln__free(mem, store->path);
    kiln__free(mem, store);
}

const char *kiln_store_path(const kiln_store *store) { return store ? store->path : NULL; }
