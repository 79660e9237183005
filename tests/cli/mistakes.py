"""mistakes.py KILN SOURCE: mistakes that new users make in a spec and at the shell. Each gets a message with the place, the
cause, and what to write instead. A row has the parts that the message must contain.

A row of SPECS changes the text BASE and runs a command on it; the first part is the place in the file. A row of SHELL is a
command; the place is the word or the option that is wrong. The program also checks that the command knows every
environment variable that the sources read."""
import os, pathlib, re, shutil, subprocess, sys, tempfile

kiln, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
KERNEL = '''extern "C" __global__ void affine(float a, const float *x, float *y, int n)
{
    int first = blockIdx.x * BLOCK * ITEMS + threadIdx.x;
    for (int i = 0; i < ITEMS; i++)
        if (first + i * BLOCK < n)
            y[first + i * BLOCK] = a * x[first + i * BLOCK];
}
'''
BASE = '''kiln: 1
name: affine
source: affine.cu
sizes:
  default: {N: 5000}
  tiny: {N: 500}
buffers:
  x: {type: f32, shape: [N], fill: {uniform: [-1, 1]}}
  y: {type: f32, shape: [N], out: true}
metrics: {flops: N, bytes: 8 * N}
verify:
  y: {against: {variant: plain}}
variants:
  plain:
    params: {BLOCK: [64, 128], ITEMS: [1, 2]}
    launch: {kernel: affine, grid: ["ceil_div(N, BLOCK * ITEMS)"], block: [BLOCK], args: [2.0, x, y, N]}
  other:
    params: {BLOCK: [32], ITEMS: [4]}
    launch: {kernel: affine, grid: ["ceil_div(N, BLOCK * ITEMS)"], block: [BLOCK], args: [2.0, x, y, N]}
'''
SHOW, RUN, TUNE = "kiln show m.yaml", "kiln run m.yaml", "kiln tune m.yaml --no-store"
ITEMS, FILL, TYPE, GRID = "ITEMS: [1, 2]", "{uniform: [-1, 1]}", "x: {type: f32", 'grid: ["ceil_div(N, BLOCK * ITEMS)"]'
ARGS, LAUNCH = "args: [2.0, x, y, N]", "    launch: {kernel: affine"
SPECS = [  # the replaced text, the new text, the command, the parts of the message
    # values of params
    (ITEMS, "ITEMS: 1-4", SHOW, "m.yaml:15:39", "is not a range", "{from: 1, to: 4}"),
    (ITEMS, 'ITEMS: "1, 2"', SHOW, "m.yaml:15:40", "several values need brackets", "[1, 2"),
    (ITEMS, "ITEMS: range(1, 5)", SHOW, "m.yaml:15:39", "is a Python expression", "{from: FIRST, to: LAST}"),
    (ITEMS, "ITEMS: {1, 2}", SHOW, "m.yaml:15:40", "'1' has no value in a param", "[1, 2]"),
    (ITEMS, "ITEMS: []", SHOW, "m.yaml:15:39", "no values", "write [1, 2, 4]"),
    (ITEMS, "ITEMS: [1, 2, 2]", SHOW, "m.yaml:15:39", "the value 2 twice", "leave one out"),
    (ITEMS, "ITEMS: [1, two]", SHOW, "m.yaml:15:39", "different kinds", "all must be numbers"),
    (ITEMS, "ITEMS: {values: [1, 2], default: 3}", SHOW, "m.yaml:15:65", "not one of its values", "1, 2"),
    (ITEMS, "ITEMS: {from: 4, to: 1}", SHOW, "m.yaml:15:39", "range is empty", "{from: 1, to: 4}"),
    (ITEMS, "ITEMS: {min: 1, max: 4}", SHOW, "m.yaml:15:40", "unknown key 'min'", "'from'"),
    # contents and types of buffers
    ("[-1, 1]", "[1, -1]", SHOW, "m.yaml:8:46", "the first number is larger", "write [-1, 1]"),
    (FILL, "iota", SHOW, "m.yaml:8:36", "'iota' without values does not define a content", "fill: {iota: [0, 1]}"),
    (FILL, "random", SHOW, "m.yaml:8:36", "'random' without values does not define a content", "fill: {uniform: [-1, 1]}"),
    (FILL, "{uniform: 1}", SHOW, "m.yaml:8:46", "takes [low, high]", "{uniform: [-1, 1]}"),
    (FILL, "{unifrom: [-1, 1]}", SHOW, "m.yaml:8:37", "unknown key 'unifrom'", "'uniform'"),
    (FILL, "x.npy", SHOW, "m.yaml:8:36", "'fill' cannot name a file", "file: x.npy"),
    (FILL, "{file: x.npy}", SHOW, "m.yaml:8:37", "'fill' cannot name a file", "file: x.npy"),
    (FILL, "np.random.rand(N)", SHOW, "m.yaml:8:36", "is a Python expression", "fill: {uniform: [0, 1]}"),
    (TYPE, "x: {type: float32", SHOW, "m.yaml:8:13", "unknown type", "'f32'"),
    (TYPE, "x: {type: np.float64", SHOW, "m.yaml:8:13", "unknown type", "'f64'"),
    (TYPE, "x: {type: float*", SHOW, "m.yaml:8:13", "the type of one element", "'f32'"),
    (TYPE, "x: {dtype: f32", SHOW, "m.yaml:8:7", "unknown key 'dtype'", "'type'"),
    ("out: true", "out: yes", SHOW, "m.yaml:9:35", "must be true or false", "write true"),
    ("out: true", "output: true", SHOW, "m.yaml:9:30", "unknown key 'output'", "'out'"),
    ("shape: [N], out", "shape: [M], out", SHOW, "m.yaml:9:26", "unknown name 'M'", "the names here are N"),
    # keys at each level
    ("kiln: 1\n", "", SHOW, "m.yaml:1:1", "no key 'kiln'", "starts with 'kiln: 1'"),
    ("source:", "src:", SHOW, "m.yaml:3:1", "unknown key 'src'", "'source'"),
    ("source: affine.cu\n", "", SHOW, "m.yaml:13:3", "no 'source'", "write 'source: FILE.cu'"),
    ("buffers:", "arrays:", SHOW, "m.yaml:7:1", "unknown key 'arrays'", "'buffers'"),
    ("variants:", "variant:", SHOW, "m.yaml:13:1", "unknown key 'variant'", "'variants'"),
    ("    params: {BLOCK: [64", "    parms: {BLOCK: [64", SHOW, "m.yaml:15:5", "unknown key 'parms'", "'params'"),
    ("block: [BLOCK]", "blocks: [BLOCK]", SHOW, "m.yaml:16:68", "unknown key 'blocks'", "'block'"),
    ("kernel: affine", "name: affine", SHOW, "m.yaml:16:14", "unknown key 'name'", "'kernel'"),
    ("against:", "againts:", SHOW, "m.yaml:12:7", "unknown key 'againts'", "'against'"),
    ("verify:", "verification:", SHOW, "m.yaml:11:1", "unknown key 'verification'", "'verify'"),
    # YAML
    ("  tiny", "\ttiny", SHOW, "m.yaml:6:1", "a tab", "write spaces"),
    ("  tiny", " tiny", SHOW, "m.yaml:6:2", "begins in column 2", "indent the keys of a mapping equally"),
    ("shape: [N], fill", "shape: [N] fill", SHOW, "m.yaml:8:29", "not YAML", "a ',' is missing"),
    (ARGS + "}", ARGS, SHOW, "m.yaml:17:3", "not YAML", "the '}' that ends the value of line 16"),
    ("name: affine", "name:affine", SHOW, "m.yaml:2:1", "not YAML", "'key: value', with a blank"),
    # launches
    (GRID, 'grid: "ceil_div(N, BLOCK * ITEMS), 1"', SHOW, "m.yaml:16:63", "found ','", "a list: [A, B]"),
    ("{flops: N,", "{flops: M,", SHOW, "m.yaml:10:18", "unknown name 'M'", "the names here are N"),
    ("source: affine.cu", "source: src/affine.cu", RUN, "src/affine.cu", "not found", "did you mean 'affine.cu'"),
    (GRID, 'grid: ["cdiv(N, BLOCK * ITEMS)"]', SHOW, "m.yaml:16:38", "no function 'cdiv'", "'ceil_div'"),
    (GRID, 'grid: ["(N + BLOCK - 1) / BLOCK"]', RUN, "m.yaml:16:54", "is not an integer", "ceil_div(a, b)"),
    (GRID, "grid: [1, 1, 1, 1]", SHOW, "m.yaml:16:36", "not 4", "one to three extents"),
    ("block: [BLOCK]", "block: 2048", RUN, "m.yaml:16:75", "2048 is outside", "0 .. 1024"),
    ("block: [BLOCK]", "block: [64, 64]", RUN, "m.yaml:16:76", "4096 threads", "the device allows 1024"),
    ("block: [BLOCK]", "block: [BLOK]", SHOW, "m.yaml:16:76", "unknown name 'BLOK'", "'BLOCK'"),
    ("block: [BLOCK]", "block: BLOCK, 1", SHOW, "m.yaml:16:82", "'1' has no value in a launch", "[BLOCK, 1]"),
    (ARGS, "args: [2.0, x, y]", RUN, "m.yaml:16:13", "3 are given", "a float, a pointer, a pointer, a 32-bit integer"),
    (ARGS, "args: [2.0, x, y, 0.5]", RUN, "m.yaml:16:102", "an integer, but the value is a float", "write int(...)"),
    (ARGS, "args: [2.0, x, z, N]", SHOW, "m.yaml:16:99", "no buffer, size, param or let 'z'", "the names here are N, x, y"),
    (ARGS, "args: [2.0f, x, y, N]", SHOW, "m.yaml:16:91", "not a number", "without a suffix: 2.0"),
    (ARGS, "args: [2.0, &x, y, N]", SHOW, "m.yaml:16:96", "an anchor", "write only the name"),
    ("kernel: affine", "kernel: afine", TUNE, "m.yaml:16:22", "no kernel 'afine'", "'affine'"),
    # sizes
    ("N: 5000", 'N: "5000"', SHOW, "m.yaml:5:17", "in quotes is a text", "write it without the quotes"),
    ("N: 5000", "N: 5,000", SHOW, "m.yaml:5:18", "not a valid name", "leave out the commas"),
    ("default: {N: 5000}", "default: N=5000", SHOW, "m.yaml:5:12", "sets of sizes by name", "default: {N: 5000}"),
    ("  default: {N: 5000}\n  tiny: {N: 500}", "  N: 5000", SHOW, "m.yaml:5:6", "sets of sizes", "default: {N: 5000}"),
    # references
    ("{against: {variant: plain}}", "{against: plain}", SHOW, "m.yaml:12:16", "must tell what 'plain' is", "{variant: plain}"),
    ("{variant: plain}", "ref.py", SHOW, "m.yaml:12:16", "must tell what 'ref.py' is", "{command: [python3, ref.py]}"),
    ("{variant: plain}", "{variant: plian}", SHOW, "m.yaml:12:26", "no variant 'plian'", "'plain'"),
    ("{variant: plain}", "{host: axpy}", SHOW, "m.yaml:12:23", "no host function 'axpy'", "kiln help hosts"),
    ("{variant: plain}", "{host: axpby_f64}", SHOW, "m.yaml:12:23", "takes 'A'", "{host: axpby_f64, A: x}"),
    ("{variant: plain}", "{file: want.npy}", TUNE, "m.yaml:12:3", "the expected answer cannot be read", "not found; searched"),
    ("{variant: plain}", "{command: ref.py}", TUNE, "m.yaml:12:3", "the spec runs the command", "--allow-commands"),
    ("y: {against", "x: {against", SHOW, "m.yaml:12:3", "'x' is not an output", "write 'out: true'"),
    ("{against: {variant: plain}}", "1e-5", SHOW, "m.yaml:12:6", "must have the expected answer", "{against: {variant: NAME}"),
    # constraints, and a param that the source needs
    (LAUNCH, "    where: BLOCK == 64 ? 1 : 0\n" + LAUNCH, SHOW, "m.yaml:16:28", "a ':' inside of a value", "in quotes"),
    (LAUNCH, "    where: BLOCK = 64\n" + LAUNCH, SHOW, "m.yaml:16:18", "found '='", "'=='"),
    (LAUNCH, "    where: BLOCK > 1024\n" + LAUNCH, TUNE + " -v plain", "m.yaml:16:12", "breaks the constraint", "BLOCK > 1024"),
    (", ITEMS: [1, 2]}", "}", SHOW, "m.yaml:16:58", "unknown name 'ITEMS'", "the names here are N, BLOCK"),
]
SHELL = [  # the command, the parts of the message
    ("kiln tune affine.cu", "affine.cu", "is a source", "kiln init affine.cu -o affine.yaml"),
    ("kiln run affine", "no spec 'affine'", "searched", "kiln init affine.cu"),
    ("kiln run base.yam", "no spec 'base.yam'", "searched", "'base.yaml'"),
    ("kiln show affine.cu", "affine.cu", "is a source", "kiln init"),
    ("kiln base.yaml", "unknown command 'base.yaml'", "a file follows a command", "kiln run base.yaml"),
    ("kiln tne base.yaml", "unknown command", "'tne'", "'tune'"),
    ("kiln run base.yaml base.yaml", "'base.yaml'", "is given twice", "leave one out"),
    ("kiln run base.yaml BLOCK=64", "one argument too many", "'BLOCK=64'", "-p BLOCK=64"),
    ("kiln run base.yaml -p BLOCK 64", "one argument too many", "'64'", "-p NAME=VALUE"),
    ("kiln run base.yaml -DBLOCK=64", "unknown option", "'-D'", "-p NAME=VALUE"),
    ("kiln run base.yaml -p BLOCK=65", "BLOCK = 65", "not one of its values", "the nearest is 64"),
    ("kiln run base.yaml -p BLOCK=sixty", "BLOCK = sixty", "not one of its values", "64, 128"),
    ("kiln run base.yaml -p BLCOK=64", "plain", "no param 'BLCOK'", "'BLOCK'"),
    ("kiln run base.yaml -s N", "'N' is a size", "takes a size set", "-s N=5000"),
    ("kiln run base.yaml -s 500", "--size", "not a number alone", "-s N=500"),
    ("kiln run base.yaml -s M=5", "affine", "no size 'M'", "it has: N"),
    ("kiln run base.yaml -s large", "affine", "no size set 'large'", "default, tiny"),
    ("kiln run base.yaml -v plian", "affine", "no variant 'plian'", "'plain'"),
    ("kiln run base.yaml -d hopper", "device 'hopper'", "write", "sim:PROFILE"),
    ("kiln run base.yaml --arch 90", "--arch", "not '90'", "--arch sm_90"),
    ("kiln run base.yaml -i affine.cu", "--input", "BUFFER=FILE", "'affine.cu'"),
    ("kiln run base.yaml -i z=affine.cu", "plain", "no buffer 'z'", "it has: x, y"),
    ("kiln tune base.yaml --time 5", "unknown option", "'--time'", "'--max-seconds'"),
    ("kiln tune base.yaml -t 5s", "-t", "without a unit, not '5s'", "write -t 5"),
    ("kiln tune base.yaml -o out.csv", "unknown option", "'-o'", "--csv FILE"),
    ("kiln tune base.yaml -v plain other", "one argument too many", "'other'", "-v A,B"),
    ("kiln tune base.yaml --strategy genetc", "no strategy 'genetc'", "'genetic'"),
    ("kiln tune base.yaml --objective speed --no-store", "objective:1:1", "time, gflops", "unknown name 'speed'"),
    ("kiln tune --replay base.yaml", "base.yaml", "is a spec", "kiln tune base.yaml"),
    ("kiln report base.yaml --store some.db", "some.db", "no such samples of 'affine'", "kiln tune base.yaml"),
    ("kiln results base.yaml --store some.db", "no samples of 'affine'", "kiln tune base.yaml"),
    ("kiln init afine.cu", "afine.cu", "No such file", "'affine.cu'"),
    ("kiln init base.yaml", "base.yaml", "is a spec already", "kiln tune base.yaml"),
    ("kiln init affine.cu -k afine", "affine.cu", "no kernel 'afine'", "it has affine"),
    ("kiln sim run affine.cu", "affine.cu", "is a source", "compile it first"),
    ("kiln study base.yaml", "study", "an argument is missing", "occupancy|tiles"),
    ("kiln completion powershell", "completion", "'powershell'", "bash, zsh or fish"),
    ("KILN_DEVCE=sim kiln list", "reads no variable", "KILN_DEVCE", "KILN_DEVICE"),
    ("KILN_CACHEDIR=/tmp kiln list", "reads no variable", "KILN_CACHEDIR", "KILN_CACHE_DIR"),
    ("KILN_DEVICE=gpu kiln run base.yaml", "device 'gpu'", "write", "cuda:0, sim"),
]


def ask(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    return done.returncode, done.stderr + done.stdout


def check(what, command, parts, must_fail, wrong):
    code, text = ask(command)
    missing = [part for part in parts if part not in text]
    if missing or (must_fail and code == 0):
        wrong.append(f"{what}: exit code {code}, without {missing}:\n{text}")


folder = tempfile.mkdtemp()
os.chdir(folder)
os.mkdir("bin")
os.symlink(kiln, "bin/kiln")
worker = os.path.join(os.path.dirname(kiln), "kiln-worker")
if os.path.exists(worker):
    os.environ["KILN_WORKER"] = worker
os.environ.update(PATH=f"{folder}/bin:{os.environ['PATH']}", HOME=folder, KILN_CACHE_DIR=f"{folder}/cache", KILN_DEVICE="sim",
                  LC_ALL="C", TERM="dumb")
for name in ("KILN_STORE", "KILN_PATH", "KILN_INCLUDE"):
    os.environ.pop(name, None)
pathlib.Path("affine.cu").write_text(KERNEL)
pathlib.Path("base.yaml").write_text(BASE)
wrong = []
code, text = ask("kiln run base.yaml && kiln tune base.yaml --store some.db -m 1 >/dev/null && kiln results prune --all --store some.db")
if code:
    sys.exit(f"the spec itself is wrong:\n{text}")
for old, new, command, *parts in SPECS:
    assert old in BASE, old
    pathlib.Path("m.yaml").write_text(BASE.replace(old, new, 1))
    check(f"{old!r} -> {new!r}", command, parts, True, wrong)
os.remove("m.yaml")
for command, *parts in SHELL:
    check(command, command, parts, not command.startswith(("KILN_DEVCE", "KILN_CACHEDIR", "kiln results")), wrong)

table = (source / "tools/kiln/cli/engine.c").read_text()
listed = set(re.findall(r'"([A-Z_]+)"', table[table.index("static const char *const known[]"):].split("};")[0]))
read = set()
for path in [*source.glob("engine/**/*.c"), *source.glob("tools/**/*.c")]:
    read |= set(re.findall(r'(?:getenv|sim_environment|get_variable)\("KILN_([A-Z_]+)"', path.read_text()))
if read - listed:
    wrong.append(f"the sources read these variables, and engine.c does not list them: {sorted(read - listed)}")
shutil.rmtree(folder)
print("\n".join(wrong))
print(f"{len(SPECS)} mistakes in specs, {len(SHELL)} at the shell: {len(wrong) or 'nothing'} wrong")
sys.exit(bool(wrong) or len(SPECS) + len(SHELL) < 60)
