/* Tests references that commands compute: their inputs, the ways in which they end, and that no file is left behind. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plans.h"
#include "wire.h"

static char folder[64];

static void enter(void)
{
    snprintf(folder, sizeof folder, "/tmp/kiln-command-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    setenv("TMPDIR", folder, 1);
}

/* Checks that the private folder is empty. */
static void leave(void)
{
    unsigned entries = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        entries++;
    if (dir)
        closedir(dir);
    CU_ASSERT_EQUAL(entries, 2); /* only . and .. are left */
    rmdir(folder);
    unsetenv("TMPDIR");
}

/* Returns a spec whose reference is `script`. The script gets the folder as $0 and the size as $1. */
static const char *spec_of(const char *kernel, const char *script)
{
    static char text[2000];
    snprintf(text, sizeof text,
             HEAD VARIANT "      - launch: {kernel: %s, grid: [N], block: [1], args: [x, y, N]}\n"
                          "verify:\n  y: {against: {command: [sh, -c, '%s']}}\n",
             kernel, script);
    return text;
}

static void run_is(const char *text, unsigned flags, const kiln_run_options *options, kiln_status want,
                   const char *part)
{
    kiln_error *error = NULL;
    const kiln_result *result;
    enter();
    open_plan(text, NULL);
    engine->flags |= flags;
    kiln_status status = kiln_plan_run(plan, options, &result, &error);
    CU_ASSERT_EQUAL(status, want);
    if (!strstr(kiln_error_message(error), part))
        fprintf(stderr, "got:  %s\nwant: %s\n", kiln_error_message(error), part);
    CHECK(strstr(kiln_error_message(error), part) != NULL);
    kiln_error_free(error);
    close_all();
    leave();
}

static void test_refused(void)
{
    enter();
    char script[200];
    snprintf(script, sizeof script, "touch %s/it-ran", folder);
    leave();
    run_is(spec_of("add_one", script), 0, NULL, KILN_ERROR_REFUSED, "the spec runs the command 'sh -c touch");
}

static void test_runs(void)
{
    run_is(spec_of("add_one", "test $1 = N=4 && cp $0/in/x.npy $0/out/y.npy"), KILN_ALLOW_COMMANDS, NULL,
           KILN_ERROR_WRONG_ANSWER, "4 of 4 wrong; against command sh -c test $1");
    run_is(spec_of("add_one", "ls $0/in; exit 9"), KILN_ALLOW_COMMANDS, NULL, KILN_ERROR_HOST_FUNCTION,
           "failed: it exited with status 9:\nx.npy");
    run_is(spec_of("add_one", "kill -9 $$"), KILN_ALLOW_COMMANDS, NULL, KILN_ERROR_HOST_FUNCTION,
           "it was ended by signal 9");
    run_is(spec_of("add_one", "true"), KILN_ALLOW_COMMANDS, NULL, KILN_ERROR_HOST_FUNCTION,
           "wrote no file out/y.npy in the folder");
    run_is(spec_of("add_one", "echo no array >$0/out/y.npy"), KILN_ALLOW_COMMANDS, NULL, KILN_ERROR_IO,
           "is not a .npy file");
    run_is(spec_of("add_one", "ln -s $0/in/x.npy $0/out/y.npy"), KILN_ALLOW_COMMANDS, NULL, KILN_ERROR_REFUSED,
           "symbolic link");
}

static void test_ends(void)
{
    kiln_run_options options = {.size = sizeof options, .sample_timeout = 0.05};
    run_is(spec_of("add_one", "sleep 1000 & sleep 1000"), KILN_ALLOW_COMMANDS, &options, KILN_ERROR_TIMEOUT,
           "took longer than the limit of 0.05 s (sample_timeout)");
    volatile int stop = 1;
    options = (kiln_run_options){.size = sizeof options, .stop = &stop};
    run_is(spec_of("add_one", "sleep 1000"), KILN_ALLOW_COMMANDS, &options, KILN_ERROR_INTERRUPTED, "stopped");
}

static void test_memory(void)
{
    const char *text = spec_of("add_one", "cp $0/in/x.npy $0/out/y.npy");
    for (long k = 0; k < 4000; k++) {
        check_oom oom = {.countdown = -1};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln_error *error = NULL;
        const kiln_result *result;
        enter();
        open_engine(&mem, true);
        engine->flags |= KILN_ALLOW_COMMANDS;
        CHECK_OK(try_plan(text, NULL, &error), error);
        oom.countdown = k;
        kiln_status status = kiln_plan_run(plan, NULL, &result, &error);
        bool failed = oom.failed;
        oom.countdown = -1;
        CHECK(failed ? status != KILN_OK : status == KILN_ERROR_WRONG_ANSWER);
        kiln_error_free(error);
        close_all();
        CHECK(oom.live == 0);
        leave();
        if (!failed)
            return;
    }
    CU_FAIL("never ran through");
}

static const check_case cases[] = {
    {"refused", test_refused}, {"runs", test_runs}, {"ends", test_ends}, {"out of memory", test_memory}};
KILN_SUITE("plan.command", cases)
