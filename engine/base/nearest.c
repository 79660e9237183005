/* nearest.c - finds the name that is nearest to a misspelt name: "did you mean ...?" */
#include <string.h>

#include "base.h"

/* Returns the optimal string alignment distance of two names (insert, delete, replace, swap neighbours). The distance
 * ignores case. A name of more than 63 bytes is never near. */
static unsigned distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    size_t n = strlen(a), m = strlen(b);
    if (n >= MOST || m >= MOST)
        return MOST;
    unsigned rows[3][MOST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned char x = (unsigned char)a[i - 1], y = (unsigned char)b[j - 1];
            if (x >= 'A' && x <= 'Z')
                x = (unsigned char)(x + 32);
            if (y >= 'A' && y <= 'Z')
                y = (unsigned char)(y + 32);
            unsigned best = up[j - 1] + (x != y);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *kiln__nearest(const char *name, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned least = (unsigned)(strlen(name) / 3 + 1) + 1;
    if (strlen(name) < 2)
        least = 1; /* all names of one letter have distance 1, so only the other case of the same letter is near */
    for (size_t i = 0; i < count; i++) {
        unsigned d = names[i] ? distance(name, names[i]) : least;
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}
