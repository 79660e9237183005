/* probe.c - asks the compiler about a source: which names are missing, and the types of a kernel's parameters. */
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "engine.h"

enum { MOST_ROUNDS = 24, MOST_STRUCT = 1024 };

/* Text that is put after the source: a template whose mangled name contains the type of one parameter. */
static const char probe_text[] =
    "\ntemplate <int kiln_n, class kiln_f> struct kiln_nth;\n"
    "template <class kiln_a, class... kiln_b> struct kiln_nth<0, void (*)(kiln_a, kiln_b...)> { typedef kiln_a type; };\n"
    "template <int kiln_n, class kiln_a, class... kiln_b> struct kiln_nth<kiln_n, void (*)(kiln_a, kiln_b...)> "
    ": kiln_nth<kiln_n - 1, void (*)(kiln_b...)> {};\n"
    "template <class kiln_t> __global__ void kiln_probe() {}\n"
    "template <unsigned long long kiln_s> __global__ void kiln_size() {}\n";

static void fill(const kiln__draft *draft, const char *text, kiln__text *out)
{
    for (size_t i = 0; i < draft->tunable_count; i++) {
        const kiln__tunable *tunable = &draft->tunables[i];
        if (tunable->kind == KILN__TUNABLE_MACRO && tunable->size)
            kiln__text_printf(out, "#define %s %lld\n", tunable->source, (long long)tunable->number);
        else if (tunable->kind == KILN__TUNABLE_MACRO)
            kiln__text_printf(out, "#define %s %s\n", tunable->source, tunable->chosen);
    }
    kiln__text_printf(out, "#line 1 \"%s\"\n", strrchr(draft->path, '/') ? strrchr(draft->path, '/') + 1 : draft->path);
    kiln__text_puts(out, text);
}

/* "tile<16, float>" */
static const char *instance(const kiln__draft *draft)
{
    const char *name = draft->kernel->name, *arguments = NULL;
    for (size_t i = 0; i < draft->tunable_count; i++)
        if (draft->tunables[i].kind == KILN__TUNABLE_TEMPLATE)
            arguments = arguments ? kiln__arena_printf(draft->arena, "%s, %s", arguments, draft->tunables[i].chosen)
                                  : draft->tunables[i].chosen;
    return arguments ? kiln__arena_printf(draft->arena, "%s<%s>", name, arguments) : name;
}

static kiln_status compile(kiln_engine *engine, const kiln__draft *draft, const char *source, const char *const *names,
                           size_t count, kiln__unit *unit, kiln_error **error)
{
    kiln__include_paths where;
    kiln__includes includes;
    kiln__compile_job *job = NULL;
    uint64_t ns = 0;
    KILN__TRY(kiln__engine_include_paths(engine, draft->folder, draft->path, NULL, 0, draft->arena, &where, error));
    KILN__TRY(kiln__includes_collect(engine->mem, draft->arena, draft->path, source, &where, &includes, error));
    kiln__compile_request request = {.name = draft->shown,
                                     .source = includes.source,
                                     .includes = includes.items,
                                     .include_count = includes.count,
                                     .arch = engine->arch,
                                     .types = true,
                                     .names = names,
                                     .name_count = count};
    KILN__TRY(kiln__compile_start(engine->compiler, &request, &job, error));
    kiln__compile_wait(job, -1);
    return kiln__compile_take(job, unit, &ns, error);
}

/* The name may also occur within a directive: `#pragma unroll UNROLL`. */
static bool is_in_source(const kiln__draft *draft, const char *name)
{
    for (size_t i = 1; i < draft->scan->count; i++)
        if (kiln__word_is(draft->scan, i, name))
            return true;
    return false;
}

/* Makes a param of every name that the compiler does not know. Returns false if there is no such name. */
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
        if (name && !kiln__macro_find(draft->scan, name) && is_in_source(draft, name))
            kiln__guess_tunable(draft, name);
    }
    return draft->tunable_count > known;
}

/* ---- types ---- */

static const struct {
    const char *mangled, *type;
    int lanes;
} known[] = {
    {"f", "f32", 1},        {"d", "f64", 1},        {"i", "i32", 1},       {"j", "u32", 1},       {"l", "i64", 1},
    {"m", "u64", 1},        {"x", "i64", 1},        {"y", "u64", 1},       {"s", "i16", 1},       {"t", "u16", 1},
    {"c", "i8", 1},         {"a", "i8", 1},         {"h", "u8", 1},        {"b", "u8", 1},        {"v", "u8", 1},
    {"6__half", "f16", 1},  {"7__half2", "f16", 2}, {"6float2", "f32", 2}, {"6float3", "f32", 3}, {"6float4", "f32", 4},
    {"7double2", "f64", 2}, {"4int2", "i32", 2},    {"4int3", "i32", 3},   {"4int4", "i32", 4},   {"5uint2", "u32", 2},
    {"5uint3", "u32", 3},   {"5uint4", "u32", 4},   {"6uchar4", "u8", 4},  {"5char4", "i8", 4},
};

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
    for (size_t i = 0; i < KILN__COUNT(known); i++)
        if (strlen(known[i].mangled) == (size_t)(end - at) && memcmp(known[i].mangled, at, (size_t)(end - at)) == 0) {
            argument->type = known[i].type;
            argument->lanes = known[i].lanes;
            argument->odd = false;
            argument->floating = known[i].type[0] == 'f';
            return pointer || (known[i].lanes == 1 && strcmp(known[i].type, "f16") != 0);
        }
    argument->type = "u8";
    argument->lanes = 1;
    argument->odd = true;
    return pointer && at < end && *at != 'P';
}

/* Returns the part between `before` and `behind` of the mangled name of the template function `probe`, as in
 * "_Z10kiln_probeIPKfEvv". */
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
        bool vector = !fits && !made.odd; /* by value, or a half: a structure of one field */
        if (!fits) {
            const char *bytes = find_mangled(unit, names[draft->argument_count + i], "_Z9kiln_sizeILy", "EEvv",
                                             &length);
            made.bytes = bytes ? strtoull(bytes, NULL, 10) : 0;
            if (*mangled == 'P' || made.bytes == 0 || made.bytes > MOST_STRUCT)
                return kiln__fail(
                    draft->mem, error, KILN_ERROR_UNSUPPORTED,
                    "%s:%u: kernel %s: its parameter '%s' is neither a number, a pointer to numbers, nor a small "
                    "structure; write the spec by hand, with {struct: ...}, {bytes: ...} or {pointers: ...} for it "
                    "(kiln spec)",
                    draft->shown, draft->kernel->line, draft->kernel->name, argument->declared);
            made.role = KILN__ROLE_STRUCT;
            made.type = vector ? made.type : NULL;
            *argument = made;
            continue;
        }
        bool pointer = *mangled == 'P';
        bool chosen = false; /* its type is a param */
        for (size_t k = 0; k < draft->tunable_count; k++)
            chosen |= argument->type && strcmp(argument->type, draft->tunables[k].name) == 0;
        if (chosen)
            made.type = argument->type;
        if (pointer)
            made.role = KILN__ROLE_BUFFER;
        else if (made.role == KILN__ROLE_BUFFER || made.floating)
            made.role = KILN__ROLE_SCALAR;
        *argument = made;
    }
    return KILN_OK;
}

/* ---- compiling and reading types ---- */

/* Lists the guesses with which the source did not compile, because they may be the reason. */
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

static kiln_status complete(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error)
{
    for (int round = 0;; round++) {
        kiln__text source = {.mem = engine->mem};
        kiln__unit unit = {0};
        kiln_error *why = NULL;
        const char *name = instance(draft);
        fill(draft, text, &source);
        kiln_status status = source.failed || !name ? kiln__fail_memory(error) : KILN_OK;
        if (status == KILN_OK)
            status = compile(engine, draft, source.data, &name, 1, &unit, &why);
        kiln__unit_free(&unit);
        kiln__text_free(&source);
        const char *log = why ? kiln_error_message(why) : "";
        bool again = status == KILN_ERROR_COMPILE && round < MOST_ROUNDS && add_missing(draft, log);
        if (status != KILN_OK && !again && why)
            fail(draft, status, log, error);
        kiln_error_free(why);
        if (!again)
            return status;
    }
}

kiln_status kiln__probe(kiln_engine *engine, kiln__draft *draft, const char *text, kiln_error **error)
{
    KILN__TRY(complete(engine, draft, text, error));
    KILN__TRY(kiln__guess_arguments(draft, error));
    kiln__text source = {.mem = engine->mem};
    kiln__unit unit = {0};
    kiln_error *why = NULL;
    const char *names[2 * KILN__MOST_ARGUMENTS], *name = instance(draft);
    fill(draft, text, &source);
    kiln__text_puts(&source, probe_text);
    size_t count = draft->argument_count;
    for (size_t i = 0; i < count; i++) {
        names[i] = kiln__arena_printf(draft->arena, "kiln_probe<kiln_nth<%zu, decltype(&%s)>::type>", i, name);
        names[count + i] = kiln__arena_printf(draft->arena, "kiln_size<sizeof(kiln_nth<%zu, decltype(&%s)>::type)>", i,
                                              name);
    }
    kiln_status status = source.failed || draft->arena->failed ? kiln__fail_memory(error) : KILN_OK;
    if (status == KILN_OK && count > 0) /* if this fails, the types come from the words of the source */
        if (compile(engine, draft, source.data, names, 2 * count, &unit, &why) == KILN_OK)
            status = set_types(draft, &unit, names, error);
    kiln__guess_structs(draft);
    kiln__unit_free(&unit);
    kiln__text_free(&source);
    kiln_error_free(why);
    return status;
}
