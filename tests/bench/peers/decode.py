#!/usr/bin/env python3
"""Measures PyTorch's scaled_dot_product_attention for one query, by the method of peer.h. It runs PyTorch's flash
attention, then cuDNN, then PyTorch's default choice. K and V are larger than the L2. If PyTorch is not installed, the
program prints nothing. If PyTorch lacks one of the three, the program prints no line for it."""
import contextlib
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds

WORKS = {  # batch, heads, heads of keys, keys, depth
    "default": (64, 32, 8, 8192, 128),
    "long": (1, 32, 8, 131072, 128),
    "own": (16, 32, 32, 4096, 128),
    "d64": (64, 32, 8, 8192, 64),
}
BACKENDS = {"PyTorch": None, "PyTorch flash": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}


def main():
    for work, (batch, heads, kv_heads, keys, depth) in WORKS.items():
        q = torch.randn(batch, heads, 1, depth, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv_heads, keys, depth, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        size = 4 * depth * batch * (keys * kv_heads + heads)
        for name, backend in BACKENDS.items():
            def run():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=heads != kv_heads)
            try:
                with sdpa_kernel(backend) if backend is not None else contextlib.nullcontext():
                    print(f"decode\t{work}\t{name}\t{median_seconds(run):.9g}\t{size}", flush=True)
            except RuntimeError as error:
                print(f"decode.py: {work}: {name}: {error}", file=sys.stderr)


main()
