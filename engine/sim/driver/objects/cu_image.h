/* cu_image.h - images of modules: PTX text, fat binaries, host objects and libraries with fat binaries, and the output
 * of cuLinkComplete(). Does not depend on the driver, and treats images as untrusted input
 * (tests/fuzz/fuzz_fatbin.c). */
#ifndef KILN_SIM_CU_IMAGE_H
#define KILN_SIM_CU_IMAGE_H

#include "base.h"

/* One text of PTX, which ends with a NUL. */
typedef struct sim_text {
    char *data;
    size_t length;
    char *name; /* for messages */
    bool lazy;  /* the text comes from a library, and is linked only if another text needs one of its names */
} sim_text;
#define SIM_UNPACKED_MOST ((uint64_t)1 << 30) /* limit for one image, or for all images that are linked together */
/* The texts of PTX in an image. */
typedef struct sim_texts {
    const kiln_allocator *mem;
    sim_text *items;
    size_t count, capacity;
    uint64_t unpacked; /* uncompressed bytes so far; limit: SIM_UNPACKED_MOST */
    int later;         /* The earliest architecture after the device's for which a fat binary has PTX, or 0. */
    /* True if the texts must be linked together, because they come from cuLinkComplete() or are parts of one
     * program. */
    bool linked;
} sim_texts;

typedef enum sim_image_result {
    SIM_IMAGE_OK,
    SIM_IMAGE_INVALID,
    SIM_IMAGE_NO_BINARY /* the image has no code for this device */,
    SIM_IMAGE_MEMORY
} sim_image_result;

/* Returns true if $KILN_SIM_TARGET is `strict`: PTX for a later architecture than the device's is then refused as a
 * whole, as on a GPU. */
bool sim_strict_target(void);
/* Adds one text of each fat binary in `bytes`: the PTX that suits compute capability `cc` (90 for 9.0) best. If there
 * is PTX only for later architectures, adds the text for the earliest of them. `log` gets errors and notes about
 * skipped parts. Messages call the image `name`. */
sim_image_result sim_image_read(sim_texts *texts, const void *bytes, size_t length, const char *name, int cc,
                                kiln__text *log);
/* Returns the size of an image that was passed without a length. The size comes from the header of the image, which the
 * function has to trust, as a GPU's driver does. A text ends at its NUL. */
size_t sim_image_extent(const void *image);
/* Does the same as sim_image_read() for an image without a length. The image may also be nvcc's wrapper of a fat
 * binary. An ELF image is refused, because its length is not known. */
sim_image_result sim_image_load(sim_texts *texts, const void *image, int cc, kiln__text *log);
bool sim_texts_add(sim_texts *texts, const char *text, size_t length, const char *name, bool lazy);
void sim_texts_cut(sim_texts *texts, size_t count); /* removes the texts from `count` on */
void sim_texts_free(sim_texts *texts);
/* Returns an image of the texts for which `used` is true, and sets *length. The caller frees it with texts->mem.
 * Returns NULL if memory runs out. */
unsigned char *sim_image_write(const sim_texts *texts, const bool *used, size_t *length);
#endif
