/* known.h - best-known configurations as a text file in YAML.
 *
 * The file is read with the place of each error, and written in sorted order. This code knows only the names of
 * devices. engine/best/README.md describes how the configurations are used. */
#ifndef KILN_SPEC_KNOWN_H
#define KILN_SPEC_KNOWN_H

#include "settings.h"

/* The origins of a time, in the order of their quality. X(NAME, word) */
#define KILN__HOW(X) X(MEASURED, "measured") X(ESTIMATED, "estimated") X(SIMULATED, "simulated")
typedef enum kiln__how {
#define KILN__X(name, word) KILN__##name,
    KILN__HOW(KILN__X)
#undef KILN__X
        KILN__HOW_COUNT
} kiln__how;
const char *kiln__how_word(kiln__how how);

typedef struct kiln__known {
    const char *spec, *variant, *device, *cc; /* cc: "9.0"; "" if it is not known */
    kiln__settings sizes, params;             /* both sorted by name */
    kiln__settings features;                  /* features of the input; empty if not known */
    const char *sizes_text, *params_text;     /* the settings as texts, for comparing */
    kiln__how how;
    double seconds; /* positive; HUGE_VAL if the configuration failed on this device, and would fail again */
    bool verified;
    int64_t made;                        /* microseconds since 1970 */
    int64_t taken;                       /* when a sweep last took the entry from a store; 0 if no sweep did, or if the
                                          * entry came from a file */
    double inputs_seconds, copy_seconds; /* see kiln_result; a file does not have them */
    const char *input_functions;         /* NULL means "" */
    const char *code; /* the hash of the configuration's code as a text; NULL or "" if the code is not known, or if the
                       * entry came from a file */
} kiln__known;

/* A list of configurations. Set it to zero, then set arena.mem. The arena owns the texts. */
typedef struct kiln__known_list {
    kiln__arena arena;
    kiln__known *items;
    size_t count, capacity;
} kiln__known_list;

void kiln__known_free(kiln__known_list *list);
/* Adds a copy of `known`, with sorted settings. Skips a configuration without a time or a spec. Also skips a
 * configuration whose sizes or params a file cannot hold because of NaN or infinity, the same name twice, a name of
 * more than 256 bytes, or more than KILN__MOST settings. Returns false only if memory runs out. */
bool kiln__known_add(kiln__known_list *list, const kiln__known *known);
/* Sorts the list by spec, device, sizes, variant and params (numbers as numbers), and removes duplicates. For the same configuration at the
 * same sizes on the same device, only the latest entry stays. The time of an entry is the later one of `made` and
 * `taken`. If the latest entry failed, it is removed too. */
void kiln__known_deduplicate(kiln__known_list *list);
/* Keeps only the best entry of each variant at the same sizes on the same device. Among equal times the first entry
 * stays. The list must have no duplicates, and kiln__known_deduplicate() must have sorted it. */
void kiln__known_keep_best(kiln__known_list *list);
/* Returns true if both have the same spec, device and sizes. */
bool kiln__known_same_problem(const kiln__known *a, const kiln__known *b);

/* Reads the text of a file and adds its entries. If the text has an error, it adds nothing. The message lists all
 * errors with line and column. */
kiln_status kiln__known_read(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                             kiln__known_list *list, kiln_error **error);
/* Writes the text of a list without duplicates. Returns KILN_ERROR_UNSUPPORTED if the text would be too long to be read
 * again. */
kiln_status kiln__known_print(const kiln_allocator *mem, const kiln__known_list *list, kiln__text *out,
                              kiln_error **error);

#endif
