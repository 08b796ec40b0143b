"""Completion of `mpiexec` and `headrace` for shells, generated from the tables of their options: `mpiexec --list-options`, and the
parsers of `headrace`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from headrace import installation

SHELLS = ("bash", "zsh", "fish")
LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "orterun")
_SECONDS = 20


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]  # with dashes
    values: int = 0  # number of values that follow
    words: tuple[str, ...] = ()  # possible first values
    kind: str = ""  # "file", "directory" or empty
    help: str = ""


@dataclass
class Command:
    options: list[Option]
    words: tuple[str, ...] = ()  # possible values of the first argument
    help: str = ""
    commands: dict[str, Command] = field(default_factory=dict)


def _kind(value: str) -> str:
    return "directory" if value == "DIR" else "file" if value in ("FILE", "PATH", "COMMAND", "WHAT") else ""


def _with_dashes(name: str) -> tuple[str, ...]:
    return (f"-{name}",) if len(name) == 1 else (f"--{name}", f"-{name}")


def of_mpiexec(mpiexec: Path) -> Command:
    """Raises OSError, subprocess.SubprocessError or ValueError if mpiexec does not list its options."""
    text = subprocess.run([str(mpiexec), "--list-options"], capture_output=True, text=True, timeout=_SECONDS, check=True).stdout
    return Command([Option(tuple(dashed for name in entry["names"] for dashed in _with_dashes(name)), entry["values"],
                           tuple(entry["words"]), "" if entry["words"] else _kind(entry["value"]), entry["help"])
                    for entry in json.loads(text) if entry["effect"] == "applies"])


def _option(action: argparse.Action) -> Option:
    values = 0 if action.nargs == 0 else 1
    words = tuple(map(str, action.choices or ()))
    kind = "" if words or not values else "file" if action.type is Path else _kind(str(action.metavar))
    text = "" if action.help in (None, argparse.SUPPRESS) else action.help
    return Option(tuple(action.option_strings), values, words, kind, text)


def _command(parser: argparse.ArgumentParser, help_: str = "") -> Command:
    options = [_option(action) for action in parser._actions if action.option_strings]
    words = tuple(str(word) for action in parser._actions if not action.option_strings for word in action.choices or ())
    return Command(options, words, help_)


def of_headrace(mpiexec: Command) -> Command:
    from headrace import cli  # imported here, as it imports this module

    main, commands = cli.parser()
    whole = _command(main)
    for name, (text, parser) in commands.items():
        whole.commands[name] = _command(parser, text)
        if parser.verbatim:  # map, whose words are mpiexec's
            whole.commands[name].options = [*mpiexec.options, Option(("--save",), 1, (), "file", "Write a description of this machine to a file")]
    return whole


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- bash ---

# Words are split at blanks only; bash itself would also split them at "=" and ":".
_BASH_COMMON = r"""
_headrace_words() {
  local line=${COMP_LINE:0:COMP_POINT}
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[${#words[@]}-1]}
}
_headrace_reply() {  # replies with the candidates that match, without the parts that bash treats as earlier words
  local last=$1 before
  shift
  mapfile -t COMPREPLY < <(compgen "$@" -- "$last")
  before=${cur%"${cur##*[=:]}"}
  [[ $cur == *=* && $last != "$cur" ]] && before=${last%"${last##*[=:]}"}
  COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
_headrace_value() {  # name of the option, the value so far
  local what
  what=$($2 "$1")
  case $what in
    file) compopt -o filenames; _headrace_reply "$3" -f ;;
    directory) compopt -o filenames; _headrace_reply "$3" -d ;;
    ?*) _headrace_reply "$3" -W "$what" ;;
  esac
}
"""

_BASH_MPIEXEC = r"""
_headrace_mpiexec() {
  local words cur at=1 word left
  _headrace_words
  COMPREPLY=()
  while ((at < ${#words[@]} - 1)); do
    word=${words[at]}
    if [[ $word == : ]]; then
      ((++at))
    elif [[ $word == -- || $word != -* ]]; then  # the program and its words, up to the next ":"
      [[ $word == -- ]] && ((++at))
      ((at == ${#words[@]} - 1)) && break
      while ((at < ${#words[@]} - 1)) && [[ ${words[at]} != : ]]; do ((++at)); done
      if ((at == ${#words[@]} - 1)); then
        compopt -o filenames
        _headrace_reply "$cur" -f
        return
      fi
    else
      left=$(_headrace_mpiexec_count "${word%%=*}")
      [[ $word == *=* ]] && ((left > 0)) && ((--left))
      if ((at + left >= ${#words[@]} - 1)); then
        ((at + left == at)) || { ((${#words[@]} - 1 == at + 1)) && [[ $word != *=* ]] &&
          _headrace_value "$word" _headrace_mpiexec_values "$cur"; return; }
      fi
      ((at += 1 + left))
    fi
  done
  case $cur in
    -*=*) _headrace_value "${cur%%=*}" _headrace_mpiexec_values "${cur#*=}" ;;
    --*|-) _headrace_reply "$cur" -W "$(_headrace_mpiexec_options --)" ;;
    -*) _headrace_reply "$cur" -W "$(_headrace_mpiexec_options -)" ;;
    */*) compopt -o filenames; _headrace_reply "$cur" -f ;;
    *) compopt -o filenames; _headrace_reply "$cur" -c ;;
  esac
}
complete -F _headrace_mpiexec @LAUNCHERS@
"""

_BASH_HEADRACE = r"""
_headrace_headrace() {
  local words cur at command= what prev
  _headrace_words
  COMPREPLY=()
  for ((at = 1; at < ${#words[@]} - 1; ++at)); do
    [[ ${words[at]} == -* ]] || { command=${words[at]}; break; }
  done
  prev=${words[${#words[@]}-2]}
  if [[ $cur == -*=* ]]; then
    _headrace_value "$command ${cur%%=*}" _headrace_headrace_values "${cur#*=}"
    return
  fi
  if [[ $prev == -* ]]; then
    what=$(_headrace_headrace_values "$command $prev")
    [[ -z $what ]] || { _headrace_value "$command $prev" _headrace_headrace_values "$cur"; return; }
  fi
  if [[ $cur == -* ]]; then
    _headrace_reply "$cur" -W "$(_headrace_headrace_options "$command")"
  else
    what=$(_headrace_headrace_words "$command")
    if [[ -n $what ]]; then _headrace_reply "$cur" -W "$what"; else compopt -o filenames; _headrace_reply "$cur" -f; fi
  fi
}
complete -F _headrace_headrace headrace
"""


def _bash_case(name: str, rows: Iterable[tuple[Iterable[str], str]]) -> str:
    """Returns a shell function that prints the text for its argument."""
    lines = [f"{name}() {{", "  case $1 in"]
    for patterns, text in rows:
        joined = "|".join(_quoted(pattern) for pattern in patterns)
        if text and joined:
            lines.append(f"    {joined}) echo {_quoted(text)} ;;")
    return "\n".join([*lines, "  esac", "}"]) + "\n"


def _values(option: Option) -> str:
    return " ".join(option.words) or option.kind


def bash(mpiexec: Command, headrace: Command) -> str:
    double = " ".join(name for option in mpiexec.options for name in option.names if name.startswith("--") or len(name) == 2)
    single = " ".join(name for option in mpiexec.options for name in option.names if not name.startswith("--"))
    parts = [("" if not name else f"{name} ", command) for name, command in [("", headrace), *headrace.commands.items()]]
    return "".join([
        "# Completion of mpiexec and headrace for bash. Written by `headrace completion bash`.\n", _BASH_COMMON.lstrip(),
        _bash_case("_headrace_mpiexec_count", [(option.names, str(option.values)) for option in mpiexec.options if option.values]
                   + [(("*",), "0")]).replace("'*')", "*)"),
        _bash_case("_headrace_mpiexec_values", [(option.names, _values(option)) for option in mpiexec.options]),
        _bash_case("_headrace_mpiexec_options", [(("--",), double), (("-",), single)]),
        _BASH_MPIEXEC.replace("@LAUNCHERS@", " ".join(LAUNCHERS)),
        _bash_case("_headrace_headrace_values", [([(before or " ") + name for name in option.names], _values(option) if option.values else "")
                                                 for before, command in parts for option in command.options]),
        _bash_case("_headrace_headrace_options", [((before.strip(),), " ".join(name for option in command.options for name in option.names))
                                                  for before, command in parts]),
        _bash_case("_headrace_headrace_words", [((before.strip(),), " ".join(command.words)) for before, command in parts]),
        _BASH_HEADRACE])


# --- zsh ---


def _zsh_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _zsh_value(option: Option) -> str:
    action = {"file": "_files", "directory": "_files -/"}.get(option.kind, f"({' '.join(option.words)})" if option.words else " ")
    return "".join(f":value:{action if number == 0 else ' '}" for number in range(option.values))


def _zsh_options(options: list[Option]) -> list[str]:
    return [_quoted(f"*{name}[{_zsh_text(option.help)}]{_zsh_value(option)}") for option in options for name in option.names]


def zsh(mpiexec: Command, headrace: Command) -> str:
    lines = [f"#compdef {' '.join(LAUNCHERS)} headrace",
             "# Completion of mpiexec and headrace for zsh. Written by `headrace completion zsh`.",
             "_headrace_mpiexec() {", "  _arguments -S -A '-*' \\"]
    lines += [f"    {each} \\" for each in _zsh_options(mpiexec.options)]
    lines += ["    '1:program:_command_names -e' '*::words of the program:_normal'", "}",
              "_headrace_headrace() {", "  if (( CURRENT == 2 )); then", "    local -a commands=("]
    lines += [f"      {_quoted(name + ':' + command.help.replace(':', ' '))}" for name, command in headrace.commands.items()]
    lines += ["    )", "    _describe command commands", "    _arguments -A '-*' " + " ".join(_zsh_options(headrace.options)), "    return",
              "  fi", "  local command=$words[2]", "  shift words", "  (( CURRENT-- ))", "  case $command in"]
    for name, command in headrace.commands.items():
        first = f"'*:word:({' '.join(command.words)})'" if command.words else "'*:file:_files'"
        lines += [f"    {name})", "      _arguments \\", *[f"        {each} \\" for each in _zsh_options(command.options)], f"        {first} ;;"]
    lines += ["  esac", "}", 'case $service in headrace) _headrace_headrace "$@" ;; *) _headrace_mpiexec "$@" ;; esac']
    return "\n".join(lines) + "\n"


# --- fish ---


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_option(program: str, option: Option, condition: str = "") -> str:
    words = [f"complete -c {program}"]
    if condition:
        words.append(f"-n {_fish_quoted(condition)}")
    for name in option.names:
        words.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}")
    if option.values:
        words.append({"file": "-r -F", "directory": "-x -a '(__fish_complete_directories)'"}.get(option.kind, "-x"))
        if option.words:
            words.append("-a " + _fish_quoted(" ".join(option.words)))
    if option.help:
        words.append("-d " + _fish_quoted(option.help.split(" (")[0].split(";")[0]))
    return " ".join(words)


def fish(mpiexec: Command, headrace: Command) -> str:
    lines = ["# Completion of mpiexec and headrace for fish. Written by `headrace completion fish`."]
    lines += [_fish_option(program, option) for program in LAUNCHERS for option in mpiexec.options]
    names = " ".join(headrace.commands)
    before = f"not __fish_seen_subcommand_from {names}"
    lines += [_fish_option("headrace", option, before) for option in headrace.options]
    for name, command in headrace.commands.items():
        lines.append(f"complete -c headrace -f -n {_fish_quoted(before)} -a {name} -d {_fish_quoted(command.help)}")
        after = f"__fish_seen_subcommand_from {name}"
        lines += [_fish_option("headrace", option, after) for option in command.options]
        if command.words:
            lines.append(f"complete -c headrace -f -n {_fish_quoted(after)} -a {_fish_quoted(' '.join(command.words))}")
    return "\n".join(lines) + "\n"


def script(shell: str, mpiexec: Path) -> str:
    launcher = of_mpiexec(mpiexec)
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](launcher, of_headrace(launcher))


def write_all(mpiexec: Path, share: Path) -> None:
    """Writes a file named after each command to the places where shells look for it at the command's first use."""
    launcher = of_mpiexec(mpiexec)
    headrace = of_headrace(launcher)

    def put(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    first, *others = (*LAUNCHERS, "headrace")
    put(share / "bash-completion/completions" / first, bash(launcher, headrace))
    put(share / "fish/vendor_completions.d" / f"{first}.fish", fish(launcher, headrace))
    put(share / "zsh/site-functions/_headrace", zsh(launcher, headrace))
    for name in others:
        put(share / "bash-completion/completions" / name, f'. "${{BASH_SOURCE[0]%/*}}/{first}"\n')
        put(share / "fish/vendor_completions.d" / f"{name}.fish", f"source (status dirname)/{first}.fish\n")


def run(args: argparse.Namespace) -> int:
    mpiexec = args.mpiexec or installation.find_mpiexec()
    if mpiexec is None:
        print("headrace: mpiexec is not installed beside this command; --mpiexec FILE names one", file=sys.stderr)
        return 1
    try:
        print(script(args.shell, mpiexec), end="")
    except (OSError, subprocess.SubprocessError, ValueError) as problem:
        print(f"headrace: {mpiexec} does not say its options: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":  # called by the build with mpiexec and the directory share
    write_all(Path(sys.argv[1]), Path(sys.argv[2]))
