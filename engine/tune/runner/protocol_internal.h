/* protocol_internal.h - writes and reads the messages between a sweep and a process that measures (protocol.c).
 *
 * The library sends KILN__RUNNER_OPEN once and receives KILN__RUNNER_READY. For each sample it sends KILN__RUNNER_RUN,
 * and receives these messages:
 *   KILN__RUNNER_WAITING    the runner waits for another process that measures; sent again when it no longer waits
 *   KILN__RUNNER_KEEP       a reference that the sweep shall write to disk, because the runner cannot write; never
 *                           after a launch
 *   KILN__RUNNER_LAUNCHING  inputs and expected answers are ready, and the first launch follows; sent twice for a
 *                           sample of two sizes, and never for a sample without a launch
 *   KILN__RUNNER_FINDING    one finding of the checks
 *   KILN__RUNNER_RESULT     the sample has ended
 *
 * The file base/wire.h defines the encoding of messages and fields. */
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

/* Pointers that a function reads from a message point into the body of the message or into the arena. A reading
 * function returns false if the message is malformed or if memory is exhausted. */

/* The data that is the same for all samples of a sweep. The runner reads the files of inputs. A sweep writes no output
 * files. */
typedef struct kiln__runner_setup {
    const char *version; /* the KILN_VERSION of the sender, which must equal the version of the receiver */
    const char *device;
    unsigned flags; /* flags of kiln_options */
    uint64_t memory_limit;
    bool near; /* other runners measure on the same machine, so this runner binds itself to cores near its device */
    const char *search_path; /* folders, ':' between */
    const char *references;  /* the folder in which references are kept; "" means that references are not kept */
    const char *name, *text; /* the name and the text of the spec; the text does not end with a NUL byte */
    size_t text_length;
    kiln_choice choice;  /* only the sizes of the choice are used */
    const char *smaller; /* the name in verify_size_set; "" means that there are no smaller sizes */
    kiln_run_options run;
} kiln__runner_setup;
void kiln__runner_write_open(kiln__text *message, const kiln__runner_setup *setup);
bool kiln__runner_read_open(const char *body, size_t length, kiln__arena *arena, kiln__runner_setup *setup);

typedef struct kiln__runner_greeting {
    kiln_status status;
    const char *why;   /* the error message; if the runner is ready, the cores to which it is bound, or "" */
    bool sandbox;      /* the sweep asked the runner to run kernels in a sandbox */
    unsigned confined; /* KILN__CONFINED_..., if `sandbox` */
    const char *how;   /* the mechanisms of the sandbox, or the reason why there is no sandbox */
} kiln__runner_greeting;
void kiln__runner_write_ready(kiln__text *message, const kiln__runner_greeting *greeting);
bool kiln__runner_read_ready(const char *body, size_t length, kiln__runner_greeting *greeting);

typedef struct kiln__runner_request {
    const char *variant;
    kiln__settings params;
    kiln__trial trial;
    bool whole; /* true if all blocks must run, even if an estimate needs only a few blocks */
    kiln__unit unit;
    kiln__unit small; /* the code at the smaller sizes; if it is empty, the answer is not verified there */
} kiln__runner_request;
void kiln__runner_write_run(kiln__text *message, const kiln__runner_request *request);
bool kiln__runner_read_run(const char *body, size_t length, kiln__arena *arena, kiln__runner_request *request);

void kiln__runner_mark_whole(kiln__text *message); /* sets `whole` in a message that has already been written */

/* The texts of the finding that is read point into the body of the message. */
void kiln__runner_write_finding(kiln__text *message, const kiln_check_finding *finding);
bool kiln__runner_read_finding(const char *body, size_t length, kiln_check_finding *finding);

/* All texts and data that are read point into the body of the message. */
void kiln__runner_write_keep(kiln__text *message, const kiln__kept_reference *kept);
bool kiln__runner_read_keep(const char *body, size_t length, kiln__kept_reference *kept);

void kiln__runner_write_launching(kiln__text *message);
/* sends the reason for a wait; "" means that the process no longer waits */
void kiln__runner_write_waiting(kiln__text *message, const char *why);
bool kiln__runner_read_waiting(const char *body, size_t length, const char **why);

typedef struct kiln__runner_answer {
    kiln_status status;
    int cuda;     /* the CUresult that caused the error; 0 means that no driver call failed */
    bool passing; /* kiln__error_is_passing() */
    bool lost;    /* the runner has lost its context, so the process must be replaced */
    const char *why;
    kiln_result result; /* valid if the status is KILN_OK; the sweep sets the members about compiling and the cache */
    const void *times;  /* the time of each repetition in order; doubles that may be unaligned */
    size_t time_count;
    const char *features; /* the features of the input as a text, or "" */
} kiln__runner_answer;
void kiln__runner_write_result(kiln__text *message, const kiln__runner_answer *answer);
bool kiln__runner_read_result(const char *body, size_t length, kiln__runner_answer *answer);

#endif
