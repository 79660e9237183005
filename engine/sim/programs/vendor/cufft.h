/* cufft.h - the part of cuFFT's interface that the stand-in needs: names and numbers of NVIDIA's public headers cufft.h
 * and library_types.h (CUDA 12 and 13). Kiln builds without these headers. The functions take all enumerations as
 * int. */
#ifndef KILN_SIM_VENDOR_CUFFT_H
#define KILN_SIM_VENDOR_CUFFT_H

enum { /* cufftResult */
       FFT_DONE = 0,
       FFT_INVALID_PLAN = 1,
       FFT_ALLOC_FAILED = 2,
       FFT_INVALID_TYPE = 3,
       FFT_INVALID_VALUE = 4,
       FFT_EXEC_FAILED = 6,
       FFT_SETUP_FAILED = 7,
       FFT_INVALID_SIZE = 8,
       FFT_NOT_SUPPORTED = 16
};
enum { /* cufftType: bit 6 is set for double precision */
       FFT_C2C = 0x29,
       FFT_R2C = 0x2a,
       FFT_C2R = 0x2c,
       FFT_Z2Z = 0x69,
       FFT_D2Z = 0x6a,
       FFT_Z2D = 0x6c
};
enum { FFT_FORWARD = -1, FFT_INVERSE = 1 };

#endif
