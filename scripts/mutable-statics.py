#!/usr/bin/env python3
"""Lists the library's mutable statics by layer, from the object files of a build.

  mutable-statics.py build/dev/src [--names]

Counts each object in .data, .bss and their thread-local counterparts once, except constants (kName, even if computed when the library is
loaded), guards and the compiler's tables.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import defaultdict
from pathlib import Path

SYMBOL = re.compile(r"^[0-9a-f]+ (?P<flags>.{7}) (?P<section>\S+)\s+[0-9a-f]+\s+(?P<name>.*)$")
MUTABLE = re.compile(r"\.(data|bss|tdata|tbss)(?!\.rel\.ro)")
NO_STATIC = re.compile(r"^(guard variable|DW\.ref|vtable|typeinfo)|(^|::)(k[A-Z]\w*|places_)(<.*>|\[.*\])?$")


def statics(objects: Path) -> dict[str, set[str]]:
    """layer -> names; inline variables belong to the layer of their namespace"""
    found: dict[str, set[str]] = defaultdict(set)
    layers = {path.name for path in objects.iterdir()}
    for path in objects.rglob("*.o"):
        layer = path.relative_to(objects).parts[0]
        table = subprocess.run(["objdump", "-tCw", path], check=True, capture_output=True, text=True).stdout
        for symbol in filter(None, map(SYMBOL.match, table.splitlines())):
            name = symbol["name"].removeprefix(".hidden ").strip()
            if "O" not in symbol["flags"] or not MUTABLE.match(symbol["section"]) or NO_STATIC.search(name):
                continue
            shared = "u" in symbol["flags"]
            space = re.match(r"hr::(\w+)::", name)
            owner = layer if not shared else space[1] if space and space[1] in layers else "base"
            found[owner].add(name)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", type=Path)
    parser.add_argument("--names", action="store_true")
    arguments = parser.parse_args()
    found = statics(arguments.objects)
    for layer in sorted(found):
        print(f"{layer:16}{len(found[layer]):5}")
        if arguments.names:
            print(*(f"    {name}" for name in sorted(found[layer])), sep="\n")
    print(f"{'all':16}{sum(map(len, found.values())):5}")


if __name__ == "__main__":
    main()
