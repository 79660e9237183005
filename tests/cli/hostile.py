"""hostile.py: puts control sequences of terminals into specs, file names, compilers' messages, samples and recordings,
and runs the commands that show these. The output must contain no such sequence unchanged, neither in a pipe nor on a
terminal. The output of --json must be JSON with the exact texts. On a terminal, Kiln's own colours must be there."""
import csv, json, os, pty, re, subprocess, sys, unicodedata

EVIL = "EVIL\033[31m\033]0;T\a\177\u009b2J\u202e\u2066\u200f\u061cé"
SHOWN = r"EVIL\x1b[31m\x1b]0;T\x07\x7f\u009b2J\u202e\u2066\u200f\u061cé"
OWN = re.compile(rb"\033\[(0|1|2|31|32)m|\r\033\[K|\r[^\n]*?\033\[K")
failures = 0


def wrong(words, what, text):
    global failures
    failures += 1
    print(f"{' '.join(words)!r}: {what}:\n{text!r}")


def on_terminal(words):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(words[0], words)
    output = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    os.waitpid(pid, 0)
    return output.replace(b"\r\n", b"\n")


def bad(output):
    """Describes the first control character in the output of kiln, or an error of encoding. The caller has removed
    kiln's own sequences."""
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"no UTF-8 ({error})"
    found = re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    return found and f"{found.group()!r} at {found.start()}"


def look(*words, want=(SHOWN,)):
    """Runs a command in a pipe and on a terminal. The output must have no control sequence, and must show the texts
    `want`."""
    words = ("kiln",) + words
    piped = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).stdout
    seen = on_terminal(words)
    if b"EVIL\033" in seen:
        wrong(words, "a colour that is not kiln's own", seen)
    for output in (piped, OWN.sub(b"", seen)):
        if bad(output):
            wrong(words, f"shows {bad(output)}", output)
        # A text that kiln wraps at the end of a line does not match, so the tests only want short texts.
        for text in want:
            if text.encode() not in output:
                wrong(words, f"does not show {text!r}", output)
    return seen


def exact(*words):
    words = ("kiln",) + words + ("--json",)
    output = subprocess.run(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    if bad(output):
        wrong(words, f"has {bad(output)}", output)
    try:
        return json.dumps(json.loads(output), ensure_ascii=False)
    except ValueError as error:
        wrong(words, f"is no JSON: {error}", output)
        return ""


def has(words, text, want=EVIL):
    if json.dumps(want, ensure_ascii=False)[1:-1] not in text:
        wrong(words, f"lacks {want!r}", text)


def quoted(text):
    return json.dumps(text)


def spec(name, folder=".", **more):
    lines = {"title": quoted(EVIL), "about": quoted("about " + EVIL), "kernel": "k", "value": quoted(EVIL),
             "source": quoted(name + ".cu")} | more
    with open(f"{folder}/{name}.yaml", "w", encoding="utf-8") as file:
        file.write(f"""kiln: 1
name: evil
title: {lines['title']}
about: {lines['about']}
source: {lines['source']}
sizes: {{tiny: {{N: 1}}}}
buffers: {{y: {{type: f32, shape: [N], out: true}}}}
variants:
  v:
    about: {lines['about']}
    params: {{TEXT: [{lines['value']}, plain], A: [1]}}
    launch: {{kernel: {lines['kernel']}, grid: [1], block: [1], args: [y]}}
""")


# ---- specs ----
spec("evil")
with open("evil.cu", "w", encoding="utf-8") as file:
    file.write(f'// {EVIL}\nextern "C" __global__ void k(float *y) {{ *y = 1; }}\n')
seen = look("show", "./evil.yaml", want=(SHOWN, "about " + SHOWN, f"[{SHOWN}]"))
if b"\033[1mevil\033[0m" not in seen:
    wrong(("show",), "no colours of its own on a terminal", seen)
has(("show",), exact("show", "./evil.yaml"))
look("show", "./evil.yaml", "--only", "params", want=("TEXT=plain",))
look("run", "./evil.yaml", "-v", EVIL)
look("run", "./evil.yaml", "-p", EVIL + "=1")
look("run", EVIL)
has(("run",), exact("run", EVIL))
look(EVIL)
look("run", "./evil.yaml", "--" + EVIL)
look("run", "./evil.yaml", "-d", EVIL)
look("inspect", "./evil.yaml", "-p", "TEXT=plain", "--arch", EVIL)
seen = on_terminal(["kiln", "inspect", "./evil.yaml", "-p", "TEXT=plain", "--arch", "sm_80", "--source"])
if SHOWN.encode() not in seen or bad(seen):
    wrong(("inspect",), "a source on a terminal", seen)
# If the output does not go to a terminal, a source is printed byte by byte.
output = subprocess.run(["kiln", "inspect", "./evil.yaml", "-p", "TEXT=plain", "--arch", "sm_80", "--source"],
                        stdout=subprocess.PIPE).stdout
if EVIL.encode() not in output:
    wrong(("inspect",), "a source in a pipe is not as it is", output)
spec("broken", kernel=quoted(EVIL), source="evil.cu")
look("run", "./broken.yaml", "-p", "TEXT=plain", want=("does not compile",))
spec("key", title=f"x\n\"{EVIL}\": 1".replace("\033", "\\e").replace("\a", "\\a").replace("\177", "\\x7f").replace("\u009b", "\\x9b"))
look("show", "./key.yaml", want=("EVIL",))

# ---- files ----
folder = b"f-" + EVIL.encode() + b"\xff\x9b"
os.mkdir(folder)
for name, to in (("evil.cu", b"evil.cu"), ("evil.yaml", b"there.yaml")):
    with open(name, "rb") as file, open(folder + b"/" + to, "wb") as to:
        to.write(file.read())
os.environ["KILN_PATH"] = os.fsdecode(folder) + ":" + os.environ["KILN_PATH"]
look("list", "--all", want=(f"{SHOWN}\\xff\\x9b/there.yaml",))
exact("list")
# The width of a column counts the cells of the terminal. So the files must stand below each other, also if a title has
# wide or combining characters.
for name, title in (("wide", "日本語"), ("accent", "e\u0301 accent"), ("plain", "a title")):
    spec(name, title=quoted(title))
output = subprocess.run(["kiln", "list", "--all"], stdout=subprocess.PIPE).stdout.decode()
places = {sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) == "W" else 1
              for c in line[:line.rindex("  ")]) for line in output.splitlines()}
if len(places) != 1:
    wrong(("list",), f"columns at {sorted(places)}", output)
look("show", "there", want=(f"{SHOWN}\\xff\\x9b/there.yaml",))
# The library's warnings come through its log.
for number, show in enumerate((lambda words: subprocess.run(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL).stderr,
                               on_terminal)):
    store = f"{EVIL}{number}.db"
    with open(store, "wb") as file:
        file.write(b"no database" * 1000)
    words = ["kiln", "tune", "add", "-v", "wide", "-m", "1", "--store", store]
    output = OWN.sub(b"", show(words))
    if bad(output) or f"warning: the store {SHOWN}".encode() not in output:
        wrong(words, f"shows {bad(output)}", output)
with open(folder + b"/" + b"d\033[35m.profile", "w") as file, open(os.environ["PROFILE"]) as profile:
    file.write(profile.read())
look("devices", want=(r"d\x1b[35m",))
look("devices", "--names", want=("sim",))
exact("devices")

# ---- messages of a compiler ----
spec("error")
with open("error.cu", "w", encoding="utf-8") as file:
    file.write(f'#error {EVIL}\nextern "C" __global__ void k(float *y) {{ *y = 1; }}\n')
look("run", "./error.yaml", "-p", "TEXT=plain", want=("EVIL",))
look("tune", "./error.yaml", "-p", "TEXT=plain", "--no-store", want=("EVIL",))

# ---- samples and recordings ----
subprocess.run(["kiln", "tune", "add", "-v", "wide", "-q", "--store", "one.db"], stdout=subprocess.DEVNULL, check=True)
subprocess.run(["kiln", "results", "export", "all.csv", "--store", "one.db"], stdout=subprocess.DEVNULL, check=True)
RAW = EVIL.encode() + b"\xff\xc3"
with open("all.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
for number, row in enumerate(rows):
    row["variant"] = row["device"] = row["run"] = RAW.decode("utf-8", "surrogateescape")
    row["spec"] = "s" + row["variant"]
    row["params"] = f'A={number} T="{EVIL}"'
    if number == 0:
        row["status"], row["message"] = "9", row["variant"] + "\nsecond line"
with open("evil.csv", "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
    out = csv.DictWriter(file, rows[0].keys())
    out.writeheader()
    out.writerows(rows)
subprocess.run(["kiln", "results", "import", "evil.csv", "--store", "evil.db"], stdout=subprocess.DEVNULL, check=True)
name = b"s" + RAW
look("results", "--store", "evil.db", want=(f"s{SHOWN}\\xff\\xc3",))
look("results", name, "--store", "evil.db", want=(SHOWN + "\\xff\\xc3",))
look("results", "compare", name, "kiln " + rows[0]["kiln"], EVIL, "--store", "evil.db", want=("both",))
has(("results",), exact("results", "--store", "evil.db"), EVIL + "\ufffd\ufffd")
with open("space.json", "w", encoding="utf-8") as file:
    json.dump({"kernel_name": EVIL, "device_name": EVIL, "tune_params_keys": ["x", "y"], "tune_params": {"x": [1, 2], "y": [EVIL]},
               "cache": {f"{x},{EVIL}": {"x": x, "y": EVIL, "time": x + 1.5} for x in (1, 2)}}, file)
look("compare-strategies", "space.json", "--strategies", EVIL)
look("tune", "--replay", "space.json", "--max-seconds", "10", want=(SHOWN,))

# ---- pages and figures ----
os.makedirs("vega", exist_ok=True)
open("vega/vega.min.js", "w").close()
os.environ["KILN_VEGA"] = "vega"
for words in (("report", name, "--store", "evil.db", "-o", "evil.html"), ("report", "--replay", "space.json", "-o", "space.html"),
              ("report", name, "--store", "evil.db", "--gnuplot", "figures")):
    look(*words, want=("samples",))
for path in ("evil.html", "space.html", *(f"figures/{name}" for name in os.listdir("figures"))):
    with open(path, "rb") as file:
        page = file.read()
    if bad(page):
        wrong((path,), f"has {bad(page)}", page[:200])
print("nothing reached a terminal that it would obey" if failures == 0 else f"{failures} wrong")
sys.exit(failures != 0)
