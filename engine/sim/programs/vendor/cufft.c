/* cufft.c - libcufft for the simulated device, over the host's FFTW: plans of one to three dimensions, batches,
 * strides, real and complex transforms in single and double precision.
 *
 * A plan of cuFFT contains only sizes and strides. Each execution enqueues a work (device.c), which finds the host's
 * pointers of the data, makes a plan of FFTW for them by FFTW_ESTIMATE, and executes it. FFTW's planner is not safe for
 * several threads. The works of the device run one after another, so only a program that calls FFTW itself must take
 * care.
 *
 * Several threads may use the same plan at the same time. Each call copies the plan under the lock of the table. The
 * end of this file defines the functions that are not implemented. They return CUFFT_NOT_SUPPORTED. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cufft.h"
#include "vendor.h"

#define LIBRARY "libcufft"

enum { RANKS = 3 };

/* The layout of one side of a transform. All numbers are in elements of this side's type. `step` is the step of the
 * last dimension. The step of any other dimension is the product of the step and the extent of the next dimension.
 * Transform b begins at b * distance. */
typedef struct layout {
    int64_t extent[RANKS], step, distance;
} layout;

typedef struct plan {
    bool made; /* the plan is complete; false between cufftCreate() and cufftMakePlan...() */
    int type, rank;
    int64_t size[RANKS], batch;
    bool basic; /* the arrays are contiguous; if the transform is in place, rows of real numbers are padded */
    layout in, out;
    void *stream, *context; /* `context` is the context for calls from threads that have no current context */
} plan;

typedef struct work {
    plan plan;
    const char *name;
    int direction;
    const void *in;
    void *out;
} work;

/* ---- handles: numbers that count from 1 ---- */

static struct {
    pthread_mutex_t lock;
    plan **plans; /* plans[n] is NULL if the handle n + 1 is free */
    int room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int add_plan(const plan *made, int *handle)
{
    enum { MORE = 64, MOST = 1 << 20 };
    plan *copy = malloc(sizeof *copy);
    if (!copy)
        return FFT_ALLOC_FAILED;
    *copy = *made;
    pthread_mutex_lock(&table.lock);
    int at = 0;
    while (at < table.room && table.plans[at])
        at++;
    if (at == table.room && table.room < MOST) {
        plan **more = realloc(table.plans, (size_t)(table.room + MORE) * sizeof(plan *));
        if (more) {
            memset(more + table.room, 0, MORE * sizeof(plan *));
            table.plans = more;
            table.room += MORE;
        }
    }
    const bool fits = at < table.room;
    if (fits)
        table.plans[at] = copy;
    pthread_mutex_unlock(&table.lock);
    if (!fits)
        free(copy);
    *handle = fits ? at + 1 : 0;
    return fits ? FFT_DONE : FFT_ALLOC_FAILED;
}

/* Returns the plan of a handle, or NULL. The caller holds the lock while it uses the plan. */
static plan *find_plan(int handle) { return handle > 0 && handle <= table.room ? table.plans[handle - 1] : NULL; }

/* Copies a plan, because another thread may destroy it. Returns false if no plan has the handle. */
static bool copy_plan(int handle, plan *copy)
{
    pthread_mutex_lock(&table.lock);
    const plan *found = find_plan(handle);
    if (found)
        *copy = *found;
    pthread_mutex_unlock(&table.lock);
    return found;
}

static bool has_plan(int handle)
{
    plan copy;
    return copy_plan(handle, &copy);
}

VENDOR_API int cufftCreate(int *handle)
{
    if (!handle)
        return FFT_INVALID_VALUE;
    *handle = 0;
    if (!vendor_open_device(LIBRARY))
        return FFT_SETUP_FAILED;
    if (!vendor_find_fftw(false, "fftw_plan_guru64_dft") || !vendor_find_fftw(true, "fftwf_plan_guru64_dft")) {
        fprintf(stderr, "kiln: libcufft needs FFTW on the host: install libfftw3-double3 and libfftw3-single3\n");
        return FFT_SETUP_FAILED;
    }
    const plan made = {.context = vendor_enter(NULL)};
    return made.context ? add_plan(&made, handle) : FFT_SETUP_FAILED;
}

VENDOR_API int cufftDestroy(int handle)
{
    pthread_mutex_lock(&table.lock);
    plan *found = find_plan(handle);
    if (found)
        table.plans[handle - 1] = NULL;
    pthread_mutex_unlock(&table.lock);
    free(found);
    return found ? FFT_DONE : FFT_INVALID_PLAN;
}

VENDOR_API int cufftSetStream(int handle, void *stream)
{
    pthread_mutex_lock(&table.lock);
    plan *p = find_plan(handle);
    if (p)
        p->stream = stream;
    pthread_mutex_unlock(&table.lock);
    return p ? FFT_DONE : FFT_INVALID_PLAN;
}

/* ---- plans ---- */

static bool is_double(int type) { return type & 0x40; }
static int kind_of(int type) { return type & ~0x40; } /* FFT_C2C, FFT_R2C or FFT_C2R */
static bool is_type(int type)
{
    return kind_of(type) == FFT_C2C || kind_of(type) == FFT_R2C || kind_of(type) == FFT_C2R;
}

/* Returns the number of elements in a dimension of one side. The complex side of a real transform has only half of the
 * last dimension, because the other half would be the conjugate. */
static int64_t count_in(const plan *p, int dimension, bool input)
{
    const bool halved = kind_of(p->type) == (input ? FFT_C2R : FFT_R2C);
    return dimension == p->rank - 1 && halved ? p->size[dimension] / 2 + 1 : p->size[dimension];
}

/* Sets the layout of contiguous arrays. If a real transform is in place, each row of real numbers takes as many bytes
 * as its row of complex numbers. */
static void set_basic(const plan *p, layout *side, bool input, bool in_place)
{
    const bool real = kind_of(p->type) == (input ? FFT_R2C : FFT_C2R);
    side->step = 1;
    side->distance = 1;
    for (int k = 0; k < p->rank; k++) {
        side->extent[k] = count_in(p, k, input);
        if (k == p->rank - 1 && real && in_place)
            side->extent[k] = 2 * (side->extent[k] / 2 + 1);
        side->distance *= side->extent[k];
    }
}

/* Returns the steps of a side's dimensions. */
static void list_steps(const plan *p, const layout *side, int64_t step[RANKS])
{
    step[p->rank - 1] = side->step;
    for (int k = p->rank - 1; k > 0; k--)
        step[k - 1] = step[k] * side->extent[k];
}

/* Returns the bytes from the first to the last element of a side, or 0 if a number is invalid or too large. */
static size_t count_bytes(const plan *p, const layout *side, bool input)
{
    /* limit in elements; the code below tests products of two such numbers for overflow */
    const int64_t most = (int64_t)1 << 40;
    int64_t last = 0, step = side->step, part;
    const bool real = kind_of(p->type) == (input ? FFT_R2C : FFT_C2R);
    for (int k = p->rank - 1; k >= 0; k--) {
        if (step < 0 || step > most || __builtin_mul_overflow(count_in(p, k, input) - 1, step, &part) || part > most)
            return 0;
        last += part;
        if (k > 0 && (side->extent[k] < 1 || __builtin_mul_overflow(step, side->extent[k], &step)))
            return 0;
    }
    if (side->distance < 0 || __builtin_mul_overflow(p->batch - 1, side->distance, &part) || part > most)
        return 0;
    return (size_t)(last + part + 1) * (is_double(p->type) ? 8 : 4) * (real ? 1 : 2);
}

/* Puts a plan in the place of an empty plan, which keeps its stream. Fails if another thread has filled or destroyed
 * the empty plan meanwhile. */
static int fill_plan(int handle, const plan *made)
{
    pthread_mutex_lock(&table.lock);
    plan *p = find_plan(handle);
    const bool empty = p && !p->made;
    if (empty) {
        void *stream = p->stream;
        *p = *made;
        p->stream = stream;
    }
    pthread_mutex_unlock(&table.lock);
    return empty ? FFT_DONE : FFT_INVALID_PLAN;
}

/* Fills a plan. If the lists are NULL, the arrays are contiguous. */
static int make_plan(int handle, int rank, const int64_t *size, const int64_t *in_extent, int64_t in_step,
                     int64_t in_distance, const int64_t *out_extent, int64_t out_step, int64_t out_distance, int type,
                     int64_t batch, size_t *bytes)
{
    plan empty;
    if (!copy_plan(handle, &empty) || empty.made)
        return FFT_INVALID_PLAN;
    if (!is_type(type))
        return FFT_INVALID_TYPE;
    if (rank < 1 || rank > RANKS || !size)
        return FFT_INVALID_VALUE;
    plan made = {
        .type = type, .rank = rank, .batch = batch, .basic = !in_extent || !out_extent, .context = empty.context};
    bool good = batch >= 1;
    for (int k = 0; k < rank; k++) {
        made.size[k] = size[k];
        good = good && size[k] >= 1 && size[k] <= INT64_C(1) << 40;
        if (!made.basic) {
            made.in.extent[k] = in_extent[k];
            made.out.extent[k] = out_extent[k];
        }
    }
    if (!good)
        return FFT_INVALID_SIZE;
    if (made.basic) {
        set_basic(&made, &made.in, true, false);
        set_basic(&made, &made.out, false, false);
    } else {
        made.in.step = in_step, made.in.distance = in_distance;
        made.out.step = out_step, made.out.distance = out_distance;
    }
    if (count_bytes(&made, &made.in, true) == 0 || count_bytes(&made, &made.out, false) == 0)
        return FFT_INVALID_SIZE;
    made.made = true;
    if (bytes)
        *bytes = 0; /* the stand-in needs no work area on the device */
    return fill_plan(handle, &made);
}

VENDOR_API int cufftMakePlan1d(int handle, int x, int type, int batch, size_t *bytes)
{
    return make_plan(handle, 1, (const int64_t[]){x}, NULL, 0, 0, NULL, 0, 0, type, batch, bytes);
}

VENDOR_API int cufftMakePlan2d(int handle, int x, int y, int type, size_t *bytes)
{
    return make_plan(handle, 2, (const int64_t[]){x, y}, NULL, 0, 0, NULL, 0, 0, type, 1, bytes);
}

VENDOR_API int cufftMakePlan3d(int handle, int x, int y, int z, int type, size_t *bytes)
{
    return make_plan(handle, 3, (const int64_t[]){x, y, z}, NULL, 0, 0, NULL, 0, 0, type, 1, bytes);
}

VENDOR_API int cufftMakePlanMany64(int handle, int rank, const long long *size, const long long *in_extent,
                                   long long in_step, long long in_distance, const long long *out_extent,
                                   long long out_step, long long out_distance, int type, long long batch, size_t *bytes)
{
    int64_t sizes[RANKS] = {0}, in[RANKS] = {0}, out[RANKS] = {0};
    if (!size || rank < 1 || rank > RANKS)
        return FFT_INVALID_VALUE;
    for (int k = 0; k < rank; k++) {
        sizes[k] = size[k];
        in[k] = in_extent ? in_extent[k] : 0;
        out[k] = out_extent ? out_extent[k] : 0;
    }
    return make_plan(handle, rank, sizes, in_extent ? in : NULL, in_step, in_distance, out_extent ? out : NULL,
                     out_step, out_distance, type, batch, bytes);
}

VENDOR_API int cufftMakePlanMany(int handle, int rank, const int *size, const int *in_extent, int in_step,
                                 int in_distance, const int *out_extent, int out_step, int out_distance, int type,
                                 int batch, size_t *bytes)
{
    long long sizes[RANKS] = {0}, in[RANKS] = {0}, out[RANKS] = {0};
    if (!size || rank < 1 || rank > RANKS)
        return FFT_INVALID_VALUE;
    for (int k = 0; k < rank; k++) {
        sizes[k] = size[k];
        in[k] = in_extent ? in_extent[k] : 0;
        out[k] = out_extent ? out_extent[k] : 0;
    }
    return cufftMakePlanMany64(handle, rank, sizes, in_extent ? in : NULL, in_step, in_distance,
                               out_extent ? out : NULL, out_step, out_distance, type, batch, bytes);
}

/* Returns the type of a transform between two types of cudaDataType, or 0. */
static int type_between(int in, int out)
{
    enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 };
    static const int known[][3] = {{C_32F, C_32F, FFT_C2C}, {R_32F, C_32F, FFT_R2C}, {C_32F, R_32F, FFT_C2R},
                                   {C_64F, C_64F, FFT_Z2Z}, {R_64F, C_64F, FFT_D2Z}, {C_64F, R_64F, FFT_Z2D}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (known[k][0] == in && known[k][1] == out)
            return known[k][2];
    return 0;
}

VENDOR_API int cufftXtMakePlanMany(int handle, int rank, const long long *size, const long long *in_extent,
                                   long long in_step, long long in_distance, int in_type, const long long *out_extent,
                                   long long out_step, long long out_distance, int out_type, long long batch,
                                   size_t *bytes, int compute)
{
    (void)compute; /* `compute` has no effect, because the types determine the precision */
    const int type = type_between(in_type, out_type);
    if (!type) {
        vendor_tell_missing(LIBRARY, "cufftXtMakePlanMany with types of 16 bits");
        return FFT_NOT_SUPPORTED;
    }
    return cufftMakePlanMany64(handle, rank, size, in_extent, in_step, in_distance, out_extent, out_step, out_distance,
                               type, batch, bytes);
}

/* Defines a function that creates a handle and makes its plan. */
#define PLAN(name, parameters, call)                                                                                   \
    VENDOR_API int name parameters                                                                                     \
    {                                                                                                                  \
        int status = cufftCreate(handle);                                                                              \
        if (status == FFT_DONE && (status = call) != FFT_DONE) {                                                       \
            cufftDestroy(*handle);                                                                                     \
            *handle = 0;                                                                                               \
        }                                                                                                              \
        return status;                                                                                                 \
    }
PLAN(cufftPlan1d, (int *handle, int x, int type, int batch), cufftMakePlan1d(*handle, x, type, batch, NULL))
PLAN(cufftPlan2d, (int *handle, int x, int y, int type), cufftMakePlan2d(*handle, x, y, type, NULL))
PLAN(cufftPlan3d, (int *handle, int x, int y, int z, int type), cufftMakePlan3d(*handle, x, y, z, type, NULL))
PLAN(cufftPlanMany,
     (int *handle, int rank, const int *size, const int *in_extent, int in_step, int in_distance, const int *out_extent,
      int out_step, int out_distance, int type, int batch),
     cufftMakePlanMany(*handle, rank, size, in_extent, in_step, in_distance, out_extent, out_step, out_distance, type,
                       batch, NULL))

/* ---- execution ---- */

/* The functions of FFTW for one precision. `plan` is an opaque pointer, and `dimension` is fftw_iodim64. */
typedef struct dimension {
    ptrdiff_t n, in, out; /* number of elements, and the steps of the input and the output */
} dimension;
typedef void *(*make_complex)(int, const dimension *, int, const dimension *, void *, void *, int, unsigned);
typedef void *(*make_real)(int, const dimension *, int, const dimension *, void *, void *, unsigned);
typedef void (*use_plan)(void *);

static vendor_function *find(bool single, const char *in_double, const char *in_single)
{
    vendor_function *found = vendor_find_fftw(single, single ? in_single : in_double);
    if (!found)
        vendor_tell_missing("the host's FFTW", in_double);
    return found;
}

/* Makes a plan of FFTW for the addresses `in` and `out`. */
static void *make_fftw(const plan *p, int direction, void *in, void *out)
{
    enum { UNALIGNED = 1 << 1, ESTIMATE = 1 << 6 }; /* FFTW_UNALIGNED, FFTW_ESTIMATE */
    const unsigned flags = UNALIGNED | ESTIMATE;
    const bool single = !is_double(p->type);
    dimension dimensions[RANKS];
    int64_t in_step[RANKS], out_step[RANKS];
    list_steps(p, &p->in, in_step);
    list_steps(p, &p->out, out_step);
    for (int k = 0; k < p->rank; k++)
        dimensions[k] = (dimension){p->size[k], in_step[k], out_step[k]};
    const dimension batch = {p->batch, p->in.distance, p->out.distance};
    if (kind_of(p->type) == FFT_C2C) {
        make_complex make = (make_complex)find(single, "fftw_plan_guru64_dft", "fftwf_plan_guru64_dft");
        return make ? make(p->rank, dimensions, 1, &batch, in, out, direction, flags) : NULL;
    }
    make_real make = kind_of(p->type) == FFT_R2C
                         ? (make_real)find(single, "fftw_plan_guru64_dft_r2c", "fftwf_plan_guru64_dft_r2c")
                         : (make_real)find(single, "fftw_plan_guru64_dft_c2r", "fftwf_plan_guru64_dft_c2r");
    return make ? make(p->rank, dimensions, 1, &batch, in, out, flags) : NULL;
}

/* Runs a transform. It works on a copy of the input in two cases. First, FFTW may destroy the input of a transform from
 * complex to real. Second, FFTW need not support a transform in place if the caller chose both layouts. */
static bool transform(const void *what)
{
    const work *w = what;
    plan p = w->plan;
    const bool in_place = w->in == w->out, single = !is_double(p.type);
    if (p.basic) {
        set_basic(&p, &p.in, true, in_place);
        set_basic(&p, &p.out, false, in_place);
    }
    const size_t bytes = count_bytes(&p, &p.in, true), out_bytes = count_bytes(&p, &p.out, false);
    const size_t align = single ? sizeof(float) : sizeof(double);
    if ((uintptr_t)w->in % align || (uintptr_t)w->out % align)
        return false;
    if (!bytes || !out_bytes) /* the sizes overflow, because rows of a transform in place are padded */
        return false;
    void *in = vendor_reach(w->in, bytes, in_place, w->name), *copy = NULL;
    void *out = in ? vendor_reach(w->out, out_bytes, true, w->name) : NULL;
    if (!out)
        return false;
    if (in_place ? !p.basic : kind_of(p.type) == FFT_C2R) {
        copy = malloc(bytes);
        if (!copy)
            return false;
        memcpy(copy, in, bytes);
        in = copy;
    }
    void *made = make_fftw(&p, w->direction, in, out);
    use_plan execute = (use_plan)find(single, "fftw_execute", "fftwf_execute");
    use_plan destroy = (use_plan)find(single, "fftw_destroy_plan", "fftwf_destroy_plan");
    const bool good = made && execute && destroy;
    if (good) {
        execute(made);
        destroy(made);
    }
    free(copy);
    return good;
}

static int execute_plan(int handle, int type, const void *in, void *out, int direction, const char *name)
{
    work w = {.name = name, .direction = direction, .in = in, .out = out};
    const plan *p = &w.plan;
    if (!copy_plan(handle, &w.plan) || !p->made)
        return FFT_INVALID_PLAN;
    if (type && p->type != type)
        return FFT_INVALID_TYPE;
    if (!in || !out || (kind_of(p->type) == FFT_C2C && direction != FFT_FORWARD && direction != FFT_INVERSE))
        return FFT_INVALID_VALUE;
    bool done = true;
    return vendor_enter(p->context) && vendor_enqueue(p->stream, name, transform, &w, sizeof w, &done) && done
               ? FFT_DONE
               : FFT_EXEC_FAILED;
}

#define EXECUTE(name, type, parameters, direction)                                                                     \
    VENDOR_API int name parameters { return execute_plan(handle, type, in, out, direction, #name); }
EXECUTE(cufftExecC2C, FFT_C2C, (int handle, const void *in, void *out, int direction), direction)
EXECUTE(cufftExecZ2Z, FFT_Z2Z, (int handle, const void *in, void *out, int direction), direction)
EXECUTE(cufftExecR2C, FFT_R2C, (int handle, const void *in, void *out), FFT_FORWARD)
EXECUTE(cufftExecD2Z, FFT_D2Z, (int handle, const void *in, void *out), FFT_FORWARD)
EXECUTE(cufftExecC2R, FFT_C2R, (int handle, const void *in, void *out), FFT_INVERSE)
EXECUTE(cufftExecZ2D, FFT_Z2D, (int handle, const void *in, void *out), FFT_INVERSE)
EXECUTE(cufftXtExec, 0, (int handle, const void *in, void *out, int direction), direction)

/* ---- sizes of work areas, settings, versions ---- */

/* The stand-in needs no work area, so every size is 0. */
#define NO_AREA(name, parameters, valid)                                                                               \
    VENDOR_API int name parameters                                                                                     \
    {                                                                                                                  \
        if (!bytes || !(valid))                                                                                        \
            return FFT_INVALID_VALUE;                                                                                  \
        *bytes = 0;                                                                                                    \
        return FFT_DONE;                                                                                               \
    }
NO_AREA(cufftEstimate1d, (int x, int type, int batch, size_t *bytes), x > 0 && is_type(type) && batch > 0)
NO_AREA(cufftEstimate2d, (int x, int y, int type, size_t *bytes), x > 0 && y > 0 && is_type(type))
NO_AREA(cufftEstimate3d, (int x, int y, int z, int type, size_t *bytes), x > 0 && y > 0 && z > 0 && is_type(type))
NO_AREA(cufftEstimateMany,
        (int rank, const int *size, const int *in_extent, int in_step, int in_distance, const int *out_extent,
         int out_step, int out_distance, int type, int batch, size_t *bytes),
        rank > 0 && rank <= RANKS && size && is_type(type) && batch > 0 &&
            ((void)in_extent, (void)in_step, (void)in_distance, (void)out_extent, (void)out_step, (void)out_distance,
             1))
NO_AREA(cufftGetSize, (int handle, size_t *bytes), has_plan(handle))
NO_AREA(cufftGetSize1d, (int handle, int x, int type, int batch, size_t *bytes),
        has_plan(handle) && x > 0 && is_type(type) && batch > 0)
NO_AREA(cufftGetSize2d, (int handle, int x, int y, int type, size_t *bytes),
        has_plan(handle) && x > 0 && y > 0 && is_type(type))
NO_AREA(cufftGetSize3d, (int handle, int x, int y, int z, int type, size_t *bytes),
        has_plan(handle) && x > 0 && y > 0 && z > 0 && is_type(type))
NO_AREA(cufftGetSizeMany,
        (int handle, int rank, const int *size, const int *in_extent, int in_step, int in_distance,
         const int *out_extent, int out_step, int out_distance, int type, int batch, size_t *bytes),
        has_plan(handle) && rank > 0 && rank <= RANKS && size && is_type(type) && batch > 0 &&
            ((void)in_extent, (void)in_step, (void)in_distance, (void)out_extent, (void)out_step, (void)out_distance,
             1))

VENDOR_API int cufftSetWorkArea(int handle, void *area)
{
    (void)area;
    return has_plan(handle) ? FFT_DONE : FFT_INVALID_PLAN;
}

VENDOR_API int cufftSetAutoAllocation(int handle, int automatic)
{
    (void)automatic;
    return has_plan(handle) ? FFT_DONE : FFT_INVALID_PLAN;
}

VENDOR_API int cufftGetVersion(int *version)
{
    if (!version)
        return FFT_INVALID_VALUE;
    *version = KILN_VENDOR_VERSION * 1000;
    return FFT_DONE;
}

VENDOR_API int cufftGetProperty(int what, int *value)
{
    return vendor_version_part((const int[]){KILN_VENDOR_VERSION, 0, 0}, what, value) ? FFT_DONE : FFT_INVALID_VALUE;
}

/* ---- names that the stand-in does not implement ---- */

#define ABSENT(name) VENDOR_ABSENT(LIBRARY, name, FFT_NOT_SUPPORTED)
ABSENT(cufftGetPlanPropertyInt64)
ABSENT(cufftGetSizeMany64)
ABSENT(cufftResetPlanProperty)
ABSENT(cufftSetPlanPropertyInt64)
ABSENT(cufftXtClearCallback)
ABSENT(cufftXtExecDescriptor)
ABSENT(cufftXtExecDescriptorC2C)
ABSENT(cufftXtExecDescriptorC2R)
ABSENT(cufftXtExecDescriptorD2Z)
ABSENT(cufftXtExecDescriptorR2C)
ABSENT(cufftXtExecDescriptorZ2D)
ABSENT(cufftXtExecDescriptorZ2Z)
ABSENT(cufftXtFree)
ABSENT(cufftXtGetSizeMany)
ABSENT(cufftXtMakePlanGuru64)
ABSENT(cufftXtMalloc)
ABSENT(cufftXtMemcpy)
ABSENT(cufftXtQueryPlan)
ABSENT(cufftXtSetCallback)
ABSENT(cufftXtSetCallbackSharedSize)
ABSENT(cufftXtSetGPUs)
ABSENT(cufftXtSetJITCallback)
ABSENT(cufftXtSetWorkArea)
ABSENT(cufftXtSetWorkAreaPolicy)
