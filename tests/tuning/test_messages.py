"""`headrace tune --messages`: choices from synthetic times, the file, and its effect on jobs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from headrace.bench.child import Failed
from headrace.tune import messages
from headrace.tune.choose import DEFAULT
from headrace.tune.journal import Journal
from headrace.tune.messages import Found, Messages, Trial
from headrace.tune.peers import ALL, Peers, in_allocation, last_cache, of_hosts, of_this_host
from headrace.tune.work import Work
from tuning import BIN, BUILD, TuningTest, described

TRIAL = Trial("eager_bytes", (4096, 65536), (8192, 32768))


def measured(trials, time_of, journal=None):
    work = Work(journal or Journal(None, {}))
    return Messages(trials, 5, time_of).measure(work), work


class Choice(unittest.TestCase):
    def chosen(self, times):
        found, work = measured([TRIAL], lambda trial, value: times(value))
        return (found[0].value if found else None), work.failures

    def test_the_faster_value(self):
        self.assertEqual(self.chosen({DEFAULT: 10.0, 4096: 11.0, 65536: 8.0}.__getitem__), (65536, []))

    def test_before_and_after(self):
        found = measured([TRIAL], lambda trial, value: {DEFAULT: 10.0, 4096: 11.0, 65536: 8.0}[value])[0][0]
        self.assertEqual((found.before, found.after, found.ratio, found.rounds), (10.0, 8.0, 0.8, 10))

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
        def knobs(*words):
            return {trial.knob for trial in messages.trials([ALL], *words)}
        self.assertEqual(knobs(False, False), {"eager_bytes", "single_copy_bytes"})
        self.assertEqual(knobs(False, True), {"network_eager_bytes"})
        self.assertIn("device_network_chunks", knobs(True, True))
        self.assertLessEqual({"device_staging_bytes", "device_resident_copy_bytes", "device_pipeline_chunks"}, knobs(True, False))


NEAR, FAR = Peers("same-cache", ("--bind-to", "user:0,1"), about="one cache"), Peers("same-host", ("--bind-to", "user:0,8"), about="two caches")


class KindsOfPeers(unittest.TestCase):
    def text(self, time_of, before=""):
        found = measured(messages.trials([NEAR, FAR], False, False), time_of)[0]
        lines = messages.text(found, before, "this", "1", "about").splitlines()
        return [line.split("  #")[0] for line in lines[1:]]

    def test_each_has_a_limit_of_its_own(self):
        def time(trial, value):
            return 5.0 if (trial.peers.name, value) in (("same-cache", 8192), ("same-host", 65536)) else 10.0
        self.assertEqual(self.text(time), ["machine = this", "version = 1", "eager_bytes @ same-cache = 8192", "eager_bytes @ same-host = 65536"])

    def test_equal_ones_are_one_line(self):
        self.assertEqual(self.text(lambda trial, value: 5.0 if value == 65536 and trial.by_peers else 10.0),
                         ["machine = this", "version = 1", "eager_bytes = 65536"])

    def test_earlier_lines_of_the_knob_go(self):
        before = "machine = this\nversion = 1\neager_bytes = 4096\neager_bytes @ same-host = 4096\nnetwork_eager_bytes @ a,b = 8192\n"
        self.assertEqual(self.text(lambda trial, value: 5.0 if value == 8192 and trial.peers is NEAR else 10.0, before),
                         ["machine = this", "version = 1", "network_eager_bytes @ a,b = 8192", "eager_bytes @ same-cache = 8192"])

    def test_a_knob_of_all_is_measured_once(self):
        trials = messages.trials([NEAR, FAR], False, False)
        self.assertEqual([(trial.knob, trial.peers.name) for trial in trials],
                         [("eager_bytes", "same-cache"), ("eager_bytes", "same-host"), ("single_copy_bytes", "")])

    def test_pairs_of_hosts_by_their_delay(self):
        pairs = [["a", "b", 10.0, 0, 1], ["a", "c", 230.0, 0, 2], ["b", "c", 12.0, 1, 2]]
        near, far = of_hosts({"pairs": pairs}, ["a", "b", "c"])
        self.assertEqual((near.names, far.names, far.hosts), (("a,b", "b,c"), ("a,c",), ("a", "c")))
        trials = messages.trials([near, far], False, True)
        self.assertEqual([max(trial.values) for trial in trials], [262144, 1048576])  # bytes copied in a round trip, rounded up; at most 1 MiB
        found = measured(trials, lambda trial, value: 5.0 if value == 262144 and trial.peers is far else 10.0)[0]
        self.assertIn("network_eager_bytes @ a,c = 262144  # host messages of 8 KiB to 1 MiB, a - c, 230 us: 0.50 of the time, 5 us instead of 10",
                      messages.text(found, "", "this", "1", "about"))
        (all_,) = of_hosts({"pairs": pairs[::2]}, ["a", "b", "c"])
        self.assertEqual(all_.names, ("",))

    def test_allocations(self):
        self.assertFalse(in_allocation({}))
        self.assertFalse(in_allocation({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}))
        self.assertTrue(in_allocation({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}))
        with tempfile.NamedTemporaryFile("w") as file:
            self.assertFalse(in_allocation({"PBS_NODEFILE": file.name}))
            file.write("a\na\nb\n")
            file.flush()
            self.assertTrue(in_allocation({"PBS_NODEFILE": file.name}))

    def test_caches_of_a_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            for cpu in range(8):
                for index, (level, cpus) in enumerate(((1, str(cpu)), (2, str(cpu)), (3, "0-3" if cpu < 4 else "4-7"))):
                    cache = Path(folder, f"cpu{cpu}/cache/index{index}")
                    cache.mkdir(parents=True)
                    (cache / "level").write_text(f"{level}\n")
                    (cache / "shared_cpu_list").write_text(f"{cpus}\n")
            near, far = of_this_host(range(8), Path(folder))
            self.assertEqual([near.name, far.name, far.launch], ["same-cache", "same-host", ("--bind-to", "user:0,4")])
            self.assertEqual(of_this_host(range(4), Path(folder)), [ALL])
            self.assertEqual([each.name for each in of_this_host((0, 4), Path(folder))], ["same-host"])
            self.assertEqual(of_this_host(range(8), Path(folder, "none")), [ALL])


class Text(unittest.TestCase):
    def test_the_file_keeps_what_was_not_measured(self):
        before = "# old\nmachine = this\nversion = 2\nnetwork_eager_bytes = 8192  # why\neager_bytes = 4096\n"
        text = messages.text([Found(TRIAL, 65536, 0.8, 10.0, 8.0, 10)], before, "this", "2", "about")
        self.assertEqual(text, "# about\nmachine = this\nversion = 2\nnetwork_eager_bytes = 8192  # why\n"
                               "eager_bytes = 65536  # host messages of 8 KiB to 32 KiB: 0.80 of the time, 8 us instead of 10, 10 rounds\n")

    def test_lines_of_another_machine_or_version_are_not_kept(self):
        for machine, version in (("another", "2"), ("this", "1")):
            before = f"machine = {machine}\nversion = {version}\nnetwork_eager_bytes = 8192\n"
            self.assertNotIn("network_eager_bytes", messages.text([Found(TRIAL, 65536, 0.8)], before, "this", "2", "about"))


class File(TuningTest):
    def setUp(self):
        super().setUp()
        self.messages = self.default.with_suffix(".messages")
        known = described()
        self.fits = f"machine = {known['messages']['machine']}\nversion = {known['version']}\n"

    def setting(self, name, **variables):
        """Returns the value and its origin in a job, and the last lines."""
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

    def limits(self, *words, **variables):
        """Returns the ranks' limits for their peers."""
        said = subprocess.run([BIN / "mpiexec", *words, "-n", "2", BIN / "latency", "--sizes", "8", "--iters", "2", "--reps", "2"], capture_output=True,
                              text=True, check=True, timeout=60, env={**os.environ, "HEADRACE_VERBOSE": "2", **variables}).stderr
        self.said_by = {line.split("/")[0] for line in said.splitlines() if "sent unasked: " in line}
        return {line.split("sent unasked: ")[1] for line in said.splitlines() if "sent unasked: " in line}

    def test_limits_by_peers(self):
        self.put_messages(self.fits + "eager_bytes @ same-host = 32K\n")
        self.assertEqual(self.limits(), {"up to 32768 bytes, as tuned for such peers"})
        self.assertIn("eager_bytes is 32K for messages with same-host", self.setting("eager_bytes")[1])
        self.assertEqual(self.limits(HEADRACE_EAGER_BYTES="8K"), set())  # the user has set it
        if not last_cache(min(os.sched_getaffinity(0))):
            return
        self.put_messages(self.fits + "eager_bytes @ same-cache = 8K\neager_bytes @ same-host = 32K\n")
        cpu = min(os.sched_getaffinity(0))
        self.assertEqual(self.limits("--bind-to", f"user:{cpu},{cpu}", HEADRACE_OVERSUBSCRIBE="quiet"), {"up to 8192 bytes, as tuned for such peers"})

    def test_limits_by_hosts(self):
        host = os.uname().nodename
        self.put_messages(self.fits + f"network_eager_bytes @ {host},{host} = 256K\n")
        self.assertEqual(self.limits("--as-hosts", "2"), {"up to 262144 bytes"})
        self.assertEqual(self.said_by, {"[headrace 0", "[headrace 1"})  # the one that has connected, and the other one
        self.put_messages(self.fits + f"network_eager_bytes @ {host},other = 256K\n")
        self.assertNotIn("up to 262144 bytes", self.limits("--as-hosts", "2"))

    def test_bad_values_are_named(self):
        self.put_messages(self.fits + "eager_bytes = banana\nno_such_knob = 1\n")
        done = subprocess.run([BIN / "mpiexec", "--config"], capture_output=True, text=True, check=True)
        self.assertIn(f'{self.messages}: "banana" is not a value', done.stderr)
        self.assertIn('no knob is called "no_such_knob"', done.stderr)
        self.put_messages(self.fits + "eager_bytes @ same-host = banana\nverbose @ same-host = 2\n")
        done = subprocess.run([BIN / "mpiexec", "--config"], capture_output=True, text=True, check=True)
        self.assertIn('"eager_bytes @ same-host = banana" is not a knob of bytes and a value of it', done.stderr)
        self.assertIn('"verbose @ same-host = 2" is not', done.stderr)

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
