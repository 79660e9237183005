/* texture_internal.h - texture objects (texture.c). */
#ifndef KILN_PLAN_TEXTURE_INTERNAL_H
#define KILN_PLAN_TEXTURE_INTERNAL_H

#include "launch_internal.h"

/* Everything that determines a texture object. All members have the same type, so there are no gaps, and two keys can
 * be compared byte by byte. */
typedef struct kiln__texture_key {
    uint64_t address, pitch; /* pitch: the distance in bytes from one row to the next */
    /* extents in texels: the innermost comes first, layers come last, and missing dimensions are 1 */
    uint64_t dims, extent[3];
    uint64_t format, channels, texel; /* texel: the size of a texel in bytes */
    uint64_t array, layered;          /* true or false */
    uint64_t linear, flags, edge[3];  /* flags and edges have the driver's values */
} kiln__texture_key;
enum { KILN__TEXTURE_STEPS = 1, KILN__TEXTURE_BEFORE = 2 };
typedef struct kiln__plan_texture {
    kiln__texture_key key;
    CUtexObject object;
    CUarray array;   /* NULL means that the texture reads the memory of the buffer itself */
    bool filled;     /* the CUDA array has the current content of the buffer */
    unsigned needed; /* the steps that use the texture, as KILN__TEXTURE_... bits; 0 means that it can be destroyed */
} kiln__plan_texture;
/* Returns the texture object of an argument that begins at `address`. Arguments with equal keys share one object. */
kiln_status kiln__texture_make(kiln_plan *plan, const kiln__argument *arg, const kiln__plan_kernel *kernel,
                               size_t number, const kiln__scope *scope, CUdeviceptr address, uint64_t *object,
                               kiln_error **error);
void kiln__textures_stale(kiln_plan *plan); /* call this function when a buffer may have another content */
/* Copies buffers into the CUDA arrays whose content is out of date. The copies are enqueued in the stream. */
kiln_status kiln__textures_fill(kiln_plan *plan, CUstream stream, kiln_error **error);
/* Call kiln__textures_begin() before the steps `of` are evaluated, and kiln__textures_end() after that. The second call
 * destroys the texture objects that the steps no longer use. */
void kiln__textures_begin(kiln_plan *plan, unsigned of);
kiln_status kiln__textures_end(kiln_plan *plan, kiln_error **error);
void kiln__textures_free(kiln_plan *plan); /* frees all texture objects; the context must be current */

#endif
