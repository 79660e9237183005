/* settings.h - a list of names with values (settings), such as the params of a configuration or the sizes. Structs of
 * the public headers have the pointer and the count as separate members. KILN__PARAMS and KILN__SIZES make a
 * kiln__settings from these members. */
#ifndef KILN_SETTINGS_H
#define KILN_SETTINGS_H

#include "base.h"

typedef struct kiln__settings {
    size_t count;
    const kiln_setting *items;
} kiln__settings;
#define KILN__PARAMS(of) ((kiln__settings){(of)->param_count, (of)->params})
#define KILN__SIZES(of) ((kiln__settings){(of)->size_count, (of)->sizes})

/* Copies a list of settings with its names and texts. If memory runs out, sets arena->failed. */
kiln__settings kiln__settings_copy(kiln__arena *arena, kiln__settings from);
/* returns the same settings, sorted by name */
kiln__settings kiln__settings_sorted(kiln__arena *arena, kiln__settings from);
/* Returns the setting with the name, or NULL if no setting has the name. */
const kiln_setting *kiln__settings_find(kiln__settings settings, const char *name);
/* Writes a list of settings as a text: `BLOCK=32 SCALE=0.5 FAST=true MODE="ca"`. From this text kiln__settings_read()
 * makes an equal list, with values of the same kinds. */
void kiln__settings_print(kiln__text *out, kiln__settings settings);
/* Reads the text that kiln__settings_print() writes. The names and texts of the settings are allocated in the arena.
 * Returns false if the text has another form, or if memory runs out (arena->failed). */
bool kiln__settings_read(kiln__arena *arena, const char *text, kiln__settings *settings);

#endif
