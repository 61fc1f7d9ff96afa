// What nvcc sees in the place of fmt, whose compile-time checks it does not take: {} is replaced, nothing more is understood.
// Messages of kernel files are checked by the simulator's build, which has fmt itself.
#pragma once
#include <sstream>
#include <string>
#include <string_view>

namespace fmt {

template <class... A> using format_string = std::string_view;
template <class... A> std::string format(std::string_view text, const A&... args) {
  std::ostringstream out;
  [[maybe_unused]] auto put = [&](const auto& value) {
    const size_t at = text.find('{'), end = text.find('}', at);
    out << text.substr(0, at) << value;
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  };
  (put(args), ...);
  out << text;
  return out.str();
}

}  // namespace fmt
