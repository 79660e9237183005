#!/usr/bin/env python3
"""Checks the rooms of the engine against the tables of engine/CMakeLists.txt and engine/sim/CMakeLists.txt (kiln_room), and the
folders of the command against the table of tools/CMakeLists.txt (kiln_command_part). It checks the includes of each room, the
symbols that it needs, its size, and that ARCHITECTURE.md (tools/kiln/README.md) shows the same table.

    rooms.py SOURCE_FOLDER BUILD_FOLDER          the test: exit 1 with a line for each thing that is wrong
    rooms.py SOURCE_FOLDER BUILD_FOLDER --table  prints the graph as it is
    rooms.py SOURCE_FOLDER BUILD_FOLDER --inside ROOM...
                                                 prints the cycles inside these rooms, or inside all rooms if none is
                                                 named, and the arrows whose removal would leave no cycle

kernel_src/ is no room: no room may include its headers, and its own files may use helpers of HELPERS alone.

A room is a folder of engine/ or tools/kiln/ that such a table names. It may include headers and need symbols only of
the rooms that its USES names. Only files of the same room may include a header NAME_internal.h. Every name in USES must
be needed, and there must be no cycle. --table shows the number of lines of each room.

The files inside a room form layers too: an arrow goes from a file to a file whose function or table it needs. The
upward arrows of a room are the smallest set of arrows whose removal leaves no cycle. UPWARD has the rooms with such
arrows, and their number. If a room has fewer than this number, the test fails too, so that the number can only
shrink."""
import collections
import pathlib
import re
import subprocess
import sys

# What kernel_src/ may include of the engine: arrays, random numbers, lines of text, matrices. call.h is not in the
# list, because it has the members of a call. A host function of the catalogue must see no more than a host function of
# an application.
HELPERS = {"chars.h", "random.h", "data.h", "sparse.h", "lines.h", "kiln.h"}

# Shared names of the simulated device begin with their room's name. These rooms also have names of an interface.
ALSO = {"sim/device/jit": ("sim_",), "sim/observe/model": ("sim_",)}

UPWARD = {
    "sim/device/ptx": 2,
    "sim/device/vm": 1,  # a child grid runs inside the block that launched it
    "sim/device/jit": 2,
    "sim/observe/count": 1,
    "sim/driver/objects": 10,
    "sim/driver/work": 6,
    "sim/programs": 6,
    "store": 2,
    "draft": 2,
    "cli": 5,
    "report": 6,
    "commands": 4,
}


def read_table(text, function, base):
    """Returns {room: [rooms it uses]} in order, and {room: [folders]}."""
    uses, folders = {}, {}
    for arguments in re.findall(rf"^ *{function}\(([^)]*)\)", re.sub(r"#.*", "", text), re.M):
        words = arguments.split()
        room, part = words[0], "none"
        lists = collections.defaultdict(list)
        for word in words[1:]:
            if word in ("USES", "PACKAGES", "INSIDE"):
                part = word
            else:
                lists[part].append(word)
        uses[room] = lists["USES"]
        folders[room] = [base / room] + [base / room / inside for inside in lists["INSIDE"]]
    return uses, folders


def read_files(folders):
    """Returns {file: room} for all C files in the rooms."""
    return {path: room for room, list_ in folders.items() for folder in list_ for path in sorted(folder.iterdir())
            if path.suffix in (".c", ".h", ".inc", ".def")}


def includes(files, bad):
    """Returns {(room, other room): why} from includes by name, because names of headers are unique. Also returns {room:
    rooms whose headers its files include, directly or through other headers}."""
    by_name, direct = {}, collections.defaultdict(set)
    for path, room in files.items():
        if path.suffix != ".c":
            if path.name in by_name:
                bad.append(f"{path.name}: a header of {room} and of {files[by_name[path.name]]}: names must differ")
            by_name[path.name] = path
    edges = {}
    for path, room in files.items():
        for line, text in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', text)
            if not match or match[1] == "kiln.h" or match[1].startswith("kiln_"):
                continue
            target = by_name.get(match[1])
            if not target:
                bad.append(f"{path}:{line}: no room has {match[1]}")
                continue
            other = files[target]
            direct[path].add(target)
            if other == room:
                continue
            if target.stem.endswith("_internal"):
                bad.append(f"{path}:{line}: {match[1]} is for the files of {other} alone")
            edges.setdefault((room, other), f"{path.name}:{line} includes {match[1]}")
    seen = collections.defaultdict(set)
    for path, room in files.items():
        open_, done = list(direct[path]), set()
        while open_:
            header = open_.pop()
            if header not in done:
                done.add(header)
                seen[room].add(files[header])
                open_ += direct[header]
    return edges, seen


def read_archive(archive):
    """Returns {symbol: object} and {object: {symbols that it needs}} of a static library. The names of objects have no
    `.o`."""
    own, needs = {}, collections.defaultdict(set)
    output = subprocess.run(["nm", "-A", archive], capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        where, _, rest = line.rpartition(":")
        words, file = rest.split(), where.rsplit(":", 1)[-1].removesuffix(".o")
        if len(words) == 3 and words[1] in "TDBRVWC":
            own[words[2]] = file
        elif len(words) == 2 and words[0] == "U":
            needs[file].add(words[1])
    return own, needs


def find_arrows(own, needs):
    """Returns {(object, other object): [names]} inside a static library."""
    arrows = collections.defaultdict(list)
    for file in sorted(needs):
        for name in sorted(needs[file]):
            if own.get(name, file) != file:
                arrows[file, own[name]].append(name)
    return arrows


def symbols(folders, build, uses, prefix, bad):
    """Returns {(room, other room): why}, from the objects of each room's archive, and {room: arrows inside the
    room}."""
    defined, wanted, inside = {}, collections.defaultdict(dict), {}
    for room in uses:
        if not any(path.suffix == ".c" for folder in folders[room] for path in folder.iterdir()):
            continue # the room has only headers
        archive = next(build.glob(f"**/lib{prefix}{room.replace('/', '_')}.a"), None)
        if not archive:
            sys.exit(f"rooms.py: no archive of room {room} below {build}")
        own, needs = read_archive(archive)
        if room.startswith("sim/device/") or room.startswith("sim/observe/"):
            start = (room.rsplit("/", 1)[-1] + "_", "kiln_", *ALSO.get(room, ()))
            bad += [f"{room}: {name} does not begin with {start[0]}" for name in sorted(own) if not name.startswith(start)]
        defined.update({name: room for name in own})
        for file, names in needs.items():
            for name in names:
                wanted[room].setdefault(name, file)
        inside[room] = find_arrows(own, needs)
    edges = {}
    for room, names in wanted.items():
        for name, where in names.items():
            other = defined.get(name)
            if other and other != room:
                edges.setdefault((room, other), f"{where} needs {name}()")
    return edges, inside


def circles(arrows):
    """Returns the strongly connected components of more than one file, by Tarjan's algorithm."""
    adjacent = collections.defaultdict(list)
    for from_, to in arrows:
        adjacent[from_].append(to)
    index, low, stack, found = {}, {}, [], []

    def visit(file):
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in adjacent[file]:
            if other not in index:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == index[file]:
            at = stack.index(file)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(adjacent):
        if file not in index:
            visit(file)
    return found


def upward(circle, arrows):
    """Returns the smallest number of upward arrows between the files of a cycle, over all orders of the files. The
    number is exact: dynamic programming runs over the sets of files that are below."""
    number = {file: i for i, file in enumerate(circle)}
    needs = [0] * len(circle)
    for from_, to in arrows:
        if from_ in number and to in number:
            needs[number[from_]] |= 1 << number[to]
    least, last = {0: 0}, {}
    for _ in circle:
        grown = {}
        for below, count in least.items():
            for i, of in enumerate(needs):
                if not below >> i & 1:
                    sum_, with_ = count + bin(of & ~below).count("1"), below | 1 << i
                    if sum_ < grown.get(with_, 1 << 30):
                        grown[with_] = sum_
                        last[with_] = i
        least = grown
    order, set_ = [], (1 << len(circle)) - 1
    while set_:
        order.append(last[set_])
        set_ &= ~(1 << last[set_])
    place = {circle[i]: at for at, i in enumerate(reversed(order))}
    return [(a, b) for a, b in arrows if a in number and b in number and place[b] > place[a]]


def check_inside(inside, bad, show):
    """Compares the upward arrows inside each room with UPWARD. With `show`, prints the cycles of the rooms in
    `show`."""
    for room, arrows in inside.items():
        found = circles(arrows)
        if show is not None and (not show or room in show):
            print(f"{room}: {len(arrows)} arrows, {len(found)} circles")
            for circle in found:
                print("   " + " ".join(circle))
                for a, b in upward(circle, arrows):
                    print(f"       {a} -> {b}: {' '.join(arrows[a, b])}")
        if show is not None:
            continue
        count = sum(len(upward(circle, arrows)) for circle in found)
        allowed = UPWARD.get(room, 0)
        if count > allowed:
            bad.append(f"room {room}: {count} arrows between its files run upward, {allowed} may: rooms.py --inside {room}")
        elif count < allowed:
            bad.append(f"room {room}: {count} arrows between its files run upward: write {count} into UPWARD")


def find_cycle(uses):
    state = {}

    def visit(room, path):
        state[room] = 1
        for other in uses.get(room, []):
            if state.get(other) == 1:
                return path + [other]
            if other not in state:
                found = visit(other, path + [other])
                if found:
                    return found
        state[room] = 2
        return None

    for room in uses:
        if room not in state:
            found = visit(room, [room])
            if found:
                return found
    return None


def count_lines(files):
    total = collections.Counter()
    for path, room in files.items():
        total[room] += path.read_text().count("\n")
    return total


def check_page(page, uses, bad):
    """Returns the rows `room/` | ... | uses of the page."""
    shown = {}
    for line in page.read_text().splitlines():
        match = re.match(r"\| `([\w/]+)/` \|.*\|([^|]*)\|$", line)
        if match:
            shown[match[1]] = [name for name in match[2].split() if name != "nothing"]
    for room, others in uses.items():
        if room not in shown:
            bad.append(f"{page.name}: no row for `{room}/`")
        elif sorted(shown[room]) != sorted(others):
            bad.append(f"{page.name}: `{room}/` uses {' '.join(others) or 'nothing'}, the page says "
                       f"{' '.join(shown[room]) or 'nothing'}")
    for room in shown:
        if room not in uses:
            bad.append(f"{page.name}: `{room}/` is no room")


def check(base, tables, function, prefix, page, build, show, show_inside):
    """Checks the rooms of these tables. Returns True if nothing is wrong."""
    bad = []
    uses, folders = read_table("".join(table.read_text() for table in tables), function, base)
    files = read_files(folders)
    edges, seen = includes(files, bad)
    by_symbol, inside = symbols(folders, build, uses, prefix, bad)
    total = count_lines(files)
    check_inside(inside, bad, show_inside)
    if show_inside is not None:
        return True
    if show:
        for room in uses:
            print(f"{room:16} {total[room]:6}  " +
                  " ".join(o for o in uses if (room, o) in edges or (room, o) in by_symbol))
        return True
    for (room, other), why in {**by_symbol, **edges}.items():
        if other not in uses[room]:
            bad.append(f"room {room} may not use {other}: {why}")
    for room, others in uses.items():
        bad += [f"room {room} does not need {other}" for other in others
                if other not in seen[room] and (room, other) not in by_symbol]
    cycle = find_cycle(uses)
    if cycle:
        bad.append("a cycle: " + " -> ".join(cycle))
    check_page(page, uses, bad)
    if bad:
        print("\n".join(bad))
    print(f"{base.name}: {len(uses)} rooms, {len(files)} files, {len(set(edges) | set(by_symbol))} edges: "
          f"{len(bad) or 'nothing'} wrong")
    return bool(uses) and not bad


def check_catalogue(folder, build, show, show_inside):
    """Checks the includes of the files of kernel_src/, and which of these files need each other. Returns True if
    nothing is wrong."""
    files = [path for path in sorted(folder.rglob("*.[ch]"))]
    own = {path.name for path in files}
    bad, used = [], set()
    for path in files:
        for line, text in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', text)
            if match and match[1] not in own | HELPERS:
                bad.append(f"{path}:{line}: kernel_src may not include {match[1]}")
            elif match:
                used.add(match[1])
    bad += [f"kernel_src does not need {name}" for name in sorted(HELPERS - used)]
    own, needs = read_archive(build / "kernel_src" / "libkiln-catalogue.a")
    check_inside({"kernel_src": find_arrows(own, needs)}, bad, show_inside)
    if not show and show_inside is None:
        print("\n".join(bad + [f"kernel_src: {len(files)} files: {len(bad) or 'nothing'} wrong"]))
    return bool(files) and not bad


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    engine, tools, show = source / "engine", source / "tools", "--table" in sys.argv
    show_inside = sys.argv[sys.argv.index("--inside") + 1:] if "--inside" in sys.argv else None
    good = [check(engine, [engine / "sim" / "CMakeLists.txt", engine / "CMakeLists.txt"], "kiln_room", "kiln_",
                  engine / "ARCHITECTURE.md", build, show, show_inside),
            check(tools / "kiln", [tools / "CMakeLists.txt"], "kiln_command_part", "kiln_command_",
                  tools / "kiln" / "README.md", build, show, show_inside),
            check_catalogue(source / "kernel_src", build, show, show_inside)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
