"""Measures the peers in PyTorch by the method of peer.h."""
import time

import torch

GROUP = 16  # the number of repetitions that are enqueued before the host waits


def median_seconds(work, moved=None):
    """Returns the median time of work(). `moved` is the number of bytes that the work moves. If the L2 can hold them,
    it is flushed before each run. If `moved` is None, it is not flushed."""
    l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 50 << 20)
    flush = torch.empty(2 * l2, dtype=torch.int8, device="cuda") if moved is not None and moved <= l2 else None
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    times, began = [], time.monotonic()
    while len(times) < 33 or (len(times) < 1000 and time.monotonic() - began < 0.5):
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(GROUP)]
        for start, end in events:
            if flush is not None:
                flush.zero_()
            start.record()
            work()
            end.record()
        torch.cuda.synchronize()
        times += [start.elapsed_time(end) * 1e-3 for start, end in events]
    return sorted(times)[len(times) // 2]
