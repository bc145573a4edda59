#!/usr/bin/env python3
"""Runs the commands that a page of the documentation tells its reader to type: run_page.py ROOT PROGRAM PAGE [--update]

The ```sh blocks of the page run in their order in a copy of the source tree, in which emplace and ./emplace are
PROGRAM. A block that exits with anything but 0 fails the page. A block that cannot run here has a comment before it
that says why. A block that shows what the commands print has a comment, too: each of its lines must begin a line that
the commands before it printed, so the page shows no figures of yesterday.

    <!-- not run: takes an hour -->
    <!-- printed -->
    <!-- written to: suite.json -->

The last is before a block that the reader writes into a file: so does this.

With --update, such a block becomes all that the commands since the last one printed, and a file of docs/ that a page
compares with `cmp WRITTEN COMMITTED` becomes the one that was written.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 300
TRACE = "+ "  # what bash writes before each command that it runs
NOT_RUN = re.compile(r"<!-- not run: (\S.*?) *-->")
WRITTEN = re.compile(r"<!-- written to: (\S+) -->")


class Block:
    """A fenced block of a page: its language, first line and text, and what the comment before it says of it."""

    def __init__(self, language, line, comment):
        marker = NOT_RUN.fullmatch(comment)
        self.not_run = marker.group(1) if marker else ""
        self.is_printed = comment == "<!-- printed -->"
        file = WRITTEN.fullmatch(comment)
        self.file = file.group(1) if file else ""
        self.language, self.line, self.comment, self.text = language, line, comment, ""


def read_blocks(page):
    """Returns the fenced blocks of a Markdown page in their order."""
    blocks, block, before = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if block is None:
                block = Block(line[3:].strip(), number + 1, before)
            else:
                blocks.append(block)
                block = None
        elif block is not None:
            block.text += line + "\n"
        if line.strip():
            before = line.strip()
    return blocks


def copy_tree(root, folder, program):
    """Copies the sources to a folder that looks like the repository, but runs the program that is there already."""
    def generated(parent, _):
        return {".git", "build", "results"} if pathlib.Path(parent) == pathlib.Path(root) else set()

    shutil.copytree(root, folder, symlinks=True, ignore=generated)
    launcher = folder / "emplace"
    launcher.write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    launcher.chmod(0o755)


def run_block(block, folder):
    """Runs a block with bash, which stops at the first command that fails; returns its exit code and what it said."""
    try:
        done = subprocess.run(["bash", "-euxo", "pipefail", "-c", block.text], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, f"took more than {LIMIT_S} s"


def check_printed(block, said, name):
    """Fails unless each line of the block begins a line of what was said."""
    lines = said.splitlines()
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.strip() and not any(each.startswith(line.rstrip()) for each in lines):
            sys.exit(f"{said}{name}:{number}: was not printed: {line}\n(--update writes the page again)")


def write_printed(block, said, page):
    """Makes what was said the text of the block."""
    lines = [line.rstrip() for line in said.splitlines() if not line.startswith(TRACE)]
    written = "\n".join(lines).strip("\n") + "\n"
    page.write_text(page.read_text().replace(f"```{block.language}\n{block.text}```",
                                             f"```{block.language}\n{written}```", 1))


def main():
    root, program, name = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    is_update = sys.argv[4:] == ["--update"]
    blocks = [block for block in read_blocks(root / name) if block.language == "sh" or block.is_printed or block.file]
    skipped = [block for block in blocks if block.not_run]
    said, since = "", ""
    for block in skipped:
        print(f"{name}:{block.line}: not run: {block.not_run}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "emplace"
        copy_tree(root, folder, program)
        # The python3 of a page is the one that runs this test, which has the packages that pages import.
        (folder / "python3").symlink_to(sys.executable)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        for block in blocks:
            if block.not_run:
                continue
            if block.file:
                (folder / block.file).write_text(block.text)
                continue
            if block.is_printed:
                if is_update:
                    write_printed(block, since, root / name)
                else:
                    check_printed(block, said, name)
                since = ""
                continue
            if is_update:
                block.text = re.sub(r"^cmp (\S+) (docs/\S+)$", rf'cp \1 "{root.resolve()}/\2"', block.text, flags=re.M)
            code, answer = run_block(block, folder)
            said += answer
            since += answer
            if code != 0:
                sys.exit(f"{answer}{name}:{block.line}: exit code {code}")
    print(f"{name}: {len(blocks) - len(skipped)} blocks in order, {len(skipped)} not run")


if __name__ == "__main__":
    main()
