#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "check.h"

static void test_diag(void)
{
    kiln__source source = {.name = "a.yaml", .text = "one\ntwo three\n", .length = 14};
    kiln__diag diag = {0};
    kiln__diag_add(&diag, (kiln__pos){&source, 2, 5}, "unknown key '%s'", "three");
    kiln_error *error = NULL;
    CHECK(kiln__diag_finish(&diag, KILN_ERROR_SPEC, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), "a.yaml:2:5: unknown key 'three'\n  two three\n      ^");
    kiln_error_free(error);
}

static void test_nearest(void)
{
    const char *names[] = {"default", "ragged", "tiny"};
    CHECK_TEXT(kiln__nearest("defualt", names, 3), "default");
    CHECK_TEXT(kiln__nearest("Tiny", names, 3), "tiny");
    CHECK(kiln__nearest("huge", names, 3) == NULL);
}

/* Tests folders and files: making a folder twice, writing, reading with and without a limit, reading a folder, and
 * paths within a folder. */
static void test_files(void)
{
    char folder[] = "/tmp/kiln-base-XXXXXX", path[128];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/a/b", folder);
    kiln_error *error = NULL;
    CHECK_OK(kiln__make_folders(NULL, path, 0755, &error), error);
    CHECK_OK(kiln__make_folders(NULL, path, 0755, &error), error);
    snprintf(path, sizeof path, "%s/a/b/file", folder);
    CHECK_OK(kiln__file_write(NULL, path, "hello", 5, &error), error);
    char *data = NULL;
    size_t length = 0;
    CHECK_OK(kiln__file_read(NULL, path, 0, &data, &length, &error), error);
    CHECK(length == 5);
    CHECK_TEXT(data, "hello");
    kiln__free(NULL, data);
    CHECK(kiln__file_read(NULL, path, 4, &data, &length, &error) == KILN_ERROR_REFUSED);
    kiln_error_free(error);
    error = NULL;
    CHECK(kiln__file_read(NULL, folder, 0, &data, &length, &error) == KILN_ERROR_IO);
    kiln_error_free(error);
    CHECK(kiln__path_within(NULL, path, folder));
    CHECK(!kiln__path_within(NULL, folder, path));
    CHECK(!kiln__path_within(NULL, "/etc/passwd", folder));
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
}

/* Tests the cores of a process. A process that may run on any core moves to the cores of the list. If a process may run
 * on none of them, it stays on its cores. */
static void test_near(void)
{
    char folder[] = "/tmp/kiln-near-XXXXXX", path[64];
    cpu_set_t all, now;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/local_cpulist", folder);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    unsigned mine[2], found = 0;
    for (unsigned core = 0; core < CPU_SETSIZE && found < 2; core++)
        if (CPU_ISSET(core, &all))
            mine[found++] = core;
    CU_ASSERT_TRUE_FATAL(found > 0);
    char first[32], two[64];
    snprintf(first, sizeof first, "%u\n", mine[0]);
    snprintf(two, sizeof two, "%u,5000,%u-%u\n", mine[0], mine[found - 1], mine[found - 1]);
    const struct {
        const char *text; /* NULL if there is no file */
        unsigned cores;   /* the core to which the process moves */
        bool far;
    } lists[] = {
        {NULL, 0, false},           {"", 0, false},
        {"\n", 0, false},           {"x\n", 0, false},
        {"3-\n", 0, false},         {"3-1\n", 0, false},
        {"-1\n", 0, false},         {"0;1\n", 0, false},
        {"0-99999999\n", 0, false}, {"1023\n", 0, true},
        {first, found > 1, false},  {two, (unsigned)CPU_COUNT(&all) > found ? found : 0, false},
    };
    for (size_t i = 0; i < KILN__COUNT(lists); i++) {
        bool far = true;
        if (CPU_ISSET(1023, &all) && lists[i].far) /* a machine with this many cores */
            continue;
        if (lists[i].text)
            CHECK(kiln__file_write(NULL, path, lists[i].text, strlen(lists[i].text), NULL) == KILN_OK);
        CHECK(kiln__host_go_near(path, &far) == lists[i].cores);
        CHECK(far == lists[i].far);
        CHECK(sched_getaffinity(0, sizeof now, &now) == 0);
        CHECK((unsigned)CPU_COUNT(&now) == (lists[i].cores ? lists[i].cores : (unsigned)CPU_COUNT(&all)));
        CHECK(CPU_ISSET(mine[0], &now));
        CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    }
    unlink(path);
    rmdir(folder);
}

static void test_oom(void)
{
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__arena arena = {.mem = &mem};
        for (int i = 0; i < 200; i++)
            kiln__arena_printf(&arena, "%d: %s", i, "some text that fills blocks");
        kiln__text text = {.mem = &mem};
        for (int i = 0; i < 100; i++)
            kiln__text_printf(&text, "%0*d", i, i);
        kiln_error *error = NULL;
        kiln_status status = kiln__fail(&mem, &error, KILN_ERROR_IO, "%s", "why");
        CHECK(status == KILN_ERROR_IO && error != NULL);
        if (oom.failed)
            CHECK(arena.failed || text.failed || kiln_error_status(error) == KILN_ERROR_MEMORY);
        kiln_error_free(error);
        kiln__text_free(&text);
        kiln__arena_free(&arena);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

/* Messages use the decimal point of the C locale. tests/library/locale.sh compares messages under other locales. */
static void test_system_texts(void)
{
    CHECK(strcmp(kiln__error_text(ENOENT), "No such file or directory") == 0);
    CHECK(strcmp(kiln__error_text(EACCES), "Permission denied") == 0);
    CHECK(strcmp(kiln__signal_text(SIGKILL), "Killed") == 0);
}

static const check_case cases[] = {{"diagnostics", test_diag},         {"texts of the system", test_system_texts},
                                   {"nearest name", test_nearest},     {"files", test_files},
                                   {"cores near a device", test_near}, {"out of memory", test_oom}};
KILN_SUITE("base", cases)
