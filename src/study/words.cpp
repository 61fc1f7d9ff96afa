// Names, of folders too, and messages, shortened.
#include "study/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

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

std::string file_name(std::string name) {
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c < ' ' || c == 127 || c == '/' || c == '\\' || (c == '.' && (i == 0 || name[i - 1] == '-'))) name[i] = '-';
  }
  return name.substr(0, 100);
}

std::string run_folder(const std::string& kind, const std::string& name, bool resume) {
  const std::string base = kind + "-" + file_name(name);
  std::string folder = base;
  for (int i = 2; !resume && std::filesystem::exists(folder); ++i) folder = base + "-" + std::to_string(i);
  return folder;
}

std::string g_package_folder;

std::string in_one_line(std::string_view what) {
  const auto first_line = [](std::string_view text) { return text.substr(0, text.find('\n')); };
  const size_t trace = what.rfind("Traceback (most recent call last):\n");
  if (trace == what.npos) return std::string(first_line(what));
  std::string_view where, outside;  // the last place; the last that is none of the package's
  for (what.remove_prefix(what.find('\n', trace) + 1); what.starts_with(' ');) {
    const std::string_view line = first_line(what);
    if (line.starts_with("  File ")) where = line.substr(2);
    const bool inside = !g_package_folder.empty() && line.starts_with("  File \"" + g_package_folder);
    if (line.starts_with("  File ") && !inside) outside = where;
    what.remove_prefix(std::min(line.size() + 1, what.size()));
  }
  return fmt::format("{} ({})", first_line(what), outside.empty() ? where : outside);
}

}  // namespace dyadic::inline v1::study
