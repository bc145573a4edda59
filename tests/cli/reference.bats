#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# `emplace dev docs` and the manual pages, which are made from the help.

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

@test "each command has a manual page that man shows without a warning" {
  command -v help2man >/dev/null || skip "help2man is not here"
  command -v groff >/dev/null || skip "groff is not here"
  "$EMPLACE_SOURCE_DIR/package/man.sh" "$EMPLACE" pages
  "$EMPLACE_SOURCE_DIR/package/man.sh" "$EMPLACE" again
  diff -r pages again
  local command page
  for command in $("$EMPLACE" __complete "" | cut -f 1 | grep -v '^:'); do
    [ -s "pages/emplace-$command.1" ]
  done
  grep -q '^\.TH EMPLACE "1" ""' pages/emplace.1
  for page in pages/*.1; do
    run -0 --separate-stderr groff -man -Tutf8 -ww -z "$page"
    [ -z "$stderr" ]
    groff -man -Tutf8 -P-cbou "$page" | tr -s ' ' >shown
    grep -A 1 '^NAME' shown | grep -q "^ *$(basename "$page" .1) - [a-z]"
    grep -q '^SYNOPSIS' shown
    grep -q '^OPTIONS' shown
    grep -q '^SEE ALSO' shown
  done
  groff -man -Tutf8 -P-cbou pages/emplace-place.1 >shown
  grep -q -- '--evaluations N' shown
  grep -q '^ *emplace place inception-v3 --cluster p2-8xlarge-2' shown
  groff -man -Tutf8 -P-cbou pages/emplace.1 >shown
  grep -q '^EXIT STATUS' shown
  grep -q 'emplace-place(1)' shown
}
