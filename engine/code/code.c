/* code.c - gets the compiled code of a configuration. Writes the macros before the source, makes the cache key, and
 * looks for the code in the cache. If the cache does not have the code, starts a compile. If the compile fails, the
 * error message also names the tuning parameters whose macros are in the lines with errors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "chars.h"
#include "config.h"

#define SOURCE_LIMIT ((size_t)16 << 20) /* the largest number of bytes that a source file may have */
/* If the source includes no headers of CUDA, the job is compiled together with other jobs only if the source and its
 * headers have at least this number of bytes; see allow_together(). */
#define TOGETHER_LEAST ((size_t)64 << 10)

/* A job that makes the code of one configuration. kiln__code_take() or kiln__code_cancel() frees the job.
 * kiln__code_leave() frees it too, or leaves it to the engine, which later takes it. */
struct kiln__code_job {
    kiln_engine *engine;
    kiln__arena arena;
    kiln__text source;   /* the text that the compiler gets */
    kiln__text material; /* the bytes from which the cache key is computed */
    kiln__text label;    /* the configuration as a text for messages, such as "coarsened TILE_M=128 ..." */
    kiln__cache_key key;
    kiln__compile_request request;
    kiln__compile_job *compile; /* the compile of the job; NULL if the code came from the cache */
    /* For each kernel, the place in the spec that names the kernel, such as "x.yaml:12:3". */
    const char **places;
    kiln__includes includes;
    char headers[33]; /* the digest of the CUDA headers that the source includes */
    struct macro *macros;
    size_t macro_count;
    const char *prefix; /* the prefix of all macro names (key `prefix` of the spec) */
    const char *variant;
    struct foreign_macro *foreign; /* the macros that only other variants of the spec have */
    size_t foreign_count;
    kiln__unit unit;
    kiln__code_job *next; /* the next job in the engine's list of jobs that kiln__code_leave() left */
    /* True if the PTX must have source lines, because the simulated device shows them in faults and counters. */
    bool lines;
};

/* ---- the kernels that the spec and the source name ---- */

/* A list of names that grows. */
typedef struct name_list {
    const char **names;
    size_t count, capacity;
} name_list;

static bool add_name(kiln__arena *arena, name_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return true;
    if (!kiln__grow(arena->mem, &list->names, &list->capacity, list->count + 1, sizeof *list->names))
        return false;
    list->names[list->count++] = name;
    return true;
}

static bool collect_kernels(const kiln__step *steps, size_t count, const kiln__scope *scope, kiln__arena *arena,
                            name_list *list, kiln__diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        const kiln__step *step = &steps[i];
        bool ok = true;
        if (step->kind == KILN__STEP_LAUNCH) {
            kiln__text filled = {.mem = arena->mem};
            const char *name = kiln__launch_kernel(step, scope, &filled, diag);
            const char *kept = name ? kiln__arena_strdup(arena, name) : NULL;
            ok = kept && add_name(arena, list, kept);
            kiln__text_free(&filled);
        } else if (step->kind == KILN__STEP_REPEAT) {
            ok = collect_kernels(step->as.repeat.steps, step->as.repeat.step_count, scope, arena, list, diag);
        } else if (step->kind == KILN__STEP_WHILE) {
            ok = collect_kernels(step->as.loop.steps, step->as.loop.step_count, scope, arena, list, diag);
        }
        if (!ok)
            return false;
    }
    return true;
}

kiln_status kiln__config_kernels(const kiln__config *config, const kiln_allocator *mem, kiln__arena *arena,
                                 const char *const **names, size_t *count, kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    name_list list = {0};
    kiln__diag diag = {.mem = mem};
    bool ok = collect_kernels(variant->before, variant->before_count, kiln__config_scope(config), arena, &list,
                              &diag) &&
              collect_kernels(variant->steps, variant->step_count, kiln__config_scope(config), arena, &list, &diag);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    const char **kept = ok && status == KILN_OK ? kiln__arena_alloc(arena, (list.count + 1) * sizeof *kept) : NULL;
    if (kept) {
        if (list.count)
            memcpy(kept, list.names, list.count * sizeof *kept);
        *names = kept;
        *count = list.count;
    } else if (status == KILN_OK) {
        status = kiln__fail_memory(error);
    }
    kiln__free(mem, list.names);
    return status;
}

/* ---- a kernel that the source does not have ---- */

/* Finds the place in the spec where a launch names the kernel. If no step launches the kernel, the result's `source` is
 * NULL. */
static kiln__pos find_place(const kiln__step *steps, size_t count, const kiln__scope *scope, const kiln_allocator *mem,
                            const char *kernel)
{
    kiln__pos pos = {0};
    for (size_t i = 0; i < count && !pos.source; i++) {
        const kiln__step *step = &steps[i];
        kiln__text filled = {.mem = mem};
        const char *name = step->kind == KILN__STEP_LAUNCH ? kiln__launch_kernel(step, scope, &filled, NULL) : NULL;
        if (step->kind == KILN__STEP_REPEAT)
            pos = find_place(step->as.repeat.steps, step->as.repeat.step_count, scope, mem, kernel);
        else if (step->kind == KILN__STEP_WHILE)
            pos = find_place(step->as.loop.steps, step->as.loop.step_count, scope, mem, kernel);
        else if (name && strcmp(name, kernel) == 0)
            pos = kiln__template_pos(step->as.launch.kernel);
        kiln__text_free(&filled);
    }
    return pos;
}

/* Adds the names of the functions that follow __global__ in a text. */
static void add_kernels(kiln__arena *arena, const char *text, name_list *list)
{
    static const char global[] = "__global__", bounds[] = "__launch_bounds__";
    for (const char *at = text; (at = strstr(at, global)) != NULL;) {
        at += strcspn(at, "(;{");
        const char *end = at;
        while (end > text && (end[-1] == ' ' || end[-1] == '\n'))
            end--;
        const char *word = end;
        while (word > text && kiln__is_name_part(word[-1]))
            word--;
        if (*at == '(' && (size_t)(end - word) == sizeof bounds - 1 && memcmp(word, bounds, sizeof bounds - 1) == 0) {
            at += strcspn(at, ")");
            at += *at == ')';
            at += strcspn(at, "(;{");
            for (end = at; end > text && (end[-1] == ' ' || end[-1] == '\n');)
                end--;
            for (word = end; word > text && kiln__is_name_part(word[-1]);)
                word--;
        }
        char *name = *at == '(' && end > word ? kiln__arena_strndup(arena, word, (size_t)(end - word)) : NULL;
        if (name)
            add_name(arena, list, name);
    }
}

/* Appends a line to a message for each kernel of the spec that the source does not have. The line has the kernel's
 * place in the spec, and the kernels that the source has. */
static void explain_names(const kiln__code_job *job, kiln__arena *arena, kiln__text *out)
{
    name_list list = {0};
    add_kernels(arena, job->request.source, &list);
    for (size_t i = 0; i < job->request.include_count; i++)
        add_kernels(arena, job->request.includes[i].text, &list);
    for (size_t n = 0; n < job->request.name_count; n++) {
        const char *name = job->request.names[n], *colon = NULL;
        size_t length = strcspn(name, "< ");
        for (size_t i = 0; i + 1 < length; i++)
            colon = name[i] == ':' ? name + i + 1 : colon;
        const char *plain = kiln__arena_strndup(arena, colon ? colon : name,
                                                length - (size_t)(colon ? colon - name : 0));
        bool known = plain == NULL;
        for (size_t i = 0; i < list.count && !known; i++)
            known = strcmp(list.names[i], plain) == 0;
        if (known)
            continue;
        const char *near = kiln__nearest(plain, list.names, list.count);
        kiln__text_printf(out, "\n%s: the source has no kernel '%s'", job->places[n], plain);
        for (size_t i = 0; i < list.count && i < 20; i++)
            kiln__text_printf(out, "%s%s", i ? ", " : "; it has ", list.names[i]);
        if (near)
            kiln__text_printf(out, "; did you mean '%s'?", near);
    }
    kiln__free(arena->mem, list.names);
}

/* ---- the macros of a configuration ---- */

/* Returns the reason why a text cannot be the value of a macro. Returns NULL if it can. A bad text could end the line
 * of its #define. It could also turn the text after it into a comment, for example an #include that includes.c must
 * see. */
static const char *is_unfit(const char *text)
{
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return "a control character";
        if (at[0] == '/' && at[1] == '*')
            return "the start of a comment";
        if (at[0] == 'R' && at[1] == '"')
            return "a raw string";
    }
    size_t length = strlen(text);
    if (length >= 3 && strcmp(text + length - 3, "?\?/") == 0)
        return "the trigraph of a backslash at its end";
    return length > 0 && text[length - 1] == '\\' ? "a backslash at its end" : NULL;
}

static kiln_status check_text(const kiln_allocator *mem, const char *name, kiln_value value, kiln_error **error)
{
    const char *why = value.kind == KILN_TEXT ? is_unfit(value.as.text) : NULL;
    if (!why)
        return KILN_OK;
    return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the macro %s cannot be a text with %s", name, why);
}

/* A macro of a configuration. It is a tuning parameter, an expression under the spec's key `define`, or a size under
 * the key `bake`. */
typedef struct macro {
    const char *name, *of, *value; /* `of` is the name without the prefix of the spec */
    bool param;
} macro;

static kiln_status add_macro(kiln__code_job *job, const char *name, kiln_value value, bool param, kiln_error **error)
{
    kiln__text text = {.mem = job->arena.mem};
    if (value.kind == KILN_BOOL) /* the preprocessor does not know `true` */
        kiln__text_puts(&text, value.as.i ? "1" : "0");
    else
        kiln__value_print(&text, value);
    macro *made = &job->macros[job->macro_count++];
    *made = (macro){.name = kiln__arena_printf(&job->arena, "%s%s", job->prefix, name),
                    /* copies the name, because a job may outlive the spec */
                    .of = kiln__arena_strdup(&job->arena, name),
                    .value = kiln__arena_strdup(&job->arena, kiln__text_get(&text)),
                    .param = param};
    bool failed = text.failed || job->arena.failed;
    kiln__text_free(&text);
    return failed ? kiln__fail_memory(error) : check_text(job->arena.mem, name, value, error);
}

/* A tuning parameter of another variant that the configuration's own variant does not have. If the source needs the
 * macro of this tuning parameter, the compile fails, and the message explains why. */
typedef struct foreign_macro {
    const char *name, *variant;
} foreign_macro;

static bool has_macro(const kiln__code_job *job, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < job->macro_count && !found; i++)
        found = strcmp(job->macros[i].name, name) == 0;
    for (size_t i = 0; i < job->foreign_count && !found; i++)
        found = strcmp(job->foreign[i].name, name) == 0;
    return found;
}

/* Lists the macros of the other variants' tuning parameters. If several variants have the same tuning parameter, names
 * the first of these variants. Copies every name, because a job may outlive the spec. */
static kiln_status list_foreign_macros(const kiln__config *config, kiln__code_job *job, kiln_error **error)
{
    const kiln_spec *spec = config->spec;
    size_t most = 0;
    for (size_t v = 0; v < spec->variant_count; v++)
        most += spec->variants[v].param_count;
    job->variant = kiln__arena_strdup(&job->arena, config->variant->name);
    job->foreign = kiln__arena_alloc(&job->arena, (most + 1) * sizeof *job->foreign);
    for (size_t v = 0; v < spec->variant_count && job->foreign; v++) {
        const kiln__variant *variant = &spec->variants[v];
        for (size_t i = 0; i < variant->param_count; i++) {
            const char *name = kiln__arena_printf(&job->arena, "%s%s", job->prefix, variant->params[i].name);
            if (name && variant->params[i].macro && !has_macro(job, name))
                job->foreign[job->foreign_count++] = (foreign_macro){name,
                                                                     kiln__arena_strdup(&job->arena, variant->name)};
        }
    }
    return job->arena.failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Lists the macros of a configuration in this order: tuning parameters, definitions (key `define`), sizes (key
 * `bake`). */
static kiln_status make_macros(const kiln__config *config, kiln__code_job *job, kiln_error **error)
{
    const kiln_allocator *mem = job->engine->mem;
    const kiln__variant *variant = config->variant;
    const kiln__scope *scope = kiln__config_scope(config);
    size_t most = variant->param_count + variant->define_count + variant->bake_count;
    kiln__diag diag = {.mem = mem};
    kiln_status status = KILN_OK;
    job->prefix = config->spec->prefix;
    job->macros = kiln__arena_alloc(&job->arena, (most + 1) * sizeof *job->macros);
    if (!job->macros)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < variant->param_count && status == KILN_OK; i++)
        if (variant->params[i].macro)
            status = add_macro(job, config->params.items[i].name, config->params.items[i].value, true, error);
    for (size_t i = 0; i < variant->define_count && status == KILN_OK; i++) {
        kiln_value value;
        if (kiln__expr_eval(variant->defines[i].expr, scope, &value, &diag))
            status = add_macro(job, variant->defines[i].name, value, false, error);
    }
    for (size_t i = 0; i < variant->bake_count && status == KILN_OK; i++) {
        kiln_value value;
        if (kiln__scope_find(scope, variant->bake[i], &value))
            status = add_macro(job, variant->bake[i], value, false, error);
    }
    if (status == KILN_OK)
        return kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    kiln__diag_finish(&diag, KILN_ERROR_SPEC, NULL);
    return status;
}

/* ---- the macros that the source uses ----
 *
 * A macro whose name occurs in no text of the job cannot change the code, so it is left out. If configurations differ
 * only in such macros, they have the same source, and the source is compiled once. A text may also build names from
 * pieces, with ## or with a line splice in the middle of a name. Such a text may name any macro. */

static bool contains_name(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !kiln__is_word_part(at[-1])) && !kiln__is_word_part(at[length]))
            return true;
    return false;
}

static bool may_build_names(const char *text)
{
    if (strstr(text, "##") || strstr(text, "%:%:") || strstr(text, "?\?="))
        return true;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        const char *end = at;
        if (end > text && end[-1] == '\r')
            end--;
        end -= end - text >= 3 && strncmp(end - 3, "?\?/", 3) == 0 ? 3 : end > text && end[-1] == '\\' ? 1 : 0;
        if (end != at && *end != '\r' && end > text && kiln__is_word_part(end[-1]) &&
            (kiln__is_word_part(at[1]) || at[1] == '\\' || at[1] == '?')) /* the next line may continue the name */
            return true;
    }
    return false;
}

/* Lists all texts that the compiler gets, except the headers of CUDA. */
static size_t list_texts(const kiln__code_job *job, const char **texts)
{
    const kiln__compile_request *request = &job->request;
    size_t count = 0;
    texts[count++] = job->includes.source;
    for (size_t i = 0; i < request->include_count; i++)
        texts[count++] = request->includes[i].text;
    for (size_t i = 0; i < request->option_count; i++)
        texts[count++] = request->options[i];
    for (size_t i = 0; i < request->name_count; i++)
        texts[count++] = request->names[i];
    for (size_t i = 0; i < job->macro_count; i++)
        texts[count++] = job->macros[i].value;
    return count;
}

/* Returns whether the text includes a CUDA header that comes after the macros. */
static bool includes_cuda_later(const kiln__code_job *job, const char *const *prelude, size_t count)
{
    for (size_t i = 0; i < job->includes.other_count; i++) {
        size_t k = 0;
        while (k < count && strcmp(prelude[k], job->includes.others[i]) != 0)
            k++;
        if (k == count && kiln__nvrtc_has(job->engine->nvrtc, job->includes.others[i]))
            return true;
    }
    return false;
}

static void write_macro(kiln__code_job *job, const macro *m)
{
    kiln__text_printf(&job->source, "#define %s %s\n", m->name, m->value);
}

/* Writes the prelude of the text, which consists of the CUDA headers that the source includes first. Sets the fields of
 * the compile request that describe the prelude. Sets bit i of *first if the macro i was written before these
 * headers. */
static kiln_status write_prelude(kiln__code_job *job, const char *const *prelude, size_t count, uint64_t *first,
                                 kiln_error **error)
{
    kiln__prelude_macro *macros = kiln__arena_alloc(&job->arena, (job->macro_count + 1) * sizeof *macros);
    if (!macros)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < job->macro_count; i++)
        macros[i] = (kiln__prelude_macro){job->macros[i].name, job->macros[i].value};
    KILN__TRY(
        kiln__prelude_write(job->engine->nvrtc, prelude, count, macros, job->macro_count, &job->source, first, error));
    if (job->source.length == 0)
        return KILN_OK;
    job->request.prelude = job->source.length;
    job->request.headers = job->headers;
    job->request.header_names = job->includes.others;
    job->request.header_name_count = job->includes.other_count;
    return KILN_OK;
}

/* Writes the prelude, and the macros that the source uses. */
static kiln_status write_macros(kiln__code_job *job, kiln_error **error)
{
    const kiln__compile_request *request = &job->request;
    size_t most = 1 + request->include_count + request->option_count + request->name_count + job->macro_count;
    const char **texts = kiln__arena_alloc(&job->arena, most * sizeof *texts), *const * prelude;
    if (!texts)
        return kiln__fail_memory(error);
    size_t count = list_texts(job, texts), prelude_count = 0;
    uint64_t first = 0;
    kiln_status status = kiln__prelude_find(job->engine->nvrtc, &job->arena, &job->includes, &prelude, &prelude_count,
                                            error);
    /* a CUDA header that comes after the macros may use any macro */
    bool any = status == KILN_OK && includes_cuda_later(job, prelude, prelude_count);
    if (status == KILN_OK && prelude_count > 0 && *job->headers)
        status = write_prelude(job, prelude, prelude_count, &first, error);
    for (size_t i = 0; i < count && !any; i++)
        any = may_build_names(texts[i]);
    for (size_t i = 0; i < job->macro_count; i++) {
        bool named = any;
        for (size_t k = 0; k < count && !named; k++)
            named = contains_name(texts[k], job->macros[i].name);
        if (named && (request->prelude == 0 || !(first >> i & 1)))
            write_macro(job, &job->macros[i]);
    }
    return status;
}

/* Returns whether the source may have kernels whose names do not occur in the texts of the job. The source may build a
 * name from pieces. The source may also include a header of the CUDA toolkit, which Kiln does not read. */
static bool may_have_other_names(const kiln__code_job *job)
{
    const kiln__compile_request *request = &job->request;
    bool may = job->includes.other_count > 0 || may_build_names(request->source);
    for (size_t i = 0; i < request->include_count && !may; i++)
        may = may_build_names(request->includes[i].text);
    for (size_t i = 0; i < request->option_count && !may; i++)
        may = may_build_names(request->options[i]);
    return may;
}

static bool names_kernel(const kiln__code_job *job, const char *plain)
{
    const kiln__compile_request *request = &job->request;
    bool found = contains_name(request->source, plain);
    for (size_t i = 0; i < request->include_count && !found; i++)
        found = contains_name(request->includes[i].text, plain);
    for (size_t i = 0; i < request->option_count && !found; i++)
        /* searches for the text and not for a whole token, because in -Dadd no token begins at `add` */
        found = strstr(request->options[i], plain) != NULL;
    return found;
}

/* Fails if the name of a kernel occurs nowhere in the source, its headers and the options. So a misspelt name is
 * reported before anything is compiled. The function refuses only names that are certainly wrong, and leaves all other
 * names to the compiler. It does not check a name such as `space::sum`, which is more than one identifier, or a name
 * with characters outside of ASCII. It checks no names if may_have_other_names() returns true. */
static kiln_status check_kernel_names(kiln__code_job *job, kiln_error **error)
{
    const kiln__compile_request *request = &job->request;
    const bool builds = may_have_other_names(job);
    for (size_t n = 0; n < request->name_count && !builds; n++) {
        const char *name = request->names[n];
        const char *plain = kiln__arena_strndup(&job->arena, name, strcspn(name, "<( "));
        if (!plain)
            return kiln__fail_memory(error);
        const char *end = plain;
        while ((unsigned char)*end < 0x80 && kiln__is_word_part(*end))
            end++;
        if (*end || end == plain || names_kernel(job, plain))
            continue;
        kiln__text why = {.mem = job->engine->mem};
        explain_names(job, &job->arena, &why);
        kiln_status status = why.failed || job->arena.failed
                                 ? kiln__fail_memory(error)
                                 : kiln__fail(job->engine->mem, error, KILN_ERROR_COMPILE, "%s",
                                              kiln__text_get(&why) + strspn(kiln__text_get(&why), "\n"));
        kiln__text_free(&why);
        return status;
    }
    return KILN_OK;
}

/* ---- reading the source ---- */

static kiln_status collect_includes(kiln_engine *engine, const kiln__config *config, const char *path, const char *text,
                                    kiln__code_job *job, kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    kiln__include_paths where;
    kiln_status status = kiln__engine_include_paths(engine, config->spec->folder, path, variant->include,
                                                    variant->include_count, &job->arena, &where, error);
    if (status == KILN_OK)
        status = kiln__includes_collect(engine->mem, &job->arena, path, text, &where, &job->includes, error);
    if (status != KILN_OK)
        return status;
    job->request.includes = job->includes.items;
    job->request.include_count = job->includes.count;
    return kiln__nvrtc_headers(engine->nvrtc, job->includes.others, job->includes.other_count, false, job->headers,
                               error);
}

/* Reads the source and collects the headers that it includes. Sets the name and the headers of the compile request, and
 * job->includes. */
static kiln_status read_source(kiln_engine *engine, const kiln__config *config, kiln__code_job *job, kiln_error **error)
{
    const kiln_spec *spec = config->spec;
    const char *name = config->variant->source ? config->variant->source : spec->source;
    const char *path = NULL;
    if (!name) /* a T1 file may have a search space but no source */
        return kiln__fail(engine->mem, error, KILN_ERROR_NOT_FOUND,
                          "%s names no CUDA kernel: its space can be shown, "
                          "but nothing can be compiled or run",
                          spec->path);
    for (const char *at = name; *at; at++) /* checks the name, because it is written into a #line directive */
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return kiln__fail(engine->mem, error, KILN_ERROR_REFUSED,
                              "the name of a source contains a control character");
    if (config->variant->source_text) {
        path = kiln__arena_printf(&job->arena, "%s/%s", config->variant->source_folder, name);
        if (!path)
            return kiln__fail_memory(error);
        job->request.name = name;
        return collect_includes(engine, config, path, config->variant->source_text, job, error);
    }
    kiln_status status = kiln__engine_find_source(engine, spec->folder, name, &job->arena, &path, error);
    if (status != KILN_OK)
        return status;
    char *text = NULL;
    size_t length = 0;
    status = kiln__file_read_resolved(engine->mem, path, SOURCE_LIMIT, &text, &length, error);
    if (status != KILN_OK)
        return status;
    const char *kept = kiln__arena_strndup(&job->arena, text, length);
    if (!kept)
        status = kiln__fail_memory(error);
    else if (memchr(text, '\0', length))
        status = kiln__fail(engine->mem, error, KILN_ERROR_IO, "%s: not a text file: it contains a zero byte", path);
    else
        status = collect_includes(engine, config, path, kept, job, error);
    /* Removes the folder from an absolute name, because equal files in two folders must have the same cache key. */
    job->request.name = *name == '/' ? strrchr(name, '/') + 1 : name;
    kiln__free(engine->mem, text);
    return status;
}

/* Replaces definitions in the source and its headers that have the same names as macros of the configuration. */
static kiln_status replace_definitions(kiln__code_job *job, kiln_error **error)
{
    kiln__prelude_macro *macros = kiln__arena_alloc(&job->arena, (job->macro_count + 1) * sizeof *macros);
    if (!macros)
        return kiln__fail_memory(error);
    for (size_t i = 0; i < job->macro_count; i++)
        macros[i] = (kiln__prelude_macro){job->macros[i].name, job->macros[i].value};
    KILN__TRY(kiln__definitions_replace(job->arena.mem, &job->arena, &job->includes, macros, job->macro_count, error));
    for (size_t i = 0; i < job->macro_count; i++)
        job->macros[i].name = macros[i].name;
    job->request.includes = job->includes.items;
    return KILN_OK;
}

/* Writes the text that the compiler gets. The options and the names of the kernels must already be known. */
static kiln_status write_source(kiln__code_job *job, kiln_error **error)
{
    KILN__TRY(replace_definitions(job, error));
    kiln_status status = write_macros(job, error);
    kiln__text_puts(&job->source, "#line 1 \"");
    for (const char *at = job->request.name; *at; at++)
        kiln__text_printf(&job->source, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    kiln__text_printf(&job->source, "\"\n%s\n", job->includes.source);
    job->request.source = job->source.data;
    return job->source.failed ? kiln__fail_memory(error) : status;
}

/* ---- the options of the compiler ---- */

/* Fills the template of a compiler option, checks the option against the list of allowed options, and adds it to a
 * list. */
static kiln_status add_option(kiln_engine *engine, const kiln__template *option, const kiln__scope *scope,
                              kiln__code_job *job, name_list *list, kiln_error **error)
{
    kiln__text text = {.mem = engine->mem};
    kiln__diag diag = {.mem = engine->mem};
    bool filled = kiln__template_fill(option, scope, &text, &diag);
    kiln_status status = kiln__diag_finish(&diag, KILN_ERROR_SPEC, error);
    kiln_error *why = NULL;
    if (status == KILN_OK && (!filled || text.failed))
        status = kiln__fail_memory(error);
    /* leaves out an option {X} if the tuning parameter X is the empty text */
    else if (status == KILN_OK && text.length > 0) {
        status = kiln__option_check(engine->mem, text.data, &why);
        if (status != KILN_OK) {
            kiln__diag_add(&diag, kiln__template_pos(option), "%s", kiln_error_message(why));
            status = kiln__diag_finish(&diag, status, error);
        } else {
            char *kept = kiln__arena_strdup(&job->arena, text.data);
            /* does not use add_name(), because an option may occur twice, and the order of options matters */
            if (!kept || !kiln__grow(engine->mem, &list->names, &list->capacity, list->count + 1, sizeof *list->names))
                status = kiln__fail_memory(error);
            else
                list->names[list->count++] = kept;
        }
    }
    kiln_error_free(why);
    kiln__text_free(&text);
    return status;
}

/* Lists the compiler options of the variant, then the options of its tuning parameters, and then the option -lineinfo
 * if the PTX must have source lines. */
static kiln_status fill_options(kiln_engine *engine, const kiln__config *config, kiln__code_job *job,
                                kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    const kiln__scope *scope = kiln__config_scope(config);
    name_list list = {0};
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < variant->option_count && status == KILN_OK; i++)
        status = add_option(engine, variant->options[i], scope, job, &list, error);
    for (size_t p = 0; p < variant->param_count; p++)
        for (size_t i = 0; i < variant->params[p].option_count && status == KILN_OK; i++)
            status = add_option(engine, variant->params[p].options[i], scope, job, &list, error);
    if (status == KILN_OK && job->lines) {
        if (kiln__grow(engine->mem, &list.names, &list.capacity, list.count + 1, sizeof *list.names))
            list.names[list.count++] = "-lineinfo";
        else
            status = kiln__fail_memory(error);
    }
    const char **kept = kiln__arena_alloc(&job->arena, (list.count + 1) * sizeof *kept);
    if (status == KILN_OK && !kept)
        status = kiln__fail_memory(error);
    if (status == KILN_OK && list.count)
        memcpy(kept, list.names, list.count * sizeof *kept);
    job->request.options = kept;
    job->request.option_count = list.count;
    kiln__free(engine->mem, list.names);
    return status;
}

/* ---- the cache key ---- */

/* Adds one field to the bytes of the cache key: its length and its bytes. So two different lists of fields always give
 * different bytes. */
static void add_field(kiln__text *material, const char *bytes)
{
    uint64_t length = strlen(bytes);
    kiln__text_add(material, (const char *)&length, sizeof length);
    kiln__text_add(material, bytes, length);
}

/* Makes the cache key from everything on which the code depends: the identity of NVRTC, the digest of CUDA's headers,
 * target, options, kernels, headers, and source. */
static kiln_status make_key(kiln_engine *engine, kiln__code_job *job, kiln_error **error)
{
    const kiln__compile_request *request = &job->request;
    kiln__text *material = &job->material;
    kiln__text options = {.mem = engine->mem};
    char arch[KILN__TARGET_TEXT], compiler[32], counts[96];
    int version = kiln__nvrtc_version(engine->nvrtc);
    kiln__target_print((kiln__target){request->arch, request->kind}, request->cubin ? "sm" : "compute", arch);
    snprintf(compiler, sizeof compiler, "nvrtc %d.%d", version / 1000, version % 1000 / 10);
    snprintf(counts, sizeof counts, "%zu options %zu kernels %zu headers", request->option_count, request->name_count,
             request->include_count);
    add_field(material, "kiln unit 2");
    add_field(material, kiln__nvrtc_identity(engine->nvrtc));
    add_field(material, job->headers);
    add_field(material, arch);
    add_field(material, counts);
    for (size_t i = 0; i < request->option_count; i++) {
        add_field(material, request->options[i]);
        kiln__text_printf(&options, "%s%s", i ? " " : "", request->options[i]);
    }
    for (size_t i = 0; i < request->name_count; i++)
        add_field(material, request->names[i]);
    for (size_t i = 0; i < request->include_count; i++) {
        add_field(material, request->includes[i].name);
        add_field(material, request->includes[i].text);
    }
    add_field(material, request->source);
    job->key = (kiln__cache_key){.material = material->data,
                                 .length = material->length,
                                 .source = request->name,
                                 .arch = kiln__arena_strdup(&job->arena, arch),
                                 .compiler = kiln__arena_strdup(&job->arena, compiler),
                                 .options = kiln__arena_strdup(&job->arena, kiln__text_get(&options)),
                                 .text_at = material->length - job->source.length,
                                 .text_length = job->source.length};
    bool failed = material->failed || options.failed || job->arena.failed;
    kiln__text_free(&options);
    return failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Decides whether the compiler may compile this job together with other jobs that differ only in the template arguments
 * of their kernels (compile/group.c). This saves time if NVRTC reads much text for few kernels, such as headers of CUDA
 * or a long source. The decision depends only on the texts, so it is the same in each run. */
static void allow_together(kiln__code_job *job)
{
    kiln__compile_request *request = &job->request;
    bool instance = false;
    size_t bytes = job->source.length;
    for (size_t i = 0; i < request->name_count && !instance; i++)
        instance = strchr(request->names[i], '<') != NULL;
    for (size_t i = 0; i < request->include_count && instance; i++)
        bytes += strlen(request->includes[i].text);
    request->together = instance && (request->prelude > 0 || job->includes.other_count > 0 || bytes >= TOGETHER_LEAST);
}

/* ---- jobs ---- */

static void free_job(kiln__code_job *job)
{
    const kiln_allocator *mem = job->engine->mem;
    kiln__unit_free(&job->unit);
    kiln__text_free(&job->source);
    kiln__text_free(&job->material);
    kiln__text_free(&job->label);
    kiln__arena_free(&job->arena);
    kiln__free(mem, job);
}

static kiln_status note_places(const kiln__config *config, kiln__code_job *job, kiln_error **error)
{
    const kiln__variant *variant = config->variant;
    const kiln__scope *scope = kiln__config_scope(config);
    const kiln_allocator *mem = job->engine->mem;
    job->places = kiln__arena_alloc(&job->arena, (job->request.name_count + 1) * sizeof *job->places);
    for (size_t i = 0; job->places && i < job->request.name_count; i++) {
        const char *name = job->request.names[i];
        kiln__pos pos = find_place(variant->steps, variant->step_count, scope, mem, name);
        if (!pos.source)
            pos = find_place(variant->before, variant->before_count, scope, mem, name);
        job->places[i] = kiln__arena_printf(&job->arena, "%s:%u:%u", config->spec->path, pos.line, pos.column);
    }
    return job->arena.failed ? kiln__fail_memory(error) : KILN_OK;
}

/* Prepares a job. The steps have this order because each step needs the results of the steps before it. */
kiln_status kiln__code_prepare(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                               kiln__code_job **result, kiln_error **error)
{
    kiln__target chosen = target ? *target : (kiln__target){0};
    kiln_status status = kiln__engine_nvrtc(engine, error);
    if (status == KILN_OK && !target)
        status = kiln__variant_target(engine, config->variant, &chosen, error);
    if (status != KILN_OK)
        return status;
    kiln__code_job *job = kiln__calloc(engine->mem, 1, sizeof *job);
    if (!job)
        return kiln__fail_memory(error);
    job->engine = engine;
    job->arena.mem = job->source.mem = job->material.mem = job->label.mem = engine->mem;
    job->request.arch = chosen.arch;
    job->request.kind = chosen.kind;
    job->request.cubin = cubin;
    job->lines = !target && engine->driver.simulator != NULL && !engine->as_on_gpu;
    kiln__config_print(config, &job->label);
    status = make_macros(config, job, error);
    if (status == KILN_OK)
        status = list_foreign_macros(config, job, error);
    if (status == KILN_OK)
        status = read_source(engine, config, job, error);
    if (status == KILN_OK)
        status = fill_options(engine, config, job, error);
    if (status == KILN_OK)
        status = kiln__config_kernels(config, engine->mem, &job->arena, &job->request.names, &job->request.name_count,
                                      error);
    if (status == KILN_OK)
        status = note_places(config, job, error);
    if (status == KILN_OK)
        status = write_source(job, error);
    if (status == KILN_OK)
        status = check_kernel_names(job, error);
    if (status == KILN_OK)
        status = make_key(engine, job, error);
    allow_together(job);
    if (status != KILN_OK) {
        free_job(job);
        return status;
    }
    *result = job;
    return KILN_OK;
}

/* Takes the code of the jobs that kiln__code_leave() left to the engine and whose compiles have ended, and puts it into
 * the cache. */
static void collect_left(kiln_engine *engine)
{
    kiln__code_job *done = NULL;
    pthread_mutex_lock(&engine->lock);
    for (kiln__code_job **at = &engine->left, *job; (job = *at) != NULL;) {
        if (!kiln__code_done(job)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = done;
        done = job;
    }
    pthread_mutex_unlock(&engine->lock);
    while (done) {
        kiln__code_job *next = done->next;
        kiln__code code = {0};
        if (kiln__code_take(done, &code, NULL) == KILN_OK)
            kiln__code_free(&code);
        done = next;
    }
}

kiln_status kiln__code_begin(kiln__code_job *job, kiln_error **error)
{
    kiln_engine *engine = job->engine;
    collect_left(engine);
    kiln__cache *cache = kiln__engine_cache(engine);
    if (cache && kiln__cache_get(cache, &job->key, &job->unit))
        return KILN_OK;
    kiln_status status = kiln__engine_compiler(engine, error);
    if (status == KILN_OK)
        status = kiln__compile_start(engine->compiler, &job->request, &job->compile, error);
    if (status != KILN_OK)
        free_job(job);
    return status;
}

kiln_status kiln__code_start(kiln_engine *engine, const kiln__config *config, const kiln__target *target, bool cubin,
                             kiln__code_job **result, kiln_error **error)
{
    kiln__code_job *job = NULL;
    kiln_status status = kiln__code_prepare(engine, config, target, cubin, &job, error);
    if (status == KILN_OK)
        status = kiln__code_begin(job, error);
    if (status == KILN_OK)
        *result = job;
    return status;
}

bool kiln__code_goes_together(const kiln__code_job *job) { return job->request.together; }

kiln__hash128 kiln__code_key(const kiln__code_job *job) { return kiln__hash(job->material.data, job->material.length); }

bool kiln__code_done(kiln__code_job *job) { return !job->compile || kiln__compile_done(job->compile); }

bool kiln__code_wait(kiln__code_job *job, double seconds)
{
    return !job->compile || kiln__compile_wait(job->compile, seconds);
}

/* ---- explaining a failed compile by its macros ----
 *
 * A message of NVRTC is a line `FILE(LINE): error: ...`. The next line of the log is the line of the source. */

static bool is_own_line(const kiln__code_job *job, const char *line)
{
    size_t length = strcspn(line, "(\n");
    bool ours = strncmp(line, job->request.name, length) == 0 && job->request.name[length] == '\0';
    for (size_t i = 0; i < job->includes.count && !ours; i++)
        ours = strncmp(line, job->includes.items[i].name, length) == 0 && job->includes.items[i].name[length] == '\0';
    return ours;
}

/* Explains the macros in the source line of an error: appends one sentence to `out` for each macro that the line names.
 * `ours` is true if the line is in the source or in a header of the project. If an earlier error has already explained
 * the macro i, told[i] is set, and the function adds nothing for it. */
static void explain_line(const kiln__code_job *job, const char *line, bool ours, unsigned char *told, kiln__text *out)
{
    for (size_t i = 0; i < job->macro_count; i++) {
        const macro *m = &job->macros[i];
        if (told[i] || !contains_name(line, m->name))
            continue;
        told[i] = 1;
        if (ours && m->param && contains_name(line, "template"))
            kiln__text_printf(out,
                              "\n(%s is a param, here %s, and its macro replaces the template's own %s: give the param "
                              "another name, or 'macro: false')",
                              m->name, m->value, m->name);
        else if (ours && m->param)
            kiln__text_printf(out, "\n(%s is a param, here %s)", m->name, m->value);
        else if (ours)
            kiln__text_printf(out, "\n(%s is a macro of the spec, here %s)", m->name, m->value);
        else
            kiln__text_printf(
                out,
                "\n(%s is a macro, here %s, and CUDA's headers use the same name: write 'prefix: KILN_' in the spec and "
                "KILN_%s in the source%s)",
                m->name, m->value, m->of, m->param ? ", or 'macro: false' for a param that only the launch needs" : "");
    }
}

/* Appends one sentence for each undefined identifier that is the name of a tuning parameter of another variant. */
static void explain_foreign_macros(const kiln__code_job *job, const char *message, kiln__text *out)
{
    for (size_t i = 0; i < job->foreign_count; i++) {
        const foreign_macro *m = &job->foreign[i];
        const char *at = message, *end = NULL;
        do {
            at = strstr(at, "error: identifier \"");
            at = at ? strchr(at, '"') + 1 : NULL;
            end = at ? strchr(at, '"') : NULL;
        } while (end && !(strlen(m->name) == (size_t)(end - at) && strncmp(at, m->name, (size_t)(end - at)) == 0 &&
                          strncmp(end, "\" is undefined", strlen("\" is undefined")) == 0));
        if (end)
            kiln__text_printf(out,
                              "\n(%s is a param of the variant %s, and the variant %s lacks it: give it the param, or "
                              "define %s in the source under #ifndef %s)",
                              m->name, m->variant, job->variant, m->name, m->name);
    }
}

static kiln_status explain_macros(kiln__code_job *job, const char *message, kiln__text *out)
{
    unsigned char *told = kiln__arena_alloc(&job->arena, job->macro_count + 1);
    for (const char *at = message, *next; told && at && *at; at = next) {
        const char *end = strchr(at, '\n'), *error = strstr(at, ": error: ");
        next = end ? end + 1 : NULL;
        if (!error || !end || error > end)
            continue;
        const char *line = kiln__arena_strndup(&job->arena, next, strcspn(next, "\n"));
        if (line)
            explain_line(job, line, is_own_line(job, at), told, out);
    }
    explain_foreign_macros(job, message, out);
    return job->arena.failed || out->failed ? KILN_ERROR_MEMORY : KILN_OK;
}

/* Returns whether CUDA's headers are the same as when the cache key was made. NVRTC reads these headers after that. If
 * they have changed since, the result must not be stored under the key. */
static bool headers_are_the_same(kiln__code_job *job)
{
    char now[33];
    return kiln__nvrtc_headers(job->engine->nvrtc, job->includes.others, job->includes.other_count, true, now, NULL) ==
               KILN_OK &&
           strcmp(now, job->headers) == 0;
}

kiln_status kiln__code_take(kiln__code_job *job, kiln__code *code, kiln_error **error)
{
    kiln_engine *engine = job->engine;
    kiln_status status = KILN_OK;
    kiln__code made = {.from_cache = job->compile == NULL};
    if (job->compile) {
        kiln_error *why = NULL;
        kiln__compile_wait(job->compile, -1);
        status = kiln__compile_take(job->compile, &job->unit, &made.compile_ns, &why);
        job->compile = NULL;
        if (status != KILN_OK) {
            kiln__text more = {.mem = engine->mem};
            if (status == KILN_ERROR_COMPILE && strstr(kiln_error_message(why), "in the name of a kernel"))
                explain_names(job, &job->arena, &more);
            if (explain_macros(job, kiln_error_message(why), &more) != KILN_OK)
                status = kiln__fail_memory(error);
            else
                kiln__fail(engine->mem, error, status, "%s: %s%s", kiln__text_get(&job->label), kiln_error_message(why),
                           kiln__text_get(&more));
            kiln__text_free(&more);
        }
        if (status != KILN_OK && error && kiln__error_is_passing(why))
            kiln__error_mark_passing(*error);
        kiln_error_free(why);
    }
    if (status == KILN_OK) {
        kiln__cache *cache = made.from_cache ? NULL : kiln__engine_cache(engine);
        if (cache && headers_are_the_same(job))
            kiln__cache_put(cache, &job->key, &job->unit);
        made.unit = job->unit;
        job->unit = (kiln__unit){0};
        *code = made;
    } else {
        *code = (kiln__code){.compile_ns = made.compile_ns};
    }
    free_job(job);
    return status;
}

void kiln__code_cancel(kiln__code_job *job)
{
    if (!job)
        return;
    if (job->compile)
        kiln__compile_cancel(job->compile);
    free_job(job);
}

/* ---- compiles that nobody waits for ---- */

#define QUIET_SECONDS 0.5 /* the function logs a message after it has waited for this number of seconds */

/* Waits for the end of a compile. Returns false if somebody sets the engine's `stop` flag before the end. After
 * QUIET_SECONDS the function logs a warning that it waits. It logs the warning once for all calls with the same
 * *told. */
static bool await_left(kiln__code_job *job, bool *told)
{
    const volatile int *stop = job->engine->stop;
    const uint64_t start = kiln__now_ns();
    while (!kiln__compile_wait(job->compile, 0.05)) {
        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED))
            return false;
        if (!*told && kiln__seconds_since(start) > QUIET_SECONDS) {
            *told = true;
            kiln__logf(
                &job->engine->log, KILN_LOG_WARNING,
                "kiln finishes the compiles that have begun, so that the next sweep has their code (this takes at "
                "most %g s; Ctrl-C abandons them)",
                job->engine->compile_timeout);
        }
    }
    return true;
}

/* Finishes the jobs that kiln__code_leave() left to the engine, and puts their code into the cache. The engine calls
 * this function before it closes its compiler. Ignores the error of a failed compile, because the next sweep compiles
 * the configuration again. */
static void finish_left(kiln_engine *engine)
{
    bool told = false, goes_on = true;
    pthread_mutex_lock(&engine->lock);
    kiln__code_job *job = engine->left;
    engine->left = NULL;
    pthread_mutex_unlock(&engine->lock);
    while (job) {
        kiln__code_job *next = job->next;
        kiln__code code = {0};
        goes_on = goes_on && await_left(job, &told);
        if (!goes_on)
            kiln__code_cancel(job);
        else if (kiln__code_take(job, &code, NULL) == KILN_OK)
            kiln__code_free(&code);
        job = next;
    }
}

void kiln__code_leave(kiln__code_job *job, bool unfinished)
{
    if (!job)
        return;
    kiln_engine *engine = job->engine;
    kiln__cache *cache = kiln__engine_cache(engine);
    const bool done = kiln__code_done(job), kept = cache && kiln__cache_is_writable(cache) && job->compile;
    kiln__code code = {0};
    if (!kept || !(done || (unfinished && kiln__compile_begun(job->compile)))) {
        kiln__code_cancel(job);
        return;
    }
    if (done) {
        if (kiln__code_take(job, &code, NULL) == KILN_OK)
            kiln__code_free(&code);
        return;
    }
    /* copies the name, because it belongs to the spec, which may be freed before the compile ends */
    job->request.name = job->key.source = kiln__arena_strdup(&job->arena, job->key.source);
    if (!job->key.source) {
        kiln__code_cancel(job);
        return;
    }
    pthread_mutex_lock(&engine->lock);
    job->next = engine->left;
    engine->left = job;
    engine->finish_left = finish_left;
    pthread_mutex_unlock(&engine->lock);
}

const char *kiln__code_source(const kiln__code_job *job) { return job->source.data; }

void kiln__code_free(kiln__code *code)
{
    kiln__unit_free(&code->unit);
    *code = (kiln__code){0};
}

const char *kiln__code_symbol(const kiln__code *code, const char *kernel)
{
    const char *at = code->unit.lowered, *end = at + code->unit.lowered_length;
    /* the pairs of kernel name and symbol are complete, because the reader of the cache entry has checked them */
    while (at && at < end) {
        const char *symbol = at + strlen(at) + 1;
        if (symbol >= end)
            break;
        if (strcmp(at, kernel) == 0)
            return symbol;
        at = symbol + strlen(symbol) + 1;
    }
    return NULL;
}
