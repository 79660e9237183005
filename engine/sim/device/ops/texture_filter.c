/* texture_filter.c - texture reads, lane by lane, as in the CUDA C++ Programming Guide, appendix "Texture Fetching":
 * address modes, point and linear filters whose weights have 8 fractional bits, cubemaps, levels of detail. Anisotropic
 * filters are treated as isotropic. */
#include "vm_access.h"
#include "vm_hooks.h"
#include "vm_math.h"
#include "vm_memory.h"
#include "vm_ops.h"

/* The texture read of one lane. */
typedef struct probe {
    vm_warp *w;
    const vm_code *i;
    uint32_t lane;
    const vm_texture *texture;
    const vm_lookup *l;
    uint32_t layer; /* the layer, or in a layered cubemap the number of the cube */
    bool no_layer;  /* true if the requested layer does not exist: `layer` is then the last layer */
    int32_t offset[3];
    bool failed; /* a fault has been recorded */
} probe;

/* A position on a texture, in texels of the level or face. */
typedef struct spot {
    double u[3];
    uint32_t slice; /* the layer, or the face of a cube */
} spot;

#define FAR 0x1p30

/* Limits x, so that a conversion to an integer cannot overflow, even after some additions. NaN becomes zero. */
static double bounded(double x) { return x >= FAR ? FAR : x > -FAR ? x : x <= -FAR ? -FAR : 0; }

static float lane_float(const probe *p, uint32_t slot) { return vm_float(vm_r32(p->w, slot)[p->lane]); }

/* ---- functions for one texel ---- */

/* Finds the texel for the index `i` along a side of n texels, by the address mode. Returns false if the read gives the
 * border colour instead. */
static bool place(vm_edge edge, int64_t i, uint32_t n, int64_t *at)
{
    int64_t turn;
    *at = i;
    if (i >= 0 && i < n)
        return true;
    switch (edge) {
    case VM_EDGE_WRAP: *at = (i % n + n) % n; return true;
    case VM_EDGE_MIRROR:
        turn = (i % (2 * (int64_t)n) + 2 * (int64_t)n) % (2 * (int64_t)n);
        *at = turn < n ? turn : 2 * (int64_t)n - 1 - turn;
        return true;
    case VM_EDGE_CLAMP: *at = i < 0 ? 0 : (int64_t)n - 1; return true;
    case VM_EDGE_BORDER: break;
    }
    return false;
}

static void read_border(const vm_texture *t, vm_texel *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned k = 0; k < t->image.channels; k++)
        out->u[k] = ops_texel_border(t, t->border[k]);
}

/* Reads the texel whose indices are inside the level. */
static void read_inside(probe *p, const vm_level *level, const int64_t at[3], uint32_t slice, vm_texel *out)
{
    const vm_image *image = &p->texture->image;
    const uint32_t bytes = vm_format_bytes(image->format) * image->channels;
    const uint64_t offset = level->offset + (uint64_t)(slice + at[2]) * level->slice + (uint64_t)at[1] * level->pitch +
                            (uint64_t)at[0] * bytes;
    const unsigned char *texel = image->host ? image->host + offset
                                             : vm_reach(p->w, p->i, p->lane, PTX_SPACE_GLOBAL, image->address + offset,
                                                        bytes, false);
    if (texel)
        ops_texel_read(p->texture, texel, out);
    p->failed |= !texel;
}

/* Returns the address mode along side k of the texture. Wrapping and mirroring need normalised coordinates. With other
 * coordinates, wrapping and mirroring become clamping. */
static vm_edge edge_of(const vm_texture *t, unsigned k)
{
    const vm_edge edge = t->edge[k];
    return !t->normalized && (edge == VM_EDGE_WRAP || edge == VM_EDGE_MIRROR) ? VM_EDGE_CLAMP : edge;
}

/* ---- cubemaps ---- */

/* Returns the face to which a direction points, and the position on this face: s / m and t / m are from -1 to 1. If two
 * components of the direction are equally long, z comes first, then y. */
static uint32_t face_of(const double d[3], double *s, double *t, double *m)
{
    const double x = fabs(d[0]), y = fabs(d[1]), z = fabs(d[2]);
    if (z >= x && z >= y) {
        *s = d[2] < 0 ? -d[0] : d[0], *t = -d[1], *m = z;
        return d[2] < 0 ? 5 : 4;
    }
    if (y >= x) {
        *s = d[0], *t = d[1] < 0 ? -d[2] : d[2], *m = y;
        return d[1] < 0 ? 3 : 2;
    }
    *s = d[0] < 0 ? d[2] : -d[2], *t = -d[1], *m = x;
    return d[0] < 0 ? 1 : 0;
}

static void direction_of(uint32_t face, double s, double t, double d[3])
{
    const double sign = face & 1 ? -1 : 1;
    switch (face / 2) {
    case 0: d[0] = sign, d[1] = -t, d[2] = -sign * s; break;
    case 1: d[0] = s, d[1] = sign, d[2] = sign * t; break;
    default: d[0] = sign * s, d[1] = -t, d[2] = sign; break;
    }
}

/* Reads the texel one step beyond an edge of a face. This texel is on the neighbouring face. */
static void read_across(probe *p, const vm_level *level, const int64_t at[3], uint32_t slice, vm_texel *out)
{
    const double n = level->size[0];
    double d[3], s, t, m;
    direction_of(slice % 6, (2 * (double)at[0] + 1) / n - 1, (2 * (double)at[1] + 1) / n - 1, d);
    const uint32_t face = face_of(d, &s, &t, &m);
    const int64_t inside[3] = {(int64_t)bounded(floor((s / m + 1) / 2 * n)),
                               (int64_t)bounded(floor((t / m + 1) / 2 * n)), 0};
    int64_t kept[3] = {0};
    for (unsigned k = 0; k < 2; k++)
        place(VM_EDGE_CLAMP, inside[k], level->size[0], &kept[k]);
    read_inside(p, level, kept, slice - slice % 6 + face, out);
}

/* Computes the value of the texel beyond a corner of a face, which does not exist. The value is the mean of the three
 * texels at that corner. */
static void read_corner(probe *p, const vm_level *level, const int64_t at[3], uint32_t slice, vm_texel *out)
{
    int64_t near[3] = {0};
    vm_texel three[3];
    memset(three, 0, sizeof three); /* a read that fails leaves its texel at zero */
    for (unsigned k = 0; k < 2; k++)
        place(VM_EDGE_CLAMP, at[k], level->size[0], &near[k]);
    read_inside(p, level, near, slice, &three[0]);
    read_across(p, level, (const int64_t[3]){at[0], near[1], 0}, slice, &three[1]);
    read_across(p, level, (const int64_t[3]){near[0], at[1], 0}, slice, &three[2]);
    for (unsigned k = 0; k < 4; k++)
        out->f[k] = (three[0].f[k] + three[1].f[k] + three[2].f[k]) / 3;
}

/* ---- functions for texels by index ---- */

static unsigned side_count(const probe *p)
{
    return p->l->geometry == VM_GEOMETRY_3D ? 3 : p->l->geometry == VM_GEOMETRY_1D ? 1 : 2;
}

static void read_texel(probe *p, const vm_level *level, const int64_t at[3], uint32_t slice, vm_texel *out)
{
    const vm_texture *t = p->texture;
    int64_t inside[3] = {0};
    unsigned outside = 0;
    for (unsigned k = 0; k < KILN__COUNT(inside) && k < side_count(p); k++) {
        const int64_t number = at[k] + p->offset[k];
        outside += p->l->geometry == VM_GEOMETRY_CUBE && (number < 0 || number >= level->size[k]);
        if (!place(edge_of(t, k), number, level->size[k], &inside[k])) {
            read_border(t, out);
            return;
        }
    }
    if (outside == 0 || !t->seamless)
        read_inside(p, level, inside, slice, out);
    else if (outside == 1)
        read_across(p, level, at, slice, out);
    else if (vm_format_is_float(t))
        read_corner(p, level, at, slice, out);
    else
        read_inside(p, level, inside, slice, out);
}

/* ---- filters ---- */

/* Splits a coordinate into the index of the texel before the point, and the weight of the next texel in units of
 * 1/256. */
static void split(double u, int64_t *low, unsigned *weight)
{
    const int64_t fixed = (int64_t)floor(bounded(u - 0.5) * 256 + 0.5);
    *low = fixed >> 8;
    *weight = (unsigned)(fixed & 255);
}

/* Returns the weight of a corner in a linear filter. If bit k of `corner` is set, the corner has the next texel along
 * side k. In two dimensions, only the product of the two weights is rounded to 8 bits, and the other three weights are
 * derived from this product, as on an H200. */
static double share_of(unsigned corner, const unsigned weight[3], unsigned sides)
{
    const unsigned a = weight[0], b = weight[1], both = (a * b + 128) >> 8;
    const unsigned pair[4] = {256 - a - b + both, a - both, b - both, both};
    double share = 1;
    if (sides == 2)
        return pair[corner] / 256.0;
    for (unsigned k = 0; k < sides; k++)
        share *= (corner >> k & 1 ? weight[k] : 256 - weight[k]) / 256.0;
    return share;
}

static void blend(probe *p, const vm_level *level, const spot *where, vm_texel *out)
{
    const unsigned sides = side_count(p);
    int64_t low[3] = {0};
    unsigned weight[3] = {0};
    double sum[4] = {0};
    const bool has_sign = p->texture->image.format == VM_S8 || p->texture->image.format == VM_S16;
    for (unsigned k = 0; k < sides; k++)
        split(where->u[k], &low[k], &weight[k]);
    for (unsigned corner = 0; corner < 1u << sides && !p->failed; corner++) {
        int64_t at[3] = {0};
        const double share = share_of(corner, weight, sides);
        for (unsigned k = 0; k < sides; k++)
            at[k] = low[k] + (corner >> k & 1);
        vm_texel texel;
        if (share == 0)
            continue;
        read_texel(p, level, at, where->slice, &texel);
        for (unsigned k = 0; k < 4 && !p->failed; k++)
            sum[k] += share * (double)texel.f[k];
    }
    for (unsigned k = 0; k < 4; k++)
        out->f[k] = vm_canon((float)(has_sign && sum[k] < -1 ? -1 : sum[k]));
}

/* A linear filter treats a 1-D texture as the upper edge of a 2-D texture. So if the second address mode is the
 * border, half of the filter's input is the border colour. */
static void blend_border(const vm_texture *t, vm_texel *out)
{
    vm_texel border;
    read_border(t, &border);
    for (unsigned k = 0; k < 4; k++)
        out->f[k] = vm_canon((out->f[k] + border.f[k]) / 2);
}

static void gather(probe *p, const vm_level *level, const spot *where, vm_texel *out)
{
    /* the corners counter-clockwise from the lower left */
    static const unsigned across[4] = {0, 1, 1, 0}, down[4] = {1, 1, 0, 0};
    int64_t low[2];
    unsigned weight;
    split(where->u[0], &low[0], &weight);
    split(where->u[1], &low[1], &weight);
    for (unsigned k = 0; k < 4 && !p->failed; k++) {
        vm_texel texel;
        read_texel(p, level, (const int64_t[3]){low[0] + across[k], low[1] + down[k], 0}, where->slice, &texel);
        if (!p->failed)
            out->u[k] = texel.u[p->l->channel];
    }
}

/* ---- positions ---- */

static void locate(const probe *p, const vm_level *level, spot *where)
{
    const vm_texture *t = p->texture;
    if (p->l->geometry == VM_GEOMETRY_CUBE) {
        const double d[3] = {(double)lane_float(p, p->l->at[0]), (double)lane_float(p, p->l->at[1]),
                             (double)lane_float(p, p->l->at[2])};
        double s, v, m;
        where->slice = p->layer * 6 + face_of(d, &s, &v, &m);
        where->u[0] = bounded((s / m + 1) / 2 * level->size[0]);
        where->u[1] = bounded((v / m + 1) / 2 * level->size[0]);
        return;
    }
    where->slice = p->layer;
    for (unsigned k = 0; k < side_count(p); k++)
        where->u[k] = bounded((double)lane_float(p, p->l->at[k]) * (t->normalized ? level->size[k] : 1));
}

static void sample(probe *p, unsigned number, vm_texel *out)
{
    const vm_level *level = &p->texture->image.levels[number];
    spot where = {.slice = 0};
    locate(p, level, &where);
    if (p->l->detail == VM_DETAIL_GATHER) {
        gather(p, level, &where, out);
        return;
    }
    if (p->texture->linear) { /* the least value of a signed format is below -1 until the filter is applied */
        blend(p, level, &where, out);
        if (p->l->geometry == VM_GEOMETRY_1D && p->l->layer == VM_NO_SLOT && edge_of(p->texture, 1) == VM_EDGE_BORDER)
            blend_border(p->texture, out);
        return;
    }
    const int64_t at[3] = {(int64_t)floor(where.u[0]), (int64_t)floor(where.u[1]), (int64_t)floor(where.u[2])};
    read_texel(p, level, at, where.slice, out);
}

/* ---- functions for the level of detail ---- */

/* Converts a gradient of the direction to a gradient on the cube's face, in units of the face. The result is half the
 * derivative of s / m and t / m. */
static void onto_face(const probe *p, double g[3])
{
    const double d[3] = {(double)lane_float(p, p->l->at[0]), (double)lane_float(p, p->l->at[1]),
                         (double)lane_float(p, p->l->at[2])};
    double s, t, m, ds, dt, dm;
    const uint32_t face = face_of(d, &s, &t, &m);
    const double sign = face & 1 ? -1 : 1;
    switch (face / 2) {
    case 0: ds = -sign * g[2], dt = -g[1], dm = sign * g[0]; break;
    case 1: ds = g[0], dt = sign * g[2], dm = sign * g[1]; break;
    default: ds = sign * g[0], dt = -g[1], dm = sign * g[2]; break;
    }
    g[0] = (ds * m - s * dm) / (m * m) / 2;
    g[1] = (dt * m - t * dm) / (m * m) / 2;
    g[2] = 0;
}

/* Returns the level of detail: the binary logarithm of the longer of the two gradients, in texels. */
static double gradient_level(const probe *p)
{
    const vm_level *base = &p->texture->image.levels[0];
    double longest = 0;
    for (unsigned n = 0; n < 2; n++) {
        double g[3] = {0}, square = 0;
        for (unsigned k = 0; k < 3; k++)
            g[k] = p->l->gradient[n][k] == VM_NO_SLOT ? 0 : (double)lane_float(p, p->l->gradient[n][k]);
        if (p->l->geometry == VM_GEOMETRY_CUBE)
            onto_face(p, g);
        for (unsigned k = 0; k < 3; k++) {
            g[k] *= p->texture->normalized || p->l->geometry == VM_GEOMETRY_CUBE ? base->size[k] : 1;
            square += g[k] * g[k];
        }
        longest = square > longest ? square : longest;
    }
    return 0.5 * log2(longest);
}

/* Returns the level of detail, after bias and limits, between 0 and the last level. */
static double level_of(const probe *p)
{
    const vm_texture *t = p->texture;
    const double last = t->image.level_count - 1;
    double level = p->l->detail == VM_DETAIL_LEVEL  ? (double)lane_float(p, p->l->lod)
                   : p->l->detail == VM_DETAIL_GRAD ? gradient_level(p)
                                                    : 0;
    level += (double)t->bias;
    level = level < (double)t->most ? level : (double)t->most;
    level = level > (double)t->least ? level : (double)t->least;
    return level >= last ? last : level > 0 ? level : 0;
}

static void filter(probe *p, vm_texel *out)
{
    const double level = level_of(p);
    if (p->texture->image.level_count == 1 || p->l->detail == VM_DETAIL_GATHER) {
        sample(p, 0, out);
        return;
    }
    if (!p->texture->mip_linear || !vm_format_is_float(p->texture)) {
        sample(p, (unsigned)floor(level + 0.5), out);
        return;
    }
    const unsigned fixed = (unsigned)floor(level * 256 + 0.5), low = fixed >> 8, weight = fixed & 255;
    vm_texel next = {{0}};
    sample(p, low, out);
    if (weight == 0 || p->failed)
        return;
    sample(p, low + 1, &next);
    if (p->failed)
        return;
    for (unsigned k = 0; k < 4; k++)
        out->f[k] = (float)(((256 - weight) * (double)out->f[k] + weight * (double)next.f[k]) / 256);
}

/* ---- texels by integer coordinates: no filter and no address mode; texels outside read as zero ---- */

/* Reads a texel at integer coordinates. Two rules are not documented, and follow an H200: a fetch from a
 * one-dimensional array gives zero, and coordinates are clamped if the instruction names a level. */
static void fetch(probe *p, vm_texel *out)
{
    const vm_image *image = &p->texture->image;
    const bool levels = p->l->lod != VM_NO_SLOT;
    const int32_t asked = levels ? (int32_t)vm_r32(p->w, p->l->lod)[p->lane] : 0,
                  last = (int32_t)image->level_count - 1;
    const vm_level *level = &image->levels[asked < 0 ? 0 : asked < last ? asked : last];
    memset(out, 0, sizeof *out);
    if (p->no_layer || (p->l->geometry == VM_GEOMETRY_1D && p->l->layer == VM_NO_SLOT && image->host))
        return;
    int64_t at[3] = {0};
    for (unsigned k = 0; k < side_count(p); k++) {
        at[k] = (int64_t)(int32_t)vm_r32(p->w, p->l->at[k])[p->lane] + p->offset[k];
        if (levels)
            place(VM_EDGE_CLAMP, at[k], level->size[k], &at[k]);
        else if (at[k] < 0 || at[k] >= level->size[k]) {
            if (p->w->runner->met)
                p->w->runner->run->hooks->outside(p->w, p->i, p->lane, at[k], level->size[k], !image->host);
            return;
        }
    }
    read_inside(p, level, at, p->layer, out);
}

/* ---- the instruction ---- */

static void deliver(const probe *p, const vm_texel *texel)
{
    const vm_lookup *l = p->l;
    uint32_t values[4];
    memcpy(values, texel->u, sizeof values);
    if (l->type == PTX_F16 || l->type == PTX_F16X2)
        for (unsigned k = 0; k < 4; k++)
            values[k] = vm_format_is_float(p->texture) ? ops_half_put(PTX_F16, (double)texel->f[k], PTX_MOD_RN)
                                                       : texel->u[k] & 0xffff;
    if (l->type == PTX_F16X2) {
        values[0] |= values[1] << 16;
        values[1] = values[2] | values[3] << 16;
    }
    for (unsigned k = 0; k < l->count; k++)
        if (l->values[k] != VM_NO_SLOT)
            vm_r32(p->w, l->values[k])[p->lane] = values[k];
    if (l->resident != VM_NO_SLOT)
        vm_set_pred(p->w, l->resident, VM_ALL, 1u << p->lane);
}

static bool aim(probe *p)
{
    const vm_lookup *l = p->l;
    const uint64_t handle = vm_r64(p->w, l->object)[p->lane];
    p->texture = ops_texture_of(p->w, p->i, p->lane, handle, false);
    if (!p->texture || !ops_texture_fits(p->w, p->i, p->lane, &p->texture->image))
        return false;
    const vm_image *image = &p->texture->image;
    const uint32_t layers = image->cube && l->geometry == VM_GEOMETRY_CUBE ? image->layers / 6 : image->layers;
    p->layer = l->layer == VM_NO_SLOT ? 0 : vm_r32(p->w, l->layer)[p->lane];
    p->no_layer = p->layer >= (layers ? layers : 1);
    if (p->no_layer)
        p->layer = layers ? layers - 1 : 0;
    for (unsigned k = 0; k < 3; k++)
        p->offset[k] = l->offset[k] == VM_NO_SLOT ? 0 : (int32_t)vm_r32(p->w, l->offset[k])[p->lane];
    return true;
}

/* Executes tex, tld4 and similar instructions. `extra` is the vm_lookup, and `e` is the cache index for linear
 * memory. */
void ops_tex(vm_warp *w, const vm_code *i, uint32_t m)
{
    VM_EACH(lane, m) {
        probe p = {.w = w, .i = i, .lane = lane, .l = i->extra};
        vm_texel texel;
        if (!aim(&p))
            return;
        memset(&texel, 0, sizeof texel);
        if (p.l->texels)
            fetch(&p, &texel);
        else
            filter(&p, &texel);
        if (p.failed)
            return;
        deliver(&p, &texel);
    }
}

/* ---- queries ---- */

/* Returns the number that the PTX ISA gives to a channel_data_type (section "Opaque Types"). */
static uint32_t data_type(const vm_texture *t)
{
    static const uint16_t integers[VM_FORMATS] = {
        [VM_S8] = 0x10d7,  [VM_S16] = 0x10d8, [VM_S32] = 0x10d9, [VM_U8] = 0x10da,
        [VM_U16] = 0x10db, [VM_U32] = 0x10dc, [VM_F16] = 0x10dd, [VM_F32] = 0x10de};
    static const uint16_t fractions[VM_FORMATS] = {
        [VM_S8] = 0x10d0, [VM_S16] = 0x10d1, [VM_U8] = 0x10d2, [VM_U16] = 0x10d3};
    const uint16_t fraction = fractions[t->image.format];
    return fraction && !t->surface && vm_format_is_float(t) ? fraction : integers[t->image.format];
}

static uint32_t channel_order(const vm_image *image)
{
    return image->channels == 1 ? 0x10b0 : image->channels == 2 ? 0x10b2 : 0x10b5;
}

/* Returns the number that PTX gives to an address mode: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border. */
static uint32_t address_mode(const vm_texture *t, unsigned k)
{
    static const uint8_t numbers[] = {
        [VM_EDGE_WRAP] = 0, [VM_EDGE_MIRROR] = 1, [VM_EDGE_CLAMP] = 3, [VM_EDGE_BORDER] = 4};
    return numbers[t->edge[k]];
}

/* Returns the height that a query reports. As on an H200, the number of layers is reported as the dimension after the
 * last dimension of the texture. A missing dimension is 0, but the height of a 1-D texture on an array is 1. */
static uint32_t height_of(const vm_texture *t, const vm_level *level)
{
    const vm_image *image = &t->image;
    if (image->dims > 1)
        return level->size[1];
    return image->layers ? image->layers : t->surface || !image->host ? 0 : 1;
}

static uint32_t depth_of(const vm_texture *t, const vm_level *level)
{
    const vm_image *image = &t->image;
    if (image->dims == 3)
        return level->size[2];
    if (image->cube && !t->surface)
        return image->layers > 6 ? image->layers / 6 : 0;
    return image->dims == 2 ? image->layers : 0;
}

static uint32_t answer(const vm_texture *t, unsigned question, uint32_t level)
{
    static const vm_level none = {.size = {0}};
    const vm_image *image = &t->image;
    const bool there = level < image->level_count;
    const vm_level *of = there ? &image->levels[level] : &none;
    switch (question) {
    case PTX_OP_TXQ_WIDTH:
    case PTX_OP_SUQ_WIDTH:
    case PTX_OP_TXQ_LEVEL_WIDTH: return of->size[0];
    case PTX_OP_TXQ_HEIGHT:
    case PTX_OP_SUQ_HEIGHT:
    case PTX_OP_TXQ_LEVEL_HEIGHT: return there ? height_of(t, of) : 0;
    case PTX_OP_TXQ_DEPTH:
    case PTX_OP_SUQ_DEPTH:
    case PTX_OP_TXQ_LEVEL_DEPTH: return there ? depth_of(t, of) : 0;
    case PTX_OP_TXQ_CHANNEL_DATA_TYPE:
    case PTX_OP_SUQ_CHANNEL_DATA_TYPE: return data_type(t);
    case PTX_OP_TXQ_CHANNEL_ORDER:
    case PTX_OP_SUQ_CHANNEL_ORDER: return channel_order(image);
    case PTX_OP_TXQ_NORMALIZED_COORDS: return t->normalized;
    case PTX_OP_TXQ_ARRAY_SIZE:
    case PTX_OP_SUQ_ARRAY_SIZE: return image->cube ? image->layers / 6 : image->layers;
    case PTX_OP_TXQ_NUM_MIPMAP_LEVELS: return image->level_count;
    case PTX_OP_TXQ_NUM_SAMPLES: return 1;
    case PTX_OP_TXQ_FILTER_MODE: return t->linear;
    case PTX_OP_TXQ_ADDR_MODE_0: return address_mode(t, 0);
    case PTX_OP_TXQ_ADDR_MODE_1: return address_mode(t, 1);
    case PTX_OP_TXQ_ADDR_MODE_2: return address_mode(t, 2);
    default: return image->host ? 1 : 0; /* memory_layout: 0 means block-linear, 1 means row after row */
    }
}

/* Executes txq and suq. `b` is the opcode of the query. */
void ops_query(vm_warp *w, const vm_code *i, uint32_t m)
{
    const vm_lookup *l = i->extra;
    const bool surface = i->b >= PTX_OP_SUQ_WIDTH && i->b <= PTX_OP_SUQ_MEMORY_LAYOUT;
    VM_EACH(lane, m) {
        const vm_texture *t = ops_texture_of(w, i, lane, vm_r64(w, l->object)[lane], surface);
        if (!t)
            return;
        vm_r32(w, l->values[0])[lane] = answer(t, i->b, l->lod == VM_NO_SLOT ? 0 : vm_r32(w, l->lod)[lane]);
    }
}

void ops_istypep(vm_warp *w, const vm_code *i, uint32_t m)
{
    uint32_t result = 0;
    VM_EACH(lane, m) {
        const vm_texture *t = vm_texture_find(w->runner->run->device, vm_r64(w, i->a)[lane]);
        const bool is = t && i->b != PTX_OP_ISTYPEP_SAMPLERREF && t->surface == (i->b == PTX_OP_ISTYPEP_SURFREF);
        result |= (uint32_t)is << lane;
    }
    vm_set_pred(w, i->d, result, m);
}
