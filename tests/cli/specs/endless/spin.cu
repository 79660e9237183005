/* Waits for what never comes. It counts its looks, so it does not only repeat itself, which would be a deadlock. */
extern "C" __global__ void spin(volatile int *flag) {
    int looks = 1;
    while (*flag == 0)
        looks++;
    flag[1] = looks;
}
