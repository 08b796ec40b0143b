"""Tables and pictures of the times before and after."""

import unittest
import xml.etree.ElementTree

from headrace.tune import show
from headrace.tune.choose import Choice, Group
from headrace.tune.messages import TRIALS, Found

GROUP = Group("bcast", 4, False, "host")
CHOSEN = {GROUP: [Choice(8, "default", 1.0, 1.0, 1.0, 5), Choice(64, "ring", 0.5, 4.0, 2.0, 10), Choice(512, "ring", 0.75, 8.0, 6.0, 10)],
          Group("scan", 4, False, "host"): [Choice(8, "default", 1.0, 1.0, 1.0, 5)]}
FOUND = [Found(TRIALS[0], 65536, 0.8, 10.0, 8.0, 10), Found(TRIALS[1], None, 1.0, 5.0, 5.0, 5)]


class Tables(unittest.TestCase):
    def test_collectives(self):
        lines = show.collectives(CHOSEN).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[2], r"bcast +host +4 ranks +64 B +ring +4 +2 +0.50 +##########\.{10}$")
        self.assertRegex(lines[3], r"host +4 ranks +512 B +ring +8 +6 +0.75")
        self.assertIn("best everywhere", show.collectives({GROUP: CHOSEN[GROUP][:1]}))

    def test_messages(self):
        lines = show.messages(FOUND).splitlines()
        self.assertRegex(lines[2], r"eager_bytes .* 65536 +10 +8 +0.80 +#{16}\.{4}$")
        self.assertRegex(lines[3], r"single_copy_bytes .* as it is +5$")

    def test_a_bar_is_never_empty(self):
        self.assertEqual([show.bar(ratio).count("#") for ratio in (0.001, 0.5, 1.0, 1.2)], [1, 10, 20, 20])


class Pictures(unittest.TestCase):
    def panels(self, picture):
        return [element for element in xml.etree.ElementTree.fromstring(picture) if element.tag.endswith("svg")]

    def test_a_panel_for_each_that_changes(self):
        self.assertEqual(len(self.panels(show.picture(CHOSEN, FOUND))), 2)
        self.assertEqual(len(self.panels(show.picture({}, FOUND))), 1)
        self.assertEqual(show.picture({GROUP: CHOSEN[GROUP][:1]}, FOUND[1:]), "")

    def test_names_are_text(self):
        picture = show.picture({Group("a<b&c", 2, False, "host"): CHOSEN[GROUP]}, [])
        self.assertIn("a&lt;b&amp;c", picture)
        self.panels(picture)


if __name__ == "__main__":
    unittest.main()
