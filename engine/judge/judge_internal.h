/* judge_internal.h - declarations that the files of the folder judge/ share.
 *
 * The words of this folder: The candidate is the CUDA source that is judged. It replaces the source of one variant of a
 * spec, and the spec's own kernel is the kernel of that replaced source. A trial runs the candidate once or several
 * times at one choice of sizes and input values. A fault is an error that a trial found in the candidate. A size set is
 * a named entry of the spec with a value for each size. */
#ifndef KILN_JUDGE_INTERNAL_H
#define KILN_JUDGE_INTERNAL_H

#include <stdatomic.h>

#include "kiln_judge.h"
#include "kiln_sim.h"
#include "plan.h"
#include "random.h"

/* ---- facts in the candidate's code (code.c) ---- */

/* A variable in global memory that the candidate's module declares. */
typedef struct kiln__judge_global {
    const char *name;
    CUdeviceptr address; /* the address of the variable; 0 means that the driver does not find the variable */
    size_t bytes;
    /* the bytes of the variable after the module was loaded; NULL if the driver could not read them */
    unsigned char *initial;
    unsigned char *before; /* a copy of the bytes of the variable, taken before a call of the kernel */
    size_t unit;           /* the assumed size of one element of the variable, in bytes; at most 4 */
    /* For each byte of the variable, bits that tell whether a call changed its element (state.c). NULL means that the
     * judge has not compared the variable yet. */
    unsigned char *changed;
    /* the bytes of the variable after the judge has overwritten some elements with random bytes */
    unsigned char *spoilt;
    bool any;   /* true if a call of the kernel has changed an element of the variable */
    bool twice; /* true if the PTX declares two variables with this name */
} kiln__judge_global;
typedef struct kiln__judge_code {
    /* the magnitudes of the integers in the PTX instructions of all modules, without duplicates, in ascending order */
    int64_t *constants;
    size_t constant_count, constant_capacity;
    kiln__judge_global *globals;
    size_t global_count, global_capacity;
    /* the module whose PTX was read last; at other sizes the candidate may be compiled to another module */
    CUmodule module;
    const char *forbidden; /* the reason why the candidate must not run; NULL means that it may run */
    char digest[33];       /* the hash of the PTX of the first module */
} kiln__judge_code;

/* ---- values of inputs (contents.c) ---- */

/* The ways to draw the elements of inputs (classes of input values). X(name, word, description) */
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

/* The phases of a judgement, in the order in which they run. A phase is a group of trials. X(name, word,
 * description) */
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
    /* the values of the sizes for which the spec gives a range, in the order of judge->ranges */
    int64_t *ranged;
    size_t set;              /* the number of the size set that gives all other sizes their values */
    kiln__judge_class class; /* the class from which the elements of all inputs are drawn */
    uint64_t seed;           /* the seed of the random numbers for inputs, guard zones and poison */
    /* the order in which the simulated device starts blocks, as kiln__sim_order() encodes it */
    uint64_t order;
    /* decides by how many bytes each buffer is moved from its alignment; 0 means that no buffer is moved */
    uint64_t shift;
    bool few; /* true if the spec's expressions see a device with only 4 multiprocessors */
    bool far; /* true if the buffers begin at multiples of 2 MiB, as the large arrays of programs do */
    bool checked;
} kiln__judge_trial;

/* The error that a trial found in the candidate. */
typedef struct kiln__judge_fault {
    kiln_judged kind;   /* KILN_JUDGED_PASS means that the trial found no fault */
    const char *buffer; /* the name of the buffer with the fault; NULL if the buffer is not known */
    uint64_t element, wrong, of;
    char index[96], expected[40], got[40];
    const char *message; /* the message about the fault, one sentence or more, in the arena of the judge */
    bool of_code;        /* true if the fault is in the compiled code, so that it shows before any kernel runs */
} kiln__judge_fault;

/* A finding of the simulated device's checks. The arena of the judge owns all its texts. */
typedef struct kiln__judge_finding {
    const char *kind, *message, *file, *text, *kernel, *buffer;
    unsigned line;
    uint64_t count;
    bool note;
} kiln__judge_finding;

typedef struct kiln__judge_range {
    const char *name;
    int64_t from, to, multiple;
    int64_t tried; /* the largest value that the size had in a trial; a value below `from` means that no trial ran */
} kiln__judge_range;

/* The device memory of one buffer during a trial, and the copies of its bytes on the host. */
typedef struct kiln__judge_place {
    /* The allocation starts at `base`. It has guard zones on both sides of the buffer. The buffer itself starts at
     * `at`. */
    CUdeviceptr base, at;
    size_t total, lead; /* the size of the whole allocation, and the number of bytes in it before the buffer */
    /* the number of the buffer whose memory has this buffer's elements after a run, because `swap` steps exchange
     * memory */
    size_t holder;
    /* The input values of the buffer. If `data` is NULL, the buffer is not an input, and the judge fills it with
     * poison. */
    kiln_array content;
    /* the bytes of the whole allocation before a call: guard zone, input values or poison, guard zone */
    unsigned char *image;
    unsigned char *got;   /* the bytes of the buffer after the call */
    unsigned char *first; /* the bytes of the buffer after the first of the two runs of a trial */
} kiln__judge_place;

typedef struct kiln__judge_plan { /* the plan of a variant that computes the expected values of an output */
    const kiln__variant *variant;
    kiln_plan *plan;
} kiln__judge_plan;

/* The figures of one of the two kernels of a comparison. A figure of 0 is unknown. */
typedef struct kiln__judge_side {
    /* the time of the kernel; if the time is measured, also the ends of its confidence interval */
    double seconds, low, high;
    enum { KILN__JUDGE_UNKNOWN, KILN__JUDGE_RIGHT, KILN__JUDGE_WRONG } answer;
    double worst_error; /* the largest error of an element, as a multiple of its tolerance */
    bool counted;
    uint64_t launches, executed, sectors, wavefronts;
} kiln__judge_side;

struct kiln__judge_comparison {
    bool known;
    enum { KILN__JUDGE_MEASURED, KILN__JUDGE_ESTIMATED, KILN__JUDGE_COUNTED } kind;
    const char *spec, *variant;
    /* The names of two size sets: one for counters and answers, the other for times. `timed_sizes` is NULL if there are
     * no times. */
    const char *sizes, *timed_sizes;
    kiln__judge_side candidate, against;
    /* The other kernel's time divided by the candidate's time, and the interval of this ratio. 0 means that there are
     * no times. */
    double ratio, low, high;
    const char *faster; /* "candidate", "against" (the other kernel) or "neither"; NULL means that there are no times */
};

typedef struct kiln__judge {
    kiln_engine *engine;
    const kiln_allocator *mem;
    kiln__arena arena;
    const kiln_spec *spec; /* the spec that the caller gave; the caller owns it */
    /* a copy of the spec in which the candidate's text replaces the source of the judged variant */
    kiln_spec *own;
    const kiln__variant *variant;
    kiln_judge_options options;
    const char *name;
    uint64_t begun;
    bool simulated;
    /* the plan of the judged variant with the candidate's source, and with the source that the spec names */
    kiln_plan *candidate, *original;
    /* The plan of the variant with which the candidate is compared. NULL means that the caller wants no comparison. */
    kiln_plan *against;
    /* For each entry of the spec's key `verify`, the plan of the variant that computes the expected output. The plan is
     * NULL if a host function, a file or a command gives the expected output. */
    kiln__judge_plan *references;
    kiln__judge_code code;
    kiln__judge_range *ranges;
    size_t range_count;
    size_t *sets; /* the numbers of the size sets at which the variant's constraints hold */
    size_t set_count;
    /* True if the spec uses device.sm_count, and the spec's own kernel also runs if this number is 4. */
    bool few;
    kiln__settings few_device; /* the names device.* of the expression language, for a device with 4 multiprocessors */
    /* The members from here to `broken` belong to the trial that runs now, unless their comments say otherwise. */
    kiln__once_buffer *buffers;
    kiln__judge_place *places;
    kiln__judge_place *second_places; /* in trials with two simultaneous calls, the memory of the second call */
    size_t buffer_count;
    kiln__once_expected *expected; /* the expected output of each entry of the spec's key `verify` */
    /* For each entry of the spec's key `verify`, the allowed error of each element. NULL means that the elements must
     * be equal. */
    double **allowed;
    /* the sizes that all plans have now (only sizes with a range); not valid if sized_set is SIZE_MAX */
    int64_t *sized;
    size_t sized_set;
    bool sized_few;
    uint64_t elements; /* the number of elements in all buffers together */
    double flops;
    uint64_t steps;         /* the most steps (instructions of a warp) that a run of this trial took (patience.c) */
    uint64_t trusted_steps; /* the most steps that a run of a reference kernel took */
    /* The step limit of a run. 0 means that patience.c computes the limit from the sizes. */
    uint64_t steps_given;
    /* the step limit of the run that is in progress, and the number of steps that remain */
    uint64_t steps_most, steps_left;
    /* The largest number of steps for one element that the candidate or a reference took, in all trials with many
     * elements so far. */
    double steps_each;
    atomic_bool gate_open; /* set when the two streams of kiln__judge_streams() may begin their calls */
    bool lacks_memory;     /* a trial with the largest arrays did not fit into the memory of the device */
    bool broken;           /* the driver's context is lost, so no kernel can run any more */
    /* The members below are results of the judgement. */
    kiln__judge_fault fault;
    kiln__judge_trial failed;
    kiln__judge_finding *findings;
    size_t finding_count, finding_capacity;
    const char **notes;
    size_t note_count, note_capacity;
    bool timed;           /* true if the trials found no fault, and the judge then began to measure times */
    size_t untimed_notes; /* the number of notes before the judge began to measure times */
    unsigned ran[KILN__JUDGE_PHASE_COUNT], skipped, unsettled;
    /* For each size set, the number of elements in all buffers divided by the product of the sizes with a range. The
     * smallest such ratio of all trials counts, except trials with very small sizes. 0 means that it is not known. */
    double *density;
    bool excluded; /* true if a constraint of the spec excluded the sizes of the last trial */
    /* True if the notes already name an error for which a trial was left out. Violated constraints do not count as such
     * errors. */
    bool left_out;
    uint64_t largest;      /* the largest number of elements that all buffers had together in a trial */
    uint64_t reference_ns; /* the time that the references took in all trials, in nanoseconds */
    bool late;             /* true if the judge left out trials because the time budget was used up */
    struct kiln__judge_times {
        bool known, measured, against_known;
        double seconds, low, high, against, roofline;
        const char *device, *sizes;
    } times;
    struct kiln__judge_comparison comparison;
} kiln__judge;

/* Formats a text like printf(). The text lives in the arena of the judge (words.c). */
const char *kiln__judge_print(kiln__judge *judge, const char *format, ...) KILN__PRINTF(2, 3);
void kiln__judge_note(kiln__judge *judge, const char *text);

/* code.c: reads the PTX of the candidate, unless this PTX has been read before. Returns false if memory runs out. */
bool kiln__judge_read_code(kiln__judge *judge);
/* Returns true if a line of PTX is only `.file 1 "path"`, without code. */
bool kiln__judge_names_file(const char *line, size_t length);
/* Returns the reason why a word in the source text forbids a judgement. Returns NULL if the text has no such word. The
 * function compiles nothing. */
const char *kiln__judge_find_macro(const char *text, size_t length);
void kiln__judge_drop_globals(kiln__judge *judge);
/* Writes to the variables of the module the bytes that they had after the module was loaded. */
void kiln__judge_reset_globals(const kiln__judge *judge);

/* The functions of state.c watch the variables of the module between calls of the kernel. */
/* Copies the bytes of all variables of the module to the host before a call. */
kiln_status kiln__judge_keep_globals(kiln__judge *judge, kiln_error **error);
/* Finds the elements of variables that the last call has changed. If `checked`, the simulated device's checks then
 * treat these elements as never written. Adds a note that names each changed variable. */
kiln_status kiln__judge_forget_globals(kiln__judge *judge, bool checked, kiln_error **error);
/* Returns the number of further calls before which the judge overwrites variables with random bytes. The number is 0 if
 * no call has changed a variable. */
unsigned kiln__judge_count_spoilt(const kiln__judge *judge);
/* Overwrites changed elements of variables with random bytes, before the call `number` of these further calls. */
kiln_status kiln__judge_spoil_globals(kiln__judge *judge, uint64_t seed, unsigned number, kiln_error **error);
/* Sets *fault to a fault of the kind KILN_JUDGED_STATE in two cases. Either the further call `number` had a fault, or
 * elements still have the random bytes. */
kiln_status kiln__judge_look_at_spoilt(kiln__judge *judge, unsigned number, kiln__judge_fault *fault,
                                       kiln_error **error);

/* The functions of sizes.c choose the sizes of trials. */
/* Reads the ranges of sizes and elements from the spec's key `judge`. Returns false if memory runs out. */
bool kiln__judge_read_ranges(kiln__judge *judge);
/* Tells whether the constraints of the spec hold for a choice of variant, params and sizes. The function compiles
 * nothing. If memory runs out, the function replaces *error. */
kiln_status kiln__judge_allows(kiln__judge *judge, const kiln_spec *spec, const kiln_choice *choice, bool *allowed,
                               kiln_error **error);
/* If the spec uses device.sm_count, makes the names device.* of a device with 4 multiprocessors. Returns false if
 * memory runs out. */
bool kiln__judge_make_few(kiln__judge *judge);
/* Sets the number of multiprocessors that the expressions of all plans read. The number is 4 if `few` is true, and
 * otherwise the number of the device. The plans read it at their next kiln_plan_resize(). */
void kiln__judge_choose_device(kiln__judge *judge, bool few);
/* Fills judge->sets with the size sets at which the constraints of the variant hold. */
kiln_status kiln__judge_find_sets(kiln__judge *judge, kiln_error **error);
/* Draws the sizes of the trial `number` of a phase. The product of the sizes that have a range is at most `most`. */
void kiln__judge_draw_sizes(const kiln__judge *judge, kiln__random *random, unsigned number, uint64_t most,
                            kiln__judge_trial *trial);
/* Returns the number of trials in the phase `checks` that have a size above an integer of the PTX, at most 4. A kernel
 * may use another code path for sizes above such an integer. Each of up to two integers therefore gets two trials. Only
 * integers from 2^12 up to 2^17 that a size may exceed count here. */
unsigned kiln__judge_thresholds(const kiln__judge *judge);
/* Sets one size to a value above an integer of the PTX, and all other sizes to small values. In trials 0 and 2 the size
 * is just above the integer. In trials 1 and 3 the size is about TILE_END above the integer. This size is a multiple of
 * 4, but not a multiple of a larger tile. */
void kiln__judge_pass_threshold(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Rounds all sizes up to multiples of `step` that the spec allows. Each size becomes at least `step`, if its range
 * allows that. */
void kiln__judge_round_sizes(const kiln__judge *judge, int64_t step, kiln__judge_trial *trial);
/* Gives the size `number` a value above a thousand, so that there are several tiles along this dimension. All other
 * sizes get small values. With at most three sizes, all values are multiples of 8, because many kernels with large
 * tiles need such sizes. */
void kiln__judge_take_tiles(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial);
/* Takes the values of all sizes from a size set. If a value is not in the range of its size, the size gets the nearest
 * value of the range. */
void kiln__judge_take_set(const kiln__judge *judge, size_t set, kiln__judge_trial *trial);
/* Returns the largest multiple of range->multiple that is in the range. */
int64_t kiln__judge_last(const kiln__judge_range *range);
/* Writes the integer sizes that the plans have now to `values`, at most `most` of them. Returns their number. */
size_t kiln__judge_size_values(const kiln__judge *judge, int64_t *values, size_t most);
/* Writes the sizes of a trial as a text, such as "N=33 M=1". */
void kiln__judge_print_sizes(const kiln__judge *judge, const kiln__judge_trial *trial, kiln__text *out);
/* Returns the names and values of all sizes of a trial. *count gets the number of sizes. The caller frees the list with
 * kiln__free(). Returns NULL if memory runs out. */
kiln_setting *kiln__judge_sizes(kiln__judge *judge, const kiln__judge_trial *trial, size_t *count);

/* contents.c: makes the initial elements of a buffer for the sizes that the plans have now. If the spec gives the
 * buffer no initial elements, content->data is NULL. The caller frees the array. */
kiln_status kiln__judge_content(kiln__judge *judge, size_t buffer, kiln__judge_class class, uint64_t seed,
                                kiln_array *content, kiln_error **error);
/* Returns the class of input values for the trial `number`. The classes that the spec allows take turns, and the seed
 * decides which class begins. */
kiln__judge_class kiln__judge_choose_class(const kiln__judge *judge, unsigned number);
const kiln__assumption *kiln__judge_assumption(const kiln__judge *judge, const char *name);

/* Returns true if the judge may choose the elements of the buffer. It may if the fill of the buffer is random, or if
 * the key `judge` gives the elements a range. */
bool kiln__judge_is_drawn(const kiln__judge *judge, const kiln__once_buffer *b);

/* expect.c: computes the expected outputs for the input values of the trial, and the allowed error of each element. */
kiln_status kiln__judge_expect(kiln__judge *judge, const kiln__judge_trial *trial, kiln_error **error);
void kiln__judge_drop_expected(kiln__judge *judge);
/* Compares the outputs that were copied from the device with the expected outputs. */
void kiln__judge_compare(kiln__judge *judge, kiln__judge_fault *fault);

/* Consecutive elements of an output, and their expected values. */
typedef struct kiln__judge_window {
    const void *got, *want;
    uint64_t first, count; /* the number of the first element in the output, and the number of elements */
} kiln__judge_window;
void kiln__judge_compare_window(kiln__judge *judge, const kiln__once_buffer *b, const kiln__judge_window *window,
                                const kiln__once_expected *tolerance, double factor, kiln__judge_fault *fault);

/* code.c: handles a failed compile of the candidate. Takes ownership of the compile error `why`. If the candidate is at
 * fault, sets *fault and returns KILN_OK. If memory or a compiler is missing, or after an interruption, returns the
 * status and moves the error to *error. */
kiln_status kiln__judge_refuse(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                               kiln_error **error);

/* The functions of trial.c run trials. A status other than KILN_OK means that the judge has failed, and not the
 * candidate. */
/* Returns the number of the buffer that entry `v` of the spec's `verify` names. */
size_t kiln__judge_find_output(const kiln__judge *judge, size_t v);
/* Runs one trial of the candidate. If `original` is true, runs the spec's own kernel instead. Sets *fault to the fault
 * that the trial found. Sets *fits to false if the trial does not run. There are three such cases: the spec's
 * constraints exclude its sizes, it would take too long, or a host function refuses its sizes. */
kiln_status kiln__judge_try(kiln__judge *judge, const kiln__judge_trial *trial, bool original, kiln__judge_fault *fault,
                            bool *fits, kiln_error **error);
/* Gives all plans the sizes of the trial. *fits is false if a constraint of the spec excludes these sizes. New sizes
 * may require a new compile of the candidate. If the candidate then does not compile, or has become forbidden, sets
 * *fault. */
kiln_status kiln__judge_resize(kiln__judge *judge, const kiln__judge_trial *trial, bool *fits, kiln__judge_fault *fault,
                               kiln_error **error);
/* Returns true if kiln__judge_is_small() would certainly reject the trial. The plans need not have the sizes of the
 * trial. */
bool kiln__judge_is_huge(const kiln__judge *judge, const kiln__judge_trial *trial);
/* Returns true if a trial with the sizes that the plans have now is short enough. It then also updates judge->largest,
 * the largest number of elements so far. If `on_host` is set, the host holds all arrays of the trial. If `on_host` is
 * not set, the arrays may be as large as the memory of a GPU. */
bool kiln__judge_is_small(kiln__judge *judge, const kiln__judge_trial *trial, bool on_host);
/* Sets *fault to a write `offset` bytes after the end of a buffer. A negative offset means a write before the beginning
 * of the buffer. */
void kiln__judge_note_outside(kiln__judge *judge, const kiln__once_buffer *b, int64_t offset, kiln__judge_fault *fault);
/* Turns the error of a failed run into a fault of the kernel. Takes ownership of the error `why`. If the kernel has not
 * caused the failure, returns `status` and moves the error to *error. */
kiln_status kiln__judge_take_failure(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                                     kiln_error **error);

/* The functions of large.c run trials with the largest arrays that fit. */
/* Sets the sizes of the large trial `number`. Returns false if there is no large trial with this number. *larger tells
 * whether these sizes are larger than the sizes of ordinary trials. */
bool kiln__judge_large_sizes(const kiln__judge *judge, unsigned number, kiln__judge_trial *trial, bool *larger);
/* Runs a large trial of the candidate, or of the spec's own kernel if `original` is true. Sets *fault and *fits as
 * kiln__judge_try() does. */
kiln_status kiln__judge_large(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                              kiln__judge_fault *fault, bool *fits, kiln_error **error);

/* The functions of patience.c limit the steps and the time of runs. A step is one instruction of a warp. */
/* Returns the time limit of a run, in seconds. */
double kiln__judge_get_time_limit(const kiln__judge *judge);
/* Call kiln__judge_begin_steps() before a run of the candidate or of the spec's own kernel, and kiln__judge_end_steps()
 * after it. On a simulated device these functions limit and count the steps of the run. The context stays usable after
 * a run has reached its limit. The second function returns the status of the run, whose error is *why. */
void kiln__judge_begin_steps(kiln__judge *judge);
kiln_status kiln__judge_end_steps(kiln__judge *judge, kiln_status status, kiln_error **why);
/* Runs a trusted reference kernel once. On a simulated device a reference may take longer than a candidate. The context
 * stays usable after the reference has reached its time limit. */
kiln_status kiln__judge_run_trusted(kiln__judge *judge, kiln_plan *plan, kiln_error **error);

/* The functions of endless.c find kernels that do not end. */
/* Runs a trial of any phase. If `original` is true, runs the spec's own kernel instead of the candidate. Sets *fault
 * and *fits as kiln__judge_try() does. */
kiln_status kiln__judge_run_trial(kiln__judge *judge, const kiln__judge_trial *trial, bool original,
                                  kiln__judge_fault *fault, bool *fits, kiln_error **error);
/* Decides whether a candidate that has reached its step limit really does not end. Does nothing on a GPU, or if *fault
 * is not a reached step limit. Otherwise counts the steps of the spec's own kernel in this trial. If the candidate took
 * few steps in comparison, it runs again with a higher limit, and *fault becomes the fault of the second run. If the
 * spec's own kernel fails in this trial, sets *fails. If the candidate has exceeded the higher limit, *most gets this
 * limit. Otherwise *most is 0. `findings` is the number of findings before the trial. The findings of a second run
 * replace the findings of the first run. */
kiln_status kiln__judge_give_more_steps(kiln__judge *judge, const kiln__judge_trial *trial, size_t findings,
                                        kiln__judge_fault *fault, bool *fits, bool *fails, uint64_t *most,
                                        kiln_error **error);
/* Adds two numbers to the message of the fault: the steps that the candidate ran, and the steps that the spec's own
 * kernel needs. */
void kiln__judge_tell_steps(kiln__judge *judge, uint64_t taken, uint64_t needs, kiln__judge_fault *fault);

/* The next two functions are in trial.c. */
/* Runs a trial with several calls that use the same memory. Sets *fault and *fits as kiln__judge_try() does. */
kiln_status kiln__judge_calls(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault, bool *fits,
                              kiln_error **error);

/* Runs a trial with two simultaneous calls in two streams. Each call has its own memory. A fault of this trial is a
 * variable of the module that both calls use, or a wrong answer. Sets *fault and *fits as kiln__judge_try() does. */
kiln_status kiln__judge_streams(kiln__judge *judge, const kiln__judge_trial *trial, kiln__judge_fault *fault,
                                bool *fits, kiln_error **error);

/* repeat.c: gives the timed repetitions of the judged variant new inputs, on a GPU. */
typedef struct kiln__judge_repeats kiln__judge_repeats;
/* Makes the input values for the sizes of a size set. If they cannot be made, *repeats is NULL, and a note has the
 * reason. */
kiln_status kiln__judge_open_repeats(kiln__judge *judge, size_t set, kiln__judge_repeats **repeats, kiln_error **error);
/* Call kiln__judge_begin_repeats() before the plan is measured, and kiln__judge_end_repeats() after it. If `measured`
 * is true, the second function compares answers, and sets *fault if an answer is wrong. */
void kiln__judge_begin_repeats(kiln__judge_repeats *repeats, kiln_plan *plan);
kiln_status kiln__judge_end_repeats(kiln__judge_repeats *repeats, bool measured, kiln__judge_fault *fault,
                                    kiln_error **error);
void kiln__judge_close_repeats(kiln__judge_repeats *repeats); /* NULL is allowed */

/* The functions of times.c measure or estimate times. */
kiln_status kiln__judge_time(kiln__judge *judge, kiln__judge_fault *fault, kiln_error **error);
/* Chooses the size set with the most elements among the size sets with at most `most` elements. If `most` is 0, the
 * limit is the largest number of elements for which the judge takes times on this device. *set gets the number of the
 * size set. If all size sets are too large, *found is false. */
kiln_status kiln__judge_choose_set(kiln__judge *judge, uint64_t most, size_t *set, bool *found, kiln_error **error);
/* Runs one plan at the sizes of a size set, and takes its time. If the plan has no time, *result is NULL. If the answer
 * is wrong or the device reports a fault, sets *fault. If `fault` is NULL, adds a note instead. */
kiln_status kiln__judge_time_plan(kiln__judge *judge, kiln_plan *plan, size_t set, const kiln_result **result,
                                  kiln__judge_fault *fault, kiln_error **error);

/* The functions of against.c compare the candidate with another variant. */
kiln_status kiln__judge_open_against(kiln__judge *judge, kiln_error **error);
/* Computes `ratio`, its interval and `faster` from the times of both kernels. */
void kiln__judge_compare_times(struct kiln__judge_comparison *comparison);
kiln_status kiln__judge_compare_with(kiln__judge *judge, kiln_error **error);

/* verdict.c: writes the verdict as JSON and as a page. Returns NULL if memory runs out. */
kiln_judgement *kiln__judge_conclude(kiln__judge *judge);

#endif
