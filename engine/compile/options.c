/* options.c - checks the compile options that a spec may give. The tables have the allowed options. Kiln refuses every
 * other option. So Kiln also refuses a new option of NVRTC that writes a file. */
#include <string.h>

#include "chars.h"
#include "compile.h"

/* The kind of an option's value: no value, a word of letters, digits and a few signs, a macro, or an option of
 * ptxas. */
typedef enum value_kind { NOTHING, WORD, MACRO, PTXAS } value_kind;

/* X(long name, short name, value). NVRTC's documentation describes the meaning of each option. */
#define ALLOWED(X)                                                                                                     \
    X("--define-macro", "-D", MACRO)                                                                                   \
    X("--undefine-macro", "-U", MACRO)                                                                                 \
    X("--std", "-std", WORD)                                                                                           \
    X("--use_fast_math", "-use_fast_math", NOTHING)                                                                    \
    X("--fmad", "-fmad", WORD)                                                                                         \
    X("--ftz", "-ftz", WORD)                                                                                           \
    X("--prec-sqrt", "-prec-sqrt", WORD)                                                                               \
    X("--prec-div", "-prec-div", WORD)                                                                                 \
    X("--maxrregcount", "-maxrregcount", WORD)                                                                         \
    X("--extra-device-vectorization", "-extra-device-vectorization", NOTHING)                                          \
    X("--restrict", "-restrict", NOTHING)                                                                              \
    X("--Ofast-compile", "-Ofc", WORD)                                                                                 \
    X("--dopt", "-dopt", WORD)                                                                                         \
    X("--jump-table-density", "-jtd", WORD)                                                                            \
    X("--device-debug", "-G", NOTHING)                                                                                 \
    X("--generate-line-info", "-lineinfo", NOTHING)                                                                    \
    X("--device-stack-protector", "-device-stack-protector", WORD)                                                     \
    X("--device-as-default-execution-space", "-default-device", NOTHING)                                               \
    X("--device-int128", "-device-int128", NOTHING)                                                                    \
    X("--device-float128", "-device-float128", NOTHING)                                                                \
    X("--builtin-move-forward", "-builtin-move-forward", WORD)                                                         \
    X("--builtin-initializer-list", "-builtin-initializer-list", WORD)                                                 \
    X("--frandom-seed", "-frandom-seed", WORD)                                                                         \
    X("--relocatable-device-code", "-rdc", WORD)                                                                       \
    X("--minimal", "-minimal", NOTHING)                                                                                \
    X("--disable-warnings", "-w", NOTHING)                                                                             \
    X("--optimization-info", "-opt-info", WORD)                                                                        \
    X("--display-error-number", "-err-no", NOTHING)                                                                    \
    X("--no-display-error-number", "-no-err-no", NOTHING)                                                              \
    X("--diag-error", "-diag-error", WORD)                                                                             \
    X("--diag-suppress", "-diag-suppress", WORD)                                                                       \
    X("--diag-warn", "-diag-warn", WORD)                                                                               \
    X("--brief-diagnostics", "-brief-diag", WORD)                                                                      \
    X("--ptxas-options", "-Xptxas", PTXAS)

/* The options of ptxas that a spec may give. NVRTC passes the whole value as one option, so a comma cannot add a second
 * option.
 */
#define ALLOWED_PTXAS(X)                                                                                               \
    X("--verbose", "-v", NOTHING)                                                                                      \
    X("--opt-level", "-O", WORD)                                                                                       \
    X("--maxrregcount", "-maxrregcount", WORD)                                                                         \
    X("--def-load-cache", "-dlcm", WORD)                                                                               \
    X("--def-store-cache", "-dscm", WORD)                                                                              \
    X("--force-load-cache", "-flcm", WORD)                                                                             \
    X("--force-store-cache", "-fscm", WORD)                                                                            \
    X("--fmad", "-fmad", WORD)                                                                                         \
    X("--allow-expensive-optimizations", "-allow-expensive-optimizations", WORD)                                       \
    X("--register-usage-level", "-regUsageLevel", WORD)                                                                \
    X("--disable-optimizer-constants", "-disable-optimizer-consts", NOTHING)                                           \
    X("--optimize-float-atomics", "-opt-fp-atomics", NOTHING)                                                          \
    X("--dont-merge-basicblocks", "-no-bb-merge", NOTHING)                                                             \
    X("--generate-line-info", "-lineinfo", NOTHING)                                                                    \
    X("--disable-warnings", "-w", NOTHING)                                                                             \
    X("--warning-as-error", "-Werror", NOTHING)                                                                        \
    X("--warn-on-spills", "-warn-spills", NOTHING)                                                                     \
    X("--warn-on-local-memory-usage", "-warn-lmem-usage", NOTHING)                                                     \
    X("--warn-on-double-precision-use", "-warn-double-usage", NOTHING)

/* Options that Kiln knows and refuses: X(long name, short name, reason). */
#define OURS "the engine sets this option itself"
#define WRITES "it writes a file"
#define READS "it reads files that the cache does not know of; headers are read from the folder of the source"
#define NO_PTX "the output of such a compile cannot be loaded without a link step"
#define REFUSED(X)                                                                                                     \
    X("--gpu-architecture", "-arch", "the device or --arch gives the architecture")                                    \
    X("--include-path", "-I", READS)                                                                                   \
    X("--pre-include", "-include", READS)                                                                              \
    X("--options-file", "-optf", READS)                                                                                \
    X("--use-pch", "-use-pch", READS)                                                                                  \
    X("--pch", "-pch", WRITES)                                                                                         \
    X("--create-pch", "-create-pch", WRITES)                                                                           \
    X("--pch-dir", "-pch-dir", WRITES)                                                                                 \
    X("--time", "-time", WRITES)                                                                                       \
    X("--fdevice-time-trace", "-fdevice-time-trace", WRITES)                                                           \
    X("--keep", "-keep", WRITES)                                                                                       \
    X("--output-file", "-o", WRITES)                                                                                   \
    X("--device-c", "-dc", NO_PTX)                                                                                     \
    X("--extensible-whole-program", "-ewp", NO_PTX)                                                                    \
    X("--dlink-time-opt", "-dlto", NO_PTX)                                                                             \
    X("--gen-opt-lto", "-gen-opt-lto", NO_PTX)                                                                         \
    X("--optix-ir", "-optix-ir", NO_PTX)                                                                               \
    X("--fdevice-syntax-only", "-fdevice-syntax-only", NO_PTX)                                                         \
    X("--no-source-include", "-no-source-include", OURS)                                                               \
    X("--modify-stack-limit", "-modify-stack-limit", OURS)                                                             \
    X("--no-cache", "-no-cache", OURS)                                                                                 \
    X("--split-compile", "-split-compile", "the compile workers already use all cores")

/* An allowed option with its long name and its short name. */
typedef struct allowed {
    const char *names[2];
    value_kind value;
} allowed;
/* A refused option with the reason. */
typedef struct refused {
    const char *names[2];
    const char *why;
} refused;
#define KILN_X(full, brief, value) {{full, brief}, value},
static const allowed options[] = {ALLOWED(KILN_X)};
static const allowed ptxas_options[] = {ALLOWED_PTXAS(KILN_X)};
static const refused refused_options[] = {REFUSED(KILN_X)};
#undef KILN_X

/* Returns the text after `name` if `option` is that option: "" or "=value", or the value itself for -Dx and -O3.
 * Returns NULL if `option` is another option. */
static const char *match_name(const char *option, const char *name, bool attached)
{
    size_t length = strlen(name);
    if (strncmp(option, name, length) != 0)
        return NULL;
    const char *rest = option + length;
    return *rest == '\0' || *rest == '=' || attached ? rest : NULL;
}

static bool is_word(const char *text)
{
    static const char signs[] = "+-_.,";
    if (!*text)
        return false;
    for (; *text; text++)
        if (!kiln__is_letter(*text) && !kiln__is_digit(*text) && !strchr(signs, *text))
            return false;
    return true;
}

/* Finds an option in a table. *value receives the text after '='. */
static const allowed *find_option(const allowed *table, size_t count, const char *option, const char **value)
{
    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < 2; n++) {
            const char *name = table[i].names[n];
            bool attached = strlen(name) == 2 && table[i].value != NOTHING;
            const char *rest = match_name(option, name, attached);
            if (!rest)
                continue;
            rest += *rest == '=';
            rest += strspn(rest, attached ? " " : "");
            *value = rest;
            return &table[i];
        }
    return NULL;
}

static const char *suggest_option(const char *option)
{
    const char *names[2 * (KILN__COUNT(options) + KILN__COUNT(refused_options))];
    size_t count = 0;
    for (size_t i = 0; i < KILN__COUNT(options); i++)
        for (int n = 0; n < 2; n++)
            names[count++] = options[i].names[n];
    return kiln__nearest(option, names, count);
}

static kiln_status check_ptxas(const kiln_allocator *mem, const char *option, const char *value, kiln_error **error)
{
    const char *inner = "";
    const allowed *match = find_option(ptxas_options, KILN__COUNT(ptxas_options), value, &inner);
    if (!match)
        return kiln__fail(mem, error, KILN_ERROR_REFUSED,
                          "the compile option '%s' is refused: '%s' is not among the "
                          "options of ptxas that a spec may give",
                          option, value);
    if ((match->value == NOTHING) != (*inner == '\0') || (*inner && !is_word(inner)))
        return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the compile option '%s' is refused: '%s' %s", option, value,
                          match->value == NOTHING ? "takes no value" : "needs a word or a number after '='");
    return KILN_OK;
}

/* Refuses, in this order: control characters and options without '-', known options that Kiln refuses, options outside
 * the allow-list, values of the wrong kind. */
kiln_status kiln__option_check(const kiln_allocator *mem, const char *option, kiln_error **error)
{
    for (const char *at = option; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return kiln__fail(mem, error, KILN_ERROR_REFUSED, "a compile option contains a control character");
    if (option[0] != '-')
        return kiln__fail(mem, error, KILN_ERROR_REFUSED,
                          "the compile option '%s' is refused: it does not begin with "
                          "'-'; give an option and its value as one text, with '=' between them",
                          option);
    /* The loop tests refused names before allowed names. A name of two characters may have its value attached (-Dx). */
    const char *value = "";
    const allowed *match = NULL;
    for (size_t i = 0; i < KILN__COUNT(refused_options); i++)
        for (int n = 0; n < 2; n++)
            if (match_name(option, refused_options[i].names[n], strcmp(refused_options[i].names[n], "-I") == 0))
                return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the compile option '%s' is refused: %s", option,
                                  refused_options[i].why);
    match = find_option(options, KILN__COUNT(options), option, &value);
    if (!match) {
        char name[64] = "";
        size_t length = strcspn(option, "=");
        if (length < sizeof name)
            memcpy(name, option, length);
        const char *near = suggest_option(name);
        return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the compile option '%s' is not allowed in a spec%s%s%s",
                          option, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    switch (match->value) {
    case NOTHING:
        if (*value)
            return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the compile option '%s' takes no value", option);
        return KILN_OK;
    case WORD:
        /* this option needs no value */
        if (!*value && !strchr(option, '=') && strstr(match->names[0], "-stack-protector"))
            return KILN_OK;
        if (!is_word(value))
            return kiln__fail(mem, error, KILN_ERROR_REFUSED,
                              "the compile option '%s' needs a word or a number after "
                              "'='",
                              option);
        return KILN_OK;
    case MACRO:
        if (!kiln__is_name_start(*value))
            return kiln__fail(mem, error, KILN_ERROR_REFUSED, "the compile option '%s' needs the name of a macro",
                              option);
        return KILN_OK;
    case PTXAS: return check_ptxas(mem, option, value, error);
    }
    return kiln__fail(mem, error, KILN_ERROR_INTERNAL, "the compile option '%s'", option);
}
