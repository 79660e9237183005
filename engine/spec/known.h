/* known.h - best-known configurations as a text file: YAML, read with places, written sorted. Knows nothing of devices
 * but their names. What they are good for is in engine/best/README.md. */
#ifndef KILN_SPEC_KNOWN_H
#define KILN_SPEC_KNOWN_H

#include "settings.h"

/* How a time came about, the best first. X(NAME, word) */
#define KILN__HOW(X) X(MEASURED, "measured") X(ESTIMATED, "estimated") X(SIMULATED, "simulated")
typedef enum kiln__how {
#define KILN__X(name, word) KILN__##name,
    KILN__HOW(KILN__X)
#undef KILN__X
        KILN__HOW_COUNT
} kiln__how;
const char *kiln__how_word(kiln__how how);

typedef struct kiln__known {
    const char *spec, *variant, *device, *cc; /* cc: "9.0", "" where it is not known */
    kiln__settings sizes, params;             /* each by name */
    kiln__settings features;                  /* of the input; none: not known */
    const char *sizes_text, *params_text;     /* the same, for comparing */
    kiln__how how;
    double seconds; /* above 0; HUGE_VAL: it failed there, and would again */
    bool verified;
    int64_t made;                        /* microseconds since 1970 */
    double inputs_seconds, copy_seconds; /* as in kiln_result; a file does not have them */
    const char *input_functions;         /* NULL: as "" */
} kiln__known;

/* A list of them. Zero-initialise, set arena.mem; texts live in the arena. */
typedef struct kiln__known_list {
    kiln__arena arena;
    kiln__known *items;
    size_t count, capacity;
} kiln__known_list;

void kiln__known_free(kiln__known_list *list);
/* Adds a copy, with its settings sorted. False: out of memory. One that a file cannot hold (NaN or infinity) is
 * skipped. */
bool kiln__known_add(kiln__known_list *list, const kiln__known *known);
/* Sorts by spec, device, sizes, variant and params. Of each configuration at the same sizes on the same device the one
 * made last stays, and goes too if that one failed. */
void kiln__known_settle(kiln__known_list *list);
/* Of a deduplicated list: keeps the best of each variant at the same sizes on the same device. */
void kiln__known_keep_best(kiln__known_list *list);
/* The same spec, device and sizes. */
bool kiln__known_same_problem(const kiln__known *a, const kiln__known *b);

/* Reads a file's text and adds what it has, or nothing; all errors are said, each with its line and column. */
kiln_status kiln__known_read(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                             kiln__known_list *list, kiln_error **error);
/* The text of a deduplicated list. KILN_ERROR_UNSUPPORTED: too large to be read again. */
kiln_status kiln__known_print(const kiln_allocator *mem, const kiln__known_list *list, kiln__text *out,
                              kiln_error **error);

#endif
