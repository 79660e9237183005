/* build.c - performs one compile in this process. It assembles the options and runs NVRTC. If one of the engine's own
 * options may be the reason of a failure, it compiles again without that option. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compile_internal.h"
#include "words.h"

/* The state of the callback by which NVRTC asks whether it shall continue. */
typedef struct flow {
    const atomic_bool *cancel;
    uint64_t deadline; /* a time on the clock of kiln__now_ns(), or 0 if there is no deadline */
    bool cancelled, late;
} flow;

static int on_flow(void *user, void *reserved)
{
    flow *state = user;
    (void)reserved;
    if (state->cancel && atomic_load(state->cancel))
        state->cancelled = true;
    else if (state->deadline && kiln__now_ns() > state->deadline)
        state->late = true;
    return state->cancelled || state->late;
}

/* One attempt to compile. run_attempt() creates its program, log and PTX, and frees them before it returns. */
typedef struct attempt {
    const kiln_allocator *mem;
    kiln__nvrtc *nvrtc;
    const kiln__compile_request *request;
    flow flow;
    nvrtcProgram program;
    char *log, *ptx;
    bool said_why; /* the log of the attempt contains an error */
    bool pch_done, pch_refused;
    bool types; /* the caller wants only names and messages, no code */
} attempt;

static const char device_too[] = "-default-device";

enum {
    EXTRAS = 1,
    MINIMAL = 2,
    VERBOSE = 4,
    PCH = 8,
    TYPES = 16
}; /* flags: the options of the engine that an attempt uses */

/* ---- which options ---- */

/* Returns whether the option -minimal is possible in spite of this word. -minimal removes declarations of textures,
 * surfaces, the device runtime and types of the CUDA API. A source that may use one of these declarations is compiled
 * without -minimal. Words in comments and in quoted texts do not count. */
static bool is_minimal_word(const kiln__word *word, const kiln__word *end)
{
    if (word->kind == '<') /* the '<' of a <<< with which a kernel launches a kernel */
        return end - word < 3 || word[1].kind != '<' || word[2].kind != '<';
    if (word->kind != 'w')
        return true;
    if (word->directive && word->length == 7 &&
        /* #include <NAME> and #include MACRO may name a CUDA header, which needs all declarations */
        memcmp(word->text, "include", 7) == 0)
        /* for #include "NAME", the caller checks the text of the header separately */
        return end - word > 1 && word[1].kind == '"';
    return !(word->length >= 3 && memcmp(word->text, "tex", 3) == 0) &&
           !(word->length >= 4 && memcmp(word->text, "surf", 4) == 0) && !memmem(word->text, word->length, "cuda", 4) &&
           !memmem(word->text, word->length, "__CUDACC", 8);
}

/* Clears *minimal if a text has a word that forbids -minimal. Returns false if there is no memory. */
static bool allow_minimal_in(const kiln_allocator *mem, const char *text, bool *minimal)
{
    size_t count = 0;
    kiln__word *words = kiln__words_read(mem, text, strlen(text), &count);
    if (!words)
        return false;
    *minimal = *minimal && count < KILN__WORDS_MAX;
    for (size_t i = 0; i < count && *minimal; i++)
        *minimal = is_minimal_word(words + i, words + count);
    kiln__free(mem, words);
    return true;
}

/* Decides about -minimal by the words of the source, of its headers, and of the macros in the options. Returns false if
 * there is no memory. */
static bool allow_minimal(const kiln_allocator *mem, const kiln__compile_request *request, bool *minimal)
{
    *minimal = true;
    bool judged = allow_minimal_in(mem, request->source, minimal);
    for (size_t i = 0; i < request->include_count && judged && *minimal; i++)
        judged = allow_minimal_in(mem, request->includes[i].text, minimal);
    for (size_t i = 0; i < request->option_count && judged && *minimal;
         i++) /* the value of a macro may contain a word that forbids -minimal */
        judged = allow_minimal_in(mem, request->options[i], minimal);
    return judged;
}

/* A growing list of options. `arena` owns the texts of options that the list makes. If memory runs out, the list sets
 * `failed` and drops later options. The user of the list tests `failed`. */
typedef struct option_list {
    const kiln_allocator *mem;
    kiln__arena arena;
    const char **items;
    size_t count, capacity;
    bool failed;
} option_list;

static void add_option(option_list *list, const char *option)
{
    if (!option || list->failed ||
        !kiln__grow(list->mem, &list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = option;
}

static const char *print_target(const kiln__compile_request *request, char text[KILN__TARGET_TEXT])
{
    return kiln__target_print((kiln__target){request->arch, request->kind}, request->cubin ? "sm" : "compute", text);
}

static bool has_standard(const kiln__compile_request *request)
{
    for (size_t i = 0; i < request->option_count; i++)
        if (strncmp(request->options[i], "--std", 5) == 0 || strncmp(request->options[i], "-std", 4) == 0)
            return true;
    return false;
}

/* Lists all options of an attempt: the architecture, the options of the spec, include folders, and the engine's own
 * options in the set `own`. */
static void add_options(const attempt *try, unsigned own, option_list *list)
{
    const kiln__compile_request *request = try->request;
    char target[KILN__TARGET_TEXT];
    add_option(list, kiln__arena_printf(&list->arena, "--gpu-architecture=%s", print_target(request, target)));
    if (try->nvrtc->version < 12000 &&
        !has_standard(request)) /* NVRTC 11 uses C++14 by default, but later versions use C++17 */
        add_option(list, "--std=c++17");
    for (size_t i = 0; i < request->option_count; i++)
        add_option(list, request->options[i]);
    if (*try->nvrtc->include) {
        for (size_t i = 0; i < KILN__COUNT(kiln__include_folders); i++) {
            const char *folder = kiln__include_folders[i];
            size_t length = strlen(folder); /* the length of the folder's name without the trailing slash */
            if (strcmp(folder, "cccl/") != 0 || *try->nvrtc->cccl)
                add_option(list, kiln__arena_printf(&list->arena, "-I%s%s%.*s", try->nvrtc->include, length ? "/" : "",
                                                    (int)(length ? length - 1 : 0), folder));
        }
    }
    if (request->cubin && (own & VERBOSE))
        add_option(list, "--ptxas-options=-v"); /* makes ptxas write the spilled bytes into the log */
    if (own & EXTRAS) {
        /* NVRTC then reads headers from memory only, so that the cache key covers them */
        add_option(list, "--no-source-include");
        add_option(list, "--modify-stack-limit=false"); /* the stack limit belongs to the whole process of the host */
        if (try->nvrtc->version >= 13000)
            add_option(list, "--no-cache"); /* turns off the driver's cache, because Kiln has its own cache */
    }
    if (own & MINIMAL)
        add_option(list, "-minimal");
    if (own & TYPES)
        /* the time that NVRTC needs to make code grows with the square of the number of kernels */
        add_option(list, "-fdevice-syntax-only");
    if (own & PCH) {
        add_option(list, kiln__arena_printf(&list->arena, request->pch_make ? "--create-pch=%s" : "--use-pch=%s",
                                            request->pch));
        add_option(list, "--pch-messages=false");
    }
}

/* ---- results of a program ---- */

/* Returns whether the source or its options caused a result of NVRTC. Any other result means that NVRTC does not work
 * at present. */
static bool is_caused_by_source(nvrtcResult result)
{
    return result == NVRTC_SUCCESS || result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION ||
           result == NVRTC_ERROR_INVALID_INPUT || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

/* Reads one text of a program. The caller frees the text. *length counts the terminating NUL for the kinds of text
 * where NVRTC counts it. *result receives NVRTC's result. The text is "" after an error of NVRTC, or if it had
 * KILN__MESSAGE_MAX bytes or more. Returns NULL if there is no memory. */
static char *get_text(const attempt *try, nvrtcResult (*size_of)(nvrtcProgram, size_t *),
                      nvrtcResult (*get)(nvrtcProgram, char *), size_t *length, nvrtcResult *result)
{
    size_t size = 0;
    *result = size_of(try->program, &size);
    if (*result != NVRTC_SUCCESS || size >= KILN__MESSAGE_MAX)
        size = 0;
    char *text = kiln__alloc(try->mem, size + 1);
    if (!text)
        return NULL;
    if (size)
        *result = get(try->program, text);
    if (*result != NVRTC_SUCCESS)
        size = 0;
    text[size] = '\0';
    *length = size;
    return text;
}

static kiln_status get_names(const attempt *try, kiln__text *lowered, nvrtcResult *result, kiln_error **error)
{
    for (size_t i = 0; i < try->request->name_count; i++) {
        const char *name = try->request->names[i], *symbol = NULL;
        *result = try->nvrtc->nvrtcGetLoweredName(try->program, name, &symbol);
        if (*result != NVRTC_SUCCESS || !symbol)
            return kiln__fail(try->mem, error, KILN_ERROR_COMPILE, "%s: NVRTC has no symbol for the kernel '%s'%s%s",
                              try->request->name, name, *result == NVRTC_SUCCESS ? "" : ": ",
                              *result == NVRTC_SUCCESS ? "" : try->nvrtc->nvrtcGetErrorString(*result));
        kiln__text_add(lowered, name, strlen(name) + 1);
        kiln__text_add(lowered, symbol, strlen(symbol) + 1);
    }
    return lowered->failed ? kiln__fail_memory(error) : KILN_OK;
}

static bool is_given_name(const kiln__compile_request *request, const char *name, size_t length)
{
    if (strlen(request->name) == length && memcmp(request->name, name, length) == 0)
        return true;
    for (size_t i = 0; i < request->include_count; i++)
        if (strlen(request->includes[i].name) == length && memcmp(request->includes[i].name, name, length) == 0)
            return true;
    return false;
}

/* The source and its headers are texts without files, but NVRTC's .file lines name them as files of the current folder.
 * The cache gives the PTX to processes in other folders, and findings of those processes have to name the same files.
 * So this function removes the current folder from the .file lines. The .file lines of headers that NVRTC read from
 * disk keep their paths. */
static void remove_folder_of_files(const kiln__compile_request *request, char *ptx)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder - 1))
        return;
    size_t length = strlen(folder);
    if (folder[length - 1] != '/')
        folder[length++] = '/';
    char *to = ptx, *from = ptx; /* the text before `from` is already at its place before `to` */
    for (char *line = strstr(ptx, "\t.file\t"); line; line = strstr(line + 1, "\t.file\t")) {
        char *path = line + strcspn(line, "\"\n");
        line = path - 1; /* the rest of the line may contain the word again, before the same path */
        if (*path++ != '"' || strncmp(path, folder, length) != 0)
            continue;
        const char *name = path + length;
        const size_t name_length = strcspn(name, "\"\n");
        if (name[name_length] != '"' || !is_given_name(request, name, name_length))
            continue;
        memmove(to, from, (size_t)(path - from));
        to += path - from;
        from = path + length;
        line = from - 1;
    }
    memmove(to, from, strlen(from) + 1);
}

/* Collects PTX, machine code, symbols and log of a successful compile into a unit. If the attempt has `types`, the unit
 * gets only symbols and log. */
static kiln_status get_results(attempt *try, kiln__unit *unit, kiln_error **error)
{
    const kiln__nvrtc *nvrtc = try->nvrtc;
    kiln__text lowered = {.mem = try->mem};
    char *cubin = NULL;
    size_t ptx_size = 0, cubin_size = 0;
    nvrtcResult named = NVRTC_SUCCESS, ptx_result, cubin_result = NVRTC_SUCCESS;
    kiln_status status = get_names(try, &lowered, &named, error);
    if (status == KILN_OK && try->types) {
        const kiln__unit parts = {
            .lowered = lowered.data, .lowered_length = lowered.length, .log = try->log, .log_length = strlen(try->log)};
        status = kiln__unit_make(try->mem, &parts, unit, error);
        kiln__text_free(&lowered);
        return status;
    }
    try->ptx = get_text(try, nvrtc->nvrtcGetPTXSize, nvrtc->nvrtcGetPTX, &ptx_size, &ptx_result);
    if (status == KILN_OK && try->request->cubin)
        cubin = get_text(try, nvrtc->nvrtcGetCUBINSize, nvrtc->nvrtcGetCUBIN, &cubin_size, &cubin_result);
    if (status == KILN_OK && (!try->ptx || (try->request->cubin && !cubin)))
        status = kiln__fail_memory(error);
    if (try->ptx)
        remove_folder_of_files(try->request, try->ptx);
    size_t length = try->ptx ? strlen(try->ptx) : 0; /* NVRTC's length counts the terminating NUL */
    if (status == KILN_OK && (length == 0 || (try->request->cubin && cubin_size == 0)))
        status = kiln__fail(try->mem, error, KILN_ERROR_COMPILE,
                            "%s: NVRTC made no %s; a compile option may prevent it", try->request->name,
                            length ? "machine code" : "PTX");
    bool of_source = is_caused_by_source(named) && is_caused_by_source(ptx_result) && is_caused_by_source(cubin_result);
    if (status == KILN_ERROR_COMPILE && error && !of_source)
        kiln__error_mark_passing(*error);
    if (status == KILN_OK) {
        size_t log_length = strlen(try->log);
        kiln__unit parts = {.ptx = try->ptx,
                            .ptx_length = length,
                            .cubin = cubin,
                            .cubin_length = cubin_size,
                            .lowered = lowered.data,
                            .lowered_length = lowered.length,
                            .log = try->log,
                            .log_length = log_length};
        status = kiln__unit_make(try->mem, &parts, unit, error);
    }
    kiln__free(try->mem, cubin);
    kiln__text_free(&lowered);
    return status;
}

/* ---- an attempt ---- */

/* Makes the error of a failed attempt. The message has the log in a form for people, and hints about missing headers.
 * If the source is not the cause, the message has NVRTC's own reason, and the error is marked as passing. */
static kiln_status describe_failure(attempt *try, nvrtcResult result, kiln_error **error)
{
    const kiln__compile_request *request = try->request;
    if (try->flow.cancelled)
        return kiln__fail(try->mem, error, KILN_ERROR_INTERRUPTED, "%s: the compile was stopped", request->name);
    if (try->flow.late)
        return kiln__fail(try->mem, error, KILN_ERROR_TIMEOUT, "%s: the compile took longer than its limit",
                          request->name);
    size_t ptx_size = 0;
    nvrtcResult ptx_result;
    if (!try->ptx)
        try->ptx = get_text(try, try->nvrtc->nvrtcGetPTXSize, try->nvrtc->nvrtcGetPTX, &ptx_size, &ptx_result);
    kiln__text text = {.mem = try->mem};
    char target[KILN__TARGET_TEXT];
    kiln__text_printf(&text, "%s does not compile for %s", request->name, print_target(request, target));
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION)
        kiln__text_puts(&text, ":\n");
    else if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE)
        kiln__text_printf(&text, ": NVRTC cannot load libnvrtc-builtins, which must be in the folder of %s\n",
                          try->nvrtc->path);
    else
        kiln__text_printf(&text, ": %s\n", try->nvrtc->nvrtcGetErrorString(result));
    kiln__compile_log_format(&text, try->log ? try->log : "", try->ptx);
    kiln__header_hints(&text, try->nvrtc->include, request->includes, request->include_count, try->log ? try->log : "");
    if (!*try->nvrtc->include && try->log && strstr(try->log, "open source file"))
        kiln__text_puts(&text, "(the CUDA headers were not found; install them, or set KILN_CUDA_INCLUDE to their "
                               "folder)\n");
    kiln_status status = text.failed ? kiln__fail_memory(error)
                                     : kiln__fail(try->mem, error, KILN_ERROR_COMPILE, "%s", text.data);
    kiln__text_free(&text);
    if (status == KILN_ERROR_COMPILE && error && !is_caused_by_source(result))
        kiln__error_mark_passing(*error);
    return status;
}

static nvrtcResult create_program(attempt *try, kiln__arena *arena)
{
    const kiln__compile_request *request = try->request;
    size_t count = request->include_count;
    const char **texts = kiln__arena_alloc(arena, (count + 1) * sizeof *texts);
    const char **names = kiln__arena_alloc(arena, (count + 1) * sizeof *names);
    /* NVRTC takes a program's name that begins with '-' for an option. */
    const char *name = *request->name == '-' ? kiln__arena_printf(arena, "./%s", request->name) : request->name;
    if (!texts || !names || !name)
        return NVRTC_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        texts[i] = request->includes[i].text;
        names[i] = request->includes[i].name;
    }
    nvrtcResult result = try->nvrtc->nvrtcCreateProgram(&try->program, request->source, name, (int)count,
                                                        count ? texts : NULL, count ? names : NULL);
    if (result != NVRTC_SUCCESS)
        try->program = NULL;
    for (size_t i = 0; i < request->name_count && result == NVRTC_SUCCESS; i++)
        result = try->nvrtc->nvrtcAddNameExpression(try->program, request->names[i]);
    return result;
}

static bool request_made(const attempt *try)
{
    return !try->request->pch_make || (try->nvrtc->pch_status && try->nvrtc->pch_status(try->program) == NVRTC_SUCCESS);
}

/* Runs one attempt and frees its program. The caller reads NVRTC's result from *result and decides about another
 * attempt. If NVRTC did not use the precompiled headers, *result is NVRTC_ERROR_INVALID_OPTION. */
static kiln_status run_attempt(attempt *try, unsigned own, kiln__unit *unit, nvrtcResult *result, kiln_error **error)
{
    option_list list = {.mem = try->mem, .arena = {.mem = try->mem}};
    kiln_status status = KILN_OK;
    size_t log_size;
    add_options(try, own, &list);
    *result = list.failed || list.arena.failed ? NVRTC_ERROR_OUT_OF_MEMORY : create_program(try, &list.arena);
    if (*result == NVRTC_SUCCESS) {
        if (try->nvrtc->set_flow && (try->flow.cancel || try->flow.deadline))
            try->nvrtc->set_flow(try->program, on_flow, &try->flow);
        *result = try->nvrtc->nvrtcCompileProgram(try->program, (int)list.count, list.items);
        nvrtcResult told;
        try->log = get_text(try, try->nvrtc->nvrtcGetProgramLogSize, try->nvrtc->nvrtcGetProgramLog, &log_size, &told);
        if (*result == NVRTC_SUCCESS || !is_caused_by_source(told))
            /* the stored result of a compile includes its log, and without a log the cause of a failure is unknown */
            *result = told;
        if (!try->log)
            *result = NVRTC_ERROR_OUT_OF_MEMORY;
        else
            try->said_why = strstr(try->log, "error") || strstr(try->log, "fatal");
    }
    bool pch = (own & PCH) && *result == NVRTC_SUCCESS;
    if (pch) /* NVRTC warns if it did not use the precompiled headers */
        try->pch_done = request_made(try) && !strstr(try->log, "precompiled header");
    if (pch && !try->pch_done)
        *result = NVRTC_ERROR_INVALID_OPTION;
    try->pch_refused = (own & PCH) && *result != NVRTC_SUCCESS;
    if (*result == NVRTC_SUCCESS)
        status = get_results(try, unit, error);
    else if (*result == NVRTC_ERROR_OUT_OF_MEMORY)
        status = kiln__fail_memory(error);
    else
        status = describe_failure(try, *result, error);
    if (try->program)
        try->nvrtc->nvrtcDestroyProgram(&try->program);
    try->program = NULL;
    kiln__free(try->mem, try->log);
    kiln__free(try->mem, try->ptx);
    try->log = try->ptx = NULL;
    kiln__free(try->mem, list.items);
    kiln__arena_free(&list.arena);
    return status;
}

/* ---- the whole request ---- */

/* Refuses requests that this NVRTC cannot serve. The message names the version of NVRTC. */
static kiln_status check_request(const kiln_allocator *mem, const kiln__nvrtc *nvrtc,
                                 const kiln__compile_request *request, kiln_error **error)
{
    /* an old library does not list its architectures, and checks the architecture itself */
    bool known = nvrtc->arch_count == 0;
    for (size_t i = 0; i < nvrtc->arch_count; i++)
        known = known || nvrtc->archs[i] == request->arch;
    if (!known) {
        kiln__text list = {.mem = mem};
        for (size_t i = 0; i < nvrtc->arch_count; i++)
            kiln__text_printf(&list, "%s%d", i ? ", " : "", nvrtc->archs[i]);
        kiln_status status = kiln__fail(
            mem, error, KILN_ERROR_UNSUPPORTED, "NVRTC %d.%d (%s) does not support architecture %d; it supports %s",
            nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->path, request->arch, kiln__text_get(&list));
        kiln__text_free(&list);
        return status;
    }
    /* NVRTC's list of architectures does not contain the targets with a letter. Targets such as sm_90a exist since
     * 12.0, and targets of families (sm_100f) since 12.9. */
    if ((request->kind && nvrtc->version < 12000) || (request->kind == 'f' && nvrtc->version < 12090))
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED, "NVRTC %d.%d (%s) is too old for the target sm_%d%c",
                          nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->path, request->arch, request->kind);
    if (request->cubin && (!nvrtc->nvrtcGetCUBIN || !nvrtc->nvrtcGetCUBINSize))
        return kiln__fail(mem, error, KILN_ERROR_UNSUPPORTED,
                          "NVRTC %d.%d (%s) cannot make machine code; 11.1 and later "
                          "do",
                          nvrtc->version / 1000, nvrtc->version % 1000 / 10, nvrtc->path);
    for (size_t i = 0; i < request->name_count; i++) {
        const char *name = request->names[i];
        if (!*name || name[strcspn(name, "\n\r")]) /* each name becomes a line of source */
            return kiln__fail(mem, error, KILN_ERROR_SPEC, "'%s' cannot be the name of a kernel", name);
    }
    return KILN_OK;
}

/* Compiles one text with as many of the engine's own options as this version of NVRTC accepts. Each attempt drops one
 * kind of option that may be the reason of its failure:
 *
 * - PCH: the precompiled headers were refused.
 * - TYPES, then all except VERBOSE: NVRTC found an invalid option, which may be one of the engine's own.
 * - MINIMAL: the compile failed, and the messages must come from the complete compiler.
 * - VERBOSE: the compile failed without a message. NVRTC 13.0 loses the message if it prints statistics.
 *
 * If an attempt without EXTRAS succeeds, the function sets `plain` of `nvrtc`, and the first attempt of later compiles
 * has only VERBOSE. */
static kiln_status compile_text(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                const flow *limits, kiln__unit *unit, kiln_error **error)
{
    kiln_status status = KILN_OK;
    attempt try = {.mem = mem, .nvrtc = nvrtc, .request = request, .flow = *limits};
    unsigned own = VERBOSE;
    bool minimal = false;
    if (!atomic_load(&nvrtc->plain)) {
        if (!allow_minimal(mem, request, &minimal))
            return kiln__fail_memory(error);
        own |= EXTRAS | (minimal ? MINIMAL : 0u);
    }
    if (request->pch && nvrtc->pch_status)
        own |= PCH;
    /* NVRTC does not use precompiled headers with an option that they were made without */
    if (request->types && !(own & PCH))
        own |= TYPES;
    for (;;) {
        nvrtcResult result = NVRTC_SUCCESS;
        kiln_error *why = NULL;
        try.types = own & TYPES;
        status = run_attempt(&try, own, unit, &result, &why);
        bool stopped = try.flow.cancelled || try.flow.late;
        unsigned fewer = own;
        if (!stopped && try.pch_refused)
            fewer = (fewer & ~(unsigned)PCH) |
                    /* TYPES was missing only because of the precompiled headers */
                    (request->types ? (unsigned)TYPES : 0u);
        else if (!stopped && result == NVRTC_ERROR_INVALID_OPTION && (own & TYPES))
            fewer &= ~(unsigned)TYPES;
        else if (!stopped && result == NVRTC_ERROR_INVALID_OPTION)
            fewer &= VERBOSE; /* this version of NVRTC may not know one of the engine's options */
        else if (!stopped && result == NVRTC_ERROR_COMPILATION && (own & MINIMAL))
            fewer &= ~(unsigned)MINIMAL;
        else if (!stopped && result == NVRTC_ERROR_COMPILATION && !try.said_why)
            /* NVRTC 13.0 omits ptxas' error "uses too much shared data" if it prints statistics */
            fewer &= ~(unsigned)VERBOSE;
        if (request->pch_done)
            *request->pch_done = status == KILN_OK && try.pch_done && (own & PCH);
        if (status == KILN_OK && !(own & EXTRAS))
            atomic_store(&nvrtc->plain, true);
        if (status == KILN_OK || fewer == own) {
            if (why && error && !*error)
                *error = why;
            else
                kiln_error_free(why);
            break;
        }
        kiln_error_free(why);
        own = fewer;
    }
    return status;
}

/* ---- without the host's code ---- */

/* The largest number of times that declarations of the host are removed. */
enum { MOST_HOST_ROUNDS = 16 };

static bool may_have_host_code(const kiln__compile_request *request, const kiln_error *why)
{
    if (request->pch_make || !why || kiln__error_is_passing(why))
        return false;
    for (size_t i = 0; i < request->option_count; i++)
        if (strcmp(request->options[i], device_too) == 0)
            return true;
    return strstr(kiln_error_message(why), "is considered a host ") ||
           strstr(kiln_error_message(why), "explicitly marked as a __host__ function");
}

/* Copies a request with its texts, because later steps change the texts, and adds the option -default-device. With
 * -default-device, functions without __device__ belong to the device. The copy uses no precompiled headers: NVRTC
 * refuses headers that were made without -default-device, so each compile would run twice. */
static bool copy_request(const kiln__compile_request *from, kiln__arena *arena, kiln__compile_request *to,
                         kiln__include **includes)
{
    const char **options = kiln__arena_alloc(arena, (from->option_count + 1) * sizeof *options);
    *includes = kiln__arena_alloc(arena, (from->include_count + 1) * sizeof **includes);
    *to = *from;
    to->pch = NULL;
    to->source = kiln__arena_strdup(arena, from->source);
    if (!options || !*includes || !to->source)
        return false;
    bool given = false;
    for (size_t i = 0; i < from->option_count; i++) {
        options[i] = from->options[i];
        given |= strcmp(options[i], device_too) == 0;
    }
    if (!given)
        options[to->option_count++] = device_too;
    to->options = options;
    for (size_t i = 0; i < from->include_count; i++) {
        (*includes)[i] = from->includes[i];
        (*includes)[i].text = kiln__arena_strdup(arena, from->includes[i].text);
    }
    to->includes = *includes;
    return !arena->failed;
}

/* The declarations of the host that are removed from a request. */
typedef struct removal {
    kiln__host_list known;   /* a copy of the declarations that were removed from earlier requests */
    kiln__host_list removed; /* the declarations that were removed from this request */
    kiln__text places;       /* the positions of the removed declarations, for messages */
} removal;

/* Blanks the declarations of the host in which `log` reports errors, and the declarations in r->known. Returns false if
 * it blanked nothing. */
static bool remove_host(const kiln_allocator *mem, const kiln__compile_request *less, kiln__include *includes,
                        const char *log, removal *r)
{
    size_t removed = kiln__host_remove(mem, (char *)less->source, less->name, log, &r->known, &r->removed, &r->places);
    for (size_t i = 0; i < less->include_count; i++)
        removed += kiln__host_remove(mem, (char *)includes[i].text, includes[i].name, log, &r->known, &r->removed,
                                     &r->places);
    return removed > 0;
}

static void say_removed(const kiln_allocator *mem, const kiln__text *places, kiln_error **why)
{
    kiln_error *told = NULL;
    if (!*why || places->length == 0)
        return;
    kiln__fail(mem, &told, KILN_ERROR_COMPILE,
               "%s\n(left out, because it does not compile for the device: %s%s; a function that a kernel calls needs "
               "__device__)",
               kiln_error_message(*why), kiln__text_get(places), places->length > 200 ? ", ..." : "");
    if (told) {
        kiln_error_free(*why);
        *why = told;
    }
}

/* Returns the hash of the request's source and headers. All configurations of a source have the same hash, because the
 * hash begins after the macros, at the first `#line 1 "NAME"`. The hash omits the name: kiln init names the source as
 * its user does, and a spec names the source from the folder of the spec. Two sources have different hashes. So a
 * source cannot remove declarations of another source. Otherwise a judged kernel could remove declarations of the
 * spec's own kernel. */
static kiln__hash128 hash_source(const kiln__compile_request *request)
{
    const char *own = strstr(request->source, "#line 1 \"");
    own = own ? own + strcspn(own, "\n") : request->source;
    kiln__hash128 hash = kiln__hash(own, strlen(own));
    for (size_t i = 0; i < request->include_count; i++) {
        const kiln__include *one = &request->includes[i];
        const kiln__hash128 parts[3] = {hash, kiln__hash(one->name, strlen(one->name)),
                                        kiln__hash(one->text, strlen(one->text))};
        hash = kiln__hash(parts, sizeof parts);
    }
    return hash;
}

/* Copies the list of the declarations that were removed from earlier requests. A copy without some declarations only
 * costs more compiles. */
static void copy_known(const kiln_allocator *mem, kiln__nvrtc *nvrtc, kiln__host_list *to)
{
    pthread_mutex_lock(&nvrtc->lock);
    for (size_t i = 0; i < nvrtc->host.count; i++)
        kiln__host_list_add(mem, to, &nvrtc->host.items[i]);
    pthread_mutex_unlock(&nvrtc->lock);
}

/* Remembers the declarations that were removed from `less`, if no text of `less` has their names. */
static void keep_removed(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *less,
                         kiln__host_list *removed)
{
    kiln__host_list_drop(mem, removed, less->source);
    for (size_t i = 0; i < less->include_count; i++)
        kiln__host_list_drop(mem, removed, less->includes[i].text);
    pthread_mutex_lock(&nvrtc->lock);
    for (size_t i = 0; i < removed->count; i++)
        kiln__host_list_add(nvrtc->mem, &nvrtc->host, &removed->items[i]);
    pthread_mutex_unlock(&nvrtc->lock);
}

/* Compiles a source that, like files for nvcc, also has functions of the host. At the start *why is the error of the
 * compile of the whole source. Its message has the log. This function blanks the declarations of the host that have an
 * error, and compiles again. It stops when no error is left, when all errors are in code of the device, or after
 * MOST_HOST_ROUNDS compiles. At the end *why is the error of the last compile, or NULL.
 *
 * A source needs several compiles, because the compiler finds some errors only after the earlier errors are gone. All
 * configurations of a sweep have the same declarations of the host, so compile_known() removes these declarations from
 * the next configuration at once. */
static kiln_status compile_without_host(const kiln_allocator *mem, kiln__nvrtc *nvrtc,
                                        const kiln__compile_request *request, const flow *limits, kiln__unit *unit,
                                        kiln_error **why)
{
    kiln__arena arena = {.mem = mem};
    removal r = {.known.source = hash_source(request), .places = {.mem = mem}};
    kiln__compile_request less;
    kiln__include *includes;
    kiln_status status = KILN_ERROR_COMPILE;
    bool again = copy_request(request, &arena, &less, &includes);
    if (again) /* most errors remain with -default-device, so removing their declarations first saves a compile */
        remove_host(mem, &less, includes, kiln_error_message(*why), &r);
    for (int round = 0; again && round < MOST_HOST_ROUNDS; round++) {
        kiln_error_free(*why);
        *why = NULL;
        status = compile_text(mem, nvrtc, &less, limits, unit, why);
        again = status == KILN_ERROR_COMPILE && *why && !kiln__error_is_passing(*why) &&
                remove_host(mem, &less, includes, kiln_error_message(*why), &r);
    }
    if (status == KILN_OK)
        keep_removed(mem, nvrtc, &less, &r.removed);
    if (status == KILN_ERROR_COMPILE)
        say_removed(mem, &r.places, why);
    kiln__text_free(&r.places);
    kiln__free(mem, r.removed.items);
    kiln__arena_free(&arena);
    return status;
}

/* If declarations were removed from earlier configurations of the source, compiles the source without these
 * declarations. No other part of the source has the names of these declarations, so the code is the same without them.
 * If it returns KILN_ERROR_COMPILE, it sets no *why, and the caller compiles the whole source. */
static kiln_status compile_known(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                 const flow *limits, kiln__unit *unit, kiln_error **why)
{
    removal r = {.known.source = hash_source(request), .places = {.mem = mem}};
    kiln__arena arena = {.mem = mem};
    kiln__compile_request less;
    kiln__include *includes;
    kiln_status status = KILN_ERROR_COMPILE;
    copy_known(mem, nvrtc, &r.known);
    if (r.known.count && !request->pch_make && copy_request(request, &arena, &less, &includes) &&
        remove_host(mem, &less, includes, "", &r)) {
        remove_host(mem, &less, includes, "", &r); /* the second call removes functions inside structures */
        status = compile_text(mem, nvrtc, &less, limits, unit, why);
    }
    if (status == KILN_ERROR_COMPILE) {
        kiln_error_free(*why);
        *why = NULL;
    }
    kiln__text_free(&r.places);
    kiln__free(mem, r.known.items);
    kiln__free(mem, r.removed.items);
    kiln__arena_free(&arena);
    return status;
}

/* ---- with the names that nvcc declares unasked ---- */

/* Returns a copy of the request in the arena. The source of the copy begins with the text of the header that the log
 * misses. A #line keeps the line numbers in messages. Returns NULL if the log misses no name of such a header, if the
 * source already begins with this text, or if memory runs out. */
static kiln__compile_request *add_implied(kiln__arena *arena, const kiln__compile_request *from, const char *log)
{
    const char *text = NULL;
    kiln__compile_request *to = kiln__header_implied(log, &text) ? kiln__arena_alloc(arena, sizeof *to) : NULL;
    if (!to)
        return NULL;
    const char *skip = strncmp(text, "#pragma once\n", 13) == 0 ? text + 13 : text;
    if (strncmp(from->source, skip, strlen(skip)) == 0) /* the text was added for an earlier compile and did not help */
        return NULL;
    *to = *from;
    to->prelude = 0;
    to->pch = NULL;
    to->source = kiln__arena_printf(arena, "%s#line 1\n%s", skip, from->source);
    return to->source ? to : NULL;
}

/* Returns true if a text of the request has this word. */
static bool has_word(const kiln__compile_request *request, const char *word)
{
    bool has = strstr(request->source, word) != NULL;
    for (size_t i = 0; i < request->include_count && !has; i++)
        has = request->includes[i].text && strstr(request->includes[i].text, word);
    return has;
}

/* Removes the parts of the request's texts that its kernels do not need. The source loses explicit instantiations of
 * kernels, because the names of the request instantiate the kernels that it needs. The word __extension__, which NVRTC
 * does not know, becomes an empty macro. Returns NULL if memory runs out. */
static const kiln__compile_request *prepare(const kiln_allocator *mem, kiln__arena *arena,
                                            const kiln__compile_request *from)
{
    const bool instances = from->name_count && strstr(from->source, "template") && strstr(from->source, "__global__");
    const bool extension = has_word(from, "__extension__");
    if (!instances && !extension)
        return from;
    kiln__compile_request *to = kiln__arena_alloc(arena, sizeof *to);
    char *source = instances ? kiln__arena_strdup(arena, from->source) : NULL;
    const char **options = kiln__arena_alloc(arena, (from->option_count + 1) * sizeof *options);
    if (!to || !options || (instances && (!source || !kiln__host_drop_instances(mem, source))))
        return NULL;
    *to = *from;
    to->source = source ? source : from->source;
    for (size_t i = 0; i < from->option_count; i++)
        options[i] = from->options[i];
    if (extension)
        options[to->option_count++] = "-D__extension__=";
    to->options = options;
    return to;
}

/* Compiles a request. If the compile fails because names are missing that nvcc declares without an #include (INFINITY,
 * uint32_t), compiles the source again with these names. If the compile fails in functions of the host, compiles the
 * source again without these functions. */
static kiln_status compile_as_nvcc(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                                   const flow *limits, kiln__unit *unit, kiln_error **why)
{
    enum { MOST_IMPLIED = 6 };
    kiln__arena arena = {.mem = mem};
    kiln_status status = KILN_ERROR_COMPILE;
    request = prepare(mem, &arena, request);
    if (!request)
        status = kiln__fail_memory(why);
    for (int round = 0; round < MOST_IMPLIED && request && status == KILN_ERROR_COMPILE; round++) {
        kiln_error_free(*why);
        *why = NULL;
        status = compile_known(mem, nvrtc, request, limits, unit, why);
        if (status == KILN_ERROR_COMPILE)
            status = compile_text(mem, nvrtc, request, limits, unit, why);
        if (status == KILN_ERROR_COMPILE && may_have_host_code(request, *why))
            status = compile_without_host(mem, nvrtc, request, limits, unit, why);
        bool again = status == KILN_ERROR_COMPILE && *why && !kiln__error_is_passing(*why) && !request->pch_make;
        request = again ? add_implied(&arena, request, kiln_error_message(*why)) : NULL;
    }
    kiln__arena_free(&arena);
    return status;
}

kiln_status kiln__compile_here(const kiln_allocator *mem, kiln__nvrtc *nvrtc, const kiln__compile_request *request,
                               const atomic_bool *cancel, double seconds, kiln__unit *unit, uint64_t *ns,
                               kiln_error **error)
{
    uint64_t start = kiln__now_ns();
    kiln_error *why = NULL;
    kiln_status status = kiln__nvrtc_load(nvrtc, error);
    if (status == KILN_OK)
        status = check_request(mem, nvrtc, request, error);
    if (status != KILN_OK)
        return status;
    flow limits = {.cancel = cancel, .deadline = kiln__deadline_in(seconds)};
    status = compile_as_nvcc(mem, nvrtc, request, &limits, unit, &why);
    if (status != KILN_OK && error && !*error)
        *error = why;
    else
        kiln_error_free(why);
    if (ns)
        *ns = kiln__now_ns() - start;
    return status;
}

/* Copies the parts of a unit into one block. Each part gets a terminating NUL that its length does not count. */
kiln_status kiln__unit_make(const kiln_allocator *mem, const kiln__unit *parts, kiln__unit *unit, kiln_error **error)
{
    const uint64_t lengths[] = {parts->cubin_length, parts->ptx_length, parts->lowered_length, parts->log_length};
    const void *texts[] = {parts->cubin, parts->ptx, parts->lowered, parts->log};
    uint64_t total = 0;
    for (size_t i = 0; i < KILN__COUNT(lengths); i++) {
        if (lengths[i] > KILN__MESSAGE_MAX)
            return kiln__fail(mem, error, KILN_ERROR_COMPILE, "the compiler's result is too large");
        total += lengths[i] + 1; /* one more byte for the terminating NUL, which the length does not count */
    }
    char *block = kiln__alloc(mem, (size_t)total), *at = block;
    if (!block)
        return kiln__fail_memory(error);
    const char *placed[KILN__COUNT(lengths)];
    for (size_t i = 0; i < KILN__COUNT(lengths); i++) {
        placed[i] = lengths[i] ? at : NULL;
        if (lengths[i])
            memcpy(at, texts[i], (size_t)lengths[i]);
        at[lengths[i]] = '\0';
        at += lengths[i] + 1;
    }
    *unit = (kiln__unit){.cubin = placed[0],
                         .cubin_length = (size_t)lengths[0],
                         .ptx = placed[1],
                         .ptx_length = (size_t)lengths[1],
                         .lowered = placed[2],
                         .lowered_length = (size_t)lengths[2],
                         .log = placed[3],
                         .log_length = (size_t)lengths[3],
                         .block = block,
                         .mem = mem};
    return KILN_OK;
}
