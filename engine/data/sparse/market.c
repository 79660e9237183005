/* market.c - reads Matrix Market files and edge lists.
 *
 * The format: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935,
 * 1996. All cores read a text in parts. The first walk over the text checks and counts the entries, and the second walk
 * puts them in their places. So a file may be larger than the free memory, because only the matrix must fit. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "document.h"
#include "lines.h"
#include "sparse.h"

typedef struct market {
    kiln__lines lines;
    bool edges; /* the text is an edge list, whose vertices begin at 0 and which has no header */
    bool array; /* the text has the format "array", which lists all entries column by column */
    bool graph, symmetric, skew, pattern;
    uint64_t rows, columns;
    uint64_t stated; /* the number of entries that the header announces */
    size_t parts;
    /* for each part, the number of lines with an entry; NOT_WALKED means that the lines were not counted */
    uint64_t *counts;
    uint64_t *largest; /* for each part of an edge list, the number of the largest vertex + 1 */
} market;

/* ---- reading the line of an entry ---- */

typedef struct reader {
    market *m;
    kiln__entry_sink sink; /* the function that takes the entries; NULL if the entries are only counted */
    void *to;
    uint64_t count, largest;
    uint64_t row, column; /* the place of the next entry in the format "array" */
    bool places_only;     /* this walk needs only the places of the entries; a later walk reads and checks the values */
} reader;

#define NOT_WALKED UINT64_MAX

static void fail(reader *r, uint64_t place, const char *line, const char *at, const char *why)
{
    kiln__lines_fail(&r->m->lines, place + (uint64_t)(at - line), why);
}

/* Returns true for a comment or an empty line. The walks skip comments and empty lines. */
static bool is_comment(const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\r'))
        line++;
    return line == end || *line == '%' || *line == '#';
}

static void pass_entry(reader *r, uint64_t row, uint64_t column, float value)
{
    bool loop = r->m->graph && row == column; /* a graph has no edge from a vertex to itself */
    if (r->sink && !loop)
        r->sink(r->to, (uint32_t)row, (uint32_t)column, value);
}

static void edge_line(reader *r, const char *line, const char *end, uint64_t place)
{
    const char *at = line;
    uint64_t from, to;
    float weight = 1;
    if (!kiln__read_u64(&at, &from) || !kiln__read_u64(&at, &to)) {
        fail(r, place, line, at,
             "a line of an edge must have the numbers of two vertices; vertices are numbered from 0");
        return;
    }
    if (from >= UINT32_MAX - 1 || to >= UINT32_MAX - 1) {
        fail(r, place, line, line, "the number of a vertex must be less than 2^32 - 2");
        return;
    }
    if ((!kiln__read_end(&at, end) && !kiln__read_float(&at, &weight)) || !kiln__read_end(&at, end)) {
        fail(r, place, line, at, "after its two vertices, a line of an edge may have only a weight");
        return;
    }
    uint64_t larger = from > to ? from : to;
    r->largest = larger >= r->largest ? larger + 1 : r->largest;
    r->count++;
    if (from < r->m->rows && to < r->m->columns)
        pass_entry(r, from, to, weight);
}

static void coordinate_line(reader *r, const char *line, const char *end, uint64_t place)
{
    const market *m = r->m;
    const char *at = line, *second;
    uint64_t row, column;
    float value = 1;
    bool whole = kiln__read_u64(&at, &row);
    if (r->places_only && whole && row - 1 < m->rows && !m->symmetric && !m->skew && !m->graph) {
        r->count++; /* this walk needs only the row of the entry; the next walk checks the rest of the line */
        pass_entry(r, row - 1, 0, value);
        return;
    }
    second = at;
    whole = whole && kiln__read_u64(&at, &column);
    if (!whole) {
        fail(r, place, line, at, "a line of an entry must begin with the numbers of its row and column");
        return;
    }
    if (row < 1 || row > m->rows || column < 1 || column > m->columns) {
        fail(r, place, line, row < 1 || row > m->rows ? line : second + 1,
             row < 1 || row > m->rows
                 ? "there is no such row: rows are numbered from 1 to the count of rows in the size line"
                 : "there is no such column: columns are numbered from 1 to the count of columns in the size line");
        return;
    }
    if (r->places_only)
        at = end;
    else if (!m->pattern && !kiln__read_float(&at, &value)) {
        fail(r, place, line, at, "the value must be a finite number of single precision");
        return;
    }
    if (!kiln__read_end(&at, end)) {
        fail(r, place, line, at,
             m->pattern ? "a line of a pattern must have only a row and a column"
                        : "a line must have only a row, a column and a value");
        return;
    }
    if ((m->symmetric || m->skew) && column > row) {
        fail(r, place, line, line,
             "the entry is above the diagonal; the file of a symmetric matrix must have only the lower triangle");
        return;
    }
    if (m->skew && row == column) {
        fail(r, place, line, line,
             "the entry is on the diagonal; the file of a skew-symmetric matrix must not have these entries, which are "
             "0");
        return;
    }
    r->count++;
    pass_entry(r, row - 1, column - 1, value);
}

static void array_line(reader *r, const char *line, const char *end, uint64_t place)
{
    const market *m = r->m;
    const char *at = line;
    float value;
    if (!kiln__read_float(&at, &value) || !kiln__read_end(&at, end)) {
        fail(r, place, line, at, "a line of an array must be one finite number of single precision");
        return;
    }
    r->count++;
    /* the file has more entries than the header announces, which the end of the walk reports */
    if (r->column >= m->columns || r->row >= m->rows)
        return;
    if (value != 0)
        pass_entry(r, r->row, r->column, value);
    if (++r->row >= m->rows) {
        r->column++;
        r->row = m->symmetric ? r->column : m->skew ? r->column + 1 : 0;
    }
    if (m->skew && r->row >= m->rows)
        r->column = m->columns;
}

static void read_line(void *user, const char *line, const char *end, uint64_t place)
{
    reader *r = user;
    if (is_comment(line, end))
        return;
    if (r->m->edges)
        edge_line(r, line, end, place);
    else if (r->m->array)
        array_line(r, line, end, place);
    else
        coordinate_line(r, line, end, place);
}

static void walk(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    market *m = *(market *const *)source;
    reader r = {.m = m, .sink = sink, .to = to, .row = m->skew && m->array};
    if (!m->array) {
        r.places_only = sink && m->counts[chunk] == NOT_WALKED;
        kiln__lines_walk(&m->lines, chunk, read_line, &r);
        m->counts[chunk] = r.count;
        m->largest[chunk] = r.largest;
        return;
    }
    for (size_t part = 0; part < m->parts; part++) /* the place of an entry depends on the number of lines before it */
        kiln__lines_walk(&m->lines, part, read_line, &r);
    m->counts[0] = r.count;
}

/* ---- reading the first lines of a file ---- */

typedef struct head {
    market *m;
    bool has_banner, has_size, failed;
    uint64_t end; /* the offset at which the entries begin */
} head;

static bool word_is(const char **at, const char *end, const char *word)
{
    const char *from = *at;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    size_t length = strlen(word);
    if ((size_t)(end - from) < length || !kiln__same_word(from, word, length))
        return false;
    const char *behind = from + length;
    if (behind < end && *behind != ' ' && *behind != '\t' && *behind != '\r')
        return false;
    *at = behind;
    return true;
}

static const char *read_banner(market *m, const char **at, const char *end)
{
    if (!word_is(at, end, "%%MatrixMarket") || !word_is(at, end, "matrix"))
        return "a Matrix Market file must begin with '%%MatrixMarket matrix'";
    m->array = word_is(at, end, "array");
    if (!m->array && !word_is(at, end, "coordinate"))
        return "the format must be 'coordinate' or 'array'";
    if (word_is(at, end, "complex"))
        return "kiln does not read complex matrices, only real, integer and pattern ones";
    m->pattern = word_is(at, end, "pattern");
    if (!m->pattern && !word_is(at, end, "real") && !word_is(at, end, "integer") && !word_is(at, end, "double"))
        return "the field must be 'real', 'integer' or 'pattern'";
    if (m->pattern && m->array)
        return "an array needs values: 'pattern' is only for the format 'coordinate'";
    m->symmetric = word_is(at, end, "symmetric");
    m->skew = !m->symmetric && word_is(at, end, "skew-symmetric");
    if (m->symmetric || m->skew || word_is(at, end, "general"))
        return kiln__read_end(at, end) ? NULL : "nothing may follow the symmetry";
    return word_is(at, end, "hermitian") ? "hermitian matrices are complex, and kiln does not read complex matrices"
                                         : "the symmetry must be 'general', 'symmetric' or 'skew-symmetric'";
}

static const char *read_size(market *m, const char **at, const char *end)
{
    if (!kiln__read_u64(at, &m->rows) || !kiln__read_u64(at, &m->columns) ||
        (!m->array && !kiln__read_u64(at, &m->stated)) || !kiln__read_end(at, end))
        return m->array ? "the size line of an array must be 'rows columns'"
                        : "the size line must be 'rows columns entries'";
    if (m->rows >= UINT32_MAX - 1 || m->columns >= UINT32_MAX - 1)
        return "a matrix must have fewer than 2^32 - 2 rows and columns";
    if ((m->symmetric || m->skew) && m->rows != m->columns)
        return "a symmetric matrix must have as many columns as rows";
    uint64_t n = m->rows;
    if (m->array)
        m->stated = m->symmetric ? n * (n + 1) / 2 : m->skew ? (n ? n * (n - 1) / 2 : 0) : n * m->columns;
    return NULL;
}

static void head_line(void *user, const char *line, const char *end, uint64_t place)
{
    head *h = user;
    if (h->has_size || h->failed)
        return;
    const char *at = line, *why = NULL;
    if (!h->has_banner) {
        why = read_banner(h->m, &at, end);
        h->has_banner = true;
    } else if (!is_comment(line, end)) {
        why = read_size(h->m, &at, end);
        h->has_size = true;
        h->end = place + (uint64_t)(end - line);
    }
    if (why) {
        h->failed = true;
        kiln__lines_fail(&h->m->lines, place + (uint64_t)(at - line), why);
    }
}

static void read_head(market *m)
{
    head h = {.m = m};
    for (size_t part = 0; part < kiln__lines_parts(&m->lines) && !h.has_size && !h.failed; part++)
        kiln__lines_walk(&m->lines, part, head_line, &h);
    if (!h.has_size)
        kiln__lines_fail(&m->lines, m->lines.length, "the size line is missing");
    m->lines.begin = h.end < m->lines.length ? h.end + 1 : m->lines.length;
}

/* ---- reading the whole text ---- */

/* Finds the largest vertex in a part of an edge list, because an edge list does not state its size. */
static void find_largest(void *user, size_t index, size_t worker)
{
    (void)worker;
    market *m = user;
    walk(&m, index, NULL, NULL);
}

static uint64_t sum_up(const uint64_t *counts, size_t parts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < parts; i++)
        sum += counts[i];
    return sum;
}

static kiln_status build(market *m, kiln__csr *matrix, kiln_error **error)
{
    const kiln_allocator *mem = m->lines.mem;
    kiln_status status = KILN_OK;
    if (m->edges) {
        kiln__parallel(0, m->parts, find_largest, m);
        status = kiln__lines_status(&m->lines, error);
        for (size_t i = 0; i < m->parts; i++)
            m->rows = m->largest[i] > m->rows ? m->largest[i] : m->rows;
        m->columns = m->rows;
    }
    if (status != KILN_OK)
        return status;
    if (m->graph && m->rows != m->columns)
        return kiln__fail(mem, error, KILN_ERROR_SPEC,
                          "%s: the matrix of a graph must have as many columns as rows, not %" PRIu64 " x %" PRIu64,
                          m->lines.name, m->rows, m->columns);
    kiln__entries entries = {.rows = m->rows,
                             .columns = m->columns,
                             .pattern = m->graph,
                             .symmetric = m->symmetric || m->graph,
                             .skew = m->skew && !m->graph,
                             .chunks = m->array ? m->parts > 0 : m->parts,
                             .walk = walk,
                             .source = &m,
                             .patience = m->lines.patience};
    kiln_error *unbuilt = NULL;
    kiln_status built = kiln__csr_build(mem, &entries, matrix, &unbuilt);
    /* Returns the error of a wrong line first, because an error of the matrix may only be its consequence. */
    status = kiln__lines_status(&m->lines, error);
    if (status == KILN_OK && built != KILN_OK)
        status = kiln__fail(mem, error, built, "%s: %s", m->lines.name, kiln_error_message(unbuilt));
    else if (status == KILN_OK && !m->edges && sum_up(m->counts, m->parts) != m->stated)
        status = kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: %" PRIu64 " entries, but its size line says %" PRIu64,
                            m->lines.name, sum_up(m->counts, m->parts), m->stated);
    kiln_error_free(unbuilt);
    return status;
}

static kiln_status read_all(market *m, kiln__csr *matrix, kiln_error **error)
{
    const kiln_allocator *mem = m->lines.mem;
    *matrix = (kiln__csr){0};
    if (!m->edges)
        read_head(m);
    m->lines.passes = m->edges ? 3 : 2;
    m->lines.done = 0;
    kiln_status status = kiln__lines_status(&m->lines, error);
    if (status == KILN_OK) {
        m->parts = kiln__lines_parts(&m->lines);
        m->counts = kiln__calloc(mem, m->parts + 1, sizeof *m->counts);
        m->largest = kiln__calloc(mem, m->parts + 1, sizeof *m->largest);
        for (size_t i = 0; m->counts && i < m->parts; i++)
            m->counts[i] = m->array ? 0 : NOT_WALKED;
        status = m->counts && m->largest ? build(m, matrix, error) : kiln__fail_memory(error);
    }
    kiln__free(mem, m->counts);
    kiln__free(mem, m->largest);
    if (status != KILN_OK)
        kiln__csr_free(mem, matrix);
    return status;
}

static bool is_market(const char *text, size_t length)
{
    static const char banner[] = "%%MatrixMarket";
    return length >= sizeof banner - 1 && kiln__same_word(text, banner, sizeof banner - 1);
}

kiln_status kiln__market_parse(const kiln_allocator *mem, const char *name, const char *text, size_t length, bool graph,
                               kiln__csr *matrix, kiln_error **error)
{
    market m = {.edges = !is_market(text, length), .graph = graph};
    kiln__lines_init(&m.lines, mem, name, text, -1, length);
    kiln_status status = read_all(&m, matrix, error);
    kiln__lines_close(&m.lines);
    return status;
}

/* ---- files ---- */

static kiln_status read_plain(const kiln_allocator *mem, const char *path, int fd, uint64_t length, bool graph,
                              kiln__patience patience, kiln__csr *matrix, kiln_error **error)
{
    char first[16];
    ssize_t got = pread(fd, first, sizeof first, 0);
    if (got < 0)
        return kiln__fail(mem, error, KILN_ERROR_IO, "%s: it cannot be read", path);
    market m = {.edges = !is_market(first, (size_t)got), .graph = graph};
    kiln__lines_init(&m.lines, mem, path, NULL, fd, length);
    m.lines.patience = patience;
    kiln_status status = read_all(&m, matrix, error);
    kiln__lines_close(&m.lines);
    return status;
}

typedef struct unpacking {
    const char *name;
    kiln__patience patience;
    uint64_t length, began, done, told; /* all these numbers are bytes of the gzipped file */
} unpacking;

static bool unpacked(void *user, uint64_t bytes)
{
    unpacking *u = user;
    kiln__say_progress(u->patience, u->name, u->began, &u->done, &u->told, bytes, u->length);
    return !kiln__is_stopped(u->patience);
}

/* Unpacks the text into a file without a name, because the text may be larger than the memory and is read more than
 * once. */
static kiln_status read_gzipped(const kiln_allocator *mem, const char *path, int fd, uint64_t length, bool graph,
                                kiln__patience patience, kiln__csr *matrix, kiln_error **error)
{
    const uint64_t now = kiln__now_ns();
    unpacking u = {path, patience, length, now, 0, now};
    /* a text of numbers is usually about 10 times as large as its gzipped form */
    uint64_t text = 0, limit = length > UINT64_MAX / 64 ? UINT64_MAX : length * 64;
    int to;
    kiln_status status = kiln__gunzip_file(mem, path, fd, limit, unpacked, &u, &to, &text, error);
    if (status != KILN_OK)
        return status;
    status = read_plain(mem, path, to, text, graph, patience, matrix, error);
    close(to);
    return status;
}

kiln_status kiln__market_read(const kiln_allocator *mem, const char *path, bool graph, kiln__patience patience,
                              kiln__csr *matrix, kiln_error **error)
{
    int fd;
    struct stat info;
    unsigned char first[2];
    *matrix = (kiln__csr){0};
    kiln_status status = kiln__file_open(mem, path, true, &fd, error);
    if (status != KILN_OK)
        return status;
    ssize_t got = fstat(fd, &info) == 0 ? pread(fd, first, sizeof first, 0) : -1;
    if (got < 0) {
        status = kiln__fail(mem, error, KILN_ERROR_IO, "%s: it cannot be read", path);
    } else {
        bool packed = got == 2 && first[0] == 0x1f && first[1] == 0x8b;
        status = (packed ? read_gzipped : read_plain)(mem, path, fd, (uint64_t)info.st_size, graph, patience, matrix,
                                                      error);
    }
    close(fd);
    return status;
}

/* ---- the public function for host functions ---- */

kiln_status kiln_call_matrix(kiln_call *call, const char *path, int graph, kiln_csr *matrix)
{
    if (!call)
        return KILN_ERROR_ARGUMENT;
    if (!path || !matrix) {
        kiln_call_fail(call, "%s: %s is NULL", __func__, path ? "matrix" : "path");
        return KILN_ERROR_ARGUMENT;
    }
    kiln__csr made = {0};
    const kiln__patience patience = {call->log, call->stop};
    kiln_error *why = NULL;
    kiln_status status = kiln__market_read(call->mem, path, graph != 0, patience, &made, &why);
    if (status == KILN_OK)
        *matrix = made;
    else
        kiln_call_fail_as(call, status, "%s", kiln_error_message(why));
    kiln_error_free(why);
    return status;
}

void kiln_call_matrix_free(const kiln_call *call, kiln_csr *matrix)
{
    if (call && matrix)
        kiln__csr_free(call->mem, matrix);
}
