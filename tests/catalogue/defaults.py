#!/usr/bin/env python3
"""defaults.py KILN FOLDER DEVICE...: every variant's defaults keep its constraints on each of the devices, at the first
size set of its spec, unless no configuration of it does, or the variant needs what the device lacks: then it is not for
that device. A variant that needs a feature of UNTRIED also says that it was never run on hardware."""
import glob, json, os, subprocess, sys

UNTRIED = {"device.tcgen05"}  # features that no device had which the catalogue was run on
MARK = "Never run on hardware."


def show(kiln, spec, *words):
    run = subprocess.run([kiln, "show", spec, *words, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"kiln show {spec} {' '.join(words)}:\n{run.stderr}")
    return json.loads(run.stdout)


def main():
    kiln, folder, *devices = sys.argv[1:]
    checked, failed = 0, 0
    for spec in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        shown = show(kiln, spec, "-d", "sim")
        size = next(iter(shown["sizes"]))
        for variant in shown["variants"]:
            name = variant["name"]
            if UNTRIED.intersection(variant["needs"]) and not variant["about"].startswith(MARK):
                failed += 1
                print(f"{spec}: {name}: its description does not begin with '{MARK}'")
            params = [word for p in variant["params"] for word in ("-p", f"{p['name']}={p['default']}")]
            for device in devices:
                answer = show(kiln, spec, "-v", name, "-d", device, "-s", size, *params)
                checked += 1
                if (answer["space"]["raw"], answer["space"]["valid"]) == (1, 1) or "left_out" in answer["variants"][0]:
                    continue
                if show(kiln, spec, "-v", name, "-d", device, "-s", size)["space"]["valid"] > 0:
                    failed += 1
                    print(f"{spec}: {name}: its defaults ({' '.join(params[1::2])}) are not valid on {device}")
    print(f"{checked} checked, {failed} failed")
    sys.exit(1 if failed or not checked else 0)


main()
