# SPDX-License-Identifier: Apache-2.0
"""Runs transcripts: "## comment", "$ command", and below it the exact output (stdout and stderr together) with "[exit N]"
as its last line where the exit code is not 0. In expected lines <...> stands for any text on the line, a line of ... for any lines. Each
file runs in a folder of its own with the fixtures in it. UPDATE_GOLDEN=1 writes what came out into the file; lines that
matched keep their placeholders.

usage: run_transcripts.py TANDEM FILE..."""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def parse(text):
    """[(comment lines before, command, expected lines)]"""
    steps, comments = [], []
    for line in text.split("\n")[:-1]:
        if line.startswith("$ "):
            steps.append((comments, line[2:], []))
            comments = []
        elif line.startswith("## "):
            comments.append(line)
        elif steps:
            steps[-1][2].append(line)
    return steps


def matches(expected, actual):
    pattern = "".join(".*" if part == "<...>" else re.escape(part) for part in re.split(r"(<\.\.\.>)", expected))
    return re.fullmatch(pattern, actual) is not None


def align(expected, actual):
    """True when all lines match; a line of ... takes as few lines as possible."""
    if not expected:
        return not actual
    if expected[0] == "...":
        return any(align(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and matches(expected[0], actual[0]) and align(expected[1:], actual[1:])


def run_step(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    lines = done.stdout.decode(errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    if done.returncode:
        lines.append("[exit %d]" % done.returncode)
    return lines


def run_file(path, tandem, update):
    with open(path, encoding="utf-8") as file:
        steps = parse(file.read())
    environment = dict(os.environ, PATH=os.path.dirname(tandem) + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8")
    failed, out = 0, []
    with tempfile.TemporaryDirectory(prefix="tandem-cli-") as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "fixtures.py"), folder], check=True)
        for before, command, expected in steps:
            actual = run_step(command, folder, environment)
            good = align([line for line in expected if line != ""], [line for line in actual if line != ""])
            out += before + ["$ " + command] + (expected if good else actual + [""])
            if good:
                continue
            failed += 1
            if not update:
                print("%s: $ %s" % (os.path.basename(path), command))
                print("".join("  - %s\n" % line for line in expected), end="")
                print("".join("  + %s\n" % line for line in actual))
    if update and failed:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")
        print("%s: %d of %d steps rewritten" % (os.path.basename(path), failed, len(steps)))
        return 0
    print("%s: %d steps, %d failed" % (os.path.basename(path), len(steps), failed))
    return failed


def self_check():
    """The comparator must be seen to fail."""
    assert align(["a <...> c"], ["a b c"]) and not align(["a <...> c"], ["a b d"])
    assert align(["a", "...", "d"], ["a", "b", "c", "d"]) and not align(["a", "...", "d"], ["a", "b"])
    assert not align([], ["more"]) and not align(["more"], []) and not align(["1.5"], ["1x5"])


def main():
    self_check()
    tandem, files = os.path.abspath(sys.argv[1]), sys.argv[2:]
    update = os.environ.get("UPDATE_GOLDEN") == "1"
    return 1 if sum([run_file(f, tandem, update) for f in files]) else 0


if __name__ == "__main__":
    sys.exit(main())
