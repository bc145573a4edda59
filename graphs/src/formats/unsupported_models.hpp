#pragma once

// Files of models that hold no graph that is read: weights, programs for a device, formats without
// a maintained reader. Who names one learns what it is, and how to write one that is read.

#include <string>
#include <string_view>

namespace emplace {

/// Throws kUnsupported, naming `source`, what the file is and what to export instead, if its
/// content shows that it is such a model.
void refuse_unsupported_model(std::string_view bytes, std::string_view source);

/// Throws the same if only the end of the name `source` shows it.
void refuse_unsupported_ending(std::string_view source);

}  // namespace emplace
