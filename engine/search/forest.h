/* forest.h - a random forest that learns a number from rows of positions (forest.c). */
#ifndef KILN_SEARCH_FOREST_H
#define KILN_SEARCH_FOREST_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "random.h"

/* The number of trees in a forest, and the most rows that it learns. */
enum { KILN__FOREST_TREES = 24, KILN__FOREST_ROWS = 4096 };

typedef struct kiln__forest kiln__forest;
/* `width` is the number of columns of a point; NULL means that memory ran out */
kiln__forest *kiln__forest_new(const kiln_allocator *mem, size_t width);
void kiln__forest_free(kiln__forest *forest); /* NULL is fine */
/* Announces `count` rows, at most KILN__FOREST_ROWS. The caller then sets each row with kiln__forest_row(). Trees that
 * grow from these rows add `base` to their predictions. Returns false if memory runs out. */
bool kiln__forest_start(kiln__forest *forest, size_t count, double base);
/* Sets one row. `goal` must be from -2 to 2. `feature` is an additional number of the point that trees may cut. It may
 * be NULL. */
void kiln__forest_row(kiln__forest *forest, size_t row, const uint32_t *point, const uint32_t *feature, double goal);
/* Grows `trees` trees from the rows. Each new tree replaces the oldest tree. If `featured` is true, these trees may cut
 * the feature. */
void kiln__forest_grow(kiln__forest *forest, kiln__random *random, size_t trees, bool featured);
/* returns the number of trees that have grown, including the replaced trees */
uint64_t kiln__forest_grown(const kiln__forest *forest);
/* Predicts `count` points with the trees that grew after the first `since` trees. The array means[i] has
 * KILN__FOREST_TREES predictions of point i, in which the predictions of older trees stay unchanged. `features` has the
 * feature of each point. NULL means that the rows had no feature. */
void kiln__forest_predict(const kiln__forest *forest, uint64_t since, const uint32_t *const *points,
                          const uint32_t *features, size_t count, float *const *means);
#endif
