#!/usr/bin/env python3
"""tiles.py KILN: checks which points of y an infinity, a NaN or a number that overflows changes, in the variants of convnet that
transform tiles. If the filter at a point covers an infinity or a NaN, the point must not be finite. If a tile does not read the
special element, its points must equal those of the variant direct. The test accepts any value at the other points."""
import math, os, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = os.path.join(HERE, "../../specs/convnet.yaml")
IMAGES, CHANNELS, HEIGHT, WIDTH = EXTENTS = 2, 3, 21, 40
FILTERS = 3
TOLERANCE = 2e-4  # numbers are at most 7, and sums have at most 75 terms


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])


def run(kiln, folder, variant, settings, image):
    path = os.path.join(folder, "y.npy")
    command = [kiln, "run", SPEC, "-v", variant, "-s", "tiny", "--device", "sim", "--no-measure", "--no-verify"]
    for setting in (*settings, *(f"{name}={value}" for name, value in zip(("N", "C", "H", "W"), EXTENTS)), f"K={FILTERS}"):
        command += ["-p" if setting.split("=")[0] in ("OUT", "SIZE") else "-s", setting]
    subprocess.run([*command, "--input", f"x={image}", "--output", f"y={path}"], check=True, capture_output=True)
    return read(path)


def settings_of(taps):
    return [f"R={taps}", f"S={taps}", f"PAD_H={taps // 2}", f"PAD_W={taps // 2}"]  # y is as large as x


def takes(tile, taken, pad, special, before):
    """Tells whether a tile that begins at `tile` reads a special element, along both extents."""
    return all(t - pad <= s < t - pad + taken for t, s in zip(tile, special)) and before


def wrong(kiln, folder, variant, param, taps, kind, image, specials, expected):
    pad = taps // 2
    side = int(param.split("=")[1])
    made = side if param.startswith("OUT") else side - taps + 1
    got = run(kiln, folder, variant, [param, *settings_of(taps)], image)
    errors, touched = [], 0
    for i, (a, b) in enumerate(zip(got, expected)):
        point = i // WIDTH % HEIGHT, i % WIDTH
        image_of_point = i // WIDTH // HEIGHT // FILTERS
        tile = tuple(p // made * made for p in point)
        if any(takes(tile, made + taps - 1, pad, s[1:], s[0] == image_of_point) for s in specials):
            touched += 1
            if not math.isfinite(b) and kind != "large" and math.isfinite(a):
                errors.append(f"{point} of image {image_of_point} is {a}, and must not be finite")
        elif not abs(a - b) <= TOLERANCE:
            errors.append(f"{point} of image {image_of_point} is {a}, and must be {b}")
    if touched == 0 or touched == len(got):
        errors.append(f"{touched} of {len(got)} points are in tiles with something special")
    for error in errors[:3]:
        print(f"{variant} {param} {taps} x {taps} on {kind}: {error}")
    return len(errors)


def main():
    kiln, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE", folder)
        subprocess.run([sys.executable, os.path.join(HERE, "special.py"), folder, *map(str, EXTENTS)], check=True)
        for kind in ("inf", "nan", "large"):
            image = os.path.join(folder, f"{kind}.npy")
            specials = [(i // WIDTH // HEIGHT // CHANNELS, i // WIDTH % HEIGHT, i % WIDTH)
                        for i, value in enumerate(read(image)) if not abs(value) < 1e30]
            assert len(specials) == 2
            for taps, size in ((3, 8), (5, 16)):
                expected = run(kiln, folder, "direct", settings_of(taps), image)
                for variant, param in (("winograd", "OUT=2"), ("winograd", "OUT=4"), ("winograd_fused", "OUT=2"),
                                       ("winograd_fused", "OUT=4"), ("fft", f"SIZE={size}")):
                    failed += wrong(kiln, folder, variant, param, taps, kind, image, specials, expected)
    if failed:
        sys.exit(f"{failed} points are wrong")


main()
