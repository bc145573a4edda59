#pragma once

// Whole text files in and out, with errors that name the file. "-" is standard input or output.

#include <string>
#include <string_view>

namespace emplace {

/// Returns the content of `path` ("-": standard input), unzipped if it is gzipped. Throws kIo if it
/// cannot be read, and kFormat if it is gzipped and cut off or damaged, or if an input of unknown
/// size is too long: a gzipped file or a pipe beyond 4 GiB, a device beyond 16 MiB.
std::string read_text_file(const std::string& path);

/// Throws kIo if `path` exists and is not a plain file. Files in emplace's own folders are always
/// plain: reading a pipe would wait forever, and writing through a link would change a file
/// elsewhere.
void expect_plain_file(const std::string& path);

/// Returns what read_text_file() does, but only for a plain file.
std::string read_plain_file(const std::string& path);

/// Writes `text` to `path` ("-": standard output) through a temporary file next to it, so that no
/// reader sees half of it, even after a crash; throws kIo.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace emplace
