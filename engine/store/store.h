/* store.h - samples in a SQLite database. This room knows nothing about devices or specs: a row consists of texts and
 * numbers.
 *
 * The public functions on a kiln_store (list, prune, export, import) are in this room too. kiln_store_open() is in
 * core/, because it needs an engine. */
#ifndef KILN_STORE_H
#define KILN_STORE_H

#include "settings.h"

/* The columns of the table, of CSV files and of a row, in this order. The columns of a result come from
 * KILN_RESULT_MAP. A new column needs a new version of the schema with its own list. An older database gets the new
 * columns when it is opened. An older CSV file is read without them; their values are 0 or "". X(kind, name, unit,
 * text) */
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
/* comparison: true if the variant is not a contender, but only for comparison (engine/spec/README.md) */
#define KILN__STORE_COLUMNS_7(X) X(FLAG, comparison, "", "")
#define KILN__STORE_COLUMNS_8(X) KILN_RESULT_MAP_6(X)
/* taken: when a sweep last took the sample from the store instead of measuring it; 0 if no sweep did */
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

/* An X for users that only distinguish texts, integers and floats. Users of the list define the macros TEXT, WHOLE
 * and REAL of one argument, the name. */
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

/* A row. A missing text is "", never NULL. */
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

/* Converts the part of a row that is a result. */
void kiln__store_row_result(const kiln__store_row *row, kiln_result *result);
void kiln__store_row_set_result(kiln__store_row *row, const kiln_result *result); /* texts still belong to the result */

/* Opens the store at `path`, which is copied, with the flags of kiln_store_open(). Waits at most KILN__STORE_WAIT_MS
 * for another process that holds the lock. kiln_store_close() frees the store. */
kiln_status kiln__store_open(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                             kiln_store **store, kiln_error **error);
/* Default time in milliseconds to wait for another process. */
#define KILN__STORE_WAIT_MS 10000
/* Opens the store as kiln__store_open() does, but its operations wait at most `wait_ms` milliseconds for another
 * process that holds the lock. If `stop` is not NULL and *stop becomes nonzero, waiting and importing end. `stop`
 * must outlive the store. */
kiln_status kiln__store_open_for(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                                 unsigned wait_ms, const volatile int *stop, kiln_store **store, kiln_error **error);
/* Writes a row. If two rows have the same key, the store keeps the row that was made later. *taken (may be NULL) tells
 * whether this row was kept. While another process holds the lock, the row goes into a pending file, and *taken is
 * true. The row survives the end of this process in either file. */
kiln_status kiln__store_add(kiln_store *store, const kiln__store_row *row, bool *taken, kiln_error **error);
/* Adds pending samples to the database. If `wait` is true, the function waits for another process as long as opening
 * does. Otherwise it waits only HURRY_MS (sql.c). The message of KILN_ERROR_TIMEOUT says how many samples are still
 * pending, and where. */
kiln_status kiln__store_settle(kiln_store *store, bool wait, kiln_error **error);
/* Finds the reusable row of a key. Its texts are copied to `arena`. */
kiln_status kiln__store_find(kiln_store *store, const char *key, kiln__arena *arena, kiln__store_row *row, bool *found,
                             kiln_error **error);

/* Notes that a sweep uses a stored sample. Adds the spec's file `path` to the files of the sample, and stores whether
 * the spec now declares the variant as a comparison. If the store cannot be written at this moment, the sample stays
 * unchanged. */
void kiln__store_adopt(kiln_store *store, const kiln__store_row *row, const char *path, bool comparison);

/* A key as a text. */
typedef struct kiln__store_key {
    char text[33];
} kiln__store_key;
/* Sets `taken` of the samples with these keys to the present time, in one transaction. Does nothing if the store was
 * opened read-only. `wait` has the same meaning as for kiln__store_settle(). */
kiln_status kiln__store_mark_taken(kiln_store *store, const kiln__store_key *keys, size_t count, bool wait,
                                   kiln_error **error);
/* Returns when a sweep last took the sample from the store, in microseconds since 1970, or 0 for never. `record` must
 * be the pointer that kiln_store_list() passes to its function. */
int64_t kiln__store_record_taken(const kiln_record *record);

#endif
