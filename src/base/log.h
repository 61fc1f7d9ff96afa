// Words to the user that are no result: warnings, on stderr unless somebody else takes them.
#pragma once
#include <string_view>

namespace dyadic::inline v1 {

void warn(std::string_view text);
// The same text is shown once per process; true when this was the time.
bool warn_once(std::string_view text);
void warn_in_destructor(std::string_view text) noexcept;
// Who gets warnings instead of stderr. It may throw where warnings are errors.
using WarningHandler = void (*)(std::string_view text);
void set_warning_handler(WarningHandler handler);

}  // namespace dyadic::inline v1
