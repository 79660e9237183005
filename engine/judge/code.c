/* code.c - reads the PTX of a candidate before the candidate runs. Finds the integers in its instructions, its
 * variables in global and constant memory, and instructions that no kernel needs for an answer. */
#include <stdlib.h>
#include <string.h>

#include "chars.h"
#include "judge_internal.h"
#include "signature.h"

#define COUNTER(number)                                                                                                \
    {"%pm" #number, "it reads a counter of events: an answer must not depend on them"},                                \
    {                                                                                                                  \
        "%pm" #number "_64", "it reads a counter of events: an answer must not depend on them"                         \
    }

static const char discarded[] = "it discards lines of memory, whose content is undefined afterwards";

/* Words of the PTX that end the judgement. A kernel with such a word breaks one of two rules: its answer may depend
 * only on its inputs, and its outputs must be its only effect. */
static const struct {
    const char *word, *why;
} forbidden[] = {
    {"vprintf", "it prints, but the only effects of a kernel may be its outputs"},
    {"%clock", "it reads a clock: an answer must not depend on the time"},
    {"%clock_hi", "it reads a clock: an answer must not depend on the time"},
    {"%clock64", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer_lo", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer_hi", "it reads a clock: an answer must not depend on the time"},
    {"discard.global", discarded},
    {"discard.L2", discarded},
    {"%gridid", "it reads the number of the launch: an answer must not depend on earlier launches"},
    COUNTER(0),
    COUNTER(1),
    COUNTER(2),
    COUNTER(3),
    COUNTER(4),
    COUNTER(5),
    COUNTER(6),
    COUNTER(7),
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

/* Returns true if the line contains the word, not only as part of a longer word. */
static bool has_word(const char *line, size_t length, const char *word)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++)
        if (memcmp(line + i, word, size) == 0 && (i == 0 || !is_word(line[i - 1])) &&
            (i + size == length || !is_word(line[i + size])))
            return true;
    return false;
}

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

/* Adds the magnitude of an integer to code->constants, unless no size can be as large. */
static bool add_constant(kiln__judge *judge, int64_t value)
{
    enum { MOST = 4096 };
    static const int64_t largest = (int64_t)1 << 53;
    kiln__judge_code *code = &judge->code;
    if (value < -largest || value > largest)
        return true;
    value = value < 0 ? -value : value;
    for (size_t i = 0; i < code->constant_count && code->constant_count < MOST; i++)
        if (code->constants[i] == value)
            return true;
    if (code->constant_count == MOST)
        return true;
    if (!kiln__grow(judge->mem, &code->constants, &code->constant_capacity, code->constant_count + 1,
                    sizeof *code->constants))
        return false;
    code->constants[code->constant_count++] = value;
    return true;
}

/* Adds the integers among the operands of an instruction to code->constants. Leaves out offsets in addresses
 * (`[%rd1+4]`) and digits at the end of names. */
static bool add_operands(kiln__judge *judge, const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && !is_space(line[i])) /* skips the name of the instruction */
        i++;
    for (int depth = 0; i < length; i++) {
        depth += line[i] == '[' ? 1 : line[i] == ']' ? -1 : 0;
        if (depth || !is_digit(line[i]) || is_word(line[i - 1]))
            continue;
        char *end;
        const long long value = strtoll(line + i, &end, 0);
        const size_t next = (size_t)(end - line);
        if (next < length && (is_word(*end) || *end == '.')) { /* skips a floating-point number, such as 0f3F800000 */
            while (i < length && (is_word(line[i]) || line[i] == '.'))
                i++;
            continue;
        }
        if (!add_constant(judge, value))
            return false;
        i = next - 1;
    }
    return true;
}

/* Returns true if the line looks like `.file 1 "path"`. The path in such a line may contain a forbidden word. If the
 * quoted text has one of the characters ; * \, the function returns false. Such a text may be code that stands between
 * two comments with a quotation mark each. */
bool kiln__judge_names_file(const char *line, size_t length)
{
    size_t i = 5;
    if (!begins(line, length, ".file"))
        return false;
    while (i < length && (is_space(line[i]) || is_digit(line[i])))
        i++;
    if (i == length || line[i++] != '"')
        return false;
    while (i < length && line[i] != '"')
        if (strchr(";*\\", line[i++]))
            return false;
    if (i++ == length)
        return false;
    while (i < length && (is_space(line[i]) || is_digit(line[i]) || line[i] == ','))
        i++;
    return i == length;
}

/* Searches every line for forbidden words, also in the middle of the line and in comments. PTX allows several
 * statements on a line, and inline assembly may hide a statement behind a directive or between comments. */
static const char *find_forbidden(const char *ptx, const char *end)
{
    const char *why = NULL;
    for (const char *line = ptx; line < end && !why;) {
        while (line < end && is_space(*line))
            line++;
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const size_t size = (size_t)((stop ? stop : end) - line);
        for (size_t i = 0; i < KILN__COUNT(forbidden) && !why && !kiln__judge_names_file(line, size); i++)
            if (has_word(line, size, forbidden[i].word))
                why = forbidden[i].why;
        for (int i = 0; i < 32 && !why && !kiln__judge_names_file(line, size); i++) {
            char word[16];
            kiln__format(word, sizeof word, "%%envreg%d", i);
            if (has_word(line, size, word))
                why = "it reads a register that the driver writes: an answer must not depend on it";
        }
        line += size;
    }
    return why;
}

/* Returns the length of a line splice at the start of the text, or 0. A line splice joins two lines: it is a backslash,
 * or its trigraph, before the end of a line. NVRTC drops all carriage returns before the end of a line. */
static size_t measure_splice(const char *text, size_t length)
{
    size_t at = begins(text, length, "\\") ? 1 : begins(text, length, "?\?/") ? 3 : 0;
    while (at && at < length && text[at] == '\r')
        at++;
    return at && at < length && text[at] == '\n' ? at + 1 : 0;
}

/* Returns true if the source begins with the word. Line splices may divide the word. */
static bool spells(const char *text, size_t length, const char *word)
{
    size_t at = 0;
    for (; *word && at < length; word++) {
        for (size_t splice; (splice = measure_splice(text + at, length - at)) > 0;)
            at += splice;
        if (at == length || text[at++] != *word)
            return false;
    }
    return !*word;
}

/* Searches the source for forbidden macros. Also finds them in comments and strings, and as parts of longer words. */
const char *kiln__judge_find_macro(const char *text, size_t length)
{
    static const char *const words[] = {"__TIME__", "__DATE__", "__TIMESTAMP__"};
    for (size_t at = 0; at < length; at++)
        for (size_t i = 0; i < KILN__COUNT(words); i++)
            if (text[at] == '_' && spells(text + at, length - at, words[i]))
                return "its source has __TIME__, __DATE__ or __TIMESTAMP__: an answer must not depend on the time";
    return NULL;
}

/* Forbids the candidate, unless it is forbidden already. */
static void forbid(kiln__judge *judge, const char *why)
{
    if (!judge->code.forbidden)
        judge->code.forbidden = why;
}

enum { GLOBALS_MOST = 4096 }; /* the largest number of variables that the judge watches */

/* The largest number of bytes of all variables together. The judge keeps up to five copies of the variables in the
 * memory of the host. */
static const size_t global_bytes_most = (size_t)256 << 20;

static bool is_global(const kiln__judge_code *code, const char *name, size_t length)
{
    for (size_t i = 0; i < code->global_count; i++)
        if (strncmp(code->globals[i].name, name, length) == 0 && code->globals[i].name[length] == '\0')
            return true;
    return false;
}

/* Adds a variable in global or constant memory to the list. The judge assumes that one element has `unit` bytes. */
static bool add_global(kiln__judge *judge, const char *name, size_t length, size_t unit)
{
    kiln__judge_code *code = &judge->code;
    if (length == 0 || is_global(code, name, length))
        return true;
    if (code->global_count == GLOBALS_MOST) {
        forbid(judge, "its PTX declares more variables than the judge can watch");
        return true;
    }
    if (!kiln__grow(judge->mem, &code->globals, &code->global_capacity, code->global_count + 1, sizeof *code->globals))
        return false;
    code->globals[code->global_count] = (kiln__judge_global){.name = kiln__arena_strndup(&judge->arena, name, length),
                                                             .unit = unit};
    return code->globals[code->global_count++].name != NULL;
}

/* ---- the tokens of PTX ----
 *
 * Inline assembly can write a declaration in any form that an assembler accepts: on any line, after a comment, or with
 * any blanks. If the judge missed a variable, this variable could keep an answer from one call to the next call.
 * Therefore the judge reads tokens, not lines. */

/* A position in the PTX, and the current token. A token is a directive or a suffix such as `.global`, a name, a number,
 * or one character of punctuation. */
typedef struct words {
    const char *at, *end, *word;
    size_t length;
    /* the first token of the instruction's name that contains this token: `ld` in ld.global, and also in `ld .global` */
    const char *run;
    bool dotted; /* true if a dot follows the first token of that name, unlike a label: `ld:` */
    bool torn;   /* true if a quoted text so far has the end of a line, or is never closed */
} words;

static bool is_equal(const words *w, const char *text)
{
    return w->length == strlen(text) && memcmp(w->word, text, w->length) == 0;
}

/* Skips blanks, comments and quoted texts. */
static void skip_between(words *w)
{
    for (; w->at < w->end; w->at++) {
        const size_t left = (size_t)(w->end - w->at);
        if (begins(w->at, left, "/*")) {
            const char *close = memmem(w->at + 2, left - 2, "*/", 2);
            w->at = close ? close + 1 : w->end - 1;
        } else if (begins(w->at, left, "//")) {
            const char *close = memchr(w->at, '\n', left);
            w->at = close ? close : w->end - 1;
        } else if (*w->at == '"') {
            const char *next = kiln__ptx_skip_quoted(w->at, w->end);
            w->torn |= next[-1] != '"' || next == w->at + 1 || memchr(w->at, '\n', (size_t)(next - w->at));
            w->at = next - 1;
        } else if (!is_space(*w->at)) {
            return;
        }
    }
}

static bool read_word(words *w)
{
    const char *before = w->at;
    skip_between(w);
    if (w->at >= w->end)
        return false;
    /* an instruction's name is for example cp.async.bulk.shared::cluster.global, and blanks may stand before a dot */
    const bool joined = w->run &&
                        (*w->at == '.' || (before == w->at && (*w->at == ':' || w->word[w->length - 1] == ':')));
    w->dotted = joined && (w->word == w->run ? *w->at == '.' : w->dotted);
    w->run = joined ? w->run : w->at;
    w->word = w->at++;
    if (*w->word == '.' || is_word(*w->word))
        while (w->at < w->end && is_word(*w->at))
            w->at++;
    w->length = (size_t)(w->at - w->word);
    return true;
}

/* Returns true if the current token is a suffix of an instruction that accesses memory or uses addresses. */
static bool is_suffix(const words *w)
{
    static const char *const instructions[] = {
        "ld",           "ldu",      "st",       "atom",    "red",           "prefetch", "prefetchu", "cvta", "cp",
        "createpolicy", "isspacep", "multimem", "discard", "applypriority", "wmma",     "tensormap", "fence"};
    for (size_t i = 0; i < KILN__COUNT(instructions); i++) {
        const size_t length = strlen(instructions[i]);
        if (w->dotted && w->word >= w->run + length && memcmp(w->run, instructions[i], length) == 0 &&
            !is_word(w->run[length]))
            return true;
    }
    return false;
}

static bool is_space_word(const words *w) { return is_equal(w, ".global") || is_equal(w, ".const"); }

/* Reads the rest of a declaration after its token `.global` or `.const`, and adds the declared variables. Refuses
 * numbered names: `h<4>` declares h0, h1, h2 and h3. */
static bool read_declaration(kiln__judge *judge, words *w)
{
    const char *name = "";
    size_t length = 0, depth = 0, unit = 1;
    bool added = true, value = false;
    for (bool ended = false; added && !ended && read_word(w);) {
        const char first = *w->word;
        const bool outside = depth == 0;
        ended = outside && (first == ';' || first == ')' || first == '}' || (first == '{' && !value));
        if (ended || (outside && (first == ',' || is_space_word(w)))) {
            added = add_global(judge, name, length, unit);
            length = 0;
            value = false;
            unit = first == ',' ? unit : 1;
        } else if (strchr("([{", first)) {
            depth++;
        } else if (strchr(")]}", first)) {
            depth -= depth > 0;
        } else if (outside && first == '=') {
            value = true;
        } else if (outside && first == '<') {
            forbid(judge, "its PTX declares variables with numbered names, which the judge cannot watch");
        } else if (outside && is_equal(w, ".align") && read_word(w)) {
            const long align = strtol(w->word, NULL, 10);
            unit = align == 2 ? 2 : align > 2 ? 4 : 1;
        } else if (outside && !value && is_word(first) && !is_digit(first)) {
            name = w->word;
            length = w->length;
        }
    }
    return added;
}

/* Finds all declarations of variables in global and constant memory. A kernel can write constant memory too, through
 * the address from `cvta.const`. Other uses of the words `.global` and `.const` are suffixes of instructions, and the
 * memory to which a parameter points (`.ptr .global`). An unknown use counts as a declaration.
 *
 * An assembler gives a variable inside a function another name, and then the driver does not find the variable by its
 * name. Therefore such a declaration is forbidden. NVRTC declares all variables outside of functions. Also finds
 * `discard`, whose suffixes may stand behind a blank. */
static bool read_globals(kiln__judge *judge, const char *ptx, const char *end)
{
    words w = {.at = ptx, .end = end};
    bool read = true, pointer = false, discards = false;
    size_t depth = 0;
    while (read && !judge->code.forbidden && read_word(&w)) {
        if (discards && *w.word == '.')
            forbid(judge, discarded);
        if (is_space_word(&w) && !pointer && !is_suffix(&w)) {
            if (depth > 0)
                forbid(judge, "its PTX declares a variable inside a function, which the judge cannot watch");
            read = read_declaration(judge, &w);
        }
        depth += is_equal(&w, "{");
        depth -= depth > 0 && is_equal(&w, "}");
        pointer = is_equal(&w, ".ptr");
        discards = is_equal(&w, "discard");
    }
    /* a line that begins inside of a quoted text would have another meaning for find_forbidden() */
    if (w.torn)
        forbid(judge, "its PTX has a quoted text of several lines, which may hide instructions");
    return read;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void kiln__judge_drop_globals(kiln__judge *judge)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__free(judge->mem, judge->code.globals[i].spoilt);
        kiln__free(judge->mem, judge->code.globals[i].changed);
        kiln__free(judge->mem, judge->code.globals[i].before);
        kiln__free(judge->mem, judge->code.globals[i].initial);
    }
    judge->code.global_count = 0;
}

static bool declares_global(const char *statement, size_t length)
{
    static const char *const with[] = {".global", ".visible .global", ".weak .global", ".common .global"};
    for (size_t i = 0; i < KILN__COUNT(with); i++)
        if (begins(statement, length, with[i]))
            return true;
    return false;
}

/* Adds the integers among the operands of an instruction to code->constants. Ignores directives and comments. */
static bool read_statement(kiln__judge *judge, const char *statement, size_t length)
{
    if (begins(statement, length, ".") || begins(statement, length, "//"))
        return true;
    return add_operands(judge, statement, length);
}

/* Makes the hash of the PTX without its `.file` lines, because these lines contain the folder in which the compiler
 * ran. The hash is "" if memory runs out. */
static void make_code_digest(const kiln_allocator *mem, const char *ptx, const char *end, char digest[33])
{
    kiln__text kept = {.mem = mem};
    for (const char *at = ptx, *next; at < end; at = next) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *word = at;
        next = line ? line + 1 : end;
        while (word < next && kiln__is_blank(*word))
            word++;
        if (!kiln__judge_names_file(word, (size_t)(next - word)))
            kiln__text_add(&kept, at, (size_t)(next - at));
    }
    digest[0] = '\0';
    if (!kept.failed)
        kiln__hash_print(kiln__hash(kept.data, kept.length), digest);
    kiln__text_free(&kept);
}

/* Finds the addresses of the variables in the loaded module, and copies their initial bytes. Returns false if memory
 * runs out. */
static bool find_variables(kiln__judge *judge)
{
    const kiln__driver *driver = &judge->engine->driver;
    kiln__judge_code *code = &judge->code;
    size_t bytes = 0;
    for (size_t i = 0; i < code->global_count; i++) {
        kiln__judge_global *g = &code->globals[i];
        if (driver->cuModuleGetGlobal_(&g->address, &g->bytes, kiln__plan_module(judge->candidate), g->name) !=
            CUDA_SUCCESS) {
            g->address = 0;
            forbid(judge, "the driver does not find a variable of its PTX, so the judge cannot watch the variable");
            return true;
        }
        if (!g->address || !g->bytes)
            continue;
        if (g->bytes > global_bytes_most - bytes) {
            forbid(judge, "its variables have more than 256 MiB, which is more than the judge can watch");
            return true;
        }
        bytes += g->bytes;
        g->initial = kiln__alloc(judge->mem, g->bytes);
        if (!g->initial)
            return false;
        if (driver->cuMemcpyDtoH_(g->initial, g->address, g->bytes) != CUDA_SUCCESS) {
            kiln__free(judge->mem, g->initial);
            g->initial = NULL;
        }
    }
    return true;
}

/* Reads each statement of the PTX. A statement ends at a semicolon, a brace or the end of its line. A declaration of a
 * variable ends only at a semicolon, so that its initial value does not count as a statement. The judge keeps the
 * integers of all modules that it has read, but only the variables of the last module. */
bool kiln__judge_read_code(kiln__judge *judge)
{
    size_t length;
    const char *ptx = kiln__plan_ptx(judge->candidate, &length), *end = ptx + length;
    kiln__judge_code *code = &judge->code;
    if (code->module == kiln__plan_module(judge->candidate))
        return true;
    code->module = kiln__plan_module(judge->candidate);
    kiln__judge_drop_globals(judge);
    if (!*code->digest)
        make_code_digest(judge->mem, ptx, end, code->digest);
    code->forbidden = code->forbidden ? code->forbidden : find_forbidden(ptx, end);
    if (!read_globals(judge, ptx, end))
        return false;
    for (const char *at = ptx; at < end;) {
        const char *ends = declares_global(at, (size_t)(end - at)) ? ";"
                           : begins(at, (size_t)(end - at), "//")  ? "\r\n"
                                                                   : ";{}\r\n";
        const size_t size = strcspn(at, ends);
        if (!read_statement(judge, at, size))
            return false;
        at += size;
        while (at < end && (is_space(*at) || strchr(";{}", *at)))
            at++;
    }
    if (code->constant_count)
        qsort(code->constants, code->constant_count, sizeof *code->constants, compare_numbers);
    return find_variables(judge);
}

void kiln__judge_reset_globals(const kiln__judge *judge)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        const kiln__judge_global *g = &judge->code.globals[i];
        if (g->initial)
            judge->engine->driver.cuMemcpyHtoD_(g->address, g->initial, g->bytes);
    }
}

kiln_status kiln__judge_refuse(kiln__judge *judge, kiln_status status, kiln_error *why, kiln__judge_fault *fault,
                               kiln_error **error)
{
    if (status == KILN_ERROR_MEMORY || status == KILN_ERROR_NO_COMPILER || status == KILN_ERROR_INTERRUPTED) {
        if (error)
            *error = why;
        else
            kiln_error_free(why);
        return status;
    }
    *fault = (kiln__judge_fault){.kind = status == KILN_ERROR_TIMEOUT   ? KILN_JUDGED_TIMEOUT
                                         : status == KILN_ERROR_REFUSED ? KILN_JUDGED_FORBIDDEN
                                                                        : KILN_JUDGED_COMPILE,
                                 .message = kiln__judge_print(judge, "%s", kiln_error_message(why)),
                                 .of_code = true};
    kiln_error_free(why);
    return KILN_OK;
}
