/* store.h - keeps samples in a SQLite database. The code in store/ knows nothing about devices or specs, because a row
 * consists of texts and numbers.
 *
 * The public functions on a kiln_store (list, prune, export, import) are in this folder too. kiln_store_open() is in
 * core/, because it needs an engine. */
#ifndef KILN_STORE_H
#define KILN_STORE_H

#include "settings.h"

/* The columns of the table, of CSV files and of a row struct, in this order. The columns of a result come from
 * KILN_RESULT_MAP. A new column needs a new version of the schema, with a column list of its own. When an older
 * database is opened, it gets the new columns. An older CSV file is read without the new columns. Their values are then
 * 0 or "". X(kind, name, unit, text) */
#define KILN__STORE_COLUMNS(X)                                                                                         \
    KILN__STORE_COLUMNS_1(X)                                                                                           \
    KILN__STORE_COLUMNS_2(X)                                                                                           \
    KILN__STORE_COLUMNS_3(X)                                                                                           \
    KILN__STORE_COLUMNS_4(X)                                                                                           \
    KILN__STORE_COLUMNS_5(X)                                                                                           \
    KILN__STORE_COLUMNS_6(X) KILN__STORE_COLUMNS_7(X) KILN__STORE_COLUMNS_8(X) KILN__STORE_COLUMNS_9(X)
#define KILN__STORE_COLUMNS_2(X) KILN_RESULT_MAP_2(X)
#define KILN__STORE_COLUMNS_3(X) KILN_RESULT_MAP_3(X) X(TEXT, features, "", "")
#define KILN__STORE_COLUMNS_4(X) KILN_RESULT_MAP_4(X) X(TEXT, host, "", "") X(TEXT, command, "", "")
#define KILN__STORE_COLUMNS_5(X) X(TEXT, path, "", "")
#define KILN__STORE_COLUMNS_6(X) KILN_RESULT_MAP_5(X)
/* comparison: true if the variant has `contender: false`, so it is only for comparison (engine/spec/README.md) */
#define KILN__STORE_COLUMNS_7(X) X(FLAG, comparison, "", "")
#define KILN__STORE_COLUMNS_8(X) KILN_RESULT_MAP_6(X)
/* taken: the moment at which a sweep last took the sample from the store instead of measuring it; 0 if no sweep did */
#define KILN__STORE_COLUMNS_9(X) X(MICROSECONDS, taken, "", "")
#define KILN__STORE_COLUMNS_1(X)                                                                                       \
    KILN_RECORD_SUBJECT_MAP(X)                                                                                         \
    X(TEXT, params, "", "")                                                                                            \
    X(TEXT, sizes, "", "")                                                                                             \
    KILN_RECORD_ORIGIN_MAP(X)                                                                                          \
    X(STATUS, status, "", "")                                                                                          \
    X(TEXT, message, "", "")                                                                                           \
    X(FLAG, reusable, "", "")                                                                                          \
    KILN_RESULT_MAP_1(X)                                                                                               \
    X(MICROSECONDS, made, "", "")
#define KILN__STORE_RESULT(X)                                                                                          \
    KILN_RESULT_MAP_1(X)                                                                                               \
    KILN_RESULT_MAP_2(X) KILN_RESULT_MAP_3(X) KILN_RESULT_MAP_4(X) KILN_RESULT_MAP_5(X) KILN_RESULT_MAP_6(X)

/* Use KILN__COLUMN as the X of a list if only texts, integers and floats must be distinguished. The user of the list
 * defines the macros TEXT, WHOLE and REAL, each with the name of a column as its argument. */
#define KILN__COLUMN(kind, name, unit, text) KILN__COLUMN_##kind(name)
#define KILN__COLUMN_TEXT(name) TEXT(name)
#define KILN__COLUMN_HOSTS(name) TEXT(name)
#define KILN__COLUMN_METRICS(name) TEXT(name)
#define KILN__COLUMN_FLAG(name) WHOLE(name)
#define KILN__COLUMN_COUNT(name) WHOLE(name)
#define KILN__COLUMN_THROTTLE(name) WHOLE(name)
#define KILN__COLUMN_NANOSECONDS(name) WHOLE(name)
#define KILN__COLUMN_MICROSECONDS(name) WHOLE(name)
#define KILN__COLUMN_STATUS(name) WHOLE(name)
#define KILN__COLUMN_REAL(name) REAL(name)
#define KILN__COLUMN_SECONDS(name) REAL(name)
#define KILN__COLUMN_KNOWN(name) REAL(name)

/* A row of the store. A missing text is "", and never NULL. */
typedef struct kiln__store_row {
#define TEXT(name) const char *name;
#define WHOLE(name) int64_t name;
#define REAL(name) double name;
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    const double *times;
    size_t time_count;
} kiln__store_row;

/* Makes the result of a sample from its row. */
void kiln__store_row_result(const kiln__store_row *row, kiln_result *result);
/* writes a result into a row; the texts still belong to the result */
void kiln__store_row_set_result(kiln__store_row *row, const kiln_result *result);

/* Opens the store at `path` with the flags of kiln_store_open(). The function copies the path. Waits at most
 * KILN__STORE_WAIT_MS for another process that holds the lock. kiln_store_close() frees the store. */
kiln_status kiln__store_open(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                             kiln_store **store, kiln_error **error);
/* The default time in milliseconds for which a store waits for another process. */
#define KILN__STORE_WAIT_MS 10000
/* Opens the store like kiln__store_open(). But its operations wait at most `wait_ms` milliseconds for another process
 * that holds the lock. If `stop` is not NULL, waiting and importing end when *stop becomes nonzero. `stop` must outlive
 * the store. */
kiln_status kiln__store_open_for(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                                 unsigned wait_ms, const volatile int *stop, kiln_store **store, kiln_error **error);
/* Adds a row. If the store has a row with the same key, it keeps the row that was made later. *taken tells whether the
 * store keeps this row. `taken` may be NULL. While another process holds the lock, the row goes into a pending file,
 * and *taken becomes true. In the store and in the pending file, the row survives the end of this process. */
kiln_status kiln__store_add(kiln_store *store, const kiln__store_row *row, bool *taken, kiln_error **error);
/* Adds pending samples to the database. If `wait` is true, the function waits for another process as long as opening
 * does. If `wait` is false, the function waits only HURRY_MS (sql.c). The message of KILN_ERROR_TIMEOUT says how many
 * samples are still pending, and where. */
kiln_status kiln__store_settle(kiln_store *store, bool wait, kiln_error **error);
/* Finds the row of a key, if a sweep may reuse it. The texts of the row are copied to `arena`. */
kiln_status kiln__store_find(kiln_store *store, const char *key, kiln__arena *arena, kiln__store_row *row, bool *found,
                             kiln_error **error);

/* Records in a sample that a sweep uses it. Adds the spec's file `path` to the files of the sample. Also stores whether
 * the spec now declares the variant with `contender: false`. If the store cannot be written at this moment, the sample
 * stays unchanged. */
void kiln__store_adopt(kiln_store *store, const kiln__store_row *row, const char *path, bool comparison);

/* The key of a sample as a text. */
typedef struct kiln__store_key {
    char text[33];
} kiln__store_key;
/* Sets the column `taken` of the samples with these keys to the present time, in one transaction. Does nothing if the
 * store was opened only for reading. `wait` has the same meaning as for kiln__store_settle(). */
kiln_status kiln__store_mark_taken(kiln_store *store, const kiln__store_key *keys, size_t count, bool wait,
                                   kiln_error **error);
/* Returns the moment at which a sweep last took the sample from the store, in microseconds since 1970. Returns 0 if no
 * sweep did. `record` must be the pointer that kiln_store_list() passes to its function. */
int64_t kiln__store_record_taken(const kiln_record *record);

#endif
