#!/usr/bin/env python3
"""Measures torch.nn.functional.conv2d for the convolution layers, in full single precision. PyTorch uses cuDNN with
cuDNN's own search. For depthwise layers it uses its own kernels. The method is that of peer.h: if the arrays fit in the
L2, the L2 is flushed. If PyTorch is not installed, the program prints nothing."""
import sys

try:
    import torch
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds

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
