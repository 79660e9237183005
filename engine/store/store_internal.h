/* store_internal.h - what the files of store/ share. */
#ifndef KILN_STORE_INTERNAL_H
#define KILN_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store.h"

#define KILN__STORE_LIST KILN__STORE_COLUMNS(KILN__STORE_COMMA) "times"
#define KILN__STORE_COMMA(kind, name, unit, text) #name ","

#define KILN__STORE_APPLICATION 0x6b696c6e /* "kiln": marks a database as a store */
#define KILN__STORE_VERSION 8
#define KILN__FILES_LONG "4000"   /* bytes of a sample's files; then they begin anew */
#define KILN__STORE_BESIDE 0x100u /* a flag for opening: a pending file (pending.c) */

struct kiln_store {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__log log;
    char *path;
    bool read_only;
    pthread_mutex_t lock; /* for everything below */
    sqlite3 *db;
    sqlite3_stmt *insert, *find;
    dev_t device; /* of the open file: only this one is moved if it is damaged */
    ino_t inode;
    bool told_network;
    const char *network; /* the kind of network file system that it is on; NULL: none */
    bool beside;         /* a pending file: no other process may have it open */
    /* other processes */
    unsigned patience;        /* milliseconds to wait for one */
    bool late;                /* waiting has failed once: from then on wait only a moment */
    const volatile int *stop; /* NULL, or ends waiting and importing when nonzero */
    bool hurry;               /* now wait only a moment */
    unsigned vain;            /* how often the full wait has failed */
    uint64_t wait_from;
    bool wait_told;
    kiln_store *pending; /* pending samples; NULL: none */
    bool told;           /* pending samples were reported to the caller already */
};

/* Under the lock. An error for a result code of SQLite, with the path and the operation. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error);
bool kiln__store_is_damage(int code);
bool kiln__store_is_busy(int code);
bool kiln__store_stopped(const kiln_store *store);
int kiln__store_run(kiln_store *store, const char *sql);
int kiln__store_number(kiln_store *store, const char *sql, int64_t *value); /* a query that gives one number */
/* To be called before a sample is written or searched: reopens the store if its file was moved or removed. */
kiln_status kiln__store_reach(kiln_store *store, kiln_error **error);
/* Renames the damaged database, logs it, and opens a new one. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error);
/* SQLITE_DONE: success, and *taken says whether it was stored; otherwise SQLite's code. */
int kiln__store_insert(kiln_store *store, const kiln__store_row *row, bool *taken);
/* What is invalid in an imported row; NULL: nothing, or out of memory (arena->failed). */
const char *kiln__store_row_unfit(kiln__arena *arena, const kiln__store_row *row);
/* The current row of a statement over KILN__STORE_LIST; it points into the statement. Returns NULL, or the column whose
 * value has the wrong type. */
const char *kiln__store_read_row(sqlite3_stmt *statement, kiln__store_row *row);
/* Logs that a damaged sample is left out, with its key and what of it is damaged: one such row would otherwise hide all
 * others. */
void kiln__store_leave_out(const kiln_store *store, const kiln__store_row *row, const char *column);
/* ---- two specs of one name (files.c) ---- */

typedef struct kiln__files {
    kiln__arena arena;
    const char **lists; /* values of `path` */
    size_t count;
} kiln__files;
/* Whether a sample's files have this one. */
bool kiln__files_have(const char *files, const char *path);
/* The values of `path` that samples of the spec of `filter` have, but that are of another spec of its name. `only_own`:
 * the samples of another spec are never taken for lack of own ones. */
kiln_status kiln__files_apart(kiln_store *store, const kiln_store_filter *filter, bool only_own, kiln__files *apart,
                              kiln_error **error);
void kiln__files_free(const kiln_store *store, kiln__files *apart);

/* A statement over the rows that match `filter`: "<head> WHERE ... <tail>", with its parameters bound. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error);

/* ---- the tables (schema.c); an int result is SQLite's code ---- */

int kiln__schema_make(kiln_store *store);
int kiln__schema_harden(kiln_store *store);
/* Checks that the file has the tables of a store of *version, and nothing else. If *code is not SQLITE_OK the file
 * could not be read; the caller must report that. */
kiln_status kiln__schema_check(kiln_store *store, int64_t *version, int *code, kiln_error **error);

int kiln__schema_upgrade(kiln_store *store, int64_t version); /* upgrade.c: from an earlier version */

/* ---- pending samples (pending.c); under the lock ---- */

kiln_status kiln__pending_add(kiln_store *store, const kiln__store_row *row, kiln_error **error);
int kiln__pending_settle(kiln_store *store); /* adds them all if the lock is free; then `pending` is NULL */
uint64_t kiln__pending_count(const kiln_store *store);
kiln_status kiln__pending_collect(kiln_store *store, kiln_error **error); /* those of other processes */
void kiln__pending_close(kiln_store *store);

/* ---- files; exchange.c chooses ---- */

/* Before each row of an import: whether to go on; KILN_ERROR_INTERRUPTED otherwise. */
kiln_status kiln__store_import_on(const kiln_store *store, const char *path, kiln_error **error);

/* *written, *read and *taken are incremented. Importing must be within the caller's lock and transaction. */
kiln_status kiln__csv_export(kiln_store *store, const kiln_store_filter *filter, const char *path, uint64_t *written,
                             kiln_error **error);
kiln_status kiln__csv_import(kiln_store *store, const char *path, char *text, size_t length, uint64_t *read,
                             uint64_t *taken, kiln_error **error);
/* T4 or Kernel Tuner's file. An imported file may be either, and may be gzipped or truncated. */
kiln_status kiln__json_export(kiln_store *store, const kiln_store_filter *filter, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error);
kiln_status kiln__json_import(kiln_store *store, const char *path, const char *data, size_t length, uint64_t *read,
                              uint64_t *taken, kiln_error **error);

#endif
