// flow.cu - kernels with control flow, calls, barriers, atomics, warp operations and faults, for test_vm_flow.c.
// ../ptx.py compiles it with NVRTC.
extern "C" { __device__ int printf(const char*,...); __device__ void* malloc(size_t); __device__ void free(void*); __device__ void __assert_fail(const char*,const char*,unsigned,const char*); }
extern "C" {
__global__ void diverge(int*o){int i=threadIdx.x; int s=0; for(int k=0;k<i;k++){ if(k&1)s+=k*3; else if(k%3==0) s-=k; else s^=k; } if(i%5==0){o[i]=s;return;} switch(i%7){case 0:s+=1;break;case 1:s*=2;break;case 2:s-=5;break;case 3:s^=77;break;case 4:s=-s;break;case 5:s<<=2;break;default:s>>=1;} o[i]=s;}
__device__ __noinline__ int fib(int n){ return n<2?n:fib(n-1)+fib(n-2);}
__global__ void recur(int*o){ o[threadIdx.x]=fib(threadIdx.x%12);}
typedef int(*fn)(int,int);
__device__ __noinline__ int fadd(int a,int b){return a+b;} __device__ __noinline__ int fmul(int a,int b){return a*b;} __device__ __noinline__ int fsub(int a,int b){return a-b;}
__device__ fn table[3]={fadd,fmul,fsub};
__global__ void indirect(int*o){int i=threadIdx.x; int r=0; for(int k=0;k<4;k++) r+=table[(i+k)%3](i,k+2); o[i]=r;}
__global__ void atom(int*c, unsigned long long*q, float*f, double*d){ int i=blockIdx.x*blockDim.x+threadIdx.x; atomicAdd(&c[0],i); atomicMin(&c[1],-i); atomicMax(&c[2],i); atomicOr((unsigned*)&c[3],1u<<(i&31)); atomicXor(&c[4],i); atomicInc((unsigned*)&c[5],99u); atomicCAS(&c[6],-1515870811,7); atomicAdd(q,(unsigned long long)i<<20); atomicAdd(f,1.0f); atomicAdd(d,0.5); atomicExch(&c[7],5); atomicDec((unsigned*)&c[8],50u); atomicAnd(&c[9],~(1<<(i&15))); atomicSub(&c[10],2);}
__global__ void lock(int*l,int*v){ // every lane takes a spin lock
 bool done=false; while(!done){ if(atomicCAS(l,0,1)==0){ v[0]=v[0]+1; __threadfence(); atomicExch(l,0); done=true; } } }
__global__ void lock2(volatile int*l,int*v){ while(atomicCAS((int*)l,0,1)!=0); v[0]+=1; __threadfence(); atomicExch((int*)l,0); }
__global__ void chain(volatile int*flag,int*o){ if(threadIdx.x==0){ while(flag[0]!=(int)blockIdx.x); o[blockIdx.x]=blockIdx.x*blockIdx.x; __threadfence(); flag[0]=blockIdx.x+1; } }
__global__ void chainrev(volatile int*flag,int*o){ if(threadIdx.x==0){ int want=gridDim.x-1-blockIdx.x; while(flag[0]!=want); o[blockIdx.x]=want; __threadfence(); flag[0]=want+1; } }
__global__ void shuf(int*o){ int i=threadIdx.x; int v=i*10; o[i]=__shfl_sync(~0u,v,(i*7)&31); o[32+i]=__shfl_up_sync(~0u,v,3); o[64+i]=__shfl_down_sync(~0u,v,5,16); o[96+i]=__shfl_xor_sync(~0u,v,9); o[128+i]=__ballot_sync(~0u,i%3==0); o[160+i]=__any_sync(~0u,i==5)+2*__all_sync(~0u,i<32); o[192+i]=__match_any_sync(~0u,i%5); o[224+i]=__reduce_add_sync(~0u,i); o[256+i]=__reduce_max_sync(~0u,(i*13)%29); if(i<20) o[288+i]=__activemask(); 
  if(i&1) v=__shfl_sync(0xaaaaaaaa,v,31); else v=__shfl_xor_sync(0x55555555,v,2); o[320+i]=v; int pr; o[352+i]=__match_all_sync(~0u,i/32,&pr)+pr; }
__global__ void bars(int*o){ __shared__ int s[256]; int i=threadIdx.x; s[i]=i; __syncthreads(); for(int w=128;w;w>>=1){ if(i<w)s[i]+=s[i+w]; __syncthreads(); } if(i==0)o[0]=s[0]; int c=__syncthreads_count(i%3==0); int a=__syncthreads_and(i<256), r=__syncthreads_or(i==77); if(i==9){o[1]=c;o[2]=a!=0;o[3]=r!=0;} if(i>=200) return; __syncthreads(); if(i==0)o[4]=42; }
__global__ void hang(int*o){ if(threadIdx.x<32) __syncthreads(); else { asm volatile("bar.sync 1, 96;"); } o[threadIdx.x]=1; }
__global__ void forever(volatile int*o){ while(o[0]!=12345){ o[1]++; } }
__global__ void oob(int*o,int n){ o[n+threadIdx.x]=1; }
__global__ void mis(char*o){ *(int*)(o+1+4*threadIdx.x)=1; }
__global__ void pf(const char*s){ if(threadIdx.x<2) printf("t%d %5.2f|%-6d|%x %s %c %lld %e %g %% %u\n",threadIdx.x,3.14159,42,255u,s,'z',-5000000000LL,12345.678,0.0001,7u); }
__global__ void as(int x){ if(threadIdx.x==3) { if(!(x==5)) __assert_fail("x == 5","t1.cu",77,"as"); } }
struct S{int a; float b[5]; char c;}; 
__device__ __noinline__ S mk(S s,int k){ s.a+=k; s.b[k%5]=k; s.c='q'; return s;}
__global__ void structs(S s, S*o){ int i=threadIdx.x; S r=mk(s,i); r.b[(i+1)%5]+=s.b[i%5]; o[i]=r; }
__constant__ int cc[8]={1,2,3,4,5,6,7,8}; __device__ int gg=9; __device__ int*gp=&gg; __device__ const char*strs[2]={"hello","bye"};
__global__ void glob(int*o){ int i=threadIdx.x; o[i]=cc[i&7]+*gp+strs[i&1][i%3]; }
__global__ void dyn(int*o){ extern __shared__ int d[]; d[threadIdx.x]=threadIdx.x*2; __syncthreads(); o[threadIdx.x]=d[blockDim.x-1-threadIdx.x]; }
__global__ void local(int*o){ int a[16]; int i=threadIdx.x; for(int k=0;k<16;k++)a[(k*5+i)%16]=k*i; int s=0; for(int k=0;k<16;k++)s=s*3+a[(k+i)&15]; o[i]=s; }
__global__ void carry(unsigned*o){ unsigned i=threadIdx.x; unsigned lo,hi; asm("add.cc.u32 %0,%2,%3; addc.u32 %1,%4,%5;":"=r"(lo),"=r"(hi):"r"(0xfffffff0u+i),"r"(20u),"r"(i),"r"(5u)); o[2*i]=lo;o[2*i+1]=hi; unsigned __int128 x=((unsigned __int128)~0ull<<3)+i, y=x*(x+i); o[64+i]=(unsigned)(y>>70); o[96+i]=(unsigned)((x-y)>>65); }
__global__ void early(int*o){ int i=threadIdx.x; if(i<40) { if(i&1) return; } int v=__popc(__activemask()); if(i>=64) asm volatile("exit;"); __syncthreads(); o[i]=v+1; }
__global__ void vec(const float4*a,float4*b,const uchar4*c,uchar4*d,double2*e){int i=threadIdx.x; float4 v=a[i]; v.x+=v.w; b[i]=v; uchar4 u=c[i]; u.x+=u.y; d[i]=u; e[i]=make_double2(i,i*.5);}
__global__ void mallc(int**p,int*o){ int*q=(int*)malloc(16); q[1]=threadIdx.x; p[threadIdx.x]=q; o[threadIdx.x]=q[1]; free(q); }
__global__ void trp(){ if(threadIdx.x==7) __trap(); }
__global__ void clk(long long*o){ long long a=clock64(); __nanosleep(100); long long b=clock64(); o[threadIdx.x]=b>a; }
__global__ void deep(int*o){ struct R{ static __device__ __noinline__ int f(int n){ return n<=0?0:1+f(n-1)+(n&1);} }; o[threadIdx.x]=R::f(1<<20); }
}
