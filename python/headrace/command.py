"""Parsers of the commands of `headrace`, which also run alone by the main() of their modules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence


class Parser(argparse.ArgumentParser):
    """The parser of a command. It rejects words that it does not know itself, so that the message names the command."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self.check: Callable[[Parser, argparse.Namespace], None] | None = None  # rejects options that do not fit together
        self.verbatim = False  # all words are for another program
        self.others: dict[str, Parser] = {}  # parsers for what follows these first words

    def add_other(self, word: str, define: Callable[[Parser], None]) -> None:
        self.others[word] = Parser(prog=f"{self.prog} {word}")
        define(self.others[word])

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None):
        """Returns no words as unknown. The arguments contain all words as `words`."""
        words = sys.argv[1:] if args is None else list(args)
        if words and words[0] in self.others:
            return self.others[words[0]].parse_known_args(words[1:], namespace)
        found, unknown = super().parse_known_args([] if self.verbatim else words, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        found.words = words
        if self.check:
            self.check(self, found)
        return found, []


def parse(name: str, define: Callable[[Parser], None], words: Sequence[str] | None) -> argparse.Namespace:
    """Returns the arguments of a command that runs alone; None: those of the process."""
    parser = Parser(prog=name)
    define(parser)
    return parser.parse_args(words)
