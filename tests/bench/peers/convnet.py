#!/usr/bin/env python3
"""PyTorch beside the convolution layers: torch.nn.functional.conv2d in full single precision, with cuDNN's own search and
PyTorch's kernels where it has some (depthwise). Timed by the method of peer.h, the L2 flushed where the arrays fit in
it. Prints no line where there is no PyTorch."""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(0)

GROUP = 16  # repetitions enqueued ahead
# images, channels, size, filters, taps, stride, pad, groups, channels last
WORKS = {
    "default": (32, 64, 56, 64, 3, 1, 1, 1, False),
    "pointwise": (32, 256, 28, 512, 1, 1, 0, 1, False),
    "deep": (32, 512, 7, 512, 3, 1, 1, 1, False),
    "five": (4, 16, 28, 32, 5, 1, 2, 1, False),
    "five_128": (128, 16, 28, 32, 5, 1, 2, 1, False),
    "depthwise": (32, 256, 56, 256, 3, 1, 1, 256, False),
    "depthwise14": (32, 512, 14, 512, 3, 1, 1, 512, False),
    "nhwc": (32, 64, 56, 64, 3, 1, 1, 1, True),
    "stem": (32, 3, 224, 64, 7, 2, 3, 1, False),
}


def median_seconds(work, moved):
    l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 50 << 20)
    flush = torch.empty(2 * l2 if moved <= l2 else 0, dtype=torch.int8, device="cuda")
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    times, began = [], time.monotonic()
    while len(times) < 33 or (len(times) < 1000 and time.monotonic() - began < 0.5):
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(GROUP)]
        for start, end in events:
            if flush.numel():
                flush.zero_()
            start.record()
            work()
            end.record()
        torch.cuda.synchronize()
        times += [start.elapsed_time(end) * 1e-3 for start, end in events]
    return sorted(times)[len(times) // 2]


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    for work, (images, channels, size, filters, taps, stride, pad, groups, last) in WORKS.items():
        form = torch.channels_last if last else torch.contiguous_format
        x = (torch.rand(images, channels, size, size, device="cuda") * 2 - 1).to(memory_format=form)
        w = (torch.rand(filters, channels // groups, taps, taps, device="cuda") * 2 - 1).to(memory_format=form)

        def convolve():
            return torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)

        with torch.no_grad():
            y = convolve()
            moved = 4 * (x.numel() + w.numel() + y.numel())
            seconds = median_seconds(convolve, moved)
        print(f"convnet\t{work}\tPyTorch\t{seconds:.9g}\t{moved}", flush=True)


main()
