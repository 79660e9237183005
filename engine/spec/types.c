/* types.c - the properties of each element type, and the names of the types in sources. */
#include <string.h>

#include "spec.h"

const kiln__type_row kiln__types[KILN_TYPE_COUNT] = {
#define KILN_X(name, bytes, code, kind, exponent, mantissa, rtol, atol)                                                \
    {#name, bytes, code, KILN__TYPE_##kind, exponent, mantissa, rtol, atol},
    KILN_TYPE_MAP(KILN_X)
#undef KILN_X
};

const char kiln__type_list[] = ""
#define KILN_X(name, ...) " " #name
    KILN_TYPE_MAP(KILN_X)
#undef KILN_X
    ;

bool kiln__type_is_float(kiln_type type)
{
    const kiln__type_kind kind = kiln__types[type].kind;
    return kind == KILN__TYPE_FLOAT || kind == KILN__TYPE_FINITE || kind == KILN__TYPE_NUMBER ||
           kind == KILN__TYPE_POWER;
}

bool kiln__type_is_integer(kiln_type type)
{
    return kiln__types[type].kind == KILN__TYPE_SIGNED || kiln__types[type].kind == KILN__TYPE_UNSIGNED;
}

kiln_type kiln__type_part(kiln_type type)
{
    return type == KILN_complex64 ? KILN_f32 : type == KILN_complex128 ? KILN_f64 : type;
}

bool kiln__type_named(const char *text, kiln_type *type)
{
    static const struct {
        const char *name;
        kiln_type type;
    } names[] = {
#define KILN_X(name, ...) {#name, KILN_##name},
        KILN_TYPE_MAP(KILN_X)
#undef KILN_X
        /* names of types in CUDA and C sources */
        {"char", KILN_i8},
        {"signed char", KILN_i8},
        {"int8_t", KILN_i8},
        {"unsigned char", KILN_u8},
        {"uint8_t", KILN_u8},
        {"short", KILN_i16},
        {"int16_t", KILN_i16},
        {"unsigned short", KILN_u16},
        {"uint16_t", KILN_u16},
        {"int", KILN_i32},
        {"int32_t", KILN_i32},
        {"unsigned", KILN_u32},
        {"unsigned int", KILN_u32},
        {"uint32_t", KILN_u32},
        {"long long", KILN_i64},
        {"int64_t", KILN_i64},
        {"unsigned long long", KILN_u64},
        {"uint64_t", KILN_u64},
        {"half", KILN_f16},
        {"__half", KILN_f16},
        {"float", KILN_f32},
        {"double", KILN_f64},
        {"__nv_bfloat16", KILN_bf16},
        {"nv_bfloat16", KILN_bf16},
        {"__nv_fp8_e4m3", KILN_f8e4m3},
        {"__nv_fp8_e5m2", KILN_f8e5m2},
        {"__nv_fp8_e8m0", KILN_ue8m0},
        {"__nv_fp6_e2m3", KILN_f6e2m3},
        {"__nv_fp6_e3m2", KILN_f6e3m2},
        {"__nv_fp4_e2m1", KILN_f4e2m1},
        {"cuFloatComplex", KILN_complex64},
        {"cuComplex", KILN_complex64},
        {"cuDoubleComplex", KILN_complex128}};
    for (size_t i = 0; i < KILN__COUNT(names); i++)
        if (strcmp(names[i].name, text) == 0) {
            *type = names[i].type;
            return true;
        }
    return false;
}

bool kiln__vector_named(const char *text, kiln_type *type, size_t *lanes)
{
    static const struct {
        const char *name;
        kiln_type type;
    } parts[] = {
        {"char", KILN_i8},      {"uchar", KILN_u8},      {"short", KILN_i16},        {"ushort", KILN_u16},
        {"int", KILN_i32},      {"uint", KILN_u32},      {"long", KILN_i64},         {"ulong", KILN_u64},
        {"longlong", KILN_i64}, {"ulonglong", KILN_u64}, {"float", KILN_f32},        {"double", KILN_f64},
        {"half", KILN_f16},     {"__half", KILN_f16},    {"nv_bfloat16", KILN_bf16}, {"__nv_bfloat16", KILN_bf16}};
    size_t length = strlen(text);
    for (size_t i = 0; i < KILN__COUNT(parts); i++)
        if (length == strlen(parts[i].name) + 1 && strncmp(parts[i].name, text, length - 1) == 0 &&
            text[length - 1] >= '2' && text[length - 1] <= '4') {
            *type = parts[i].type;
            *lanes = (size_t)(text[length - 1] - '0');
            return true;
        }
    return false;
}

/* Returns Kiln's name of a type for `text`, which may be another library's name such as "float32". Returns NULL if the
 * name is unknown. */
const char *kiln__type_advice(const char *text)
{
    static const char *const others[][2] = {{"float16", "f16"},
                                            {"float32", "f32"},
                                            {"float64", "f64"},
                                            {"single", "f32"},
                                            {"bfloat16", "bf16"},
                                            {"fp8", "f8e4m3"},
                                            {"e4m3", "f8e4m3"},
                                            {"e5m2", "f8e5m2"},
                                            {"e8m0", "ue8m0"},
                                            {"f8e8m0", "ue8m0"},
                                            {"ue4m3", "f8e4m3"},
                                            {"fp6", "f6e2m3"},
                                            {"e2m3", "f6e2m3"},
                                            {"e3m2", "f6e3m2"},
                                            {"fp4", "f4e2m1"},
                                            {"e2m1", "f4e2m1"},
                                            {"int8", "i8"},
                                            {"uint8", "u8"},
                                            {"int16", "i16"},
                                            {"uint16", "u16"},
                                            {"int32", "i32"},
                                            {"uint32", "u32"},
                                            {"int64", "i64"},
                                            {"uint64", "u64"},
                                            {"long", "i64"},
                                            {"size_t", "u64"},
                                            {"uint", "u32"},
                                            {"byte", "u8"},
                                            {"uchar", "u8"},
                                            {"boolean", "bool"},
                                            {"float8_e4m3", "f8e4m3"},
                                            {"float8_e5m2", "f8e5m2"},
                                            {"float8_e4m3fn", "f8e4m3"},
                                            {"float8_e8m0fnu", "ue8m0"},
                                            {"float6_e2m3fn", "f6e2m3"},
                                            {"float6_e3m2fn", "f6e3m2"},
                                            {"float4_e2m1fn", "f4e2m1"},
                                            {"float4", "f32"},
                                            {"float2", "f32"},
                                            {"half2", "f16"}};
    kiln_type type;
    if (kiln__type_named(text, &type))
        return kiln__types[type].name;
    for (size_t i = 0; i < KILN__COUNT(others); i++)
        if (strcmp(others[i][0], text) == 0)
            return others[i][1];
    return NULL;
}
