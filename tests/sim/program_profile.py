"""program_profile.py KILN PROFILE_PROGRAM tests `kiln sim run --profile` and `--trace`. profile_program.c is the
program. The expected times follow from the figures of the device profile h200.profile."""
import json, os, pathlib, signal, subprocess, sys, tempfile

KILN, PROGRAM = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
FLOATS, BYTES = 256 * 64, 256 * 64 * 4
LAUNCH = 3.2e-6
os.environ = {k: v for k, v in os.environ.items() if not k.startswith("KILN_SIM_")} | {"LC_ALL": "C"}


def run(*words, options=(), **variables):
    line = [KILN, "sim", "run", "--quiet", *options, PROGRAM, *words]
    return subprocess.run(line, env=os.environ | variables, capture_output=True, text=True)


def check(what, is_so):
    if not is_so:
        sys.exit(f"wrong: {what}")


def near(a, b):
    return abs(a - b) <= 1e-9 * abs(b)


def profile(*words, options=()):
    done = run(*words, options=("--profile", "--json", *options))
    try:
        return done, json.loads(done.stderr)
    except ValueError:
        sys.exit(f"no JSON of {words}: {done.returncode} {done.stderr}")


# Of 20 launches of one kernel, the first four, the 8th and the 16th are estimated. Only the program writes to stdout.
done, report = profile("seven", "20")
check(f"exit code and stdout: {done}", done.returncode == 7 and done.stdout == "the answer is right\n")
check(f"how it ended: {report}", report["exit_code"] == 7 and report["signal"] is None)
(process,) = report["processes"]
(kernel,) = process["kernels"]
check(f"the kernel: {kernel}", kernel["symbol"] == "_Z5twiceILi4EEvPf" and
      kernel["name"] in ("void twice<4>(float*)", kernel["symbol"]) and kernel["grid"] == [64, 1, 1] and
      kernel["block"] == [256, 1, 1] and kernel["calls"] == 20 and kernel["estimated"] == 6 and kernel["failed"] == 0)
check(f"times: {kernel}", near(kernel["seconds"], 20 * kernel["mean_seconds"]) and near(kernel["share"], 1) and
      near(kernel["least_seconds"], kernel["most_seconds"]) and LAUNCH < kernel["least_seconds"] < 3 * LAUNCH)
# The kernel does so little work that the launch itself takes most of the time.
check(f"bound: {kernel}", kernel["bound"] == "launch" and kernel["launch"] > 0.5)
copies = {row["name"]: row for row in process["copies"]}
for name in "copy to the device", "copy from the device":
    check(f"{name}: {copies}", copies[name]["bytes"] == BYTES and
          near(copies[name]["seconds"], LAUNCH + BYTES / (63e9 * 0.9)))
check(f"one after the other: {process}",
      near(process["timeline_seconds"], process["kernel_seconds"] + process["copy_seconds"]))
check("no counters", "counters" not in kernel)

# If a call declares pinned memory as device memory, it still counts as host memory. The copies are between host and
# device.
done, report = profile("pinned")
copies = {row["name"]: row["bytes"] for row in report["processes"][0]["copies"]}
check(f"pinned: {done} {copies}", copies == {"copy to the device": BYTES, "copy from the device": BYTES})

# Every launch is estimated and counted. Each of the 16,384 threads reads and writes a float.
done, report = profile("exit", "6", options=("--every-launch", "--counters"))
(kernel,) = report["processes"][0]["kernels"]
counters = kernel["counters"]
check(f"counters: {kernel}", kernel["estimated"] == 6 and kernel["counted"] == 6 and
      counters["global_load_bytes"] == 6 * BYTES and counters["global_store_sectors"] == 6 * BYTES // 32)

# In whatever way the program ends, the profile has its work, and its exit code or signal.
for way, code in ("_exit", 3), ("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL):
    done, report = profile(way, "5")
    check(f"{way}: {done}", done.returncode == code and report["processes"][0]["kernels"][0]["calls"] == 5)
    check(f"{way}: {report}", report["signal"] == (-code if code < 0 else None))
# kiln passes a signal that it receives on to the program.
waiting = subprocess.Popen([KILN, "sim", "run", "--quiet", "--profile", "--json", PROGRAM, "wait", "4"], env=os.environ,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
first = waiting.stdout.readline()
waiting.send_signal(signal.SIGTERM)
_, text = waiting.communicate()
check(f"SIGTERM: {first} {text}", first == "the answer is right\n" and waiting.returncode == -signal.SIGTERM and
      json.loads(text)["processes"][0]["kernels"][0]["calls"] == 4)
done = run("abort", options=("--profile",))
check(f"text: {done.stderr}", done.returncode == -signal.SIGABRT and "ended with signal 6" in done.stderr and
      "twice" in done.stderr and "NVIDIA H200 (simulated)" in done.stderr)

# Several processes; none.
done, report = profile("fork")
check(f"fork: {report}", sorted(p["kernels"][0]["calls"] for p in report["processes"]) == [2, 3])
done, report = profile("exec")
check(f"exec: {report}", done.returncode == 0 and
      sorted(p["kernels"][0]["calls"] for p in report["processes"]) == [1, 2])
done, report = profile("nothing")
check(f"nothing: {report}", done.returncode == 0 and report["processes"] == [])
done, report = profile("close")
check(f"close: {done}", done.returncode == 0 and report["processes"][0]["kernels"][0]["calls"] == 2)

# If the device has no figures, the report has no times, but everything else.
done, report = profile("exit", "2", options=("--device", "generic", "--counters"))
(process,) = report["processes"]
(kernel,) = process["kernels"]
check(f"generic: {process}", not process["estimates"] and process["kernel_seconds"] is None and
      kernel["seconds"] is None and kernel["calls"] == 2 and kernel["counters"]["global_load_bytes"] == 2 * BYTES)

# If --json is an argument of the program, kiln does not take it as an option.
done = run("exit", "1", "--json", options=("--profile",))
check(f"--json: {done}", done.stdout == "the answer is right\n" and "kernels" in done.stderr)

with tempfile.TemporaryDirectory() as folder:
    # Writes the profile to a file. kiln refuses a wrong file before the program runs.
    path = pathlib.Path(folder, "profile.json")
    done = run("seven", options=("--profile", "--json", "-o", str(path)))
    check(f"-o: {done}", done.returncode == 7 and done.stderr == "" and
          json.loads(path.read_text())["processes"][0]["kernels"])
    done = run("seven", options=("--profile", "-o", f"{folder}/none/x"))
    check(f"-o: {done}", done.returncode == 125 and done.stdout == "")

    # Variables of the environment request a profile without kiln. Its files are JSON, and `kiln sim profile` shows
    # them.
    line = f'eval "$("{KILN}" sim env --profile -o "{folder}/own.%p")"; "{PROGRAM}" exit 3'
    done = subprocess.run(["sh", "-c", line], env=os.environ | {"KILN_SIM_DEVICE": "t4"}, capture_output=True, text=True)
    (own,) = pathlib.Path(folder).glob("own.*")
    rows = json.loads(own.read_text())
    check(f"own: {done} {rows}", rows[0]["device"] == "t4" and any(row.get("calls") == 3 for row in rows))
    done = subprocess.run([KILN, "sim", "profile", "--json", str(own)], capture_output=True, text=True)
    check(f"sim profile: {done}", json.loads(done.stdout)["processes"][0]["kernels"][0]["calls"] == 3)
    done = subprocess.run([KILN, "sim", "profile", f"{folder}/profile.json"], capture_output=True, text=True)
    check(f"sim profile: {done}", done.returncode == 5 and "not a profile" in done.stderr)

    own.write_text(json.dumps([rows[0], 5])) # the file may contain anything
    done = subprocess.run([KILN, "sim", "profile", "--json", str(own)], capture_output=True, text=True)
    check(f"sim profile: {done}", done.returncode == 5 and "not a profile" in done.stderr)

    # Tests which work waits for which. The numbers are those in streams() of the program.
    path = pathlib.Path(folder, "trace.json")
    done = run("streams", options=("--trace", str(path)))
    events = json.loads(path.read_text())
    work = [e for e in events if e["ph"] == "X"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    check(f"streams: {done} {work}", done.returncode == 0 and len(work) == 6)
    start = [e["ts"] for e in work]
    end = [e["ts"] + e["dur"] for e in work]
    little = 1e-3
    check(f"beside: {work}", start[0] == start[1] == start[3] == 0)
    check(f"after an event: {work}", abs(start[2] - max(end[0], end[1])) < little)
    check(f"default stream: {work}", abs(start[4] - end[3]) < little and start[4] < start[2])
    check(f"the host waited: {work}", abs(start[5] - max(end[:5])) < little)
    check(f"tracks: {names}", len({e["tid"] for e in work}) == 4 and
          names[work[4]["pid"], work[4]["tid"]] == "default stream" and
          all((e["pid"], e["tid"]) in names for e in work))
    check(f"args: {work[0]} {work[1]}", work[0]["args"]["bytes"] == 1 << 20 and work[0]["cat"] == "copy" and
          work[1]["args"]["grid"] == [16, 1, 1] and work[1]["args"]["estimated"] == "this launch")

    # Two devices have two timelines. Each device has its own default stream.
    done = run("devices", options=("--trace", str(path)), KILN_SIM_DEVICES="2")
    events = json.loads(path.read_text())
    work = [e for e in events if e["ph"] == "X"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    check(f"devices: {done} {work}", done.returncode == 0 and len(work) == 4)
    start = [e["ts"] for e in work]
    end = [e["ts"] + e["dur"] for e in work]
    check(f"beside: {work}", start[0] == start[2] == 0 and abs(start[1] - end[0]) < little)
    check(f"one device's end: {work}", abs(start[3] - end[2]) < little)
    check(f"tracks: {names} {work}", [names[e["tid"]] for e in work] ==
          ["device 0, default stream"] * 2 + ["device 1, default stream", f"device 1, stream {work[3]['tid']}"])
print("nothing wrong")
