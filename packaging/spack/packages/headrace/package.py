# Spack recipe for Headrace. Use it from this tree:
#
#   spack repo add packaging/spack
#   spack dev-build headrace@0.1.0          # in the source tree
#
# or put headrace-0.1.0.tar.gz (git archive --prefix=headrace-0.1.0/ -o headrace-0.1.0.tar.gz HEAD) into the current
# directory, and: spack install headrace

import os

from spack.package import *


class Headrace(CMakePackage, CudaPackage):
    """GPU-first MPI library with the standard ABI of MPI 5.0, and MPICH's."""

    url = f"file://{os.getcwd()}/headrace-0.1.0.tar.gz"
    manual_download = True
    maintainers = []

    license("BSD-3-Clause")

    version("0.1.0")

    variant("cuda", default=True, description="Compile the kernels that move data of derived types on GPUs")
    variant("ucx", default=True, description="Messages between hosts by UCX (InfiniBand, RoCE)")
    variant("libfabric", default=True, description="Messages between hosts, by libfabric")

    provides("mpi@:5.0")
    provides("mpi-abi")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.10:", type=("build", "run"))  # run: the headrace command
    depends_on("py-pyyaml@6:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    depends_on("hwloc@2.1:")
    # Their headers are compiled against; the library is opened when a job spans hosts.
    depends_on("ucx@1.14:", when="+ucx")
    depends_on("libfabric@1.9:", when="+libfabric")
    depends_on("cuda@11.8:", when="+cuda", type="build")

    # The driver is opened at run time; one build serves all GPUs.
    conflicts("platform=darwin", msg="Headrace runs on Linux")
    conflicts("target=aarch64:", msg="Headrace runs on x86-64")
    conflicts("%gcc@:11", msg="Headrace is C++20: GCC 12 or newer")

    generator("ninja")

    executables = ["^mpiexec$"]

    @classmethod
    def determine_version(cls, exe):
        words = Executable(exe)("--version", output=str, error=str).split()
        return words[-1] if "Headrace" in words else None

    def cmake_args(self):
        args = [self.define("HEADRACE_TESTS", False)]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("HEADRACE_NVCC", join_path(self.spec["cuda"].prefix.bin, "nvcc")))
        else:
            args.append(self.define("HEADRACE_NVCC", "OFF"))
        if self.spec.satisfies("+ucx"):
            args.append(self.define("HEADRACE_UCX_INCLUDE_DIR", self.spec["ucx"].prefix.include))
        else:
            args.append(self.define("HEADRACE_UCX_INCLUDE_DIR", "OFF"))
        if self.spec.satisfies("+libfabric"):
            args.append(self.define("HEADRACE_OFI_INCLUDE_DIR", self.spec["libfabric"].prefix.include))
        else:
            args.append(self.define("HEADRACE_OFI_INCLUDE_DIR", "OFF"))
        return args

    @property
    def libs(self):
        return find_libraries("libmpi_abi", root=self.prefix, shared=True, recursive=True)

    @property
    def headers(self):
        return HeaderList(find(self.prefix.include, "mpi.h", recursive=False))

    def setup_run_environment(self, env):
        env.set("MPICC", self.prefix.bin.mpicc)
        env.set("MPICXX", self.prefix.bin.mpicxx)
        env.set("MPIF77", self.prefix.bin.mpif77)
        env.set("MPIF90", self.prefix.bin.mpif90)
        if self.spec.satisfies("+ucx"):
            env.set("HEADRACE_UCX_DIR", self.spec["ucx"].prefix.lib)
        if self.spec.satisfies("+libfabric"):
            env.set("HEADRACE_OFI_DIR", self.spec["libfabric"].prefix.lib)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # The wrappers run the compiler of the package that is built.
        env.set("HEADRACE_CC", dependent_spec.package.module.spack_cc)
        env.set("HEADRACE_CXX", dependent_spec.package.module.spack_cxx)
        env.set("HEADRACE_FC", dependent_spec.package.module.spack_fc)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = self.prefix.bin.mpicc
        self.spec.mpicxx = self.prefix.bin.mpicxx
        self.spec.mpifc = self.prefix.bin.mpifort
        self.spec.mpif77 = self.prefix.bin.mpif77
