/* forest.h - random trees that learn a number from rows of positions (forest.c). */
#ifndef KILN_SEARCH_FOREST_H
#define KILN_SEARCH_FOREST_H

#include <stdbool.h>
#include <stddef.h>

#include "base.h"
#include "random.h"

enum { KILN__FOREST_TREES = 24, KILN__FOREST_ROWS = 4096 };

typedef struct kiln__forest kiln__forest;
kiln__forest *kiln__forest_new(const kiln_allocator *mem, size_t width); /* positions of a point; NULL: no memory */
void kiln__forest_free(kiln__forest *forest);                            /* NULL is fine */
/* Before rows are set, all of them: at most KILN__FOREST_ROWS. `base` is added to what is predicted. False: no memory. */
bool kiln__forest_start(kiln__forest *forest, size_t count, double base);
/* goal: from -2 to 2; feature: one more number of the point, which trees may cut as well; NULL: none. */
void kiln__forest_row(kiln__forest *forest, size_t row, const uint32_t *point, const uint32_t *feature, double goal);
/* Grows some trees from the rows, in place of the oldest; `featured`: they may cut the feature. */
void kiln__forest_grow(kiln__forest *forest, kiln__random *random, size_t trees, bool featured);
uint64_t kiln__forest_grown(const kiln__forest *forest); /* how many grew so far */
/* What the trees that grew after the first `since` say of some points: means[KILN__FOREST_TREES] of each, where those of
 * older trees stay as they are. `features`: of each, if the rows had them. */
void kiln__forest_predict(const kiln__forest *forest, uint64_t since, const uint32_t *const *points,
                          const uint32_t *features, size_t count, float *const *means);
#endif
