"""Names that MPI 3.0 removed: their use is an error that names the replacement, and programs that do not use them are not affected."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml
from programs import BIN, ROOT, run

COMPILERS = ([os.environ["HR_CC"], "-std=c99"], [os.environ["HR_CC"], "-std=c11"], [os.environ["HR_CXX"], "-x", "c++"])
TABLE = yaml.safe_load((ROOT / "api/removed.yaml").read_text(encoding="utf-8"))


class Removed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compile(self, compiler, text, *words):
        source = self.folder / "a.c"
        source.write_text(text, encoding="ascii")
        return subprocess.run([*compiler, "-Wall", "-Wextra", "-pedantic", f"-I{ROOT}/include", "-c", "-o", "/dev/null", *words, str(source)],
                              capture_output=True, text=True, timeout=60, check=False)

    def test_each_says_what_to_use(self):
        uses = {"functions": "void* p = (void*)&{0}; (void)p;", "types": "{0}* p = 0; (void)p;", "constants": "(void){0};"}
        for compiler in COMPILERS:
            for kind, use in uses.items():
                body = "\n".join(use.format(name).replace("p =", f"p{at} =").replace(")p;", f")p{at};")
                                 for at, name in enumerate(TABLE[kind]))
                result = self.compile(compiler, f"#include <mpi.h>\nint main(void) {{\n{body}\nreturn 0; }}\n")
                self.assertNotEqual(result.returncode, 0)
                for name, (_, instead) in TABLE[kind].items():
                    with self.subTest(compiler=compiler, name=name):
                        line = next((line for line in result.stderr.splitlines() if "error" in line and name in line), "")
                        self.assertIn(f"MPI 3.0 removed it; {instead}", line)

    def test_the_header_alone_gives_no_warning(self):
        for compiler in COMPILERS:
            result = self.compile(compiler, "#include <mpi.h>\nint main(void) { return 0; }\n")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_programs_that_bring_the_names_themselves(self):
        macros = ("#define MPI_Address MPI_Get_address\n#include <mpi.h>\n#define MPI_Type_struct MPI_Type_create_struct\n"
                  "#ifndef MPI_UB\n#define MPI_UB MPI_DATATYPE_NULL\n#endif\n"
                  "int main(void) { MPI_Aint a = 0; MPI_Datatype t = MPI_UB; MPI_Address(&a, &a);\n"
                  "  return MPI_Type_struct(0, 0, 0, 0, &t); }\n")
        functions = ("#define HEADRACE_OWN_REMOVED_NAMES\n#include <mpi.h>\n"
                     "static int MPI_Address(const void* p, MPI_Aint* a) { return MPI_Get_address(p, a); }\n"
                     "int main(void) { MPI_Aint a; return MPI_Address(&a, &a); }\n")
        # A profiling tool wraps the functions that it finds: this one only defines one of them.
        wraps = "#include <mpi.h>\nint MPI_Type_lb(MPI_Datatype t, MPI_Aint* d) { (void)t; *d = 0; return 0; }\n"
        for compiler in COMPILERS:
            for text in (macros, functions, wraps):
                result = self.compile(compiler, text)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_probes_of_configure(self):
        """AC_CHECK_FUNC, AC_CHECK_DECL and CMake's check_symbol_exists do not find the removed functions, and find the existing ones."""
        probes = {"func": "char {0}(void);\nint main(void) {{ return {0}(); }}\n",
                  "decl": "#include <mpi.h>\nint main(void) {{\n#ifndef {0}\n(void){0};\n#endif\nreturn 0; }}\n",
                  "symbol": "#include <mpi.h>\nint main(int c, char** v) {{ (void)v; return ((int*)(&{0}))[c]; }}\n"}
        for kind, text in probes.items():
            for name, there in (("MPI_Address", False), ("MPI_Type_struct", False), ("MPI_Get_address", True)):
                source = self.folder / "probe.c"
                source.write_text(text.format(name), encoding="ascii")
                result = run(BIN / "mpicc", source, "-o", self.folder / "probe")
                self.assertEqual(result.returncode == 0, there, f"{kind} {name}: {result.stderr}")


if __name__ == "__main__":
    unittest.main()
