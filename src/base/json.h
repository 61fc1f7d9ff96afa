// JSON is read and written here: nlohmann's reader and writer are templates that cost each file that names them seconds of
// compiling. J is nlohmann::json or, where the order of keys is kept, nlohmann::ordered_json.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dyadic::inline v1 {

enum class Comments { refused, skipped };
enum class NotUtf8 { refused, replaced };  // by U+FFFD

// nlohmann's parse_error where the text is not JSON.
template <class J = nlohmann::json> J parse_json(std::string_view text, Comments comments = Comments::refused);

// A stranger's text: discarded (is_discarded()) where it is not JSON or has more levels. What is done with it later (writing
// it, comparing it) recurses.
template <class J = nlohmann::json> J bounded_json(std::string_view text, int levels = 32);

// In one line, or indented. nlohmann's type_error where a text is not UTF-8 and that is refused.
template <class J> std::string dump_json(const J& value, int indent = -1, NotUtf8 bytes = NotUtf8::refused);

}  // namespace dyadic::inline v1
