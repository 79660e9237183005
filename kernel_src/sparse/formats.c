/* formats.c - host functions that convert a matrix in CSR to the formats of the kernels. The argument `matrix` of each
 * function is an input that exports csr.offsets, csr.index and csr.values. Every format keeps the entries of a row in
 * the order of their columns. */
#include <string.h>

#include "formats.h"

/* ---- the argument `matrix` of a host function ---- */

kiln_status kiln__take_matrix(kiln_call *call, kiln__csr *matrix)
{
    const kiln_array *offsets, *index, *values;
    int64_t columns;
    if (kiln_call_array(call, "matrix.csr.offsets", &offsets) != KILN_OK ||
        kiln_call_array(call, "matrix.csr.index", &index) != KILN_OK ||
        kiln_call_array(call, "matrix.csr.values", &values) != KILN_OK ||
        kiln_call_int(call, "matrix.columns", NULL, &columns) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (offsets->type != KILN_u32 || offsets->dims != 1 || offsets->shape[0] < 1 || index->type != KILN_u32 ||
        index->dims != 1 || values->type != KILN_f32 || values->dims != 1 || values->shape[0] != index->shape[0])
        return kiln_call_fail(call,
                              "`matrix` is not a sparse matrix: csr.offsets and csr.index must be one-dimensional "
                              "arrays of u32, and csr.values of f32");
    *matrix = (kiln__csr){.rows = (uint32_t)(offsets->shape[0] - 1),
                          .columns = (uint32_t)columns,
                          .nonzeros = (uint32_t)index->shape[0],
                          .offsets = offsets->data,
                          .index = index->data,
                          .values = values->data};
    return KILN_OK;
}

static uint32_t length_of(const kiln__csr *m, uint32_t row) { return m->offsets[row + 1] - m->offsets[row]; }

static uint32_t longest(const kiln__csr *m)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < m->rows; r++)
        most = length_of(m, r) > most ? length_of(m, r) : most;
    return most;
}

kiln_status kiln__export_line(kiln_call *call, const char *name, kiln_type type, uint64_t length, void *data)
{
    kiln_array *array;
    kiln_status status = kiln_call_export_array(call, name, type, 1, &length, &array);
    if (status == KILN_OK)
        *(void **)data = array->data;
    return status;
}

kiln_status kiln__check_padding(kiln_call *call, const char *format, uint64_t stored, const kiln__csr *m)
{
    const int64_t usual = 16;
    int64_t most;
    kiln_status status = kiln_call_int(call, "padding", &usual, &most);
    if (status == KILN_OK && stored > 1024 && (double)stored > (double)most * m->nonzeros)
        return kiln_call_fail(call,
                              "%s would store %.3g times the %u entries of the matrix; `padding` allows %lld times",
                              format, (double)stored / (m->nonzeros ? m->nonzeros : 1), m->nonzeros, (long long)most);
    return status;
}

/* ---- COO: stores the row of each entry ---- */

kiln_status kiln__host_sparse_coo(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    uint32_t *rows;
    if (kiln__take_matrix(call, &m) != KILN_OK ||
        kiln__export_line(call, "rows", KILN_u32, m.nonzeros, &rows) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t r = 0; r < m.rows; r++)
        for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++)
            rows[i] = r;
    return KILN_OK;
}

/* ---- ELL: every row is padded to the length of the longest row; the j-th entries of all rows are contiguous ---- */

/* Pads a row with entries that have the value 0 and the column of the row's last entry, or column 0 in an empty row. */
static void fill_ell(const kiln__csr *m, uint32_t width, uint32_t *index, float *values)
{
    for (uint32_t r = 0; r < m->rows; r++) {
        uint32_t first = m->offsets[r], length = length_of(m, r), last = 0;
        for (uint32_t j = 0; j < width; j++) {
            size_t to = (size_t)j * m->rows + r;
            last = j < length ? m->index[first + j] : last;
            index[to] = last;
            values[to] = j < length ? m->values[first + j] : 0;
        }
    }
}

static kiln_status export_ell(kiln_call *call, const kiln__csr *m, uint32_t width)
{
    uint64_t stored = (uint64_t)width * m->rows;
    uint32_t *index;
    float *values;
    if (kiln__check_padding(call, "ELL", stored, m) != KILN_OK ||
        kiln_call_export_int(call, "width", width) != KILN_OK ||
        kiln__export_line(call, "ell.index", KILN_u32, stored, &index) != KILN_OK ||
        kiln__export_line(call, "ell.values", KILN_f32, stored, &values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    fill_ell(m, width, index, values);
    return KILN_OK;
}

kiln_status kiln__host_sparse_ell(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    kiln_status status = kiln__take_matrix(call, &m);
    return status == KILN_OK ? export_ell(call, &m, longest(&m)) : status;
}

/* ---- hybrid: ELL up to a width, and COO for the other entries of longer rows ---- */

/* Chooses the width by Bell and Garland (SC 2009). It is the largest width with enough rows of at least this length: a
 * third of all rows, and at least 4096 rows. If the matrix has fewer than 4096 rows, a third of all rows is enough. */
static kiln_status usual_width(kiln_call *call, const kiln__csr *m, uint32_t *width)
{
    uint32_t most = longest(m),
             needed = m->rows / 3 > 4096 ? m->rows / 3
                      : m->rows < 4096   ? m->rows / 3
                                         : 4096,
             as_long = 0;
    uint32_t *rows_of = kiln__calloc(kiln_call_allocator(call), (size_t)most + 1, sizeof *rows_of);
    if (!rows_of)
        return kiln_call_fail(call, "out of host memory");
    for (uint32_t r = 0; r < m->rows; r++)
        rows_of[length_of(m, r)]++;
    for (*width = most; *width > 0; (*width)--) {
        as_long += rows_of[*width];
        if (as_long >= needed)
            break;
    }
    kiln__free(kiln_call_allocator(call), rows_of);
    return KILN_OK;
}

/* Sets starts[b] to the number of the entries in the bands before band b. Only entries after the first `width` entries
 * of their row count. A band is a range of `band` columns. */
static void count_bands(const kiln__csr *m, uint32_t width, uint64_t band, uint64_t *starts)
{
    for (uint32_t r = 0; r < m->rows; r++)
        for (uint64_t j = m->offsets[r] + (uint64_t)width; j < m->offsets[r + 1]; j++)
            starts[m->index[j] / band + 1]++;
    for (uint64_t b = 0; b * band < m->columns; b++)
        starts[b + 1] += starts[b];
}

/* Exports the entries after the first `width` entries of each row. They are sorted by bands of `band` columns, and
 * within a band by rows. If `band` is 0, there is one band. All entries of a band read the same elements of x, so a
 * cache can hold these elements. */
static kiln_status export_rest(kiln_call *call, const kiln__csr *m, uint32_t width, uint64_t band)
{
    uint64_t count = 0;
    uint32_t *rows, *index;
    float *values;
    for (uint32_t r = 0; r < m->rows; r++)
        count += length_of(m, r) > width ? length_of(m, r) - width : 0;
    if (kiln_call_export_int(call, "rest", (int64_t)count) != KILN_OK ||
        kiln__export_line(call, "rest.rows", KILN_u32, count, &rows) != KILN_OK ||
        kiln__export_line(call, "rest.index", KILN_u32, count, &index) != KILN_OK ||
        kiln__export_line(call, "rest.values", KILN_f32, count, &values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (band == 0)
        band = (uint64_t)m->columns + 1;
    uint64_t *at = kiln__calloc(kiln_call_allocator(call), (size_t)(m->columns / band) + 2, sizeof *at);
    if (!at)
        return kiln_call_fail(call, "out of host memory");
    count_bands(m, width, band, at);
    for (uint32_t r = 0; r < m->rows; r++) {
        for (uint64_t j = m->offsets[r] + (uint64_t)width; j < m->offsets[r + 1]; j++) {
            uint64_t to = at[m->index[j] / band]++;
            rows[to] = r;
            index[to] = m->index[j];
            values[to] = m->values[j];
        }
    }
    kiln__free(kiln_call_allocator(call), at);
    return KILN_OK;
}

kiln_status kiln__host_sparse_hybrid(void *user, kiln_call *call)
{
    (void)user;
    const int64_t choose = 0, one = 0;
    int64_t wanted, band;
    kiln__csr m;
    uint32_t width = 0;
    if (kiln__take_matrix(call, &m) != KILN_OK || kiln_call_int(call, "width", &choose, &wanted) != KILN_OK ||
        kiln_call_int(call, "band", &one, &band) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (wanted < 0)
        return kiln_call_fail(call, "width is negative; 0 leaves the choice to the function");
    if (band < 0)
        return kiln_call_fail(call, "band is negative; 0 is one band of all columns");
    if (wanted == 0 && usual_width(call, &m, &width) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (wanted > 0)
        width = wanted < longest(&m) ? (uint32_t)wanted : longest(&m);
    kiln_status status = export_ell(call, &m, width);
    return status == KILN_OK ? export_rest(call, &m, width, (uint64_t)band) : status;
}

/* ---- rows sorted by length, with the longest row first ---- */

/* Sorts the rows of each window of `window` rows by length. The sort is a counting sort. It is stable. */
static kiln_status sort_rows(kiln_call *call, const kiln__csr *m, uint64_t window, uint32_t *order)
{
    uint32_t most = longest(m);
    size_t *at = kiln__alloc(kiln_call_allocator(call), ((size_t)most + 2) * sizeof *at);
    if (!at)
        return kiln_call_fail(call, "out of host memory");
    for (uint64_t first = 0; first < m->rows; first += window) {
        uint32_t end = m->rows - first < window ? m->rows : (uint32_t)(first + window), group_most = 0;
        for (uint32_t r = (uint32_t)first; r < end; r++)
            group_most = length_of(m, r) > group_most ? length_of(m, r) : group_most;
        memset(at, 0, ((size_t)group_most + 2) * sizeof *at);
        for (uint32_t r = (uint32_t)first; r < end; r++)
            at[group_most - length_of(m, r) + 1]++;
        for (uint32_t l = 0; l < group_most; l++)
            at[l + 1] += at[l];
        for (uint32_t r = (uint32_t)first; r < end; r++)
            order[first + at[group_most - length_of(m, r)]++] = r;
    }
    kiln__free(kiln_call_allocator(call), at);
    return KILN_OK;
}

/* In the format JDS, the rows are sorted by length, with the longest row first. The element order[i] is the number of
 * the row in place i. The function exports the rows in two forms: as CSR (csr.offsets, ...), and transposed. In the
 * transposed form, the j-th entries of all rows that have one are contiguous. These entries begin at starts[j]. */
kiln_status kiln__host_sparse_jds(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    uint32_t *order, *offsets, *starts, *by_row, *by_entry;
    float *row_values, *entry_values;
    if (kiln__take_matrix(call, &m) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint32_t most = longest(&m);
    if (kiln_call_export_int(call, "largest", most) != KILN_OK ||
        kiln__export_line(call, "order", KILN_u32, m.rows, &order) != KILN_OK ||
        kiln__export_line(call, "csr.offsets", KILN_u32, (uint64_t)m.rows + 1, &offsets) != KILN_OK ||
        kiln__export_line(call, "csr.index", KILN_u32, m.nonzeros, &by_row) != KILN_OK ||
        kiln__export_line(call, "csr.values", KILN_f32, m.nonzeros, &row_values) != KILN_OK ||
        kiln__export_line(call, "starts", KILN_u32, (uint64_t)most + 1, &starts) != KILN_OK ||
        kiln__export_line(call, "index", KILN_u32, m.nonzeros, &by_entry) != KILN_OK ||
        kiln__export_line(call, "values", KILN_f32, m.nonzeros, &entry_values) != KILN_OK ||
        sort_rows(call, &m, (uint64_t)m.rows + 1, order) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    /* starts[j + 1] is first the number of rows that have a j-th entry; prefix sums replace these numbers later */
    for (uint32_t i = 0; i < m.rows; i++) {
        uint32_t length = length_of(&m, order[i]);
        offsets[i + 1] = offsets[i] + length;
        if (m.nonzeros) {
            memcpy(by_row + offsets[i], m.index + m.offsets[order[i]], length * sizeof *by_row);
            memcpy(row_values + offsets[i], m.values + m.offsets[order[i]], length * sizeof *row_values);
        }
        for (uint32_t j = 0; j < length; j++)
            starts[j + 1]++;
    }
    for (uint32_t j = 0; j < most; j++)
        starts[j + 1] += starts[j];
    for (uint32_t i = 0; i < m.rows; i++) {
        for (uint32_t j = 0; j < length_of(&m, order[i]); j++) {
            by_entry[starts[j] + i] = by_row[offsets[i] + j];
            entry_values[starts[j] + i] = row_values[offsets[i] + j];
        }
    }
    return KILN_OK;
}

/* ---- SELL-C-sigma (Kreutzer and others, SISC 2014); the variant jds_ell uses it with sigma = 0 ---- */

static void fill_slice(const kiln__csr *m, const uint32_t *order, uint32_t first, uint32_t height, uint32_t begin,
                       uint32_t width, uint32_t *index, float *values)
{
    for (uint32_t lane = 0; lane < height; lane++) {
        bool there = first + lane < m->rows;
        uint32_t row = there ? order[first + lane] : 0, length = there ? length_of(m, row) : 0, last = 0;
        for (uint32_t j = 0; j < width; j++) {
            size_t to = (size_t)begin + (size_t)j * height + lane;
            last = j < length ? m->index[m->offsets[row] + j] : last;
            index[to] = last;
            values[to] = j < length ? m->values[m->offsets[row] + j] : 0;
        }
    }
}

/* In the format SELL-C-sigma, slices have `height` rows, and each slice is padded to the length of its longest row.
 * Before that, the rows are sorted by length in windows of `sigma` rows, which keeps slices narrow. If `sigma` is 0,
 * one window has all rows. */
kiln_status kiln__host_sparse_sell(void *user, kiln_call *call)
{
    (void)user;
    const int64_t all = 0;
    int64_t height, sigma;
    kiln__csr m;
    uint32_t *order, *starts, *index;
    float *values;
    if (kiln__take_matrix(call, &m) != KILN_OK || kiln_call_int(call, "height", NULL, &height) != KILN_OK ||
        kiln_call_int(call, "sigma", &all, &sigma) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (height < 1 || height > 1 << 20 || sigma < 0)
        return kiln_call_fail(call, "height must be 1 to 1048576, and sigma 0 or more");
    uint32_t slices = (uint32_t)((m.rows + (uint64_t)height - 1) / (uint64_t)height);
    if (kiln__export_line(call, "order", KILN_u32, m.rows, &order) != KILN_OK ||
        kiln__export_line(call, "starts", KILN_u32, (uint64_t)slices + 1, &starts) != KILN_OK ||
        sort_rows(call, &m, sigma ? (uint64_t)sigma : (uint64_t)m.rows + 1, order) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint64_t stored = 0;
    for (uint32_t s = 0; s < slices; s++) {
        uint32_t width = 0;
        for (uint64_t r = (uint64_t)s * (uint64_t)height; r < m.rows && r < (s + UINT64_C(1)) * (uint64_t)height; r++)
            width = length_of(&m, order[r]) > width ? length_of(&m, order[r]) : width;
        starts[s] = (uint32_t)stored;
        stored += width * (uint64_t)height;
        if (stored > UINT32_MAX)
            return kiln_call_fail(call, "sliced ELL would store 2^32 entries or more");
    }
    starts[slices] = (uint32_t)stored;
    if (kiln__check_padding(call, "sliced ELL", stored, &m) != KILN_OK ||
        kiln_call_export_int(call, "slices", slices) != KILN_OK ||
        kiln__export_line(call, "index", KILN_u32, stored, &index) != KILN_OK ||
        kiln__export_line(call, "values", KILN_f32, stored, &values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t s = 0; s < slices; s++)
        fill_slice(&m, order, (uint32_t)(s * (uint64_t)height), (uint32_t)height, starts[s],
                   (uint32_t)((starts[s + 1] - starts[s]) / (uint64_t)height), index, values);
    return KILN_OK;
}

/* ---- DIA: whole diagonals ----
 *
 * The element offsets[d] is the column minus the row of the entries of diagonal d. The offsets are ascending. The
 * element values[d * rows + r] is the entry of row r on this diagonal. */

kiln_status kiln__host_sparse_dia(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    int32_t *offsets;
    float *values;
    if (kiln__take_matrix(call, &m) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (m.rows > INT32_MAX || m.columns > INT32_MAX)
        return kiln_call_fail(call, "DIA needs fewer than 2^31 rows and columns");
    size_t places = (size_t)m.rows + m.columns; /* the diagonal with offset d has the place d + rows */
    uint32_t *slot = kiln__calloc(kiln_call_allocator(call), places + 1, sizeof *slot), count = 0;
    if (!slot)
        return kiln_call_fail(call, "out of host memory");
    for (uint32_t r = 0; r < m.rows; r++)
        for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++)
            slot[(size_t)m.index[i] + m.rows - r] = 1;
    for (size_t d = 0; d < places; d++)
        count += slot[d];
    uint64_t stored = (uint64_t)count * m.rows;
    kiln_status status = kiln__check_padding(call, "DIA", stored, &m);
    if (status == KILN_OK)
        status = kiln_call_export_int(call, "diagonals", count);
    if (status == KILN_OK)
        status = kiln__export_line(call, "offsets", KILN_i32, count, &offsets);
    if (status == KILN_OK)
        status = kiln__export_line(call, "values", KILN_f32, stored, &values);
    if (status == KILN_OK) {
        uint32_t next = 0;
        for (size_t d = 0; d < places; d++) {
            if (slot[d]) {
                offsets[next] = (int32_t)((int64_t)d - m.rows);
                slot[d] = next++;
            }
        }
        for (uint32_t r = 0; r < m.rows; r++)
            for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++)
                values[(size_t)slot[(size_t)m.index[i] + m.rows - r] * m.rows + r] = m.values[i];
    }
    kiln__free(kiln_call_allocator(call), slot);
    return status;
}

/* ---- BCSR: dense blocks of height x width entries; each block is stored row by row ---- */

/* Returns the number of blocks in a row of blocks. The first row of these blocks is `first`. The blocks are in the
 * order of their columns. If `index` is not NULL, the function sets index[i] to the column of block i. If `values` is
 * not NULL, the function writes the entries to the blocks. The values of the blocks must be 0 before. */
static uint32_t block_row(const kiln__csr *m, uint32_t first, uint32_t height, uint32_t width, uint32_t *index,
                          float *values)
{
    uint32_t at[64], end[64], blocks = 0;
    for (uint32_t i = 0; i < height; i++) {
        at[i] = first + i < m->rows ? m->offsets[first + i] : 0;
        end[i] = first + i < m->rows ? m->offsets[first + i + 1] : 0;
    }
    for (;;) {
        uint32_t column = UINT32_MAX;
        for (uint32_t i = 0; i < height; i++)
            if (at[i] < end[i] && m->index[at[i]] / width < column)
                column = m->index[at[i]] / width;
        if (column == UINT32_MAX)
            return blocks;
        if (index)
            index[blocks] = column;
        for (uint32_t i = 0; i < height; i++)
            for (; at[i] < end[i] && m->index[at[i]] / width == column; at[i]++)
                if (values)
                    values[((size_t)blocks * height + i) * width + m->index[at[i]] % width] = m->values[at[i]];
        blocks++;
    }
}

/* Exports the dense blocks of height x width that have an entry, and the columns of these blocks. The function walks
 * the rows of blocks twice. First it counts the blocks, and then it fills them. */
kiln_status kiln__host_sparse_bcsr(void *user, kiln_call *call)
{
    (void)user;
    int64_t height, width;
    kiln__csr m;
    uint32_t *offsets, *index;
    float *values;
    if (kiln__take_matrix(call, &m) != KILN_OK || kiln_call_int(call, "height", NULL, &height) != KILN_OK ||
        kiln_call_int(call, "width", NULL, &width) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    if (height < 1 || height > 64 || width < 1 || width > 64)
        return kiln_call_fail(call, "height and width of a block must be 1 to 64");
    uint32_t high = (uint32_t)height, wide = (uint32_t)width, rows = (uint32_t)((m.rows + (uint64_t)high - 1) / high);
    if (kiln_call_export_int(call, "rows", rows) != KILN_OK ||
        kiln__export_line(call, "offsets", KILN_u32, (uint64_t)rows + 1, &offsets) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t r = 0; r < rows; r++)
        offsets[r + 1] = offsets[r] + block_row(&m, r * high, high, wide, NULL, NULL);
    uint64_t stored = (uint64_t)offsets[rows] * high * wide;
    if (kiln__check_padding(call, "BCSR", stored, &m) != KILN_OK ||
        kiln_call_export_int(call, "blocks", offsets[rows]) != KILN_OK ||
        kiln__export_line(call, "index", KILN_u32, offsets[rows], &index) != KILN_OK ||
        kiln__export_line(call, "values", KILN_f32, stored, &values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t r = 0; r < rows; r++)
        if (offsets[r + 1] > offsets[r])
            block_row(&m, r * high, high, wide, index + offsets[r], values + (size_t)offsets[r] * high * wide);
    return KILN_OK;
}

/* ---- CSR with 16-bit columns: a column is stored as its distance from the diagonal; entries that are too far are
 * stored as COO ---- */

static bool is_near(uint32_t row, uint32_t column)
{
    int64_t distance = (int64_t)column - row;
    return distance >= INT16_MIN && distance <= INT16_MAX;
}

/* Exports the entries near the diagonal with distances of 16 bits, and all other entries as COO. The first pass counts
 * the entries near the diagonal in each row. The second pass writes all entries in order. */
kiln_status kiln__host_sparse_delta(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    uint32_t *offsets, *rest_rows, *rest_index;
    int16_t *distance;
    float *values, *rest_values;
    if (kiln__take_matrix(call, &m) != KILN_OK ||
        kiln__export_line(call, "offsets", KILN_u32, (uint64_t)m.rows + 1, &offsets) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t r = 0; r < m.rows; r++) {
        offsets[r + 1] = offsets[r];
        for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++)
            offsets[r + 1] += is_near(r, m.index[i]);
    }
    uint32_t near = offsets[m.rows], rest = m.nonzeros - near, to = 0, rest_to = 0;
    if (kiln_call_export_int(call, "rest", rest) != KILN_OK ||
        kiln__export_line(call, "distance", KILN_i16, near, &distance) != KILN_OK ||
        kiln__export_line(call, "values", KILN_f32, near, &values) != KILN_OK ||
        kiln__export_line(call, "rest.rows", KILN_u32, rest, &rest_rows) != KILN_OK ||
        kiln__export_line(call, "rest.index", KILN_u32, rest, &rest_index) != KILN_OK ||
        kiln__export_line(call, "rest.values", KILN_f32, rest, &rest_values) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    for (uint32_t r = 0; r < m.rows; r++) {
        for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++) {
            if (is_near(r, m.index[i])) {
                distance[to] = (int16_t)((int64_t)m.index[i] - r);
                values[to++] = m.values[i];
            } else {
                rest_rows[rest_to] = r;
                rest_index[rest_to] = m.index[i];
                rest_values[rest_to++] = m.values[i];
            }
        }
    }
    return KILN_OK;
}

/* ---- CSR with columns numbered by their frequency, the most frequent column first ---- */

/* The element order[i] is the old number of column i. The entries of a row keep their order. */
kiln_status kiln__host_sparse_popular(void *user, kiln_call *call)
{
    (void)user;
    kiln__csr m;
    uint32_t *order, *index;
    if (kiln__take_matrix(call, &m) != KILN_OK ||
        kiln__export_line(call, "order", KILN_u32, m.columns, &order) != KILN_OK ||
        kiln__export_line(call, "index", KILN_u32, m.nonzeros, &index) != KILN_OK)
        return KILN_ERROR_HOST_FUNCTION;
    uint32_t *counts = kiln__calloc(kiln_call_allocator(call), (size_t)m.columns + 1, sizeof *counts);
    uint32_t *renamed = kiln__alloc(kiln_call_allocator(call), ((size_t)m.columns + 1) * sizeof *renamed), most = 0;
    for (uint32_t i = 0; counts && i < m.nonzeros; i++)
        most = ++counts[m.index[i]] > most ? counts[m.index[i]] : most;
    /* at[k] becomes the number of columns that have more than most - k entries */
    uint32_t *at = kiln__calloc(kiln_call_allocator(call), (size_t)most + 2, sizeof *at);
    bool made = counts && renamed && at;
    for (uint32_t c = 0; made && c < m.columns; c++)
        at[most - counts[c] + 1]++;
    for (uint32_t n = 0; made && n < most; n++)
        at[n + 1] += at[n];
    for (uint32_t c = 0; made && c < m.columns; c++) {
        renamed[c] = at[most - counts[c]]++;
        order[renamed[c]] = c;
    }
    for (uint32_t i = 0; made && i < m.nonzeros; i++)
        index[i] = renamed[m.index[i]];
    kiln__free(kiln_call_allocator(call), counts);
    kiln__free(kiln_call_allocator(call), renamed);
    kiln__free(kiln_call_allocator(call), at);
    return made ? KILN_OK : kiln_call_fail(call, "out of host memory");
}
