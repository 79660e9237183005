/* probe.c - learns from the compiler which names a source does not define, and the types of a kernel's parameters. */
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "draft.h"
#include "engine.h"
#include "expr.h"

enum { MOST_ROUNDS = 24, MOST_STRUCT = 1024 };

/* The text that is put before the source: templates whose mangled names contain the type and the size of one kernel
 * parameter. Each declaration contains __device__, because a worker may remove declarations without such a word as host
 * code. The text comes before the #line of the source. So a worker can remember from compile to compile which host code
 * it removed. */
static const char probe_text[] =
    "template <int kiln_n, class kiln_f> struct kiln_nth { __device__ void kiln_d(); };\n"
    "template <class kiln_a, class... kiln_b> struct kiln_nth<0, void (*)(kiln_a, kiln_b...)> "
    "{ typedef kiln_a type; __device__ void kiln_d(); };\n"
    "template <int kiln_n, class kiln_a, class... kiln_b> struct kiln_nth<kiln_n, void (*)(kiln_a, kiln_b...)> "
    ": kiln_nth<kiln_n - 1, void (*)(kiln_b...)> { __device__ void kiln_e(); };\n"
    "template <class kiln_t> __global__ void kiln_probe() {}\n"
    "template <unsigned long long kiln_s> __global__ void kiln_size() {}\n";

/* Lists the macros of the draft: first the definitions of the options, then the guessed tuning parameters and sizes. */
static kiln__prelude_macro *list_macros(const kiln__draft *draft, size_t *count)
{
    const size_t most = draft->options->define_count + draft->tunable_count;
    kiln__prelude_macro *macros = kiln__arena_alloc(draft->arena, (most + 1) * sizeof *macros);
    *count = 0;
    for (size_t i = 0; macros && i < draft->options->define_count; i++) {
        kiln__text value = {.mem = draft->mem};
        kiln__value_print(&value, draft->options->defines[i].value);
        macros[(*count)++] = (kiln__prelude_macro){draft->options->defines[i].name,
                                                   kiln__arena_strdup(draft->arena, kiln__text_get(&value))};
        kiln__text_free(&value);
    }
    for (size_t i = 0; macros && i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (tunable->kind == KILN__TUNABLE_MACRO)
            macros[(*count)++] = (kiln__prelude_macro){
                tunable->source,
                tunable->size ? kiln__arena_printf(draft->arena, "%lld", (long long)tunable->number) : tunable->chosen};
    }
    return macros;
}

/* Writes the text for the compiler as a sweep does: the CUDA headers at the beginning of the source come before the
 * macros. Therefore the macros cannot disturb the headers, and the headers are precompiled once for the draft, its
 * trial runs and the first sweep. */
static kiln_status fill(kiln_engine *engine, const kiln__draft *draft, kiln__includes *includes, const char *headers,
                        const char *before, kiln__text *out, kiln__compile_request *request, kiln_error **error)
{
    const char *const *prelude = NULL, *slash = strrchr(draft->path, '/');
    size_t count = 0, prelude_count = 0;
    uint64_t first = 0;
    kiln__prelude_macro *macros = list_macros(draft, &count);
    if (!macros || draft->arena->failed)
        return kiln__fail_memory(error);
    KILN__TRY(kiln__definitions_replace(engine->mem, draft->arena, includes, macros, count, error));
    request->includes = includes->items;
    KILN__TRY(kiln__prelude_find(engine->nvrtc, draft->arena, includes, &prelude, &prelude_count, error));
    if (prelude_count > 0 && *headers)
        KILN__TRY(kiln__prelude_write(engine->nvrtc, prelude, prelude_count, macros, count, out, &first, error));
    request->prelude = out->length;
    request->headers = headers;
    request->header_names = includes->others;
    request->header_name_count = includes->other_count;
    for (size_t i = 0; i < count; i++)
        if (out->length == 0 || !(first >> i & 1))
            kiln__text_printf(out, "#define %s %s\n", macros[i].name, macros[i].value);
    kiln__text_printf(out, "%s#line 1 \"%s\"\n%s\n", before, slash ? slash + 1 : draft->path, includes->source);
    return out->failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Returns the name of an instance of the kernel, such as "tile<16, float>". If the launch computes a template argument
 * from sizes, each size has the value 256 here, because the sizes are not known yet. */
static const char *instance(const kiln__draft *draft)
{
    const char *name = draft->kernel->name, *arguments = NULL;
    for (size_t i = 0; i < draft->kernel->template_count; i++) {
        const kiln__tunable *tunable = kiln__tunable_find(draft, draft->kernel->templates[i].name);
        const char *text = tunable ? tunable->chosen : NULL;
        int64_t value;
        const kiln__tree *tree = kiln__template_tree(draft, i);
        if (!tunable && tree && kiln__tree_value(draft, tree, false, 256, &value))
            text = kiln__arena_printf(draft->arena, "%lld", (long long)value);
        if (text)
            arguments = arguments ? kiln__arena_printf(draft->arena, "%s, %s", arguments, text) : text;
    }
    return arguments ? kiln__arena_printf(draft->arena, "%s<%s>", name, arguments) : name;
}

kiln_status kiln__draft_include_paths(kiln_engine *engine, const kiln__draft *draft, kiln__include_paths *where,
                                      kiln_error **error)
{
    return kiln__engine_include_paths(engine, draft->folder, draft->path, draft->options->includes,
                                      draft->options->include_count, draft->arena, where, error);
}

/* Compiles the text `before` and the source, for kernels with the given names. Uses the same options as the trial runs.
 * NVRTC uses precompiled headers only with the options with which they were made. */
static kiln_status compile(kiln_engine *engine, const kiln__draft *draft, const char *text, const char *before,
                           const char *const *names, size_t count, kiln__unit *unit, kiln_error **error)
{
    kiln__include_paths where;
    kiln__includes includes;
    kiln__compile_job *job = NULL;
    kiln__text source = {.mem = engine->mem};
    char headers[33] = "";
    uint64_t ns = 0;
    const size_t given = draft->options->option_count;
    const char **options = kiln__arena_alloc(draft->arena, (given + 1) * sizeof *options);
    KILN__TRY(options ? KILN_OK : kiln__fail_memory(error));
    for (size_t i = 0; i < given; i++)
        options[i] = draft->options->options[i];
    options[given] = "-lineinfo";
    KILN__TRY(kiln__draft_include_paths(engine, draft, &where, error));
    KILN__TRY(kiln__includes_collect(engine->mem, draft->arena, draft->path, text, &where, &includes, error));
    KILN__TRY(kiln__nvrtc_headers(engine->nvrtc, includes.others, includes.other_count, false, headers, error));
    kiln__compile_request request = {.name = draft->shown,
                                     .again = true,
                                     .includes = includes.items,
                                     .include_count = includes.count,
                                     .arch = engine->arch,
                                     .types = true,
                                     .options = options,
                                     .option_count = given + (engine->driver.simulator != NULL),
                                     .names = names,
                                     .name_count = count};
    kiln_status status = fill(engine, draft, &includes, headers, before, &source, &request, error);
    request.source = source.data;
    if (status == KILN_OK)
        status = kiln__compile_start(engine->compiler, &request, &job, error);
    kiln__text_free(&source);
    if (status != KILN_OK)
        return status;
    kiln__compile_wait(job, -1);
    return kiln__compile_take(job, unit, &ns, error);
}

/* Returns true if the source has the name, also within a directive such as `#pragma unroll UNROLL`. */
static bool is_in_source(const kiln__draft *draft, const char *name)
{
    for (size_t i = 1; i < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, name))
            return true;
    return false;
}

/* Returns true if the name is a function or a type, which cannot be tuning parameters. A name is a function if the
 * source only calls it. A name is a type if it ends like a type of C (wide_t). */
static bool is_function_or_type(const kiln__draft *draft, const char *name)
{
    size_t length = strlen(name);
    if (length > 2 && strcmp(name + length - 2, "_t") == 0)
        return true;
    for (size_t i = 1; i + 1 < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, name) && draft->scan->words[i + 1].kind != '(')
            return false;
    return true;
}

/* Makes a tuning parameter of every name that the compiler's log reports as undefined. Returns false if there is no
 * such name. */
static bool add_missing(kiln__draft *draft, const char *log)
{
    static const char before[] = "identifier \"", behind[] = "\" is undefined";
    size_t known = draft->tunable_count;
    for (const char *at = strstr(log, before); at; at = strstr(at, before)) {
        at += sizeof before - 1;
        size_t length = strcspn(at, "\"");
        if (strncmp(at + length, behind, sizeof behind - 1) != 0)
            continue;
        char *name = kiln__arena_strndup(draft->arena, at, length);
        const kiln__macro *macro = name ? kiln__macro_find(draft->scan, name) : NULL;
        /* the file with the launch may also define a macro that the source leaves open */
        bool own = macro && macro->from < draft->scan->own;
        if (name && !own && is_in_source(draft, name) && !is_function_or_type(draft, name))
            kiln__guess_tunable(draft, name);
    }
    return draft->tunable_count > known;
}

/* ---- types ---- */

/* the letters of built-in types in mangled names */
static const struct {
    char letter;
    const char *type;
} letters[] = {{'f', "f32"}, {'d', "f64"}, {'i', "i32"}, {'j', "u32"}, {'l', "i64"},
               {'m', "u64"}, {'x', "i64"}, {'y', "u64"}, {'s', "i16"}, {'t', "u16"},
               {'c', "i8"},  {'a', "i8"},  {'h', "u8"},  {'b', "u8"},  {'v', "u8"}};

/* Finds the element type of a mangled type: a letter such as "f", or a name after its length, such as "6float4". */
static bool find_element(const char *at, size_t length, const char **type, int *lanes)
{
    *lanes = 1;
    for (size_t i = 0; i < KILN__COUNT(letters) && length == 1; i++)
        if (letters[i].letter == *at) {
            *type = letters[i].type;
            return true;
        }
    size_t digits = 0, named = 0;
    for (; digits < length && digits < 3 && kiln__is_digit(at[digits]); digits++)
        named = 10 * named + (size_t)(at[digits] - '0');
    return digits > 0 && named == length - digits && kiln__element_named(at + digits, named, type, lanes);
}

bool kiln__probe_type(const char *mangled, size_t length, kiln__draft_argument *argument)
{
    const char *at = mangled, *end = mangled + length;
    bool pointer = at < end && *at == 'P';
    at += pointer;
    argument->constant = false;
    argument->indirect = false;
    for (; at < end && strchr("KVrP", *at) && !(*at == 'P' && (!pointer || argument->indirect)); at++) {
        argument->indirect |= *at == 'P';
        argument->constant |= *at == 'K';
    }
    if (find_element(at, (size_t)(end - at), &argument->type, &argument->lanes)) {
        argument->odd = false;
        argument->floating = kiln__is_floating(argument->type);
        bool number = argument->lanes == 1 && (*at < '0' || *at > '9'); /* a half is a structure, not a number */
        return pointer || number;
    }
    argument->type = "u8";
    argument->lanes = 1;
    argument->odd = true;
    return pointer && at < end && *at != 'P';
}

/* Finds the symbol of the kernel `name`, such as "_Z10kiln_probeIPKfEvv", and returns its part between `before` and
 * `behind`. Returns NULL if there is no such symbol. The part is not terminated; *length gets its length. */
static const char *find_mangled(const kiln__unit *unit, const char *name, const char *before, const char *behind,
                                size_t *length)
{
    for (const char *at = unit->lowered, *end = at + unit->lowered_length; at && at < end;) {
        const char *symbol = at + strlen(at) + 1;
        size_t whole = symbol < end ? strlen(symbol) : 0;
        if (whole == 0)
            return NULL;
        if (strcmp(at, name) == 0 && whole > strlen(before) + strlen(behind) &&
            strncmp(symbol, before, strlen(before)) == 0) {
            *length = whole - strlen(before) - strlen(behind);
            return symbol + strlen(before);
        }
        at = symbol + whole + 1;
    }
    return NULL;
}

static kiln_status set_types(kiln__draft *draft, const kiln__unit *unit, const char *const *names, kiln_error **error)
{
    for (size_t i = 0; i < draft->argument_count; i++) {
        kiln__draft_argument *argument = &draft->arguments[i], made = *argument;
        size_t length = 0;
        const char *mangled = find_mangled(unit, names[i], "_Z10kiln_probeI", "Evv", &length);
        if (!mangled)
            continue;
        bool fits = kiln__probe_type(mangled, length, &made);
        /* true for a half, or a CUDA vector, which are structures with a known type */
        bool vector = !fits && !made.odd;
        if (!fits) {
            const char *bytes = find_mangled(unit, names[draft->argument_count + i], "_Z9kiln_sizeILy", "EEvv",
                                             &length);
            made.bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
            if (*mangled == 'P' || made.bytes == 0 || made.bytes > MOST_STRUCT)
                return kiln__fail(
                    draft->mem, error, KILN_ERROR_UNSUPPORTED,
                    "%s: kernel %s: its parameter '%s' is neither a number, a pointer to numbers, nor a small "
                    "structure; write the spec by hand, with {struct: ...}, {bytes: ...} or {pointers: ...} for it "
                    "(kiln spec)",
                    kiln__kernel_place(draft), draft->kernel->name, argument->declared);
            made.role = KILN__ROLE_STRUCT;
            made.type = vector ? made.type : NULL;
            *argument = made;
            continue;
        }
        bool pointer = *mangled == 'P';
        bool chosen = false; /* true if a tuning parameter chooses the type */
        for (size_t k = 0; k < draft->tunable_count; k++)
            chosen |= argument->type && strcmp(argument->type, draft->tunables[k].name) == 0;
        if (chosen)
            made.type = argument->type;
        if (pointer)
            made.role = KILN__ROLE_BUFFER;
        else if (made.role == KILN__ROLE_BUFFER || made.floating)
            made.role = KILN__ROLE_SCALAR;
        if (pointer && mangled[length - 1] == 'v' && !made.indirect)
            kiln__guess_cast(draft, &made);
        *argument = made;
    }
    return KILN_OK;
}

/* ---- compiling and reading types ---- */

/* Returns true if an undefined name of the source stands for a type: `using T = NAME;`, `typedef NAME T;`, or a name
 * such as INPUT_TYPE. */
static bool names_type(const kiln__draft *draft, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 3; i + 1 < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, name) &&
            (kiln__word_is(draft->scan, i - 1, "typedef") ||
             (kiln__word_is(draft->scan, i - 3, "using") && draft->scan->words[i - 1].kind == '=')))
            return true;
    return length > 4 && strcmp(name + length - 4, "TYPE") == 0;
}

/* Fails with a request for the values of names that the source uses and does not define, because a guess would mostly
 * be wrong. Returns KILN_OK if there are no such names of this kind. */
static kiln_status ask(const kiln__draft *draft, kiln__tunable_kind kind, kiln_error **error)
{
    kiln__text names = {.mem = draft->mem}, options = {.mem = draft->mem};
    const char *first = NULL;
    for (size_t i = 0; i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (!tunable->unknown || tunable->kind != kind)
            continue;
        first = first ? first : tunable->source;
        kiln__text_printf(&names, "%s%s", names.length ? ", " : "", tunable->source);
        kiln__text_printf(&options, " -p %s=VALUE,VALUE", tunable->source);
    }
    kiln_status status =
        !names.length ? KILN_OK
                      : kiln__fail(draft->mem, error, KILN_ERROR_NOT_FOUND,
                                   "%s: kernel %s: nothing in the source gives a value for %s. %s Give the values to "
                                   "try, the default in the middle:\n  kiln init %s -k %s%s\nfor example -p %s=%s",
                                   kiln__kernel_place(draft), draft->kernel->name, kiln__text_get(&names),
                                   kind == KILN__TUNABLE_TEMPLATE
                                       ? "These are parameters of the kernel's template without a default, and this "
                                         "file has no launch of the kernel (<<<grid, block>>>)."
                                       : "The source uses these names and does not define them.",
                                   draft->shown, draft->kernel->plain, kiln__text_get(&options), first,
                                   names_type(draft, first) ? "float,half" : "8,16,32");
    kiln__text_free(&names);
    kiln__text_free(&options);
    return status;
}

/* Makes the error of a failed compile. The message lists the guessed values, because one of them may be the reason. */
static void fail(const kiln__draft *draft, kiln_status status, const char *why, kiln_error **error)
{
    kiln__text guesses = {.mem = draft->mem};
    bool guessed = status == KILN_ERROR_COMPILE && !strstr(why, "cannot open source file");
    for (size_t i = 0; i < draft->tunable_count && guessed; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        kiln__text_printf(&guesses, "%s%s=", i ? " " : "", tunable->source);
        if (tunable->size)
            kiln__text_printf(&guesses, "%lld", (long long)tunable->number);
        else
            kiln__text_puts(&guesses, tunable->chosen);
    }
    if (guesses.length > 0)
        kiln__fail(draft->mem, error, status,
                   "%s does not compile for a spec:\n%s\n(with these guesses: %s. Give the values that are wrong with "
                   "--param NAME=VALUE,VALUE)",
                   draft->shown, why, kiln__text_get(&guesses));
    else
        kiln__fail(draft->mem, error, status,
                   status == KILN_ERROR_COMPILE ? "%s does not compile for a spec:\n%s" : "%s: %s", draft->shown, why);
    kiln__text_free(&guesses);
}

/* A tuning parameter may be a type, although the source does not show which type. A kernel may be written for some
 * types only. So the function gives each such tuning parameter the next type of a list: half after float, and so on.
 * Returns false if there is no such tuning parameter, if the error has nothing to do with the type, or if all types
 * were tried. In the last case the types are float again. */
static bool change_types(kiln__draft *draft, const char *log, size_t *tried)
{
    static const char *const types[] = {"float", "half", "__nv_bfloat16", "double", "int"};
    bool any = false;
    *tried = *tried + 1 < KILN__COUNT(types) && strstr(log, types[*tried]) ? *tried + 1 : 0;
    for (size_t i = 0; i < draft->tunable_count; i++) {
        kiln__tunable *tunable = &draft->tunables[i];
        any |= tunable->any_type;
        if (tunable->any_type)
            tunable->values = tunable->chosen = types[*tried];
    }
    return any && *tried > 0;
}

/* Compiles the source repeatedly, until the compiler reports no more undefined names. */
static kiln_status complete(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error)
{
    KILN__TRY(ask(draft, KILN__TUNABLE_TEMPLATE, error));
    /* the error with the first type; the function reports this error if all other types also fail */
    kiln_error *first = NULL;
    size_t types = 0;
    for (int round = 0;; round++) {
        kiln__unit unit = {0};
        kiln_error *why = NULL;
        const char *name = instance(draft);
        kiln_status status = name ? KILN_OK : kiln__fail_memory(error);
        if (status == KILN_OK)
            status = compile(engine, draft, text, "", &name, 1, &unit, &why);
        kiln__unit_free(&unit);
        const char *log = why ? kiln_error_message(why) : "";
        const bool wrong = status == KILN_ERROR_COMPILE && round < MOST_ROUNDS;
        bool again = wrong && add_missing(draft, log);
        kiln_status asked = again ? KILN_OK : ask(draft, KILN__TUNABLE_MACRO, error);
        if (!again && asked == KILN_OK && wrong && change_types(draft, log, &types)) {
            again = true;
            if (!first) {
                first = why;
                why = NULL;
            }
        }
        if (asked != KILN_OK)
            status = asked;
        else if (status != KILN_OK && !again && why)
            fail(draft, status, first ? kiln_error_message(first) : log, error);
        kiln_error_free(why);
        if (!again) {
            kiln_error_free(first);
            return status;
        }
    }
}

kiln_status kiln__probe(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error)
{
    KILN__TRY(complete(engine, draft, text, error));
    KILN__TRY(kiln__guess_arguments(draft, error));
    kiln__unit unit = {0};
    kiln_error *why = NULL;
    const char *names[2 * KILN__MOST_ARGUMENTS], *name = instance(draft);
    size_t count = draft->argument_count;
    for (size_t i = 0; i < count; i++) {
        names[i] = kiln__arena_printf(draft->arena, "kiln_probe<kiln_nth<%zu, decltype(&%s)>::type>", i, name);
        names[count + i] = kiln__arena_printf(draft->arena, "kiln_size<sizeof(kiln_nth<%zu, decltype(&%s)>::type)>", i,
                                              name);
    }
    kiln_status status = draft->arena->failed ? kiln__fail_memory(error) : KILN_OK;
    /* if this compile fails, the draft keeps the types that it read from the tokens of the source */
    if (status == KILN_OK && count > 0)
        if (compile(engine, draft, text, probe_text, names, 2 * count, &unit, &why) == KILN_OK)
            status = set_types(draft, &unit, names, error);
    kiln__guess_structs(draft);
    kiln__guess_symbols(draft);
    kiln__unit_free(&unit);
    kiln_error_free(why);
    return status;
}
