/* t1.c - reads T1 files as a kiln_spec with one variant. T1 (JSON) is a format of the auto-tuning community for
 * tuning problems.
 *
 * Every JSON text is YAML, so the reader of specs makes the tree. The values and the conditions of a T1 file are Python
 * text in strings. Other tools write and read T1 files, so this reader ignores unknown keys. Expressions name the sizes
 * ProblemSize[0], ProblemSize[1] and so on.
 *
 * The grid is computed as in Kernel Tuner: ceil(ProblemSize / product of GridDiv). If the file has no GridDiv,
 * GlobalSize gives the grid. GlobalSize counts blocks if GlobalSizeType is CUDA or missing. Otherwise GlobalSize counts
 * threads. */
#include <stdio.h>
#include <string.h>

#include "read.h"

typedef struct t1 {
    kiln__reader *r;
    kiln__variant *variant;
    kiln_value *problem; /* the values of ProblemSize */
    size_t problem_count;
    kiln__lists lists;
} t1;

static bool find_list(void *user, const char *name, const kiln_value **values, size_t *count)
{
    const t1 *t = user;
    if (strcmp(name, "ProblemSize") == 0) {
        *values = t->problem;
        *count = t->problem_count;
        return true;
    }
    const kiln__param *param = kiln__variant_param(t->variant, name);
    if (param) {
        *values = param->values;
        *count = param->count;
    }
    return param != NULL;
}

static void check_names(t1 *t, const kiln__expr *expr)
{
    for (size_t i = 0; i < kiln__expr_name_count(expr); i++) {
        const char *text = kiln__expr_name(expr, i), *open = strchr(text, '[');
        unsigned index = 0;
        if (open && sscanf(text, "ProblemSize[%9u]", &index) == 1 && index < t->problem_count)
            continue;
        const kiln__name *name = open ? NULL : kiln__find_name(t->r, text);
        if (name && name->kind == KILN__NAME_PARAM)
            continue;
        const char *near = kiln__nearest_name(t->r, text, 1u << KILN__NAME_PARAM);
        kiln__pos pos = kiln__expr_name_pos(expr, i);
        if (open)
            kiln__diag_add(t->r->diag, pos, "there is no '%s', because ProblemSize has %zu entries", text,
                           t->problem_count);
        else
            kiln__diag_add(t->r->diag, pos, near ? "unknown name '%s'; did you mean '%s'?" : "unknown name '%s'", text,
                           near);
    }
}

static kiln__expr *parse(t1 *t, const char *text, kiln__pos pos)
{
    kiln__expr *expr = kiln__expr_parse_python(t->r->arena, text, strlen(text), pos, &t->lists, t->r->diag);
    if (expr)
        check_names(t, expr);
    return expr;
}

static kiln__expr *read_expr(t1 *t, const kiln__spec_node *node, const char *what)
{
    if (node->kind == KILN__SCALAR && node->length > 0)
        return parse(t, node->text, node->pos);
    kiln__diag_add(t->r->diag, node->pos, "%s must be an expression, not %s", what, kiln__spec_node_describe(node));
    return NULL;
}

static const kiln__spec_node *list_of(t1 *t, const kiln__spec_node *map, const char *key)
{
    const kiln__spec_node *node = kiln__spec_node_get(map, key);
    if (!node || node->kind == KILN__LIST)
        return node;
    kiln__diag_add(t->r->diag, node->pos, "'%s' must be a list, not %s", key, kiln__spec_node_describe(node));
    return NULL;
}

static const char *text_of(t1 *t, const kiln__spec_node *map, const char *what, const char *key)
{
    return kiln__read_need(t->r, map, what, key) ? kiln__read_text(t->r, kiln__spec_node_get(map, key), key) : NULL;
}

/* ---- the search space ---- */

/* Reads the values of a param: a Python text such as "[1, 2] + list(range(4, 9))", or a JSON array. */
static void read_values(t1 *t, const kiln__spec_node *node, kiln__param *param)
{
    kiln__reader *r = t->r;
    enum { MOST = 1 << 16 };
    kiln_value *values = NULL;
    size_t count = 0;
    if (node->kind == KILN__SCALAR) {
        if (!kiln__expr_list(r->arena, node->text, node->length, node->pos, NULL, MOST,
                             KILN__MOST_VALUES - r->value_count, &values, &count, r->diag))
            return;
    } else if (node->kind == KILN__LIST) {
        values = kiln__read_array(r, node->count, sizeof *values);
        for (; values && count < node->count; count++)
            if (!kiln__read_value(r, node->items[count], "a value", &values[count]))
                return;
    }
    if (count == 0) {
        kiln__diag_add(r->diag, node->pos, "parameter '%s' has no values", param->name);
        return;
    }
    if (count > KILN__MOST_VALUES - r->value_count) {
        kiln__diag_add(r->diag, node->pos, "too many values: the params of a spec may have %d together",
                       KILN__MOST_VALUES);
        return;
    }
    r->value_count += count;
    if (kiln__unify(r, node->pos, "a parameter", values, count) &&
        kiln__check_different(r, node->pos, param->name, values, count)) {
        param->values = values;
        param->count = count;
    }
}

/* Reads the default value of a param. In some existing files the default is not a value of the param. If so, the
 * function takes the first value of the param as the default. */
static void read_default(t1 *t, const kiln__spec_node *node, kiln__param *param)
{
    kiln_value wanted;
    if (node && node->kind == KILN__LIST && node->count == 1)
        node = node->items[0];
    if (!node || node->kind != KILN__SCALAR || !kiln__read_value(t->r, node, "'Default'", &wanted))
        return;
    for (size_t i = 0; i < param->count; i++)
        if (kiln__value_equal(param->values[i], wanted))
            param->initial = i;
}

/* Reads `ConfigurationSpace`: the tuning parameters become params, which are macros of the source, and the conditions
 * become constraints. After it has reported the error of a parameter, the function skips this parameter. */
static void read_space(t1 *t, const kiln__spec_node *space)
{
    kiln__reader *r = t->r;
    if (!kiln__read_need(r, space, "'ConfigurationSpace'", "TuningParameters"))
        return;
    const kiln__spec_node *params = list_of(t, space, "TuningParameters"), *where = list_of(t, space, "Conditions");
    if (params && params->count > KILN__MOST) {
        kiln__diag_add(r->diag, params->pos, "more than %d parameters", KILN__MOST);
        return;
    }
    t->variant->params = kiln__read_array(r, params ? params->count : 0, sizeof *t->variant->params);
    for (size_t i = 0; t->variant->params && params && i < params->count; i++) {
        const kiln__spec_node *node = params->items[i];
        const char *name = text_of(t, node, "a tuning parameter", "Name");
        if (!name || !kiln__read_need(r, node, "a tuning parameter", "Values"))
            continue;
        kiln__param *param = &t->variant->params[t->variant->param_count++];
        param->macro = true;
        param->name = name;
        param->pos = kiln__spec_node_get(node, "Name")->pos;
        read_values(t, kiln__spec_node_get(node, "Values"), param);
        read_default(t, kiln__spec_node_get(node, "Default"), param);
        kiln__declare_text(r, name, param->pos, KILN__NAME_PARAM);
    }
    size_t count = where ? where->count : 0;
    t->variant->where = kiln__read_array(r, count, sizeof *t->variant->where);
    for (size_t i = 0; t->variant->where && i < count; i++) {
        const kiln__spec_node *node = where->items[i];
        if (node->kind == KILN__MAP && !kiln__read_need(r, node, "a condition", "Expression"))
            continue;
        if (node->kind == KILN__MAP)
            node = kiln__spec_node_get(node, "Expression");
        kiln__expr *expr = read_expr(t, node, "a condition");
        if (expr)
            t->variant->where[t->variant->where_count++] = expr;
    }
}

static void read_problem(t1 *t, kiln__spec_node *node)
{
    kiln__reader *r = t->r;
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'ProblemSize'", &items);
    kiln__sizes *set = kiln__read_array(r, 1, sizeof *set);
    t->problem = kiln__read_array(r, count, sizeof *t->problem);
    if (!set || !t->problem)
        return;
    r->spec->size_sets = set;
    r->spec->size_set_count = 1;
    set->name = "default";
    kiln_setting *settings = kiln__read_array(r, count, sizeof *settings);
    set->settings.items = settings;
    for (size_t i = 0; settings && i < count; i++) {
        kiln__expr *expr = read_expr(t, items[i], "an entry of 'ProblemSize'");
        if (!expr || !kiln__expr_eval(expr, NULL, &t->problem[i], r->diag))
            return;
        settings[i].name = kiln__arena_printf(r->arena, "ProblemSize[%zu]", i);
        settings[i].value = t->problem[i];
        if (!settings[i].name)
            return;
        t->problem_count = set->settings.count = i + 1;
    }
}

/* ---- the launch ---- */

static const char *const axes[] = {"X", "Y", "Z"};

static kiln__expr *make_integer(t1 *t, int64_t value, kiln__pos pos)
{
    return kiln__expr_constant(t->r->arena, (kiln_value){.kind = KILN_INT, .as.i = value}, pos);
}

static kiln__expr *read_block(t1 *t, const kiln__spec_node *kernel, int axis)
{
    static const char *const usual[] = {"block_size_x", "block_size_y", "block_size_z"};
    const kiln__spec_node *node = kiln__spec_node_get(kiln__spec_node_get(kernel, "LocalSize"), axes[axis]);
    if (node)
        return read_expr(t, node, "'LocalSize'");
    return kiln__find_name(t->r, usual[axis]) ? parse(t, usual[axis], kernel->pos) : make_integer(t, 1, kernel->pos);
}

/* Returns the expression of the grid in one dimension. The function uses the first of these that the file has:
 * ProblemSize with GridDiv, GlobalSize, ProblemSize with the block. If the file has none of them, the grid is 1.
 * `block` is the expression of the block in this dimension, or NULL. */
static kiln__expr *read_grid(t1 *t, const kiln__spec_node *kernel, int axis, const kiln__expr *block)
{
    static const char *const keys[] = {"GridDivX", "GridDivY", "GridDivZ"};
    const kiln__spec_node *divisors = list_of(t, kernel, keys[axis]);
    const kiln__spec_node *global = kiln__spec_node_get(kiln__spec_node_get(kernel, "GlobalSize"), axes[axis]);
    const kiln__spec_node *type = kiln__spec_node_get(kernel, "GlobalSizeType");
    bool threads = type && type->kind == KILN__SCALAR && strcmp(type->text, "CUDA") != 0;
    bool problem = (size_t)axis < t->problem_count;
    kiln__text text = {.mem = t->r->diag->mem};
    if (divisors && problem) {
        kiln__text_printf(&text, "ceil_div(ProblemSize[%d], 1", axis);
        for (size_t i = 0; i < divisors->count; i++) {
            kiln__expr *divisor = read_expr(t, divisors->items[i], keys[axis]);
            if (divisor)
                kiln__text_printf(&text, " * (%s)", kiln__expr_text(divisor));
        }
        kiln__text_puts(&text, ")");
    } else if (global && threads) {
        const kiln__expr *total = read_expr(t, global, "'GlobalSize'");
        kiln__text_printf(&text, "ceil_div(%s, %s)", total ? kiln__expr_text(total) : "1",
                          block ? kiln__expr_text(block) : "1");
    } else if (global) {
        return read_expr(t, global, "'GlobalSize'");
    } else if (problem && axis < 2) {
        kiln__text_printf(&text, "ceil_div(ProblemSize[%d], %s)", axis, block ? kiln__expr_text(block) : "1");
    } else {
        return make_integer(t, 1, kernel->pos);
    }
    kiln__expr *grid = parse(t, kiln__text_get(&text), divisors ? divisors->pos : kernel->pos);
    if (text.failed)
        t->r->arena->failed = true;
    kiln__text_free(&text);
    return grid;
}

/* Reads a type such as "float" or "int32". A vector such as "float4" counts as 4 floats. */
static bool read_type(const char *text, kiln_type *type, int *lanes)
{
    static const struct {
        const char *name;
        kiln_type type;
    } more[] = {{"int8", KILN_i8},    {"uint8", KILN_u8},   {"uchar", KILN_u8},    {"bool", KILN_u8},
                {"int16", KILN_i16},  {"ushort", KILN_u16}, {"uint16", KILN_u16},  {"int32", KILN_i32},
                {"uint", KILN_u32},   {"uint32", KILN_u32}, {"long", KILN_i64},    {"int64", KILN_i64},
                {"ulong", KILN_u64},  {"uint64", KILN_u64}, {"float16", KILN_f16}, {"float32", KILN_f32},
                {"float64", KILN_f64}};
    *lanes = 1;
    /* search this table first, because its bool may be any byte */
    for (size_t i = 0; i < KILN__COUNT(more); i++)
        if (strcmp(more[i].name, text) == 0) {
            *type = more[i].type;
            return true;
        }
    if (kiln__type_named(text, type))
        return true;
    static const struct {
        const char *name;
        kiln_type type;
    } vectors[] = {{"char", KILN_i8},  {"uchar", KILN_u8}, {"short", KILN_i16}, {"ushort", KILN_u16}, {"int", KILN_i32},
                   {"uint", KILN_u32}, {"half", KILN_f16}, {"float", KILN_f32}, {"double", KILN_f64}};
    for (size_t i = 0; i < KILN__COUNT(vectors); i++) {
        size_t length = strlen(vectors[i].name);
        if (strncmp(text, vectors[i].name, length) == 0 && text[length] >= '2' && text[length] <= '4' &&
            text[length + 1] == '\0') {
            *type = vectors[i].type;
            *lanes = text[length] - '0';
            return true;
        }
    }
    return false;
}

static void read_vector_fill(t1 *t, const kiln__spec_node *node, kiln__buffer *buffer)
{
    const kiln__spec_node *type = kiln__spec_node_get(node, "FillType"),
                          *value = kiln__spec_node_get(node, "FillValue");
    kiln__fill *fill = &buffer->fill;
    const char *text = type && type->kind == KILN__SCALAR ? type->text : "Constant";
    fill->pos = type ? type->pos : node->pos;
    kiln__expr *given = value ? read_expr(t, value, "'FillValue'") : make_integer(t, 1, node->pos);
    if (strcmp(text, "Constant") == 0) {
        fill->kind = KILN__FILL_VALUE;
        fill->a = value ? given : make_integer(t, 0, node->pos);
    } else if (strcmp(text, "Random") == 0) { /* "Random" means random values from 0 to FillValue */
        fill->kind = KILN__FILL_UNIFORM;
        fill->a = make_integer(t, 0, fill->pos);
        fill->b = given;
        fill->seed = make_integer(t, (int64_t)(t->variant->buffer_count + 1), fill->pos);
    } else {
        kiln__diag_add(t->r->diag, fill->pos, "a 'FillType' that is neither Constant nor Random: '%s'", text);
    }
}

static void read_vector(t1 *t, const kiln__spec_node *node, const char *name, kiln_type type, int lanes)
{
    kiln__reader *r = t->r;
    kiln__buffer *buffer = &t->variant->buffers[t->variant->buffer_count];
    const kiln__spec_node *out = kiln__spec_node_get(node, "Output");
    if (!kiln__read_need(r, node, "a vector argument", "Size"))
        return;
    buffer->name = name;
    buffer->pos = kiln__spec_node_get(node, "Name")->pos;
    buffer->type = type;
    buffer->type_known = true;
    buffer->dims = lanes > 1 ? 2 : 1;
    buffer->shape[0] = read_expr(t, kiln__spec_node_get(node, "Size"), "'Size'");
    if (lanes > 1)
        buffer->shape[1] = make_integer(t, lanes, buffer->pos);
    const char *extent = buffer->shape[0] ? kiln__expr_text(buffer->shape[0]) : "?";
    buffer->shape_text = lanes > 1 ? kiln__arena_printf(r->arena, "[%s, %d]", extent, lanes)
                                   : kiln__arena_printf(r->arena, "[%s]", extent);
    buffer->out = out && out->kind == KILN__SCALAR && strcmp(out->text, "1") == 0;
    read_vector_fill(t, node, buffer);
    kiln__declare_text(r, name, buffer->pos, KILN__NAME_BUFFER);
    t->variant->buffer_count++;
}

static kiln__expr *read_scalar(t1 *t, const kiln__spec_node *node, kiln_type type)
{
    if (!kiln__read_need(t->r, node, "a scalar argument", "FillValue"))
        return NULL;
    kiln__expr *expr = read_expr(t, kiln__spec_node_get(node, "FillValue"), "'FillValue'");
    kiln_value value;
    if (!expr || !kiln__type_is_float(type) || !kiln__expr_is_constant(expr, &value) || value.kind != KILN_INT)
        return expr;
    value = (kiln_value){.kind = KILN_FLOAT, .as.f = (double)value.as.i};
    return kiln__expr_constant(t->r->arena, value, kiln__expr_pos(expr));
}

static void read_argument(t1 *t, const kiln__spec_node *node, kiln__step *steps, kiln__step *launch)
{
    kiln__reader *r = t->r;
    const char *name = text_of(t, node, "an argument", "Name"), *type_text = text_of(t, node, "an argument", "Type");
    const kiln__spec_node *memory = kiln__spec_node_get(node, "MemoryType"),
                          *where = kiln__spec_node_get(node, "MemType");
    kiln_type type = KILN_f32;
    int lanes = 1;
    if (!name || !type_text)
        return;
    if (!read_type(type_text, &type, &lanes))
        kiln__diag_add(r->diag, kiln__spec_node_get(node, "Type")->pos, "unknown type '%s'", type_text);
    if (memory && memory->kind == KILN__SCALAR && strcmp(memory->text, "Scalar") == 0) {
        kiln__argument *scalar = &launch->as.launch.args[launch->as.launch.arg_count++];
        *scalar = (kiln__argument){.pos = node->pos, .text = name, .expr = read_scalar(t, node, type)};
        return;
    }
    read_vector(t, node, name, type, lanes);
    if (where && where->kind == KILN__SCALAR && strcmp(where->text, "Constant") == 0) {
        /* the same data is a __constant__ symbol and also an argument */
        kiln__step *symbol = &steps[t->variant->step_count++];
        symbol->kind = KILN__STEP_SYMBOL;
        symbol->pos = node->pos;
        symbol->as.symbol.symbol = symbol->as.symbol.from = name;
    }
    launch->as.launch.args[launch->as.launch.arg_count++] =
        (kiln__argument){.kind = KILN__ARGUMENT_BUFFER, .pos = node->pos, .text = name, .buffer = name};
}

static void read_launch(t1 *t, const kiln__spec_node *kernel)
{
    kiln__reader *r = t->r;
    const kiln__spec_node *arguments = list_of(t, kernel, "Arguments"),
                          *shared = kiln__spec_node_get(kernel, "SharedMemory");
    size_t count = arguments ? arguments->count : 0;
    kiln__step launch = {.kind = KILN__STEP_LAUNCH, .pos = kernel->pos};
    kiln__step *steps = kiln__read_array(r, count + 1, sizeof *steps);
    t->variant->buffers = kiln__read_array(r, count, sizeof *t->variant->buffers);
    launch.as.launch.args = kiln__read_array(r, count, sizeof *launch.as.launch.args);
    if (!steps || !t->variant->buffers || !launch.as.launch.args)
        return;
    const kiln__spec_node *name = kiln__spec_node_get(kernel, "KernelName");
    if (kiln__read_need(r, kernel, "'KernelSpecification'", "KernelName"))
        launch.as.launch.kernel = kiln__read_template(r, name, "'KernelName'");
    for (int axis = 0; axis < 3; axis++) {
        launch.as.launch.block[axis] = read_block(t, kernel, axis);
        launch.as.launch.grid[axis] = read_grid(t, kernel, axis, launch.as.launch.block[axis]);
    }
    if (shared && shared->length > 0)
        launch.as.launch.shared = read_expr(t, shared, "'SharedMemory'");
    for (size_t i = 0; i < count; i++)
        read_argument(t, arguments->items[i], steps, &launch);
    steps[t->variant->step_count++] = launch;
    t->variant->steps = steps;
    r->spec->buffer_count = t->variant->buffer_count;
}

static void read_kernel(t1 *t, const kiln__spec_node *kernel)
{
    kiln__reader *r = t->r;
    const kiln__spec_node *language = kiln__spec_node_get(kernel, "Language");
    if (language && language->kind == KILN__SCALAR && strcmp(language->text, "CUDA") != 0) {
        t->variant->about = kiln__arena_printf(r->arena,
                                               "The kernel is written in %.40s: only the search space can be "
                                               "used.",
                                               language->text);
        return;
    }
    r->spec->source = text_of(t, kernel, "'KernelSpecification'", "KernelFile");
    kiln__spec_node *options = kiln__spec_node_get(kernel, "CompilerOptions");
    t->variant->options = kiln__read_options(r, &options, &t->variant->option_count);
    read_launch(t, kernel);
}

/* Reads the key `Kiln`, which a captured launch adds to a T1 file: data for vectors, and the expected content of
 * outputs. */
static void read_kiln(t1 *t, const kiln__spec_node *map)
{
    static const char *const keys[] = {"Files", "Verify", NULL};
    kiln__reader *r = t->r;
    if (!map || !kiln__read_map_of(r, map, "'Kiln'", keys))
        return;
    const kiln__spec_node *files = kiln__spec_node_get(map, "Files");
    size_t count = kiln__read_entries(r, files, "'Files'");
    for (size_t i = 0; i < count; i++) {
        size_t b = 0;
        while (b < t->variant->buffer_count && strcmp(t->variant->buffers[b].name, files->keys[i]->text) != 0)
            b++;
        if (b == t->variant->buffer_count) {
            kiln__diag_add(r->diag, files->keys[i]->pos, "there is no vector argument '%s'", files->keys[i]->text);
            continue;
        }
        kiln__fill *fill = &t->variant->buffers[b].fill;
        *fill = (kiln__fill){.kind = KILN__FILL_FILE, .pos = files->items[i]->pos};
        fill->text = kiln__read_text(r, files->items[i], "a file");
    }
    kiln__read_verify(r, kiln__spec_node_get(map, "Verify"), t->variant->buffers, t->variant->buffer_count);
}

bool kiln__is_t1(const kiln__spec_node *root)
{
    return kiln__spec_node_get(root, "ConfigurationSpace") && !kiln__spec_node_get(root, "kiln");
}

/* Reads a T1 file: the name, the sizes, the search space, the kernel, and the key `Kiln`. If the file has no kernel,
 * the spec has no steps, and only its search space can be used. */
void kiln__read_t1(kiln__reader *r, const kiln__spec_node *root)
{
    kiln_spec *spec = r->spec;
    const kiln__spec_node *name = kiln__spec_node_get(kiln__spec_node_get(root, "General"), "BenchmarkName");
    const kiln__spec_node *space = kiln__spec_node_get(root, "ConfigurationSpace");
    const kiln__spec_node *kernel = kiln__spec_node_get(root, "KernelSpecification");
    spec->from_t1 = true;
    spec->variants = kiln__read_array(r, 1, sizeof *spec->variants);
    if (!spec->variants)
        return;
    t1 t = {.r = r, .variant = spec->variants};
    t.lists = (kiln__lists){find_list, &t};
    spec->variant_count = 1;
    spec->variants->name = "default";
    spec->variants->about = "";
    spec->variants->contender = true;
    spec->variants->pos = root->pos;
    spec->name = name ? kiln__read_text(r, name, "'BenchmarkName'") : "problem";
    spec->title = spec->name;
    spec->about = "";
    if (space->kind != KILN__MAP) {
        kiln__diag_add(r->diag, space->pos, "'ConfigurationSpace' must be a mapping");
        return;
    }
    read_problem(&t, kiln__spec_node_get(kernel, "ProblemSize"));
    read_space(&t, space);
    if (kernel && kernel->kind != KILN__MAP)
        kiln__diag_add(r->diag, kernel->pos, "'KernelSpecification' must be a mapping");
    else if (kernel)
        read_kernel(&t, kernel);
    else
        spec->variants->about = "The file has no kernel: only the search space can be used.";
    read_kiln(&t, kiln__spec_node_get(root, "Kiln"));
}
