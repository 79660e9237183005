#!/usr/bin/env python3
"""Measures softmax, layer norm and RMS norm in PyTorch: torch.softmax, and functions of torch.nn.functional. The method
is that of peer.h, except that the L2 is not flushed. All works are larger than the L2, and all except `wide` are much
larger. If PyTorch is not installed, the program prints nothing."""
import sys

try:
    import torch
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds

SOFTMAX, LAYER_NORM, RMS_NORM = range(3)
WORKS = {
    "default": (8192, 8192, SOFTMAX, torch.bfloat16),
    "layer": (8192, 8192, LAYER_NORM, torch.bfloat16),
    "rms": (8192, 8192, RMS_NORM, torch.bfloat16),
    "floats": (8192, 8192, SOFTMAX, torch.float32),
    "narrow": (65536, 1024, SOFTMAX, torch.bfloat16),
    "narrow_layer": (65536, 1024, LAYER_NORM, torch.bfloat16),
    "wide": (64, 262144, SOFTMAX, torch.bfloat16),
    "wide_layer": (64, 262144, LAYER_NORM, torch.bfloat16),
    "vocabulary": (4096, 50257, SOFTMAX, torch.bfloat16),
}


def main():
    for work, (rows, width, kind, dtype) in WORKS.items():
        x = ((torch.rand(rows, width, device="cuda") * 2 - 1) * 4).to(dtype)
        gamma = (torch.rand(width, device="cuda") + 0.5).to(dtype)
        beta = (torch.rand(width, device="cuda") * 2 - 1).to(dtype)
        run = {
            SOFTMAX: lambda: torch.softmax(x, -1),
            LAYER_NORM: lambda: torch.nn.functional.layer_norm(x, (width,), gamma, beta, 1e-5),
            RMS_NORM: lambda: torch.nn.functional.rms_norm(x, (width,), gamma, 1e-5),
        }[kind]
        weights = {SOFTMAX: 0, LAYER_NORM: 2, RMS_NORM: 1}[kind] * width
        bytes_moved = x.element_size() * (2 * rows * width + weights)
        print(f"normalise\t{work}\tPyTorch\t{median_seconds(run):.9g}\t{bytes_moved}", flush=True)


main()
