"""program_estimate.py KILN tests that a kernel has the same estimate if a program launches it as if a spec does. The
program is kiln itself. It runs a configuration of matmul on the simulated driver, as if this were a GPU."""
import json, os, subprocess, sys, tempfile

KILN = sys.argv[1]
CHOICE = ["run", "matmul", "-v", "tiled", "-p", "TILE_WIDTH=16", "-s", "M=128", "-s", "N=256", "-s", "K=64"]
os.environ = {k: v for k, v in os.environ.items() if not k.startswith("KILN_SIM_")}


cache = tempfile.TemporaryDirectory()


def run(*words):
    done = subprocess.run([KILN, *words], env=os.environ | {"KILN_CACHE_DIR": cache.name}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: {done.returncode} {done.stderr}")
    return done


spec = json.loads(run(*CHOICE, "--device", "sim:h200", "--json").stdout)["result"]
if not spec["estimated"]:
    sys.exit(f"no estimate: {spec}")
done = run("sim", "run", "--quiet", "--profile", "--json", "--every-launch", KILN, *CHOICE, "--device", "cuda:0", "-n", "2",
           "--quiet")
(process,) = json.loads(done.stderr[done.stderr.index("{"):])["processes"]
kernels = [row for row in process["kernels"] if row["symbol"] == "matmul_tiled"]
if len(kernels) != 1:
    sys.exit(f"not one kernel: {process}")
for key in "mean_seconds", "least_seconds", "most_seconds":
    if abs(kernels[0][key] - spec["seconds"]) > 1e-9 * spec["seconds"]:
        sys.exit(f"{key} is {kernels[0][key]}, of the spec {spec['seconds']}")
print(f"{spec['seconds']:.3e} s both, {kernels[0]['calls']} launches")
