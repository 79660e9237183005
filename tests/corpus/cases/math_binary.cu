//! F = atan2f copysignf fdimf fdividef fmaxf fminf fmodf hypotf nextafterf powf remainderf rhypotf __powf __fdividef
//! F = __fadd_rn __fadd_rz __fadd_ru __fadd_rd __fmul_rn __fmul_rz __fmul_ru __fmul_rd __fdiv_rn __fdiv_rz __fdiv_ru
//! F = __fdiv_rd __fsub_rn __fsub_rz __fsub_ru __fsub_rd
//! F = atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder rhypot __dadd_rn __dadd_rz __dadd_ru __dadd_rd
//! F = __dmul_rn __dmul_rz __dmul_ru __dmul_rd __ddiv_rn __ddiv_rz __ddiv_ru __ddiv_rd __dsub_rn __dsub_rz
extern "C" __global__ void k(const double *in, double *out)
{
    out[threadIdx.x] = F(in[threadIdx.x], in[threadIdx.x + 32]);
}
