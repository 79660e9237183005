"""rand.py compares Kiln's cuRAND, on the simulated device and on the host, with numbers that cuRAND 10.4 made on an
H200. It compares checksums of 20,000 integers and of uniform numbers, single normal numbers, and calls of several kinds
in a row. It tests the mean and variance of Poisson numbers, and errors. It runs under `kiln sim run`."""
import ctypes
import sys
import zlib

try:
    import numpy as np
except ImportError as missing:
    print(f"SKIP tool: {missing}")
    sys.exit(77)

# For integers, the checksums are of 20,000 and then 999 integers in the default and in the legacy order, of 9,000 with
# the seeds 1234 and 2^40 + 77, and of 9,000 from offset 1000 on. For the other kinds, the calls make 10,000 and then
# 1,002 numbers with seed 99. Of normal numbers, the list has the first three, the last two, and the last one of the
# second call. "mixed" has 5 integers, 4,098 uniform numbers, 10 normal numbers (the first two and the last), and 9
# integers.
RECORDED = {
    "xorwow": {
        "integers": [3381593925, 1380111085],
        "legacy": [3381593925, 1380111085],
        "seeds": [2378278741, 1916641335],
        "offset": 970735201,
        "Uniform": [1402004150, 1017056757],
        "UniformDouble": [1359501910, 907416660],
        "Normal": [-0.5625765323638916, -2.745683193206787, -2.768555164337158, -0.34793710708618164, -2.2604713439941406, -0.08412957191467285],
        "NormalDouble": [2.921640941975356, 3.064681126155572, 2.9654925304461837, 2.0981630081993687, -0.590090421829129, -0.5513924587972614],
        "LogNormal": [1.274020791053772, 0.9697563648223877, 0.9669877886772156, 1.30866539478302, 1.0303938388824463, 1.352539300918579],
        "LogNormalDouble": [1.9693531089775418, 2.004881868902058, 1.9801776567363758, 1.77672250198616, 1.2696467310796413, 1.2758032020382741],
        "mixed": [3974412254, 2605009394, [2.606769323348999, -0.6783223152160645, 1.5980879068374634], 505600089],
    },
    "mrg": {
        "integers": [2232108037, 3245596895],
        "legacy": [2601258618, 3971890205],
        "seeds": [3182874867, 3830017677],
        "offset": 2570793669,
        "Uniform": [2969148008, 1313200364],
        "UniformDouble": [1193862170, 3958158948],
        "Normal": [-0.5090301036834717, 3.63673996925354, -0.026023507118225098, 2.887418031692505, -0.38218581676483154, 1.1325093507766724],
        "NormalDouble": [-0.5090295942676399, 3.63674083255307, -0.026023293663120173, 2.8874180743565856, -0.3821861846650769, 1.1325093761526417],
        "LogNormal": [1.2825769186019897, 2.1534957885742188, 1.3623989820480347, 1.9609464406967163, 1.3030749559402466, 1.5746983289718628],
        "LogNormalDouble": [1.2825769557121942, 2.153496077526299, 1.3623989617504626, 1.9609464891196973, 1.303074831841457, 1.5746982585006348],
        "mixed": [549895904, 1912732494, [-0.46598759293556213, -1.8441637754440308, 0.4005334675312042], 2002954615],
    },
    "philox": {
        "integers": [1974011975, 2679034853],
        "legacy": [1974011975, 2679034853],
        "seeds": [2067523480, 2956029705],
        "offset": 858539977,
        "Uniform": [3917235049, 3053343393],
        "UniformDouble": [1732931435, 4168324681],
        "Normal": [-0.06739294528961182, 2.066663980484009, 0.7974427938461304, 2.4867496490478516, 1.9266724586486816, -0.9984476566314697],
        "NormalDouble": [1.1638810086506608, 2.7728770821564748, 0.11045481368684862, 0.7641549473286375, 1.24648549541457, -0.6268925566120167],
        "LogNormal": [1.3553719520568848, 1.7697407007217407, 1.5101068019866943, 1.8651541471481323, 1.7390414476394653, 1.2064642906188965],
        "LogNormalDouble": [1.5808854889243618, 1.9330704302218817, 1.3858405511795924, 1.5038362878149805, 1.5972935838393572, 1.263819431158142],
        "mixed": [807054458, 2465447640, [-1.7383065223693848, 1.7011996507644653, 2.248203992843628], 3044661482],
    },
}

# These calls begin in the middle of a group: Philox makes four numbers at a time, and all generators make pairs of
# normal numbers. Each row has an offset and some calls: i makes integers, u and d make uniform numbers of 4 and 8
# bytes, and n and m make normal numbers. The checksum of a generator is over the last nine numbers of each call, except
# normal numbers. For each call of normal numbers, the first of its last nine numbers is listed.
CALLS = [
    (0, "i5 u7"), (0, "i5 n4"), (0, "i6 n6"), (0, "i3 d5"), (0, "i4 d5"), (0, "d3 i5"), (0, "d1 i5"), (0, "m6 i5"), (0, "m2 i5"),
    (0, "i3 m4"), (0, "n2 i3"), (0, "n6 i5"), (0, "n2 n2"), (0, "n2 m2"), (0, "u1 u9"), (0, "d1 d4"), (0, "d3 d3"), (5, "n4"), (3, "d4"),
    (7, "i6"), (2, "m4"), (4097, "i4"), (81921, "i4"), (65537, "n4"), (262145, "u4"), (0, "i81921 i3"), (0, "u4097 i3"),
    (0, "i262147 d3"), (0, "n262146 n4")]
WITHIN_TURNS = {
    "xorwow": (1355135873, [0.92, 0.8965, 1.7627, 1.7627, -1.3052, 0.8859, 0.8859, 0.8859, 0.0296, 0.8859, 2.536, 0.92, 0.5602,
                            0.9443, -0.6127, 1.595]),
    "mrg": (51447599, [1.4437, 0.0911, -0.0659, -0.0659, -0.1084, -0.0659, -0.0659, -0.0659, 0.2247, -0.0659, 0.2247, 1.4437,
                       -0.7868, 0.2756, 0.0674, -0.4191]),
    "philox": (3156614933, [-0.6159, 1.0651, 0.2521, 0.2521, -1.6911, 0.5503, 0.5503, 0.5503, 0.098, 0.5503, 0.6967, -0.6159,
                            0.6967, 0.0182, 1.2485, 0.6027]),
}

KINDS = {"xorwow": 101, "mrg": 121, "philox": 161}
P, Z, D, F = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double, ctypes.c_float
cuda, rand = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcurand.so.10")


def call(library, name, *given):
    code = getattr(library, name)(*given)
    assert code == 0, f"{name}: {code}"


def refuse(name, wanted, *given):
    code = getattr(rand, name)(*given)
    assert code == wanted, f"{name}: {code} instead of {wanted}"


context, stream = P(), P()
call(cuda, "cuInit", 0)
call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call(cuda, "cuCtxSetCurrent", context)
call(cuda, "cuStreamCreate", ctypes.byref(stream), 1)
room = ctypes.c_uint64()
call(cuda, "cuMemAlloc_v2", ctypes.byref(room), Z(1 << 21))


class Generator:
    def __init__(self, kind, host, order=None, seed=None, offset=None):
        self.at, self.host = P(), host
        call(rand, "curandCreateGeneratorHost" if host else "curandCreateGenerator", ctypes.byref(self.at), kind)
        if not host:
            call(rand, "curandSetStream", self.at, stream)
        if order is not None:
            call(rand, "curandSetGeneratorOrdering", self.at, order)
        if seed is not None:
            call(rand, "curandSetPseudoRandomGeneratorSeed", self.at, ctypes.c_ulonglong(seed))
        if offset is not None:
            call(rand, "curandSetGeneratorOffset", self.at, ctypes.c_ulonglong(offset))

    def take(self, what, dtype, count, *more):
        made = np.full(count + 1, 77, dtype)  # one more number, which must not change
        if not self.host:
            call(cuda, "cuMemcpyHtoD_v2", room, P(made.ctypes.data), Z(made.nbytes))
        call(rand, f"curandGenerate{what}", self.at, P(made.ctypes.data) if self.host else room, Z(count), *more)
        if not self.host:
            call(cuda, "cuStreamSynchronize", stream)
            call(cuda, "cuMemcpyDtoH_v2", P(made.ctypes.data), room, Z(made.nbytes))
        assert made[count] == 77, f"{what} wrote too much"
        return made[:count]

    def __del__(self):
        rand.curandDestroyGenerator(self.at)


def same(name, made, checksum):
    assert zlib.crc32(made.tobytes()) == checksum, f"{name}: {made[:4]} ..."


def close(name, made, recorded, limit):
    error = np.abs(np.array(made, np.float64) - recorded).max()
    assert error < limit, f"{name}: {made} instead of {recorded}"


for name, known in RECORDED.items():
    for host in (False, True):
        kind = KINDS[name]
        for order, key in ((None, "integers"), (103, "legacy")):
            g = Generator(kind, host, order=order)
            for count, checksum in zip((20000, 999), known[key]):
                same(f"{name} {key}", g.take("", np.uint32, count), checksum)
        for seed, checksum in zip((1234, (1 << 40) + 77), known["seeds"]):
            same(f"{name} seed", Generator(kind, host, seed=seed).take("", np.uint32, 9000), checksum)
        same(f"{name} offset", Generator(kind, host, seed=1234, offset=1000).take("", np.uint32, 9000), known["offset"])
        for what, dtype in (("Uniform", np.float32), ("UniformDouble", np.float64)):
            g = Generator(kind, host, seed=99)
            for count, checksum in zip((10000, 1002), known[what]):
                same(f"{name} {what}", g.take(what, dtype, count), checksum)
        for what, mean, deviation in (("Normal", F(1.5), F(2)), ("NormalDouble", D(1.5), D(2)), ("LogNormal", F(0.5), F(0.25)),
                                      ("LogNormalDouble", D(0.5), D(0.25))):
            g, dtype = Generator(kind, host, seed=99), np.float64 if "Double" in what else np.float32
            first, second = g.take(what, dtype, 10000, mean, deviation), g.take(what, dtype, 1002, mean, deviation)
            close(f"{name} {what}", [*first[:3], *first[-2:], second[-1]], known[what], 1e-13 if "Double" in what else 2e-5)
        g = Generator(kind, host, seed=99)
        same(f"{name} mixed, integers", g.take("", np.uint32, 5), known["mixed"][0])
        same(f"{name} mixed, uniform", g.take("Uniform", np.float32, 4098), known["mixed"][1])
        close(f"{name} mixed, normal", g.take("Normal", np.float32, 10, F(0), F(1))[[0, 1, 9]], known["mixed"][2], 2e-5)
        same(f"{name} mixed, at last", g.take("", np.uint32, 9), known["mixed"][3])
        for mean in (0.01, 3.5, 700.0, 9000.0):  # the tolerance is six standard errors of the mean and of the variance
            made = Generator(kind, host, seed=5).take("Poisson", np.uint32, 20000, D(mean)).astype(np.float64)
            assert abs(made.mean() - mean) < 6 * (mean / 20000) ** 0.5, f"{name} Poisson {mean}: {made.mean()}"
            assert abs(made.var() - mean) < 6 * ((mean + 2 * mean * mean) / 20000) ** 0.5, f"{name} Poisson {mean}: {made.var()}"

TAKES = {"i": ("", np.uint32), "u": ("Uniform", np.float32), "d": ("UniformDouble", np.float64),
         "n": ("Normal", np.float32, F(0), F(1)), "m": ("NormalDouble", np.float64, D(0), D(1))}
for name, (checksum, normal) in WITHIN_TURNS.items():
    for host in (False, True):
        exact, first = b"", []
        for offset, calls in CALLS:
            g = Generator(KINDS[name], host, seed=1234567, offset=offset or None)
            for one in calls.split():
                what, dtype, *more = TAKES[one[0]]
                last = g.take(what, dtype, int(one[1:]), *more)[-9:]
                if more:
                    first.append(last[0])
                else:
                    exact += last.tobytes()
        assert zlib.crc32(exact) == checksum, f"{name}: calls that begin within a turn"
        close(f"{name}: normal numbers within a turn", first, normal, 1e-4)

# a generator with a long offset begins where the whole sequence would be at this offset
for kind in KINDS.values():
    whole, part = Generator(kind, True, seed=7).take("", np.uint32, 700000), Generator(kind, True, seed=7, offset=650001)
    assert (part.take("", np.uint32, 49999) == whole[650001:]).all()
    Generator(kind, True, offset=2**63).take("", np.uint32, 9)

g, none = Generator(101, False), P()
refuse("curandGenerateNormal", 105, g.at, room, Z(3), F(0), F(1))
refuse("curandGenerateNormal", 104, g.at, room, Z(4), F(0), F(-1))
refuse("curandGeneratePoisson", 104, g.at, room, Z(4), D(0))
refuse("curandGenerateLongLong", 103, g.at, room, Z(4))
refuse("curandGenerate", 201, g.at, room, Z((1 << 19) + 1))  # one number beyond the memory
refuse("curandGenerate", 201, g.at, P(4096), Z(1))
refuse("curandGenerate", 201, g.at, ctypes.c_uint64(room.value + 2), Z(1))
refuse("curandGenerate", 201, g.at, room, Z(2**62 + 1))
refuse("curandGenerate", 101, None, room, Z(1))
refuse("curandCreateGenerator", 103, ctypes.byref(none), 142)
refuse("curandSetGeneratorOrdering", 104, g.at, 102)
refuse("curandGetDirectionVectors32", 103, ctypes.byref(none), 101)
call(rand, "curandGenerate", g.at, room, Z(0))
call(cuda, "cuStreamBeginCapture_v2", stream, 0)
refuse("curandGenerate", 201, g.at, room, Z(4))
print("ok")
