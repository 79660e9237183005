#!/usr/bin/env python3
"""defaults.py KILN FOLDER DEVICE... -- DEVICE...: checks that the defaults of every variant satisfy its constraints on each device,
at the first size set of its spec. A variant is not for a device if it needs something that the device lacks, or if none of its
configurations satisfies the constraints. The test also checks that the text of a variant that needs something of UNTRIED says
that it was never run on hardware. A device after -- is for the variants that no other device can run."""
import glob, json, os, subprocess, sys

UNTRIED = {"device.tcgen05", "device.cc >= 120"}  # the catalogue was never run on a device that has these
MARK = "This variant was never run on hardware."


def show(kiln, spec, *words):
    run = subprocess.run([kiln, "show", spec, *words, "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"kiln show {spec} {' '.join(words)}:\n{run.stderr}")
    return json.loads(run.stdout)


def main():
    kiln, folder, *devices = sys.argv[1:]
    untried = devices[devices.index("--") + 1:]
    devices = devices[:devices.index("--")]
    checked, failed = 0, 0
    for spec in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
        shown = show(kiln, spec, "-d", "sim")
        size = next(iter(shown["sizes"]))
        for variant in shown["variants"]:
            name = variant["name"]
            is_untried = UNTRIED.intersection(variant["needs"])
            if is_untried and not variant["about"].startswith(MARK):
                failed += 1
                print(f"{spec}: {name}: its description does not begin with '{MARK}'")
            params = [word for p in variant["params"] for word in ("-p", f"{p['name']}={p['default']}")]
            able = set()
            for device in devices + (untried if is_untried else []):
                answer = show(kiln, spec, "-v", name, "-d", device, "-s", size, *params)
                left_out = answer["variants"][0].get("left_out")
                checked += 1
                if not left_out:
                    able.add(device)
                if (answer["space"]["raw"], answer["space"]["valid"]) == (1, 1) or left_out:
                    continue
                if show(kiln, spec, "-v", name, "-d", device, "-s", size)["space"]["valid"] > 0:
                    failed += 1
                    print(f"{spec}: {name}: its defaults ({' '.join(params[1::2])}) are not valid on {device}")
            if is_untried and (not able or able.intersection(devices)):
                failed += 1
                print(f"{spec}: {name}: can run on {', '.join(sorted(able)) or 'no device'}")
    print(f"{checked} checked, {failed} failed")
    sys.exit(1 if failed or not checked else 0)


main()
