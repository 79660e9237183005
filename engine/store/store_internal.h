/* internal.h - what the files of store/ share. */
#ifndef KILN_STORE_INTERNAL_H
#define KILN_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store.h"

#define KILN__STORE_LIST KILN__STORE_COLUMNS(KILN__STORE_COMMA) "times"
#define KILN__STORE_COMMA(kind, name, unit, text) #name ","

#define KILN__STORE_APPLICATION 0x6b696c6e /* "kiln": what says that a database is a store */
#define KILN__STORE_VERSION 2
#define KILN__STORE_BESIDE 0x100u /* a flag of opening: a file of samples that wait (pending.c) */

struct kiln_store {
    kiln_allocator mem_copy;
    const kiln_allocator *mem; /* NULL: malloc */
    kiln__log log;
    char *path;
    bool read_only;
    pthread_mutex_t lock; /* of everything below */
    sqlite3 *db;
    sqlite3_stmt *insert, *find;
    dev_t device; /* of the file that is open: which one to move where it is damaged */
    ino_t inode;
    bool beside; /* a file of samples that wait: nobody else may have it open meanwhile */
    /* other processes */
    unsigned patience; /* milliseconds that one is waited for */
    bool late;         /* that was in vain once: from then on a sample waits a moment and no longer */
    bool hurry;        /* now is such a moment */
    unsigned vain;     /* how often the whole of it was in vain */
    uint64_t wait_from;
    bool wait_told;
    kiln_store *pending; /* samples that wait; NULL: none do */
    bool told;           /* the caller has been told that they do, and need not be again */
};

/* Under the lock. What a result code of SQLite means, with the path and what was being done. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error);
bool kiln__store_is_damage(int code);
bool kiln__store_is_busy(int code);
int kiln__store_run(kiln_store *store, const char *sql);
int kiln__store_number(kiln_store *store, const char *sql, int64_t *value); /* a query of one number */
/* Before a sample is written or looked for: opens it again where its file is no longer at its place. */
kiln_status kiln__store_reach(kiln_store *store, kiln_error **error);
/* Moves the database aside, tells the log, and opens a new one. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error);
/* SQLITE_DONE: taken or not, see *taken; else SQLite's code. */
int kiln__store_insert(kiln_store *store, const kiln__store_row *row, bool *taken);
/* What of a foreign row others could not rely on; NULL: nothing, or no memory (arena->failed). */
const char *kiln__store_row_unfit(kiln__arena *arena, const kiln__store_row *row);
/* The row that a statement over KILN__STORE_LIST stands on; it points into the statement. NULL, or the column whose value
 * is of a kind that no store has there. */
const char *kiln__store_read_row(sqlite3_stmt *statement, kiln__store_row *row);
kiln_status kiln__store_bad_row(kiln_store *store, const kiln__store_row *row, const char *column, kiln_error **error);
/* A statement over rows that `filter` lets through: "<head> WHERE ... <tail>", bound. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error);

/* ---- the tables (schema.c); what is an int is SQLite's code ---- */

int kiln__schema_make(kiln_store *store);
int kiln__schema_harden(kiln_store *store);
/* Whether the file has the tables of a store of *version, and nothing else. Where *code is not SQLITE_OK it could not be
 * read, and that is still to be told. */
kiln_status kiln__schema_check(kiln_store *store, int64_t *version, int *code, kiln_error **error);

/* ---- samples that wait for another process (pending.c); under the lock ---- */

kiln_status kiln__pending_add(kiln_store *store, const kiln__store_row *row, kiln_error **error);
int kiln__pending_settle(kiln_store *store); /* adds them all, if the lock is free; where it did, `pending` is NULL */
uint64_t kiln__pending_count(const kiln_store *store);
kiln_status kiln__pending_collect(kiln_store *store, kiln_error **error); /* what others have left */
void kiln__pending_close(kiln_store *store);

/* ---- files; exchange.c chooses ---- */

/* *written, *read and *taken count up from what they are. Importing is within the caller's lock and transaction. */
kiln_status kiln__csv_export(kiln_store *store, const kiln_store_filter *filter, const char *path, uint64_t *written,
                             kiln_error **error);
kiln_status kiln__csv_import(kiln_store *store, const char *path, char *text, size_t length, uint64_t *read,
                             uint64_t *taken, kiln_error **error);
/* T4 or Kernel Tuner's file; what is imported may be either, gzipped or cut off. */
kiln_status kiln__json_export(kiln_store *store, const kiln_store_filter *filter, const char *path, kiln_format format,
                              uint64_t *written, kiln_error **error);
kiln_status kiln__json_import(kiln_store *store, const char *path, const char *data, size_t length, uint64_t *read,
                              uint64_t *taken, kiln_error **error);

#endif
