"""Prepares the pages of the site, as a hook of mkdocs.

The folder of the pages looks like the repository, so links between pages work as they are. A source file that a page
links becomes a page with its text.
"""
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIRST = ["README.md", "docs/README.md", "docs/glossary.md"]
SECTIONS = ["guide", "concepts", "reference", "results", "notes"]  # folders of docs/
LAST = ["docs/design.md", "CHANGELOG.md", "CONTRIBUTING.md"]
AS_THEY_ARE = {".css", ".gz", ".svg"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".sbatch": "sh", ".yaml": "yaml",
             ".cff": "yaml"}
BLOCK = re.compile(r"(^```.*?^```$|^~~~~.*?^~~~~$)", re.MULTILINE | re.DOTALL)
NESTED = re.compile(r"^ {2,3}(?=([-*]|\d+\.) )", re.MULTILINE)
TARGET = re.compile(r"(\]\()([^)#\s]+)")


def linked_files(text, name):
    """Yields the paths, from the root, of the files of the repository to which a page links."""
    for _, target in TARGET.findall(text):
        file = (ROOT / name).parent / target
        if file.is_file():
            yield file.resolve().relative_to(ROOT).as_posix()


def as_page(name):
    """Returns the name of the page that shows a file."""
    is_page = pathlib.Path(name).suffix in AS_THEY_ARE | {".md"}
    return name if is_page else name + ".md"


def copy(folder, name):
    """Copies a file, or a page that shows it."""
    target = folder / as_page(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.name == pathlib.Path(name).name:
        shutil.copyfile(ROOT / name, target)
    else:
        language = LANGUAGES.get(pathlib.Path(name).suffix, "text")
        target.write_text(f"# {name}\n\n~~~~{language}\n{(ROOT / name).read_text()}~~~~\n")


def copy_pages(folder):
    """Copies the documentation, but for the reference, and all that it links."""
    todo = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*")
            if path.suffix in {".md", ".svg"} and "reference" not in path.parts] + FIRST + LAST + ["package/site.css"]
    done = set()
    while todo:
        name = todo.pop()
        if name in done or name.startswith("docs/reference/"):
            continue
        done.add(name)
        copy(folder, name)
        if name.endswith(".md"):
            todo += linked_files((ROOT / name).read_text(), name)


def add_scripts(folder):
    """Adds the scripts that Debian's theme names but does not bring. Without jQuery, phones have no menu."""
    (folder / "js").mkdir(exist_ok=True)
    shutil.copyfile("/usr/share/javascript/jquery/jquery.min.js", folder / "js/jquery-3.6.0.min.js")
    for name in ("html5shiv.min.js", "theme_extra.js"):
        (folder / "js" / name).write_text("")


def navigation(folder):
    """Returns the pages by section, in the order in which docs/README.md links them, others last.

    The page of an agent is found by the page of all agents.
    """
    linked = list(dict.fromkeys(target for _, target in TARGET.findall((folder / "docs/README.md").read_text())))
    nav = list(FIRST)
    for section in SECTIONS:
        pages = sorted(f"{section}/{path.name}" for path in (folder / "docs" / section).glob("*.md"))
        ordered = [page for page in linked if page in pages] + [page for page in pages if page not in linked]
        nav.append({section.capitalize(): [f"docs/{page}" for page in ordered]})
    return nav + LAST


def on_config(config):
    folder = pathlib.Path(config["docs_dir"])
    copy_pages(folder)
    add_scripts(folder)
    config["nav"] = navigation(folder)
    return config


def on_page_markdown(markdown, page, config, files):
    """Links source files as pages, and indents lists in lists as mkdocs wants it; blocks of code stay as they are."""
    name = page.file.src_path

    def link(match):
        target = match.group(2)
        is_file = name.startswith("docs/reference/") or ((ROOT / name).parent / target).is_file()
        return match.group(1) + (as_page(target) if is_file else target)

    parts = BLOCK.split(markdown)
    for at in range(0, len(parts), 2):
        parts[at] = TARGET.sub(link, NESTED.sub("    ", parts[at]))
    return "".join(parts)
