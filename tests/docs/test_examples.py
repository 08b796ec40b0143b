"""Complete programs in the pages compile as the pages describe, and behave as they promise.

HR_BUILD: the build directory, whose mpicc, mpifort and mpiexec are used. HR_FAKE: the directory of the fake CUDA driver.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HR_BUILD"])
FAKE = Path(os.environ["HR_FAKE"])
HERE = Path(__file__).resolve().parent
MPIEXEC = BUILD / "bin/mpiexec"
WORDS = ["--timeout", "60"]


def blocks(page: str, language: str) -> list[str]:
    """Fenced programs of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def nvcc() -> Path | None:
    found = sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/*/bin/nvcc"))
    return found[-1] if found else None


# Two ranks; the code from docs/streams.md creates a stream and a communicator, and exchanges n numbers.
STREAMS = """#include <cuda_runtime.h>
#include <mpi-ext.h>
#include <stdio.h>

const int n = 1000;
__global__ void produce(float* out, float value) { for (int i = 0; i < n; ++i) out[i] = value; }
__global__ void copy(float* to, const float* from) { for (int i = 0; i < n; ++i) to[i] = from[i]; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, devices, grid = 1, block = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  float *out, *in, *seen, found;
  cudaStream_t stream;
  MPI_Request request;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(rank % devices);
  cudaMalloc((void**)&out, n * sizeof(float));
  cudaMalloc((void**)&in, n * sizeof(float));
  cudaMalloc((void**)&seen, n * sizeof(float));
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
LINES
  cudaMemcpyAsync(&found, seen + n - 1, sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  printf("rank %d got %g\\n", rank, found);
  MPI_Comm_free(&comm);
  MPIX_Stream_free(&mine);
  MPI_Finalize();
}
"""


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headrace-examples-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def done(self, *words):
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120, cwd=self.folder, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
        return sorted(result.stdout.splitlines())

    def program(self, source: str, name: str, wrapper: str = "mpicc") -> Path:
        (self.folder / name).write_text(source, encoding="utf-8")
        self.done(BUILD / "bin" / wrapper, name, "-o", "program")
        return self.folder / "program"

    def test_hello(self):
        page = (ROOT / "docs/start.md").read_text(encoding="utf-8")
        source = re.search(r"    cat >hello.c <<'END_OF_FILE'\n(.*?)    END_OF_FILE\n", page, re.S)[1]
        program = self.program(re.sub(r"^    ", "", source, flags=re.M), "hello.c")
        self.assertEqual(self.done(MPIEXEC, *WORDS, "-n", 4, program), [f"hello from {rank} of 4" for rank in range(4)])

    def test_files(self):
        program = self.program(blocks("docs/files.md", "c")[0], "array.c")
        self.assertEqual(self.done(MPIEXEC, *WORDS, "-n", 2, program), ["rank 0: as written", "rank 1: as written"])

    def test_failures(self):
        """One rank exits early, and its code is the exit code."""
        program = self.program(blocks("docs/failures.md", "c")[0], "example.c")
        result = subprocess.run([MPIEXEC, *WORDS, "--enable-recovery", "-n", "4", program], capture_output=True, text=True, timeout=120)
        self.assertIn("3 are left, the mean is 1.66667", result.stdout)

    @unittest.skipUnless(shutil.which("gfortran"), "there is no gfortran")
    def test_fortran(self):
        program = self.program(blocks("docs/fortran.md", "fortran")[0], "hello.f90", "mpifort")
        self.assertEqual([line.strip() for line in self.done(MPIEXEC, *WORDS, "-n", 2, program)], ["hello from 0 of 2", "hello from 1 of 2"])

    @unittest.skipUnless(nvcc(), "there is no nvcc in this environment")
    def test_cuda_compiles(self):
        """The exchange on a stream, compiled with the compiler and the wrapper that the page names."""
        (self.folder / "exchange.cu").write_text(blocks("docs/gpus.md", "cuda")[0], encoding="utf-8")
        with unittest.mock.patch.dict(os.environ, {"HEADRACE_CXX": str(nvcc())}):
            self.done(BUILD / "bin/mpicxx", "exchange.cu", "-o", "exchange", "-L", nvcc().parents[1] / "lib")
        result = subprocess.run([self.folder / "exchange"], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("libmpi_abi", result.stderr, "the loader does not find the library")

    @unittest.skipUnless((FAKE / "libcuda.so.1").exists(), "the fake CUDA driver is not built")
    def test_cuda_runs(self):
        """The exchange on the fake driver, whose streams do nothing until the program waits; without the page's wait it fails."""
        source = blocks("docs/gpus.md", "cuda")[0]
        wait = "    cudaStreamSynchronize(stream);                 // rule 1"
        self.assertEqual(source.count(wait), 1)
        for name, text in {"as_it_is": source, "without_the_wait": source.replace(wait, "    //")}.items():
            with self.subTest(name):
                result = self.on_the_fake_driver(text)
                self.assertEqual(result.returncode, 0, result.stderr)
                said = result.stdout.splitlines()
                if name == "as_it_is":
                    self.assertEqual(said, ["done"])
                else:
                    self.assertTrue([line for line in said if re.fullmatch(r"rank \d, step \d: got .*", line)], said)

    @unittest.skipUnless((FAKE / "libcuda.so.1").exists(), "the fake CUDA driver is not built")
    def test_streams_run(self):
        """The first lines of docs/streams.md, with the code that they need around them."""
        page = (ROOT / "docs/streams.md").read_text(encoding="utf-8")
        lines = re.search(r"\n\n((?:    .*\n|\n)+)", page)[1]
        self.assertIn("MPIX_Stream_comm_create", lines)
        for theirs, ours in (("(out);", "(out, rank);"), ("consume", "copy"), ("(in);", "(seen, in);")):
            self.assertEqual(lines.count(theirs), 1, theirs)
            lines = lines.replace(theirs, ours)
        result = self.on_the_fake_driver(STREAMS.replace("LINES", lines))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 got 1", "rank 1 got 0"])

    def on_the_fake_driver(self, source: str):
        """Compiled for the host, once as the program and once as the kernels that the driver runs."""
        source = re.sub(r"__global__ void (\w+)\(([^)]*)\)", r"HR_KERNEL(\1, (\2))", source)
        source = re.sub(r"(\w+)<<<(.*?)>>>\(", r'host_cuda::launch("\1", &\1, \2, ', source)
        (self.folder / "exchange.cpp").write_text(source, encoding="utf-8")
        flags = ["-std=c++17", "-O1", "-fPIC", "exchange.cpp", "-I", HERE / "host_cuda", "-I", ROOT / "kernels", "-L", FAKE, "-l:libcuda.so.1"]
        self.done(BUILD / "bin/mpicxx", *flags, "-o", "exchange")
        if not (self.folder / "libexample_host_kernels.so").exists():
            self.done(BUILD / "bin/mpicxx", *flags, "-shared", "-o", "libexample_host_kernels.so")
        settings = {"LD_LIBRARY_PATH": str(FAKE), "FAKE_CUDA_KERNELS": str(self.folder), "FAKE_CUDA_LAZY": "1", "HEADRACE_OVERSUBSCRIBE": "quiet"}
        return subprocess.run([MPIEXEC, *WORDS, "-n", "2", self.folder / "exchange"], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, env=os.environ | settings, check=False)


if __name__ == "__main__":
    unittest.main()
