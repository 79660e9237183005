/* host.c - reads the launch of a kernel in host code: `kernel<BM, T><<<grid, block, shared>>>(x, n)` or
 * cudaLaunchKernelEx(). The launch shows the grid, the block, the dynamic shared memory, the template arguments, and
 * the numbers among the kernel's arguments.
 *
 * The reader does not run the host code. It parses the expressions of the host code into trees, and replaces names by
 * their definitions: local variables, constants and macros. A name without a definition that can be read (an undefined
 * name) becomes a size of the spec. */
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"

/* Limits, because the source is untrusted text. They limit the depth of definitions that are followed inside each
 * other, the parts of a list, the names that are looked up, and the tokens of a statement. */
enum { MOST_FOLLOWED = 12, MOST_LIST = KILN__MOST_LIST, MOST_LOOKED = 2000, MOST_STATEMENT = 256 };

/* ---- expression trees ---- */

typedef kiln__frame frame;

typedef struct reader {
    kiln__draft *draft;
    size_t at, to, depth; /* `depth` is the number of definitions that were followed to reach this expression */
    size_t before;        /* only definitions before this token count; 0 means the token of the launch */
    const frame *macro;
    bool failed;
} reader;

static kiln__tree *make_tree(const reader *r, char op, kiln__tree *a, kiln__tree *b)
{
    return kiln__tree_make(r->draft, op, a, b);
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

/* Returns true if the range is only the token `name`, perhaps within parentheses or after a cast. */
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

/* Returns true if the statement around a token declares variables of type dim3. */
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

/* Returns true if the token `i` is a variable that is changed by another operator than `=`: blocks++, --blocks, blocks
 * += 1. */
static bool is_changed(const kiln__draft *draft, size_t i)
{
    static const char *const after[] = {"++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    for (size_t k = 0; k < KILN__COUNT(after); k++)
        if (kiln__words_are_joined(draft, i + 1, after[k]))
            return true;
    return i > 2 && (kiln__words_are_joined(draft, i - 2, "++") || kiln__words_are_joined(draft, i - 2, "--"));
}

/* Finds the last definition of a variable in `where`, or the definition of a constant: `int blocks = (n + 255) / 256;`.
 * Returns the tokens of its value. {0, 0} means that no definition can be read. Another empty range means that the
 * variable is changed after its definition. */
static kiln__range find_value(kiln__draft *draft, size_t name, kiln__range where, bool constant)
{
    kiln__range found = {0, 0};
    draft->compared += where.to > where.from ? where.to - where.from : 0;
    for (size_t i = where.from; i + 2 < where.to && draft->compared <= KILN__MOST_COMPARED; i++) {
        if (!same_word(draft, i, name) || kind_of_word(draft, i) != 'w' || kind_of_word(draft, i - 1) == '.' ||
            (i > 2 && kiln__words_are_joined(draft, i - 2, "->")))
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

/* If the launch passes exactly this name as a template argument, returns the tuning parameter of this template
 * parameter. Otherwise returns NULL. */
static const kiln__tunable *find_template(const kiln__draft *draft, size_t name)
{
    const kiln__host_launch *host = &draft->host;
    for (size_t i = 0; i < host->template_count && i < draft->kernel->template_count; i++)
        if (is_plain_name(draft, host->templates[i], name))
            return kiln__tunable_find(draft, draft->kernel->templates[i].name);
    return NULL;
}

/* Reads the use of a macro with arguments, such as CEIL_DIV(n, 16). r->at is the token after the macro's name. */
static kiln__tree *read_macro_call(reader *r, const kiln__macro *macro)
{
    const kiln__draft *draft = r->draft;
    size_t close = kiln__word_close(draft->scan, r->at), head = kiln__word_close(draft->scan, macro->from);
    kiln__range names[MOST_LIST];
    frame made = {.up = r->macro};
    if (close >= r->to || head >= macro->to)
        return NULL;
    made.count = kiln__words_split(draft, r->at + 1, close, false, made.values);
    if (kiln__words_split(draft, macro->from + 1, head, false, names) != made.count)
        return NULL;
    for (size_t i = 0; i < made.count; i++)
        made.names[i] = names[i].from;
    r->at = close + 1;
    return read_range(r, (kiln__range){head + 1, macro->to}, &made);
}

/* Reads the value that a frame gives to a name. If the value is in another function than the launch, the names in the
 * value are looked up in that function. */
static kiln__tree *read_in_frame(const reader *r, const frame *f, kiln__range value)
{
    kiln__host_launch *host = &r->draft->host;
    const kiln__range scope = host->scope;
    const size_t at = host->at;
    if (!f->scope.from)
        return read_range(r, value, f->up);
    const reader there = {.draft = r->draft, .depth = r->depth};
    const frame *kept = host->frame;
    host->scope = f->scope;
    host->at = f->at;
    host->frame = f->up;
    kiln__tree *tree = read_range(&there, value, f->up);
    host->scope = scope;
    host->at = at;
    host->frame = kept;
    return tree;
}

/* Reads the value of a variable before the token `before`. The last definition may be under an #if that tuning
 * parameters decide. Then the earlier definition gives the value where the condition of this #if is false. If the
 * variable changes after its definition, no definition gives its value, and the function sets *changed. */
static kiln__tree *read_variable(const reader *r, size_t name, size_t before, bool *changed)
{
    kiln__draft *draft = r->draft;
    kiln__tree *condition = NULL;
    const kiln__range value = find_value(draft, name, (kiln__range){draft->host.scope.from, before}, false);
    if (value.from == 0)
        return NULL;
    *changed = value.to == value.from; /* blocks = n / 128, and then blocks++ */
    if (*changed)
        return NULL;
    const kiln__when when = kiln__condition(draft, value.from, draft->host.at, &condition);
    if (when == KILN__NEVER)
        return read_variable(r, name, value.from - 1, changed);
    reader inner = *r;
    inner.before = value.from - 1; /* blocks = blocks + 1 */
    kiln__tree *tree = read_range(&inner, value, r->draft->host.frame);
    kiln__tree *other = tree && when == KILN__SOMETIMES ? read_variable(r, name, value.from - 1, changed) : NULL;
    kiln__tree *both = other ? make_tree(r, ':', tree, other) : NULL;
    return both ? make_tree(r, '?', condition, both) : tree;
}

/* Reads a macro without arguments. If several branches of #if define the macro, their conditions choose the value. Only
 * the first `above` macros of the source count. */
static kiln__tree *read_macro(const reader *r, const char *name, size_t above)
{
    const kiln__scan *scan = r->draft->scan;
    kiln__tree *condition = NULL;
    size_t i = above;
    while (i > 0 && (scan->macros[i - 1].function || strcmp(scan->macros[i - 1].name, name) != 0))
        i--;
    r->draft->compared += above - i;
    if (i == 0 || r->draft->compared > KILN__MOST_COMPARED)
        return NULL;
    const kiln__when when = kiln__condition(r->draft, scan->macros[i - 1].from, r->draft->host.at, &condition);
    if (when == KILN__NEVER)
        return read_macro(r, name, i - 1);
    kiln__tree *tree = read_range(r, (kiln__range){scan->macros[i - 1].from, scan->macros[i - 1].to},
                                  r->draft->host.frame);
    kiln__tree *other = tree && when == KILN__SOMETIMES ? read_macro(r, name, i - 1) : NULL;
    kiln__tree *both = other ? make_tree(r, ':', tree, other) : NULL;
    return both ? make_tree(r, '?', condition, both) : tree;
}

/* Returns true if the launch is the statement of `if (NAME == NUMBER)` for this name. Then the name has the value
 * NUMBER. */
static bool find_tested_value(const kiln__draft *draft, size_t name, int64_t *value)
{
    size_t close = draft->host.at - 1;
    close -= kind_of_word(draft, close) == '{';
    for (size_t open = close; kind_of_word(draft, close) == ')' && open > draft->host.scope.from && close - open < 6;
         open--)
        if (kind_of_word(draft, open) == '(')
            return close == open + 5 && is_text(draft, open - 1, "if") && same_word(draft, open + 1, name) &&
                   kiln__words_are_joined(draft, open + 2, "==") && kiln__word_whole(draft->scan, open + 4, value);
    return false;
}

/* Replaces a name by its meaning, and returns the tree of the meaning. The function looks in this order: arguments of
 * the macro that is being read, arguments of the kernel, tuning parameters, and template arguments of the kernel. Then
 * come parameters of the function template around the launch, local variables, constants, and macros. A name that has
 * no such meaning becomes an undefined name. */
static kiln__tree *resolve_name(reader *r, size_t name)
{
    kiln__draft *draft = r->draft;
    const kiln__host_launch *host = &draft->host;
    for (const frame *f = r->macro; f; f = f->up)
        for (size_t i = 0; i < f->count && !f->scope.from; i++)
            if (same_word(draft, f->names[i], name))
                return read_range(r, f->values[i], f->up);
    char *text = draft->looked++ < MOST_LOOKED ? kiln__word_copy(draft->scan, name) : NULL;
    if (!text)
        return NULL;
    /* a size that the kernel gets as an argument; the launch passes it under this name */
    for (size_t i = 0; i < draft->size_count; i++)
        if (draft->sizes[i].host && strcmp(draft->sizes[i].host, text) == 0)
            return make_name(r, draft->sizes[i].name, true);
    const kiln__tunable *tunable = kiln__tunable_find(draft, text);
    if (tunable && (tunable->kind != KILN__TUNABLE_TEMPLATE || host->in_kernel))
        return make_name(r, tunable->name, true);
    tunable = find_template(draft, name);
    if (tunable)
        return make_name(r, tunable->name, true);
    for (const frame *f = r->macro; f; f = f->up)
        for (size_t i = 0; i < f->count && f->scope.from; i++)
            if (same_word(draft, f->names[i], name))
                return read_in_frame(r, f, f->values[i]);
    if (strcmp(text, "warpSize") == 0)
        return make_number(r, 32);
    bool changed = false;
    kiln__tree *tree = read_variable(r, name, r->before ? r->before : host->at, &changed);
    if (changed)
        return NULL;
    kiln__range value = {0, 0};
    if (!tree && host->in_macro) { /* the macro that sets grid and block may come after the macro that has the launch */
        for (size_t i = 0; i < draft->scan->macro_count && value.from == 0; i++)
            if (draft->scan->macros[i].from > host->at)
                value = find_value(draft, name, (kiln__range){draft->scan->macros[i].from, draft->scan->macros[i].to},
                                   false);
    }
    if (!tree && value.from == 0)
        value = find_value(draft, name, (kiln__range){2, draft->scan->count}, true);
    if (!tree && value.from && value.to > value.from) {
        reader inner = *r;
        inner.before = value.from - 1;
        tree = read_range(&inner, value, host->frame);
    }
    if (!tree && value.from == 0)
        tree = read_macro(r, text, draft->scan->macro_count);
    int64_t tested = 0;
    if (!tree && value.from == 0 && draft->one_place && find_tested_value(draft, name, &tested))
        tree = make_number(r, tested);
    if (tree && tree->op == '0' && !tree->text)
        tree->text = text; /* the name of the constant that has this value */
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
                                  /* a number such as 1e-5f, which is three tokens */
                                  r->draft->scan->words[r->at + 1].text);
        r->at += 2;
    }
    size_t length = text ? strlen(text) : 0;
    while (length && strchr("fFlL", text[length - 1]))
        text[--length] = '\0';
    if (length && text[length - 1] == '.') /* a number such as 1.f */
        text = kiln__arena_printf(r->draft->arena, "%s0", text);
    kiln__tree *tree = make_tree(r, '.', NULL, NULL);
    if (tree)
        tree->text = text;
    return text ? tree : NULL;
}

/* Reads a number that begins with its decimal point, such as .5f. Its tokens are the point and the digits. */
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

/* Returns the size of a type in bytes, or 0 if it is not known. The type is one token. It may be a type parameter of
 * the function template around the launch. If the launch passes this parameter on to the kernel's template, as in `f<T,
 * 4>(...)`, the draft has chosen a type for it. */
static uint64_t count_bytes(kiln__draft *draft, kiln__range word)
{
    const char *name = kiln__word_copy(draft->scan, word.from);
    uint64_t bytes = name ? kiln__type_bytes_named(name) : 0;
    if (!bytes && (name = kiln__type_of_range(draft, word)) != NULL)
        bytes = kiln__type_bytes_named(name);
    const kiln__host_launch *host = &draft->host;
    for (size_t k = 0; !bytes && k < host->template_count && k < draft->kernel->template_count; k++) {
        const kiln__range given = host->templates[k];
        const kiln__tunable *tunable = kiln__tunable_find(draft, draft->kernel->templates[k].name);
        if (tunable && given.to == given.from + 1 && same_word(draft, given.from, word.from))
            bytes = kiln__type_bytes_named(tunable->chosen);
    }
    return bytes;
}

/* Reads a call with arguments: a cast, sizeof, min, max, or a function whose name means a division that rounds up.
 * r->at is the opening parenthesis. */
static kiln__tree *read_call(reader *r, size_t name)
{
    kiln__draft *draft = r->draft;
    kiln__range list[MOST_LIST];
    size_t close = kiln__word_close(draft->scan, r->at);
    if (close >= r->to)
        return NULL;
    size_t count = kiln__words_split(draft, r->at + 1, close, false, list);
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
        if (list[0].to != list[0].from + 1) /* a type of several tokens, such as float * or unsigned char */
            return NULL;
        const uint64_t bytes = count_bytes(draft, list[0]);
        kiln__tree *number = bytes ? make_number(r, (int64_t)bytes) : NULL;
        if (number)
            number->text = "sizeof"; /* this name keeps the number different from an equal number in the launch */
        return number;
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

/* Skips a cast at r->at, such as (int) or static_cast<int>. */
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
    if (c == '!' && !kiln__words_are_joined(draft, at, "!=")) {
        if (r->depth >= MOST_FOLLOWED)
            return NULL;
        r->at++;
        r->depth++;
        kiln__tree *operand = read_primary(r);
        r->depth--;
        return kiln__tree_not(draft, operand);
    }
    if (c == '(') {
        size_t close = kiln__word_close(draft->scan, at);
        r->at = close + 1;
        return close < r->to ? read_range(r, (kiln__range){at + 1, close}, r->macro) : NULL;
    }
    if (c != 'w')
        return NULL;
    /* skips the namespace in std::min */
    while (is_text(draft, r->at, "std") && kiln__words_are_joined(draft, r->at + 1, "::"))
        r->at += 3;
    at = r->at++;
    if (is_text(draft, at, "defined")) {
        const bool round = kind_of_word(draft, r->at) == '(';
        r->at += round ? 3 : 1;
        return r->at <= r->to ? kiln__defined(draft, at + 1 + round, at) : NULL;
    }
    if (is_text(draft, at, "true") || is_text(draft, at, "false"))
        return make_name(r, kiln__word_copy(draft->scan, at), true);
    char *text = kiln__word_copy(draft->scan, at);
    if (kind_of_word(draft, r->at) == '<' && (is_text(draft, at, "min") || is_text(draft, at, "max"))) {
        /* skips the template arguments in std::min<unsigned>(a, b) */
        const size_t close = kiln__word_close(draft->scan, r->at);
        r->at = close < r->to && kind_of_word(draft, close + 1) == '(' ? close + 1 : r->at;
    }
    const kiln__macro *macro = text ? kiln__macro_find(draft->scan, text) : NULL;
    if (kind_of_word(draft, r->at) == '(')
        return macro && macro->function ? read_macro_call(r, macro) : read_call(r, at);
    if (kind_of_word(draft, r->at) == '.' && kind_of_word(draft, r->at + 1) == 'w' &&
        kind_of_word(draft, r->at + 2) != '(') { /* a member of a dim3 variable, such as block.x */
        char axis = draft->scan->words[r->at + 1].text[0];
        kiln__tree *axes[3] = {NULL, NULL, NULL};
        if (draft->scan->words[r->at + 1].length == 1 && axis >= 'x' && axis <= 'z' &&
            kiln__host_axes(draft, (kiln__range){at, at + 1}, axes)) {
            r->at += 2;
            return axes[axis - 'x'] ? axes[axis - 'x'] : make_number(r, 1);
        }
        return NULL;
    }
    if (kind_of_word(draft, r->at) == '.' || kind_of_word(draft, r->at) == '[' ||
        kiln__words_are_joined(draft, r->at, "::"))
        return NULL; /* an expression that the reader does not know, such as x.size(0) */
    return resolve_name(r, at);
}

/* Returns the precedence of the operator at r->at, or 0 if there is no operator. *op gets the letter of the operator
 * (see kiln__tree), and *words its number of tokens. */
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
        if (kiln__words_are_joined(r->draft, r->at, list[i].text)) {
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

/* Returns the dividend n if the tree is a sum that rounds a division up, such as n + d - 1, where d is the divisor.
 * Otherwise returns NULL. */
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

/* Makes the tree of an operator. Does not compute the result of two numbers, because a number of the block may become a
 * tuning parameter. */
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
    /* The most operators in a row. The tree becomes as deep as their number, and recursive functions walk the tree. */
    enum { MOST_OPERATORS = 64 };
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
    return read_range(&r, range, draft->host.frame);
}

/* ---- values of type dim3 ---- */

static bool read_axes(kiln__draft *draft, kiln__range range, size_t end_at, kiln__tree **axes);

/* Calls read_axes() with a limited depth. A dim3 variable may be defined by members of another dim3 variable (block.x),
 * and even by its own members. Definitions count up to the token `end_at`, or up to the launch if it is 0. */
static bool read_axes_before(kiln__draft *draft, kiln__range range, size_t end_at, kiln__tree **axes)
{
    enum { MOST_NESTED = 4 };
    if (draft->nested >= MOST_NESTED || draft->looked++ >= MOST_LOOKED || draft->compared > KILN__MOST_COMPARED)
        return false;
    draft->nested++;
    bool read = read_axes(draft, range, end_at, axes);
    draft->nested--;
    return read;
}

bool kiln__host_axes(kiln__draft *draft, kiln__range range, kiln__tree **axes)
{
    return read_axes_before(draft, range, 0, axes);
}

bool kiln__axes_choose(kiln__draft *draft, const kiln__tree *condition, kiln__tree *const *otherwise, kiln__tree **axes)
{
    const reader r = {.draft = draft};
    for (int axis = 0; axis < 3; axis++) {
        if (!axes[axis] && !otherwise[axis])
            continue;
        kiln__tree *yes = axes[axis] ? axes[axis] : make_number(&r, 1);
        kiln__tree *no = otherwise[axis] ? otherwise[axis] : make_number(&r, 1);
        if (is_same_tree(yes, no))
            continue;
        kiln__tree *both = yes && no ? make_tree(&r, ':', yes, no) : NULL;
        axes[axis] = both ? make_tree(&r, '?', kiln__tree_copy(draft, condition), both) : NULL;
        if (!axes[axis])
            return false;
    }
    return true;
}

/* Reads a dim3 variable whose last definition `value` is in a branch of #if. Where the condition of the branch is
 * false, the definition before it counts. */
static bool read_conditional_axes(kiln__draft *draft, kiln__range range, kiln__range value, kiln__tree *condition,
                                  kiln__tree **axes)
{
    kiln__range list[MOST_LIST];
    kiln__tree *other[3] = {NULL};
    size_t count = kiln__words_split(draft, value.from, value.to, false, list);
    for (size_t i = 0; i < count && i < 3; i++)
        if ((axes[i] = kiln__host_read(draft, list[i])) == NULL || kiln__tree_has_real(axes[i]))
            return false;
    const kiln__range earlier = {draft->host.scope.from, value.from - 1};
    if (count == 0 || count > 3 || find_value(draft, range.from, earlier, false).from == 0)
        return count > 0 && count <= 3;
    return read_axes_before(draft, range, value.from - 1, other) && kiln__axes_choose(draft, condition, other, axes);
}

/* Returns true if the name is a parameter of type dim3 of the function around the launch. */
static bool is_dim3_parameter(const kiln__draft *draft, size_t name)
{
    const size_t brace = draft->host.scope.from - 1;
    for (size_t i = brace; i-- > 2 && brace - i < MOST_STATEMENT && !strchr(";{}", kind_of_word(draft, i));) {
        const size_t type = kind_of_word(draft, i - 1) == '&' ? i - 2 : i - 1;
        if (same_word(draft, i, name) && (is_text(draft, type, "dim3") || is_text(draft, type - 1, "dim3")))
            return true;
    }
    return false;
}

/* Finds `if (CONDITION)` directly before the token `at`, perhaps with a brace between them. Returns the tokens of the
 * condition, or {0, 0}. */
static kiln__range find_condition_before(const kiln__draft *draft, size_t at)
{
    size_t close = at - 1;
    close -= kind_of_word(draft, close) == '{';
    for (size_t open = close; kind_of_word(draft, close) == ')' && open > 1 && close - open < MOST_STATEMENT; open--)
        if (kind_of_word(draft, open) == '(' && kiln__word_close(draft->scan, open) == close)
            return is_text(draft, open - 1, "if") ? (kiln__range){open + 1, close} : (kiln__range){0, 0};
    return (kiln__range){0, 0};
}

/* Returns true if a statement begins at the token `at`, and every run of the statements behind `from` reaches
 * this statement once. A statement in braces, or behind `else`, `for (...)` or a label, gives false. */
static bool always_runs(const kiln__draft *draft, size_t from, size_t at)
{
    size_t open = 0;
    while (from < at && kind_of_word(draft, from) != ';')
        from++;
    for (size_t i = from; i < at; i++) {
        const char kind = kind_of_word(draft, i);
        if (kind == '}' && open == 0)
            return false;
        open += kind == '{';
        open -= kind == '}';
    }
    return open == 0 && strchr(";}", kind_of_word(draft, at - 1)) != NULL;
}

/* Reads a statement that adds to an axis of a dim3, such as `if (n % 16 != 0) grid.x += 1;`, and changes the tree
 * *axis. The tokens `added` are the summand, and {0, 0} means 1. If the axis was n / 16 before this example, it becomes
 * ceil_div(n, 16). `from` is a token in the definition of the dim3. Returns false if the statement
 * cannot be read, or if it depends on more than one condition. */
static bool add_to_axis(kiln__draft *draft, size_t from, size_t at, kiln__range added, kiln__tree **axis)
{
    const reader r = {.draft = draft};
    const kiln__range where = find_condition_before(draft, at);
    if (!always_runs(draft, from, where.from ? where.from - 2 : at)) /* -2: the word `if` */
        return false;
    kiln__tree *plus = added.from ? kiln__host_read(draft, added) : make_number(&r, 1);
    kiln__tree *condition = where.from ? kiln__host_read(draft, where) : NULL;
    if (!plus || !*axis || (where.from && !condition))
        return false;
    const kiln__tree *rest = condition && (condition->op == 'd' || condition->op == '>') && is_number(condition->b, 0)
                                 ? condition->a
                                 : condition;
    if (rest && rest->op == '%' && (*axis)->op == '/' && is_number(plus, 1) && is_same_tree(rest->a, (*axis)->a) &&
        is_same_tree(rest->b, (*axis)->b)) {
        *axis = make_tree(&r, 'C', (*axis)->a, (*axis)->b);
        return *axis != NULL;
    }
    kiln__tree *sum = make_tree(&r, '+', kiln__tree_copy(draft, *axis), plus);
    kiln__tree *both = condition && sum ? make_tree(&r, ':', sum, *axis) : NULL;
    *axis = both ? make_tree(&r, '?', condition, both) : condition ? NULL : sum;
    return *axis != NULL;
}

/* Reads the statements between the definition of a dim3 and the launch that add to one of its axes. */
static bool add_to_axes(kiln__draft *draft, size_t name, kiln__range before, kiln__tree **axes)
{
    for (size_t i = before.from; i + 4 < before.to; i++) {
        const size_t axis = (size_t)(kind_of_word(draft, i + 2) == 'w' ? draft->scan->words[i + 2].text[0] - 'x' : 3);
        size_t end = i + 5;
        if (!same_word(draft, i, name) || kind_of_word(draft, i + 1) != '.' || axis > 2 ||
            kind_of_word(draft, i + 3) != '+' || !strchr("+=", kind_of_word(draft, i + 4)))
            continue;
        while (end < before.to && kind_of_word(draft, end) != ';')
            end++;
        const bool counts = kind_of_word(draft, i + 4) == '+';
        if (!add_to_axis(draft, before.from, i, counts ? (kiln__range){0, 0} : (kiln__range){i + 5, end}, &axes[axis]))
            return false;
    }
    return true;
}

/* Reads up to three extents: `n`, `dim3(a, b)`, `{a, b, 1}`, or a variable of type dim3. */
static bool read_axes(kiln__draft *draft, kiln__range range, size_t end_at, kiln__tree **axes)
{
    kiln__range list[MOST_LIST], later = {0, 0};
    size_t count = 0;
    if (range.to == range.from + 1 && kind_of_word(draft, range.from) == 'w') { /* the range is a variable */
        const kiln__host_launch *host = &draft->host;
        kiln__range before = {host->scope.from, end_at ? end_at : host->at},
                    value = find_value(draft, range.from, before, false);
        bool dim3 = false;
        draft->compared += 2 * (before.to - before.from);
        for (size_t i = before.from + 1; i < before.to; i++)
            dim3 |= same_word(draft, i, range.from) && kind_of_word(draft, i - 1) != '.' && is_dim3(draft, i);
        for (size_t i = 0; i < draft->scan->macro_count && host->in_macro && value.from == 0; i++) {
            kiln__range other = {draft->scan->macros[i].from, draft->scan->macros[i].to};
            if (other.from > host->at && (value = find_value(draft, range.from, other, false)).from)
                dim3 = true;
        }
        dim3 |= value.from && is_text(draft, value.from, "dim3"); /* a definition such as auto grid = dim3(n / 256) */
        kiln__tree *condition = NULL;
        kiln__when when = dim3 && value.to > value.from ? kiln__condition(draft, value.from, host->at, &condition)
                                                        : KILN__ALWAYS;
        if (when == KILN__NEVER)
            return read_axes_before(draft, range, value.from - 1, axes);
        if (when == KILN__SOMETIMES && read_conditional_axes(draft, range, value, condition, axes))
            return true;
        if (value.from == 0 && host->scope.from > 2 && is_dim3_parameter(draft, range.from))
            /* the caller of the function sets the variable, so its value is not known, and it is not a number */
            return false;
        if (dim3 && value.from) {
            count = kiln__words_split(draft, value.from, value.to, false, list);
            later = (kiln__range){value.to, before.to};
        }
        /* adds assignments to members, such as grid.x = n; */
        for (size_t i = before.from; dim3 && i + 3 < before.to; i++)
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
        count = kiln__words_split(draft, range.from + 1, range.to - 1, false, list);
    } else if (is_text(draft, range.from, "dim3") &&
               (kind_of_word(draft, range.from + 1) == '(' || kind_of_word(draft, range.from + 1) == '{')) {
        count = kiln__words_split(draft, range.from + 2, range.to - 1, false, list);
    }
    if (count == 0)
        list[count++] = range;
    for (size_t i = 0; i < count && i < 3; i++) {
        reader r = {.draft = draft};
        axes[i] = list[i].from == 0 ? make_number(&r, 1) : kiln__host_read(draft, list[i]);
        if (!axes[i] || kiln__tree_has_real(axes[i])) /* n / 128.0 is not n // 128 */
            return false;
    }
    return count <= 3 && (later.from == 0 || add_to_axes(draft, range.from, later, axes));
}
