"""wedge.py KILN SHIM FOLDER: runs a kernel whose printf calls a function of the host that never returns (shim.c). The
time limit must end each command that runs it, and so must SIGTERM and SIGINT. A sweep must end its runner, and the
runner must end with the sweep. The test has no fixed times: each command has two minutes to end."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

kiln, shim, folder = sys.argv[1:4]
spec = os.path.join(folder, "wedge.yaml")
environment = dict(os.environ, KILN_DEVICE="sim", KILN_SIM_THREADS="2")
BACKSTOP = 120
failed = []
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts background processes with SIGINT ignored


def expect(what, got, want, said=""):
    if got not in want:
        failed.append(f"{what}: {got!r}, not {want!r}\n{said}")


def start(how, *arguments):
    how, _, without = how.partition(" without ")
    return subprocess.Popen([kiln, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(environment, LD_PRELOAD=shim, KILN_WEDGE=how, KILN_WEDGE_WITHOUT=without))


def finish(process):
    try:
        return process.communicate(timeout=BACKSTOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        process.returncode = "it did not end"
        return "", ""


def wait_until_stuck(process):
    for line in process.stderr:
        if line == "wedged\n":
            return
    failed.append("the kernel did not come to the function that does not return")


LATE = [10]
# If the watchdog has no thread, and the stuck thread takes no signal and is the last one, only SIGKILL is left. A
# command that runs kernels in a separate process then exits with 12.
KILLED = [10, -signal.SIGKILL, 12]
ENDED = [130, -signal.SIGTERM, -signal.SIGINT]


def by_limit(how, wanted, *arguments):
    # a runner measures, whose message does not contain "wedged"
    is_apart = "--isolate" in arguments or arguments[0] == "check"
    for limit in ["2", "20"]:  # on a busy machine the kernel may not print yet when the limit comes
        process = start(how, *arguments, "--sample-timeout", limit)
        out, err = finish(process)
        if "wedged" in err or is_apart:
            break
    else:
        failed.append(f"{how}, {' '.join(arguments)}: it was not stuck\n{err}")
    expect(f"{how}, {' '.join(arguments)}, the limit", process.returncode, wanted, out + err)


def by_signal(how, number, again, wanted):
    process = start(how, "run", spec, "--sample-timeout", "0")
    wait_until_stuck(process)
    process.send_signal(number)
    until = time.monotonic() + BACKSTOP
    while again and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)  # a signal soon after the first one counts as the same signal
        process.send_signal(number)
    out, err = finish(process)
    expect(f"{how}, {number.name}{' again' if again else ''}", process.returncode, wanted, err)


def runner_of(process):
    """Returns the measuring process, which has the option --run, after it is stuck: it then uses no processor time any
    more."""
    until, used, calm = time.monotonic() + BACKSTOP, None, 0
    while time.monotonic() < until and process.poll() is None:
        for child in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (child / "cmdline").read_bytes().split(b"\0")
                fields = (child / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == process.pid and b"--run" in words:
                calm = calm + 1 if used == fields[11] else 0
                used = fields[11]
                if calm == 10:
                    return int(child.name)
        time.sleep(0.1)
    failed.append("no runner was seen")
    return None


def by_parent():
    process = start("masked", "tune", spec, "--isolate", "--no-store", "--sample-timeout", "0")
    runner = runner_of(process)
    process.kill()
    process.communicate()
    until = time.monotonic() + BACKSTOP
    while runner and os.path.exists(f"/proc/{runner}") and time.monotonic() < until:
        with open(f"/proc/{runner}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] == "Z":  # ended; who inherits it has not asked yet
                break
        time.sleep(0.1)
    else:
        if runner and os.path.exists(f"/proc/{runner}"):
            failed.append("the runner outlives its parent")
            os.kill(runner, signal.SIGKILL)


done = subprocess.run([kiln, "run", spec], env=environment, capture_output=True, text=True)  # compiles, and is not stuck
expect("without the shim", done.returncode, [0], done.stderr)
cases = [
    (by_limit, "spin", LATE, "run", spec),
    (by_limit, "lock", LATE, "run", spec),
    (by_limit, "masked", LATE, "run", spec),
    (by_limit, "crash", LATE, "run", spec),
    (by_limit, "masked without timers", LATE, "run", spec),
    (by_limit, "masked without thread", KILLED, "run", spec),
    (by_limit, "spin", LATE, "check", spec),
    (by_limit, "spin", LATE, "profile", spec),
    (by_limit, "spin", LATE, "tune", spec, "--no-store", "--no-isolate"),
    (by_limit, "masked", LATE, "tune", spec, "--no-store", "--isolate"),
    (by_signal, "spin", signal.SIGTERM, False, ENDED),
    (by_signal, "lock", signal.SIGINT, False, ENDED),
    (by_signal, "masked", signal.SIGTERM, False, ENDED),
    (by_signal, "crash", signal.SIGINT, False, ENDED),
    (by_signal, "masked without timers", signal.SIGTERM, False, ENDED),
    (by_signal, "lock", signal.SIGTERM, True, ENDED),
    (by_parent,),
]
threads = [threading.Thread(target=case[0], args=case[1:]) for case in cases]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("\n".join(failed) or f"{len(cases)} stuck commands were ended")
sys.exit(1 if failed else 0)
