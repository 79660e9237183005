#!/usr/bin/env python3
"""Compares Kiln's search with the strategies of Kernel Tuner, on the same recorded spaces and with the same score.

  tuners.py [--seeds 10] [--strategies NAME,...] [--venv FOLDER] [--traces FOLDER] FILE... > table.md
  tuners.py --check [--seeds 3] [FILE...]

For each FILE (a recorded space) and each strategy, with seeds 1 to --seeds:
  1. A search gives a trace: the configurations that it tried, each once, in their order. Kernel Tuner searches in its
     simulation mode with its own defaults. Some of its strategies plan with `max_fevals`. Its value is the number of
     configurations that random search tries within the budget, and at least 200. The trace of Kiln comes from `kiln tune
     --replay`. The cost and the time of a configuration come from the file, as `kiln tune --replay --strategy exhaustive`
     reads it.
  2. The same functions (score_of, shares_of) score the traces of both tuners. They give the score of
     engine/recording/README.md, and the share of the optimum that is reached after 10, 50, 100 and 200 configurations.
In the table, a score is a mean over the seeds, with the standard error of the mean. A share is the median over the seeds, and
then the mean over the files.

pip installs Kernel Tuner from PyPI into a virtual environment, by default build/kernel_tuner; the project contains no part of it.
If a strategy cannot run, because a package that it needs is not installed, standard error names it. --traces keeps the traces in
that folder and does not make them again. After a change of Kiln, name another folder. A search that takes more than --limit
seconds of a core is left out. --check needs no Kernel Tuner: it compares the scores of Kiln's traces with those of
`kiln compare-strategies`. Without FILE it uses a space that it makes up."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = "kernel_tuner==1.5.0"
STEPS, SHARES_AT, LEAST_TRACE = 100, (10, 50, 100, 200), 200
NOT_COMPARED = ("brute_force", "nsga2", "nsga3")  # brute_force is no search; the others search for several objectives
INF = float("inf")


# ---- a recorded space, and the score of a trace on it ----

class Space:
    """`rows` is {configuration as a tuple: (seconds, cost in seconds)}. The seconds are INF if the configuration
    failed."""

    def __init__(self, path, kiln):
        whole = ask([kiln, "tune", "--replay", path, "--strategy", "exhaustive", "--max-configurations", "1000000000",
                     "--json", "--quiet"])
        self.path, self.rows, before = path, {}, 0.0
        self.names = list(whole["steps"][0]["params"])
        for step in whole["steps"]:
            self.rows[tuple(step["params"].values())] = (INF if step["seconds"] is None else step["seconds"],
                                                         step["clock_seconds"] - before)
            before = step["clock_seconds"]
        ran = sorted(seconds for seconds, _ in self.rows.values() if seconds < INF)
        self.optimum, self.worst, median = ran[0], ran[-1], statistics.median(ran)
        self.sorted = ran + [self.worst] * (len(self.rows) - len(ran))
        self.cost = sum(cost for _, cost in self.rows.values()) / len(self.rows)
        goal, low, high = self.optimum + 0.05 * (median - self.optimum), 0, len(self.rows)
        while high - low > 1:  # `low` draws do not reach the goal, `high` do
            middle = (low + high) // 2
            low, high = (low, middle) if self.random_best(middle) <= goal else (middle, high)
        self.draws, self.budget = high, high * self.cost

    def random_best(self, draws):
        """Returns the expected best time of `draws` different random configurations."""
        count = len(self.sorted)
        if draws == 0 or draws >= count:
            return self.worst if draws == 0 else self.optimum
        chance, total = draws / count, 0.0
        for k, seconds in enumerate(self.sorted, 1):
            total += chance * seconds
            if k == count or chance <= 0:
                break
            chance *= (count - k - draws + 1) / (count - k)
        return total


def score_of(space, trace):
    """Returns the mean, over equal parts of the budget, of (random's best - this best) / (random's best - optimum)."""
    clock, at, best, total = 0.0, 0, space.worst, 0.0
    for step in range(1, STEPS + 1):
        end = space.budget * step / STEPS
        while at < len(trace) and clock + space.rows[trace[at]][1] <= end:
            seconds, cost = space.rows[trace[at]]
            clock, best, at = clock + cost, min(best, seconds), at + 1
        random = space.random_best(int(end / space.cost * (1 + 1e-12)))
        total += (random - best) / (random - space.optimum) if random > space.optimum else 0
    return total / STEPS


def shares_of(space, trace):
    best, shares = space.worst, {}
    for number, configuration in enumerate(trace, 1):
        best = min(best, space.rows[configuration][0])
        shares[number] = space.optimum / best
    return [shares.get(min(at, len(trace)), 0) for at in SHARES_AT]


# ---- traces ----

def ask(command):
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def kiln_trace(options, space, strategy, seed):
    replayed = ask([options.kiln, "tune", "--replay", space.path, "--strategy", strategy, "--seed", str(seed), "--json",
                    "--quiet", "--max-configurations", str(2 * max(space.draws, LEAST_TRACE))])
    return [tuple(step["params"].values()) for step in replayed["steps"]]


def tuner_process(options, space, jobs):
    """Yields (strategy, seed, trace). If there is no trace, yields the reason in its place. One process runs all
    searches on a file, so that the search space is built once."""
    python = os.path.join(options.venv, "bin", "python")
    rows = [[list(configuration), None if seconds == INF else seconds, cost]
            for configuration, (seconds, cost) in space.rows.items()]
    task = {"names": space.names, "rows": rows, "jobs": jobs, "fevals": max(space.draws, LEAST_TRACE),
            "limit": options.limit}
    with subprocess.Popen([python, os.path.abspath(__file__), "--inside"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1")) as process:
        process.stdin.write(json.dumps(task))
        process.stdin.close()
        for line in process.stdout:
            strategy, seed, trace = json.loads(line)
            yield strategy, seed, trace if isinstance(trace, str) else [tuple(one) for one in trace]


# ---- inside the virtual environment ----

def inside():
    """Runs the searches of Kernel Tuner that standard input names. Writes one line of JSON for each trace to standard
    output."""
    # pylint: disable=import-error,import-outside-toplevel
    import random
    import signal
    import warnings
    import numpy
    from kernel_tuner import interface, tune_kernel, util
    from kernel_tuner.runners.simulation import SimulationRunner
    from kernel_tuner.searchspace import Searchspace

    warnings.simplefilter("ignore")
    task, out = json.load(sys.stdin), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of Kernel Tuner goes to standard error, because standard output has the traces
    names, cache, configurations = task["names"], {}, {}
    values = {name: sorted({row[0][i] for row in task["rows"]}) for i, name in enumerate(names)}
    for configuration, seconds, cost in task["rows"]:
        key = ",".join(str(value) for value in configuration)
        row = dict(zip(names, configuration), compile_time=0, verification_time=0, benchmark_time=1e3 * cost)
        row.update({"time": 1e3 * seconds} if seconds else {"time": util.RuntimeFailedConfig(),
                                                            "__error__": util.RuntimeFailedConfig()})
        cache[key], configurations[key] = row, configuration
    # The content of the file and the space of its configurations are the same for every search, so they are made once.
    space = Searchspace(None, None, None, from_cache={"tune_params": values, "cache": cache})
    interface.Searchspace = lambda *arguments, **options: space
    util.process_cache = lambda *arguments, **options: cache
    util.close_cache = lambda *arguments: None
    tried, run = [], SimulationRunner.run

    def traced(runner, elements, options):
        results = run(runner, elements := list(elements), options)
        for element, result in zip(elements, results):
            key = ",".join(str(value) for value in element)
            if result is not None and key in configurations and key not in seen:
                seen.add(key)
                tried.append(configurations[key])
        return results

    def over_time(number, frame):
        raise TimeoutError(f"still searching after {task['limit']} s of a core")

    SimulationRunner.run = traced
    signal.signal(signal.SIGPROF, over_time)
    for strategy, seed in task["jobs"]:
        seen = set()
        tried.clear()
        random.seed(seed)
        numpy.random.seed(seed)
        signal.setitimer(signal.ITIMER_PROF, task["limit"])
        try:
            tune_kernel("recorded", "__global__ void recorded() {}", 1, [], dict(values), lang="CUDA",
                        strategy=strategy, strategy_options={"max_fevals": min(task["fevals"], len(cache))},
                        simulation_mode=True, cache="recorded.json", quiet=True)
            said = list(tried)
        except Exception as error:  # pylint: disable=broad-except
            said = f"{type(error).__name__}: {error}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([strategy, seed, said or "nothing was tried"]), file=out, flush=True)


def install(venv):
    """Returns all strategies of Kernel Tuner that are compared."""
    python = os.path.join(venv, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    if subprocess.run([python, "-c", "import kernel_tuner"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True, stdout=sys.stderr)
    listed = subprocess.run([python, "-c", "from kernel_tuner.interface import strategy_map; print(*strategy_map)"],
                            check=True, stdout=subprocess.PIPE, text=True)
    return [name for name in listed.stdout.split() if name not in NOT_COMPARED]


# ---- the table ----

def kept(options, space, tuner, strategy, seed):
    name = f"{os.path.basename(space.path)}-{tuner}-{strategy}-{seed}.json"
    return os.path.join(options.traces, name) if options.traces else None


def load(path):
    if not path or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return [tuple(one) for one in json.load(file)]


def keep(path, trace):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)


def traces_of(options, space, tuners):
    """Returns {(tuner, strategy): traces}. If a strategy failed once, all its traces are left out."""
    found, missing = {}, []
    for tuner, strategy in tuners:
        for seed in range(1, options.seeds + 1):
            path = kept(options, space, tuner, strategy, seed)
            trace = load(path)
            if trace is None and tuner == "kiln":
                keep(path, trace := kiln_trace(options, space, strategy, seed))
            if trace is None:
                missing.append((strategy, seed))
            else:
                found.setdefault((tuner, strategy), []).append(trace)
    failed = set()
    for strategy, seed, trace in tuner_process(options, space, missing) if missing else ():
        if isinstance(trace, str):
            if strategy not in failed:
                print(f"tuners.py: {strategy} on {os.path.basename(space.path)}: {trace}", file=sys.stderr)
            failed.add(strategy)
            continue
        keep(kept(options, space, "kt", strategy, seed), trace)
        found.setdefault(("kt", strategy), []).append(trace)
    return {key: traces for key, traces in found.items() if key[1] not in failed}


def error_of(values):
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0


def table(options, files, tuners):
    spaces = [Space(path, options.kiln) for path in files]
    scores, shares = {}, {}
    for space in spaces:
        for key, traces in traces_of(options, space, tuners).items():
            scores.setdefault(key, []).append([score_of(space, trace) for trace in traces])
            reached = zip(*(shares_of(space, trace) for trace in traces))
            shares.setdefault(key, []).append([statistics.median(at) for at in reached])
    print("| tuner, strategy | mean | " + " | ".join(os.path.basename(s.path).split(".json")[0] for s in spaces) +
          " | " + " | ".join(f"{at}" for at in SHARES_AT) + " |")
    print("| --- " * (2 + len(spaces) + len(SHARES_AT)) + "|")
    whole = [key for key in scores if len(scores[key]) == len(spaces)]
    for key in sorted(whole, key=lambda k: -statistics.mean(statistics.mean(one) for one in scores[k])):
        means = [statistics.mean(one) for one in scores[key]]
        error = sum(error_of(one) ** 2 for one in scores[key]) ** 0.5 / len(spaces)
        name = f"{'Kiln' if key[0] == 'kiln' else 'Kernel Tuner'}, `{key[1]}`"
        print(f"| {name} | {statistics.mean(means):.3f} ± {error:.3f} | " +
              " | ".join(f"{mean:.3f}" for mean in means) + " | " +
              " | ".join(f"{statistics.mean(at):.3f}" for at in zip(*shares[key])) + " |")


def made_up(folder):
    """Writes an invented space of 480 configurations as a cache file of Kernel Tuner. Some of the configurations have
    failed."""
    rows = {}
    for x in range(1, 13):
        for y in range(1, 9):
            for z in range(1, 6):
                seconds = 1 + 0.1 * (x - 5) ** 2 + 0.3 * (y - 6) ** 2 + 0.05 * ((x * 7 + y * 5 + z * 3) % 11)
                rows[f"{x},{y},{z}"] = {"x": x, "y": y, "z": z, "compile_time": 100 + 10 * z, "verification_time": 0,
                                        "benchmark_time": 30 * seconds,
                                        "time": "RuntimeFailedConfig" if x * y % 17 == 8 else seconds}
    path = os.path.join(folder, "made_up.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"kernel_name": "k", "device_name": "d", "tune_params_keys": ["x", "y", "z"], "cache": rows}, file)
    return path


def check(options, strategies):
    """Tells whether this program gives the same scores as `kiln compare-strategies`."""
    with tempfile.TemporaryDirectory() as folder:
        return check_on(options, strategies, options.files or [made_up(folder)])


def check_on(options, strategies, files):
    said = ask([options.kiln, "compare-strategies", *files, "--strategies", ",".join(strategies), "--seeds",
                str(options.seeds), "--json"])
    wrong = 0
    for number, path in enumerate(files):
        space = Space(path, options.kiln)
        for name, scored in zip(strategies, said["strategies"]):
            traces = [kiln_trace(options, space, name, seed) for seed in range(1, options.seeds + 1)]
            here, there = statistics.mean(score_of(space, trace) for trace in traces), scored["files"][number]
            share = statistics.median(shares_of(space, trace)[SHARES_AT.index(100)] for trace in traces)
            differ = abs(here - there["score"]) > 1e-6 or abs(share - there["share_after_100"]) > 1e-6
            wrong += differ
            print(f"{os.path.basename(path)}, {name}: {here:.6f} here, {there['score']:.6f} by Kiln{' WRONG' * differ}")
    print("the scores differ" if wrong else "the scores are the same")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--inside"]:
        inside()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--strategies", help="Kernel Tuner's; default: all")
    parser.add_argument("--own", default="surrogate", help="Kiln's")
    parser.add_argument("--venv", default=os.path.join(ROOT, "build", "kernel_tuner"))
    parser.add_argument("--traces", help="a folder that keeps traces")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--kiln", default=os.environ.get("KILN", os.path.join(ROOT, "build/release/tools/kiln")))
    parser.add_argument("--check", action="store_true", help="compare scores with those of kiln compare-strategies")
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    if options.check:
        sys.exit(check(options, options.own.split(",")))
    if not options.files:
        parser.error("no FILE is given")
    names = install(options.venv)
    asked = options.strategies.split(",") if options.strategies else names
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)
    tuners = [("kiln", name) for name in options.own.split(",") if name]
    table(options, options.files, tuners + [("kt", name) for name in asked])


if __name__ == "__main__":
    main()
