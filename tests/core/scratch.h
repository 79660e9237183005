/* scratch.h - a folder for one test. The test runs in this folder, so it uses relative names of files. */
#ifndef KILN_TESTS_CORE_SCRATCH_H
#define KILN_TESTS_CORE_SCRATCH_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "check.h"

static char scratch_folder[64], scratch_before[4096];

static inline void scratch_enter(void)
{
    snprintf(scratch_folder, sizeof scratch_folder, "/tmp/kiln-core-XXXXXX");
    CHECK(getcwd(scratch_before, sizeof scratch_before) != NULL);
    CHECK(mkdtemp(scratch_folder) != NULL);
    CHECK(chdir(scratch_folder) == 0);
}

static inline int scratch_remove(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void scratch_leave(void)
{
    CHECK(chdir(scratch_before) == 0);
    nftw(scratch_folder, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_file(const char *path, const char *text)
{
    kiln_error *error = NULL;
    kiln__arena arena = {0};
    CHECK_OK(kiln__make_folders(NULL, kiln__arena_folder(&arena, path), 0755, &error), error);
    CHECK_OK(kiln__file_write(NULL, path, text, strlen(text), &error), error);
    kiln__arena_free(&arena);
}
#endif
