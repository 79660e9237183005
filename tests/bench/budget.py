#!/usr/bin/env python3
"""budget.py tests BUILD [--label LABEL] [--every N] [REGEX]    processor seconds of each test of a build folder
budget.py compile BUILD [--every N]                          processor seconds of compiling, by target

Wall times depend on the other work of a machine; processor times hardly do. The time of a test includes all processes that the
test started, and also processes that ended after their parents. Tests that need a GPU are left out. With --every N the program
runs each Nth test or compilation, and multiplies the sum by N. KILN_TEST_CACHE names the folder of compiled code. Give an empty
one for the first build folder, as tools/test.sh does, and the same one for the next. KILN_JOBS is the number of tests that run
at once (2). The output of a test goes to BUILD/budget/NAME. A test that fails is marked, and the exit code is then 1."""
import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

SUBREAPER = 36 # PR_SET_CHILD_SUBREAPER: orphans of a test become children of the process that waits for them


def spend(command, folder, environment, output):
    """Runs a command. Returns its processor seconds, those of all its descendants included, and its exit code."""
    reader, writer = os.pipe()
    keeper = os.fork()
    if keeper == 0: # a separate process waits for the command, so that the times of two tests do not mix
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        os.setsid()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.chdir(folder)
            with open(output, "wb") as out, open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), 0)
                os.dup2(out.fileno(), 1)
                os.dup2(out.fileno(), 2)
            os.execvpe(command[0], command, environment)
        code = 1
        while True:
            try:
                ended, status = os.wait()
            except ChildProcessError:
                break
            if ended == child:
                code = os.waitstatus_to_exitcode(status)
        times = os.times()
        os.write(writer, f"{times.children_user + times.children_system} {code}".encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(keeper, 0)
    with os.fdopen(reader) as answer:
        seconds, code = answer.read().split()
    return float(seconds), int(code)


def chosen_tests(arguments):
    """Returns the name, command, folder and environment of each test. Fixtures come first, and then the tests in
    CTest's order of costs."""
    shown = subprocess.run(["ctest", "--test-dir", arguments.build, "--show-only=json-v1"], check=True, capture_output=True)
    tests = []
    for test in json.loads(shown.stdout)["tests"]:
        known = {one["name"]: one["value"] for one in test["properties"]}
        labels = known.get("LABELS", [])
        if "gpu" in labels or arguments.label and arguments.label not in labels:
            continue
        if arguments.regex and not re.search(arguments.regex, test["name"]):
            continue
        order = (-len(known.get("FIXTURES_SETUP", [])), -known.get("COST", 0))
        tests.append((order, test["name"], test["command"], known))
    return [one[1:] for one in sorted(tests, key=lambda one: one[0])][::arguments.every]


def run_test(test, folder):
    name, command, known = test
    environment = os.environ | dict(one.split("=", 1) for one in known.get("ENVIRONMENT", []))
    return name, *spend(command, known.get("WORKING_DIRECTORY", "."), environment, folder / name.replace("/", "_"))


def tests_budget(arguments):
    folder = pathlib.Path(arguments.build, "budget").resolve()
    folder.mkdir(exist_ok=True)
    groups, failed, total = collections.Counter(), 0, 0.0
    with concurrent.futures.ProcessPoolExecutor(int(os.environ.get("KILN_JOBS", "2"))) as pool:
        jobs = [pool.submit(run_test, test, folder) for test in chosen_tests(arguments)]
        for job in concurrent.futures.as_completed(jobs):
            name, seconds, code = job.result()
            bad = code not in (0, 77)
            failed += bad
            total += seconds
            groups[name.split(".")[0]] += seconds
            print(f"{seconds:8.2f}  {name}{'  FAILED' if bad else ''}", flush=True)
    for group, seconds in groups.most_common():
        print(f"# {seconds:8.1f}  {group}")
    print(f"# {total * arguments.every:.0f} s in all, {failed} failed")
    return 1 if failed else 0


def compile_budget(arguments):
    entries = json.loads(pathlib.Path(arguments.build, "compile_commands.json").read_text())
    entries = [entry for entry in entries if os.path.exists(entry["file"])] # the other sources are not generated yet
    entries.sort(key=lambda entry: os.path.getsize(entry["file"]))
    groups, failed = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as work:
        for entry in entries[arguments.every // 2::arguments.every]:
            words = [word for word in shlex.split(entry["command"]) if "ccache" not in word]
            place = words.index("-o") + 1
            target = re.sub(r"/CMakeFiles/.*", "", words[place])
            words[place] = f"{work}/object.o"
            seconds, code = spend(words, entry["directory"], os.environ, f"{work}/log")
            failed += code != 0
            groups[target] += seconds * arguments.every
    for group, seconds in groups.most_common():
        print(f"{seconds:8.1f}  {group}")
    print(f"# {sum(groups.values()):.0f} s in all, {failed} files failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tests", "compile"])
    parser.add_argument("build")
    parser.add_argument("--label")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("regex", nargs="?")
    arguments = parser.parse_args()
    return tests_budget(arguments) if arguments.what == "tests" else compile_budget(arguments)


if __name__ == "__main__":
    sys.exit(main())
