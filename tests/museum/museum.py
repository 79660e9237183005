#!/usr/bin/env python3
"""Judges pairs of real bugs: a kernel before a fix and after it, under the checks of the simulated device.

    museum.py KILN PAIR...                       judges pairs: exit 1 unless every verdict is the expected one
    museum.py --from FOLDER KILN PAIR...         for pairs that are built from a project's own source
    museum.py --table PAIR...                    prints the rows of engine/sim/observe/check/MUSEUM.md for these pairs
    museum.py --page FILE PAIR...                compares the rows of the page with the pairs: exit 1 if they differ
    museum.py --planted KILN                     the test of the verdicts, with planted pairs of each verdict

A PAIR is a file, or a folder with such files. Its head has the description, one `//! KEY: VALUE` a line:

    project, number    the project, and the number of its issue or change
    title              the bug in one phrase
    kind               one of KINDS
    finds              the kind of finding that must appear before the fix, with ` (note)` behind it if the finding is a note;
                       `nothing` if no check can see the bug
    why                only with `nothing`: the reason
    spec: |            the rest of a Kiln spec: sizes, buffers, launch. The file itself is its source, compiled twice, with the
                       param FIXED as 0 and as 1. A line that the finding must touch ends with the comment BUG

A pair of a project's source has these keys instead of `spec`. Its description has no source, and stays out of this tree:

    fix                the commit of the fix in the git folder FOLDER; the state before is its parent
    before             another commit for the state before
    take               folders and files that are copied out of both commits, to a folder that is deleted afterwards
    build              the arguments of nvcc, in the first folder of `take`; the output is `program`
    run                the arguments of the program
    seconds            the time after which the program gets SIGTERM; kiln then shows what it has found
    at                 FILE:LINE of the finding before the fix; several are separated by blanks
    remains            FILE:LINE of findings that the fix leaves: other bugs, which the page names

Nothing of a project is kept: sources and programs lie in a temporary folder.

The verdict is `found` if the state before has a finding of the kind `finds` at a marked line, and the state after has no
finding. If the first is missing, the verdict is `missed`. If the state after has a finding, it is `accused`. A note
counts only if `finds` expects a note.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

KINDS = ("race in shared memory", "race in global memory", "race inside a warp", "asynchronous order", "race of launches",
         "out of bounds", "integer overflow", "uninitialised", "barrier", "misaligned", "warp operation")
HERE = pathlib.Path(__file__).parent
LIMIT = 300  # seconds for a command


def fail(text):
    sys.exit(f"museum.py: {text}")


def read_pair(path):
    """Returns the description of a pair: a dictionary of texts, with `path`, `name`, and the marked lines of the
    source."""
    text = path.read_text()
    sign = {".cu": "//!", ".py": "#:"}.get(path.suffix, "")
    head = [line.removeprefix(sign).removeprefix(" " if sign else "") for line in text.splitlines() if line.startswith(sign)]
    pair, block = {"path": path, "name": path.stem}, None
    for line in head:
        if line.startswith("  ") and block:
            pair[block] += line[2:] + "\n"
            continue
        found = re.fullmatch(r"([a-z]+): ?(.*)", line)
        if not found:
            if line.strip() and not line.startswith("#"):
                fail(f"{path}: no `KEY: VALUE`: {line}")
            continue
        if found[1] in pair:
            fail(f"{path}: {found[1]} appears twice")
        block = found[1] if found[2] == "|" else None
        pair[found[1]] = "" if block else found[2]
    for key in ("project", "number", "title", "kind", "finds"):
        if not pair.get(key):
            fail(f"{path}: no {key}")
    if pair["kind"] not in KINDS:
        fail(f"{path}: kind is none of: {', '.join(KINDS)}")
    if (pair["finds"] == "nothing") != ("why" in pair):
        fail(f"{path}: `why` belongs to `finds: nothing`")
    if [key in pair for key in ("spec", "fix")] != [path.suffix == ".cu", path.suffix not in (".cu", ".py")]:
        fail(f"{path}: a .cu file needs spec, a .py file needs neither spec nor fix, another file needs fix")
    pair["marked"] = {f"{path.name}:{number}" for number, line in enumerate(text.splitlines(), 1) if line.endswith("// BUG")}
    pair["marked"] |= set(pair.get("at", "").split())
    return pair


def run(words, folder, seconds=LIMIT):
    """Returns the output of a command, and whether it ended in time. After that time the command and all its children
    get SIGTERM."""
    with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=seconds)
            return out, err, process.returncode, True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            out, err = process.communicate()
            return out, err, process.returncode, False


def read_findings(text, what):
    """Returns the findings of kiln's JSON, with notes."""
    try:
        answer = json.loads(text)
    except ValueError:
        return fail(f"{what}: no JSON: {text[:2000]}")
    if "findings" not in answer:
        return fail(f"{what}: {answer.get('error', answer)}")
    return answer["findings"]


def places(finding):
    """Returns FILE:LINE of both accesses of a finding, and of the calls of the inlined functions that have the
    accesses."""
    found = set()
    for end in (finding["at"], finding["other"]):
        if end and end.get("file"):
            found.add(f"{pathlib.Path(end['file']).name}:{end['line']}")
            found |= {f"{pathlib.Path(file).name}:{line}" for file, line in re.findall(r"at ([^ ,]+):(\d+)", end["inlined"] or "")}
    return found


def check_spec(kiln, pair, folder):
    """Returns the findings of a pair with its own source, before and after the fix. The two states are configurations
    of one spec.

    The state after the fix is the first configuration. A finding names the first configuration that has it, so a finding of
    both states counts against the fix."""
    for path in (pair["path"], HERE / "bulk.cuh"):
        shutil.copyfile(path, folder / path.name)
    name = re.sub(r"[^A-Za-z0-9]", "_", pair["name"])
    (folder / "pair.yaml").write_text(f"kiln: 1\nname: {name}\nsource: {pair['path'].name}\nparams: {{FIXED: [1, 0]}}\n" +
                                      pair["spec"])
    out, err, _, ended = run([kiln, "check", "pair.yaml", "--device", "sim", "--no-verify", "--notes", "--json", "--quiet"], folder)
    if not ended:
        fail(f"{pair['path']}: kiln check took longer than {LIMIT} s")
    findings = read_findings(out or err, pair["path"])
    return [[item for item in findings if f"FIXED={fixed}" in item["first"]] for fixed in (0, 1)]


def check_program(kiln, pair, folder):
    """Returns the findings of a pair that is a program, before and after the fix."""
    for path in (pair["path"], HERE / "driver.py"):
        shutil.copyfile(path, folder / path.name)
    found = []
    for fixed in "01":
        out, err, code, _ = run([kiln, "sim", "run", "-q", "--check", "--json", "--details", f"details{fixed}.json", sys.executable,
                                 pair["path"].name, fixed], folder)
        if "SKIP" in out:
            print(out)
            sys.exit(77)
        if code not in (0, 1):
            fail(f"{pair['path']}: exit code {code}: {out}{err}")
        found.append(read_findings((folder / f"details{fixed}.json").read_text(), pair["path"]))
    return found


def check_project(kiln, pair, folder, repository):
    """Returns the findings of a pair of a project's source, before and after the fix."""
    found = []
    for state, commit in (("before", pair.get("before", pair["fix"] + "^")), ("after", pair["fix"])):
        place = folder / state
        place.mkdir()
        taken = subprocess.run(["git", "-C", str(repository), "archive", commit, *pair["take"].split()], capture_output=True,
                               timeout=LIMIT, check=False)
        if taken.returncode:
            fail(f"{pair['path']}: git archive {commit}: {taken.stderr.decode()}")
        subprocess.run(["tar", "-x", "-C", str(place)], input=taken.stdout, check=True, timeout=LIMIT)
        work = place / pair["take"].split()[0]
        if not work.is_dir():
            work = work.parent
        for extra in pair["path"].parent.glob(pair["name"] + ".*"):
            shutil.copy(extra, work)
        out, err, code, _ = run([kiln, "sim", "run", "-q", "nvcc", "-cudart", "shared", "-lineinfo", "-o", "program",
                                 *pair["build"].split()], work)
        if code:
            fail(f"{pair['path']}: {state} does not build:\n{out[-2000:]}{err[-4000:]}")
        *_, ended = run([kiln, "sim", "run", "-q", "--check", "--json", "--details", "details.json", "./program",
                         *pair.get("run", "").split()], work, int(pair.get("seconds", LIMIT)))
        if not ended:
            print(f"{pair['name']}: {state}: the program got SIGTERM, so the findings are those until then", flush=True)
        details = work / "details.json"
        if not details.exists():
            fail(f"{pair['path']}: {state}: the program did not run")
        found.append(read_findings(details.read_text(), pair["path"]))
    return found


def judge(kiln, pair, repository):
    """Returns the verdict on a pair, and lines that explain it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if "spec" in pair:
            before, after = check_spec(kiln, pair, folder)
        elif pair["path"].suffix == ".py":
            before, after = check_program(kiln, pair, folder)
        else:
            if not repository:
                fail(f"{pair['path']}: needs --from FOLDER")
            before, after = check_project(kiln, pair, folder, repository)
    left, wanted = set(pair.get("remains", "").split()), pair["finds"].removesuffix(" (note)")
    note = wanted != pair["finds"]
    marked = pair["marked"]
    hits = [item for item in before if item["kind"] == wanted and item["note"] == note and (not marked or places(item) & marked)]
    after = [item for item in after if not places(item) & left and (not item["note"] or note and item["kind"] == wanted)]
    told = [f"  {state}: {'note: ' if item['note'] else ''}{item['kind']} at {' and '.join(sorted(places(item)))}: {item['message']}"
            for state, items in (("before", before), ("after", after)) for item in items]
    if after:
        return "accused", told
    if wanted == "nothing":
        return "found after all" if any(not item["note"] for item in before) else "invisible", told
    return "found" if hits else "missed", told


def make_row(pair):
    """Returns the row of a pair in the page."""
    lines = ", ".join(sorted((mark.rpartition(":")[2] for mark in pair["marked"]), key=int))
    link = f"[{pair['number']}](../../../../{pair['path'].resolve().relative_to(HERE.parents[1])})"
    found = pair["finds"] if pair["finds"] != "nothing" else f"nothing: {pair['why']}"
    return f"| {pair['project']} | {link} | {pair['title']} | {pair['kind']} | {found} | {lines} |"


def count_kinds(pairs):
    """Returns a row for each kind: the number of pairs, of found pairs, and of pairs that are found as a note."""
    rows = []
    for kind in (*KINDS, "all"):
        some = [pair for pair in pairs if kind in (pair["kind"], "all")]
        found = [pair for pair in some if pair["finds"] != "nothing"]
        notes = sum(pair["finds"].endswith("(note)") for pair in found)
        if some:
            rows.append(f"| {kind} | {len(some)} | {len(found)} | {notes} |")
    return rows


def compare_page(page, pairs):
    """Returns 1, and names each row, if the page lacks the row of a pair or has a row without a pair."""
    rows = {make_row(pair) for pair in pairs} | set(count_kinds(pairs))
    told = {line for line in page.read_text().splitlines() if "/tests/museum/pairs/" in line or
            re.match(rf"\| ({'|'.join(KINDS)}|all) \|", line)}
    for sign, some in (("missing", rows - told), ("without a pair", told - rows)):
        for row in sorted(some):
            print(f"{page}: {sign}: {row}")
    return int(rows != told)


PLANTED = """//! project: planted
//! number: 1
//! title: planted
//! kind: race in shared memory
//! finds: FINDS
//! spec: |
//!   sizes: {tiny: {N: 64}}
//!   buffers: {x: {type: i32, shape: [N], fill: 1}, y: {type: i32, shape: [N], out: true}}
//!   launch: {kernel: turn, grid: [1], block: [64], args: [x, y]}
extern "C" __global__ void turn(const int *x, int *y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x]; // BUG
    if (BARRIER)
        __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}
"""


def check_planted(kiln):
    """Tests the verdicts. Returns 1 if a planted pair does not get its expected verdict."""
    status = 0
    for verdict, finds, barrier, mark in (("found", "race", "FIXED", "BUG"), ("missed", "race", "1", "BUG"),
                                          ("missed", "out of bounds", "FIXED", "BUG"), ("missed", "race (note)", "FIXED", "BUG"),
                                          ("missed", "race", "FIXED", "0:0"), ("accused", "race", "0", "BUG"),
                                          ("accused", "race", "!FIXED", "BUG"), ("invisible", "nothing", "1", "BUG"),
                                          ("found after all", "nothing", "FIXED", "BUG")):
        with tempfile.TemporaryDirectory() as temporary:
            path = pathlib.Path(temporary) / "planted.cu"
            text = PLANTED.replace("FINDS", finds + ("\n//! why: planted" if finds == "nothing" else "")).replace("BARRIER", barrier)
            path.write_text(text.replace("// BUG", "").replace("int *y)", "int *y) // BUG") if mark != "BUG" else text)
            given, told = judge(kiln, read_pair(path), None)
        if given != verdict:
            print(f"planted: {finds}, barrier {barrier}, mark {mark}: {given} instead of {verdict}", *told, sep="\n")
            status = 1
    return status


def has_compiler(kiln):
    """Returns true if NVRTC can be used."""
    out, *_ = run([kiln, "doctor", "--json"], ".")
    return any(item["topic"] == "nvrtc" and item["ok"] for item in json.loads(out)["findings"])


def judge_all(kiln, pairs, repository):
    """Prints the verdict on each pair. Returns 1 if one is not the expected verdict."""
    status = 0
    for pair in pairs:
        verdict, told = judge(kiln, pair, repository)
        good = verdict == ("invisible" if pair["finds"] == "nothing" else "found")
        print(f"{pair['name']}: {verdict}", flush=True)
        if not good or os.environ.get("MUSEUM_TELL"):
            print("\n".join(told))
        status |= not good
    return int(status)


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Judges pairs of real bugs.")
    parser.add_argument("--from", dest="repository", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("words", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    words = given.words if given.table or given.page else given.words[1:]
    files = [file for word in words for file in (sorted(word.rglob("*.*")) if word.is_dir() else [word])]
    pairs = [read_pair(file) for file in files]
    if given.table:
        print(*count_kinds(pairs), *sorted((make_row(pair) for pair in pairs), key=str.lower), sep="\n")
        return 0
    if given.page:
        return compare_page(given.page, pairs)
    kiln = str(given.words[0].resolve())
    if not has_compiler(kiln):
        print("SKIP nvrtc: kiln doctor finds no NVRTC")
        return 77
    return check_planted(kiln) if given.planted else judge_all(kiln, pairs, given.repository)


if __name__ == "__main__":
    sys.exit(main())
