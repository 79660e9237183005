#!/usr/bin/env python3
"""Checks engine/sim against engine/sim/BOUNDARY.md, which lists the places where a number of a kernel becomes a host pointer.

    boundary.py SOURCE_FOLDER    the test: exit 1 with a line for each thing that is wrong

- The two ends of a range are never tested instead of the range: no call of a function that finds memory has an address
  that is a sum less something (`to + bytes - 16`), none is made only to be true or false (`!vm_reach(...)`), and the
  results of two calls are not subtracted from each other. The middle of such a range may be anywhere.
- A function that adds to the host address of kernels' memory (`->shared + address`) is named in the page, at its file.
- Each function in the first column of the page is defined in the file that stands before it.
- Each room that gets numbers from outside has rows in the page.

The program first finds planted violations of each rule, and finds nothing in code that is right."""
import pathlib
import re
import sys

# The functions that find memory, and which of their arguments is the address.
FINDERS = {"vm_reach": 4, "vm_reach_span": 4, "vm_pointer": 1, "vm_pointer_read": 1, "vm_find": 1, "vm_allocation_of": 1,
           "vm_reached": 1, "vm_range": 1, "vm_refill": 2}
CALL = re.compile(r"\b(" + "|".join(FINDERS) + r")\s*\(")
# Members that hold a host address of kernels' memory.
HOST = re.compile(r"(?:->|\.)(?:host|shared|local|params|vars|storage)\s*\+(?![+=])|\breach_at\(")
LISTED = ("device/vm", "device/ops", "device/decode", "device/jit", "device/ptx", "observe/model", "observe/count",
          "observe/check", "driver/objects", "driver/work", "programs", "programs/runtime",
          "programs/library")
ROOMS = ("device/vm", "device/ops", "device/decode", "device/jit", "observe/count", "observe/check", "driver", "programs")
# Members of these variables are not host addresses, but numbers of a box, of a result or of a report.
OTHERS = re.compile(r"\b(?:box|x|e|map|to|result|row|total|made)(?:->|\.)(?:shared|host|local)\s*\+")


def strip(text):
    """Returns the text without comments and string literals. The lines stay at their places."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else '""'
    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, text, flags=re.S)


def arguments(text, start):
    """Returns the arguments of the call whose parenthesis opens before `start`."""
    depth, begin, found = 1, start, []
    for at in range(start, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[at] == ","):
            found.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return found
    return found


def functions(text):
    """Yields (name, first line, body) of each function and function-like macro."""
    for match in re.finditer(r"^(?!else|return|if|for|while|switch)[A-Za-z_][^;{}#=]*?\b(\w+)\([^;{}]*\)\s*\{", text, re.M):
        end = text.find("\n}", match.end())
        one = text.find("\n", match.end())
        if text[match.end():one].rstrip().endswith("}"):
            end = one
        yield match[1], match.start(), text[match.start():end if end >= 0 else len(text)]
    for match in re.finditer(r"^#define (\w+)\((?:.*\\\n)*.*", text, re.M):
        yield match[1], match.start(), match[0]


def find_ends(name, text):
    """Returns the tests of only the two ends of a range."""
    bad = []
    for match in CALL.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        given = arguments(text, match.end())
        address = given[FINDERS[match[1]]] if len(given) > FINDERS[match[1]] else ""
        if re.search(r"\+.*[\w)]\s*-\s*[\w(]", address, re.S):
            bad.append(f"{name}:{line}: {match[1]}() at the end of a range, {' '.join(address.split())}: give "
                       "vm_reach_span() the whole range")
        if re.search(r"!\s*$", text[:match.start()]) and match[1] in ("vm_reach", "vm_reach_span"):
            bad.append(f"{name}:{line}: {match[1]}() is only a test: what it finds is the one pointer that may be used")
    for function, at, body in functions(text):
        found = set(re.findall(r"\b(\w+)\s*=\s*(?:[^;=]*\?\s*)?(?:vm_reach|vm_reach_span|vm_pointer)\(", body))
        for match in re.finditer(r"\b(\w+) - (\w+)\b", body):
            if match[1] in found and match[2] in found:
                line = text.count("\n", 0, at) + body.count("\n", 0, match.start()) + 1
                bad.append(f"{name}:{line}: {function}() subtracts two pointers that it has found, {match[0]}: give "
                           "vm_reach_span() the whole range")
    return bad


def find_sums(name, text, named):
    """Returns the sums with a host address in functions that the page does not name."""
    bad = []
    for function, at, body in functions(text):
        for match in HOST.finditer(body):
            before = body[max(0, match.start() - 24):match.end()]
            if OTHERS.search(before) or function in named:
                continue
            line = text.count("\n", 0, at) + body.count("\n", 0, match.start()) + 1
            bad.append(f"{name}:{line}: {function}() adds to a host address of kernels' memory, and engine/sim/BOUNDARY.md "
                       f"has no row for it")
            break
    return bad


def find_missing(page, named):
    """Returns the rooms without a row."""
    return [f"{page}: the room {room} has no row" for room in LISTED if not any(file.startswith(room + "/") for file in named)]


def read_page(source, bad):
    """Returns {file: the functions that rows of the page name}, and the rows whose functions are not defined."""
    page, rows, named = "engine/sim/BOUNDARY.md", 0, {}
    for number, line in enumerate((source / page).read_text().splitlines(), 1):
        match = re.match(r"\| `([\w/]+\.(?:c|h|inc))`: ((?:`\w+\(\)`(?:, )?)+) \|", line)
        if line.startswith("| `") and not match:
            bad.append(f"{page}:{number}: a row begins with `file`: `function()`, ...")
        if not match:
            continue
        rows += 1
        path = source / "engine" / "sim" / match[1]
        names = re.findall(r"`(\w+)\(\)`", match[2])
        named.setdefault(match[1], set()).update(names)
        defined = {name for name, _, _ in functions(strip(path.read_text()))} if path.is_file() else set()
        for name in names:
            if name not in defined:
                bad.append(f"{page}:{number}: {match[1]} does not define {name}()")
    if not rows:
        bad.append(f"{page}: no rows")
    bad += find_missing(page, named)
    return named


def check_itself():
    """Tests that each planted violation is found, and that nothing is found in right code."""
    planted = [
        "static bool f(vm_warp *w)\n{\n    p = vm_reach(w, i, lane, space, to + bytes - 16, 16, true);\n}\n",
        "static bool f(vm_warp *w)\n{\n    p = vm_reach_span(w, i, lane, space,\n        at + VM_BYTES -\n PIECE, 16, 16, k);\n}\n",
        "static bool f(vm_warp *w)\n{\n    if (!first || !vm_reach(w, i, lane, space, end, 8, true))\n        return;\n}\n",
        "static char *f(vm_warp *w)\n{\n    char *first = vm_reach(w, i, 0, s, a, 16, 1);\n"
        "    char *last = first ? vm_reach(w, i, 0, s, b, 16, 1) : NULL;\n    return last - first != n ? NULL : first;\n}\n",
        "void *f(vm_device *d)\n{\n    return vm_pointer(d, address + bytes - 1, 1);\n}\n",
    ]
    sums = ["static char *f(vm_block *b)\n{\n    return block->shared + address;\n}\n",
            "#define LOAD(T) \\\n    x = *(T *)(c->host + (low - c->base));\n"]
    right = ["static bool f(vm_warp *w)\n{\n    p = vm_reach_span(w, i, lane, space, to - VM_SHARED_BASE, bytes, 16, k);\n"
             "    if (bytes && !(s = vm_reach_span(w, i, lane, space, from, bytes, 1, VM_REACH_READ)))\n        return;\n"
             "    /* vm_reach(w, i, lane, space, to + bytes - 16, 16, true) */\n    return box->shared + span;\n}\n"]
    wrong = [text for text in planted if not find_ends("planted", strip(text))]
    wrong += [text for text in sums if not find_sums("planted", strip(text), set())]
    wrong += [text for text in sums if find_sums("planted", strip(text), {"f", "LOAD"})]
    wrong += [text for text in right if find_ends("right", strip(text)) or find_sums("right", strip(text), set())]
    wrong += ["a page without the room device/ptx"] if find_missing("p", {f"{room}/a.c": {"f"} for room in LISTED if room != "device/ptx"}) != [
        "p: the room device/ptx has no row"] else []
    for text in wrong:
        print(f"boundary.py is wrong about its own example:\n{text}")
    return not wrong


def main():
    source, bad = pathlib.Path(sys.argv[1]).resolve(), []
    if not check_itself():
        return 1
    named, files = read_page(source, bad), 0
    for room in ROOMS:
        for path in sorted((source / "engine" / "sim" / room).rglob("*")):
            if path.suffix not in (".c", ".h", ".inc"):
                continue
            files += 1
            own, text = str(path.relative_to(source / "engine" / "sim")), strip(path.read_text())
            bad += find_ends(f"engine/sim/{own}", text)
            bad += find_sums(f"engine/sim/{own}", text, named.get(own, set()))
    for line in bad:
        print(line)
    print(f"{files} files, {sum(map(len, named.values()))} functions in the page: {len(bad) or 'nothing'} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
