# shellcheck shell=bash
# Completes command lines of emplace in bash: the program itself knows what may come next.
_emplace() {
  local words word value answer paths marks=${COMP_WORDBREAKS//[^:=]/}
  # Not COMP_WORDS, in which NAME:key=value is several words.
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  word=${words[-1]} value=${word#--*=}
  answer=$("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null | cut -f 1)
  paths=${answer##*:} answer=${answer%:*}
  if [[ -z $answer ]]; then
    [[ $paths == files ]] && answer=$(compgen -f -P "${word%"$value"}" -- "$value")
    [[ $paths == folders ]] && answer=$(compgen -d -P "${word%"$value"}" -- "$value")
    compopt -o filenames 2>/dev/null
  elif [[ $answer == *=$'\n' ]]; then
    compopt -o nospace 2>/dev/null
  fi
  mapfile -t COMPREPLY < <(printf %s "$answer")
  # Bash replaces only what follows the last of these marks.
  [[ -z $marks ]] || COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*["$marks"]}"}"}")
}
complete -F _emplace emplace
