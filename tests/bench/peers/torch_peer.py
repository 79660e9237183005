"""How the peers in PyTorch are timed: by the method of peer.h."""
import time

import torch

GROUP = 16  # repetitions enqueued ahead


def median_seconds(work, moved=None):
    """`moved`: the bytes that the work moves. If the L2 can hold them, it is flushed before each run; None: it is not."""
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
