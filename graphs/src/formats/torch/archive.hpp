#pragma once

// The archives that torch.export.save() writes: zip files whose entries are stored as they are. The
// program is one of them in JSON, the others are weights, which nothing here reads.

#include <string>
#include <string_view>
#include <vector>

namespace emplace::torch_program {

/// Says whether `bytes` are a zip archive.
bool is_archive(std::string_view bytes);

/// Returns the names of the entries of an archive; none where it is broken.
std::vector<std::string> entry_names(std::string_view bytes);

/// Says whether an archive has an entry that may be a program.
bool holds_program(std::string_view bytes);

/// Returns the text of the program in an archive: the entry models/NAME.json, or
/// serialized_exported_program.json in files up to PyTorch 2.7. `source` begins each error. Throws
/// kFormat where the archive is broken (its checksum included) or holds no program or several,
/// kUnsupported where the entry is compressed.
std::string find_program(std::string_view bytes, const std::string& source);

/// Returns the text of the entry that says in which file each weight is stored,
/// data/weights/NAME_weights_config.json; empty if there is none, as in files up to PyTorch 2.7.
std::string find_weights(std::string_view bytes, const std::string& source);

}  // namespace emplace::torch_program
