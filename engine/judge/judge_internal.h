/* judge_internal.h - declarations that the files of the folder judge/ share. */
#ifndef KILN_JUDGE_INTERNAL_H
#define KILN_JUDGE_INTERNAL_H

#include <stdatomic.h>

#include "kiln_judge.h"
#include "kiln_sim.h"
#include "plan.h"
#include "random.h"

/* ---- facts in the candidate's code (code.c) ---- */

/* A variable of the candidate's module in global memory. */
typedef struct kiln__judge_global {
    const char *name;
    CUdeviceptr address; /* the address of the variable; 0 means that the driver does not find it */
    size_t bytes;
    unsigned char *initial; /* the bytes of the variable after loading; NULL if they could not be read */
    unsigned char *before;  /* the bytes of the variable before a call */
    size_t unit;            /* the bytes of an element of the variable, at most 4 */
    /* for each byte, bits that tell whether a call changed its element (state.c); NULL means not compared yet */
    unsigned char *changed;
    unsigned char *spoilt; /* the bytes of the variable before a spoilt call, with random bytes in some elements */
    bool any;              /* a call has changed an element of the variable */
    bool twice;            /* the PTX has two declarations of variables with this name */
} kiln__judge_global;
typedef struct kiln__judge_code {
    int64_t *constants; /* the integers in the instructions of the kernel, each once, in ascending order */
    size_t constant_count, constant_capacity;
    kiln__judge_global *globals;
    size_t global_count, global_capacity;
    CUmodule module;       /* the module whose PTX was read; another size may be compiled to another module */
    const char *forbidden; /* the reason why the candidate may not run; NULL means that it may run */
    char digest[33];       /* the digest of the candidate's PTX */
} kiln__judge_code;

/* ---- contents of inputs (contents.c) ---- */

/* The ways to draw the elements of inputs. X(name, word, description) */
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

/* The phases of a judgement, in the order in which they run. X(name, word, description) */
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
    int64_t *ranged;         /* the values of the sizes with a range, in the order of judge->ranges */
    size_t set;              /* the size set that gives the values of all other sizes */
    kiln__judge_class class; /* the class of contents of all inputs */
    uint64_t seed;           /* the seed for contents, guard zones and poison */
    uint64_t order;          /* the order of blocks, in the form of kiln__sim_order() */
    uint64_t shift;          /* a number that decides how far each buffer is moved; 0 means that no buffer is moved */
    bool few;                /* expressions of the spec see a device with only few multiprocessors */
    bool far;                /* the buffers begin at multiples of 2 MiB, like the large arrays of programs */
    bool checked;
} kiln__judge_trial;

/* The fault that a trial found in the candidate. */
typedef struct kiln__judge_fault {
    kiln_judged kind;   /* KILN_JUDGED_PASS means that there is no fault */
    const char *buffer; /* the buffer with the fault; NULL if it is not known */
    uint64_t element, wrong, of;
    char index[96], expected[40], got[40];
    const char *message; /* the message about the fault, one sentence or more, in the judge's arena */
    bool of_code;        /* the fault is in the code, and shows before a kernel runs */
} kiln__judge_fault;

/* A finding of the simulated device's checks. All its texts are in the judge's arena. */
typedef struct kiln__judge_finding {
    const char *kind, *message, *file, *text, *kernel, *buffer;
    unsigned line;
    uint64_t count;
    bool note;
} kiln__judge_finding;

typedef struct kiln__judge_range {
    const char *name;
    int64_t from, to, multiple;
    int64_t tried; /* the largest value that the size had in the trials that ran; below `from` if no trial ran */
} kiln__judge_range;

/* The memory of one buffer during a trial. */
typedef struct kiln__judge_place {
    CUdeviceptr base, at; /* base: the start of the allocation, which has guard zones around the buffer; at: the start
                           * of the buffer */
    size_t total, lead;   /* lead: the number of bytes in the allocation before the buffer */
    size_t holder;        /* after a run, the number of the buffer whose memory has this buffer's content */
    /* the content of the buffer; if its `data` is NULL, the buffer has no content, and gets poison */
    kiln_array content;
    unsigned char *image; /* the bytes before a call: a guard zone, then the content or poison, then a guard zone */
    unsigned char *got;   /* the bytes of the allocation after the call */
    unsigned char *first; /* the bytes after the first of two runs */
} kiln__judge_place;

typedef struct kiln__judge_plan { /* the plan of a variant that is the reference of an output */
    const kiln__variant *variant;
    kiln_plan *plan;
} kiln__judge_plan;

/* One of the two kernels of a comparison. If a figure is 0, it is not known. */
typedef struct kiln__judge_side {
    double seconds, low, high; /* the time of the kernel, and its interval if the time is measured */
    enum { KILN__JUDGE_UNKNOWN, KILN__JUDGE_RIGHT, KILN__JUDGE_WRONG } answer;
    double worst_error; /* the largest error in units of the tolerance */
    bool counted;
    uint64_t launches, executed, sectors, wavefronts;
} kiln__judge_side;

struct kiln__judge_comparison {
    bool known;
    enum { KILN__JUDGE_MEASURED, KILN__JUDGE_ESTIMATED, KILN__JUDGE_COUNTED } kind;
    const char *spec, *variant;
    /* the size sets for counters and answers, and for times; NULL means that there are no times */
    const char *sizes, *timed_sizes;
    kiln__judge_side candidate, against;
    /* the other kernel's time divided by the candidate's time, with its interval; 0 means that there are no times */
    double ratio, low, high;
    const char *faster; /* "candidate", "against" or "neither"; NULL means that there are no times */
};

typedef struct kiln__judge {
    kiln_engine *engine;
    const kiln_allocator *mem;
    kiln__arena arena;
    const kiln_spec *spec; /* the spec that the caller gave and owns */
    kiln_spec *own;        /* a copy of the spec, in which the variant has the candidate's text */
    const kiln__variant *variant;
    kiln_judge_options options;
    const char *name;
    uint64_t begun;
    bool simulated;
    kiln_plan *candidate, *original; /* original: the plan of the same variant with its own source */
    /* the plan of the variant for the comparison; NULL means that no comparison is wanted */
    kiln_plan *against;
    /* for each verify entry, the plan of its reference; the plan is NULL if a host function or a file is the
     * reference */
    kiln__judge_plan *references;
    kiln__judge_code code;
    kiln__judge_range *ranges;
    size_t range_count;
    size_t *sets; /* the numbers of the size sets that the constraints of the variant allow */
    size_t set_count;
    /* True if the launches of the spec depend on the number of multiprocessors, and the variant's own source can run
     * with few multiprocessors. */
    bool few;
    kiln__settings few_device; /* the names device.* for a device with few multiprocessors */
    /* The members below belong to the trial that runs now. */
    kiln__once_buffer *buffers;
    kiln__judge_place *places;
    kiln__judge_place *second_places; /* the memory of a second call that runs at the same time */
    size_t buffer_count;
    kiln__once_expected *expected; /* the expected output of each verify entry */
    /* for each verify entry the allowed error of each element; NULL means that the elements must be equal */
    double **allowed;
    int64_t *sized; /* the sizes with a range that the plans have now, unless sized_set is SIZE_MAX */
    size_t sized_set;
    bool sized_few;
    uint64_t elements; /* the number of elements of all buffers */
    double flops;
    uint64_t steps;         /* the most steps that a run of this trial took (patience.c) */
    uint64_t trusted_steps; /* the most steps that a run of a reference took */
    /* the limit of steps that a run gets; 0 means that the limit follows from the sizes */
    uint64_t steps_given;
    uint64_t steps_most, steps_left; /* the limit of steps of the present run, and the number of steps that are left */
    /* The most steps for one element that the candidate or a reference took, in all trials with many elements. */
    double steps_each;
    atomic_bool gate_open; /* the streams of kiln__judge_streams() may begin their calls */
    bool lacks_memory;     /* a large trial did not fit into the device's memory */
    bool broken;           /* the context is lost, so no kernel can run any more */
    /* results */
    kiln__judge_fault fault;
    kiln__judge_trial failed;
    kiln__judge_finding *findings;
    size_t finding_count, finding_capacity;
    const char **notes;
    size_t note_count, note_capacity;
    bool timed;           /* the trials found no fault, and the judge has taken the time */
    size_t untimed_notes; /* the number of notes before the judge took the time */
    unsigned ran[KILN__JUDGE_PHASE_COUNT], skipped, unsettled;
    /* for each size set, the elements of all buffers divided by the product of the sizes with a range, in the trials of
     * this set; 0 means not known */
    double *density;
    bool excluded; /* a constraint excluded the sizes of the last trial */
    /* a note has the first error of a trial that was left out for another reason than a constraint */
    bool left_out;
    uint64_t largest;      /* the most elements that all buffers had together in a trial */
    uint64_t reference_ns; /* the time of the references in all trials */
    bool late;             /* the judge left out trials because the budget of time ended */
    struct kiln__judge_times {
        bool known, measured, against_known;
        double seconds, low, high, against, roofline;
        const char *device, *sizes;
    } times;
    struct kiln__judge_comparison comparison;
} kiln__judge;

/* The function kiln__judge_print() of words.c returns the text of `format`, in the judge's arena. */
const char *kiln__judge_print(kiln__judge *judge, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__judge_note(kiln__judge *judge, const char *text);

/* code.c: reads the PTX of the candidate, unless it has been read already. Returns false if memory runs out. */
bool kiln__judge_read_code(kiln__judge *judge);
/* Returns true if a line of PTX is `.file 1 "path"` without any code. */
bool kiln__judge_names_file(const char *line, size_t length);
/* Returns the reason why the text of the source forbids a judgement. Returns NULL if there is no such reason. The
 * function compiles nothing. */
const char *kiln__judge_find_macro(const char *text, size_t length);
void kiln__judge_drop_globals(kiln__judge *judge);
/* Gives the variables of the module the contents that they had after loading. */
void kiln__judge_reset_globals(const kiln__judge *judge);

/* The functions of state.c handle variables of the module between calls. */
/* Keeps the contents of all variables of the module before a call. */
kiln_status kiln__judge_keep_globals(kiln__judge *judge, kiln_error **error);
/* Finds the elements of variables that the last call has changed. If `checked`, these elements count as never written
 * from now on. Adds a note that names each changed variable. */
kiln_status kiln__judge_forget_globals(kiln__judge *judge, bool checked, kiln_error **error);
/* Returns the number of calls before which the judge writes random bytes to variables. The number is 0 if no call has
 * changed a variable. */
unsigned kiln__judge_count_spoilt(const kiln__judge *judge);
/* Writes random bytes to changed elements of variables, before the spoilt call `number`. */
kiln_status kiln__judge_spoil_globals(kiln__judge *judge, uint64_t seed, unsigned number, kiln_error **error);
/* If spoilt call `number` had a fault, or if elements still have the random bytes, sets *fault to a fault of state. */
kiln_status kiln__judge_look_at_spoilt(kiln__judge *judge, unsigned number, kiln__judge_fault *fault,
                                       kiln_error **error);

/* sizes.c */
/* Reads the ranges of sizes and elements in the spec. Returns false if memory runs out. */
bool kiln__judge_read_ranges(kiln__judge *judge);
/* Tells whether the constraints of the spec allow a choice. The function compiles nothing. If memory runs out, the
 * function replaces *error. */
kiln_status kiln__judge_allows(kiln__judge *judge, const kiln_spec *spec, const kiln_choice *choice, bool *allowed,
                               kiln_error **error);
/* Makes the names of a device with few multiprocessors, if the spec uses the number of multiprocessors. Returns false
 * if memory runs out. */
bool kiln__judge_make_few(kiln__judge *judge);
/* Sets the number of multiprocessors that the expressions of all plans read. It is a small number if `few` is true, and
 * otherwise the device's number. The plans use this number when they next get sizes. */
void kiln__judge_choose_device(kiln__judge *judge, bool few);
/* Finds the size sets that the constraints of the variant allow. */
kiln_status kiln__judge_find_sets(kiln__judge *judge, kiln_error **error);
/* Draws the sizes of the trial `number` of a phase. The product of the sizes with a range is at most `most`. */
void kiln__judge_draw_sizes(const kiln__judge *judge, kiln__random *random, unsigned number, uint64_t most,
                            kiln__judge_trial *trial);
/* Returns the number of trials of checks that have a size above an integer of the PTX. It is at most 4. A kernel may
 * take another path for sizes above such an integer. So up to two such integers get two trials each. These integers can
 * be sizes, and are larger than the sizes of small trials. */
unsigned kiln__judge_thresholds(const kiln__judge *judge);
/* Sets one size to a value above an integer of the PTX, and all other sizes to small values. In trials 0 and 2 the size
 * is just above the integer. In trials 1 and 3 the size is about TILE_END above the integer. It is a multiple of 4, but
 * not a multiple of a larger tile. */
void kiln__judge_pass_threshold(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Rounds all sizes up to multiples of `step`, as far as the contract allows it. Each size becomes at least `step`. */
void kiln__judge_round_sizes(const kiln__judge *judge, int64_t step, kiln__judge_trial *trial);
/* Gives the size `number` a value above a thousand, so that there are several tiles along this size. All other sizes
 * get small values. All values are multiples of 8, because many kernels with large tiles need such sizes. */
void kiln__judge_take_tiles(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Takes the values of all sizes from a size set. A size whose value is not in its range gets the nearest value of the
 * range. */
void kiln__judge_take_set(const kiln__judge *judge, size_t set, kiln__judge_trial *trial);
/* Returns the largest value in the range that is a multiple. */
int64_t kiln__judge_last(const kiln__judge_range *range);
/* Writes the integer sizes that the plans have now to `values`, but not more than `most`. Returns their number. */
size_t kiln__judge_size_values(const kiln__judge *judge, int64_t *values, size_t most);
/* Writes "N=33 M=1". */
void kiln__judge_print_sizes(const kiln__judge *judge, const kiln__judge_trial *trial, kiln__text *out);
/* Returns all sizes of a trial. The caller frees the list with kiln__free(). *count gets the number of sizes. Returns
 * NULL if memory runs out. */
kiln_setting *kiln__judge_sizes(kiln__judge *judge, const kiln__judge_trial *trial, size_t *count);

/* contents.c: makes the content of a buffer for the sizes that the plans have. If the buffer has no content,
 * content->data is NULL. The caller frees the content. */
kiln_status kiln__judge_content(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                                kiln_array *content, kiln_error **error);
/* Returns the class of contents for the trial `number`. The classes that the contract allows take turns, and the seed
 * decides which class begins. */
kiln__judge_class kiln__judge_choose_class(const kiln__judge *judge, unsigned number);
const kiln__assumption *kiln__judge_assumption(const kiln__judge *judge, const char *name);

/* Returns true if the judge may choose the elements of the buffer, because the buffer's fill is random or the contract
 * gives a range. */
bool kiln__judge_is_drawn(const kiln__judge *judge, const kiln__once_buffer *b);

/* expect.c: computes the expected outputs for the contents of the trial, and the allowed error of each element. */
kiln_status kiln__judge_expect(kiln__judge *judge, const kiln__judge_trial *trial, kiln_error **error);
void kiln__judge_drop_expected(kiln__judge *judge);
/* Compares the outputs that were read from the device with the expected outputs. */
void kiln__judge_compare(kiln__judge *judge, kiln__judge_fault *fault);

/* A part of an output that is compared. The tolerance is multiplied by `factor`. */
typedef struct kiln__judge_window {
    const void *got, *want;
    uint64_t first, count; /* elements */
} kiln__judge_window;
void kiln__judge_compare_window(kiln__judge *judge, const kiln__once_buffer *b, const kiln__judge_window *window,
                                const kiln__once_expected *tolerance, double factor, kiln__judge_fault *fault);

/* code.c: handles a failed compile of the candidate. Takes ownership of its error `why`. If the candidate is at fault,
 * sets *fault and returns KILN_OK. If memory or a compiler is missing, or after an interruption, returns the status and
 * the error.
 */
kiln_status kiln__judge_refuse(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                               kiln_error **error);

/* trial.c. A status other than KILN_OK means that the judge itself has failed. */
/* Returns the number of the buffer that entry `v` of the spec's `verify` names. */
size_t kiln__judge_find_output(const kiln__judge *judge, size_t v);
/* Runs one trial of the candidate. If `original` is true, runs the variant's own source instead. Sets *fault to the
 * fault that the trial found. The trial does not run if the spec's constraints exclude its sizes, if it would take too
 * long, or if a host function refuses its sizes. If the trial does not run, *fits is false. */
kiln_status kiln__judge_try(kiln__judge *judge, const kiln__judge_trial *trial, bool original, kiln__judge_fault *fault,
                            bool *fits, kiln_error **error);
/* Gives all plans the sizes of the trial. *fits is false if a constraint of the spec excludes these sizes. New sizes
 * may need a new compile of the candidate. If the candidate then does not compile, or becomes forbidden, sets
 * *fault. */
kiln_status kiln__judge_resize(kiln__judge *judge, const kiln__judge_trial *trial, bool *fits, kiln__judge_fault *fault,
                               kiln_error **error);
/* Returns true if the trial is certainly too large for kiln__judge_is_small(). The function does not need the plans to
 * have the sizes of the trial. */
bool kiln__judge_is_huge(const kiln__judge *judge, const kiln__judge_trial *trial);
/* Returns false if a trial with the sizes that the plans have now would take too long. If the function returns true, it
 * notes the number of elements, if this number is the largest so far. If `on_host` is set, the host holds all arrays of
 * the trial. If `on_host` is not set, the arrays may be as large as the memory of a GPU. */
bool kiln__judge_is_small(kiln__judge *judge, const kiln__judge_trial *trial, bool on_host);
/* Adds a fault for a write `offset` bytes after the end of a buffer. A negative offset means a write before the
 * beginning of the buffer. */
void kiln__judge_note_outside(kiln__judge *judge, const kiln__once_buffer *b, int64_t offset, kiln__judge_fault *fault);
/* Makes a fault of the kernel from a failed run. Takes ownership of `why`. If the kernel has not caused the failure,
 * returns its status. */
kiln_status kiln__judge_take_failure(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                                     kiln_error **error);

/* large.c */
/* Sets the sizes of the large trial `number`. Returns false if there is no large trial with this number. *larger tells
 * whether these sizes are larger than the sizes of other trials. */
bool kiln__judge_large_sizes(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial, bool *larger);
/* Runs a large trial of the candidate or of the variant's own source. *fault and *fits are set as by
 * kiln__judge_try(). */
kiln_status kiln__judge_large(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                              kiln__judge_fault *fault, bool *fits, kiln_error **error);

/* patience.c */
/* Returns the time limit of a run, in seconds. */
double kiln__judge_get_time_limit(const kiln__judge *judge);
/* Call kiln__judge_begin_steps() before a run of the candidate or of the variant's own source, and
 * kiln__judge_end_steps() after the run. On a simulated device these functions limit and count the steps of the run,
 * and the context stays usable after a limit. The second function returns the status of the run, whose error is
 * *why. */
void kiln__judge_begin_steps(kiln__judge *judge);
kiln_status kiln__judge_end_steps(kiln__judge *judge, kiln_status status, kiln_error **why);
/* Runs a reference once, because the judge trusts it. On a simulated device a reference may take longer than a
 * candidate. The context stays usable after a limit. */
kiln_status kiln__judge_run_trusted(kiln__judge *judge, kiln_plan *plan, kiln_error **error);

/* endless.c */
/* Runs a trial of any phase. If `original` is true, runs the variant's own source instead of the candidate. *fault and
 * *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_run_trial(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                                  kiln__judge_fault *fault, bool *fits, kiln_error **error);
/* If *fault is not a limit of steps on a simulated device, does nothing. If it is, counts the steps of the variant's
 * own source in this trial. If the candidate took few steps in comparison, it runs again with more steps, and *fault
 * becomes the fault of the second run. If the variant's own source fails too, sets *fails. *most gets the number of
 * steps after which the candidate had not ended, or 0. `findings` is the number of findings before the trial. The
 * findings of a second run replace the findings of the first run. */
kiln_status kiln__judge_give_more_steps(kiln__judge *judge, const kiln__judge_trial *trial, size_t findings,
                                        kiln__judge_fault *fault, bool *fits, bool *fails, uint64_t *most,
                                        kiln_error **error);
/* Adds to the message of the fault how many steps the candidate ran, and how many steps the variant's own source
 * needs. */
void kiln__judge_tell_steps(kiln__judge *judge, uint64_t taken, uint64_t needs, kiln__judge_fault *fault);

/* trial.c */
/* Runs a trial with several calls in one memory. *fault and *fits are set as by kiln__judge_try(). */
kiln_status kiln__judge_calls(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault, bool *fits,
                              kiln_error **error);

/* Runs a trial with two calls at the same time. The calls are in two streams and have their own memories. A fault of
 * this trial is a variable of the module that both calls use, or a wrong answer. *fault and *fits are set as by
 * kiln__judge_try(). */
kiln_status kiln__judge_streams(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault,
                                bool *fits, kiln_error **error);

/* repeat.c: makes new inputs for the timed repetitions of a plan of the judged variant, on a GPU */
typedef struct kiln__judge_repeats kiln__judge_repeats;
/* Makes the contents for the sizes of a size set. If that is not possible, *repeats is NULL, and a note has the
 * reason. */
kiln_status kiln__judge_open_repeats(kiln__judge *judge, size_t set, kiln__judge_repeats **repeats, kiln_error **error);
/* Call kiln__judge_begin_repeats() before the plan is measured, and kiln__judge_end_repeats() after that. If `measured`
 * is true, the second function compares answers, and sets *fault if an answer is wrong. */
void kiln__judge_begin_repeats(kiln__judge_repeats *repeats, kiln_plan *plan);
kiln_status kiln__judge_end_repeats(kiln__judge_repeats *repeats, bool measured, kiln__judge_fault *fault,
                                    kiln_error **error);
void kiln__judge_close_repeats(kiln__judge_repeats *repeats); /* NULL is allowed */

/* times.c */
kiln_status kiln__judge_time(kiln__judge *judge, kiln__judge_fault *fault, kiln_error **error);
/* Chooses the size set with the most elements among the size sets with at most `most` elements. If `most` is 0, the
 * limit for times on this device counts. *set gets the number of the size set. If all sets are too large, *found is
 * false. */
kiln_status kiln__judge_choose_set(kiln__judge *judge, uint64_t most, size_t *set, bool *found, kiln_error **error);
/* Runs one plan at the sizes of a size set, and takes its time. If the plan cannot be timed, *result is NULL. If the
 * answer is wrong or the device faults, *fault is set. If `fault` is NULL, a wrong answer or a fault of the device
 * becomes a note. */
kiln_status kiln__judge_time_plan(kiln__judge *judge, kiln_plan *plan, size_t set, const kiln_result **result,
                                  kiln__judge_fault *fault, kiln_error **error);

/* against.c */
kiln_status kiln__judge_open_against(kiln__judge *judge, kiln_error **error);
/* Computes `ratio`, its interval and `faster` from the times of both kernels. */
void kiln__judge_compare_times(struct kiln__judge_comparison *comparison);
kiln_status kiln__judge_compare_with(kiln__judge *judge, kiln_error **error);

/* verdict.c: makes the texts of the verdict. Returns NULL if memory runs out. */
kiln_judgement *kiln__judge_conclude(kiln__judge *judge);

#endif
