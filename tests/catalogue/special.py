#!/usr/bin/env python3
"""special.py FILE KIND [f16] EXTENT...: writes a .npy file of 32-bit floats, or of 16-bit floats, with this shape. The KINDs:
  inf        small integers, one infinity, and the negative infinity far behind it
  -inf, nan  small integers, and two of this number
  large      small non-negative integers, and twice the largest finite number: the sum is infinite in any order
  zero       negative integers, and -0, 0 and -0
  denormal   only positive denormals"""
import struct, sys

INFINITY, NAN, LARGEST = float("inf"), float("nan"), object()
TYPES = {"f32": ("f", "<f4", 3.4028234663852886e38, 7e-40), "f16": ("e", "<f2", 65504.0, 2.0**-24)}
SPECIAL = {
    "inf": [INFINITY, -INFINITY],
    "-inf": [-INFINITY, -INFINITY],
    "nan": [NAN, NAN],
    "large": [LARGEST, LARGEST],
    "zero": [-0.0, 0.0, -0.0],
    "denormal": [],
}


def usual(kind, i, denormal):
    small = (i * 7919) % 13
    return {"large": small, "zero": -1 - small, "denormal": denormal * (1 + small)}.get(kind, small - 6)


def main():
    path, kind, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    code, descr, largest, denormal = TYPES[words.pop(0) if words[0] in TYPES else "f32"]
    shape = tuple(int(word) for word in words)
    count = 1
    for extent in shape:
        count *= extent
    values = [float(usual(kind, i, denormal)) for i in range(count)]
    for i, special in enumerate(SPECIAL[kind]):
        if count > i:
            values[(i * 2 + 1) * count // (2 * len(SPECIAL[kind]))] = largest if special is LARGEST else special
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join(f"{extent}, " for extent in shape))
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{count}{code}", *values))


main()
