#!/bin/sh
# Measures the selected collectives on a machine with many cores: many_cores.sh BUILD OUT.json [--openmpi PREFIX]
exec python3 "$(dirname "$0")/many_cores.py" "$@"
