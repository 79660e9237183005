/* store.h - samples in a SQLite database. Knows nothing of devices or specs: a row is texts and numbers.
 *
 * The public functions on a kiln_store (list, prune, export, import) are in this part too; kiln_store_open() is in
 * core/, because it needs an engine. */
#ifndef KILN_STORE_H
#define KILN_STORE_H

#include "base.h"

/* The columns in their order: of the table, of CSV files, of a row. A new one is a new version of the schema, with a list
 * of its own: older databases get those columns when they are opened, older CSV files are read without them, and 0 or ""
 * stands there. */
#define KILN__STORE_COLUMNS(TEXT, WHOLE, REAL)                                                                         \
    KILN__STORE_COLUMNS_1(TEXT, WHOLE, REAL) KILN__STORE_COLUMNS_2(TEXT, WHOLE, REAL)
#define KILN__STORE_COLUMNS_2(TEXT, WHOLE, REAL)                                                                       \
    WHOLE(stopped_early) WHOLE(finals) REAL(first_seconds) REAL(clock_hz) REAL(memory_clock_hz) WHOLE(throttle)        \
    REAL(temperature) REAL(power_watts) REAL(energy_joules)
#define KILN__STORE_COLUMNS_1(TEXT, WHOLE, REAL)                                                                       \
    TEXT(key) TEXT(spec) TEXT(variant) TEXT(params) TEXT(sizes) TEXT(inputs) TEXT(run) TEXT(device) TEXT(device_id)    \
    TEXT(uuid) TEXT(cc) TEXT(driver) TEXT(nvrtc) TEXT(kiln) TEXT(source_key) WHOLE(status) TEXT(message)               \
    WHOLE(reusable) WHOLE(verified) WHOLE(measured) WHOLE(estimated) REAL(seconds) REAL(seconds_low)                   \
    REAL(seconds_high) WHOLE(repetitions) REAL(host_seconds) REAL(flops) REAL(bytes) REAL(roofline) REAL(worst_error)  \
    WHOLE(compile_ns) WHOLE(made)

/* A row; every text is given ("" for none). */
typedef struct kiln__row {
#define KILN__TEXT(name) const char *name;
#define KILN__WHOLE(name) int64_t name;
#define KILN__REAL(name) double name;
    KILN__STORE_COLUMNS(KILN__TEXT, KILN__WHOLE, KILN__REAL)
#undef KILN__TEXT
#undef KILN__WHOLE
#undef KILN__REAL
    const double *times;
    size_t time_count;
} kiln__row;

/* The part of a row that is a result. */
void kiln__row_result(const kiln__row *row, kiln_result *result);
void kiln__row_set_result(kiln__row *row, const kiln_result *result);

/* Opens PATH; see kiln_store_open(). `path` is copied. */
kiln_status kiln__store_open(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                             kiln_store **store, kiln_error **error);
/* The same; another process that has it locked is waited for so long. */
kiln_status kiln__store_open_for(const kiln_allocator *mem, const kiln__log *log, const char *path, unsigned flags,
                                 unsigned wait_ms, kiln_store **store, kiln_error **error);
/* Writes a row. Where there is one of its key, the one made later stays; *taken (may be NULL): it was this one. When it
 * returns, the row is in the database, or in a file beside it while another process has that locked, and the end of this
 * process cannot undo it. */
kiln_status kiln__store_add(kiln_store *store, const kiln__row *row, bool *taken, kiln_error **error);
/* Brings into the database what waits beside it; `wait`: for another process as long as at the opening, not just a
 * moment. KILN_ERROR_TIMEOUT: how many samples still wait, and where. */
kiln_status kiln__store_settle(kiln_store *store, bool wait, kiln_error **error);
/* The reusable row of a key, its texts in `arena`. *found false: there is none. */
kiln_status kiln__store_find(kiln_store *store, const char *key, kiln__arena *arena, kiln__row *row, bool *found,
                             kiln_error **error);

/* Settings as a text: `BLOCK=32 SCALE=0.5 FAST=true MODE="ca"`. Reads back exactly, kinds included. */
void kiln__settings_print(kiln__text *out, const kiln_setting *settings, size_t count);
/* False: no such text, or no memory (arena->failed). */
bool kiln__settings_read(kiln__arena *arena, const char *text, kiln_setting **settings, size_t *count);

#endif
