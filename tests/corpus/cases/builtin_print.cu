//! KIND = 0 1 2 3 4
//! every
extern "C" __global__ void k(int *p, double d)
{
#if KIND == 0
    printf("%d %5.2f %s %c %llx\n", threadIdx.x, d, "text", 'c', (unsigned long long)p);
#elif KIND == 1
    assert(p[threadIdx.x] > 0 && "must be more than nothing");
#elif KIND == 2
    int *mine = (int *)malloc(64);
    if (mine) {
        memset(mine, 1, 64);
        memcpy(p + threadIdx.x * 16, mine, 64);
        free(mine);
    }
    struct node { node *next; int value; };
    node *list = nullptr;
    for (int i = 0; i < 3; i++)
        list = new node{list, i};
    while (list) {
        node *next = list->next;
        delete list;
        list = next;
    }
#elif KIND == 3
    struct shape { __device__ virtual double area() const { return 0; } };
    struct square : shape { double a; __device__ double area() const override { return a * a; } };
    struct circle : shape { double r; __device__ double area() const override { return 3 * r * r; } };
    square s;
    circle c;
    s.a = c.r = d;
    const shape *which = p[0] ? (const shape *)&s : &c;
    p[1] = (int)which->area();
#else
    if (d < 0)
        __trap();
    __nanosleep(100);
    p[2] = (int)clock() + (int)clock64() + (int)__isGlobal(p) + (int)__isShared(p);
    __threadfence_system();
    if (d > 1e6)
        __brkpt();
    p[3] = __syncthreads_count(p[4]) + __syncthreads_and(p[5]) + __syncthreads_or(p[6]);
    __prof_trigger(1);
#endif
}
