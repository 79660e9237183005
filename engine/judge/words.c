/* words.c - the names of verdicts and phases, texts that live as long as the judge, and notes. */
#include <string.h>

#include "judge_internal.h"

const char *kiln_judged_word(kiln_judged kind)
{
    static const char *const words[] = {
#define KILN_X(name, word, code, text) word,
        KILN_JUDGED_MAP(KILN_X)
#undef KILN_X
    };
    return (unsigned)kind < KILN_JUDGED_KINDS ? words[kind] : "";
}

const char *kiln_judged_text(kiln_judged kind)
{
    static const char *const texts[] = {
#define KILN_X(name, word, code, text) text,
        KILN_JUDGED_MAP(KILN_X)
#undef KILN_X
    };
    return (unsigned)kind < KILN_JUDGED_KINDS ? texts[kind] : "";
}

const char *kiln__judge_phase_word(kiln__judge_phase phase)
{
    static const char *const words[] = {
#define KILN_X(name, word, about) word,
        KILN__JUDGE_PHASES(KILN_X)
#undef KILN_X
    };
    return words[phase];
}

const char *kiln__judge_print(kiln__judge *judge, const char *format, ...)
{
    kiln__text text = {.mem = judge->mem};
    va_list arguments;
    va_start(arguments, format);
    kiln__text_vprintf(&text, format, arguments);
    va_end(arguments);
    const char *kept = text.failed ? NULL : kiln__arena_strdup(&judge->arena, kiln__text_get(&text));
    kiln__text_free(&text);
    if (!kept)
        judge->arena.failed = true; /* kiln__judge_conclude() reports that memory ran out */
    return kept ? kept : "";
}

void kiln__judge_note(kiln__judge *judge, const char *text)
{
    for (size_t i = 0; i < judge->note_count; i++)
        if (strcmp(judge->notes[i], text) == 0)
            return;
    if (kiln__grow(judge->mem, &judge->notes, &judge->note_capacity, judge->note_count + 1, sizeof *judge->notes))
        judge->notes[judge->note_count++] = text;
    else
        judge->arena.failed = true;
}
