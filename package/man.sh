#!/bin/sh
# Writes the manual pages, from the help by help2man: emplace.1, and emplace-COMMAND.1 for each command.
#   package/man.sh PROGRAM FOLDER
# The pages have no date, so that they depend on the program only.
set -eu

program=$1
folder=$2
reference=$(dirname "$0")/../docs/reference/cli.md
source=$("$program" --version | sed 's/ (.*//')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder"

# Escapes text that shows as it is.
escaped() {
  sed 's/\\/\\e/g; s/-/\\-/g; s/'\''/\\(aq/g; s/`/\\(ga/g; s/\^/\\(ha/g; s/~/\\(ti/g; s/^\./\\\&./'
}

# Prints what help2man reads of the help: all but usage and examples, with the groups of options in one section.
groups() {
  awk '/^Usage: /, /^$/ { next }
    /^Examples:$/ { exit }
    /^General options:$/ && section == "*Commands*" { $0 = "Options:" }
    /^[A-Z].*:$/ && !/^(Arguments|Options):$/ && section == "" {
      section = commands == "" ? "Options:" : "*Commands*"
      print section "\n"
    }
    { print }' commands="${commands%%	*}" "$scratch/help"
}

# Prints the sections that help2man would misread or does not know: sections SUMMARY COMMAND...
sections() {
  printf '[NAME]\n%s \\- %s\n' "$name" "$(echo "$1" | sed 's/^./\l&/' | escaped)"
  shift
  printf '[SYNOPSIS]\n.B %s\n' "$title"
  sed -n '/^Usage: /,/^$/p' "$scratch/help" | tr -s ' \n' ' ' | sed "s/^Usage: $title //" | escaped
  if grep -q '^Examples:$' "$scratch/help"; then
    printf '\n[EXAMPLES]\n.nf\n'
    sed '1,/^Examples:$/d; s/^  //' "$scratch/help" | escaped
    echo .fi
  fi
  if [ $# -eq 0 ]; then
    printf '\n[COMMANDS]\n[EXIT STATUS]\n'
    sed -n 's/^- \*\*\([0-9]*\)\*\*: \(.*\)/.TP\n.B \1\n\2/p' "$reference" | tr -d '`'
    printf '[ENVIRONMENT]\n.TP\n.B NO_COLOR\nIf it is set, output has no color unless\n.B \\-\\-color\nasks for it.\n'
  fi
  printf '\n[SEE ALSO]\n'
  {
    [ $# -eq 0 ] || echo emplace
    echo "$commands" | sed "/./!d; s/^/$name-/; s/\t.*//"
  } | sed 's/-/\\-/g; s/.*/.BR & (1),/; $s/,$//'
}

# page SUMMARY COMMAND...: writes the page of a command, and those of the commands that it has.
page() (
  summary=$1
  shift
  title="emplace${*:+ $*}"
  name=$(echo "$title" | tr ' ' -)
  commands=
  "$program" "$@" --help >"$scratch/help"
  if grep -q "^Usage: $title COMMAND " "$scratch/help"; then
    commands=$("$program" __complete "$@" "" | sed '$d')
  fi
  groups >"$scratch/groups"
  sections "$summary" "$@" >"$scratch/sections"
  # The program whose help it asks for is cat.
  help2man --no-info --source="$source" --version-string="$source" --include="$scratch/sections" \
    --help-option="$scratch/groups" --output="$scratch/page" cat
  sed 's/^\(\.TH [^ ]* "1"\) "[^"]*"/\1 ""/; s/^\(\.SS ".*\):"$/\1"/' "$scratch/page" >"$folder/$name.1"
  echo "$commands" | while IFS='	' read -r command inner; do
    [ -z "$command" ] || page "$inner" "$@" "$command"
  done
)

page "$("$program" --help | sed 's/\.$//; q')"
