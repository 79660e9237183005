"""Tests the Python module on the simulated device: PYTHONPATH=BUILD/python python3 test_kiln.py [-v]
[CLASS.test_NAME]."""
import contextlib
import ctypes
import gc
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock
import weakref
import xml.etree.ElementTree

try:
    import numpy as np
    import kiln
    from kiln._kiln import ffi, lib
except ImportError as missing:
    print(f"SKIP tool: {missing} (tools/setup.sh --test installs python3-cffi and python3-numpy)")
    sys.exit(77)

SOURCE = pathlib.Path(__file__).resolve().parents[2]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background processes with SIGINT ignored
SCALE = """
kiln: 1
name: scale
source: scale.cu
sizes: {default: {N: 1000}, tiny: {N: 100}}
buffers:
  x: {type: f32, shape: [N], fill: {iota: [0, 1]}}
  y: {type: f32, shape: [N], out: true}
metrics: {flops: N, bytes: 8 * N}
verify: {y: {against: {host: by_numpy}}}
params: {BLOCK: [32, 64, 128], ITEMS: [1, 2]}
launch: {kernel: scale, grid: ["ceil_div(N, BLOCK * ITEMS)"], block: [BLOCK], args: [3.0, x, y, N]}
"""


def by_numpy(call):
    call.output("y")[...] = 3 * call.array("x")


@contextlib.contextmanager
def stand_in(name, members):
    """Replaces a module within the block: `import name` gives a module with these members. If `members` is None, there
    is no such module."""
    before = sys.modules.get(name)
    sys.modules[name] = members if members is None else types.SimpleNamespace(**members)
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        os.environ["KILN_CACHE_DIR"] = os.environ.get("KILN_TEST_CACHE") or f"{cls.folder}/cache"

    def setUp(self):
        self.reference = by_numpy
        self.log = []
        self.engine = kiln.Engine("sim", log=lambda level, message: self.log.append((level, message)))
        self.addCleanup(self.engine.close)
        self.engine.register_host("by_numpy", lambda call: self.reference(call))
        self.spec = self.engine.parse(SCALE, SOURCE / "tests/python/scale.yaml")


class Runs(Case):
    def test_what_a_spec_has(self):
        self.assertEqual(self.spec.name, "scale")
        self.assertEqual(self.spec.variants, ["default"])
        self.assertEqual(self.spec.sizes, {"default": {"N": 1000}, "tiny": {"N": 100}})
        self.assertEqual(self.spec.params(), {"BLOCK": (32, 64, 128), "ITEMS": (1, 2)})
        self.assertEqual((self.spec.buffers["y"].type, self.spec.buffers["y"].output), ("f32", 1))
        self.assertEqual(self.spec.space().valid, 6)
        with self.assertRaises(KeyError):
            self.spec.params("other")

    def test_matmul(self):
        with self.engine.load("matmul") as spec, spec.plan("tiled", {"TILE_WIDTH": 16}, size_set="tiny") as plan:
            result = plan.run()
            self.assertEqual((result.verified, result.measured, result["flops"]), (1, 0, 2 * 64 * 80 * 48))
            a, b = plan.read("A").reshape(64, 48), plan.read("B").reshape(48, 80)
            np.testing.assert_allclose(plan.read("P").reshape(64, 80), a @ b, rtol=1e-4, atol=1e-5)
            self.assertEqual((plan.size_set, plan.kernels[0].block), ("tiny", (16, 16, 1)))
            self.assertEqual(plan.metrics["bytes"], result.bytes)

    def test_references(self):
        plan = self.spec.plan()
        self.assertEqual(plan.run().verified, 1)
        self.assertEqual(plan.run(verify=False).verified, 0)
        self.reference = self.off_by_one
        with self.assertRaises(kiln.WrongAnswerError) as caught:
            self.spec.plan().run()
        self.assertEqual(caught.exception.status, "ERROR_WRONG_ANSWER")
        self.assertIn("y", caught.exception.text)

    @staticmethod
    def off_by_one(call):
        by_numpy(call)
        call.output("y")[7] += 1

    def test_reference_that_raises(self):
        def reference(call):
            raise ZeroDivisionError("no such number: \udcff")
        self.reference = reference
        with self.assertRaises(kiln.HostFunctionError) as caught:
            self.spec.plan().run()
        self.assertIn("ZeroDivisionError: no such number", caught.exception.text)
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)

    def test_reference_of_a_missing_argument(self):
        self.reference = lambda call: call.array("z")
        with self.assertRaisesRegex(kiln.HostFunctionError, "'z'"):
            self.spec.plan().run()

    def test_reference_is_ended_by_an_exit(self):
        def reference(call):
            raise SystemExit(3)
        self.reference = reference
        with self.assertRaises(SystemExit):
            self.spec.plan().run()

    def test_reference_reads_only(self):
        def reference(call):
            call.array("x")[0] = 1
        self.reference = reference
        with self.assertRaisesRegex(kiln.HostFunctionError, "read-only"):
            self.spec.plan().run()

    def test_reference_that_keeps_an_array(self):
        kept = []
        self.reference = lambda call: kept.append(call.array("x")[5:])
        with self.assertRaisesRegex(kiln.HostFunctionError, "keeps the array 'x'"):
            self.spec.plan().run()

    def test_inputs(self):
        def count_up(call):
            n = call.int("n")
            self.assertEqual((call.float("half", 0.5), call.text("word", "none")), (0.5, "none"))
            call.export("data", np.arange(n, dtype=np.float32))
            call.export("sum", n * (n - 1) // 2)
            call.export("mean", (n - 1) / 2)
        self.engine.register_host("count_up", count_up, ("input",))
        text = SCALE.replace("buffers:", "inputs: {made: {host: count_up, n: N}}\nbuffers:")
        text = text.replace("x: {type: f32, shape: [N], fill: {iota: [0, 1]}}", "x: {from: made.data}")
        plan = self.engine.parse(text.replace("flops: N", "flops: made.sum + made.mean"),
                                 SOURCE / "tests/python/scale.yaml").plan(sizes={"N": 11})
        self.assertEqual(plan.run().flops, 60)
        with self.assertRaisesRegex(kiln.ArgumentError, "from made.data"):
            plan.read("x")
        np.testing.assert_array_equal(plan.read("x", "f4"), np.arange(11, dtype=np.float32))

    def test_inputs_and_outputs_are_files(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", np.full(100, 2, np.float32))
            self.spec.plan().run(inputs={"x": f"{folder}/x.npy"}, outputs={"y": pathlib.Path(folder, "y.npy")})
            self.assertEqual(set(np.load(f"{folder}/y.npy")), {6})


class Verdicts(Case):
    """kiln.judge() with candidates for SCALE, on the simulated device."""

    def judge(self, change, **options):
        path = pathlib.Path(self.folder, "candidate.cu")
        source = (SOURCE / "tests/python/scale.cu").read_text()
        path.write_text(change(source))
        return kiln.judge(self.spec, path, **options)

    def test_verdicts(self):
        made = self.judge(str, against=self.spec.variants[0])
        self.assertEqual((made.status, bool(made), made.evidence["case"]), ("pass", True, None))
        self.assertEqual(made.to_dict()["comparison"]["kind"], "counted")
        self.assertTrue(made.page.startswith("pass: "))
        self.assertEqual(self.judge(str, against=self.spec).to_dict()["comparison"]["spec"], "scale")
        made = self.judge(lambda source: "nonsense")
        self.assertEqual((made.status, bool(made)), ("compile", False))
        self.assertIn(made.evidence["message"].splitlines()[0], made.page)

    def test_wrong_arguments(self):
        with self.assertRaises(TypeError):
            kiln.judge(self.spec, "candidate.cu", device="sim")
        with self.assertRaises(FileNotFoundError):
            kiln.judge(self.spec, "/nowhere/candidate.cu")
        with self.assertRaises(kiln.NotFoundError):
            self.judge(str, against="nowhere")


class Memory(Case):
    def test_write_launch_read(self):
        plan = self.spec.plan(sizes={"N": np.int64(5)})
        plan.write("x", np.array([1, 2, 3, 4, 5], np.float32))
        plan.launch()
        self.assertEqual(plan.read("y").tolist(), [3, 6, 9, 12, 15])
        plan.resize(N=3)
        self.assertEqual(plan.nbytes("y"), 12)
        with self.assertRaises(TypeError):
            plan.write("x", np.zeros(3))  # 64 bits
        with self.assertRaises(kiln.ArgumentError):
            plan.write("x", np.zeros(2, np.float32))
        with self.assertRaises(kiln.NotFoundError):
            plan.read("z")

    def filled(self, *values):
        plan = self.spec.plan(sizes={"N": len(values)})
        plan.write("x", np.array(values, np.float32))
        return plan

    def test_bind(self):
        first, second = self.filled(1, 2, 3), self.spec.plan(sizes={"N": 3})
        array = first.buffer("x")
        self.assertEqual(array.__cuda_array_interface__["shape"], (3,))
        second.bind("x", array)
        second.launch(0)
        self.assertEqual(second.read("y").tolist(), [3, 6, 9])
        second.bind("x", array.pointer, 12)
        with self.assertRaises(kiln.ArgumentError):
            second.bind("x", array.pointer, 8)
        with self.assertRaises(TypeError):
            second.bind("x", array.pointer)
        with self.assertRaisesRegex(TypeError, "type f32, and the array i32"):
            second.bind("x", first.buffer("x", np.int32))
        with self.assertRaisesRegex(ValueError, r"Plan.write\(\)"):
            second.bind("x", np.zeros(3, np.float32))

    def test_bound_memory_outlives_its_plan(self):
        first, second = self.filled(1, 2, 3), self.spec.plan(sizes={"N": 3})
        second.bind("x", first.buffer("x"))
        first.close()
        second.launch()
        self.assertEqual(second.read("y").tolist(), [3, 6, 9])
        self.assertIsNotNone(first._pointer)
        second.close()
        self.assertIsNone(first._pointer)
        third, fourth = self.filled(1), self.filled(2)
        third.bind("x", fourth.buffer("x"))
        fourth.bind("x", third.buffer("y"))
        third.close()
        fourth.close()
        self.assertEqual((third._pointer, fourth._pointer), (None, None))

    def test_interface_with_strides(self):
        class Strided:
            def __init__(self, array, shape, strides):
                self.__cuda_array_interface__ = dict(array.__cuda_array_interface__, shape=shape, strides=strides)
        first, second = self.filled(1, 2, 3, 4), self.spec.plan(sizes={"N": 4})
        array = first.buffer("x")
        second.bind("x", Strided(array, (2, 1, 2), (8, 99, 4)))
        for shape, strides in [((2, 2), (4, 8)), ((4,), (8,)), ((4,), (-4,))]:
            with self.assertRaisesRegex(ValueError, "not dense"):
                second.bind("x", Strided(array, shape, strides))

    def test_dlpack(self):
        from kiln import arrays

        class Tensor:
            freed = 0

            def __init__(self, pointer, code, bits, shape, strides=None, offset=0, device=2):
                self.extents = (ctypes.c_int64 * len(shape))(*shape)
                self.steps = (ctypes.c_int64 * len(shape))(*strides) if strides else None
                self.tensor = arrays._Tensor(pointer, device, 0, len(shape), code, bits, 1, self.extents, self.steps,
                                             offset)
                self.device = device
                self.destroy = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.count)

            @staticmethod
            def count(_):
                Tensor.freed += 1

            def __dlpack_device__(self):
                return (self.device, 0)

            def __dlpack__(self, stream=None):
                assert stream == -1
                new = ctypes.pythonapi.PyCapsule_New
                new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
                return new(ctypes.addressof(self.tensor), b"dltensor", ctypes.cast(self.destroy, ctypes.c_void_p))

        first, second = self.filled(0, 1, 2, 3), self.spec.plan(sizes={"N": 3})
        pointer = first.buffer("x").pointer
        second.bind("x", Tensor(pointer, 2, 32, (3, 1), (1, 7), offset=4))
        gc.collect()
        self.assertEqual(Tensor.freed, 0)
        second.launch()
        self.assertEqual(second.read("y").tolist(), [3, 6, 9])
        with self.assertRaisesRegex(TypeError, "the array i32"):
            second.bind("x", Tensor(pointer, 0, 32, (3,)))
        with self.assertRaisesRegex(ValueError, "not dense"):
            second.bind("x", Tensor(pointer, 2, 32, (3,), (2,)))
        with self.assertRaisesRegex(ValueError, "not in a GPU"):
            second.bind("x", Tensor(pointer, 2, 32, (3,), device=1))
        self.assertEqual(arrays.device_memory(Tensor(pointer, 4, 16, (2,)), None)[1:3], (4, "bf16"))
        self.assertEqual(arrays.device_memory(Tensor(pointer, 6, 8, (2,)), None)[1:3], (2, "bool"))
        second.close()
        gc.collect()
        self.assertEqual(Tensor.freed, 5)

    def test_streams(self):
        class Stream:
            ptr = 5

        class Newer:
            def __cuda_stream__(self):
                return (0, 7)
        from kiln.arrays import stream_pointer
        self.assertEqual([stream_pointer(s) for s in (None, 3, Stream(), Newer())], [0, 3, 5, 7])

    def test_types(self):
        from kiln.arrays import ML_DTYPES, dtype_of, kind_of, type_name
        for number in range(lib.KILN_TYPE_COUNT):
            name = type_name(number)
            if name not in ML_DTYPES:
                self.assertEqual(kind_of(dtype_of(name)), number)
        with stand_in("ml_dtypes", None):
            with self.assertRaisesRegex(TypeError, "NumPy has no type for bf16: install the package ml_dtypes"):
                dtype_of("bf16")
            with self.assertRaisesRegex(TypeError, "no type for NumPy's"):
                kind_of(np.dtype("V2"))
        types = {"bfloat16": np.dtype("<f2"), "float8_e4m3fn": np.dtype("u1"), "float8_e5m2": np.dtype("i1")}
        with stand_in("ml_dtypes", types):  # an old one
            with self.assertRaisesRegex(TypeError, "NumPy has no type for f4e2m1: install the package ml_dtypes"):
                dtype_of("f4e2m1")
            with self.assertRaisesRegex(TypeError, "no type for NumPy's"):
                kind_of(np.dtype("V2"))
        types |= {"float4_e2m1fn": np.dtype("S1"), "float6_e2m3fn": np.dtype("S2"), "float6_e3m2fn": np.dtype("S3"),
                  "float8_e8m0fnu": np.dtype("S4")}
        with stand_in("ml_dtypes", types):
            self.assertEqual([dtype_of(name) for name in ML_DTYPES], list(types.values()))
            self.assertEqual(type_name(kind_of(np.dtype("S4"))), "ue8m0")
        if importlib.util.find_spec("ml_dtypes"):
            installed = importlib.import_module("ml_dtypes")
            known = [name for name, called in ML_DTYPES.items() if hasattr(installed, called)]
            self.assertEqual([type_name(kind_of(dtype_of(name))) for name in known], known)
        else:
            print("SKIP extra: test_types: there is no ml_dtypes, so a stand-in takes its place")


class Errors(Case):
    def test_a_class_for_each_status(self):
        from kiln.errors import class_of
        names = [name.removeprefix("KILN_") for name in ffi.typeof("kiln_status").relements]
        classes = {class_of(name) for name in names if name != "OK"}
        self.assertEqual(len(classes), len(names) - 1)
        self.assertNotIn(kiln.Error, classes)
        for found in classes:
            self.assertIs(getattr(kiln, found.__name__), found)
            self.assertIn(found.__name__, kiln.__all__)

    def test_place(self):
        with self.assertRaises(kiln.SpecError) as caught:
            self.engine.parse(SCALE.replace("sizes:", "size:"), "broken.yaml")
        self.assertEqual(caught.exception.place, kiln.Place("broken.yaml", 5, 1))
        with self.assertRaises(kiln.NotFoundError) as caught:
            self.engine.load("no-such-spec")
        self.assertIsNone(caught.exception.place)

    def test_wrong_arguments(self):
        with self.assertRaises(kiln.ConstraintError):
            self.spec.plan(params={"BLOCK": 5})
        with self.assertRaisesRegex(TypeError, "no member 'budgets'"):
            self.spec.plan().run(budgets=1)
        with self.assertRaisesRegex(TypeError, "neither a number nor a text"):
            self.spec.plan(params={"BLOCK": None})
        sizes = {"N": 5}
        for wrong in (self.spec.plan, self.spec.best_plan, self.spec.space):  # the first parameter is the variant
            with self.assertRaisesRegex(TypeError, "variant takes one value, not {'N': 5}: write sizes={'N': 5} or"):
                wrong(sizes)
        with self.assertRaisesRegex(TypeError, r"^budget takes one value, not \[1\]$"):
            self.spec.plan().run(budget=[1])
        with self.assertRaisesRegex(ValueError, "zero byte"):
            self.engine.load("a\0b")
        with self.assertRaises(kiln.CompileError):
            self.engine.parse(SCALE.replace("params:", "define: {BROKEN: 1}\nparams:"),
                              SOURCE / "tests/python/scale.yaml").plan()

    def test_names_that_are_no_utf8(self):
        odd = os.fsdecode(b"\xff\xfe")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, odd).mkdir()
            path = pathlib.Path(folder, odd, "scale.yaml")
            path.write_text(SCALE)
            self.assertEqual(self.engine.load(path).path, str(path))

    def test_log_and_devices(self):
        self.assertEqual(self.engine.device.id, "sim:generic")
        self.assertIn("sim:h200", [device.id for device in self.engine.devices()])
        self.assertIn("matmul", [spec.name for spec in self.engine.specs()])
        self.spec.plan()
        self.assertTrue(all(level in ("DEBUG", "INFO", "WARNING") for level, _ in self.log))


class Lifetimes(Case):
    def test_use_after_close(self):
        plan = self.spec.plan()
        array = plan.buffer("x")
        plan.close()
        plan.close()
        self.assertTrue(plan.closed)
        for use in (plan.run, plan.launch, lambda: array.pointer):
            with self.assertRaises(kiln.ClosedError):
                use()
        plan = self.spec.plan()
        self.engine.close()
        self.assertEqual((plan._pointer, self.spec._pointer, self.engine._pointer), (None, None, None))
        for use in (plan.run, self.spec.plan, lambda: self.engine.load("matmul"), lambda: self.engine.device):
            with self.assertRaises(kiln.ClosedError):
                use()

    def test_nothing_is_left(self):
        """Tests with a counting allocator that objects are freed when they are closed, collected one by one, or
        collected as a cycle."""
        libc = ctypes.CDLL(None)
        libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]
        libc.free.argtypes = [ctypes.c_void_p]
        live = set()

        @ffi.callback("void *(void *, void *, size_t)")
        def resize(_, pointer, size):
            old = int(ffi.cast("uintptr_t", pointer))
            live.discard(old)
            if not size:
                libc.free(old)
                return ffi.NULL
            new = libc.realloc(old or None, size)
            live.add(new)
            return ffi.cast("void *", new)

        allocator = ffi.new("kiln_allocator *", {"resize": resize})

        def use(close):
            engine = kiln.Engine("sim", allocator=allocator, jobs=1)
            engine.register_host("by_numpy", lambda call: (by_numpy(call), engine)[0])  # a cycle
            spec = engine.parse(SCALE, SOURCE / "tests/python/scale.yaml")
            plan, other = spec.plan(), spec.plan()
            other.bind("x", plan.buffer("x"))
            other.run()
            with self.assertRaises(kiln.NotFoundError):
                plan.read("nothing")
            tuning = spec.tune(max_configurations=2)
            self.assertGreater(len(live), 0)
            if close:
                engine.close()
            return weakref.ref(engine), tuning

        for close in (True, False):
            gone, tuning = use(close)
            gc.collect()
            self.assertIsNone(gone())
            self.assertEqual(len(live), 0)
            self.assertEqual(len(tuning.samples), 2)

    def test_open_at_exit(self):
        code = f"""if True:
            import kiln
            engine = kiln.Engine("sim")
            spec = engine.load("matmul")
            plan = spec.plan(size_set="tiny")
            cycle = [engine, plan]
            cycle.append(cycle)
            plan.launch()"""
        done = subprocess.run([sys.executable, "-X", "dev", "-c", code], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_threads(self):
        shared, failed = self.spec.plan(sizes={"N": 50}), []

        def work(block):
            try:
                for _ in range(3):
                    with self.spec.plan(params={"BLOCK": block}, sizes={"N": block}) as plan:
                        plan.write("x", np.full(block, block, np.float32))
                        plan.launch()
                        self.assertEqual(set(plan.read("y")), {3 * block})
                    shared.run()
            except BaseException as error:
                failed.append(error)
        threads = [threading.Thread(target=work, args=(block,)) for block in (32, 64, 128)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_closed_during_a_call(self):
        plan, inside, closed = self.spec.plan(), threading.Event(), threading.Event()

        def reference(call):
            inside.set()
            closed.wait(60)
            by_numpy(call)
        self.reference = reference
        results = []
        thread = threading.Thread(target=lambda: results.append(plan.run().verified))
        thread.start()
        inside.wait(60)
        self.engine.close()
        self.assertTrue(self.engine.closed)
        closed.set()
        thread.join()
        self.assertEqual((results, self.engine._pointer), ([1], None))

    def test_collected_in_a_callback(self):
        """Tests that an object is freed only after the library has returned."""
        plans, seen = [self.spec.plan()], []

        def callback(progress, sample):
            if sample:
                for plan in plans:
                    plan.close()
                seen.append(len(_objects._waiting))
        from kiln import _objects
        self.spec.tune(callback=callback)
        self.assertEqual((seen, _objects._waiting), ([1] * 6, []))

    def test_fork(self):
        """Tests that a forked child frees no object of its parent."""
        code = """if True:
            import kiln, os, sys
            engine = kiln.Engine("sim")
            plan = engine.load("matmul").plan(size_set="tiny")
            child = os.fork()
            if not child:
                engine.close()
                sys.exit(0 if engine.closed else 1)
            status = os.waitpid(child, 0)[1]
            sys.exit(status or plan.run().verified - 1)"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_callback_uses_its_plan(self):
        plan = self.spec.plan()
        self.reference = lambda call: plan.read("x")
        with self.assertRaisesRegex(kiln.HostFunctionError, "must not use the Plan that calls it"):
            plan.run()


class Tunes(Case):
    def test_all(self):
        seen = []
        tuning = self.spec.tune(callback=lambda progress, sample: seen.append((progress.done, sample)))
        samples = [sample for _, sample in seen if sample]
        self.assertEqual(len(samples), 6)
        self.assertTrue(all(sample.status == "OK" and sample.result.verified for sample in samples))
        self.assertEqual((tuning.totals.configurations, tuning.totals.end), (6, "END_ALL"))
        self.assertEqual(tuning.best.params, tuning.samples[0].params)
        rows = tuning.rows()
        self.assertEqual({(row["BLOCK"], row["ITEMS"]) for row in rows},
                         {(block, items) for block in (32, 64, 128) for items in (1, 2)})
        self.assertEqual([row["rank"] for row in rows], [1, 2, 3, 4, 5, 6])
        self.assertIs(rows[0]["verified"], True)
        frame = tuning.frame()
        if importlib.util.find_spec("pandas"):
            self.assertEqual((len(frame), frame["verified"].sum()), (6, 6))
        else:
            self.assertEqual(frame, rows)

    def test_flags_are_bools(self):
        """Tests the list of ints that are 0 or 1. The header marks such an int by a comment that begins with "1 means",
        or by the kind FLAG."""
        from kiln._objects import FLAGS
        text = "".join((SOURCE / "engine/include" / name).read_text() for name in ("kiln.h", "kiln_tune.h"))
        text = re.sub(r"-1 means only records[^\n]*", "", text)  # of a filter, which has three values
        said = set(re.findall(r"^ +int (\w+); +/\* (?:set only by \w+\(\); )?1 means (?!only failed)", text, re.M))
        said |= set(re.findall(r"/\* 1 means[^;{}#]*?\*/\n +int (\w+);", text))
        said |= set(re.findall(r"X\(FLAG, (\w+)", text))
        self.assertGreater(len(said), 15)
        self.assertEqual(said - FLAGS, set())
        tuning = self.spec.tune(params={"BLOCK": 64})
        sample, device = tuning.best, self.engine.device
        self.assertEqual([sample.result.verified, sample.result.measured, sample.reused, device.simulated],
                         [True, False, False, True])
        for flag in (sample.result.verified, sample.contender, device.simulated, self.spec.buffers["y"].output):
            self.assertIsInstance(flag, bool)
        self.assertNotIsInstance(tuning.totals.verified, bool)  # a count

    def unnamed(self):
        """Returns an engine with the default device of machines without a GPU, on any machine."""
        engine = kiln.Engine("sim:h200")
        self.addCleanup(engine.close)
        engine._named = ""
        engine.register_host("by_numpy", by_numpy)
        return engine

    def test_ranks_as_the_command(self):
        """Tests a sweep without a named device: it checks answers at `tiny`, estimates times at the first sizes, and
        ends after a minute."""
        asked, sweep = [], kiln.Spec.tune.__globals__["tune"]

        def kept(*arguments, **members):
            asked.append((members["size_set"], members.get("verify_size_set"), members["max_seconds"]))
            return sweep(*arguments, **members)
        text = SCALE.replace("N: 1000}", "N: 100000000}")
        spec = self.unnamed().parse(text, SOURCE / "tests/python/scale.yaml")
        with unittest.mock.patch.dict(kiln.Spec.tune.__globals__, tune=kept):
            found = spec.tune(params={"BLOCK": 64})
            spec.tune(params={"BLOCK": 64}, sizes={"N": 100})
            spec.tune(params={"BLOCK": 64}, max_configurations=1, run={"verify": False}, size_set="tiny")
        self.assertEqual(asked, [("default", "tiny", 60), (None, None, 60), ("tiny", None, 0)])
        self.assertEqual((found.best.result.estimated, found.best.result.verified), (True, True))
        self.assertEqual((found.best.result.bytes, found.sizes), (8e8, "default, answers at tiny"))

    def test_variants_that_have_no_small_sizes(self):
        text = SCALE.replace("launch: ", "variants:\n  small: {launch: ")[:-1] + "}\n"
        large = text[text.index("  small:"):].replace("small: {", "large: {where: [N > 500], ")
        spec = self.unnamed().parse(text + large, SOURCE / "tests/python/scale.yaml")
        self.assertEqual({sample.variant for sample in spec.tune().samples}, {"small"})

    def test_a_sweep_whose_work_depends_on_data(self):
        """Tests a spec whose times cannot be estimated from a few blocks. The sweep uses the small sizes, as the
        command does."""
        engine = self.unnamed()
        engine.register_host("three", lambda call: call.export("n", 3), "input")
        text = SCALE.replace("buffers:", "inputs: {made: {host: three}}\nbuffers:").replace("flops: N", "flops: made.n")
        found = engine.parse(text, SOURCE / "tests/python/scale.yaml").tune(params={"BLOCK": 64, "ITEMS": 1})
        self.assertEqual((found.best.result.bytes, found.sizes), (800, "tiny"))

    def test_callback_ends_it(self):
        tuning = self.spec.tune(callback=lambda progress, sample: progress.done >= 2)
        self.assertEqual((tuning.totals.end, 2 <= len(tuning.samples) < 6), ("END_EARLY", True))

    def test_callback_raises(self):
        calls = []

        def callback(progress, sample):
            calls.append(sample)
            raise OverflowError("enough")
        with self.assertRaisesRegex(OverflowError, "enough"):
            self.spec.tune(callback=callback)
        self.assertEqual(len(calls), 1)

    def test_options(self):
        with self.engine.store(f"{self.folder}/{self.id()}.db") as store:
            first = self.spec.tune(store=store, params={"BLOCK": 64}, objectives=["compile", "max: N / time"])
            again = self.spec.tune(store=store, params={"BLOCK": 64}, run={"verify": True})
            self.assertEqual((first.totals.reused, again.totals.reused), (0, 2))
            self.assertEqual(list(first.samples[0].objectives), ["compile", "max: N / time"])
            plan = self.spec.best_plan(store=store)
            self.assertEqual((plan.best["from"], plan.best.params["BLOCK"]), ("BEST_EXACT", 64))
            self.assertEqual(plan.run().verified, 1)
            shipped, other = pathlib.Path(self.folder, "known.yaml"), pathlib.Path(self.folder, "none.yaml")
            self.assertEqual(store.export_best(shipped, self.spec), 1)
            with self.assertRaisesRegex(kiln.NotFoundError, "no successful sample of spec .*, variant nobody"):
                store.export_best(other, self.spec, variant="nobody")
            self.assertFalse(other.exists())
        plan = self.spec.best_plan(knowledge=shipped)
        self.assertEqual((plan.best["from"], plan.best.params["BLOCK"]), ("BEST_EXACT", 64))
        with self.assertRaises(kiln.ClosedError):
            self.spec.tune(store=store)
        self.assertEqual(self.spec.best_plan().best["from"], "BEST_DEFAULT")
        with self.assertRaises(kiln.NotFoundError):
            self.spec.tune(strategy="guessing")

    def test_examples(self):
        """Runs all examples of the page, in their order, in one program."""
        text = (SOURCE / "tools/python/README.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreaterEqual(len(examples), 3)
        found = {}
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        shutil.copy(SOURCE / "tests/python/scale.cu", self.folder)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for number, example in enumerate(examples):
                example = example.replace("Engine()", "Engine('sim')").replace("max_seconds=8", "max_configurations=2")
                example = example.replace("kiln.tune(", "kiln.tune(device='sim:h200', source=")
                path = pathlib.Path(self.folder, f"example{number}.py")
                path.write_text(example)
                exec(compile(example, str(path), "exec"), found)
        self.assertTrue(found["plan"].closed)
        self.assertEqual(found["tuning"].best.variant, "tiled")
        self.assertTrue(pathlib.Path(self.folder, "scale.yaml").exists())

    def test_bar(self):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.spec.tune(params={"BLOCK": 64, "ITEMS": 1}, progress=True)
        self.assertIn("[####################] 1/1, best ", shown.getvalue())
        self.assertTrue(shown.getvalue().endswith("\n"))

    def test_interrupt(self):
        """Tests a kernel that does not end. Only `stop` can end it."""
        spin = self.engine.load(SOURCE / "tests/cli/specs/endless/spin.yaml")
        plan = spin.plan()
        before = signal.getsignal(signal.SIGINT)
        for work in (lambda: plan.run(sample_timeout=-1), lambda: spin.tune(sample_timeout=-1)):
            timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                work()
                signal.pause()
            timer.join()
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        self.assertEqual(self.spec.plan().run().verified, 1)

    def test_interrupt_in_the_callback(self):
        with self.assertRaises(KeyboardInterrupt):
            self.spec.tune(callback=lambda progress, sample: os.kill(os.getpid(), signal.SIGINT))

    def test_time_limit_in_a_thread(self):
        spin, failed = self.engine.load(SOURCE / "tests/cli/specs/endless/spin.yaml"), []

        def work():
            try:
                spin.plan().run(sample_timeout=0.1)
            except kiln.Error as error:
                failed.append(type(error))
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(failed, [kiln.TimeoutError])


class Notebook(Case):
    def test_repr(self):
        plan = self.spec.plan(params={"BLOCK": 64}, size_set="tiny")
        self.assertEqual(repr(self.engine), "<kiln.Engine sim>")
        self.assertEqual(repr(self.spec), "<kiln.Spec scale: variants default; sizes default, tiny>")
        self.assertEqual(repr(plan), "<kiln.Plan scale: {'BLOCK': 64} tiny>")
        self.assertEqual(repr(plan.buffer("y")), "<kiln.DeviceArray y: 100 x float32>")
        plan.close()
        self.assertEqual(repr(plan), "<kiln.Plan closed>")
        shown = repr(self.spec.tune()).splitlines()
        self.assertEqual(shown[0], "scale, tiny: 6 configurations, 6 verified, 0 failed")
        self.assertEqual(shown[1].split(), ["rank", "time", "verified", "BLOCK", "ITEMS"])
        self.assertEqual([line.split()[0] for line in shown[2:8]], list("123456"))
        self.assertIn("do not predict a GPU", shown[8])

    def sample(self, at, seconds, **params):
        result = dict.fromkeys(("host_seconds", "flops", "bytes", "roofline"), 0) | {
            "seconds": seconds, "verified": True, "measured": True, "estimated": False}
        return kiln.Record(variant="<v>", params=params, status="OK", message="", at=at, tied=False, objectives={},
                           result=kiln.Record(result))

    def test_curve_and_effects(self):
        samples = [self.sample(3, 1, A=1, B="x"), self.sample(1, 4, A=2, B="x"), self.sample(2, 6, A=1, B="y"),
                   self.sample(4, 2, A=10, B="x")]
        from kiln import notebook
        self.assertEqual(notebook.curve(samples), [(1, 4), (3, 1)])
        found = notebook.effects(samples)
        self.assertEqual(found, {"B": {"effect": 6, "times": {"x": 1, "y": 6}},
                                 "A": {"effect": 4, "times": {1: 1, 2: 4, 10: 2}}})
        self.assertEqual((list(found), list(found["A"].times)), (["B", "A"], [1, 2, 10]))

    def test_html(self):
        tuning = self.spec.tune()
        tuning.samples = [self.sample(i, 1 + i, NAME="<script>") for i in range(12)]
        page = tuning._repr_html_()
        xml.etree.ElementTree.fromstring(page)  # well-formed, so the charts are too
        self.assertEqual(page.count("<tr>"), 11)
        self.assertIn("&lt;script&gt;", page)
        self.assertNotIn("<script>", page)
        self.assertIn("2 more worked.", page)
        self.assertEqual(page.count("<svg"), 1)  # the curve: a param with one value has no effect
        page = self.spec.tune()._repr_html_()
        self.assertEqual((page.count("<svg"), page.count("<rect")), (3, 5))
        self.assertIn('aria-label="effect of BLOCK"', page)

    def test_failures_and_nothing(self):
        self.reference = Runs.off_by_one
        with self.assertRaises(kiln.WrongAnswerError) as caught:
            self.spec.tune()
        tuning = caught.exception.tuning
        self.assertIn("0 verified, 6 failed", repr(tuning))
        self.assertRegex(repr(tuning), "6 failed: [a-z ]+; the first: scale default BLOCK=32 ITEMS=1 gives a wrong")
        self.assertIsNone(tuning.rows()[0]["rank"])
        self.assertEqual((tuning.curve(), tuning.effects()), ([], {}))
        xml.etree.ElementTree.fromstring(tuning._repr_html_())


class References(Case):
    def run_with(self, against="by_decorator"):
        text = SCALE.replace("by_numpy", against)
        return self.engine.parse(text, SOURCE / "tests/python/scale.yaml").plan(sizes={"N": 50}).run()

    def test_decorator(self):
        seen = {}

        @self.engine.reference("y")
        def by_decorator(x, N: int, factor: float = 3.0, word="none"):
            seen.update(shape=x.shape, N=N, factor=factor, word=word)
            return factor * x
        self.assertTrue(self.run_with().verified)
        self.assertEqual(seen, {"shape": (50,), "N": 50, "factor": 3.0, "word": "none"})
        self.assertEqual(by_decorator(np.ones(2), 2).tolist(), [3, 3])  # the decorated name is still the function

        @self.engine.reference(name="other")
        def in_a_dict(x):
            return {"y": 3 * x}
        self.assertTrue(self.run_with("other").verified)

    def test_what_a_reference_may_not_return(self):
        for i, (made, why) in enumerate([
                (lambda x: x[:3], r"y with the shape \(3,\), and the buffer has \(50,\)"),
                (lambda x: 3.0, r"the shape \(\)"),
                (lambda x: None, "no array"), (lambda x: 3j * x, "as complex"), (lambda x: {"z": x}, "'z'")]):
            self.engine.reference("y", name=f"wrong{i}")(made)
            with self.assertRaisesRegex(kiln.HostFunctionError, why):
                self.run_with(f"wrong{i}")
        self.engine.reference("y", name="flat")(lambda x: 3 * x.reshape(5, 10))
        self.assertTrue(self.run_with("flat").verified)
        with self.assertRaisesRegex(TypeError, "names each buffer"):
            self.engine.reference("y")(lambda *arrays: arrays)

    def test_arrays_of_cupy(self):
        """Tests with a stand-in for CuPy. Its arrays are no NumPy arrays, and get() copies an array to the host."""
        class Device:
            def __init__(self, array):
                self.array = np.array(array)

            def __rmul__(self, factor):
                return Device(factor * self.array)

            def get(self):
                return self.array
        cupy = types.SimpleNamespace(asarray=Device)

        @self.engine.reference("y", arrays=cupy)
        def by_decorator(x):
            self.assertIsInstance(x, Device)
            return 3 * x
        self.assertTrue(self.run_with().verified)

    def test_bf16(self):
        text = SCALE.replace("scale.cu", "halve.cu").replace("f32", "bf16").replace("kernel: scale", "kernel: halve")
        text = text.replace("{iota: [0, 1]}", "{uniform: [-1, 1]}").replace("args: [3.0, ", "args: [")
        pathlib.Path(self.folder, "halve.cu").write_text("""
extern "C" __global__ void halve(const unsigned short *x, unsigned short *y, int n)
{
    for (int i = blockIdx.x * BLOCK * ITEMS + threadIdx.x, k = 0; k < ITEMS; k++, i += BLOCK)
        if (i < n) // half of a number has an exponent that is less by one
            y[i] = (x[i] & 0x7f80) > 0x80 ? x[i] - 0x80 : 0;
}""")
        seen = []

        def half(call):
            seen.append(call.array("x").dtype)
            call.output("y")[...] = call.array("x") / 2
        self.reference = half
        plan = self.engine.parse(text, f"{self.folder}/halve.yaml").plan(size_set="tiny")
        bits = np.arange(0x3f80, 0x3f80 + 100).astype("u2")
        with stand_in("ml_dtypes", None):
            with self.assertRaisesRegex(kiln.HostFunctionError, "no type for bf16: install the package ml_dtypes"):
                plan.run()
            with self.assertRaisesRegex(TypeError, "ml_dtypes"):
                plan.read("y")
            plan.write("x", bits)
            plan.launch()
            np.testing.assert_array_equal(plan.read("y", "u2"), bits - 0x80)
        if not importlib.util.find_spec("ml_dtypes"):
            print("SKIP extra: test_bf16: there is no ml_dtypes")
            return
        self.assertTrue(plan.run().verified)
        self.assertEqual(seen[-1].name, "bfloat16")
        self.assertEqual(plan.read("y").dtype.name, "bfloat16")

    def test_floats_of_few_bits(self):
        text = SCALE.replace("scale.cu", "negate.cu").replace("f32", "f4e2m1").replace("kernel: scale", "kernel: negate")
        text = text.replace("{iota: [0, 1]}", "{uniform: [-6, 6]}").replace("args: [3.0, ", "args: [")
        pathlib.Path(self.folder, "negate.cu").write_text("""
extern "C" __global__ void negate(const unsigned char *x, unsigned char *y, int n)
{
    for (int i = blockIdx.x * BLOCK * ITEMS + threadIdx.x, k = 0; k < ITEMS; k++, i += BLOCK)
        if (i < n)
            y[i] = x[i] ^ 8;
}""")

        def negated(call):
            call.output("y")[...] = -call.array("x")
        self.reference = negated
        plan = self.engine.parse(text, f"{self.folder}/negate.yaml").plan(size_set="tiny")
        bits = np.arange(100).astype("u1") % 16
        plan.write("x", bits)
        plan.launch()
        np.testing.assert_array_equal(plan.read("y", "u1"), bits ^ 8)
        installed = importlib.util.find_spec("ml_dtypes") and importlib.import_module("ml_dtypes")
        if not hasattr(installed, "float4_e2m1fn"):
            print("SKIP extra: test_floats_of_few_bits: there is no ml_dtypes of version 0.5")
            return
        self.assertTrue(plan.run().verified)
        self.assertEqual(plan.read("y").dtype.name, "float4_e2m1fn")


FACTOR = 3


def tripled(x, N):
    return helped(x)[:N]


def helped(x):
    return np.float32(FACTOR) * x


class Problems(Case):
    def described(self, **changed):
        return dict(dict(
            source=SOURCE / "tests/python/scale.cu", params={"BLOCK": [32, 64, 128], "ITEMS": range(1, 3)},
            sizes={"default": {"N": 3000}, "tiny": {"N": np.int64(100)}},
            args={"a": 3.0, "x": kiln.Input("f32", "N"), "y": kiln.Output("f32", "N"), "n": "N"},
            grid="ceil_div(N, BLOCK * ITEMS)", block="BLOCK", reference=tripled, where=["BLOCK * ITEMS < 256"],
            metrics={"bytes": "8 * N"}, tolerance={"rtol": 1e-6}), **changed)

    def configurations(self, spec):
        samples = spec.tune().samples
        return {(*sample.params.items(), sample.result.verified) for sample in samples}

    def test_tune_and_save(self):
        tuning = kiln.tune(device="sim", **self.described())
        self.assertEqual((len(tuning.samples), tuning.totals.verified), (5, 5))
        path = pathlib.Path(self.folder, "saved", "tripled.yaml")
        written = tuning.save(path)
        self.assertEqual([file.name for file in written], ["scale.cu", "scale_reference.py", "tripled.yaml"])
        self.assertEqual(tuning.save(path), written)  # the same again
        path.write_text("other")
        with self.assertRaisesRegex(FileExistsError, "overwrite=True"):
            tuning.save(path)
        tuning.save(path, overwrite=True)
        with self.engine.load(path) as spec:
            self.assertEqual(spec.params(), {"BLOCK": (32, 64, 128), "ITEMS": (1, 2)})
            self.assertEqual(spec.sizes, {"default": {"N": 3000}, "tiny": {"N": 100}})
            self.assertEqual((spec.space().raw, spec.space().valid), (6, 5))
        command = pathlib.Path(kiln.__path__[0]).parents[1] / "tools/kiln"
        if not command.exists():
            print("SKIP build: test_tune_and_save: the command is not built here")
            return
        environment = dict(os.environ, PATH=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
        done = subprocess.run([command, "tune", path, "--device", "sim", "--allow-commands", "--no-store", "--json"],
                              env=environment, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual(sorted(tuple(sample["params"].items()) for sample in said["samples"]),
                         sorted(tuple(sample.params.items()) for sample in tuning.samples))
        self.assertEqual(said["totals"]["verified"], 5)

    def test_a_reference_that_is_wrong(self):
        for wrong in (lambda x: 2 * x, np.zeros(100, np.float32), {"y": np.zeros(100, np.float32)}):
            with self.assertRaises(kiln.WrongAnswerError):
                kiln.tune(device="sim", **self.described(reference=wrong))

    def test_arrays(self):
        x = np.arange(100, dtype=np.float32)
        args = {"a": 3.0, "x": x, "y": kiln.Output(np.zeros(100, np.float32)), "n": len(x)}
        tuning = kiln.tune(device="sim", **self.described(args=args, sizes={"N": 100}, reference=3 * x))
        self.assertEqual(tuning.totals.verified, 5)
        with tempfile.TemporaryDirectory() as folder:
            names = [file.name for file in tuning.save(f"{folder}/a.yaml")]
            self.assertEqual(names, ["a.yaml", "scale.cu", "x.npy", "y.npy", "y.want.npy"])
            with self.engine.load(f"{folder}/a.yaml") as spec:
                self.assertTrue(spec.plan().run().verified)

    def test_source_as_a_text(self):
        text = (SOURCE / "tests/python/scale.cu").read_text()
        problem = kiln.Problem(**self.described(source=text, name="mine", reference=None))
        self.assertEqual(repr(problem), "<kiln.Problem mine: kernel scale, params BLOCK, ITEMS>")
        with problem.open("sim") as spec:
            self.assertEqual((spec.name, spec.space().valid), ("mine", 5))
            self.assertFalse(spec.plan().run().verified)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual([file.name for file in problem.save(f"{folder}/mine.yaml")], ["mine.cu", "mine.yaml"])

    def test_what_cannot_be_saved(self):
        kept = {"array": np.zeros(3)}
        with tempfile.TemporaryDirectory() as folder:
            for wrong, why in ((lambda x: 3 * x, "no function with `def`"), (uses_a_dict, "uses KEPT, a dict"),
                               (self.closure(kept), "uses kept of the function around it"),
                               (takes_more, "takes z, which is neither a size nor a buffer")):
                problem = kiln.Problem(**self.described(reference=wrong))
                with self.assertRaisesRegex(ValueError, why):
                    problem.save(f"{folder}/a.yaml")
                self.assertEqual(os.listdir(folder), [])
            problem.save(f"{folder}/a.yaml", reference=False)
            self.assertNotIn("verify", pathlib.Path(folder, "a.yaml").read_text())
            pathlib.Path(folder, "in").mkdir()
            pathlib.Path(folder, "in", "k.cu").write_text('#include "h.cuh"\n__global__ void k(float *y) {}\n')
            problem = kiln.Problem(f"{folder}/in/k.cu", params={}, sizes={"N": 1}, args={}, grid=1, block=1)
            with self.assertRaisesRegex(ValueError, "includes files beside it"):
                problem.save(f"{folder}/other/k.yaml")
            self.assertEqual([file.name for file in problem.save(f"{folder}/k.yaml")], ["k.yaml"])
        with self.assertRaisesRegex(ValueError, "this sweep was of a spec"):
            self.spec.tune(params={"BLOCK": 64}).save("a.yaml")

    @staticmethod
    def closure(kept):
        def reference(x):
            return 3 * x + kept["array"].sum()
        return reference

    def test_what_is_missing(self):
        for changed, why in ((dict(args=[3.0]), "args is a dict"), (dict(args={"n": 1}), "needs an output"),
                             (dict(source="\n__global__ void a() {}\n__global__ void b() {}"), "a, b; say which"),
                             (dict(source="// __global__ void a()\n"), "no kernel that could be found")):
            with self.assertRaisesRegex((TypeError, ValueError), why):
                kiln.Problem(**self.described(**changed))
        with self.assertRaisesRegex(TypeError, "needs extents"):
            kiln.Input("f32")
        with self.assertRaisesRegex(ValueError, "x has the type i32, for which no content is usual"):
            args = {"x": kiln.Input("i32", "N"), "y": kiln.Output("f32", "N")}
            kiln.tune(device="sim", **self.described(args=args))

    def test_texts_of_a_spec(self):
        from kiln.problem import _flow
        texts = ["x", "1", "a: b", "f(A, B * 2)", "a, b", "true"]
        self.assertEqual(_flow({"a": [*texts, True, None, 1.5, np.float32(2)]}),
                         '{a: [x, "1", "a: b", f(A, B * 2), "a, b", "true", true, null, 1.5, 2.0]}')

    def values_in_spec(self, values, **changed):
        """Writes values of the param T to a spec, and returns the values that are read from it."""
        params = {"BLOCK": [32], "ITEMS": [1], "T": values}
        with kiln.Problem(**self.described(params=params, **changed)).open("sim") as spec:
            return spec.params()["T"]

    def test_texts_of_params(self):
        texts = ["unsigned char", "long long", "1.5f", "a.b", "0x10", "2001-01-01", "2*64", "1-4", "1, 2, 4",
                 "range(3)", "float", "int", "min", "if", "device", "N", "true", "False", "null", "yes", "NO", "on",
                 "inf", "nan", "~", "", " a ", "-1", "1_000", "#x", "a: b", "'", '"', "\\", "\t\n\x01", "\x7f",
                 "\x80\x85\x9f", "\u2028\u2029", "\ufeff", "\uffff", "é", "١", "𝒌", "[a]", "{a}",
                 "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "?", "a #b"]
        self.assertEqual(self.values_in_spec(texts), tuple(texts))
        found = self.values_in_spec({"values": texts, "default": "2*64"})
        self.assertEqual((found[0], sorted(found)), ("2*64", sorted(texts)))  # the default is first
        self.assertEqual(self.values_in_spec("abc"), ("abc",))
        for text in ("a\0b", "\ud800", "\udcff"):
            with self.assertRaisesRegex(ValueError, "NUL character or a lone surrogate"):
                self.values_in_spec([text])

    def test_numbers_of_a_spec(self):
        numbers = [-2**63, -2**63 + 1, 2**63 - 1, np.uint32(7)]
        self.assertEqual(self.values_in_spec(numbers), tuple(numbers))
        floats = [1e300, -1e-320, -2.0**63, 1e16, np.float32(0.5)]
        self.assertEqual(self.values_in_spec(floats), tuple(floats))
        for number in (2**63, -2**63 - 1, np.uint64(2**64 - 1)):
            with self.assertRaisesRegex(ValueError, "does not fit 64 bits"):
                self.values_in_spec([number])
        for number in (float("inf"), float("-inf"), float("nan"), np.float32("inf")):
            with self.assertRaisesRegex(ValueError, "finite numbers only"):
                self.values_in_spec([number])

    def test_one_text_as_where(self):
        with kiln.Problem(**self.described(where="BLOCK % 64 == 0")).open("sim") as spec:
            self.assertEqual(spec.space().valid, 4)

    def test_names_that_are_refused(self):
        y = kiln.Output("f32", "N")
        for key in ("/tmp/x", "../../x", "a b", "é", "1a", "", "x\n", 1):
            with self.assertRaisesRegex(ValueError, "args has the key .*, which is no name"):
                kiln.Problem(**self.described(args={key: np.zeros(3), "y": y}))
            with self.assertRaisesRegex(ValueError, "params has the key .*, which is no name"):
                kiln.Problem(**self.described(params={key: [1]}))
        for name in ("/tmp/x", "../x", "a b", "é", "", "x\n", "a.b"):
            with self.assertRaisesRegex(ValueError, "the problem's name is"):
                kiln.Problem(**self.described(name=name))

    def test_default_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for file, name in (("a b.cu", "a_b"), ("größe.cu", "gr_e"), ("ядро.cu", "scale"), ("x-y.cu", "x_y")):
                shutil.copy(SOURCE / "tests/python/scale.cu", f"{folder}/{file}")
                problem = kiln.Problem(**self.described(source=f"{folder}/{file}"))
                self.assertEqual(problem.name, name)

    def test_save_to_its_own_files(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "k.cu")
            shutil.copy(SOURCE / "tests/python/scale.cu", source)
            text = source.read_text()
            with self.assertRaisesRegex(ValueError, "source or reference"):
                kiln.Problem(**self.described(source=source)).save(source, overwrite=True)
            self.assertEqual((source.read_text(), os.listdir(folder)), (text, ["k.cu"]))
            problem = kiln.Problem(**self.described(source=text, name="mine", args={
                "a": 3.0, "x": np.zeros(3000, np.float32), "y": kiln.Output("f32", "N"), "n": "N"}))
            for name in ("mine.cu", "mine_reference.py", "x.npy"):
                with self.assertRaisesRegex(ValueError, "is the path of the problem's source, reference or array"):
                    problem.save(f"{folder}/new/{name}")
                self.assertEqual(os.listdir(folder), ["k.cu"])
            script = pathlib.Path(folder, "mine_reference.py")
            script.write_text("def tripled(x):\n    return 3 * x\n")
            names = {}
            exec(compile(script.read_text(), script, "exec"), names)
            described = self.described(source=text, name="mine", reference=names["tripled"])
            with self.assertRaisesRegex(ValueError, "source or reference"):
                kiln.Problem(**described).save(f"{folder}/mine.yaml", overwrite=True)
            self.assertNotIn("import", script.read_text())
            with self.assertRaisesRegex(IsADirectoryError, "is a folder"):
                problem.save(folder)

    def test_source_that_begins_with_a_dash(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SOURCE / "tests/python/scale.cu", f"{folder}/-x.cu")
            tuning = kiln.tune(device="sim", **self.described(source=f"{folder}/-x.cu"))
            self.assertEqual(tuning.totals.verified, 5)


KEPT = {}


def uses_a_dict(x):
    return KEPT.get("x", 3 * x)


def takes_more(x, z):
    return 3 * x + z


class Types(unittest.TestCase):
    def test_mypy(self):
        if not importlib.util.find_spec("mypy"):
            print("SKIP extra: test_mypy: there is no mypy")
            return
        # the cache is in the build tree, because NumPy's stubs take long to read
        kept = pathlib.Path(kiln.__file__).parents[1] / ".mypy"
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(kept),
                               str(SOURCE / "tools/python/kiln")], text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Installed(Case):
    def mapped(self, name):
        with open("/proc/self/maps") as maps:
            return next(line.split(None, 5)[5].strip() for line in maps if f"/{name}" in line)

    def test_nvrtc_of_a_wheel(self):
        """Tests an installation in site-packages. NVIDIA's wheels lie beside the package, and Kiln uses their NVRTC."""
        with kiln.Engine("sim", cache=False, workers=False) as engine: # it compiles in this process
            engine.parse(SCALE.replace("against: {host: by_numpy}", "against: {variant: default}"),
                         str(SOURCE / "tests/python/scale.yaml")).plan().close()
        nvrtc, library = pathlib.Path(self.mapped("libnvrtc.so")), self.mapped("libkiln.so")
        soname = ".".join(nvrtc.name.split(".")[:3]) # libnvrtc.so.12 of libnvrtc.so.12.8.93
        # A build looks first where tools/setup.sh unpacks wheels. This copy imitates a machine without this folder.
        settings = pathlib.Path(kiln.__path__[0]).parents[1].joinpath("CMakeCache.txt").read_text()
        root = re.search(r"^KILN_CUDA_ROOT:\w+=(.*)$", settings, re.M)[1].encode()
        elsewhere = pathlib.Path(library).read_bytes().replace(root + b"/", b"/absent".ljust(len(root), b"-") + b"/")
        for folder in ("cu13", "cuda_nvrtc"):
            site = pathlib.Path(self.folder, f"site-{folder}")
            shutil.copytree(kiln.__path__[0], site / "kiln", ignore=shutil.ignore_patterns("lib", "libexec", "share"))
            (site / "kiln/lib").mkdir()
            (site / "kiln/lib" / ".".join(pathlib.Path(library).name.split(".")[:3])).write_bytes(elsewhere)
            wheel = site / "nvidia" / folder / "lib"
            wheel.mkdir(parents=True)
            shutil.copy(nvrtc, wheel / soname) # not a link, which would be followed
            for builtins in nvrtc.parent.glob("libnvrtc-builtins.so.*"):
                shutil.copy(builtins, wheel)
            code = (f"import kiln; engine = kiln.Engine('sim', cache=False, workers=False)\n"
                    f"engine.parse({SCALE!r}.replace('against: {{host: by_numpy}}', 'against: {{variant: default}}'), "
                    f"{str(SOURCE / 'tests/python/scale.yaml')!r}).plan()")
            environment = {name: value for name, value in os.environ.items() if not name.startswith("KILN_NVRTC")}
            environment |= {"PYTHONPATH": str(site), "LD_LIBRARY_PATH": str(site / "kiln/lib"), "LD_DEBUG": "files"}
            done = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            opened = [line for line in done.stderr.splitlines() if "libnvrtc.so" in line and "file=" in line]
            self.assertIn(f"nvidia/{folder}/lib/{soname}", opened[0])


if __name__ == "__main__":
    unittest.main()
