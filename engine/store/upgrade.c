/* upgrade.c - upgrades a store of an earlier version to the present version. If the store is opened only for reading, a
 * temporary view hides its table and adds the missing columns. */
#include "store_internal.h"

/* The element upgrades[v] upgrades a database from version v to the next version. The element views[v] shows a
 * read-only database of version v in the form of the newest version. */
#define TEXT(name) "ALTER TABLE sample ADD COLUMN " #name " TEXT NOT NULL DEFAULT '';"
#define WHOLE(name) "ALTER TABLE sample ADD COLUMN " #name " INTEGER NOT NULL DEFAULT 0;"
#define REAL(name) "ALTER TABLE sample ADD COLUMN " #name " REAL DEFAULT 0;"
static const char *const upgrades[] = {"",
                                       KILN__STORE_COLUMNS_2(KILN__COLUMN) "PRAGMA user_version=2;",
                                       KILN__STORE_COLUMNS_3(KILN__COLUMN) "PRAGMA user_version=3;",
                                       KILN__STORE_COLUMNS_4(KILN__COLUMN) "PRAGMA user_version=4;",
                                       KILN__STORE_COLUMNS_5(KILN__COLUMN) "PRAGMA user_version=5;",
                                       KILN__STORE_COLUMNS_6(KILN__COLUMN) "PRAGMA user_version=6;",
                                       KILN__STORE_COLUMNS_7(KILN__COLUMN) "PRAGMA user_version=7;",
                                       KILN__STORE_COLUMNS_8(KILN__COLUMN) "PRAGMA user_version=8;",
                                       KILN__STORE_COLUMNS_9(KILN__COLUMN) "PRAGMA user_version=9;"};
#undef TEXT
#undef WHOLE
#undef REAL
/* A view adds the columns that a version does not have, with empty values. */
#define TEXT(name) ", '' AS " #name
#define WHOLE(name) ", 0 AS " #name
#define REAL(name) ", 0.0 AS " #name
#define VIEW "CREATE TEMP VIEW sample AS SELECT *"
#define SINCE_9 KILN__STORE_COLUMNS_9(KILN__COLUMN) " FROM main.sample"
#define SINCE_8 KILN__STORE_COLUMNS_8(KILN__COLUMN) SINCE_9
#define SINCE_7 KILN__STORE_COLUMNS_7(KILN__COLUMN) SINCE_8
#define SINCE_6 KILN__STORE_COLUMNS_6(KILN__COLUMN) SINCE_7
#define SINCE_5 KILN__STORE_COLUMNS_5(KILN__COLUMN) SINCE_6
#define SINCE_4 KILN__STORE_COLUMNS_4(KILN__COLUMN) SINCE_5
#define SINCE_3 KILN__STORE_COLUMNS_3(KILN__COLUMN) SINCE_4
#define SINCE_2 KILN__STORE_COLUMNS_2(KILN__COLUMN) SINCE_3
static const char *const views[] = {"",           VIEW SINCE_2, VIEW SINCE_3, VIEW SINCE_4, VIEW SINCE_5,
                                    VIEW SINCE_6, VIEW SINCE_7, VIEW SINCE_8, VIEW SINCE_9};
#undef SINCE_2
#undef SINCE_3
#undef SINCE_4
#undef SINCE_5
#undef SINCE_6
#undef SINCE_7
#undef SINCE_8
#undef SINCE_9
#undef VIEW
#undef TEXT
#undef WHOLE
#undef REAL
_Static_assert(KILN__COUNT(upgrades) == KILN__STORE_VERSION && KILN__COUNT(views) == KILN__STORE_VERSION,
               "each version but the newest has an upgrade and a view");

/* Upgrades the database in one transaction. The transaction reads the version again, because two processes may upgrade
 * at the same time. */
int kiln__schema_upgrade(kiln_store *store, int64_t version)
{
    if (store->read_only)
        return kiln__store_run(store, views[version]);
    int code = kiln__store_run(store, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    code = kiln__store_number(store, "PRAGMA user_version", &version);
    for (; code == SQLITE_OK && version < KILN__STORE_VERSION; version++)
        code = kiln__store_run(store, upgrades[version]);
    if (code == SQLITE_OK)
        code = kiln__store_run(store, "COMMIT");
    if (code != SQLITE_OK)
        kiln__store_run(store, "ROLLBACK");
    return code;
}
