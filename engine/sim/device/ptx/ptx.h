/* ptx.h - turns PTX text into a checked module. ptx_parse() is the front end of the simulated device, and vm.h is the
 * back end.
 *
 * ptx_parse() accepts only the instructions that the table in ops.def describes. An unknown directive, instruction,
 * modifier or operand is an error, whose message names the line and the kernel.
 *
 * The module that ptx_parse() returns is resolved: registers, symbols and labels are indices, and immediates are bits
 * in the operand's type. The parser has also checked the module, so that later code can rely on these facts: operand
 * counts, kinds, types and sizes fit the instruction, indices are in range, and labels exist. */
#ifndef KILN_SIM_PTX_H
#define KILN_SIM_PTX_H

#include "base.h"
#include "ptx_trait.h"

/* The types of PTX: X(name, spelling, bytes). */
#define PTX_TYPE_MAP(X)                                                                                                \
    X(NONE, "", 0)                                                                                                     \
    X(PRED, "pred", 0)                                                                                                 \
    X(B8, "b8", 1)                                                                                                     \
    X(B16, "b16", 2)                                                                                                   \
    X(B32, "b32", 4)                                                                                                   \
    X(B64, "b64", 8)                                                                                                   \
    X(B128, "b128", 16)                                                                                                \
    X(U8, "u8", 1)                                                                                                     \
    X(U16, "u16", 2)                                                                                                   \
    X(U32, "u32", 4)                                                                                                   \
    X(U64, "u64", 8)                                                                                                   \
    X(S8, "s8", 1)                                                                                                     \
    X(S16, "s16", 2)                                                                                                   \
    X(S32, "s32", 4)                                                                                                   \
    X(S64, "s64", 8)                                                                                                   \
    X(U16X2, "u16x2", 4)                                                                                               \
    X(S16X2, "s16x2", 4)                                                                                               \
    X(F16, "f16", 2)                                                                                                   \
    X(F16X2, "f16x2", 4)                                                                                               \
    X(BF16, "bf16", 2)                                                                                                 \
    X(BF16X2, "bf16x2", 4)                                                                                             \
    X(TF32, "tf32", 4)                                                                                                 \
    X(F32, "f32", 4)                                                                                                   \
    X(F64, "f64", 8)                                                                                                   \
    /* The following types occur only in instructions, not as types of registers. */                                   \
    X(B1, "b1", 1)                                                                                                     \
    X(S4, "s4", 1)                                                                                                     \
    X(U4, "u4", 1)                                                                                                     \
    X(E4M3, "e4m3", 1)                                                                                                 \
    X(E5M2, "e5m2", 1)                                                                                                 \
    X(E2M3, "e2m3", 1)                                                                                                 \
    X(E3M2, "e3m2", 1)                                                                                                 \
    X(E2M1, "e2m1", 1)                                                                                                 \
    X(E4M3X2, "e4m3x2", 2)                                                                                             \
    X(E5M2X2, "e5m2x2", 2)                                                                                             \
    X(E2M3X2, "e2m3x2", 2)                                                                                             \
    X(E3M2X2, "e3m2x2", 2)                                                                                             \
    X(E2M1X2, "e2m1x2", 1)                                                                                             \
    X(UE8M0X2, "ue8m0x2", 2)                                                                                           \
    X(E4M3X4, "e4m3x4", 4)                                                                                             \
    X(E5M2X4, "e5m2x4", 4)                                                                                             \
    X(E2M3X4, "e2m3x4", 4)                                                                                             \
    X(E3M2X4, "e3m2x4", 4)                                                                                             \
    X(E2M1X4, "e2m1x4", 2)                                                                                             \
    X(F32X2, "f32x2", 8)
typedef enum ptx_type {
#define PTX_X(name, text, bytes) PTX_##name,
    PTX_TYPE_MAP(PTX_X)
#undef PTX_X
        PTX_TYPE_COUNT
} ptx_type;
unsigned ptx_type_bytes(ptx_type type);
const char *ptx_type_name(ptx_type type);

typedef enum ptx_space {
    PTX_SPACE_GENERIC,
    PTX_SPACE_REG,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_LOCAL,
    PTX_SPACE_CONST,
    PTX_SPACE_PARAM
} ptx_space;

/* The modifiers: every suffix after a dot that is not a type or a state space. X(name, spelling). Each instruction has
 * a set of modifiers. A spelling may contain a scope prefix: "shared::cta". */
#define PTX_MOD_MAP(X)                                                                                                 \
    X(RN, "rn")                                                                                                        \
    X(RZ, "rz")                                                                                                        \
    X(RM, "rm")                                                                                                        \
    X(RP, "rp")                                                                                                        \
    X(RNA, "rna")                                                                                                      \
    X(RNI, "rni")                                                                                                      \
    X(RZI, "rzi")                                                                                                      \
    X(RMI, "rmi")                                                                                                      \
    X(RPI, "rpi")                                                                                                      \
    X(FTZ, "ftz")                                                                                                      \
    X(SAT, "sat")                                                                                                      \
    X(APPROX, "approx")                                                                                                \
    X(FULL, "full")                                                                                                    \
    X(RELU, "relu")                                                                                                    \
    X(NAN, "NaN")                                                                                                      \
    X(XORSIGN, "xorsign")                                                                                              \
    X(ABS, "abs")                                                                                                      \
    X(LO, "lo")                                                                                                        \
    X(HI, "hi")                                                                                                        \
    X(WIDE, "wide")                                                                                                    \
    X(CC, "cc")                                                                                                        \
    X(L, "l")                                                                                                          \
    X(R, "r")                                                                                                          \
    X(WRAP, "wrap")                                                                                                    \
    X(CLAMP, "clamp")                                                                                                  \
    X(SHIFTAMT, "shiftamt")                                                                                            \
    X(EQ, "eq")                                                                                                        \
    X(NE, "ne")                                                                                                        \
    X(LT, "lt")                                                                                                        \
    X(LE, "le")                                                                                                        \
    X(GT, "gt")                                                                                                        \
    X(GE, "ge")                                                                                                        \
    X(LS, "ls")                                                                                                        \
    X(HS, "hs")                                                                                                        \
    X(EQU, "equ")                                                                                                      \
    X(NEU, "neu")                                                                                                      \
    X(LTU, "ltu")                                                                                                      \
    X(LEU, "leu")                                                                                                      \
    X(GTU, "gtu")                                                                                                      \
    X(GEU, "geu")                                                                                                      \
    X(NUM, "num")                                                                                                      \
    X(NAN_, "nan")                                                                                                     \
    X(AND, "and")                                                                                                      \
    X(OR, "or")                                                                                                        \
    X(XOR, "xor")                                                                                                      \
    X(POPC, "popc")                                                                                                    \
    X(ADD, "add")                                                                                                      \
    X(INC, "inc")                                                                                                      \
    X(DEC, "dec")                                                                                                      \
    X(MIN, "min")                                                                                                      \
    X(MAX, "max")                                                                                                      \
    X(EXCH, "exch")                                                                                                    \
    X(CAS, "cas")                                                                                                      \
    X(NOFTZ, "noftz")                                                                                                  \
    X(V2, "v2")                                                                                                        \
    X(V4, "v4")                                                                                                        \
    X(V8, "v8")                                                                                                        \
    X(CA, "ca")                                                                                                        \
    X(CG, "cg")                                                                                                        \
    X(CS, "cs")                                                                                                        \
    X(LU, "lu")                                                                                                        \
    X(CV, "cv")                                                                                                        \
    X(WB, "wb")                                                                                                        \
    X(WT, "wt")                                                                                                        \
    X(NC, "nc")                                                                                                        \
    X(L1_EVICT_NORMAL, "L1::evict_normal")                                                                             \
    X(L1_EVICT_UNCHANGED, "L1::evict_unchanged")                                                                       \
    X(L1_EVICT_FIRST, "L1::evict_first")                                                                               \
    X(L1_EVICT_LAST, "L1::evict_last")                                                                                 \
    X(L1_NO_ALLOCATE, "L1::no_allocate")                                                                               \
    X(L2_64B, "L2::64B")                                                                                               \
    X(L2_128B, "L2::128B")                                                                                             \
    X(L2_256B, "L2::256B")                                                                                             \
    X(L2_CACHE_HINT, "L2::cache_hint")                                                                                 \
    X(VOLATILE, "volatile")                                                                                            \
    X(WEAK, "weak")                                                                                                    \
    X(RELAXED, "relaxed")                                                                                              \
    X(ACQUIRE, "acquire")                                                                                              \
    X(RELEASE, "release")                                                                                              \
    X(ACQ_REL, "acq_rel")                                                                                              \
    X(SC, "sc")                                                                                                        \
    X(MMIO, "mmio")                                                                                                    \
    X(CTA, "cta")                                                                                                      \
    X(CLUSTER, "cluster")                                                                                              \
    X(GPU, "gpu")                                                                                                      \
    X(GL, "gl")                                                                                                        \
    X(SYS, "sys")                                                                                                      \
    X(SYNC, "sync")                                                                                                    \
    X(ARRIVE, "arrive")                                                                                                \
    X(RED, "red")                                                                                                      \
    X(ALIGNED, "aligned")                                                                                              \
    X(WARP, "warp")                                                                                                    \
    X(UP, "up")                                                                                                        \
    X(DOWN, "down")                                                                                                    \
    X(BFLY, "bfly")                                                                                                    \
    X(IDX, "idx")                                                                                                      \
    X(ALL, "all")                                                                                                      \
    X(ANY, "any")                                                                                                      \
    X(UNI, "uni")                                                                                                      \
    X(BALLOT, "ballot")                                                                                                \
    X(TO, "to")                                                                                                        \
    X(F4E, "f4e")                                                                                                      \
    X(B4E, "b4e")                                                                                                      \
    X(RC8, "rc8")                                                                                                      \
    X(ECL, "ecl")                                                                                                      \
    X(ECR, "ecr")                                                                                                      \
    X(RC16, "rc16")                                                                                                    \
    X(FINITE, "finite")                                                                                                \
    X(INFINITE, "infinite")                                                                                            \
    X(NUMBER, "number")                                                                                                \
    X(NOTANUMBER, "notanumber")                                                                                        \
    X(NORMAL, "normal")                                                                                                \
    X(SUBNORMAL, "subnormal")                                                                                          \
    X(ASYNC, "async")                                                                                                  \
    X(COMMIT_GROUP, "commit_group")                                                                                    \
    X(WAIT_GROUP, "wait_group")                                                                                        \
    X(WAIT_ALL, "wait_all")                                                                                            \
    X(PROXY, "proxy")                                                                                                  \
    X(SHARED_CTA, "shared::cta")                                                                                       \
    X(SHARED_CLUSTER, "shared::cluster")                                                                               \
    X(PARAM_ENTRY, "param::entry")                                                                                     \
    X(PARAM_FUNC, "param::func")                                                                                       \
    X(SATFINITE, "satfinite")                                                                                          \
    X(UNIFIED, "unified")                                                                                              \
    X(L1, "L1")                                                                                                        \
    X(L2, "L2")                                                                                                        \
    X(L2_EVICT_NORMAL, "L2::evict_normal")                                                                             \
    X(L2_EVICT_FIRST, "L2::evict_first")                                                                               \
    X(L2_EVICT_LAST, "L2::evict_last")                                                                                 \
    X(L2_EVICT_UNCHANGED, "L2::evict_unchanged")                                                                       \
    X(MASK, "mask")                                                                                                    \
    X(LAUNCH_DEPENDENTS, "launch_dependents")                                                                          \
    X(WAIT, "wait")                                                                                                    \
    /* matrices; the second .row or .col of an instruction is row#2 or col#2 */                                        \
    X(ROW, "row")                                                                                                      \
    X(COL, "col")                                                                                                      \
    X(ROW_2, "row#2")                                                                                                  \
    X(COL_2, "col#2")                                                                                                  \
    X(M8N8K4, "m8n8k4")                                                                                                \
    X(M8N8K16, "m8n8k16")                                                                                              \
    X(M8N8K32, "m8n8k32")                                                                                              \
    X(M8N8K128, "m8n8k128")                                                                                            \
    X(M16N8K4, "m16n8k4")                                                                                              \
    X(M16N8K8, "m16n8k8")                                                                                              \
    X(M16N8K16, "m16n8k16")                                                                                            \
    X(M16N8K32, "m16n8k32")                                                                                            \
    X(M16N8K64, "m16n8k64")                                                                                            \
    X(M16N8K128, "m16n8k128")                                                                                          \
    X(M16N8K256, "m16n8k256")                                                                                          \
    X(M16N16K16, "m16n16k16")                                                                                          \
    X(M8N32K16, "m8n32k16")                                                                                            \
    X(M32N8K16, "m32n8k16")                                                                                            \
    X(M16N16K8, "m16n16k8")                                                                                            \
    /* shapes of a warpgroup: M64K16 stands for m64n8k16 to m64n256k16, with n / 8 in ptx_insn.tiles */                \
    X(M64K8, "m64n8k8")                                                                                                \
    X(M64K16, "m64n8k16")                                                                                              \
    X(M64K32, "m64n8k32")                                                                                              \
    X(M64K64, "m64n8k64")                                                                                              \
    X(M64K256, "m64n8k256")                                                                                            \
    X(M8N8, "m8n8")                                                                                                    \
    X(M8N16, "m8n16")                                                                                                  \
    X(M16N8, "m16n8")                                                                                                  \
    X(M16N16, "m16n16")                                                                                                \
    X(X1, "x1")                                                                                                        \
    X(X2, "x2")                                                                                                        \
    X(X4, "x4")                                                                                                        \
    X(TRANS, "trans")                                                                                                  \
    X(B8X16, "b8x16")                                                                                                  \
    X(B6X16_P32, "b6x16_p32")                                                                                          \
    X(B4X16_P64, "b4x16_p64")                                                                                          \
    /* mbarriers, asynchronous copies, clusters */                                                                     \
    X(COMPLETE_TX, "mbarrier::complete_tx::bytes")                                                                     \
    X(BULK_GROUP, "bulk_group")                                                                                        \
    X(READ, "read")                                                                                                    \
    X(NOINC, "noinc")                                                                                                  \
    X(NO_COMPLETE, "noComplete")                                                                                       \
    X(EXPECT_TX, "expect_tx")                                                                                          \
    X(PARITY, "parity")                                                                                                \
    X(4D, "4d")                                                                                                        \
    X(5D, "5d")                                                                                                        \
    X(TILE, "tile")                                                                                                    \
    X(IM2COL, "im2col")                                                                                                \
    X(IM2COL_NO_OFFS, "im2col_no_offs")                                                                                \
    X(MULTICAST, "multicast::cluster")                                                                                 \
    X(B1024, "b1024")                                                                                                  \
    X(GLOBAL_ADDRESS, "global_address")                                                                                \
    X(RANK, "rank")                                                                                                    \
    X(BOX_DIM, "box_dim")                                                                                              \
    X(GLOBAL_DIM, "global_dim")                                                                                        \
    X(GLOBAL_STRIDE, "global_stride")                                                                                  \
    X(ELEMENT_STRIDE, "element_stride")                                                                                \
    X(ELEMTYPE, "elemtype")                                                                                            \
    X(INTERLEAVE_LAYOUT, "interleave_layout")                                                                          \
    X(SWIZZLE_MODE, "swizzle_mode")                                                                                    \
    X(FILL_MODE, "fill_mode")                                                                                          \
    X(TENSORMAP, "tensormap")                                                                                          \
    X(CP_MASK, "cp_mask")                                                                                              \
    X(ALIAS, "alias")                                                                                                  \
    X(ASYNC_GENERIC, "async::generic")                                                                                 \
    X(TENSORMAP_GENERIC, "tensormap::generic")                                                                         \
    X(RESTRICT_CTA, "sync_restrict::shared::cta")                                                                      \
    X(RESTRICT_CLUSTER, "sync_restrict::shared::cluster")                                                              \
    /* conversions with random bits; video instructions */                                                             \
    X(RS, "rs")                                                                                                        \
    X(SHR7, "shr7")                                                                                                    \
    X(SHR15, "shr15")                                                                                                  \
    X(PO, "po")                                                                                                        \
    /* textures and surfaces */                                                                                        \
    X(1D, "1d")                                                                                                        \
    X(2D, "2d")                                                                                                        \
    X(3D, "3d")                                                                                                        \
    X(A1D, "a1d")                                                                                                      \
    X(A2D, "a2d")                                                                                                      \
    X(CUBE, "cube")                                                                                                    \
    X(ACUBE, "acube")                                                                                                  \
    X(BASE, "base")                                                                                                    \
    X(LEVEL, "level")                                                                                                  \
    X(GRAD, "grad")                                                                                                    \
    X(G, "g")                                                                                                          \
    X(B, "b")                                                                                                          \
    X(A, "a")                                                                                                          \
    X(P, "p")                                                                                                          \
    X(TRAP, "trap")                                                                                                    \
    X(ZERO, "zero")                                                                                                    \
    /* tensor memory */                                                                                                \
    X(CTA_GROUP_1, "cta_group::1")                                                                                     \
    X(CTA_GROUP_2, "cta_group::2")                                                                                     \
    X(KIND_F16, "kind::f16")                                                                                           \
    X(KIND_TF32, "kind::tf32")                                                                                         \
    X(KIND_F8F6F4, "kind::f8f6f4")                                                                                     \
    X(KIND_I8, "kind::i8")                                                                                             \
    X(KIND_MXF8F6F4, "kind::mxf8f6f4")                                                                                 \
    X(KIND_MXF4, "kind::mxf4")                                                                                         \
    X(KIND_MXF4NVF4, "kind::mxf4nvf4")                                                                                 \
    X(BLOCK_SCALE, "block_scale")                                                                                      \
    X(SCALE_VEC_1X, "scale_vec::1X")                                                                                   \
    X(SCALE_VEC_2X, "scale_vec::2X")                                                                                   \
    X(SCALE_VEC_4X, "scale_vec::4X")                                                                                   \
    X(UE8M0, "ue8m0")                                                                                                  \
    X(UE4M3, "ue4m3")                                                                                                  \
    X(COLLECTOR_A_FILL, "collector::a::fill")                                                                          \
    X(COLLECTOR_A_USE, "collector::a::use")                                                                            \
    X(COLLECTOR_A_LASTUSE, "collector::a::lastuse")                                                                    \
    X(COLLECTOR_A_DISCARD, "collector::a::discard")                                                                    \
    X(BLOCK16, "block16")                                                                                              \
    X(BLOCK32, "block32")                                                                                              \
    X(SP, "sp")                                                                                                        \
    X(ASHIFT, "ashift")                                                                                                \
    X(COLLECTOR_B0_FILL, "collector::b0::fill")                                                                        \
    X(COLLECTOR_B0_USE, "collector::b0::use")                                                                          \
    X(COLLECTOR_B0_LASTUSE, "collector::b0::lastuse")                                                                  \
    X(COLLECTOR_B0_DISCARD, "collector::b0::discard")                                                                  \
    X(COLLECTOR_B1_FILL, "collector::b1::fill")                                                                        \
    X(COLLECTOR_B1_USE, "collector::b1::use")                                                                          \
    X(COLLECTOR_B1_LASTUSE, "collector::b1::lastuse")                                                                  \
    X(COLLECTOR_B1_DISCARD, "collector::b1::discard")                                                                  \
    X(COLLECTOR_B2_FILL, "collector::b2::fill")                                                                        \
    X(COLLECTOR_B2_USE, "collector::b2::use")                                                                          \
    X(COLLECTOR_B2_LASTUSE, "collector::b2::lastuse")                                                                  \
    X(COLLECTOR_B2_DISCARD, "collector::b2::discard")                                                                  \
    X(COLLECTOR_B3_FILL, "collector::b3::fill")                                                                        \
    X(COLLECTOR_B3_USE, "collector::b3::use")                                                                          \
    X(COLLECTOR_B3_LASTUSE, "collector::b3::lastuse")                                                                  \
    X(COLLECTOR_B3_DISCARD, "collector::b3::discard")                                                                  \
    X(128X256B, "128x256b")                                                                                            \
    X(4X256B, "4x256b")                                                                                                \
    X(128X128B, "128x128b")                                                                                            \
    X(64X128B, "64x128b")                                                                                              \
    X(32X128B, "32x128b")                                                                                              \
    X(WARPX2_02_13, "warpx2::02_13")                                                                                   \
    X(WARPX2_01_23, "warpx2::01_23")                                                                                   \
    X(WARPX4, "warpx4")                                                                                                \
    X(32X32B, "32x32b")                                                                                                \
    X(16X64B, "16x64b")                                                                                                \
    X(16X128B, "16x128b")                                                                                              \
    X(16X256B, "16x256b")                                                                                              \
    X(16X32BX2, "16x32bx2")                                                                                            \
    X(X8, "x8")                                                                                                        \
    X(X16, "x16")                                                                                                      \
    X(X32, "x32")                                                                                                      \
    X(X64, "x64")                                                                                                      \
    X(X128, "x128")                                                                                                    \
    X(PACK_16B, "pack::16b")                                                                                           \
    X(UNPACK_16B, "unpack::16b")                                                                                       \
    X(ARRIVE_ONE, "mbarrier::arrive::one")                                                                             \
    /* clusterlaunchcontrol */                                                                                         \
    X(MULTICAST_ALL, "multicast::cluster::all")                                                                        \
    X(IS_CANCELED, "is_canceled")                                                                                      \
    X(GET_FIRST_CTAID, "get_first_ctaid")                                                                              \
    X(GET_FIRST_CTAID_X, "get_first_ctaid::x")                                                                         \
    X(GET_FIRST_CTAID_Y, "get_first_ctaid::y")                                                                         \
    X(GET_FIRST_CTAID_Z, "get_first_ctaid::z")                                                                         \
    X(GATHER4, "tile::gather4")                                                                                        \
    X(SCATTER4, "tile::scatter4")                                                                                      \
    X(IM2COL_W, "im2col::w")                                                                                           \
    X(IM2COL_W128, "im2col::w::128")                                                                                   \
    /* multimem: the precision of the sum of a reduction */                                                            \
    X(ACC_F32, "acc::f32")                                                                                             \
    X(ACC_F16, "acc::f16")
#define PTX_MOD_WORDS 6u
typedef enum ptx_mod {
#define PTX_X(name, text) PTX_MOD_##name,
    PTX_MOD_MAP(PTX_X)
#undef PTX_X
        PTX_MOD_COUNT
} ptx_mod;
_Static_assert(PTX_MOD_COUNT <= 64 * PTX_MOD_WORDS, "each modifier is a bit of ptx_insn.mods");

/* The instruction table. ops.def has one row per opcode:
 *   OP(name, "spelling", decode, class, cost, effect, since, forms)
 * decode_<decode>() is the function of the decoder (device/decode) that makes the instruction executable. `class`,
 * `cost` and `effect` are enumerators of ptx_trait.h. `since` is the target that the instruction needs. `forms` lists
 * the accepted modifiers, types and operands; ops.def explains the notation. The table drives parser, checker, decoder,
 * counters, checks, the estimate and the coverage list. */
typedef enum ptx_op {
#define OP(name, text, decode, class, cost, effect, since, ...) PTX_OP_##name,
#include "ops.def"
#undef OP
    PTX_OP_COUNT
} ptx_op;
const char *ptx_op_name(ptx_op op);
typedef struct ptx_traits {
    uint8_t class, cost, effect;
} ptx_traits;
/* class, cost and effect of each opcode; ptx_class_of() and similar functions read this table */
extern const ptx_traits ptx_op_traits[PTX_OP_COUNT];

/* The special registers: X(name, spelling, bytes, least target). A least target of 0 means any target. Each element of
 * a vector has its own row (%tid.x). */
#define PTX_SREG_MAP(X)                                                                                                \
    X(TID_X, "%tid.x", 4, 0)                                                                                           \
    X(TID_Y, "%tid.y", 4, 0)                                                                                           \
    X(TID_Z, "%tid.z", 4, 0)                                                                                           \
    X(NTID_X, "%ntid.x", 4, 0)                                                                                         \
    X(NTID_Y, "%ntid.y", 4, 0)                                                                                         \
    X(NTID_Z, "%ntid.z", 4, 0)                                                                                         \
    X(CTAID_X, "%ctaid.x", 4, 0)                                                                                       \
    X(CTAID_Y, "%ctaid.y", 4, 0)                                                                                       \
    X(CTAID_Z, "%ctaid.z", 4, 0)                                                                                       \
    X(NCTAID_X, "%nctaid.x", 4, 0)                                                                                     \
    X(NCTAID_Y, "%nctaid.y", 4, 0)                                                                                     \
    X(NCTAID_Z, "%nctaid.z", 4, 0)                                                                                     \
    X(LANEID, "%laneid", 4, 0)                                                                                         \
    X(WARPID, "%warpid", 4, 0)                                                                                         \
    X(NWARPID, "%nwarpid", 4, 0)                                                                                       \
    X(SMID, "%smid", 4, 0)                                                                                             \
    X(NSMID, "%nsmid", 4, 0)                                                                                           \
    X(GRIDID, "%gridid", 8, 0)                                                                                         \
    X(LANEMASK_EQ, "%lanemask_eq", 4, 0)                                                                               \
    X(LANEMASK_LE, "%lanemask_le", 4, 0)                                                                               \
    X(LANEMASK_LT, "%lanemask_lt", 4, 0)                                                                               \
    X(LANEMASK_GE, "%lanemask_ge", 4, 0)                                                                               \
    X(LANEMASK_GT, "%lanemask_gt", 4, 0)                                                                               \
    X(CLOCK, "%clock", 4, 0)                                                                                           \
    X(CLOCK_HI, "%clock_hi", 4, 0)                                                                                     \
    X(CLOCK64, "%clock64", 8, 0)                                                                                       \
    X(GLOBALTIMER, "%globaltimer", 8, 0)                                                                               \
    X(GLOBALTIMER_LO, "%globaltimer_lo", 4, 0)                                                                         \
    X(GLOBALTIMER_HI, "%globaltimer_hi", 4, 0)                                                                         \
    X(TOTAL_SMEM_SIZE, "%total_smem_size", 4, 0)                                                                       \
    X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", 4, 0)                                                                   \
    X(CLUSTERID_X, "%clusterid.x", 4, 90)                                                                              \
    X(CLUSTERID_Y, "%clusterid.y", 4, 90)                                                                              \
    X(CLUSTERID_Z, "%clusterid.z", 4, 90)                                                                              \
    X(NCLUSTERID_X, "%nclusterid.x", 4, 90)                                                                            \
    X(NCLUSTERID_Y, "%nclusterid.y", 4, 90)                                                                            \
    X(NCLUSTERID_Z, "%nclusterid.z", 4, 90)                                                                            \
    X(CLUSTER_CTAID_X, "%cluster_ctaid.x", 4, 90)                                                                      \
    X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", 4, 90)                                                                      \
    X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", 4, 90)                                                                      \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", 4, 90)                                                                    \
    X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", 4, 90)                                                                    \
    X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", 4, 90)                                                                    \
    X(CLUSTER_CTARANK, "%cluster_ctarank", 4, 90)                                                                      \
    X(CLUSTER_NCTARANK, "%cluster_nctarank", 4, 90)                                                                    \
    X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", 0, 90)                                                              \
    X(AGGR_SMEM_SIZE, "%aggr_smem_size", 4, 90)                                                                        \
    X(CURRENT_GRAPH_EXEC, "%current_graph_exec", 8, 0)                                                                 \
    X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", 4, 80)                                                       \
    X(RESERVED_SMEM_END, "%reserved_smem_offset_end", 4, 80)                                                           \
    X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", 4, 80)                                                           \
    X(RESERVED_SMEM_0, "%reserved_smem_offset_0", 4, 80)                                                               \
    X(RESERVED_SMEM_1, "%reserved_smem_offset_1", 4, 80)                                                               \
    X(ENVREG0, "%envreg0", 4, 0)                                                                                       \
    X(ENVREG1, "%envreg1", 4, 0)                                                                                       \
    X(ENVREG2, "%envreg2", 4, 0)                                                                                       \
    X(ENVREG3, "%envreg3", 4, 0)                                                                                       \
    X(ENVREG4, "%envreg4", 4, 0)                                                                                       \
    X(ENVREG5, "%envreg5", 4, 0)                                                                                       \
    X(ENVREG6, "%envreg6", 4, 0)                                                                                       \
    X(ENVREG7, "%envreg7", 4, 0)                                                                                       \
    X(ENVREG8, "%envreg8", 4, 0)                                                                                       \
    X(ENVREG9, "%envreg9", 4, 0)                                                                                       \
    X(ENVREG10, "%envreg10", 4, 0)                                                                                     \
    X(ENVREG11, "%envreg11", 4, 0)                                                                                     \
    X(ENVREG12, "%envreg12", 4, 0)                                                                                     \
    X(ENVREG13, "%envreg13", 4, 0)                                                                                     \
    X(ENVREG14, "%envreg14", 4, 0)                                                                                     \
    X(ENVREG15, "%envreg15", 4, 0)                                                                                     \
    X(ENVREG16, "%envreg16", 4, 0)                                                                                     \
    X(ENVREG17, "%envreg17", 4, 0)                                                                                     \
    X(ENVREG18, "%envreg18", 4, 0)                                                                                     \
    X(ENVREG19, "%envreg19", 4, 0)                                                                                     \
    X(ENVREG20, "%envreg20", 4, 0)                                                                                     \
    X(ENVREG21, "%envreg21", 4, 0)                                                                                     \
    X(ENVREG22, "%envreg22", 4, 0)                                                                                     \
    X(ENVREG23, "%envreg23", 4, 0)                                                                                     \
    X(ENVREG24, "%envreg24", 4, 0)                                                                                     \
    X(ENVREG25, "%envreg25", 4, 0)                                                                                     \
    X(ENVREG26, "%envreg26", 4, 0)                                                                                     \
    X(ENVREG27, "%envreg27", 4, 0)                                                                                     \
    X(ENVREG28, "%envreg28", 4, 0)                                                                                     \
    X(ENVREG29, "%envreg29", 4, 0)                                                                                     \
    X(ENVREG30, "%envreg30", 4, 0)                                                                                     \
    X(ENVREG31, "%envreg31", 4, 0)                                                                                     \
    X(PM0, "%pm0", 4, 0)                                                                                               \
    X(PM1, "%pm1", 4, 0)                                                                                               \
    X(PM2, "%pm2", 4, 0)                                                                                               \
    X(PM3, "%pm3", 4, 0)                                                                                               \
    X(PM4, "%pm4", 4, 0)                                                                                               \
    X(PM5, "%pm5", 4, 0)                                                                                               \
    X(PM6, "%pm6", 4, 0)                                                                                               \
    X(PM7, "%pm7", 4, 0)                                                                                               \
    X(PM0_64, "%pm0_64", 8, 0)                                                                                         \
    X(PM1_64, "%pm1_64", 8, 0)                                                                                         \
    X(PM2_64, "%pm2_64", 8, 0)                                                                                         \
    X(PM3_64, "%pm3_64", 8, 0)                                                                                         \
    X(PM4_64, "%pm4_64", 8, 0)                                                                                         \
    X(PM5_64, "%pm5_64", 8, 0)                                                                                         \
    X(PM6_64, "%pm6_64", 8, 0)                                                                                         \
    X(PM7_64, "%pm7_64", 8, 0)
typedef enum ptx_sreg {
#define PTX_X(name, text, bytes, since) PTX_SREG_##name,
    PTX_SREG_MAP(PTX_X)
#undef PTX_X
        PTX_SREG_COUNT
} ptx_sreg;

typedef enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    /* a register: `index` is its number in the function; `negate` is set for !p, and for -x in a video instruction */
    PTX_OPERAND_REG,
    /* A constant: `imm` has its bits in the operand's type, zero-extended to 64 bits. */
    PTX_OPERAND_IMM,
    PTX_OPERAND_SREG, /* `index` is a ptx_sreg */
    /* the address of the symbol `index` plus `imm`, in the symbol's state space (mov %rd, name) */
    PTX_OPERAND_SYMBOL,
    PTX_OPERAND_ADDRESS,   /* [base + offset]; `base` tells the kind of base */
    PTX_OPERAND_VECTOR,    /* {a, b, ...}: the elements [index, index + count) of the function */
    PTX_OPERAND_LABEL,     /* `index` is the number of an instruction of the function */
    PTX_OPERAND_FUNCTION,  /* `index` is the number of a function of the module */
    PTX_OPERAND_PROTOTYPE, /* `index` is the number of a prototype of the function, for indirect calls */
    PTX_OPERAND_TARGETS,   /* the labels of brx.idx, which are the elements [index, index + count) of the function */
    /* The arguments or results of a call: the elements [index, index + count) of the function, which are symbols in
     * .param space, registers or constants. */
    PTX_OPERAND_LIST,
    PTX_OPERAND_SINK /* _ */
} ptx_operand_kind;
typedef enum ptx_base { PTX_BASE_NONE, PTX_BASE_REG, PTX_BASE_SYMBOL } ptx_base;

typedef struct ptx_operand {
    uint8_t kind, base, negate;
    /* The ptx_type with which the instruction reads or writes the operand. The register of a REG may be wider where the
     * ISA allows it (ld, st, cvt). */
    uint8_t type;
    /* For VECTOR, TARGETS and LIST, the number of elements. For REG, the selected bytes or halfwords (PTX_SELECT_BITS),
     * or 0 if the instruction uses the whole register. */
    uint32_t count;
    /* The meaning depends on `kind`. For ADDRESS it is the index of a register or of a symbol; `base` tells which. */
    uint32_t index;
    /* the second destination of `p|q` (setp, shfl, match, vote): the register's index + 1, or 0 if there is no second
     * destination */
    uint32_t pred;
    union {
        uint64_t imm;
        int64_t offset;
    };
} ptx_operand;

/* A selection of bytes or halfwords of a register, as in %r1.b3210: their width in bits, their number, and the digit of
 * number n in the order of the text. */
#define PTX_SELECT_BITS(select) ((select)&31)
#define PTX_SELECT_COUNT(select) ((select) >> 5 & 7)
#define PTX_SELECT_DIGIT(select, n) ((select) >> (8 + 4 * (n)) & 7)

#define PTX_NO_PRED UINT32_MAX
#define PTX_MAX_OPERANDS 8

typedef struct ptx_insn {
    uint16_t op; /* ptx_op */
    uint8_t guard_negate;
    uint8_t space;    /* the ptx_space that the instruction names, such as global in ld.global */
    uint8_t types[4]; /* the types in the order of the text: cvt.f32.s64 has the types F32, S64 */
    uint8_t operand_count;
    uint8_t vector; /* 1, 2, 4 or 8 */
    uint8_t tiles;  /* for the shape of a warpgroup: the number of columns divided by 8, from 1 to 32 */
    uint32_t guard; /* the predicate register of the guard, or PTX_NO_PRED */
    uint64_t mods[PTX_MOD_WORDS];
    uint32_t line;       /* line of the instruction in the PTX text */
    uint32_t loc;        /* index into the module's locs; 0 if the source line is unknown */
    uint32_t reconverge; /* for a branch: the index of the immediate post-dominator, or insn_count for the exit */
    /* The operands in the order of the text, so the destination comes first. A call has the list of results, the
     * callee, the list of arguments and, if it is indirect, the prototype. */
    ptx_operand operands[PTX_MAX_OPERANDS];
} ptx_insn;
static inline bool ptx_has(const ptx_insn *insn, ptx_mod mod) { return insn->mods[mod / 64] >> (mod % 64) & 1; }
static inline ptx_class ptx_class_of(const ptx_insn *insn) { return (ptx_class)ptx_op_traits[insn->op].class; }
static inline ptx_cost ptx_cost_of(const ptx_insn *insn) { return (ptx_cost)ptx_op_traits[insn->op].cost; }
static inline ptx_effect ptx_effect_of(const ptx_insn *insn) { return (ptx_effect)ptx_op_traits[insn->op].effect; }

/* The shape of a matrix instruction, in elements. For wgmma it is the shape of the part that one of the four warps
 * computes in one step: 16 rows and 8 columns. */
typedef struct ptx_shape {
    uint16_t m, n, k;
} ptx_shape;
ptx_shape ptx_shape_of(const ptx_insn *insn); /* returns zeros if the instruction names no shape */

typedef struct ptx_reg {
    const char *name;
    uint8_t type;
} ptx_reg;

typedef enum ptx_linkage { PTX_LOCAL, PTX_VISIBLE, PTX_EXTERN, PTX_WEAK, PTX_COMMON } ptx_linkage;

/* a relocation of an initial value: the address of a symbol or function belongs at `offset` */
typedef struct ptx_reloc {
    uint64_t offset;
    uint8_t bytes;
    bool generic, function;
    uint32_t index;
    int64_t addend;
    uint64_t mask;
    uint8_t shift;
} ptx_reloc;

typedef struct ptx_symbol {
    const char *name;
    uint8_t space, type, linkage;
    bool pointer_param; /* the parameter has the attribute .ptr */
    bool managed;       /* .attribute(.managed) is given: host and device share the variable at one address */
    uint32_t align, line;
    uint64_t bytes;    /* 0 for extern .shared name[], which is the dynamic shared memory */
    uint32_t function; /* the function that declares the symbol, or UINT32_MAX if the module declares it */
    /* For a symbol in .param space: its offset. A parameter has an offset in the function's parameter block. A .param
     * variable that the function declares for a call has an offset in the function's frame
     * (ptx_function.frame_bytes). */
    uint64_t offset;
    /* for a symbol in .param space: true for a parameter or return value of the function itself */
    bool formal;
    const unsigned char *init; /* the initial value, of `bytes` bytes; NULL if all bytes are zero */
    size_t reloc_count;
    const ptx_reloc *relocs;
} ptx_symbol;

typedef struct ptx_prototype {
    uint32_t arg_count, ret_count;
    const uint64_t *arg_bytes, *ret_bytes;
} ptx_prototype;

typedef struct ptx_function {
    const char *name;
    bool entry, defined, noreturn;
    uint8_t linkage;
    /* for an alias: the index + 1 of the function whose body and parameters it shares; otherwise 0 */
    uint32_t alias_of;
    uint32_t line;
    uint32_t param_count, return_count; /* `params` has the return values first, then the parameters */
    /* Indices of symbols. The offset of a parameter is a multiple of its alignment, as the launch of a kernel
     * demands. */
    const uint32_t *params;
    /* the size in bytes of each element of `params`; NULL if the parser did not need the sizes */
    const uint64_t *param_sizes;
    uint64_t param_bytes; /* size of the parameter block; for a kernel (.entry) at most 32764 */
    uint64_t frame_bytes; /* size of the .param variables that the function declares for its calls */
    uint32_t reg_count;
    const ptx_reg *regs;
    uint32_t insn_count;
    const ptx_insn *insns; /* a branch may go to insn_count, which acts as a ret */
    uint32_t element_count;
    const ptx_operand *elements;
    uint32_t prototype_count;
    const ptx_prototype *prototypes;
    uint32_t max_threads[3], req_threads[3], req_cluster[3];
    uint32_t min_blocks, max_registers; /* the values of .minnctapersm and .maxnreg; 0 if the directive is not given */
    uint32_t max_cluster;               /* largest number of blocks of a cluster; 0 if the directive is not given */
    bool explicit_cluster, blocks_are_clusters;
} ptx_function;

typedef struct ptx_loc {
    uint32_t file, line, column;
    uint32_t inlined_at; /* for inlined code: index into `locs` of the place of the call; otherwise 0 */
    const char *inlined_from;
} ptx_loc;

typedef struct ptx_module {
    kiln__arena arena;
    int version_major, version_minor, target; /* for example 9, 0 and 75 for PTX 9.0 and sm_75 */
    /* the letter of the target: 'a' of sm_90a, 'f' of sm_100f; 0 if it has no letter */
    char target_kind;
    uint32_t function_count;
    const ptx_function *functions;
    uint32_t symbol_count;
    const ptx_symbol *symbols; /* all symbols of the module and of its functions */
    uint32_t loc_count;
    const ptx_loc *locs; /* places in source files, to which instructions refer; locs[0] is the unknown place */
    uint32_t file_count;
    const char *const *files; /* indexed by the number of a .file directive */
} ptx_module;

/* ptx_parse() parses a text into *module. On failure, sets *module to NULL and appends lines in the form of a driver's
 * JIT log to `log`: "ptxas application ptx input, line 12; error   : Unknown instruction 'foo' (kernel 'k')". The
 * parser reports all errors up to a limit, not only the first error. At the limit it stops reading the text. The text
 * need not be NUL-terminated, and may be any bytes, because it is untrusted input.
 *
 * PTX_UNSUPPORTED means that all errors are about PTX that no simulated device runs. PTX_INVALID means that at
 * least one other error was found. */
typedef enum ptx_result { PTX_OK, PTX_INVALID, PTX_UNSUPPORTED, PTX_MEMORY } ptx_result;
ptx_result ptx_parse(const kiln_allocator *mem, const char *text, size_t length, ptx_module **module, kiln__text *log);
enum { PTX_TENSOR_COLUMNS = 512 }; /* columns of the tensor memory of an SM */
/* Returns the columns of tensor memory that a kernel allocates: the sum of the constant operands of its tcgen05.alloc,
 * at most PTX_TENSOR_COLUMNS. Returns -1 if an operand is not constant, or if the kernel calls a function that may
 * allocate. */
int ptx_tensor_columns(const ptx_module *module, uint32_t kernel);

/* Does the same as ptx_parse() for a device of compute capability `device`, such as 90. An instruction that this device
 * does not have is an error that names the line and the target that the instruction needs. The .target of the text does
 * not change this. If `device` is 0, the device has every instruction. */
ptx_result ptx_parse_for(int device, const kiln_allocator *mem, const char *text, size_t length, ptx_module **module,
                         kiln__text *log);
void ptx_free(const kiln_allocator *mem, ptx_module *module);

/* Links several modules into one, as nvlink does: A definition resolves .extern declarations, and replaces .weak
 * definitions. A .common variable gets the largest size. Local names stay separate. Reports names that are defined
 * twice, incompatible or missing. The callback `builtin` returns true for functions that the device provides. A lazy
 * input is a module of a library. The linker uses it only if it defines a name that another module needs. */
typedef struct ptx_input {
    ptx_module *module; /* ptx_link() takes ownership, also on failure */
    const char *name;   /* for messages; must stay valid during the call */
    bool lazy, used;    /* the linker sets `used` */
} ptx_input;
ptx_result ptx_link(const kiln_allocator *mem, ptx_input *inputs, uint32_t count, bool (*builtin)(const char *name),
                    ptx_module **module, kiln__text *log);
#endif
