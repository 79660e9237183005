/* tree.c - makes, copies and evaluates the expression trees of host code, and writes them as expressions of a spec. */
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"

/* The most nodes of all expression trees together. The limit is needed because the argument of a macro is read once for
 * each use. */
enum { MOST_NODES = 1 << 16 };

kiln__tree *kiln__tree_make(kiln__draft *draft, char op, kiln__tree *a, kiln__tree *b)
{
    kiln__tree *tree = draft->nodes++ < MOST_NODES ? kiln__arena_alloc(draft->arena, sizeof *tree) : NULL;
    if (tree)
        *tree = (kiln__tree){.op = op, .a = a, .b = b};
    return tree;
}

/* Negates a condition: a == b becomes a != b. */
kiln__tree *kiln__tree_not(kiln__draft *draft, kiln__tree *tree)
{
    static const char pairs[] = "ed<g>l";
    if (!tree)
        return NULL;
    if (tree->op == '!')
        return tree->a;
    const char *at = strchr(pairs, tree->op);
    return at ? kiln__tree_make(draft, pairs[(at - pairs) ^ 1], tree->a, tree->b)
              : kiln__tree_make(draft, '!', tree, NULL);
}

kiln__tree *kiln__tree_copy(kiln__draft *draft, const kiln__tree *tree)
{
    kiln__tree *made = tree ? kiln__tree_make(draft, tree->op, NULL, NULL) : NULL;
    if (!made)
        return NULL;
    *made = *tree;
    made->a = kiln__tree_copy(draft, tree->a);
    made->b = kiln__tree_copy(draft, tree->b);
    return (made->a || !tree->a) && (made->b || !tree->b) ? made : NULL;
}

#define MOST_VALUE (INT64_C(1) << 40) /* the largest magnitude of a number with which the reader computes */

/* Computes an operator of two numbers. Returns false if an operand is above MOST_VALUE in magnitude, or if the operator
 * does not allow it. A product above MOST_VALUE counts as MOST_VALUE. */
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
    case '!': return 3;
    default: return 9;
    }
}

bool kiln__tree_has_real(const kiln__tree *tree)
{
    return tree && (tree->op == '.' || kiln__tree_has_real(tree->a) || kiln__tree_has_real(tree->b));
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
        } else if (tree->op == '!') {
            kiln__text_puts(out, "not ");
            print_tree(tree->a, level, out);
        } else if (tree->op == '?') {
            print_tree(tree->b->a, level, out);
            kiln__text_puts(out, " if ");
            print_tree(tree->a, level, out);
            kiln__text_puts(out, " else ");
            print_tree(tree->b->b, level, out);
        } else {
            print_tree(tree->a, level - 1, out);
            kiln__text_puts(out, tree->op == '/' && kiln__tree_has_real(tree) ? " / " : names[(unsigned char)tree->op]);
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
    if (tree->op == 'n' || tree->op == '!') {
        *value = tree->op == 'n' ? -a : !a;
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
