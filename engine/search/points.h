/* points.h - the search space of strategies: a finite set of points. A point is a part and a position on each of its
 * axes. A part is a variant, an axis is a param, and a position is the index of its value. README.md says more. */
#ifndef KILN_SEARCH_POINTS_H
#define KILN_SEARCH_POINTS_H

#include "random.h"
#include "space.h"

/* ---- points ---- */

typedef struct kiln__part_axis {
    uint32_t values;    /* how many; at least 1 unless the set is empty */
    bool ordered;       /* adjacent values are similar: numbers, not texts */
    const bool *powers; /* of each value: it is a power of two; NULL: not a list of sizes, or none or all of them are */
} kiln__part_axis;

typedef struct kiln__part {
    size_t axis_count;
    const kiln__part_axis *axes;
} kiln__part;

/* A point is uint32_t[width]: the number of its part, then a position for each axis of it, then zeros. */
typedef struct kiln__points {
    const kiln_allocator *mem;
    uint64_t count; /* of the valid points; UINT64_MAX: more, or not known */
    size_t part_count, width;
    const kiln__part *parts;
    /* The valid point of a number below the count. */
    kiln_status (*at)(void *user, uint64_t number, uint32_t *point, kiln_error **error);
    /* Whether positions that lie on their axes are a valid point. */
    kiln_status (*holds)(void *user, const uint32_t *point, bool *holds, kiln_error **error);
    /* Not NULL: points cannot be found by number (`at` must not be called), and this draws a random one, perhaps one
     * that was drawn before; *found false: none in the available time. */
    kiln_status (*draw)(void *user, kiln__random *random, uint32_t *point, bool *found, kiln_error **error);
    bool slow; /* `at` takes tens of microseconds or more: better to change axes of a known point */
    void *user;
} kiln__points;

/* Limits on the work of opening a union and of drawing from it, in units of kiln__effort. */
typedef struct kiln__bounds {
    uint64_t index_units, index_deadline; /* for counting; 0: no bound */
    uint64_t draw_units;                  /* for one point; 0: DRAW_UNITS of points.c */
    uint64_t quick_units;                 /* for finding a point by number, else points are drawn; 0: QUICK_UNITS */
    uint64_t deadline;                    /* of everything, kiln__now_ns(); 0: none */
    bool (*stop)(void *user);             /* true: stop (KILN_ERROR_INTERRUPTED); may be NULL */
    void *user;
} kiln__bounds;

/* The spaces of several variants as one set: the part is the number of the space. They must outlive it. If one of them
 * cannot be counted within the bounds, or finding a point by number is slow, points are drawn. bounds NULL: none. */
typedef struct kiln__union kiln__union;
kiln_status kiln__union_open(const kiln_allocator *mem, const kiln__space *const *spaces,
                             const kiln__variant *const *variants, size_t count, const kiln__bounds *bounds,
                             kiln__union **made, kiln_error **error);
/* For unions in which points are drawn, if none was found: KILN_ERROR_CONSTRAINT with how many were tried, and what
 * rejected them. */
kiln_status kiln__union_none_found(const kiln__union *whole, double seconds, kiln_error **error);
bool kiln__union_empty(const kiln__union *whole); /* everything was searched: nothing is valid */
void kiln__union_free(kiln__union *whole);        /* NULL is fine */
const kiln__points *kiln__union_points(const kiln__union *whole);
/* settings[param_count of the point's variant] */
void kiln__union_settings(const kiln__union *whole, const uint32_t *point, kiln_setting *settings);

/* The points that differ in one axis: by one step in its list (any other value of one that is not ordered), or by any
 * value. */
typedef enum kiln__neighbourhood { KILN__ADJACENT, KILN__HAMMING } kiln__neighbourhood;
/* Appends the valid neighbours of a valid point to *list (width numbers each; capacity in points); *count grows. */
kiln_status kiln__points_neighbours(const kiln__points *points, kiln__neighbourhood kind, const uint32_t *point,
                                    uint32_t **list, size_t *capacity, size_t *count, kiln_error **error);

/* The powers of a kiln__part_axis, in the arena; NULL also if that has failed. */
const bool *kiln__find_powers(kiln__arena *arena, const kiln_value *values, size_t count);

/* A permutation of [0, count) chosen by a seed, computed and not stored: kiln__shuffled() of 0, 1, 2, ... */
typedef struct kiln__shuffle {
    uint64_t count, seed;
    unsigned half;
} kiln__shuffle;
kiln__shuffle kiln__shuffle_start(uint64_t count, uint64_t seed);
uint64_t kiln__shuffled(const kiln__shuffle *shuffle, uint64_t index); /* index < count */
#endif
