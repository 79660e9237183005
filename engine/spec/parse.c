/* parse.c - makes a typed spec from the checked tree of nodes. It reads the sections of a spec and of each variant in
 * the order in which names become known. It declares all names of a scope before it reads an expression of this scope.
 * Therefore the order of keys in the file has no effect. */
#include <string.h>

#include "read.h"

/* The sections that a spec and a variant have in common. */
typedef struct section {
    kiln__for_device device;
    size_t include_count;
    const char **include;
    size_t param_count;
    kiln__param *params;
    size_t let_count;
    kiln__named_expr *lets;
    size_t where_count;
    kiln__expr **where;
    size_t define_count;
    kiln__named_expr *defines;
    size_t bake_count;
    const char **bake;
    size_t option_count;
    kiln__template **options;
    size_t input_count;
    kiln__input *inputs;
    size_t buffer_count;
    kiln__buffer *buffers;
    size_t before_count;
    kiln__step *before;
    size_t metric_count;
    kiln__named_expr *metrics;
    unsigned unit; /* the unit of `roofline`, KILN_UNIT_...; 0 means that the spec does not give it */
} section;

/* ---- lets ---- */

typedef struct sorter {
    kiln__reader *r;
    const kiln__named_expr *lets;
    size_t count, used;
    unsigned char *state; /* the state of each let in the depth-first search: 0 not visited, 1 on the stack, 2 placed */
    kiln__named_expr *sorted;
} sorter;

static size_t let_index(const sorter *s, const char *name)
{
    size_t i = 0;
    while (i < s->count && strcmp(s->lets[i].name, name) != 0)
        i++;
    return i;
}

/* Returns the highest number of an input that the expression needs: A in `A.rows`, or an input that a let needs. */
static size_t inputs_of(kiln__reader *r, const kiln__expr *expr)
{
    size_t most = 0;
    for (size_t i = 0; i < kiln__expr_name_count(expr); i++) {
        const char *text = kiln__expr_name(expr, i), *dot = strchr(text, '.');
        char *root = kiln__arena_strndup(r->scratch, text, dot ? (size_t)(dot - text) : strlen(text));
        const kiln__name *name = root ? kiln__find_name(r, root) : NULL;
        if (name && name->inputs > most)
            most = name->inputs;
    }
    return most;
}

/* Topological sort of lets by depth-first search, at most KILN__MOST levels deep. Returns false if a let depends on
 * itself. */
static bool place_let(sorter *s, size_t i)
{
    if (s->state[i] == 2)
        return true;
    const kiln__named_expr *let = &s->lets[i];
    if (s->state[i] == 1) {
        kiln__diag_add(s->r->diag, let->pos, "the let '%s' depends on itself", let->name);
        return false;
    }
    s->state[i] = 1;
    for (size_t n = 0; let->expr && n < kiln__expr_name_count(let->expr); n++) {
        size_t other = let_index(s, kiln__expr_name(let->expr, n));
        if (other < s->count && !place_let(s, other))
            return false;
    }
    s->state[i] = 2;
    s->sorted[s->used++] = *let;
    kiln__name *name = kiln__find_name(s->r, let->name);
    if (name && let->expr)
        name->inputs = inputs_of(s->r, let->expr);
    return true;
}

static void read_lets(kiln__reader *r, const kiln__spec_node *map, section *out)
{
    sorter s = {.r = r};
    /* the error was reported when the names were declared */
    if (!map || map->kind != KILN__MAP || map->count > KILN__MOST)
        return;
    s.lets = kiln__read_named(r, map, "'let'", KILN__ALL_INPUTS, &s.count);
    s.state = kiln__arena_alloc(r->scratch, s.count + 1);
    s.sorted = kiln__read_array(r, s.count, sizeof *s.sorted);
    if (!s.state || !s.sorted)
        return;
    for (size_t i = 0; i < s.count; i++)
        if (!place_let(&s, i))
            break; /* one message about a cycle is enough */
    out->lets = s.sorted;
    out->let_count = s.used;
}

/* ---- macros ---- */

static bool c_word(const char *name)
{
    static const char *const words[] = {
        "auto",     "bool",     "break",    "case",    "catch",  "char",      "class",   "const",
        "continue", "default",  "delete",   "do",      "double", "else",      "enum",    "extern",
        "for",      "friend",   "goto",     "inline",  "long",   "namespace", "new",     "operator",
        "private",  "public",   "register", "return",  "short",  "signed",    "sizeof",  "static",
        "struct",   "switch",   "template", "this",    "throw",  "try",       "typedef", "typename",
        "union",    "unsigned", "using",    "virtual", "void",   "volatile",  "while"};
    for (size_t i = 0; i < KILN__COUNT(words); i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

static void check_macro(kiln__reader *r, const char *name, kiln__pos pos)
{
    if (!*r->spec->prefix && c_word(name))
        kiln__diag_add(r->diag, pos, "'%s' becomes a macro of the source, but it is a keyword of C++", name);
}

/* Reads `define`: a list of names of lets, or a mapping from names to expressions. */
static void read_defines(kiln__reader *r, kiln__spec_node *node, section *out)
{
    if (!node)
        return;
    if (node->kind == KILN__MAP) {
        out->defines = kiln__read_named(r, node, "'define'", 0, &out->define_count);
        for (size_t i = 0; i < out->define_count; i++) {
            const char *name = out->defines[i].name;
            const kiln__name *taken = kiln__find_name(r, name);
            if (!kiln__name_valid(name))
                kiln__diag_add(r->diag, out->defines[i].pos, "'%s' is not a valid name for a macro", name);
            else if (taken && taken->kind == KILN__NAME_PARAM && taken->param->macro)
                kiln__diag_add(r->diag, out->defines[i].pos, "'%s' is a param, so it is already a macro", name);
            check_macro(r, name, out->defines[i].pos);
        }
        return;
    }
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'define'", &items);
    out->defines = kiln__read_array(r, count, sizeof *out->defines);
    if (!out->defines)
        return;
    for (size_t i = 0; i < count; i++) {
        const char *name = kiln__read_text(r, items[i], "a name in 'define'");
        const kiln__name *let = name ? kiln__find_name(r, name) : NULL;
        if (!name)
            continue;
        if (!let || let->kind != KILN__NAME_LET) {
            const char *near = kiln__nearest_name(r, name, 1u << KILN__NAME_LET);
            kiln__diag_add(r->diag, items[i]->pos,
                           near ? "there is no let '%s'; did you mean '%s'?"
                                : "there is no let '%s' (a macro with its own value is written NAME: EXPRESSION)",
                           name, near);
            continue;
        }
        kiln__named_expr *define = &out->defines[out->define_count++];
        define->name = name;
        define->pos = items[i]->pos;
        define->expr = kiln__read_expr(r, items[i], "a name in 'define'", 0);
        check_macro(r, name, define->pos);
    }
}

static void read_bake(kiln__reader *r, kiln__spec_node *node, section *out)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'bake'", &items);
    out->bake = count ? kiln__read_array(r, count, sizeof *out->bake) : NULL;
    for (size_t i = 0; out->bake && i < count; i++) {
        const char *name = kiln__read_text(r, items[i], "a name in 'bake'");
        const kiln__name *size = name ? kiln__find_name(r, name) : NULL;
        if (name && (!size || size->kind != KILN__NAME_SIZE)) {
            const char *near = kiln__nearest_name(r, name, 1u << KILN__NAME_SIZE);
            kiln__diag_add(r->diag, items[i]->pos,
                           near ? "there is no size '%s'; did you mean '%s'?" : "there is no size '%s'", name, near);
        } else if (name) {
            check_macro(r, name, items[i]->pos);
            out->bake[out->bake_count++] = name;
        }
    }
}

/* ---- a section ---- */

static void read_include(kiln__reader *r, kiln__spec_node *node, section *out)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'include'", &items);
    out->include = count ? kiln__read_array(r, count, sizeof *out->include) : NULL;
    for (size_t i = 0; out->include && i < count; i++)
        if ((out->include[out->include_count] = kiln__read_text(r, items[i], "a folder in 'include'")))
            out->include_count++;
}

static void read_where(kiln__reader *r, kiln__spec_node *node, section *out)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'where'", &items);
    if (count > 4 * KILN__MOST) {
        kiln__diag_add(r->diag, node->pos, "more than %d constraints", 4 * KILN__MOST);
        return;
    }
    out->where = count ? kiln__read_array(r, count, sizeof *out->where) : NULL;
    for (size_t i = 0; out->where && i < count; i++)
        if ((out->where[out->where_count] = kiln__read_expr(r, items[i], "a constraint", 0)))
            out->where_count++;
}

static void read_inputs(kiln__reader *r, const kiln__spec_node *map, section *out, size_t before)
{
    size_t count = map && map->kind == KILN__MAP && map->count <= KILN__MOST ? map->count : 0;
    out->inputs = count ? kiln__read_array(r, count, sizeof *out->inputs) : NULL;
    for (size_t i = 0; out->inputs && i < count; i++) {
        const kiln__spec_node *node = map->items[i];
        kiln__input *input = &out->inputs[out->input_count++];
        input->name = kiln__arena_strdup(r->arena, map->keys[i]->text);
        input->pos = map->keys[i]->pos;
        if (node->kind != KILN__MAP) {
            kiln__diag_add(r->diag, node->pos, "an input must be a mapping such as {host: FUNCTION, ...}, not %s",
                           kiln__spec_node_describe(node));
            continue;
        }
        if (kiln__read_key(r, node, KILN__KEY_input_host))
            input->function = kiln__read_host(r, kiln__spec_node_get(node, "host"), "'host' of an input",
                                              KILN_HOST_INPUT);
        r->for_input = true;
        input->args = kiln__read_host_args(r, node, "host", before + i, false, &input->arg_count);
        r->for_input = false;
    }
}

static void declare_all(kiln__reader *r, const kiln__spec_node *map, const char *what, kiln__name_kind kind)
{
    size_t count = kiln__read_entries(r, map, what);
    for (size_t i = 0; i < count; i++)
        kiln__declare(r, map->keys[i], kind, NULL);
}

static unsigned read_unit(kiln__reader *r, const kiln__spec_node *node)
{
    static const char *const names[] = {
#define KILN_X(name, value, key, text) key,
        KILN_UNIT_MAP(KILN_X)
#undef KILN_X
    };
    const char *text = node ? kiln__read_text(r, node, "'roofline'") : NULL;
    for (unsigned i = 0; text && i < KILN__COUNT(names); i++)
        if (strcmp(names[i], text) == 0)
            return i + 1; /* KILN_UNIT_FP32 is 1 */
    const char *near = text ? kiln__nearest(text, names, KILN__COUNT(names)) : NULL;
#define KILN_X(name, value, key, text) " " key
    if (text)
        kiln__diag_add(r->diag, node->pos,
                       near ? "unknown unit '%s' of 'roofline'; did you mean '%s'?"
                            : "unknown unit '%s' of 'roofline'; units are" KILN_UNIT_MAP(KILN_X),
                       text, near);
#undef KILN_X
    return 0;
}

/* Reads one section of the spec or of a variant. `shared` is the section of the spec if `map` is a variant, and NULL if
 * `map` is the spec itself.
 */
static void read_section(kiln__reader *r, const kiln__spec_node *map, const section *shared, section *out)
{
    KILN__KEYS_section(KILN__NODE, section) KILN__KEYS_metrics(KILN__NODE, section) size_t inputs = r->input_count;
    read_include(r, include_, out);
    kiln__read_for_device(r, target_, needs_, &out->device);
    out->params = kiln__read_params(r, params_, &out->param_count);
    declare_all(r, let_, "'let'", KILN__NAME_LET);
    declare_all(r, inputs_, "'inputs'", KILN__NAME_INPUT);
    declare_all(r, buffers_, "'buffers'", KILN__NAME_BUFFER);

    read_lets(r, let_, out);
    for (size_t i = 0; i < out->param_count; i++) {
        kiln__spec_node *of_param = kiln__spec_node_get(params_->items[i], "options");
        if (out->params[i].macro)
            check_macro(r, out->params[i].name ? out->params[i].name : "", out->params[i].pos);
        out->params[i].options = kiln__read_options(r, &of_param, &out->params[i].option_count);
    }
    read_where(r, where_, out);
    read_defines(r, define_, out);
    read_bake(r, bake_, out);
    out->options = kiln__read_options(r, &options_, &out->option_count);
    read_inputs(r, inputs_, out, inputs);
    out->buffers = kiln__read_buffers(r, buffers_, !shared, &out->buffer_count);
    if (before_each_)
        out->before = kiln__read_steps(r, before_each_, "'before_each'", &out->before_count);
    out->metrics = kiln__read_metrics(r, metrics_, shared ? shared->metrics : NULL, shared ? shared->metric_count : 0,
                                      &out->metric_count);
    out->unit = read_unit(r, roofline_);
}

/* ---- features ---- */

/* Marks the lets and inputs whose values vary between configurations or devices. Lets and inputs may use each other, so
 * the loop repeats until it marks nothing more (a fixed point). */
static void mark_varying(kiln__reader *r, const section *shared)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < shared->let_count; i++) {
            kiln__name *name = kiln__find_name(r, shared->lets[i].name);
            bool found = name && !name->varies && kiln__varies(r, shared->lets[i].expr);
            if (found)
                name->varies = more = true;
        }
        for (size_t i = 0; i < shared->input_count; i++) {
            const kiln__input *input = &shared->inputs[i];
            kiln__name *name = input->name ? kiln__find_name(r, input->name) : NULL;
            for (size_t k = 0; name && !name->varies && k < input->arg_count; k++)
                if (kiln__varies(r, input->args[k].expr))
                    name->varies = more = true;
        }
    }
}

static void read_features(kiln__reader *r, const kiln__spec_node *map)
{
    kiln_spec *spec = r->spec;
    if (!map)
        return;
    spec->features = kiln__read_named(r, map, "'features'", KILN__ALL_INPUTS, &spec->feature_count);
    for (size_t i = 0; i < spec->feature_count; i++) {
        const kiln__named_expr *feature = &spec->features[i];
        if (!kiln__name_valid(feature->name))
            kiln__diag_add(r->diag, feature->pos, "'%.70s' is not a valid name for a feature", feature->name);
        if (kiln__varies(r, feature->expr))
            kiln__diag_add(
                r->diag, feature->pos,
                "the feature '%s' must be the same for all configurations: it may use sizes and the exports of "
                "inputs, but neither params nor properties of the device",
                feature->name);
    }
}

/* ---- variants ---- */

/* Returns a new array with the elements of `a`, then the elements of `b`. */
static void *join_arrays(kiln__reader *r, const void *a, size_t a_count, const void *b, size_t b_count, size_t size)
{
    char *both = a_count + b_count ? kiln__read_array(r, a_count + b_count, size) : NULL;
    if (!both)
        return NULL;
    if (a_count)
        memcpy(both, a, a_count * size);
    if (b_count)
        memcpy(both + a_count * size, b, b_count * size);
    return both;
}

#define JOIN(field, counter)                                                                                           \
    do {                                                                                                               \
        variant->field = join_arrays(r, spec->field, spec->counter, own->field, own->counter, sizeof *variant->field); \
        variant->counter = variant->field ? spec->counter + own->counter : 0;                                          \
    } while (0)

/* Joins the sections of the spec and of a variant: the spec's entries come first, then the variant's entries. If both
 * sections have a metric of the same name, the variant's metric applies. */
static void join_sections(kiln__reader *r, const section *spec, const section *own, kiln__variant *variant)
{
    kiln__join_for_device(r, &spec->device, &own->device, &variant->device);
    JOIN(include, include_count);
    JOIN(params, param_count);
    JOIN(lets, let_count);
    JOIN(where, where_count);
    JOIN(defines, define_count);
    JOIN(bake, bake_count);
    JOIN(options, option_count);
    JOIN(inputs, input_count);
    JOIN(buffers, buffer_count);
    JOIN(before, before_count);
    kiln__join_metrics(r, spec->metrics, spec->metric_count, own->metrics, own->metric_count, variant);
    variant->unit = own->unit ? own->unit : spec->unit;
    for (size_t i = 0; i < variant->define_count; i++)
        for (size_t k = 0; k < variant->bake_count; k++)
            if (strcmp(variant->defines[i].name, variant->bake[k]) == 0)
                kiln__diag_add(r->diag, variant->defines[i].pos, "'%s' is in 'bake', so it is already a macro",
                               variant->bake[k]);
    for (size_t i = 0; i < variant->define_count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(variant->defines[i].name, variant->defines[k].name) == 0)
                kiln__diag_add(r->diag, variant->defines[i].pos, "the macro '%s' is defined twice (line %u)",
                               variant->defines[i].name, variant->defines[k].pos.line);
}

static void read_steps_or_launch(kiln__reader *r, const kiln__spec_node *map, kiln__variant *variant)
{
    KILN__KEYS_work(KILN__NODE, work) if (launch_ && steps_)
        kiln__diag_add(r->diag, steps_->pos, "a variant has 'launch' or 'steps', not both");
    else if (launch_) variant->steps = kiln__read_launch_only(r, launch_, &variant->step_count);
    else if (steps_) variant->steps = kiln__read_steps(r, steps_, "'steps'", &variant->step_count);
    else kiln__diag_add(r->diag, variant->pos, "variant '%s' has neither 'launch' nor 'steps'", variant->name);
}

static bool good_label(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return length > 0 && length < 64 && name[length] == '\0';
}

/* Reads the variant `key` from the mapping `map`. `shared` has the sections of the spec. At the end, removes the names
 * of the variant from the namespace, so that the next variant does not see them. */
static void read_variant(kiln__reader *r, const kiln__spec_node *key, const kiln__spec_node *map, const section *shared,
                         kiln__variant *variant)
{
    KILN__KEYS_variant_head(KILN__NODE) variant->name = kiln__arena_strdup(r->arena, key->text);
    variant->pos = key->pos;
    variant->about = "";
    variant->contender = true;
    if (!variant->name)
        return;
    if (!good_label(variant->name))
        kiln__diag_add(r->diag, key->pos, "'%.70s' is not a valid name for a variant: use letters, digits, '_' and '-'",
                       key->text);
    if (!kiln__read_map(r, map, KILN__MAPPING_variant))
        return;
    if (about_)
        variant->about = kiln__read_text(r, about_, "'about'");
    if (contender_)
        kiln__read_bool(r, contender_, "'contender'", &variant->contender);
    if (source_)
        variant->source = kiln__read_text(r, source_, "'source'");
    else if (!r->spec->source)
        kiln__diag_add(r->diag, key->pos,
                       "variant '%s' has no 'source', and the spec has none either: write 'source: FILE.cu'",
                       variant->name);
    size_t names = r->name_count, inputs = r->input_count;
    section own = {0};
    read_section(r, map, shared, &own);
    kiln__read_tolerances(r, tolerance_, variant);
    read_steps_or_launch(r, map, variant);
    join_sections(r, shared, &own, variant);
    r->name_count = names;
    r->input_count = inputs;
}

/* Reads a spec with one variant, whose launch is at the top level, without `variants:`. */
static void read_only_variant(kiln__reader *r, const kiln__spec_node *root, const section *shared)
{
    static const section none;
    kiln_spec *spec = r->spec;
    spec->variants = kiln__read_array(r, 1, sizeof *spec->variants);
    if (!spec->variants)
        return;
    spec->variant_count = 1;
    spec->variants[0].name = "default";
    spec->variants[0].about = "";
    spec->variants[0].contender = true;
    spec->variants[0].pos = root->pos;
    if (!spec->source)
        kiln__read_need(r, root, "the spec", "source");
    read_steps_or_launch(r, root, &spec->variants[0]);
    join_sections(r, shared, &none, &spec->variants[0]);
}

/* Reads `variants`, or the single variant of a spec with `launch` or `steps` at the top level. Reports an error if the
 * spec has both `variants` and a top-level `launch` or `steps`, or neither of them. */
static void read_variants(kiln__reader *r, const kiln__spec_node *root, const kiln__spec_node *map,
                          const section *shared)
{
    kiln_spec *spec = r->spec;
    const kiln__spec_node *alone = kiln__spec_node_key(root, "launch");
    if (!alone)
        alone = kiln__spec_node_key(root, "steps");
    if (!map && alone) {
        read_only_variant(r, root, shared);
        return;
    }
    if (!map) {
        kiln__diag_add(r->diag, root->pos, "the spec has no 'variants' (nor a 'launch' of its own)");
        return;
    }
    if (alone)
        kiln__diag_add(r->diag, alone->pos, "a spec has 'variants' or a '%s' of its own, not both", alone->text);
    if (map->kind != KILN__MAP || map->count == 0 || map->count > KILN__MOST_VARIANTS) {
        kiln__diag_add(r->diag, map->pos, "'variants' must be a mapping of 1 to %d variants by name",
                       KILN__MOST_VARIANTS);
        return;
    }
    spec->variants = kiln__read_array(r, map->count, sizeof *spec->variants);
    if (!spec->variants)
        return;
    spec->variant_count = map->count;
    for (size_t i = 0; i < map->count; i++)
        read_variant(r, map->keys[i], map->items[i], shared, &spec->variants[i]);
}

/* ---- the whole spec ---- */

static void read_version(kiln__reader *r, const kiln__spec_node *root, const kiln__spec_node *version)
{
    if (!version)
        kiln__diag_add(r->diag, root->pos,
                       "the spec has no key 'kiln': a spec starts with 'kiln: 1', the version of "
                       "the format");
    else if (version->kind != KILN__SCALAR || version->quoted || strcmp(version->text, "1") != 0)
        kiln__diag_add(r->diag, version->pos,
                       "the version of the format must be 1; this program reads no other version");
}

static const char *read_prefix(kiln__reader *r, const kiln__spec_node *node)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *prefix = kiln__read_text(r, node, "'prefix'");
    size_t length = prefix ? strlen(prefix) : 0;
    if (!prefix)
        return "";
    for (size_t i = 0; i < length; i++)
        if (!strchr(letters, prefix[i]) && (i == 0 || prefix[i] < '0' || prefix[i] > '9')) {
            kiln__diag_add(r->diag, node->pos,
                           "'prefix' begins the names of macros: a letter or '_', then letters, "
                           "digits and '_'");
            break;
        }
    return prefix;
}

void kiln__read_spec(kiln__reader *r, const kiln__spec_node *map)
{
    KILN__KEYS_spec_head(KILN__NODE) KILN__KEYS_spec_tail(KILN__NODE) kiln_spec *spec = r->spec;
    section shared = {0};
    if (!kiln__read_map(r, map, KILN__MAPPING_spec))
        return;
    read_version(r, map, kiln_);
    if (kiln__read_key(r, map, KILN__KEY_spec_name) && (spec->name = kiln__read_text(r, name_, "'name'")) &&
        !good_label(spec->name))
        kiln__diag_add(r->diag, name_->pos, "'%.70s' is not a valid name for a spec: use letters, digits, '_' and '-'",
                       spec->name);
    spec->title = title_ ? kiln__read_text(r, title_, "'title'") : "";
    spec->about = about_ ? kiln__read_text(r, about_, "'about'") : "";
    spec->source = source_ ? kiln__read_text(r, source_, "'source'") : NULL;
    spec->prefix = prefix_ ? read_prefix(r, prefix_) : "";
    kiln__read_sizes(r, sizes_);
    read_section(r, map, NULL, &shared);
    spec->buffer_count = shared.buffer_count;
    spec->input_count = shared.input_count;
    kiln__check_sizes(r, sizes_, shared.buffers, shared.buffer_count);
    mark_varying(r, &shared);
    read_features(r, features_);
    read_variants(r, map, variants_, &shared);
    kiln__read_verify(r, verify_, shared.buffers, shared.buffer_count);
    kiln__read_judge(r, judge_, shared.buffers, shared.buffer_count);
}

/* Ends the reading of a spec. If no error was reported, completes the spec and sets *out. Otherwise frees the spec and
 * returns the reported errors. Frees the scratch data in both cases. */
static kiln_status finish(kiln__reader *r, kiln_spec *spec, kiln_spec **out, kiln_error **error)
{
    const kiln_allocator *mem = r->diag->mem;
    bool no_memory = spec->arena.failed || r->scratch->failed;
    kiln__arena_free(r->scratch);
    kiln__free(mem, r->names);
    if (no_memory) {
        kiln__text_free(&r->diag->text);
        kiln_spec_free(spec);
        return kiln__fail_memory(error);
    }
    kiln_status status = kiln__diag_finish(r->diag, KILN_ERROR_SPEC, error);
    if (status == KILN_OK && !kiln__spec_describe(spec))
        status = kiln__fail_memory(error);
    if (status != KILN_OK) {
        kiln_spec_free(spec);
        return status;
    }
    *out = spec;
    return KILN_OK;
}

/* Parses the text of a spec, at most 16 MiB. The function builds the tree in a scratch arena, recognises a T1 file by
 * its content, and runs the reader of that format. finish() decides whether the spec is complete and frees the scratch
 * data. */
kiln_status kiln__spec_parse(const kiln_allocator *mem, const char *text, size_t length, const char *name,
                             const kiln__host_lookup *hosts, kiln_spec **out, kiln_error **error)
{
    enum { LONGEST = 16 << 20 };
    if (length > LONGEST)
        return kiln__fail(mem, error, KILN_ERROR_SPEC, "%s: a file of %zu bytes; a spec has at most %d", name, length,
                          LONGEST);
    kiln_spec *spec = kiln__calloc(mem, 1, sizeof *spec);
    if (!spec)
        return kiln__fail_memory(error);
    if (mem) {
        spec->mem_copy = *mem;
        spec->mem = &spec->mem_copy;
    }
    spec->arena.mem = spec->mem;
    spec->prefix = "";
    spec->path = kiln__arena_strdup(&spec->arena, name);
    spec->folder = kiln__arena_folder(&spec->arena, name);
    spec->file.name = spec->path;
    spec->file.text = kiln__arena_strndup(&spec->arena, text, length);
    spec->file.length = length;
    kiln__diag diag = {.mem = mem};
    kiln__arena scratch = {.mem = mem};
    kiln__reader r = {.spec = spec, .arena = &spec->arena, .scratch = &scratch, .diag = &diag, .hosts = hosts};
    kiln__spec_node *root = spec->arena.failed ? NULL : kiln__tree_parse(&scratch, &spec->file, &diag);
    if (root && kiln__is_t1(root))
        kiln__read_t1(&r, root);
    else if (root)
        kiln__read_spec(&r, root);
    return finish(&r, spec, out, error);
}
