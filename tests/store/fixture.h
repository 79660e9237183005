/* fixture.h - a store in a separate folder, and rows for it. */
#ifndef KILN_TEST_STORE_FIXTURE_H
#define KILN_TEST_STORE_FIXTURE_H

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "store_internal.h"

typedef struct fixture {
    char folder[64], path[96];
    kiln_store *store;
    char log[512];
} fixture;

static inline void note(void *user, kiln_log_level level, const char *message)
{
    fixture *f = user;
    if (level == KILN_LOG_WARNING)
        snprintf(f->log, sizeof f->log, "%s", message);
}

static inline void open_store(fixture *f, unsigned flags)
{
    kiln_error *error = NULL;
    kiln__log log = {note, f};
    CHECK_OK(kiln__store_open(NULL, &log, f->path, flags, &f->store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->store);
}

static inline void setup(fixture *f)
{
    memset(f, 0, sizeof *f);
    /* Makes the folder in memory if possible: a busy disk takes long to confirm a write. */
    strcpy(f->folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/kiln-store-XXXXXX" : "/tmp/kiln-store-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/sub/samples.db", f->folder);
    open_store(f, 0);
}

static inline void close_store(fixture *f)
{
    kiln_store_close(f->store);
    f->store = NULL;
}

static inline void teardown(fixture *f)
{
    char command[256];
    close_store(f);
    snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -rf '%s'", f->folder, f->folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

/* Makes a row that differs in each of its fields from the row with another number. */
static inline kiln__store_row row_of(unsigned number, char key[33], double times[3])
{
    snprintf(key, 33, "%032x", number);
    for (unsigned i = 0; i < 3; i++)
        times[i] = (number + i) / 3.0;
    return (kiln__store_row){
        .key = key,
        .spec = "matmul",
        .variant = number % 2 ? "odd" : "even",
        .params = "BLOCK=32 MODE=\"a, \\\"b\\\"\"",
        .sizes = "N=512",
        .inputs = "i",
        .run = "verify",
        .device = "Some GPU, made up",
        .device_id = "cuda:0",
        .uuid = "GPU-1",
        .cc = "9.0",
        .driver = "13.0",
        .nvrtc = "12.9",
        .kiln = "0",
        .source_key = "s",
        .status = number % 5 == 4 ? KILN_ERROR_COMPILE : KILN_OK,
        .message = number % 5 == 4 ? "no\nno" : "",
        .reusable = 1,
        .input_functions = "sparse_matrix=0.25 sparse_sell=0.125",
        .verified = 1,
        .measured = 1,
        .seconds = times[1],
        .seconds_low = times[0],
        .seconds_high = times[2],
        .repetitions = 3,
        .flops = 1e12 + number,
        .worst_error = 0.1,
        .made = 1000 + number,
        .stopped_early = number % 3 == 0,
        .finals = 77 + number,
        .first_seconds = times[0] / 2,
        .clock_hz = 1.98e9 + number,
        .memory_clock_hz = 3.2e9 + number,
        .throttle = number % 16,
        .temperature = 40 + number,
        .power_watts = 600.5 + number,
        .energy_joules = 0.25 * number,
        .features = number % 2 ? "rows=300 mean=2.5" : "",
        .metrics = number % 2 ? "edges=12.0 rate=0.5" : "",
        .host = "a1, Linux",
        .command = "kiln tune \"matmul\", twice",
        .path = number % 2 ? "/nowhere/a, b.yaml\n/nowhere/=c.yaml" : "",
        .taken = number % 4 ? 2000 + number : 0,
        .times = times,
        .time_count = 3,
    };
}

static inline bool add_number(kiln_store *store, unsigned number)
{
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(number, key, times);
    kiln_status status = kiln__store_add(store, &row, NULL, &error);
    if (status != KILN_OK)
        fprintf(stderr, "%u: %s\n", number, kiln_error_message(error));
    kiln_error_free(error);
    return status == KILN_OK;
}

static inline int count_record(void *user, const kiln_record *record)
{
    (void)record;
    ++*(unsigned *)user;
    return 0;
}

static inline unsigned count_all(kiln_store *store, const kiln_store_filter *filter)
{
    unsigned count = 0;
    kiln_error *error = NULL;
    CHECK_OK(kiln_store_list(store, filter, count_record, &count, &error), error);
    return count;
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
}

static inline void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    CU_ASSERT_EQUAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static inline void check_integrity(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    CU_ASSERT_EQUAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_step(statement), SQLITE_ROW);
    CHECK_TEXT((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

#endif
