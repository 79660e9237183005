/* order_program.h - shared by the files of order_program: the streams and memory of the first device, and the cases
 * with two devices. */
#ifndef TEST_SIM_ORDER_PROGRAM_H
#define TEST_SIM_ORDER_PROGRAM_H

#include "program.h"

enum { N = 1024, BYTES = N * 4, PAGE = 4096 }; /* the checks guard pinned memory by whole pages */

typedef struct order_world {
    CUmodule module;
    CUfunction put, get, count, hear;
    CUstream a, b, c, one, two; /* a, b and c are non-blocking; one and two are blocking */
    CUevent event, other;
    CUdeviceptr x, y, z;
    int *pinned; /* three pages of pinned memory */
    int plain[N];
} order_world;
extern order_world w;
extern volatile int seen;       /* the host's reads go here, so that the compiler keeps them */
extern const char order_text[]; /* the PTX of the module with put, get, count and other kernels */

static inline void put(CUstream stream, CUdeviceptr to)
{
    TRY(cuLaunchKernel(w.put, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&to}, NULL));
}
static inline void get(CUstream stream, CUdeviceptr from, CUdeviceptr to)
{
    TRY(cuLaunchKernel(w.get, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&from, &to}, NULL));
}
static inline void count(CUstream stream)
{
    TRY(cuLaunchKernel(w.count, 1, 1, 1, N, 1, 1, 0, stream, (void *[]){&w.x}, NULL));
}
static inline void wait(CUstream stream, CUstream other)
{
    TRY(cuEventRecord(w.event, other));
    TRY(cuStreamWaitEvent(stream, w.event, 0));
}

#define LATER " by an earlier launch of put, in streams that do not wait"
/* X(name, finding): the cases of order_devices.c. */
#define ORDER_DEVICE_CASES(X)                                                                                          \
    X(other_device_between, "")                                                                                        \
    X(other_context_between, "")                                                                                       \
    X(other_device_apart, LATER)                                                                                       \
    X(pinned_through_devices, "")                                                                                      \
    X(other_context_gone, "")                                                                                          \
    X(pinned_freed_beside, "")                                                                                         \
    X(per_thread_of_two_devices, "")                                                                                   \
    X(peer_apart, "read of 4 bytes at global address 0x")                                                              \
    X(peer_apart_back, " and a write" LATER)                                                                           \
    X(peer_read_then_written, "and a read by an earlier launch of get, in streams that do not wait")                   \
    X(peer_both_read, "")                                                                                              \
    X(peer_by_event, "")                                                                                               \
    X(peer_early_event, " and a write" LATER)                                                                          \
    X(peer_by_host, "")                                                                                                \
    X(peer_wrong_host, " and a write" LATER)                                                                           \
    X(peer_atomics, "")                                                                                                \
    X(peer_by_flag, "")                                                                                                \
    X(peer_by_value, "")                                                                                               \
    X(peer_copy_apart, "and a write by a launch of put, in streams that do not wait")                                  \
    X(peer_copy_then_kernel, "write by the host's copy at global address")                                             \
    X(peer_copies, "the host's fill and the host's copy, in streams that do not wait")                                 \
    X(peer_legacy_copy, "")                                                                                            \
    X(peer_pinned, " and a write" LATER)                                                                               \
    X(peer_gone, "")                                                                                                   \
    X(variable_handed_over, "of 'first'")
#define DECLARE(name, finding) void name(void);
ORDER_DEVICE_CASES(DECLARE)
#undef DECLARE

#endif
