"""pytest_plugin.py KILN tests `pytest --kiln-sim` (tools/python-sim). It runs tests on the simulated device. If the
checks find an error during a test, this test fails."""
import json, os, pathlib, subprocess, sys, tempfile

try:
    import pytest  # noqa: F401
except ImportError as missing:
    print(f"SKIP tool: {missing}")
    sys.exit(77)

PROJECT = '''
import ctypes, os, pytest
PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 offset)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .loc 1 3 0
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd3, [offset];
    cvta.to.global.u64 %rd2, %rd1;
    add.u64 %rd2, %rd2, %rd3;
    mov.u32 %r1, 1;
    st.global.u32 [%rd2], %r1;
    ret;
}
.file 1 "k.cu"
"""

@pytest.fixture(scope="module")
def store():
    cu = ctypes.CDLL("libcuda.so.1")
    def call(name, *arguments):
        assert getattr(cu, name)(*arguments) == 0, name
    device, context, module, kernel = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3))
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"k")
    memory = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(64))
    def launch(offset):
        values = memory, ctypes.c_uint64(offset)
        arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(v) for v in values))
        call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
    yield launch
    call("cuMemFree_v2", memory)

def test_right(store): store(0)
def test_wrong(store): store(4096)
def test_same_place(store): store(8192)
def test_host(): assert 1 + 1 == 2

@pytest.fixture
def careless(store):
    yield
    store(12288)
'''
# The finding belongs to the test whose fixture errs, not to a later one.
FIXTURE = PROJECT + '''
def test_first(careless): pass
def test_second(store): store(0)
'''


def check(what, is_so):
    if not is_so:
        sys.exit(f"wrong: {what}")


with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "test_project.py").write_text(PROJECT)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("KILN", "PYTEST"))}
    environment |= {"KILN": sys.argv[1], "PYTHONPATH": str(pathlib.Path(__file__).parents[2] / "tools/python-sim"),
                    "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*options):
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "kiln_sim.plugin", "-p", "no:cacheprovider", "-rfp", *options],
                              cwd=folder, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, text = run("--kiln-sim", "h200", "--kiln-sim-sarif", "out.sarif")
    check(f"one test fails: {code}\n{text}", code == 1 and "1 failed, 3 passed" in text and "device h200, checks on" in text and
          "FAILED test_project.py::test_wrong" in text and "write of 4 bytes at k.cu:3" in text and
          "kiln checks: 1 finding, 0 notes" in text)
    results = json.loads(pathlib.Path(folder, "out.sarif").read_text())["runs"][0]["results"]
    check(f"SARIF: {results}", len(results) == 1 and results[0]["occurrenceCount"] == 2)
    pathlib.Path(folder, "test_fixture.py").write_text(FIXTURE)
    code, text = run("--kiln-sim", "-rE", "-k", "first or second", "test_fixture.py")
    check(f"a fixture: {code}\n{text}", code == 1 and "2 passed" in text and "1 error" in text and
          "ERROR test_fixture.py::test_first" in text)
    pathlib.Path(folder, "test_fixture.py").unlink()
    pathlib.Path(folder, "rules").write_text("out-of-bounds k\n")
    code, text = run("--kiln-sim", "--kiln-sim-suppress", "rules")
    check(f"suppressed: {code}\n{text}", code == 0 and "4 passed" in text and "1 suppressed" in text)
    code, text = run("--kiln-sim", "--kiln-sim-no-check", "-k", "right or host")
    check(f"without checks: {code}\n{text}", code == 0 and "2 passed" in text and "kiln checks" not in text)
    code, text = run("--kiln-sim", "test_project.py::test_host")
    check(f"tests as a profile: {code}\n{text}", code == 4 and "--kiln-sim=generic test_project.py::test_host" in text)
    code, text = run("-k", "host")
    check(f"without the option: {code}\n{text}", code == 0 and "1 passed" in text and "kiln" not in text.replace(folder, ""))
    for options, message in ((["--kiln-sim", "test_project.py"], "--kiln-sim=generic test_project.py"),
                             (["--kiln-sim-sarif", "x"], "--kiln-sim-sarif needs --kiln-sim"),
                             (["--kiln-sim-no-check"], "--kiln-sim-no-check needs --kiln-sim")):
        code, text = run(*options)
        check(f"options {options}: {code}\n{text}", code == 4 and message in text)
    code, text = run("--kiln-sim", "h2000")
    check(f"no such profile: {code}\n{text}", code == 125 and "no device profile 'h2000'" in text)
    environment |= {"KILN": "/nowhere/kiln"}
    code, text = run("--kiln-sim")
    check(f"no program: {code}\n{text}", code == 4 and "/nowhere/kiln" in text and "Traceback" not in text)
    environment |= {"KILN": "", "PATH": "/nowhere"}
    code, text = run("--kiln-sim")
    check(f"no command: {code}\n{text}", code == 4 and "install the package kiln-sim" in text)
