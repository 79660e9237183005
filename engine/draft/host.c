/* host.c - reads the launch of a kernel by host code in the same text: `kernel<BM, T><<<grid, block, shared>>>(x, n)` or
 * cudaLaunchKernelEx(). The launch gives the grid, the block, the shared memory, the arguments of the template and the
 * numbers among the arguments of the kernel.
 *
 * The host code is not run. Its expressions are parsed to trees, and names are replaced by their definitions: local
 * variables, constants and macros. A name that has no definition that can be read becomes a size of the spec. */
#include <stdlib.h>
#include <string.h>

#include "draft.h"

/* Limits, because the source is untrusted text: definitions that are followed in each other, definitions that are looked up
 * in all, nodes of trees in all, words of a statement, launches that are tried, namespaces around a place. The nodes have a
 * limit because the argument of a macro is read once for each use. */
enum {
    MOST_FOLLOWED = 12,
    MOST_LIST = 64,
    MOST_LOOKED = 2000,
    MOST_NODES = 1 << 16,
    MOST_STATEMENT = 256,
    MOST_TRIED = 200,
    MOST_SPACES = 256
};

/* ---- words ---- */

static char kind_of_word(const kiln__draft *draft, size_t word)
{
    return word < draft->scan->count ? draft->scan->words[word].kind : '\0';
}

static bool is_text(const kiln__draft *draft, size_t word, const char *text)
{
    return kiln__word_is(draft->scan, word, text);
}

static bool same_word(const kiln__draft *draft, size_t a, size_t b)
{
    const kiln__word *words = draft->scan->words;
    return words[a].length == words[b].length && memcmp(words[a].text, words[b].text, words[a].length) == 0;
}

/* Returns true if the words at `at` are three of this character: <<<, also with blanks between them. */
static bool are_three(const kiln__draft *draft, size_t at, char c)
{
    return kind_of_word(draft, at) == c && kind_of_word(draft, at + 1) == c && kind_of_word(draft, at + 2) == c;
}

/* Returns true if the words at `at` are these characters without blanks between them. */
static bool are_joined(const kiln__draft *draft, size_t at, const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (kind_of_word(draft, at + i) != text[i] ||
            (i && draft->scan->words[at + i].text != draft->scan->words[at].text + i))
            return false;
    return true;
}

/* Splits the words from..to at the commas outside of brackets. Angle brackets count if `angles` is set. Returns the
 * number of parts. */
static size_t split_list(const kiln__draft *draft, size_t from, size_t to, bool angles, kiln__range *list)
{
    size_t count = 0, depth = 0, begin = from;
    for (size_t i = from; i <= to && count < MOST_LIST; i++) {
        char c = i < to ? kind_of_word(draft, i) : ',';
        bool opens = c == '(' || c == '[' || c == '{' || (angles && c == '<');
        bool closes = c == ')' || c == ']' || c == '}' || (angles && c == '>');
        depth += opens;
        depth -= closes && depth > 0;
        if (i < to && (c != ',' || depth > 0))
            continue;
        if (i > begin)
            list[count++] = (kiln__range){begin, i};
        begin = i + 1;
    }
    return count;
}

/* Returns the outermost braces around a word as a range, without braces of namespaces. {0, 0}: none. */
static kiln__range enclosing_function(const kiln__draft *draft, size_t word)
{
    const kiln__scan *scan = draft->scan;
    size_t spaces = 0;
    for (size_t i = 1; i < word && spaces < MOST_SPACES; i++) {
        if (scan->words[i].directive || kind_of_word(draft, i) != '{')
            continue;
        bool space = is_text(draft, i - 1, "namespace") || (i > 1 && is_text(draft, i - 2, "namespace")) ||
                     kind_of_word(draft, i - 1) == '"' || (i > 2 && is_text(draft, i - 3, "namespace"));
        spaces += space;
        if (space)
            continue;
        size_t close = kiln__word_close(scan, i);
        if (close > word)
            return (kiln__range){i + 1, close};
        i = close;
    }
    return (kiln__range){0, 0};
}

/* Returns the words of the directive around a word: the body of a macro. */
static kiln__range enclosing_directive(const kiln__draft *draft, size_t word)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 0; i < scan->macro_count; i++)
        if (scan->macros[i].from <= word && word < scan->macros[i].to)
            return (kiln__range){scan->macros[i].from, scan->macros[i].to};
    return (kiln__range){0, 0};
}

/* ---- trees ---- */

typedef struct kiln__frame frame;
struct kiln__frame { /* the arguments of a macro while its body is read */
    const frame *up;
    size_t names[MOST_LIST];
    kiln__range values[MOST_LIST];
    size_t count;
};

typedef struct reader {
    kiln__draft *draft;
    size_t at, to, depth; /* depth: the number of definitions that were followed */
    size_t before;        /* definitions count up to this word; 0: up to the launch */
    const frame *macro;
    bool failed;
} reader;

static kiln__tree *make_tree(const reader *r, char op, kiln__tree *a, kiln__tree *b)
{
    kiln__tree *tree = r->draft->nodes++ < MOST_NODES ? kiln__arena_alloc(r->draft->arena, sizeof *tree) : NULL;
    if (tree)
        *tree = (kiln__tree){.op = op, .a = a, .b = b};
    return tree;
}

static kiln__tree *make_number(const reader *r, int64_t value)
{
    kiln__tree *tree = make_tree(r, '0', NULL, NULL);
    if (tree)
        tree->value = value;
    return tree;
}

static kiln__tree *make_name(const reader *r, const char *name, bool known)
{
    kiln__tree *tree = make_tree(r, 'w', NULL, NULL);
    if (tree) {
        tree->text = name;
        tree->free = !known;
    }
    return tree;
}

static kiln__tree *read_expression(reader *r, int least);

static kiln__tree *read_range(const reader *up, kiln__range range, const frame *macro)
{
    reader r = {.draft = up->draft,
                .at = range.from,
                .to = range.to,
                .depth = up->depth + 1,
                .before = up->before,
                .macro = macro};
    if (range.to <= range.from || r.depth > MOST_FOLLOWED)
        return NULL;
    kiln__tree *tree = read_expression(&r, 0);
    return r.failed || r.at != r.to ? NULL : tree;
}

/* Returns true if the words from..to are `text`, perhaps within parentheses or behind a cast. */
static bool is_plain_name(const kiln__draft *draft, kiln__range range, size_t name)
{
    while (range.to - range.from >= 3 && kind_of_word(draft, range.from) == '(') {
        size_t close = kiln__word_close(draft->scan, range.from);
        if (close + 1 == range.to)
            range = (kiln__range){range.from + 1, close};
        else
            range.from = close + 1;
    }
    if (range.to - range.from >= 7 && is_text(draft, range.from, "static_cast"))
        range = (kiln__range){range.to - 2, range.to - 1};
    return range.to == range.from + 1 && same_word(draft, range.from, name);
}

/* Returns true if the statement around a word declares variables of type dim3. */
static bool is_dim3(const kiln__draft *draft, size_t at)
{
    size_t depth = 0;
    for (size_t i = at; i-- > 1 && at - i < MOST_STATEMENT;) {
        depth += kind_of_word(draft, i) == ')' || kind_of_word(draft, i) == '}';
        if (depth == 0 && strchr(";{", kind_of_word(draft, i)))
            return false;
        depth -= depth > 0 && (kind_of_word(draft, i) == '(' || kind_of_word(draft, i) == '{');
        if (depth == 0 && is_text(draft, i, "dim3"))
            return true;
    }
    return false;
}

/* Returns true if word i is a variable that is changed otherwise than by `=`: blocks++, --blocks, blocks += 1. */
static bool is_changed(const kiln__draft *draft, size_t i)
{
    static const char *const after[] = {"++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    for (size_t k = 0; k < KILN__COUNT(after); k++)
        if (are_joined(draft, i + 1, after[k]))
            return true;
    return i > 2 && (are_joined(draft, i - 2, "++") || are_joined(draft, i - 2, "--"));
}

/* Finds the definition of a variable before the launch, or of a constant: `int blocks = (n + 255) / 256;`. Returns the
 * words of its value. {0, 0}: none that can be read. Another empty range: it is changed afterwards. */
static kiln__range find_value(kiln__draft *draft, size_t name, kiln__range where, bool constant)
{
    kiln__range found = {0, 0};
    draft->compared += where.to > where.from ? where.to - where.from : 0;
    for (size_t i = where.from; i + 2 < where.to && draft->compared <= KILN__MOST_COMPARED; i++) {
        if (!same_word(draft, i, name) || kind_of_word(draft, i) != 'w' || kind_of_word(draft, i - 1) == '.' ||
            (i > 2 && are_joined(draft, i - 2, "->")))
            continue;
        draft->compared += MOST_STATEMENT;
        if (!constant && found.from && is_changed(draft, i)) {
            found = (kiln__range){i, i};
            continue;
        }
        bool typed = kind_of_word(draft, i - 1) == 'w' || kind_of_word(draft, i - 1) == ',' ||
                     kind_of_word(draft, i - 1) == '>';
        bool set = kind_of_word(draft, i + 1) == '=' && kind_of_word(draft, i + 2) != '=';
        bool built = typed && (kind_of_word(draft, i - 1) != ',' || is_dim3(draft, i)) &&
                     (kind_of_word(draft, i + 1) == '(' || kind_of_word(draft, i + 1) == '{') &&
                     !is_text(draft, i - 1, "return");
        if (constant) { /* a constant at namespace scope */
            bool fixed = false;
            for (size_t k = i; set && k-- > 1 && i - k < MOST_STATEMENT && !strchr(";{}()", kind_of_word(draft, k));)
                fixed |= is_text(draft, k, "const") || is_text(draft, k, "constexpr");
            if (!fixed || !set)
                continue;
        }
        size_t end = i + 2;
        if (built) {
            found = (kiln__range){i + 2, kiln__word_close(draft->scan, i + 1)};
            continue;
        }
        if (!set)
            continue;
        for (size_t depth = 0; end < where.to && kind_of_word(draft, end) != ';'; end++) {
            if (kind_of_word(draft, end) == ',' && depth == 0)
                break;
            depth += kind_of_word(draft, end) == '(' || kind_of_word(draft, end) == '{';
            depth -= depth > 0 && (kind_of_word(draft, end) == ')' || kind_of_word(draft, end) == '}');
        }
        draft->compared += end - i;
        found = (kiln__range){i + 2, end};
        if (constant)
            return found;
    }
    return found;
}

/* Returns the template parameter of the kernel that the launch sets to exactly this name. */
static const kiln__tunable *find_template(const kiln__draft *draft, size_t name)
{
    const kiln__host_launch *host = &draft->host;
    for (size_t i = 0; i < host->template_count && i < draft->kernel->template_count; i++)
        if (is_plain_name(draft, host->templates[i], name))
            return kiln__tunable_find(draft, draft->kernel->templates[i].name);
    return NULL;
}

/* Reads the use of a macro of the source that takes arguments: CEIL_DIV(n, 16). r->at is behind the name. */
static kiln__tree *read_macro_call(reader *r, const kiln__macro *macro)
{
    const kiln__draft *draft = r->draft;
    size_t close = kiln__word_close(draft->scan, r->at), head = kiln__word_close(draft->scan, macro->from);
    kiln__range names[MOST_LIST];
    frame made = {.up = r->macro};
    if (close >= r->to || head >= macro->to)
        return NULL;
    made.count = split_list(draft, r->at + 1, close, false, made.values);
    if (split_list(draft, macro->from + 1, head, false, names) != made.count)
        return NULL;
    for (size_t i = 0; i < made.count; i++)
        made.names[i] = names[i].from;
    r->at = close + 1;
    return read_range(r, (kiln__range){head + 1, macro->to}, &made);
}

/* Replaces a name by its meaning. The order is: an argument of the macro that is read, an argument of the kernel, a
 * param, an argument of the kernel's template, a local variable, a constant, a macro. Otherwise the name is free. */
static kiln__tree *resolve_name(reader *r, size_t name)
{
    kiln__draft *draft = r->draft;
    const kiln__host_launch *host = &draft->host;
    for (const frame *f = r->macro; f; f = f->up)
        for (size_t i = 0; i < f->count; i++)
            if (same_word(draft, f->names[i], name))
                return read_range(r, f->values[i], f->up);
    char *text = draft->looked++ < MOST_LOOKED ? kiln__word_copy(draft->scan, name) : NULL;
    if (!text)
        return NULL;
    for (size_t i = 0; i < draft->size_count; i++) /* a size of the kernel, by its name at the launch */
        if (draft->sizes[i].host && strcmp(draft->sizes[i].host, text) == 0)
            return make_name(r, draft->sizes[i].name, true);
    const kiln__tunable *tunable = kiln__tunable_find(draft, text);
    if (tunable && (tunable->kind == KILN__TUNABLE_MACRO || host->in_kernel))
        return make_name(r, tunable->name, true);
    tunable = find_template(draft, name);
    if (tunable)
        return make_name(r, tunable->name, true);
    if (strcmp(text, "warpSize") == 0)
        return make_number(r, 32);
    kiln__range value = find_value(draft, name, (kiln__range){host->scope.from, r->before ? r->before : host->at},
                                   false);
    if (value.from && value.to == value.from) /* blocks = n / 128, and then blocks++ */
        return NULL;
    reader inner = *r;
    inner.before = value.from ? value.from - 1 : r->before; /* blocks = blocks + 1 */
    if (value.from == 0 &&
        host->in_macro) { /* the macro that makes grid and block comes after the macro that launches */
        for (size_t i = 0; i < draft->scan->macro_count && value.from == 0; i++)
            if (draft->scan->macros[i].from > host->at)
                value = find_value(draft, name, (kiln__range){draft->scan->macros[i].from, draft->scan->macros[i].to},
                                   false);
    }
    if (value.from == 0)
        value = find_value(draft, name, (kiln__range){2, draft->scan->count}, true);
    const kiln__macro *macro = kiln__macro_find(draft->scan, text);
    if (value.from == 0 && macro && !macro->function)
        value = (kiln__range){macro->from, macro->to};
    kiln__tree *tree = value.from ? read_range(&inner, value, host->pasted) : NULL;
    if (tree && tree->op == '0' && !tree->text)
        tree->text = text; /* the number's name */
    return tree ? tree : make_name(r, text, false);
}

static kiln__tree *read_number(reader *r)
{
    const kiln__word *word = &r->draft->scan->words[r->at];
    char *text = kiln__word_copy(r->draft->scan, r->at), *end = NULL;
    r->at++;
    if (!text)
        return NULL;
    bool real = memchr(word->text, '.', word->length) || (memchr(word->text, 'e', word->length) && !strchr(text, 'x'));
    if (!real) {
        long long value = strtoll(text, &end, 0);
        return *end && !strchr("uUlL", *end) ? NULL : make_number(r, value);
    }
    if (word->text[word->length - 1] == 'e' && r->at + 1 < r->to &&
        (kind_of_word(r->draft, r->at) == '-' || kind_of_word(r->draft, r->at) == '+')) {
        text = kiln__arena_printf(r->draft->arena, "%s%c%.*s", text, kind_of_word(r->draft, r->at),
                                  (int)r->draft->scan->words[r->at + 1].length,
                                  r->draft->scan->words[r->at + 1].text); /* 1e-5f */
        r->at += 2;
    }
    size_t length = text ? strlen(text) : 0;
    while (length && strchr("fFlL", text[length - 1]))
        text[--length] = '\0';
    if (length && text[length - 1] == '.') /* 1.f */
        text = kiln__arena_printf(r->draft->arena, "%s0", text);
    kiln__tree *tree = make_tree(r, '.', NULL, NULL);
    if (tree)
        tree->text = text;
    return text ? tree : NULL;
}

/* Reads a number that begins with its point: .5f. The words are the point and the number. */
static kiln__tree *read_fraction(reader *r)
{
    const kiln__word *digits = &r->draft->scan->words[r->at + 1];
    size_t length = digits->length;
    while (length && strchr("fFlL", digits->text[length - 1]))
        length--;
    r->at += 2;
    const char *text = kiln__arena_printf(r->draft->arena, "0.%.*s", (int)length, digits->text);
    kiln__tree *tree = memchr(digits->text, 'e', length) ? NULL : make_tree(r, '.', NULL, NULL);
    if (tree)
        tree->text = text;
    return text ? tree : NULL;
}

/* Reads `name(a, b)`: the functions that every project has for a rounded division, and min() and max(). */
static kiln__tree *read_call(reader *r, size_t name)
{
    kiln__draft *draft = r->draft;
    kiln__range list[MOST_LIST];
    size_t close = kiln__word_close(draft->scan, r->at);
    if (close >= r->to)
        return NULL;
    size_t count = split_list(draft, r->at + 1, close, false, list);
    char small[64] = "";
    for (size_t i = 0; i < draft->scan->words[name].length && i + 1 < sizeof small; i++)
        small[i] = kiln__lower(draft->scan->words[name].text[i]);
    r->at = close + 1;
    size_t named = strlen(small);
    bool sized = named > 5 && strncmp(small, "int", 3) == 0 && strcmp(small + named - 2, "_t") == 0;
    if (count == 1 &&
        (strcmp(small, "int") == 0 || sized || strcmp(small, "unsigned") == 0 || strcmp(small, "size_t") == 0))
        return read_range(r, list[0], r->macro);
    if (count == 1 && strcmp(small, "sizeof") == 0) {
        if (list[0].to != list[0].from + 1) /* float *, unsigned char */
            return NULL;
        char *type = kiln__word_copy(draft->scan, list[0].from);
        uint64_t bytes = type ? kiln__type_bytes_named(type) : 0;
        return bytes ? make_number(r, (int64_t)bytes) : NULL;
    }
    kiln__tree *a = count == 2 ? read_range(r, list[0], r->macro) : NULL;
    kiln__tree *b = a ? read_range(r, list[1], r->macro) : NULL;
    if (!b)
        return NULL;
    if (strcmp(small, "min") == 0 || strcmp(small, "max") == 0)
        return make_tree(r, small[1] == 'i' ? 'm' : 'M', a, b);
    bool divides = strstr(small, "div") != NULL;
    return divides && (strstr(small, "ceil") || strstr(small, "up") || strstr(small, "cdiv") || strstr(small, "round"))
               ? make_tree(r, 'C', a, b)
               : NULL;
}

/* Skips a cast at r->at: (int), static_cast<int>. */
static void skip_cast(reader *r)
{
    static const char *const types[] = {"int",      "unsigned", "long",  "size_t", "uint32_t", "int32_t",
                                        "uint64_t", "int64_t",  "float", "double", "uint"};
    size_t at = r->at + 1;
    bool type = false;
    for (bool more = true; kind_of_word(r->draft, r->at) == '(' && more; at += more) {
        more = is_text(r->draft, at, "std") || kind_of_word(r->draft, at) == ':';
        for (size_t i = 0; i < KILN__COUNT(types); i++)
            if (is_text(r->draft, at, types[i]))
                more = type = true;
    }
    if (type && kind_of_word(r->draft, at) == ')')
        r->at = at + 1;
    if (is_text(r->draft, r->at, "static_cast") && kind_of_word(r->draft, r->at + 1) == '<') {
        size_t close = kiln__word_close(r->draft->scan, r->at + 1);
        r->at = close < r->to ? close + 1 : r->at;
    }
}

static kiln__tree *read_primary(reader *r)
{
    kiln__draft *draft = r->draft;
    skip_cast(r);
    if (r->at >= r->to)
        return NULL;
    size_t at = r->at;
    char c = kind_of_word(draft, at);
    if (c == '0')
        return read_number(r);
    if (c == '.' && r->at + 1 < r->to && kind_of_word(draft, at + 1) == '0' &&
        draft->scan->words[at + 1].text == draft->scan->words[at].text + 1)
        return read_fraction(r);
    if (c == '-' || c == '+') {
        if (r->depth >= MOST_FOLLOWED)
            return NULL;
        r->at++;
        r->depth++;
        kiln__tree *operand = read_primary(r);
        r->depth--;
        return !operand || c == '+' ? operand : make_tree(r, 'n', operand, NULL);
    }
    if (c == '(') {
        size_t close = kiln__word_close(draft->scan, at);
        r->at = close + 1;
        return close < r->to ? read_range(r, (kiln__range){at + 1, close}, r->macro) : NULL;
    }
    if (c != 'w')
        return NULL;
    while (is_text(draft, r->at, "std") && are_joined(draft, r->at + 1, "::")) /* std::min */
        r->at += 3;
    at = r->at++;
    if (is_text(draft, at, "true") || is_text(draft, at, "false"))
        return make_name(r, kiln__word_copy(draft->scan, at), true);
    char *text = kiln__word_copy(draft->scan, at);
    const kiln__macro *macro = text ? kiln__macro_find(draft->scan, text) : NULL;
    if (kind_of_word(draft, r->at) == '(')
        return macro && macro->function ? read_macro_call(r, macro) : read_call(r, at);
    if (kind_of_word(draft, r->at) == '.' && kind_of_word(draft, r->at + 1) == 'w' &&
        kind_of_word(draft, r->at + 2) != '(') { /* block.x */
        char axis = draft->scan->words[r->at + 1].text[0];
        kiln__tree *axes[3] = {NULL, NULL, NULL};
        if (draft->scan->words[r->at + 1].length == 1 && axis >= 'x' && axis <= 'z' &&
            kiln__host_axes(draft, (kiln__range){at, at + 1}, axes)) {
            r->at += 2;
            return axes[axis - 'x'] ? axes[axis - 'x'] : make_number(r, 1);
        }
        return NULL;
    }
    if (kind_of_word(draft, r->at) == '.' || kind_of_word(draft, r->at) == '[' || are_joined(draft, r->at, "::"))
        return NULL; /* x.size(0) */
    return resolve_name(r, at);
}

/* Returns the precedence of the operator at r->at, and its letter and number of words. 0: no operator. */
static int operator_at(const reader *r, char *op, size_t *words)
{
    static const struct {
        const char *text;
        char op;
        int level;
    } list[] = {{"<<", 'L', 5}, {">>", 'R', 5}, {"==", 'e', 3}, {"<=", 'l', 4}, {">=", 'g', 4},
                {"&&", 'a', 2}, {"||", 'o', 1}, {"!=", 'd', 3}, {"*", '*', 7},  {"/", '/', 7},
                {"%", '%', 7},  {"+", '+', 6},  {"-", '-', 6},  {"<", '<', 4},  {">", '>', 4}};
    if (r->at < r->to && is_text(r->draft, r->at, "and")) {
        *op = 'a';
        *words = 1;
        return 2;
    }
    for (size_t i = 0; i < KILN__COUNT(list) && r->at < r->to; i++)
        if (are_joined(r->draft, r->at, list[i].text)) {
            *op = list[i].op;
            *words = strlen(list[i].text);
            return list[i].level;
        }
    return 0;
}

static bool is_number(const kiln__tree *tree, int64_t value) { return tree && tree->op == '0' && tree->value == value; }

static bool is_same_tree(const kiln__tree *a, const kiln__tree *b)
{
    if (!a || !b)
        return a == b;
    return a->op == b->op && a->value == b->value &&
           (a->op != 'w' || (a->text && b->text && strcmp(a->text, b->text) == 0)) && is_same_tree(a->a, b->a) &&
           is_same_tree(a->b, b->b);
}

#define MOST_VALUE (INT64_C(1) << 40) /* larger numbers are not computed */

/* Computes an operator of two numbers. Returns false if the result is not a small whole number. */
static bool fold(char op, int64_t a, int64_t b, int64_t *value)
{
    const int64_t most = MOST_VALUE;
    if (a > most || b > most || a < -most || b < -most || ((op == '/' || op == '%' || op == 'C') && b <= 0) ||
        ((op == 'L' || op == 'R') && (b < 0 || b > 20)))
        return false;
    switch (op) {
    case '+': *value = a + b; return true;
    case '-': *value = a - b; return true;
    case '*': *value = b && (a > most / (b < 0 ? -b : b) || -a > most / (b < 0 ? -b : b)) ? most : a * b; return true;
    case '/': *value = a / b; return true;
    case '%': *value = a % b; return true;
    case 'C': *value = (a + b - 1) / b; return true;
    case 'L': *value = a * (INT64_C(1) << b); return true;
    case 'R': *value = a / (INT64_C(1) << b); return true;
    case 'm': *value = a < b ? a : b; return true;
    case 'M': *value = a > b ? a : b; return true;
    case '<': *value = a < b; return true;
    case '>': *value = a > b; return true;
    case 'l': *value = a <= b; return true;
    case 'g': *value = a >= b; return true;
    case 'e': *value = a == b; return true;
    case 'd': *value = a != b; return true;
    case 'a': *value = a && b; return true;
    case 'o': *value = a || b; return true;
    default: return false;
    }
}

/* Returns the dividend if the tree is `dividend + divisor - 1` in one of its usual forms. */
static kiln__tree *rounded_dividend(const kiln__tree *sum, const kiln__tree *divisor)
{
    const kiln__tree *a = sum->a, *b = sum->b;
    if (sum->op == '-' && is_number(b, 1) && a->op == '+') /* (n + d) - 1 */
        return is_same_tree(a->b, divisor) ? a->a : is_same_tree(a->a, divisor) ? a->b : NULL;
    if (sum->op == '+' && b->op == '-' && is_same_tree(b->a, divisor) && is_number(b->b, 1)) /* n + (d - 1) */
        return sum->a;
    if (sum->op == '+' && divisor->op == '0' && is_number(b, divisor->value - 1)) /* n + 255 */
        return sum->a;
    if (sum->op == '+' && is_number(b, 1) && a->op == '-' && is_number(divisor, 1))
        return NULL;
    if (sum->op == '+' && a->op == '-' && is_number(a->b, 1) && is_same_tree(b, divisor)) /* (n - 1) + d */
        return a->a;
    return NULL;
}

/* Makes the tree of an operator. Numbers are not computed here, because a number of the block may become a param. */
static kiln__tree *combine(const reader *r, char op, kiln__tree *a, kiln__tree *b)
{
    kiln__tree *dividend = op == '/' ? rounded_dividend(a, b) : NULL;
    if (dividend)
        return make_tree(r, 'C', dividend, b);
    if ((op == '*' || op == '/') && is_number(b, 1))
        return a;
    if (op == '*' && is_number(a, 1))
        return b;
    return make_tree(r, op, a, b);
}

static kiln__tree *read_expression(reader *r, int least)
{
    char op = 0;
    size_t words = 0;
    enum { MOST_OPERATORS = 64 }; /* most operators in a row; the tree is as deep, and recursion walks it */
    kiln__tree *left = read_primary(r);
    size_t count = 0;
    for (int level; left && (level = operator_at(r, &op, &words)) > least;) {
        r->at += words;
        kiln__tree *right = ++count <= MOST_OPERATORS ? read_expression(r, level) : NULL;
        left = right ? combine(r, op, left, right) : NULL;
    }
    if (left && least == 0 && r->depth < MOST_FOLLOWED && kind_of_word(r->draft, r->at) == '?' && r->at < r->to) {
        r->at++;
        r->depth++;
        kiln__tree *yes = read_expression(r, 0), *no = NULL;
        if (yes && kind_of_word(r->draft, r->at) == ':') {
            r->at++;
            no = read_expression(r, 0);
        }
        kiln__tree *both = no ? make_tree(r, ':', yes, no) : NULL;
        left = both ? make_tree(r, '?', left, both) : NULL;
        r->depth--;
    }
    r->failed |= !left;
    return left;
}

kiln__tree *kiln__host_read(kiln__draft *draft, kiln__range range)
{
    reader r = {.draft = draft};
    return read_range(&r, range, draft->host.pasted);
}

/* ---- trees as text, and their values ---- */

static int level_of(char op)
{
    switch (op) {
    case '?': return 1;
    case 'o': return 2;
    case 'a': return 3;
    case '<':
    case '>':
    case 'l':
    case 'g':
    case 'e':
    case 'd': return 4;
    case 'L':
    case 'R': return 5;
    case '+':
    case '-': return 6;
    case '*':
    case '/':
    case '%': return 7;
    case 'n': return 8;
    default: return 9;
    }
}

static bool has_real(const kiln__tree *tree)
{
    return tree && (tree->op == '.' || has_real(tree->a) || has_real(tree->b));
}

static void print_tree(const kiln__tree *tree, int least, kiln__text *out)
{
    static const char *const names[] = {
        ['+'] = " + ",  ['-'] = " - ",  ['*'] = " * ",  ['/'] = " // ",  ['%'] = " % ",
        ['L'] = " << ", ['R'] = " >> ", ['<'] = " < ",  ['>'] = " > ",   ['l'] = " <= ",
        ['g'] = " >= ", ['e'] = " == ", ['d'] = " != ", ['a'] = " and ", ['o'] = " or "};
    int level = level_of(tree->op);
    const char *call = tree->op == 'C' ? "ceil_div" : tree->op == 'm' ? "min" : tree->op == 'M' ? "max" : NULL;
    if (tree->op == '0') {
        kiln__text_printf(out, "%lld", (long long)tree->value);
    } else if (tree->op == 'w' || tree->op == '.') {
        kiln__text_puts(out, tree->text);
    } else if (call) {
        kiln__text_printf(out, "%s(", call);
        print_tree(tree->a, 0, out);
        kiln__text_puts(out, ", ");
        print_tree(tree->b, 0, out);
        kiln__text_puts(out, ")");
    } else {
        kiln__text_puts(out, level <= least ? "(" : "");
        if (tree->op == 'n') {
            kiln__text_puts(out, "-");
            print_tree(tree->a, level, out);
        } else if (tree->op == '?') {
            print_tree(tree->b->a, level, out);
            kiln__text_puts(out, " if ");
            print_tree(tree->a, level, out);
            kiln__text_puts(out, " else ");
            print_tree(tree->b->b, level, out);
        } else {
            print_tree(tree->a, level - 1, out);
            kiln__text_puts(out, tree->op == '/' && has_real(tree) ? " / " : names[(unsigned char)tree->op]);
            print_tree(tree->b, level, out);
        }
        kiln__text_puts(out, level <= least ? ")" : "");
    }
}

const char *kiln__tree_text(const kiln__draft *draft, const kiln__tree *tree)
{
    kiln__text text = {.mem = draft->mem};
    print_tree(tree, 0, &text);
    const char *kept = kiln__arena_strdup(draft->arena, kiln__text_get(&text));
    kiln__text_free(&text);
    return kept ? kept : "1";
}

/* Computes an expression of the launch for the tiny sizes, or with `whole` for the default sizes. A name that is
 * neither a size, a param, true nor false counts as `otherwise`. Returns false if the expression has no value. */
bool kiln__tree_value(const kiln__draft *draft, const kiln__tree *tree, bool whole, int64_t otherwise, int64_t *value)
{
    int64_t a, b;
    if (tree->op == '0') {
        *value = tree->value;
        return tree->value <= MOST_VALUE && tree->value >= -MOST_VALUE;
    }
    if (tree->op == 'w') {
        for (size_t i = 0; i < draft->size_count; i++)
            if (strcmp(draft->sizes[i].name, tree->text) == 0) {
                *value = whole ? draft->sizes[i].whole : draft->sizes[i].tiny;
                return true;
            }
        for (size_t i = 0; i < draft->tunable_count; i++)
            if (strcmp(draft->tunables[i].name, tree->text) == 0) {
                *value = draft->tunables[i].number;
                return true;
            }
        *value = strcmp(tree->text, "true") == 0 ? 1 : strcmp(tree->text, "false") == 0 ? 0 : otherwise;
        return *value || strcmp(tree->text, "false") == 0;
    }
    if (tree->op == '?')
        return kiln__tree_value(draft, tree->a, whole, otherwise, &a) &&
               kiln__tree_value(draft, a ? tree->b->a : tree->b->b, whole, otherwise, value);
    if (!tree->a || !kiln__tree_value(draft, tree->a, whole, otherwise, &a))
        return false;
    if (tree->op == 'n') {
        *value = -a;
        return true;
    }
    return tree->b && kiln__tree_value(draft, tree->b, whole, otherwise, &b) && fold(tree->op, a, b, value);
}

bool kiln__tree_constant(const kiln__draft *draft, const kiln__tree *tree, int64_t *value)
{
    return tree && !kiln__tree_has_names(tree) && kiln__tree_value(draft, tree, false, 0, value);
}

bool kiln__tree_has_names(const kiln__tree *tree)
{
    return tree && (tree->op == 'w' || kiln__tree_has_names(tree->a) || kiln__tree_has_names(tree->b));
}

bool kiln__tree_uses(const kiln__tree *tree, const char *name)
{
    return tree && ((tree->op == 'w' && strcmp(tree->text, name) == 0) || kiln__tree_uses(tree->a, name) ||
                    kiln__tree_uses(tree->b, name));
}

const char *kiln__tree_free(const kiln__tree *tree)
{
    if (!tree)
        return NULL;
    if (tree->op == 'w' && tree->free)
        return tree->text;
    const char *found = kiln__tree_free(tree->a);
    return found ? found : kiln__tree_free(tree->b);
}

void kiln__tree_bind(kiln__tree *tree, const char *from, const char *to)
{
    if (!tree)
        return;
    if (tree->op == 'w' && strcmp(tree->text, from) == 0) {
        tree->text = to;
        tree->free = false;
    }
    kiln__tree_bind(tree->a, from, to);
    kiln__tree_bind(tree->b, from, to);
}

/* ---- dim3 ---- */

static bool read_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes);

/* A dim3 may be made from another one (block.x), but not from itself without end. */
bool kiln__host_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes)
{
    enum { MOST_NESTED = 4 };
    if (draft->nested >= MOST_NESTED || draft->looked++ >= MOST_LOOKED || draft->compared > KILN__MOST_COMPARED)
        return false;
    draft->nested++;
    bool read = read_axes(draft, range, axes);
    draft->nested--;
    return read;
}

/* Reads up to three extents: `n`, `dim3(a, b)`, `{a, b, 1}`, or a variable of type dim3. */
static bool read_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes)
{
    kiln__range list[MOST_LIST];
    size_t count = 0;
    if (range.to == range.from + 1 && kind_of_word(draft, range.from) == 'w') { /* a variable */
        const kiln__host_launch *host = &draft->host;
        kiln__range before = {host->scope.from, host->at}, value = find_value(draft, range.from, before, false);
        bool dim3 = false;
        draft->compared += 2 * (before.to - before.from);
        for (size_t i = before.from + 1; i < before.to; i++)
            dim3 |= same_word(draft, i, range.from) && kind_of_word(draft, i - 1) != '.' && is_dim3(draft, i);
        for (size_t i = 0; i < draft->scan->macro_count && host->in_macro && value.from == 0; i++) {
            kiln__range other = {draft->scan->macros[i].from, draft->scan->macros[i].to};
            if (other.from > host->at && (value = find_value(draft, range.from, other, false)).from)
                dim3 = true;
        }
        dim3 |= value.from && is_text(draft, value.from, "dim3"); /* auto grid = dim3(n / 256) */
        if (dim3 && value.from)
            count = split_list(draft, value.from, value.to, false, list);
        for (size_t i = before.from; dim3 && i + 3 < before.to; i++) /* grid.x = n; */
            if (same_word(draft, i, range.from) && kind_of_word(draft, i + 1) == '.' &&
                kind_of_word(draft, i + 3) == '=') {
                size_t axis = (size_t)(draft->scan->words[i + 2].text[0] - 'x'), end = i + 4;
                while (end < before.to && kind_of_word(draft, end) != ';')
                    end++;
                for (; axis < 3 && count <= axis; count++)
                    list[count] = (kiln__range){0, 0};
                if (axis < 3)
                    list[axis] = (kiln__range){i + 4, end};
            }
        if (count == 1 && value.from && list[0].from &&
            (is_text(draft, list[0].from, "dim3") || kind_of_word(draft, list[0].from) == '{'))
            return kiln__host_axes(draft, list[0], axes);
    } else if (kind_of_word(draft, range.from) == '{') {
        count = split_list(draft, range.from + 1, range.to - 1, false, list);
    } else if (is_text(draft, range.from, "dim3") &&
               (kind_of_word(draft, range.from + 1) == '(' || kind_of_word(draft, range.from + 1) == '{')) {
        count = split_list(draft, range.from + 2, range.to - 1, false, list);
    }
    if (count == 0)
        list[count++] = range;
    for (size_t i = 0; i < count && i < 3; i++) {
        reader r = {.draft = draft};
        axes[i] = list[i].from == 0 ? make_number(&r, 1) : kiln__host_read(draft, list[i]);
        if (!axes[i] || has_real(axes[i])) /* n / 128.0 is not n // 128 */
            return false;
    }
    return count <= 3;
}

/* ---- finding the launch ---- */

/* Returns true if the name of a launched function is the kernel, or a variable that is set to it. The name may be
 * pasted in a macro: reduce_##type##_kernel. `from` and `to` are the words of the name. */
static bool names_kernel(kiln__draft *draft, size_t from, size_t to, kiln__range *templates)
{
    const char *plain = draft->kernel->plain;
    if (to == from + 1 && is_text(draft, from, plain))
        return true;
    size_t first = draft->scan->words[from].length, last = draft->scan->words[to - 1].length, whole = strlen(plain);
    if (to > from + 1) /* the token is pasted (##) */
        return whole > first + last && memcmp(plain, draft->scan->words[from].text, first) == 0 &&
               memcmp(plain + whole - last, draft->scan->words[to - 1].text, last) == 0;
    for (size_t i = draft->host.scope.from; i + 2 < draft->host.at; i++) { /* auto kernel = name<...>; */
        if (!same_word(draft, i, from) || kind_of_word(draft, i + 1) != '=')
            continue;
        size_t at = i + 2 + (kind_of_word(draft, i + 2) == '&');
        while (kind_of_word(draft, at) == 'w' && are_joined(draft, at + 1, "::"))
            at += 3;
        if (!is_text(draft, at, plain))
            continue;
        if (kind_of_word(draft, at + 1) == '<')
            *templates = (kiln__range){at + 2, kiln__word_close(draft->scan, at + 1)};
        return true;
    }
    return false;
}

/* Finds the use of the macro that launches kernels of several names, for this kernel: LAUNCH(f32, float, 4). Its
 * arguments become the values of the macro's parameters. */
static bool find_use(kiln__draft *draft, size_t from, size_t to)
{
    const kiln__scan *scan = draft->scan;
    const char *plain = draft->kernel->plain;
    const kiln__macro *macro = NULL;
    for (size_t i = 0; i < scan->macro_count; i++)
        if (scan->macros[i].from <= from && from < scan->macros[i].to && scan->macros[i].function)
            macro = &scan->macros[i];
    kiln__range names[MOST_LIST];
    frame *made = kiln__arena_alloc(draft->arena, sizeof *made);
    if (!macro || !made)
        return false;
    size_t head = kiln__word_close(scan, macro->from), count = split_list(draft, macro->from + 1, head, false, names);
    for (size_t i = 1; i + 1 < scan->count; i++) {
        if (scan->words[i].directive || !kiln__word_is(scan, i, macro->name) || kind_of_word(draft, i + 1) != '(')
            continue;
        *made = (frame){0};
        made->count = split_list(draft, i + 2, kiln__word_close(scan, i + 1), false, made->values);
        if (made->count != count)
            continue;
        for (size_t k = 0; k < count; k++)
            made->names[k] = names[k].from;
        kiln__text name = {.mem = draft->mem};
        for (size_t w = from; w < to; w++) {
            if (kind_of_word(draft, w) == '#')
                continue;
            const kiln__word *word = &scan->words[w];
            for (size_t k = 0; k < count; k++)
                if (same_word(draft, made->names[k], w))
                    word = &scan->words[made->values[k].from];
            kiln__text_add(&name, word->text, word->length);
        }
        bool same = strcmp(kiln__text_get(&name), plain) == 0;
        kiln__text_free(&name);
        if (same) {
            draft->host.pasted = made;
            return true;
        }
    }
    return false;
}

/* Reads name<templates><<<...>>>(...), whose first '<' of three is at `at`. */
static bool read_chevrons(kiln__draft *draft, size_t at)
{
    kiln__host_launch *host = &draft->host;
    const kiln__scan *scan = draft->scan;
    size_t end = at - 1, close = at + 3, depth = 0;
    kiln__range templates = {0, 0}, list[MOST_LIST];
    if (kind_of_word(draft, end) == '>') {
        size_t open = end;
        for (size_t parens = 0; open > 1; open--) {
            parens += kind_of_word(draft, open) == ')';
            parens -= parens > 0 && kind_of_word(draft, open) == '(';
            depth += parens == 0 && kind_of_word(draft, open) == '>';
            if (parens == 0 && kind_of_word(draft, open) == '<' && --depth == 0)
                break;
        }
        templates = (kiln__range){open + 1, end};
        end = open - 1;
    }
    if (kind_of_word(draft, end) != 'w')
        return false;
    size_t from = end;
    while (from > 3 && kind_of_word(draft, from - 1) == '#' && kind_of_word(draft, from - 2) == '#' &&
           kind_of_word(draft, from - 3) == 'w')
        from -= 3;
    host->at = from;
    host->in_macro = scan->words[at].directive;
    host->scope = host->in_macro ? enclosing_directive(draft, at) : enclosing_function(draft, at);
    if (host->scope.from == 0 || !names_kernel(draft, from, end + 1, &templates) ||
        (from < end && !find_use(draft, from, end + 1)))
        return false;
    while (close < scan->count && !are_three(draft, close, '>'))
        close++;
    size_t count = split_list(draft, at + 3, close, false, list);
    if (count < 2 || kind_of_word(draft, close + 3) != '(')
        return false;
    host->grid = list[0];
    host->block = list[1];
    host->shared = count > 2 ? list[2] : (kiln__range){0, 0};
    host->line = scan->words[at].line;
    host->template_count = templates.from ? split_list(draft, templates.from, templates.to, true, host->templates) : 0;
    host->argument_count = split_list(draft, close + 4, kiln__word_close(scan, close + 3), false, host->arguments);
    return true;
}

/* Returns the words behind `object.member =`, before the launch. */
static kiln__range member_value(const kiln__draft *draft, size_t object, const char *member)
{
    for (size_t i = draft->host.scope.from; i + 4 < draft->host.at; i++)
        if (same_word(draft, i, object) && kind_of_word(draft, i + 1) == '.' && is_text(draft, i + 2, member) &&
            kind_of_word(draft, i + 3) == '=') {
            size_t end = i + 4;
            while (end < draft->host.at && kind_of_word(draft, end) != ';')
                end++;
            return (kiln__range){i + 4, end};
        }
    return (kiln__range){0, 0};
}

/* Reads cudaLaunchKernelEx(&config, kernel, arguments...), whose name is at `at`. */
static bool read_launch_call(kiln__draft *draft, size_t at)
{
    kiln__host_launch *host = &draft->host;
    kiln__range list[MOST_LIST], templates = {0, 0};
    size_t close = kiln__word_close(draft->scan, at + 1);
    size_t count = split_list(draft, at + 2, close, false, list);
    host->at = at;
    host->in_macro = draft->scan->words[at].directive;
    host->scope = host->in_macro ? enclosing_directive(draft, at) : enclosing_function(draft, at);
    if (count < 2 || host->scope.from == 0 || kind_of_word(draft, list[0].from) != '&' ||
        kind_of_word(draft, list[1].from) != 'w')
        return false;
    size_t name = list[1].from, config = list[0].from + 1;
    if (kind_of_word(draft, name + 1) == '<')
        templates = (kiln__range){name + 2, kiln__word_close(draft->scan, name + 1)};
    if (!names_kernel(draft, name, name + 1, &templates))
        return false;
    host->grid = member_value(draft, config, "gridDim");
    host->block = member_value(draft, config, "blockDim");
    host->shared = member_value(draft, config, "dynamicSmemBytes");
    if (!host->grid.from || !host->block.from)
        return false;
    host->line = draft->scan->words[at].line;
    host->template_count = templates.from ? split_list(draft, templates.from, templates.to, true, host->templates) : 0;
    host->argument_count = count - 2;
    memcpy(host->arguments, list + 2, (count - 2) * sizeof *list);
    return true;
}

void kiln__host_find(kiln__draft *draft)
{
    size_t tried = 0;
    for (size_t i = 2; i + 4 < draft->scan->count && tried < MOST_TRIED; i++) {
        draft->host = (kiln__host_launch){0};
        tried += are_three(draft, i, '<') || is_text(draft, i, "cudaLaunchKernelEx");
        if (are_three(draft, i, '<') && read_chevrons(draft, i)) {
            draft->host.found = true;
            return;
        }
        if (is_text(draft, i, "cudaLaunchKernelEx") && kind_of_word(draft, i + 1) == '(' &&
            read_launch_call(draft, i)) {
            draft->host.found = true;
            return;
        }
    }
    draft->host = (kiln__host_launch){0};
}
