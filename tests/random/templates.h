/* templates.h - the registers of random kernels, and templates of instructions with these registers. generate.c
 * explains the notation. tests/fuzz/fuzz_jit.c uses the templates too. */
#ifndef RANDOM_TEMPLATES_H
#define RANDOM_TEMPLATES_H

#include <stddef.h>

enum { R32 = 10, R64 = 5, F32 = 6, F64 = 4, R16 = 4, PREDS = 5 };

/* The kinds of registers: letter, name, number, and the immediates that may replace such a register, or NULL. */
static const struct kind {
    char letter;
    const char *name;
    unsigned count;
    const char *immediates;
} kinds[] = {
    {'r', "r", R32, NULL},
    {'s', "r", R32, "0|1|-1|2|31|32|33|255|65535|65536|2147483647|-2147483648|16777216|1431655765"},
    {'n', "r", R32, "0|1|7|8|15|16|17|31|32|33|63"}, /* shift counts */
    {'d', "d", R64, NULL},
    {'l', "d", R64, "0|1|-1|63|64|65|4294967295|4294967296|9223372036854775807|-9223372036854775808"},
    {'f', "f", F32, NULL},
    {'e', "f", F32,
     "0f00000000|0f80000000|0f3F800000|0fBF800000|0f3F000000|0f7F800000|0fFF800000|0f00000001|0f80800000|"
     "0f007FFFFF|0f7F7FFFFF|0f4F000000|0fCF000000|0f5F800000|0f33800000|0f40490FDB|0f4B800000"},
    {'g', "g", F64, NULL},
    {'k', "g", F64,
     "0d0000000000000000|0d8000000000000000|0d3FF0000000000000|0d3FE0000000000000|0d7FF0000000000000|"
     "0dFFF0000000000000|0d0000000000000001|0d000FFFFFFFFFFFFF|0d7FEFFFFFFFFFFFFF|0d41E0000000000000|"
     "0dC1E0000000000000|0d43F0000000000000|0d3690000000000000|0d47EFFFFFE0000000|0d3CA0000000000000"},
    {'h', "h", R16, NULL},
    {'p', "p", PREDS, NULL},
};

/* A position and a length in a bit field. The ISA allows 0 to 255. ptxas folds values beyond the type's width in its
 * own way. */
#define BITS "and.b32 %a, $r, 255;and.b32 %c, $r, 255;"
static const char *const integer32[] = {
    "<add|sub|min|max>.<u32|s32> $r, $r, $s",
    "mul.<lo|hi>.<u32|s32> $r, $r, $s",
    "mad.<lo|hi>.<u32|s32> $r, $r, $s, $s",
    "<add|sub>.sat.s32 $r, $r, $s",
    "<div|rem>.<u32|s32> $r, $r, $r",
    "<abs|neg>.s32 $r, $r",
    "<and|or|xor>.b32 $r, $r, $s",
    "<not|cnot|brev|popc|clz>.b32 $r, $r",
    "<shl.b32|shr.u32|shr.s32|shr.b32> $r, $r, $n",
    "shf.<l|r>.<wrap|clamp>.b32 $r, $r, $r, $n",
    BITS "bfe.<u32|s32> $r, $r, %a, %c",
    "bfe.<u32|s32> $r, $r, <0|1|8|31>, <0|1|8|31>",
    BITS "bfi.b32 $r, $r, $r, %a, %c",
    "bfi.b32 $r, $r, $r, <0|1|8|31>, <0|1|8|31>",
    "bfind<|.shiftamt>.<u32|s32> $r, $r",
    "bmsk.<clamp|wrap>.b32 $r, $r, $s",
    "prmt.b32<|.f4e|.b4e|.rc8|.ecl|.ecr|.rc16> $r, $r, $r, $s",
    "lop3.b32 $r, $r, $r, $s, <0x01|0x96|0xe8|0xca|0x7f|0x35|0xd4|0x1b>",
    "sad.<u32|s32> $r, $r, $s, $s",
    "dp4a.<u32|s32>.<u32|s32> $r, $r, $s, $s",
    "dp2a.<lo|hi>.<u32|s32>.<u32|s32> $r, $r, $s, $s",
    "add.cc.u32 $r, $r, $s;addc.cc.u32 $r, $r, $s;addc.u32 $r, $r, $s",
    "sub.cc.u32 $r, $r, $s;subc.cc.u32 $r, $r, $s;subc.u32 $r, $r, $s",
    "mad.lo.cc.u32 $r, $r, $r, $s;madc.hi.u32 $r, $r, $r, $s",
    "selp.b32 $r, $r, $s, $p",
    "slct.u32.s32 $r, $r, $s, $r",
    "set.<eq|ne|lt|le|gt|ge>.<u32|s32>.s32 $r, $r, $s",
    "szext.<clamp|wrap>.<u32|s32> $r, $r, $s",
    "mul24.<lo|hi>.<u32|s32> $r, $r, $r",
};
static const char *const integer64[] = {
    "<add|sub|min|max>.<u64|s64> $d, $d, $l",
    "mul.<lo|hi>.<u64|s64> $d, $d, $l",
    "mul.wide.<u32|s32> $d, $r, $s",
    "mad.wide.<u32|s32> $d, $r, $s, $d",
    "mad.<lo|hi>.<u64|s64> $d, $d, $d, $l",
    "<div|rem>.<u64|s64> $d, $d, $d",
    "<and|or|xor>.b64 $d, $d, $l",
    "<shl.b64|shr.u64|shr.s64> $d, $d, $n",
    "<not|brev>.b64 $d, $d",
    "<popc|clz>.b64 $r, $d",
    BITS "bfe.<u64|s64> $d, $d, %a, %c",
    "bfe.<u64|s64> $d, $d, <0|1|8|31|32|63>, <0|1|8|31|32|63>",
    "selp.b64 $d, $d, $l, $p",
};
static const char *const integer16[] = {
    "<add|sub|min|max|mul.lo|mul.hi>.<u16|s16> $h, $h, $h",
    "<and|or|xor>.b16 $h, $h, $h",
    "<shl.b16|shr.u16|shr.s16> $h, $h, $n",
    "mul.wide.<u16|s16> $r, $h, $h",
    "mad.lo.<u16|s16> $h, $h, $h, $h",
};
static const char *const single[] = {
    /* rounding and the other modifiers are chosen first, and the destination second */
    "mov.f32 $f, $e;<add|sub|mul>.<rn|rz|rm|rp><|.ftz><|||.sat>.f32 $1, $e, $e",
    "mov.f32 $f, $e;fma.<rn|rz|rm|rp><|.ftz><|||.sat>.f32 $1, $e, $e, $e",
    "mov.f32 $f, $e;div.<rn|rz|rm|rp><|.ftz>.f32 $1, $e, $e",
    "mov.f32 $f, $e;<sqrt|rcp>.<rn|rz|rm|rp><|.ftz>.f32 $1, $e",
    "mov.f32 $f, $e;<min|max><|.ftz>.f32 $1, $e, $e",
    "mov.f32 $f, $e;<abs|neg><|.ftz>.f32 $1, $e",
    "mov.f32 $f, $e;copysign.f32 $1, $e, $e",
};
static const char *const dual[] = {
    "mov.f64 $g, $k;<add|sub|mul>.<rn|rz|rm|rp>.f64 $1, $k, $k",
    "mov.f64 $g, $k;fma.<rn|rz|rm|rp>.f64 $1, $k, $k, $k",
    "mov.f64 $g, $k;div.<rn|rz|rm|rp>.f64 $1, $k, $k",
    "mov.f64 $g, $k;<sqrt|rcp>.<rn|rz|rm|rp>.f64 $1, $k",
    "mov.f64 $g, $k;<min|max>.f64 $1, $k, $k",
    "mov.f64 $g, $k;<abs|neg>.f64 $1, $k",
};
static const char *const half[] = {
    "mov.b16 $h, $h;<add|sub|mul>.rn<|.ftz><||.sat>.f16 $1, $h, $h",
    "mov.b16 $h, $h;fma.rn<|.ftz><||.sat>.f16 $1, $h, $h, $h",
    "mov.b16 $h, $h;<min|max><|.ftz>.f16 $1, $h, $h",
};
static const char *const half_pair[] = {
    "mov.b32 $r, $r;<add|sub|mul>.rn<|.ftz><||.sat>.f16x2 $1, $r, $r",
    "mov.b32 $r, $r;fma.rn<|.ftz><||.sat>.f16x2 $1, $r, $r, $r",
    "mov.b32 $r, $r;<min|max><|.ftz>.f16x2 $1, $r, $r",
};
static const char *const convert[] = {
    "cvt.<rn|rz|rm|rp>.f32.<u32|s32> $f, $r",
    "cvt.<rn|rz|rm|rp>.f32.<u64|s64> $f, $d",
    "cvt.<rn|rz|rm|rp>.f64.<u32|s32> $g, $r",
    "cvt.<rn|rz|rm|rp>.f64.<u64|s64> $g, $d",
    "cvt.<rni|rzi|rmi|rpi><|.ftz>.<u32|s32>.f32 $r, $f",
    "cvt.<rni|rzi|rmi|rpi><|.ftz>.<u64|s64>.f32 $d, $f",
    "cvt.<rni|rzi|rmi|rpi>.<u32|s32>.f64 $r, $g",
    "cvt.<rni|rzi|rmi|rpi>.<u64|s64>.f64 $d, $g",
    "cvt.<u8|s8|u16|s16|u32|s32>.<u8|s8|u16|s16|u32|s32> $r, $r",
    "cvt.sat.<u8|s8>.<u16|s16|u32|s32> $r, $r",
    "cvt.sat.<u16.u32|s16.u32|u16.s32|s16.s32|u8.s8|s8.u8|u16.s16|s16.u16|u32.s32|s32.u32> $r, $r",
    "cvt.<u64|s64>.<u32|s32> $d, $r",
    "cvt<||.sat>.<u32|s32>.<u64|s64> $r, $d",
    "mov.b32 $f, $r",
    "mov.b32 $r, $f",
    "mov.b64 $d, $g",
    "mov.b64 $d, {$r, $r}",
    "mov.b32 {%h0, %h1}, $r",
    "cvt.u16.u32 $h, $r",
    "cvt.<u32.u16|s32.s16> $r, $h",
};
static const char *const convert_single[] = {
    /* may make a NaN */
    "mov.f32 $f, $e;cvt.<rn|rz|rm|rp><|.ftz><||.sat>.f32.f64 $1, $g",
    "mov.f32 $f, $e;cvt.<rni|rzi|rmi|rpi><|.ftz><||.sat>.f32.f32 $1, $f",
    "mov.f32 $f, $e;cvt.f32.f16 $1, $h",
};
static const char *const convert_dual[] = {"mov.f64 $g, $k;cvt<|.ftz><||.sat>.f64.f32 $1, $f", "mov.b64 $g, $d"};
static const char *const convert_half[] = {"mov.b16 $h, $h;cvt.<rn|rz|rm|rp>.f16.f32 $1, $f"};
static const char *const compare[] = {
    "setp.<eq|ne|lt|le|gt|ge>.<u32|s32> $p, $r, $s",
    "setp.<eq|ne|lt|le|gt|ge>.<and|or|xor>.<u64|s64> $p, $d, $l, <||!>$p",
    "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan><|.ftz>.f32 $p, $f, $e",
    "setp.<eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan>.f64 $p, $g, $k",
    "<and|or|xor>.pred $p, $p, $p",
};
static const char *const guarded[] = {"@<|!>$p <or|xor|and>.b32 $r, $r, $s", "@<|!>$p add.u32 $r, $r, $s"};

#endif
