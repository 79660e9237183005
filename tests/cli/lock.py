#!/usr/bin/env python3
"""lock.py KILN LIBCUDA SPECS: runs the command on a GPU whose lock another process holds. LIBCUDA is the simulated
driver. The command treats it as a GPU, because the driver was loaded as a library. It has a UUID, so it has a lock.

- If the lock is free, the command does not mention it, and makes the lock file.
- If another process holds the lock, the command says that it waits. After KILN_LOCK_SECONDS it measures without the
lock, and warns once.
- During a long wait, SIGINT ends the wait."""
import fcntl
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

OFD_SETLK = 37
KILN, LIBCUDA, SPECS = sys.argv[1:4]
failed = False
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell starts background processes with SIGINT ignored


def check(right: bool, what: str, said: str) -> None:
    global failed
    if not right:
        print(f"{what}:\n{said}")
        failed = True


def start(work: str, seconds: str) -> subprocess.Popen[str]:
    more = {"KILN_LIBCUDA": LIBCUDA, "KILN_LOCK_DIR": work, "KILN_LOCK_SECONDS": seconds, "KILN_PATH": SPECS, "HOME": work,
            "KILN_WORKER": str(pathlib.Path(KILN).with_name("kiln-worker")), "LC_ALL": "C"}
    more.setdefault("KILN_CACHE_DIR", os.environ.get("KILN_TEST_CACHE", work))
    return subprocess.Popen([KILN, "tune", "add", "-v", "plain", "-m", "1", "-d", "cuda:0", "--no-store"], text=True,
                            env={**os.environ, **more}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main() -> int:
    with tempfile.TemporaryDirectory() as work:
        run = start(work, "100")
        said = run.communicate()[1]
        if run.returncode == 7:
            print("SKIP nvrtc: " + said)
            return 77
        files = list(pathlib.Path(work).glob("kiln-GPU-*.lock"))
        check(run.returncode == 0 and "lock" not in said and "in use" not in said, "a free lock", said)
        check(len(files) == 1, "the lock file", str(files))
        if len(files) != 1:
            return 1
        with open(files[0], "r+b") as held:
            fcntl.fcntl(held, OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            run = start(work, "0.05")
            said = run.communicate()[1]
            check(run.returncode == 0 and said.count("for 0.05 s: measuring without the lock") == 1 and "is in use" in said,
                  f"a held lock, exit {run.returncode}", said)
            run = start(work, "100000")
            assert run.stderr
            line = run.stderr.readline()
            check("is in use" in line and "measurements take turns" in line, "a long wait begins", line)
            run.send_signal(signal.SIGINT)
            said = run.communicate()[1]
            check(run.returncode == 130 and "measuring without" not in said, f"a long wait, exit {run.returncode}", said)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
