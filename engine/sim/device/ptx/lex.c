/* lex.c - tokens, names, scopes and the error log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_internal.h"

#define PTX_ERROR_LIMIT 50

/* ---- the log ---- */

/* Stops the parser: each further token is PTX_TOKEN_END, even if the parser goes back to an earlier place in the
 * text. */
static void ptx_stop(ptx_parser *p)
{
    p->cursor = p->end = p->start;
    p->token.kind = PTX_TOKEN_END;
}

/* Adds an error to the log. Stops the parser after PTX_ERROR_LIMIT errors. Without this limit the parsing time would
 * not be bounded, because the parser may compare each wrong statement with a long list of parameters. Returns false if
 * the parser had stopped before. */
static bool ptx_report(ptx_parser *p, uint32_t line, const char *format, va_list arguments)
{
    if (p->errors++ >= PTX_ERROR_LIMIT)
        return false;
    kiln__text_printf(p->log, "ptxas application ptx input, line %" PRIu32 "; error   : ", line);
    kiln__text_vprintf(p->log, format, arguments);
    if (p->function != UINT32_MAX) {
        const ptx_function *function = &p->functions[p->function];
        kiln__text_printf(p->log, " (%s '%s')", function->entry ? "kernel" : "function", function->name);
    }
    kiln__text_puts(p->log, "\n");
    if (p->errors == PTX_ERROR_LIMIT) {
        kiln__text_puts(p->log, "ptxas fatal   : too many errors, the rest is not shown\n");
        ptx_stop(p);
    }
    return true;
}

bool(ptx_error)(ptx_parser *p, uint32_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    p->invalid |= ptx_report(p, line, format, arguments);
    va_end(arguments);
    return false;
}

bool(ptx_unsupported)(ptx_parser *p, uint32_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ptx_report(p, line, format, arguments);
    va_end(arguments);
    return false;
}

bool ptx_out_of_memory(ptx_parser *p)
{
    p->memory = true;
    ptx_stop(p);
    return false;
}

bool ptx_repeat(ptx_parser *p, uint32_t line, uint64_t *so_far, uint64_t more, unsigned each, const char *what)
{
    enum { LEAST = 4096 };
    *so_far += more;
    return *so_far <= LEAST + (uint64_t)(p->end - p->start) * each || ptx_error(p, line, "%s", what);
}

bool ptx_grow(ptx_parser *p, void *array, size_t *capacity, size_t need, size_t size)
{
    return kiln__grow(p->mem, array, capacity, need, size) || ptx_out_of_memory(p);
}

const char *ptx_shown(ptx_parser *p)
{
    const ptx_token *token = &p->token;
    if (token->kind == PTX_TOKEN_END)
        return "the end of the text";
    size_t length = token->length > 60 ? 60 : token->length;
    char bytes[61];
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)token->text[i];
        bytes[i] = byte < ' ' || byte > '~' ? '?' : (char)byte;
    }
    const char *shown = kiln__arena_printf(&p->scratch, "'%s%.*s'", token->kind == PTX_TOKEN_DIRECTIVE ? "." : "",
                                           (int)length, bytes);
    if (!shown)
        ptx_out_of_memory(p);
    return shown ? shown : "";
}

/* ---- names ---- */

static bool ptx_names_widen(ptx_parser *p)
{
    size_t capacity = p->name_capacity ? p->name_capacity * 2 : 1024;
    ptx_name **wider = kiln__calloc(p->mem, capacity, sizeof *wider);
    if (!wider)
        return ptx_out_of_memory(p);
    for (size_t i = 0; i < p->name_capacity; i++) {
        if (!p->names[i])
            continue;
        size_t at = p->names[i]->hash & (capacity - 1);
        while (wider[at])
            at = (at + 1) & (capacity - 1);
        wider[at] = p->names[i];
    }
    kiln__free(p->mem, p->names);
    p->names = wider;
    p->name_capacity = capacity;
    return true;
}

ptx_name *ptx_intern(ptx_parser *p, const char *text, size_t length)
{
    if (p->name_count * 2 >= p->name_capacity && !ptx_names_widen(p))
        return NULL;
    uint32_t hash = ptx_hash(p, text, length);
    size_t at = hash & (p->name_capacity - 1);
    for (; p->names[at]; at = (at + 1) & (p->name_capacity - 1)) {
        ptx_name *name = p->names[at];
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0)
            return name;
    }
    ptx_name *name = kiln__arena_alloc(&p->scratch, sizeof *name);
    /* The text of a name lives as long as the module, because registers, symbols and functions refer to it. */
    const char *copy = name ? kiln__arena_strndup(&p->module->arena, text, length) : NULL;
    if (!copy) {
        ptx_out_of_memory(p);
        return NULL;
    }
    *name = (ptx_name){.text = copy, .length = (uint32_t)length, .hash = hash};
    p->names[at] = name;
    p->name_count++;
    return name;
}

static ptx_binding *ptx_bind_at(ptx_parser *p, ptx_name *name, ptx_binding_kind kind, uint32_t index, uint32_t depth)
{
    ptx_binding *binding = kiln__arena_alloc(&p->scratch, sizeof *binding);
    if (!binding) {
        ptx_out_of_memory(p);
        return NULL;
    }
    ptx_binding **chain = kind == PTX_BIND_RANGE ? &name->range : &name->binding;
    *binding = (ptx_binding){.shadowed = *chain,
                             .next = p->scopes[depth].bindings,
                             .name = name,
                             .depth = depth,
                             .index = index,
                             .kind = (uint8_t)kind};
    *chain = p->scopes[depth].bindings = binding;
    return binding;
}

ptx_binding *ptx_bind(ptx_parser *p, ptx_name *name, ptx_binding_kind kind, uint32_t index)
{
    return ptx_bind_at(p, name, kind, index, p->depth);
}

static uint32_t ptx_reg_add(ptx_parser *p, const char *name, ptx_type type)
{
    if (!ptx_grow(p, &p->regs, &p->reg_capacity, p->reg_count + 1, sizeof *p->regs))
        return UINT32_MAX;
    p->regs[p->reg_count] = (ptx_reg){name, (uint8_t)type};
    return (uint32_t)p->reg_count++;
}

/* Returns the register range that declares `name`: for example, "%r<73>" declares "%r12". Returns NULL if no range
 * declares the name. */
static ptx_binding *ptx_range_of(ptx_parser *p, const ptx_name *name)
{
    size_t length = name->length;
    while (length > 1 && name->text[length - 1] >= '0' && name->text[length - 1] <= '9')
        length--;
    size_t digits = name->length - length;
    if (!digits || digits > 9 || (digits > 1 && name->text[length] == '0'))
        return NULL;
    /* "%r1<20>" declares %r10: a prefix may itself end in digits. The loop tries the longest numeral first, because it
     * is nearly always the register's number. */
    for (; digits; digits--, length++) {
        if (digits > 1 && name->text[length] == '0')
            continue;
        ptx_name *prefix = ptx_intern(p, name->text, length);
        if (!prefix)
            return NULL;
        if (prefix->range && strtoul(name->text + length, NULL, 10) < prefix->range->count)
            return prefix->range;
    }
    return NULL;
}

ptx_binding *ptx_lookup(ptx_parser *p, ptx_name *name)
{
    ptx_binding *found = name->binding;
    if (found && (!p->nested_ranges || found->depth == p->depth))
        return found;
    ptx_binding *range = p->function == UINT32_MAX ? NULL : ptx_range_of(p, name);
    if (!range || (found && found->depth >= range->depth))
        return found;
    /* A register of a range is created at its first use. */
    uint32_t reg = ptx_reg_add(p, name->text, range->type);
    ptx_binding *binding = reg == UINT32_MAX ? NULL : ptx_bind_at(p, name, PTX_BIND_REG, reg, range->depth);
    if (binding)
        binding->type = range->type;
    return binding;
}

bool ptx_declare_range(ptx_parser *p, ptx_name *prefix, ptx_type type, uint32_t count)
{
    if (prefix->range && prefix->range->depth == p->depth)
        return ptx_error(p, p->token.line, "registers '%s<...>' are declared twice", prefix->text);
    ptx_binding *binding = ptx_bind(p, prefix, PTX_BIND_RANGE, 0);
    if (!binding)
        return false;
    binding->type = (uint8_t)type;
    binding->count = count;
    p->nested_ranges += p->depth > PTX_DEPTH_MODULE + 1;
    return true;
}

bool ptx_declare_reg(ptx_parser *p, ptx_name *name, ptx_type type)
{
    if (name->binding && name->binding->depth == p->depth)
        return ptx_error(p, p->token.line, "'%s' is declared twice", name->text);
    uint32_t reg = ptx_reg_add(p, name->text, type);
    ptx_binding *binding = reg == UINT32_MAX ? NULL : ptx_bind(p, name, PTX_BIND_REG, reg);
    if (binding)
        binding->type = (uint8_t)type;
    return binding != NULL;
}

bool ptx_scope_push(ptx_parser *p)
{
    if (p->depth == PTX_MAX_DEPTH)
        return ptx_error(p, p->token.line, "scopes are nested more than %d deep", PTX_MAX_DEPTH);
    p->depth++;
    p->scopes[p->depth] = (ptx_scope){.frame = p->scopes[p->depth - 1].frame};
    return true;
}

static void ptx_resolve(ptx_parser *p, ptx_fixup *fixup, uint32_t target)
{
    ptx_operand *operand = fixup->insn == UINT32_MAX ? &p->elements[fixup->operand]
                                                     : &p->insns[fixup->insn].operands[fixup->operand];
    operand->index = target;
}

void ptx_scope_pop(ptx_parser *p)
{
    ptx_scope *scope = &p->scopes[p->depth], *outer = scope - 1;
    bool outermost = p->depth == PTX_DEPTH_MODULE + 1;
    for (ptx_fixup *fixup = scope->fixups, *next; fixup; fixup = next) {
        next = fixup->next;
        const ptx_binding *label = fixup->name->binding;
        if (label && label->kind == PTX_BIND_LABEL && label->depth == p->depth) {
            ptx_resolve(p, fixup, label->index);
        } else if (outermost) {
            ptx_error(p, fixup->line, "label '%s' is not defined in this function", fixup->name->text);
        } else { /* an outer scope may define the label */
            fixup->next = outer->fixups;
            outer->fixups = fixup;
        }
    }
    for (ptx_binding *binding = scope->bindings; binding; binding = binding->next) {
        if (binding->kind == PTX_BIND_RANGE) {
            binding->name->range = binding->shadowed;
            p->nested_ranges -= p->depth > PTX_DEPTH_MODULE + 1;
        } else {
            binding->name->binding = binding->shadowed;
        }
    }
    *scope = (ptx_scope){0};
    p->depth--;
}

/* Binds the names that PTX predefines: the special registers and WARP_SZ. The current scope must be the outermost
 * scope. A special register keeps its least target in `count` and its width in `type`; a width of 0 bytes means a
 * predicate. Returns false if memory runs out. */
bool ptx_names_init(ptx_parser *p)
{
    static const char *const sregs[] = {
#define PTX_X(name, text, bytes, since) text,
        PTX_SREG_MAP(PTX_X)
#undef PTX_X
    };
    static const uint8_t bytes[] = {
#define PTX_X(name, text, size, since) size,
        PTX_SREG_MAP(PTX_X)
#undef PTX_X
    };
    static const uint8_t least[] = {
#define PTX_X(name, text, size, since) since,
        PTX_SREG_MAP(PTX_X)
#undef PTX_X
    };
    for (uint32_t i = 0; i < PTX_SREG_COUNT; i++) {
        ptx_name *name = ptx_intern(p, sregs[i], strlen(sregs[i]));
        ptx_binding *binding = name ? ptx_bind(p, name, PTX_BIND_SREG, i) : NULL;
        if (!binding)
            return false;
        binding->count = least[i];
        binding->type = bytes[i] == 8 ? PTX_B64 : bytes[i] ? PTX_B32 : PTX_PRED;
    }
    ptx_name *name = ptx_intern(p, "WARP_SZ", 7);
    ptx_binding *binding = name ? ptx_bind(p, name, PTX_BIND_CONSTANT, 0) : NULL;
    if (!binding)
        return false;
    binding->count = 32;
    return true;
}

/* ---- tokens ---- */

/* Bits that tell where in a token a character may occur. A table has these bits for each character, so that the lexer
 * needs one look-up per character. Most of a PTX text consists of names, so the speed of this look-up matters. */
enum { CHAR_START = 1, CHAR_DIGIT = 2, CHAR_FOLLOW = 4 };
#define LETTER (CHAR_START | CHAR_FOLLOW)
#define DIGIT (CHAR_DIGIT | CHAR_FOLLOW)
static const uint8_t char_kinds[256] = {
    ['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER, ['f'] = LETTER,     ['g'] = LETTER,
    ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER, ['k'] = LETTER, ['l'] = LETTER, ['m'] = LETTER,     ['n'] = LETTER,
    ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER, ['s'] = LETTER, ['t'] = LETTER,     ['u'] = LETTER,
    ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER, ['y'] = LETTER, ['z'] = LETTER, ['A'] = LETTER,     ['B'] = LETTER,
    ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER, ['F'] = LETTER, ['G'] = LETTER, ['H'] = LETTER,     ['I'] = LETTER,
    ['J'] = LETTER, ['K'] = LETTER, ['L'] = LETTER, ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER,     ['P'] = LETTER,
    ['Q'] = LETTER, ['R'] = LETTER, ['S'] = LETTER, ['T'] = LETTER, ['U'] = LETTER, ['V'] = LETTER,     ['W'] = LETTER,
    ['X'] = LETTER, ['Y'] = LETTER, ['Z'] = LETTER, ['_'] = LETTER, ['$'] = LETTER, ['%'] = CHAR_START, ['0'] = DIGIT,
    ['1'] = DIGIT,  ['2'] = DIGIT,  ['3'] = DIGIT,  ['4'] = DIGIT,  ['5'] = DIGIT,  ['6'] = DIGIT,      ['7'] = DIGIT,
    ['8'] = DIGIT,  ['9'] = DIGIT,
};

static bool is_start(char c) { return char_kinds[(unsigned char)c] & CHAR_START; }

static bool is_digit(char c) { return char_kinds[(unsigned char)c] & CHAR_DIGIT; }

static bool is_follow(char c) { return char_kinds[(unsigned char)c] & CHAR_FOLLOW; }

static void ptx_skip_space(ptx_parser *p)
{
    const char *at = p->cursor, *end = p->end;
    while (at < end) {
        char c = *at;
        if (c == '\n') {
            p->line++;
            at++;
            const char *mark = at;
            while (mark < end && (*mark == ' ' || *mark == '\t'))
                mark++;
            if (mark < end && *mark == '#') /* a line marker of a C preprocessor */
                while (at < end && *at != '\n')
                    at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            at++;
        } else if (c == '/' && end - at > 1 && at[1] == '/') {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line : end;
        } else if (c == '/' && end - at > 1 && at[1] == '*') {
            for (at += 2; at < end && !(*at == '*' && end - at > 1 && at[1] == '/'); at++)
                p->line += *at == '\n';
            at = end - at > 2 ? at + 2 : end;
        } else {
            break;
        }
    }
    p->cursor = at;
}

char ptx_peek(ptx_parser *p)
{
    ptx_skip_space(p);
    return p->cursor < p->end ? *p->cursor : '\0';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool ptx_lex_float(ptx_parser *p, const char *at, size_t length)
{
    char digits[80];
    if (length >= sizeof digits)
        return ptx_error(p, p->line, "a number of %zu characters is too long", length);
    memcpy(digits, at, length);
    digits[length] = '\0';
    char *stop;
    double real = kiln__parse_double(digits, &stop);
    if (*stop)
        return ptx_error(p, p->line, "'%s' is not a number", digits);
    memcpy(&p->token.value.bits, &real, sizeof real);
    p->token.value.kind = PTX_FLOAT64;
    return true;
}

/* Reads the numeral at p->cursor: an integer such as 12, 0x1F, 017 or 0b101, with an optional U, or a float such as
 * 0f3F800000 or 1.5e3. */
static bool ptx_lex_number(ptx_parser *p)
{
    const char *at = p->cursor, *end = p->end, *stop = at;
    while (stop < end && (is_follow(*stop) || *stop == '.' ||
                          ((*stop == '+' || *stop == '-') && (stop[-1] == 'e' || stop[-1] == 'E') &&
                           !(at[0] == '0' && stop - at > 1 && strchr("xXfFdD", at[1])))))
        stop++;
    size_t length = (size_t)(stop - at);
    p->token.length = length;
    p->cursor = stop;
    char mark = length > 1 && at[0] == '0' ? at[1] : '\0';
    if (mark == 'f' || mark == 'F' || mark == 'd' || mark == 'D') {
        bool single = mark == 'f' || mark == 'F';
        uint64_t bits = 0;
        for (const char *c = at + 2; c < stop; c++) {
            int digit = hex_value(*c);
            if (digit < 0)
                return ptx_error(p, p->line, "%s is not a number", ptx_shown(p));
            bits = bits << 4 | (unsigned)digit;
        }
        if (length != (single ? 10u : 18u))
            return ptx_error(p, p->line, "%s: 0f takes 8 hexadecimal digits and 0d takes 16", ptx_shown(p));
        p->token.value = (ptx_value){bits, single ? PTX_FLOAT32 : PTX_FLOAT64};
        return true;
    }
    bool hex = mark == 'x' || mark == 'X', binary = mark == 'b' || mark == 'B';
    if (!hex && (memchr(at, '.', length) || memchr(at, 'e', length) || memchr(at, 'E', length)))
        return ptx_lex_float(p, at, length);
    bool is_unsigned = at[length - 1] == 'U';
    unsigned radix = hex ? 16 : binary ? 2 : length > 1 && at[0] == '0' ? 8 : 10;
    const char *from = at + (hex || binary ? 2 : 0), *to = stop - is_unsigned;
    if (from >= to)
        return ptx_error(p, p->line, "%s is not a number", ptx_shown(p));
    uint64_t value = 0;
    for (; from < to; from++) {
        int digit = hex_value(*from);
        if (digit < 0 || (unsigned)digit >= radix)
            return ptx_error(p, p->line, "%s is not a number", ptx_shown(p));
        if (value > (UINT64_MAX - (unsigned)digit) / radix)
            return ptx_error(p, p->line, "%s does not fit into 64 bits", ptx_shown(p));
        value = value * radix + (unsigned)digit;
    }
    p->token.value = (ptx_value){value, is_unsigned || value > INT64_MAX ? PTX_UNSIGNED : PTX_SIGNED};
    return true;
}

static size_t ptx_lex_name(const ptx_parser *p)
{
    const char *at = p->cursor + 1;
    while (at < p->end && is_follow(*at))
        at++;
    /* "%tid.x" is one name. "v.x", an element of a vector register, is also one name. No modifier consists of x, y, z
     * or w alone. */
    if (p->end - at > 1 && *at == '.' && strchr("xyzw", at[1]) && at[1] && !(p->end - at > 2 && is_follow(at[2])))
        at += 2;
    return (size_t)(at - p->cursor);
}

static void ptx_lex_punctuation(ptx_parser *p)
{
    static const char pairs[][3] = {"<<l", ">>r", "==e", "!=n", "<=L", ">=G", "&&a", "||o"};
    char c = *p->cursor;
    p->token.kind = strchr("[]{}()<>,;:@!|&^~+-*/%?=", c) && c ? PTX_TOKEN_PUNCTUATION : PTX_TOKEN_BAD;
    p->token.character = c;
    p->token.length = 1;
    for (size_t i = 0; i < KILN__COUNT(pairs) && p->end - p->cursor > 1; i++) {
        if (pairs[i][0] == c && pairs[i][1] == p->cursor[1]) {
            p->token.character = pairs[i][2];
            p->token.length = 2;
        }
    }
    p->cursor += p->token.length;
}

/* Reads the next token into p->token. The kind is PTX_TOKEN_END at the end of the text, or when memory runs out. The
 * kind is PTX_TOKEN_BAD for text that is no token. The first two characters decide the kind. A '%' starts a name only
 * before a character that can start a name. Otherwise '%' is the remainder operator. The text of a string excludes its
 * quotes, and the text of a directive excludes its dot. */
void ptx_next(ptx_parser *p)
{
    ptx_skip_space(p);
    const char *at = p->cursor;
    p->token = (ptx_token){.kind = PTX_TOKEN_END, .line = p->line, .text = at};
    if (at >= p->end)
        return;
    char c = *at;
    char after = p->end - at > 1 ? at[1] : '\0';
    if (is_start(c) && (c != '%' || is_start(after))) {
        p->token.length = ptx_lex_name(p);
        p->cursor += p->token.length;
        p->token.kind = PTX_TOKEN_NAME;
        p->token.name = ptx_intern(p, at, p->token.length);
        if (!p->token.name)
            p->token.kind = PTX_TOKEN_END;
    } else if (is_digit(c) || (c == '.' && is_digit(after))) {
        p->token.kind = PTX_TOKEN_NUMBER;
        if (!ptx_lex_number(p))
            p->token.kind = PTX_TOKEN_BAD;
    } else if (c == '.' && is_start(after)) {
        p->token.kind = PTX_TOKEN_DIRECTIVE;
        p->token.text = ++p->cursor;
        while (p->cursor < p->end && is_follow(*p->cursor))
            p->cursor++;
        p->token.length = (size_t)(p->cursor - p->token.text);
    } else if (c == '"') {
        const char *stop = at + 1;
        while (stop < p->end && *stop != '"' && *stop != '\n')
            stop += *stop == '\\' && p->end - stop > 1 && stop[1] != '\n' ? 2 : 1;
        bool closed = stop < p->end && *stop == '"';
        p->token.kind = closed ? PTX_TOKEN_STRING : PTX_TOKEN_BAD;
        p->token.text = at + 1;
        p->token.length = (size_t)(stop - at - 1);
        p->cursor = stop + closed;
    } else {
        ptx_lex_punctuation(p);
    }
}

bool ptx_is(const ptx_parser *p, char punctuation)
{
    return p->token.kind == PTX_TOKEN_PUNCTUATION && p->token.character == punctuation;
}

bool ptx_is_directive(const ptx_parser *p, const char *name)
{
    return p->token.kind == PTX_TOKEN_DIRECTIVE && strlen(name) == p->token.length &&
           memcmp(name, p->token.text, p->token.length) == 0;
}

bool ptx_accept(ptx_parser *p, char punctuation)
{
    if (!ptx_is(p, punctuation))
        return false;
    ptx_next(p);
    return true;
}

bool ptx_expect(ptx_parser *p, char punctuation)
{
    return ptx_accept(p, punctuation) ||
           ptx_error(p, p->token.line, "Parsing error near %s: expected '%c'", ptx_shown(p), punctuation);
}

bool ptx_expect_integer(ptx_parser *p, uint64_t limit, const char *what, uint64_t *value)
{
    const ptx_token *token = &p->token;
    if (token->kind != PTX_TOKEN_NUMBER || token->value.kind > PTX_UNSIGNED)
        return ptx_error(p, token->line, "Parsing error near %s: expected %s", ptx_shown(p), what);
    if (token->value.bits > limit)
        return ptx_error(p, token->line, "%s %" PRIu64 " is above the limit of %" PRIu64, what, token->value.bits,
                         limit);
    *value = token->value.bits;
    ptx_next(p);
    return true;
}
