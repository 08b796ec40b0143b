"""The wheel's requirements of an old system, checked in the objects of every build: `make wheel` compiles the same
sources against an old C library (packaging/wheel), but not for every change.

- Thread-local memory. A C library before 2.32 has 1,664 bytes for all libraries that a process opens at run time, as
  Python does with this one; later C libraries have a tunable that makes them as strict.
- Functions of later C libraries, which the wheel has to define itself (later_glibc.c).
- Libraries and headers that the wheel's sysroot does not contain.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HR_BUILD"])
LIBRARIES = [BUILD / "lib" / name for name in ("libmpi_abi.so.1", "libmpi.so.12", "libheadrace_fortran.so.1")]
# Python opens only these: the Fortran library comes with a Fortran program.
OPENED = LIBRARIES[:2]
# Bytes of thread-local memory for all of them; the rest of the 1,664 is for the libraries of others.
MOST = 1024
TUNABLE = "glibc.rtld.optional_static_tls"
GLIBC = (2, 28)


def run(*command, **variables):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **variables})


def opens(paths, spare):
    """Returns the loader's message; empty if one process can open all of `paths` with `spare` bytes added to the
    minimum that it has."""
    script = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)"
    # One name space, so that nothing is kept for the libraries of others.
    done = run(sys.executable, "-c", script, *paths, GLIBC_TUNABLES=f"glibc.rtld.nns=1:{TUNABLE}={spare}")
    return done.stderr if done.returncode else ""


def loader_has_tunable():
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    return loader.exists() and TUNABLE in run(loader, "--list-tunables").stdout


@unittest.skipUnless(loader_has_tunable(), "this C library has no tunable for thread-local memory")
class ThreadLocal(unittest.TestCase):
    """Opened by a plain Python, as if other libraries had used up all but MOST bytes of the memory."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="old-systems-")
        cls.addClassCleanup(cls.place.cleanup)
        fits = cls.library(MOST)
        low, high = 0, 2 * MOST
        if opens([fits], high):
            raise AssertionError(opens([fits], high))
        while high - low > 8:  # the minimum spare memory with which a library of MOST bytes can be opened
            middle = (low + high) // 2
            low, high = (middle, high) if opens([fits], middle) else (low, middle)
        cls.spare = high

    @classmethod
    def library(cls, size):
        path = Path(cls.place.name) / f"lib{size}.so"
        source = path.with_suffix(".c")
        source.write_text(f"__attribute__((tls_model(\"initial-exec\"))) __thread char memory[{size}];\nchar* get(void) {{ return memory; }}\n",
                          encoding="ascii")
        done = run(os.environ.get("HR_CC", "cc"), "-shared", "-fPIC", source, "-o", path)
        if done.returncode:
            raise AssertionError(done.stderr)
        return path

    def test_a_library_that_needs_more_does_not_open(self):
        self.assertIn("static TLS", opens([self.library(2 * MOST)], self.spare))

    def test_each_alone(self):
        for library in OPENED:
            self.assertEqual(opens([library], self.spare), "", f"{library.name}: too much thread_local memory")

    def test_all_in_one_process(self):
        for libraries in (OPENED, OPENED[::-1]):
            self.assertEqual(opens(libraries, self.spare), "", f"together they have more than {MOST} bytes of thread_local memory; "
                             "keep large objects behind a pointer (readelf -sW LIBRARY | grep TLS lists them)")


# Functions that old systems have under another symbol version or in another library; the version that nm prints is
# that of the move.
MOVED = re.compile(r"__libc_start_main|dl(open|close|sym|vsym|error|addr|addr1|info)|pthread_\w+|sem_\w+|[lf]?stat(at)?(64)?|mknod(at)?|"
                   r"shm_(open|unlink)|timer_\w+|aio_\w+|mq_\w+|pow|exp|exp2|log|log2|fmod|hypot|getaddrinfo_a|openpty|forkpty|login_tty")
# Threads that 2.28 does not have.
LATER = re.compile(r"pthread_(cond_clockwait|mutex_clocklock|rwlock_clock(rd|wr)lock|clockjoin_np|attr_[gs]etsigmask_np|gettid_np)|sem_clockwait")


class Symbols(unittest.TestCase):
    def test_all_are_old_or_defined_by_the_wheel(self):
        own = (ROOT / "packaging/wheel/later_glibc.c").read_text(encoding="utf-8")
        known = set(re.findall(r"\b(\w+)\(\w[^;{]*\);", own)) | set(re.findall(r"^char (\w+) =", own, re.M))
        self.assertIn("sigdescr_np", known)
        looked_at = 0
        for file in [*LIBRARIES, BUILD / "bin/mpiexec"]:
            told = run("nm", "-D", "--undefined-only", file)
            self.assertEqual(told.returncode, 0, told.stderr)
            for name, major, minor in re.findall(r" (\w+)@GLIBC_(\d+)\.(\d+)", told.stdout):
                looked_at += 1
                if (int(major), int(minor)) <= GLIBC or name in known:
                    continue
                self.assertTrue(MOVED.fullmatch(name) and not LATER.fullmatch(name),
                                f"{file.name} needs {name} of glibc {major}.{minor}, which the wheel's systems lack "
                                f"(glibc {GLIBC[0]}.{GLIBC[1]}): do without it, or define it in packaging/wheel/later_glibc.c")
        self.assertGreater(looked_at, 100)

    def test_libraries_are_those_of_every_system(self):
        # libstdc++ and hwloc are in the wheel.
        allowed = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s|stdc\+\+|hwloc|mpi_abi|headrace_\w+|mpi)\.so\.\d+|ld-linux-x86-64\.so\.2")
        for file in [*LIBRARIES, BUILD / "bin/mpiexec"]:
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", file).stdout)
            self.assertTrue(needed, file)
            for name in needed:
                self.assertRegex(name, rf"^({allowed.pattern})$", f"{file.name}: open it at run time, or add it to packaging/wheel")


class Headers(unittest.TestCase):
    # Headers that the C library gained after version GLIBC; the wheel's sysroot does not contain them.
    LATER = ("sys/single_threaded.h", "sys/platform/x86.h", "sys/rseq.h", "sys/pidfd.h")

    def used(self):
        """Returns system headers that the build's objects include, except those of tests."""
        ninja = os.environ.get("HR_NINJA", "")
        if not ninja.endswith("ninja") or not (BUILD / ".ninja_deps").exists():
            self.skipTest("this build was not made by Ninja")
        found, own = set(), False
        for line in run(ninja, "-C", BUILD, "-t", "deps").stdout.splitlines():
            if line.startswith("    "):
                if own and line.startswith("    /usr/include/"):
                    found.add(line.strip())
            elif line:
                own = not line.startswith("tests/")
        self.assertIn("/usr/include/dlfcn.h", found)
        return found

    @unittest.skipUnless(shutil.which("dpkg"), "no Debian packages here")
    def test_the_sysroot_has_them(self):
        recipe = (ROOT / "packaging/wheel/sysroot.sh").read_text(encoding="utf-8")
        copied = {path for line in re.findall(r"^cp -R (.*)$", recipe, re.M) for path in re.findall(r"/usr/include/(\w+)", line)}
        self.assertLessEqual({"nlohmann", "rdma"}, copied)
        others = [path for path in sorted(self.used())
                  if not re.match(rf"/usr/include/(x86_64-linux-gnu/)?({'|'.join(copied)}|c\+\+|hwloc)[/.]", path)]
        told = run("dpkg", "-S", *others)
        owner = {path: package for package, path in re.findall(r"^([^:\s]+)(?::\w+)?: (\S+)$", told.stdout, re.M)}
        for path in others:
            self.assertIn(owner.get(path, "no package"), ("libc6-dev", "linux-libc-dev"),
                          f"{path} is not in the wheel's sysroot: copy it there (packaging/wheel/sysroot.sh)")

    def test_our_own_sources_include_none_of_later_systems(self):
        for name in self.LATER:
            for place in ("src", "launcher", "apps", "bench", "include"):
                for path in (ROOT / place).rglob("*.[ch]pp"):
                    text = path.read_text(encoding="utf-8")
                    if f"#include <{name}>" in text:
                        self.assertIn(f"__has_include(<{name}>)", text, f"{path}: the wheel's systems lack <{name}>")


if __name__ == "__main__":
    unittest.main()
