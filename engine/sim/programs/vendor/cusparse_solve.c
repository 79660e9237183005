/* cusparse_solve.c - cuSPARSE's solutions of triangular sparse systems (SpSV, SpSM) and of tridiagonal systems
 * (gtsv2). */
#include <stdlib.h>
#include <string.h>

#include "cusparse_work.h"

/* ---- op(A) C = alpha op(B), where A is a triangle of a sparse matrix ---- */

/* The type of cusparseSpSVDescr_t and cusparseSpSMDescr_t. The analysis stores the matrix. A later call may replace the
 * values of the matrix. */
typedef struct plan {
    bool analysed;
    sparse a;
    number *values;   /* values that replace all values of A, or NULL */
    number *diagonal; /* numbers that replace the diagonal of A, or NULL */
} plan;

static int create_plan(plan **to)
{
    if (!to)
        return INVALID_VALUE;
    *to = calloc(1, sizeof **to);
    return *to ? DONE : ALLOC_FAILED;
}

static void clear_plan(plan *p)
{
    free(p->values);
    free(p->diagonal);
    *p = (plan){.analysed = false};
}

static int destroy_plan(plan *p)
{
    if (p)
        clear_plan(p);
    free(p);
    return DONE;
}

/* The triangle of op(A) by rows. */
typedef struct triangle {
    const view *a;
    const plan *plan;
    /* `offsets`: during the counting pass, offsets[i + 1] is the number of entries of row i */
    int64_t *offsets, *columns;
    number *values, *diagonal;
    bool fills; /* this is the second pass, which stores the entries */
    int op;
    bool upper; /* op(A) is an upper triangle */
} triangle;

/* Counts or stores one entry. Skips entries of the other triangle, and the diagonal if it consists of ones. */
static bool take_entry(void *to, int64_t row, int64_t column, int64_t at)
{
    triangle *t = to;
    const sparse *m = t->a->m;
    const int64_t i = t->op == OP_N ? row : column, j = t->op == OP_N ? column : row;
    if (i != j && (j > i) != t->upper)
        return true;
    if (!t->fills) {
        t->offsets[i + 1] += i != j;
        return true;
    }
    number value = t->plan && t->plan->values ? t->plan->values[at] : sparse_value(t->a, at);
    if (t->op == OP_C)
        value = vendor_conjugate(value);
    if (i != j) {
        t->columns[t->offsets[i]] = j;
        t->values[t->offsets[i]++] = value;
    } else if (m->diag == DIAG_NON_UNIT && !(t->plan && t->plan->diagonal)) {
        t->diagonal[i] = value;
    }
    return true;
}

static void free_triangle(triangle *t)
{
    free(t->offsets);
    free(t->columns);
    free(t->values);
    free(t->diagonal);
}

/* Sorts the entries of the triangle by rows (counting sort). */
static bool read_triangle(triangle *t)
{
    const int64_t n = t->a->m->rows;
    /* the size fits, because the vector y on the device has n numbers */
    t->offsets = calloc((size_t)n + 2, sizeof *t->offsets);
    t->diagonal = new_numbers(n);
    if (!t->offsets || !t->diagonal || !sparse_walk(t->a, take_entry, t))
        return false;
    for (int64_t i = 0; i < n; i++) {
        t->offsets[i + 1] += t->offsets[i];
        if (t->a->m->diag == DIAG_UNIT)
            t->diagonal[i] = (number){1, 0};
        else if (t->plan && t->plan->diagonal)
            t->diagonal[i] = t->op == OP_C ? vendor_conjugate(t->plan->diagonal[i]) : t->plan->diagonal[i];
    }
    t->columns = calloc((size_t)t->offsets[n] + 1, sizeof *t->columns);
    t->values = new_numbers(t->offsets[n]);
    t->fills = true;
    if (!t->columns || !t->values || !sparse_walk(t->a, take_entry, t))
        return false;
    for (int64_t i = n; i > 0; i--) /* the second pass has moved each offset to the end of its row */
        t->offsets[i] = t->offsets[i - 1];
    t->offsets[0] = 0;
    return true;
}

/* Replaces the columns of x, which is stored by rows, by the solutions. */
static void solve_triangle(const triangle *t, number *x, int64_t columns)
{
    const int64_t n = t->a->m->rows;
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = t->upper ? n - 1 - step : step;
        number *row = x + i * columns;
        for (int64_t e = t->offsets[i]; e < t->offsets[i + 1]; e++)
            for (int64_t k = 0; k < columns; k++)
                row[k] = vendor_subtract(row[k], vendor_multiply(t->values[e], x[t->columns[e] * columns + k]));
        for (int64_t k = 0; k < columns; k++)
            row[k] = vendor_divide(row[k], t->diagonal[i]);
    }
}

static bool run_solve(const void *what)
{
    const work *w = what;
    number alpha;
    view a;
    bool done = sparse_scalar(w, w->alpha_at, &w->alpha, &alpha) && dense_open(w->name, &w->y, 0, true) &&
                sparse_open(w->name, &w->a, 0, false, &a);
    /* there are no right sides; the function returns early, because in this case no memory limits the number of rows */
    if (w->y.columns == 0)
        return done;
    number *x = done ? dense_read(w->name, &w->x, 0, w->op_b) : NULL;
    triangle t = {.a = &a, .plan = w->plan, .op = w->op_a, .upper = (w->a.fill == FILL_UPPER) == (w->op_a == OP_N)};
    done = x && read_triangle(&t);
    if (done) {
        for (int64_t k = 0; k < w->y.rows * w->y.columns; k++)
            x[k] = vendor_multiply(alpha, x[k]);
        solve_triangle(&t, x, w->y.columns);
        done = dense_write(w->name, &w->y, 0, (number){1, 0}, x, (number){0, 0});
    }
    free(x);
    free_triangle(&t);
    return done;
}

static int set_solve(cusparse_handle handle, work *w, const void *alpha, const sparse *a, const dense *x,
                     const dense *y)
{
    CHECK(handle, alpha && a && x && y && w->plan && is_op(w->op_a) && is_op(w->op_b) && a->rows == a->columns &&
                      a->rows == y->rows && (w->op_b == OP_N ? x->rows : x->columns) == y->rows &&
                      (w->op_b == OP_N ? x->columns : x->rows) == y->columns);
    w->a = *a;
    w->x = *x;
    w->y = *y;
    const int type = w->compute;
    const bool known = (type == R_32F || type == R_64F || type == C_32F || type == C_64F) && a->type == type &&
                       x->type == type && y->type == type && a->batch == 1 && x->batch == 1 && y->batch == 1 &&
                       (a->format == CSR || a->format == COO || a->format == SLICED_ELL);
    if (known)
        return DONE;
    vendor_tell_missing(LIBRARY, "a triangular solution of these types, formats or batches");
    return NOT_SUPPORTED;
}

static int start_solve(cusparse_handle handle, work *w, const void *alpha)
{
    const plan *p = w->plan;
    if (!p->analysed || p->a.rows != w->a.rows || p->a.stored != w->a.stored)
        return INVALID_VALUE;
    if (p->values || p->diagonal)
        /* the host waits, because a graph must not depend on the descriptor */
        return sparse_wait(handle, w, alpha, NULL, run_solve);
    w->plan = NULL;
    return sparse_enqueue(handle, w, alpha, NULL, run_solve);
}

typedef struct update {
    const char *name;
    plan *plan;
    const void *values;
    int part;
} update;

static bool run_update(const void *what)
{
    const update *u = what;
    const sparse *m = &u->plan->a;
    const int64_t count = u->part == UPDATE_GENERAL ? m->stored : m->rows;
    const void *from = sparse_reach(u->name, u->values, count, vendor_number_size(m->type), false);
    number *values = from ? new_numbers(count) : NULL,
           **kept = u->part == UPDATE_GENERAL ? &u->plan->values : &u->plan->diagonal;
    for (int64_t k = 0; values && k < count; k++)
        values[k] = vendor_read_number(from, k, m->type);
    if (u->part == UPDATE_GENERAL && values) { /* the new values include the diagonal */
        free(u->plan->diagonal);
        u->plan->diagonal = NULL;
    }
    if (values) {
        free(*kept);
        *kept = values;
    }
    return values;
}

static int update_plan(cusparse_handle handle, plan *p, const void *values, int part, const char *name)
{
    CHECK(handle, p && p->analysed && values && is_two(part));
    const update u = {.name = name, .plan = p, .values = values, .part = part};
    return sparse_wait_bytes(handle, name, &u, sizeof u, run_update);
}

/* The functions of a triangular solution. The analysis has nothing to compute, but a solution needs it. */
#define SOLVE(function_name, parameters, op_b_)                                                                        \
    VENDOR_API int function_name##_createDescr(plan **to) { return create_plan(to); }                                  \
    VENDOR_API int function_name##_destroyDescr(plan *p) { return destroy_plan(p); }                                   \
    VENDOR_API int function_name##_bufferSize(cusparse_handle handle, PARAMETERS parameters, size_t *bytes)            \
    {                                                                                                                  \
        work w = {.name = #function_name, .op_a = op_a, .op_b = (op_b_), .compute = compute, .plan = p};               \
        const int status = set_solve(handle, &w, alpha, a, x, y);                                                      \
        (void)algorithm;                                                                                               \
        return status == DONE ? sparse_set_buffer(handle, bytes) : status;                                             \
    }                                                                                                                  \
    VENDOR_API int function_name##_analysis(cusparse_handle handle, PARAMETERS parameters, void *buffer)               \
    {                                                                                                                  \
        work w = {.name = #function_name, .op_a = op_a, .op_b = (op_b_), .compute = compute, .plan = p};               \
        const int status = set_solve(handle, &w, alpha, a, x, y);                                                      \
        (void)algorithm, (void)buffer;                                                                                 \
        if (status == DONE) {                                                                                          \
            clear_plan(p);                                                                                             \
            p->a = *a;                                                                                                 \
            p->analysed = true;                                                                                        \
        }                                                                                                              \
        return status;                                                                                                 \
    }                                                                                                                  \
    VENDOR_API int function_name##_solve(cusparse_handle handle, PARAMETERS parameters)                                \
    {                                                                                                                  \
        work w = {.name = #function_name "_solve", .op_a = op_a, .op_b = (op_b_), .compute = compute, .plan = p};      \
        const int status = set_solve(handle, &w, alpha, a, x, y);                                                      \
        (void)algorithm;                                                                                               \
        return status == DONE ? start_solve(handle, &w, alpha) : status;                                               \
    }                                                                                                                  \
    VENDOR_API int function_name##_updateMatrix(cusparse_handle handle, plan *p, const void *values, int part)         \
    {                                                                                                                  \
        return update_plan(handle, p, values, part, #function_name "_updateMatrix");                                   \
    }
#define PARAMETERS(...) __VA_ARGS__
SOLVE(cusparseSpSV,
      (int op_a, const void *alpha, const sparse *a, const dense *x, const dense *y, int compute, int algorithm,
       plan *p),
      OP_N)
SOLVE(cusparseSpSM,
      (int op_a, int op_b, const void *alpha, const sparse *a, const dense *x, const dense *y, int compute,
       int algorithm, plan *p),
      op_b)

/* ---- tridiagonal systems ---- */

/* Several systems. Number k of system s lies at s * system + k * step. */
typedef struct systems {
    const char *name;
    int type;
    int64_t size, count, step, system; /* `step` and `system` are the distances for the diagonals */
    /* x_count: numbers from the first to the last right side; x_system: distance of the right sides */
    int64_t x_count, x_system;
    bool shared; /* all right sides have the same matrix */
    const void *lower, *diagonal, *upper;
    void *x;
} systems;

/* Solves one system in place by elimination with exchanges of neighbouring rows. `upper2` has the second diagonal above
 * the main diagonal, which is filled by exchanges. */
static void solve_tridiagonal(int64_t n, number *lower, number *diagonal, number *upper, number *upper2, number *x)
{
    for (int64_t k = 0; k + 1 < n; k++) {
        const number below = lower[k + 1], here = diagonal[k];
        const bool exchange = below.re * below.re + below.im * below.im > here.re * here.re + here.im * here.im;
        if (exchange) { /* exchange the rows k and k + 1 */
            const number right = upper[k], value = x[k];
            diagonal[k] = below;
            upper[k] = diagonal[k + 1];
            upper2[k] = k + 2 < n ? upper[k + 1] : (number){0, 0};
            x[k] = x[k + 1];
            const number factor = vendor_divide(here, below);
            diagonal[k + 1] = vendor_subtract(right, vendor_multiply(factor, upper[k]));
            if (k + 2 < n)
                upper[k + 1] = vendor_multiply((number){-1, 0}, vendor_multiply(factor, upper2[k]));
            x[k + 1] = vendor_subtract(value, vendor_multiply(factor, x[k]));
        } else if (!is_zero(below)) {
            const number factor = vendor_divide(below, here);
            diagonal[k + 1] = vendor_subtract(diagonal[k + 1], vendor_multiply(factor, upper[k]));
            x[k + 1] = vendor_subtract(x[k + 1], vendor_multiply(factor, x[k]));
        }
    }
    for (int64_t k = n - 1; k >= 0; k--) {
        if (k + 1 < n)
            x[k] = vendor_subtract(x[k], vendor_multiply(upper[k], x[k + 1]));
        if (k + 2 < n)
            x[k] = vendor_subtract(x[k], vendor_multiply(upper2[k], x[k + 2]));
        x[k] = vendor_divide(x[k], diagonal[k]);
    }
}

static bool run_tridiagonal(const void *what)
{
    const systems *s = what;
    const int64_t n = s->size;
    const size_t size = vendor_number_size(s->type);
    const int64_t length = (n - 1) * s->step + 1 + (s->shared ? 0 : (s->count - 1) * s->system);
    const void *lower = sparse_reach(s->name, s->lower, length, size, false),
               *diagonal = sparse_reach(s->name, s->diagonal, length, size, false),
               *upper = sparse_reach(s->name, s->upper, length, size, false);
    void *x = sparse_reach(s->name, s->x, s->x_count, size, true);
    number *room = lower && diagonal && upper && x ? new_numbers(5 * n) : NULL;
    if (!room)
        return false;
    for (int64_t i = 0; i < s->count; i++) {
        memset(room, 0, (size_t)(5 * n) * sizeof *room);
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = (s->shared ? 0 : i * s->system) + k * s->step;
            room[k] = vendor_read_number(lower, at, s->type);
            room[n + k] = vendor_read_number(diagonal, at, s->type);
            room[2 * n + k] = vendor_read_number(upper, at, s->type);
            room[4 * n + k] = vendor_read_number(x, i * s->x_system + k * s->step, s->type);
        }
        solve_tridiagonal(n, room, room + n, room + 2 * n, room + 3 * n, room + 4 * n);
        for (int64_t k = 0; k < n; k++)
            vendor_write_number(x, i * s->x_system + k * s->step, s->type, room[4 * n + k]);
    }
    free(room);
    return true;
}

static int solve_systems(cusparse_handle handle, const systems *s)
{
    return s->count == 0 ? DONE : sparse_enqueue_bytes(handle, s->name, s, sizeof *s, run_tridiagonal);
}

enum { LEAST = 3 }; /* least number of rows of a system, from NVIDIA's guide */

#define TRIDIAGONAL_PARAMETERS                                                                                         \
    cusparse_handle handle, int m, int n, const void *lower, const void *diagonal, const void *upper, void *x, int ldb
#define TRIDIAGONAL(function_name, type_)                                                                              \
    VENDOR_API int function_name##_bufferSizeExt(TRIDIAGONAL_PARAMETERS, size_t *bytes)                                \
    {                                                                                                                  \
        CHECK(handle, m >= LEAST && n >= 0 && ldb >= m);                                                               \
        (void)lower, (void)diagonal, (void)upper, (void)x;                                                             \
        return sparse_set_buffer(handle, bytes);                                                                       \
    }                                                                                                                  \
    VENDOR_API int function_name(TRIDIAGONAL_PARAMETERS, void *buffer)                                                 \
    {                                                                                                                  \
        CHECK(handle, m >= LEAST && n >= 0 && ldb >= m);                                                               \
        (void)buffer;                                                                                                  \
        const systems s = {.name = #function_name,                                                                     \
                           .type = (type_),                                                                            \
                           .size = m,                                                                                  \
                           .count = n,                                                                                 \
                           .step = 1,                                                                                  \
                           .shared = true,                                                                             \
                           .x_system = ldb,                                                                            \
                           .x_count = (int64_t)(n - 1) * ldb + m,                                                      \
                           .lower = lower,                                                                             \
                           .diagonal = diagonal,                                                                       \
                           .upper = upper,                                                                             \
                           .x = x};                                                                                    \
        return solve_systems(handle, &s);                                                                              \
    }
#define STRIDED_PARAMETERS                                                                                             \
    cusparse_handle handle, int m, const void *lower, const void *diagonal, const void *upper, void *x, int batch,     \
        int stride
#define STRIDED(function_name, type_)                                                                                  \
    VENDOR_API int function_name##_bufferSizeExt(STRIDED_PARAMETERS, size_t *bytes)                                    \
    {                                                                                                                  \
        CHECK(handle, m >= LEAST && batch > 0 && stride >= m);                                                         \
        (void)lower, (void)diagonal, (void)upper, (void)x;                                                             \
        return sparse_set_buffer(handle, bytes);                                                                       \
    }                                                                                                                  \
    VENDOR_API int function_name(STRIDED_PARAMETERS, void *buffer)                                                     \
    {                                                                                                                  \
        CHECK(handle, m >= LEAST && batch > 0 && stride >= m);                                                         \
        (void)buffer;                                                                                                  \
        const systems s = {.name = #function_name,                                                                     \
                           .type = (type_),                                                                            \
                           .size = m,                                                                                  \
                           .count = batch,                                                                             \
                           .step = 1,                                                                                  \
                           .system = stride,                                                                           \
                           .x_system = stride,                                                                         \
                           .x_count = (int64_t)(batch - 1) * stride + m,                                               \
                           .lower = lower,                                                                             \
                           .diagonal = diagonal,                                                                       \
                           .upper = upper,                                                                             \
                           .x = x};                                                                                    \
        return solve_systems(handle, &s);                                                                              \
    }
/* The systems are interleaved: the numbers k of all systems lie together. cuSPARSE overwrites the diagonals, and the
 * stand-in leaves them unchanged. */
#define INTERLEAVED_PARAMETERS                                                                                         \
    cusparse_handle handle, int algorithm, int m, const void *lower, const void *diagonal, const void *upper, void *x, \
        int batch
#define INTERLEAVED(function_name, type_)                                                                              \
    VENDOR_API int function_name##_bufferSizeExt(INTERLEAVED_PARAMETERS, size_t *bytes)                                \
    {                                                                                                                  \
        CHECK(handle, algorithm >= 0 && algorithm <= 2 && m > 0 && batch > 0);                                         \
        (void)lower, (void)diagonal, (void)upper, (void)x;                                                             \
        return sparse_set_buffer(handle, bytes);                                                                       \
    }                                                                                                                  \
    VENDOR_API int function_name(INTERLEAVED_PARAMETERS, void *buffer)                                                 \
    {                                                                                                                  \
        CHECK(handle, algorithm >= 0 && algorithm <= 2 && m > 0 && batch > 0);                                         \
        (void)buffer;                                                                                                  \
        const systems s = {.name = #function_name,                                                                     \
                           .type = (type_),                                                                            \
                           .size = m,                                                                                  \
                           .count = batch,                                                                             \
                           .step = batch,                                                                              \
                           .system = 1,                                                                                \
                           .x_system = 1,                                                                              \
                           .x_count = (int64_t)m * batch,                                                              \
                           .lower = lower,                                                                             \
                           .diagonal = diagonal,                                                                       \
                           .upper = upper,                                                                             \
                           .x = x};                                                                                    \
        return solve_systems(handle, &s);                                                                              \
    }
#define TYPED(letter, type)                                                                                            \
    TRIDIAGONAL(cusparse##letter##gtsv2, type)                                                                         \
    TRIDIAGONAL(cusparse##letter##gtsv2_nopivot, type)                                                                 \
    STRIDED(cusparse##letter##gtsv2StridedBatch, type)                                                                 \
    INTERLEAVED(cusparse##letter##gtsvInterleavedBatch, type)
TYPED(S, R_32F)
TYPED(D, R_64F)
TYPED(C, C_32F)
TYPED(Z, C_64F)
