/* The lock that measuring takes on a GPU. The test has its own lock files. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "engine.h"

static void make_folder(char folder[32])
{
    strcpy(folder, "/tmp/kiln-lock-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static bool take(int fd) { return kiln__exclusive_take(fd, 600, NULL, NULL) == KILN__TURN_TAKEN; }

static void one_at_a_time(void)
{
    char folder[32];
    make_folder(folder);
    int a = kiln__exclusive_open(folder, "GPU-1"), b = kiln__exclusive_open(folder, "GPU-1"),
        other = kiln__exclusive_open(folder, "GPU-2");
    CU_ASSERT_TRUE_FATAL(a >= 0 && b >= 0 && other >= 0);
    CU_ASSERT_EQUAL(kiln__exclusive_holder(a), 0);
    CHECK(kiln__exclusive_try(a));
    CHECK(take(a));
    CHECK(!kiln__exclusive_try(b));
    CU_ASSERT_EQUAL(kiln__exclusive_holder(b), (long)getpid());
    CHECK(kiln__exclusive_try(other));
    kiln__exclusive_give(a);
    CHECK(kiln__exclusive_try(b)); /* `b` already holds the place of the next process */
    CHECK(take(b));
    CHECK(!kiln__exclusive_try(a));
    close(b); /* closes the file, as the end of a process does */
    CHECK(kiln__exclusive_try(a));
    close(a);
    close(other);
    remove_folder(folder);
}

typedef struct taker {
    int fd;
    atomic_uint *order, *done;
    unsigned turns[8];
} taker;

/* Returns true if another process waits: it has locked byte 1 of the file, the place of the next one. */
static bool somebody_waits(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static void *take_in_turns(void *user)
{
    taker *t = user;
    for (size_t i = 0; i < KILN__COUNT(t->turns); i++) {
        take(t->fd);
        t->turns[i] = atomic_fetch_add(t->order, 1);
        while (!somebody_waits(t->fd) && !atomic_load(t->done))
            usleep(100);
        kiln__exclusive_give(t->fd);
    }
    atomic_store(t->done, 1);
    return NULL;
}

/* The place of the next process makes the lock fair. Without it, a process that gives the lock back would take it
 * again before the waiting process has woken. */
static void they_take_turns(void)
{
    char folder[32];
    make_folder(folder);
    atomic_uint order = 0, done = 0;
    taker takers[2] = {{.order = &order, .done = &done}, {.order = &order, .done = &done}};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        takers[i].fd = kiln__exclusive_open(folder, "GPU-1");
        CU_ASSERT_TRUE_FATAL(takers[i].fd >= 0);
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_in_turns, &takers[i]), 0);
    }
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 1; i < KILN__COUNT(takers[0].turns); i++)
        CHECK(takers[0].turns[i] - takers[0].turns[i - 1] == 2);
    for (size_t i = 0; i < 2; i++)
        close(takers[i].fd);
    remove_folder(folder);
}

static void survives_a_killed_holder(void)
{
    char folder[32];
    make_folder(folder);
    int ready[2], fd = kiln__exclusive_open(folder, "GPU-1");
    CU_ASSERT_TRUE_FATAL(fd >= 0 && pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        int own = kiln__exclusive_open(folder, "GPU-1");
        take(own);
        _exit(write(ready[1], "x", 1) == 1 ? pause() : 1);
    }
    char byte;
    CU_ASSERT_EQUAL_FATAL(read(ready[0], &byte, 1), 1);
    CHECK(!kiln__exclusive_try(fd));
    CU_ASSERT_EQUAL(kiln__exclusive_holder(fd), (long)pid);
    kill(pid, SIGKILL);
    CHECK(take(fd)); /* the wait ends when the other process ends */
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    CU_ASSERT_EQUAL(kiln__exclusive_holder(fd), (long)getpid());
    close(ready[0]);
    close(ready[1]);
    close(fd);
    remove_folder(folder);
}

/* ---- a lock that somebody holds for ever ---- */

typedef struct heard {
    unsigned warnings, asked;
    char last[400];
} heard;

static void hear(void *user, kiln_log_level level, const char *message)
{
    heard *h = user;
    h->warnings += level == KILN_LOG_WARNING;
    snprintf(h->last, sizeof h->last, "%s", message);
}

static bool ends_third_time(void *user)
{
    heard *h = user;
    return ++h->asked == 3;
}

/* Makes an engine with a lock on a file in `folder`. Another open file holds the lock. */
static void make_engine(kiln_engine *engine, heard *h, const char *folder, int *holder)
{
    *holder = kiln__exclusive_open(folder, "GPU-1");
    memset(engine, 0, sizeof *engine);
    engine->log = (kiln__log){hear, h};
    pthread_mutex_init(&engine->lock, NULL);
    engine->exclusive_sought = true;
    engine->exclusive = kiln__exclusive_open(folder, "GPU-1");
    CU_ASSERT_TRUE_FATAL(*holder >= 0 && engine->exclusive >= 0 && take(*holder));
}

static void end_engine(kiln_engine *engine, int holder, const char *folder)
{
    close(engine->exclusive);
    close(holder);
    pthread_mutex_destroy(&engine->lock);
    remove_folder(folder);
    unsetenv("KILN_LOCK_SECONDS");
}

static void measures_without_the_lock(void)
{
    char folder[32];
    static kiln_engine engine;
    heard h = {0};
    int holder;
    make_folder(folder);
    make_engine(&engine, &h, folder, &holder);
    setenv("KILN_LOCK_SECONDS", "0.02", 1);
    const kiln__waiting how = {0};
    CHECK(kiln__engine_exclude(&engine, &how));
    CU_ASSERT_EQUAL(h.warnings, 2); /* one message when the wait begins, and one when it ends */
    CHECK(strstr(h.last, "measuring without the lock") && strstr(h.last, "0.02 s"));
    kiln__engine_include(&engine);
    /* after a wait without success, the next measurement does not wait at all */
    setenv("KILN_LOCK_SECONDS", "100000", 1);
    CHECK(kiln__engine_exclude(&engine, &how));
    CU_ASSERT_EQUAL(h.warnings, 2);
    kiln__engine_include(&engine);
    CHECK(!somebody_waits(holder)); /* the place of the next process is free */
    kiln__exclusive_give(holder);
    CHECK(kiln__engine_exclude(&engine, &how)); /* takes the lock again once the lock is free */
    CHECK(!kiln__exclusive_try(holder));
    kiln__engine_include(&engine);
    end_engine(&engine, holder, folder);
}

static void waiting_can_be_stopped(void)
{
    char folder[32];
    static kiln_engine engine;
    heard h = {0};
    int holder, stop = 1;
    make_folder(folder);
    make_engine(&engine, &h, folder, &holder);
    setenv("KILN_LOCK_SECONDS", "100000", 1);
    CHECK(!kiln__engine_exclude(&engine, &(kiln__waiting){.ends = ends_third_time, .ends_user = &h}));
    CU_ASSERT_EQUAL(h.asked, 3);
    CHECK(!kiln__engine_exclude(&engine, &(kiln__waiting){.stop = &stop}));
    CU_ASSERT_EQUAL(engine.exclusive_depth, 0);
    setenv("KILN_LOCK_SECONDS", "soon", 1);
    CHECK(!kiln__engine_exclude(&engine, &(kiln__waiting){.stop = &stop}));
    CHECK(strstr(h.last, "KILN_LOCK_SECONDS=soon") != NULL);
    end_engine(&engine, holder, folder);
}

static void files_that_are_none(void)
{
    char folder[32], path[96], target[96];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/kiln-link.lock", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    CU_ASSERT_EQUAL(symlink(target, path), 0);
    CHECK(kiln__exclusive_open(folder, "link") < 0);
    CHECK(access(target, F_OK) != 0); /* nothing was made at the target of the link */
    snprintf(path, sizeof path, "%s/kiln-pipe.lock", folder);
    CU_ASSERT_EQUAL(mkfifo(path, 0666), 0);
    CHECK(kiln__exclusive_open(folder, "pipe") < 0);
    CHECK(kiln__exclusive_open("/nonexistent", "GPU-1") < 0);
    snprintf(path, sizeof path, "%s/kiln-words.lock", folder);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && write(fd, "what\n", 5) == 5);
    close(fd);
    fd = kiln__exclusive_open(folder, "words");
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(kiln__exclusive_holder(fd), 0);
    close(fd);
    remove_folder(folder);
}

static const check_case cases[] = {
    {"one at a time", one_at_a_time},
    {"they take turns", they_take_turns},
    {"survives a killed holder", survives_a_killed_holder},
    {"a lock that is held for ever", measures_without_the_lock},
    {"waiting can be stopped", waiting_can_be_stopped},
    {"files that are not lock files", files_that_are_none},
};
KILN_SUITE("core.exclusive", cases)
