#!/usr/bin/env python3
"""special.py FILE EXTENT...: writes a float32 .npy of that shape whose elements are small integers but for a few: infinities,
NaN, -0, denormals, the largest finite numbers. Where they stand is fixed, and there are many elements without any nearby."""
import struct, sys

INFINITY, NAN = float("inf"), float("nan")
SPECIAL = [INFINITY, -INFINITY, NAN, -0.0, 1e-45, -1.1754942e-38, 3.4028234663852886e38, -3.4028234663852886e38]


def main():
    path, shape = sys.argv[1], tuple(int(word) for word in sys.argv[2:])
    count = 1
    for extent in shape:
        count *= extent
    values = [float((i * 7919) % 13 - 6) for i in range(count)]
    for i, special in enumerate(SPECIAL):
        if count > i:
            values[(i * 2 + 1) * count // (2 * len(SPECIAL))] = special
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join(f"{extent}, " for extent in shape)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack(f"<{count}f", *values))


main()
