/* known.h - best-known configurations as a text file in YAML.
 *
 * The reader of this file reports the place of each error. The writer sorts the entries. This code knows devices only
 * by their names. engine/best/README.md describes how the configurations are used. */
#ifndef KILN_SPEC_KNOWN_H
#define KILN_SPEC_KNOWN_H

#include "settings.h"

/* The ways in which a time was obtained; the best way comes first. X(NAME, word) */
#define KILN__HOW(X) X(MEASURED, "measured") X(ESTIMATED, "estimated") X(SIMULATED, "simulated")
typedef enum kiln__how {
#define KILN__X(name, word) KILN__##name,
    KILN__HOW(KILN__X)
#undef KILN__X
        KILN__HOW_COUNT
} kiln__how;
const char *kiln__how_word(kiln__how how);

typedef struct kiln__known {
    const char *spec, *variant, *device, *cc; /* `cc` is such as "9.0"; "" means that it is not known */
    kiln__settings sizes, params;             /* sizes and params, both sorted by name */
    kiln__settings features;                  /* features of the input; empty if they are not known */
    const char *sizes_text, *params_text;     /* sizes and params as texts, which can be compared */
    kiln__how how;
    double seconds; /* the time; HUGE_VAL means that the configuration failed on this device, and would fail again */
    bool verified;
    int64_t made; /* the time when the sample was made, in microseconds since 1970 */
    /* the time when a sweep last took the entry from a store; 0 means that no sweep took it, or that it came from a
     * file */
    int64_t taken;
    double inputs_seconds, copy_seconds; /* two times of kiln_result; a file does not have them */
    const char *input_functions;         /* the times of host functions, see kiln_best; NULL means "" */
    /* the hash of the configuration's code as a text; NULL or "" means that the code is not known, or that the entry
     * came from a file */
    const char *code;
} kiln__known;

/* A list of best-known configurations. Set the list to zero, then set arena.mem. The arena of the list owns the
 * texts. */
typedef struct kiln__known_list {
    kiln__arena arena;
    kiln__known *items;
    size_t count, capacity;
} kiln__known_list;

void kiln__known_free(kiln__known_list *list);
/* Adds a copy of `known`; its settings are sorted. Skips a configuration without a time or a spec. Also skips a
 * configuration whose sizes or params a file cannot hold because of NaN or infinity, the same name twice, a name of
 * more than 256 bytes, or more than KILN__MOST settings. Returns false only if memory runs out. */
bool kiln__known_add(kiln__known_list *list, const kiln__known *known);
/* Sorts the list by spec, device, sizes, variant and params (numbers as numbers), and removes duplicates. If several
 * entries have the same configuration, sizes and device, only the latest entry stays. For this comparison, the time of
 * an entry is the later of `made` and `taken`. If the latest entry is a failure, it is removed too. */
void kiln__known_deduplicate(kiln__known_list *list);
/* Keeps only the best entry of each variant at the same sizes on the same device. If two entries have equal times, the
 * first entry stays. The list must have no duplicates, and kiln__known_deduplicate() must have sorted it. */
void kiln__known_keep_best(kiln__known_list *list);
/* Returns true if `a` and `b` have the same spec, device and sizes. */
bool kiln__known_same_problem(const kiln__known *a, const kiln__known *b);

/* Reads the text of a file of best-known configurations and adds its entries to the list. If the text has an error, the
 * function adds no entry. The error message lists all errors with line and column. */
kiln_status kiln__known_read(const kiln_allocator *mem, const char *name, const char *text, size_t length,
                             kiln__known_list *list, kiln_error **error);
/* Writes a list without duplicates as the text of a file. Returns KILN_ERROR_UNSUPPORTED if the text would be too long
 * to be read again. */
kiln_status kiln__known_print(const kiln_allocator *mem, const kiln__known_list *list, kiln__text *out,
                              kiln_error **error);

#endif
