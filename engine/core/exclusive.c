/* exclusive.c - only one process at a time measures on a GPU: an advisory lock on a file for each GPU, by its uuid.
 *
 * Two bytes of the file are locked. Byte 0 is the device. Byte 1 is the right to be next: it is held while waiting for
 * byte 0, so that two sweeps take turns, and the process that has the device cannot always take it again first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"

enum { DEVICE = 0, NEXT = 1 };

/* The lock belongs to an open file, not to a process: two engines of one process exclude each other too. */
static bool set(int fd, short type, off_t byte, bool wait)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do
        result = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Users share the file, so everybody may write to it. In a world-writable folder the kernel may refuse to open another
 * user's file with O_CREAT (fs.protected_regular), so an existing file is opened without it. Links are not followed. */
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
        else if (errno == EEXIST) /* another process has just created it */
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

/* The process that holds it, from the file; 0: not known. Only for a message, as any user can write to the file. */
long kiln__exclusive_holder(int fd)
{
    char text[16] = "";
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    long pid = got > 0 ? strtol(text, NULL, 10) : 0;
    return pid > 0 ? pid : 0;
}

bool kiln__exclusive_try(int fd) { return set(fd, F_WRLCK, NEXT, false) && set(fd, F_WRLCK, DEVICE, false); }

/* If locking fails for another reason than a holder, measure all the same. */
void kiln__exclusive_take(int fd)
{
    char text[16];
    if (set(fd, F_WRLCK, NEXT, true))
        set(fd, F_WRLCK, DEVICE, true);
    set(fd, F_UNLCK, NEXT, false);
    int length = snprintf(text, sizeof text, "%-11ld\n", (long)getpid());
    if (pwrite(fd, text, (size_t)length, 0) != length)
        return; /* a waiting process then does not know for whom it waits */
}

void kiln__exclusive_give(int fd) { set(fd, F_UNLCK, DEVICE, false); }

/* ---- the engine's lock ---- */

/* Under the engine's lock. -1: measuring is not exclusive here. */
static int lock_of(kiln_engine *engine)
{
    char uuid[KILN__UUID_TEXT] = "";
    const char *folder = getenv("KILN_LOCK_DIR");
    if (engine->exclusive_sought)
        return engine->exclusive;
    engine->exclusive_sought = true;
    if (!engine->info.simulated) /* times of a simulated device are not measurements */
        kiln__driver_uuid(&engine->driver, engine->device, uuid);
    if (!*uuid)
        return -1;
    engine->exclusive = kiln__exclusive_open(folder && *folder ? folder : "/tmp", uuid);
    if (engine->exclusive < 0)
        kiln__logf(&engine->log, KILN_LOG_WARNING,
                   "other processes of Kiln may disturb measurements on %s: no "
                   "lock file in %s: %s; set KILN_LOCK_DIR to a folder that all of them may write to",
                   engine->info.id, folder && *folder ? folder : "/tmp", strerror(errno));
    return engine->exclusive;
}

void kiln__engine_exclude(kiln_engine *engine, void (*waits)(void *user, const char *why), void *user)
{
    char why[160];
    pthread_mutex_lock(&engine->lock);
    int fd = lock_of(engine);
    bool first = fd >= 0 && engine->exclusive_depth++ == 0;
    pthread_mutex_unlock(&engine->lock);
    if (!first) /* a thread of this engine has it, or takes it; `measuring` makes them take turns */
        return;
    bool waited = !kiln__exclusive_try(fd);
    if (waited) {
        long holder = kiln__exclusive_holder(fd);
        snprintf(why, sizeof why,
                 holder ? "%s is in use: process %ld is measuring on it; measurements take turns"
                        : "%s is in use: another process is measuring on it; measurements take turns",
                 engine->info.id, holder);
        if (waits)
            waits(user, why);
        else if (!engine->exclusive_told)
            kiln__logf(&engine->log, KILN_LOG_WARNING, "%s", why);
        engine->exclusive_told = true;
    }
    kiln__exclusive_take(fd);
    if (waited && waits)
        waits(user, NULL);
}

void kiln__engine_include(kiln_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    if (engine->exclusive >= 0 && engine->exclusive_depth > 0 && --engine->exclusive_depth == 0)
        kiln__exclusive_give(engine->exclusive);
    pthread_mutex_unlock(&engine->lock);
}
