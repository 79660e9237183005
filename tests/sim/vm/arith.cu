// arith.cu - has one expression in each row. test_vm_arith.c tests them with edge values. ../ptx.py compiles it with
// NVRTC.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" {
__global__ void arith(const float*f,const double*d,const int*n,float*of,double*od,long long*oi){ int i=threadIdx.x; float a=f[i],b=f[(i+7)&63],c=f[(i+13)&63]; double x=d[i],y=d[(i+5)&63]; int p=n[i],q=n[(i+3)&63];
 int k=0;
#define F(e) of[(k++)*64+i]=(e)
 F(a+b);F(a-b);F(a*b);F(fmaf(a,b,c));F(a/b);F(sqrtf(a));F(1.0f/a);F(fminf(a,b));F(fmaxf(a,b));F(__fadd_rz(a,b));F(__fmul_rd(a,b));F(__fmaf_ru(a,b,c));F(__fdiv_rz(a,b));F(__fsqrt_ru(a));F(floorf(a));F(ceilf(a));F(rintf(a));F(truncf(a));F(fabsf(a));F(-a);F((float)p);F((float)(unsigned)q);F(__int2float_rz(p));F((float)x);F(__double2float_rz(x));F((float)((long long)p*q));F(copysignf(a,b));F(__saturatef(a));F(__half2float(__float2half(a)));F(__bfloat162float(__float2bfloat16(a)));F(__half2float(__hadd(__float2half(a),__float2half(b))));F(__half2float(__hfma(__float2half(a),__float2half(b),__float2half(c))));F(__low2float(__hmul2(__floats2half2_rn(a,b),__floats2half2_rn(b,c))));F(a<b);F(a>=b);F(!(a<b));F(a!=a);
#define D(e) od[(l++)*64+i]=(e)
 int l=0; D(x+y);D(x*y);D(fma(x,y,1.5));D(x/y);D(sqrt(x));D(fmin(x,y));D(__dadd_ru(x,y));D(__dmul_rz(x,y));D((double)p*q);D((double)(long long)x);D((double)a);D(trunc(x));D(exp(x/100));D(sin(x));D(pow(fabs(x),0.3));D(log(fabs(x)+1));
#define I(e) oi[(m++)*64+i]=(long long)(e)
 int m=0; I(p/q);I(p%q);I((unsigned)p/(unsigned)q);I((unsigned)p%(unsigned)q);I((long long)p*q);I(__mulhi(p,q));I(__umulhi(p,q));I(((long long)p<<20)/((long long)q*3));I(((unsigned long long)(long long)p*977)%((unsigned long long)(long long)q+11));I(__popc(p));I(__clz(p));I(__ffs(p));I(__brev(p));I(__byte_perm(p,q,0x1a4f&0x7777));I(__funnelshift_l(p,q,i));I(__funnelshift_rc(p,q,i+3));I(p>>(i&31));I((unsigned)p>>(i&31));I((int)a);I((unsigned)a);I((long long)x);I((unsigned long long)x);I(__float2int_rn(a));I(__float2int_ru(a));I((short)p);I((unsigned char)q);I((signed char)p);I(min(p,q));I(max((unsigned)p,(unsigned)q));I(abs(p));I(__mul64hi((long long)p*q,(long long)q<<33));I(__umul64hi((unsigned long long)p*q,(unsigned long long)q<<31));I(__sad(p,q,5u));I(__dp4a(p,q,7));I(__mul24(p,q));I((p&q)|(~p^q));I(__half2int_rn(__float2half(a)));I(__double2ll_ru(x));I(p==q);I(__vadd2(p,q));I(__vmins2(p,q));I(__float_as_int(__int_as_float(p)));
}
}
