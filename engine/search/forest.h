/* forest.h - a random forest that learns a number from rows of positions (forest.c). */
#ifndef KILN_SEARCH_FOREST_H
#define KILN_SEARCH_FOREST_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "random.h"

/* The number of trees, and the most rows of a forest. */
enum { KILN__FOREST_TREES = 24, KILN__FOREST_ROWS = 4096 };

typedef struct kiln__forest kiln__forest;
kiln__forest *kiln__forest_new(const kiln_allocator *mem, size_t width); /* width of a point; NULL means no memory */
void kiln__forest_free(kiln__forest *forest);                            /* NULL is fine */
/* Announces `count` rows, at most KILN__FOREST_ROWS, which the caller then sets with kiln__forest_row(). Trees that
 * grow from these rows add `base` to their predictions. Returns false if there is no memory. */
bool kiln__forest_start(kiln__forest *forest, size_t count, double base);
/* Sets one row. `goal` is from -2 to 2. `feature` is one more number of the point that trees may cut, or NULL. */
void kiln__forest_row(kiln__forest *forest, size_t row, const uint32_t *point, const uint32_t *feature, double goal);
/* Grows `trees` trees from the rows. Each replaces the oldest tree. `featured`: these trees may cut the feature. */
void kiln__forest_grow(kiln__forest *forest, kiln__random *random, size_t trees, bool featured);
uint64_t kiln__forest_grown(const kiln__forest *forest); /* number of trees that have grown, replaced ones included */
/* Asks the trees that grew after the first `since` about `count` points. means[i] has KILN__FOREST_TREES predictions of
 * point i; the predictions of older trees stay unchanged in it. `features` has the feature of each point; NULL means
 * that the rows had none. */
void kiln__forest_predict(const kiln__forest *forest, uint64_t since, const uint32_t *const *points,
                          const uint32_t *features, size_t count, float *const *means);
#endif
