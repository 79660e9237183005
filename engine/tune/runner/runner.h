/* runner.h - measuring in a process of its own: the messages, the process, and the side that started it, which may
 * have several, one for each device.
 *
 * The library sends KILN__RUNNER_OPEN once and hears KILN__RUNNER_READY; then for each sample KILN__RUNNER_RUN, and
 * hears KILN__RUNNER_WAITING where another process measures on the device, and once more when that is over,
 * KILN__RUNNER_LAUNCHING when inputs and expected answers are there and the first launch is next (unless it does
 * not come to that), and KILN__RUNNER_RESULT at its end. Messages and fields are those of base/wire.h. */
#ifndef KILN_TUNE_RUNNER_H
#define KILN_TUNE_RUNNER_H

#include <poll.h>

#include "wire.h"
#include "tune_internal.h"

enum {
    KILN__RUNNER_OPEN = 16,
    KILN__RUNNER_READY,
    KILN__RUNNER_RUN,
    KILN__RUNNER_LAUNCHING,
    KILN__RUNNER_RESULT,
    KILN__RUNNER_WAITING
};

/* ---- messages (protocol.c): what is read points into the body or the arena; false: malformed, or no memory ---- */

/* What stays the same for a sweep. The files of inputs are read by the runner; a sweep writes no outputs. */
typedef struct kiln__runner_setup {
    const char *version; /* KILN_VERSION of the sender: the two are of one build */
    const char *device;
    unsigned flags; /* of kiln_options */
    uint64_t memory_limit;
    const char *search_path; /* folders, ':' between */
    const char *name, *text; /* of the spec; text is not NUL-terminated */
    size_t text_length;
    kiln_choice choice; /* its sizes alone */
    kiln_run_options run;
} kiln__runner_setup;
void kiln__runner_write_open(kiln__text *message, const kiln__runner_setup *setup);
bool kiln__runner_read_open(const char *body, size_t length, kiln__arena *arena, kiln__runner_setup *setup);

void kiln__runner_write_ready(kiln__text *message, kiln_status status, const char *why);
bool kiln__runner_read_ready(const char *body, size_t length, kiln_status *status, const char **why);

typedef struct kiln__runner_request {
    const char *variant;
    const kiln_setting *params;
    size_t param_count;
    kiln__trial trial;
    kiln__unit unit;
} kiln__runner_request;
void kiln__runner_write_run(kiln__text *message, const kiln__runner_request *request);
bool kiln__runner_read_run(const char *body, size_t length, kiln__arena *arena, kiln__runner_request *request);

void kiln__runner_write_launching(kiln__text *message);
void kiln__runner_write_waiting(kiln__text *message, const char *why); /* "": no longer */
bool kiln__runner_read_waiting(const char *body, size_t length, const char **why);

typedef struct kiln__runner_answer {
    kiln_status status;
    int cuda;     /* CUresult behind it, 0: none */
    bool passing; /* kiln__error_is_passing() */
    bool lost;    /* the runner's context is lost: it is of no more use */
    const char *why;
    kiln_result result; /* where status is KILN_OK; compiling and the cache are the sweep's matter */
    const void *times;  /* doubles, perhaps not aligned: of each repetition, in order */
    size_t time_count;
} kiln__runner_answer;
void kiln__runner_write_result(kiln__text *message, const kiln__runner_answer *answer);
bool kiln__runner_read_result(const char *body, size_t length, kiln__runner_answer *answer);

/* ---- the process (runner.c) ---- */

/* What kiln-worker does with --run: answers the requests that arrive on the socket `fd` until it closes. The exit
 * status. */
int kiln__runner_serve(int fd);

/* ---- the side of the sweep: one device's process (isolate.c) ---- */

/* A process that measures on a device, and its successors. Nothing waits but kiln__runner_run(): a sample is begun, and
 * until it has ended the runner is stepped whenever its socket is ready or its deadline has come. */
typedef struct kiln__runner kiln__runner;
/* Starts the process, so that what is wrong with it shows before anything is compiled; fails where the engine cannot be
 * used by another process. `device` as in kiln_options, NULL: the engine's own. All of them must outlive it. */
kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              const char *device, kiln__runner **runner, kiln_error **error);
void kiln__runner_close(kiln__runner *runner);         /* NULL is fine; ends the sample under way */
bool kiln__runner_is_idle(const kiln__runner *runner); /* a sample may be begun */
/* Begins a sample; starts another process first where the last one was ended. The code is copied. */
kiln_status kiln__runner_begin(kiln__runner *runner, const kiln_sample *sample, const kiln__trial *trial,
                               const kiln__code *code, kiln_error **error);
bool kiln__runner_step(kiln__runner *runner); /* goes as far as it goes; true: the outcome is there to be taken */
/* What to poll for (its fd is -1 where there is nothing); the time of kiln__now_ns() to step at all the same, 0: none. */
uint64_t kiln__runner_watch(const kiln__runner *runner, struct pollfd *fd);
/* The outcome. `recorder` (may be NULL) gets the times of the repetitions. *ends: the status is no matter of the sample:
 * this device can measure no more. */
kiln_status kiln__runner_take(kiln__runner *runner, kiln__recorder *recorder, kiln_result *result, bool *ends,
                              kiln_error **error);
/* All of that for one sample of an idle runner. `tick` is asked about ten times a second; false stops the sample. */
kiln_status kiln__runner_run(kiln__runner *runner, const kiln_sample *sample, const kiln__trial *trial,
                             const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                             kiln_result *result, bool *ends, kiln_error **error);

/* ---- the devices of a sweep (crew.c) ---- */

typedef struct kiln__crew kiln__crew;
/* A runner for each device of the options, or one for the engine's; waits until all are ready. The devices must be of
 * one model: times of others would not compare. */
kiln_status kiln__crew_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                            kiln__crew **crew, kiln_error **error);
void kiln__crew_close(kiln__crew *crew); /* NULL is fine */
size_t kiln__crew_count(const kiln__crew *crew);
const char *kiln__crew_device(const kiln__crew *crew, size_t index);   /* its id */
kiln__runner *kiln__crew_runner(const kiln__crew *crew, size_t index); /* NULL: it was let go */
void kiln__crew_let_go(kiln__crew *crew, size_t index);                /* a device that can measure no more */
/* Waits until a runner's socket or `fd` (-1: none) is ready, a deadline has come, or `seconds` are over. All of them
 * are to be stepped then. */
void kiln__crew_wait(const kiln__crew *crew, int fd, double seconds);

#endif
