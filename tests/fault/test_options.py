"""The options of mpiexec's command line: each has its effect and no other.

A row: the words, the expected result. A job of N ranks prints N lines; an error has exit code 2, names the whole
word, and starts nothing.
"""

import os
import re
import socket
import tempfile
import unittest

from launching import MPIEXEC, LaunchTest, run

HOST = socket.gethostname()
NOTE = "without effect here: "
SHOW = ("echo", "ran")
CPU = min(os.sched_getaffinity(0))

# words, ranks that run
TAKEN = [
    ("-n 3", 3), ("-np 3", 3), ("--np 3", 3), ("--np=3", 3), ("-n=3", 3), ("--n 3", 3), ("-c 3", 3), ("--ntasks=3", 3),
    ("", 1),
    ("-ppn 2", 2), ("--ppn 2", 2), ("-N 2", 2), ("--npernode 2", 2), ("-perhost 2", 2), ("--ntasks-per-node=2", 2),
    ("-n 3 -ppn 2", 3), ("-ppn 2 -n 1", 1), ("--nodes 1 -n 2", 2),
    ("-hosts localhost -n 2", 2), ("-host localhost", 1), ("-host 127.0.0.1:3", 3), ("-H localhost,localhost -n 2", 2),
    (f"--host {HOST}:2", 2), (f"-hosts {HOST}.example.org -n 2", 2), (f"-hosts {HOST.upper()} -n 2", 2),
    ("-host ::1 -n 2", 2), ("-host localhost:2,localhost:1", 3), ("-host localhost:3 -n 1", 1),
    ("--map-by core -n 2", 2), ("--map-by socket -n 2", 2), ("--map-by numa -n 2", 2), ("--map-by hwthread -n 2", 2),
    ("--map-by slot -n 2", 2), ("--map-by node -n 2", 2), ("--map-by ppr:2:node", 2), ("--map-by ppr:2:socket -n 2", 2),
    ("-map-by socket:OVERSUBSCRIBE -n 2", 2), ("--map-by :OVERSUBSCRIBE -n 5", 5), ("--rank-by slot -n 2", 2),
    ("--map-by bunch -n 2", 2), ("--map-by scatter:numa -n 2", 2), ("--map-by hybrid:1:compact -n 2", 2),
    ("--cpus-per-rank 1 -n 2", 2), ("--bind-to core:1 -n 2", 2), ("-bind-to rr -n 2", 2), ("--npersocket 2", 2),
    ("--map-by ppr:2:socket", 2), ("--bycore -n 2", 2), ("--bynode -n 2", 2), ("--map-by Socket:Span -n 2", 2),
    ("--bind-to socket -n 2", 2), ("--bind-to numa -n 2", 2), ("--bind-to hwthread -n 2", 2), ("-bind-to core -n 2", 2),
    ("--bind-to none -n 2", 2), ("--bind-to auto -n 2", 2), ("--bind-to core:overload-allowed -n 5", 5),
    ("--bind-to-core -n 2", 2), ("--bind-to-none -n 2", 2), ("--use-hwthread-cpus -n 2", 2),
    ("--oversubscribe --allow-run-as-root -n 2", 2), ("-genvall -n 2", 2), ("-envall -n 2", 2),
    ("-disable-auto-cleanup -n 2", 2), ("-q -n 2", 2), ("--mpi=pmi2 -n 2", 2), ("-genv A B -n 2", 2),
    ("-genv A=B -n 2", 2), ("-genv=A=B -n 2", 2), ("-env A -n -n 2", 2), ("-x A=b -n 2", 2), ("-n 2 --", 2),
    ("--pernode", 1), ("-grr 2", 2), ("-rr -n 2", 2), ("--stdin 0 -n 2", 2), ("--with-ft ulfm -n 2", 2), ("-check_mpi -n 2", 2),
    ("--report-transports -n 2", 2),     ("--no-foreign-variables -n 2", 2), ("--depth 1 -n 2", 2), ("-genvuser -n 2", 2), (f"--slot-list {CPU} -n 1", 1),
]

# words, text on standard error; two ranks run
NOTED = [
    ("--mca btl self,vader", NOTE + "--mca btl self,vader"), ("--mca a b --prtemca c d", NOTE + "--mca a b, --prtemca c d"),
    ("-rmk slurm", NOTE + "-rmk slurm"), ("-iface=eth0", NOTE + "-iface eth0"), ("--prte x", NOTE + "--prte x"),
    ("-print-all-exitcodes", NOTE + "-print-all-exitcodes"),
    ("--timestamp-output", NOTE + "--timestamp-output (mpiexec ... | ts adds times)"),
    ("--output timestamp", NOTE + "--output timestamp: timestamp (mpiexec ... | ts adds times)"), ("-print-rank-map", "is bound to CPU"),
    ("-v", "is bound to CPU"), ("--display-map", "is bound to CPU"), ("--report-bindings", "is bound to CPU"),
]

# words, part of the message besides them
REFUSED = [
    ("-launchr ssh", "unknown option -launchr; did you mean --launcher?\n"), ("--frob=3", "unknown option --frob=3\n"), ("-nn 2", "-nn"),
    ("-n4", "unknown option -n4\n"), ("-hV", "unknown option -hV\n"), ("-lh", "unknown option -lh\n"),
    ("-host", "requires a value"), ("---n 2", "unknown option ---n\n"), ("-n", "requires a value: N"), ("-genv A", "two values"),
    ("-n abc", "-n abc: the number of ranks must be an integer from 1 to 65536"), ("-n 0", "-n 0"), ("-n -1", "-n -1"),
    ("-n 2x", "-n 2x"), ("-n 1.5", "-n 1.5"), ("-np 65537", "65536"), ("-n 99999999999999", "65536"), ("-n=", "-n "),
    ("--ppn none", "--ppn none: the number of ranks on a host"),
    ("--timeout 0", "--timeout 0: the limit must be a number of seconds above 0"), ("--timeout -1", "--timeout -1"),
    ("--timeout soon", "--timeout soon"), ("--timeout 5s", "--timeout 5s"), ("--timeout nan", "--timeout nan"),
    ("--timeout inf", "--timeout inf"),
    ("--bind-to sockets", '"sockets"; did you mean socket?'), ("--bind-to core:twice", '"twice"'), ("--bind-to=", "--bind-to"),
    ("--map-by shelf", "--map-by shelf: ranks go by slot"), ("--map-by ppr:x:node", "ppr:N:PLACE"),
    ("--map-by core:PR=2", '"PR=2"'), ("--map-by ppr:2", "--map-by ppr:2"), ("--map-by core:PE=0", "PE=N"),
    ("--map-by scater", "did you mean scatter?"), ("--rank-by nodes", "did you mean node?"),
    ("--bind-to user:0,x", '"x" is not a CPU'), ("--bind-to user:", "names no CPU"), ("--cpu-set 3-1", "not a list of CPUs"),
    ("--bind-to l2cache:99999999", "99999999"),
    ("--machine", "requires a value"),
    ("--label=yes", "--label takes no value"), ("-wdir /no/such/place", "/no/such/place: there is no such directory"),
    ("-host localhost:0", "slots"), ("-host localhost:many", "slots"), ("-hosts=", '"" is not a host name'),
    ("-hosts -oProxyCommand=x", '"-oProxyCommand=x" is not a host name'), ("-host a,b$(x)", '"b$(x)" is not a host name'),
    ("-hosts a,,b", '"" is not a host name'), ("-hosts a;b", '"a;b"'), ("-hosts a'b", "\"a'b\""),
    ("-f /no/such/file", "-f /no/such/file: it cannot be opened: No such file"),
    ("-hostfile /tmp", "-hostfile /tmp: it is a directory, not a file"), ("-configfile /dev/zero", "it is a device"),
    ("--nodes 2", "--nodes 2: there is 1 (localhost)"), ("--nolocal", "there is no host but this one"),
    ("--preload-binary", "does not copy files"), ("--as-hosts 2 -hosts localhost,b", "are on 2 hosts already"),
    ("-configfile /no/such/file", "No such file"), ("-configfile /dev/null", "it names no program"),
    ("--rankfil x", "did you mean --rankfile?"), ("--rankfile x", "--bind-to user:"), ("-gdb", "starts no debugger"),
    ("-s all", "only to rank 0"), ("--stdin none", "</dev/null"), ("--with-ft x", "ulfm and none"), ("-outfile-pattern x", "--output-filename"),
    ("--output-filename :nocopy", "directory's name is missing"), ("--output xml", '"xml"'),
]


# words that are understood but impossible here; part of the message
IMPOSSIBLE = [
    ("--bind-to user:4000", "CPU 4000"), ("--cpu-set 4000", "no CPU 4000"), ("--map-by slot:PE=500", "500 cores for each rank"),
    (f"-n 3 --map-by :NOOVERSUBSCRIBE --cpu-set {CPU}", "room for 1"), (f"-n 2 --bind-to core --nooversubscribe --cpu-set {CPU}", "room for 1"),
    ("--do-not-launch --machine /no/such.xml", "/no/such.xml: No such file"),
    ("--do-not-launch --machine synthetic:pakk:2", "synthetic:pakk:2"),
]


class Table(LaunchTest):
    def test_words_that_take_effect(self):
        for words, ranks in TAKEN:
            with self.subTest(words):
                result = run(*words.split(), *SHOW)
                self.assert_ended(result, 0)
                self.assertEqual((result.stdout, result.stderr), ("ran\n" * ranks, ""))

    def test_words_that_are_noted(self):
        for words, note in NOTED:
            with self.subTest(words):
                result = run("-n", "2", "--bind-to", "core", *words.split(), *SHOW)
                self.assert_ended(result, 0, note)
                self.assertEqual(result.stdout, "ran\n" * 2)
                if NOTE in note:
                    self.assertEqual(run("-n", "1", "-q", *words.split(), *SHOW).stderr, "")

    def test_words_that_are_refused(self):
        for words, message in REFUSED:
            with self.subTest(words):
                # The program follows the words, so an option that lacks its value comes last.
                program = [] if "requires" in message or "two values" in message or "-configfile" in words else SHOW
                result = run(*words.split(), *program)
                self.assert_ended(result, 2, message, words.split()[0].split("=")[0], "Usage: mpiexec", "mpiexec --help")
                self.assertEqual(result.stdout, "")

    def test_words_that_ask_for_too_much(self):
        for words, message in IMPOSSIBLE:
            with self.subTest(words):
                result = run(*words.split(), *SHOW)
                self.assert_ended(result, 2, message)
                self.assertEqual(result.stdout, "")

    def test_help_names_every_word(self):
        text = run("--help").stdout
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        for words, _ in TAKEN + NOTED:
            for word in words.split():
                if word.startswith("-") and len(word) > 2:
                    self.assertIn(word.split("=")[0].lstrip("-"), text)
        for word in ("-h", "--help", "-help"):
            self.assertEqual(run(word).stdout, text)
        self.assertEqual(run("-V").stdout, run("--version").stdout)

    def test_words_of_the_program_are_its_own(self):
        for words in ("-n 5", "--timeout 0", "-hosts n2", "-V", "--frob", "-configfile x"):
            with self.subTest(words):
                result = run("-n", "1", *SHOW, *words.split())
                self.assertEqual((result.returncode, result.stdout), (0, f"ran {words}\n"))
        self.assertEqual(run("-n", "1", "--", *SHOW).stdout, "ran\n")
        self.assert_ended(run("-n", "1", "--", "-n", "2"), 127, '"-n"')


class HostFiles(LaunchTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = f"{folder.name}/hosts"

    def write(self, text):
        with open(self.file, "w", encoding="ascii") as file:
            file.write(text)

    def test_this_machine(self):
        # text, ranks without -n
        for text, ranks in (("localhost\n", 1), ("127.0.0.1", 1), (f"{HOST}\n", 1), (f"# ours\n\n {HOST}:2 # two\n", 2),
                            ("localhost slots=3\n", 3), ("localhost slots=2 max_slots=4\nlocalhost slots=1\n", 3),
                            (f"{HOST}.example.org:2\n", 2), ("localhost\t slots=2\r\n", 2)):
            self.write(text)
            for word in ("-hostfile", "--hostfile", "-machinefile", "-f"):
                with self.subTest(text, word=word):
                    self.assertEqual(run(word, self.file, *SHOW).stdout, "ran\n" * ranks)
                    self.assertEqual(run("-n", "2", f"{word}={self.file}", *SHOW).stdout, "ran\n" * 2)

    def test_other_hosts(self):
        self.write("localhost:2\n# more\nnode17 slots=4\n")
        # No rank runs anywhere until all hosts can start theirs.
        result = run("-n", "3", "--launcher", "false", "-hostfile", self.file, *SHOW)
        self.assert_ended(result, 1, "cannot start ranks on host node17 (rank 2): false ended with code 1\n")
        self.assertEqual(result.stdout, "")
        self.assertEqual(run("-n", "2", "--launcher", "false", "-hostfile", self.file, *SHOW).stdout, "ran\n" * 2)
        self.assertEqual(run("-n", "9", "--nodes", "1", "-hostfile", self.file, *SHOW).stdout, "ran\n" * 9)
        self.write("# none\n")
        self.assert_ended(run("-f", self.file, *SHOW), 2, self.file, "names no host")
        self.write("localhost slots=none\n")
        self.assert_ended(run("-f", self.file, *SHOW), 2, "line 1", '"none"')


class ConfigFiles(LaunchTest):
    def run_file(self, text, *before):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text)
            file.flush()
            return run(*before, "-configfile", file.name)

    def test_a_program_a_line(self):
        result = self.run_file("# two programs\n-n 2 echo \"a b\" \\\n  'c:d' e\\ f\n\n-n 1 sh -c 'echo $PMI_SIZE'\n")
        self.assertEqual(sorted(result.stdout.splitlines()), ["3", "a b c:d e f", "a b c:d e f"], result.stderr)
        self.assertEqual(self.run_file("-n 1 echo x : -n 1 echo y\n", "-l").stdout.count("] "), 2)

    def test_mistakes(self):
        self.assert_ended(self.run_file("-n 1 echo 'x\n"), 2, "line 1", "quote")
        self.assert_ended(self.run_file("-n none echo x\n"), 2, "-n none")
        self.assert_ended(self.run_file("-configfile other\n"), 2, "cannot name another")
        self.assert_ended(run("-configfile", "/etc/hosts", "true"), 2, '"true" after it')


class Environment(LaunchTest):
    def variables(self, *words, **options):
        result = run(*words, "/usr/bin/env", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)

    def test_what_is_inherited(self):
        own = {**os.environ, "HR_TEST_A": "a", "HR_TEST_B": "b"}
        mark = {name for name in own if name.startswith("HR_TEST_MARK")}
        for words, names in (("", "AB"), ("-genvall", "AB"), ("-envall", "AB"), ("-genvlist HR_TEST_A", "A"),
                             ("-envlist HR_TEST_B,NOT_THERE", "B"), ("-envnone", ""), ("-genvnone", ""),
                             ("-genvnone -envall", "AB"), ("-genvnone -envlist HR_TEST_A", "A"),
                             ("-genvnone -x HR_TEST_B", "B"), ("-envnone -genv HR_TEST_A a", "A")):
            with self.subTest(words):
                found = self.variables(*words.split(), env=own)
                self.assertEqual({name for name in found if name.startswith("HR_TEST_")} - mark,
                                 {f"HR_TEST_{name}" for name in names})
                self.assertEqual(found["PMI_RANK"], "0")
        result = run("-genvlist", "HR_TEST_A", "-n", "1", "/usr/bin/env", ":", "-envall", "/usr/bin/env", env=own)
        self.assertEqual((result.stdout.count("HR_TEST_A="), result.stdout.count("HR_TEST_B=")), (2, 1))

    @staticmethod
    def foreign(variables):
        return {name: value for name, value in variables.items() if re.match("(OMPI|MV2)_COMM_WORLD_|MPI_LOCAL", name)}

    def ranks(self, *words, **options):
        """Returns the variables of each rank, by number."""
        result = run("-l", *words, "/usr/bin/env", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = {}
        for rank, name, value in re.findall(r"^\[(\d+)\] (\w+)=(.*)$", result.stdout, re.M):
            self.assertNotIn(name, found.setdefault(int(rank), {}), "a variable is there twice")
            found[int(rank)][name] = value
        return [found[rank] for rank in sorted(found)]

    @staticmethod
    def place(rank, ranks, local, locals_):
        names = {"RANK": rank, "SIZE": ranks, "LOCAL_RANK": local, "LOCAL_SIZE": locals_}
        return {**{f"{owner}_COMM_WORLD_{name}": str(value) for owner in ("OMPI", "MV2") for name, value in names.items()},
                "OMPI_COMM_WORLD_NODE_RANK": str(local), "MPI_LOCALRANKID": str(local), "MPI_LOCALNRANKS": str(locals_)}

    def test_places_under_other_launchers_names(self):
        left_behind = {**os.environ, "OMPI_COMM_WORLD_RANK": "9", "OMPI_COMM_WORLD_LOCAL_RANK": "9", "MV2_COMM_WORLD_SIZE": "9"}
        for own in (dict(os.environ), left_behind):
            for words, places in (("-n 3", [(0, 3, 0, 3), (1, 3, 1, 3), (2, 3, 2, 3)]),
                                  ("-n 3 -genvnone", [(0, 3, 0, 3), (1, 3, 1, 3), (2, 3, 2, 3)]),
                                  ("-n 3 --as-hosts 2", [(0, 3, 0, 2), (1, 3, 1, 2), (2, 3, 0, 1)])):
                with self.subTest(words):
                    found = self.ranks(*words.split(), env=own)
                    self.assertEqual([self.foreign(each) for each in found], [self.place(*each) for each in places])
            found = self.ranks("-n", "2", "--no-foreign-variables", env=own)
            self.assertEqual([self.foreign(each) for each in found],
                             [{"MPI_LOCALRANKID": str(rank), "MPI_LOCALNRANKS": "2"} for rank in range(2)])

    def test_the_user_s_place_wins_but_not_over_the_library_s(self):
        for rank, each in enumerate(self.ranks("-n", "2", "-genv", "OMPI_COMM_WORLD_LOCAL_RANK", "7", "-x", "MPI_LOCALRANKID=5",
                                               "-env", "PMI_RANK", "3", "-env", "PMI_SIZE", "9")):
            self.assertEqual(self.foreign(each), {**self.place(rank, 2, rank, 2), "OMPI_COMM_WORLD_LOCAL_RANK": "7", "MPI_LOCALRANKID": "5"})
            self.assertEqual((each["PMI_RANK"], each["PMI_SIZE"]), (str(rank), "2"))

    def test_the_place_of_an_inner_mpiexec(self):
        result = run("-n", "2", MPIEXEC, "-n", "3", "sh", "-c", "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $MV2_COMM_WORLD_LOCAL_RANK")
        self.assert_ended(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), sorted([f"{rank}/3 {rank}" for rank in range(3)] * 2))

    def test_the_library_s_folder_comes_last(self):
        folder = f"{os.path.realpath(os.environ['HR_BUILD'])}/lib"
        without = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        for before, after in ((None, folder), ("", folder), ("/first", f"/first:{folder}"), ("/first:", f"/first::{folder}"),
                              (f"{folder}:/then", f"{folder}:/then"), (f"{folder}x", f"{folder}x:{folder}")):
            with self.subTest(before):
                own = without if before is None else {**without, "LD_LIBRARY_PATH": before}
                self.assertEqual(self.variables(env=own)["LD_LIBRARY_PATH"], after)
        self.assertEqual(self.variables("-env", "LD_LIBRARY_PATH", "/mine", env=without)["LD_LIBRARY_PATH"],
                         f"/mine:{folder}")
        self.assertEqual(self.variables("-envnone", env=without)["LD_LIBRARY_PATH"], folder)


class TimeoutVariable(LaunchTest):
    def test_it_is_the_option(self):
        own = {**os.environ, "MPIEXEC_TIMEOUT": "1"}
        self.assert_ended(run("-n", "2", "sleep", "30", env=own), 124, "within 1 s (MPIEXEC_TIMEOUT)", "rank 0-1")
        self.assert_ended(run("-n", "2", "--timeout", "50", "sleep", "1.2", env=own), 0)
        self.assert_ended(run("-n", "2", "--timeout", "1", "sleep", "30"), 124, "within 1 s (--timeout)")
        for value in ("0", "-1", ""):
            self.assert_ended(run("true", env={**os.environ, "MPIEXEC_TIMEOUT": value}), 0)
        self.assert_ended(run("true", env={**os.environ, "MPIEXEC_TIMEOUT": "long"}), 2, "MPIEXEC_TIMEOUT=long: the limit must be")


class OutputFiles(LaunchTest):
    def test_output_is_in_files_as_well(self):
        script = "echo out $PMI_RANK; echo err $PMI_RANK >&2; printf end"
        for words, shown in ((["--output-filename", "{}/d"], True), (["-output-filename", "{}/d:nocopy"], False),
                             (["--output", "tag,dir={}/d"], True)):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                result = run("-n", "11", *[word.format(folder) for word in words], "sh", "-c", script)
                self.assert_ended(result, 0)
                self.assertEqual(result.stdout.count("out "), 11 if shown else 0)
                for rank in range(11):
                    for stream, text in (("stdout", f"out {rank}\nend"), ("stderr", f"err {rank}\n")):
                        with open(f"{folder}/d/1/rank.{rank:02}/{stream}", encoding="ascii") as file:
                            self.assertEqual(file.read(), text)
        self.assert_ended(run("--output-filename", "/dev/null/x", "true"), 1, "/dev/null/x", "Not a directory")


class KeepGoing(LaunchTest):
    def test_others_end_by_themselves(self):
        script = "[ $PMI_RANK = 1 ] && exit 7; [ $PMI_RANK = 2 ] && kill -9 $$; sleep 0.5; echo done"
        result = run("-n", "4", "-disable-auto-cleanup", "sh", "-c", script)
        self.assertEqual(result.stdout, "done\n" * 2)
        self.assertIn(result.returncode, (7, 137))
        self.assertEqual(result.stderr.count("the others continue (--enable-recovery)"), 2, result.stderr)


if __name__ == "__main__":
    unittest.main()
