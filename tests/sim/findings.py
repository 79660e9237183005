"""findings.py KILN LIBCUDA tests `kiln sim run --check`, which shows the findings of all processes of a program. It
shows each place once, on one screen, in full in a file, and as SARIF. The tests also have suppressions, exit codes, and
killed processes."""
import json, os, pathlib, signal, subprocess, sys, tempfile

KILN, LIBCUDA = sys.argv[1:3]
if len(sys.argv) > 3:  # `program SYMBOL,SYMBOL... FIRST-LINE HOW` runs kernels with wrong stores, each on its own line
    import ctypes
    symbols, first, how = sys.argv[3].split(","), int(sys.argv[4]), sys.argv[5]
    cu = ctypes.CDLL(LIBCUDA)

    def call(name, *arguments):
        if code := getattr(cu, name)(*arguments):
            sys.exit(f"{name}: {code}")

    entry = """.visible .entry %s(.param .u64 p)
{
    .reg .b64 %%rd<3>;
    .reg .b32 %%r<2>;
    .loc 1 %d 0
    ld.param.u64 %%rd1, [p];
    cvta.to.global.u64 %%rd2, %%rd1;
    mov.u32 %%r1, %%tid.x;
    st.global.u32 [%%rd2+4096], %%r1;
    ret;
}
"""
    lines = [first + (k if how == "lines" else 0) for k in range(len(symbols))]
    if how == "elsewhere":
        os.chdir("/")
    if how == "refused":
        os.rmdir(os.path.dirname(os.environ["KILN_SIM_CHECK_FILE"]))
    ptx = (".version 8.0\n.target sm_80\n.address_size 64\n" + "".join(entry % pair for pair in zip(symbols, lines)) +
           '.file 1 "%s/sub dir/wrong.cu"\n' % os.getcwd()).encode()
    device, context, module, kernel, memory = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3)), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuModuleLoadData", ctypes.byref(module), ptx)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(64))
    if how == "full":  # the first element fits
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))
    if how == "leaks":
        for size in (100, 5000, 100):
            call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
        call("cuMemFree_v2", memory)
        call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(100))
        call("cuCtxDestroy_v2", context)
        sys.exit()
    if how == "quick":
        os._exit(6)
    if how == "free":
        cu.cuMemFree_v2(ctypes.c_uint64(memory.value + 8))
        os._exit(0)
    for symbol in symbols:
        call("cuModuleGetFunction", ctypes.byref(kernel), module, symbol.encode())
        arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
        call("cuLaunchKernel", kernel, 1, 1, 1, 2, 1, 1, 0, None, arguments, None)
    call("cuCtxSynchronize")
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    call("cuMemFree_v2", memory)
    sys.exit(3 if how == "three" else 0)


def check(what, is_so):
    if not is_so:
        sys.exit(f"wrong: {what}")


folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def command(symbols, first=7, how="once"):
    return f"'{sys.executable}' '{os.path.abspath(__file__)}' '{KILN}' '{LIBCUDA}' {symbols} {first} {how}"


def run(script, *options, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KILN_SIM")} | variables
    done = subprocess.run([KILN, "sim", "run", "-q", "--check", *options, "sh", "-c", script], env=environment,
                          capture_output=True, text=True)
    return done.returncode, done.stderr


# Several instantiations of a template in two processes err at one line of the source. This is one finding.
names = "_Z5twiceILi4EEvPf,_Z5twiceILi5EEvPf"
code, text = run(command(names) + ";" + command(names + ",_Z5twiceILi6EEvPf") + "; exit 5", "--sarif", "out.sarif", "--details",
                 "out.json", "--json")
check(f"one finding: {code} {text}", code == 1 and "kiln checks: 1 finding, 0 notes\n" in text and "and 2 others" in text and
      "  10 times\n" in text)
found = json.loads(pathlib.Path("out.json").read_text())["findings"]
check(f"details: {found}", len(found) == 1 and found[0]["count"] == 10 and found[0]["kernels"] == 3 and
      found[0]["at"]["line"] == 7 and found[0]["kind"] == "out of bounds")
sarif = json.loads(pathlib.Path("out.sarif").read_text())
result = sarif["runs"][0]["results"]
rules = sarif["runs"][0]["tool"]["driver"]["rules"]
place = result[0]["locations"][0]["physicalLocation"]
check(f"SARIF: {sarif}", sarif["version"] == "2.1.0" and len(result) == 1 and result[0]["level"] == "error" and
      rules[result[0]["ruleIndex"]]["id"] == result[0]["ruleId"] == "out-of-bounds" and place["region"]["startLine"] == 7 and
      place["artifactLocation"] == {"uri": "sub%20dir/wrong.cu", "uriBaseId": "%SRCROOT%"} and
      result[0]["occurrenceCount"] == 10 and result[0]["message"]["text"])
again = run(command("a"), "--sarif", "again.sarif") and json.loads(pathlib.Path("again.sarif").read_text())
check("the fingerprint tells kernels apart", again["runs"][0]["results"][0]["partialFingerprints"] != result[0]["partialFingerprints"])

# The line of the source stands below a finding, unless the source was changed after the program was built.
os.mkdir("sub dir")
source = pathlib.Path("sub dir/wrong.cu")
source.write_text("//\n" * 6 + "    p[1024] = threadIdx.x;\n")
pathlib.Path("program").write_text("exec " + command("k"))
for older in (True, False):
    os.utime(source, (1e9, 1e9 if older else os.stat("program").st_mtime + 1))
    done = subprocess.run([KILN, "sim", "run", "-q", "--check", "sh", "program"], capture_output=True, text=True)
    check(f"the line of the source: {done}", done.returncode == 1 and ("    7 | p[1024] = threadIdx.x;\n" in done.stderr) == older)
source.unlink()

# Of 20 findings, the output has a table of 12, and the first one in full. Long names are shortened.
long = ",".join(f"_Z5twiceIN4deep{k + 1}{'a' * (k + 1)}EEvPf" if k < 8 else f"kernel{k}" for k in range(20))
code, text = run(command(long, 100, "lines"))
check(f"a table: {text}", code == 1 and "kiln checks: 20 findings" in text and "  and 8 more\n" in text and
      text.count("wrong.cu:1") == 12 + 2 and "--details FILE" in text and len(text.splitlines()) <= 24)

# Tests suppressions and exit codes. If nothing is found, the exit code is the program's.
pathlib.Path("rules").write_text("# all of it\nout-of-bounds * wrong.cu:7\n")
code, text = run(command("k", 7, "three"), "--suppress", "rules")
check(f"suppressed: {code} {text}", code == 3 and "kiln checks: 0 findings, 0 notes, 1 suppressed\n" in text)
code, text = run(command("k", 8, "three"), "--suppress", "rules")
check(f"another line: {code} {text}", code == 1 and "kiln checks: 1 finding, 0 notes\n" in text)
code, text = run("exit 4")
check(f"no device: {code} {text}", code == 4 and "no process used the simulated device" in text)

# If a process is killed after a launch, its findings until then are shown.
code, text = run("exec " + command("k", 7, "killed"))
check(f"killed: {code} {text}", code == -signal.SIGKILL and "kiln checks: 1 finding" in text and "signal 9" in text)

# If the environment requests another form of the report, the library writes it, and not kiln.
code, text = run(command("k"), KILN_SIM_CHECK_FORMAT="sanitizer")
check(f"the sanitizer's form: {code} {text}", code == 1 and "========= COMPUTE-SANITIZER" in text)
code, text = run(command("k"), "--sarif", "x", KILN_SIM_CHECK_FORMAT="sanitizer")
check(f"both forms: {code} {text}", code == 2 and "KILN_SIM_CHECK_FORMAT" in text)
code, text = run("echo ran >ran", "--suppress", "nothing-there")
check(f"no rules: {code} {text}", code == 125 and "nothing-there" in text and not os.path.exists("ran"))
pathlib.Path("misspelt").write_text("# kinds\nrace scan*\nuninitialised read\n")
code, text = run("echo ran >ran", "--suppress", "misspelt")
check(f"a kind that does not exist: {code} {text}", code == 125 and "misspelt:3: there is no kind 'uninitialised'" in text and
      "uninitialised-read" in text and not os.path.exists("ran"))
pathlib.Path("misspelt").write_text("out* k\n")
code, text = run(command("k", 7, "three"), "--suppress", "misspelt")
check(f"a pattern of kinds: {code} {text}", code == 3 and "1 suppressed" in text)
for device in ({"KILN_SIM_DEVICE": "h2000"}, {}):
    code, text = run("echo ran >ran", *([] if device else ["--device", "h2000"]), **device)
    check(f"no such device: {code} {text}", code == 125 and "no device profile 'h2000'" in text and not os.path.exists("ran"))
done = subprocess.run([KILN, "sim", "env", "--device", "h2000"], capture_output=True, text=True)
check(f"no such device for a shell: {done}", done.returncode == 125 and not done.stdout)
code, text = run("exit 4", "--device", "ampere")
check(f"a device: {code} {text}", code == 4)
done = subprocess.run([KILN, "sim", "run", "sh", "-c", "exit 6", "--check"], capture_output=True, text=True)
check(f"a late option: {done}", done.returncode == 6 and "before the program" in done.stderr)
os.mkdir("empty")
code, text = run("echo ran >ran", "--sarif", "nothing-there/x", TMPDIR="empty")
check(f"no place: {code} {text}", code == 125 and "--sarif: nothing-there" in text and not os.path.exists("ran") and
      not os.listdir("empty"))

# Leaks have no line in the source. They differ by their sizes. SARIF names the program as their place, because a code
# host accepts no result without a place.
code, text = run("exec " + command("k", 7, "leaks"), "--sarif", "leaks.sarif", "--details", "leaks.txt")
check(f"leaks: {code} {text}", code == 1 and "kiln checks: 3 findings" in text)
sizes = [line.split()[0] for line in pathlib.Path("leaks.txt").read_text().splitlines() if "never freed" in line]
check(f"leaks: {sizes}", sorted(sizes) == ["100", "5000", "64"])
places = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in
          json.loads(pathlib.Path("leaks.sarif").read_text())["runs"][0]["results"]]
check(f"places: {places}", len(places) == 3 and all(places))

# The program changes its folder, so the paths of the rules and the findings must be absolute.
code, text = run(command("k", 7, "elsewhere"), "--suppress", "rules")
check(f"rules: {code} {text}", code == 0 and "1 suppressed" in text)
os.mkdir("here")
code, text = run(command("k", 8, "elsewhere"), "--suppress", "rules", TMPDIR="here")
check(f"a relative folder: {code} {text}", code == 1 and "kiln checks: 1 finding, 0 notes\n" in text and not os.listdir("here"))

# Findings that cannot be written are not lost: the process prints them, and its exit code is 1.
for how in ("full", "refused"):
    code, text = run("exec " + command("k,l,m", 7, how))
    check(f"{how}: {code} {text}", code == 1 and "kiln checks: 3 findings, 0 notes\n" in text and "4032 bytes past the end" in text)
    check(f"{how}: {text}", (how == "refused") == ("or none could write" in text) and "could not be read" not in text)

# One file has no findings in the right format. The other findings are shown, and the exit code tells of the bad file.
code, text = run("echo >${KILN_SIM_CHECK_FILE%/*}/findings.1.json; " + command("k", 7, "quick"), "--details", "unread.txt")
check(f"unread: {code} {text}", code not in (0, 6) and "The findings of 1 process could not be read." in text)

# A process that uses the device and ends at once has a report, although it has no findings.
code, text = run("exec " + command("k", 7, "quick"))
check(f"quick: {code} {text}", code == 6 and "kiln checks: 0 findings, 0 notes\n" in text)

# Findings in a call of the host are written before the call returns.
code, text = run("exec " + command("k", 7, "free"))
check(f"a wrong free: {code} {text}", code == 1 and "kiln checks: 1 finding, 0 notes\n" in text)

# The file of details cannot be written.
if os.path.exists("/dev/full"):
    code, text = run("exec " + command("k", 7, "quick"), "--json", "--details", "/dev/full")
    check(f"no room: {code} {text}", code not in (0, 6) and "/dev/full" in text)
