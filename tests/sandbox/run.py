#!/usr/bin/env python3
"""run.py KILN SHIM: tests what a kernel that controls the process of the simulated device can do, in each command that runs
kernels.

The shim (shim.c) does what such a kernel would do during a launch. In a sandbox none of its attempts may succeed. Without a
sandbox all of them must succeed; otherwise the test would show nothing. The program also tests how the commands end if the process
of the kernels crashes, hangs, or outlives the command, and their messages if the system has no sandbox. Exit code 77: this machine
has no sandbox, or there is no NVRTC."""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

kiln, shim = sys.argv[1:3]
TRIES = "open /etc/passwd|write the spec|make a file|socket|unix socket|fork|exec|kill the parent|ptrace the parent".split("|")
MUST = [name for name in TRIES if not name.startswith("ptrace")]  # the system may forbid ptrace to every process
BACKSTOP = 120
failed = 0

SPEC = """kiln: 1
name: planted
source: spec.cu
sizes: {default: {N: 100000}, tiny: {N: 5000}}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [0, 1]}}
  y: {type: f32, shape: [N], out: true}
metrics: {bytes: 8 * N}
verify: {y: {against: {variant: plain}}}
variants:
  plain:
    params: {BLOCK: [64]}
    launch: {kernel: twice, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}
  wide:
    params: {BLOCK: [128, 256]}
    launch: {kernel: twice, grid: [ceil_div(N, BLOCK)], block: [BLOCK], args: [x, y, N]}
"""
SOURCE = """extern "C" __global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
    if (i == 0)
        printf("printed by a kernel\\n");
}
"""


def expect(what, good, shown=""):
    global failed
    if not good:
        failed += 1
        print(f"FAILED: {what}\n{shown}")


folder = tempfile.mkdtemp(prefix="kiln-apart-")
report = os.path.join(folder, "report")
specs = os.path.join(folder, "specs")
os.mkdir(specs)
spec = os.path.join(specs, "spec.yaml")
with open(spec, "w") as file:
    file.write(SPEC)
with open(os.path.join(specs, "spec.cu"), "w") as file:
    file.write(SOURCE)
base = dict(os.environ, KILN_STORE=os.path.join(folder, "store.db"), KILN_DEVICE="sim")

COMMANDS = {"run": ["run", spec, "-v", "wide"], "run, variants": ["run", spec, "-v", "plain,wide"],
            "check": ["check", spec], "tune": ["tune", spec, "--no-store", "-d", "sim"],
            "tune, two sizes": ["tune", spec, "--no-store"], "tune, estimated": ["tune", spec, "--no-store", "-d", "sim:h200"],
            "profile": ["profile", spec, "-v", "wide"],
            "study access": ["study", "access", spec, "-v", "wide", "-s", "N=256"],
            "study tiles": ["study", "tiles", spec, "-v", "wide"],
            "best": ["best", spec, "--tune", "1"]}


def environment(acts, jit="", **more):
    with open(report, "wb") as file:
        file.write(bytes(12))
    store = tempfile.mktemp(suffix=".db", dir=folder)  # a new store, so that no sample is reused
    made = dict(base, LD_PRELOAD=shim, KILN_STORE=store, SHIM_REPORT=report, SHIM_FOLDER=specs, SHIM_ACTS=acts, **more)
    if jit:
        made["KILN_SIM_JIT"] = jit
    return made


def read_report():
    with open(report, "rb") as file:
        launches, done, pid = struct.unpack("III", file.read(12))
    return launches, [name for i, name in enumerate(TRIES) if done >> i & 1], pid


def call(arguments, env):
    return subprocess.run([kiln, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=BACKSTOP)


def tries():
    for name, arguments in COMMANDS.items():
        for jit in ("0", "1"):
            for mode in ("off", "required"):
                done = call([*arguments, f"--sandbox={mode}"], environment("try", jit))
                launches, did, _ = read_report()
                what = f"{name}, KILN_SIM_JIT={jit}, --sandbox={mode}"
                expect(f"{what}: exit code {done.returncode}", done.returncode == 0, done.stdout)
                expect(f"{what}: no launch was seen", launches > 0, done.stdout)
                if mode == "off":
                    expect(f"{what}: only possible: {did}", all(name in did for name in MUST), done.stdout)
                else:
                    expect(f"{what}: possible: {did}", not did, done.stdout)
                planted = os.path.join(specs, "planted")
                if os.path.exists(planted):
                    os.remove(planted)


def printed():
    for name in ("run", "check", "tune", "profile"):
        for mode in ("off", "required"):
            done = call([*COMMANDS[name], f"--sandbox={mode}"], dict(base))
            expect(f"{name}, --sandbox={mode}: what the kernel prints", "printed by a kernel\n" in done.stdout, done.stdout)


def crashes():
    signal_text = "ended by signal 11, Segmentation fault"
    for name in ("run", "profile"):
        done = call(COMMANDS[name], environment("crash"))
        expect(f"{name}: a crash: exit code {done.returncode}", done.returncode == 12, done.stdout)
        expect(f"{name}: a crash: the message", signal_text in done.stdout, done.stdout)
    done = call([*COMMANDS["run"], "--json"], environment("crash"))
    expect("run --json: a crash", done.returncode == 12 and signal_text in done.stdout and '"error"' in done.stdout, done.stdout)
    for name in ("check", "tune", "tune, two sizes"):
        done = call(COMMANDS[name], environment("crash"))
        expect(f"{name}: a crash: exit code {done.returncode}", 0 < done.returncode < 70, done.stdout)
        expect(f"{name}: a crash: the message", signal_text in " ".join(done.stdout.split()), done.stdout)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(what, condition):
    until = time.monotonic() + BACKSTOP
    while not condition():
        if time.monotonic() > until:
            expect(what, False)
            return
        time.sleep(0.02)


def ends():
    """Tests a hung process of kernels. It must end with the command, and at the user's second signal."""
    for name in ("run", "profile", "check", "tune"):
        for how in ("kill", "signals"):
            process = subprocess.Popen([kiln, *COMMANDS[name]], env=environment("hang"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            wait_until(f"{name}: a launch", lambda: read_report()[0] > 0 or process.poll() is not None)
            pid = read_report()[2]
            expect(f"{name}: the kernels run in another process", pid not in (0, process.pid))
            if how == "kill":
                process.kill()
            else:
                process.send_signal(signal.SIGTERM)
                time.sleep(1.2)  # a signal soon after the first one counts as the same signal
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
            process.wait(timeout=BACKSTOP)
            wait_until(f"{name}, {how}: the process of the kernels ends", lambda: not is_alive(pid))
            expect(f"{name}, {how}: the exit code {process.returncode}", process.returncode not in (0, 1))


def stalls():
    """Tests a process of kernels that begins to send an output and then stops. The time limit must end it."""
    process = subprocess.Popen([kiln, *COMMANDS["run"], "--output", "y=" + os.path.join(folder, "y.npy")],
                               env=environment("stall"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_until("the head of an output", lambda: read_report()[1] or process.poll() is not None)
    try:
        out, _ = process.communicate(timeout=BACKSTOP)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    expect(f"a stalled output: exit code {process.returncode}", process.returncode == 10, out)
    expect("a stalled output: the message", "did not end by itself" in out, out)


def absent():
    """Tests a system without a sandbox. The command must warn and give the result. If a sandbox is required, it must
    fail."""
    for name in ("run", "check", "tune", "profile"):
        for env in (environment("deny"), dict(base, KILN_CONFINE="none")):
            done = call(COMMANDS[name], env)
            expect(f"{name} without a sandbox: exit code {done.returncode}", done.returncode == 0, done.stdout)
            expect(f"{name} without a sandbox: a warning", done.stdout.count("kernels run without a sandbox") == 1, done.stdout)
            done = call([*COMMANDS[name], "--sandbox=required"], env)
            expect(f"{name} --sandbox=required: exit code {done.returncode}", done.returncode == 18, done.stdout)
            expect(f"{name} --sandbox=required: the message", "have to run in a sandbox" in done.stdout, done.stdout)
            done = call([*COMMANDS[name], "--sandbox=off"], env)
            expect(f"{name} --sandbox=off: no warning", "sandbox" not in done.stdout, done.stdout)
    for env, says in ((environment("deny"), "without a sandbox"), (dict(base), "kernels of the simulated device")):
        done = call(["doctor"], env)
        line = [line for line in done.stdout.splitlines() if "sandbox" in line]
        expect(f"kiln doctor: {says}", any(says in one for one in line), done.stdout)


try:
    first = call([*COMMANDS["run"], "--sandbox=required"], dict(base))
    if first.returncode == 18 or "NVRTC" in first.stdout:
        print("SKIP confine:" if first.returncode == 18 else "SKIP nvrtc:", " ".join(first.stdout.split()))
        sys.exit(77)
    parts = {"tries": tries, "printed": printed, "crashes": crashes, "ends": ends, "stalls": stalls,
             "absent": absent}
    for name in sys.argv[3:] or parts:
        parts[name]()
finally:
    shutil.rmtree(folder, ignore_errors=True)
print("failed:" if failed else "fine", failed or "")
sys.exit(1 if failed else 0)
