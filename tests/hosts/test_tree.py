"""The tests of several ranks of a build once more on hosts, under a launcher: test_tree.py <launcher> [-R REGEX].

Run by namespace_test.py with the hosts up. What ctest would run as `mpiexec -n N <program>` runs under that launcher with
the ranks in blocks over the hosts; tests about one host, the launcher or a failure to come are left out.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import launchers

NAMES = os.environ["HR_HOST_NAMES"].split()
LEFT_OUT = {"one_host", "hosts", "fault", "install", "bench", "tuning"}
SHOWN = 3000  # characters of what a test said that failed


def tests_of(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(listed.stdout)["tests"]:
        words = test.get("command", [])
        properties = {each["name"]: each["value"] for each in test["properties"]}
        ours = len(words) > 5 and words[0] == os.environ["HR_MPIEXEC"] and words[1] == "--timeout" and words[3] == "-n"
        odd = {"WILL_FAIL", "PASS_REGULAR_EXPRESSION", "SKIP_RETURN_CODE"} & properties.keys()
        if ours and not odd and ":" not in words and not LEFT_OUT & set(properties.get("LABELS", [])):
            yield test["name"], int(words[2]), int(words[4]), words[5:], properties.get("ENVIRONMENT", [])


def run(launcher, limit, ranks, words, environment):
    variables = dict(each.split("=", 1) for each in environment)
    start, own = launchers.command(launcher, NAMES, ranks, variables)
    everything = {**os.environ, **own, **variables}
    everything.pop("HEADRACE_AS_HOSTS", None)
    child = subprocess.Popen(
        [os.environ["HR_HOSTS"], "exec", NAMES[0], *start, *words], env=everything, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )
    try:
        said, _ = child.communicate(timeout=limit)
        return child.returncode, said
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        return 124, f"no end within {limit} s\n{child.communicate()[0]}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("launcher", choices=launchers.LAUNCHERS)
    parser.add_argument("-R", dest="pattern", default="")
    options = parser.parse_args()
    missing = launchers.missing(options.launcher)
    if missing:
        print(f"skipped: {missing}")
        return 77
    failed, passed = [], 0
    for name, limit, ranks, words, environment in tests_of(os.environ["HR_BUILD"]):
        if not re.search(options.pattern, name):
            continue
        begin = time.monotonic()
        status, said = run(options.launcher, limit, ranks, words, environment)
        print(f"{'ok    ' if status == 0 else 'FAILED'} {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        passed += status == 0
        if status != 0:
            failed.append(name)
            print(f"status {status}\n{said[-SHOWN:]}", flush=True)
    print(f"{options.launcher} on {len(NAMES)} hosts: {passed} passed, {len(failed)} failed {' '.join(failed)}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
