"""complete.py SHELL: types into an interactive bash, zsh or fish on a terminal, with the completions of `kiln`, and
compares the arguments that arrive. The completed names and values contain text that a shell would run or expand. The
shell must not run or expand any of it, and each argument must arrive unchanged. The program makes $KILN_PATH and the
current folder. It finds `kiln` in $PATH."""
import fcntl, json, os, pty, select, shutil, signal, struct, sys, termios, time

# Each value is the only value of its param, so it is the only completion. If a value begins with a letter, the program
# also types this letter first.
VALUES = ["$(touch RAN)", "`touch RAN`", "a$(touch RAN)", "b`touch RAN`", "${x[$(touch RAN)]}", "$((x[$(touch RAN)]))", "*",
          "?[a-z]*", "c'one", 'd"two', "'", '"', "e f  g", " lead", "h\\i\\\\j", "k;touch RAN", "l&touch RAN", "m|n", "o>RAN",
          "<p", "~", "~root", "#q", "!!", "r!s", "{t,u}", "v=w:x", "-y", "$HOME", "%z", "^a^b", "\\", "é€", "tail\\", "@file",
          "a,b", "(x)", "$'\\n'"]
LEFT_OUT = ["new\nline", "tab\there", "escape\033[31m", "delete\177", "c1\u009b31m", "right\u202eleft", "mark\u200f"]
# No other spec of this test or of the catalogue has a name that begins with the same letter.
FILES = ["k$(touch RAN)", "v`touch RAN`", "y p ace", "i'nner", 'u"pper', "w*[r]?", "j\\slash", "e;touch RAN", "#sharp", "x!x",
         "{a,y}", "-minus", "f=al:s", "~tilde"]

shell = sys.argv[1]
home = os.getcwd()
real = shutil.which("kiln")
os.makedirs("bin"), os.makedirs("specs"), os.makedirs("here")


def quoted(text):
    return json.dumps(text)


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


# This kiln answers completions. For every other command it writes its arguments to a file.
write("bin/kiln", f"""#!/bin/sh
case $1 in list | show | devices | completion) exec '{real}' "$@" ;; esac
printf '%s\\0' "$@" >'{home}/argv.new'
mv '{home}/argv.new' '{home}/argv'
""", 0o755)
params = [f"      P{i}: [{quoted(value)}]" for i, value in enumerate(VALUES)]
params += [f"      L{i}: [{quoted(value)}, fine]" for i, value in enumerate(LEFT_OUT)]
params += ['      TWO: ["a b", "a$c", "a"]', '      BOTH: ["x$(touch RAN)1", "x$(touch RAN)2"]']
write("specs/odd.cu", 'extern "C" __global__ void k(float *y) { *y = 1; }\n')
spec = ("kiln: 1\nname: odd\nsource: odd.cu\nsizes: {tiny: {N: 1}}\n"
        "buffers: {y: {type: f32, shape: [N], out: true}}\nvariants:\n  one:\n    params:\n" + "\n".join(params) +
        "\n    launch: {kernel: k, grid: [1], block: [1], args: [y]}\n")
write("specs/odd.yaml", spec)
for name in FILES:
    write(f"specs/{name}.yaml", spec)
    write(f"here/{name.upper()}.yaml", spec)
    with open(os.environ["PROFILE"]) as file:
        write(f"specs/{name}.profile", file.read())
write("here/Z\nline.yaml", spec)
write("here/Zfine.yaml", spec)

os.environ.update(PATH=f"{home}/bin:{os.environ['PATH']}", KILN_PATH=f"{home}/specs", HOME=home, TERM="xterm", LC_ALL="C.UTF-8",
                  PS1="> ", XDG_CONFIG_HOME=home, XDG_DATA_HOME=home, HISTFILE="")
START = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], "source <(kiln completion bash); bind 'set completion-query-items 0'; "
                                                   "bind 'set page-completions off'"),
    "zsh": (["zsh", "-f", "-i"], "mkdir -p f; kiln completion zsh >f/_kiln; fpath=($PWD/f $fpath); autoload -Uz compinit; "
                                 "compinit -D -u; LISTMAX=1000; cd here"),
    "fish": (["fish", "--no-config", "-i"], "kiln completion fish | source; cd here"),
}
arguments, setup = START[shell]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(arguments[0], arguments)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 400, 0, 0))
shown = b""


def wait_for(path, what):
    """Waits until the shell has made a file, and reads the output of the shell meanwhile."""
    global shown
    end = time.monotonic() + float(os.environ.get("LIMIT", 60))
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"{what}: nothing came of it; on the terminal:\n{shown[-3000:]!r}")
        if select.select([terminal], [], [], 0.02)[0]:
            shown += os.read(terminal, 65536)


def send(text):
    """Sends keys at once. The shell reads them later, because a terminal can hold a few thousand."""
    os.write(terminal, text.encode())


DONE = f"{home}/done"
failures = tried = 0


def arrives(keys, *want):
    """Types keys, with TAB for completion, and then ENTER. The command must get the arguments `want`."""
    global failures, tried, shown
    shown = b""
    tried += 1
    if os.path.exists("argv"):
        os.unlink("argv")
    send(keys + "\r")
    wait_for("argv", keys)
    with open("argv", encoding="utf-8") as file:
        got = file.read().split("\0")[:-1]
    if got != list(want):
        failures += 1
        print(f"{keys!r} gave {got}, not {list(want)}")
    if ran():
        failures += 1
        print(f"{keys!r} ran something")


def ran():
    found = [path for path in ("RAN", "here/RAN", "specs/RAN") if os.path.exists(path)]
    for path in found:
        os.unlink(path)
    return bool(found)


send(f"{setup}; cd {home}/here; echo > {DONE}\r")
wait_for(DONE, "starting")

for number, value in enumerate(VALUES):
    arrives(f"kiln run odd -p P{number}=\t", "run", "odd", "-p", f"P{number}={value}")
    if value[0].isalpha():
        arrives(f"kiln run odd --param P{number}={value[0]}\t", "run", "odd", "--param", f"P{number}={value}")
    if shell == "bash":  # after an open quote
        arrives(f'kiln run odd -p "P{number}=\t', "run", "odd", "-p", f"P{number}={value}")
        arrives(f"kiln run odd -p P{number}='\t", "run", "odd", "-p", f"P{number}={value}")
        arrives(f'kiln run odd --param=P{number}="\t', "run", "odd", f"--param=P{number}={value}")
for number in range(len(LEFT_OUT)):
    arrives(f"kiln run odd -p L{number}=\t", "run", "odd", "-p", f"L{number}=fine")
for name in FILES:
    if name[0].isalpha():
        arrives(f"kiln run odd -d sim:{name[0]}\t", "run", "odd", "-d", f"sim:{name}")
        file = name.upper() + ".yaml"
        arrives(f"kiln run {name[0]}\t", "run", name)
        arrives(f"kiln run ./{file[0]}\t", "run", f"./{file}")
        arrives(f"kiln run odd --worker ./{file[0]}\t", "run", "odd", "--worker", f"./{file}")
if shell == "bash":  # a file in the home folder: the shell must expand the ~ and nothing else
    write("home`touch RAN` $(touch RAN).yaml", spec)
    arrives("kiln run ~/home\t", "run", f"{home}/home`touch RAN` $(touch RAN).yaml")
    arrives("kiln run ~/home\t -p P0=\t", "run", f"{home}/home`touch RAN` $(touch RAN).yaml", "-p", "P0=" + VALUES[0])
# If a word has several completions, the shell inserts the part that they share, and lists them.
arrives("kiln run odd -p BOTH=\t1", "run", "odd", "-p", "BOTH=x$(touch RAN)1") if shell != "zsh" else None
arrives("kiln run odd -p \t\t\t\025kiln run odd", "run", "odd")
arrives("kiln run odd -p TWO=\t\t\t\025kiln run odd", "run", "odd")
arrives("kiln run \t\t\t\025kiln run odd", "run", "odd")
arrives("kiln run odd -d \t\t\t\025kiln run odd", "run", "odd")
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
print(f"{shell}: {'all arrived as they are written, and nothing ran' if failures == 0 else f'{failures} of {tried} wrong'}")
sys.exit(failures != 0)
