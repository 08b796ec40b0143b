"""Runs a chapter of the course: its steps in order, compared with the published figures, with a plot."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from headrace import command
from headrace.bench.child import Failed
from headrace.bench.programs import Programs, locate
from headrace.command import Parser
from headrace.course import chapter as chapters
from headrace.course import show
from headrace.course.lesson import Lesson, without_gpu


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.description = __doc__
    parser.add_argument("chapter", nargs="?", help="chapter to run; without it, the chapters are listed")
    parser.add_argument("--device", choices=("auto", "host", "cuda"), default="auto",
                        help="device for steps that run on any: auto uses a GPU if there is one")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--runs", type=int, default=3, help="number of rounds, of which the median is shown (3)")
    parser.add_argument("--timeout", type=int, default=300, help="time limit of one run, in seconds (300)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the table to this file")
    parser.add_argument("--png", type=Path, metavar="FILE", help="file for the picture (course-CHAPTER.png)")
    parser.add_argument("--no-png", action="store_true", help="draw no picture, even if matplotlib is installed")
    parser.add_argument("--build", type=Path, metavar="DIR",
                        help="build directory or prefix of Headrace (this installation)")
    parser.add_argument("--programs", type=Path, metavar="DIR",
                        help="directory with the programs built by a chapter's build.sh (this directory, then PATH)")


def _check(parser: Parser, args: argparse.Namespace) -> None:
    if args.runs < 1 or args.timeout < 1:
        parser.error("--runs and --timeout are at least 1")
    if args.png and args.no_png:
        parser.error("--png and --no-png contradict one another")
    if args.png and not show.has_matplotlib():
        parser.error("--png requires matplotlib: pip install matplotlib, or headrace[plot]")


def _list() -> None:
    for chapter in chapters.all_chapters():
        print(f"{chapter.name:<14} {chapter.title}")
    print("\nheadrace course CHAPTER runs one; docs/course/ has the text.")


def _picture(lesson: Lesson, args: argparse.Namespace) -> str:
    if args.no_png:
        return ""
    if not show.has_matplotlib():
        return "No picture: matplotlib is not installed (pip install matplotlib, or headrace[plot])."
    path = args.png or Path(f"course-{lesson.chapter.name}.png")
    try:
        show.png(lesson, path)
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror}") from error
    return f"Picture: {path}"


def with_own(programs: Programs, directory: Path | None = None) -> Programs:
    """Adds programs that a reader has built with a chapter's build.sh: in the given directory, the current directory,
    next to build.sh, or in PATH."""
    beside = sorted((programs.library.parent.parent / "share/headrace").glob("*/"))
    return replace(programs, own=(*([directory.absolute()] if directory else []), Path.cwd(), *beside, *(Path(place or ".").absolute() for place in os.get_exec_path())))


def study(args: argparse.Namespace, default_build: Path | None) -> int:
    chapter = chapters.find(args.chapter)
    where = args.build or default_build or Path(sys.prefix)
    programs = with_own(locate(where), args.programs)
    for program in chapter.programs():
        try:
            programs.find(program)
        except Failed as failed:
            raise Failed(f"{failed}{'; ' if chapter.build else ''}{chapter.build.replace('PREFIX', str(where))}") from None
    missing = "" if args.device == "host" else without_gpu(chapter, programs, args.timeout)
    if args.device == "cuda" and missing:
        raise Failed(f"--device cuda: {missing}")
    here = args.device != "host" and not missing
    lesson = Lesson(chapter, programs, here, missing, args.quick, args.runs, args.timeout)
    lesson.run()
    parts = [show.heading(lesson), show.table(lesson), show.bars(lesson), _picture(lesson, args), show.exercises(lesson)]
    print("\n\n".join(filter(None, parts)))
    if args.json:
        try:
            args.json.write_text(json.dumps(show.as_json(lesson), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise Failed(f"cannot write {args.json}: {error.strerror}") from error
    return 1 if lesson.failed() else 0


def main(argv: list[str], default_build: Path | None = None) -> int:
    return run(command.parse("headrace course", define, argv), default_build)


def run(args: argparse.Namespace, default_build: Path | None = None) -> int:
    try:
        if args.chapter is None:
            _list()
            return 0
        return study(args, default_build)
    except Failed as failed:
        print(f"headrace course: {failed}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
