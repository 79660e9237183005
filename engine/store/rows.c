/* rows.c - writes, finds, lists and removes samples. The functions check the type of every value that they read from
 * the file. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "store_internal.h"

/* ---- binding and reading a row ---- */

static int bind_row(sqlite3_stmt *statement, const kiln__store_row *row)
{
    int at = 0, code = SQLITE_OK;
#define TEXT(name)                                                                                                     \
    if (code == SQLITE_OK)                                                                                             \
        code = sqlite3_bind_text(statement, ++at, row->name, -1, SQLITE_STATIC);
#define WHOLE(name)                                                                                                    \
    if (code == SQLITE_OK)                                                                                             \
        code = sqlite3_bind_int64(statement, ++at, row->name);
#define REAL(name)                                                                                                     \
    if (code == SQLITE_OK)                                                                                             \
        code = sqlite3_bind_double(statement, ++at, row->name);
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    if (code == SQLITE_OK) /* SQLite would store a NULL pointer as NULL */
        code = sqlite3_bind_blob64(statement, ++at, row->time_count ? (const void *)row->times : "",
                                   row->time_count * sizeof *row->times, SQLITE_STATIC);
    return code;
}

static const char *text_column(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

const char *kiln__store_read_row(sqlite3_stmt *statement, kiln__store_row *row)
{
    const char *bad = NULL;
    int at = 0;
/* NaN is stored as NULL. The type of a value is read first, because reading the value may change the type. */
#define TEXT(name)                                                                                                     \
    bad = sqlite3_column_type(statement, at) != SQLITE_TEXT ? #name : bad;                                             \
    row->name = text_column(statement, at++);
#define WHOLE(name)                                                                                                    \
    bad = sqlite3_column_type(statement, at) != SQLITE_INTEGER ? #name : bad;                                          \
    row->name = sqlite3_column_int64(statement, at++);
#define REAL(name)                                                                                                     \
    bad = sqlite3_column_type(statement, at) == SQLITE_TEXT || sqlite3_column_type(statement, at) == SQLITE_BLOB       \
              ? #name                                                                                                  \
              : bad;                                                                                                   \
    row->name = sqlite3_column_double(statement, at++);
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    bool blob = sqlite3_column_type(statement, at) == SQLITE_BLOB;
    /* SQLite aligns blobs so that they can hold any type */
    row->times = blob ? sqlite3_column_blob(statement, at) : NULL;
    row->time_count = row->times ? (size_t)sqlite3_column_bytes(statement, at) / sizeof *row->times : 0;
    if (!blob || (row->times && (size_t)sqlite3_column_bytes(statement, at) % sizeof *row->times != 0))
        bad = "times";
    return row->status < 0 || row->status > INT_MAX ? "status" : bad;
}

void kiln__store_leave_out(const kiln_store *store, const kiln__store_row *row, const char *column)
{
    kiln__logf(&store->log, KILN_LOG_WARNING,
               "the store %s: sample '%.40s' of %.80s is damaged (%s) and was left out; a sweep makes it again",
               store->path, row->key, row->spec, column);
}

/* ---- adding ---- */

int kiln__store_insert(kiln_store *store, const kiln__store_row *row, bool *taken)
{
    int code = bind_row(store->insert, row);
    kiln__scan_begin(store);
    if (code == SQLITE_OK)
        code = sqlite3_step(store->insert);
    if (taken)
        *taken = code == SQLITE_DONE && sqlite3_changes(store->db) > 0;
    sqlite3_reset(store->insert);
    sqlite3_clear_bindings(store->insert);
    return code;
}

static kiln_status check_writable(kiln_store *store, kiln_error **error)
{
    if (store->read_only)
        return kiln__fail(store->mem, error, KILN_ERROR_ARGUMENT, "the store %s was opened read-only", store->path);
    return kiln__store_reach(store, error);
}

/* Inserts the row. If the database is damaged, inserts the row into a new database. Returns SQLite's code. */
static int insert_or_replace(kiln_store *store, const kiln__store_row *row, bool *taken, kiln_status *status,
                             kiln_error **error)
{
    int code = kiln__store_insert(store, row, taken);
    if (!kiln__store_is_damage(code))
        return code;
    *status = kiln__store_replace(store, sqlite3_errstr(code), error);
    return *status == KILN_OK ? kiln__store_insert(store, row, taken) : SQLITE_DONE;
}

kiln_status kiln__store_add(kiln_store *store, const kiln__store_row *row, bool *taken, kiln_error **error)
{
    pthread_mutex_lock(&store->lock);
    store->hurry = store->late;
    kiln_status status = check_writable(store, error);
    int code = status == KILN_OK ? kiln__pending_settle(store) : SQLITE_DONE;
    if (status == KILN_OK && !store->pending)
        code = insert_or_replace(store, row, taken, &status, error);
    if (status == KILN_OK && !store->beside && (store->pending || kiln__store_is_busy(code))) {
        status = kiln__pending_add(store, row, error);
        if (taken)
            *taken = status == KILN_OK;
    } else if (status == KILN_OK && code != SQLITE_DONE) {
        status = kiln__store_fail(store, code, "writing a sample", error);
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

const char *kiln__store_row_unfit(kiln__arena *arena, const kiln__store_row *row)
{
    kiln__settings settings;
    if (strlen(row->key) != 32 || row->key[strspn(row->key, "0123456789abcdef")])
        return "the key must be 32 hexadecimal digits:";
    if (row->status < 0 || row->status > INT_MAX) /* the reader would leave out a sample with such a status */
        return "the status is out of range, key:";
    if (!kiln__settings_read(arena, row->params, &settings) || !kiln__settings_read(arena, row->sizes, &settings) ||
        !kiln__settings_read(arena, row->features, &settings))
        return "params, sizes and features must be NAME=VALUE ...:";
    return NULL;
}

/* ---- finding ---- */

/* Copies a row and everything to which it points. */
static bool copy_row(kiln__arena *arena, const kiln__store_row *from, kiln__store_row *row)
{
    *row = *from;
#define TEXT(name) row->name = kiln__arena_strdup(arena, from->name);
#define WHOLE(name)
#define REAL(name)
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    double *times = kiln__arena_alloc(arena, (from->time_count + 1) * sizeof *times);
    if (times && from->time_count)
        memcpy(times, from->times, from->time_count * sizeof *times);
    row->times = times;
    return !arena->failed;
}

/* Looks up the row of one key. *bad gets the column that makes the row unusable. */
static int find_row(kiln_store *store, const char *key, kiln__arena *arena, kiln__store_row *row, bool *found,
                    const char **bad)
{
    kiln__store_row here;
    kiln__scan_begin(store);
    int code = sqlite3_bind_text(store->find, 1, key, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(store->find);
    *found = code == SQLITE_ROW;
    if (*found) {
        *bad = kiln__store_read_row(store->find, &here);
        code = copy_row(arena, &here, row) ? SQLITE_DONE : SQLITE_NOMEM;
    }
    sqlite3_reset(store->find);
    return code;
}

kiln_status kiln__store_find(kiln_store *store, const char *key, kiln__arena *arena, kiln__store_row *row, bool *found,
                             kiln_error **error)
{
    pthread_mutex_lock(&store->lock);
    const char *bad = NULL;
    *found = false;
    store->hurry = store->late;
    kiln_status status = store->read_only ? KILN_OK : kiln__store_reach(store, error);
    if (status == KILN_OK && store->pending &&
        kiln__store_find(store->pending, key, arena, row, found, NULL) != KILN_OK)
        *found = false; /* the pending file cannot be read; adding its samples to the store will report that */
    int code = status == KILN_OK && !*found ? find_row(store, key, arena, row, found, &bad) : SQLITE_DONE;
    if (kiln__store_is_damage(code) && !store->read_only) {
        status = kiln__store_replace(store, sqlite3_errstr(code), error);
        *found = false;
    } else if (code != SQLITE_DONE) {
        status = kiln__store_fail(store, code, "looking for a sample", error);
    } else if (bad) {
        /* the sweep makes the sample again, and its new row replaces this row */
        kiln__store_leave_out(store, row, bad);
        *found = false;
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

/* ---- queries for several samples ---- */

/* Binds a text such as " N=512 ", which the text of a row's sizes must contain. */
static int bind_size(kiln_store *store, sqlite3_stmt *statement, int at, const kiln_setting *size)
{
    kiln__text text = {.mem = store->mem};
    kiln__text_puts(&text, " ");
    kiln__settings_print(&text, (kiln__settings){1, size});
    kiln__text_puts(&text, " ");
    int code = text.failed ? SQLITE_NOMEM : sqlite3_bind_text(statement, at, text.data, -1, SQLITE_TRANSIENT);
    kiln__text_free(&text);
    return code;
}

/* Adds the pending samples first, and then builds the WHERE clause. The parameters 1 to 5 of the clause are the filters
 * that every query has. After these parameters there is one parameter for each size, and one for each excluded list of
 * files. If `head` begins with D, it is a DELETE, which never removes the samples of another spec. */
kiln_status kiln__store_query(kiln_store *store, const char *head, const kiln_store_filter *filter, const char *tail,
                              sqlite3_stmt **statement, kiln_error **error)
{
    store->hurry = false;
    KILN__TRY(store->read_only ? KILN_OK : kiln__store_reach(store, error));
    if (!store->db)
        return kiln__fail(store->mem, error, KILN_ERROR_IO, "the store %s is damaged", store->path);
    kiln__pending_settle(store);
    if (store->pending)
        kiln__logf(&store->log, KILN_LOG_WARNING,
                   "%llu samples are not in the store %s yet, because another process has it locked: "
                   "they are pending in %s",
                   (unsigned long long)kiln__pending_count(store), store->path, store->pending->path);
    kiln__files apart = {.arena.mem = store->mem};
    kiln_status status = kiln__files_apart(store, filter, *head == 'D', &apart, error);
    if (status != KILN_OK) {
        kiln__files_free(store, &apart);
        return status;
    }
    const size_t first = filter->size_count + 6;
    kiln__text sql = {.mem = store->mem};
    kiln__text_printf(
        &sql,
        "%s WHERE kiln_rises(id) AND (?1 IS NULL OR spec = ?1) AND (?2 IS NULL OR variant = ?2) AND (?3 IS NULL OR "
        "device_id = ?3 OR uuid = ?3 OR instr(lower(device), lower(?3))) AND (?4 = 0 OR "
        "(status <> 0) = (?4 > 0)) AND (?5 = 0 OR made < ?5)",
        head);
    for (size_t i = 0; i < filter->size_count; i++)
        kiln__text_printf(&sql, " AND instr(' ' || sizes || ' ', ?%zu)", i + 6);
    for (size_t i = 0; i < apart.count; i++)
        kiln__text_printf(&sql, " AND path <> ?%zu", first + i);
    kiln__text_printf(&sql, " %s", tail);
    int code = sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v2(store->db, sql.data, -1, statement, NULL);
    kiln__text_free(&sql);
    const char *const texts[] = {filter->spec, filter->variant, filter->device};
    for (int i = 0; i < 3 && code == SQLITE_OK; i++)
        code = texts[i] ? sqlite3_bind_text(*statement, i + 1, texts[i], -1, SQLITE_STATIC) : SQLITE_OK;
    if (code == SQLITE_OK)
        code = sqlite3_bind_int(*statement, 4, filter->failed);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(*statement, 5, filter->before);
    for (size_t i = 0; i < filter->size_count && code == SQLITE_OK; i++)
        code = bind_size(store, *statement, (int)i + 6, &filter->sizes[i]);
    for (size_t i = 0; i < apart.count && code == SQLITE_OK; i++)
        code = sqlite3_bind_text(*statement, (int)(first + i), apart.lists[i], -1, SQLITE_TRANSIENT);
    kiln__files_free(store, &apart);
    kiln__scan_begin(store);
    if (code == SQLITE_OK)
        return KILN_OK;
    sqlite3_finalize(*statement);
    *statement = NULL;
    return kiln__store_fail(store, code, "reading it", error);
}

#define ONE(kind, name, unit, text) +1
_Static_assert(0 KILN_RESULT_MAP(ONE) == 0 KILN__STORE_RESULT(ONE) KILN_RESULT_MAP_NOT_KEPT(ONE)
                                             KILN_RESULT_MAP_NOT_KEPT_2(ONE) KILN_RESULT_MAP_NOT_KEPT_3(ONE),
               "a list of KILN_RESULT_MAP is neither in KILN__STORE_RESULT nor KILN_RESULT_MAP_NOT_KEPT");
_Static_assert(0 KILN__STORE_COLUMNS_9(ONE) == 1 && 0 KILN__STORE_COLUMNS_8(ONE) == 1 &&
                   0 KILN__STORE_COLUMNS_7(ONE) == 1 && 0 KILN__STORE_COLUMNS_6(ONE) == 2 &&
                   0 KILN__STORE_COLUMNS_5(ONE) == 1 && 0 KILN__STORE_COLUMNS_4(ONE) == 3 &&
                   0 KILN__STORE_COLUMNS_3(ONE) == 6 && 0 KILN__STORE_COLUMNS_2(ONE) == 9 &&
                   0 KILN__STORE_COLUMNS_1(ONE) == 32,
               "a version of the schema never changes: new columns need a new version (KILN__STORE_VERSION)");
#undef ONE

static kiln_metric_values read_metric_values(const char *text)
{
    kiln_metric_values values = {{0}};
    size_t length = strlen(text);
    memcpy(values.text, text, length < sizeof values.text ? length : sizeof values.text - 1);
    return values;
}

static kiln_host_times read_host_times(const char *text)
{
    kiln_host_times times = {{0}};
    size_t length = strlen(text);
    memcpy(times.text, text, length < sizeof times.text ? length : sizeof times.text - 1);
    return times;
}

void kiln__store_row_result(const kiln__store_row *row, kiln_result *result)
{
    *result = (kiln_result){0};
#define GET(kind, name, unit, text) result->name = GET_##kind(row->name);
#define GET_FLAG(value) ((value) != 0)
#define GET_COUNT(value) (unsigned)(value)
#define GET_THROTTLE(value) (unsigned)(value)
#define GET_NANOSECONDS(value) (uint64_t)(value)
#define GET_MICROSECONDS(value) value
#define GET_REAL(value) value
#define GET_SECONDS(value) value
#define GET_KNOWN(value) value
#define GET_HOSTS(value) read_host_times(value)
#define GET_METRICS(value) read_metric_values(value)
    KILN__STORE_RESULT(GET)
}

void kiln__store_row_set_result(kiln__store_row *row, const kiln_result *result)
{
#define TEXT(name) row->name = result->name.text;
#define WHOLE(name) row->name = (int64_t)result->name;
#define REAL(name) row->name = result->name;
    KILN__STORE_RESULT(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
}

/* A record in the form in which kiln_store_list() passes it, with members that the public type does not have. */
typedef struct listed {
    /* must be the first member, so that a pointer to the record can be cast to a pointer to this struct */
    kiln_record record;
    int64_t taken;
} listed;

int64_t kiln__store_record_taken(const kiln_record *record) { return ((const listed *)(const void *)record)->taken; }

/* Converts a row to a kiln_record, and passes it to the caller. If the settings of a row cannot be parsed, leaves the
 * row out with a warning. */
static kiln_status show_row(kiln_store *store, const kiln__store_row *row, kiln_record_fn each, void *user,
                            bool *enough, kiln_error **error)
{
    kiln__arena arena = {.mem = store->mem};
    kiln__settings params = {0}, sizes = {0}, features = {0};
    kiln_result result;
    kiln__store_row_result(row, &result);
#define COPY(kind, name, unit, text) .name = row->name,
    listed shown = {.taken = row->taken};
    kiln_record *record = &shown.record;
    *record = (kiln_record){.status = (kiln_status)row->status,
                            .message = row->message,
                            .reusable = row->reusable != 0,
                            .result = &result,
                            .times = row->times,
                            .time_count = row->time_count,
                            .made = row->made,
                            .host = row->host,
                            .command = row->command,
                            .paths = row->path,
                            KILN_RECORD_SUBJECT_MAP(COPY) KILN_RECORD_ORIGIN_MAP(COPY)};
#undef COPY
    bool read = kiln__settings_read(&arena, row->params, &params) && kiln__settings_read(&arena, row->sizes, &sizes) &&
                kiln__settings_read(&arena, row->features, &features);
    kiln_status status = KILN_OK;
    record->params = params.items;
    record->param_count = params.count;
    record->sizes = sizes.items;
    record->size_count = sizes.count;
    record->features = features.items;
    record->feature_count = features.count;
    if (read)
        *enough = each(user, record) != 0;
    else if (arena.failed)
        status = kiln__fail_memory(error);
    else
        kiln__store_leave_out(store, row, "params, sizes or features");
    kiln__arena_free(&arena);
    return status;
}

/* Passes the rows to the caller in the order in which they were added. */
kiln_status kiln_store_list(kiln_store *store, const kiln_store_filter *given, kiln_record_fn each, void *user,
                            kiln_error **error)
{
    kiln_store_filter filter;
    KILN__NEEDS(NULL, error, store);
    KILN__TRY(kiln__take_filter(store->mem, error, __func__, given, &filter));
    KILN__NEEDS(store->mem, error, each);
    sqlite3_stmt *statement = NULL;
    pthread_mutex_lock(&store->lock);
    kiln_status status = kiln__store_query(store, "SELECT " KILN__STORE_LIST " FROM sample", &filter, "ORDER BY id",
                                           &statement, error);
    int code = status == KILN_OK ? SQLITE_ROW : SQLITE_DONE;
    bool enough = false;
    while (code == SQLITE_ROW && status == KILN_OK && !enough) {
        code = kiln__scan_step(store, statement);
        if (code == SQLITE_ROW) {
            kiln__store_row row;
            const char *bad = kiln__store_read_row(statement, &row);
            if (bad)
                kiln__store_leave_out(store, &row, bad);
            else
                status = show_row(store, &row, each, user, &enough, error);
        }
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        status = kiln__store_fail(store, code, "reading it", error);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
    return status;
}

kiln_status kiln_store_prune(kiln_store *store, const kiln_store_filter *given, uint64_t *removed, kiln_error **error)
{
    kiln_store_filter filter;
    KILN__NEEDS(NULL, error, store);
    KILN__TRY(kiln__take_filter(store->mem, error, __func__, given, &filter));
    sqlite3_stmt *statement = NULL;
    pthread_mutex_lock(&store->lock);
    kiln_status status = check_writable(store, error);
    if (status == KILN_OK)
        status = kiln__store_query(store, "DELETE FROM sample", &filter, "", &statement, error);
    if (status == KILN_OK) {
        int code = sqlite3_step(statement);
        if (code != SQLITE_DONE)
            status = kiln__store_fail(store, code, "removing samples", error);
        else if (removed)
            *removed = (uint64_t)sqlite3_changes64(store->db);
    }
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
    return status;
}
