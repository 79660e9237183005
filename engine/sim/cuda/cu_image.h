/* cu_image.h - what modules come in: PTX text, fat binaries, host objects and libraries that hold fat binaries, and
 * what cuLinkComplete() made. Needs nothing of the driver, and survives any bytes (tests/fuzz/fuzz_fatbin.c). */
#ifndef KILN_SIM_CU_IMAGE_H
#define KILN_SIM_CU_IMAGE_H

#include "base.h"

/* One text of PTX; NUL-terminated. */
typedef struct sim_text {
    char *data;
    size_t length;
    char *name; /* for messages */
    bool lazy;  /* of a library: linked only if it is needed */
} sim_text;
#define SIM_UNPACKED_MOST ((uint64_t)1 << 30) /* of one image, or of what is linked together */
typedef struct sim_texts {
    const kiln_allocator *mem;
    sim_text *items;
    size_t count, capacity;
    uint64_t unpacked; /* bytes that all packed ones came to, against SIM_UNPACKED_MOST */
    bool linked;       /* they belong together: cuLinkComplete's, or a program's parts */
} sim_texts;

typedef enum sim_image_result {
    SIM_IMAGE_OK,
    SIM_IMAGE_INVALID,
    SIM_IMAGE_NO_BINARY /* nothing in it for the device */,
    SIM_IMAGE_MEMORY
} sim_image_result;

/* Adds the PTX of `bytes` that suits compute capability `cc` (90: 9.0) best: one text of each fat binary. Says in `log`
 * what is wrong, or was passed over. Messages call the image `name`. */
sim_image_result sim_image_read(sim_texts *texts, const void *bytes, size_t length, const char *name, int cc,
                                kiln__text *log);
/* How many bytes an image has that is given without its length, by what its own header says. It is trusted, as the
 * driver has to; a text ends at its NUL. */
size_t sim_image_extent(const void *image);
/* As above, for an image in memory, where a fat binary may come in the wrapper that nvcc makes. */
sim_image_result sim_image_load(sim_texts *texts, const void *image, int cc, kiln__text *log);
bool sim_texts_add(sim_texts *texts, const char *text, size_t length, const char *name, bool lazy);
void sim_texts_cut(sim_texts *texts, size_t count); /* drops those from `count` on */
void sim_texts_free(sim_texts *texts);
/* The texts as one image; NULL if memory is out. `used` says which of them. */
unsigned char *sim_image_write(const sim_texts *texts, const bool *used, size_t *length);
#endif
