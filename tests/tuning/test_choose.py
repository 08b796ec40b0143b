"""Derivation of rows from times: unchanged choices, changed choices, and the range of a row."""

import unittest

from headrace.tune.choose import Choice, Group, choose, merged, rows, winners
from headrace.tune.collectives import candidates, groups_here, ranks_of_devices


def group(ranks, oversubscribed=False, operation="bcast"):
    return Group(operation, ranks, oversubscribed, "host")


def names(choices):
    return [choice.algorithm for choice in choices]


class ChooseTest(unittest.TestCase):
    def test_the_fastest_is_taken(self):
        choices = choose({"default": {8: [1.0, 1.2]}, "ring": {8: [0.8, 0.9]}, "tree": {8: [0.5, 0.6]}})
        self.assertEqual(names(choices), ["tree"])
        self.assertAlmostEqual(choices[0].ratio, 0.5)

    def test_less_than_the_rounds_differ_is_doubt(self):
        times = {"default": {8: [0.8, 1.0, 1.0, 1.2]}, "ring": {8: [0.7, 0.9, 0.96, 1.0]}}
        self.assertEqual(names(choose(times)), ["default"])

    def test_one_bad_round_is_none(self):
        times = {"default": {8: [1.0, 1.0, 1.0, 1.0, 1.0]}, "ring": {8: [0.5, 0.5, 0.5, 0.5, 3.0]}}
        self.assertEqual(names(choose(times)), ["ring"])

    def test_a_small_gain_is_none(self):
        self.assertEqual(names(choose({"default": {8: [1.0, 1.0]}, "ring": {8: [0.96, 0.96]}})), ["default"])

    def test_the_smaller_sizes_choice_is_kept_where_it_is_near_the_best(self):
        times = {"default": {8: [1.0], 64: [1.0], 512: [1.0]}, "ring": {8: [0.5], 64: [0.51], 512: [0.6]},
                 "tree": {8: [0.6], 64: [0.5], 512: [0.5]}}
        self.assertEqual(names(choose(times)), ["ring", "ring", "tree"])

    def test_an_algorithm_without_a_size_is_passed_over(self):
        self.assertEqual(names(choose({"default": {8: [1.0], 64: [1.0]}, "ring": {8: [0.5]}})), ["ring", "default"])


    def test_what_would_change_is_measured_again(self):
        changes = group(2), [Choice(8, "ring", 0.5), Choice(64, "default", 1), Choice(512, "ring", 0.5)]
        self.assertEqual(winners(dict([changes, (group(4), [Choice(8, "default", 1)])])),
                         {group(2): ["default", "ring"]})


class CandidatesTest(unittest.TestCase):
    def test_those_that_can_serve(self):
        def algorithm(name, **more):
            return {"name": name, "devices": False, "shared": False, "composes": False, **more}
        known = [algorithm("hosts", composes=True), algorithm("device", devices=True), algorithm("cells", shared=True), algorithm("ring")]
        for group_, wanted in ((group(2), ["cells", "ring"]), (Group("bcast", 2, False, "device"), ["device", "ring"]),
                               (over_hosts(2, 1), ["ring"]), (over_hosts(2, 4), ["hosts", "ring"])):
            self.assertEqual(candidates(known, group_), wanted)


class DeviceRanksTest(unittest.TestCase):
    def test_each_number_of_gpus_that_has_a_row(self):
        self.assertEqual({devices: ranks_of_devices(devices) for devices in (1, 2, 3, 4, 6, 8)},
                         {1: [2, 4], 2: [2], 3: [2, 3], 4: [2, 3, 4], 6: [2, 3, 4, 6], 8: [2, 3, 4, 8]})

    def test_host_memory_has_its_own(self):
        groups = groups_here(("bcast",), {"host": [2, 16], "device": [2, 3]}, 8)
        self.assertEqual([(each.memory, each.ranks, each.oversubscribed) for each in groups],
                         [("host", 2, False), ("host", 16, True), ("device", 2, False), ("device", 3, False)])


class RowsTest(unittest.TestCase):
    def test_they_hold_for_the_host_that_was_measured(self):
        table = rows({group(2): [Choice(8, "a", 1)], group(16): [Choice(8, "b", 1)]})
        self.assertEqual({row["max_hosts"] for row in table}, {1})

    def test_nothing_better_makes_no_rows(self):
        self.assertEqual(rows({group(2): [Choice(8, "default", 1)], group(8): [Choice(8, "default", 1)]}), [])

    def test_neighbours_are_one_row_and_larger_sizes_as_built_in(self):
        table = rows({group(2): [Choice(8, "a", 1), Choice(64, "a", 1), Choice(512, "b", 1)],
                      group(4): [Choice(8, "c", 1)]})
        self.assertEqual([(row.get("max_bytes"), row["max_ranks"], row["algorithm"]) for row in table],
                         [(64, 2, "a"), (512, 2, "b"), (None, 2, "default"), (8, 4, "c")])

    def test_fewer_ranks_than_half_are_as_built_in(self):
        table = rows({group(2): [Choice(8, "default", 1)], group(16): [Choice(8, "a", 1)]})
        self.assertEqual([(row.get("max_bytes"), row["max_ranks"], row["algorithm"]) for row in table],
                         [(None, 2, "default"), (None, 8, "default"), (8, 16, "a")])

    def test_oversubscribed_rows_stand_alone(self):
        table = rows({group(2): [Choice(8, "a", 1)], group(8, oversubscribed=True): [Choice(8, "b", 1)]})
        self.assertEqual([(row["oversubscribed"], row["max_ranks"], row["algorithm"]) for row in table],
                         [(False, 2, "a"), (True, 4, "default"), (True, 8, "b")])


    def test_each_row_says_why(self):
        table = rows({group(2): [Choice(8, "a", 0.8, 10, 8, 10), Choice(64, "a", 0.6, 20, 12, 10), Choice(512, "default", 1)],
                      group(16): [Choice(8, "b", 0.5, 4, 2, 6)]})
        self.assertEqual([row["why"] for row in table],
                         ["0.70 of the built-in choice's time; at 64 B 12 us instead of 20, 10 rounds", "nothing faster was found for longer ones",
                          "nothing was measured for so few", "0.50 of the built-in choice's time; at 8 B 2 us instead of 4, 6 rounds"])


def over_hosts(hosts, each, operation="bcast"):
    return Group(operation, hosts * each, False, "host", hosts, each)


class HostsTest(unittest.TestCase):
    def table(self, chosen, before=()):
        return [(row.get("max_bytes"), row.get("max_hosts"), row.get("max_ranks_per_host"), row.get("max_ranks"), row["algorithm"])
                for row in merged(list(before), chosen)]

    def test_rows_of_hosts_and_ranks_on_each(self):
        chosen = {over_hosts(4, 1): [Choice(8, "a", 0.5)], over_hosts(4, 8): [Choice(8, "default", 1), Choice(64, "b", 0.5)]}
        self.assertEqual(self.table(chosen), [
            (None, 1, None, None, "default"), (None, 2, None, None, "default"),  # less than half of the hosts
            (8, 4, 1, None, "a"), (None, 4, 1, None, "default"),
            (None, 4, 4, None, "default"),  # less than half of the ranks on each
            (8, 4, 8, None, "default"), (64, 4, 8, None, "b")])

    def test_rows_of_one_host_stand_first_and_end_before_those_of_hosts(self):
        chosen = {over_hosts(2, 1): [Choice(8, "a", 0.5)], group(2): [Choice(8, "c", 0.5)]}
        self.assertEqual(self.table(chosen), [(8, 1, None, 2, "c"), (None, 1, None, None, "default"), (8, 2, 1, None, "a")])

    def test_what_was_not_measured_is_kept(self):
        here = {group(2): [Choice(8, "c", 0.5)], group(2, operation="barrier"): [Choice(0, "d", 0.5)]}
        hosts = {over_hosts(2, 1): [Choice(8, "a", 0.5)]}
        before = merged([], {**here, **hosts})
        self.assertEqual(merged(before, here), before)
        self.assertEqual(merged(before, hosts), before)
        again = merged(before, {over_hosts(2, 1): [Choice(8, "default", 1)], group(2): [Choice(8, "e", 0.5)]})
        self.assertEqual([(row["operation"], row["algorithm"]) for row in again], [("barrier", "d"), ("bcast", "e")])


if __name__ == "__main__":
    unittest.main()
