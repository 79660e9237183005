/* words.c - splits CUDA source into words. The code accepts any text. For malformed source the words are
 * unspecified. */
#include "chars.h"
#include "words.h"

#include <string.h>

/* The position in the text. */
typedef struct reader {
    const char *at, *end;
    unsigned line;
    /* `fresh`: only blanks since the line began; `directive`: the position is inside a directive */
    bool fresh, directive;
} reader;

static bool begins_with(const reader *in, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(in->end - in->at) >= length && memcmp(in->at, text, length) == 0;
}

/* Skips blanks, comments and joined lines. */
static void skip_blank(reader *in)
{
    while (in->at < in->end) {
        if (begins_with(in, "\\\n") || begins_with(in, "\\\r\n")) {
            in->at += in->at[1] == '\r' ? 3 : 2;
            in->line++;
        } else if (*in->at == '\n') {
            in->at++;
            in->line++;
            in->fresh = true;
            in->directive = false;
        } else if (begins_with(in, "//")) {
            while (in->at < in->end && *in->at != '\n')
                in->at++;
        } else if (begins_with(in, "/*")) {
            in->at += 2;
            while (in->at < in->end && !begins_with(in, "*/"))
                in->line += *in->at++ == '\n';
            in->at += in->at < in->end ? 2 : 0;
        } else if (*in->at == ' ' || (*in->at >= '\t' && *in->at <= '\r')) {
            in->at++;
        } else {
            return;
        }
    }
}

/* Skips a raw string R"x( ... )x". The position at the call is after the R. */
static void skip_raw(reader *in)
{
    char close[20] = ")";
    size_t length = 1;
    for (in->at++; in->at < in->end && *in->at != '(' && length < 18; in->at++)
        close[length++] = *in->at;
    close[length] = '"';
    while (in->at < in->end && !begins_with(in, close))
        in->line += *in->at++ == '\n';
    in->at += in->at < in->end ? length + 1 : 0;
}

static void skip_quoted(reader *in)
{
    char quote = *in->at++;
    while (in->at < in->end && *in->at != quote && *in->at != '\n')
        in->at += *in->at == '\\' && in->end - in->at > 1 ? 2 : 1;
    in->at += in->at < in->end && *in->at == quote;
}

/* Reads the next word. Returns false at the end. */
static bool read_word(reader *in, kiln__word *word)
{
    skip_blank(in);
    if (in->at >= in->end)
        return false;
    in->directive = in->directive || (in->fresh && *in->at == '#');
    *word =
        (kiln__word){.text = in->at, .line = in->line, .kind = *in->at, .directive = in->directive, .first = in->fresh};
    in->fresh = false;
    if (kiln__is_word_start(*in->at)) {
        word->kind = 'w';
        while (in->at < in->end && (kiln__is_word_start(*in->at) || kiln__is_digit(*in->at)))
            in->at++;
        if (in->at < in->end && *in->at == '"' && in->at[-1] == 'R') {
            word->kind = '"';
            skip_raw(in);
        }
    } else if (kiln__is_digit(*in->at)) {
        word->kind = '0';
        while (in->at < in->end && (kiln__is_word_start(*in->at) || kiln__is_digit(*in->at) || *in->at == '.'))
            in->at++;
    } else if (*in->at == '"' || *in->at == '\'') {
        word->kind = '"';
        skip_quoted(in);
    } else {
        in->at++;
    }
    word->length = (size_t)(in->at - word->text);
    return true;
}

kiln__word *kiln__words_read(const kiln_allocator *mem, const char *text, size_t length, size_t *count)
{
    reader in = {.at = text, .end = text + length, .line = 1, .fresh = true};
    kiln__word *words = NULL, word = {.text = "", .kind = ' '};
    size_t capacity = 0;
    *count = 0;
    do {
        if (!kiln__grow(mem, &words, &capacity, *count + 1, sizeof *words)) {
            kiln__free(mem, words);
            return NULL;
        }
        words[(*count)++] = word;
    } while (*count < KILN__WORDS_MAX && read_word(&in, &word));
    return words;
}
