// Names and messages, shortened.
#include "study/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dyadic::inline v1::study {

std::string short_name(const std::string& name, int most) {
  if (display_width(name) <= most) return name;
  const auto begins = [&](size_t i) { return i >= name.size() || (name[i] & 0xc0) != 0x80; };  // a character, in UTF-8
  size_t head = 0, tail = name.size();
  for (size_t i = 1; i < name.size(); ++i)
    if (begins(i) && display_width(std::string_view(name).substr(0, i)) <= (most - 1) * 3 / 5) head = i;
  for (size_t i = name.size(); i > head; --i)
    if (begins(i) && display_width(std::string_view(name).substr(i)) <= most - 1 - (most - 1) * 3 / 5) tail = i;
  return name.substr(0, head) + "\u2026" + name.substr(tail);
}

std::string in_one_line(std::string_view what) {
  while (what.ends_with('\n')) what.remove_suffix(1);
  const size_t end = what.rfind('\n');
  if (end == what.npos) return std::string(what);
  std::string_view where = what.substr(0, end);
  where.remove_prefix(where.rfind('\n') + 1);
  return fmt::format("{} ({})", what.substr(end + 1), where.substr(std::min(where.find_first_not_of(' '), where.size())));
}

}  // namespace dyadic::inline v1::study
