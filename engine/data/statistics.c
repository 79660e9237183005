/* statistics.c - computes the median of repetitions and its confidence interval. */
#include <math.h>
#include <stdlib.h>

#include "data.h"

/* Computes a confidence interval of the median that is valid for every distribution. With x(1) <= ... <= x(n), the
 * median lies in [x(l), x(n + 1 - l)] with probability 1 - 2 P(B < l), where B is binomial with n trials of probability
 * 1/2 (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2). With fewer than 6 samples even [x(1),
 * x(n)] does not reach 95 %. The function then returns [x(1), x(n)]. */
void kiln__median_ranks(unsigned n, unsigned *low, unsigned *high)
{
    unsigned l = 1;
    if (n > 1000) { /* 2^-n would underflow; for more than 1000 samples the normal approximation is exact to one rank */
        double z = 0.5 * (double)n - 0.98 * sqrt((double)n);
        l = (unsigned)z;
    } else {
        double term = ldexp(1, -(int)n), below = term; /* P(B = 0), P(B < 1) */
        for (unsigned k = 1; k <= n / 2; k++) {
            term *= (double)(n - k + 1) / k;
            below += term; /* P(B < k + 1) */
            if (below > 0.025)
                break;
            l = k + 1;
        }
    }
    *low = n ? l : 0;
    *high = n ? n + 1 - l : 0;
}

/* Adds the binomial probabilities P(B = k) from k = n down to k = wins. The smallest term usually comes first, which
 * keeps the rounding errors small. */
double kiln__sign_test(unsigned n, unsigned wins)
{
    double term = ldexp(1, -(int)n), sum = 0; /* P(B = n) */
    for (unsigned k = n; k >= wins; k--) {
        sum += term;
        if (k == 0)
            break;
        term *= (double)k / (n - k + 1);
    }
    return sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void kiln__median(double *samples, unsigned count, double *median, double *low, double *high)
{
    unsigned from, to;
    *median = *low = *high = 0;
    if (count == 0)
        return;
    qsort(samples, count, sizeof *samples, by_value);
    kiln__median_ranks(count, &from, &to);
    *median = count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
    *low = samples[from - 1];
    *high = samples[to - 1];
}
