#!/usr/bin/env python3
"""special.py FILE KIND EXTENT...: writes a float32 .npy of that shape, by KIND:
  inf        small integers, an infinity, and far behind it the negative one
  -inf, nan  small integers, and two of these
  large      small integers that are not negative, and twice the largest finite number: in any order an infinity
  zero       negative integers, and -0, 0 and -0
  denormal   nothing but positive denormals"""
import struct, sys

INFINITY, NAN, LARGEST = float("inf"), float("nan"), 3.4028234663852886e38
SPECIAL = {
    "inf": [INFINITY, -INFINITY],
    "-inf": [-INFINITY, -INFINITY],
    "nan": [NAN, NAN],
    "large": [LARGEST, LARGEST],
    "zero": [-0.0, 0.0, -0.0],
    "denormal": [],
}


def usual(kind, i):
    small = (i * 7919) % 13
    return {"large": small, "zero": -1 - small, "denormal": 7e-40 * (1 + small)}.get(kind, small - 6)


def main():
    path, kind, shape = sys.argv[1], sys.argv[2], tuple(int(word) for word in sys.argv[3:])
    count = 1
    for extent in shape:
        count *= extent
    values = [float(usual(kind, i)) for i in range(count)]
    for i, special in enumerate(SPECIAL[kind]):
        if count > i:
            values[(i * 2 + 1) * count // (2 * len(SPECIAL[kind]))] = special
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join(f"{extent}, " for extent in shape)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{count}f", *values))


main()
