"""signals.py KILN FOLDER: sends signals to commands that run an endless kernel. The first signal must end the kernel,
and the command must exit in an orderly way with 130. The second signal must end the process at once. The program also
sends signals to commands that wait for a store which another process has locked. The test has no fixed times. It sends
the signal when the process has used processor time for the kernel, or when the process says that it waits. Each wait of
the test ends after two minutes at the latest."""
import json, os, signal, sqlite3, subprocess, sys, tempfile, time

kiln, folder = sys.argv[1:3]
spec = os.path.join(folder, "spin.yaml")
environment = dict(os.environ, KILN_DEVICE="sim")
BACKSTOP = 120
failed = 0
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts background processes with SIGINT ignored


def expect(what, got, want):
    global failed
    if got != want:
        failed += 1
        print(f"{what}: {got!r}, not {want!r}")


def ticks(pid):
    """Returns the user time of a process, with all its threads, and of its children. A child runs the kernels."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + sum(ticks(child) for child in children)


def start(*arguments):
    process = subprocess.Popen([kiln, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    until, before = time.monotonic() + BACKSTOP, None
    # The steps before the kernel take some hundredths of a second of processor time, because the code comes from the
    # cache. So after a quarter of a second the kernel runs.
    while process.poll() is None and ticks(process.pid) < os.sysconf("SC_CLK_TCK") // 4:
        if time.monotonic() > until:
            print("the kernel does not run:", arguments)
            break
        time.sleep(0.01)
    return process


def finish(process):
    try:
        return process.communicate(timeout=BACKSTOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", "it did not end"


never = ["--sample-timeout", "0"]
subprocess.run([kiln, "run", spec, "--sample-timeout", "0.001"], env=environment, stderr=subprocess.DEVNULL)  # compiled
for arguments in [["run", spec], ["check", spec], ["profile", spec], ["study", "tiles", spec], ["tune", spec, "--no-store"]]:
    for number in [signal.SIGINT, signal.SIGTERM][: 2 if arguments[0] == "run" else 1]:
        process = start(*arguments, *never)
        process.send_signal(number)
        out, err = finish(process)
        expect(f"{arguments[0]} {number.name}", process.returncode, 130)
        if "ending" not in err or ("stopped" not in err and "interrupted" not in err):
            expect(f"{arguments[0]} {number.name}", err, "that it was ended")

# A signal ends the wait for a locked store early, with the exit code 130. Without a signal the wait ends after 10 s
# with the exit code 10.
with tempfile.TemporaryDirectory() as place:
    store, rows = os.path.join(place, "held.db"), os.path.join(place, "rows.csv")
    # these commands make the store, and a file without samples
    for arguments in [["prune", "--all"], ["export", rows]]:
        subprocess.run([kiln, "results", *arguments, "--store", store], env=environment, capture_output=True)
    held = sqlite3.connect(store, isolation_level=None)
    held.execute("PRAGMA locking_mode=EXCLUSIVE")
    held.execute("BEGIN EXCLUSIVE")
    held.execute("DELETE FROM sample")
    for arguments in [["results", "import", rows], ["report", spec]]:
        process = subprocess.Popen([kiln, *arguments, "--store", store], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=environment, cwd=place)
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = finish(process)
        expect(" ".join(arguments[:2]), process.returncode, 130)
        if "waiting" not in said or "interrupted" not in err:
            expect(" ".join(arguments[:2]), said + err, "that it waited and was interrupted")
    held.close()

# A score of so many seeds takes minutes, and after the first signal the program still finishes the score. The program
# ignores a signal that comes soon after the first signal. So the test repeats the second signal until the process has
# ended.
recording = tempfile.NamedTemporaryFile("w", suffix=".json")
json.dump({"kernel_name": "k", "device_name": "A", "tune_params_keys": ["x"], "cache": {
    str(x): {"x": x, "time": 1.0 + x % 7, "compile_time": 100, "benchmark_time": 40} for x in range(1, 60)}}, recording)
recording.flush()
process = start("compare-strategies", recording.name, "--seeds", "1000000", "--strategies", "random")
process.send_signal(signal.SIGTERM)
until = time.monotonic() + BACKSTOP
while process.poll() is None and time.monotonic() < until:
    process.send_signal(signal.SIGTERM)
    time.sleep(0.02)
finish(process)
expect("compare-strategies, the second signal", process.returncode, -signal.SIGTERM)

for arguments in [["run", spec], ["check", spec], ["profile", spec], ["tune", spec, "--no-store"],
                  ["tune", spec, "--no-store", "--isolate"]]:
    for limit in ["0.2", "2", "20"]:  # on a busy machine the kernel may not run yet when the limit comes
        done = subprocess.run([kiln, *arguments, "--sample-timeout", limit], env=environment, capture_output=True, text=True)
        said = " ".join((done.stdout + done.stderr).split())
        parts = [f"longer than the limit of {limit} s", "kernel 'spin' at spin.cu:4",
                 "1 of the 1 running warps were in the loop at spin.cu:4", "BLOCK=32"]
        if all(part in said for part in parts):
            break
    for part in parts:
        if part not in said:
            expect(" ".join(arguments[2:] or arguments[:1]), said, part)
    expect(f"{arguments[0]}, late", done.returncode, 1 if arguments[0] == "check" else 10)
sys.exit(1 if failed else 0)
