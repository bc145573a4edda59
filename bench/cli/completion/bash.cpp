#include "completion/scripts.hpp"
#include "completion/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace emplace::cli {
namespace {

// What does not depend on the commands. Bash splits words at ':' and '=', so the line is read
// again; what it replaces is the part after the last of these marks.
constexpr std::string_view kFunctions = R"script(
_emplace_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "-$1" -- "$2"))
}

_emplace() {
  local words cur prev='' command='' kind known options arguments position=0 i
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
  cur=${words[${#words[@]} - 1]}
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    _emplace_value "$command" "${words[i]}"
    if [[ -n $kind ]]; then
      ((++i))
    elif _emplace_is_command "$command" "${words[i]}"; then
      command=${command:+$command }${words[i]}
    elif [[ ${words[i]} != -* ]]; then
      ((++position))
    fi
  done
  [[ $i -eq ${#words[@]} ]] && prev=${words[i - 2]}
  if [[ $cur == --*=* ]]; then
    prev=${cur%%=*}
    cur=${cur#*=}
  fi
  COMPREPLY=()
  _emplace_value "$command" "$prev"
  if [[ -z $kind ]]; then
    _emplace_command "$command"
    if [[ $cur == -* ]]; then
      COMPREPLY=($(compgen -W "$options" -- "$cur"))
      return
    fi
    ((position >= ${#arguments[@]})) && position=$((${#arguments[@]} - 1))
    ((position < 0)) && return
    kind=${arguments[position]}
  fi
  case $kind in
  =*) known=${kind#=} ;;
  *) _emplace_known "$kind" ;;
  esac
  [[ $cur == *:* ]] && return
  COMPREPLY=($(compgen -W "$known" -- "$cur"))
  if ((${#COMPREPLY[@]} == 0)); then
    case $kind in
    FOLDERS) _emplace_files d "$cur" ;;
    FILES | CLUSTER | GRAPH | PROFILE | SUITE) _emplace_files f "$cur" ;;
    esac
  fi
}

complete -F _emplace emplace
)script";

// What _emplace() calls the values: "=" and the words, or a name that _emplace_known() knows.
std::string kind_of(const Values& values) {
  if (values.words.empty()) {
    return values.files ? "FILES" : values.folders ? "FOLDERS" : "OTHER";
  }
  return values.shared ? values.name : fmt::format("={}", fmt::join(values.words, " "));
}

class BashScript {
 public:
  explicit BashScript(const CLI::App& program) : program_(program) {
    add_command(program, "");
    for (const CLI::Option* option : own_options_of(program)) {
      for (const std::string& name : names_of(*option)) {
        general_ += " " + name;
      }
    }
  }

  std::string text() const {
    std::string known;
    for (const auto& [kind, words] : known_) {
      known += fmt::format("  {}) known='{}' ;;\n", kind, words);
    }
    return fmt::format(
        R"script(# Completes command lines of emplace in bash: source <(emplace completion bash)

_emplace_is_command() {{
  case "$1 $2" in
{}  *) return 1 ;;
  esac
}}

# Sets kind to what an option takes; to nothing if it takes no value.
_emplace_value() {{
  case "$1 $2" in
{}  *) kind='' ;;
  esac
}}

# Sets options, and arguments to what may stand for each.
_emplace_command() {{
  options='{}'
  arguments=()
  case $1 in
{}  esac
}}

# Sets known to the names of a kind.
_emplace_known() {{
  case $1 in
{}  *) known='' ;;
  esac
}}
{})script",
        is_command_, value_, general_.substr(1), command_, known, kFunctions);
  }

 private:
  void add_command(const CLI::App& command, const std::string& path) {
    std::string options;
    std::string arguments;
    for (const CLI::Option* option : own_options_of(command)) {
      add_option(*option, path, options, arguments);
    }
    std::vector<std::string> names;
    for (const CLI::App* each : command.get_subcommands({})) {
      const std::string& name = each->get_name();
      names.push_back(name);
      is_command_ += fmt::format("  '{} {}') ;;\n", path, name);
      add_command(*each, path.empty() ? name : path + " " + name);
    }
    if (!names.empty()) {
      arguments = fmt::format(" '={}'", fmt::join(names, " "));
    }
    command_ +=
        fmt::format("  '{}')\n    options+='{}'\n    arguments=({})\n    ;;\n", path,
                    path.empty() ? "" : options, arguments.empty() ? "" : arguments.substr(1));
  }

  void add_option(const CLI::Option& option, const std::string& path, std::string& options,
                  std::string& arguments) {
    const Values values = values_of(option, program_);
    const std::string kind = kind_of(values);
    if (values.shared) {
      known_[kind] = fmt::format("{}", fmt::join(values.words, " "));
    }
    for (const std::string& name : names_of(option)) {
      options += " " + name;
      if (!values.name.empty()) {
        // Options of the program may stand after each command.
        value_ += path.empty() ? fmt::format("  *' {}') kind='{}' ;;\n", name, kind)
                               : fmt::format("  '{} {}') kind='{}' ;;\n", path, name, kind);
      }
    }
    if (option.get_positional()) {
      arguments += fmt::format(" '{}'", kind);
    }
  }

  const CLI::App& program_;
  std::string is_command_;
  std::string value_;
  std::string command_;
  std::string general_;
  std::map<std::string, std::string> known_;
};

}  // namespace

std::string bash_completion(const CLI::App& program) { return BashScript(program).text(); }

}  // namespace emplace::cli
