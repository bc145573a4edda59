#!/usr/bin/env bats
# shellcheck disable=SC2154  # stderr is set by run
# Shell completion, in the shells themselves.

load cli.bash

# in_bash LINE: what bash offers at the end of LINE, sorted, in one line.
in_bash() {
  bash --norc --noprofile -c '
source "$1"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
_emplace emplace
printf "%s\n" "${COMPREPLY[@]}"' bash completion.bash "$1" | sort | xargs
}

offers() {
  local offered
  offered=$(in_bash "$1")
  if [ "$offered" != "$2" ]; then
    printf 'after "%s": %s\nexpected: %s\n' "$1" "$offered" "$2"
    return 1
  fi
}

@test "bash completes commands, options and names" {
  answers 0 completion bash
  printf '%s\n' "$output" >completion.bash
  offers "emplace expl" "explain"
  offers "emplace profile " "fit show"
  offers "emplace report --form" "--format"
  offers "emplace report --format " "csv html json latex markdown terminal"
  offers "emplace report --format=m" "markdown"
  offers "emplace --color al" "always"
  offers "emplace run --col" "--color"
  offers "emplace list ag" "agents"
  offers "emplace list agents --js" "--json"
  offers "emplace run qui" "quickstart"
  offers "emplace run --threads 2 qui" "quickstart"
  offers "emplace show incep" "inception-v3 inception-v4"
  offers "emplace place --graph x --cluster p2-8xlarge-" "p2-8xlarge-2 p2-8xlarge-4 p2-8xlarge-4-grappler"
  offers "emplace place --graph inception-v3:batch=8 --agent hill" "hill-climb"
  offers "emplace completion f" "fish"
  offers "emplace help calib" "calibrate"
  offers "emplace train heft ince" "inception-v3 inception-v4"
  mkdir results
  touch graph.json
  offers "emplace report res" "results"
  offers "emplace show gra" "graph.json"
  offers "emplace run quickstart --seed 1" ""
}

@test "bash knows each command and each option" {
  answers 0 completion bash
  printf '%s\n' "$output" >completion.bash
  local command option help
  answers 0 completion bash
  for command in $(in_bash "emplace "); do
    run -0 --separate-stderr "$EMPLACE" help "$command"
    help=$output
    for option in $(grep -oE '^  (-., )?--[a-z0-9-]+' <<<"$help" | grep -oE -- "--[a-z0-9-]+"); do
      [[ " $(in_bash "emplace $command $option") " == *" $option "* ]] || {
        printf '%s %s is not offered\n' "$command" "$option"
        return 1
      }
    done
  done
}

@test "zsh accepts the script and completes" {
  command -v zsh >/dev/null || skip "zsh is not here"
  answers 0 completion zsh
  printf '%s\n' "$output" >_emplace
  zsh -n _emplace
  # A terminal that types a line and a tab. It types once the line editor reads keys (zle-line-init), and ends at words
  # that the command prints but nobody typed: the terminal echoes what was typed too early.
  run -0 zsh -f -c '
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source ./_emplace; unset zle_bracketed_paste; LISTMAX=1000"
zpty -w shell "zle-line-init() { print is-\$((6 * 7))-ready }; zle -N zle-line-init"
zpty -r shell text "*is-42-ready*"
zpty -n -w shell $'"'"'emplace report --format mark\t; echo is-$((6 * 7))-done\n'"'"'
zpty -r shell text "*is-42-done*"
print -r -- $text'
  [[ "$output" == *"--format markdown"* ]]
}

@test "fish accepts the script and completes" {
  command -v fish >/dev/null || skip "fish is not here"
  answers 0 completion fish
  printf '%s\n' "$output" >emplace.fish
  fish --no-execute emplace.fish
  in_fish() {
    fish --no-config -c 'source emplace.fish; complete -C $argv[1]' "$1" | cut -f 1 | sort | xargs
  }
  [ "$(in_fish 'emplace expl')" = explain ]
  [ "$(in_fish 'emplace report --format ')" = "csv html json latex markdown terminal" ]
  [ "$(in_fish 'emplace place --agent hill')" = hill-climb ]
  [ "$(in_fish 'emplace run qui')" = quickstart ]
  [ "$(in_fish 'emplace profile sh')" = show ]
  [ "$(in_fish 'emplace run --col')" = --color ]
}
