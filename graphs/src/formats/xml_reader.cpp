#include "xml_reader.hpp"

#include "formats/text_cursor.hpp"

#include <emplace/base/error.hpp>

#include <fmt/format.h>

#include <new>

namespace emplace {
namespace {

XmlReader* to_reader(void* user_data) { return static_cast<XmlReader*>(user_data); }

std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') + 1);  // of npos, too
}

}  // namespace

XmlReader::XmlReader(const std::string& source)
    : source_(&source), parser_(XML_ParserCreate(nullptr), &XML_ParserFree) {
  if (parser_ == nullptr) {
    throw std::bad_alloc();
  }
  XML_Parser parser = parser_.get();
  XML_SetUserData(parser, this);
  XML_SetStartElementHandler(parser,
                             [](void* self, const XML_Char* name, const XML_Char** attributes) {
                               to_reader(self)->keep_error([=](XmlReader& reader) {
                                 reader.name_ = without_prefix(name);
                                 reader.attributes_ = attributes;
                                 reader.start(reader.name_);
                                 reader.text_.clear();
                               });
                             });
  XML_SetEndElementHandler(parser, [](void* self, const XML_Char* name) {
    to_reader(self)->keep_error([=](XmlReader& reader) {
      reader.end(without_prefix(name));
      reader.text_.clear();
    });
  });
  XML_SetCharacterDataHandler(parser, [](void* self, const XML_Char* text, int length) {
    to_reader(self)->keep_error(
        [=](XmlReader& reader) { reader.text_.append(text, static_cast<std::size_t>(length)); });
  });
  XML_SetStartDoctypeDeclHandler(
      parser, [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int declares) {
        to_reader(self)->keep_error([=](XmlReader& reader) {
          if (declares != 0) {
            reader.fail("a document type with declarations of its own is not supported");
          }
        });
      });
  // A document type elsewhere is not read, so its entities are not known. In the value of an
  // attribute expat leaves such an entity out and does not say so.
  XML_SetSkippedEntityHandler(parser, [](void* self, const XML_Char* name, int) {
    to_reader(self)->keep_error([=](XmlReader& reader) {
      reader.fail(fmt::format("the entity '{}' is not known", excerpt(name)));
    });
  });
}

// Expat is written in C, so what is thrown waits until it has returned.
template <typename Step>
void XmlReader::keep_error(Step step) {
  if (error_ != nullptr) {
    return;  // expat still tells the end of an element without content
  }
  try {
    step(*this);
  } catch (...) {
    error_ = std::current_exception();
    XML_StopParser(parser_.get(), XML_FALSE);
  }
}

void XmlReader::read(std::string_view text) {
  constexpr std::size_t kMaxBytes = 4U << 20U;  // at once, since expat counts in int
  for (bool is_last = false; !is_last;) {
    const std::string_view part = text.substr(0, kMaxBytes);
    text.remove_prefix(part.size());
    is_last = text.empty();
    const XML_Status status = XML_Parse(parser_.get(), part.data(), static_cast<int>(part.size()),
                                        static_cast<int>(is_last));
    if (error_ != nullptr) {
      std::rethrow_exception(error_);
    }
    if (status != XML_STATUS_OK) {
      fail(fmt::format("not valid XML: {}", XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    }
  }
}

std::optional<std::string> XmlReader::attribute(std::string_view name) const {
  for (const XML_Char** entry = attributes_; *entry != nullptr; entry += 2) {
    if (entry[0] == name) {
      return entry[1];
    }
  }
  return std::nullopt;
}

std::string XmlReader::required_attribute(std::string_view name) const {
  std::optional<std::string> value = attribute(name);
  if (!value) {
    fail(fmt::format("expected an attribute '{}' of <{}>", name, name_));
  }
  return *std::move(value);
}

void XmlReader::fail(std::string_view message) const {
  throw Error(ErrorCode::kFormat, fmt::format("{}: {}", place_of(*source_, line()), message));
}

}  // namespace emplace
