#include "command.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "program.hpp"
#include "reference/pages.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/text_file.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace emplace::cli {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  }
}

// Removes pages that this command wrote once and writes no more, such as that of an agent which is
// gone.
void remove_old_pages(const fs::path& folder, const Pages& pages) {
  std::vector<fs::path> old;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).generic_string();
    if (entry.is_regular_file() && name.ends_with(".md") && !pages.contains(name) &&
        read_text_file(entry.path().string()).ends_with(kReferenceMark)) {
      old.push_back(entry.path());
    }
  }
  for (const fs::path& path : old) {
    fs::remove(path);
  }
}

void write_pages(const fs::path& folder) {
  Invocation invocation;
  Action action;
  const Pages pages = reference_pages(*make_program(invocation, action));
  make_folder(folder);
  for (const auto& [name, text] : pages) {
    const fs::path path = folder / name;
    make_folder(path.parent_path());
    write_text_file(path.string(), text);
  }
  remove_old_pages(folder, pages);
  note(fmt::format("{}: {} pages", folder.string(), pages.size()));
}

}  // namespace

void add_docs(CLI::App& dev, Action& action) {
  CLI::App* command =
      dev.add_subcommand("docs", "Write the reference of all agents, files and commands");
  command->group("Commands");
  set_examples(*command, {"emplace dev docs --output reference"});
  const auto folder = std::make_shared<std::string>();
  add_output(*command, *folder,
             "Folder for the pages; obsolete pages that it wrote there before are removed", "DIR")
      ->required();
  command->callback([folder, &action] {
    action = [folder](const Invocation&) {
      write_pages(*folder);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
