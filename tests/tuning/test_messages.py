"""`headrace tune --messages`: what is chosen of times that a test makes up, the file, and what jobs make of it."""

import json
import os
import subprocess
import sys
import unittest

from headrace.bench.child import Failed
from headrace.tune import messages
from headrace.tune.choose import DEFAULT
from headrace.tune.messages import Found, Trial
from tuning import BIN, BUILD, TuningTest, described

TRIAL = Trial("eager_bytes", (4096, 65536), (8192, 32768))


class Choice(unittest.TestCase):
    def chosen(self, times):
        found, failures = messages.measure([TRIAL], 5, lambda trial, value: times(value))
        return (found[0].value if found else None), failures

    def test_the_faster_value(self):
        self.assertEqual(self.chosen({DEFAULT: 10.0, 4096: 11.0, 65536: 8.0}.__getitem__), (65536, []))

    def test_what_is_near_stays(self):
        self.assertEqual(self.chosen({DEFAULT: 10.0, 4096: 9.8, 65536: 10.5}.__getitem__), (None, []))

    def test_noise_is_no_reason(self):
        drawn = iter([10, 9, 30, 10, 8, 30, 10, 30, 8, 10, 9, 30] * 9)
        self.assertEqual(self.chosen(lambda value: next(drawn) if value != DEFAULT else 10.0)[0], None)

    def test_a_value_that_fails_is_out(self):
        def times(value):
            if value == 4096:
                raise Failed("it hangs")
            return {DEFAULT: 10.0, 65536: 8.0}[value]
        self.assertEqual(self.chosen(times), (65536, []))

    def test_without_the_present_one_nothing_is_said(self):
        def times(value):
            raise Failed("no mpiexec")
        self.assertEqual(self.chosen(times), (None, ["eager_bytes: no mpiexec"]))

    def test_which_are_measured(self):
        self.assertEqual({trial.knob for trial in messages.trials((), False)}, {"eager_bytes", "single_copy_bytes"})
        self.assertEqual({trial.knob for trial in messages.trials(("a", "b"), False)}, {"network_eager_bytes"})
        self.assertIn("cuda_network_chunks", {trial.knob for trial in messages.trials(("a", "b"), True)})

    def test_the_file_keeps_what_was_not_measured(self):
        before = "# old\nmachine = this\nversion = 1\nnetwork_eager_bytes = 8192  # why\neager_bytes = 4096\n"
        text = messages.text([Found(TRIAL, 65536, 0.8)], before, "this", "2", "about")
        self.assertEqual(text, "# about\nmachine = this\nversion = 2\nnetwork_eager_bytes = 8192  # why\n"
                               "eager_bytes = 65536  # host messages of 8 KiB to 32 KiB: 0.80 of the time\n")


class File(TuningTest):
    def setUp(self):
        super().setUp()
        self.messages = self.default.with_suffix(".messages")
        known = described()
        self.fits = f"machine = {known['messages']['machine']}\nversion = {known['version']}\n"

    def setting(self, name, **variables):
        """Value and origin, as a job has them; and the last lines."""
        said = subprocess.run([BIN / "mpiexec", "--config"], capture_output=True, text=True, check=True, env={**os.environ, **variables}).stdout
        return tuple(next(line for line in said.splitlines() if line.startswith(name + " ")).split()[1:3]), said

    def put_messages(self, text):
        return self.put(text, self.messages)

    def test_it_takes_the_place_of_defaults(self):
        self.put_messages(self.fits + "eager_bytes = 32K  # reason\n")
        setting, said = self.setting("eager_bytes")
        self.assertEqual(setting, ("32768", "tuned"))
        self.assertIn(f"tuned messages: {self.messages}", said)
        self.assertEqual(self.setting("eager_bytes", HEADRACE_EAGER_BYTES="8K")[0], ("8192", "environment"))
        self.assertEqual(self.setting("eager_bytes", HEADRACE_TUNING_FILE="off")[0], ("16384", "default"))
        config = self.put("eager_bytes = 1K\n", self.folder / "headrace.conf")
        self.assertEqual(self.setting("eager_bytes", HEADRACE_CONFIG_FILE=str(config))[0], ("1024", "file"))

    def test_of_another_machine_or_version(self):
        for text, why in (("machine = another\n" + self.fits.split("\n")[1] + "\n", "another machine"), (self.fits.split("\n")[0] + "\nversion = 0\n", 'version "0"'), ("", 'version ""')):
            self.put_messages(text + "eager_bytes = 32K\n")
            setting, said = self.setting("eager_bytes")
            self.assertEqual(setting, ("16384", "default"))
            self.assertRegex(said, f"left out: .*{why}")

    def test_bad_values_are_named(self):
        self.put_messages(self.fits + "eager_bytes = banana\nno_such_knob = 1\n")
        done = subprocess.run([BIN / "mpiexec", "--config"], capture_output=True, text=True, check=True)
        self.assertIn(f'{self.messages}: "banana" is not a value', done.stderr)
        self.assertIn('no knob is called "no_such_knob"', done.stderr)

    def test_it_is_measured_and_written(self):
        result = subprocess.run([sys.executable, "-m", "headrace", "tune", "--build", str(BUILD), "--messages", "--quick", "--rounds", "2"],
                                capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("single_copy_bytes", result.stdout)
        self.assertIn(f"written to {self.messages}", result.stdout)
        self.assertTrue(self.messages.read_text().startswith("# headrace tune "))
        self.assertEqual(json.loads(subprocess.run([BIN / "selection"], capture_output=True, check=True).stdout)["messages"]["left_out"], "")


if __name__ == "__main__":
    unittest.main()
