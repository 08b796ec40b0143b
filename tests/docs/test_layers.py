"""The diagram of the layers agrees with CMake, and a change of a layer or of the table is detected."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(tree):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/docs/layers.py", "--check", tree], capture_output=True, text=True, timeout=60)


class Layers(unittest.TestCase):
    def copy(self):
        """Returns a tree with the files from which the diagram is drawn."""
        scratch = tempfile.TemporaryDirectory(prefix="headrace-layers-")
        self.addCleanup(scratch.cleanup)
        tree = Path(scratch.name)
        for file in (ROOT / "src/CMakeLists.txt", *ROOT.glob("src/*/CMakeLists.txt"), ROOT / "docs/architecture.md", ROOT / "docs/architecture.svg"):
            target = tree / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        return tree

    def change(self, tree, file, old, new):
        text = (tree / file).read_text(encoding="utf-8")
        self.assertIn(old, text)
        (tree / file).write_text(text.replace(old, new), encoding="utf-8")

    def test_picture(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_layer_is_drawn(self):
        picture = (ROOT / "docs/architecture.svg").read_text(encoding="utf-8")
        layers = {file.parent.name for file in ROOT.glob("src/*/CMakeLists.txt")}
        self.assertGreater(len(layers), 10)
        self.assertEqual({layer for layer in layers if f">{layer}</text>" in picture}, layers)

    def test_changes_are_found(self):
        for file, old, new, said in (("src/transport/CMakeLists.txt", "DEPS base boot", "DEPS base boot mem", "run scripts/docs/layers.py"),
                                     ("docs/architecture.md", "| datatypes: pack", "| types: pack", "run scripts/docs/layers.py"),
                                     ("docs/architecture.md", "| `src/io` |", "| `src/files` |", "differ in files, io")):
            with self.subTest(file=file, new=new):
                tree = self.copy()
                self.assertEqual(check(tree).returncode, 0)
                self.change(tree, file, old, new)
                result = check(tree)
                self.assertEqual(result.returncode, 1)
                self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
