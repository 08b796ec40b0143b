"""The recipes in packaging/, each checked by its own tool if that is installed: versions, EasyBuild, conda, Spack, images, module files."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from contextlib import contextmanager
from pathlib import Path

import yaml
from programs import BIN, BUILD, CLEAN, ROOT, run

PACKAGING = ROOT / "packaging"
EASYCONFIG, = (PACKAGING / "easybuild").glob("*.eb")
VERSION = re.search(r"project\(headrace VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def has(module):
    try:
        __import__(module)
    except ImportError:
        return False
    return True


class Versions(unittest.TestCase):
    def test_all_say_that_of_the_project(self):
        spack = (PACKAGING / "spack/packages/headrace/package.py").read_text(encoding="utf-8")
        conda = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8"))
        self.assertIn(f'version("{VERSION}")', spack)
        self.assertEqual(conda["context"]["version"], VERSION)
        self.assertTrue(EASYCONFIG.name.startswith(f"Headrace-{VERSION}-"))
        self.assertIn(f"version = '{VERSION}'", EASYCONFIG.read_text(encoding="utf-8"))

    def test_images_have_the_packages_that_make_installs(self):
        packages = re.search(r"^BUILD_PACKAGES := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1].split()
        for name in ("Containerfile", "headrace.def"):
            text = (PACKAGING / "container" / name).read_text(encoding="utf-8")
            for package in packages:
                if package != "ccache":
                    self.assertRegex(text, rf"[ \\]{re.escape(package)}\s", name)

    def test_images_take_the_sources_alone(self):
        """COPY . leaves out what git ignores as a directory: gigabytes in a tree that was built."""
        def words(name):
            return {line.strip("/").removeprefix("**/") for line in (ROOT / name).read_text(encoding="utf-8").splitlines()}
        ignored = {word for word in words(".gitignore") if not word.startswith("*")}
        self.assertLessEqual(ignored, words(".dockerignore"))

    def test_all_know_both_network_libraries(self):
        """A build without one of their headers succeeds, but its jobs cannot use that library."""
        settings = {name for path in (ROOT / "cmake").glob("*.cmake")
                    for name in re.findall(r"HEADRACE_[A-Z]+_INCLUDE_DIR", path.read_text(encoding="utf-8"))}
        libraries = {"HEADRACE_UCX_INCLUDE_DIR": "ucx", "HEADRACE_OFI_INCLUDE_DIR": "libfabric"}
        self.assertEqual(settings, set(libraries))
        for path in (PACKAGING / "spack/packages/headrace/package.py", EASYCONFIG, PACKAGING / "conda/recipe.yaml",
                     PACKAGING / "container/Containerfile", PACKAGING / "container/headrace.def", ROOT / "docs/packages.md"):
            text = path.read_text(encoding="utf-8").lower()
            for setting, library in libraries.items():
                self.assertRegex(text, rf"\b(lib)?{library}\b", f"{path.name}: {library}")
                if path.suffix in (".py", ".eb", ".md"):
                    self.assertIn(setting.lower(), text, path.name)


class _Record:
    """Stands in for a module of Spack: records each directive with its arguments."""

    def __init__(self):
        self.said = []
        self.module = types.ModuleType("spack.package")
        self.module.__all__ = []
        for name in ("license", "version", "variant", "provides", "depends_on", "conflicts", "generator"):
            self.put(name, lambda *words, _name=name, **more: self.said.append((_name, words, more)))
        for name in ("CMakePackage", "CudaPackage", "HeaderList"):
            self.put(name, type(name, (), {"define": staticmethod(lambda name, value: f"-D{name}={value}")}))
        for name in ("find", "find_libraries", "Executable"):
            self.put(name, lambda *words, **more: words)
        self.put("join_path", os.path.join)

    def put(self, name, value):
        setattr(self.module, name, value)
        self.module.__all__.append(name)


class Spack(unittest.TestCase):
    """Without Spack, which no package index has: the recipe is valid Python, and its directives are recorded and checked."""

    def setUp(self):
        record = _Record()
        sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), record.module
        self.addCleanup(lambda: [sys.modules.pop(name) for name in ("spack", "spack.package")])
        path = PACKAGING / "spack/packages/headrace/package.py"
        self.names = {}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), self.names)
        self.said = record.said

    def test_directives(self):
        virtual = {words[0].split("@")[0] for name, words, _ in self.said if name == "provides"}
        self.assertEqual(virtual, {"mpi", "mpi-abi"})
        needs = {re.split("[@:]", words[0])[0] for name, words, _ in self.said if name == "depends_on"}
        self.assertLessEqual({"cmake", "ninja", "hwloc", "nlohmann-json", "py-pyyaml", "python", "ucx", "libfabric", "cuda"}, needs)

    def test_words_for_cmake_name_what_is_there(self):
        class Spec(dict):
            def __init__(self, on):
                self.on = on
                self["cuda"] = self["ucx"] = self["libfabric"] = types.SimpleNamespace(prefix=types.SimpleNamespace(bin="/p/bin", include="/p/include"))

            def satisfies(self, what):
                return what[1:] in self.on

        known = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")])
        for on in ((), ("cuda", "ucx", "libfabric")):
            package = self.names["Headrace"]()
            package.spec = Spec(on)
            for word in package.cmake_args():
                self.assertIn(re.match(r"-D(\w+)=", word)[1], known)


class Conda(unittest.TestCase):
    def test_what_it_needs(self):
        recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8"))
        self.assertEqual(recipe["package"]["name"], "headrace")
        self.assertTrue((PACKAGING / "conda" / recipe["source"]["path"]).resolve().samefile(ROOT))
        self.assertTrue((ROOT / recipe["about"]["license_file"]).is_file())
        wanted = [each.split("==")[0] for each in ("pyyaml", "scikit-build-core", "cmake", "ninja")]
        listed = " ".join(str(each) for part in ("build", "host") for each in recipe["requirements"][part])
        for name in wanted:
            self.assertIn(name, listed)

    @unittest.skipUnless(has("rattler"), "no py-rattler here")
    def test_every_requirement_is_one(self):
        from rattler import MatchSpec
        recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8"))
        for part in ("build", "host", "run", "run_constraints"):
            for each in recipe["requirements"][part]:
                if not each.startswith("${{"):
                    self.assertTrue(MatchSpec(each).name)


    @unittest.skipUnless(has("rattler_build"), "no py-rattler-build here")
    def test_it_is_rendered(self):
        """As `rattler-build build --render-only` does: every field is known, every expression has a value."""
        import rattler_build
        recipe = rattler_build.Stage0Recipe.from_file(str(PACKAGING / "conda/recipe.yaml"))
        variants = rattler_build.VariantConfig.from_yaml("c_stdlib: [sysroot]\nc_stdlib_version: ['2.28']\ncuda_compiler: [cuda-nvcc]\n"
                                                         "cuda_compiler_version: ['12.9']\npython: ['3.12', '3.13']\n")
        rendered = [each.recipe.to_dict() for each in recipe.render(variants)]
        self.assertEqual(len(rendered), 2)
        for each in rendered:
            self.assertEqual((each["package"]["name"], each["package"]["version"]), ("headrace", VERSION))
            for name in ("gxx_linux-64", "cuda-nvcc_linux-64 12.9.*", "sysroot_linux-64 2.28.*"):
                self.assertIn(name, each["requirements"]["build"])
            self.assertIn("libhwloc", each["requirements"]["run"])

    @unittest.skipUnless(has("rattler_build"), "no py-rattler-build here")
    def test_an_unknown_field_is_refused(self):
        import rattler_build
        text = (PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8")
        with self.assertRaises(rattler_build.RattlerBuildError):
            rattler_build.Stage0Recipe.from_yaml(text.replace("  summary:", "  sumary:"))


class EasyBuild(unittest.TestCase):
    @unittest.skipUnless(has("easybuild.framework"), "no EasyBuild here")
    def test_it_is_read(self):
        script = ("import sys\n"
                  "from easybuild.tools.options import set_up_configuration\n"
                  "set_up_configuration(args=['--modules-tool=EnvironmentModules', '--module-syntax=Tcl',\n"
                  "                           '--allow-use-as-root-and-accept-consequences'], silent=True)\n"
                  "from easybuild.framework.easyconfig.easyconfig import EasyConfig, get_easyblock_class\n"
                  "ec = EasyConfig(sys.argv[1], validate=False)\n"
                  "ec.validate(check_osdeps=False)\n"
                  "print(ec['name'], ec['version'], ec['moduleclass'], get_easyblock_class(ec['easyblock'], name=ec['name']).__name__,\n"
                  "      sorted(d['name'] for d in ec.builddependencies()), sorted(d['name'] for d in ec.dependencies()))\n")
        with tempfile.TemporaryDirectory() as home:
            tool = Path(home) / "libexec/modulecmd.tcl"  # a replacement: EasyBuild reads only its version
            tool.parent.mkdir()
            tool.write_text("#!/bin/sh\necho 'Modules Release 5.3.0' >&2\n", encoding="ascii")
            tool.chmod(0o755)
            result = subprocess.run([sys.executable, "-B", "-c", script, str(EASYCONFIG)], capture_output=True, text=True, timeout=100,
                                    check=False, env={**CLEAN, "HOME": home, "MODULESHOME": home, "module": "x", "TMPDIR": home}, cwd=home)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"Headrace {VERSION} mpi CMakeNinja", result.stdout)
        for name in ("CMake", "hwloc", "UCX", "libfabric", "CUDA"):
            self.assertIn(f"'{name}'", result.stdout)


class Images(unittest.TestCase):
    @unittest.skipUnless(shutil.which("hadolint"), "no hadolint here")
    def test_containerfile(self):
        # The versions of packages are those of the distribution (DL3008), and no RUN has output that a pipe could hide.
        result = run("hadolint", "--ignore", "DL3008", PACKAGING / "container/Containerfile")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    @unittest.skipUnless(has("spython"), "no spython here")
    def test_definition_of_apptainer(self):
        from spython.main.parse.parsers import SingularityParser
        with tempfile.TemporaryDirectory() as folder:  # because the tool may write next to its input
            place = shutil.copy(PACKAGING / "container/headrace.def", folder)
            recipe = SingularityParser(str(place)).parse()
        stages = list(recipe.values()) if isinstance(recipe, dict) else [recipe]
        self.assertEqual(stages[0].fromHeader, "debian:13")
        self.assertTrue(any("cmake --install" in line for line in stages[0].install))
        self.assertTrue(stages[0].test)

    def test_scripts_in_them_are_shell(self):
        """The commands of RUN and %post are valid for sh."""
        text = (PACKAGING / "container/Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
        scripts = re.findall(r"^RUN (.*)$", text, re.M)
        scripts.append(re.search(r"%post\n(.*?)\n%", (PACKAGING / "container/headrace.def").read_text(encoding="utf-8"), re.S)[1])
        self.assertGreater(len(scripts), 3)
        for script in scripts:
            self.assertEqual(subprocess.run(["sh", "-n", "-c", script], timeout=20, check=False).returncode, 0)


def _lmod():
    found = [os.environ.get("LMOD_CMD", ""), *map(str, sorted(Path("/usr/share/lmod").glob("*/libexec/lmod")))]
    return next((path for path in found if path and os.path.exists(path)), None)


def _modules():
    found = [os.environ.get("MODULES_CMD", ""), *map(str, Path("/usr/lib").glob("*/modulecmd.tcl"))]
    return next((path for path in found if path and os.path.exists(path)), None)


class ModuleFiles(unittest.TestCase):
    """A module file is loaded by the real module commands: afterwards mpiexec is found, and a program built by its mpicc runs."""

    @contextmanager
    def tree(self, kind, name):
        with tempfile.TemporaryDirectory(prefix="modules-") as folder:
            place = Path(folder) / "headrace"
            place.mkdir()
            text = run(sys.executable, "-B", "-m", "headrace", "info", "--prefix", BUILD, "--modulefile", kind,
                       PYTHONPATH=os.environ["PYTHONPATH"]).stdout
            (place / name).write_text(text, encoding="utf-8")
            yield folder

    def loaded(self, command, folder):
        script = (f'eval "$({command} load headrace)" && command -v mpiexec && echo "$MPI_HOME" && '
                  f'printf "#include <mpi.h>\\nint main(void) {{ return MPI_Init(0, 0) || MPI_Finalize(); }}\\n" >a.c && '
                  f'mpicc a.c -o a && mpiexec -n 2 ./a && echo ran && eval "$({command} unload headrace)" && echo "<$MPI_HOME>"')
        return run("bash", "-c", script, MODULEPATH=folder, cwd=folder)

    def check(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.splitlines(), [f"{BIN.resolve()}/mpiexec", str(BUILD.resolve()), "ran", "<>"], result.stderr)

    @unittest.skipUnless(_lmod(), "no Lmod here")
    def test_lmod(self):
        with self.tree("lua", f"{VERSION}.lua") as folder:
            self.check(self.loaded(f"{shlex.quote(_lmod())} bash", folder))

    @unittest.skipUnless(_lmod(), "no Lmod here")
    def test_lmod_reads_tcl(self):
        with self.tree("tcl", VERSION) as folder:
            self.check(self.loaded(f"{shlex.quote(_lmod())} bash", folder))

    @unittest.skipUnless(_modules(), "no Environment Modules here")
    def test_environment_modules(self):
        with self.tree("tcl", VERSION) as folder:
            self.check(self.loaded(f"tclsh {shlex.quote(_modules())} bash", folder))


if __name__ == "__main__":
    unittest.main()
