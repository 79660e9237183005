# A recipe for Spack. The recipe is untested. Copy this folder into a repository of packages as packages/kiln.
from spack.package import *


class Kiln(CMakePackage):
    """Finds the fastest configuration of a CUDA kernel: a spec in YAML, compiled at run time with NVRTC, checked and
    measured, on a GPU or on a simulated device."""

    license("MIT")
    # The sources have no public address yet. Build from a local copy by `spack dev-build kiln@0.1.0`, or add url or git
    # here.
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    # NVRTC is loaded at run time, and cuda.h is needed for the build.
    depends_on("cuda@12:", type=("build", "run"))
    depends_on("libyaml")
    depends_on("xxhash")
    depends_on("elfutils")
    depends_on("lz4")
    depends_on("zstd")
    depends_on("sqlite@3:")
    depends_on("jansson")
    depends_on("zlib-api")

    generator("ninja")

    def cmake_args(self):
        cuda = self.spec["cuda"].prefix
        return [
            self.define("KILN_TESTS", False),
            self.define("KILN_CUDA_INCLUDE", cuda.include),
            self.define("KILN_CUDA_ROOT", cuda),
        ]

    def setup_run_environment(self, env):
        env.set("CUDA_HOME", self.spec["cuda"].prefix)
