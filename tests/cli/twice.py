"""twice.py SIGNAL COMMAND...: runs the command, which is a sweep of many.yaml. When the store has a sample of the
sweep, it sends the signal twice, to the process and to its group, as `timeout` does. The exit code is the command's."""
import os, signal, subprocess, sys, time

signal.signal(signal.SIGINT, signal.SIG_DFL)  # if a shell has started the suite in the background, SIGINT is ignored
process = subprocess.Popen(sys.argv[2:], start_new_session=True)
until = time.monotonic() + 120
while process.poll() is None and time.monotonic() < until:
    if '"key"' in subprocess.run(["kiln", "results", "many", "--json"], capture_output=True, text=True).stdout:
        break
    time.sleep(0.05)
number = getattr(signal, "SIG" + sys.argv[1])
process.send_signal(number)
if process.poll() is None:
    os.killpg(process.pid, number)
try:
    sys.exit(process.wait(timeout=120))
except subprocess.TimeoutExpired:
    process.kill()
    sys.exit("it did not end")
