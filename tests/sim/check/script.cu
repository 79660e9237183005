/* This kernel executes the steps of a table, so that test_check_quick.c can try any order of accesses. A step has four
 * numbers: operation, place, distance of the places of two threads in quarters of an element, and threads. */
extern "C" __global__ void script(const int *steps, int *memory, int *constants, int count)
{
    __shared__ __align__(16) int tile[512];
    const int lane = threadIdx.x % 32;
    int sum = 0, got;
    for (int s = 0; s < count; s++) {
        const int what = steps[4 * s], far = steps[4 * s + 2];
        const unsigned mask = steps[4 * s + 3];
        const int at = steps[4 * s + 1] + (int)((int)threadIdx.x * far >> 2);
        const int out = far == 16 ? 4 : 0; /* sometimes past the end */
        const int other = (at + (int)blockIdx.x * 7) & 1023;
        if (what == 0) {
            __syncthreads();
        } else if (what == 1) {
            __syncwarp();
        } else if (mask >> lane & 1) {
            switch (what) {
            case 2: sum += tile[(at & 511) + out]; break;
            case 3: tile[(at & 511) + out] = s + (lane & 1); break;
            case 4: sum += memory[other]; break;
            case 5: memory[other] = s; break;
            case 6: sum += __ldg(constants + (at & 1023) + out); break;
            case 7: constants[at & 1023] = s; break;
            case 8: {
                const int4 v = *(const int4 *)&tile[4 * at & 508];
                sum += v.x + v.y + v.z + v.w;
                break;
            }
            case 9: *(int2 *)&memory[2 * at & 1022] = make_int2(s, s); break;
            case 10: atomicAdd(&tile[at & 511], 1); break;
            case 11: __syncwarp(mask); break;
            case 12: *(int4 *)&tile[4 * at & 508] = make_int4(s, s, s, s); break;
            case 13: sum += *(volatile int *)&memory[other]; break;
            case 14: __threadfence(); break;
            case 15: /* only reads of global memory may go through the read-only cache */
                asm volatile("ld.shared.nc.b32 %0, [%1];"
                             : "=r"(got)
                             : "r"((unsigned)__cvta_generic_to_shared(&tile[at & 511])));
                sum += got;
                break;
            case 16:
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                                 (unsigned)__cvta_generic_to_shared(&tile[at & 511])),
                             "l"(__cvta_generic_to_global(&memory[other])));
                break;
            case 17: asm volatile("cp.async.wait_all;" ::: "memory"); break;
            }
        }
    }
    memory[1024 + blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
