/* confined WORKER [COUNT]: runs COUNT compiles (200) of sources that try to read files outside the allowed folders.
 * They bypass the reader of includes and go straight to a confined worker, and none of them may open such a file.
 * Half of the sources consist of pieces that hide directives. The other half are a kernel with such pieces and
 * changed bytes. inotify reports every open, by any process. Some compiles without confinement run first and must
 * open a file, because otherwise the sources would prove nothing. */
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile_internal.h"
#include "pieces.h"
#include "sources.h"

static uint64_t state = 42;

static uint64_t draw(uint64_t below) /* splitmix64 */
{
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

static int watch;
static char folder[64], outside[80];

static size_t opened(void)
{
    char events[16384] __attribute__((aligned(8)));
    size_t count = 0;
    ssize_t got;
    while ((got = read(watch, events, sizeof events)) > 0)
        for (char *at = events; at < events + got; count++)
            at += sizeof(struct inotify_event) + ((struct inotify_event *)(void *)at)->len;
    return count;
}

static const char *make_source(char *text, size_t room)
{
    uint8_t bytes[48];
    bool whole = draw(2) == 0; /* true: the source consists of pieces only */
    size_t count = 2 + draw(whole ? sizeof bytes - 2 : 6);
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)draw(256);
    const char *standard = pieces_build(bytes, count, outside, text, room / 2);
    if (whole)
        return standard;
    size_t length = strlen(text), kernel = strlen(source_small), at = draw(4) ? 0 : draw(kernel);
    memmove(text + at, text, length + 1);
    memcpy(text, source_small, at);
    memcpy(text + at + length, source_small + at, kernel - at + 1);
    for (uint64_t n = draw(3); n > 0; n--)
        text[draw(length + kernel)] = (char)(1 + draw(126));
    return standard;
}

/* Compiles `count` sources. *good gets the number of sources that compiled without an error. Returns false if a worker
 * failed. */
static bool compile_all(const char *program, kiln__nvrtc *nvrtc, long count, long *good)
{
    enum { ROOM = 8192, AHEAD = 8 };
    kiln__compiler_options options = {.worker = program, .jobs = 2, .timeout = 120};
    kiln__compiler *compiler = NULL;
    kiln__compile_job *jobs[AHEAD] = {NULL};
    bool fine = kiln__compiler_open(NULL, &options, nvrtc, &compiler, NULL) == KILN_OK;
    *good = 0;
    for (long i = 0; fine && i < count + AHEAD; i++) {
        kiln_error *error = NULL;
        kiln__unit unit;
        kiln__compile_job **job = &jobs[i % AHEAD];
        if (*job) {
            kiln_status status = kiln__compile_take(*job, &unit, NULL, &error);
            *good += status == KILN_OK;
            if (status != KILN_OK && status != KILN_ERROR_COMPILE) {
                fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_error_message(error));
                fine = status == KILN_ERROR_TIMEOUT; /* a timeout says nothing about files */
            }
            kiln__unit_free(&unit);
            kiln_error_free(error);
            *job = NULL;
        }
        if (fine && i < count) {
            char text[ROOM];
            const char *standard = make_source(text, sizeof text);
            kiln__compile_request request = {
                .name = "x.cu", .source = text, .arch = 90, .options = &standard, .option_count = 1};
            fine = kiln__compile_start(compiler, &request, job, NULL) == KILN_OK;
        }
    }
    for (size_t i = 0; i < AHEAD; i++)
        kiln__compile_cancel(jobs[i]);
    kiln__compiler_close(compiler);
    return fine;
}

static bool make_files(bool remove)
{
    char path[160];
    bool fine = remove || (mkdtemp(folder) && snprintf(outside, sizeof outside, "%s/out", folder) > 0 &&
                           mkdir(outside, 0700) == 0);
    for (int i = 0; i < PIECES_OUTSIDE && fine; i++) {
        snprintf(path, sizeof path, "%s/o%d.h", outside, i);
        fine = remove ? unlink(path) == 0 : kiln__file_write(NULL, path, "int out;\n", 9, NULL) == KILN_OK;
    }
    return fine && (!remove || (rmdir(outside) == 0 && rmdir(folder) == 0));
}

/* Compiles hostile sources in a confined worker, and watches with inotify whether a file outside is opened. A control
 * without confinement shows that the watch works. */
int main(int count, char **arguments)
{
    kiln__nvrtc *nvrtc = NULL;
    kiln_error *error = NULL;
    long wanted = count > 2 ? atol(arguments[2]) : 200, control = 40, good = 0, unused = 0;
    strcpy(folder, "/tmp/kiln-confined-XXXXXX");
    if (count < 2 || kiln__nvrtc_open(NULL, &nvrtc, &error) != KILN_OK) {
        printf("SKIP nvrtc: %s\n", count < 2 ? "usage: confined WORKER [COUNT]" : kiln_error_message(error));
        kiln_error_free(error);
        return 77;
    }
    char *how = NULL;
    bool confined = false;
    if (kiln__worker_look(NULL, arguments[1], nvrtc, &confined, &how, &error) != KILN_OK || !confined) {
        printf("SKIP confine: workers are not confined here: %s\n", how ? how : kiln_error_message(error));
        return 77;
    }
    watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (watch < 0 || !make_files(false) || inotify_add_watch(watch, outside, IN_OPEN) < 0)
        return 1;
    setenv("KILN_CONFINE", "none", 1);
    bool fine = compile_all(arguments[1], nvrtc, control, &unused);
    size_t without = opened();
    unsetenv("KILN_CONFINE");
    fine = compile_all(arguments[1], nvrtc, wanted, &good) && fine;
    size_t with = opened();
    printf("%ld compiles unconfined: %zu files outside opened; %ld confined (%s), %ld of them good: %zu\n", control,
           without, wanted, how, good, with);
    kiln__free(NULL, how);
    kiln__nvrtc_close(nvrtc);
    close(watch);
    return make_files(true) && fine && without > 0 && with == 0 ? 0 : 1;
}
