/* runner.h - measuring in a separate process: the messages, the process, and the sweep's side, which may have several
 * processes, one per device.
 *
 * The library sends KILN__RUNNER_OPEN once and receives KILN__RUNNER_READY. For each sample it sends KILN__RUNNER_RUN,
 * and receives these messages:
 *   KILN__RUNNER_WAITING    another process measures on the device; sent again when that is over
 *   KILN__RUNNER_KEEP       a reference to be written to disk, from a runner that cannot write; never after a launch
 *   KILN__RUNNER_LAUNCHING  inputs and expected answers are ready, and the first launch follows; sent twice for a sample of
 *                           two sizes, and never for a sample without a launch
 *   KILN__RUNNER_FINDING    one finding of the checks
 *   KILN__RUNNER_RESULT     the end of the sample
 * base/wire.h defines the encoding of messages and fields. */
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
    KILN__RUNNER_WAITING,
    KILN__RUNNER_FINDING,
    KILN__RUNNER_KEEP
};

/* ---- messages (protocol.c) ----
 * Pointers that a function reads from a message point into the body or the arena. A reading function returns false if the
 * message is malformed or memory is exhausted. */

/* Data that is the same for a whole sweep. The runner reads the files of inputs; a sweep writes no outputs. */
typedef struct kiln__runner_setup {
    const char *version; /* KILN_VERSION of the sender, which must be the receiver's too */
    const char *device;
    unsigned flags; /* of kiln_options */
    uint64_t memory_limit;
    bool near; /* other runners measure on this machine too, so the runner binds itself to cores near the device */
    const char *search_path; /* folders, ':' between */
    const char *references;  /* the folder in which references are kept; "": none */
    const char *name, *text; /* of the spec; text is not NUL-terminated */
    size_t text_length;
    kiln_choice choice;  /* only its sizes */
    const char *smaller; /* verify_size_set; "": none */
    kiln_run_options run;
} kiln__runner_setup;
void kiln__runner_write_open(kiln__text *message, const kiln__runner_setup *setup);
bool kiln__runner_read_open(const char *body, size_t length, kiln__arena *arena, kiln__runner_setup *setup);

typedef struct kiln__runner_greeting {
    kiln_status status;
    const char *why;   /* the error; if the runner is ready, the cores to which it is bound, or "" */
    bool sandbox;      /* it was asked to run kernels in a sandbox */
    unsigned confined; /* if `sandbox`: KILN__CONFINED_... */
    const char *how;   /* the means of the sandbox, or why there is none */
} kiln__runner_greeting;
void kiln__runner_write_ready(kiln__text *message, const kiln__runner_greeting *greeting);
bool kiln__runner_read_ready(const char *body, size_t length, kiln__runner_greeting *greeting);

typedef struct kiln__runner_request {
    const char *variant;
    kiln__settings params;
    kiln__trial trial;
    bool whole; /* all blocks run, even if an estimate needs only a few */
    kiln__unit unit;
    kiln__unit small; /* the code at the smaller sizes; without text, the answer is not verified there */
} kiln__runner_request;
void kiln__runner_write_run(kiln__text *message, const kiln__runner_request *request);
bool kiln__runner_read_run(const char *body, size_t length, kiln__arena *arena, kiln__runner_request *request);

void kiln__runner_mark_whole(kiln__text *message); /* sets `whole` in a message that was written */

/* Texts point into the body. */
void kiln__runner_write_finding(kiln__text *message, const kiln_check_finding *finding);
bool kiln__runner_read_finding(const char *body, size_t length, kiln_check_finding *finding);

/* Everything points into the body. */
void kiln__runner_write_keep(kiln__text *message, const kiln__kept_reference *kept);
bool kiln__runner_read_keep(const char *body, size_t length, kiln__kept_reference *kept);

void kiln__runner_write_launching(kiln__text *message);
void kiln__runner_write_waiting(kiln__text *message, const char *why); /* "": no longer */
bool kiln__runner_read_waiting(const char *body, size_t length, const char **why);

typedef struct kiln__runner_answer {
    kiln_status status;
    int cuda;     /* the CUresult that caused the error; 0: the driver reported no error */
    bool passing; /* kiln__error_is_passing() */
    bool lost;    /* the runner's context is lost: the process must be replaced */
    const char *why;
    kiln_result result; /* if status is KILN_OK; the sweep fills in compiling and cache */
    const void *times;  /* doubles, perhaps not aligned: the time of each repetition, in order */
    size_t time_count;
    const char *features; /* of the input: the text of settings, "" for none */
} kiln__runner_answer;
void kiln__runner_write_result(kiln__text *message, const kiln__runner_answer *answer);
bool kiln__runner_read_result(const char *body, size_t length, kiln__runner_answer *answer);

/* ---- the process (runner.c) ---- */

/* The work of `kiln-worker --run`: answers the requests that arrive on the socket `fd` until it closes, and returns the
 * exit status. `add_hosts` (may be NULL) registers the host functions of the program that the engine lacks
 * (KILN_HOST_SHIPPED). */
typedef kiln_status (*kiln__add_hosts)(kiln_engine *engine, kiln_error **error);
int kiln__runner_serve(int fd, kiln__add_hosts add_hosts);

/* ---- the side of the sweep: one device's process (isolate.c) ---- */

/* A process that measures on a device, and its replacements. Nothing waits: after a sample is started, the runner must be
 * stepped whenever its socket is ready or its deadline has passed, until the sample has ended. */
typedef struct kiln__runner kiln__runner;
/* Starts the process, so that errors are found before anything is compiled. Fails if another process cannot use the engine.
 * Engine, spec, options and site must outlive the runner. */
kiln_status kiln__runner_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                              const kiln__site *site, kiln__runner **runner, kiln_error **error);
void kiln__runner_close(kiln__runner *runner);         /* NULL is allowed; ends a running sample */
bool kiln__runner_is_idle(const kiln__runner *runner); /* a sample may be started */
/* Starts a sample; starts another process first if the last one was ended. The code is copied. `small` (may be NULL) is
 * the code at the smaller sizes, if the sweep has them. */
kiln_status kiln__runner_begin(kiln__runner *runner, const kiln_sample *sample, const kiln__trial *trial,
                               const kiln__code *code, const kiln__code *small, kiln_error **error);
void kiln__runner_stop(kiln__runner *runner); /* ends a running sample: KILN_ERROR_INTERRUPTED */
/* The process ended in the sample. kiln__runner_waits() is true until kiln__runner_retry() starts another process for the
 * sample; kiln__runner_retries() is true until the outcome of the sample is taken. */
bool kiln__runner_waits(const kiln__runner *runner);
bool kiln__runner_retries(const kiln__runner *runner);
void kiln__runner_retry(kiln__runner *runner);
bool kiln__runner_step(kiln__runner *runner); /* makes progress without waiting; true: the outcome can be taken */
/* Sets *fd for poll(); a descriptor of -1 means that there is nothing to poll. Returns the time of kiln__now_ns() at which
 * the runner must be stepped in any case, or 0 if there is no such time. */
uint64_t kiln__runner_watch(const kiln__runner *runner, struct pollfd *fd);
/* Returns the outcome, and makes the runner idle. `recorder` (may be NULL) gets the times of the repetitions and the
 * features. *ends: the sample did not cause the failure, and this device can no longer measure. */
kiln_status kiln__runner_take(kiln__runner *runner, kiln__recorder *recorder, kiln_result *result, bool *ends,
                              kiln_error **error);

/* ---- the devices of a sweep (crew.c) ---- */

typedef struct kiln__crew kiln__crew;
/* A runner for each site; waits until all are ready. */
kiln_status kiln__crew_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                            const kiln__sites *sites, kiln__crew **crew, kiln_error **error);
void kiln__crew_close(kiln__crew *crew); /* NULL is fine */
size_t kiln__crew_count(const kiln__crew *crew);
kiln__runner *kiln__crew_runner(const kiln__crew *crew, size_t index); /* NULL: it is no longer used */
void kiln__crew_let_go(kiln__crew *crew, size_t index);                /* a device that can measure no more */
/* Waits until a runner's socket is ready, a deadline has passed, a compile has ended (if `compiles`), or `seconds` are
 * over. Then all runners must be stepped. */
void kiln__crew_wait(const kiln__crew *crew, bool compiles, double seconds);
/* Retries a sample whose process ended, once, while nothing else is at work. Returns true if a sample is being retried, or
 * waits until running samples and compiles have ended. The caller then begins no other sample, and waiting compiles are
 * held. Call it whenever the runners were stepped. */
bool kiln__crew_alone(kiln__crew *crew);
/* Measures one sample and waits for it, while all runners are idle. `tick` is called about ten times a second; false stops
 * the sample. Returns the outcome as kiln__runner_take() does. */
kiln_status kiln__crew_run(kiln__crew *crew, size_t index, const kiln_sample *sample, const kiln__trial *trial,
                           const kiln__code *code, bool (*tick)(void *user), void *user, kiln__recorder *recorder,
                           kiln_result *result, bool *ends, kiln_error **error);

#endif
