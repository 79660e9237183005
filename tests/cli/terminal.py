"""terminal.py COLUMNS COMMAND...: runs a command on a terminal with this number of columns, and prints what it wrote
there, with escapes visible. NAME=VALUE before the command sets variables."""
import fcntl, os, pty, struct, sys, termios

columns, arguments = int(sys.argv[1]), sys.argv[2:]
while "=" in arguments[0]:
    name, value = arguments.pop(0).split("=", 1)
    os.environ[name] = value
ready, go = os.pipe()  # the child starts the command after the terminal got its size
pid, terminal = pty.fork()
if pid == 0:
    os.close(go)
    os.read(ready, 1)
    os.execvp(arguments[0], arguments)
os.close(ready)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
os.close(go)
output = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    output += data
code = os.waitpid(pid, 0)[1]
for line in output.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"):
    print(line.replace("\033", "<ESC>").replace("\r", "<CR>"))
sys.exit(os.waitstatus_to_exitcode(code))
