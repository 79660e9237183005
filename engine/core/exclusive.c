/* exclusive.c - lets only one process at a time measure on a GPU, by an advisory lock on a file. Each GPU has one lock
 * file, whose name contains the uuid of the GPU.
 *
 * A process locks byte 0 of the file (DEVICE) while it measures. A process that waits for byte 0 locks byte 1 (NEXT) in
 * the meantime. So two sweeps take turns. A process that has unlocked byte 0 must lock byte 1 before it can lock byte 0
 * again, and the waiting process holds byte 1.
 *
 * Every user may lock the file, so another user's process may hold the lock for ever. So waiting has a time limit.
 * After it, Kiln logs a warning and measures without the lock. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

enum { DEVICE = 0, NEXT = 1 };
#define MOST_SECONDS 120.0 /* longest wait in seconds, unless $KILN_LOCK_SECONDS is set */
#define FIRST_NAP_NS 500000
#define LAST_NAP_NS 20000000

/* Locks or unlocks one byte without waiting. The lock belongs to an open file description, not to a process, so two
 * engines of one process exclude each other too. */
static bool set_lock(int fd, short type, off_t byte)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do
        result = fcntl(fd, F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Returns true if set_lock() failed because another open file description has the lock. */
static bool is_held(void) { return errno == EAGAIN || errno == EACCES; }

/* Opens the lock file. All users of the machine share the file, so its mode lets everybody write. In a world-writable
 * folder, the kernel may refuse to open another user's file with O_CREAT (fs.protected_regular). So the function opens
 * an existing file without O_CREAT. The function does not follow links. */
int kiln__exclusive_open(const char *folder, const char *name)
{
    char path[512];
    if ((size_t)snprintf(path, sizeof path, "%s/kiln-%s.lock", folder, name) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
        if (fd >= 0)
            fchmod(fd, 0666);     /* ignores the umask */
        else if (errno == EEXIST) /* another process has just created the file, so open it */
            fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    struct stat info;
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

/* Reads from the lock file the id of the process that took the lock last, and returns it, or 0 if it is unknown. Kiln
 * uses the id only in a message, because any user can write to the file. */
long kiln__exclusive_holder(int fd)
{
    char text[16] = "";
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    long pid = got > 0 ? strtol(text, NULL, 10) : 0;
    return pid > 0 ? pid : 0;
}

bool kiln__exclusive_try(int fd) { return set_lock(fd, F_WRLCK, NEXT) && set_lock(fd, F_WRLCK, DEVICE); }

/* The function polls the lock, because a process that sleeps in fcntl() obeys neither a time limit nor a request to
 * stop. The pauses between two polls double up to 20 ms. If locking fails for a reason other than a holder, the
 * function reports that it took the lock. */
kiln__turn kiln__exclusive_take(int fd, double seconds, bool (*ends)(void *user), void *user)
{
    const uint64_t start = kiln__now_ns();
    kiln__turn turn = KILN__TURN_TAKEN;
    char text[16];
    for (long nap = FIRST_NAP_NS; !kiln__exclusive_try(fd) && is_held(); nap = nap < LAST_NAP_NS ? 2 * nap : nap) {
        turn = ends && ends(user) ? KILN__TURN_STOPPED : kiln__seconds_since(start) >= seconds ? KILN__TURN_LATE : turn;
        if (turn != KILN__TURN_TAKEN)
            break;
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
    set_lock(fd, F_UNLCK, NEXT);
    if (turn != KILN__TURN_TAKEN)
        return turn;
    int length = snprintf(text, sizeof text, "%-11ld\n", (long)getpid());
    if (pwrite(fd, text, (size_t)length, 0) != length)
        return turn; /* the id could not be written, so a waiting process cannot name this process */
    return turn;
}

void kiln__exclusive_give(int fd) { set_lock(fd, F_UNLCK, DEVICE); }

/* ---- the engine's lock ---- */

/* Returns the descriptor of the device's lock file. The first call opens the file. Returns -1 if measurements on this
 * device need no lock, or if the file cannot be opened. The caller holds the engine's lock. */
static int lock_of(kiln_engine *engine)
{
    char uuid[KILN__UUID_TEXT] = "";
    const char *folder = getenv("KILN_LOCK_DIR");
    if (engine->exclusive_sought)
        return engine->exclusive;
    engine->exclusive_sought = true;
    if (!engine->info.simulated) /* the times of a simulated device are not measurements */
        kiln__driver_uuid(&engine->driver, engine->device, uuid);
    if (!*uuid)
        return -1;
    engine->exclusive = kiln__exclusive_open(folder && *folder ? folder : "/tmp", uuid);
    if (engine->exclusive < 0)
        kiln__logf(
            &engine->log, KILN_LOG_WARNING,
            "other processes of Kiln may disturb measurements on %s, because kiln cannot create a lock file in %s: "
            "%s; set KILN_LOCK_DIR to a folder that all of them may write to",
            engine->info.id, folder && *folder ? folder : "/tmp", kiln__error_text(errno));
    return engine->exclusive;
}

/* Returns how many seconds a measurement waits for another process. */
static double most_seconds(const kiln_engine *engine)
{
    const char *text = getenv("KILN_LOCK_SECONDS");
    if (!text || !*text)
        return MOST_SECONDS;
    char *end;
    const double seconds = kiln__parse_double(text, &end);
    if (end != text && !*end && isfinite(seconds) && seconds >= 0)
        return seconds;
    kiln__logf(
        &engine->log, KILN_LOG_WARNING,
        "KILN_LOCK_SECONDS=%s is not a number of seconds; a measurement waits for another process for up to %g s", text,
        MOST_SECONDS);
    return MOST_SECONDS;
}

/* Passes `why` to the caller of the measurement, or to the log if the caller gave no function. */
static void notify(kiln_engine *engine, const kiln__waiting *how, const char *why)
{
    if (how->notify)
        how->notify(how->user, why);
    else
        kiln__logf(&engine->log, KILN_LOG_WARNING, "%s", why);
}

static bool wants_end(void *user)
{
    const kiln__waiting *how = user;
    return (how->stop && __atomic_load_n(how->stop, __ATOMIC_RELAXED)) || (how->ends && how->ends(how->ends_user));
}

/* Takes the lock of the device. If another process holds the lock, waits for it or gives up. After a wait has reached
 * the time limit, the engine does not wait again until it has once found the lock free. Otherwise each sample of a
 * sweep would wait until the time limit. */
bool kiln__engine_exclude(kiln_engine *engine, const kiln__waiting *how)
{
    char why[320];
    pthread_mutex_lock(&engine->lock);
    int fd = lock_of(engine);
    bool first = fd >= 0 && engine->exclusive_depth++ == 0;
    pthread_mutex_unlock(&engine->lock);
    /* there is no lock file, or another thread of this engine has or takes the lock, and the mutex `measuring`
     * serialises the threads */
    if (!first)
        return true;
    const bool waits = !kiln__exclusive_try(fd);
    const long holder = waits ? kiln__exclusive_holder(fd) : 0;
    const double seconds = waits && !engine->exclusive_late ? most_seconds(engine) : 0;
    char process[32] = "another process";
    if (holder)
        snprintf(process, sizeof process, "process %ld", holder);
    if (waits && !engine->exclusive_late && (how->notify || !engine->exclusive_told)) {
        snprintf(why, sizeof why, "%s is in use: %s is measuring on it; measurements take turns", engine->info.id,
                 process);
        notify(engine, how, why);
        engine->exclusive_told = true;
    }
    const kiln__turn turn = kiln__exclusive_take(fd, seconds, wants_end, (void *)(uintptr_t)how);
    if (turn == KILN__TURN_LATE && !engine->exclusive_late) {
        kiln__format(why, sizeof why,
                     "%s: %s has held the lock on it for %g s: measuring without the lock, so the times may be "
                     "disturbed; end that process, or set KILN_LOCK_DIR to another folder or KILN_LOCK_SECONDS to a "
                     "longer wait",
                     engine->info.id, process, seconds);
        notify(engine, how, why);
    }
    if (turn != KILN__TURN_STOPPED)
        engine->exclusive_late = turn == KILN__TURN_LATE;
    if (waits && how->notify)
        how->notify(how->user, NULL);
    if (turn == KILN__TURN_STOPPED)
        kiln__engine_include(engine);
    return turn != KILN__TURN_STOPPED;
}

void kiln__engine_include(kiln_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    if (engine->exclusive >= 0 && engine->exclusive_depth > 0 && --engine->exclusive_depth == 0)
        kiln__exclusive_give(engine->exclusive);
    pthread_mutex_unlock(&engine->lock);
}
