#include <inttypes.h>

#include "base.h"
#include "check.h"
#include "index.h"

static kiln_spec *parse(const char *text)
{
    kiln_spec *spec = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__spec_parse(NULL, text, strlen(text), "t.yaml", NULL, &spec, &error), error);
    return spec;
}

#define HEAD "kiln: 1\nname: t\nsource: t.cu\nsizes: {default: {N: 100}}\n"
#define TAIL "launch: {kernel: k, grid: 1, block: 1, args: []}\n"

/* ---- random specs against every configuration tried one by one ---- */

static uint64_t state;
static unsigned pick(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

/* Appends a random expression over `names`, nested at most `depth` deep. */
static void random_expr(kiln__text *out, const char *const *names, size_t count, int depth)
{
    static const char *const ops[] = {"+", "-", "*", "<", "<=", "==", "!=", "and", "or", "&", "|", ">"};
    switch (depth <= 0 ? pick(2) : pick(6)) {
    case 0: kiln__text_printf(out, "%u", pick(9)); return;
    case 1: kiln__text_puts(out, names[pick((unsigned)count)]); return;
    case 2:
        kiln__text_puts(out, "(");
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, " if ");
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, " else ");
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, ")");
        return;
    case 3:
        kiln__text_puts(out, "max(");
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, ", ");
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, ")");
        return;
    default:
        kiln__text_puts(out, "(");
        random_expr(out, names, count, depth - 1);
        kiln__text_printf(out, " %s ", ops[pick(KILN__COUNT(ops))]);
        random_expr(out, names, count, depth - 1);
        kiln__text_puts(out, ")");
    }
}

/* Appends a random spec: params, lets and constraints in any order of dependence. */
static void random_spec(kiln__text *out, size_t params, size_t lets, size_t where)
{
    static const char *const names[] = {"N", "p0", "p1", "p2", "p3", "p4", "l0", "l1", "l2"};
    kiln__text_puts(out, HEAD "params:\n");
    for (size_t i = 0; i < params; i++) {
        kiln__text_printf(out, "  p%zu: [", i);
        for (unsigned v = 0, count = 1 + pick(6); v < count; v++)
            kiln__text_printf(out, "%s%u", v ? ", " : "", v * (1 + pick(2)) + (v ? 0 : pick(1)) + v * 7);
        kiln__text_puts(out, "]\n");
    }
    const char *usable[16] = {names[0]};
    size_t usable_count = 1;
    for (size_t i = 0; i < params; i++)
        usable[usable_count++] = names[1 + i];
    kiln__text_puts(out, "let:\n  unused: 1\n");
    for (size_t i = 0; i < lets; i++) {
        kiln__text_printf(out, "  l%zu: \"", i);
        random_expr(out, usable, usable_count, 2);
        kiln__text_puts(out, "\"\n");
        usable[usable_count++] = names[6 + i];
    }
    kiln__text_puts(out, "where:\n");
    for (size_t i = 0; i < where; i++) {
        kiln__text_puts(out, "  - \"");
        random_expr(out, usable, usable_count, 3);
        kiln__text_puts(out, "\"\n");
    }
    kiln__text_puts(out, TAIL);
}

/* Returns true if all constraints hold, evaluated one by one. */
static bool holds(const kiln__variant *variant, const kiln__scope *outer, const kiln_setting *settings)
{
    kiln_setting lets[8];
    kiln__scope params = {.outer = outer, .settings = {variant->param_count, settings}};
    kiln__scope all = {.outer = &params, .settings = {variant->let_count, lets}};
    CHECK(variant->let_count <= KILN__COUNT(lets));
    CHECK(kiln__lets_eval(NULL, variant, &params, lets, NULL) == KILN_OK);
    for (size_t i = 0; i < variant->where_count; i++) {
        bool fine = false;
        CHECK(kiln__expr_eval_bool(variant->where[i], &all, "w", &fine, NULL));
        if (!fine)
            return false;
    }
    return true;
}

/* Returns the number of a configuration in lexical order, among all configurations without constraints. */
static uint64_t rank_of(const kiln__variant *variant, const kiln_setting *settings)
{
    uint64_t rank = 0;
    for (size_t i = 0; i < variant->param_count; i++) {
        size_t v = 0;
        while (v < variant->params[i].count && !kiln__value_equal(variant->params[i].values[v], settings[i].value))
            v++;
        CHECK(v < variant->params[i].count && strcmp(settings[i].name, variant->params[i].name) == 0);
        rank = rank * variant->params[i].count + v;
    }
    return rank;
}

/* Tests that finding configurations by number gives each valid configuration once, and no other. */
static void numbered(const kiln__space *space, const kiln__variant *variant, uint64_t raw, uint64_t valid)
{
    kiln__index *index = NULL;
    kiln_error *error = NULL;
    kiln_setting settings[8];
    unsigned char *seen = calloc(raw + 1, 1);
    CHECK_OK(kiln__index_open(space, &index, &error), error);
    CHECK(kiln__index_count(index) == valid);
    for (uint64_t n = valid; n-- > 0;) {
        CHECK_OK(kiln__index_at(index, n, settings, &error), error);
        uint64_t rank = rank_of(variant, settings);
        CHECK(rank < raw && !seen[rank]);
        CHECK(kiln__space_check(space, settings, NULL) == KILN_OK);
        if (rank < raw)
            seen[rank] = 1;
    }
    CHECK(kiln__index_at(index, valid, settings, NULL) == KILN_ERROR_ARGUMENT);
    uint32_t positions[8] = {0};
    for (uint64_t rank = 0; rank < raw; rank++) { /* also finds the configurations by their positions, one by one */
        bool fine = false;
        uint64_t rest = rank;
        for (size_t i = variant->param_count; i-- > 0; rest /= variant->params[i].count)
            positions[i] = (uint32_t)(rest % variant->params[i].count);
        CHECK_OK(kiln__index_holds(index, positions, &fine, &error), error);
        CHECK(fine == (seen[rank] == 1));
    }
    for (uint64_t n = 0; n < valid && n < 20; n++) {
        uint64_t rank = 0;
        CHECK_OK(kiln__index_at(index, n, settings, &error), error);
        CHECK_OK(kiln__index_positions(index, n, positions, &error), error);
        for (size_t i = 0; i < variant->param_count; i++)
            rank = rank * variant->params[i].count + positions[i];
        CHECK(rank == rank_of(variant, settings));
    }
    kiln__index_free(index);
    free(seen);
}

/* Walks a space in order, and compares each configuration with a plain nested loop that tests every constraint. */
static void compare(const kiln_spec *spec)
{
    const kiln__variant *variant = &spec->variants[0];
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln__space *space = NULL;
    kiln__walk *walk = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__space_open(NULL, variant, &outer, (kiln__settings){0}, &space, &error), error);
    CHECK_OK(kiln__walk_open(space, &walk, &error), error);
    size_t index[8] = {0};
    kiln_setting settings[8];
    uint64_t raw = 0, valid = 0;
    for (bool more = true; more; raw++) {
        for (size_t i = 0; i < variant->param_count; i++)
            settings[i] = (kiln_setting){variant->params[i].name, variant->params[i].values[index[i]]};
        bool fine = holds(variant, &outer, settings);
        CHECK(kiln__space_check(space, settings, NULL) == (fine ? KILN_OK : KILN_ERROR_CONSTRAINT));
        if (fine) {
            const kiln_setting *next = NULL;
            valid++;
            CHECK_OK(kiln__walk_next(walk, &next, &error), error);
            CHECK(next != NULL);
            for (size_t i = 0; next && i < variant->param_count; i++)
                CHECK(kiln__value_equal(next[i].value, settings[i].value) && !strcmp(next[i].name, settings[i].name));
        }
        size_t d = variant->param_count;
        while (d > 0 && ++index[d - 1] == variant->params[d - 1].count)
            index[--d] = 0;
        more = d > 0;
    }
    const kiln_setting *end = settings;
    CHECK_OK(kiln__walk_next(walk, &end, &error), error);
    CHECK(end == NULL);
    end = settings;
    CHECK_OK(kiln__walk_next(walk, &end, &error), error);
    CHECK(end == NULL);
    uint64_t counted = 0;
    CHECK_OK(kiln__space_count(space, &counted, &error), error);
    CHECK(counted == valid);
    CHECK(kiln__space_raw(space) == raw);
    numbered(space, variant, raw, valid);
    kiln__walk_free(walk);
    kiln__space_free(space);
}

/* Compares the index with a walk over all configurations, which tests the constraints in their order and counts the
 * first one that does not hold. */
static void brute(const kiln_spec *spec)
{
    const kiln__variant *variant = &spec->variants[0];
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln__space *space = NULL;
    kiln_error *error = NULL;
    size_t index[8] = {0};
    kiln_setting settings[8];
    uint64_t raw = 0, valid = 0;
    CHECK_OK(kiln__space_open(NULL, variant, &outer, (kiln__settings){0}, &space, &error), error);
    for (bool more = true; more; raw++) {
        for (size_t i = 0; i < variant->param_count; i++)
            settings[i] = (kiln_setting){variant->params[i].name, variant->params[i].values[index[i]]};
        valid += kiln__space_check(space, settings, NULL) == KILN_OK;
        size_t d = variant->param_count;
        while (d > 0 && ++index[d - 1] == variant->params[d - 1].count)
            index[--d] = 0;
        more = d > 0;
    }
    CHECK(valid > 0 && valid < raw);
    numbered(space, variant, raw, valid);
    kiln__space_free(space);
}

static void test_random(void)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        state = seed;
        pick(2);
        kiln__text text = {0};
        random_spec(&text, 1 + pick(5), pick(4), 1 + pick(4));
        kiln_spec *spec = parse(text.data);
        if (spec)
            compare(spec);
        kiln_spec_free(spec);
        kiln__text_free(&text);
    }
}

static void test_no_params(void)
{
    static const char *const texts[] = {HEAD TAIL, HEAD "where: [N > 100]\n" TAIL, HEAD "where: [N > 99]\n" TAIL};
    static const uint64_t want[] = {1, 0, 1};
    for (size_t i = 0; i < 3; i++) {
        kiln_spec *spec = parse(texts[i]);
        if (!spec)
            continue;
        kiln__scope outer = {.settings = spec->size_sets[0].settings};
        kiln__space *space = NULL;
        kiln_error *error = NULL;
        uint64_t valid = 9;
        CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){0}, &space, &error), error);
        CHECK_OK(kiln__space_count(space, &valid, &error), error);
        CHECK(valid == want[i] && kiln__space_raw(space) == 1);
        kiln__space_free(space);
        compare(spec);
        kiln_spec_free(spec);
    }
}

static const char fixed_text[] = HEAD "params: {A: [1, 2, 4], B: [0.5, 1], C: [x, y]}\n"
                                      "let: {twice: A * 2}\nwhere:\n  - twice * B < 4\n  - C == 'x' or A > 1\n" TAIL;

static void test_fixed(void)
{
    kiln_spec *spec = parse(fixed_text);
    if (!spec)
        return;
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln_setting fixed[] = {
        {"B", {KILN_INT, {.i = 1}}}, {"nowhere", {KILN_INT, {.i = 1}}}, {"A", {KILN_INT, {.i = 3}}}};
    static const struct {
        size_t count;
        uint64_t raw, valid;
    } want[] = {{0, 12, 4}, {1, 6, 1}, {2, 6, 1}, {3, 2, 0}};
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        kiln__space *space = NULL;
        kiln_error *error = NULL;
        uint64_t valid = 99;
        CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){want[i].count, fixed}, &space, &error),
                 error);
        CHECK_OK(kiln__space_count(space, &valid, &error), error);
        CHECK(kiln__space_raw(space) == want[i].raw);
        CHECK(valid == want[i].valid);
        kiln__space_free(space);
    }
    kiln_spec_free(spec);
}

static void test_messages(void)
{
    kiln_spec *spec = parse(fixed_text);
    if (!spec)
        return;
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln__space *space = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){0}, &space, &error), error);
    kiln_setting settings[] = {
        {"A", {KILN_INT, {.i = 4}}}, {"B", {KILN_FLOAT, {.f = 0.5}}}, {"C", {KILN_TEXT, {.text = "y"}}}};
    CHECK(kiln__space_check(space, settings, &error) == KILN_ERROR_CONSTRAINT);
    CHECK_TEXT(kiln_error_message(error), "t.yaml:8:5: this constraint does not hold: twice = 8, B = 0.5\n"
                                          "    - twice * B < 4\n      ^");
    kiln_error_free(error);
    error = NULL;
    settings[0].value.as.i = 1;
    CHECK(kiln__space_check(space, settings, &error) == KILN_ERROR_CONSTRAINT);
    CHECK_TEXT(kiln_error_message(error), "t.yaml:9:5: this constraint does not hold: C = y, A = 1\n"
                                          "    - C == 'x' or A > 1\n      ^");
    kiln_error_free(error);
    error = NULL;
    settings[2].value.as.text = "x";
    CHECK_OK(kiln__space_check(space, settings, &error), error);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

static void test_failing(void)
{
    static const char text[] = HEAD "params: {A: [2, 1, 0]}\nlet: {part: N // A}\nwhere: [part > 3]\n" TAIL;
    kiln_spec *spec = parse(text);
    if (!spec)
        return;
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln__space *space = NULL;
    kiln_error *error = NULL;
    uint64_t valid = 0;
    CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){0}, &space, &error), error);
    CHECK(kiln__space_count(space, &valid, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), "t.yaml:6:15: division by zero\n  let: {part: N // A}\n                ^");
    kiln_error_free(error);
    error = NULL;
    const kiln_setting zero = {"A", {KILN_INT, {.i = 0}}};
    CHECK(kiln__space_check(space, &zero, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), "t.yaml:6:15: division by zero\n  let: {part: N // A}\n                ^");
    kiln_error_free(error);
    error = NULL;
    kiln__space_free(space);
    /* The expression uses a name that nothing defines. */
    CHECK(kiln__space_open(NULL, spec->variants, NULL, (kiln__settings){0}, &space, &error) == KILN_ERROR_SPEC);
    CHECK_TEXT(kiln_error_message(error), "t.yaml:6:13: 'N' has no value here\n  let: {part: N // A}\n              ^");
    kiln_error_free(error);
    kiln_spec_free(spec);
}

/* Counts the spaces of T1 files of the community, and compares the numbers with known ones. */
static void test_community(void)
{
    static const struct {
        const char *file;
        uint64_t raw, valid;
    } want[] = {{"convolution_milo.t1.json", 10240, 4362},
                {"dedispersion_milo.t1.json", 22272, 11130},
                {"gemm_milo.t1.json", 663552, 116928},
                {"hotspot_milo.t1.json", 4440000, 82984},
                {"hotspot_full.t1.json", 22200000, 349853}};
    const char *folder = KILN_SOURCE_DIR "/../shared/data";
    if (!kiln__file_exists(folder)) {
        printf("SKIP data: %s is not there\n", folder);
        return;
    }
    for (size_t i = 0; i < KILN__COUNT(want); i++) {
        char path[512], *text = NULL;
        size_t length = 0;
        kiln_spec *spec = NULL;
        kiln_error *error = NULL;
        kiln__space *space = NULL;
        uint64_t valid = 0;
        snprintf(path, sizeof path, "%s/%s", folder, want[i].file);
        CHECK_OK(kiln__file_read(NULL, path, 0, &text, &length, &error), error);
        CHECK_OK(kiln__spec_parse(NULL, text, length, want[i].file, NULL, &spec, &error), error);
        kiln__free(NULL, text);
        if (!spec)
            continue;
        kiln__scope outer = {.settings = spec->size_sets[0].settings};
        CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){0}, &space, &error), error);
        CHECK_OK(kiln__space_count(space, &valid, &error), error);
        CHECK(kiln__space_raw(space) == want[i].raw);
        CHECK(valid == want[i].valid);
        kiln__space_free(space);
        kiln_spec_free(spec);
    }
}

/* Tests 10^9 configurations, of which 10^6 are valid. Each constraint ties a param to a sum of other params. */
static void test_large(void)
{
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD "params:\n");
    for (int i = 0; i < 9; i++)
        kiln__text_printf(&text, "  p%d: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n", i);
    kiln__text_puts(&text, "where:\n  - (p0 + p1 + p2) % 10 == 0\n  - (p2 * 3 + p3 + p4 * p1) % 10 == 1\n"
                           "  - (p4 + p5 + p6 * p7 + p8) % 10 == 7\n" TAIL);
    kiln_spec *spec = parse(text.data);
    kiln__text_free(&text);
    if (!spec)
        return;
    kiln__scope outer = {.settings = spec->size_sets[0].settings};
    kiln__space *space = NULL;
    kiln__index *index = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__space_open(NULL, spec->variants, &outer, (kiln__settings){0}, &space, &error), error);
    uint64_t start = kiln__now_ns();
    CHECK_OK(kiln__index_open(space, &index, &error), error);
    CHECK(kiln__space_raw(space) == 1000000000);
    /* each constraint determines the last digit of a term that stands alone */
    CHECK(kiln__index_count(index) == 1000000);
    kiln_setting settings[9];
    state = 5;
    for (int n = 0; n < 1000; n++) {
        CHECK_OK(kiln__index_at(index, pick(1000000), settings, &error), error);
        CHECK(kiln__space_check(space, settings, NULL) == KILN_OK);
    }
    // half a second would be enough; a sanitizer may take 20 times as long
    CHECK(kiln__now_ns() - start < 20 * (uint64_t)500000000);
    kiln__index_free(index);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

/* Tests a configuration for which one constraint cannot be computed, although another constraint excludes it. The index
 * does not compute fractions, floats and texts. */
static void test_index_edges(void)
{
    static const char *const bodies[] = {
        "params: {A: [0, 1, 2, 3], B: [1, 2, 4]}\nwhere:\n  - A > 0\n  - B // A >= 1 or B % A == 1\n",
        "params: {A: [0, 1, 2, 3], B: [1, 2, 4]}\nwhere:\n  - A == 0 or B % A == 0\n  - B + A in (1, 3, 5)\n",
        "params: {A: [0.5, 1, 2], B: [1, 2, 4]}\nwhere:\n  - A * B >= 1.0\n  - 1 <= B < 3 if A < 1 else B > 1\n",
        "params: {A: [x, y, z], B: [x, z], C: [1, 2]}\nwhere:\n  - A != B\n  - A == 'x' or C == 2\n  - not (B == 'z' and C in [1])\n",
        "params: {A: [4611686018427387904, 1], B: [4, 1]}\nwhere:\n  - B < 4 or A < 2\n  - A * B > 0\n",
        "params: {A: [1, 2, 3], B: [2, 3]}\nlet: {q: float(A) * B, r: q / 2}\nwhere:\n  - r < 3\n  - max(q, A) == q\n",
        "params: {A: [1, 2, 3], B: [2, 3], C: [5]}\nwhere:\n  - abs(A - B) < 2 and -A % C != 2\n  - A ** B < 20 and A << B > 4\n",
    };
    for (size_t i = 0; i < KILN__COUNT(bodies); i++) {
        kiln__text text = {0};
        kiln__text_printf(&text, "%s%s%s", HEAD, bodies[i], TAIL);
        kiln_spec *spec = parse(text.data);
        kiln__text_free(&text);
        if (spec)
            brute(spec);
        kiln_spec_free(spec);
    }
}

/* Fails the first, second, ... allocation of all functions of a space. */
static void test_oom(void)
{
    kiln_spec *spec = parse(fixed_text);
    if (!spec)
        return;
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__scope outer = {.settings = spec->size_sets[0].settings};
        const kiln_setting fixed[] = {{"C", {KILN_TEXT, {.text = "y"}}}};
        kiln__space *space = NULL;
        kiln__walk *walk = NULL;
        kiln_error *error = NULL;
        const kiln_setting *settings = NULL;
        kiln_status status = kiln__space_open(&mem, spec->variants, &outer, (kiln__settings){1, fixed}, &space, &error);
        if (status == KILN_OK)
            status = kiln__walk_open(space, &walk, &error);
        if (status == KILN_OK)
            status = kiln__walk_next(walk, &settings, &error);
        uint64_t valid = 0;
        if (status == KILN_OK)
            status = kiln__space_count(space, &valid, &error);
        const kiln_setting bad[] = {
            {"A", {KILN_INT, {.i = 1}}}, {"B", {KILN_FLOAT, {.f = 0.5}}}, {"C", {KILN_TEXT, {.text = "y"}}}};
        if (status == KILN_OK) {
            status = kiln__space_check(space, bad, &error);
            CHECK(status == KILN_ERROR_CONSTRAINT || status == KILN_ERROR_MEMORY);
        }
        if (oom.failed)
            CHECK(status == KILN_ERROR_MEMORY || kiln_error_status(error) == KILN_ERROR_MEMORY || valid == 1);
        kiln_error_free(error);
        kiln__walk_free(walk);
        kiln__space_free(space);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
    kiln_spec_free(spec);
}

/* ---- spaces that are too large to count ---- */

/* Makes a spec with 3^40 configurations and one constraint over all params. */
static kiln_spec *hard_spec(void)
{
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD "params:\n");
    for (int i = 0; i < 40; i++)
        kiln__text_printf(&text, "  p%d: [1, 2, 3]\n", i);
    kiln__text_puts(&text, "where:\n  - (0");
    for (int i = 0; i < 40; i++)
        kiln__text_printf(&text, " + p%d * p%d * %d", i, (i * 7 + 3) % 40, i * i + 13);
    kiln__text_puts(&text, ") % 1009 == 5\n" TAIL);
    kiln_spec *spec = parse(text.data);
    kiln__text_free(&text);
    return spec;
}

static kiln__space *space_of(const kiln_spec *spec, kiln__scope *outer)
{
    kiln__space *space = NULL;
    kiln_error *error = NULL;
    *outer = (kiln__scope){.settings = spec->size_sets[0].settings};
    CHECK_OK(kiln__space_open(NULL, spec->variants, outer, (kiln__settings){0}, &space, &error), error);
    return space;
}

/* Finding out whether an index by number is fast has a limited effort, which may end at any point. It may end before a
 * group of params that depends on an earlier group was counted. Numbers are later divided by this count, so the count
 * must not be 0. */
static void test_quick(void)
{
    kiln_spec *spec = parse(HEAD "params: {a: [1, 2, 3, 4], b: [1, 2, 3, 4], c: [1, 2, 3, 4], d: [1, 2, 3, 4]}\n"
                                 "where: [a <= b, a <= c, a <= d]\n" TAIL);
    kiln__scope outer;
    kiln__space *space = spec ? space_of(spec, &outer) : NULL;
    kiln__index *index = NULL;
    kiln_error *error = NULL;
    kiln_setting settings[4];
    if (!space)
        return;
    CHECK_OK(kiln__index_open(space, &index, &error), error);
    CHECK(kiln__index_count(index) == 4 * 4 * 4 + 3 * 3 * 3 + 2 * 2 * 2 + 1);
    bool was = false, quick;
    for (uint64_t units = 1; units < 1000; units++) {
        CHECK_OK(kiln__index_quick(index, units, &quick, &error), error);
        CHECK(quick || !was); /* more effort never makes the result worse */
        was = quick;
    }
    CHECK(was);
    CHECK_OK(kiln__index_quick(index, 1, &quick, &error), error);
    CHECK(!quick);
    for (uint64_t n = 0; n < kiln__index_count(index); n++) { /* the index works as before */
        CHECK_OK(kiln__index_at(index, n, settings, &error), error);
        CHECK(kiln__space_check(space, settings, NULL) == KILN_OK);
    }
    kiln__index_free(index);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

/* Makes a spec with `count` params of two values each. No constraint names the last param. */
static kiln_spec *binary_spec(int count, const char *where)
{
    kiln__text text = {0};
    kiln__text_puts(&text, HEAD "params:\n");
    for (int i = 0; i < count; i++)
        kiln__text_printf(&text, "  p%d: [0, 1]\n", i);
    kiln__text_printf(&text, "where: [%s]\n" TAIL, where);
    kiln_spec *spec = parse(text.data);
    kiln__text_free(&text);
    return spec;
}

/* Tests spaces near 2^64 configurations. A space that 64 bits cannot count is not counted, and reports at least
 * UINT64_MAX. A space with one configuration fewer than 2^64 - 1 is counted. A group of 2^64 that a constraint
 * multiplies by 0 does no harm. */
static void test_wide(void)
{
    static const struct {
        int params;
        const char *where;
        uint64_t valid;                               /* UINT64_MAX: the space is not counted */
    } cases[] = {{63, "p0 == p0", (uint64_t)1 << 63}, /* the constraint folds to a constant */
                 {64, "p0 == p0", UINT64_MAX},        {64, "p0 < p1", (uint64_t)1 << 62},
                 {65, "p0 < p1", (uint64_t)1 << 63},  {66, "p0 < p1", UINT64_MAX},
                 {200, "p0 + p1 < 3", UINT64_MAX},    {200, "p199 > 1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_spec *spec = binary_spec(cases[i].params, cases[i].where);
        kiln__scope outer;
        kiln__space *space = spec ? space_of(spec, &outer) : NULL;
        kiln_error *error = NULL;
        kiln__index *index = NULL;
        uint64_t found = 1;
        bool counted = false;
        if (!space)
            return;
        CHECK_OK(kiln__space_count_within(space, NULL, &counted, &found, &error), error);
        CHECK(counted == (cases[i].valid < UINT64_MAX) && found == cases[i].valid);
        CHECK_OK(kiln__index_open_within(space, NULL, &index, &found, &error), error);
        CHECK((index != NULL) == counted && found == cases[i].valid);
        kiln_setting settings[200];
        for (uint64_t n = 0; index && n < 64 && n < found; n++) {
            CHECK_OK(kiln__index_at(index, found / 64 * n, settings, &error), error);
            CHECK(kiln__space_check(space, settings, NULL) == KILN_OK);
        }
        kiln__index_free(index);
        kiln__space_free(space);
        kiln_spec_free(spec);
    }
}

typedef struct patience {
    uint64_t asked, most;
} patience;
static bool ask(void *user)
{
    patience *p = user;
    return ++p->asked >= p->most;
}
static uint64_t below(void *user, uint64_t bound)
{
    (void)user;
    return pick((unsigned)bound);
}

/* Tests that counting and walking end when the effort ends, or when the caller requests it. They must end at the next
 * step, not after the walk. */
static void test_effort(void)
{
    kiln_spec *spec = hard_spec();
    kiln__scope outer;
    kiln__space *space = spec ? space_of(spec, &outer) : NULL;
    if (!space)
        return;
    kiln__index *index = NULL;
    kiln_error *error = NULL;
    uint64_t found = 99;
    kiln__effort effort = {.most = 1 << 20};
    CHECK_OK(kiln__index_open_within(space, &effort, &index, &found, &error), error);
    CHECK(!index && effort.over && !effort.stopped && effort.done < (1 << 20) + 10000);
    effort = (kiln__effort){.most = 1 << 22};
    bool counted = true;
    CHECK_OK(kiln__space_count_within(space, &effort, &counted, &found, &error), error);
    CHECK(!counted && effort.over);
    effort = (kiln__effort){.deadline = 1}; /* the deadline has passed long ago */
    CHECK_OK(kiln__space_count_within(space, &effort, &counted, &found, &error), error);
    CHECK(!counted && effort.over);
    patience user = {.most = 5};
    effort = (kiln__effort){.stop = ask, .user = &user};
    CHECK_OK(kiln__index_open_within(space, &effort, &index, &found, &error), error);
    CHECK(!index && effort.stopped && user.asked == 5 && effort.done < 6 * 70000);
    user.asked = 0;
    kiln__walk *walk = NULL;
    const kiln_setting *settings = NULL;
    CHECK_OK(kiln__walk_open(space, &walk, &error), error);
    effort = (kiln__effort){.stop = ask, .user = &user};
    kiln__walk_limit(walk, &effort);
    do
        CHECK_OK(kiln__walk_next(walk, &settings, &error), error);
    while (settings);
    CHECK(effort.stopped && user.asked == 5);
    kiln__walk_free(walk);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

/* Tests that a halted walk continues at the same place with the same configurations. None may be missing, and none may
 * come twice. */
static void test_halted(void)
{
    kiln_spec *spec = parse(HEAD "params: {A: {from: 1, to: 30}, B: {from: 1, to: 30}, C: [0, 1]}\n"
                                 "where:\n  - A * B % 7 == 3\n  - C == 0 or A > B\n" TAIL);
    kiln__scope outer;
    kiln__space *space = spec ? space_of(spec, &outer) : NULL;
    if (!space)
        return;
    kiln__walk *whole = NULL, *halted = NULL;
    kiln_error *error = NULL;
    CHECK_OK(kiln__walk_open(space, &whole, &error), error);
    CHECK_OK(kiln__walk_open(space, &halted, &error), error);
    size_t halts = 0, count = 0;
    for (;;) {
        const kiln_setting *want = NULL, *got = NULL;
        kiln__effort effort = {0};
        CHECK_OK(kiln__walk_next(whole, &want, &error), error);
        do {
            effort = (kiln__effort){.most = 100};
            kiln__walk_limit(halted, &effort);
            CHECK_OK(kiln__walk_next(halted, &got, &error), error);
            halts += effort.over;
        } while (!got && effort.over);
        CHECK(!want == !got);
        if (!want || !got)
            break;
        for (size_t i = 0; i < 3; i++)
            CHECK(kiln__value_equal(want[i].value, got[i].value));
        count++;
    }
    uint64_t valid = 0;
    CHECK_OK(kiln__space_count(space, &valid, &error), error);
    CHECK(count == valid && halts > 10);
    for (uint64_t most = 1; most < 1 << 16; most *= 2) { /* the number found so far is never above the true number */
        bool counted = false;
        uint64_t found = 0;
        kiln__effort effort = {.most = most};
        CHECK_OK(kiln__space_count_within(space, &effort, &counted, &found, &error), error);
        CHECK(counted ? found == valid : found <= valid);
    }
    kiln__walk_free(whole);
    kiln__walk_free(halted);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

/* Tests that every drawn configuration is valid, and that after some time all configurations of a small space are
 * drawn. */
static void test_sampler(void)
{
    kiln_spec *spec = parse(HEAD "params: {A: [1, 2, 3, 4], B: [1, 2, 3, 4], C: [1, 2, 3, 4], D: [x, y, z]}\n"
                                 "where:\n  - A != B\n  - B != C\n  - A != C\n" TAIL);
    kiln__scope outer;
    kiln__space *space = spec ? space_of(spec, &outer) : NULL;
    if (!space)
        return;
    kiln__sampler *sampler = NULL;
    kiln_error *error = NULL;
    bool seen[192] = {false};
    size_t all = 0;
    CHECK_OK(kiln__sampler_open(space, &sampler, &error), error);
    state = 3;
    for (int n = 0; n < 2000; n++) {
        uint32_t at[4];
        bool found = false, holds = false;
        CHECK_OK(kiln__sampler_draw(sampler, below, NULL, NULL, at, &found, &error), error);
        CHECK(found && at[0] < 4 && at[1] < 4 && at[2] < 4 && at[3] < 3);
        CHECK_OK(kiln__space_holds_at(space, at, &holds, &error), error);
        CHECK(holds);
        bool *mark = &seen[((at[0] * 4 + at[1]) * 4 + at[2]) * 3 + at[3]];
        all += !*mark;
        *mark = true;
    }
    CHECK(all == 72 && !kiln__sampler_none(sampler));
    kiln__sampler_free(sampler);
    kiln__space_free(space);
    kiln_spec_free(spec);
}

/* Tests spaces without a valid configuration. A small space is walked completely. For a large space the message tells
 * how far the walk came, and why it ended. */
static void test_none(void)
{
    static const char *const bodies[] = {"params: {A: [1, 2, 3], B: [1, 2]}\nwhere:\n  - A > 0\n  - A + B == 9\n",
                                         "params: {A: {from: 1, to: 9999}, B: {from: 1, to: 9999}, C: [1, 2]}\n"
                                         "where:\n  - A > 0\n  - A + B == 0\n"};
    for (size_t i = 0; i < 2; i++) {
        kiln__text text = {0};
        kiln__text_printf(&text, "%s%s%s", HEAD, bodies[i], TAIL);
        kiln_spec *spec = parse(text.data);
        kiln__text_free(&text);
        kiln__scope outer;
        kiln__space *space = spec ? space_of(spec, &outer) : NULL;
        if (!space)
            continue;
        kiln__sampler *sampler = NULL;
        kiln_error *error = NULL;
        kiln__effort effort = {.most = 1 << 20};
        uint32_t at[3];
        bool found = true;
        CHECK_OK(kiln__sampler_open(space, &sampler, &error), error);
        CHECK_OK(kiln__sampler_draw(sampler, below, NULL, &effort, at, &found, &error), error);
        CHECK(!found && kiln__sampler_none(sampler) == (i == 0) && effort.over == (i == 1));
        const kiln__tally *tally = kiln__sampler_tally(sampler);
        CHECK(tally->tried > 0 && tally->rejected[0] == 0 && tally->rejected[1] > 0);
        CHECK(kiln__space_none_found(space, tally, 2, &error) == KILN_ERROR_CONSTRAINT);
        char want[200];
        snprintf(want, sizeof want,
                 "t.yaml:8:5: variant default: no valid configuration was found in 2 s, in which %llu "
                 "values of params were tried; this constraint rejected most of them, %llu\n",
                 (unsigned long long)tally->tried, (unsigned long long)tally->rejected[1]);
        CHECK(strncmp(kiln_error_message(error), want, strlen(want)) == 0);
        kiln_error_free(error);
        kiln__sampler_free(sampler);
        kiln__space_free(space);
        kiln_spec_free(spec);
    }
}

/* Tests that a range of a million values is opened and counted without making a configuration. */
static void test_long_range(void)
{
    kiln_spec *spec =
        parse(HEAD "params: {A: {from: 1, to: 1000000}, B: {from: 0, to: 48000}}\nwhere:\n  - A % 3 == 1\n" TAIL);
    kiln__scope outer;
    kiln__space *space = spec ? space_of(spec, &outer) : NULL;
    uint64_t valid = 0;
    if (!space)
        return;
    CHECK(kiln__space_count(space, &valid, NULL) == KILN_OK && valid == (uint64_t)333334 * 48001);
    kiln__space_free(space);
    kiln_spec_free(spec);
    kiln_error *error = NULL;
    const char text[] = HEAD "params:\n  A: {from: 1, to: 10000000}\n" TAIL;
    CHECK(kiln__spec_parse(NULL, text, sizeof text - 1, "t.yaml", NULL, &spec, &error) == KILN_ERROR_SPEC);
    CHECK(strstr(kiln_error_message(error),
                 "t.yaml:6:6: too many values: the params of a spec may have 1048576 together"));
    kiln_error_free(error);
}

static const check_case cases[] = {{"random specs", test_random},
                                   {"no params", test_no_params},
                                   {"fixed params", test_fixed},
                                   {"messages", test_messages},
                                   {"failing constraints", test_failing},
                                   {"community files", test_community},
                                   {"large", test_large},
                                   {"index edges", test_index_edges},
                                   {"an index that is quick", test_quick},
                                   {"out of memory", test_oom},
                                   {"more than 64 bits count", test_wide},
                                   {"an effort ends it", test_effort},
                                   {"halted and gone on", test_halted},
                                   {"sampler", test_sampler},
                                   {"none found", test_none},
                                   {"long range", test_long_range}};
KILN_SUITE("space", cases)
