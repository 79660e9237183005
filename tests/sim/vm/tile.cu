// tile.cu - tiled matrix products. ../ptx.py compiles it with NVRTC.
#define T 16
extern "C" __global__ void vadd(const float*a,const float*b,float*c,int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n)c[i]=a[i]+b[i];}
extern "C" __global__ void mm32(const float*__restrict__ A,const float*__restrict__ B,float*C,int n){
 __shared__ float a[32][32],b[32][32]; int x=threadIdx.x,y=threadIdx.y,r=blockIdx.y*32+y,c=blockIdx.x*32+x; float s=0;
 for(int k=0;k<n;k+=32){a[y][x]=A[r*n+k+x];b[y][x]=B[(k+y)*n+c];__syncthreads();
 #pragma unroll
 for(int j=0;j<32;j++)s+=a[y][j]*b[j][x]; __syncthreads();} C[r*n+c]=s;}
extern "C" __global__ void mm16(const float*__restrict__ A,const float*__restrict__ B,float*C,int n){
 __shared__ float a[16][16],b[16][16]; int x=threadIdx.x,y=threadIdx.y,r=blockIdx.y*16+y,c=blockIdx.x*16+x; float s=0;
 for(int k=0;k<n;k+=16){a[y][x]=A[r*n+k+x];b[y][x]=B[(k+y)*n+c];__syncthreads();
 for(int j=0;j<16;j++)s+=a[y][j]*b[j][x]; __syncthreads();} C[r*n+c]=s;}
