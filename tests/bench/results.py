#!/usr/bin/env python3
"""Writes the pages of results of the catalogue from the rows that tests/bench/catalogue.sh measured.

  results.py add FOLDER ROWS.tsv...  adds the rows to FOLDER/results.tsv, where the rows of a work replace its older rows;
                                     then does the same as `page`. FOLDER is kernel_src
  results.py page FOLDER             writes the folder results/ from results.tsv: README.md and overview.svg, FAMILY.md and
                                     FAMILY.svg. Uses search.tsv too, the output of search.py, if it exists
  results.py known FOLDER SPECS      writes SPECS/known/FAMILY.yaml from results.tsv: the best configuration of each variant
                                     for each work. `kiln best` and sweeps begin with these (engine/best/README.md)
  results.py check FOLDER [SPECS]    fails if results/ or SPECS/known is not up to date with results.tsv
  results.py rows FAMILY WORK BOUND SWEEP.json BOUNDS.tsv PEER.tsv
                                     prints the rows of one sweep (catalogue.sh calls this)

A row has the columns family, work, kind, name, seconds, bytes, flops, detail. The kinds are:
  work     name is the device, and detail has the sizes
  bound    the bound for the speed of the work: so many bytes or flops in so many seconds
  sweep    name is the number of configurations, seconds is the wall time, and detail counts the failures
  variant  the best configuration of a variant, which is in detail
  aside    the same for a variant that is no contender: it is a bound, or it does not do the family's work
  peer     the same work by the library of a vendor or another project
  note     detail is a sentence that a reader of the figures must know. A person writes it if one run of catalogue.sh did
           not measure the whole work"""
import json
import os
import re
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the sources
import charts
import search

BENCH = os.path.dirname(os.path.abspath(__file__))
TABLE, PAGES, SEARCHES = "results.tsv", "results", "search.tsv"
COLUMNS = ("family", "work", "kind", "name", "seconds", "bytes", "flops", "detail")
NUMBERS = ("seconds", "bytes", "flops")
BOUNDS = {"copy": "the rate of a copy of 1 GiB", "read": "the rate of reading 1 GiB", "flops": "the fp32 peak",
          "special": "the rate of the special functions",
          "tensor": "the peak of the tensor cores"}
# The summary and the picture of all families leave these peers out; only the family's page has them. These peers do a
# part of the work, or they sort by the method of another family.
OTHER_WORK = {("quadtree", "CUB DeviceRadixSort alone"), ("cutoff", "direct summation at its rate"),
              ("mergesort", "CUB DeviceRadixSort::SortKeys"), ("mergesort", "CUB DeviceRadixSort::SortPairs")}
SHORT = {"frontier with CUB's DeviceScan": "frontiers by CUB", "CUB DeviceRadixSort and Thrust": "CUB and Thrust"}
SUMMARY_HEAD = """# Results of the catalogue

The pages of this folder have the best configuration of each variant of a family, at each size that was measured. Each name
of a family in the table leads to its page. `tests/bench/results.py` writes the pages and the pictures from
`kernel_src/results.tsv`, which `tests/bench/catalogue.sh` measures. Measured on: {devices}.

![Each family's best kernel beside the vendor's](overview.svg)

## How it was measured

- **Answers.** Every answer was checked. For the largest works of dcs, cutoff and mri a part of the rows was checked, as
  their specs say.
- **Time.** A time is the median of many repetitions between two events. The L2 cache was flushed before each repetition if
  the buffers fit in it.
- **Peer.** The peer is another library's kernel for the same work. It was timed in the same run and in the same way. The
  picture and the table leave out peers that do a part of the work, and for mergesort CUB's radix sort. The pages of the
  families have them.
- **Bound.** The bound of a work is one of four measured rates: copying or reading 1 GiB by `float4`
  (`tests/bench/peers/bounds.cu`), the fp32 peak, the peak of the tensor cores, or the rate of the special functions.
- **Share of the bound.** The share is the rate of the kernel divided by the bound. The rate counts the least traffic, or the
  operations, that the work needs. A share can be above 1 if a cache saves traffic, or if other units compute the special
  functions.
- **Brackets.** A variant in brackets does not do the family's work. It shows a bound, or it reads less.

## The best of each work
"""


def fail(text):
    sys.exit("results.py: " + text)


def settings(values):
    return " ".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in values.items())


def format_row(family, work, kind, name, seconds=0.0, bytes=0.0, flops=0.0, detail=""):
    return "\t".join([family, work, kind, name, f"{seconds:.9g}", f"{bytes:.10g}", f"{flops:.10g}", detail])


def read_rows(path):
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            values = line.rstrip("\n").split("\t")
            if len(values) != len(COLUMNS):
                fail(f"{path}:{number}: {len(COLUMNS)} columns are expected, not {len(values)}")
            row = dict(zip(COLUMNS, values))
            try:
                row.update((name, float(row[name])) for name in NUMBERS)
            except ValueError as error:
                fail(f"{path}:{number}: {error}")
            rows.append(row)
    return rows


def peer_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def tensor_peak(samples):
    """Returns the peak of the tensor cores, computed from a roofline of the sweep. A roofline is the time at the peak
    divided by the measured time."""
    for result in (sample.get("result") for sample in samples):
        if result and result["measured"] and (result.get("roofline_unit") or "").startswith("tensor"):
            return result["flops"] / (result["seconds"] * result["roofline"])
    return None


def sweep_rows(family, work, bound, sweep, bounds, peers):
    """Prints the rows of one work. `sweep` is a file that `kiln tune --json` wrote, or several such files of different
    variants, with colons between them. `peers` is a file with the lines that the peers print."""
    tunes = []
    for path in sweep.split(":"):
        with open(path, encoding="utf-8") as file:
            tune = json.load(file)
        if "samples" in tune:
            tunes.append(tune)
        # if there are several groups of variants, one of them may have no configuration for this work
        elif ":" not in sweep:
            fail(f"{path}: no samples: {tune.get('error', 'not a sweep')}")
    if not tunes:
        fail(f"{sweep}: no samples")
    tune = tunes[0]
    for more in tunes[1:]:
        tune["samples"] += more["samples"]
        for name in ("configurations", "seconds"):
            tune["totals"][name] += more["totals"][name]
    print(format_row(family, work, "work", tune["device"]["name"], detail=settings(tune["sizes"])))
    if bound == "flops":
        print(format_row(family, work, "bound", "flops", 1.0, flops=tune["device"]["peak_flops"]))
    if bound == "tensor":
        print(format_row(family, work, "bound", "tensor", 1.0, flops=tensor_peak(tune["samples"]) or
                         fail(f"{sweep}: no sample was held against the tensor cores")))
    bound, _, each = bound.partition(":")  # special:7: operations, as the spec counts them, for each special function
    for _, _, name, seconds, moved in peer_lines(bounds):
        if name == bound and each:
            print(format_row(family, work, "bound", name, float(seconds), flops=float(moved) * float(each)))
        elif name == bound:
            print(format_row(family, work, "bound", name, float(seconds), float(moved)))
    totals, best, reasons = tune["totals"], {}, {}
    for sample in tune["samples"]:
        result = sample.get("result")
        if sample["status"] != "KILN_OK":
            reasons[sample["status"]] = reasons.get(sample["status"], 0) + 1
        elif result and result["measured"] and (sample["variant"] not in best or
                                               result["seconds"] < best[sample["variant"]]["result"]["seconds"]):
            best[sample["variant"]] = sample
    if not best:
        fail(f"{sweep}: no configuration was measured; an estimate is none")
    print(format_row(family, work, "sweep", str(totals["configurations"]), totals["seconds"],
                     detail=", ".join(f"{count} x {status}" for status, count in sorted(reasons.items()))))
    for variant, sample in sorted(best.items(), key=lambda item: item[1]["result"]["seconds"]):
        result = sample["result"]
        print(format_row(family, work, "variant" if sample["contender"] else "aside", variant, result["seconds"], result["bytes"] or 0,
                         result["flops"] or 0, settings(sample["params"])))
    for of, its, name, seconds, moved in peer_lines(peers):
        if of == family and its == work:
            print(format_row(family, work, "peer", name, float(seconds), float(moved)))


def works():
    """Returns {family: [its works]} in the order of works.txt."""
    with open(os.path.join(BENCH, "works.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    found = {}
    for line in lines:  # a family whose works have several bounds has several lines
        found.setdefault(line[0], []).extend(line[2:])
    return found


class Work:
    """Holds the rows of one work of a family by their kind, and computes figures from them."""

    def __init__(self, rows):
        self.of = {kind: [row for row in rows if row["kind"] == kind] for kind in
                   ("work", "bound", "sweep", "variant", "aside", "peer", "note")}
        if len(self.of["work"]) != 1 or len(self.of["bound"]) != 1 or len(self.of["sweep"]) != 1:
            fail(f"{rows[0]['family']} {rows[0]['work']}: one row each of work, bound and sweep is expected")
        self.variants = sorted(self.of["variant"] + self.of["aside"], key=lambda row: row["seconds"])
        self.contenders = [row for row in self.variants if row["kind"] == "variant"]
        self.peers = sorted(self.of["peer"], key=lambda row: row["seconds"])
        self.device, self.sizes = self.of["work"][0]["name"], self.of["work"][0]["detail"]
        self.bound, self.sweep = self.of["bound"][0], self.of["sweep"][0]
        self.unit = "flops" if self.bound["name"] in ("flops", "special", "tensor") else "bytes"

    def rate(self, row):
        """Returns bytes or operations a second. A peer counts as doing the same number of them as the contenders."""
        amount = row[self.unit] if row["kind"] != "peer" else self.contenders[0][self.unit] if self.contenders else 0
        return amount / row["seconds"]

    def share(self, row):
        return self.rate(row) / self.rate(self.bound)


def known(rows):
    """Returns {family: {work: Work}} in the order of works.txt. Drops rows of families and works that works.txt does
    not list."""
    found = {}
    for family, names in works().items():
        for name in names:
            mine = [row for row in rows if row["family"] == family and row["work"] == name]
            if mine:
                found.setdefault(family, {})[name] = Work(mine)
    return found


def duration(seconds):
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3f} ms"


def against(work, row):
    """Returns the peer with which the summary and the picture compare the work: the fastest peer that does the whole
    work by the same method. Returns None if there is no such peer."""
    return next((peer for peer in work.peers if (row["family"], peer["name"]) not in OTHER_WORK), None)


def work_section(family, name, work):
    unit = "GFLOP/s" if work.unit == "flops" else "GB/s"
    failed = f" Failed: {work.sweep['detail']}." if work.sweep["detail"] else ""
    notes = "".join(f" {row['detail']}" for row in work.of["note"])
    lines = ["", f"## {family}: {name}", "",
             f"The sizes are {work.sizes.replace(' ', ', ')}. The bound is {BOUNDS[work.bound['name']]}: "
             f"{work.rate(work.bound) * 1e-9:,.0f} {unit}. The sweep tried "
             f"{work.sweep['name']} configurations in {work.sweep['seconds']:.1f} s.{failed}{notes}", "",
             f"| variant | time | {unit} | of the bound | configuration |", "| --- | --- | --- | --- | --- |"]
    for row in sorted(work.variants + work.peers, key=lambda row: row["seconds"]):
        label = (f"*{row['name']}* (peer)" if row["kind"] == "peer" else
                 row["name"] if row in work.contenders else f"({row['name']})")
        lines.append(f"| {label} | {duration(row['seconds'])} | {work.rate(row) * 1e-9:,.0f} | "
                     f"{work.share(row):.3f} | {row['detail']} |")
    return lines


def summary_page(families, searches):
    devices = sorted({work.device for of in families.values() for work in of.values()})
    lines = [*SUMMARY_HEAD.format(devices=", ".join(devices)).split("\n"),
             "| family | work | best variant | share of the bound | times as fast as the peer | peer |",
             "| --- | --- | --- | --- | --- | --- |"]
    for family, of in families.items():
        for name, work in of.items():
            if not work.contenders:
                continue
            best, share = work.contenders[0], work.share(work.contenders[0])
            peer = against(work, best)
            beside = f"{peer['seconds'] / best['seconds']:.2f} | {peer['name']}" if peer else "| "
            lines.append(f"| [{family}]({family}.md) | {name} | {best['name']} | {share:.3f} | {beside} |")
    if os.path.exists(searches):
        lines += search.section_of(searches)
    return "\n".join(lines) + "\n"


def family_page(family, of):
    first = next(iter(of))
    lines = [f"# Results of {family}", "",
             "`tests/bench/results.py` writes this page. [The summary](README.md) says how the figures were measured, and what a",
             f"bound is. [The spec](../../specs/{family}.yaml) explains the sizes and variants. The picture shows `{first}`.", "", f"![{family}, {first}: share of the bound]({family}.svg)"]
    for name, work in of.items():
        lines += work_section(family, name, work)
    return "\n".join(lines) + "\n"


def overview_chart(families):
    rows, devices = [], set()
    for family, of in families.items():
        work = next(iter(of.values()))
        if not work.contenders:
            continue
        best = work.contenders[0]
        peer = against(work, best)
        devices.add(work.device)
        if peer:
            speed = peer["seconds"] / best["seconds"]
            library = re.sub(r"'s$", "", re.search(r"(?:with )?(\w+)", peer["name"])[1])
            rows.append((family, speed, f"{speed:.2f} x {SHORT.get(peer['name'], library)}"))
        else:
            rows.append((family, None, f"no peer: {work.share(best):.2f} of {BOUNDS[work.bound['name']]}"))
    rows.sort(key=lambda row: -(row[1] or 0))
    return charts.overview(", ".join(sorted(devices)), rows)


def family_chart(family, of):
    name, work = next(iter(of.items()))
    rows = [("peer" if row["kind"] == "peer" else "best" if row in work.contenders else "aside", row["name"],
             work.share(row), duration(row["seconds"]))
            for row in sorted(work.variants + work.peers, key=lambda row: row["seconds"])]
    return charts.family(f"{family}: {name}", BOUNDS[work.bound["name"]], rows)


def pages_of(folder):
    """Returns {path below the folder of the pages: text} for all pages and pictures."""
    families = known(read_rows(os.path.join(folder, TABLE)))
    if not families:
        fail("no rows of works that works.txt names")
    texts = {"README.md": summary_page(families, os.path.join(folder, SEARCHES)), "overview.svg": overview_chart(families)}
    for family, of in families.items():
        texts[family + ".md"] = family_page(family, of)
        texts[family + ".svg"] = family_chart(family, of)
    return texts


def write_pages(folder):
    pages = os.path.join(folder, PAGES)
    os.makedirs(pages, exist_ok=True)
    texts = pages_of(folder)
    for name in sorted(set(os.listdir(pages)) - set(texts)):
        os.remove(os.path.join(pages, name))
    for name, text in texts.items():
        with open(os.path.join(pages, name), "w", encoding="utf-8") as file:
            file.write(text)


def add(folder, paths):
    table = os.path.join(folder, TABLE)
    rows = read_rows(table) if os.path.exists(table) else []
    for path in paths:
        new = read_rows(path)
        measured = {(row["family"], row["work"]) for row in new}
        rows = [row for row in rows if (row["family"], row["work"]) not in measured] + new
    # the sort is stable, so the rows of a work keep the order in which they were measured
    rows.sort(key=lambda row: (row["family"], row["work"]))
    with open(table, "w", encoding="utf-8") as file:
        file.writelines(format_row(*(row[column] for column in COLUMNS)) + "\n" for row in rows)
    write_pages(folder)


# ---- the shipped configurations ----

CAPABILITIES = {"NVIDIA H200": "9.0", "NVIDIA H100 80GB HBM3": "9.0"}
MADE = "2026-11-24T21:00:00Z"  # the date for works without a row `made`: they were measured at this time or earlier
WORDS = ("yes", "no", "on", "off", "null", "true", "false", "y", "n", "~")


def yaml_value(text):
    """Returns a value of a setting for YAML. A number is unchanged. A text gets quotes if YAML would read it as
    something else."""
    try:
        float(text)
        return text
    except ValueError:
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text.lower() not in WORDS
        return text if plain else json.dumps(text)


def yaml_settings(detail):
    pairs = sorted(pair.split("=", 1) for pair in detail.split())
    return "{" + ", ".join(f"{name}: {yaml_value(value)}" for name, value in pairs) + "}"


def known_texts(folder):
    """Returns {family: text of its file}. The entries are sorted, so that files can be compared."""
    rows = read_rows(os.path.join(folder, TABLE))
    works = {(row["family"], row["work"]): row for row in rows if row["kind"] == "work"}
    made = {(row["family"], row["work"]): row["name"] for row in rows if row["kind"] == "made"}
    entries = {}
    for row in rows:
        if row["kind"] != "variant":
            continue
        work = works[row["family"], row["work"]]
        device, sizes = work["name"], yaml_settings(work["detail"])
        entries.setdefault(row["family"], {})[device, sizes, row["name"]] = "".join((
            f"- spec: {row['family']}\n", f"  device: {device}\n", f"  cc: \"{CAPABILITIES[device]}\"\n",
            f"  sizes: {sizes}\n", f"  variant: {row['name']}\n", f"  params: {yaml_settings(row['detail'])}\n",
            f"  seconds: {row['seconds']:.9g}\n", "  how: measured\n", "  verified: true\n",
            f"  made: {made.get((row['family'], row['work']), MADE)}\n"))
    return {family: "kiln-best: 1\nbest:\n" + "".join(text for _, text in sorted(found.items()))
            for family, found in entries.items()}


def write_known(folder, specs):
    os.makedirs(os.path.join(specs, "known"), exist_ok=True)
    for family, text in known_texts(folder).items():
        with open(os.path.join(specs, "known", family + ".yaml"), "w", encoding="utf-8") as file:
            file.write(text)


def check_known(folder, specs):
    for family, text in known_texts(folder).items():
        path = os.path.join(specs, "known", family + ".yaml")
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                fail(f"{path} is not what {TABLE} gives: run tests/bench/results.py known {folder} {specs}")


def check(folder, specs=None):
    if specs:
        check_known(folder, specs)
    pages, texts = os.path.join(folder, PAGES), pages_of(folder)
    advice = f"run tests/bench/results.py page {folder}"
    for name in sorted(set(os.listdir(pages)) - set(texts)):
        fail(f"{TABLE} gives no {PAGES}/{name}: {advice}")
    for name, text in texts.items():
        try:
            with open(os.path.join(pages, name), encoding="utf-8") as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if not same:
            fail(f"{PAGES}/{name} is not what {TABLE} gives: {advice}")


def main(command, *arguments):
    if command == "rows" and len(arguments) == 6:
        sweep_rows(*arguments)
    elif command == "add" and len(arguments) >= 2:
        add(arguments[0], arguments[1:])
    elif command == "page" and len(arguments) == 1:
        write_pages(*arguments)
    elif command == "known" and len(arguments) == 2:
        write_known(*arguments)
    elif command == "check" and len(arguments) in (1, 2):
        check(*arguments)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
