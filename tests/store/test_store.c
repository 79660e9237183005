/* Tests of the store: a written sample is kept, whatever happens to the process, the file or the disk.
 *
 *   store_test_store                the suite, with 100 writers killed
 *   store_test_store kill 1000      the same test with 1000 writers
 *   store_test_store time           the cost of a sample
 *
 * The file is long: each version of the format and each way to damage it has its case, and all use the same helpers. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "expr.h"
#include "fixture.h"

/* ---- a written row is read again unchanged ---- */

static void a_row_comes_back_whole(void)
{
    fixture f;
    setup(&f);
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(7, key, times), got;
    kiln__arena arena = {0};
    bool found = true, taken = false;
    CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
    CHECK(!found);
    CHECK_OK(kiln__store_add(f.store, &row, &taken, &error), error);
    CHECK(taken);
    CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
    CU_ASSERT_TRUE_FATAL(found);
#define TEXT(name) CHECK_TEXT(got.name, row.name);
#define WHOLE(name) CHECK(got.name == row.name);
#define REAL WHOLE
    KILN__STORE_COLUMNS(KILN__COLUMN)
#undef TEXT
#undef WHOLE
#undef REAL
    CHECK(got.time_count == 3 && memcmp(got.times, times, sizeof times) == 0);
    kiln__arena_free(&arena);
    teardown(&f);
}

static void of_two_with_a_key_the_later_stays(void)
{
    fixture f;
    setup(&f);
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(1, key, times), got;
    kiln__arena arena = {0};
    bool found, taken;
    CHECK(add_number(f.store, 1));
    row.seconds = 5;
    row.made--;
    CHECK_OK(kiln__store_add(f.store, &row, &taken, &error), error);
    CHECK(!taken);
    row.made += 2;
    CHECK_OK(kiln__store_add(f.store, &row, &taken, &error), error);
    CHECK(taken);
    CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
    CHECK(found && got.seconds == 5);
    CHECK(count_all(f.store, NULL) == 1);
    row.reusable = 0; /* the sample is kept, but may not be reused */
    row.made++;
    CHECK_OK(kiln__store_add(f.store, &row, &taken, &error), error);
    CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
    CHECK(!found && count_all(f.store, NULL) == 1);
    kiln__arena_free(&arena);
    teardown(&f);
}

/* Each field of a filter selects the rows that it describes, when listing and when removing. */
static void filters(void)
{
    fixture f;
    setup(&f);
    kiln_error *error = NULL;
    uint64_t removed;
    for (unsigned i = 0; i < 20; i++)
        CHECK(add_number(f.store, i));
    kiln_store_filter filter = {.size = sizeof filter, .variant = "odd"};
    CHECK(count_all(f.store, &filter) == 10);
    filter = (kiln_store_filter){.size = sizeof filter, .failed = 1};
    CHECK(count_all(f.store, &filter) == 4);
    filter.failed = -1;
    CHECK(count_all(f.store, &filter) == 16);
    filter = (kiln_store_filter){.size = sizeof filter, .device = "some gpu"};
    CHECK(count_all(f.store, &filter) == 20);
    filter.device = "GPU-1";
    CHECK(count_all(f.store, &filter) == 20);
    filter.device = "cuda";
    CHECK(count_all(f.store, &filter) == 0);
    filter = (kiln_store_filter){.size = sizeof filter, .spec = "matmul", .before = 1005};
    CHECK(count_all(f.store, &filter) == 5);
    CHECK_OK(kiln_store_prune(f.store, &filter, &removed, &error), error);
    CHECK(removed == 5 && count_all(f.store, NULL) == 15);
    filter.size = 0;
    CHECK(kiln_store_prune(f.store, &filter, &removed, NULL) == KILN_ERROR_ARGUMENT);
    teardown(&f);
}

/* ---- comma-separated values ---- */

static char *slurp(const char *path)
{
    char *text = NULL;
    size_t length;
    kiln_error *error = NULL;
    CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
    return text;
}

static void csv_loses_nothing(void)
{
    fixture f;
    setup(&f);
    char one[128], two[128];
    uint64_t written = 0, read = 0, taken = 0;
    kiln_error *error = NULL;
    snprintf(one, sizeof one, "%s/one.csv", f.folder);
    snprintf(two, sizeof two, "%s/two.csv", f.folder);
    for (unsigned i = 0; i < 20; i++)
        CHECK(add_number(f.store, i));
    CHECK_OK(kiln_store_export(f.store, NULL, one, KILN_FORMAT_AUTO, &written, &error), error);
    CHECK(written == 20);
    close_store(&f);
    snprintf(f.path, sizeof f.path, "%s/other.db", f.folder);
    open_store(&f, 0);
    CHECK(add_number(f.store, 0));
    CHECK_OK(kiln_store_import(f.store, one, &read, &taken, &error), error);
    CHECK(read == 20 && taken == 19);
    CHECK_OK(kiln_store_export(f.store, NULL, two, KILN_FORMAT_AUTO, &written, &error), error);
    char *a = slurp(one), *b = slurp(two);
    CHECK(written == 20 && a && b && strcmp(a, b) == 0);
    kiln__free(NULL, a);
    kiln__free(NULL, b);
    CHECK(kiln_store_export(f.store, NULL, "/dev/full", KILN_FORMAT_AUTO, NULL, NULL) == KILN_ERROR_IO);
    teardown(&f);
}

/* A file that is truncated or has a changed byte is read completely or not at all. */
static void csv_that_is_damaged(void)
{
    fixture f;
    setup(&f);
    char good[128], bad[128];
    kiln_error *error = NULL;
    uint64_t removed;
    snprintf(good, sizeof good, "%s/good.csv", f.folder);
    snprintf(bad, sizeof bad, "%s/bad.csv", f.folder);
    for (unsigned i = 0; i < 3; i++)
        CHECK(add_number(f.store, i + 3));
    CHECK_OK(kiln_store_export(f.store, NULL, good, KILN_FORMAT_AUTO, NULL, &error), error);
    char *text = slurp(good);
    size_t length = strlen(text), refused = 0;
    for (size_t at = 0; at < 2 * length; at++) {
        FILE *file = fopen(bad, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        char was = text[at / 2];
        text[at / 2] = "\",\nx\r 1"[at % 7];
        fwrite(text, 1, at % 2 ? length : at / 2, file);
        text[at / 2] = was;
        fclose(file);
        CHECK_OK(kiln_store_prune(f.store, NULL, &removed, &error), error);
        kiln_status status = kiln_store_import(f.store, bad, NULL, NULL, &error);
        CHECK(status == KILN_OK || (status == KILN_ERROR_IO && count_all(f.store, NULL) == 0));
        CHECK(status == KILN_OK || strstr(kiln_error_message(error), bad));
        refused += status != KILN_OK;
        kiln_error_free(error);
        error = NULL;
    }
    CHECK(refused > length);
    kiln__free(NULL, text);
    teardown(&f);
}

/* ---- damaged files ---- */

static void damage_is_moved_aside(void)
{
    fixture f;
    setup(&f);
    char command[256];
    kiln_store *reader = NULL;
    kiln_error *error = NULL;
    close_store(&f);
    write_file(f.path, "this is no database, and long enough that nobody takes it for an empty one. "
                       "this is no database, and long enough that nobody takes it for an empty one.");
    CHECK(kiln__store_open(NULL, NULL, f.path, KILN_STORE_READ, &reader, &error) == KILN_ERROR_IO);
    CHECK(error && strstr(kiln_error_message(error), "it is damaged"));
    kiln_error_free(error);
    open_store(&f, 0);
    CHECK(strstr(f.log, "is damaged") != NULL);
    CHECK(add_number(f.store, 1) && count_all(f.store, NULL) == 1);
    snprintf(command, sizeof command, "test $(ls %s/sub | grep -c 'damaged-[0-9-]*$') = 1", f.folder);
    CHECK(system(command) == 0);
    teardown(&f);
}

/* Pages are overwritten while the store is open. A read finds this, the file is renamed, and the new sample is
 * written. */
static void damage_that_comes_later(void)
{
    fixture f;
    setup(&f);
    for (unsigned i = 0; i < 300; i++)
        CHECK(add_number(f.store, i));
    close_store(&f); /* everything is in the database file now, and not in the log */
    struct stat info;
    CU_ASSERT_EQUAL_FATAL(stat(f.path, &info), 0);
    int fd = open(f.path, O_WRONLY);
    static char waste[1 << 20];
    memset(waste, 0xa5, sizeof waste);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && info.st_size > 20000 && (size_t)info.st_size - 4096 <= sizeof waste);
    CU_ASSERT_EQUAL(pwrite(fd, waste, (size_t)info.st_size - 4096, 4096), info.st_size - 4096);
    close(fd);
    open_store(&f, 0); /* the first page of the file is intact */
    CHECK(add_number(f.store, 1000));
    CHECK(strstr(f.log, "is damaged") != NULL);
    CHECK(count_all(f.store, NULL) == 1);
    teardown(&f);
}

/* A database and a file in the form of the first version. */
static const char version_1[] =
    "CREATE TABLE sample (id INTEGER PRIMARY KEY,key TEXT NOT NULL,spec TEXT NOT NULL,variant TEXT NOT NULL,"
    "params TEXT NOT NULL,sizes TEXT NOT NULL,inputs TEXT NOT NULL,run TEXT NOT NULL,device TEXT NOT NULL,"
    "device_id TEXT NOT NULL,uuid TEXT NOT NULL,cc TEXT NOT NULL,driver TEXT NOT NULL,nvrtc TEXT NOT NULL,"
    "kiln TEXT NOT NULL,source_key TEXT NOT NULL,status INTEGER NOT NULL,message TEXT NOT NULL,"
    "reusable INTEGER NOT NULL,verified INTEGER NOT NULL,measured INTEGER NOT NULL,estimated INTEGER NOT NULL,"
    "seconds REAL,seconds_low REAL,seconds_high REAL,repetitions INTEGER NOT NULL,host_seconds REAL,flops REAL,"
    "bytes REAL,roofline REAL,worst_error REAL,compile_ns INTEGER NOT NULL,made INTEGER NOT NULL,times BLOB NOT NULL);"
    "CREATE UNIQUE INDEX sample_key ON sample (key); CREATE INDEX sample_spec ON sample (spec, variant);"
    "INSERT INTO sample VALUES (1,'00000000000000000000000000000abc','add','plain','BLOCK=32','N=8','i','verify','GPU',"
    "'cuda:0','','9.0','13.0','13.0','0.1.0','s',0,'',1,1,1,0,0.5,0.25,0.75,2,0,0,0,0,0,5,1000,"
    "x'000000000000d03f000000000000e83f');" /* 0.25, 0.75 */
    "PRAGMA application_id=1802071150; PRAGMA user_version=1;";
static const char csv_1[] =
    "key,spec,variant,params,sizes,inputs,run,device,device_id,uuid,cc,driver,nvrtc,kiln,source_key,status,message,"
    "reusable,verified,measured,estimated,seconds,seconds_low,seconds_high,repetitions,host_seconds,flops,bytes,roofline,"
    "worst_error,compile_ns,made,times\n"
    "00000000000000000000000000000abd,add,plain,BLOCK=64,N=8,i,verify,GPU,cuda:0,,9.0,13.0,13.0,0.1.0,s,0,,1,1,1,0,0.5,"
    "0.25,0.75,2,0,0,0,0,0,5,1000,0.25 0.75\n";

/* The columns that version 2 added to the database and to the file. */
static const char to_version_2[] =
    "ALTER TABLE sample ADD COLUMN stopped_early INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN finals INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN first_seconds REAL DEFAULT 0;ALTER TABLE sample ADD COLUMN clock_hz REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN memory_clock_hz REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN throttle INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN temperature REAL DEFAULT 0;ALTER TABLE sample ADD COLUMN power_watts REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN energy_joules REAL DEFAULT 0;UPDATE sample SET clock_hz=7; PRAGMA user_version=2;";
static const char csv_2[] =
    "key,spec,variant,params,sizes,inputs,run,device,device_id,uuid,cc,driver,nvrtc,kiln,source_key,status,message,"
    "reusable,verified,measured,estimated,seconds,seconds_low,seconds_high,repetitions,host_seconds,flops,bytes,roofline,"
    "worst_error,compile_ns,made,stopped_early,finals,first_seconds,clock_hz,memory_clock_hz,throttle,temperature,"
    "power_watts,energy_joules,times\n"
    "00000000000000000000000000000abe,add,plain,BLOCK=64,N=8,i,verify,GPU,cuda:0,,9.0,13.0,13.0,0.1.0,s,0,,1,1,1,0,0.5,"
    "0.25,0.75,2,0,0,0,0,0,5,1000,0,0,0,7,0,0,0,0,0,0.25 0.75\n";

/* The columns that version 3 added to the database. */
static const char to_version_3[] =
    "ALTER TABLE sample ADD COLUMN inputs_seconds REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN input_functions TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE sample ADD COLUMN copy_seconds REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN host_step_seconds REAL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE sample ADD COLUMN features TEXT NOT NULL DEFAULT '';UPDATE sample SET rounds=9, features='rows=3';"
    "PRAGMA user_version=3;";

/* The columns that version 4 added to the database. */
static const char to_version_4[] = "ALTER TABLE sample ADD COLUMN metrics TEXT NOT NULL DEFAULT '';"
                                   "ALTER TABLE sample ADD COLUMN host TEXT NOT NULL DEFAULT '';"
                                   "ALTER TABLE sample ADD COLUMN command TEXT NOT NULL DEFAULT '';"
                                   "UPDATE sample SET host='a1', command='kiln tune add'; PRAGMA user_version=4;";

/* The columns that version 5 added to the database. */
static const char to_version_5[] = "ALTER TABLE sample ADD COLUMN path TEXT NOT NULL DEFAULT '';"
                                   "UPDATE sample SET path='/a.yaml', worst_error=0.5; PRAGMA user_version=5;";

/* The columns that version 6 added to the database. */
static const char to_version_6[] = "ALTER TABLE sample ADD COLUMN median_error REAL DEFAULT 0;"
                                   "ALTER TABLE sample ADD COLUMN p999_error REAL DEFAULT 0;PRAGMA user_version=6;";

/* The columns that the versions 7 and 8 added to the database. */
static const char to_version_8[] = "ALTER TABLE sample ADD COLUMN comparison INTEGER NOT NULL DEFAULT 0;"
                                   "ALTER TABLE sample ADD COLUMN verified_runs INTEGER NOT NULL DEFAULT 0;"
                                   "PRAGMA user_version=8;";

static int check_version_5(void *user, const kiln_record *record)
{
    CHECK_TEXT(record->paths, "/a.yaml");
    CHECK(record->result->worst_error == 0.5);
    CHECK(record->result->median_error == 0 && record->result->p999_error == 0);
    CHECK(kiln__store_record_taken(record) == 0);
    ++*(unsigned *)user;
    return 0;
}

static int check_version_4(void *user, const kiln_record *record)
{
    CHECK_TEXT(record->host, "a1");
    CHECK_TEXT(record->command, "kiln tune add");
    CHECK_TEXT(record->paths, "");
    ++*(unsigned *)user;
    return 0;
}

static int check_version_3(void *user, const kiln_record *record)
{
    CHECK(record->result->rounds == 9 && record->feature_count == 1);
    CHECK(!*record->result->metrics.text && !*record->host && !*record->command);
    ++*(unsigned *)user;
    return 0;
}

static int check_version_2(void *user, const kiln_record *record)
{
    const kiln_result *result = record->result;
    CHECK(result->seconds == 0.5 && result->clock_hz == 7 && record->time_count == 2 && record->times[1] == 0.75);
    CHECK(result->inputs_seconds == 0 && result->copy_seconds == 0 && result->host_step_seconds == 0);
    CHECK(result->rounds == 0 && !*result->input_functions.text && record->feature_count == 0);
    ++*(unsigned *)user;
    return 0;
}

static int check_version_1(void *user, const kiln_record *record)
{
    const kiln_result *result = record->result;
    CHECK(result->seconds == 0.5 && result->repetitions == 2 && record->made == 1000 && result->compile_ns == 5);
    CHECK(record->time_count == 2 && record->times[0] == 0.25 && record->times[1] == 0.75);
    CHECK(!result->stopped_early && !result->finals && result->first_seconds == 0 && result->clock_hz == 0);
    CHECK(!result->throttle && result->energy_joules == 0 && record->feature_count == 0);
    ++*(unsigned *)user;
    return 0;
}

static void older_databases_and_files(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    char csv[128];
    uint64_t read = 0, taken = 0;
    unsigned seen = 0;
    kiln_error *error = NULL;
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    run_sql(f.path, version_1);
    open_store(&f, KILN_STORE_READ); /* nothing is changed: the store is read through a view */
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_1, &seen, &error), error);
    kiln__store_row row;
    kiln__arena arena = {0};
    bool found = false;
    CHECK_OK(kiln__store_find(f.store, "00000000000000000000000000000abc", &arena, &row, &found, &error), error);
    CHECK(found && row.seconds == 0.5);
    close_store(&f);
    open_store(&f, 0);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_1, &seen, &error), error);
    snprintf(csv, sizeof csv, "%s/1.csv", f.folder);
    write_file(csv, csv_1);
    CHECK_OK(kiln_store_import(f.store, csv, &read, &taken, &error), error);
    CHECK(read == 1 && taken == 1);
    close_store(&f);
    open_store(&f, 0); /* the store has the newest version by now */
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_1, &seen, &error), error);
    CHECK(seen == 4);
    CHECK(add_number(f.store, 3));
    CHECK(count_all(f.store, NULL) == 3);
    kiln__arena_free(&arena);
    teardown(&f);
}

static void databases_and_files_of_version_2(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    char csv[128];
    uint64_t read = 0, taken = 0;
    unsigned seen = 0;
    kiln_error *error = NULL;
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    run_sql(f.path, version_1);
    run_sql(f.path, to_version_2);
    open_store(&f, KILN_STORE_READ);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_2, &seen, &error), error);
    close_store(&f);
    open_store(&f, 0);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_2, &seen, &error), error);
    snprintf(csv, sizeof csv, "%s/2.csv", f.folder);
    write_file(csv, csv_2);
    CHECK_OK(kiln_store_import(f.store, csv, &read, &taken, &error), error);
    CHECK(read == 1 && taken == 1);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_2, &seen, &error), error);
    CHECK(seen == 4);
    CHECK(add_number(f.store, 3));
    teardown(&f);
}

static void databases_of_version_3(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    unsigned seen = 0;
    kiln_error *error = NULL;
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    run_sql(f.path, version_1);
    run_sql(f.path, to_version_2);
    run_sql(f.path, to_version_3);
    for (unsigned flags = KILN_STORE_READ; flags + 1 > 0; flags--) { /* first through a view, then upgraded */
        open_store(&f, flags);
        CHECK_OK(kiln_store_list(f.store, NULL, check_version_3, &seen, &error), error);
        if (flags)
            close_store(&f);
    }
    CHECK(seen == 2);
    CHECK(add_number(f.store, 3));
    teardown(&f);
}

/* An older program has the database open while it is upgraded. The samples that it writes then are kept. It cannot
 * open the database again, because it checks the version. others_databases_are_left_alone() tests this check with a
 * database of the next version. */
static void databases_of_version_4(void)
{
    static const char columns[] = "spec,variant,params,sizes,inputs,run,device,device_id,uuid,cc,driver,nvrtc,kiln,"
                                  "source_key,status,message,reusable,verified,measured,estimated,seconds,repetitions,"
                                  "compile_ns,made,times,stopped_early,finals,throttle,input_functions,rounds,features,"
                                  "metrics,host,command";
    fixture f;
    setup(&f);
    close_store(&f);
    char insert[2048];
    unsigned seen = 0;
    kiln_error *error = NULL;
    sqlite3 *old = NULL;
    sqlite3_stmt *statement = NULL;
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    run_sql(f.path, version_1);
    run_sql(f.path, to_version_2);
    run_sql(f.path, to_version_3);
    run_sql(f.path, to_version_4);
    open_store(&f, KILN_STORE_READ);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_4, &seen, &error), error);
    close_store(&f);
    snprintf(insert, sizeof insert,
             "INSERT INTO sample (key,%s) SELECT '00000000000000000000000000000def',%s FROM sample WHERE id=1", columns,
             columns);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(f.path, &old), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(old, insert, -1, &statement, NULL), SQLITE_OK);
    open_store(&f, 0);
    CU_ASSERT_EQUAL(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    sqlite3_close(old);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_4, &seen, &error), error);
    CHECK(seen == 3);
    CHECK(add_number(f.store, 3));
    teardown(&f);
}

/* Removes `count` fields after `after`. */
static void cut_fields(char *text, const char *after, unsigned count)
{
    char *at = strstr(text, after);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    char *end = (at += strlen(after)) - 1;
    for (; count > 0; count--) {
        end = strchr(end + 1, ',');
        CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    }
    memmove(at, end + 1, strlen(end));
}

/* The database, and the file. Before the last column the file lacks the columns of the later versions. */
static void databases_and_files_of(unsigned version)
{
    fixture f;
    setup(&f);
    close_store(&f);
    char csv[128], *text = NULL;
    size_t length;
    unsigned seen = 0;
    uint64_t read = 0, taken = 0;
    kiln_error *error = NULL;
    CU_ASSERT_EQUAL(unlink(f.path), 0);
    run_sql(f.path, version_1);
    run_sql(f.path, to_version_2);
    run_sql(f.path, to_version_3);
    run_sql(f.path, to_version_4);
    run_sql(f.path, to_version_5);
    if (version >= 6)
        run_sql(f.path, to_version_6);
    if (version >= 8)
        run_sql(f.path, to_version_8);
    for (unsigned flags = KILN_STORE_READ; flags + 1 > 0; flags--) { /* first through a view, then upgraded */
        open_store(&f, flags);
        CHECK_OK(kiln_store_list(f.store, NULL, check_version_5, &seen, &error), error);
        if (flags)
            close_store(&f);
    }
    snprintf(csv, sizeof csv, "%s/five.csv", f.folder);
    CHECK_OK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_CSV, &read, &error), error);
    CHECK_OK(kiln__file_read(NULL, csv, 0, &text, &length, &error), error);
    const unsigned cut = version == 5 ? 5 : version == 6 ? 3 : 1;
    cut_fields(text, version == 5 ? "path," : version == 6 ? "p999_error," : "verified_runs,", cut);
    cut_fields(text, version == 5 ? "/a.yaml," : version == 6 ? "/a.yaml,0.0,0.0," : "/a.yaml,0.0,0.0,0,0,", cut);
    CHECK(!strstr(text, "taken") && !strstr(text, "comparison") == (version < 8));
    CHECK(!strstr(text, "median_error") == (version == 5));
    write_file(csv, text);
    run_sql(f.path, "DELETE FROM sample");
    CHECK_OK(kiln_store_import(f.store, csv, &read, &taken, &error), error);
    CHECK_OK(kiln_store_list(f.store, NULL, check_version_5, &seen, &error), error);
    CHECK(seen == 3 && taken == 1);
    kiln__free(NULL, text);
    teardown(&f);
}

static void databases_and_files_of_version_5(void) { databases_and_files_of(5); }
static void databases_and_files_of_version_6(void) { databases_and_files_of(6); }
static void databases_and_files_of_version_8(void) { databases_and_files_of(8); }

/* ---- samples that a sweep takes from the store ---- */

static int64_t taken_of(kiln_store *store, const char *key)
{
    kiln__arena arena = {0};
    kiln__store_row row;
    bool found = false;
    kiln_error *error = NULL;
    CHECK_OK(kiln__store_find(store, key, &arena, &row, &found, &error), error);
    const int64_t taken = found ? row.taken : -1;
    kiln__arena_free(&arena);
    return taken;
}

/* The time is stored for the given keys only. An import brings the time to a store that has the same sample, and a
 * sample that is made again keeps it. While another process has the store locked, and in a store that was opened
 * read-only, nothing changes. */
static void the_time_of_taking_is_kept(void)
{
    fixture f;
    setup(&f);
    kiln__store_key keys[3];
    char csv[128];
    double times[3];
    uint64_t read = 0, imported = 0;
    bool added = false;
    kiln_error *error = NULL;
    kiln__store_row row;
    for (unsigned i = 3; i-- > 0;) {
        row = row_of(i, keys[i].text, times);
        row.taken = 0;
        CHECK_OK(kiln__store_add(f.store, &row, NULL, &error), error);
    }
    CHECK_OK(kiln__store_mark_taken(f.store, keys, 2, true, &error), error);
    const int64_t taken = taken_of(f.store, keys[0].text);
    CHECK(taken > row.made && taken_of(f.store, keys[1].text) == taken && taken_of(f.store, keys[2].text) == 0);
    snprintf(csv, sizeof csv, "%s/taken.csv", f.folder);
    CHECK_OK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_CSV, NULL, &error), error);
    run_sql(f.path, "UPDATE sample SET taken = 0");
    CHECK_OK(kiln_store_import(f.store, csv, &read, &imported, &error), error);
    CHECK(read == 3 && imported == 2 && taken_of(f.store, keys[0].text) == taken);
    imported = 0;
    CHECK_OK(kiln_store_import(f.store, csv, &read, &imported, &error), error);
    CHECK(imported == 0);
    row.made++; /* the sample 0, which has no time of taking here */
    CHECK_OK(kiln__store_add(f.store, &row, &added, &error), error);
    CHECK(added && taken_of(f.store, keys[0].text) == taken);
    sqlite3 *other = NULL; /* another process has the store locked */
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(f.path, &other), SQLITE_OK);
    CU_ASSERT_EQUAL_FATAL(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    CHECK(kiln__store_mark_taken(f.store, keys, 3, false, &error) == KILN_ERROR_TIMEOUT);
    CHECK(strstr(kiln_error_message(error), "another process has it locked") != NULL);
    kiln_error_free(error);
    error = NULL;
    sqlite3_close(other);
    close_store(&f);
    open_store(&f, KILN_STORE_READ);
    CHECK_OK(kiln__store_mark_taken(f.store, keys, 3, true, &error), error);
    CHECK(taken_of(f.store, keys[2].text) == 0);
    teardown(&f);
}

/* ---- two specs of one name ---- */

static void add_of(kiln_store *store, unsigned number, const char *files)
{
    char key[33];
    double times[3];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(number, key, times);
    row.path = files;
    CHECK_OK(kiln__store_add(store, &row, NULL, &error), error);
    kiln_error_free(error);
}

static unsigned count_of(kiln_store *store, const char *path)
{
    return count_all(store, &(kiln_store_filter){.size = sizeof(kiln_store_filter), .spec = "matmul", .path = path});
}

static void samples_of_one_name_are_kept_apart(void)
{
    fixture f;
    char full[64], a[128], b[128], c[128], files[512];
    setup(&f);
    CU_ASSERT_PTR_NOT_NULL_FATAL(realpath(f.folder, full));
    snprintf(a, sizeof a, "%s/a.yaml", full);
    snprintf(b, sizeof b, "%s/b.yaml", full);
    snprintf(c, sizeof c, "%s/c.yaml", full);
    write_file(a, "a");
    write_file(c, "c");
    add_of(f.store, 1, a);
    add_of(f.store, 2, a);
    CHECK(count_of(f.store, a) == 2);
    CHECK(count_of(f.store, c) == 2 && strstr(f.log, "which has the same name, are used"));
    CHECK(count_of(f.store, "") == 2);
    write_file(b, "b");
    add_of(f.store, 3, b);
    CHECK(count_of(f.store, a) == 2);
    CHECK(count_of(f.store, b) == 1);
    *f.log = '\0';
    CHECK(count_of(f.store, c) == 0 && strstr(f.log, "several specs called 'matmul'") && strstr(f.log, b));
    *f.log = '\0';
    CHECK(count_of(f.store, "") == 0 && strstr(f.log, "several specs called 'matmul'"));
    CHECK(count_all(f.store, NULL) == 3);
    /* A sample whose file is not known, or does not exist here, belongs to every spec with that name. */
    add_of(f.store, 4, "");
    add_of(f.store, 5, "/another/machine/a.yaml");
    CHECK(count_of(f.store, a) == 4 && count_of(f.store, b) == 3 && count_of(f.store, c) == 2);
    /* The sample was made with one file, and the sweep of the other file takes it. */
    char key[33];
    double times[3];
    kiln__store_row row = row_of(1, key, times);
    row.path = a;
    kiln__store_adopt(f.store, &row, b, false);
    CHECK(count_of(f.store, a) == 4 && count_of(f.store, b) == 4);
    snprintf(files, sizeof files, "%s\n%s", a, b);
    row.path = files;
    kiln__store_adopt(f.store, &row, b, false); /* the sample belongs to this file already */
    row.made++;
    row.path = c; /* made again with a third file */
    kiln_error *error = NULL;
    CHECK_OK(kiln__store_add(f.store, &row, NULL, &error), error);
    CHECK(count_of(f.store, a) == 4 && count_of(f.store, b) == 4 && count_of(f.store, c) == 3);
    /* If a spec has no samples, a removal must not take the samples of another spec. A spec whose file was moved
     * keeps its samples. */
    kiln_store_filter none = {.size = sizeof none, .spec = "matmul", .path = c};
    uint64_t removed = 0;
    CHECK_OK(kiln_store_prune(f.store, &none, &removed, &error), error);
    CHECK(removed == 3 && count_all(f.store, NULL) == 2);
    CHECK_OK(kiln_store_prune(f.store, &none, &removed, &error), error);
    CHECK(removed == 0);
    CU_ASSERT_EQUAL(unlink(a), 0);
    CHECK(count_of(f.store, c) == 1);
    teardown(&f);
}

/* The features of an input are listed, and a file gives them back unchanged. */
static int check_features(void *user, const kiln_record *record)
{
    const kiln_setting *features = record->features;
    CHECK(record->feature_count == 2);
    if (record->feature_count == 2) {
        CHECK(strcmp(features[0].name, "rows") == 0 && features[0].value.as.i == 300);
        CHECK(strcmp(features[1].name, "mean") == 0 && features[1].value.as.f == 2.5);
    }
    ++*(unsigned *)user;
    return 0;
}

/* The features of a sample survive the store, CSV and recorded spaces. */
static void features_are_kept(void)
{
    fixture f;
    char csv[128];
    unsigned seen = 0;
    uint64_t read = 0, taken = 0;
    kiln_error *error = NULL;
    setup(&f);
    snprintf(csv, sizeof csv, "%s/1.csv", f.folder);
    CHECK(add_number(f.store, 1));
    CHECK_OK(kiln_store_list(f.store, NULL, check_features, &seen, &error), error);
    CHECK_OK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_CSV, NULL, &error), error);
    CHECK_OK(kiln_store_prune(f.store, NULL, NULL, &error), error);
    CHECK_OK(kiln_store_import(f.store, csv, &read, &taken, &error), error);
    CHECK_OK(kiln_store_list(f.store, NULL, check_features, &seen, &error), error);
    CHECK(seen == 2 && taken == 1);
    char *text = NULL;
    size_t length;
    CHECK_OK(kiln__file_read(NULL, csv, 0, &text, &length, &error), error);
    char *at = text ? strstr(text, "mean=2.5") : NULL;
    if (at)
        at[4] = ' ';
    write_file(csv, text ? text : "");
    CHECK(kiln_store_import(f.store, csv, &read, &taken, &error) == KILN_ERROR_IO);
    CHECK(error && strstr(kiln_error_message(error), "params, sizes and features must be NAME=VALUE"));
    kiln_error_free(error);
    kiln__free(NULL, text);
    teardown(&f);
}

static void others_databases_are_left_alone(void)
{
    fixture f;
    setup(&f);
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    close_store(&f);
    run_sql(f.path, "PRAGMA user_version=99");
    CHECK(kiln__store_open(NULL, NULL, f.path, 0, &store, &error) == KILN_ERROR_UNSUPPORTED);
    kiln_error_free(error);
    error = NULL;
    run_sql(f.path, "PRAGMA application_id=5");
    CHECK(kiln__store_open(NULL, NULL, f.path, 0, &store, &error) == KILN_ERROR_REFUSED);
    CHECK(error && strstr(kiln_error_message(error), "another program"));
    kiln_error_free(error);
    error = NULL;
    snprintf(f.path, sizeof f.path, "%s/nothing.db", f.folder);
    CHECK(kiln__store_open(NULL, NULL, f.path, KILN_STORE_READ, &store, &error) == KILN_ERROR_NOT_FOUND);
    kiln_error_free(error);
    CHECK(kiln__store_open(NULL, NULL, f.folder, 0, &store, NULL) == KILN_ERROR_IO);
    CHECK(!store);
    teardown(&f);
}

/* Becomes a user other than root, because permissions do not stop root. Returns false if that is not possible. */
static bool become_nobody(const fixture *f)
{
    if (geteuid() != 0)
        return true;
    char command[192];
    snprintf(command, sizeof command, "chown -R 65534 '%s'", f->folder);
    return system(command) == 0 && seteuid(65534) == 0;
}

static void read_only_media(void)
{
    fixture f;
    setup(&f);
    char command[160];
    kiln_store *store = NULL;
    kiln_error *error = NULL;
    for (unsigned i = 0; i < 10; i++)
        CHECK(add_number(f.store, i));
    close_store(&f);
    uid_t was = geteuid();
    CU_ASSERT_TRUE_FATAL(become_nobody(&f));
    snprintf(command, sizeof command, "%s/sub", f.folder);
    CU_ASSERT_EQUAL(chmod(f.path, 0400), 0);
    CU_ASSERT_EQUAL(chmod(command, 0500), 0);
    open_store(&f, KILN_STORE_READ);
    CHECK(count_all(f.store, NULL) == 10);
    CHECK(kiln_store_prune(f.store, NULL, NULL, NULL) == KILN_ERROR_ARGUMENT);
    kiln_status status = kiln__store_open(NULL, NULL, f.path, 0, &store, &error);
    CHECK(status == KILN_ERROR_IO);
    CHECK(error && (strstr(kiln_error_message(error), "is read-only")));
    kiln_error_free(error);
    kiln_store_close(store);
    CU_ASSERT_EQUAL(chmod(command, 0700), 0);
    CU_ASSERT_EQUAL(seteuid(was), 0);
    teardown(&f);
}

/* SQLite is told that the database may not grow. SQLite reports this like a full disk. */
static void a_full_disk(void)
{
    fixture f;
    setup(&f);
    char key[33];
    double times[3];
    static double many[1 << 17];
    kiln_error *error = NULL;
    kiln__store_row row = row_of(2, key, times);
    row.times = many;
    row.time_count = KILN__COUNT(many);
    CHECK(add_number(f.store, 1));
    CU_ASSERT_EQUAL(sqlite3_exec(f.store->db, "PRAGMA max_page_count=20", NULL, NULL, NULL), SQLITE_OK);
    CHECK(kiln__store_add(f.store, &row, NULL, &error) == KILN_ERROR_IO);
    CHECK(error && strstr(kiln_error_message(error), "the disk is full"));
    kiln_error_free(error);
    CHECK(add_number(f.store, 3) && count_all(f.store, NULL) == 2);
    teardown(&f);
}

/* Tests a file that must not become larger, by the system's limit on file sizes, with its signal ignored. */
static void a_file_that_cannot_grow(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    run_sql(f.path, "PRAGMA journal_mode=DELETE");
    open_store(&f, 0);
    char key[33];
    double times[3];
    static double many[1 << 17];
    kiln_error *error = NULL;
    CHECK(add_number(f.store, 1));
    kiln__store_row row = row_of(2, key, times);
    row.times = many;
    row.time_count = KILN__COUNT(many);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        sigaction(SIGXFSZ, &ignore, NULL);
        char limit[64];
        snprintf(limit, sizeof limit, "prlimit --pid %d --fsize=300000", (int)getpid());
        if (system(limit) != 0)
            _exit(77);
        kiln_store *store = NULL;
        kiln_status status = kiln__store_open(NULL, NULL, f.path, 0, &store, NULL);
        if (status == KILN_OK)
            status = kiln__store_add(store, &row, NULL, &error);
        if (error)
            fprintf(stderr, "%s\n", kiln_error_message(error));
        _exit(status == KILN_ERROR_IO ? 0 : 1);
    }
    int how = 0;
    CU_ASSERT_EQUAL(waitpid(child, &how, 0), child);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    CHECK(count_all(f.store, NULL) == 1);
    CHECK(add_number(f.store, 3) && count_all(f.store, NULL) == 2);
    teardown(&f);
}

/* ---- several processes, and their end ---- */

/* Writes numbers from `from` on. After each write it reports the number on `fd`. */
static void write_on(const char *path, unsigned from, unsigned step, unsigned most, int fd)
{
    kiln_store *store = NULL;
    if (kiln__store_open(NULL, NULL, path, 0, &store, NULL) != KILN_OK)
        _exit(1);
    for (unsigned n = from; n < most; n += step)
        if (!add_number(store, n) || kiln__write_all(fd, &n, sizeof n) != 0)
            _exit(1);
    kiln_store_close(store);
    _exit(0);
}

static void several_write_at_once(void)
{
    fixture f;
    setup(&f);
    close_store(&f);
    char command[128];
    snprintf(command, sizeof command, "rm -f %s*", f.path); /* the writers also race to make the file */
    CU_ASSERT_EQUAL(system(command), 0);
    enum { WRITERS = 4, EACH = 200 };
    pid_t writers[WRITERS];
    int null = open("/dev/null", O_WRONLY);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0)
            write_on(f.path, i, WRITERS, WRITERS * EACH, null);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int how = 1;
        CU_ASSERT_EQUAL(waitpid(writers[i], &how, 0), writers[i]);
        CHECK(how == 0);
    }
    close(null);
    open_store(&f, 0);
    CHECK(count_all(f.store, NULL) == WRITERS * EACH);
    check_integrity(f.path);
    teardown(&f);
}

static unsigned kills = 60;

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* Starts one writer and kills it up to 20 ms after it began, or, for every second writer, after it wrote two samples.
 * Returns the first number that it did not report. */
static unsigned kill_one(const char *path, unsigned from, uint32_t *random)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        close(ends[0]);
        write_on(path, from, 1, UINT32_MAX, ends[1]);
    }
    close(ends[1]);
    unsigned said = from, number, first = next_random(random) % 2 * 2;
    while (said < from + first && read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
        said = number + 1;
    nanosleep(&(struct timespec){.tv_nsec = (long)(next_random(random) % 20000000u)}, NULL);
    kill(writer, SIGKILL);
    while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
        said = number + 1;
    close(ends[0]);
    int how = 0;
    CU_ASSERT_EQUAL(waitpid(writer, &how, 0), writer);
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    return said;
}

static void nothing_is_lost_by_sigkill(void)
{
    fixture f;
    setup(&f);
    uint32_t random = (uint32_t)time(NULL) | 1;
    unsigned next = 0, in_flight = 0;
    fprintf(stderr, "  %u writers killed, seed %u:", kills, random);
    for (unsigned i = 0; i < kills; i++) {
        unsigned said = kill_one(f.path, next, &random), there = count_all(f.store, NULL);
        bool sound = there == said || there == said + 1; /* the sample that was being written may be in the store */
        CHECK(sound);
        if (!sound)
            break;
        in_flight += there != said;
        next = there;
    }
    check_integrity(f.path);
    /* Each number occurs once, and has the content that was written with it. */
    kiln__arena arena = {0};
    for (unsigned n = 0; n < next; n++) {
        char key[33];
        double times[3];
        bool found = false;
        kiln__store_row want = row_of(n, key, times), got;
        kiln_error *error = NULL;
        CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
        CHECK(found && got.seconds == want.seconds && memcmp(got.times, times, sizeof times) == 0);
        kiln__arena_free(&arena);
        arena = (kiln__arena){0};
    }
    fprintf(stderr, " %u samples, %u of them in flight\n", next, in_flight);
    CHECK(next > kills / 2); /* most writers were killed while they wrote */
    teardown(&f);
}

/* Opens, lists, exports and imports with an allocator that fails at the n-th call, for each n. The failure is
 * reported, and nothing leaks. */
static void out_of_memory(void)
{
    fixture f;
    setup(&f);
    for (unsigned i = 0; i < 3; i++)
        CHECK(add_number(f.store, i));
    close_store(&f);
    bool done = false;
    for (long n = 0; n < 500 && !done; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_store *store = NULL;
        kiln_error *error = NULL;
        unsigned count = 0;
        char csv[128];
        snprintf(csv, sizeof csv, "%s/x.csv", f.folder);
        kiln_status status = kiln__store_open(&mem, NULL, f.path, 0, &store, &error);
        if (status == KILN_OK)
            status = kiln_store_list(store, NULL, count_record, &count, &error);
        if (status == KILN_OK)
            status = kiln_store_export(store, NULL, csv, KILN_FORMAT_AUTO, NULL, &error);
        if (status == KILN_OK)
            status = kiln_store_import(store, csv, NULL, NULL, &error);
        done = !oom.failed;
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln_store_close(store);
        CHECK(oom.live == 0);
    }
    CHECK(done);
    teardown(&f);
}

/* Prints the time that the store takes to write and to find a sample: the mean and the worst. */
static int print_times(void)
{
    fixture f = {0};
    strcpy(f.folder, "/tmp/kiln-store-XXXXXX");
    if (!mkdtemp(f.folder))
        return 1;
    snprintf(f.path, sizeof f.path, "%s/samples.db", f.folder);
    kiln_error *error = NULL;
    if (kiln__store_open(NULL, NULL, f.path, 0, &f.store, &error) != KILN_OK)
        return 1;
    enum { COUNT = 20000 };
    kiln__arena arena = {0};
    uint64_t worst = 0, start = kiln__now_ns();
    for (unsigned n = 0; n < COUNT; n++) {
        uint64_t from = kiln__now_ns();
        char key[33];
        double times[3];
        static double many[100];
        kiln__store_row row = row_of(n, key, times);
        row.times = many;
        row.time_count = KILN__COUNT(many);
        if (kiln__store_add(f.store, &row, NULL, &error) != KILN_OK)
            return 1;
        uint64_t took = kiln__now_ns() - from;
        worst = took > worst ? took : worst;
    }
    double write = (double)(kiln__now_ns() - start) / COUNT / 1e3;
    start = kiln__now_ns();
    for (unsigned n = 0; n < COUNT; n++) {
        char key[33];
        double times[3];
        kiln__store_row row = row_of(n * 7919u % COUNT, key, times);
        bool found;
        if (kiln__store_find(f.store, key, &arena, &row, &found, &error) != KILN_OK || !found)
            return 1;
    }
    double read = (double)(kiln__now_ns() - start) / COUNT / 1e3;
    printf("%d samples with 100 times each: %.1f us to write one (at most %.1f ms), %.1f us to find one\n", COUNT,
           write, (double)worst / 1e6, read);
    kiln__arena_free(&arena);
    kiln_store_close(f.store);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f.folder);
    return system(command) != 0;
}

/* Tests for each format that an export that does not fit leaves the old file, and no other file beside it. */
static void an_export_is_whole_or_nothing(void)
{
    fixture f;
    struct rlimit all, little;
    setup(&f);
    for (unsigned i = 0; i < 20; i++)
        CHECK(add_number(f.store, i));
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    little = (struct rlimit){300, all.rlim_max};
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    static const char *const names[] = {"file.csv", "file.json", "file.json.gz"};
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        char path[128], command[256];
        kiln_error *error = NULL;
        snprintf(path, sizeof path, "%s/%s", f.folder, names[i]);
        CHECK(kiln__file_write(NULL, path, "old", 3, NULL) == KILN_OK);
        CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
        CHECK(kiln_store_export(f.store, NULL, path, KILN_FORMAT_AUTO, NULL, &error) == KILN_ERROR_IO);
        CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
        CHECK(error && strstr(kiln_error_message(error), "cannot be written: "));
        CHECK(error && strstr(kiln_error_message(error), strerror(EFBIG)));
        kiln_error_free(error);
        char *text = slurp(path);
        CHECK_TEXT(text, "old");
        kiln__free(NULL, text);
        snprintf(command, sizeof command, "test \"$(ls -A '%s')\" = \"$(printf 'file%s\\nsub')\"", f.folder,
                 names[i] + strlen("file"));
        CHECK(system(command) == 0);
        CHECK(unlink(path) == 0);
    }
    signal(SIGXFSZ, was);
    teardown(&f);
}

/* The store neither waits for something that is not a regular file, nor takes it for a damaged database and renames
 * it. The same holds for the files that SQLite opens beside it. */
static void what_is_no_file_is_no_store(void)
{
    static const char *const parts[] = {"", "-wal", "-shm", "-journal"};
    fixture f;
    struct stat info;
    setup(&f);
    alarm(280); /* the alarm turns a hang into a failure */
    for (size_t i = 0; i < KILN__COUNT(parts); i++)
        for (unsigned kind = 0; kind < 4; kind++) {
            char part[140], name[100];
            kiln_store *store = NULL;
            kiln_error *error = NULL;
            snprintf(name, sizeof name, "%s/other.db", f.folder);
            snprintf(part, sizeof part, "%s%s", name, parts[i]);
            CHECK((kind & 1 ? symlink("/dev/zero", part) : mkfifo(part, 0600)) == 0);
            CHECK(kiln__store_open(NULL, NULL, name, kind & 2 ? KILN_STORE_READ : 0, &store, &error) == KILN_ERROR_IO);
            CHECK(error && strstr(kiln_error_message(error), kind & 1 ? "is a character device" : "is a FIFO"));
            CHECK(!store && lstat(part, &info) == 0 && (kind & 1 ? S_ISLNK(info.st_mode) : S_ISFIFO(info.st_mode)));
            kiln_error_free(error);
            unlink(part);
        }
    alarm(0);
    teardown(&f);
}

/* A row with an unreadable value hides no other row. A sweep makes the row again, which repairs it. */
static void a_damaged_row_is_left_out(void)
{
    static const struct {
        const char *sql, *column;
    } damages[] = {
        {"UPDATE sample SET seconds = 'soon' WHERE id = 3", "(seconds)"},
        {"UPDATE sample SET made = 'today' WHERE id = 3", "(made)"},
        {"UPDATE sample SET times = 7 WHERE id = 3", "(times)"},
        {"UPDATE sample SET params = 'x=' WHERE id = 3", "(params"},
    };
    for (size_t i = 0; i < KILN__COUNT(damages); i++) {
        fixture f;
        char key[33], csv[100], json[100];
        double times[3];
        kiln_error *error = NULL;
        kiln__store_row row = row_of(2, key, times), got;
        kiln__arena arena = {0};
        bool found = true, taken = false;
        uint64_t written = 0;
        setup(&f);
        for (unsigned n = 0; n < 5; n++)
            CHECK(add_number(f.store, n));
        run_sql(f.path, damages[i].sql);
        CHECK(count_all(f.store, NULL) == 4);
        CHECK(strstr(f.log, key) && strstr(f.log, damages[i].column));
        snprintf(csv, sizeof csv, "%s/all.csv", f.folder);
        snprintf(json, sizeof json, "%s/all.json", f.folder);
        f.log[0] = '\0';
        CHECK_OK(kiln_store_export(f.store, NULL, csv, KILN_FORMAT_CSV, &written, &error), error);
        CHECK(i == 3 || (written == 4 && strstr(f.log, key))); /* a file of texts holds such texts unchanged */
        f.log[0] = '\0';
        kiln_status status = kiln_store_export(f.store, NULL, json, KILN_FORMAT_T4, &written, &error);
        /* the rows may belong to several problems, which these formats refuse */
        CHECK(status != KILN_ERROR_IO && (status != KILN_OK || written == 4));
        kiln_error_free(error);
        error = NULL;
        if (i < 3) {
            f.log[0] = '\0';
            CHECK_OK(kiln__store_find(f.store, key, &arena, &got, &found, &error), error);
            CHECK(!found && strstr(f.log, key));
        }
        row.made += 1;
        CHECK_OK(kiln__store_add(f.store, &row, &taken, &error), error);
        CHECK(taken && count_all(f.store, NULL) == 5);
        kiln__arena_free(&arena);
        teardown(&f);
    }
}

static const check_case cases[] = {
    {"a damaged row is left out", a_damaged_row_is_left_out},
    {"an export is whole or nothing", an_export_is_whole_or_nothing},
    {"what is no file is no store", what_is_no_file_is_no_store},
    {"a row comes back whole", a_row_comes_back_whole},
    {"of two with a key the later stays", of_two_with_a_key_the_later_stays},
    {"filters", filters},
    {"CSV loses nothing", csv_loses_nothing},
    {"CSV that is damaged", csv_that_is_damaged},
    {"older databases and files", older_databases_and_files},
    {"databases and files of version 2", databases_and_files_of_version_2},
    {"databases of version 3", databases_of_version_3},
    {"databases of version 4, and an older program beside", databases_of_version_4},
    {"databases and files of version 5", databases_and_files_of_version_5},
    {"databases and files of version 6", databases_and_files_of_version_6},
    {"databases and files of version 8", databases_and_files_of_version_8},
    {"the time of taking is kept", the_time_of_taking_is_kept},
    {"samples of one name are kept apart", samples_of_one_name_are_kept_apart},
    {"features are kept", features_are_kept},
    {"damage is moved aside", damage_is_moved_aside},
    {"damage that comes later", damage_that_comes_later},
    {"others' databases are left alone", others_databases_are_left_alone},
    {"read-only media", read_only_media},
    {"a full disk", a_full_disk},
    {"a file that cannot grow", a_file_that_cannot_grow},
    {"several write at once", several_write_at_once},
    {"nothing is lost by SIGKILL", nothing_is_lost_by_sigkill, CHECK_ONE_THREAD},
    {"out of memory", out_of_memory},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "time") == 0)
        return print_times();
    if (argc == 3 && strcmp(argv[1], "kill") == 0) {
        kills = (unsigned)strtoul(argv[2], NULL, 10);
        static const check_case one[] = {{"nothing is lost by SIGKILL", nothing_is_lost_by_sigkill, CHECK_ONE_THREAD}};
        return check_main(1, argv, "store", one, 1);
    }
    return check_main(argc, argv, "store", cases, sizeof cases / sizeof *cases);
}
