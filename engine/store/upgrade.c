/* upgrade.c - a store of an earlier version becomes one of this version. If it cannot be written, a view that hides its
 * table shows it as one. */
#include "store_internal.h"

/* From version 1 to 2: columns that it has not. */
#define TEXT(name) "ALTER TABLE sample ADD COLUMN " #name " TEXT NOT NULL DEFAULT '';"
#define WHOLE(name) "ALTER TABLE sample ADD COLUMN " #name " INTEGER NOT NULL DEFAULT 0;"
#define REAL(name) "ALTER TABLE sample ADD COLUMN " #name " REAL DEFAULT 0;"
static const char upgrade_1[] = KILN__STORE_COLUMNS_2(KILN__COLUMN) "PRAGMA user_version=2;";
#undef TEXT
#undef WHOLE
#undef REAL
#define TEXT(name) ", '' AS " #name
#define WHOLE(name) ", 0 AS " #name
#define REAL(name) ", 0.0 AS " #name
static const char view_1[] =
    "CREATE TEMP VIEW sample AS SELECT *" KILN__STORE_COLUMNS_2(KILN__COLUMN) " FROM main.sample";
#undef TEXT
#undef WHOLE
#undef REAL

/* Two processes may do this at once, too. */
int kiln__schema_upgrade(kiln_store *store)
{
    int64_t version = 0;
    if (store->read_only)
        return kiln__store_run(store, view_1);
    int code = kiln__store_run(store, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    code = kiln__store_number(store, "PRAGMA user_version", &version);
    if (code == SQLITE_OK && version == 1)
        code = kiln__store_run(store, upgrade_1);
    if (code == SQLITE_OK)
        code = kiln__store_run(store, "COMMIT");
    if (code != SQLITE_OK)
        kiln__store_run(store, "ROLLBACK");
    return code;
}
