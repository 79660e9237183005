/* lattice.c - the lattice of the family `cutoff`: reads its arguments, and finds the points near an atom. */
#include <math.h>

#include "cutoff.h"
#include "vector.h"

bool kiln__lattice_ok(kiln_call *call, const kiln__lattice *l)
{
    for (int i = 0; i < 3; i++)
        if (l->n[i] < 0 || l->n[i] > 1 << 20)
            return kiln_call_fail(call, "the lattice must have 0 to 2^20 points in each direction"), false;
    if (!(l->spacing >= 1e-6 && l->spacing <= 1e6) || !(l->radius == 0 || (l->radius >= 1e-6 && l->radius <= 1e12)))
        return kiln_call_fail(call, "spacing must be 1e-6 to 1e6, and radius 0 or 1e-6 to 1e12"), false;
    return true;
}

bool kiln__lattice_args(kiln_call *call, kiln__lattice *l)
{
    return kiln_call_int(call, "nx", NULL, &l->n[0]) == KILN_OK &&
           kiln_call_int(call, "ny", NULL, &l->n[1]) == KILN_OK &&
           kiln_call_int(call, "nz", NULL, &l->n[2]) == KILN_OK &&
           kiln_call_float(call, "spacing", NULL, &l->spacing) == KILN_OK &&
           kiln_call_float(call, "radius", NULL, &l->radius) == KILN_OK && kiln__lattice_ok(call, l);
}

bool kiln__lattice_range(const kiln__lattice *l, int axis, double at, double reach, int64_t range[2])
{
    double low = ceil((at - reach) / l->spacing), high = floor((at + reach) / l->spacing);
    double end = (double)l->n[axis] - 1;
    if (!(low <= end && high >= 0 && low <= high))
        return false;
    range[0] = low < 0 ? 0 : (int64_t)low;
    range[1] = high > end ? (int64_t)end : (int64_t)high;
    return true;
}

/* Returns the number of points of the x axis within `reach` of `at`, as kiln__lattice_range() counts them. With AVX2
 * the compiler uses one instruction for each ceil() and floor(). An empty range gives 0. `binary` tells that the
 * spacing is a power of two. Then the product with `inverse` has the same bits as the quotient. */
static inline __attribute__((always_inline)) double points_of_row(double at, double reach, double spacing,
                                                                  double inverse, bool binary, double end)
{
    double low = ceil(binary ? (at - reach) * inverse : (at - reach) / spacing);
    double high = floor(binary ? (at + reach) * inverse : (at + reach) / spacing);
    low = low < 0 ? 0 : low;
    high = high > end ? end : high;
    return high >= low ? high - low + 1 : 0;
}

static inline __attribute__((always_inline)) uint64_t count_points(const kiln__lattice *l, const float *atom,
                                                                   bool binary)
{
    uint64_t count = 0;
    int64_t y[2], z[2];
    const double squared = l->radius * l->radius, end = (double)l->n[0] - 1, inverse = 1 / l->spacing;
    if (!kiln__lattice_range(l, 2, (double)atom[2], l->radius, z))
        return 0;
    for (int64_t k = z[0]; k <= z[1]; k++) {
        double dz = (double)atom[2] - (double)k * l->spacing, rest = squared - dz * dz, sum = 0;
        if (rest <= 0 || !kiln__lattice_range(l, 1, (double)atom[1], sqrt(rest), y))
            continue;
        for (int64_t j = y[0]; j <= y[1]; j++) {
            double dy = (double)atom[1] - (double)j * l->spacing, last = rest - dy * dy;
            double reach = sqrt(last > 0 ? last : 0);
            double points = points_of_row((double)atom[0], reach, l->spacing, inverse, binary, end);
            sum += last > 0 ? points : 0;
        }
        count += (uint64_t)sum;
    }
    return count;
}

static uint64_t points_base(const kiln__lattice *l, const float *atom) { return count_points(l, atom, false); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t points_avx2(const kiln__lattice *l, const float *atom)
{
    int exponent;
    return frexp(l->spacing, &exponent) == 0.5 ? count_points(l, atom, true) : count_points(l, atom, false);
}
#endif

uint64_t kiln__lattice_points(const kiln__lattice *l, const float *atom)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return points_avx2(l, atom);
#endif
    return points_base(l, atom);
}

bool kiln__atoms_ok(const kiln_array *atoms)
{
    return atoms->dims == 2 && atoms->type == KILN_f32 && atoms->shape[1] == 4;
}
