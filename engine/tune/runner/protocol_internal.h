/* protocol_internal.h - the messages between a sweep and a process that measures (protocol.c).
 *
 * The library sends KILN__RUNNER_OPEN once and receives KILN__RUNNER_READY. For each sample it sends KILN__RUNNER_RUN,
 * and receives these messages:
 *   KILN__RUNNER_WAITING    another process measures on the device; sent again when that is over
 *   KILN__RUNNER_KEEP       a reference to be written to disk, from a runner that cannot write; never after a launch
 *   KILN__RUNNER_LAUNCHING inputs and expected answers are ready, and the first launch follows; sent twice for a sample
 *  of
 *                           two sizes, and never for a sample without a launch
 *   KILN__RUNNER_FINDING    one finding of the checks
 *   KILN__RUNNER_RESULT     the end of the sample
 * base/wire.h defines the encoding of messages and fields. */
#ifndef KILN_TUNE_PROTOCOL_INTERNAL_H
#define KILN_TUNE_PROTOCOL_INTERNAL_H

#include "trial_internal.h"
#include "wire.h"

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

/* Pointers that a function reads from a message point into the body or the arena. A reading function returns false if
 * the message is malformed or memory is exhausted. */

/* Data that is the same for a whole sweep. The runner reads the files of inputs; a sweep writes no outputs. */
typedef struct kiln__runner_setup {
    const char *version; /* KILN_VERSION of the sender, which must be the receiver's too */
    const char *device;
    unsigned flags; /* flags of kiln_options */
    uint64_t memory_limit;
    bool near; /* other runners measure on this machine too, so this runner binds itself to cores near the device */
    const char *search_path; /* folders, ':' between */
    const char *references;  /* the folder that keeps references; "" means that references are not kept */
    const char *name, *text; /* name and text of the spec; the text is not NUL-terminated */
    size_t text_length;
    kiln_choice choice;  /* only the sizes are used */
    const char *smaller; /* verify_size_set; "" means that there are no smaller sizes */
    kiln_run_options run;
} kiln__runner_setup;
void kiln__runner_write_open(kiln__text *message, const kiln__runner_setup *setup);
bool kiln__runner_read_open(const char *body, size_t length, kiln__arena *arena, kiln__runner_setup *setup);

typedef struct kiln__runner_greeting {
    kiln_status status;
    const char *why;   /* the error; if the runner is ready, the cores to which it is bound, or "" */
    bool sandbox;      /* the runner was asked to run kernels in a sandbox */
    unsigned confined; /* KILN__CONFINED_..., if `sandbox` */
    const char *how;   /* the mechanisms of the sandbox, or the reason why there are none */
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
void kiln__runner_write_waiting(kiln__text *message, const char *why); /* "" means that the process no longer waits */
bool kiln__runner_read_waiting(const char *body, size_t length, const char **why);

typedef struct kiln__runner_answer {
    kiln_status status;
    int cuda;     /* the CUresult that caused the error; 0 means that the driver reported no error */
    bool passing; /* kiln__error_is_passing() */
    bool lost;    /* the runner's context is lost: the process must be replaced */
    const char *why;
    kiln_result result; /* valid if status is KILN_OK; the sweep adds compiling and cache */
    const void *times;  /* doubles, perhaps not aligned: the time of each repetition, in order */
    size_t time_count;
    const char *features; /* text of the input's features, or "" */
} kiln__runner_answer;
void kiln__runner_write_result(kiln__text *message, const kiln__runner_answer *answer);
bool kiln__runner_read_result(const char *body, size_t length, kiln__runner_answer *answer);

#endif
