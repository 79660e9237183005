/* kiln_judge.h - a verdict on a kernel that somebody else, or a program, wrote.
 *
 * Experimental: everything in this header may change in any version, also after 1.0. All other rules are the same as
 * in kiln.h. engine/judge/README.md explains the trials, and engine/judge/THREATS.md the tricks that they find. */
#ifndef KILN_JUDGE_H
#define KILN_JUDGE_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kinds of verdicts. X(name, word in the JSON, exit code of the command, text). The value of a kind never
 * changes. */
#define KILN_JUDGED_MAP(X)                                                                                             \
    X(PASS, "pass", 0, "no trial found a fault")                                                                       \
    X(COMPILE, "compile", 9, "the candidate does not compile")                                                         \
    X(FORBIDDEN, "forbidden", 6, "the candidate uses something that a kernel must not use")                            \
    X(LAUNCH, "launch", 11, "the candidate cannot be launched as the spec launches it")                                \
    X(TIMEOUT, "timeout", 10, "the candidate does not end in time")                                                    \
    X(UNSAFE, "unsafe", 12, "the candidate does something undefined")                                                  \
    X(OUTSIDE, "outside", 12, "the candidate uses memory outside of its buffers")                                      \
    X(INPUT, "input", 14, "the candidate changes an input")                                                            \
    X(UNWRITTEN, "unwritten", 14, "the candidate leaves elements of an output unwritten")                              \
    X(WRONG, "wrong", 14, "the candidate gives a wrong answer")                                                        \
    X(STATE, "state", 14, "the answer or the work depends on earlier calls")                                           \
    X(TOO_FAST, "too-fast", 14, "the candidate takes less time than the device needs for the work")                    \
    X(UNDECIDED, "undecided", 18, "too few trials could run for a verdict")
typedef enum kiln_judged {
#define KILN_X(name, word, code, text) KILN_JUDGED_##name,
    KILN_JUDGED_MAP(KILN_X)
#undef KILN_X
        KILN_JUDGED_KINDS
} kiln_judged;
/* Return the word and the text of a kind. Both return "" for an unknown kind. */
KILN_API const char *kiln_judged_word(kiln_judged kind);
KILN_API const char *kiln_judged_text(kiln_judged kind);

typedef struct kiln_judge_options {
    size_t size;                /* sizeof(kiln_judge_options); every zero member means its default */
    const char *variant;        /* the variant whose launch the candidate uses; NULL means kiln_spec_variant_first() */
    const kiln_setting *params; /* any subset of the variant's params, by name */
    size_t param_count;
    /* The seed of the trials' random sizes, buffer contents and orders of blocks. The same seed gives the same verdict,
     * with one exception: on a GPU the clock decides which timed repetitions are compared. */
    uint64_t seed;
    double budget;       /* seconds after which no further trial begins; 0 means 60 seconds */
    double launch_limit; /* the time limit of one trial's kernels, in seconds; 0 means 20 */
    /* The variant with which the library compares a candidate that passes. On a GPU it compares times, on a simulated
     * device estimates and counters. If `against` and `against_spec` are NULL, there is no comparison. */
    const char *against; /* a variant of against_spec; NULL means its kiln_spec_variant_first() */
    /* the spec of `against`, which must have all sizes of the judged spec; NULL means the judged spec */
    const kiln_spec *against_spec;
    const kiln_setting *against_params; /* any subset of the variant's params, by name */
    size_t against_param_count;
    /* a text for the verdict that tells why `against_params` were chosen; NULL means no text */
    const char *against_origin;
} kiln_judge_options;

typedef struct kiln_judgement kiln_judgement;

/* Judges a kernel: compiles the `length` bytes of CUDA source `text` in place of the source of a variant of `spec`,
 * runs trials on the engine's device, and makes a verdict.
 *
 * `name` is the name of the source in messages. If the candidate does not compile, crashes the compiler or gives wrong
 * answers, kiln_judge() returns KILN_OK, and the verdict tells the fault. kiln_judge() fails only for a fault of the
 * spec, of the options or of the machine. Free *verdict with kiln_judgement_free(). With KILN_SANDBOX the calling
 * process gives up its rights before the first trial, as in kiln_plan_run(). Only one thread at a time may judge with
 * one engine, and no other plan of the engine may be in use. A kernel that faults on a simulated device ends the
 * device's context. The engine then makes a new context; plans that were open before can no longer be used. */
KILN_API kiln_status kiln_judge(kiln_engine *engine, const kiln_spec *spec, const char *text, size_t length,
                                const char *name, const kiln_judge_options *options, kiln_judgement **verdict,
                                kiln_error **error);
/* Writes a digest into the 33 bytes at `digest`: 32 hexadecimal digits and a zero byte. Two calls of kiln_judge() with
 * equal digests give the same verdict, unless the clock chooses other timed repetitions. The digest covers the compiled
 * code of the candidate and of the kernels beside it, the spec, and the options except `budget`. The digest also covers
 * the device, the sandbox and the version of Kiln. The digest covers neither `name` nor `against_origin`.
 * kiln_judge_digest() runs no kernel. In three cases the verdict depends on more than a digest can cover, and
 * kiln_judge_digest() writes "". In the first case the candidate does not compile. In the second case a spec reads
 * files or runs commands. In the third case a reference of `against_spec` is a variant. kiln_judge_digest() has the
 * same rules for threads and errors as kiln_judge(). */
KILN_API kiln_status kiln_judge_digest(kiln_engine *engine, const kiln_spec *spec, const char *text, size_t length,
                                       const char *name, const kiln_judge_options *options, char *digest,
                                       kiln_error **error);
KILN_API void kiln_judgement_free(kiln_judgement *verdict);
/* Returns the kind of the verdict, a kiln_judged; -1 if `verdict` is NULL. */
KILN_API int kiln_judgement_kind(const kiln_judgement *verdict);
/* Return the verdict as JSON (engine/judge/verdict.schema.json), and as a page for people. Both texts end with a
 * newline and belong to the verdict. They are "" if `verdict` is NULL. */
KILN_API const char *kiln_judgement_json(const kiln_judgement *verdict);
KILN_API const char *kiln_judgement_page(const kiln_judgement *verdict);

#ifdef __cplusplus
}
#endif
#endif
