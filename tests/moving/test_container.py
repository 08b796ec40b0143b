"""docs/containers.md: a program built with MPICH runs in a separate root file system with the host's Headrace. The root
is a directory with the system's own ones bind-mounted in it, in place of an image; no container runtime is needed."""

import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import BIN, BUILD, run

PEERS = Path(os.environ.get("HEADRACE_PEERS", "/nowhere"))
MPICC = next((path for path in (PEERS / "mpich/bin/mpicc", PEERS / "bin/mpicc") if path.exists()), None)

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, one = 1, sum = 0, length;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Get_library_version(text, &length);
  if (rank == 0) printf("%d ranks on %.8s\\n", sum, text);
  return MPI_Finalize();
}
"""

# Runs in a separate mount namespace, whose mounts disappear with it.
SCRIPT = """
set -e
mount -t tmpfs none {root}
for each in usr lib lib64 bin etc proc dev; do mkdir -p {root}/$each; mount --rbind /$each {root}/$each; done
mkdir -p {root}/opt/headrace {root}/app {root}/tmp
mount --rbind {build} {root}/opt/headrace
cp {program} {root}/app/program
{mpiexec} --timeout 30 -n 2 chroot {root} env LD_LIBRARY_PATH=/opt/headrace/lib /app/program
chroot {root} env LD_LIBRARY_PATH=/opt/headrace/lib ldd /app/program | grep 'libmpi.so.12 => /opt/headrace/lib/libmpi.so.12'
"""


@unittest.skipUnless(MPICC, "no MPICH here (make peers)")
@unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "root and unshare are needed for a root file system of its own")
class Bound(unittest.TestCase):
    def test_a_program_of_mpich_runs_on_the_library_of_the_host(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "root").mkdir()
            (place / "a.c").write_text(PROGRAM, encoding="ascii")
            built = run(MPICC, place / "a.c", "-o", place / "a")
            self.assertEqual(built.returncode, 0, built.stderr)
            if subprocess.run(["unshare", "-m", "true"], check=False, timeout=20, capture_output=True).returncode != 0:
                self.skipTest("this machine makes no mount namespaces")
            words = {"root": place / "root", "build": BUILD.resolve(), "program": place / "a", "mpiexec": BIN / "mpiexec"}
            result = run("unshare", "-m", "sh", "-c", SCRIPT.format(**{name: shlex.quote(str(path)) for name, path in words.items()}))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.splitlines()[0], "2 ranks on Headrace", result.stdout)


if __name__ == "__main__":
    unittest.main()
