#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# `emplace dev docs`: the reference that the program writes.

load cli.bash

# Skips a test where the build has not all names of the reference.
docs() {
  run -0 --separate-stderr "$EMPLACE" doctor --json
  holds 'True' || return 1
  if ! python3 -c 'import json, sys
sys.exit(not all(part["present"] for part in json.load(sys.stdin)["optional_parts"][:4]))' <<<"$output"; then
    skip "this build is missing an optional part"
  fi
  answers 0 dev docs --output "$1"
}

@test "docs writes a page for each agent, and links lead somewhere" {
  docs pages
  answers 0 list agents --json
  python3 - "$output" <<'END'
import json, pathlib, re, sys
pages = {path: path.read_text() for path in pathlib.Path("pages").rglob("*.md")}

def anchors(text):
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}

for agent in json.loads(sys.argv[1])["agents"]:
    text = pages[pathlib.Path(f"pages/agents/{agent['name']}.md")]
    for parameter in agent["parameters"]:
        assert text.count(f"**`{parameter['name']}`** = ") == 1, (agent["name"], parameter["name"])
    assert ("for experts</summary>" in text) == any(p["expert"] for p in agent["parameters"]), agent["name"]
for path, text in pages.items():
    assert text.endswith("`emplace dev docs`; changes made by hand are lost.*\n"), path
    for target in re.findall(r"\]\(([^)]*)\)", text):
        file, _, fragment = target.partition("#")
        other = (path.parent / file) if file else path
        assert other in pages, (path, target)
        assert not fragment or fragment in anchors(pages[other]), (path, target)
    for line in text.splitlines():
        assert len(line) <= 120 or "`" in line or line.startswith("|"), (path, line)
END
}

@test "docs removes pages that it wrote once, and nothing else" {
  docs pages
  cp pages/agents/heft.md pages/agents/gone.md
  echo "mine" >pages/mine.md
  docs pages
  [ ! -e pages/agents/gone.md ]
  [ "$(cat pages/mine.md)" = mine ]
}

@test "docs writes the same bytes again" {
  docs first
  docs second
  diff -r first second
}

@test "each schema is on the page of files" {
  docs pages
  local schema
  for schema in "$EMPLACE_SOURCE_DIR"/*/schema/*.schema.json; do
    grep -q "\`${schema#"$EMPLACE_SOURCE_DIR"/}\`" pages/schemas.md
  done
}

@test "the example of each agent works" {
  docs pages
  emplace() { "$EMPLACE" "$@"; }
  ln -s "$EMPLACE_SOURCE_DIR/examples" examples  # with the program of exec
  local page
  for page in pages/agents/*.md; do
    sed -n '/^```sh$/,/^```$/p' "$page" | grep -v '```' >commands
    [ -s commands ]
    set -e
    # shellcheck source=/dev/null
    source ./commands >/dev/null
    [ -s placement.json ]
    rm -f placement.json policy.json*
  done
}
