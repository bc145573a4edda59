#pragma once

// Whole text files in and out, with errors that name the file. "-" is standard input or output.

#include <string>
#include <string_view>

namespace emplace {

/// Returns the content of `path` ("-": standard input), unzipped if it is gzipped. Throws kIo if it
/// cannot be read, and kFormat if it is gzipped and cut off or damaged, or if what does not tell
/// its size goes on too long: a gzipped file or a pipe beyond 4 GiB, a device beyond 16 MiB.
std::string read_text_file(const std::string& path);

/// Throws kIo if `path` is there and no plain file. What a folder of ours holds never is: reading a
/// pipe would wait for ever, and writing through a link would change a file elsewhere.
void expect_plain_file(const std::string& path);

/// Returns what read_text_file() does, of such a file only.
std::string read_plain_file(const std::string& path);

/// Writes `text` to `path` ("-": standard output) by way of a temporary file beside it, so that a
/// reader or a crash never sees half of it; throws kIo.
void write_text_file(const std::string& path, std::string_view text);

}  // namespace emplace
