/* launched.c - takes the launch that find.c chose into the draft: grid, block, dynamic shared memory, template
 * arguments, numbers among the kernel's arguments, and the constraints of static_assert. */
#include <stdlib.h>
#include <string.h>

#include "host_internal.h"

enum { MOST_BLOCK = 1024 };

/* Returns the only token of an argument, without casts and parentheses: `n`, `(n)`, `(int)n`. Returns 0 if the argument
 * is more than a name. */
static size_t only_word(const kiln__draft *draft, kiln__range range)
{
    while (range.to - range.from >= 3 && kind_of_word(draft, range.from) == '(') {
        size_t close = kiln__word_close(draft->scan, range.from);
        range = close + 1 == range.to ? (kiln__range){range.from + 1, close} : (kiln__range){close + 1, range.to};
    }
    return range.to == range.from + 1 && kind_of_word(draft, range.from) == 'w' ? range.from : 0;
}

static kiln__size *find_size(kiln__draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->size_count; i++)
        if (strcmp(draft->sizes[i].name, name) == 0)
            return &draft->sizes[i];
    return NULL;
}

/* ---- arguments of the kernel ---- */

static void remove_size(kiln__draft *draft, const char *name)
{
    kiln__size *size = find_size(draft, name);
    size_t at = size ? (size_t)(size - draft->sizes) : draft->size_count;
    if (size)
        memmove(size, size + 1, (--draft->size_count - at) * sizeof *size);
}

/* Gives each size the name that host code has for it. If host code sets this name to a constant, the constant becomes
 * the size's value in the set `default`. */
static void bind_sizes(kiln__draft *draft)
{
    for (size_t i = 0; i < draft->argument_count && i < draft->host.argument_count; i++) {
        kiln__draft_argument *argument = &draft->arguments[i];
        size_t word = only_word(draft, draft->host.arguments[i]);
        kiln__size *size = argument->role == KILN__ROLE_SIZE ? find_size(draft, argument->name) : NULL;
        if (!size || !word)
            continue;
        kiln__tree *tree = kiln__host_read(draft, draft->host.arguments[i]);
        /* host code passes this value also for another argument, which is a size already */
        if (tree && tree->op == 'w' && !tree->free) {
            argument->given = tree->text;
            remove_size(draft, argument->name);
            continue;
        }
        size->host = kiln__word_copy(draft->scan, word);
        int64_t value = 0;
        if (kiln__tree_constant(draft, tree, &value) && value > 0)
            size->given = value;
    }
}

/* Sets the values of the arguments that bind_sizes() left open: numbers, null pointers and expressions of sizes. */
static void take_arguments(kiln__draft *draft)
{
    for (size_t i = 0; i < draft->argument_count && i < draft->host.argument_count; i++) {
        kiln__draft_argument *argument = &draft->arguments[i];
        kiln__range range = draft->host.arguments[i];
        kiln__size *size = argument->role == KILN__ROLE_SIZE ? find_size(draft, argument->name) : NULL;
        bool null = range.to == range.from + 1 && (kiln__word_is(draft->scan, range.from, "nullptr") ||
                                                   kiln__word_is(draft->scan, range.from, "NULL"));
        if (argument->role == KILN__ROLE_BUFFER && !argument->indirect && null)
            argument->given = "null";
        if ((argument->role != KILN__ROLE_SCALAR && !size) || (size && size->host))
            continue;
        kiln__tree *tree = kiln__host_read(draft, range);
        const kiln__tree *number = tree && tree->op == 'n' ? tree->a : tree;
        const bool literal = tree && (strchr("0.", number->op) || (argument->floating && !kiln__tree_has_names(tree)));
        if (!tree || kiln__tree_free(tree) || (argument->role == KILN__ROLE_SCALAR && !literal))
            continue;
        int64_t value = 0;
        if (size && kiln__tree_constant(draft, tree, &value)) {
            /* the launch passes a literal number, and the kernel may need exactly this number */
            size->fixed = size->given = value > 0 ? value : 1;
        } else if (!size || !kiln__tree_uses(tree, argument->name)) {
            argument->given = kiln__tree_text(draft, tree);
            if (size)
                remove_size(draft, argument->name);
        }
    }
}

/* ---- names that only host code has ---- */

/* Makes a size of each undefined name in a tree. Returns false if the table of sizes is full. */
static bool add_free(kiln__draft *draft, kiln__tree *tree)
{
    for (const char *name; (name = kiln__tree_free(tree)) != NULL;) {
        const char *made = NULL;
        for (size_t i = 0; i < draft->size_count && !made; i++)
            if (draft->sizes[i].host && strcmp(draft->sizes[i].host, name) == 0)
                made = draft->sizes[i].name;
        for (size_t i = 0; i < draft->argument_count && i < draft->host.argument_count && !made; i++) {
            /* an integer argument of the kernel on which the grid also depends */
            size_t word = only_word(draft, draft->host.arguments[i]);
            if (word && kiln__word_is(draft->scan, word, name) && (made = kiln__guess_size_of(draft, i)) != NULL)
                draft->sizes[draft->size_count - 1].host = name;
        }
        if (!made) {
            made = kiln__guess_another_size(draft, name);
            if (!made)
                return false;
            draft->sizes[draft->size_count - 1].host = name;
        }
        kiln__tree_bind(tree, name, made);
    }
    return true;
}

/* ---- the block ---- */

bool kiln__is_used_by_device(const kiln__draft *draft, const char *name)
{
    const kiln__scan *scan = draft->scan;
    for (size_t i = 1; i < scan->count; i++) {
        if (scan->words[i].directive || kind_of_word(draft, i) != '{' || kiln__word_is(scan, i - 1, "namespace") ||
            (i > 1 && kiln__word_is(scan, i - 2, "namespace")) || kind_of_word(draft, i - 1) == '"')
            continue;
        size_t close = kiln__word_close(scan, i);
        bool launches = false, uses = false;
        for (size_t k = i; k < close; k++) {
            launches |= kind_of_word(draft, k) == '<' && kind_of_word(draft, k + 1) == '<' &&
                        kind_of_word(draft, k + 2) == '<';
            launches |= scan->words[k].length > 8 && (memcmp(scan->words[k].text, "cudaM", 5) == 0 || /* cudaMalloc */
                                                      memcmp(scan->words[k].text, "cudaLaunch", 8) == 0);
            uses |= kiln__word_is(scan, k, name);
        }
        if (uses && !launches)
            return true;
        i = close;
    }
    return false;
}

/* Returns true if a tree contains the number. Two numbers are the same if they have equal values, and if both come from
 * the same constant or from no constant. */
static bool has_number(const kiln__tree *tree, const kiln__tree *number)
{
    return tree &&
           ((tree->op == '0' && tree->value == number->value && (tree->text != NULL) == (number->text != NULL) &&
             (!tree->text || strcmp(tree->text, number->text) == 0)) ||
            has_number(tree->a, number) || has_number(tree->b, number));
}

void kiln__tree_replace(kiln__tree *tree, const kiln__tree *number, const char *name)
{
    if (!tree)
        return;
    if (tree->op == '0' && has_number(tree, number)) {
        tree->op = 'w';
        tree->text = name;
        tree->free = false;
        return;
    }
    kiln__tree_replace(tree->a, number, name);
    kiln__tree_replace(tree->b, number, name);
}

/* Returns true if the tokens from `at` to the end of the expression contain the name. */
static bool expression_has(const kiln__draft *draft, size_t at, const char *name)
{
    enum { MOST_WORDS = 16 };
    for (size_t i = at; i < draft->kernel->body_to && i < at + MOST_WORDS && !strchr(";{}", kind_of_word(draft, i));
         i++)
        if (kiln__word_is(draft->scan, i, name))
            return true;
    return false;
}

/* Returns true if a loop of the kernel has the number of threads or blocks as its step: `i += blockDim.x`, or `i += n`
 * with a variable n that is set to blockDim.x. `extent` is "blockDim" or "gridDim". */
static bool strides_by(const kiln__draft *draft, const char *extent)
{
    enum { MOST_TRIED = 64 };
    const kiln__scan *scan = draft->scan;
    size_t tried = 0;
    for (size_t i = draft->kernel->body_from; i + 2 < draft->kernel->body_to && tried < MOST_TRIED; i++) {
        if (kind_of_word(draft, i) != '+' || kind_of_word(draft, i + 1) != '=' || kind_of_word(draft, i + 2) != 'w')
            continue;
        tried++;
        if (expression_has(draft, i + 2, extent))
            return true;
        const char *name = kiln__word_copy(scan, i + 2);
        for (size_t k = draft->kernel->body_from; name && k + 2 < i; k++)
            if (kiln__word_is(scan, k, name) && kind_of_word(draft, k + 1) == '=' &&
                expression_has(draft, k + 2, extent))
                return true;
    }
    return false;
}

/* If the launch has the same literal number as a template argument and in its grid or block, makes one tuning parameter
 * of both. An example is 256 in `sum<256><<<n / 256, 256>>>`. */
static void tie_templates(kiln__draft *draft, kiln__tree **block, kiln__tree **grid, kiln__tree *shared)
{
    const kiln__host_launch *host = &draft->host;
    for (size_t i = 0; i < host->template_count && i < draft->kernel->template_count; i++) {
        const kiln__tree *number = host->trees[i];
        const kiln__tunable *tunable = kiln__tunable_find(draft, draft->kernel->templates[i].name);
        bool alone = number && number->op == '0' && !number->text && number->value > 1 && tunable;
        for (size_t k = 0; k < host->template_count && alone; k++)
            alone = k == i || !host->trees[k] || host->trees[k]->op != '0' || host->trees[k]->value != number->value;
        for (int axis = 0; axis < 3 && alone; axis++) {
            kiln__tree_replace(block[axis], number, tunable->name);
            kiln__tree_replace(grid[axis], number, tunable->name);
        }
        if (alone)
            kiln__tree_replace(shared, number, tunable->name);
    }
}

/* Returns true if the kernel's body contains the quotient of two names. */
static bool divides(const kiln__draft *draft, const char *above, const char *below)
{
    for (size_t i = draft->kernel->body_from; i + 2 < draft->kernel->body_to; i++)
        if (kiln__word_is(draft->scan, i, above) && kind_of_word(draft, i + 1) == '/' &&
            kiln__word_is(draft->scan, i + 2, below))
            return true;
    return false;
}

/* Replaces a literal number of threads by the quotient of two template arguments, as in `quantize<4096, 4><<<n,
 * 1024>>>`. Does so only if the kernel also computes this quotient. */
static void tie_quotient(kiln__draft *draft, kiln__tree **block)
{
    const kiln__host_launch *host = &draft->host;
    const size_t count = host->template_count < draft->kernel->template_count ? host->template_count
                                                                              : draft->kernel->template_count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const kiln__tree *above = host->trees[i], *below = host->trees[k];
            if (!block[0] || block[0]->op != '0' || block[0]->text || i == k || !above || !below || above->op != '0' ||
                below->op != '0' || below->value < 2 || above->value != below->value * block[0]->value ||
                !divides(draft, draft->kernel->templates[i].name, draft->kernel->templates[k].name))
                continue;
            const kiln__tunable *a = kiln__tunable_find(draft, draft->kernel->templates[i].name);
            const kiln__tunable *b = kiln__tunable_find(draft, draft->kernel->templates[k].name);
            kiln__tree *left = a && b ? kiln__tree_make(draft, 'w', NULL, NULL) : NULL;
            kiln__tree *right = left ? kiln__tree_make(draft, 'w', NULL, NULL) : NULL;
            kiln__tree *both = right ? kiln__tree_make(draft, '/', left, right) : NULL;
            if (!both)
                continue;
            left->text = a->name;
            right->text = b->name;
            block[0] = both;
            return;
        }
}

/* A loop of the kernel may have the number of blocks as its step. Then other numbers of blocks also work. So a literal
 * number of blocks in the launch becomes a tuning parameter, unless the kernel contains the same number. */
static void set_blocks(kiln__draft *draft, kiln__tree **grid)
{
    const kiln__tree *number = grid[0];
    char digits[24];
    if (!number || number->op != '0' || number->value < 2 || number->value > 1 << 16 || number->value % 2 ||
        (grid[1] && !(grid[1]->op == '0' && grid[1]->value == 1)) ||
        (grid[2] && !(grid[2]->op == '0' && grid[2]->value == 1)) || !strides_by(draft, "gridDim"))
        return;
    kiln__format(digits, sizeof digits, "%lld", (long long)number->value);
    if (kiln__words_have(draft->scan, draft->kernel->body_from, draft->kernel->body_to,
                         number->text ? number->text : digits))
        return;
    const kiln__tree same = *number;
    const char *name = kiln__add_blocks(draft, number->value);
    if (name)
        kiln__tree_replace(grid[0], &same, name);
}

static bool is_zero(const kiln__tree *tree) { return tree->op == '0' && tree->value == 0; }

/* Returns true if the kernel reads its number of threads, from blockDim or from the groups of cooperative_groups. */
static bool reads_threads(const kiln__draft *draft)
{
    const kiln__kernel *kernel = draft->kernel;
    return kiln__words_have(draft->scan, kernel->body_from, kernel->body_to, "blockDim") ||
           kiln__words_have(draft->scan, kernel->body_from, kernel->body_to, "this_thread_block");
}

/* If the kernel reads its number of threads from blockDim, other numbers of threads also work. So a number of threads
 * in the launch becomes a tuning parameter, unless device code contains the same number. Also, the grid or a loop step
 * of the kernel must depend on the number. If the launch has shared memory, its size must depend on the number. */
static void set_threads(kiln__draft *draft, kiln__tree **block, kiln__tree **grid, kiln__tree *shared)
{
    int used = (block[1] && block[1]->value > 1) + (block[2] && block[2]->value > 1);
    for (int axis = 0; axis < 3; axis++) {
        if (!block[axis] || block[axis]->op != '0' || block[axis]->value < 2)
            continue;
        const kiln__tree number = *block[axis];
        char digits[24];
        kiln__format(digits, sizeof digits, "%lld", (long long)number.value);
        bool known = number.value < (used ? 2 : 32) || number.value > MOST_BLOCK ||
                     (number.text && kiln__is_used_by_device(draft, number.text)) ||
                     (!number.text && (used || kiln__is_used_by_device(draft, digits))) || !reads_threads(draft) ||
                     !(has_number(grid[0], &number) || has_number(grid[1], &number) || has_number(grid[2], &number) ||
                       strides_by(draft, "blockDim") || strides_by(draft, "gridDim")) ||
                     (shared && !has_number(shared, &number) && !is_zero(shared));
        const char *name = known ? NULL : kiln__add_threads(draft, axis, used > 0, number.value);
        for (int k = 0; name && k < 3; k++) {
            kiln__tree_replace(block[k], &number, name);
            kiln__tree_replace(grid[k], &number, name);
        }
        if (name)
            kiln__tree_replace(shared, &number, name);
    }
}

/* Makes a tuning parameter of a number of threads that is an undefined name of host code. This is possible only if the
 * kernel reads its number of threads from the launch. */
static void add_host_threads(kiln__draft *draft, int axis, kiln__tree **block, kiln__tree **grid)
{
    const char *host = block[axis]->text;
    const char *name = reads_threads(draft)
                           ? kiln__add_threads(draft, axis, axis > 0 || (block[1] && block[1]->op != '0'), 0)
                           : NULL;
    if (name)
        draft->tunables[draft->tunable_count - 1].source = host;
    for (int k = 0; name && k < 3; k++) {
        kiln__tree_bind(block[k], host, name);
        kiln__tree_bind(grid[k], host, name);
    }
}

/* Makes a param of a number of threads that the host computes in a function, as in `<<<n, threads_for(m)>>>`. The draft
 * does not read that function. Any number works if the kernel walks over its work in steps of the number of threads. */
static bool add_computed_threads(kiln__draft *draft, kiln__range range, kiln__tree **block)
{
    kiln__tree *tree = NULL;
    if (range.to < range.from + 3 || kind_of_word(draft, range.from) != 'w' || is_text(draft, range.from, "dim3") ||
        kind_of_word(draft, range.from + 1) != '(' || kiln__word_close(draft->scan, range.from + 1) + 1 != range.to ||
        !strides_by(draft, "blockDim") || (tree = kiln__tree_make(draft, 'w', NULL, NULL)) == NULL)
        return false;
    tree->text = kiln__add_threads(draft, 0, false, 0);
    block[0] = tree;
    block[1] = block[2] = NULL;
    return tree->text != NULL;
}

/* If the block depends on sizes, chooses values of these sizes with which the block has at most 1024 threads. */
static void fit_sizes(kiln__draft *draft, kiln__tree *const *block)
{
    static const int64_t wholes[] = {1024, 512, 256, 128, 64, 32, 16, 8}, tinies[] = {128, 256, 64, 32, 16, 8};
    for (size_t s = 0; s < draft->size_count; s++) {
        kiln__size *size = &draft->sizes[s];
        bool uses = false;
        for (int axis = 0; axis < 3; axis++)
            uses |= kiln__tree_uses(block[axis], size->name);
        for (int whole = 0; whole < 2 && uses && !size->fixed; whole++) {
            const int64_t *list = whole ? wholes : tinies;
            size_t count = whole ? KILN__COUNT(wholes) : KILN__COUNT(tinies);
            int64_t *value = whole ? &size->whole : &size->tiny, threads = MOST_BLOCK + 1;
            for (size_t i = 0; i < count && threads > MOST_BLOCK; i++) {
                int64_t extent = 0;
                *value = list[i];
                threads = 1;
                for (int axis = 0; axis < 3 && threads <= MOST_BLOCK; axis++)
                    if (block[axis] && kiln__tree_value(draft, block[axis], whole, 0, &extent))
                        threads = extent < 1 || extent > MOST_BLOCK ? MOST_BLOCK + 1 : threads * extent;
            }
        }
    }
}

/* Returns the largest value in the list of a tuning parameter. */
static int64_t largest_value(const kiln__tunable *tunable)
{
    int64_t most = tunable->number;
    for (const char *at = tunable->values; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        most = strtoll(at, NULL, 10) > most ? strtoll(at, NULL, 10) : most;
    return most;
}

/* Makes each size in the set `tiny` a multiple of the largest tile that a block may have along its axis, because a
 * kernel may rely on whole tiles. All sizes stay different, so that a trial run shows which size an extent depends
 * on. */
static void round_sizes(kiln__draft *draft, kiln__tree *const *grid)
{
    enum { MOST_SHARE = 512 };
    int64_t numbers[KILN__MOST_TUNABLES];
    for (size_t i = 0; i < draft->tunable_count; i++) {
        numbers[i] = draft->tunables[i].number;
        if (numbers[i] > 0 && draft->tunables[i].kind < KILN__TUNABLE_THREADS && !draft->tunables[i].size)
            draft->tunables[i].number = largest_value(&draft->tunables[i]);
    }
    for (int axis = 0; axis < 3; axis++) {
        const kiln__tree *tree = grid[axis];
        kiln__size *size = tree && (tree->op == 'C' || tree->op == '/') && tree->a->op == 'w'
                               ? find_size(draft, tree->a->text)
                               : NULL;
        int64_t share = 0;
        if (!size || size->fixed || !kiln__tree_value(draft, tree->b, false, 0, &share) || share < 2 ||
            share > MOST_SHARE)
            continue;
        int64_t rounded = (size->tiny + share - 1) / share * share;
        for (size_t i = 0; i < draft->size_count; i++)
            if (&draft->sizes[i] != size && draft->sizes[i].tiny == rounded && draft->sizes[i].tiny != size->tiny) {
                rounded += share;
                i = (size_t)-1;
            }
        size->tiny = rounded;
    }
    for (size_t i = 0; i < draft->tunable_count; i++)
        draft->tunables[i].number = numbers[i];
}

/* Replaces the sizes that are factors of the tree by small primes. Replaces sizes that the kernel gets as arguments
 * only if `known` is true. */
static void shrink_factors(kiln__draft *draft, const kiln__tree *tree, bool known)
{
    static const int64_t smalls[KILN__MOST_SIZES] = {5, 3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59};
    if (tree && tree->op == '*') {
        shrink_factors(draft, tree->a, known);
        shrink_factors(draft, tree->b, known);
    }
    kiln__size *size = tree && tree->op == 'w' ? find_size(draft, tree->text) : NULL;
    bool argument = false;
    for (size_t i = 0; i < draft->argument_count && size; i++)
        argument |= strcmp(draft->arguments[i].name, size->name) == 0;
    if (size && !size->fixed && size->tiny > 8 && (known || !argument)) {
        size->tiny = smalls[size - draft->sizes];
        size->whole = size->given ? size->given : 64;
    }
}

static int64_t count_blocks(const kiln__draft *draft, kiln__tree *const *grid, int64_t most)
{
    int64_t blocks = 1, extent = 0;
    for (int axis = 0; axis < 3 && blocks <= most; axis++)
        if (grid[axis] && kiln__tree_value(draft, grid[axis], false, 0, &extent) && extent > 0)
            blocks = extent > most ? most + 1 : blocks * extent;
    return blocks;
}

/* If the grid is too large for the simulated device, makes sizes small that are factors of the number of blocks. Begins
 * with the sizes that the kernel does not get as arguments. All sizes stay different. */
static void fit_grid(kiln__draft *draft, kiln__tree *const *grid)
{
    enum { MOST_BLOCKS = 4096 };
    for (int known = 0; known < 2; known++)
        for (int axis = 2; axis >= 0 && count_blocks(draft, grid, MOST_BLOCKS) > MOST_BLOCKS; axis--)
            shrink_factors(draft, grid[axis], known);
}

/* ---- constraints ---- */

/* Adds the conditions of static_assert() in a range of tokens as constraints. Leaves out conditions with undefined
 * names, and conditions that do not depend on tuning parameters. */
static void take_asserts(kiln__draft *draft, kiln__range where)
{
    for (size_t i = where.from; i + 3 < where.to && draft->where_count < KILN__COUNT(draft->wheres); i++) {
        if (!kiln__word_is(draft->scan, i, "static_assert") || kind_of_word(draft, i + 1) != '(')
            continue;
        size_t close = kiln__word_close(draft->scan, i + 1), end = i + 2, depth = 0;
        for (; end < close && (kind_of_word(draft, end) != ',' || depth > 0); end++) {
            depth += kind_of_word(draft, end) == '(';
            depth -= depth > 0 && kind_of_word(draft, end) == ')';
        }
        kiln__tree *tree = kiln__host_read(draft, (kiln__range){i + 2, end});
        int64_t value = 0;
        bool varies = false;
        for (size_t k = 0; k < draft->tunable_count; k++)
            varies |= !draft->tunables[k].size && kiln__tree_uses(tree, draft->tunables[k].name);
        if (varies && !kiln__tree_free(tree) && kiln__tree_value(draft, tree, false, 0, &value) && value) {
            draft->where_from[draft->where_count] = "static_assert";
            draft->wheres[draft->where_count++] = kiln__tree_text(draft, tree);
        }
        i = close;
    }
}

static void add_constraints(kiln__draft *draft)
{
    const kiln__host_launch kept = draft->host;
    if (kept.found)
        take_asserts(draft, (kiln__range){kept.scope.from, kept.at});
    draft->host = (kiln__host_launch){
        .scope = {draft->kernel->body_from, draft->kernel->body_to}, .at = draft->kernel->body_to, .in_kernel = true};
    take_asserts(draft, draft->host.scope);
    draft->host = kept;
}

/* ---- the whole launch ---- */

static void set_axes(kiln__draft *draft, kiln__tree *const *grid, kiln__tree *const *block)
{
    int most = 0;
    for (int axis = 1; axis < 3; axis++)
        if ((grid[axis] && !(grid[axis]->op == '0' && grid[axis]->value == 1)) ||
            (block[axis] && !(block[axis]->op == '0' && block[axis]->value == 1)))
            most = axis;
    for (int axis = 0; axis <= most; axis++) {
        kiln__axis *to = &draft->axes[axis];
        *to = (kiln__axis){.used = true, .grid = "1", .block = "1", .blocks = 1, .threads = 1};
        if (grid[axis]) {
            to->grid = kiln__tree_text(draft, grid[axis]);
            if (!kiln__tree_value(draft, grid[axis], false, 0, &to->blocks))
                to->blocks = 1;
        }
        if (block[axis]) {
            to->block = kiln__tree_text(draft, block[axis]);
            if (!kiln__tree_value(draft, block[axis], false, 0, &to->threads))
                to->threads = 1;
        }
    }
}

void kiln__host_templates(kiln__draft *draft)
{
    kiln__host_launch *host = &draft->host;
    for (size_t i = 0; i < host->template_count && i < draft->kernel->template_count; i++)
        host->trees[i] = draft->kernel->templates[i].type ? NULL : kiln__host_read(draft, host->templates[i]);
}

const kiln__tree *kiln__template_tree(const kiln__draft *draft, size_t param)
{
    return param < draft->host.template_count ? draft->host.trees[param] : NULL;
}

bool kiln__host_is_argument(const kiln__draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->host.argument_count; i++) {
        size_t word = only_word(draft, draft->host.arguments[i]);
        if (word && kiln__word_is(draft->scan, word, name))
            return true;
    }
    return false;
}

/* Reads grid, block and dynamic shared memory of the launch draft->host. Undefined names in them become sizes. */
static bool read_launch(kiln__draft *draft, kiln__tree **grid, kiln__tree **block, kiln__tree **shared)
{
    const kiln__host_launch *host = &draft->host;
    bool read = kiln__host_axes(draft, host->grid, grid) &&
                (kiln__host_axes(draft, host->block, block) || add_computed_threads(draft, host->block, block));
    for (int axis = 0; axis < 3 && read; axis++) {
        if (block[axis] && block[axis]->op == 'w' && block[axis]->free &&
            !kiln__host_is_argument(draft, block[axis]->text))
            add_host_threads(draft, axis, block, grid);
        read = add_free(draft, grid[axis]) && add_free(draft, block[axis]);
    }
    if (read && host->shared.from) {
        *shared = kiln__host_read(draft, host->shared);
        if (*shared && !add_free(draft, *shared))
            *shared = NULL;
    }
    return read;
}

/* Combines the launch that was read with the launches in the other branches of the same #if. Each axis becomes an
 * expression `A if CONDITION else B`. Returns false if one of these launches cannot be read. */
static bool join_launches(kiln__draft *draft, kiln__tree **grid, kiln__tree **block, kiln__tree **shared)
{
    const kiln__host_launch first = draft->host;
    bool read = true;
    for (size_t i = 1; i < draft->launch_count && read; i++) {
        kiln__tree *grids[3] = {NULL}, *blocks[3] = {NULL}, *bytes[3] = {NULL}, *condition = NULL;
        kiln__tree *const all[3] = {*shared, NULL, NULL};
        draft->host = draft->launches[i];
        if (kiln__condition(draft, draft->host.at, 0, &condition) != KILN__SOMETIMES)
            continue;
        read = read_launch(draft, grids, blocks, bytes) && add_free(draft, condition) &&
               kiln__axes_choose(draft, condition, grid, grids) && kiln__axes_choose(draft, condition, block, blocks);
        if (read && (bytes[0] || *shared)) { /* a launch without dynamic shared memory has 0 bytes */
            if (!bytes[0] && (bytes[0] = kiln__tree_make(draft, '0', NULL, NULL)) == NULL)
                return false;
            kiln__tree *none = kiln__tree_make(draft, '0', NULL, NULL), *const others[3] = {all[0] ? all[0] : none};
            read = kiln__axes_choose(draft, condition, others, bytes);
            *shared = bytes[0];
        }
        memcpy(grid, grids, sizeof grids);
        memcpy(block, blocks, sizeof blocks);
    }
    draft->host = first;
    return read;
}

/* Sets grid, block and shared memory of the draft from the launch in host code. Returns false if the source has no
 * launch that can be read. Then the caller guesses a launch with kiln__guess_launch(), from the kernel alone. */
bool kiln__host_apply(kiln__draft *draft)
{
    kiln__host_launch *host = &draft->host;
    kiln__tree *grid[3] = {NULL}, *block[3] = {NULL}, *shared = NULL;
    if (host->found) {
        bind_sizes(draft);
        take_arguments(draft);
        kiln__set_sizes(draft);
        for (size_t i = 0; i < host->template_count; i++)
            /* resolves the names again, because the names of the sizes are known now */
            if (host->trees[i] && host->trees[i]->op != '0')
                host->trees[i] = kiln__host_read(draft, host->templates[i]);
        for (size_t i = 0; i < host->template_count; i++)
            if (host->trees[i] && !add_free(draft, host->trees[i]))
                return false;
    }
    const bool read = host->found && read_launch(draft, grid, block, &shared) &&
                      join_launches(draft, grid, block, &shared);
    if (read) {
        tie_templates(draft, block, grid, shared);
        tie_quotient(draft, block);
        set_threads(draft, block, grid, shared);
        set_blocks(draft, grid);
        round_sizes(draft, grid);
        fit_sizes(draft, block);
        fit_grid(draft, grid);
        set_axes(draft, grid, block);
        draft->shared = shared && !is_zero(shared) ? kiln__tree_text(draft, shared) : NULL;
    }
    add_constraints(draft);
    return read;
}
