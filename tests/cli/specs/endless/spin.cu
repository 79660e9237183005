// Waits for a value that never comes. It counts its reads: if it only repeated itself, it would be a deadlock.
extern "C" __global__ void spin(volatile int *flag) {
    int looks = 1;
    while (*flag == 0)
        looks++;
    flag[1] = looks;
}
