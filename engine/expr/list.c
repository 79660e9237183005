/* list.c - reads and evaluates Python list expressions. T1 files have them as the values of parameters:
 *
 *   sum      := product ('+' product)*
 *   product  := '[' items? ']' | '[' VALUE 'for' NAME 'in' sum clauses ']' | '(' items ')' | range '(' ... ')'
 *             | list '(' sum ')' | tuple '(' sum ')'
 *   clauses  := ('for' NAME 'in' sum | 'if' CONDITION)*
 *
 * The reader evaluates a list while it parses the list, and makes no syntax tree. For each value of a loop in a
 * comprehension, it parses the inner clauses again. The member `steps` limits the work. */
#include <string.h>

#include "chars.h"
#include "code.h"

/* The limit for the bytes of all texts of a list. Without the limit, a comprehension could repeat a long text for each
 * of its values. */
enum { MOST_TEXT = 64 << 20 };

typedef struct values {
    kiln__arena *arena; /* the arena of the values and their texts */
    kiln_value *data;
    size_t count, capacity;
} values;

typedef struct reader {
    kiln__arena *arena; /* the arena for parsed expressions; each iteration of a loop has its own arena */
    const char *text;
    size_t length, at;
    kiln__arena *home; /* the arena of the caller */
    kiln__pos pos;
    size_t limit, steps;
    size_t text_bytes; /* number of bytes of all texts that were added so far; at most MOST_TEXT */
    size_t most_range; /* the largest number of values of a list that is a single range */
    bool plain;        /* true while the reader has only seen `range`, `list` and `tuple` */
    int nesting;
    kiln__diag *diag;
} reader;

static bool sum(reader *r, const kiln__scope *scope, values *out);

#define FAIL(r, offset, ...)                                                                                           \
    (kiln__diag_add((r)->diag, kiln__expr_place((r)->pos, (r)->text, (r)->length, offset), __VA_ARGS__), false)

/* Marks the caller's arena as failed, because the caller does not see the arenas of loops. Returns false. */
static bool no_memory(reader *r)
{
    r->home->failed = true;
    return false;
}

static bool add(reader *r, values *out, kiln_value value)
{
    if (out->count >= r->limit)
        return FAIL(r, r->at, "a list of more than %zu values", r->limit);
    if (out->count == out->capacity) {
        size_t capacity = out->capacity ? out->capacity * 2 : 16;
        kiln_value *fresh = kiln__arena_alloc(out->arena, capacity * sizeof *fresh);
        if (!fresh)
            return no_memory(r);
        if (out->count)
            memcpy(fresh, out->data, out->count * sizeof *fresh);
        out->data = fresh;
        out->capacity = capacity;
    }
    if (value.kind == KILN_TEXT) {
        const size_t bytes = strlen(value.as.text) + 1;
        if (bytes > MOST_TEXT - r->text_bytes)
            return FAIL(r, r->at, "the texts of this list take more than %d MiB", MOST_TEXT >> 20);
        r->text_bytes += bytes;
        if (!(value.as.text = kiln__arena_strdup(out->arena, value.as.text)))
            return no_memory(r);
    }
    out->data[out->count++] = value;
    return true;
}

static bool step(reader *r)
{
    if (r->steps-- > 0)
        return true;
    r->steps = 0;
    return FAIL(r, r->at, "this list takes too many steps to compute");
}

static char peek(reader *r)
{
    r->at = kiln__expr_skip(r->text, r->at, r->length);
    return r->at < r->length ? r->text[r->at] : '\0';
}

static bool accept(reader *r, char c)
{
    if (peek(r) != c || c == '\0')
        return false;
    r->at++;
    return true;
}

static bool expect(reader *r, char c)
{
    if (accept(r, c))
        return true;
    if (r->at < r->length)
        return FAIL(r, r->at, "expected '%c', found '%c'", c, r->text[r->at]);
    return FAIL(r, r->at, "expected '%c', found the end", c);
}

static bool word(reader *r, const char *word_)
{
    size_t length = strlen(word_);
    peek(r);
    if (r->length - r->at < length || memcmp(r->text + r->at, word_, length) != 0 ||
        (r->length - r->at > length && kiln__is_name_part(r->text[r->at + length])))
        return false;
    r->at += length;
    return true;
}

static kiln__expr *parse(reader *r, unsigned flags)
{
    return kiln__expr_parse_part(r->arena, r->text, r->at, r->length, r->pos, KILN__EXPR_PYTHON | flags, NULL, &r->at,
                                 r->diag);
}

static kiln__expr *parse_value(reader *r) { return parse(r, 0); }

static bool value(reader *r, const kiln__scope *scope, kiln_value *out)
{
    kiln__expr *expr = parse_value(r);
    return expr && kiln__expr_eval(expr, scope, out, r->diag);
}

/* Returns the number of values in a range. The number is unsigned, because the full range of int64_t has more than
 * INT64_MAX values. */
static uint64_t range_count(const int64_t bounds[3])
{
    bool up = bounds[2] > 0;
    if (up ? bounds[0] >= bounds[1] : bounds[0] <= bounds[1])
        return 0;
    uint64_t span = up ? (uint64_t)bounds[1] - (uint64_t)bounds[0] : (uint64_t)bounds[0] - (uint64_t)bounds[1];
    return (span - 1) / (up ? (uint64_t)bounds[2] : -(uint64_t)bounds[2]) + 1;
}

/* Adds the values of a range that is the whole list expression. Checks the number of values before it stores the first
 * value. */
static bool long_range(reader *r, const int64_t bounds[3], size_t start, values *out)
{
    uint64_t count = range_count(bounds);
    if (count > r->most_range)
        return FAIL(r, start, "a range of %llu values; at most %zu are allowed", (unsigned long long)count,
                    r->most_range);
    out->data = kiln__arena_alloc(out->arena, (size_t)count * sizeof *out->data);
    if (!out->data)
        return no_memory(r);
    for (uint64_t i = 0; i < count; i++)
        out->data[i] = (kiln_value){.kind = KILN_INT, .as.i = (int64_t)((uint64_t)bounds[0] + i * (uint64_t)bounds[2])};
    out->count = out->capacity = (size_t)count;
    return true;
}

/* Reads the arguments of range(), which are stop, or start and stop, or start, stop and step. Adds the values of the
 * range. A list that is a single range may have more values than other lists (long_range). */
static bool read_range(reader *r, const kiln__scope *scope, values *out)
{
    int64_t bounds[3] = {0, 0, 1};
    size_t count = 0, start = r->at;
    do {
        kiln__expr *expr = parse_value(r);
        if (!expr || count == 3)
            return expr ? FAIL(r, start, "range takes one to three numbers") : false;
        if (!kiln__expr_eval_int(expr, scope, "a bound of range", &bounds[count++], r->diag))
            return false;
    } while (accept(r, ','));
    if (!expect(r, ')'))
        return false;
    if (count == 1) {
        bounds[1] = bounds[0];
        bounds[0] = 0;
    }
    if (bounds[2] == 0)
        return FAIL(r, start, "the step of this range is 0");
    if (r->plain && out->count == 0 && range_count(bounds) > r->limit)
        return long_range(r, bounds, start, out);
    for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
        if (!step(r) || !add(r, out, (kiln_value){.kind = KILN_INT, .as.i = i}))
            return false;
        if (__builtin_add_overflow(i, bounds[2], &i))
            break;
    }
    return true;
}

/* Returns the offset of the bracket that closes a comprehension. The parser may not reach this bracket, because a loop
 * without values does not parse its inner clauses. */
static size_t closing(const reader *r)
{
    int depth = 0;
    for (size_t at = r->at; at < r->length; at++) {
        char c = r->text[at];
        if (c == '\'' || c == '"') {
            const char *end = memchr(r->text + at + 1, c, r->length - at - 1);
            at = end ? (size_t)(end - r->text) : r->length - 1;
        } else if (c == '[' || c == '(') {
            depth++;
        } else if ((c == ']' || c == ')') && depth-- == 0) {
            return at;
        }
    }
    return r->length;
}

static bool run_clauses(reader *r, const kiln__expr *element, const kiln__scope *scope, values *out);

/* Reads the clauses that follow `for`, and runs the loop. */
static bool loop(reader *r, const kiln__expr *element, const kiln__scope *scope, values *out)
{
    char name[64];
    values over = {.arena = r->arena};
    peek(r);
    size_t start = r->at;
    while (r->at < r->length && kiln__is_name_part(r->text[r->at]))
        r->at++;
    if (r->at == start || r->at - start >= sizeof name || !kiln__is_name_start(r->text[start]))
        return FAIL(r, start, "expected a name after 'for'");
    memcpy(name, r->text + start, r->at - start);
    name[r->at - start] = '\0';
    if (!word(r, "in"))
        return FAIL(r, r->at, "expected 'in'");
    if (!sum(r, scope, &over))
        return false;
    size_t inner = r->at;
    for (size_t i = 0; i < over.count; i++) {
        kiln_setting bound = {name, over.data[i]};
        kiln__scope with = {.outer = scope, .settings = {1, &bound}};
        r->at = inner;
        if (!step(r) || !run_clauses(r, element, &with, out))
            return false;
    }
    return true;
}

static bool clauses_inside(reader *r, const kiln__expr *element, const kiln__scope *scope, values *out)
{
    kiln_value v;
    bool holds;
    if (word(r, "for"))
        return loop(r, element, scope, out);
    if (word(r, "if")) {
        kiln__expr *condition = parse(r, KILN__EXPR_NO_CHOICE);
        if (!condition || !kiln__expr_eval_bool(condition, scope, "the condition", &holds, r->diag))
            return false;
        return !holds || run_clauses(r, element, scope, out);
    }
    if (peek(r) != ']')
        return expect(r, ']');
    return kiln__expr_eval(element, scope, &v, r->diag) && add(r, out, v);
}

/* Parses and runs the remaining clauses of a comprehension, or evaluates the element after the last clause. Each call
 * has its own arena. With one common arena, a long loop would fill the memory with copies of the same clauses. */
static bool run_clauses(reader *r, const kiln__expr *element, const kiln__scope *scope, values *out)
{
    if (++r->nesting > 16)
        return FAIL(r, r->at, "a list nested too deep");
    kiln__arena *around = r->arena, own = {.mem = r->home->mem};
    r->arena = &own;
    bool fine = clauses_inside(r, element, scope, out);
    if (own.failed)
        fine = no_memory(r);
    kiln__arena_free(&own);
    r->arena = around;
    r->nesting--;
    return fine;
}

/* Reads the items of a list or a tuple up to the character `close`. If `for` follows the first item, the items are a
 * comprehension, which only a list can have. `scope` has the values of the loop variables. */
static bool read_items(reader *r, char close, const kiln__scope *scope, values *out)
{
    if (accept(r, close))
        return true;
    kiln__expr *first = parse_value(r);
    if (!first)
        return false;
    peek(r);
    size_t at = r->at;
    if (word(r, "for")) {
        if (close != ']')
            return FAIL(r, at, "a comprehension must be in brackets: [...]");
        r->at = at;
        size_t end = closing(r);
        if (!run_clauses(r, first, scope, out))
            return false;
        r->at = end;
        return expect(r, ']');
    }
    kiln_value v;
    if (!kiln__expr_eval(first, scope, &v, r->diag) || !add(r, out, v))
        return false;
    while (accept(r, ',')) {
        if (peek(r) == close)
            break;
        if (!step(r) || !value(r, scope, &v) || !add(r, out, v))
            return false;
    }
    return expect(r, close);
}

static bool product(reader *r, const kiln__scope *scope, values *out)
{
    bool square = accept(r, '[');
    if (square || accept(r, '(')) {
        r->plain = false;
        return read_items(r, square ? ']' : ')', scope, out);
    }
    if (word(r, "range"))
        return expect(r, '(') && read_range(r, scope, out);
    if (word(r, "list") || word(r, "tuple"))
        return expect(r, '(') && sum(r, scope, out) && expect(r, ')');
    if (r->at < r->length)
        return FAIL(r, r->at, "expected a list such as [1, 2] or range(8), found '%c'", r->text[r->at]);
    return FAIL(r, r->at, "expected a list such as [1, 2] or range(8), found the end");
}

static bool sum(reader *r, const kiln__scope *scope, values *out)
{
    if (++r->nesting > 16)
        return FAIL(r, r->at, "a list nested too deep");
    do {
        size_t before = out->count;
        if (!product(r, scope, out))
            return false;
        if (before > 0)
            r->plain = false;
        if (peek(r) == '+' && out->count > r->limit)
            return FAIL(r, r->at, "a list of more than %zu values; only a single range may have more", r->limit);
    } while (accept(r, '+'));
    r->nesting--;
    return true;
}

bool kiln__expr_list(kiln__arena *arena, const char *text, size_t length, kiln__pos pos, const kiln__scope *scope,
                     size_t limit, size_t most_range, kiln_value **list, size_t *count, kiln__diag *diag)
{
    reader r = {.arena = arena,
                .home = arena,
                .text = text,
                .length = length,
                .pos = pos,
                .limit = limit,
                .steps = limit < SIZE_MAX / 8 ? 4 * limit + 1000 : limit,
                .most_range = most_range,
                .plain = true,
                .diag = diag};
    values out = {.arena = arena};
    if (length > KILN__EXPR_LENGTH)
        return FAIL(&r, 0, "a list of more than %d characters", KILN__EXPR_LENGTH);
    if (!sum(&r, scope, &out))
        return false;
    if (peek(&r) || r.at < length)
        return FAIL(&r, r.at, "expected '+' or the end, found '%c'", text[r.at]);
    *list = out.data;
    *count = out.count;
    return true;
}
