/* store_internal.h - declarations that the files of store/ share. */
#ifndef KILN_STORE_INTERNAL_H
#define KILN_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store.h"

/* All columns as a list for SQL. */
#define KILN__STORE_LIST KILN__STORE_COLUMNS(KILN__STORE_COMMA) "times"
#define KILN__STORE_COMMA(kind, name, unit, text) #name ","

#define KILN__STORE_APPLICATION 0x6b696c6e /* "kiln": marks a database as a store */
#define KILN__STORE_VERSION 9
/* If the list of files of a sample has more than this number of characters, the newest file replaces the list. */
#define KILN__FILES_LONG "4000"
#define KILN__STORE_BESIDE 0x100u /* flag for opening a pending file (pending.c) */

/* Counts of the rows and bytes that the running statement has read so far (scan.c). */
typedef struct kiln__scan {
    uint64_t steps, rows, bytes, size; /* size: bytes of the file + 1, or 0 if the system was not asked yet */
    int64_t last;                      /* the id of the last row */
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
    dev_t device; /* identity of the open file: only that file is moved if it is damaged */
    ino_t inode;
    bool told_network;
    const char *network; /* kind of the network file system that holds the store; NULL for a local disk */
    bool beside;         /* the store is a pending file, which no other process may have open */
    /* other processes */
    unsigned patience;        /* milliseconds to wait for another process */
    bool late;                /* a wait of the full time has failed; later operations of a sweep wait only HURRY_MS */
    const volatile int *stop; /* nonzero ends waiting and importing; may be NULL */
    bool hurry;               /* the current operation waits only HURRY_MS */
    unsigned vain;            /* number of full waits that failed */
    uint64_t wait_from;
    bool wait_told;
    kiln_store *pending; /* the store with pending samples; NULL if there are none */
    bool told;           /* pending samples were already reported to the caller */
};

/* Makes the error for a result code of SQLite, with path and operation. The caller holds the lock. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error);
unsigned kiln__store_patience(const kiln_store *store); /* how long a statement waits for another process, in ms */
bool kiln__store_is_damage(int code);
bool kiln__store_is_busy(int code);
bool kiln__store_stopped(const kiln_store *store);
int kiln__store_run(kiln_store *store, const char *sql);
int kiln__store_number(kiln_store *store, const char *sql, int64_t *value); /* runs a query that returns one number */
/* ---- limits for a file that somebody else may have made (scan.c) ---- */
int kiln__scan_open(kiln_store *store);   /* for a new connection, before anything is read; returns SQLite's code */
void kiln__scan_begin(kiln_store *store); /* before each statement */
/* sqlite3_step() for statements that may return many rows. Returns SQLITE_CORRUPT if the rows so far have more bytes
 * than the file. */
int kiln__scan_step(kiln_store *store, sqlite3_stmt *statement);

/* Reopens the store if its file was moved or removed. The store calls this function before it writes or searches a
 * sample. */
kiln_status kiln__store_reach(kiln_store *store, kiln_error **error);
/* Handles a database that SQLite calls damaged. Checks it again, and reopens it if it is intact. Otherwise renames it,
 * logs that, and opens a new database. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error);
/* Returns SQLITE_DONE on success, and *taken says whether the row was stored. Otherwise it returns SQLite's code. */
int kiln__store_insert(kiln_store *store, const kiln__store_row *row, bool *taken);
/* Returns the defect of an imported row. Returns NULL for a row without a defect, or if memory runs out
 * (arena->failed). */
const char *kiln__store_row_unfit(kiln__arena *arena, const kiln__store_row *row);
/* Reads the current row of a statement over KILN__STORE_LIST; the texts point into the statement. Returns NULL, or the
 * column whose value has the wrong type. */
const char *kiln__store_read_row(sqlite3_stmt *statement, kiln__store_row *row);
/* Logs that a damaged sample is left out, with its key and the damaged column. If the damaged sample were not left out,
 * its row would hide all other rows. */
void kiln__store_leave_out(const kiln_store *store, const kiln__store_row *row, const char *column);
/* ---- two specs of one name (files.c) ---- */

/* Lists of files that belong to another spec. */
typedef struct kiln__files {
    kiln__arena arena;
    const char **lists; /* values of the column `path` */
    size_t count;
} kiln__files;
/* Returns whether the list of files of a sample contains this file. */
bool kiln__files_have(const char *files, const char *path);
/* Collects the values of `path` that belong to another spec of the same name. If the spec has no samples of its own,
 * the samples of another file are used, unless `only_own` is true. */
kiln_status kiln__files_apart(kiln_store *store, const kiln_store_filter *filter, bool only_own, kiln__files *apart,
                              kiln_error **error);
void kiln__files_free(const kiln_store *store, kiln__files *apart);

/* Prepares a statement over the rows that match `filter`: "<head> WHERE ... <tail>", with its parameters bound. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error);

/* ---- the tables (schema.c). An int result is SQLite's code ---- */

int kiln__schema_make(kiln_store *store);
int kiln__schema_harden(kiln_store *store);
/* Checks that the file has exactly the tables of a store of *version. If *code is not SQLITE_OK, the file could not be
 * read, and the caller must report that. */
kiln_status kiln__schema_check(kiln_store *store, int64_t *version, int *code, kiln_error **error);

int kiln__schema_upgrade(kiln_store *store, int64_t version); /* upgrades from an earlier version (upgrade.c) */

/* ---- pending samples (pending.c); under the lock ---- */

kiln_status kiln__pending_add(kiln_store *store, const kiln__store_row *row, kiln_error **error);
int kiln__pending_settle(kiln_store *store); /* adds all pending samples if the lock is free; then `pending` is NULL */
uint64_t kiln__pending_count(const kiln_store *store);
/* takes in the pending files of other processes */
kiln_status kiln__pending_collect(kiln_store *store, kiln_error **error);
void kiln__pending_close(kiln_store *store);

/* ---- files; exchange.c chooses the format ---- */

/* An import calls this function before each row. Returns KILN_ERROR_INTERRUPTED if the import must stop. */
kiln_status kiln__store_import_on(const kiln_store *store, const char *path, kiln_error **error);

/* These functions increment *written, *read and *taken. An import runs inside the caller's lock and transaction. */
kiln_status kiln__csv_export(kiln_store *store, const kiln_store_filter *filter, const char *path, uint64_t *written,
                             kiln_error **error);
kiln_status kiln__csv_import(kiln_store *store, const char *path, char *text, size_t length, uint64_t *read,
                             uint64_t *taken, kiln_error **error);
/* These functions write and read a file of T4 or of Kernel Tuner. The import recognises the format; the file may be
 * gzipped or truncated. */
kiln_status kiln__json_export(kiln_store *store, const kiln_store_filter *filter, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error);
kiln_status kiln__json_import(kiln_store *store, const char *path, const char *data, size_t length, uint64_t *read,
                              uint64_t *taken, kiln_error **error);

#endif
