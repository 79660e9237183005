/* internal.h - what the files of store/ share. */
#ifndef KILN_STORE_INTERNAL_H
#define KILN_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store.h"

#define KILN__STORE_LIST KILN__STORE_COLUMNS(KILN__STORE_COMMA, KILN__STORE_COMMA, KILN__STORE_COMMA) "times"
#define KILN__STORE_COMMA(name) #name ","

struct kiln_store {
    kiln_allocator mem_copy;
    const kiln_allocator *mem;      /* NULL: malloc */
    kiln__log log;
    char *path;
    bool read_only;
    pthread_mutex_t lock;           /* of everything below */
    sqlite3 *db;
    sqlite3_stmt *insert, *find;
    dev_t device;                   /* of the file that is open: which one to move where it is damaged */
    ino_t inode;
};

/* Under the lock. What a result code of SQLite means, with the path and what was being done. */
kiln_status kiln__store_fail(kiln_store *store, int code, const char *doing, kiln_error **error);
bool kiln__store_is_damage(int code);
/* Moves the database aside, tells the log, and opens a new one. */
kiln_status kiln__store_replace(kiln_store *store, const char *why, kiln_error **error);
/* SQLITE_DONE: taken or not, see *taken; else SQLite's code. */
int kiln__store_insert(kiln_store *store, const kiln__row *row, bool *taken);
/* What of a foreign row others could not rely on; NULL: nothing, or no memory (arena->failed). */
const char *kiln__row_unfit(kiln__arena *arena, const kiln__row *row);
/* The row that a statement over KILN__STORE_LIST stands on; it points into the statement. */
void kiln__store_row(sqlite3_stmt *statement, kiln__row *row);
/* A statement over rows that `filter` lets through: "<head> WHERE ... <tail>", bound. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error);

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
