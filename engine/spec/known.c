/* known.c - handles lists of best-known configurations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "known.h"
#include "read.h"

enum { MOST_NAME = 256 }; /* in bytes; YAML ends a key at 1,024 characters */

const char *kiln__how_word(kiln__how how)
{
    static const char *const words[] = {
#define KILN__X(name, word) word,
        KILN__HOW(KILN__X)
#undef KILN__X
    };
    return words[how];
}

void kiln__known_free(kiln__known_list *list)
{
    kiln__free(list->arena.mem, list->items);
    kiln__arena_free(&list->arena);
    list->items = NULL;
    list->count = list->capacity = 0;
}

/* ---- adding ---- */

/* Returns the settings as one text, so that two lists of settings can be compared as texts. The text distinguishes a
 * setting that is a text from a setting that is a number. The character 0x1f, which no text contains, stands before
 * each setting except the first. */
static const char *text_of(kiln__arena *arena, kiln__settings settings)
{
    kiln__text text = {.mem = arena->mem};
    for (size_t i = 0; i < settings.count; i++) {
        const kiln_setting *one = &settings.items[i];
        kiln__text_printf(&text, "%s%s=%s", i ? "\x1f" : "", one->name, one->value.kind == KILN_TEXT ? "'" : "");
        kiln__value_print(&text, one->value);
    }
    const char *kept = text.failed ? NULL : kiln__arena_strdup(arena, kiln__text_get(&text));
    arena->failed |= text.failed;
    kiln__text_free(&text);
    return kept;
}

/* Returns true if a file of best-known configurations can hold these sorted settings. */
static bool are_fit(kiln__settings settings)
{
    for (size_t i = 0; i < settings.count; i++) {
        const kiln_setting *one = &settings.items[i];
        if ((one->value.kind == KILN_FLOAT && !isfinite(one->value.as.f)) || strlen(one->name) > MOST_NAME ||
            (i && strcmp(one[-1].name, one->name) == 0))
            return false;
    }
    return settings.count <= KILN__MOST;
}

/* Adds a copy of `known`, whose texts live in the arena of the list. Skips an entry without a time or a spec, and an
 * entry whose sizes or params a file cannot hold. If a file cannot hold the features of an entry, adds the entry
 * without features. */
bool kiln__known_add(kiln__known_list *list, const kiln__known *known)
{
    if (!(known->seconds > 0) || !*known->spec)
        return true;
    if (!kiln__grow(list->arena.mem, &list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    kiln__arena *arena = &list->arena;
    kiln__known *kept = &list->items[list->count];
    *kept = *known;
    kept->spec = kiln__arena_strdup(arena, known->spec);
    kept->variant = kiln__arena_strdup(arena, known->variant);
    kept->device = kiln__arena_strdup(arena, known->device);
    kept->cc = kiln__arena_strdup(arena, known->cc);
    kept->input_functions = kiln__arena_strdup(arena, known->input_functions ? known->input_functions : "");
    kept->code = kiln__arena_strdup(arena, known->code ? known->code : "");
    kept->sizes = kiln__settings_sorted(arena, known->sizes);
    kept->params = kiln__settings_sorted(arena, known->params);
    kept->features = kiln__settings_sorted(arena, known->features);
    if (arena->failed)
        return false;
    if (!are_fit(kept->sizes) || !are_fit(kept->params))
        return true;
    if (!are_fit(kept->features))
        kept->features.count = 0;
    kept->sizes_text = text_of(arena, kept->sizes);
    kept->params_text = text_of(arena, kept->params);
    list->count += !arena->failed;
    return !arena->failed;
}

/* ---- order ---- */

static double number_of(kiln_value value) { return value.kind == KILN_FLOAT ? value.as.f : (double)value.as.i; }

/* Compares sizes or params as numbers, so that 64 comes before 512. Settings with equal texts are equal. */
static int compare_settings(kiln__settings a, const char *a_text, kiln__settings b, const char *b_text)
{
    if (strcmp(a_text, b_text) == 0)
        return 0;
    for (size_t i = 0; i < a.count && i < b.count; i++) {
        kiln_value x = a.items[i].value, y = b.items[i].value;
        int order = strcmp(a.items[i].name, b.items[i].name);
        if (!order && x.kind != KILN_TEXT && y.kind != KILN_TEXT)
            order = (number_of(x) > number_of(y)) - (number_of(x) < number_of(y));
        if (order)
            return order;
    }
    return strcmp(a_text, b_text);
}

static int compare_problems(const kiln__known *a, const kiln__known *b)
{
    int order = strcmp(a->spec, b->spec);
    order = order ? order : strcmp(a->device, b->device);
    order = order ? order : strcmp(a->cc, b->cc);
    return order ? order : compare_settings(a->sizes, a->sizes_text, b->sizes, b->sizes_text);
}

static int compare_configurations(const kiln__known *a, const kiln__known *b)
{
    int order = compare_problems(a, b);
    order = order ? order : strcmp(a->variant, b->variant);
    return order ? order : compare_settings(a->params, a->params_text, b->params, b->params_text);
}

static int64_t time_of(const kiln__known *known) { return known->taken > known->made ? known->taken : known->made; }

static int by_configuration(const void *left, const void *right)
{
    const kiln__known *a = left, *b = right;
    int order = compare_configurations(a, b);
    order = order ? order : (time_of(a) > time_of(b)) - (time_of(a) < time_of(b));
    return order ? order : (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

bool kiln__known_same_problem(const kiln__known *a, const kiln__known *b) { return compare_problems(a, b) == 0; }

void kiln__known_deduplicate(kiln__known_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_configuration);
    for (size_t i = 0; i < list->count; i++) {
        bool last = i + 1 == list->count || compare_configurations(&list->items[i], &list->items[i + 1]) != 0;
        if (last && list->items[i].seconds < HUGE_VAL)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static bool is_better(const kiln__known *a, const kiln__known *b)
{
    return a->how != b->how ? a->how < b->how : a->seconds < b->seconds;
}

void kiln__known_keep_best(kiln__known_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        kiln__known *last = kept ? &list->items[kept - 1] : NULL;
        bool same = last && strcmp(last->variant, list->items[i].variant) == 0 &&
                    kiln__known_same_problem(last, &list->items[i]);
        if (!same)
            list->items[kept++] = list->items[i];
        else if (is_better(&list->items[i], last))
            *last = list->items[i];
    }
    list->count = kept;
}
