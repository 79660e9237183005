/* judge_internal.h - declarations that the files of judge/ share. */
#ifndef KILN_JUDGE_INTERNAL_H
#define KILN_JUDGE_INTERNAL_H

#include <stdatomic.h>

#include "kiln_judge.h"
#include "kiln_sim.h"
#include "plan.h"
#include "random.h"

/* ---- facts from the candidate's code (code.c) ---- */

/* A variable of the candidate's module in global memory. */
typedef struct kiln__judge_global {
    const char *name;
    CUdeviceptr address; /* 0 means that the driver does not find the variable */
    size_t bytes;
    unsigned char *initial; /* the content after loading; NULL if it could not be read */
    unsigned char *before;  /* the content before a call */
    size_t unit;            /* bytes of an element, at most 4 */
    unsigned char *changed; /* bits of each byte (state.c): whether a call changed its element; NULL means not compared
                             * yet */
    unsigned char *spoilt;  /* the content, with random bytes in some elements, before a spoilt call */
    bool any;               /* a call changed an element */
} kiln__judge_global;
typedef struct kiln__judge_code {
    int64_t *constants; /* integers that instructions of the kernel name, each once, ascending */
    size_t constant_count, constant_capacity;
    kiln__judge_global *globals;
    size_t global_count, global_capacity;
    CUmodule module;       /* the module whose PTX was read; another size may be compiled to another module */
    const char *forbidden; /* the reason why no trial may run; NULL means that trials may run */
    char digest[33];       /* the digest of the PTX */
} kiln__judge_code;

/* ---- contents (contents.c) ---- */

/* How the elements of inputs are drawn. X(name, word, description) */
#define KILN__JUDGE_CLASSES(X)                                                                                         \
    X(FILL, "fill", "the distribution of the spec")                                                                    \
    X(RANGE, "range", "uniform in the range of the contract")                                                          \
    X(TIES, "ties", "few different values")                                                                            \
    X(EDGES, "edges", "the two ends of the range")                                                                     \
    X(SPREAD, "spread", "magnitudes of all sizes")                                                                     \
    X(CANCEL, "cancel", "pairs that nearly cancel each other")                                                         \
    X(ONE_HOT, "one-hot", "one value everywhere except at a few elements")                                             \
    X(SMALL, "small", "whole numbers from -8 to 8")                                                                    \
    X(STEPS, "steps", "steps of 1, up or down, from the low end, 0 or 2^24")                                           \
    X(LOW, "low", "near the low end of the range only")                                                                \
    X(HIGH, "high", "near the high end of the range only")                                                             \
    X(SIZES, "sizes", "integers around the sizes of the trial, as indices are")                                        \
    X(MIXED, "mixed", "a class of its own for each input")                                                             \
    X(SPECIAL, "special", "NaN, infinities, -0 and denormals among others")
typedef enum kiln__judge_class {
#define KILN_X(name, word, about) KILN__JUDGE_##name,
    KILN__JUDGE_CLASSES(KILN_X)
#undef KILN_X
        KILN__JUDGE_CLASS_COUNT
} kiln__judge_class;
const char *kiln__judge_class_word(kiln__judge_class of);

/* ---- trials ---- */

/* The parts of a judgement, in the order in which they run. X(name, word, description) */
#define KILN__JUDGE_PHASES(X)                                                                                          \
    X(CHECKS, "checks", "small sizes under all checks of the simulated device")                                        \
    X(ANSWERS, "answers", "many sizes and contents, each with two poisons")                                            \
    X(ORDERS, "orders", "blocks in other orders")                                                                      \
    X(ALIGNMENTS, "alignments", "buffers at every alignment that the contract allows")                                 \
    X(CALLS, "calls", "several calls in the same memory")                                                              \
    X(STREAMS, "streams", "two calls at the same time in two streams")                                                 \
    X(LARGE, "large", "the largest arrays that fit")                                                                   \
    X(TIMES, "times", "the time, or an estimate of it")
typedef enum kiln__judge_phase {
#define KILN_X(name, word, about) KILN__JUDGE_PHASE_##name,
    KILN__JUDGE_PHASES(KILN_X)
#undef KILN_X
        KILN__JUDGE_PHASE_COUNT
} kiln__judge_phase;
const char *kiln__judge_phase_word(kiln__judge_phase phase);

typedef struct kiln__judge_trial {
    kiln__judge_phase phase;
    int64_t *ranged;         /* the values of the sizes that have a range, in the order of judge->ranges */
    size_t set;              /* the size set that has the values of all other sizes */
    kiln__judge_class class; /* the class of contents of all inputs */
    uint64_t seed;           /* the seed of contents, guards and poison */
    uint64_t order;          /* the order of blocks, as in kiln__sim_order() */
    uint64_t shift;          /* decides how far each buffer is moved; 0 means that no buffer is moved */
    bool few;                /* expressions of the spec see a device with few multiprocessors */
    bool far;                /* buffers begin at multiples of 2 MiB, as the large arrays of programs do */
    bool checked;
} kiln__judge_trial;

/* The fault that a trial found. */
typedef struct kiln__judge_fault {
    kiln_judged kind;   /* KILN_JUDGED_PASS: there is no fault */
    const char *buffer; /* NULL if it is not known */
    uint64_t element, wrong, of;
    char index[96], expected[40], got[40];
    const char *message; /* one sentence or more, in the judge's arena */
    bool of_code;        /* the fault shows before a kernel runs */
} kiln__judge_fault;

/* A finding of the checks. All texts are in the judge's arena. */
typedef struct kiln__judge_finding {
    const char *kind, *message, *file, *text, *kernel, *buffer;
    unsigned line;
    uint64_t count;
    bool note;
} kiln__judge_finding;

typedef struct kiln__judge_range {
    const char *name;
    int64_t from, to, multiple;
    int64_t tried; /* the largest value of all trials that ran; below `from` if no trial ran */
} kiln__judge_range;

/* The memory of one buffer during a trial. */
typedef struct kiln__judge_place {
    CUdeviceptr base, at; /* base: the start of the allocation, which has guard zones around the buffer; at: the start
                           * of the buffer */
    size_t total, lead;   /* lead: bytes before the buffer */
    size_t holder;        /* after a run: the number of the buffer whose memory has this buffer's content */
    kiln_array content;   /* data NULL: the buffer has no content, and gets poison */
    unsigned char *image; /* the bytes before a call: a guard zone, then the content or poison, then a guard zone */
    unsigned char *got;   /* the bytes after the call */
    unsigned char *first; /* `got` of the first of two runs */
} kiln__judge_place;

typedef struct kiln__judge_plan { /* the plan of a variant that is the reference of some output */
    const kiln__variant *variant;
    kiln_plan *plan;
} kiln__judge_plan;

/* One side of a comparison. A figure is 0 if it is not known. */
typedef struct kiln__judge_side {
    double seconds, low, high; /* the time, and its interval if it is measured */
    enum { KILN__JUDGE_UNKNOWN, KILN__JUDGE_RIGHT, KILN__JUDGE_WRONG } answer;
    double worst_error; /* in units of the tolerance */
    bool counted;
    uint64_t launches, executed, sectors, wavefronts;
} kiln__judge_side;

struct kiln__judge_comparison {
    bool known;
    enum { KILN__JUDGE_MEASURED, KILN__JUDGE_ESTIMATED, KILN__JUDGE_COUNTED } kind;
    const char *spec, *variant;
    const char *sizes, *timed_sizes; /* size sets: of counters and answers, and of times (NULL: no times) */
    kiln__judge_side candidate, against;
    double ratio, low, high; /* the other time divided by the candidate's, with its interval; 0 means no times */
    const char *faster;      /* "candidate", "against", "neither"; NULL means no times */
};

typedef struct kiln__judge {
    kiln_engine *engine;
    const kiln_allocator *mem;
    kiln__arena arena;
    const kiln_spec *spec; /* belongs to the caller */
    kiln_spec *own;        /* a copy whose variant has the candidate's text */
    const kiln__variant *variant;
    kiln_judge_options options;
    const char *name;
    uint64_t begun;
    bool simulated;
    kiln_plan *candidate, *original; /* original: the same variant with its own source */
    kiln_plan *against;              /* the variant of the comparison; NULL means that no comparison is wanted */
    kiln__judge_plan *references;    /* for each verify entry; plan NULL: a host function or a file is the reference */
    kiln__judge_code code;
    kiln__judge_range *ranges;
    size_t range_count;
    size_t *sets; /* the numbers of the size sets that the constraints of the variant allow */
    size_t set_count;
    /* True if the spec's launches depend on the number of multiprocessors, and the variant's own source runs with few
     * multiprocessors. */
    bool few;
    kiln__settings few_device; /* the names device.*, with few multiprocessors */
    /* The following members belong to the trial that is being run. */
    kiln__once_buffer *buffers;
    kiln__judge_place *places;
    kiln__judge_place *second_places; /* the memory of a second call at the same time */
    size_t buffer_count;
    kiln__once_expected *expected; /* one entry for each verify entry */
    double **allowed; /* for each verify entry the allowed error of each element; NULL means that the comparison is
                       * exact */
    int64_t *sized;   /* the ranged sizes that the plans have now, unless sized_set is SIZE_MAX */
    size_t sized_set;
    bool sized_few;
    uint64_t elements; /* number of elements of all buffers */
    double flops;
    uint64_t steps;                  /* the most steps of a run of the trial (patience.c) */
    uint64_t trusted_steps;          /* the most steps of a run of a reference */
    uint64_t steps_given;            /* the limit of steps of a run; 0 means that the limit follows from the sizes */
    uint64_t steps_most, steps_left; /* the limit of the present run, and the steps that are left */
    /* The most steps for an element, in all trials with many elements, of the candidate or of a reference. */
    double steps_each;
    atomic_bool gate_open; /* the streams of kiln__judge_streams() may go on */
    bool lacks_memory;     /* a large trial did not fit into the memory of the device */
    bool broken;           /* the context is lost: nothing can run any more */
    /* results */
    kiln__judge_fault fault;
    kiln__judge_trial failed;
    kiln__judge_finding *findings;
    size_t finding_count, finding_capacity;
    const char **notes;
    size_t note_count, note_capacity;
    bool timed;           /* the trials found no fault, and the time was taken */
    size_t untimed_notes; /* the number of notes before the time was taken */
    unsigned ran[KILN__JUDGE_PHASE_COUNT], skipped, unsettled;
    double
        *density; /* elements of all buffers divided by the product of the ranged sizes, in the trials of each size set;
                      * 0: not known */
    bool excluded;         /* a constraint excluded the sizes of the last trial */
    bool left_out;         /* a note has the first error of a trial that was left out, other than a constraint */
    uint64_t largest;      /* elements of all buffers */
    uint64_t reference_ns; /* time of the references of all trials */
    bool late;             /* trials were left out because the budget ended */
    struct kiln__judge_times {
        bool known, measured, against_known;
        double seconds, low, high, against, roofline;
        const char *device, *sizes;
    } times;
    struct kiln__judge_comparison comparison;
} kiln__judge;

/* words.c. kiln__judge_print() returns the text of `format`, in the judge's arena. */
const char *kiln__judge_print(kiln__judge *judge, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__judge_note(kiln__judge *judge, const char *text);

/* code.c: reads the PTX of the candidate, if it was not read yet. Returns false if memory runs out. */
bool kiln__judge_read_code(kiln__judge *judge);
/* Returns the reason why the text of the source forbids a judgement, or NULL. The function compiles nothing. */
const char *kiln__judge_find_macro(const char *text, size_t length);
void kiln__judge_drop_globals(kiln__judge *judge);
/* Gives the variables of the module the contents that they had after loading. */
void kiln__judge_reset_globals(const kiln__judge *judge);

/* state.c: variables of the module between calls. */
/* Keeps the contents of all variables before a call. */
kiln_status kiln__judge_keep_globals(kiln__judge *judge, kiln_error **error);
/* Finds the elements that the last call has changed. Under checks they count as never written from now on. A note names
 * each variable. */
kiln_status kiln__judge_forget_globals(kiln__judge *judge, bool checked, kiln_error **error);
/* Returns the number of calls before which the judge spoils variables: 0 if no call has changed a variable. */
unsigned kiln__judge_count_spoilt(const kiln__judge *judge);
/* Writes random bytes to changed elements before spoilt call `number`. */
kiln_status kiln__judge_spoil_globals(kiln__judge *judge, uint64_t seed, unsigned number, kiln_error **error);
/* Takes a fault of spoilt call `number`, or elements that still have the random bytes, as a fault of state. */
kiln_status kiln__judge_look_at_spoilt(kiln__judge *judge, unsigned number, kiln__judge_fault *fault,
                                       kiln_error **error);

/* sizes.c */
/* Reads the ranges of the spec. Returns false if memory runs out. */
bool kiln__judge_read_ranges(kiln__judge *judge);
/* Tells whether the constraints of the spec allow a choice. The function compiles nothing. If memory runs out, it
 * replaces *error. */
kiln_status kiln__judge_allows(kiln__judge *judge, const kiln_spec *spec, const kiln_choice *choice, bool *allowed,
                               kiln_error **error);
/* Makes the names of a device with few multiprocessors, if the spec uses their number. Returns false if memory runs
 * out. */
bool kiln__judge_make_few(kiln__judge *judge);
/* Sets the number of multiprocessors that the expressions of all plans read: few if `few` is true, otherwise the
 * device's number. The number counts from the plans' next sizes on. */
void kiln__judge_choose_device(kiln__judge *judge, bool few);
/* Finds the size sets that the constraints of the variant allow. */
kiln_status kiln__judge_find_sets(kiln__judge *judge, kiln_error **error);
/* Draws the sizes of trial `number` of a phase. The product of the ranged sizes is at most `most`. */
void kiln__judge_draw_sizes(const kiln__judge *judge, kiln__random *random, unsigned number, uint64_t most,
                            kiln__judge_trial *trial);
/* Returns the number of checks with a size above an integer of the PTX; at most 4. A kernel may take another path for
 * sizes above such an integer. So up to two integers get two checks each. These integers are possible sizes, and larger
 * than the sizes of small trials. */
unsigned kiln__judge_thresholds(const kiln__judge *judge);
/* Sets one size above a threshold, and all other sizes to small values. In checks 0 and 2 the size is just above the
 * threshold. In checks 1 and 3 the size is about TILE_END above the threshold: it is a multiple of 4, but not a
 * multiple of a larger tile. */
void kiln__judge_pass_threshold(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Rounds all sizes up to multiples of `step`, and at least to one step, as far as the contract allows it. */
void kiln__judge_round_sizes(const kiln__judge *judge, int64_t step, kiln__judge_trial *trial);
/* Gives size `number` a value above a thousand, so that there are several tiles along this size. All other sizes get
 * small values. All values are multiples of 8, because many kernels with large tiles need such sizes. */
void kiln__judge_take_tiles(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Takes all sizes from a size set. A size whose value is not in its range gets the nearest value of the range. */
void kiln__judge_take_set(const kiln__judge *judge, size_t set, kiln__judge_trial *trial);
/* Returns the largest multiple in the range. */
int64_t kiln__judge_last(const kiln__judge_range *range);
/* Writes the integer sizes that the plans have now, `most` at most. Returns their number. */
size_t kiln__judge_size_values(const kiln__judge *judge, int64_t *values, size_t most);
/* Writes "N=33 M=1". */
void kiln__judge_print_sizes(const kiln__judge *judge, const kiln__judge_trial *trial, kiln__text *out);
/* Returns all sizes of a trial, which the caller frees (kiln__free). *count gets their number. Returns NULL if memory
 * runs out. */
kiln_setting *kiln__judge_sizes(kiln__judge *judge, const kiln__judge_trial *trial, size_t *count);

/* contents.c: makes the content of a buffer for the sizes that the plans have. content->data is NULL for a buffer
 * without content. The caller frees it. */
kiln_status kiln__judge_content(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                                kiln_array *content, kiln_error **error);
/* Returns the class of trial `number`. The classes that the contract allows take turns, and the seed decides which
 * class begins. */
kiln__judge_class kiln__judge_choose_class(const kiln__judge *judge, unsigned number);
const kiln__assumption *kiln__judge_assumption(const kiln__judge *judge, const char *name);

/* Returns true if the judge may choose the elements of the buffer, because its fill is random or the contract gives a
 * range. */
bool kiln__judge_is_drawn(const kiln__judge *judge, const kiln__once_buffer *b);

/* expect.c: computes the expected outputs for the contents of the trial, and how far each element may be off. */
kiln_status kiln__judge_expect(kiln__judge *judge, const kiln__judge_trial *trial, kiln_error **error);
void kiln__judge_drop_expected(kiln__judge *judge);
/* Compares what was read from the device. */
void kiln__judge_compare(kiln__judge *judge, kiln__judge_fault *fault);

/* Compares a part of an output. `factor` widens the tolerance. */
typedef struct kiln__judge_window {
    const void *got, *want;
    uint64_t first, count; /* elements */
} kiln__judge_window;
void kiln__judge_compare_window(kiln__judge *judge, const kiln__once_buffer *b, const kiln__judge_window *window,
                                const kiln__once_expected *tolerance, double factor, kiln__judge_fault *fault);

/* code.c: handles a failed compile of the candidate, and takes over its error `why`. If the candidate is at fault, sets
 * *fault and returns KILN_OK. Without memory or a compiler, or after an interruption, returns the status and the error.
 */
kiln_status kiln__judge_refuse(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                               kiln_error **error);

/* trial.c. A status other than KILN_OK means that the judge itself failed. */
/* Returns the number of the buffer that the spec's verification `v` names. */
size_t kiln__judge_find_output(const kiln__judge *judge, size_t v);
/* Runs one trial of the candidate, or of the original. Sets *fault to the fault that it found. The trial does not run
 * if the spec's constraints exclude these sizes, if they would take too long, or if a host function refuses them. In
 * these cases *fits is false. */
kiln_status kiln__judge_try(kiln__judge *judge, const kiln__judge_trial *trial, bool original, kiln__judge_fault *fault,
                            bool *fits, kiln_error **error);
/* Gives all plans the sizes of the trial. *fits is false if a constraint of the spec excludes them. New sizes may need
 * a new compile of the candidate. If it then does not compile, or becomes forbidden, *fault tells it. */
kiln_status kiln__judge_resize(kiln__judge *judge, const kiln__judge_trial *trial, bool *fits, kiln__judge_fault *fault,
                               kiln_error **error);
/* Returns true if the trial is certainly too large to be small in the sense of the next function. It does not need the plans'
 * sizes. */
bool kiln__judge_is_huge(const kiln__judge *judge, const kiln__judge_trial *trial);
/* Returns false if a trial with the plans' sizes would take too long here. Otherwise notes the number of elements, if
 * it is the largest so far. on_host: the host holds all arrays of the trial. Otherwise the arrays may be as large as
 * the memory of a GPU. */
bool kiln__judge_is_small(kiln__judge *judge, const kiln__judge_trial *trial, bool on_host);
/* Notes a write `offset` bytes after the end of a buffer; if it is negative, before the beginning. */
void kiln__judge_note_outside(kiln__judge *judge, const kiln__once_buffer *b, int64_t offset, kiln__judge_fault *fault);
/* Turns a failed run into a fault of the kernel, and takes over `why`. Returns the status of a failure that the kernel
 * has not caused. */
kiln_status kiln__judge_take_failure(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                                     kiln_error **error);

/* large.c */
/* Sets the sizes of large trial `number`. Returns false after the last trial. *larger tells whether these sizes are
 * larger than the sizes of other trials. */
bool kiln__judge_large_sizes(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial, bool *larger);
/* Runs a large trial. *fault and *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_large(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                              kiln__judge_fault *fault, bool *fits, kiln_error **error);

/* patience.c */
/* Returns the time limit of a run in seconds. */
double kiln__judge_get_time_limit(const kiln__judge *judge);
/* Call these two functions before and after a run of the candidate or of the original. On a simulated device they limit
 * and count the steps of the run, and the context stays usable after a limit. kiln__judge_end_steps() returns the
 * status of the run, whose error is *why. */
void kiln__judge_begin_steps(kiln__judge *judge);
kiln_status kiln__judge_end_steps(kiln__judge *judge, kiln_status status, kiln_error **why);
/* Runs a reference once. On a simulated device the reference may take longer than a candidate, and the context stays
 * usable after a limit. */
kiln_status kiln__judge_run_trusted(kiln__judge *judge, kiln_plan *plan, kiln_error **error);

/* endless.c */
/* Runs a trial of any phase, of the candidate or of the original. *fault and *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_run_trial(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                                  kiln__judge_fault *fault, bool *fits, kiln_error **error);
/* Does nothing if `fault` is not a limit on a simulated device. Otherwise counts the steps of the variant's own source
 * in this trial. If the candidate had few steps in comparison, the candidate runs again with more steps, and *fault is
 * the fault of the second run. If the variant's own source fails too, sets *fails. The number of steps after which the
 * candidate had not ended goes to *most, or 0. `findings` is the number of findings before the trial: a second run
 * replaces the findings of the first run. */
kiln_status kiln__judge_give_more_steps(kiln__judge *judge, const kiln__judge_trial *trial, size_t findings,
                                        kiln__judge_fault *fault, bool *fits, bool *fails, uint64_t *most,
                                        kiln_error **error);
/* Adds to the message how many steps the candidate ran, and how many the variant's own source needs. */
void kiln__judge_tell_steps(kiln__judge *judge, uint64_t taken, uint64_t needs, kiln__judge_fault *fault);

/* trial.c */
/* Runs the trial of several calls in one memory. *fault and *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_calls(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault, bool *fits,
                              kiln_error **error);

/* Runs the trial of two calls at the same time, in two streams and in two memories. The fault is a variable of the
 * module that both calls use, or a wrong answer. *fault and *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_streams(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault,
                                bool *fits, kiln_error **error);

/* repeat.c: new inputs for the timed repetitions of a plan of the judged variant, on a GPU */
typedef struct kiln__judge_repeats kiln__judge_repeats;
/* Makes the contents at the sizes of a set. If that is not possible, *repeats is NULL, and a note says why. */
kiln_status kiln__judge_open_repeats(kiln__judge *judge, size_t set, kiln__judge_repeats **repeats, kiln_error **error);
/* Call these two functions before and after the plan is measured. If `measured` is true, kiln__judge_end_repeats()
 * compares answers, and sets *fault if an answer is wrong. */
void kiln__judge_begin_repeats(kiln__judge_repeats *repeats, kiln_plan *plan);
kiln_status kiln__judge_end_repeats(kiln__judge_repeats *repeats, bool measured, kiln__judge_fault *fault,
                                    kiln_error **error);
void kiln__judge_close_repeats(kiln__judge_repeats *repeats); /* NULL is allowed */

/* times.c */
kiln_status kiln__judge_time(kiln__judge *judge, kiln__judge_fault *fault, kiln_error **error);
/* Chooses the size set with the most elements among those with at most `most` elements; 0 means the limit of times on
 * this device. The number of the set goes to *set. If all sets are too large, *found is false. */
kiln_status kiln__judge_choose_set(kiln__judge *judge, uint64_t most, size_t *set, bool *found, kiln_error **error);
/* Runs one plan at the sizes of a set. If the plan cannot be timed, *result is NULL. If the answer is wrong or the
 * device faults, *fault is set. If `fault` is NULL, these cases become notes. */
kiln_status kiln__judge_time_plan(kiln__judge *judge, kiln_plan *plan, size_t set, const kiln_result **result,
                                  kiln__judge_fault *fault, kiln_error **error);

/* against.c */
kiln_status kiln__judge_open_against(kiln__judge *judge, kiln_error **error);
/* Computes `ratio`, its interval and `faster` from the times of both sides. */
void kiln__judge_compare_times(struct kiln__judge_comparison *comparison);
kiln_status kiln__judge_compare_with(kiln__judge *judge, kiln_error **error);

/* verdict.c: makes the texts of the verdict. Returns NULL if memory runs out. */
kiln_judgement *kiln__judge_conclude(kiln__judge *judge);

#endif
