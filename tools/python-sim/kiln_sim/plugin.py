"""A plug-in of pytest: `pytest --kiln-sim` runs the tests on a simulated CUDA device, under its checks.

A process loads libcuda once, so the device must be in place before it begins. With --kiln-sim the plug-in therefore
replaces pytest by `kiln sim run python -m pytest` with the same arguments. In the new process it reads the findings of
the checks after each test. A test with findings fails, and its report shows them.
"""
import ctypes
import glob
import json
import os
import sys

import pytest

from . import find_command, name_compiler

INSIDE = "KILN_SIM_PYTEST"  # set in the process that runs on the device


def pytest_addoption(parser):
    group = parser.getgroup("kiln-sim", "tests on Kiln's simulated CUDA device")
    group.addoption("--kiln-sim", nargs="?", const="generic", metavar="PROFILE",
                    help="run the tests on a simulated CUDA device: generic, h200, a100, ... (kiln devices)")
    group.addoption("--kiln-sim-devices", type=int, metavar="N", help="the number of simulated devices")
    group.addoption("--kiln-sim-no-check", action="store_true", help="without the checks, which cost time")
    group.addoption("--kiln-sim-sarif", metavar="FILE", help="write the findings to this file as SARIF 2.1.0")
    group.addoption("--kiln-sim-suppress", metavar="FILE", help="a file of rules, one per line, that leave findings out")


def refuse_options(options):
    """Stops pytest if the tests would run without the checks: --kiln-sim is missing, or its value is the path of a test
    instead of a profile."""
    given = [name for name in ("devices", "no_check", "sarif", "suppress") if getattr(options, "kiln_sim_" + name)]
    if given and not options.kiln_sim:
        raise pytest.UsageError(f"--kiln-sim-{given[0].replace('_', '-')} needs --kiln-sim")
    profile = options.kiln_sim or ""
    if profile.split("::")[0].endswith(".py"):
        raise pytest.UsageError(f"--kiln-sim takes '{profile}' for the name of a profile; write --kiln-sim=generic {profile}")


def make_command(options, arguments):
    """Returns the command line of `kiln sim run` for these options. Relative paths stay valid, because the new process
    has the same working folder."""
    command = [find_command(), "sim", "run", "--quiet", "--device", options.kiln_sim]
    if options.kiln_sim_devices:
        command += ["--devices", str(options.kiln_sim_devices)]
    if not options.kiln_sim_no_check:
        command.append("--check")
        for name in ("sarif", "suppress"):
            if value := getattr(options, "kiln_sim_" + name):
                command += ["--" + name, value]
    return [*command, sys.executable, "-m", "pytest", *arguments]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    """Replaces this process before it has imported anything of the project."""
    options = early_config.known_args_namespace
    refuse_options(options)
    if not options.kiln_sim or os.environ.get(INSIDE):
        return
    if os.path.exists(options.kiln_sim.partition("::")[0]):
        raise pytest.UsageError(f"--kiln-sim takes '{options.kiln_sim}' as the profile of the device: write the tests first, or "
                                f"--kiln-sim=generic {options.kiln_sim}")
    command = make_command(options, [str(a) for a in early_config.invocation_params.args])
    if not os.access(command[0], os.X_OK):
        if command[0]:
            raise pytest.UsageError(f"--kiln-sim: $KILN is '{command[0]}', which is not a program")
        raise pytest.UsageError("--kiln-sim: there is no command `kiln`: install the package kiln-sim, or set KILN to the "
                                "path of the command")
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.suspend_global_capture(in_=True)  # the new process gets the real standard output
    os.environ[INSIDE] = "1"
    name_compiler()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], ["kiln", *command[1:]])


def pytest_report_header(config):
    if config.getoption("kiln_sim"):
        checks = "off" if config.getoption("kiln_sim_no_check") else "on"
        return f"kiln-sim: device {config.getoption('kiln_sim')}, checks {checks}"


def wait_for_device():
    """Waits for kernels that the test left running, so that their findings belong to this test. Without a current
    context the call has no effect."""
    try:
        ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()
    except (OSError, AttributeError):
        pass


def read_findings():
    """Returns the findings of this process so far, from the file that the simulated libcuda writes (a JSON array)."""
    name = os.environ.get("KILN_SIM_CHECK_FILE", "").replace("%p", str(os.getpid()))
    found = []
    for path in sorted(glob.glob(glob.escape(name) + "*")) if name else []:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found += [f for f in json.loads(text) if "kind" in f] if text else []
    return found


def describe(finding):
    """Returns a finding as a text of two or three lines."""
    text = f"{finding['kind']} in kernel {finding['kernel']}: {finding['message']}" if finding["kernel"] else \
        f"{finding['kind']}: {finding['message']}"
    for side in (finding.get("at"), finding.get("other")):
        if side:
            place = f" at {side['file']}:{side['line']}" if side["file"] else ""
            thread = "" if "thread" not in side else ", block ({},{},{}), thread ({},{},{})".format(*side["block"], *side["thread"])
            text += f"\n    {side['what']}{place}{thread}"
    return text


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Fails a test in which the checks found something new, in the test itself or in its fixtures. The checks report
    each place in the code once in a process, so a later test with an error at the same place does not fail."""
    outcome = yield
    report = outcome.get_result()
    config = item.config
    if not os.environ.get(INSIDE) or config.getoption("kiln_sim_no_check", True):
        return
    wait_for_device()
    found = read_findings()
    told = getattr(config, "kiln_sim_told", 0)
    config.kiln_sim_told = len(found)
    new = found[told:]
    if not new:
        return
    text = "\n".join(describe(f) for f in new)
    report.sections.append(("kiln-sim", text))
    if report.outcome == "passed" and any(not f["note"] for f in new):
        report.outcome = "failed"
        report.longrepr = text
