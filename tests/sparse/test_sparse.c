/* Tests matrices and graphs: how they are made and read, and each format compared with a dense product in double
 * precision. The file is long, because each format has its own test, and all use the same products. */
#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"
#include "document.h"
#include "lines.h"
#include "call.h"
#include "formats.h"

/* ---- building ---- */

typedef struct list {
    size_t count;
    const struct {
        uint32_t row, column;
        float value;
    } * entries;
    bool backwards;
} list;

static void walk_list(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    const list *l = source;
    for (size_t i = chunk; i < l->count; i += 2) {
        size_t at = l->backwards ? l->count - 1 - i : i;
        sink(to, l->entries[at].row, l->entries[at].column, l->entries[at].value);
    }
}

static kiln__csr build(list *l, uint64_t rows, uint64_t columns, kiln__entries how)
{
    kiln__csr matrix;
    kiln_error *error = NULL;
    how.rows = rows, how.columns = columns, how.chunks = 2, how.walk = walk_list, how.source = l;
    CHECK_OK(kiln__csr_build(NULL, &how, &matrix, &error), error);
    return matrix;
}

static bool rows_are(const kiln__csr *m, const char *want) /* "0:1=2 3=4;1:" */
{
    char text[4096] = "";
    size_t at = 0;
    for (uint32_t r = 0; r < m->rows; r++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", r ? "; " : "");
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++)
            at += (size_t)kiln__format(text + at, sizeof text - at, m->values ? "%s%u=%g" : "%s%u",
                                       i > m->offsets[r] ? " " : "", m->index[i], m->values ? (double)m->values[i] : 0);
    }
    if (strcmp(text, want) != 0)
        fprintf(stderr, "  got:  %s\n  want: %s\n", text, want);
    return strcmp(text, want) == 0;
}

static void test_build(void)
{
    list l = {5, (const void *)(const struct {
                  uint32_t row, column;
                  float value;
              }[]){{2, 1, 4}, {0, 3, 1}, {0, 0, 2}, {2, 1, -1.5F}, {2, 0, 7}},
              false};
    kiln__csr m = build(&l, 3, 4, (kiln__entries){0});
    CHECK(m.nonzeros == 4 && rows_are(&m, "0=2 3=1; ; 0=7 1=2.5"));
    kiln__csr_free(NULL, &m);
    l.backwards = true;
    m = build(&l, 3, 4, (kiln__entries){0});
    CHECK(rows_are(&m, "0=2 3=1; ; 0=7 1=2.5"));
    kiln__csr_free(NULL, &m);
    m = build(&l, 4, 4, (kiln__entries){.symmetric = true, .pattern = true});
    CHECK(!m.values && rows_are(&m, "0 2 3; 2; 0 1; 0"));
    kiln__csr_free(NULL, &m);
    m = build(&l, 4, 4, (kiln__entries){.skew = true});
    CHECK(rows_are(&m, "0=2 2=-7 3=1; 2=-2.5; 0=7 1=2.5; 0=-1"));
    kiln__csr_free(NULL, &m);
    l.count = 0;
    m = build(&l, 0, 0, (kiln__entries){0});
    CHECK(m.nonzeros == 0 && m.offsets[0] == 0);
    kiln__csr_free(NULL, &m);
}

static void test_build_limits(void)
{
    kiln__entries entries = {.rows = UINT32_MAX, .columns = 1, .walk = walk_list};
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK(kiln__csr_build(NULL, &entries, &m, &error) == KILN_ERROR_UNSUPPORTED);
    kiln_error_free(error);
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        list l = {2, (const void *)(const struct {
                      uint32_t row, column;
                      float value;
                  }[]){{1, 1, 4}, {0, 1, 1}},
                  false};
        entries = (kiln__entries){.rows = 2, .columns = 2, .chunks = 2, .walk = walk_list, .source = &l};
        error = NULL;
        kiln_status status = kiln__csr_build(&mem, &entries, &m, &error);
        CHECK(status == (oom.failed ? KILN_ERROR_MEMORY : KILN_OK));
        kiln_error_free(error);
        kiln__csr_free(&mem, &m);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

/* Passes one entry to the sink. The entry differs from walk to walk. */
static void walk_twice(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    int *times = (int *)(uintptr_t)source;
    (void)chunk;
    uint32_t row = (uint32_t)(*times)++;
    sink(to, row, 0, 1);
}

static void test_build_changed(void)
{
    int times = 0;
    kiln__entries entries = {.rows = 4, .columns = 4, .chunks = 1, .walk = walk_twice, .source = &times};
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK(kiln__csr_build(NULL, &entries, &m, &error) == KILN_ERROR_IO);
    CHECK_TEXT(kiln_error_message(error), "the entries changed while they were read");
    kiln_error_free(error);
}

/* ---- generators ---- */

static kiln__csr generate(const char *kind, uint64_t rows, uint64_t degree, bool graph)
{
    kiln__generator g = {.rows = rows, .degree = degree, .seed = 1, .graph = graph};
    kiln__entries entries;
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK(kiln__matrix_kind_find(kind, &g.kind));
    kiln__generator_make(&g, &entries);
    CHECK_OK(kiln__csr_build(NULL, &entries, &m, &error), error);
    return m;
}

/* Checks that the entries are sorted, inside the matrix and all different. In a graph every edge must have its
 * reverse, and no edge is a loop. */
static void check_whole(const kiln__csr *m, bool graph)
{
    CHECK(m->offsets[0] == 0 && m->offsets[m->rows] == m->nonzeros && !m->values == graph);
    for (uint32_t r = 0; r < m->rows; r++) {
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            uint32_t c = m->index[i];
            bool back = !graph;
            CU_ASSERT_TRUE(c < m->columns && (i == m->offsets[r] || m->index[i - 1] < c) && (!graph || c != r));
            for (uint32_t k = graph ? m->offsets[c] : 0; graph && k < m->offsets[c + 1]; k++)
                back = back || m->index[k] == r;
            CU_ASSERT_TRUE(back);
        }
    }
}

static void test_generators(void)
{
    static const char *const kinds[] = {
#define KILN_X(name) #name,
        KILN__MATRIX_KINDS(KILN_X)
#undef KILN_X
    };
    static const uint64_t rows[] = {0, 1, 2, 7, 64, 1000};
    for (size_t k = 0; k < KILN__COUNT(kinds); k++) {
        for (size_t i = 0; i < 2 * KILN__COUNT(rows); i++) {
            kiln__csr m = generate(kinds[k], rows[i / 2], 6, i % 2);
            check_whole(&m, i % 2);
            bool tall = strcmp(kinds[k], "tall") == 0 && i % 2 == 0;
            CHECK(m.columns == (tall ? (m.rows + 63) / 64 : m.rows) && m.rows <= rows[i / 2]);
            kiln__csr_free(NULL, &m);
        }
    }
    kiln__matrix_kind kind;
    CHECK(!kiln__matrix_kind_find("stencil28", &kind) && !kiln__matrix_kind_find("", &kind));
}

/* Tests facts about each kind of matrix. Each fact is known in closed form, or by its mean. */
static void test_shapes(void)
{
    kiln__row_statistics s;
    kiln__csr m = generate("stencil27", 1000, 0, false);
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(m.rows == 1000 && m.nonzeros == 28 * 28 * 28 && s.largest == 27 && s.bandwidth == 111 && s.near == 1);
    kiln__csr_free(NULL, &m);
    m = generate("band", 100, 7, false);
    CHECK(m.nonzeros == 7 * 100 - 2 * (3 + 2 + 1));
    kiln__csr_free(NULL, &m);
    m = generate("grid2d", 110, 0, true);
    CHECK(m.rows == 100 && m.nonzeros == 2 * 2 * 10 * 9);
    kiln__csr_free(NULL, &m);
    m = generate("star", 100, 0, false);
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(m.nonzeros == 100 && s.largest == 100 && s.empty == 99 && s.mean == 1);
    CHECK(fabs(s.deviation - sqrt((99.0 * 99 + 99) / 100)) < 1e-12);
    kiln__csr_free(NULL, &m);
    m = generate("arrow", 50, 0, false);
    CHECK(m.nonzeros == 3 * 50 - 2 && rows_are(&(kiln__csr){.rows = 0, .offsets = m.offsets}, ""));
    kiln__csr_free(NULL, &m);
    m = generate("rmat", 1 << 12, 16, true);
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(s.largest > 20 * s.mean && s.empty > 400 && s.mean > 16 && s.mean < 32);
    kiln__csr_free(NULL, &m);
    m = generate("road", 1 << 14, 0, true);
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(s.mean > 2.3 && s.mean < 2.7 && s.largest <= 6);
    kiln__csr_free(NULL, &m);
    m = generate("power", 1 << 14, 12, false);
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(s.largest > 100 && s.mean > 8 && s.mean < 16);
    kiln__csr_free(NULL, &m);
    m = generate("fem6", 600, 48, false); /* 100 nodes: the first node with its own block and the blocks of the nodes
                                             that it is coupled with */
    kiln__csr_statistics(&m, (kiln__patience){0}, &s);
    CHECK(m.nonzeros % 36 == 0 && s.empty == 0 && m.offsets[6] == 6 * m.offsets[1] && m.index[5] == 5);
    kiln__csr_free(NULL, &m);
    m = generate("tall", 64000, 6, false);
    CHECK(m.columns == 1000 && m.nonzeros > 64000 * 59 / 10 && m.nonzeros <= 64000 * 6);
    kiln__csr_free(NULL, &m);
    m = generate("noisy", 40000, 0, false);
    CHECK(m.nonzeros > 3 * 40000 + 9000 && m.nonzeros < 3 * 40000 + 11000);
    kiln__csr_free(NULL, &m);
    m = generate("none", 12, 5, false);
    CHECK(m.rows == 12 && m.nonzeros == 0);
    kiln__csr_free(NULL, &m);
}

/* Compares recorded sums, because the bytes must be the same on every machine. */
static void test_same_bytes(void)
{
    static const struct {
        const char *kind;
        uint64_t low;
    } recorded[] = {
        {"fem", 0x96da2edd364c7eb4},  {"rmat", 0xf9b03e2f80f35e78},    {"power", 0x0f4696cf81fc7645},
        {"road", 0x70b018a38d4a6a99}, {"uniform", 0xf96d64c32cbb5efb}, {"long_rows", 0x2f39474a583d3851},
        {"fem6", 0xe848f529fcfed4b3}, {"tall", 0x398a9bb804dc1f73},    {"noisy", 0x46b2bb70215e89af},
    };
    for (size_t i = 0; i < KILN__COUNT(recorded); i++) {
        kiln__csr m = generate(recorded[i].kind, 3000, 9, false);
        uint64_t sum = kiln__hash(m.offsets, (m.rows + 1) * sizeof *m.offsets).low ^
                       kiln__hash(m.index, m.nonzeros * sizeof *m.index).low ^
                       kiln__hash(m.values, m.nonzeros * sizeof *m.values).high;
        if (sum != recorded[i].low)
            fprintf(stderr, "  {\"%s\", 0x%016llx},\n", recorded[i].kind, (unsigned long long)sum);
        CHECK(sum == recorded[i].low);
        kiln__csr_free(NULL, &m);
    }
}

/* ---- files ---- */

static void reads(const char *text, bool graph, const char *want)
{
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK_OK(kiln__market_parse(NULL, "m", text, strlen(text), graph, &m, &error), error);
    CHECK(m.offsets && rows_are(&m, want));
    kiln__csr_free(NULL, &m);
}

static void refuses(const char *text, const char *why)
{
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK(kiln__market_parse(NULL, "m", text, strlen(text), false, &m, &error) != KILN_OK);
    CHECK_TEXT(kiln_error_message(error), why);
    kiln_error_free(error);
}

#define HEAD "%%MatrixMarket matrix "

static void test_market(void)
{
    reads(HEAD "coordinate real general\n% c\n\n2 3 3\n1 1 2.5\n2 3 -1e1\n1 2 .5\n", false, "0=2.5 1=0.5; 2=-10");
    reads("%%matrixmarket MATRIX Coordinate Integer General\r\n2 2 1\r\n2 1 7\r\n", false, "; 0=7");
    reads(HEAD "coordinate pattern general\n2 2 2\n1 2\n2 2", false, "1=1; 1=1");
    reads(HEAD "coordinate real symmetric\n3 3 3\n1 1 1\n3 1 2\n3 2 4\n", false, "0=1 2=2; 2=4; 0=2 1=4");
    reads(HEAD "coordinate real skew-symmetric\n2 2 1\n2 1 3\n", false, "1=-3; 0=3");
    reads(HEAD "coordinate real general\n2 2 2\n1 1 1\n1 1 2\n", false, "0=3; ");
    reads(HEAD "coordinate real general\n0 0 0\n", false, "");
    reads(HEAD "array real general\n2 2\n1\n2\n0\n4\n", false, "0=1; 0=2 1=4");
    reads(HEAD "array real symmetric\n2 2\n1\n2\n4\n", false, "0=1 1=2; 0=2 1=4");
    reads(HEAD "array real skew-symmetric\n3 3\n1\n2\n3\n", false, "1=-1 2=-2; 0=1 2=-3; 0=2 1=3");
    reads(HEAD "array real skew-symmetric\n1 1\n", false, "");
    reads(HEAD "coordinate real general\n1 1 1\n1 1 0.1000000000000000055511151231257827\n", false, "0=0.1");
    reads(HEAD "coordinate real general\n1 1 1\n1 1 1.5D+02\n", false, "0=150");
    reads(HEAD "coordinate real general\n3 3 2\n1 2 5\n3 3 1\n", true, "1; 0; ");
    reads("# edges\n0 2\n2 1 0.5\n\n1 1\n", true, "2; 2; 0 1");
    reads("0\t3\n", false, "3=1; ; ; ");
    reads("", true, "");
}

/* Tests files that are not valid Matrix Market files. The message must have the line, the column and the reason. */
static void test_market_refused(void)
{
    refuses("%%MatrixMarket vector\n", "m:1:15: a Matrix Market file must begin with '%%MatrixMarket matrix'");
    refuses(HEAD "dense real general\n", "m:1:22: the format must be 'coordinate' or 'array'");
    refuses(HEAD "coordinate complex general\n1 1 0\n",
            "m:1:41: kiln does not read complex matrices, only real, integer and pattern ones");
    refuses(HEAD "array pattern general\n",
            "m:1:36: an array needs values: 'pattern' is only for the format 'coordinate'");
    refuses(HEAD "coordinate real upper\n", "m:1:38: the symmetry must be 'general', 'symmetric' or 'skew-symmetric'");
    refuses(HEAD "coordinate real general\n", "m:2:1: the size line is missing");
    refuses(HEAD "coordinate real general\n2 2\n", "m:2:4: the size line must be 'rows columns entries'");
    refuses(HEAD "coordinate real general\n2 2 1\n3 1 1\n",
            "m:3:1: there is no such row: rows are numbered from 1 to the count of rows in the size line");
    refuses(HEAD "coordinate real general\n2 2 1\n1 0 1\n",
            "m:3:3: there is no such column: columns are numbered from 1 to the count of columns in the size line");
    refuses(HEAD "coordinate real general\n2 2 1\n1 1\n",
            "m:3:4: the value must be a finite number of single precision");
    refuses(HEAD "coordinate real general\n2 2 1\n1 1 1e39\n",
            "m:3:9: the value must be a finite number of single precision");
    refuses(HEAD "coordinate real general\n2 2 1\n1 1 1 x\n",
            "m:3:7: a line must have only a row, a column and a value");
    refuses(HEAD "coordinate real general\n2 2 2\n1 1 1\n", "m: 1 entries, but its size line says 2");
    refuses(HEAD "coordinate real symmetric\n2 2 1\n1 2 1\n",
            "m:3:1: the entry is above the diagonal; the file of a symmetric matrix must have only the lower triangle");
    refuses(HEAD "coordinate real symmetric\n2 3 0\n", "m:2:6: a symmetric matrix must have as many columns as rows");
    refuses(HEAD "array real skew-symmetric\n1 1\n3\n", "m: 1 entries, but its size line says 0");
    refuses(HEAD "array real general\n1 1\n1\n2\n", "m: 2 entries, but its size line says 1");
    refuses("0 x\n", "m:1:3: a line of an edge must have the numbers of two vertices; vertices are numbered from 0");
    refuses("0 1 2 3\n", "m:1:7: after its two vertices, a line of an edge may have only a weight");
    refuses("0 4294967294\n", "m:1:1: the number of a vertex must be less than 2^32 - 2");
    refuses("1 99999999999999999999999\n",
            "m:1:3: a line of an edge must have the numbers of two vertices; vertices are numbered from 0");
}

/* Tests lines that cross the borders of parts, from a file, from memory and gzipped. */
static void test_large_file(void)
{
    char path[] = "/tmp/kiln-test-sparse-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    enum { ROWS = 400000 };
    fprintf(file, "%scoordinate integer general\n%d %d %d\n", HEAD, ROWS, ROWS, ROWS * 2);
    for (int i = ROWS; i > 0; i--)
        fprintf(file, "%d %d %d\n%d 1 -1\n", i, i, i % 1000, i);
    CHECK(fclose(file) == 0);
    kiln__csr m;
    kiln_error *error = NULL;
    CHECK_OK(kiln__market_read(NULL, path, false, (kiln__patience){0}, &m, &error), error);
    CHECK(m.rows == ROWS && m.nonzeros == 2 * ROWS - 1);
    bool right = m.values && m.values[0] == 0;
    for (uint32_t r = 1; right && r < m.rows; r++) {
        uint32_t i = m.offsets[r];
        right = m.offsets[r + 1] == i + 2 && m.index[i] == 0 && m.values[i] == -1 && m.index[i + 1] == r &&
                m.values[i + 1] == (float)((r + 1) % 1000);
    }
    CHECK(right);
    kiln__csr_free(NULL, &m);
    remove(path);
}

/* ---- gzipped files ---- */

static void write_bytes(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CHECK(fwrite(data, 1, length, file) == length && fclose(file) == 0);
}

static void reads_packed(const char *path, const kiln__text *packed, size_t length, const char *why)
{
    kiln__csr m;
    kiln_error *error = NULL;
    write_bytes(path, packed->data, length);
    kiln_status status = kiln__market_read(NULL, path, false, (kiln__patience){0}, &m, &error);
    if (!why) {
        CHECK_OK(status, error);
        CHECK(rows_are(&m, "0=2.5 1=0.5; 2=-10"));
    } else {
        CHECK(status != KILN_OK && strstr(kiln_error_message(error), why) != NULL);
        CHECK(!m.offsets);
    }
    kiln__csr_free(NULL, &m);
    kiln_error_free(error);
}

static void test_packed(void)
{
    static const char head[] = HEAD "coordinate real general\n2 3 3\n", rest[] = "1 1 2.5\n2 3 -1e1\n1 2 .5\n";
    char path[] = "/tmp/kiln-test-packed-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    kiln__text packed = {0};
    kiln_error *error = NULL;
    CHECK_OK(kiln__gzip(NULL, head, sizeof head - 1, &packed, &error), error);
    size_t first = packed.length;
    CHECK_OK(kiln__gzip(NULL, rest, sizeof rest - 1, &packed, &error), error); /* two members */
    reads_packed(path, &packed, packed.length, NULL);
    reads_packed(path, &packed, packed.length - 9, "the gzipped data end too early");
    reads_packed(path, &packed, first, "0 entries, but its size line says 3");
    packed.data[first + 2] ^= 0x40; /* gzip has no such method */
    reads_packed(path, &packed, packed.length, "the gzip data is damaged");
    kiln__text_free(&packed);
    /* One packed byte stands for a thousand bytes, which is more than in any text of numbers. */
    char *much = calloc(1, 1 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(much);
    CHECK_OK(kiln__gzip(NULL, much, 1 << 20, &packed, &error), error);
    reads_packed(path, &packed, packed.length, "which is the limit for a gzipped file of its size");
    free(much);
    kiln__text_free(&packed);
    remove(path);
}

/* ---- being stopped, and saying how far it is ---- */

static volatile int stop;
static atomic_uint walks;

static void walk_and_stop(const void *source, size_t chunk, kiln__entry_sink sink, void *to)
{
    (void)source;
    if (atomic_fetch_add(&walks, 1) == 5) /* there are eight walks: four for the counts and four for the entries */
        stop = 1;
    sink(to, (uint32_t)chunk, 0, 1);
}

static void test_stop(void)
{
    kiln__csr m;
    kiln_error *error = NULL;
    kiln__entries entries = {.rows = 4, .columns = 1, .chunks = 4, .walk = walk_and_stop, .patience = {.stop = &stop}};
    walks = 0;
    CHECK(kiln__csr_build(NULL, &entries, &m, &error) == KILN_ERROR_INTERRUPTED && !m.offsets);
    kiln_error_free(error);
    error = NULL;
    static const char text[] = HEAD "coordinate pattern general\n2 2 1\n1 2\n";
    char path[] = "/tmp/kiln-test-stop-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    write_bytes(path, text, sizeof text - 1);
    kiln_status status = kiln__market_read(NULL, path, false, (kiln__patience){.stop = &stop}, &m, &error);
    CHECK(status == KILN_ERROR_INTERRUPTED && !m.offsets);
    kiln_error_free(error);
    remove(path);
    stop = 0;
}

static void keep_line(void *user, kiln_log_level level, const char *message)
{
    CHECK(level == KILN_LOG_INFO);
    snprintf(user, 160, "%s", message);
}

static void test_progress(void)
{
    char line[160] = "";
    kiln__log log = {.fn = keep_line, .user = line};
    uint64_t now = kiln__now_ns(), done = 0, told = now;
    kiln__say_progress((kiln__patience){.log = &log}, "web.mtx", now, &done, &told, 500, 4000);
    /* the function is called at most five times a second */
    CHECK(done == 500 && (*line == '\0' || kiln__now_ns() - now > 200000000));
    told = 0;
    kiln__say_progress((kiln__patience){.log = &log}, "web.mtx", now, &done, &told, 1500, 4000);
    CHECK(done == 2000 && strncmp(line, "reading web.mtx: 50 %, ", 23) == 0 && told >= now);
}

/* ---- breadth-first search ---- */

/* Searches by relaxing all edges until nothing changes (Bellman-Ford). */
static void search_slowly(const kiln__csr *m, uint64_t source, int32_t *levels)
{
    for (uint32_t v = 0; v < m->rows; v++)
        levels[v] = v == source ? 0 : -1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < m->rows; v++) {
            for (uint32_t i = m->offsets[v]; levels[v] >= 0 && i < m->offsets[v + 1]; i++) {
                int32_t *to = &levels[m->index[i]];
                if (*to < 0 || *to > levels[v] + 1) {
                    *to = levels[v] + 1;
                    changed = true;
                }
            }
        }
    }
}

static void check_search(const kiln__csr *m, int64_t source)
{
    uint64_t from = kiln__graph_source(m->offsets, m->rows, source), vertices = 0, ends = 0;
    int32_t *got = malloc((m->rows + 1) * sizeof *got), *want = malloc((m->rows + 1) * sizeof *want), last = -1;
    CU_ASSERT_PTR_NOT_NULL_FATAL(got);
    CU_ASSERT_PTR_NOT_NULL_FATAL(want);
    kiln__graph_reach reach;
    CHECK(kiln__graph_search(NULL, m->offsets, m->index, m->rows, from, got, &reach));
    search_slowly(m, from, want);
    CHECK(memcmp(got, want, m->rows * sizeof *got) == 0);
    for (uint32_t v = 0; v < m->rows; v++) {
        vertices += want[v] >= 0;
        ends += want[v] >= 0 ? m->offsets[v + 1] - m->offsets[v] : 0;
        last = want[v] > last ? want[v] : last;
    }
    CHECK(reach.vertices == vertices && 2 * reach.edges == ends && reach.levels == (uint64_t)(last + 1));
    free(got);
    free(want);
}

static void test_search(void)
{
    static const struct {
        const char *kind;
        uint64_t rows, degree;
        int64_t source;
    } cases[] = {
        {"none", 0, 0, -1},
        {"none", 0, 0, 0},
        {"none", 1, 0, 0},
        {"none", 5, 0, 5},
        {"path", 300, 0, 7},
        {"star", 99, 0, 3},
        {"star", 99, 0, -1},
        {"grid2d", 400, 0, -1},
        /* more than a million edges: the levels go through all threads, and back to the queue */
        {"road", 2500, 0, 60},
        {"rmat", 4096, 8, -1},
        {"rmat", 65536, 24, -1},
    };
    for (size_t i = 0; i < KILN__COUNT(cases); i++) {
        kiln__csr m = generate(cases[i].kind, cases[i].rows, cases[i].degree, true);
        check_search(&m, cases[i].source);
        kiln__csr_free(NULL, &m);
    }
    kiln__csr m = generate("star", 99, 0, true);
    CHECK(kiln__graph_source(m.offsets, m.rows, -1) == 0 && kiln__graph_source(m.offsets, m.rows, 98) == 98);
    kiln__csr_free(NULL, &m);
    m = generate("grid2d", 100, 0, true);
    CHECK(kiln__graph_source(m.offsets, m.rows, -1) == 11); /* the first vertex with four edges */
    check_oom oom = {.countdown = 0};
    kiln_allocator mem = {check_oom_resize, &oom};
    int32_t levels[100];
    kiln__graph_reach reach;
    CHECK(!kiln__graph_search(&mem, m.offsets, m.index, m.rows, 11, levels, &reach));
    kiln__csr_free(NULL, &m);
}

/* ---- formats ---- */

enum { MOST_ROWS = 80 };

static const kiln__export *find(const kiln_call *call, const char *name)
{
    const kiln__export *found = kiln__export_find(call->exports, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

static const void *data(const kiln_call *call, const char *name) { return find(call, name)->array.data; }
static int64_t number(const kiln_call *call, const char *name) { return find(call, name)->value.as.i; }
static uint64_t length(const kiln_call *call, const char *name) { return find(call, name)->array.shape[0]; }

/* Builds a dense matrix from a format. Every place is written at most once. */
typedef struct dense {
    float at[MOST_ROWS][MOST_ROWS];
} dense;

static void put(dense *d, uint32_t row, uint32_t column, float value)
{
    if (value == 0)
        return; /* padding */
    CU_ASSERT_TRUE_FATAL(row < MOST_ROWS && column < MOST_ROWS);
    CU_ASSERT_TRUE(d->at[row][column] == 0);
    d->at[row][column] = value;
}

static void put_rest(dense *d, const kiln_call *call)
{
    const uint32_t *rows = data(call, "rest.rows"), *index = data(call, "rest.index");
    const float *values = data(call, "rest.values");
    for (int64_t i = 0; i < number(call, "rest"); i++) {
        CU_ASSERT_TRUE(i == 0 || rows[i] > rows[i - 1] || (rows[i] == rows[i - 1] && index[i] > index[i - 1]));
        put(d, rows[i], index[i], values[i]);
    }
}

static void from_coo(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *rows = data(call, "rows");
    for (uint32_t i = 0; i < m->nonzeros; i++)
        put(d, rows[i], m->index[i], m->values[i]);
}

static void from_ell(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *index = data(call, "ell.index");
    const float *values = data(call, "ell.values");
    for (uint32_t i = 0; i < number(call, "width") * m->rows; i++) {
        CU_ASSERT_TRUE(index[i] < m->columns);
        put(d, i % m->rows, index[i], values[i]);
    }
}

static void from_hybrid(dense *d, const kiln_call *call, const kiln__csr *m)
{
    from_ell(d, call, m);
    put_rest(d, call);
}

static void from_jds(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *order = data(call, "order"), *starts = data(call, "starts"), *index = data(call, "index"),
                   *offsets = data(call, "csr.offsets"), *by_row = data(call, "csr.index");
    const float *values = data(call, "values"), *row_values = data(call, "csr.values");
    for (int64_t j = 0; j < number(call, "largest"); j++)
        for (uint32_t i = starts[j]; i < starts[j + 1]; i++)
            put(d, order[i - starts[j]], index[i], values[i]);
    for (uint32_t i = 0; i < m->rows; i++) {
        CU_ASSERT_TRUE(i == 0 || offsets[i + 1] - offsets[i] <= offsets[i] - offsets[i - 1]);
        for (uint32_t k = offsets[i]; k < offsets[i + 1]; k++)
            CU_ASSERT_TRUE(d->at[order[i]][by_row[k]] == row_values[k]);
    }
}

static void from_sell(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *order = data(call, "order"), *starts = data(call, "starts"), *index = data(call, "index");
    const float *values = data(call, "values");
    uint32_t height = 8;
    CHECK(number(call, "slices") == (m->rows + height - 1) / height);
    for (uint32_t s = 0; s < number(call, "slices"); s++) {
        for (uint32_t i = starts[s]; i < starts[s + 1]; i++) {
            uint32_t at = s * height + (i - starts[s]) % height;
            CU_ASSERT_TRUE(m->columns == 0 || index[i] < m->columns);
            put(d, at < m->rows ? order[at] : MOST_ROWS, index[i], values[i]);
        }
    }
}

static void from_dia(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const int32_t *offsets = data(call, "offsets");
    const float *values = data(call, "values");
    for (uint32_t i = 0; i < number(call, "diagonals") * m->rows; i++) {
        int64_t row = i % m->rows, column = row + offsets[i / m->rows];
        CU_ASSERT_TRUE((column >= 0 && column < m->columns) || values[i] == 0);
        put(d, (uint32_t)row, (uint32_t)column, values[i]);
    }
}

static void from_bcsr(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *offsets = data(call, "offsets"), *index = data(call, "index");
    const float *values = data(call, "values");
    (void)m;
    for (uint32_t r = 0; r < number(call, "rows"); r++)
        for (uint32_t b = offsets[r]; b < offsets[r + 1]; b++)
            for (uint32_t i = 0; i < 6; i++)
                put(d, r * 3 + i / 2, index[b] * 2 + i % 2, values[b * 6 + i]);
    CHECK(length(call, "index") == offsets[number(call, "rows")]);
}

static void from_delta(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *offsets = data(call, "offsets");
    const int16_t *distance = data(call, "distance");
    const float *values = data(call, "values");
    for (uint32_t r = 0; r < m->rows; r++)
        for (uint32_t i = offsets[r]; i < offsets[r + 1]; i++)
            put(d, r, (uint32_t)((int64_t)r + distance[i]), values[i]);
    put_rest(d, call);
}

static void from_popular(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *order = data(call, "order"), *index = data(call, "index");
    uint32_t counts[MOST_ROWS] = {0};
    for (uint32_t r = 0; r < m->rows; r++) {
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            CU_ASSERT_TRUE_FATAL(index[i] < m->columns);
            counts[index[i]]++;
            put(d, r, order[index[i]], m->values[i]);
        }
    }
    for (uint32_t c = 1; c < m->columns; c++)
        CU_ASSERT_TRUE(counts[c] < counts[c - 1] || (counts[c] == counts[c - 1] && order[c] > order[c - 1]));
}

/* Returns the row to which a line belongs. A line is a row or a piece of a row. */
static uint32_t row_of_line(const kiln_call *call, const kiln__csr *m, uint32_t line)
{
    const uint32_t *cut_rows = data(call, "cut.rows"), *cut_starts = data(call, "cut.starts");
    if (line < m->rows)
        return line;
    for (uint32_t i = 0; i < number(call, "cut"); i++)
        if (line - m->rows >= cut_starts[i] && line - m->rows < cut_starts[i + 1])
            return cut_rows[i];
    return MOST_ROWS;
}

/* Checks the 32 entries that a warp adds at a time: the entries without bit 15 must belong to different lines. */
static void check_steps(const uint16_t *slots, uint32_t chunks)
{
    for (uint32_t step = 0; step < 4 * chunks; step++) {
        bool seen[8] = {false}; /* one entry for each of the lines of a group */
        for (uint32_t i = step / 4 * 128 + step % 4, last = i + 128; i < last; i += 4) {
            uint16_t slot = slots[i] & 0x7fff;
            CU_ASSERT_TRUE(slot < 3 || slots[i] == 0x7fff);
            if (slot < 3) {
                CU_ASSERT_TRUE(seen[slot] == (slots[i] != slot));
                seen[slot] = true;
            }
        }
    }
}

static void from_binned(dense *d, const kiln_call *call, const kiln__csr *m)
{
    const uint32_t *panel_starts = data(call, "panel.starts"), *group_starts = data(call, "group.starts"),
                   *group_lines = data(call, "group.lines"), *to = data(call, "to");
    const uint16_t *columns = data(call, "columns"), *slots = data(call, "slots");
    const float *values = data(call, "values");
    uint32_t groups = (uint32_t)number(call, "groups"), width = (uint32_t)number(call, "width"),
             chunks = (uint32_t)number(call, "chunks"), used = 0;
    CU_ASSERT_TRUE_FATAL(length(call, "slots") == chunks * 128 && group_starts[groups] == chunks);
    CU_ASSERT_TRUE(group_lines[groups] == m->rows + number(call, "pieces"));
    check_steps(slots, chunks);
    for (uint32_t p = 0; p < number(call, "panels"); p++) {
        uint32_t group = 0;
        for (uint32_t i = panel_starts[p] * 8; i < panel_starts[p + 1] * 8; i++) {
            uint32_t at = to[i / 8] * 8 + i % 8;
            CU_ASSERT_TRUE_FATAL(at < chunks * 128 && columns[i] < width);
            while (group_starts[group + 1] <= at / 128) /* the starts of a panel ascend */
                group++;
            CU_ASSERT_TRUE_FATAL(group_starts[group] <= at / 128);
            used += slots[at] != 0x7fff;
            CU_ASSERT_TRUE(slots[at] != 0x7fff || values[i] == 0);
            if (slots[at] != 0x7fff)
                put(d, row_of_line(call, m, group_lines[group] + (slots[at] & 0x7fff)), p * width + columns[i],
                    values[i]);
        }
    }
    CU_ASSERT_TRUE(used == m->nonzeros);
}

static kiln_status call_format(kiln_call *call, kiln_host_fn function, const kiln__csr *m, int64_t padding,
                               kiln_error **error)
{
    static kiln_array offsets, index, values;
    static kiln__call_arg args[8];
    offsets = (kiln_array){KILN_u32, 1, {m->rows + 1}, m->offsets};
    index = (kiln_array){KILN_u32, 1, {m->nonzeros}, m->index};
    values = (kiln_array){KILN_f32, 1, {m->nonzeros}, m->values};
    args[0] = (kiln__call_arg){.name = "matrix.csr.offsets", .kind = KILN__CALL_ARRAY, .array = &offsets};
    args[1] = (kiln__call_arg){.name = "matrix.csr.index", .kind = KILN__CALL_ARRAY, .array = &index};
    args[2] = (kiln__call_arg){.name = "matrix.csr.values", .kind = KILN__CALL_ARRAY, .array = &values};
    args[3] = (kiln__call_arg){.name = "matrix.columns", .value = {.kind = KILN_INT, .as.i = m->columns}};
    args[4] = (kiln__call_arg){.name = "padding", .value = {.kind = KILN_INT, .as.i = padding}};
    args[5] = (kiln__call_arg){.name = "height",
                               .value = {.kind = KILN_INT, .as.i = function == kiln__host_sparse_sell ? 8 : 3}};
    args[6] = (kiln__call_arg){.name = "width", .value = {.kind = KILN_INT, .as.i = 2}};
    args[7] = (kiln__call_arg){.name = "piece", .value = {.kind = KILN_INT, .as.i = 5}};
    *call = (kiln_call){.arg_count = 8, .args = args};
    kiln__host host = {.name = "format", .uses = KILN_HOST_INPUT, .function = function};
    return kiln__call(call, &host, (kiln__pos){0}, error);
}

static const struct {
    const char *name;
    kiln_host_fn function;
    void (*from)(dense *, const kiln_call *, const kiln__csr *);
} formats[] = {
    {"coo", kiln__host_sparse_coo, from_coo},
    {"ell", kiln__host_sparse_ell, from_ell},
    {"hybrid", kiln__host_sparse_hybrid, from_hybrid},
    {"jds", kiln__host_sparse_jds, from_jds},
    {"sell", kiln__host_sparse_sell, from_sell},
    {"dia", kiln__host_sparse_dia, from_dia},
    {"bcsr", kiln__host_sparse_bcsr, from_bcsr},
    {"delta", kiln__host_sparse_delta, from_delta},
    {"popular", kiln__host_sparse_popular, from_popular},
    {"binned", kiln__host_sparse_binned, from_binned},
};

static void test_formats(void)
{
    static const char *const kinds[] = {"stencil27", "band", "fem",  "fem6",  "rmat", "power", "uniform",
                                        "tall",      "road", "path", "noisy", "star", "arrow", "none"};
    static const uint64_t rows[] = {0, 1, 2, 31, 80};
    static dense want, got;
    for (size_t k = 0; k < KILN__COUNT(kinds) * KILN__COUNT(rows); k++) {
        kiln__csr m = generate(kinds[k / KILN__COUNT(rows)], rows[k % KILN__COUNT(rows)], 7, false);
        memset(&want, 0, sizeof want);
        for (uint32_t r = 0; r < m.rows; r++)
            for (uint32_t i = m.offsets[r]; i < m.offsets[r + 1]; i++)
                want.at[r][m.index[i]] = m.values[i];
        for (size_t f = 0; f < KILN__COUNT(formats); f++) {
            kiln_call call;
            kiln_error *error = NULL;
            memset(&got, 0, sizeof got);
            CHECK_OK(call_format(&call, formats[f].function, &m, 1000, &error), error);
            formats[f].from(&got, &call, &m);
            CHECK(memcmp(&want, &got, sizeof got) == 0);
            kiln__call_free(&call);
        }
        kiln__csr_free(NULL, &m);
    }
}

static void test_too_much_padding(void)
{
    kiln__csr m = generate("arrow", 4000, 0, false);
    kiln_call call;
    kiln_error *error = NULL;
    CHECK(call_format(&call, kiln__host_sparse_ell, &m, 16, &error) == KILN_ERROR_HOST_FUNCTION);
    CHECK(strstr(kiln_error_message(error),
                 "ELL would store 1.33e+03 times the 11998 entries of the matrix; `padding` allows "
                 "16 times") != NULL);
    kiln_error_free(error);
    kiln__call_free(&call);
    kiln__csr_free(NULL, &m);
}

static const check_case tests[] = {
    {"build", test_build},
    {"build: limits", test_build_limits},
    {"build: changed entries", test_build_changed},
    {"generators", test_generators},
    {"shapes", test_shapes},
    {"same bytes", test_same_bytes},
    {"market", test_market},
    {"market: refused", test_market_refused},
    {"large file", test_large_file},
    {"packed", test_packed},
    {"stop", test_stop},
    {"progress", test_progress},
    {"search", test_search},
    {"formats", test_formats},
    {"too much padding", test_too_much_padding},
};
KILN_SUITE("sparse", tests)
