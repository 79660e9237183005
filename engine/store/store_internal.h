/* store_internal.h - declarations that the files of store/ share. */
#ifndef KILN_STORE_INTERNAL_H
#define KILN_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store.h"

/* The names of all columns as a list for SQL. */
#define KILN__STORE_LIST KILN__STORE_COLUMNS(KILN__STORE_COMMA) "times"
#define KILN__STORE_COMMA(kind, name, unit, text) #name ","

#define KILN__STORE_APPLICATION 0x6b696c6e /* the text "kiln", which marks a database as a store */
#define KILN__STORE_VERSION 9
/* If the list of files of a sample has more characters than this number, the newest file replaces the list. */
#define KILN__FILES_LONG "4000"
#define KILN__STORE_BESIDE 0x100u /* opens a pending file (pending.c); a flag for kiln__store_open() */

/* Counts of the rows and bytes that the running statement has read so far (scan.c). */
typedef struct kiln__scan {
    uint64_t steps, rows, bytes, size; /* size: the bytes of the file + 1, or 0 if the system was not asked yet */
    int64_t last;                      /* the id of the last row that was read */
} kiln__scan;

/* An open store. */
struct kiln_store {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL means malloc */
    kiln__log log;
    char *path;
    bool read_only;
    pthread_mutex_t lock; /* guards everything below */
    sqlite3 *db;
    sqlite3_stmt *insert, *find;
    kiln__scan scan;
    dev_t device; /* the identity of the open file, because only that file may be renamed if it is damaged */
    ino_t inode;
    bool told_network;
    const char *network; /* the kind of the network file system that has the store; NULL for a local disk */
    bool beside;         /* the store is a pending file, which no other process may have open */
    /* other processes */
    unsigned patience;        /* the milliseconds for which an operation waits for another process */
    bool late;                /* a wait of the full time has failed; later operations of a sweep wait only HURRY_MS */
    const volatile int *stop; /* a nonzero value of this flag ends waiting and importing; may be NULL */
    bool hurry;               /* the current operation waits only HURRY_MS */
    unsigned vain;            /* the number of full waits that ended without the lock */
    uint64_t wait_from;
    bool wait_told;
    kiln_store *pending; /* the store that has the pending samples; NULL if there are no pending samples */
    bool told;           /* the caller already knows that there are pending samples */
};

/* Makes the error for a result code of SQLite. The message has the path and the operation. The caller holds the
 * lock. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error);
/* returns the milliseconds for which a statement waits for another process */
unsigned kiln__store_patience(const kiln_store *store);
bool kiln__store_is_damage(int code);
bool kiln__store_is_busy(int code);
bool kiln__store_stopped(const kiln_store *store);
int kiln__store_run(kiln_store *store, const char *sql);
/* runs a query whose result is one number */
int kiln__store_number(kiln_store *store, const char *sql, int64_t *value);
/* ---- limits for a file that somebody else may have made (scan.c) ---- */
/* call this for a new connection, before anything is read; returns SQLite's code */
int kiln__scan_open(kiln_store *store);
void kiln__scan_begin(kiln_store *store); /* before each statement */
/* Does the work of sqlite3_step() for statements that may return many rows. Returns SQLITE_CORRUPT if the rows that
 * were read have more bytes than the file. */
int kiln__scan_step(kiln_store *store, sqlite3_stmt *statement);

/* Reopens the store if its file was moved or removed. The store calls this function before it writes or searches a
 * sample. */
kiln_status kiln__store_reach(kiln_store *store, kiln_error **error);
/* Handles a database that SQLite calls damaged. Checks the database again. If it is intact, opens it again. If it is
 * damaged, renames it, logs this, and opens a new database. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error);
/* Inserts a row. Returns SQLITE_DONE on success, and *taken tells whether the row was stored. On failure, returns
 * SQLite's code. */
int kiln__store_insert(kiln_store *store, const kiln__store_row *row, bool *taken);
/* Returns the defect of an imported row. Returns NULL if the row has no defect, or if memory runs out
 * (arena->failed). */
const char *kiln__store_row_unfit(kiln__arena *arena, const kiln__store_row *row);
/* Reads the current row of a statement over KILN__STORE_LIST. The texts point into the statement. Returns NULL, or the
 * name of the column whose value has the wrong type. */
const char *kiln__store_read_row(sqlite3_stmt *statement, kiln__store_row *row);
/* Logs that a damaged sample is left out. The message has its key and the damaged column. The sample is left out,
 * because otherwise an error for its row would hide all other rows. */
void kiln__store_leave_out(const kiln_store *store, const kiln__store_row *row, const char *column);
/* ---- two specs with the same name (files.c) ---- */

/* Lists of files whose samples belong to another spec. */
typedef struct kiln__files {
    kiln__arena arena;
    const char **lists; /* values of the column `path` in the store */
    size_t count;
} kiln__files;
/* Returns whether the list of files of a sample contains this file. */
bool kiln__files_have(const char *files, const char *path);
/* Collects the values of the column `path` that belong to another spec with the same name. If the spec has no samples
 * of its own, the function uses the samples of another file, unless `only_own` is true. */
kiln_status kiln__files_apart(kiln_store *store, const kiln_store_filter *filter, bool only_own, kiln__files *apart,
                              kiln_error **error);
void kiln__files_free(const kiln_store *store, kiln__files *apart);

/* Prepares a statement over the rows that match `filter`. Its text is "<head> WHERE ... <tail>", and its parameters are
 * bound. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error);

/* ---- the tables (schema.c); a function with an int result returns SQLite's code ---- */

int kiln__schema_make(kiln_store *store);
int kiln__schema_harden(kiln_store *store);
/* Checks that the file has exactly the tables that a store of *version has. If *code is not SQLITE_OK, the file could
 * not be read, and the caller must report that. */
kiln_status kiln__schema_check(kiln_store *store, int64_t *version, int *code, kiln_error **error);

/* upgrades the store from an earlier version (upgrade.c) */
int kiln__schema_upgrade(kiln_store *store, int64_t version);

/* ---- pending samples (pending.c); the caller holds the store's lock ---- */

kiln_status kiln__pending_add(kiln_store *store, const kiln__store_row *row, kiln_error **error);
/* if the lock of the database is free, adds all pending samples; `pending` is then NULL */
int kiln__pending_settle(kiln_store *store);
uint64_t kiln__pending_count(const kiln_store *store);
/* adds the samples in the pending files of other processes */
kiln_status kiln__pending_collect(kiln_store *store, kiln_error **error);
void kiln__pending_close(kiln_store *store);

/* ---- files for export and import; exchange.c chooses the format ---- */

/* An import calls this function before each row. Returns KILN_ERROR_INTERRUPTED if the import must stop. */
kiln_status kiln__store_import_on(const kiln_store *store, const char *path, kiln_error **error);

/* These functions add the numbers of samples to *written, *read and *taken. An import runs inside the caller's lock and
 * transaction. */
kiln_status kiln__csv_export(kiln_store *store, const kiln_store_filter *filter, const char *path, uint64_t *written,
                             kiln_error **error);
kiln_status kiln__csv_import(kiln_store *store, const char *path, char *text, size_t length, uint64_t *read,
                             uint64_t *taken, kiln_error **error);
/* These functions write and read a file of T4 or of Kernel Tuner. When importing, the functions recognise the format.
 * The file may be packed with gzip or truncated. */
kiln_status kiln__json_export(kiln_store *store, const kiln_store_filter *filter, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error);
kiln_status kiln__json_import(kiln_store *store, const char *path, const char *data, size_t length, uint64_t *read,
                              uint64_t *taken, kiln_error **error);

#endif
