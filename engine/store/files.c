/* files.c - distinguishes specs that have the same name but are in different files. The functions decide which samples
 * of a name belong to the spec in one file. The page FILES.md has the rules. */
#include <stdlib.h>
#include <string.h>

#include "store_internal.h"

bool kiln__files_have(const char *files, const char *path)
{
    size_t length = strlen(path);
    for (const char *at = files; *at && length;) {
        size_t line = strcspn(at, "\n");
        if (line == length && memcmp(at, path, length) == 0)
            return true;
        at += line + (at[line] != '\0');
    }
    return false;
}

/* Returns the first file of the list that exists. A sample belongs to another spec only if the file of that spec still
 * exists. Returns NULL if no file of the list exists: the spec was moved or removed, or the sample was made on another
 * machine. Also returns NULL if memory runs out. */
static const char *find_present(kiln__arena *arena, const char *files)
{
    for (const char *at = files; *at;) {
        size_t line = strcspn(at, "\n");
        const char *path = kiln__arena_strndup(arena, at, line);
        if (path && *path == '/' && kiln__file_exists(path))
            return path;
        at += line + (at[line] != '\0');
    }
    return NULL;
}

typedef struct looking { /* the state of a search over the lists of files that the samples of one spec name have */
    kiln__files *apart;
    const char *asked;    /* the canonical path of the file whose samples are wanted */
    bool any;             /* true if some samples belong to this file, or belong to no other file */
    const char **present; /* for each list in `apart`, one file that exists */
    size_t room, present_room;
} looking;

/* Examines one list of files of the spec's name. If the list has the file `asked`, or if none of its files exists, sets
 * l->any. In any other case the samples with this list belong to another spec, and the list is added to `apart`.
 * Returns false if memory runs out.
 */
static bool check_list(kiln_store *store, looking *l, const char *files)
{
    kiln__arena *arena = &l->apart->arena;
    const char *present = kiln__files_have(files, l->asked) ? NULL : find_present(arena, files);
    size_t count = l->apart->count;
    if (!present) {
        l->any = true;
        return !arena->failed;
    }
    const char *kept = kiln__arena_strdup(arena, files);
    if (!kept || !kiln__grow(store->mem, &l->apart->lists, &l->room, count + 1, sizeof *l->apart->lists) ||
        !kiln__grow(store->mem, &l->present, &l->present_room, count + 1, sizeof *l->present))
        return false;
    l->apart->lists[count] = kept;
    l->present[count] = present;
    l->apart->count++;
    return true;
}

static int check_lists(kiln_store *store, looking *l, const char *spec)
{
    sqlite3_stmt *statement = NULL;
    kiln__scan_begin(store);
    /* the sign keeps SQLite from using the index, because the ids do not rise in the order of the index */
    int code = sqlite3_prepare_v2(store->db,
                                  "SELECT DISTINCT path FROM sample WHERE kiln_rises(id) AND +spec = ?1 ORDER BY path",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, spec, -1, SQLITE_STATIC);
    while (code == SQLITE_OK && (code = kiln__scan_step(store, statement)) == SQLITE_ROW) {
        /* NULL means a damaged value, which reading the row will report */
        const char *files = (const char *)sqlite3_column_text(statement, 0);
        code = check_list(store, l, files ? files : "") ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Writes the different files that exist, separated by commas. Returns their number. */
static size_t name_present(const looking *l, kiln__text *out)
{
    size_t different = 0;
    for (size_t i = 0, k; i < l->apart->count; i++) {
        for (k = 0; k < i && strcmp(l->present[k], l->present[i]) != 0; k++)
            ;
        if (k == i)
            kiln__text_printf(out, "%s%s", different++ ? ", " : "", l->present[i]);
    }
    return different;
}

/* Handles the case that no sample belongs to the file `asked`. If all samples belong to one other file, the samples of
 * that file are used. If the samples belong to several files, no samples are used, and a warning names the files. */
static void choose_other(kiln_store *store, looking *l, const char *spec)
{
    kiln__text names = {.mem = store->mem};
    const char *asked = *l->asked ? l->asked : "no file that is known";
    size_t different = name_present(l, &names);
    if (different == 1) {
        l->apart->count = 0;
        if (*l->asked)
            kiln__logf(&store->log, KILN_LOG_WARNING,
                       "the store has no samples of the spec '%s' in %s; the samples of %s, which has the same name, "
                       "are used",
                       spec, l->asked, kiln__text_get(&names));
    } else {
        kiln__logf(
            &store->log, KILN_LOG_WARNING,
            "the store has samples of several specs called '%s' (%s), but none of %s: give the path of one of them",
            spec, kiln__text_get(&names), asked);
    }
    kiln__text_free(&names);
}

kiln_status kiln__files_apart(kiln_store *store, const kiln_store_filter *filter, bool only_own, kiln__files *apart,
                              kiln_error **error)
{
    if (!filter->spec || !filter->path)
        return KILN_OK;
    char *full = *filter->path ? realpath(filter->path, NULL) : NULL;
    looking l = {.apart = apart, .asked = full ? full : filter->path};
    int code = check_lists(store, &l, filter->spec);
    if (code == SQLITE_OK && apart->count && (!*filter->path || (!l.any && !only_own)))
        choose_other(store, &l, filter->spec);
    free(full);
    kiln__free(store->mem, l.present);
    return code == SQLITE_OK ? KILN_OK : kiln__store_fail(store, code, "reading it", error);
}

void kiln__files_free(const kiln_store *store, kiln__files *apart)
{
    kiln__free(store->mem, apart->lists);
    kiln__arena_free(&apart->arena);
}

void kiln__store_adopt(kiln_store *store, const kiln__store_row *row, const char *path, bool comparison)
{
    static const char sql[] = "UPDATE sample SET path = CASE WHEN ?2 = '' THEN path"
                              " WHEN path = '' OR length(path) > " KILN__FILES_LONG
                              " THEN ?2 ELSE path || char(10) || ?2 END, comparison = ?3 WHERE key = ?1";
    const char *added = kiln__files_have(row->path, path) ? "" : path;
    if (store->read_only || (!*added && comparison == (row->comparison != 0)))
        return;
    sqlite3_stmt *statement = NULL;
    pthread_mutex_lock(&store->lock);
    store->hurry = true; /* waits only a short time for a lock, because this update may be left out */
    kiln__scan_begin(store);
    if (store->db && sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, row->key, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_text(statement, 2, added, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int(statement, 3, comparison) == SQLITE_OK)
        sqlite3_step(statement);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&store->lock);
}

static int set_taken(kiln_store *store, const kiln__store_key *keys, size_t count)
{
    sqlite3_stmt *statement = NULL;
    const int64_t now = kiln__today_ns() / 1000;
    int code = sqlite3_prepare_v2(store->db, "UPDATE sample SET taken = ?2 WHERE key = ?1", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 2, now);
    for (size_t i = 0; i < count && code == SQLITE_OK; i++) {
        kiln__scan_begin(store);
        code = sqlite3_bind_text(statement, 1, keys[i].text, -1, SQLITE_STATIC);
        if (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_DONE)
            code = sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return code;
}

kiln_status kiln__store_mark_taken(kiln_store *store, const kiln__store_key *keys, size_t count, bool wait,
                                   kiln_error **error)
{
    if (store->read_only)
        return KILN_OK;
    pthread_mutex_lock(&store->lock);
    store->hurry = !wait;
    kiln_status status = kiln__store_reach(store, error);
    if (status == KILN_OK) {
        int code = kiln__store_run(store, "BEGIN IMMEDIATE");
        if (code == SQLITE_OK) {
            code = set_taken(store, keys, count);
            if (code == SQLITE_OK)
                code = kiln__store_run(store, "COMMIT");
            if (code != SQLITE_OK)
                kiln__store_run(store, "ROLLBACK");
        }
        if (code != SQLITE_OK)
            status = kiln__store_fail(store, code, "marking the samples that a sweep took", error);
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}
