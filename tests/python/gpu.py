"""gpu.py: tests the Python module on a GPU, with the memory and streams of CuPy and PyTorch. If both are missing, or
without a GPU, the test is skipped (exit code 77). PYTHONPATH=BUILD/python python3 gpu.py"""
import importlib
import pathlib
import sys

try:
    import numpy as np
    import kiln
except ImportError as missing:
    print(f"SKIP tool: {missing}")
    sys.exit(77)

M, N, K = 50, 70, 30


def cupy_arrays(cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        arrays = [cupy.asarray(np.random.rand(*shape).astype("f4")) for shape in ((M, K), (K, N), (M, N))]
    return stream, arrays, cupy.asnumpy, lambda shape: cupy.zeros(shape, "f4", order="F"), cupy.asarray


def torch_arrays(torch):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        arrays = [torch.rand(*shape, device="cuda") for shape in ((M, K), (K, N), (M, N))]
    return (stream, arrays, lambda array: array.cpu().numpy(),
            lambda shape: torch.zeros(shape[::-1], device="cuda").T,
            lambda array: torch.as_tensor(array, device="cuda"))


def check(engine, library, make):
    """Tests a product on the memory and the stream of another library, and the arrays of that library over the plan's
    memory."""
    spec = engine.load("matmul")
    stream, (a, b, p), to_host, transposed, over = make(library)
    stream.synchronize()  # to_host() copies on another one
    with spec.plan("tiled", sizes={"M": M, "N": N, "K": K}) as plan:
        for name, array in (("A", a), ("B", b), ("P", p)):
            plan.bind(name, array)
        want = to_host(a) @ to_host(b)
        del a, b, array  # the plan keeps them
        plan.launch(stream)
        stream.synchronize()
        np.testing.assert_allclose(to_host(p), want, rtol=1e-4, atol=1e-5)
        try:
            plan.bind("A", transposed((M, K)))
            raise AssertionError("an array in column-major order was bound")
        except ValueError:
            pass
    with spec.plan("tiled", sizes={"M": M, "N": N, "K": K}) as plan:
        plan.write("A", np.eye(M, K, dtype="f4"))
        plan.launch(stream)
        stream.synchronize()
        got = over(plan.buffer("P"))
        np.testing.assert_array_equal(to_host(got).reshape(M, N)[:K], plan.read("B").reshape(K, N))
        result = plan.run(budget=0.05)
        assert result.measured and result.verified and result.seconds > 0, result
    print(f"{library.__name__}: {result.seconds * 1e6:.2f} us")


def main():
    engine = kiln.Engine("cuda:0")
    try:
        print(engine.device.name)
    except kiln.NoDeviceError as error:
        print(f"SKIP gpu: {error}")
        return 77
    done = 0
    for name, make in (("cupy", cupy_arrays), ("torch", torch_arrays)):
        try:
            library = importlib.import_module(name)
        except ImportError as missing:
            print(f"SKIP extra: {missing}")
            continue
        check(engine, library, make)
        done += 1
    tuning = engine.load("matmul").tune(variants=["tiled"], sizes={"M": 512, "N": 512, "K": 512}, max_configurations=4,
                                        progress=True)
    assert tuning.best is not None and tuning.best.result.measured, tuning.samples
    engine.close()
    return 0 if done else 77


if __name__ == "__main__":
    sys.exit(main())
