/* Names without blanks for the types that the cases take as values. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using f16 = __half;
using bf16 = __nv_bfloat16;
struct wide {
    int key;
    double weight;
    __device__ bool operator<(const wide &b) const { return key < b.key; }
};
struct odd {
    unsigned char bytes[3];
};
