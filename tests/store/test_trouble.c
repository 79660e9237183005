/* Tests a damaged or locked store: another process holds it, its tables do not belong to a store, its values have other
 * types, or its file disappears. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"

/* ---- a store that another process holds ---- */

static unsigned count_files(const fixture *f, const char *pattern)
{
    char command[256], text[32] = "";
    snprintf(command, sizeof command, "ls %s/sub | grep -c -- '%s'", f->folder, pattern);
    FILE *pipe = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof text, pipe));
    pclose(pipe);
    return (unsigned)strtoul(text, NULL, 10);
}

#define PENDING "pending-[0-9-]*$"

static void open_impatient(fixture *f, unsigned flags)
{
    kiln_error *error = NULL;
    kiln__log log = {note, f};
    CHECK_OK(kiln__store_open_for(NULL, &log, f->path, flags, 40, NULL, &f->store, &error), error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->store);
}

static sqlite3 *hold(const char *path)
{
    sqlite3 *db = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 60000);
    CU_ASSERT_EQUAL_FATAL(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void let_go(sqlite3 *db)
{
    CU_ASSERT_EQUAL(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static bool has_number(kiln_store *store, unsigned number)
{
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__arena arena = {0};
    kiln__store_row want = row_of(number, key, times), got;
    bool found = false;
    CHECK_OK(kiln__store_find(store, key, &arena, &got, &found, &error), error);
    found = found && got.seconds == want.seconds && memcmp(got.times, times, sizeof times) == 0;
    kiln__arena_free(&arena);
    return found;
}

/* Even if many samples come, the store waits for the lock only once. The samples can be listed meanwhile. They are in
 * the store when the lock is free. */
static void a_held_store_costs_one_wait(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    open_impatient(&f, 0);
    CHECK(add_number(f.store, 0));
    sqlite3 *other = hold(f.path);
    for (unsigned i = 1; i < 30; i++)
        CHECK(add_number(f.store, i));
    CHECK(add_number(f.store, 7)); /* the same sample is made again: there must be no second row */
    CHECK(f.store->vain == 1);
    CHECK(strstr(f.log, "samples are kept in") != NULL);
    CHECK(count_files(&f, PENDING) == 1);
    CHECK(has_number(f.store, 0) && has_number(f.store, 29) && !has_number(f.store, 30));
    CHECK(count_all(f.store, NULL) == 1); /* the log has the reason */
    CHECK(strstr(f.log, "29 samples are not in the store") != NULL);
    let_go(other);
    CHECK(add_number(f.store, 30));
    CHECK(count_files(&f, "pending") == 0);
    CHECK(count_all(f.store, NULL) == 31);
    for (unsigned i = 0; i <= 30; i++)
        CHECK(has_number(f.store, i));
    check_integrity(f.path);
    teardown(&f);
}

/* Samples that are pending at the end stay beside the store. The next process that opens the store adds them, once. */
static void what_waits_is_taken_in(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    open_impatient(&f, 0);
    sqlite3 *other = hold(f.path);
    kiln_error *error = NULL;
    for (unsigned i = 0; i < 5; i++)
        CHECK(add_number(f.store, i));
    CHECK(kiln__store_settle(f.store, true, &error) == KILN_ERROR_TIMEOUT);
    CHECK(error && strstr(kiln_error_message(error), "5 samples are not in the store") &&
          strstr(kiln_error_message(error), ".pending-"));
    kiln_error_free(error);
    CHECK(f.store->vain == 2);
    kiln_store *mine = f.store;
    open_impatient(&f, 0); /* another store, which does not touch pending files that are in use */
    CHECK(!has_number(f.store, 4) && has_number(mine, 4));
    CHECK(add_number(f.store, 5));
    close_store(&f);
    kiln_store_close(mine);
    CHECK(count_files(&f, PENDING) == 2);
    open_impatient(&f, KILN_STORE_READ);
    CHECK(strstr(f.log, "are not in the store yet") != NULL);
    CHECK(count_all(f.store, NULL) == 0);
    close_store(&f);
    let_go(other);
    for (int i = 0; i < 2; i++) {
        open_store(&f, 0);
        CHECK(count_all(f.store, NULL) == 6);
        CHECK(count_files(&f, "pending") == 0);
        close_store(&f);
    }
    teardown(&f);
}

/* If even a read has to wait, the wait is limited, and the message has the reason for the wait. */
static void opening_a_held_store(void)
{
    fixture f;
    setup(&f);
    CHECK(add_number(f.store, 1));
    close_store(&f);
    sqlite3 *other = NULL;
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(f.path, &other), SQLITE_OK);
    CU_ASSERT_EQUAL(
        sqlite3_exec(other, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM sample", NULL, NULL, NULL),
        SQLITE_OK);
    for (unsigned flags = 0; flags < 2; flags++) {
        kiln_error *error = NULL;
        CHECK(kiln__store_open_for(NULL, NULL, f.path, flags ? KILN_STORE_READ : 0, 40, NULL, &f.store, &error) ==
              KILN_ERROR_TIMEOUT);
        CHECK(strstr(kiln_error_message(error), "another process has it locked; waited 0.04 s") != NULL);
        kiln_error_free(error);
    }
    CU_ASSERT_EQUAL(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    open_store(&f, 0);
    CHECK(has_number(f.store, 1));
    teardown(&f);
}

/* A flag ends the wait. It also ends an import between two rows, which then adds nothing. A sample that is written is
 * kept. */
static void a_flag_ends_waiting_and_importing(void)
{
    fixture f;
    char export[128];
    volatile int stop = 0;
    kiln_error *error = NULL;
    sqlite3 *other = NULL;
    setup(&f);
    for (unsigned n = 0; n < 3; n++)
        CHECK(add_number(f.store, n));
    for (unsigned json = 0; json < 2; json++) {
        snprintf(export, sizeof export, "%s/out.%s", f.folder, json ? "json" : "csv");
        CHECK_OK(kiln_store_export(f.store, NULL, export, KILN_FORMAT_AUTO, NULL, &error), error);
        kiln_store *into = NULL;
        char path[128];
        snprintf(path, sizeof path, "%s/into%u.db", f.folder, json);
        CHECK_OK(kiln__store_open_for(NULL, NULL, path, 0, 40, &stop, &into, &error), error);
        stop = 1;
        CHECK(kiln_store_import(into, export, NULL, NULL, &error) == KILN_ERROR_INTERRUPTED);
        CHECK(strstr(kiln_error_message(error), "interrupted; nothing was imported") != NULL);
        kiln_error_free(error);
        error = NULL;
        CHECK(count_all(into, NULL) == 0);
        CHECK(add_number(into, 7) && has_number(into, 7));
        stop = 0;
        CHECK_OK(kiln_store_import(into, export, NULL, NULL, &error), error);
        CHECK(count_all(into, NULL) == 4);
        kiln_store_close(into);
    }
    close_store(&f);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(f.path, &other), SQLITE_OK);
    CU_ASSERT_EQUAL(
        sqlite3_exec(other, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM sample", NULL, NULL, NULL),
        SQLITE_OK);
    stop = 1;
    for (unsigned flags = 0; flags < 2; flags++) { /* without the flag the call would wait for an hour */
        CHECK(kiln__store_open_for(NULL, NULL, f.path, flags ? KILN_STORE_READ : 0, 3600000, &stop, &f.store, &error) ==
              KILN_ERROR_INTERRUPTED);
        CHECK(strstr(kiln_error_message(error), "interrupted while another process has it locked") != NULL);
        kiln_error_free(error);
        error = NULL;
    }
    sqlite3_close(other);
    teardown(&f);
}

/* The writer is killed while another process holds the store. Each sample that it has reported must be there. */
static void nothing_that_waits_is_lost_by_sigkill(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    for (unsigned round = 0; round < 5; round++) {
        int go[2], said[2];
        CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
        CU_ASSERT_EQUAL_FATAL(pipe(said), 0);
        pid_t writer = fork(); /* forks before this process has the store open */
        if (writer == 0) {
            char byte;
            kiln_store *store = NULL;
            if (read(go[0], &byte, 1) != 1 ||
                kiln__store_open_for(NULL, NULL, f.path, 0, 0, NULL, &store, NULL) != KILN_OK)
                _exit(1);
            for (unsigned n = 100 * round; n < 100 * round + 100; n++)
                if (!add_number(store, n) || kiln__write_all(said[1], &n, sizeof n) != 0)
                    _exit(1);
            pause();
        }
        sqlite3 *other = hold(f.path);
        CHECK(write(go[1], "", 1) == 1);
        unsigned number = 0, last = 100 * round + 10 * round + 5;
        while (number < last && read(said[0], &number, sizeof number) == (ssize_t)sizeof number)
            continue;
        kill(writer, SIGKILL);
        int how = 0;
        CU_ASSERT_EQUAL(waitpid(writer, &how, 0), writer);
        CHECK(WIFSIGNALED(how) && count_files(&f, PENDING) == 1);
        let_go(other);
        open_store(&f, 0);
        for (unsigned n = 100 * round; n <= last; n++)
            CHECK(has_number(f.store, n));
        CHECK(count_files(&f, "pending") == 0);
        close_store(&f);
        for (int i = 0; i < 2; i++) {
            close(go[i]);
            close(said[i]);
        }
    }
    check_integrity(f.path);
    teardown(&f);
}

/* Files with the name of pending files that no store has written do not disturb the store. */
static void what_waits_may_be_anything(void)
{
    fixture f;
    setup(&f);
    char path[128];
    CHECK(add_number(f.store, 1));
    close_store(&f);
    snprintf(path, sizeof path, "%s.pending-1-1", f.path);
    write_file(path, "");
    open_store(&f, 0);
    CHECK(count_files(&f, "pending") == 0);
    close_store(&f);
    snprintf(path, sizeof path, "%s.pending-1-2", f.path);
    write_file(path, "this is no database, and long enough that nobody takes it for an empty one. "
                     "this is no database, and long enough that nobody takes it for an empty one.");
    open_store(&f, 0);
    CHECK(strstr(f.log, "pending-1-2 is damaged") != NULL);
    CHECK(count_files(&f, PENDING) == 0 && count_files(&f, "pending-1-2.damaged") == 1);
    close_store(&f);
    snprintf(path, sizeof path, "%s.pending-1-3", f.path);
    run_sql(path, "CREATE TABLE t (x)");
    open_store(&f, 0);
    CHECK(strstr(f.log, "cannot add the samples in") && strstr(f.log, "another program"));
    CHECK(count_files(&f, PENDING) == 1 && count_all(f.store, NULL) == 1);
    teardown(&f);
}

/* ---- tables that do not belong to a store ---- */

/* Changes the tables of a store by SQL. Opening it must then fail, with a message that names the change. */
static void tables_of_others_are_refused(void)
{
    static const struct {
        const char *sql, *says;
        kiln_status status;
    } bad[] = {
        {"ALTER TABLE sample DROP COLUMN flops", "column flops of table sample is missing", KILN_ERROR_REFUSED},
        {"ALTER TABLE sample ADD COLUMN more TEXT", "the column 'more'", KILN_ERROR_REFUSED},
        {"ALTER TABLE sample DROP COLUMN flops; ALTER TABLE sample ADD COLUMN flops TEXT",
         "column flops of table sample is of another type than REAL", KILN_ERROR_REFUSED},
        {"ALTER TABLE sample DROP COLUMN flops; ALTER TABLE sample ADD COLUMN flops REAL AS (1.0)",
         "column flops of table sample is generated", KILN_ERROR_REFUSED},
        {"DROP TABLE sample; CREATE TABLE t (x)", "the table 't'", KILN_ERROR_REFUSED},
        {"DROP INDEX sample_key", "the index sample_key", KILN_ERROR_REFUSED},
        {"DROP INDEX sample_spec; CREATE INDEX sample_spec ON sample (abs(status))", "the index 'sample_spec'",
         KILN_ERROR_REFUSED},
        {"DROP TABLE sample; CREATE VIEW sample AS SELECT 1 AS id", "the view 'sample'", KILN_ERROR_REFUSED},
        {"CREATE VIEW v AS SELECT 1", "the view 'v'", KILN_ERROR_REFUSED},
        {"CREATE TRIGGER t AFTER INSERT ON sample BEGIN DELETE FROM sample; END", "the trigger 't'",
         KILN_ERROR_REFUSED},
        {"PRAGMA user_version=1", "the column 'stopped_early'", KILN_ERROR_REFUSED},
        {"PRAGMA user_version=2", "the column 'inputs_seconds'", KILN_ERROR_REFUSED},
        {"PRAGMA user_version=3", "the column 'metrics'", KILN_ERROR_REFUSED},
        {"PRAGMA user_version=4", "the column 'path'", KILN_ERROR_REFUSED},
        {"PRAGMA user_version=8", "the column 'taken'", KILN_ERROR_REFUSED},
        {"PRAGMA user_version=0", "has version 0", KILN_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        fixture f;
        setup(&f);
        CHECK(add_number(f.store, 1));
        close_store(&f);
        run_sql(f.path, bad[i].sql);
        for (unsigned flags = 0; flags < 2; flags++) {
            kiln_error *error = NULL;
            CHECK(kiln__store_open(NULL, NULL, f.path, flags ? KILN_STORE_READ : 0, &f.store, &error) == bad[i].status);
            bool says = strstr(kiln_error_message(error), bad[i].says) && strstr(kiln_error_message(error), f.path);
            if (!says)
                fprintf(stderr, "%s: %s\n", bad[i].sql, kiln_error_message(error));
            CHECK(says);
            kiln_error_free(error);
        }
        CHECK(count_files(&f, "damaged") == 0);
        teardown(&f);
    }
}

/* Values of kinds that no store has, and a constraint that belongs to the file. They must not count as defects of
 * this library. */
static void values_of_other_kinds(void)
{
    static const struct {
        const char *sql, *says; /* `says` is a part of the message, or NULL if the row is damaged and left out */
    } bad[] = {
        {"UPDATE sample SET status='none'", NULL},
        {"UPDATE sample SET status=1e300", NULL},
        {"UPDATE sample SET status=-1", NULL},
        {"UPDATE sample SET seconds='fast'", NULL},
        {"UPDATE sample SET spec=x'00'", NULL},
        {"UPDATE sample SET made=x'00'", NULL},
        {"UPDATE sample SET times=x'00'", NULL},
        {"UPDATE sample SET times='now'", NULL},
        {"UPDATE sample SET times=zeroblob(70000000)", "larger than a store can have"},
    };
    fixture f;
    setup(&f);
    char key[33], csv[128], json[128];
    double times[3];
    kiln__store_row row = row_of(1, key, times), got;
    snprintf(csv, sizeof csv, "%s/x.csv", f.folder);
    snprintf(json, sizeof json, "%s/x.json", f.folder);
    for (size_t i = 0; i < KILN__COUNT(bad); i++) {
        kiln_error *errors[4] = {NULL};
        kiln__arena arena = {0};
        bool found = true;
        unsigned count = 0;
        row.made++;
        CHECK_OK(kiln__store_add(f.store, &row, NULL, &errors[0]), errors[0]);
        close_store(&f);
        run_sql(f.path, bad[i].sql);
        open_store(&f, 0);
        /* A damaged row is left out. Only a value that SQLite itself refuses to read stops the whole store. */
        const bool whole = bad[i].says != NULL;
        const kiln_status want = whole ? KILN_ERROR_IO : KILN_OK, none = whole ? KILN_ERROR_IO : KILN_ERROR_NOT_FOUND;
        CHECK(kiln_store_list(f.store, NULL, count_record, &count, &errors[0]) == want && count == 0);
        CHECK(kiln__store_find(f.store, key, &arena, &got, &found, &errors[1]) == want && !found);
        CHECK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_AUTO, NULL, &errors[2]) == want);
        CHECK(kiln_store_export(f.store, NULL, json, KILN_FORMAT_AUTO, NULL, &errors[3]) == none);
        for (size_t k = 0; k < KILN__COUNT(errors); k++) {
            CHECK(!whole || strstr(kiln_error_message(errors[k]), bad[i].says) != NULL);
            kiln_error_free(errors[k]);
        }
        kiln__arena_free(&arena);
        CHECK(kiln_store_prune(f.store, NULL, NULL, NULL) == KILN_OK);
    }
    close_store(&f);
    run_sql(f.path,
            "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql=replace(sql,'flops REAL','flops REAL CHECK (0)') "
            "WHERE name='sample'");
    open_store(&f, 0);
    CHECK(add_number(f.store, 5) && count_all(f.store, NULL) == 1);
    run_sql(f.path, "DROP TABLE sample"); /* the table disappears while the store is open */
    CHECK(!add_number(f.store, 6));
    kiln_error *error = NULL;
    unsigned count = 0;
    CHECK(kiln_store_list(f.store, NULL, count_record, &count, &error) == KILN_ERROR_IO);
    CHECK(strstr(kiln_error_message(error), "its tables were changed or are damaged") != NULL);
    kiln_error_free(error);
    teardown(&f);
}

/* Pages are overwritten, and a reader finds this in the middle of its work. The result is an error, and the file
 * stays unchanged. */
static void damage_in_the_middle_of_reading(void)
{
    fixture f;
    setup(&f);
    for (unsigned i = 0; i < 300; i++)
        CHECK(add_number(f.store, i));
    close_store(&f);
    struct stat info;
    static char waste[4096];
    memset(waste, 0xa5, sizeof waste);
    CU_ASSERT_EQUAL_FATAL(stat(f.path, &info), 0);
    int fd = open(f.path, O_WRONLY);
    for (off_t at = info.st_size / 2 / 4096 * 4096; at < info.st_size; at += 4096)
        CU_ASSERT_EQUAL(pwrite(fd, waste, sizeof waste, at), (ssize_t)sizeof waste);
    close(fd);
    open_store(&f, KILN_STORE_READ);
    kiln_error *error = NULL;
    unsigned count = 0;
    CHECK(kiln_store_list(f.store, NULL, count_record, &count, &error) == KILN_ERROR_IO);
    CHECK(strstr(kiln_error_message(error), "it is damaged") != NULL);
    kiln_error_free(error);
    CHECK(count < 300 && count_files(&f, "damaged") == 0);
    teardown(&f);
}

/* ---- a moment in which a pending file cannot be read ---- */

static void fail_third(sqlite3_context *context, int count, sqlite3_value **values)
{
    unsigned *rows = sqlite3_user_data(context);
    (void)count, (void)values;
    if (++*rows == 3)
        sqlite3_result_error_code(context, SQLITE_CORRUPT);
    else
        sqlite3_result_int(context, 1);
}

/* SQLite reports a momentary read error as damage. A second read finds the pending file intact, so no sample of it is
 * lost. */
static void a_momentary_error_of_a_pending_file(void)
{
    fixture f;
    unsigned rows = 0;
    setup(&f);
    close_store(&f);
    open_impatient(&f, 0);
    sqlite3 *other = hold(f.path);
    for (unsigned i = 0; i < 10; i++)
        CHECK(add_number(f.store, i));
    let_go(other);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f.store->pending);
    CHECK(sqlite3_create_function(f.store->pending->db, "kiln_rises", 1, SQLITE_UTF8, &rows, fail_third, NULL, NULL) ==
          SQLITE_OK);
    CHECK(count_all(f.store, NULL) == 10);
    CHECK(rows == 3 && strstr(f.log, "it is intact") != NULL);
    CHECK(count_files(&f, "pending") == 0 && count_files(&f, "damaged") == 0);
    teardown(&f);
}

/* ---- pages that refer to one page again and again ---- */

enum { PAGE = 4096, BRANCHES = 500, LEVELS = 4 };

static void put_number(unsigned char *at, unsigned number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i));
}

/* An inner page of a table. All children of the page are the page `child`. `used`: the bytes before the page's
 * header. */
static void make_inner_page(unsigned char *page, size_t used, unsigned child)
{
    unsigned char *header = page + used, *cells = header + 12, *end = page + PAGE;
    const unsigned content = PAGE - 5 * BRANCHES;
    memset(header, 0, PAGE - used);
    header[0] = 5;
    header[3] = BRANCHES >> 8;
    header[4] = BRANCHES & 255;
    header[5] = (unsigned char)(content >> 8);
    header[6] = content & 255;
    put_number(header + 8, child);
    for (unsigned i = 0; i < BRANCHES; i++) {
        end -= 5;
        put_number(end, child);
        end[4] = (unsigned char)(1 + i % 100); /* the largest id in the child */
        cells[2 * i] = (unsigned char)((end - page) >> 8);
        cells[2 * i + 1] = (unsigned char)((end - page) & 255);
    }
}

/* Moves the only page of a table to the end of the file, below LEVELS inner pages. Its rows then exist
 * BRANCHES^LEVELS times. */
static void multiply_rows(const fixture *f, unsigned root)
{
    enum { MOST = 64 };
    static unsigned char file[MOST * PAGE];
    int fd = open(f->path, O_RDWR);
    const ssize_t length = read(fd, file, sizeof file);
    unsigned pages = (unsigned)(length / PAGE);
    CU_ASSERT_FATAL(fd >= 0 && length % PAGE == 0 && pages + LEVELS <= MOST && root <= pages);
    unsigned char *page = file + (size_t)(root - 1) * PAGE;
    CU_ASSERT_EQUAL_FATAL(page[0], 13); /* 13 marks a leaf of a table */
    memcpy(file + (size_t)pages++ * PAGE, page, PAGE);
    for (unsigned level = 1; level < LEVELS; level++, pages++)
        make_inner_page(file + (size_t)pages * PAGE, 0, pages);
    make_inner_page(page, 0, pages);
    put_number(file + 28, pages);
    CU_ASSERT_EQUAL(pwrite(fd, file, (size_t)pages * PAGE, 0), (ssize_t)pages * PAGE);
    close(fd);
}

static int count_few(void *user, const kiln_record *record)
{
    (void)record;
    return ++*(unsigned *)user > 1000;
}

/* A file of some kilobytes with 10^11 rows. Reading it is an error and takes no noticeable time. */
static void more_rows_than_a_file_can_have(void)
{
    fixture f;
    kiln_error *errors[5] = {NULL};
    char csv[128], json[128];
    int64_t root = 0;
    unsigned count = 0;
    setup(&f);
    snprintf(csv, sizeof csv, "%s/x.csv", f.folder);
    snprintf(json, sizeof json, "%s/x.json", f.folder);
    CHECK(add_number(f.store, 0) && add_number(f.store, 1));
    CHECK(kiln__store_number(f.store, "SELECT rootpage FROM sqlite_master WHERE name='sample'", &root) == SQLITE_OK);
    close_store(&f);
    multiply_rows(&f, (unsigned)root);
    open_store(&f, KILN_STORE_READ);
    CHECK(kiln_store_list(f.store, NULL, count_few, &count, &errors[0]) == KILN_ERROR_IO && count <= 2);
    CHECK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_AUTO, NULL, &errors[1]) == KILN_ERROR_IO);
    CHECK(kiln_store_export(f.store, NULL, json, KILN_FORMAT_AUTO, NULL, &errors[2]) == KILN_ERROR_IO);
    const kiln_store_filter other = {.size = sizeof other, .spec = "other"},
                            path = {.size = sizeof path, .spec = "matmul", .path = "/a"};
    CHECK(kiln_store_list(f.store, &other, count_few, &count, &errors[3]) == KILN_ERROR_IO && count <= 2);
    CHECK(kiln_store_list(f.store, &path, count_few, &count, &errors[4]) == KILN_ERROR_IO && count <= 2);
    for (size_t k = 0; k < KILN__COUNT(errors); k++) {
        CHECK(strstr(kiln_error_message(errors[k]), "it is damaged") != NULL);
        kiln_error_free(errors[k]);
    }
    close_store(&f);
    open_store(&f, 0);
    CHECK(add_number(f.store, 2));
    teardown(&f);
}

/* Many rows whose long values are the same pages of the file, so that together they have more bytes than the file. */
static void more_bytes_than_a_file_has(void)
{
    fixture f;
    kiln_error *error = NULL;
    unsigned count = 0;
    setup(&f);
    for (unsigned i = 0; i < 40; i++)
        CHECK(add_number(f.store, i));
    close_store(&f);
    run_sql(f.path, "UPDATE sample SET message=printf('%.*c', 1000000, 'x') WHERE id=1; VACUUM");
    open_store(&f, KILN_STORE_READ);
    CHECK_OK(kiln_store_list(f.store, NULL, count_few, &count, &error), error);
    CHECK(count == 40);
    f.store->scan.size = 0;
    kiln__scan_begin(f.store);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(f.store->db, "SELECT a.message FROM sample a, sample b WHERE a.id=1", -1, &statement,
                                  NULL);
    for (count = 0; code == SQLITE_OK || code == SQLITE_ROW; count++)
        code = kiln__scan_step(f.store, statement);
    sqlite3_finalize(statement);
    CHECK(code == SQLITE_CORRUPT && count <= 4);
    teardown(&f);
}

/* ---- files that go away ---- */

static void a_store_that_is_removed(void)
{
    fixture f;
    setup(&f);
    char command[256];
    CHECK(add_number(f.store, 1));
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    CHECK(add_number(f.store, 2)); /* the sample goes into a new file */
    CHECK(strstr(f.log, "was removed together with its samples while it was open") != NULL);
    CHECK(count_all(f.store, NULL) == 1 && has_number(f.store, 2));
    snprintf(command, sizeof command, "rm -r %s/sub", f.folder);
    CU_ASSERT_EQUAL(system(command), 0);
    CHECK(add_number(f.store, 3)); /* the folder is made again, too */
    CHECK(count_all(f.store, NULL) == 1 && has_number(f.store, 3));
    snprintf(command, sizeof command, "rm -r %s/sub && touch %s/sub", f.folder, f.folder);
    CU_ASSERT_EQUAL(system(command), 0);
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(4, key, times);
    CHECK(kiln__store_add(f.store, &row, NULL, &error) == KILN_ERROR_IO);
    CHECK(strstr(kiln_error_message(error), "/sub") != NULL);
    kiln_error_free(error);
    snprintf(command, sizeof command, "rm %s/sub", f.folder);
    CU_ASSERT_EQUAL(system(command), 0);
    CHECK(add_number(f.store, 5) && count_all(f.store, NULL) == 1);
    close_store(&f);
    open_store(&f, 0);
    CHECK(has_number(f.store, 5));
    check_integrity(f.path);
    teardown(&f);
}

static const check_case cases[] = {
    {"a held store costs one wait", a_held_store_costs_one_wait},
    {"what waits is taken in", what_waits_is_taken_in},
    {"opening a held store", opening_a_held_store},
    {"a flag ends waiting and importing", a_flag_ends_waiting_and_importing},
    {"nothing that waits is lost by SIGKILL", nothing_that_waits_is_lost_by_sigkill},
    {"what waits may be anything", what_waits_may_be_anything},
    {"tables of others are refused", tables_of_others_are_refused},
    {"values of other kinds", values_of_other_kinds},
    {"damage in the middle of reading", damage_in_the_middle_of_reading},
    {"a momentary error of a pending file", a_momentary_error_of_a_pending_file},
    {"more rows than a file can have", more_rows_than_a_file_can_have},
    {"more bytes than a file has", more_bytes_than_a_file_has},
    {"a store that is removed", a_store_that_is_removed},
};

int main(int count, char **arguments)
{
    return check_main(count, arguments, "store in trouble", cases, sizeof cases / sizeof *cases);
}
