// dyadic formats --value and --bits: a number's code and a code's number, to the last digit.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/text.h"
#include "cli/formats.h"
#include "cli/json.h"
#include "formats/format.h"

namespace dyadic::inline v1::cli {
namespace {

// All digits of a double: it is a fraction of a power of two, so they end.
std::string decimal(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char text[1500];
  std::snprintf(text, sizeof text, "%.1100f", x);
  std::string s = text;
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

// Sign, exponent and fraction apart; integers as they are.
std::string bits_text(const FormatDef& def, uint64_t code) {
  std::string s;
  for (int b = def.bits - 1; b >= 0; --b) {
    s += char('0' + (code >> b & 1));
    const bool field =
        def.kind == Kind::floating && b > 0 && (b == def.mantissa_bits + def.exponent_bits || b == def.mantissa_bits);
    if (field) s += ' ';
  }
  return s;
}

Json row(DType d, uint64_t code, double wanted) {
  const Format& f = *d.format();
  const double stored = f.def->decode1(f, code);
  Json j = {{"name", d.name()},
            {"bits", bits_text(*f.def, code)},
            {"hex", fmt::format("0x{:0{}x}", code, (f.def->bits + 3) / 4)},
            {"stored", number(stored)},
            {"decimal", decimal(stored)}};
  const double error = std::fabs(stored - wanted) / std::fabs(wanted);
  j["relative_error"] = std::isfinite(error) ? Json(error) : stored == wanted ? Json(0.0) : Json(nullptr);
  return j;
}

void check_scalar(DType d, const char* option) {
  DY_CHECK_AS(UsageError, !d.is_scaled(), "formats: {} of {}: its codes mean something only beside their scale; try --error",
              option, d.name());
  DY_CHECK_AS(UsageError, !d.is_complex(), "formats: {} of {}: it is a pair of {}; look at that", option, d.name(),
              d.to_real().name());
}

std::string error_text(const Json& j) {
  if (j.is_null()) return "";
  return j.get<double>() == 0 ? "exact" : fmt::format("{:.3g}", j.get<double>());
}

void print_rows(const std::vector<Json>& rows, bool with_error) {
  if (rows.size() == 1) {
    const Json& r = rows[0];
    print(fmt::format("format          {}\nbits            {}   {}\nstored value    {}\n{}", r["name"].get<std::string>(),
                      r["bits"].get<std::string>(), r["hex"].get<std::string>(), r["decimal"].get<std::string>(),
                      with_error ? fmt::format("relative error  {}\n", error_text(r["relative_error"])) : ""));
    return;
  }
  Table t({"format", "code", "stored value", "relative error"}, {Align::left, Align::right, Align::left, Align::right});
  for (const Json& r : rows)
    t.row({r["name"].get<std::string>(), r["hex"].get<std::string>(), r["decimal"].get<std::string>(),
           error_text(r["relative_error"])});
  print(t.str());
}

}  // namespace

int show_value(DType format, const std::string& number, bool json) {
  double x = 0;
  const char* begin = number.data() + (number.starts_with('+') ? 1 : 0);
  const auto [end, failed] = std::from_chars(begin, number.data() + number.size(), x);
  DY_CHECK_AS(UsageError,
              (failed == std::errc() || failed == std::errc::result_out_of_range) && end == number.data() + number.size(),
              "formats: --value: \"{}\" is not a number; write one such as 0.1, 1e-3, inf or nan", number);
  if (failed == std::errc::result_out_of_range) {
    x = std::strtod(begin, nullptr);
    DY_CHECK_AS(UsageError, std::isfinite(x) && x != 0, "formats: --value: {} is beyond float64, in which values are read: {}",
                number, x == 0 ? "5e-324 is its smallest number" : "1.8e308 is its largest");
  }
  if (format) check_scalar(format, "--value");
  std::vector<Json> rows;
  for (DType d : format ? std::vector<DType>{format} : registered_dtypes())
    if (d.format()->def->encode1 && !d.is_scaled()) rows.push_back(row(d, d.format()->def->encode1(*d.format(), x), x));
  if (json)
    print(json_text(Json{{"value", cli::number(x)}, {"decimal", decimal(x)}, {"rows", rows}}));
  else
    print_rows(rows, true);
  return kDone;
}

int show_bits(DType format, const std::string& text, bool json) {
  DY_CHECK_AS(UsageError, bool(format), "formats: --bits: of which format? write dyadic formats bf16 --bits {}", text);
  check_scalar(format, "--bits");
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0b") ? 2 : 10;
  uint64_t code = 0;
  const char* begin = text.data() + (base == 10 ? 0 : 2);
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), code, base);
  const int bits = format.format()->def->bits;
  DY_CHECK_AS(UsageError, failed == std::errc() && end == text.data() + text.size() && (bits == 64 || code >> bits == 0),
              "formats: --bits: \"{}\" is not a code of {}; write {} bits as 0x3f, 0b101 or a number", text, format.name(),
              bits);
  const Json r = row(format, code, format.format()->def->decode1(*format.format(), code));
  if (json)
    print(json_text(r));
  else
    print_rows({r}, false);
  return kDone;
}

}  // namespace dyadic::inline v1::cli
