#!/usr/bin/env python3
"""Checks the form of every page of the documentation: check_pages.py ROOT PAGE...

Relative links, and paths in the text, lead to files and headings that exist. READMEs and lines are short. Commands
stand in ```sh blocks, which run_page.py runs, and not in other blocks. A block that is not run says why. Maps of files
name files that exist, and a file that is shown is shown as it is.
"""
import pathlib
import re
import sys

from run_page import NOT_RUN, read_blocks

MAX_COLUMNS = 120
MAX_LINES = {"README.md": 110}  # of the front page; 70 of any other README
MAX_MODULE_LINES = 70
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^\s*(\$ )?(\./)?emplace [a-z]")


def heading_anchor(heading):
    """Returns the anchor that GitHub gives to a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return text.replace(" ", "-")


def without_blocks(page):
    """Yields (number, line) of the lines of a page that stand in no fenced block."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(page):
    return {heading_anchor(line.lstrip("#")) for _, line in without_blocks(page) if line.startswith("#")}


def check_links(root, name):
    page = root / name
    for number, line in without_blocks(page):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                yield f"{name}:{number}: no file {target}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{name}:{number}: no heading {target}"


def check_paths(root, name):
    """Checks inline code that is a path from the root of the repository, or from the folder of the page."""
    places = (root, (root / name).parent)
    for number, line in without_blocks(root / name):
        for path in re.findall(r"`([a-z]+/[\w./*-]+)`", line):
            known = (root / path.split("/")[0]).is_dir()
            if known and not any(any(place.glob(path.rstrip("/"))) for place in places):
                yield f"{name}:{number}: no file {path}"


def check_lengths(root, name):
    lines = (root / name).read_text().splitlines()
    if pathlib.Path(name).name == "README.md":
        most = MAX_LINES.get(name, MAX_MODULE_LINES)
        if len(lines) > most:
            yield f"{name}: {len(lines)} lines, more than {most}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and not line.startswith("|"):
            yield f"{name}:{number}: {len(line)} columns, more than {MAX_COLUMNS}"


def check_commands(root, name):
    page = root / name
    for block in read_blocks(page):
        if block.language != "sh" and COMMAND.match(block.text):
            yield f"{name}:{block.line}: a command outside of an sh block is never run"
    for number, line in without_blocks(page):
        if line.startswith("    ") and COMMAND.match(line):
            yield f"{name}:{number}: a command outside of an sh block is never run"
        if "not run" in line and line.startswith("<!--") and not NOT_RUN.fullmatch(line.strip()):
            yield f"{name}:{number}: say why: <!-- not run: REASON -->"


def check_files_shown(root, name):
    """Checks blocks that show a whole file: <!-- file: PATH --> stands before them."""
    for block in read_blocks(root / name):
        shown = re.fullmatch(r"<!-- file: (.*) -->", block.comment)
        if shown and block.text != (root / shown.group(1)).read_text():
            yield f"{name}:{block.line}: is not the text of {shown.group(1)}"


def check_map(root, name):
    """Checks the first column of the table under the heading Files, whose entries are paths without their endings."""
    folder, in_map = (root / name).parent, False
    for number, line in without_blocks(root / name):
        if line.startswith("#"):
            in_map = line.strip("# ") == "Files"
        elif in_map and line.startswith("| `"):
            for entry in re.findall(r"`([^`]+)`", line.split("|")[1]):
                places = ("", "src/", "src/*/", "include/*/*/")
                if not any(True for place in places for end in ("", ".*") if entry.strip("/")
                           for _ in folder.glob(place + entry.strip("/") + end)):
                    yield f"{name}:{number}: no file {entry}"


def main():
    root, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    checks = (check_links, check_paths, check_lengths, check_commands, check_files_shown, check_map)
    mistakes = [mistake for name in names for check in checks for mistake in check(root, name)]
    print("\n".join(mistakes) or f"{len(names)} pages are in order")
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
