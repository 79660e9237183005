/* write.c - writes a draft as the text of a spec, with comments for the author of the spec. */
#include <string.h>

#include "data.h"
#include "chars.h"
#include "draft.h"
#include "expr.h"

static const char *type_of(const kiln__draft_argument *argument) { return argument->type ? argument->type : "f32"; }

static bool is_output(const kiln__draft_argument *argument)
{
    return argument->role == KILN__ROLE_BUFFER && !argument->constant && (argument->written || !argument->seen);
}

/* Writes the value of a macro: a number, or a text in the quotes of an expression. */
static void write_value(kiln_value value, kiln__text *out)
{
    if (value.kind != KILN_TEXT) {
        kiln__value_print(out, value);
        return;
    }
    kiln__text_puts(out, "\"'");
    for (const char *at = value.as.text; *at; at++) /* escapes characters as YAML requires */
        kiln__text_printf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    kiln__text_puts(out, "'\"");
}

/* Writes the comments at the head of the drafted spec, and the keys before `sizes`. */
static void write_head(const kiln__draft *draft, kiln__text *out)
{
    kiln__text_printf(
        out,
        "# A first spec for kernel %s, written by `kiln init`. It is a guess. Read the comments, first those that "
        "begin with\n# \"check\", and correct the spec. `kiln show FILE` reports mistakes of a spec, `kiln help spec` "
        "explains how to write one.\n",
        draft->kernel->name);
    const size_t kernels = draft->scan->own_kernel_count;
    if (kernels > 1 || (kernels > 0 && draft->kernel->header)) {
        kiln__text_puts(out, "# Other kernels of the file (--kernel NAME):");
        for (size_t i = 0; i < kernels; i++)
            if (&draft->scan->kernels[i] != draft->kernel)
                kiln__text_printf(out, " %s", draft->scan->kernels[i].name);
        kiln__text_puts(out, "\n");
    }
    if (draft->trouble)
        kiln__text_printf(out, "# check: a trial run on the simulated device ended with: %s\n", draft->trouble);
    kiln__text_printf(out, "kiln: 1\nname: %s\nsource: %s\n", draft->name, draft->source);
    const kiln_draft_options *options = draft->options;
    for (size_t i = 0; options && i < options->include_count; i++)
        kiln__text_printf(out, i ? ", \"%s\"" : "include: [\"%s\"", options->includes[i]);
    kiln__text_puts(out, options && options->include_count ? "]\n" : "");
    for (size_t i = 0; options && i < options->option_count; i++)
        kiln__text_printf(out, i ? ", \"%s\"" : "options: [\"%s\"", options->options[i]);
    kiln__text_puts(out, options && options->option_count ? "]\n" : "");
    for (size_t i = 0; options && i < options->define_count; i++) {
        kiln__text_printf(out, "%s%s: ", i ? ", " : "define: {", options->defines[i].name);
        write_value(options->defines[i].value, out);
    }
    kiln__text_puts(out, options && options->define_count ? "}\n\n" : "\n");
}

static void write_sizes(const kiln__draft *draft, kiln__text *out)
{
    bool baked = false;
    kiln__text_puts(
        out, "# The problem's sizes: `default` is for a GPU (check: use the sizes of your program), `tiny` for the "
             "simulated device.\n");
    bool odd = false;
    for (size_t i = 0; i < draft->size_count; i++)
        odd |= draft->sizes[i].odd;
    if (odd)
        kiln__text_puts(out, "# `tiny` has odd sizes, so that kiln check reaches incomplete blocks.\n");
    else if (draft->size_count > 0)
        kiln__text_puts(
            out, "# `tiny` may have whole blocks only. If the kernel takes any size, give `tiny` odd sizes, so that "
                 "kiln check\n# reaches incomplete blocks.\n");
    if (draft->even)
        kiln__text_printf(out, "# A trial run with odd sizes failed: %s\n", draft->even);
    kiln__text_puts(out, "sizes:\n");
    for (int set = 0; set < 2; set++) {
        kiln__text_puts(out, set ? "  tiny: {" : "  default: {");
        for (size_t i = 0; i < draft->size_count; i++)
            kiln__text_printf(out, "%s%s: %lld", i ? ", " : "", draft->sizes[i].name,
                              (long long)(set ? draft->sizes[i].tiny : draft->sizes[i].whole));
        kiln__text_puts(out, "}\n");
    }
    for (size_t i = 0; i < draft->size_count; i++) {
        if (!draft->sizes[i].bake)
            continue;
        kiln__text_printf(out, baked ? ", %s" : "bake: [%s", draft->sizes[i].name);
        baked = true;
    }
    kiln__text_puts(out, baked ? "] # these sizes become macros, because the source uses them as macros\n\n" : "\n");
}

/* Writes the key `where`. The first constraint limits the number of threads in a block to the number in
 * __launch_bounds__, or to the limit of the device. The others are the conditions of static_assert and of the
 * launches. */
static void write_where(const kiln__draft *draft, kiln__text *out)
{
    const kiln__axis *axes = draft->axes;
    int64_t bound = 0;
    size_t factors = 0, conditions = 0;
    bool varies = false,
         bounded = draft->kernel->bounds && kiln__word_whole(draft->scan, draft->kernel->bounds, &bound);
    for (int axis = 0; axis < 3 && axes[axis].used; axis++)
        for (size_t i = 0; i < draft->tunable_count; i++)
            varies |= !draft->tunables[i].size && strstr(axes[axis].block, draft->tunables[i].name);
    if (varies && (bounded || axes[1].used || strpbrk(axes[0].block, "*+/"))) {
        kiln__text_puts(out, "where:\n  - \"");
        conditions++;
        for (int axis = 0; axis < 3 && axes[axis].used; axis++)
            if (strcmp(axes[axis].block, "1") != 0) {
                bool sum = axes[1].used && strpbrk(axes[axis].block, "+-/%<?") && !strchr(axes[axis].block, '(');
                kiln__text_printf(out, sum ? "%s(%s)" : "%s%s", factors++ ? " * " : "", axes[axis].block);
            }
        if (bounded)
            kiln__text_printf(out, " <= %lld\" # its __launch_bounds__\n", (long long)bound);
        else
            kiln__text_puts(out, " <= device.max_threads_per_block\"\n");
    }
    for (size_t i = 0; i < draft->where_count; i++)
        kiln__text_printf(out, "%s  - \"%s\" # %s\n", conditions++ ? "" : "where:\n", draft->wheres[i],
                          draft->where_from[i]);
}

/* Writes the values of a tuning parameter. A value that is neither a number nor a name, such as a type with '::' or
 * '<', gets quotes of YAML. */
static void write_values(const kiln__draft *draft, const char *values, kiln__text *out)
{
    const char *value = NULL, *between = "";
    while ((value = kiln__next_value(draft, &values)) != NULL) {
        bool plain = *value == '"' || *value == '\'';
        size_t length = plain ? 0 : strlen(value);
        for (plain = true; length > 0 && plain; length--)
            plain = kiln__is_word_part(value[length - 1]) || strchr("+-.", value[length - 1]);
        kiln__text_printf(out, plain ? "%s%s" : "%s'%s'", between, value);
        between = ", ";
    }
}

/* Writes the section `params` with a comment for each tuning parameter. Another comment lists the other macros that the
 * source defines as integers. */
static void write_params(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (tunable->size)
            continue;
        if (first)
            kiln__text_puts(
                out,
                "# The tuning parameters and the values to try. Each parameter is a macro of the source.\nparams:\n");
        first = false;
        const bool single = strcmp(tunable->values, tunable->chosen) == 0;
        kiln__text_printf(out, single ? "  %s: [" : "  %s: {values: [", tunable->name);
        write_values(draft, tunable->values, out);
        kiln__text_puts(out, single ? "]" : "], default: ");
        if (!single) {
            write_values(draft, tunable->chosen, out);
            kiln__text_puts(out, "}");
        }
        if (tunable->kind == KILN__TUNABLE_TEMPLATE)
            kiln__text_printf(out, " # the template's %s; a param %s would replace that word in the source",
                              tunable->source, tunable->source);
        else if (tunable->kind == KILN__TUNABLE_THREADS)
            kiln__text_puts(out, " # the block's threads, which the source takes from blockDim");
        else if (tunable->kind == KILN__TUNABLE_BLOCKS)
            kiln__text_puts(out, " # the grid's blocks, which the source takes from gridDim");
        if (tunable->why)
            kiln__text_printf(out, "%s%s", tunable->kind == KILN__TUNABLE_MACRO ? " # " : "; ", tunable->why);
        kiln__text_puts(out, "\n");
        for (const char *at = tunable->left_out; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
            kiln__text_printf(out, "    # left out, because a trial run failed: %.*s\n", (int)strcspn(at, "\n"), at);
    }
    if (draft->untried)
        kiln__text_puts(out, "  # check: not every value above was tried, because the trials have a limit\n");
    kiln__text_puts(
        out,
        first ? "# No tuning parameters were found. A name in capitals becomes a param if the source uses it and does "
                "not define it.\n"
              : "");
    write_where(draft, out);
    bool hints = false;
    for (size_t i = 0; i < draft->scan->macro_count; i++) {
        const kiln__macro *macro = &draft->scan->macros[i];
        int64_t value;
        if (macro->from >= draft->scan->own || macro->function || macro->to != macro->from + 1 ||
            !kiln__word_whole(draft->scan, macro->from, &value) || kiln__tunable_find(draft, macro->name))
            continue;
        kiln__text_printf(out,
                          hints ? ", %s" : "# A param replaces a #define of the same name. The source also defines: %s",
                          macro->name);
        hints = true;
    }
    kiln__text_puts(out, hints ? "\n\n" : "\n");
}

static void write_fill(const kiln__draft *draft, const kiln__draft_argument *argument, kiln__text *out)
{
    kiln_type type;
    bool chosen = !kiln__type_named(type_of(argument), &type); /* true if a tuning parameter chooses the type */
    (void)draft;
    if (argument->odd || argument->unwritten || argument->partly || (argument->atomic && !argument->constant))
        kiln__text_puts(out, ", fill: 0");
    else if (kiln__is_offsets(argument))
        kiln__text_puts(out, ", fill: {iota: [0]}");
    else if (argument->floating && !chosen)
        kiln__text_puts(out, ", fill: {uniform: [-1, 1]}");
    else
        kiln__text_printf(out, ", fill: {uniform: [0, %s]}", chosen ? "1" : "15");
}

/* Writes the section `buffers`: the type, shape and fill of each array. A comment has its declaration in the source and
 * the guess that the author should check. */
static void write_buffers(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->argument_count; i++) {
        const kiln__draft_argument *argument = &draft->arguments[i];
        if (argument->role != KILN__ROLE_BUFFER)
            continue;
        if (first)
            kiln__text_puts(
                out, draft->tried ? "# The arrays. Shapes are from a run with the tiny sizes (check them).\nbuffers:\n"
                                  : "# The arrays (check their shapes).\nbuffers:\n");
        first = false;
        bool output = is_output(argument);
        kiln__text_printf(out, "  %s: {type: %s, shape: [%s]", argument->name, type_of(argument), argument->shape);
        if (!output || argument->read || argument->atomic || argument->unwritten || argument->partly || !argument->seen)
            write_fill(draft, argument, out);
        kiln__text_printf(
            out, "%s} # %s%s%s%s\n", output ? ", out: true" : "", argument->declared,
            argument->cast ? "; the kernel casts it to " : "", argument->cast ? argument->cast : "",
            argument->untyped ? "; check: no cast in the kernel shows the type of the elements: give it (type: f32), "
                                "or these are bytes"
            : argument->symbol && !argument->odd ? "; copied to this variable before each run"
            : argument->odd && !output
                ? "; check: a spec has no such type, so these are bytes, all zero: give a content"
            : argument->odd ? "; check: a spec has no such type, so these are bytes"
            : argument->same && output
                ? "; check: a run wrote the same value everywhere, so a comparison proves little: give inputs with "
                  "differing values"
            : argument->beyond                      ? "; check: with fewer elements, a run went past the end"
            : argument->unwritten                   ? "; check: a run did not write it, so it begins with 0"
            : argument->partly                      ? "; check: a run wrote only some of it, so it begins with 0"
            : argument->atomic && output            ? "; check: atomics add to it, so it begins with 0"
            : !argument->seen && draft->tried       ? "; check: the run did not use it"
            : !argument->constant && !output        ? "; only read"
            : kiln__is_offsets(argument) && !output ? "; check: these offsets grow by one"
            : !argument->floating && !output ? "; check: these numbers are made up, and indices usually need real data"
                                             : "");
    }
    kiln__text_puts(out, first ? "" : "\n");
}

/* Writes the key `metrics` as a comment. It counts the bytes of each array once, if the type of the array is known. */
static void write_metrics(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->argument_count; i++) {
        const kiln__draft_argument *argument = &draft->arguments[i];
        kiln_type type;
        if (argument->role != KILN__ROLE_BUFFER || argument->symbol || (draft->tried && !argument->seen) ||
            !kiln__type_named(type_of(argument), &type))
            continue;
        kiln__text_puts(
            out, first ? "# For GB/s and GFLOP/s (check: each array counts once; give the operations of a run):\n"
                         "# metrics: {bytes: \""
                       : " + ");
        kiln__text_printf(out, strpbrk(argument->shape, "+-/%?<") ? "%zu * (%s)" : "%zu * %s", kiln__type_bytes(type),
                          argument->shape);
        first = false;
    }
    kiln__text_puts(out, first ? "" : "\", flops: 0}\n\n");
}

/* Returns true if the output has the same shape in every configuration. */
static bool is_comparable(const kiln__draft *draft, const kiln__draft_argument *argument)
{
    for (size_t i = 0; i < draft->tunable_count; i++)
        if (!draft->tunables[i].size && strcmp(draft->tunables[i].values, draft->tunables[i].chosen) != 0 &&
            kiln__mentions(argument->shape, draft->tunables[i].name))
            return false;
    return true;
}

bool kiln__draft_compares(const kiln__draft *draft)
{
    for (size_t i = 0; i < draft->argument_count; i++)
        if (is_output(&draft->arguments[i]) && is_comparable(draft, &draft->arguments[i]))
            return true;
    return false;
}

/* Writes the key `before_each`, which copies buffers to variables of the source. The time of a run does not include
 * these copies. */
static void write_symbols(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->argument_count; i++) {
        if (!draft->arguments[i].symbol)
            continue;
        kiln__text_puts(out, first ? "before_each:\n" : "");
        kiln__text_printf(out, "  - symbol: {name: \"%s\", from: %s}\n", draft->arguments[i].symbol,
                          draft->arguments[i].name);
        first = false;
    }
    kiln__text_puts(out, first ? "" : "\n");
}

static void write_verify(const kiln__draft *draft, kiln__text *out)
{
    bool first = true;
    for (size_t i = 0; i < draft->argument_count; i++) {
        if (!is_output(&draft->arguments[i]))
            continue;
        if (!is_comparable(draft, &draft->arguments[i])) {
            kiln__text_printf(out, "# check: the extent of '%s' depends on params, so it cannot be compared.\n",
                              draft->arguments[i].name);
            continue;
        }
        if (first)
            kiln__text_puts(
                out,
                "# There is no reference. kiln compares each answer with the answer of the default configuration, so "
                "it "
                "does not\n"
                "# find a mistake that all configurations make. Better: {against: {file: want.npy}} or\n"
                "# {against: {host: FUNCTION}} (kiln help hosts).\n"
                "verify:\n");
        first = false;
        kiln__text_printf(out, "  %s: {against: {variant: default}}\n", draft->arguments[i].name);
    }
    kiln__text_puts(
        out, first ? "# check: no answer is verified. To verify one, give a buffer `out: true`, and add `verify`.\n\n"
                   : "\n");
}

/* Returns the name of a CUDA vector type, such as "float4". */
static const char *vector_name(const kiln__draft *draft, const kiln__draft_argument *argument)
{
    static const char *const names[][2] = {{"f32", "float"}, {"f64", "double"}, {"f16", "half"}, {"i32", "int"},
                                           {"u32", "uint"},  {"i8", "char"},    {"u8", "uchar"}};
    for (size_t i = 0; i < KILN__COUNT(names) && argument->lanes > 1; i++)
        if (strcmp(names[i][0], type_of(argument)) == 0)
            return kiln__arena_printf(draft->arena, "%s%d", names[i][1], argument->lanes);
    return type_of(argument);
}

/* Writes a field that is a CUDA vector or an array, such as [float4, 1.5, 1.5, 1.5, 1.5]. */
static void write_field(const kiln__draft *draft, const kiln__draft_argument *field, kiln__text *out)
{
    const char *type = vector_name(draft, field);
    kiln__text_printf(out, "[%s", type ? type : "");
    for (uint64_t i = 0; i < field->count * (uint64_t)field->lanes; i++)
        kiln__text_printf(out, ", %s", field->role == KILN__ROLE_SIZE ? field->name : field->floating ? "1.5" : "1");
    kiln__text_puts(out, "]");
}

/* Writes one argument of the launch: a buffer, a list of pointers, a number, bytes, or a structure with its fields. */
static void write_argument(const kiln__draft *draft, size_t number, kiln__text *out)
{
    const kiln__draft_argument *argument = &draft->arguments[number];
    bool first = true;
    if (argument->given) {
        kiln__text_puts(out, argument->given);
    } else if (argument->role == KILN__ROLE_BUFFER && argument->indirect) {
        kiln__text_printf(out, "{pointers: [%s]}", argument->name);
    } else if (argument->role == KILN__ROLE_SCALAR) {
        kiln__text_puts(out, argument->floating ? kiln__guess_scalar(argument->name) : "1");
    } else if (argument->role == KILN__ROLE_BYTES) {
        kiln__text_puts(out, "{bytes: \"");
        for (uint64_t i = 0; i < argument->bytes; i++)
            kiln__text_puts(out, i ? " 00" : "00");
        kiln__text_puts(out, "\"}");
    } else if (argument->role == KILN__ROLE_STRUCT && argument->type) {
        kiln__text_printf(out, "{struct: {%s: ", argument->name);
        write_field(draft, argument, out);
        kiln__text_puts(out, "}}");
    } else if (argument->role == KILN__ROLE_STRUCT) {
        for (size_t i = 0; i < draft->argument_count; i++) {
            const kiln__draft_argument *field = &draft->arguments[i];
            if (field->parent != number + 1)
                continue;
            kiln__text_printf(out, first ? "{struct: {%s: " : ", %s: ", field->name);
            if (field->role == KILN__ROLE_BUFFER)
                write_argument(draft, i, out);
            else
                write_field(draft, field, out);
            first = false;
        }
        kiln__text_puts(out, "}}");
    } else {
        kiln__text_puts(out, argument->name);
    }
}

static bool is_unsure(const kiln__draft_argument *argument)
{
    return (argument->role == KILN__ROLE_SCALAR && !argument->given) || argument->role == KILN__ROLE_BYTES ||
           argument->indirect || (argument->role == KILN__ROLE_STRUCT && argument->type);
}

static void write_arguments(const kiln__draft *draft, kiln__text *out)
{
    kiln__text_puts(out, "  args: [");
    for (size_t i = 0; i < draft->argument_count && draft->arguments[i].parent == 0; i++) {
        kiln__text_puts(out, i ? ", " : "");
        write_argument(draft, i, out);
    }
    kiln__text_puts(out, "]");
    bool first = true;
    for (size_t i = 0; i < draft->argument_count; i++) {
        if (!is_unsure(&draft->arguments[i]))
            continue;
        kiln__text_printf(out, "%s %s", first ? " # check:" : ",", draft->arguments[i].name);
        first = false;
    }
    kiln__text_puts(out, "\n");
}

static void write_launch(const kiln__draft *draft, kiln__text *out)
{
    bool first = true, certain = true;
    if (draft->host.found && draft->host.at < draft->scan->own)
        kiln__text_printf(out, "# The launch, from line %u of the source.\nlaunch:\n  kernel: ", draft->host.line);
    else if (draft->host.found && draft->nearby)
        kiln__text_printf(
            out, "# The launch, from %s (`--launch FILE` chooses another file).\nlaunch:\n  kernel: ", draft->nearby);
    else if (draft->host.found)
        kiln__text_puts(out, "# The launch, from the host code.\nlaunch:\n  kernel: ");
    else
        kiln__text_puts(out, "# The launch (check grid and block: they are read from the use of blockIdx, blockDim and "
                             "threadIdx).\nlaunch:\n  kernel: ");
    for (size_t i = 0; i < draft->kernel->template_count; i++) {
        const kiln__tunable *tunable = kiln__tunable_find(draft, draft->kernel->templates[i].name);
        const kiln__tree *tree = kiln__template_tree(draft, i);
        const char *text = tunable ? tunable->name : tree ? kiln__tree_text(draft, tree) : NULL;
        if (text)
            kiln__text_printf(out, first ? "\"%s<{%s}" : "%s, {%s}", first ? draft->kernel->name : "", text);
        first = first && !text;
    }
    kiln__text_printf(out, "%s", first ? draft->kernel->name : ">\"");
    if (draft->unread)
        kiln__text_printf(out, "\n  # check: %s", draft->unread);
    for (int axis = 0; axis < 3 && draft->axes[axis].used; axis++) {
        if (!draft->axes[axis].doubt || (axis && draft->axes[axis].doubt == draft->axes[axis - 1].doubt))
            continue;
        kiln__text_printf(out, "%s%c: %s", certain ? "\n  # check: the grid is not certain; " : "; ", "xyz"[axis],
                          draft -> axes[axis].doubt);
        certain = false;
    }
    kiln__text_puts(out, certain ? "\n"
                                 : "\n  # Set it to the number of blocks that your program launches, <<<grid, "
                                   "block>>>, from sizes and params.\n");
    for (int block = 0; block < 2; block++) {
        kiln__text_puts(out, block ? "]\n  block: [" : "  grid: [");
        for (int axis = 0; axis < 3 && draft->axes[axis].used; axis++)
            kiln__text_printf(out, "%s%s", axis ? ", " : "", block ? draft->axes[axis].block : draft->axes[axis].grid);
    }
    kiln__text_puts(out, "]\n");
    const kiln__scan *scan = draft->scan;
    if (draft->shared)
        kiln__text_printf(out, "  shared: %s\n", draft->shared);
    for (size_t i = draft->kernel->body_from; i + 3 < draft->kernel->body_to && !draft->shared; i++)
        if (kiln__word_is(scan, i, "extern") &&
            (kiln__word_is(scan, i + 1, "__shared__") || kiln__word_is(scan, i + 2, "__shared__") ||
             /* the declaration may be extern unsigned int __shared__ x[] */
             kiln__word_is(scan, i + 3, "__shared__"))) {
            kiln__text_printf(out, "  shared: %u * %s%s%s # check: bytes of the extern __shared__ array%s\n",
                              draft->shared_each ? draft->shared_each : KILN__SHARED_EACH, draft->axes[0].block,
                              draft->axes[1].used ? " * " : "", draft->axes[1].used ? draft->axes[1].block : "",
                              draft->shared_each ? "; a run used more than half of it" : "");
            break;
        }
    if (kiln__words_have(scan, draft->kernel->body_from, draft->kernel->body_to, "this_grid"))
        kiln__text_puts(out, "  cooperative: true # the grid synchronises: check that all its blocks fit at once\n");
    for (size_t i = 0; i < draft->argument_count; i++)
        if (strstr(draft->arguments[i].declared, "cudaTextureObject_t"))
            kiln__text_printf(out,
                              "  # check: '%s' is a texture object: add a buffer with its content, and write {texture: "
                              "BUFFER} for its 1\n  # below, with its other keys (`kiln spec`).\n",
                              draft->arguments[i].name);
    write_arguments(draft, out);
}

void kiln__draft_write(const kiln__draft *draft, kiln__text *out)
{
    write_head(draft, out);
    write_sizes(draft, out);
    write_params(draft, out);
    write_buffers(draft, out);
    write_metrics(draft, out);
    write_symbols(draft, out);
    kiln__draft_write_contract(draft, out);
    write_verify(draft, out);
    write_launch(draft, out);
}
