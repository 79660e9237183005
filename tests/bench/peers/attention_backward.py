#!/usr/bin/env python3
"""Measures the gradients of PyTorch's scaled_dot_product_attention, once by cuDNN and once by its own flash attention.
The forward pass is not measured. attention.py explains the method. If PyTorch is not installed, the program prints
nothing. If PyTorch lacks one of the two, the program prints no line for it."""
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
    "grouped": (4, 32, 8, 4096, 128, True),
}


def main():
    for work, (batch, heads, kv_heads, length, depth, causal) in WORKS.items():
        if len(sys.argv) > 1 and work not in sys.argv[1:]:
            continue
        shapes = [(batch, count, length, depth) for count in (heads, kv_heads, kv_heads, heads)]
        q, k, v, dout = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in shapes)
        inputs = [x.requires_grad_() for x in (q, k, v)]
        size = 8 * batch * depth * length * (heads + kv_heads)
        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("PyTorch", SDPBackend.FLASH_ATTENTION)):
            try:
                with sdpa_kernel(backend):
                    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                                           enable_gqa=heads != kv_heads)
                    seconds = median_seconds(lambda: torch.autograd.grad(out, inputs, dout, retain_graph=True))
                    print(f"attention_backward\t{work}\t{name}\t{seconds:.9g}\t{size}", flush=True)
            except RuntimeError as error:
                print(f"attention_backward.py: {work}: {name}: {error}", file=sys.stderr)


main()
