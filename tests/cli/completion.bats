#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# Shell completion: what the program offers, and the shells themselves with the scripts of package/completions.

load cli.bash

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  scripts=$EMPLACE_SOURCE_DIR/package/completions
  mkdir bin
  ln -s "$EMPLACE" bin/emplace
  PATH=$PWD/bin:$PATH
}

# offers "WORD..." "CANDIDATE... PATHS": what the program offers for the last word, which is empty after a blank.
offers() {
  local words
  read -ra words <<<"$1"
  [[ "$1" == *" " || -z "$1" ]] && words+=("")
  answers 0 __complete "${words[@]}"
  [ -z "$stderr" ]
  local offered
  offered=$(cut -f 1 <<<"$output" | xargs)
  if [ "$offered" != "$2" ]; then
    printf 'after "%s": %s\nexpected: %s\n' "$1" "$offered" "$2"
    return 1
  fi
}

# in_bash LINE: what bash offers at the end of LINE, sorted, in one line.
in_bash() {
  # shellcheck disable=SC2016  # the inner shell fills these in
  bash --norc --noprofile -c '
source "$1"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
_emplace emplace
printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts/emplace.bash" "$1" | sort | xargs
}

in_fish() {
  # shellcheck disable=SC2016
  fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$scripts/emplace.fish" "$1" | cut -f 1 | sort | xargs
}

@test "commands, options and names are offered" {
  offers "simul" "simulate :none"
  offers "dev b" "best-known :none"
  offers "report --form" "--format :none"
  offers "report --format " "terminal markdown html csv latex svg png pdf sqlite :none"
  offers "report --format=m" "--format=markdown :none"
  offers "--color al" "always :none"
  offers "run --col" "--color :none"
  offers "list ag" "agents :none"
  offers "list agents --js" "--json :none"
  offers "show hef" "heft :files"
  offers "run qui" "quickstart :files"
  offers "run --threads 2 qui" "quickstart :files"
  offers "run --threads=2 -q qui" "quickstart :files"
  offers "show incep" "inception-v3 inception-v4 :files"
  offers "place x --cluster p2-8xlarge-" "p2-8xlarge-2 p2-8xlarge-4 p2-8xlarge-4-grappler :files"
  offers "place inception-v3:batch=8 --agent hill" "hill-climb :none"
  offers "calib" "calibrate :none"
  offers "train heft ince" "inception-v3 inception-v4 :files"
  offers "report res" ":folders"
  offers "convert --out" "--output :none"
  offers "convert --output " ":files"
  offers "run quickstart --seed 1" ":none"
}

@test "parameters and their values are offered after a name" {
  offers "show inception-v3:ba" "inception-v3:batch= :files"
  offers "place --agent=placeto:preset=r" "--agent=placeto:preset=released :none"
  offers "place --agent placeto:preset=r" "placeto:preset=released :none"
  offers "show graph.onnx:ba" ":files"
}

@test "an option is offered once, unless it may repeat or another one excludes it" {
  offers "report --format csv --form" ":none"
  offers "report --json --js" ":none"
  offers "--plugin a.so --plu" "--plugin :none"
  offers "train placeto --cluster p2-8xlarge-2 p2-8xlarge-4-g" "p2-8xlarge-4-grappler :files"
  offers "train placeto --cluster p2-8xlarge-2 incep" "inception-v3 inception-v4 :files"
}

@test "each command and each option is offered with its summary" {
  local command option help
  local commands
  commands=$("$EMPLACE" --help | sed -n '/^General options:/q; s/^  \([a-z-]\+\)  .*/\1/p')
  [ "$("$EMPLACE" __complete "" | grep -v '^:' | cut -f 1 | sort)" = "$(sort <<<"$commands")" ]
  for command in $commands; do
    run -0 --separate-stderr "$EMPLACE" "$command" --help
    help=$output
    answers 0 __complete "$command" -
    # shellcheck disable=SC2013  # an option is a word
    for option in $(grep -oE '^  (-., )?--[a-z0-9-]+' <<<"$help" | grep -oE -- "--[a-z0-9-]+"); do
      grep -q -- "^$option	." <<<"$output" || {
        printf '%s %s is not offered\n' "$command" "$option"
        return 1
      }
    done
  done
}

@test "a line that makes no sense gets no candidates and no error" {
  offers "nonsense x" ":none"
  offers "run --nonsense=" ":none"
  offers "show nonsense:" ":files"
  offers "--plugin" "--plugin :none"
  answers 0 __complete
  [ -z "$stderr" ]
  answers 0 __complete show $'inception-v3:a\nb,'
  [ "$output" = ":none" ]
  run -0 "$EMPLACE" __complete "" >/dev/full
}

@test "bash completes" {
  [ "$(in_bash "emplace simul")" = simulate ]
  [ "$(in_bash "emplace dev ")" = "best-known check-agent docs fit" ]
  [ "$(in_bash "emplace report --format=m")" = markdown ]
  [ "$(in_bash "emplace place inception-v3:ba")" = batch= ]
  [ "$(in_bash "bin/emplace place --agent hill")" = hill-climb ]
  [ "$(in_bash "emplace run quickstart --seed 1")" = "" ]
  [ "$(in_bash "no/emplace run qui")" = "" ]
  mkdir results
  touch graph.json "my words.json"
  [ "$(in_bash "emplace report res")" = results ]
  [ "$(in_bash "emplace show gra")" = graph.json ]
  [ "$(in_bash "emplace show my")" = "my words.json" ]
  [ "$(in_bash "emplace convert --output=gra")" = graph.json ]
}

@test "zsh completes" {
  command -v zsh >/dev/null || skip "zsh is not here"
  # A terminal that types a line, a tab and a key that prints the line. It types once the line editor reads keys
  # (zle-line-init), and waits for words that nobody typed: the terminal echoes what was typed too early.
  in_zsh() {
    # shellcheck disable=SC2016
    zsh -f -c '
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000"
zpty -w shell "show-line() { print -r line-\$((6 * 7)) \${BUFFER% }-end }; zle -N show-line; bindkey ^X show-line"
zpty -w shell "zle-line-init() { print is-\$((6 * 7))-ready }; zle -N zle-line-init"
zpty -r shell text "*is-42-ready*"
zpty -n -w shell "$2$(printf "\t\030")"
zpty -r shell text "*line-42*-end*"
print -r -- ${${text##*line-42 }%%-end*}' zsh "$scripts" "$1"
  }
  touch graph.json
  [ "$(in_zsh "emplace simul")" = "emplace simulate" ]
  [ "$(in_zsh "emplace report --format mark")" = "emplace report --format markdown" ]
  [ "$(in_zsh "emplace show inception-v3:bat")" = "emplace show inception-v3:batch=" ]
  [ "$(in_zsh "bin/emplace show gra")" = "bin/emplace show graph.json" ]
  [ "$(in_zsh "emplace convert --output=gra")" = "emplace convert --output=graph.json" ]
}

@test "fish completes" {
  command -v fish >/dev/null || skip "fish is not here"
  fish --no-execute "$scripts/emplace.fish"
  [ "$(in_fish 'emplace simul')" = simulate ]
  [ "$(in_fish 'emplace report --format ')" = "csv html latex markdown pdf png sqlite svg terminal" ]
  [ "$(in_fish 'emplace report --format=m')" = --format=markdown ]
  [ "$(in_fish 'emplace show inception-v3:ba')" = inception-v3:batch= ]
  [ "$(in_fish 'bin/emplace place --agent hill')" = hill-climb ]
  [ "$(in_fish 'emplace run qui')" = quickstart ]
  [ "$(in_fish 'emplace dev fi')" = fit ]
  [ "$(in_fish 'emplace run --col')" = --color ]
  touch graph.json
  [ "$(in_fish 'emplace show gra')" = graph.json ]
  [ "$(in_fish 'emplace convert --output=gra')" = --output=graph.json ]
}
