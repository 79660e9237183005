#!/usr/bin/env python3
"""Measures PyTorch's grouped product (torch._grouped_mm), and one product of cuBLAS for each group of rows. For the
second way the host must know the sizes of the groups. The method is that of peer.h. If PyTorch is not installed, the
program prints nothing. If PyTorch has no grouped product, the program prints no line for it."""
import sys

try:
    import torch
except ImportError:
    sys.exit(0)
from torch_peer import median_seconds

WORKS = {  # rows, N, K, groups, skew
    "default": (8192, 14336, 4096, 8, 1),
    "equal": (8192, 14336, 4096, 8, 0),
    "down": (8192, 4096, 14336, 8, 1),
    "many": (16384, 1536, 2048, 128, 1),
    "few": (256, 14336, 4096, 8, 1),
}


def main():
    for work, (rows, n, k, groups, skew) in WORKS.items():
        if len(sys.argv) > 1 and work not in sys.argv[1:]:
            continue
        first = [int(rows * (g / groups) ** (1 + skew)) for g in range(groups + 1)]  # as kernel_src/grouped.c
        a = torch.rand(rows, k, device="cuda", dtype=torch.bfloat16) * 2 - 1
        w = torch.rand(groups, n, k, device="cuda", dtype=torch.bfloat16) * 2 - 1
        c = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
        ends = torch.tensor(first[1:], device="cuda", dtype=torch.int32)
        used = sum(first[g] < first[g + 1] for g in range(groups))
        size = 2 * (rows * k + used * n * k + rows * n)

        def grouped():
            return torch._grouped_mm(a, w.transpose(-2, -1), offs=ends, out_dtype=torch.bfloat16)

        def each():
            for g in range(groups):
                if first[g] < first[g + 1]:
                    torch.mm(a[first[g]:first[g + 1]], w[g].t(), out=c[first[g]:first[g + 1]])

        for name, run in (("PyTorch", grouped), ("cuBLAS, each group", each)):
            try:
                print(f"grouped\t{work}\t{name}\t{median_seconds(run):.9g}\t{size}", flush=True)
            except (RuntimeError, AttributeError) as error:
                print(f"grouped.py: {work}: {name}: {error}", file=sys.stderr)


main()
