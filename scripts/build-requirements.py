"""Prints the build requirements of a pyproject.toml, one per line: build-requirements.py <file>."""

import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python before 3.11
    from pip._vendor import tomli as tomllib

with open(sys.argv[1], "rb") as file:
    print("\n".join(tomllib.load(file)["build-system"]["requires"]))
