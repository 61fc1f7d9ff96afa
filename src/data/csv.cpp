#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "data/file.h"
#include "dyadic/data_files.h"

namespace dyadic::inline v1::data {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '"')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '"')) s.remove_suffix(1);
  return s;
}
std::optional<double> read_number(std::string_view field) {
  if (field.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc::invalid_argument || stop != field.data() + field.size()) return {};
  return value;
}

}  // namespace

Tensor read_csv(const std::string& path, CsvOptions options) {
  InputFile file("read_csv", path);
  std::vector<double> values;
  std::string line;
  int64_t rows = 0, columns = 0;
  for (int64_t number = 1; file.read_line(line); ++number) {
    if (number <= options.skip_rows || line.empty()) continue;
    int64_t found = 0;
    for (size_t at = 0; at <= line.size(); ++found) {
      const size_t end = std::min(line.find(options.delimiter, at), line.size());
      const std::string_view field = trimmed(std::string_view(line).substr(at, end - at));
      const auto value = read_number(field);
      if (!value)
        file.damaged(fmt::format("line {}, column {}: \"{}\" is no number{}", number, found + 1, field,
                                 rows == 0 ? "; a header is passed over with skip_rows" : ""));
      values.push_back(*value);
      at = end + 1;
    }
    if (rows++ == 0) columns = found;
    if (found != columns) file.damaged(fmt::format("line {}: it has {} columns, those before have {}", number, found, columns));
  }
  return from_data(values.data(), {rows, columns}, f64).to(options.dtype);
}

}  // namespace dyadic::inline v1::data
