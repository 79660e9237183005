#!/usr/bin/env python3
"""lint.py [CHECK...] [--fresh] [FILE...]: runs static checks on the .c files of engine/, kernel_src/ and tools/, or on
the named files.

  cppcheck         warning, performance, portability
  tidy             clang-tidy: bugprone-*, cert-* (.clang-tidy says which checks are off, and why)
  gcc-analyzer     gcc -fanalyzer
  clang-analyzer   clang-tidy: clang-analyzer-*
  quick            cppcheck and tidy, which tools/test.sh runs

Without a CHECK all checks run. The exit code is 1 if there are findings. The two analyzers are slow, so they skip a
file in which they found nothing before, as long as neither its preprocessed text nor the version of the analyzer has
changed. build/lint has the records of such files; --fresh removes them. KILN_JOBS is the number of files at a time
(default: the number of cores).

With the programs of Debian 12 no check finds anything. Other versions of the programs have other findings, which are
shown, but do not change the exit code.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
CACHE = TOP / "build/lint"
FINDING = re.compile(r": (warning|error|performance|portability): ")
CHECKS = ["cppcheck", "tidy", "gcc-analyzer", "clang-analyzer"]
# The program of each check, and the version whose findings count.
PROGRAMS = {"cppcheck": ("cppcheck", r"\b2\.10\b"), "tidy": ("clang-tidy", r"\b14\."),
            "gcc-analyzer": ("gcc", r"\b12\."), "clang-analyzer": ("clang-tidy", r"\b14\.")}

# Options against false findings of cppcheck. It reports arrays that a loop fills as unset variables; compilers,
# valgrind and clang's analyzer look for real ones. It does not find jansson.h, so its macros are defined here. It does
# not expand a macro inside an argument of the same macro.
CPPCHECK_KNOWS = ["--suppress=uninitvar", "--suppress=legacyUninitvar",
                  "-Djson_array_foreach(array,index,value)=for(index=0;(value=json_array_get(array,index));index++)",
                  "-Djson_object_foreach(object,key,value)=for(key=json_key(object);(value=json_value(key));)",
                  "--suppress=unknownMacro:*engine/spec/keys.c",
                  "--suppress=preprocessorErrorDirective:*engine/spec/params.c"]


def output(command, folder=TOP):
    done = subprocess.run(command, cwd=folder, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def compiled(wanted):
    """Returns the compile command of each file, for a build without optimisation."""
    build = CACHE / "cmake"
    code, said = output(["cmake", "--preset", "dev", "-B", str(build)])
    if code:
        sys.exit(f"lint.py: cmake fails:\n{said}")
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        entries.setdefault(entry["file"], entry)
    (CACHE / "compile_commands.json").write_text(json.dumps(list(entries.values()))) # each file once
    for path in wanted:
        if path not in entries:
            sys.exit(f"lint.py: {path} is not compiled")
    wanted = wanted or [path for path in entries if path.startswith((f"{TOP}/engine/", f"{TOP}/kernel_src/", f"{TOP}/tools/"))]
    return {path: entries[path] for path in sorted(wanted, key=os.path.getsize, reverse=True)}


def gcc(entry, *options):
    """Returns the compile command of a file for gcc, with other options and without the file's own warning options."""
    words = [word for word in shlex.split(entry["command"]) if not word.startswith("-W") and "ccache" not in word]
    words[words.index("-o"):words.index("-o") + 2] = []
    words[words.index("-c"):words.index("-c") + 2] = []
    return ["gcc"] + words[1:] + list(options) + [entry["file"]]


def command_of(check, entry, *others):
    """Returns the command that checks a file. clang-tidy can check the other files in the same run."""
    if check == "gcc-analyzer":
        # The check for uninitialised values is off, because it has false findings: slots of a stack machine
        # (expr/eval.c), and out parameters that a successful call sets. valgrind and clang's analyzer look for the same
        # errors.
        return gcc(entry, "-o", "/dev/null", "-c", "-DKILN_ANALYZER", "-fanalyzer",
                   "-Wno-analyzer-use-of-uninitialized-value")
    off = "-clang-analyzer-*" if check == "tidy" else "-bugprone-*,-cert-*"
    return ["clang-tidy", "-p", str(CACHE), "--quiet", f"--checks={off}", entry["file"],
            *(other["file"] for other in others)]


def stamp(check, version, entry):
    """Returns the path of a record, which exists if the check found nothing in this preprocessed text."""
    defines = ["-DKILN_ANALYZER"] if check == "gcc-analyzer" else []
    code, text = output(gcc(entry, "-E", "-C", "-dD", *defines), entry["directory"])
    if code:
        return None
    parts = [version, entry["command"], text] + command_of(check, entry)
    if check != "gcc-analyzer":
        parts.append((TOP / ".clang-tidy").read_text())
    key = hashlib.sha256("\0".join(parts).replace(f"{TOP}/", "").encode()) # the key is the same in another copy of the
                                                                           # tree
    return CACHE / check / key.hexdigest()[:32]


def tell(told, line):
    line = line.replace(f"{TOP}/", "")
    if line not in told:
        print(line, flush=True)
    told[line] = True


def run_each(check, version, entries, jobs, keeps):
    """Runs a check on each file, and prints findings as they come. Returns the lines of findings and the number of
    checked files."""
    entries = list(entries.values())
    # If there are no records for single files, one process checks several files, because starting it takes a quarter of
    # the time of a file.
    count_of = 1 if keeps else max(1, min(len(entries) // (4 * jobs), 12))
    step = -(-len(entries) // count_of)

    def some(first):
        entry, *others = entries[first::step]
        mark = stamp(check, version, entry) if keeps else None
        if mark and mark.exists():
            mark.touch()
            return None, 0
        code, said = output(command_of(check, entry, *others), entry["directory"])
        lines = [line for line in said.splitlines() if FINDING.search(line)]
        if not lines and code:
            files = " ".join(one["file"] for one in (entry, *others))
            lines = [f"{files}: error: {check} ends with {code}: {said.strip()[-300:]}"]
        if mark and not lines:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        return lines, 1 + len(others)

    told, count = {}, 0 # a finding in a header is reported for many files
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for lines, files in pool.map(some, range(step)):
            count += files
            for line in lines or ():
                tell(told, line)
    for old in (CACHE / check).glob("*") if keeps else ():
        if time.time() - old.stat().st_mtime > 30 * 86400:
            old.unlink()
    return told, count


def run_cppcheck(entries, jobs):
    """Runs cppcheck, which itself remembers its results for unchanged files."""
    folder, project = CACHE / "cppcheck", CACHE / "cppcheck.json"
    folder.mkdir(parents=True, exist_ok=True)
    # cppcheck knows -I, but not -iquote.
    project.write_text(json.dumps([entry | {"command": entry["command"].replace("-iquote ", "-I")}
                                   for entry in entries.values()]))
    _, said = output(["cppcheck", f"--project={project}", f"--cppcheck-build-dir={folder}",
                      "--enable=warning,performance,portability", "--inline-suppr", f"-j{jobs}", "--std=c11", "--quiet",
                      *CPPCHECK_KNOWS,
                      "--template={file}:{line}: {severity}: {message} [{id}]"])
    told = {}
    for line in filter(FINDING.search, said.splitlines()):
        tell(told, line)
    return told, len(entries)


def main():
    checks, wanted = [], []
    for word in sys.argv[1:]:
        if word in ("-h", "--help"):
            print(__doc__.strip())
            return 0
        if word == "--fresh":
            for check in CHECKS:
                shutil.rmtree(CACHE / check, ignore_errors=True)
        elif word == "quick":
            checks += ["cppcheck", "tidy"]
        elif word in CHECKS:
            checks.append(word)
        elif word.endswith(".c") and os.path.exists(word):
            wanted.append(os.path.abspath(word))
        else:
            print(f"lint.py: '{word}' is neither a check nor a .c file; lint.py --help lists the checks", file=sys.stderr)
            return 2
    CACHE.mkdir(parents=True, exist_ok=True)
    entries = compiled(wanted)
    jobs = int(os.environ.get("KILN_JOBS") or len(os.sched_getaffinity(0)))
    failed = False
    for check in checks or CHECKS:
        program, known = PROGRAMS[check]
        if not shutil.which(program):
            print(f"lint.py: there is no {program}: tools/setup.sh --test installs it", file=sys.stderr)
            return 2
        version = output([program, "--version"])[1]
        begin = time.monotonic()
        if check == "cppcheck":
            told, count = run_cppcheck(entries, jobs)
        else:
            told, count = run_each(check, version, entries, jobs, check.endswith("-analyzer"))
        counts = re.search(known, version)
        kept = f", {len(entries) - count} unchanged since they had none" if count < len(entries) else ""
        print(f"{check}: {len(told)} findings in {count} files{kept}, {time.monotonic() - begin:.0f} s" +
              ("" if counts or not told else f"; not counted: the code is clean with another version of {program}"),
              flush=True)
        failed = failed or (told and counts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
