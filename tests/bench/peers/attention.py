#!/usr/bin/env python3
"""Measures PyTorch's scaled_dot_product_attention, once by cuDNN and once by its own flash attention. The method is
that of peer.h, except that the L2 is not flushed, because the products limit the speed. If PyTorch is not installed,
the program prints nothing. If PyTorch lacks one of the two, the program prints no line for it."""
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds

WORKS = {  # batch, heads, heads of keys, queries and keys, depth, causal
    "default": (4, 32, 32, 4096, 128, False),
    "causal": (4, 32, 32, 4096, 128, True),
    "d64": (4, 32, 32, 4096, 64, False),
    "d64_causal": (4, 32, 32, 4096, 64, True),
    "long": (1, 32, 32, 16384, 128, False),
    "long_causal": (1, 32, 32, 16384, 128, True),
    "short": (16, 16, 16, 1024, 64, False),
    "short_causal": (16, 16, 16, 1024, 64, True),
    "grouped": (4, 32, 8, 4096, 128, True),
}


def main():
    for work, (batch, heads, kv_heads, length, depth, causal) in WORKS.items():
        q = torch.randn(batch, heads, length, depth, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv_heads, length, depth, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        size = 4 * batch * depth * length * (heads + kv_heads)
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("PyTorch", SDPBackend.FLASH_ATTENTION)):
            def run():
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                        enable_gqa=heads != kv_heads)
            try:
                with sdpa_kernel(backend):
                    print(f"attention\t{work}\t{name}\t{median_seconds(run):.9g}\t{size}", flush=True)
            except RuntimeError as error:
                print(f"attention.py: {work}: {name}: {error}", file=sys.stderr)


main()
