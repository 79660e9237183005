/* init_signature.c - kiln init SIGNATURE: drafts a contract (the description of a problem for `kiln judge`) from the
 * signature of a function on arrays, in the notation of PyTorch.
 *
 *     signature = ["def"] NAME "(" argument, ... ")" "->" (array | "(" [NAME ":"] array, ... ")") [":"]
 *     argument  = NAME ":" array | NAME ":" ("float" | "int") ["=" NUMBER]
 *     array     = TYPE "[" (SIZE | NUMBER), ... "]"
 *
 * The spec launches one thread for each element of the first output. The command also writes a kernel to a file beside
 * the spec. This kernel is the reference, whose computation the author must add. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "init.h"

enum { MOST_PARTS = 32, MOST_DIMS = 8 };

/* The table of element types. One row of the table: X(Kiln's name, PyTorch's name, C's name, whether the type is a
 * floating-point type) */
#define TYPES(X)                                                                                                       \
    X("f32", "float32", "float", true)                                                                                 \
    X("f32", "Tensor", "float", true)                                                                                  \
    X("f64", "float64", "double", true)                                                                                \
    X("f16", "float16", "__half", true)                                                                                \
    X("bf16", "bfloat16", "__nv_bfloat16", true)                                                                       \
    X("i64", "int64", "long long", false)                                                                              \
    X("i32", "int32", "int", false)                                                                                    \
    X("i16", "int16", "short", false)                                                                                  \
    X("i8", "int8", "signed char", false)                                                                              \
    X("u8", "uint8", "unsigned char", false)                                                                           \
    X("u32", "uint32", "unsigned", false)                                                                              \
    X("u64", "uint64", "unsigned long long", false)

typedef struct type {
    const char *kiln, *torch, *c;
    bool real;
} type;

/* One argument or one output of the signature. */
typedef struct part {
    const char *name, *value; /* `value` is the default value of a number, as a text */
    const type *type;         /* the element type of an array; NULL means that the part is a number */
    bool whole;               /* true: the number is an integer */
    const char *dims[MOST_DIMS];
    size_t dim_count;
} part;

typedef struct signature {
    cli *c;
    const char *text, *at, *name;
    part parts[MOST_PARTS]; /* all arguments, followed by all outputs */
    size_t argument_count, count;
    const char *sizes[MOST_PARTS];
    size_t size_count;
    int code; /* the exit code of the first error; 0 means no error */
} signature;

/* ---- reading ---- */

static void fail(signature *s, const char *wanted)
{
    if (!s->code)
        s->code = cli_usage(s->c,
                            "the signature needs %s at '%.20s'. An example: 'scale(x: f32[N], a: float) -> f32[N]'",
                            wanted, s->at);
}

static bool take(signature *s, const char *text)
{
    s->at += strspn(s->at, " \t\n");
    if (strncmp(s->at, text, strlen(text)) != 0)
        return false;
    s->at += strlen(text);
    return true;
}

/* Takes a name, or a number without a sign if `numbers` is true. If the text has no such word, the function notes an
 * error and returns "". */
static const char *take_word(signature *s, bool numbers, const char *wanted)
{
    s->at += strspn(s->at, " \t\n");
    size_t length = 0;
    while (isalnum((unsigned char)s->at[length]) || s->at[length] == '_')
        length++;
    if (length == 0 || (!numbers && isdigit((unsigned char)*s->at))) {
        fail(s, wanted);
        return "";
    }
    s->at += length;
    return cli_strndup(s->at - length, length);
}

/* Takes the default value of a number, such as 8, -0.5 or 1e-5. An integer must have no fraction and no exponent. */
static const char *take_value(signature *s, bool whole)
{
    static const char digits[] = "0123456789";
    s->at += strspn(s->at, " \t\n");
    const char *begin = s->at, *at = begin + (*begin == '-');
    size_t count = strspn(at, digits);
    at += count;
    if (!whole && *at == '.') {
        const size_t behind = strspn(at + 1, digits);
        count += behind;
        at += 1 + behind;
    }
    if (!whole && count && (*at == 'e' || *at == 'E')) {
        at += 1 + (at[1] == '-' || at[1] == '+');
        count = strspn(at, digits);
        at += count;
    }
    if (count == 0 || isalnum((unsigned char)*at) || *at == '_' || *at == '.') {
        fail(s, whole ? "an integer" : "a number");
        return "0";
    }
    s->at = at;
    return cli_strndup(begin, (size_t)(at - begin));
}

static const type *find_type(const char *name)
{
    static const type types[] = {
#define CLI_X(kiln, torch, c, real) {kiln, torch, c, real},
        TYPES(CLI_X)
#undef CLI_X
    };
    for (size_t i = 0; i < CLI_COUNT(types); i++)
        if (strcmp(types[i].kiln, name) == 0 || strcmp(types[i].torch, name) == 0)
            return &types[i];
    return NULL;
}

static void add_size(signature *s, const char *name)
{
    for (size_t i = 0; i < s->size_count; i++)
        if (strcmp(s->sizes[i], name) == 0)
            return;
    if (isdigit((unsigned char)*name))
        return;
    if (s->size_count == MOST_PARTS)
        fail(s, "at most 32 sizes");
    else
        s->sizes[s->size_count++] = name;
}

/* Reads the type of an argument or output, with the extents of an array. If `numbers` is true, the type may also be the
 * type of a number. */
static void read_type(signature *s, part *p, bool numbers)
{
    const char *word = take_word(s, false, "a type");
    p->whole = strcmp(word, "int") == 0;
    if (numbers && (p->whole || strcmp(word, "float") == 0)) {
        p->value = take(s, "=") ? take_value(s, p->whole) : "1";
        return;
    }
    p->type = find_type(word);
    if (!p->type)
        fail(s, "a type such as f32 or float16 before");
    if (!take(s, "["))
        fail(s, "'[' and the extents of the array");
    while (!s->code) {
        const char *extent = take_word(s, true, "an extent, which is a name or a number,");
        const bool named = isalpha((unsigned char)*extent) || *extent == '_';
        if (!named && strspn(extent, "0123456789") != strlen(extent))
            fail(s, "a whole number before");
        if (p->dim_count == MOST_DIMS)
            fail(s, "at most 8 extents");
        else
            p->dims[p->dim_count++] = extent;
        add_size(s, extent);
        if (!take(s, ","))
            break;
    }
    if (!s->code && !take(s, "]"))
        fail(s, "']'");
}

static part *add_part(signature *s)
{
    if (s->count == MOST_PARTS - 1)
        fail(s, "at most 30 arrays and numbers");
    return &s->parts[s->count < MOST_PARTS - 1 ? s->count++ : s->count];
}

/* Reads the output arrays, which stand behind the arrow. An array without a name is called `out`. */
static void read_outputs(signature *s)
{
    const bool list = take(s, "(");
    do {
        part *p = add_part(s);
        const char *begin = s->at, *word = take_word(s, false, "an array");
        p->name = word;
        if (!take(s, ":") || !list) {
            s->at = begin;
            p->name = s->count - s->argument_count == 1 ? "out" : cli_printf("out%zu", s->count - s->argument_count);
        }
        read_type(s, p, false);
    } while (!s->code && list && take(s, ","));
    if (!s->code && list && !take(s, ")"))
        fail(s, "')'");
}

/* Notes an error if two parts or sizes have the same name, or if a name is the kernel's variable `i`. */
static void check_names(signature *s)
{
    const size_t count = s->count + s->size_count;
    for (size_t i = 0; i < count && !s->code; i++) {
        const char *name = i < s->count ? s->parts[i].name : s->sizes[i - s->count];
        bool twice = strcmp(name, "i") == 0;
        for (size_t k = 0; k < i && !twice; k++)
            twice = strcmp(name, k < s->count ? s->parts[k].name : s->sizes[k - s->count]) == 0;
        if (twice)
            s->code = cli_usage(s->c,
                                "the signature needs another name for one '%s': each argument, output and size has its "
                                "own name, 'out' is an output without a name, and 'i' is the number of an element",
                                name);
    }
}

static void read_signature(signature *s)
{
    take(s, "def ");
    s->name = take_word(s, false, "a name");
    if (!take(s, "("))
        fail(s, "'('");
    while (!s->code && !take(s, ")")) {
        part *p = add_part(s);
        p->name = take_word(s, false, "the name of an argument");
        if (!take(s, ":"))
            fail(s, "':' and a type");
        read_type(s, p, true);
        if (!take(s, ",") && *s->at != ')')
            fail(s, "',' or ')'");
    }
    s->argument_count = s->count;
    if (!s->code && !take(s, "->"))
        fail(s, "'->' and the arrays of the answer");
    if (!s->code)
        read_outputs(s);
    take(s, ":");
    s->at += strspn(s->at, " \t\n");
    if (!s->code && *s->at)
        fail(s, "its end");
    check_names(s);
}

/* ---- writing ---- */

static char *join(char *text, const char *more) { return cli_printf("%s%s", text, more); }

/* Returns the number of elements of an array as an expression of the spec: "M * N". */
static const char *count_elements(const part *p)
{
    char *text = cli_printf("%s", p->dims[0]);
    for (size_t i = 1; i < p->dim_count; i++)
        text = cli_printf("%s * %s", text, p->dims[i]);
    return text;
}

static char *write_sizes(const signature *s, char *text)
{
    for (int set = 0; set < 2; set++) {
        text = join(text, set ? "  tiny: {" : "sizes: # check: use the sizes of your program\n  default: {");
        for (size_t i = 0; i < s->size_count; i++)
            text = cli_printf("%s%s%s: %zu", text, i ? ", " : "", s->sizes[i],
                              set                  ? 17 + 16 * i
                              : s->size_count == 1 ? (size_t)1 << 20
                              : s->size_count == 2 ? 1024
                                                   : 128);
        text = join(text, "}\n");
    }
    return text;
}

static char *write_buffers(const signature *s, char *text)
{
    text = join(text, "\nbuffers:\n");
    for (size_t i = 0; i < s->count; i++) {
        const part *p = &s->parts[i];
        if (!p->type)
            continue;
        text = cli_printf("%s  %s: {type: %s, shape: [", text, p->name, p->type->kiln);
        for (size_t d = 0; d < p->dim_count; d++)
            text = cli_printf("%s%s%s", text, d ? ", " : "", p->dims[d]);
        text = join(text, i >= s->argument_count ? "], out: true}\n"
                          : p->type->real        ? "], fill: {uniform: [-1, 1]}}\n"
                                                 : "], fill: {uniform: [0, 15]}} # check: the values that occur\n");
    }
    return text;
}

/* Returns the text of the spec: the contract, and a launch of one thread for each element of the first output. */
static char *write_spec(const signature *s)
{
    const part *out = &s->parts[s->argument_count];
    char *text = cli_printf("# The contract of %s for `kiln judge`, written by `kiln init`. %s.cu has the reference.\n"
                            "kiln: 1\nname: %s\nsource: %s.cu\n\n",
                            s->name, s->name, s->name, s->name);
    text = write_buffers(s, write_sizes(s, text));
    if (s->size_count)
        text = join(
            text,
            "\n# The sizes that a kernel must handle (check). An input may have a range of values too: x: {from: -10, to: "
            "10}.\njudge:\n");
    for (size_t i = 0; i < s->size_count; i++)
        text = cli_printf("%s  %s: {from: 1, to: %d}\n", text, s->sizes[i], s->size_count == 1 ? 1 << 20 : 4096);
    text = join(text, "\nverify: # check: if rtol and atol are missing, the default tolerances of the types apply\n");
    for (size_t i = s->argument_count; i < s->count; i++)
        text = cli_printf("%s  %s: {against: {variant: reference}}\n", text, s->parts[i].name);
    char *launch = cli_printf("launch: {kernel: %s, grid: [\"ceil_div(%s, 256)\"], block: [256], args: [", s->name,
                              count_elements(out));
    for (size_t i = 0; i < s->count; i++)
        launch = cli_printf("%s%s%s", launch, i ? ", " : "", s->parts[i].type ? s->parts[i].name : s->parts[i].value);
    for (size_t i = 0; i < s->size_count; i++)
        launch = cli_printf("%s, %s", launch, s->sizes[i]);
    return cli_printf(
        "%s\n# check: candidates get this launch\nvariants:\n  kernel:\n    %s]}\n  reference:\n    contender: "
        "false\n    %s]}\n",
        text, launch, launch);
}

static bool has_type(const signature *s, const char *kiln)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->parts[i].type && strcmp(s->parts[i].type->kiln, kiln) == 0)
            return true;
    return false;
}

/* Returns the source of the reference kernel. This source does not compile until the author has added the computation,
 * so that no spec has an empty reference. */
static char *write_kernel(const signature *s)
{
    const part *out = &s->parts[s->argument_count];
    char *text = cli_printf(
        "// %s.cu - the reference of %s.yaml. It may be slow: an element a thread, sums in double precision.\n%s%s"
        "extern \"C\" __global__ void %s(",
        s->name, s->name, has_type(s, "f16") ? "#include <cuda_fp16.h>\n" : "",
        has_type(s, "bf16") ? "#include <cuda_bf16.h>\n" : "", s->name);
    for (size_t i = 0; i < s->count; i++) {
        const part *p = &s->parts[i];
        text = p->type ? cli_printf("%s%s%s%s *%s", text, i ? ", " : "", i < s->argument_count ? "const " : "",
                                    p->type->c, p->name)
                       : cli_printf("%s%s%s %s", text, i ? ", " : "", p->whole ? "long long" : "float", p->name);
    }
    for (size_t i = 0; i < s->size_count; i++)
        text = cli_printf("%s, long long %s", text, s->sizes[i]);
    return cli_printf("%s)\n{\n    const long long i = blockIdx.x * 256ll + threadIdx.x; // an element of '%s'\n"
                      "    if (i >= %s)\n        return;\n"
                      "#error \"write the answer, %s[i] = ..., and delete this line\"\n}\n",
                      text, out->name, count_elements(out), out->name);
}

bool init_is_signature(const char *text) { return strchr(text, '(') && strstr(text, "->"); }

int init_from_signature(cli *c, const char *text, const char *to, const char *folder)
{
    signature s = {.c = c, .text = text, .at = text};
    struct stat there;
    read_signature(&s);
    if (s.code)
        return s.code;
    const char *spec = write_spec(&s), *kernel = write_kernel(&s), *path = cli_printf("%s/%s.cu", folder, s.name);
    if (!to && !c->output.json)
        out_printf("%s\n# kiln init with -o FILE.yaml also writes %s.cu, the frame of the reference.\n", spec, s.name);
    if (to && lstat(path, &there) == 0)
        return cli_fail(c, KILN_ERROR_IO, "%s exists already, and kiln init does not overwrite it", path);
    int code = to ? cli_write_file(c, to, spec, strlen(spec)) : 0;
    if (to && !code)
        code = cli_write_file(c, path, kernel, strlen(kernel));
    if (c->output.json && !code) {
        json_t *object = js_object();
        js_set(object, "spec", js_text(spec));
        js_set(object, "kernel", js_text(kernel)); /* the spec names this file */
        js_set(object, "file", to ? js_text(to) : json_null());
        js_print(object);
    } else if (to && !code)
        out_printf("%s and %s are written. Write the answer in %s, then: kiln judge %s --candidate FILE.cu\n", to, path,
                   path, cli_shell_word(to));
    return code;
}
