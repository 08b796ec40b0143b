"""The rules for files that another user may have put in place of this user's, one at a time."""

import os
import unittest
import unittest.mock

import support
from headrace import own_files
from headrace.bench import libraries
from headrace.bench.child import Failed
from headrace.monitor.hosts import secret
from headrace.tune import files
from headrace.tune.journal import Journal

MINE = os.geteuid()


class Reading(support.Scratch):
    def refused(self, what, sentence, *words, **more):
        with self.assertRaises(own_files.Unfit) as said:
            what(*words, **more)
        self.assertIn(sentence, str(said.exception))
        self.assertNotIn("Errno", str(said.exception))

    def test_what_is_no_file_is_refused_at_once(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "folder").mkdir()
        for name, sentence in (("fifo", "a FIFO"), ("folder", "a directory")):
            self.refused(own_files.read_text, sentence, self.folder / name)
        self.refused(own_files.read_bytes, "a device", "/dev/zero")
        self.refused(own_files.read_bytes, "a device", "/dev/null")

    def test_no_more_is_read_than_is_allowed(self):
        big = self.folder / "big"
        with open(big, "wb") as file:
            file.truncate(1 << 40)
        self.refused(own_files.read_bytes, "are the most", big)
        big.write_bytes(b"x" * 11)
        self.refused(own_files.read_bytes, "10 are the most", big, 10)
        self.assertEqual(own_files.read_bytes(big, 11), b"x" * 11)
        self.assertGreater(len(own_files.read_bytes("/proc/self/maps")), 1000)  # the page claims to be empty
        self.refused(own_files.read_bytes, "more than 10", "/proc/self/maps", 10)

    def test_links(self):
        (self.folder / "file").write_text("text")
        (self.folder / "link").symlink_to("file")
        self.assertEqual(own_files.read_text(self.folder / "link"), "text")
        self.refused(own_files.open_regular, "a link", self.folder / "link", 100, follow=False)

    def test_bytes_that_are_no_text(self):
        (self.folder / "file").write_bytes(b"\xff\xfe\x00")
        self.refused(own_files.read_text, "no text", self.folder / "file")

    def test_a_secret_is_its_users_alone(self):
        file = self.folder / "secret"
        file.write_text("a secret of some length\n")
        for mode, word in ((0o666, "changed"), (0o644, "read"), (0o640, "read"), (0o620, "changed"), (0o602, "changed")):
            file.chmod(mode)
            self.refused(own_files.read_secret, f"can be {word} by others (mode {mode:o})", file)
        file.chmod(0o600)
        self.assertEqual(own_files.read_secret(file), "a secret of some length\n")

    @unittest.skipIf(support.NOT_ROOT, support.NOT_ROOT)
    def test_a_secret_of_another_user(self):
        file = self.folder / "secret"
        file.write_text("a secret of some length\n")
        file.chmod(0o600)
        os.chown(file, support.STRANGER, -1)
        self.refused(own_files.read_secret, f"belongs to user {support.STRANGER}", file)
        with self.assertRaisesRegex(secret.Unusable, "belongs to user"):
            secret.read(file)


class Making(support.Scratch):
    def test_a_link_that_waits_where_a_file_will_be_written_is_not_followed(self):
        (self.folder / "precious").write_text("precious")
        (self.folder / "result").symlink_to("precious")
        with own_files.replacing(self.folder / "result") as file:
            file.write("new")
        self.assertEqual(((self.folder / "precious").read_text(), (self.folder / "result").read_text()), ("precious", "new"))
        self.assertFalse((self.folder / "result").is_symlink())

    def test_a_file_is_there_whole_or_as_it_was(self):
        (self.folder / "result").write_text("old")
        with self.assertRaises(KeyError), own_files.replacing(self.folder / "result") as file:
            file.write("half")
            raise KeyError
        self.assertEqual([(each.name, each.read_text()) for each in self.folder.iterdir()], [("result", "old")])

    def test_a_name_to_write_to(self):
        (self.folder / "file").write_text("")
        own_files.ours_or_missing(self.folder / "file")
        own_files.ours_or_missing(self.folder / "missing")
        (self.folder / "link").symlink_to("missing")
        os.link(self.folder / "file", self.folder / "second")
        os.mkfifo(self.folder / "fifo")
        for name in ("link", "second", "fifo", "."):
            with self.assertRaises(own_files.Unfit, msg=name):
                own_files.ours_or_missing(self.folder / name)

    def test_a_directory_of_ours(self):
        own_files.own_directory(self.folder / "a" / "b")
        self.assertEqual((self.folder / "a" / "b").stat().st_mode & 0o777, 0o700)
        (self.folder / "a").chmod(0o777)
        with self.assertRaisesRegex(own_files.Unfit, "others can write"):
            own_files.own_directory(self.folder / "a")

    @unittest.skipIf(support.NOT_ROOT, support.NOT_ROOT)
    def test_a_directory_of_another_user(self):
        os.chown(self.folder, support.STRANGER, -1)
        with self.assertRaisesRegex(own_files.Unfit, f"belongs to user {support.STRANGER}"):
            own_files.own_directory(self.folder)


class Cache(support.Scratch):
    @unittest.skipIf(support.NOT_ROOT, support.NOT_ROOT)
    def test_programs_are_run_from_a_directory_of_ours(self):
        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.folder)):
            self.assertEqual(libraries.cache().stat().st_uid, MINE)
            os.chown(self.folder / "headrace", support.STRANGER, -1)
            with self.assertRaisesRegex(Failed, f"belongs to user {support.STRANGER}"):
                libraries.cache()


class Tuning(support.Scratch):
    """Files that `headrace tune` reads and writes."""

    def test_a_tuning_file_that_is_none_gets_a_sentence_before_anything_is_measured(self):
        os.mkfifo(self.folder / "tuning.json")
        for what in (files.fit, files.text_before, lambda path: files.rows_before(path, {}, "1")):
            with self.assertRaisesRegex(own_files.Unfit, "a FIFO"):
                what(self.folder / "tuning.json")
        with self.assertRaisesRegex(own_files.Unfit, "a directory"):
            files.fit(self.folder)
        files.fit(self.folder / "missing")

    def test_rows_that_nest_without_end(self):
        (self.folder / "tuning.json").write_text("[" * 200_000)
        self.assertEqual(files.rows_before(self.folder / "tuning.json", {}, "1"), [])

    def test_a_journal_that_is_a_link(self):
        (self.folder / "precious").write_text("precious")
        (self.folder / "tuning.part").symlink_to("precious")
        with self.assertRaises(own_files.Unfit):
            Journal(self.folder / "tuning.part", {})
        self.assertEqual((self.folder / "precious").read_text(), "precious")
        os.mkfifo(self.folder / "fifo.part")
        with self.assertRaises((own_files.Unfit, Failed)):
            Journal(self.folder / "fifo.part", {})


if __name__ == "__main__":
    unittest.main()
