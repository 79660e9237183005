/* generate.c - generates matrices and graphs.
 *
 * All random numbers are functions of the row, the number of the entry, and the seed. The functions use only integers
 * and correctly rounded operations, so that the bytes are the same on every machine. Random bits come from the last
 * step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
#include <math.h>
#include <string.h>

#include "random.h"
#include "formats.h"

enum { CHUNK = 8192 }; /* rows of a part; for R-MAT, entries of a part */

bool kiln__matrix_kind_find(const char *name, kiln__matrix_kind *kind)
{
    static const char *const names[] = {
#define KILN_X(name) #name,
        KILN__MATRIX_KINDS(KILN_X)
#undef KILN_X
    };
    for (size_t i = 0; i < KILN__COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *kind = (kiln__matrix_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- random numbers ---- */

static uint64_t bits_of(uint64_t seed, uint64_t a, uint64_t b)
{
    return kiln__random_mix(kiln__random_mix(seed + 0x9E3779B97F4A7C15 * (a + 1)) + 0xD1B54A32D192ED03 * (b + 1));
}

/* `bound` is below 2^32, so the probabilities differ by less than 2^-32 */
static uint64_t below(uint64_t bits, uint64_t bound) { return ((bits >> 32) * bound) >> 32; }

float kiln__matrix_value(uint64_t seed, uint32_t row, uint32_t column)
{
    uint64_t bits = bits_of(seed ^ 0x76616C756573, row, column);
    /* the number has 24 bits, so the conversion is exact */
    return (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-23F;
}

/* ---- for each kind of matrix: the entries of a row, or a part of all entries ---- */

typedef struct row_sink {
    const kiln__generator *g;
    kiln__entry_sink sink;
    void *to;
} row_sink;

static void give(const row_sink *s, uint64_t row, uint64_t column)
{
    if (s->g->graph && row == column)
        return;
    s->sink(s->to, (uint32_t)row, (uint32_t)column,
            s->g->graph ? 0 : kiln__matrix_value(s->g->seed, (uint32_t)row, (uint32_t)column));
}

enum { TALL = 64 }; /* a tall matrix has this many rows for each of its columns */

static uint64_t columns_of(const kiln__generator *g)
{
    return g->kind == KILN__MATRIX_tall && !g->graph ? (g->rows + TALL - 1) / TALL : g->rows;
}

/* The matrix of a cube of cells: each cell has an entry for itself and for its 26 neighbours. */
static void stencil27(const row_sink *s, uint64_t row)
{
    const uint64_t n = s->g->side;
    uint64_t x = row % n, y = row / n % n, z = row / n / n;
    for (uint64_t k = z ? z - 1 : 0; k <= z + 1 && k < n; k++)
        for (uint64_t j = y ? y - 1 : 0; j <= y + 1 && j < n; j++)
            for (uint64_t i = x ? x - 1 : 0; i <= x + 1 && i < n; i++)
                give(s, row, (k * n + j) * n + i);
}

static void band(const row_sink *s, uint64_t row)
{
    uint64_t half = s->g->degree / 2, end = row + s->g->degree - half;
    for (uint64_t c = row > half ? row - half : 0; c < end && c < s->g->rows; c++)
        give(s, row, c);
}

/* A matrix of the finite element method. Each node has three or six unknowns, so the matrix has blocks of 3 x 3 or 6 x
 * 6. A node is linked to itself, to the next node, and to random nodes at a distance d below 2^12. The probability of a
 * distance is proportional to 1/d. */
static void fem(const row_sink *s, uint64_t row, uint64_t unknowns)
{
    enum { REACH = 12 };
    uint64_t nodes = s->g->rows / unknowns, node = row / unknowns, links = s->g->degree / (2 * unknowns);
    if (node >= nodes) { /* the last rows do not fill a node */
        give(s, row, row);
        return;
    }
    for (uint64_t c = 0; c < unknowns; c++)
        give(s, row, node * unknowns + c);
    for (uint64_t link = 0; link < links; link++) {
        /* Both nodes of a link need an entry. So `node` makes the link to a later node, at a distance that depends only
         * on `node`. The mirror image (kiln__entries.symmetric) makes the entry for the other direction. */
        uint64_t bits = bits_of(s->g->seed, node, link), exponent = (bits >> 8) % REACH;
        uint64_t distance = link == 0 ? 1 : (UINT64_C(1) << exponent) + below(bits, UINT64_C(1) << exponent);
        for (uint64_t c = 0; node + distance < nodes && c < unknowns; c++)
            give(s, row, (node + distance) * unknowns + c);
    }
}

/* The lengths of rows have the tail P(length >= x) = pow(least / x, 3/2). The mean length is three times the least
 * length. */
/* Returns u^(2/3) for 0 < u <= 1. Newton's method computes the cube root of u^2, because the result of libm differs in
 * the last bits from one machine to another. */
static double root23(double u)
{
    int exponent;
    frexp(u * u, &exponent);
    double root = ldexp(1, exponent / 3);
    for (int step = 0; step < 12; step++)
        root = (2 * root + u * u / (root * root)) / 3;
    return root;
}

static uint64_t power_length(const kiln__generator *g, uint64_t row)
{
    double u = (double)((bits_of(g->seed ^ 0x6C656E677468, row, 0) >> 11) + 1) * 0x1p-53; /* u is in (0, 1] */
    double length = (double)g->degree / 3 / root23(u);
    return length < (double)g->rows / 8 ? (uint64_t)length + 1 : g->rows / 8 + 1;
}

static void scattered(const row_sink *s, uint64_t row, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        give(s, row, below(bits_of(s->g->seed, row, i), s->g->rows));
}

/* A tall matrix. Each row has `degree` entries in random columns, and there are few columns. */
static void tall(const row_sink *s, uint64_t row)
{
    uint64_t columns = columns_of(s->g);
    for (uint64_t i = 0; i < s->g->degree; i++)
        give(s, row, below(bits_of(s->g->seed, row, i), columns));
}

/* Three diagonals. One row in four has an additional entry in a random column. */
static void noisy(const row_sink *s, uint64_t row)
{
    uint64_t bits = bits_of(s->g->seed, row, 0);
    for (uint64_t c = row ? row - 1 : 0; c <= row + 1 && c < s->g->rows; c++)
        give(s, row, c);
    if ((bits & 3) == 0)
        give(s, row, below(bits, s->g->rows));
}

/* Each row has `degree` entries in random columns. One row in 2^17 is long: it has an entry in every eighth column. */
static void long_rows(const row_sink *s, uint64_t row)
{
    if (row % (1 << 17) == (1 << 16) || (s->g->rows <= 1 << 16 && row == s->g->rows / 2))
        for (uint64_t c = row % 8; c < s->g->rows; c += 8)
            give(s, row, c);
    else
        scattered(s, row, s->g->degree);
}

/* R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with the probabilities of Graph500: 0.57, 0.19, 0.19 and 0.05. As in
 * Graph500, a bijection scrambles the numbers of the vertices. So vertices with neighbouring numbers do not have
 * similar degrees. */
static uint64_t scramble(const kiln__generator *g, uint64_t vertex)
{
    uint64_t mask = (UINT64_C(1) << g->scale) - 1, odd = kiln__random_mix(g->seed) | 1;
    for (int round = 0; round < 2; round++) {
        vertex = (vertex * odd + (odd >> 7)) & mask;
        vertex ^= vertex >> (g->scale / 2 + 1);
    }
    return vertex >= g->rows ? vertex - g->rows : vertex; /* 2^scale is below 2 rows, so one subtraction is enough */
}

static void rmat_entry(const row_sink *s, uint64_t entry)
{
    enum { A = 37356, AB = 49807, ABC = 62259 }; /* sums of the probabilities, in units of 2^-16 */
    uint64_t row = 0, column = 0, bits = 0;
    for (unsigned level = 0; level < s->g->scale; level++) {
        bits = level % 4 == 0 ? bits_of(s->g->seed, entry, level) : bits >> 16;
        unsigned draw = bits & 0xffff;
        /* The loop has no branch, because no processor can predict the random bit of a level. */
        row = row << 1 | (draw >= AB);
        column = column << 1 | (uint64_t)((draw >= A) ^ (draw >= AB) ^ (draw >= ABC));
    }
    give(s, scramble(s->g, row), scramble(s->g, column));
}

/* A road network. The vertices are crossings in a square. Each crossing is joined to the next crossing in its row with
 * a probability of 5/8, and to the next crossing in its column with the same probability. One crossing in 64 is also
 * joined to the crossing that is 30 places further in its row. The mean degree is 2.5. The graph has long detours, and
 * some crossings have no road. */
static void road(const row_sink *s, uint64_t row)
{
    const uint64_t n = s->g->side;
    uint64_t x = row % n, bits = bits_of(s->g->seed, row, 0);
    if (x + 1 < n && (bits & 7) < 5)
        give(s, row, row + 1);
    if (row + n < n * n && (bits >> 3 & 7) < 5)
        give(s, row, row + n);
    if ((bits >> 6 & 63) == 0 && x + 30 < n)
        give(s, row, row + 30);
}

static void grid2d(const row_sink *s, uint64_t row)
{
    const uint64_t n = s->g->side;
    if (row % n + 1 < n)
        give(s, row, row + 1);
    if (row + n < n * n)
        give(s, row, row + n);
}

static void make_row(const row_sink *s, uint64_t row)
{
    switch (s->g->kind) {
    case KILN__MATRIX_stencil27: stencil27(s, row); break;
    case KILN__MATRIX_band: band(s, row); break;
    case KILN__MATRIX_fem: fem(s, row, 3); break;
    case KILN__MATRIX_fem6: fem(s, row, 6); break;
    case KILN__MATRIX_power: scattered(s, row, power_length(s->g, row)); break;
    case KILN__MATRIX_long_rows: long_rows(s, row); break;
    case KILN__MATRIX_tall: tall(s, row); break;
    case KILN__MATRIX_noisy: noisy(s, row); break;
    case KILN__MATRIX_uniform: scattered(s, row, s->g->degree); break;
    case KILN__MATRIX_road:
        give(s, row, row);
        road(s, row);
        break;
    case KILN__MATRIX_grid2d:
        give(s, row, row);
        grid2d(s, row);
        break;
    case KILN__MATRIX_path:
        if (row + 1 < s->g->rows)
            give(s, row, row + 1);
        break;
    case KILN__MATRIX_star: /* the first row has every column, and each other row has one entry */
        give(s, 0, row);
        break;
    case KILN__MATRIX_arrow: /* the first row, the first column and the diagonal have entries */
        give(s, row, row);
        if (row > 0)
            give(s, 0, row);
        break;
    case KILN__MATRIX_rmat: /* walk_rmat() generates entries, not rows */
    case KILN__MATRIX_none:
    case KILN__MATRIX_KIND_COUNT: break;
    }
}

static void walk_rows(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    const kiln__generator *g = source;
    row_sink s = {g, sink, to};
    uint64_t first = (uint64_t)chunk * CHUNK;
    for (uint64_t r = first; r < first + CHUNK && r < g->rows; r++)
        make_row(&s, r);
}

static void walk_rmat(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    const kiln__generator *g = source;
    row_sink s = {g, sink, to};
    uint64_t first = (uint64_t)chunk * CHUNK, count = g->rows * g->degree;
    for (uint64_t e = first; e < first + CHUNK && e < count; e++)
        rmat_entry(&s, e);
}

/* ---- the whole matrix ---- */

static uint64_t root_below(uint64_t rows, unsigned power) /* returns the largest side with side^power <= rows */
{
    uint64_t side = 0;
    for (uint64_t step = UINT64_C(1) << 16; step > 0; step /= 2) {
        uint64_t next = side + step, product = 1;
        for (unsigned i = 0; i < power && product <= rows; i++)
            product *= next;
        if (product <= rows)
            side = next;
    }
    return side;
}

void kiln__generator_make(kiln__generator *g, kiln__entries *entries)
{
    bool cube = g->kind == KILN__MATRIX_stencil27,
         square = g->kind == KILN__MATRIX_grid2d || g->kind == KILN__MATRIX_road;
    if (cube || square) {
        g->side = root_below(g->rows, cube ? 3 : 2);
        g->rows = cube ? g->side * g->side * g->side : g->side * g->side;
    }
    for (g->scale = 0; g->scale < 40 && UINT64_C(1) << g->scale < g->rows; g->scale++) {
    }
    bool by_entries = g->kind == KILN__MATRIX_rmat;
    uint64_t items = by_entries ? g->rows * g->degree : g->kind == KILN__MATRIX_none ? 0 : g->rows;
    *entries = (kiln__entries){.rows = g->rows,
                               .columns = columns_of(g),
                               .pattern = g->graph,
                               .chunks = (size_t)((items + CHUNK - 1) / CHUNK),
                               .walk = by_entries ? walk_rmat : walk_rows,
                               .source = g};
    /* These kinds generate only one direction of each pair of entries. */
    entries->symmetric = g->graph || square || g->kind == KILN__MATRIX_fem || g->kind == KILN__MATRIX_fem6 ||
                         g->kind == KILN__MATRIX_arrow || g->kind == KILN__MATRIX_path;
}
