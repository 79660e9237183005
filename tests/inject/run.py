#!/usr/bin/env python3
"""Lets each call of a whole `kiln tune` that can fail do so once, and checks how the command ends.

    run.py BUILD [--full] [--from N] [--seconds S] [--jobs J] [--scenario NAME] [--kind NAME] [--site KEY] [--keep]

BUILD is a build folder. The program first installs it into a separate folder, and runs the installed command. A first
run of each scenario records all calls (shim.c says how it identifies them). Then there is one run for each call, in which
this call fails. After each of these runs, the same sweep runs without failures on the files that are left.

Without --full the program uses two of the scenarios, and ends after --seconds (3), but not before 8 cases. It begins with
one call of every function in every kind of process, then takes a second call of each, and so on. The order is the same
in every run with the same --seed. So --from N continues a run of the same build that ended after N cases.
Exit code 77: there is no NVRTC here."""
import argparse
import concurrent.futures
import csv
import errno
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SITES, SITE, HEAD = 16384, 320, 32
ROLES = ("kiln", "worker", "runner")
WATCHDOG = 240
LEAST = 8 # cases, however long they take

# an error of the operating system, and an internal error: neither depends on the configuration
CUDA_ERROR, NVRTC_ERROR = 304, 11
SQLITE = {"sqlite3_open_v2": (14, 10), "sqlite3_prepare_v2": (10,), "sqlite3_prepare_v3": (10, 7),
          "sqlite3_step": (13, 10, 5), "sqlite3_exec": (10, 13, 5), "sqlite3_bind_text": (7,),
          "sqlite3_bind_int64": (7,), "sqlite3_bind_blob64": (7,)} # full, I/O, busy, can't open, no memory
ERRORS = {
    "malloc": "ENOMEM", "calloc": "ENOMEM", "realloc": "ENOMEM", "posix_memalign": "ENOMEM", "aligned_alloc": "ENOMEM",
    "mmap": "ENOMEM", "mmap64": "ENOMEM", "open_memstream": "ENOMEM",
    "open": "EACCES EMFILE", "open64": "EACCES EMFILE", "openat": "EACCES EMFILE", "openat64": "EACCES EMFILE",
    "__open_2": "EACCES EMFILE", "__open64_2": "EACCES EMFILE", "fopen": "EACCES", "fopen64": "EACCES",
    "fdopen": "ENOMEM", "opendir": "EACCES", "fdopendir": "EMFILE", "dup": "EMFILE",
    "read": "EIO EINTR", "__read_chk": "EIO EINTR", "pread": "EIO", "pread64": "EIO", "__pread64_chk": "EIO",
    "fread": "EIO", "readdir": "EIO",
    "write": "ENOSPC EINTR", "pwrite": "ENOSPC", "pwrite64": "ENOSPC", "fwrite": "ENOSPC", "fputs": "ENOSPC",
    "fflush": "ENOSPC", "fclose": "EIO", "close": "EIO EINTR",
    "send": "EPIPE EINTR", "recv": "ECONNRESET EINTR", "__recv_chk": "ECONNRESET EINTR",
    "fsync": "EIO", "fdatasync": "EIO", "ftruncate": "ENOSPC", "ftruncate64": "ENOSPC",
    "rename": "EACCES", "renameat": "EACCES", "unlink": "EACCES", "mkdir": "ENOSPC", "mkdirat": "ENOSPC",
    "access": "EACCES", "faccessat": "EACCES", "stat": "EACCES", "stat64": "EACCES", "lstat": "EACCES",
    "lstat64": "EACCES", "fstat": "EIO", "fstat64": "EIO", "fstatat": "EIO", "futimens": "EROFS",
    "realpath": "EACCES", "__realpath_chk": "EACCES", "getcwd": "ENOENT", "flock": "ENOLCK", "fcntl": "ENOLCK",
    "pipe": "EMFILE", "pipe2": "EMFILE", "socketpair": "EMFILE", "eventfd": "EMFILE", "memfd_create": "EMFILE",
    "poll": "EINTR ENOMEM", "waitpid": "EINTR ECHILD",
    "posix_spawn": "EAGAIN ENOMEM", "posix_spawn_file_actions_init": "ENOMEM",
    "posix_spawn_file_actions_addopen": "ENOMEM", "posix_spawn_file_actions_adddup2": "ENOMEM",
    "pthread_create": "EAGAIN", "pthread_mutex_init": "ENOMEM", "pthread_cond_init": "ENOMEM",
    "pthread_rwlock_init": "ENOMEM", "dlopen": "ENOENT", "dlsym": "ENOENT",
}


def errors_of(kind):
    if kind in SQLITE:
        return SQLITE[kind]
    if kind.startswith("nvrtc"):
        return (NVRTC_ERROR,)
    if kind.startswith("cu"):
        return (CUDA_ERROR,)
    return tuple(getattr(errno, name) for name in ERRORS[kind].split())


def cause_of(kind, error):
    """Returns a pattern of the words that a message about this failure may contain: the text of the error, the
    function, or the file."""
    if kind in ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "open_memstream"):
        return r"memory"
    if kind in SQLITE:
        return r"the store .*/|out of host memory" # SQLITE_NOMEM
    if kind.startswith("nvrtc"):
        return r"NVRTC|nvrtc"
    if kind.startswith("cu"):
        return r"CUDA_ERROR_OPERATING_SYSTEM|cu[A-Z]\w+|\(error 304\)|CUDA driver|has no " + kind.removesuffix("_v2")
    return re.escape(os.strerror(error)) + r"|memory|/\w+|nvrtc\w+|cu[A-Z]\w+|" + kind


class Scenario:
    def __init__(self, name, *options, prepared=False, driver=False):
        self.name, self.options, self.prepared, self.driver = name, options, prepared, driver


SCENARIOS = (
    Scenario("cold", "--device", "sim"),
    Scenario("warm", "--device", "sim", "--csv", "out.csv", prepared=True),
    Scenario("runner", "--device", "sim", "--isolate"),
    Scenario("driver", "--device", "cuda:0", driver=True),
)


class Case:
    def __init__(self, scenario, site, nth, error):
        self.scenario, self.site, self.nth, self.error = scenario, site, nth, error

    def __str__(self):
        return f"{self.scenario.name} {ROLES[self.site['role']]} {self.site['kind']}#{self.nth}/{self.site['calls']} " \
               f"error {self.error} site {self.site['key']:x}"


def read_table(path):
    with open(path, "rb") as file:
        data = file.read()
    fired, lost, left, _ = struct.unpack_from("<4Q", data)
    sites = []
    for i in range(SITES):
        at = HEAD + i * SITE
        key, calls, kind, role, ready = struct.unpack_from("<2Q40s2I", data, at)
        if not key or not ready or not calls: # kiln ends its workers by SIGKILL, also while a worker fills an entry
            continue
        offsets = struct.unpack_from("<8Q", data, at + 64)
        names = [data[at + 128 + 24 * k:at + 152 + 24 * k].split(b"\0")[0].decode() for k in range(8)]
        sites.append({"key": key, "calls": calls, "kind": kind.split(b"\0")[0].decode(), "role": role,
                      "frames": [(n, o) for n, o in zip(names, offsets) if n]})
    return {"fired": fired, "lost": lost, "left": left, "sites": sites}


class Slot:
    """Holds a folder in which the runs take place, one after another. The results of undisturbed runs are the same in all
    slots, so one slot makes them. Then the other slots begin with a copy of its answers of NVRTC."""

    def __init__(self, tool, index):
        self.tool, self.root = tool, os.path.join(tool.work, f"slot{index}")
        os.makedirs(os.path.join(self.root, "memo"))
        shutil.copytree(os.path.join(HERE, "spec"), os.path.join(self.root, "spec"))

    def path(self, *names):
        return os.path.join(self.root, *names)

    def clear(self, scenario):
        for name in ("cache", "store", "home"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        for name in ("home", "store"):
            os.makedirs(self.path(name))
        if os.path.exists(self.path("out.csv")):
            os.unlink(self.path("out.csv"))
        if scenario.prepared and self.tool.prepared:
            for name in ("cache", "store"):
                shutil.copytree(os.path.join(self.tool.prepared, name), self.path(name), dirs_exist_ok=True)

    def start(self, scenario, extra=(), **more):
        environment = {key: value for key, value in os.environ.items()
                       if key in ("PATH", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")}
        environment.update(LC_ALL="C", HOME=self.path("home"), KILN_CACHE_DIR=self.path("cache"),
                           KILN_LOCK_DIR=self.root, **more)
        # The remembered answers are files, which a confined worker cannot open.
        environment.update(self.tool.nvrtc, INJECT_MEMO=self.path("memo"), KILN_CONFINE="none")
        if scenario.driver:
            environment["KILN_LIBCUDA"] = self.tool.libcuda
        command = [self.tool.kiln, "tune", "spec/inject.yaml", "--store", "store/samples.db", "--json", "--jobs", "2",
                   *scenario.options, *extra]
        with open(self.path("stdout"), "wb") as out, open(self.path("stderr"), "wb") as err:
            process = subprocess.Popen(command, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True)
            try:
                code = process.wait(WATCHDOG)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        with open(self.path("stdout"), errors="replace") as out, open(self.path("stderr"), errors="replace") as err:
            said = [line for line in err if "compile workers are not confined (switched off" not in line
                    and "kernels run without a sandbox (switched off" not in line]
            return code, out.read(), "".join(said)

    def samples(self):
        path = self.path("store", "samples.db")
        if not os.path.exists(path):
            return []
        with sqlite3.connect(path) as db:
            try:
                rows = db.execute("SELECT spec, variant, sizes, params, status, reusable FROM sample").fetchall()
            except sqlite3.OperationalError as problem:
                if "no such table" in str(problem):
                    return []
                raise
        db.close()
        return sorted(rows)

    def files(self, *folders):
        found = []
        for folder in folders:
            for at, _, names in os.walk(self.path(folder)):
                found += [os.path.relpath(os.path.join(at, name), self.root) for name in names]
        return sorted(found)

    def prepare(self, scenario):
        """Returns the samples and files that an undisturbed run leaves. For a prepared scenario, also makes the files
        from which it starts."""
        baselines = self.tool.baselines
        if scenario.name in baselines:
            return baselines[scenario.name]
        if scenario.prepared and not self.tool.prepared:
            cold = SCENARIOS[0]
            self.clear(cold)
            self.start(cold)
            shutil.rmtree(self.path("store"))
            os.makedirs(self.path("store"))
            code, _, err = self.start(cold, ("--max-configurations", "3"))
            if code != 0:
                raise RuntimeError(f"the first run ends with {code}: {err}")
            kept = self.path("prepared")
            for name in ("cache", "store"):
                shutil.copytree(self.path(name), os.path.join(kept, name))
            self.tool.prepared = kept
        self.clear(scenario)
        if scenario.driver not in self.tool.filled: # fills the memo, because a confined worker cannot write it
            self.tool.filled.add(scenario.driver)
            self.start(scenario, ("--no-isolate",) if scenario.driver else (), KILN_WORKER="/nonexistent")
        self.clear(scenario)
        code, out, err = self.start(scenario)
        if code != 0:
            raise RuntimeError(f"{scenario.name}: an undisturbed run ends with {code}: {out[-2000:]}{err}")
        baselines[scenario.name] = (self.samples(), self.files("cache", "store"))
        if not baselines[scenario.name][0]:
            raise RuntimeError(f"{scenario.name}: an undisturbed run keeps no sample")
        return baselines[scenario.name]

    def table(self):
        path = self.path("table")
        with open(path, "wb") as file:
            file.truncate(HEAD + SITES * SITE)
        return path

    def record(self, scenario):
        self.prepare(scenario)
        self.clear(scenario)
        path = self.table()
        code, _, err = self.start(scenario, LD_PRELOAD=self.tool.preload, INJECT_TABLE=path)
        if code != 0:
            raise RuntimeError(f"{scenario.name}: the recording run ends with {code}: {err}")
        return read_table(path)

    def check(self, case):
        """Runs a case. Returns its outcome, and a list of what is wrong with it."""
        want_samples, want_files = self.prepare(case.scenario)
        self.clear(case.scenario)
        path = self.table()
        code, out, err = self.start(case.scenario, LD_PRELOAD=self.tool.preload, INJECT_TABLE=path,
                                    INJECT_FAIL=f"{case.site['key']:x} {case.nth} {case.error} {case.site['kind']}")
        with open(path, "rb") as file:
            fired, _, left, left_at = struct.unpack("<4Q", file.read(32))
        said, wrong = out + err, []
        kind = case.site["kind"]
        # exit code 70 means that the process ended at once, because memory ran out
        if left > 0 and code is not None and code >= 0 and code != 70:
            wrong.append(f"{left} blocks were not freed: {self.tool.name_of('kiln', left_at)}")
        if code is None:
            return "hung", [f"hung for {WATCHDOG} s"], said
        if code < 0:
            wrong.append(f"ended by signal {-code}")
        elif code not in self.tool.codes:
            wrong.append(f"exit code {code} is not documented")
        child = re.search(r"ended by signal (\d+)", said)
        if child and int(child.group(1)) not in (signal.SIGKILL, signal.SIGTERM):
            wrong.append(f"a child was {child.group(0)}")
        if not fired:
            return "not reached", wrong, said
        named = re.search(cause_of(kind, case.error), said) or (case.site["role"] and "kiln-worker" in said)
        if code != 0 and not named:
            wrong.append(f"exit code {code}, and no message names the cause: {said[-400:]!r}")
        if kind not in ("unlink",):
            left = [name for name in self.files("cache", "store") if ".tmp" in name]
            if left:
                wrong.append(f"left behind: {left}")
        wrong += self.claims(code, out, err)
        wrong += self.again(case, want_samples, want_files)
        outcome = "error" if code else "warning" if err.strip() else "success"
        return outcome, wrong, said

    def claims(self, code, out, err):
        """Checks a run that reports success: it must have stored every sample that it reports, or must report that it
        did not."""
        if code != 0:
            return []
        try:
            told = json.loads(out)["samples"]
        except (ValueError, KeyError) as problem:
            return [f"exit code 0, and its output is not whole: {problem}: {out[-200:]!r}"]
        if os.path.exists(self.path("out.csv")):
            with open(self.path("out.csv"), newline="") as file:
                lines = list(csv.reader(file)) # a message may have several lines
            if len(lines) != len(told) + 1:
                return [f"exit code 0, and its CSV file has {len(lines)} lines for {len(told)} samples"]
        kept = len(self.samples())
        if len(told) != kept and not re.search(r"samples are not kept|the store", err):
            return [f"it tells of {len(told)} samples without a warning, and kept {kept}"]
        return []

    def again(self, case, want_samples, want_files):
        code, out, err = self.start(case.scenario)
        wrong = []
        if code != 0:
            wrong.append(f"the run after it ends with {code}: {(out if not err else err)[-400:]!r}")
        elif err.strip():
            wrong.append(f"the run after it says: {err!r}")
        # A failure that the next sweep tries again is not a sample. It has no code, so its key differs from the key of
        # a sample.
        samples = [row for row in self.samples() if row[4] == 0 or row[5] or row in want_samples]
        files = self.files("cache", "store")
        if samples != want_samples:
            missing = [row for row in want_samples if row not in samples]
            more = [row for row in samples if row not in want_samples]
            if missing or more:
                wrong.append(f"after the next run the store lacks {missing} and has besides {more}")
            else:
                wrong.append(f"the store holds samples twice: {len(samples)}, not {len(want_samples)}")
        extra = [name for name in files if name not in want_files]
        if case.site["kind"] == "unlink":
            extra = [name for name in extra if ".tmp" not in name]
        if extra:
            wrong.append(f"after the next run there are besides {extra}")
        return wrong


class Tool:
    def __init__(self, args):
        self.args, self.begun = args, time.monotonic()
        self.work = os.path.realpath(tempfile.mkdtemp(prefix="inject-"))
        self.baselines, self.prepared, self.filled = {}, None, set()
        prefix = os.path.join(self.work, "prefix")
        subprocess.run(["cmake", "--install", args.build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
        self.kiln = os.path.join(prefix, "bin", "kiln")
        self.libcuda = next((os.path.join(at, "libcuda.so.1") for at, _, names in os.walk(prefix)
                             if "libcuda.so.1" in names), None)
        self.preload = shutil.copy(os.path.join(args.build, "tests", "inject_shim.so"), self.work)
        self.nvrtc = self.wrap_nvrtc()
        listed = subprocess.run([self.kiln, "help", "exit-codes"], capture_output=True, text=True, check=True).stdout
        self.codes = {int(code) for code in re.findall(r"^\s*(\d+)\s+KILN_", listed, re.M)}

    def wrap_nvrtc(self):
        """Returns the variables by which the programs use nvrtc.c in place of the NVRTC that they would find."""
        found = json.loads(subprocess.run([self.kiln, "doctor", "--json"], capture_output=True, text=True).stdout)
        said = {finding["topic"]: finding["found"] for finding in found["findings"] if finding["ok"]}
        if "nvrtc" not in said or "headers" not in said:
            print("SKIP nvrtc: there is no NVRTC")
            sys.exit(77)
        path = said["nvrtc"].split(",")[0]
        folder = os.path.join(self.work, "nvrtc")
        os.makedirs(folder)
        for name in os.listdir(os.path.dirname(path)):
            if name.startswith("libnvrtc-builtins.so."):
                os.symlink(os.path.join(os.path.dirname(path), name), os.path.join(folder, name))
        wrapper = os.path.join(folder, "libnvrtc_memo.so") # beside the builtins, where the engine looks for them
        shutil.copy(os.path.join(self.args.build, "tests", "libnvrtc_memo.so"), wrapper)
        return {"KILN_NVRTC": wrapper, "INJECT_NVRTC": path, "KILN_CUDA_INCLUDE": said["headers"]}

    def plan(self, slot):
        """Returns all cases, by scenario. The most important cases come first."""
        # these two scenarios have every kind of process
        named = self.args.scenario or (None if self.args.full else ("cold", "driver"))
        scenarios = [s for s in SCENARIOS if not named or s.name in named]
        seen, cases, lost, sites = {}, [], 0, 0
        for scenario in scenarios:
            found = slot.record(scenario)
            lost += found["lost"]
            sites += len(found["sites"])
            for site in sorted(found["sites"], key=lambda s: s["key"]):
                if self.args.kind and site["kind"] not in self.args.kind:
                    continue
                if self.args.site and f"{site['key']:x}" not in self.args.site:
                    continue
                first = not seen.get(site["key"])  # false if an earlier scenario has this call
                seen[site["key"]] = True
                for at, error in enumerate(errors_of(site["kind"])):
                    for nth in sorted({1, site["calls"]}):
                        cases.append((not first, at, nth > 1, Case(scenario, site, nth, error)))
        if lost:
            raise RuntimeError(f"the shim's table is too small by {lost}")
        shuffle = random.Random(self.args.seed)
        shuffle.shuffle(cases)
        counts = {}
        ranked = []
        for late, at, last, case in sorted(cases, key=lambda c: c[:3]):
            group = (case.site["kind"], case.site["role"])
            counts[group] = counts.get(group, 0) + 1
            ranked.append((late or at > 0 or last, 0 if self.args.full else counts[group], len(ranked), case))
        ranked.sort(key=lambda r: r[:3]) # takes one of each group, then another one of each group, and so on
        return [r[3] for r in ranked], sites

    def name_of(self, module, offset):
        path = self.kiln if module == "kiln" else None
        if module == "kiln-worker":
            path = next(os.path.join(at, module) for at, _, names in os.walk(self.work) if module in names)
        text = ""
        if path and shutil.which("addr2line"):
            text = subprocess.run(["addr2line", "-f", "-s", "-e", path, hex(offset - 1)], capture_output=True,
                                  text=True).stdout.replace("\n", " ")
        return f"{module}+{offset:#x} {text}"

    def symbolize(self, site):
        return "\n".join("      " + self.name_of(module, offset) for module, offset in site["frames"])


def run_all(tool, slots, cases, seconds):
    begun, results, lock, at = tool.begun, [], threading.Lock(), [0]

    def work(slot):
        while True:
            with lock:
                if at[0] >= len(cases) or (at[0] >= LEAST and seconds and time.monotonic() - begun > seconds):
                    return
                case = cases[at[0]]
                at[0] += 1
            outcome, wrong, said = slot.check(case)
            with lock:
                results.append((case, outcome, wrong))
                if wrong:
                    print(f"WRONG {case}: {outcome}", *wrong, sep="\n    ")
                    print(tool.symbolize(case.site), flush=True)
                elif tool.args.verbose:
                    print(f"{case}: {outcome}\n{tool.symbolize(case.site)}\n{said[-1500:]}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(len(slots)) as pool:
        for future in [pool.submit(work, slot) for slot in slots]:
            future.result()
    return results


OUTCOMES = ("success", "warning", "error", "not reached", "hung", "wrong")


def print_table(results):
    rows = {}
    for case, outcome, wrong in results:
        kind = case.site["kind"]
        row = rows.setdefault(kind, dict.fromkeys(OUTCOMES, 0))
        row["wrong" if wrong else outcome] += 1
    total = dict.fromkeys(OUTCOMES, 0)
    print("| call | injected | " + " | ".join(OUTCOMES) + " |\n|" + " --- |" + " ---: |" * (1 + len(OUTCOMES)))
    for kind in sorted(rows):
        row = rows[kind]
        for outcome in OUTCOMES:
            total[outcome] += row[outcome]
        print(f"| `{kind}` | {sum(row.values())} | " + " | ".join(str(row[o]) for o in OUTCOMES) + " |")
    print(f"| all | {sum(total.values())} | " + " | ".join(str(total[o]) for o in OUTCOMES) + " |")
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--from", type=int, default=0, metavar="N", dest="first", help="leave out the first N cases")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--site", action="append")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    seconds = args.seconds if args.seconds is not None else None if args.full else 3
    tool = Tool(args)
    try:
        slots = [Slot(tool, i) for i in range(args.jobs)]
        cases, sites = tool.plan(slots[0])
        for slot in slots[1:]:
            shutil.copytree(slots[0].path("memo"), slot.path("memo"), dirs_exist_ok=True)
        if args.list:
            for case in cases:
                print(case)
                print(tool.symbolize(case.site))
            return 0
        results = run_all(tool, slots, cases[args.first:], seconds)
        total = print_table(results)
        where = f" from number {args.first} on" if args.first else ""
        print(f"{sites} call sites, {len(cases)} cases, {len(results)} of them run{where}")
        return 1 if total["wrong"] or total["hung"] else 0
    finally:
        if not args.keep:
            shutil.rmtree(tool.work, ignore_errors=True)


sys.exit(main())
