/* Waits for what never comes. */
extern "C" __global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
    flag[1] = 1;
}
