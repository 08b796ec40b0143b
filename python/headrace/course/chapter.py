"""A chapter is data: a JSON file in `chapters/` with the name of the chapter. To add one, copy a file and change it.

    title, sentence     what it is about
    page                its text, in docs/course/
    program             in the build's bin/ (lib/headrace/bench of an installation); takes --device and --json. Exit
                        code 4: the GPUs here cannot execute this step, which is left out with the program's sentence
    build               how to get the program if it is missing (a sentence; optional)
    sizes               arguments for every step: on the host, on a GPU, and for a quick run (`quick`)
    published           the origin of the published figures, and the number of steps (`steps`) of the published run, or
                        null
    steps               name, change (what is new), ranks, arguments; device on which it runs: `any`, `host` or `gpu`;
                        published: seconds of the run, or null; program: a different program
    exercises           question, and the test with the solution
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from headrace.bench.child import Failed
from headrace.problem import sentence

DIRECTORY = Path(__file__).parent / "chapters"
DEVICES = ("any", "host", "gpu")


@dataclass(frozen=True)
class Step:
    name: str
    change: str
    ranks: int
    arguments: tuple[str, ...]
    device: str
    published: float | None  # seconds
    program: str

    @property
    def label(self) -> str:
        return f"{self.name}, {self.ranks} rank{'' if self.ranks == 1 else 's'}"


@dataclass(frozen=True)
class Exercise:
    question: str
    test: str


@dataclass(frozen=True)
class Chapter:
    name: str
    title: str
    sentence: str
    page: str
    build: str
    sizes: dict[str, tuple[str, ...]]
    source: str
    published_steps: int | None
    steps: tuple[Step, ...]
    exercises: tuple[Exercise, ...]

    def published(self, step: Step) -> float | None:
        """Returns milliseconds per step; None if there is no time, or if the number of steps is not known."""
        known = step.published is not None and self.published_steps is not None
        return 1e3 * step.published / self.published_steps if known else None

    def programs(self) -> list[str]:
        return list(dict.fromkeys(step.program for step in self.steps))


def read(path: Path) -> Chapter:
    """Reads a chapter; raises Failed, naming the file, if it is not a chapter."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        steps = tuple(Step(step["name"], step["change"], int(step["ranks"]), tuple(step["arguments"]),
                           step.get("device", "any"), step["published"],
                           step.get("program", data["program"])) for step in data["steps"])
        sizes = {kind: tuple(data["sizes"][kind]) for kind in ("host", "gpu", "quick")}
        chapter = Chapter(path.stem, data["title"], data["sentence"], data["page"], data.get("build", ""),
                          sizes, data["published"]["where"], data["published"]["steps"], steps,
                          tuple(Exercise(exercise["question"], exercise["test"]) for exercise in data["exercises"]))
    except KeyError as missing:
        raise Failed(f"{path}: a chapter has no {missing}") from None
    except (OSError, TypeError, ValueError) as error:
        raise Failed(f"{path} is not a chapter: {sentence(error)}") from error
    if not steps:
        raise Failed(f"{path}: a chapter has at least one step")
    if wrong := {step.device for step in steps} - set(DEVICES):
        raise Failed(f"{path}: a step's device is {', '.join(DEVICES[:-1])} or {DEVICES[-1]}, not {wrong.pop()}")
    return chapter


def all_chapters(directory: Path = DIRECTORY) -> list[Chapter]:
    return [read(path) for path in sorted(directory.glob("*.json"))]


def find(name: str, directory: Path = DIRECTORY) -> Chapter:
    path = directory / f"{name}.json"
    if path.parent != directory or not path.is_file():
        known = ", ".join(other.stem for other in sorted(directory.glob("*.json")))
        raise Failed(f"there is no chapter '{name}'; there are: {known}")
    return read(path)
