#!/usr/bin/env python3
"""Tests sweeps of several processes without MPI. The program starts the ranks, which exchange messages with socket_plugin.c.

    job.py BUILD SOURCE                  the test: a few rounds of each kind
    job.py BUILD SOURCE --rounds N [--seed S] [--size N]   N rounds in which ranks are killed, stopped and delayed
    job.py BUILD SOURCE --pace RANKS... [--ms 500]   the speedup by RANKS ranks, if each sample sleeps for --ms

Each round checks that the answer and the store contain the samples that a single process makes, each once, whatever
happened to the ranks. If the leader was killed, the same command must continue from the store."""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SPEC = """kiln: 1
name: job
source: job.cu
sizes: {tiny: {N: 64}}
buffers: {z: {type: i32, shape: [N], out: true}}
verify: {z: {against: {variant: one}, exact: true}}
variants:
  plain:
    params: {A: [1, 2, 3, 4, 5, 6], B: [1, 2, 3]}
    launch: {kernel: job, grid: [1], block: [64], args: [z]}
  one:
    params: {A: [0], B: [0]}
    launch: {kernel: job, grid: [1], block: [64], args: [z]}
"""
SOURCE = """extern "C" __global__ void job(int *z)
{
    int i = (int)threadIdx.x;
    z[i] = 3 * i + (A - A) * B;
}
"""
CONFIGURATIONS = {(0, 0)} | {(a, b) for a in range(1, 7) for b in range(1, 4)}


def slow(build, ms):
    """Returns an environment in which each sample takes this much longer."""
    return {"KILN_WORKER": str(build / "tests/planted_worker"), "KILN_PLANTED_WORKER": str(build / "tools/kiln-worker"),
            "KILN_PLANTED_MS": str(ms)}


class Job:
    """Holds the processes of one sweep, in a separate folder."""

    def __init__(self, build, folder, size, options=(), lease=20, environment=None, ranks_environment=None,
                 device=("-d", "sim"), leader_last=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="job-", dir=folder))
        self.processes = [None] * size
        for rank in reversed(range(size)) if leader_last else range(size):
            if leader_last and rank == 0:
                self.wait_for_sockets(range(1, size))
            env = dict(os.environ, KILN_MPI=str(build / "tests/libkiln-test-ranks.so"), KILN_TEST_RANKS=str(self.folder),
                       PMI_RANK=str(rank), PMI_SIZE=str(size), MPI_LOCALRANKID=str(rank), MPI_LOCALNRANKS=str(size),
                       KILN_CACHE_DIR=str(folder / "cache"), KILN_STORE=str(folder / "samples.db"), **(environment or {}))
            env.update({"KILN_DEVICE": "sim"}, **(ranks_environment(rank) if ranks_environment else {}))
            # LeakSanitizer stops the threads of a process that ends. It was seen to wait for ever for a process that was
            # stopped and continued meanwhile. tune.lead, tune.split and ranks.ranks look for leaks in the same code.
            env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "detect_leaks=0"]))
            out = open(self.folder / f"out{rank}", "wb")
            err = open(self.folder / f"err{rank}", "wb")
            command = [build / "tools/kiln", "tune", folder / "job.yaml", *device, "--json", "--jobs", "1",
                       "--lease", str(lease), *options]
            self.processes[rank] = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                                    start_new_session=True)

    def wait_for_sockets(self, ranks):
        """Waits until the ranks have joined, and for some more time, in which they may try to end."""
        while not all((self.folder / str(rank)).exists() for rank in ranks):
            time.sleep(0.01)
        time.sleep(0.5)

    def wait(self):
        """Returns the leader's exit code. All other ranks have ended then, or are killed."""
        code = self.processes[0].wait()
        for process in self.processes[1:]:
            if code != 0:
                signal_to(process, signal.SIGKILL)
            signal_to(process, signal.SIGCONT)
            process.wait()
        return code

    def answer(self):
        return json.loads((self.folder / "out0").read_text())

    def errors(self, rank=0):
        lines = (self.folder / f"err{rank}").read_text().splitlines(True)
        # these messages depend on the machine, its load or the build
        said = ("compile workers are not confined", "kernels run without a sandbox", "configurations take about")
        return "".join(line for line in lines if not any(text in line for text in said))


def signal_to(process, number):
    if process.poll() is None:
        process.send_signal(number)


def check(holds, what, job=None):
    if not holds:
        print("job:", what, file=sys.stderr)
        for rank in range(len(job.processes) if job else 0):
            print(f"--- rank {rank}, {job.processes[rank].returncode}:", job.errors(rank), sep="\n", file=sys.stderr)
        if job:
            print((job.folder / "out0").read_text()[-2000:], file=sys.stderr)
        sys.exit(1)


def stored(build, folder):
    env = dict(os.environ, KILN_STORE=str(folder / "samples.db"))
    lines = subprocess.run([build / "tools/kiln", "results", "job", "--json"], env=env, check=True, capture_output=True)
    return json.loads(lines.stdout)["samples"]


def params_of(sample):
    return sample["params"]["A"], sample["params"]["B"]


def check_samples(build, folder, job):
    """Checks that every configuration is once in the answer and once in the store, with the right result."""
    samples = job.answer()["samples"]
    got = collections.Counter(params_of(s) for s in samples)
    check(set(got) == CONFIGURATIONS and max(got.values()) == 1, f"samples: {sorted(got.items())}", job)
    bad = [s for s in samples if s["status"] != "KILN_OK"]
    check(not bad, f"not all worked: {bad[:1]}", job)
    kept = collections.Counter(params_of(s) for s in stored(build, folder))
    check(kept == got, f"in the store: {sorted(kept.items())}", job)
    return samples


def prepare(folder):
    for name in ("cache", "samples.db", "samples.db-wal", "samples.db-shm"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True) if name == "cache" else path.unlink(missing_ok=True)
    (folder / "job.yaml").write_text(SPEC)
    (folder / "job.cu").write_text(SOURCE)


def forget_samples(folder):
    for path in folder.glob("samples.db*"):
        path.unlink()


# ---- rounds ----

def plain(build, folder):
    """Tests a sweep without trouble: all ranks measure, and there is no message."""
    job = Job(build, folder, 3)
    check(job.wait() == 0, "the sweep failed", job)
    check_samples(build, folder, job)
    check(all(p.returncode == 0 for p in job.processes), "a rank failed", job)
    check(not any(job.errors(r) for r in range(3)), "something was said", job)


def wrong_world(build, folder):
    """Tests a wrong launch: each process is alone in the MPI's world, although the launcher started two."""
    job = Job(build, folder, 2, environment={"KILN_TEST_WORLD": "1"})
    check(job.wait() != 0, "a mis-launch was not noticed", job)
    check("MPICH's mpiexec started 2 tasks, but a test's sockets sees 1" in job.answer()["error"]["message"],
          "the mis-launch is not named", job)


def no_worker(build, folder, leader_last):
    """Tests ranks that cannot work. They report this, also before their leader listens, and nobody waits for them."""
    forget_samples(folder)
    job = Job(build, folder, 3, ranks_environment=lambda rank: {"KILN_DEVICE": "sim:nothing"} if rank else {}, device=(),
              leader_last=leader_last)
    check(job.wait() == 0, "the sweep failed", job)
    check_samples(build, folder, job)
    check("rank 1 has ended" in job.errors() and job.processes[1].returncode > 0, "the ranks' end is not said", job)


def unlike(build, folder):
    """Tests two models of devices, which give two sweeps and one store."""
    forget_samples(folder)
    job = Job(build, folder, 5, ranks_environment=lambda rank: {"KILN_DEVICE": "sim:ampere"} if rank in (2, 4) else {},
              device=(), options=["--log-level", "info"])
    check(job.wait() == 0 and job.processes[2].returncode == 0, "a sweep failed", job)
    check(not any((job.folder / f"out{rank}").read_text() for rank in range(1, 5)), "not rank 0 alone answers", job)
    groups = {group["rank"]: group for group in job.answer()["groups"]}
    check(list(groups) == [0, 2], f"groups of ranks {list(groups)}", job)
    for lead, model, others in ((0, "sim:generic", (1, 3)), (2, "sim:ampere", (4,))):
        check(groups[lead]["device"]["id"] == model and groups[lead]["best"], f"the answer on {model}", job)
        samples = groups[lead]["samples"]
        check({params_of(s) for s in samples} == CONFIGURATIONS and len(samples) == len(CONFIGURATIONS),
              f"not all were tried on {model}", job)
        names = {model} | {f"rank {rank} ({os.uname().nodename}, {model})" for rank in others}
        check({s["device"] for s in samples} <= names, f"devices of {model}: {sorted(s['device'] for s in samples)}", job)
    check(len(stored(build, folder)) == 2 * len(CONFIGURATIONS), "the store does not have all", job)
    check("rank 2 leads a separate sweep of 2 ranks" in job.errors(), "it is not said", job)


def unlike_failed(build, folder):
    """Tests two sweeps, of which one cannot begin or loses its leader. The answer of the other sweep is there, and a
    message names the missing one."""
    forget_samples(folder)
    of_rank = lambda rank: {"KILN_DEVICE": "sim:ampere", "KILN_STORE": "/dev/null/samples.db"} if rank == 1 else {}
    job = Job(build, folder, 2, ranks_environment=of_rank, device=())
    check(job.wait() == 0 and job.processes[1].returncode > 0, "the other sweep failed too", job)
    mine, other = job.answer()["groups"]
    check({params_of(s) for s in mine["samples"]} == CONFIGURATIONS, "not all were tried", job)
    check("/dev/null" in other["error"]["message"] and other["rank"] == 1, f"what went wrong: {other}", job)
    forget_samples(folder)
    of_rank = lambda rank: {"KILN_DEVICE": "sim:ampere", **slow(build, 600000)} if rank == 1 else {}
    job = Job(build, folder, 2, lease=2, ranks_environment=of_rank, device=(), options=["--log-level", "info", "--isolate"])
    while "rank 1 leads a separate sweep" not in job.errors() and job.processes[0].poll() is None:
        time.sleep(0.01)
    signal_to(job.processes[1], signal.SIGKILL)
    check(job.wait() == 0, "the other sweep failed too", job)
    mine, other = job.answer()["groups"]
    check({params_of(s) for s in mine["samples"]} == CONFIGURATIONS, "not all were tried", job)
    check("has not sent its results" in other["error"]["message"], f"what went wrong: {other}", job)
    check("the results of its sweep are not shown" in job.errors(), "it is not said", job)


def below(process):
    """Returns the ids of a process and of all its descendants."""
    parents = {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass # it has ended
    found = [process]
    for at in found:
        found += [child for child, parent in parents.items() if parent == at]
    return found


def cores_of(process):
    """Returns the cores on which a measuring process may run. Returns None if the process does not measure, or has
    ended."""
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        if b"--run" not in pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0"):
            return None
    except OSError:
        return None
    return next(line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list"))


def near(build, folder):
    """Tests that each of several ranks measures on the cores near its device. The ranks themselves may use all cores,
    for compiles."""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        print("SKIP cores: near: there is one core")
        return
    forget_samples(folder)
    place = folder / "devices/0000:00:00.0"
    place.mkdir(parents=True)
    (place / "local_cpulist").write_text(f"{mine[-1]}\n")
    job = Job(build, folder, 2, environment={"KILN_PCI_DEVICES": str(folder / "devices"), **slow(build, 600000)},
              options=["--log-level", "debug", "--isolate"])
    while job.errors().count("samples are measured in process") < 2 and job.processes[0].poll() is None:
        time.sleep(0.01)
    measure = [[cores for cores in map(cores_of, below(process.pid)) if cores] for process in job.processes]
    ranks = [os.sched_getaffinity(process.pid) for process in job.processes]
    for process in job.processes:
        signal_to(process, signal.SIGKILL)
    job.wait()
    check(all(str(mine[-1]) in cores for cores in measure) and ranks == 2 * [set(mine)], f"{measure} and {ranks}", job)
    check(job.errors().count("bound to 1 of its cores, near the device") == 2, "it is not said", job)


def lead_only(build, folder):
    """Tests a rank 0 that measures nothing. If no other rank can measure, rank 0 reports this."""
    forget_samples(folder)
    job = Job(build, folder, 3, options=["--lead-only"])
    check(job.wait() == 0, "the sweep failed", job)
    names = {s["device"].split(" (")[0] for s in check_samples(build, folder, job)}
    check(names <= {"rank 1", "rank 2"}, f"measured on {names}", job)
    job = Job(build, folder, 2, ranks_environment=lambda rank: {"KILN_DEVICE": "sim:ampere"} if rank else {}, device=(),
              options=["--lead-only"])
    check(job.wait() != 0, "nobody was there to measure, and nothing was said", job)
    check("no other rank has a device of its model" in job.answer()["error"]["message"], "it is not said why", job)


def disturbed(build, folder, seed, size):
    """Kills ranks, and suspends them for a while or for longer than their lease. Now and then it kills the leader and
    runs the command again. The seed decides the actions and their times. The checks hold whatever an action
    interrupts."""
    dice = random.Random(seed)
    forget_samples(folder)
    if dice.random() < 0.3:
        shutil.rmtree(folder / "cache", ignore_errors=True)
    lease = dice.choice([1, 4])
    environment = slow(build, dice.choice([0, 10, 40]))
    # LeakSanitizer traces its own process when the process ends. If SIGSTOP comes then, it waits for ever. The other
    # jobs look for leaks.
    environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = collections.Counter()
    for attempt in range(20):
        job = Job(build, folder, size, lease=lease, environment=environment)
        leader = attempt < 3 and dice.random() < 0.15
        for _ in range(dice.randint(1, 3)):
            time.sleep(dice.random() * 0.5)
            victim = job.processes[dice.randrange(1, size)]
            kind = dice.choice(["kill", "stop", "delay"])
            done[kind] += victim.poll() is None
            signal_to(victim, signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
            if kind == "delay":
                time.sleep(dice.random() * 0.3)
                signal_to(victim, signal.SIGCONT)
        if leader:
            done["leader"] += job.processes[0].poll() is None
            signal_to(job.processes[0], signal.SIGKILL)
        if lease > 1: # a suspended rank would hold up the sweep for the whole lease
            time.sleep(0.2)
            for process in job.processes:
                signal_to(process, signal.SIGCONT)
        code = job.wait()
        if code == 0:
            break
        check(leader and code == -signal.SIGKILL, f"round {seed}: the leader ended with {code}", job)
    check_samples(build, folder, job)
    shutil.rmtree(job.folder)
    return done


def pace(build, folder, counts, ms):
    """Measures the speedup by several ranks, if a device takes a fixed time for each sample and the code is in the
    cache. The speedup is linear if only the devices take time."""
    for count in counts:
        spec = SPEC.replace("A: [1, 2, 3, 4, 5, 6]", f"A: [{', '.join(map(str, range(1, count * 10 + 1)))}]")
        (folder / "job.yaml").write_text(spec)
        for slowly in (0, ms): # the first round compiles
            forget_samples(folder)
            job = Job(build, folder, count if slowly else 2, options=["--no-verify", "-v", "plain", "--isolate"],
                      environment=slow(build, ms) if slowly else None)
            check(job.wait() == 0, "the sweep failed", job)
        answer = job.answer()
        seconds, made = answer["totals"]["seconds"], len(answer["samples"])
        print(f"{count} ranks: {made} samples in {seconds:.2f} s, {made * ms / 1000 / count / seconds:.3f} of linear", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=4)
    parser.add_argument("--pace", type=int, nargs="+")
    parser.add_argument("--ms", type=int, default=500)
    given = parser.parse_args()
    build = given.build.resolve()
    # the path of a socket must be short
    with tempfile.TemporaryDirectory(prefix="kiln-job-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        prepare(folder)
        if given.pace:
            pace(build, folder, given.pace, given.ms)
            return
        if not given.rounds:
            plain(build, folder)
            wrong_world(build, folder)
            no_worker(build, folder, leader_last=False)
            no_worker(build, folder, leader_last=True)
            unlike(build, folder)
            unlike_failed(build, folder)
            near(build, folder)
            lead_only(build, folder)
        done = collections.Counter()
        for i in range(given.rounds or 3):
            done += disturbed(build, folder, given.seed + i, given.size if given.rounds else 3)
        print(f"{given.rounds or 3} rounds; ranks killed {done['kill']}, stopped {done['stop']}, delayed {done['delay']}; "
              f"leaders killed {done['leader']}")


main()
