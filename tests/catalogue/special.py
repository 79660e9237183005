#!/usr/bin/env python3
"""special.py FOLDER [f16] EXTENT...: writes arrays of 32-bit floats, or of 16-bit floats, with this shape to
FOLDER/KIND.npy. One process writes all of them, because the start of Python takes longer. The kinds:
  inf        small integers, one infinity, and the negative infinity far behind it
  -inf, nan  small integers, and two of this number
  large      small non-negative integers, and twice the largest finite number: the sum is infinite in any order
  zero       negative integers, and -0, 0 and -0
  denormal   only positive denormals"""
import math, struct, sys

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


def write(path, kind, code, descr, largest, denormal, shape):
    count = math.prod(shape)
    values = [float(usual(kind, i, denormal)) for i in range(count)]
    for i, special in enumerate(SPECIAL[kind]):
        if count > i:
            values[(i * 2 + 1) * count // (2 * len(SPECIAL[kind]))] = largest if special is LARGEST else special
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join(f"{extent}, " for extent in shape))
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{count}{code}", *values))


def main():
    folder, words = sys.argv[1], sys.argv[2:]
    number = TYPES[words.pop(0) if words[0] in TYPES else "f32"]
    for kind in SPECIAL:
        write(f"{folder}/{kind}.npy", kind, *number, [int(word) for word in words])


main()
