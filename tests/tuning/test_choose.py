"""From times to rows: what is kept, what is changed, and where a row holds."""

import unittest

from headrace.tune.choose import Choice, Group, choose, rows, winners


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


if __name__ == "__main__":
    unittest.main()
