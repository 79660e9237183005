/* cu_image.h - the images of modules that the driver reads: PTX text, fat binaries, host objects and libraries with fat
 * binaries, and the output of cuLinkComplete(). This part does not depend on the driver, and it treats images as
 * untrusted input (tests/fuzz/fuzz_fatbin.c). */
#ifndef KILN_SIM_CU_IMAGE_H
#define KILN_SIM_CU_IMAGE_H

#include "base.h"

/* A text of PTX, with a NUL at its end. */
typedef struct sim_text {
    char *data;
    size_t length;
    char *name; /* for messages */
    bool lazy;  /* true if the text comes from a library: it is linked only if another text needs one of its names */
} sim_text;
#define SIM_UNPACKED_MOST ((uint64_t)1 << 30) /* largest size of one image, or of all images that are linked together */
/* All texts of PTX in an image. */
typedef struct sim_texts {
    const kiln_allocator *mem;
    sim_text *items;
    size_t count, capacity;
    uint64_t unpacked; /* number of uncompressed bytes until now; the limit is SIM_UNPACKED_MOST */
    /* If a fat binary has PTX only for architectures later than the device: the earliest of them. Otherwise 0. */
    int later;
    /* True if the texts must be linked together. Texts must be linked if they come from cuLinkComplete() or are parts
     * of one program. */
    bool linked;
} sim_texts;

typedef enum sim_image_result {
    SIM_IMAGE_OK,
    SIM_IMAGE_INVALID,
    SIM_IMAGE_NO_BINARY /* the image has no code for this device */,
    SIM_IMAGE_MEMORY
} sim_image_result;

/* Returns true if $KILN_SIM_TARGET is `strict`. In this case, PTX for a later architecture than the device is refused
 * as a whole, as on a GPU. */
bool sim_strict_target(void);
/* Adds one text for each fat binary in `bytes`. The text is the PTX that suits the compute capability `cc` (90 for 9.0)
 * best. If there is PTX only for later architectures, adds the text for the earliest of these architectures. `log` gets
 * the errors, and notes about parts that were skipped. `name` is the name of the image in messages. */
sim_image_result sim_image_read(sim_texts *texts, const void *bytes, size_t length, const char *name, int cc,
                                kiln__text *log);
/* Returns the size of an image for which the caller has no length. The size comes from the header of the image. The
 * function has to trust the header, as a GPU's driver does. If the image is a text, it ends at its NUL. */
size_t sim_image_extent(const void *image);
/* Does the same as sim_image_read() for an image without a length. The image may also be the wrapper that nvcc writes
 * around a fat binary. An ELF image is refused, because its length is unknown. */
sim_image_result sim_image_load(sim_texts *texts, const void *image, int cc, kiln__text *log);
bool sim_texts_add(sim_texts *texts, const char *text, size_t length, const char *name, bool lazy);
void sim_texts_cut(sim_texts *texts, size_t count); /* Removes the texts from index `count` on. */
void sim_texts_free(sim_texts *texts);
/* Returns an image of the texts for which `used` is true, and sets *length to its size. The caller frees it with
 * texts->mem. Returns NULL if memory runs out. */
unsigned char *sim_image_write(const sim_texts *texts, const bool *used, size_t *length);
#endif
