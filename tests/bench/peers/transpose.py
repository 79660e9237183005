#!/usr/bin/env python3
"""Measures the transpose in PyTorch, which is a contiguous copy of the transposed view. The method is that of peer.h.
All works are larger than the L2, so nothing is flushed. If PyTorch is not installed, the program prints nothing."""
import sys

try:
    import torch
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds


def main():
    works = {"default": (1, 8192, 8192), "wide": (1, 4096, 16384), "tall": (1, 16384, 4096), "batched": (256, 1000, 777)}
    for work, (batch, rows, columns) in works.items():
        a = torch.rand(batch, rows, columns, device="cuda") * 2 - 1
        t = torch.empty(batch, columns, rows, device="cuda")
        seconds = median_seconds(lambda: t.copy_(a.transpose(1, 2)))
        if not torch.equal(t, a.transpose(1, 2)):
            sys.exit(f"transpose.py: {work}: a wrong answer")
        print(f"transpose\t{work}\tPyTorch\t{seconds:.9g}\t{8 * batch * rows * columns}", flush=True)


main()
