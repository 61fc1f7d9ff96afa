// What readers of files say of a file that is not as it must be.
#pragma once
#include <string>
#include <string_view>

#include "base/check.h"

namespace dyadic::inline v1::io {

// Something in a file that is not as it must be. what() is "<file>: <reason>".
class BadFile : public ValueError {
 public:
  std::string reason;
  BadFile(const std::string& file, const std::string& why) : ValueError(file + ": " + why), reason(why) {}
};
template <class... A> [[noreturn, gnu::cold]] void bad(const std::string& file, fmt::format_string<A...> text, A&&... args) {
  throw BadFile(file, fmt::format(text, std::forward<A>(args)...));
}
std::string read_text(const std::string& path);  // a whole small file
// A name out of a file, fit for a terminal: quoted, control characters escaped, long ones cut.
std::string quote_name(std::string_view name);

}  // namespace dyadic::inline v1::io
