/* schema.c - creates the tables of a store, and checks that a file has exactly these tables. The file is untrusted,
 * because somebody else may have made it. */
#include <stdio.h>
#include <string.h>

#include "store_internal.h"

#define KEY_INDEX "CREATE UNIQUE INDEX sample_key ON sample (key)"
#define SPEC_INDEX "CREATE INDEX sample_spec ON sample (spec, variant)"
#define MOST_BYTES (64 << 20) /* the limit in bytes for one value, which is enough for eight million repetitions */

#define TEXT(name) #name " TEXT NOT NULL,"
#define WHOLE(name) #name " INTEGER NOT NULL,"
#define REAL(name) #name " REAL,"
// clang-format off, because the lines mix texts and macros that make texts
static const char schema[] = "CREATE TABLE sample (id INTEGER PRIMARY KEY," KILN__STORE_COLUMNS(
    KILN__COLUMN) "times BLOB NOT NULL);" KEY_INDEX ";" SPEC_INDEX ";";
// clang-format on
#undef TEXT
#undef WHOLE
#undef REAL

/* A column of the table, with its name and type. */
typedef struct column {
    const char *name, *type;
} column;
#define TEXT(name) {#name, "TEXT"},
#define WHOLE(name) {#name, "INTEGER"},
#define REAL(name) {#name, "REAL"},
static const column columns[] = {{"id", "INTEGER"}, {"times", "BLOB"}, KILN__STORE_COLUMNS(KILN__COLUMN)};
/* For each version, the number of columns in a store. Element [0] is not used. */
static const size_t columns_of[] = {
    0,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN)}) / sizeof(column) + 2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)}) / sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN) KILN__STORE_COLUMNS_4(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN) KILN__STORE_COLUMNS_4(KILN__COLUMN)
                                    KILN__STORE_COLUMNS_5(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN) KILN__STORE_COLUMNS_4(KILN__COLUMN)
                                    KILN__STORE_COLUMNS_5(KILN__COLUMN) KILN__STORE_COLUMNS_6(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN) KILN__STORE_COLUMNS_4(KILN__COLUMN)
                                    KILN__STORE_COLUMNS_5(KILN__COLUMN) KILN__STORE_COLUMNS_6(KILN__COLUMN)
                                        KILN__STORE_COLUMNS_7(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    sizeof((const column[]){KILN__STORE_COLUMNS_1(KILN__COLUMN) KILN__STORE_COLUMNS_2(KILN__COLUMN)
                                KILN__STORE_COLUMNS_3(KILN__COLUMN) KILN__STORE_COLUMNS_4(KILN__COLUMN)
                                    KILN__STORE_COLUMNS_5(KILN__COLUMN) KILN__STORE_COLUMNS_6(KILN__COLUMN)
                                        KILN__STORE_COLUMNS_7(KILN__COLUMN) KILN__STORE_COLUMNS_8(KILN__COLUMN)}) /
            sizeof(column) +
        2,
    KILN__COUNT(columns)};
_Static_assert(KILN__COUNT(columns_of) == KILN__STORE_VERSION + 1, "each version of the schema has its columns");
#undef TEXT
#undef WHOLE
#undef REAL

/* ---- creating the tables ---- */

/* Creates the tables of a new database. If another process has created the tables meanwhile, does nothing. */
int kiln__schema_make(kiln_store *store)
{
    int64_t objects = 0;
    char identity[96];
    snprintf(identity, sizeof identity, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
             KILN__STORE_APPLICATION, KILN__STORE_VERSION);
    int code = kiln__store_run(store, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    code = kiln__store_number(store, "SELECT count(*) FROM sqlite_master", &objects);
    if (code == SQLITE_OK && objects == 0)
        code = kiln__store_run(store, schema);
    if (code == SQLITE_OK)
        code = kiln__store_run(store, objects == 0 ? identity : "COMMIT");
    if (code != SQLITE_OK)
        kiln__store_run(store, "ROLLBACK");
    return code;
}

/* Configures the connection so that SQLite executes nothing in the file: no trigger, no view, no function in the
 * schema, no CHECK. */
int kiln__schema_harden(kiln_store *store)
{
    static const struct {
        int what, on;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_FKEY, 0},
    };
    int code = SQLITE_OK;
    for (size_t i = 0; i < KILN__COUNT(settings) && code == SQLITE_OK; i++)
        code = sqlite3_db_config(store->db, settings[i].what, settings[i].on, NULL);
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, MOST_BYTES);
    sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(store->db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    if (code == SQLITE_OK)
        code = kiln__store_run(store,
                               "PRAGMA cell_size_check=ON; PRAGMA ignore_check_constraints=ON; PRAGMA mmap_size=0");
    return code;
}

/* ---- checking the tables ---- */

static kiln_status fail_foreign(kiln_store *store, kiln_error **error, const char *what, const char *name,
                                const char *then)
{
    return kiln__fail(store->mem, error, KILN_ERROR_REFUSED,
                      "%s: not a Kiln store, or damaged: %s%.60s%s; move it away or "
                      "give another store (--store)",
                      store->path, what, name, then);
}

static const char *read_text(sqlite3_stmt *statement, int at)
{
    const char *text = (const char *)sqlite3_column_text(statement, at);
    return text ? text : "";
}

/* Checks the tables and indexes of the database. The database may have only the objects in `schema` above, and SQLite's
 * internal objects. */
static kiln_status check_objects(kiln_store *store, int *code, kiln_error **error)
{
    static const struct {
        const char *type, *name, *sql;
        bool whole;
    } ours[] = {{"table", "sample", "CREATE TABLE ", false},
                {"index", "sample_key", KEY_INDEX, true},
                {"index", "sample_spec", SPEC_INDEX, true}};
    bool there[KILN__COUNT(ours)] = {false};
    sqlite3_stmt *statement = NULL;
    kiln_status status = KILN_OK;
    kiln__scan_begin(store);
    *code = sqlite3_prepare_v2(store->db, "SELECT type, name, sql FROM main.sqlite_master WHERE kiln_rises(rowid)", -1,
                               &statement, NULL);
    while (*code == SQLITE_OK && status == KILN_OK && (*code = kiln__scan_step(store, statement)) == SQLITE_ROW) {
        const char *type = read_text(statement, 0), *name = read_text(statement, 1), *sql = read_text(statement, 2);
        size_t i = 0;
        while (i < KILN__COUNT(ours) && strcmp(ours[i].name, name) != 0)
            i++;
        bool known = strncmp(name, "sqlite_", 7) == 0 && (strcmp(type, "table") == 0 || strcmp(type, "index") == 0);
        if (i < KILN__COUNT(ours)) {
            known = strcmp(type, ours[i].type) == 0 && strncmp(sql, ours[i].sql, strlen(ours[i].sql)) == 0 &&
                    (!ours[i].whole || strlen(sql) == strlen(ours[i].sql));
            there[i] = true;
        }
        if (!known) {
            char what[48];
            snprintf(what, sizeof what, "the %.20s '", type);
            status = fail_foreign(store, error, what, name, "' does not belong to a store");
        }
        *code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    *code = *code == SQLITE_DONE ? SQLITE_OK : *code;
    for (size_t i = 0; i < KILN__COUNT(ours) && *code == SQLITE_OK && status == KILN_OK; i++)
        if (!there[i])
            status = fail_foreign(store, error, i ? "it lacks the index " : "it lacks the table ", ours[i].name, "");
    return status;
}

/* Checks one column of the table. The column must be one of the first `count` columns of the list, with the same type
 * and the same constraints. */
static kiln_status check_column(kiln_store *store, sqlite3_stmt *statement, size_t count, bool *there,
                                kiln_error **error)
{
    const char *name = read_text(statement, 1), *type = read_text(statement, 2);
    char what[64];
    size_t i = 0;
    while (i < count && strcmp(columns[i].name, name) != 0)
        i++;
    if (i == count)
        return fail_foreign(store, error, "the column '", name,
                            "' of table sample does not belong to a store of this version");
    snprintf(what, sizeof what, "column %s of table sample ", columns[i].name);
    if (sqlite3_column_int(statement, 6) != 0)
        return fail_foreign(store, error, what, "is generated", "");
    if (strcmp(type, columns[i].type) != 0)
        return fail_foreign(store, error, what, "is of another type than ", columns[i].type);
    there[i] = true;
    return KILN_OK;
}

static kiln_status check_columns(kiln_store *store, int64_t version, int *code, kiln_error **error)
{
    bool there[KILN__COUNT(columns)] = {false};
    size_t count = columns_of[version];
    sqlite3_stmt *statement = NULL;
    kiln_status status = KILN_OK;
    kiln__scan_begin(store);
    *code = sqlite3_prepare_v2(store->db, "PRAGMA main.table_xinfo(sample)", -1, &statement, NULL);
    while (*code == SQLITE_OK && status == KILN_OK && (*code = sqlite3_step(statement)) == SQLITE_ROW) {
        status = check_column(store, statement, count, there, error);
        *code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    *code = *code == SQLITE_DONE ? SQLITE_OK : *code;
    for (size_t i = 0; i < count && *code == SQLITE_OK && status == KILN_OK; i++)
        if (!there[i])
            status = fail_foreign(store, error, "column ", columns[i].name, " of table sample is missing");
    return status;
}

static kiln_status check_identity(kiln_store *store, int64_t application, int64_t version, kiln_error **error)
{
    if (application != KILN__STORE_APPLICATION)
        return kiln__fail(store->mem, error, KILN_ERROR_REFUSED,
                          "%s is a database of another program, not a store of Kiln", store->path);
    if (version < 1 || version > KILN__STORE_VERSION)
        return kiln__fail(store->mem, error, KILN_ERROR_UNSUPPORTED,
                          "the store %s has version %lld, but kiln %s "
                          "supports version %d",
                          store->path, (long long)version, KILN_VERSION, KILN__STORE_VERSION);
    return KILN_OK;
}

/* Checks the identity, the objects and the columns of the database in one transaction, because another process may
 * upgrade the store at the same time. */
kiln_status kiln__schema_check(kiln_store *store, int64_t *version, int *code, kiln_error **error)
{
    int64_t application = 0;
    kiln_status status = KILN_OK;
    *code = kiln__store_run(store, "BEGIN");
    if (*code != SQLITE_OK)
        return KILN_OK;
    *code = kiln__store_number(store, "PRAGMA application_id", &application);
    if (*code == SQLITE_OK)
        *code = kiln__store_number(store, "PRAGMA user_version", version);
    if (*code == SQLITE_OK)
        status = check_identity(store, application, *version, error);
    if (*code == SQLITE_OK && status == KILN_OK)
        status = check_objects(store, code, error);
    if (*code == SQLITE_OK && status == KILN_OK)
        status = check_columns(store, *version, code, error);
    kiln__store_run(store, "ROLLBACK");
    return status;
}
