/* vm_ops.h - the handlers of instructions. Frequent handlers are compiled once for each instruction set of the host,
 * rare handlers only once. */
#ifndef KILN_SIM_VM_OPS_H
#define KILN_SIM_VM_OPS_H

#include "vm_machine.h"

/* The handlers that are built once for each instruction set of the host. */
typedef enum vm_handler_id {
#define VM_UN(name, ...) VM_H_##name,
#define VM_BIN(name, ...) VM_H_##name,
#define VM_TER(name, ...) VM_H_##name,
#define VM_BIN64(name, ...) VM_H_##name,
#define VM_TER64(name, ...) VM_H_##name,
#define VM_CMP(name, ...) VM_H_##name,
#define VM_LOAD(name, ...) VM_H_##name,
#define VM_STORE(name, ...) VM_H_##name,
#define VM_OWN(name) VM_H_##name,
#include "vm_ops.def"
    VM_H_COUNT
} vm_handler_id;
extern const vm_handlers ops_table_base[VM_H_COUNT];
#if defined(VM_HAVE_AVX2)
extern const vm_handlers ops_table_avx2[VM_H_COUNT];
#endif
#if defined(VM_HAVE_AVX512)
extern const vm_handlers ops_table_avx512[VM_H_COUNT];
#endif

/* ---- texture_filter.c, surface.c, texture_handle.c, texel_format.c ---- */
typedef enum vm_geometry { VM_GEOMETRY_1D, VM_GEOMETRY_2D, VM_GEOMETRY_3D, VM_GEOMETRY_CUBE } vm_geometry;
typedef enum vm_detail { VM_DETAIL_BASE, VM_DETAIL_LEVEL, VM_DETAIL_GRAD, VM_DETAIL_GATHER } vm_detail;
#define VM_NO_SLOT UINT32_MAX
/* An instruction on a texture or surface, in vm_code.extra. A slot is VM_NO_SLOT if the instruction does not have the
 * operand. */
typedef struct vm_lookup {
    uint32_t object, layer, at[3], lod, gradient[2][3], offset[3], values[4], resident;
    uint8_t geometry, detail, channel; /* channel: the channel of the texel that a gather reads */
    bool texels;                       /* true if the coordinates are integers that count texels */
    /* type, count: ptx_type and number of the values; edge: PTX_MOD_TRAP, CLAMP or ZERO */
    uint8_t type, count, edge;
    /* for a surface: true if x counts texels, and values are converted to the format of the surface */
    bool formatted;
    bool wide[4];      /* wide[k] is true if the register of value k has 64 bits */
    uint8_t operation; /* the ptx_mod of a reduction */
} vm_lookup;
void ops_tex(vm_warp *w, const vm_code *i, uint32_t m);
void ops_query(vm_warp *w, const vm_code *i, uint32_t m);
void ops_istypep(vm_warp *w, const vm_code *i, uint32_t m);
void ops_surface_load(vm_warp *w, const vm_code *i, uint32_t m);
void ops_surface_store(vm_warp *w, const vm_code *i, uint32_t m);
void ops_surface_reduce(vm_warp *w, const vm_code *i, uint32_t m);
/* Returns the texture or surface of a lane's handle. If the handle has no object, records a fault and returns NULL. */
const vm_texture *ops_texture_of(vm_warp *w, const vm_code *i, uint32_t lane, uint64_t handle, bool surface);
/* Returns true if the instruction's geometry fits the image. Otherwise records a fault. */
bool ops_texture_fits(vm_warp *w, const vm_code *i, uint32_t lane, const vm_image *image);
/* The channels of a texel: floats or integers. Integers of 8 and 16 bits are read as fractions, which are floats,
 * unless the texture's `integer` is set. */
typedef union vm_texel {
    float f[4];
    uint32_t u[4];
} vm_texel;
void ops_texel_read(const vm_texture *texture, const unsigned char *at, vm_texel *texel);
/* returns the border's value in the format of the texture */
uint32_t ops_texel_border(const vm_texture *texture, float value);
void ops_texel_write(vm_format format, unsigned char *at, uint32_t value);
VM_RACY uint64_t ops_bits_load(const unsigned char *at, unsigned size);
VM_RACY void ops_bits_store(unsigned char *at, unsigned size, uint64_t value);

/* ---- atomic.c ---- */
/* Updates i->size bytes at `at` by one atomic operation of the host, and returns the old value. Only i->size and the
 * flag VM_SIGNED are used. */
uint64_t ops_atomic_update(const vm_code *i, unsigned char *at, unsigned type, unsigned op, uint64_t b, uint64_t c);
/* Returns the new value of an element that had the value `old`, without an access to memory. */
uint64_t ops_atomic_step(const vm_code *i, unsigned type, unsigned op, uint64_t old, uint64_t b, uint64_t c);
void ops_atom(vm_warp *w, const vm_code *i, uint32_t m);
void ops_fence(vm_warp *w, const vm_code *i, uint32_t m);

/* ---- rounding.c, rare.c, half.c; arithmetic that is rare enough to run lane by lane ---- */
enum { VM_ADD, VM_SUB, VM_MUL, VM_FMA, VM_DIV, VM_RCP, VM_SQRT, VM_MIN, VM_MAX, VM_ABS, VM_NEG, VM_EX2, VM_TANH };
void ops_round_f32(vm_warp *w, const vm_code *i, uint32_t m);
void ops_round_f64(vm_warp *w, const vm_code *i, uint32_t m);
void ops_half(vm_warp *w, const vm_code *i, uint32_t m);
void ops_half_compare(vm_warp *w, const vm_code *i, uint32_t m);
void ops_half_set2(vm_warp *w, const vm_code *i, uint32_t m);
void ops_cvt(vm_warp *w, const vm_code *i, uint32_t m);
void ops_cvt_pack_half(vm_warp *w, const vm_code *i, uint32_t m);
void ops_cvt_pack_int(vm_warp *w, const vm_code *i, uint32_t m);
void ops_carry(vm_warp *w, const vm_code *i, uint32_t m);
void ops_pair16(vm_warp *w, const vm_code *i, uint32_t m);
void ops_split(vm_warp *w, const vm_code *i, uint32_t m);
void ops_join(vm_warp *w, const vm_code *i, uint32_t m);
void ops_pred_logic(vm_warp *w, const vm_code *i, uint32_t m);
void ops_special(vm_warp *w, const vm_code *i, uint32_t m);
void ops_is_clustered(vm_warp *w, const vm_code *i, uint32_t m);
void ops_nanosleep(vm_warp *w, const vm_code *i, uint32_t m);
void ops_nop(vm_warp *w, const vm_code *i, uint32_t m);
void ops_createpolicy(vm_warp *w, const vm_code *i, uint32_t m);
void ops_trap(vm_warp *w, const vm_code *i, uint32_t m);
void ops_local_address(vm_warp *w, const vm_code *i, uint32_t m);
int ops_host_rounding(unsigned rounding); /* returns the corresponding rounding mode of <fenv.h> */
float ops_round_to_f32(unsigned op, float a, float b, float c, unsigned flags);
void ops_cvt_narrow(vm_warp *w, const vm_code *i, uint32_t m);
void ops_pair32(vm_warp *w, const vm_code *i, uint32_t m);
/* These functions convert from and to numbers of 8, 6 and 4 bits. `type` is the type of a pair of such numbers. A value
 * that is too large becomes the greatest finite number. */
double ops_narrow_get(unsigned type, uint32_t bits);
uint32_t ops_narrow_put(unsigned type, double value);
double ops_half_get(unsigned type, uint32_t bits);
uint32_t ops_half_put(unsigned type, double value, unsigned rounding);
double ops_half_fma(double a, double b, double c);
/* Rounds a value to a floating-point format with `mantissa` and `exponent` bits, and returns the bits in that format.
 * rounding: PTX_MOD_RN, RZ, RM, RP or RNA. */
uint32_t ops_pack_float(double value, unsigned mantissa, unsigned exponent, unsigned rounding);
#endif
