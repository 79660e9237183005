/* points.h - the set of points that strategies search. A point is the number of a part and one position on each axis of
 * that part. A part stands for a variant of the spec. An axis stands for a param of that variant. A position is the
 * index of a value in the list of that param. */
#ifndef KILN_SEARCH_POINTS_H
#define KILN_SEARCH_POINTS_H

#include "random.h"
#include "space.h"

/* ---- points ---- */

/* An axis of a part, which stands for a param. */
typedef struct kiln__part_axis {
    uint32_t values; /* the number of values on the axis; it is 0 only if the set is empty */
    bool ordered;    /* neighbouring values are similar, as for numbers, but not for texts */
    /* For each value on the axis, tells whether it is a power of two. The list is NULL unless the axis has at least two
     * powers of two and another size. */
    const bool *powers;
} kiln__part_axis;

/* A part of the set, which stands for a variant. */
typedef struct kiln__part {
    size_t axis_count;
    const kiln__part_axis *axes;
} kiln__part;

/* A set of points. A point is an array uint32_t[width]: the number of its part, then its positions, then zeros. The
 * functions are callbacks, so that a recorded space (recording/) can take the place of a union of variants. */
typedef struct kiln__points {
    const kiln_allocator *mem;
    /* the number of valid points; UINT64_MAX means that the points were not counted, or that there are at least this
     * many */
    uint64_t count;
    size_t part_count, width;
    const kiln__part *parts;
    /* Writes the valid point with the number `number`, which must be below the count. */
    kiln_status (*at)(void *user, uint64_t number, uint32_t *point, kiln_error **error);
    /* Tests whether a point satisfies the constraints. Each position of the point must lie on its axis. */
    kiln_status (*holds)(void *user, const uint32_t *point, bool *holds, kiln_error **error);
    /* Writes a random valid point. An earlier call may have returned the same point. *found is false if the call found
     * no point within its bound. `draw` is NULL if points can be found by number. If `draw` is not NULL, `at` must not
     * be called. */
    kiln_status (*draw)(void *user, kiln__random *random, uint32_t *point, bool *found, kiln_error **error);
    bool slow; /* a call of `at` takes tens of microseconds or more, so it is faster to change axes of a known point */
    void *user;
} kiln__points;

/* Limits of the work that opening a union and drawing points may take. A unit of work is defined by kiln__effort
 * (space.h). */
typedef struct kiln__bounds {
    uint64_t index_units, index_deadline; /* the limits for counting the points; 0 means no limit */
    uint64_t draw_units;                  /* the limit for drawing one point; 0 means DRAW_UNITS of points.c */
    /* the limit for finding a point by its number, above which points are drawn instead; 0 means QUICK_UNITS */
    uint64_t quick_units;
    /* the deadline of the whole search, on the clock of kiln__now_ns(); 0 means no deadline */
    uint64_t deadline;
    bool (*stop)(void *user); /* returns true to end the work with KILN_ERROR_INTERRUPTED; may be NULL */
    void *user;
} kiln__bounds;

/* The spaces of several variants as one set of points, in which part p stands for spaces[p]. The union keeps pointers
 * to the spaces and variants, which must outlive it. If a space cannot be counted within the bounds, or if finding a
 * point by its number is slow, the union draws points at random. If `bounds` is NULL, there are no bounds. */
typedef struct kiln__union kiln__union;
kiln_status kiln__union_open(const kiln_allocator *mem, const kiln__space *const *spaces,
                             const kiln__variant *const *variants, size_t count, const kiln__bounds *bounds,
                             kiln__union **made, kiln_error **error);
/* Makes the error for a union in which drawing found no point. The error has the status KILN_ERROR_CONSTRAINT, the
 * number of configurations that were tried, and the constraint that rejected most of them. */
kiln_status kiln__union_none_found(const kiln__union *whole, double seconds, kiln_error **error);
/* returns true if every space was searched completely and no point is valid */
bool kiln__union_empty(const kiln__union *whole);
void kiln__union_free(kiln__union *whole); /* NULL is fine */
const kiln__points *kiln__union_points(const kiln__union *whole);
/* Writes the names and values of a point to settings[]. The array has one element for each param of the point's
 * variant. */
void kiln__union_settings(const kiln__union *whole, const uint32_t *point, kiln_setting *settings);

/* Two points are neighbours if they differ in only one axis. KILN__ADJACENT: the positions differ by one step in the
 * list of values, or by any number of steps if the axis is not ordered. KILN__HAMMING: the positions may be any two
 * values (Hamming distance 1). */
typedef enum kiln__neighbourhood { KILN__ADJACENT, KILN__HAMMING } kiln__neighbourhood;
/* Appends the valid neighbours of a valid point to *list, which has `width` numbers for each point. *capacity counts
 * points. *count grows by the number of neighbours. */
kiln_status kiln__points_neighbours(const kiln__points *points, kiln__neighbourhood kind, const uint32_t *point,
                                    uint32_t **list, size_t *capacity, size_t *count, kiln_error **error);

/* Computes the list `powers` of a kiln__part_axis, in the arena. Also returns NULL if the arena has failed. */
const bool *kiln__find_powers(kiln__arena *arena, const kiln_value *values, size_t count);

/* A pseudorandom permutation of the numbers below `count`. A seed chooses the permutation. The permutation is computed
 * and not stored, so that sampling without repetition needs no memory. */
typedef struct kiln__shuffle {
    uint64_t count, seed;
    unsigned half;
} kiln__shuffle;
kiln__shuffle kiln__shuffle_start(uint64_t count, uint64_t seed);
uint64_t kiln__shuffled(const kiln__shuffle *shuffle, uint64_t index); /* index < count */
#endif
