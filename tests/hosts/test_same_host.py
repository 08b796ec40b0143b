"""The processes that share memory, and their paths, on hosts that share some resources.

Under Headrace's mpiexec, which is outside the hosts: each rank is like a container (in_host.sh). The command line lists
the resources that the hosts share, as set up by tests/hosts/CMakeLists.txt.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.environ["HR_BUILD"]

# Shared resources -> the ranks' hosts, and the direct copies between ranks (tests/hosts/paths.cpp).
TWO_HOSTS = ["-s..", "s-..", "..-s", "..s-"]
EXPECTED = {
    "": ("0011", TWO_HOSTS),
    "boot-id": ("0011", TWO_HOSTS),
    "ipc": ("0011", TWO_HOSTS),
    # Process ids identify the others' processes, but nothing else is shared.
    "pid": ("0011", TWO_HOSTS),
    # Memory is shared; process ids identify no process, or a wrong one.
    "shm": ("0000", TWO_HOSTS),
    "boot-id shm": ("0000", TWO_HOSTS),
    "pid shm": ("0000", ["-sss", "s-ss", "ss-s", "sss-"]),
}


def main() -> int:
    shared = " ".join(sorted(sys.argv[1:]))
    hosts, paths = EXPECTED[shared]
    environment = {**os.environ, "HEADRACE_VERBOSE": "2", "HEADRACE_SHM_SINGLE_COPY": "on"}
    environment.pop("HEADRACE_AS_HOSTS", None)
    done = subprocess.run(
        # Without address space randomisation, a wrong process with the right pid has memory at the right address.
        [os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", "4", f"{HERE}/in_host.sh", "setarch", "-R",
         f"{BUILD}/tests/hosts/paths"],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )
    found = dict(re.findall(r"rank (\d) of 4 on node (\d)", done.stderr))
    found_hosts = "".join(found.get(str(rank), "?") for rank in range(4))
    mixed = len(re.findall("several pid or user namespaces", done.stderr))
    found_paths = [line for line in done.stdout.splitlines() if line != "ok"]
    right = (
        done.returncode == 0 and found_hosts == hosts and found_paths == paths
        and mixed == (4 if "shm" in shared and "pid" not in shared else 0)
    )
    if not right:
        print(f"status {done.returncode}; hosts {found_hosts}, not {hosts}; paths {found_paths}, not {paths}; "
              f"in several namespaces: {mixed} ranks")
        print(done.stdout + done.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
