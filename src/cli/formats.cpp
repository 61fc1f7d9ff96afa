// dyadic formats: the registered dtypes and what each can hold.
#include <cmath>
#include <memory>

#include "base/check.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/formats.h"
#include "cli/reference.h"
#include "dyadic/dtype.h"
#include "dyadic/finfo.h"
#include "formats/format.h"
#include "formats/packed.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr Geometry kSample{1024, 1024};  // where the bits per weight of a scaled format are taken from

const char* kind_name(Kind k) {
  switch (k) {
    case Kind::boolean:
      return "bool";
    case Kind::uint:
      return "unsigned";
    case Kind::sint:
      return "signed";
    case Kind::floating:
      return "float";
    case Kind::complex:
      return "complex";
    default:
      return "scaled";
  }
}

std::string cell(const Json& j) {
  if (j.is_null()) return "";
  if (j.is_boolean()) return j.get<bool>() ? "yes" : "no";
  if (j.is_number_integer()) return std::to_string(j.get<int64_t>());
  if (j.is_number()) return fmt::format("{:.6g}", j.get<double>());
  return j.get<std::string>();
}

std::string describe_text(const Json& row) {
  std::string out;
  for (const auto& [key, value] : row.items())
    if (const std::string text = cell(value); !text.empty()) out += fmt::format("{:<16} {}\n", key, text);
  return out;
}

int show_table(bool json) {
  Json rows = Json::array();
  for (DType d : registered_dtypes()) rows.push_back(describe_format(d));
  if (json) {
    print(json_text(Json{{"formats", rows}}));
    return kDone;
  }
  constexpr std::pair<const char*, const char*> kColumns[] = {{"format", "name"},
                                                              {"kind", "kind"},
                                                              {"bits", "bits"},
                                                              {"exponent", "exponent_bits"},
                                                              {"mantissa", "mantissa_bits"},
                                                              {"bias", "bias"},
                                                              {"largest", "max"},
                                                              {"smallest normal", "min_normal"},
                                                              {"smallest", "min_subnormal"},
                                                              {"eps", "eps"},
                                                              {"digits", "digits"},
                                                              {"inf", "inf"},
                                                              {"nan", "nan"},
                                                              {"bits/weight", "bits_per_weight"}};
  std::vector<std::string> head;
  for (auto& [title, key] : kColumns) head.emplace_back(title);
  Table table(head);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (auto& [title, key] : kColumns) cells.push_back(cell(row[key]));
    table.row(std::move(cells));
  }
  print(table.str() +
        "\ndigits: decimal digits that survive a round trip. bits/weight: all scales counted, in a [1024, 1024] tensor.\n");
  return kDone;
}

struct FormatsOptions {
  std::string format, value, bits, error, svg;
  int64_t size = 1 << 20;
};

int show(const FormatsOptions& o, const Common& common) {
  const int asked = !o.value.empty() + !o.bits.empty() + !o.error.empty() + !o.svg.empty();
  DY_CHECK_AS(UsageError, asked <= 1, "formats: --value, --bits, --error and --svg exclude each other");
  const DType format = o.format.empty() ? DType() : DType::parse(o.format);
  if (!o.value.empty()) return show_value(format, o.value, common.json);
  if (!o.bits.empty()) return show_bits(format, o.bits, common.json);
  if (!o.error.empty()) return show_errors(format, o.error, o.size, common.json);
  if (!o.svg.empty()) return draw_number_line(format, o.svg, common.json);
  if (!format) return show_table(common.json);
  print(common.json ? json_text(describe_format(format)) : describe_text(describe_format(format)));
  return kDone;
}

Run setup_formats(Options& options) {
  auto o = std::make_shared<FormatsOptions>();
  options
      .value("format", o->format, "FORMAT", "only this one, such as bf16 or nf4(block=128)",
             [](const std::string& text) { DType::parse(text); })
      .value("--value", o->value, "X", "what becomes of this number: its bits, the stored value, the error")
      .value("--bits", o->bits, "CODE", "the number behind a code: 0x3dcd, 0b101 or 42 (needs FORMAT)")
      .value("--error", o->error, "KIND", "errors of storing numbers that are normal, uniform or lognormal",
             one_of_distributions)
      .value("--size", o->size, "N", "how many numbers --error draws (default: 1048576)", at_least(1024))
      .value("--svg", o->svg, "FILE", "draw the formats' numbers on a line");
  return [o](const Common& common) { return show(*o, common); };
}

}  // namespace

Json describe_format(DType d) {
  const Format& f = *d.format();
  const FormatDef& def = *f.def;
  const bool floating = def.kind == Kind::floating || def.kind == Kind::complex;
  auto where = [](bool there, auto value) { return there ? Json(value) : Json(nullptr); };
  return {{"name", d.name()},
          {"long_name", d.long_name()},
          {"kind", kind_name(def.kind)},
          {"bits", d.bits() == std::floor(d.bits()) ? Json(int64_t(d.bits())) : Json(d.bits())},
          {"exponent_bits", where(floating, def.exponent_bits)},
          {"mantissa_bits", where(floating, def.mantissa_bits)},
          {"bias", where(floating, def.bias)},
          {"max", where(!f.is_scaled(), def.max)},
          {"min_normal", where(floating, def.min_normal)},
          {"min_subnormal", where(floating, def.min_subnormal)},
          {"eps", where(floating, def.eps)},
          {"digits", floating ? Json(finfo(d).digits) : Json(nullptr)},
          {"inf", def.has_inf},
          {"nan", def.has_nan},
          {"bits_per_weight", bits_per_weight(f)},
          {"doc", def.doc}};
}

double bits_per_weight(const Format& f) {
  if (!f.is_scaled()) return double(f.def->bits);
  return 8.0 * double(planes_of(f, kSample).bytes) / double(kSample.numel());
}

extern const Command formats_command;
const Command formats_command = {"formats", "show the number formats tensors can have, and what they make of numbers",
                                 "dyadic formats bf16 --value 0.1", setup_formats};

}  // namespace dyadic::inline v1::cli
