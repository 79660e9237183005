/* code.c - facts that the PTX of a candidate tells before it runs: the integers that it names, its variables in global
 * memory, and uses of things that no kernel needs for an answer. */
#include <stdlib.h>
#include <string.h>

#include "judge_internal.h"

/* Words whose use ends the judgement. A kernel's answer is a function of its inputs, and its only effect is its
 * outputs; each of these breaks that. */
static const struct {
    const char *word, *why;
} forbidden[] = {
    {"vprintf", "it prints: a kernel has no effect but its outputs"},
    {"%clock", "it reads a clock: an answer must not depend on the time"},
    {"%clock_hi", "it reads a clock: an answer must not depend on the time"},
    {"%clock64", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer_lo", "it reads a clock: an answer must not depend on the time"},
    {"%globaltimer_hi", "it reads a clock: an answer must not depend on the time"},
    {"%gridid", "it reads the number of the launch: an answer must not depend on earlier launches"},
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

/* Returns true if the line has this word, and not as a part of a longer one. */
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

static bool add_constant(kiln__judge *judge, int64_t value)
{
    enum { MOST = 4096 };
    kiln__judge_code *code = &judge->code;
    if (value < 0)
        value = value == INT64_MIN ? 0 : -value;
    for (size_t i = 0; i < code->constant_count; i++)
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

/* Adds the integers among the operands of an instruction. Addresses (`[%rd1+4]`) and names that end with digits are
 * left out. */
static bool add_operands(kiln__judge *judge, const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && !is_space(line[i])) /* the name of the instruction */
        i++;
    for (int depth = 0; i < length; i++) {
        depth += line[i] == '[' ? 1 : line[i] == ']' ? -1 : 0;
        if (depth || !is_digit(line[i]) || is_word(line[i - 1]))
            continue;
        char *end;
        const long long value = strtoll(line + i, &end, 0);
        const size_t next = (size_t)(end - line);
        if (next < length && (is_word(*end) || *end == '.')) { /* a float, 0f3F800000 */
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

/* Adds the variable that a line `.visible .global .align 4 .u32 name[16] = ...` declares. */
static bool add_global(kiln__judge *judge, const char *line, size_t length)
{
    size_t end = 0;
    while (end < length && line[end] != ';' && line[end] != '=' && line[end] != '[')
        end++;
    while (end && !is_word(line[end - 1]))
        end--;
    size_t first = end;
    while (first && is_word(line[first - 1]))
        first--;
    kiln__judge_code *code = &judge->code;
    if (first == end)
        return true;
    if (!kiln__grow(judge->mem, &code->globals, &code->global_capacity, code->global_count + 1, sizeof *code->globals))
        return false;
    code->globals[code->global_count] =
        (kiln__judge_global){.name = kiln__arena_strndup(&judge->arena, line + first, end - first)};
    return code->globals[code->global_count++].name != NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void kiln__judge_drop_globals(kiln__judge *judge)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        kiln__free(judge->mem, judge->code.globals[i].before);
        kiln__free(judge->mem, judge->code.globals[i].initial);
    }
    judge->code.global_count = 0;
}

/* Walks over the lines of the PTX. The integers of all sizes are kept, the variables only of the last module. */
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
        kiln__hash_print(kiln__hash(ptx, length), code->digest);
    for (const char *line = ptx; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *next = stop ? stop + 1 : end;
        while (line < next && is_space(*line))
            line++;
        const size_t size = (size_t)((stop ? stop : end) - line) * (line < next);
        const bool directive = begins(line, size, ".") && !begins(line, size, ".global") &&
                               !begins(line, size, ".visible") && !begins(line, size, ".weak") &&
                               !begins(line, size, ".common");
        if (begins(line, size, ".global") || begins(line, size, ".visible .global") ||
            begins(line, size, ".weak .global") || begins(line, size, ".common .global")) {
            if (!add_global(judge, line, size))
                return false;
        } else if (size && !directive && !begins(line, size, "//")) {
            for (size_t i = 0; i < KILN__COUNT(forbidden) && !code->forbidden; i++)
                if (has_word(line, size, forbidden[i].word))
                    code->forbidden = forbidden[i].why;
            if (!begins(line, size, "bra") && !begins(line, size, "$") && !add_operands(judge, line, size))
                return false;
        }
        line = next;
    }
    if (code->constant_count)
        qsort(code->constants, code->constant_count, sizeof *code->constants, compare_numbers);
    const kiln__driver *driver = &judge->engine->driver;
    for (size_t i = 0; i < code->global_count; i++) {
        kiln__judge_global *g = &code->globals[i];
        if (driver->cuModuleGetGlobal_(&g->address, &g->bytes, kiln__plan_module(judge->candidate), g->name) !=
            CUDA_SUCCESS)
            g->address = 0;
        g->initial = g->address && g->bytes ? kiln__alloc(judge->mem, g->bytes) : NULL;
        if (g->address && g->bytes && !g->initial)
            return false;
        if (g->initial && driver->cuMemcpyDtoH_(g->initial, g->address, g->bytes) != CUDA_SUCCESS) {
            kiln__free(judge->mem, g->initial);
            g->initial = NULL;
        }
    }
    return true;
}

void kiln__judge_reset_globals(const kiln__judge *judge)
{
    for (size_t i = 0; i < judge->code.global_count; i++) {
        const kiln__judge_global *g = &judge->code.globals[i];
        if (g->initial)
            judge->engine->driver.cuMemcpyHtoD_(g->address, g->initial, g->bytes);
    }
}
