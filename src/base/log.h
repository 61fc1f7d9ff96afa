// Words to the user's terminal that are no result: warnings on stderr.
#pragma once
#include <string_view>

namespace dyadic::inline v1 {

void warn(std::string_view text);
// The same text is shown once per process; true when this was the time.
bool warn_once(std::string_view text);

}  // namespace dyadic::inline v1
