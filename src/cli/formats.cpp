// dyadic formats: the registered dtypes and what each can hold.
#include "formats/format.h"
#include "formats/packed.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"
#include "cli/command.h"
#include "dyadic/dtype.h"

namespace dyadic::inline v1::cli {
namespace {

using Json = nlohmann::ordered_json;
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
    default:
      return "scaled";
  }
}

double bits_per_weight(const Format& f) {
  if (!f.is_scaled()) return double(f.def->bits);
  return 8.0 * double(planes_of(f, kSample).bytes) / double(kSample.numel());
}

Json describe(DType d) {
  const Format& f = *d.format();
  const FormatDef& def = *f.def;
  bool floating = def.kind == Kind::floating;
  auto where = [](bool there, auto value) { return there ? Json(value) : Json(nullptr); };
  return {{"name", d.name()},
          {"long_name", d.long_name()},
          {"kind", kind_name(def.kind)},
          {"bits", def.bits},
          {"exponent_bits", where(floating, def.exponent_bits)},
          {"mantissa_bits", where(floating, def.mantissa_bits)},
          {"bias", where(floating, def.bias)},
          {"max", where(!f.is_scaled(), def.max)},
          {"min_normal", where(floating, def.min_normal)},
          {"min_subnormal", where(floating, def.min_subnormal)},
          {"eps", where(floating, def.eps)},
          {"inf", def.has_inf},
          {"nan", def.has_nan},
          {"bits_per_weight", bits_per_weight(f)},
          {"doc", def.doc}};
}

std::string cell(const Json& j) {
  if (j.is_null()) return "";
  if (j.is_boolean()) return j.get<bool>() ? "yes" : "no";
  if (j.is_number_integer()) return std::to_string(j.get<int64_t>());
  if (j.is_number()) return fmt::format("{:.6g}", j.get<double>());
  return j.get<std::string>();
}

Run setup(Options&) {
  return [](const Common& common) {
    Json rows = Json::array();
    for (DType d : registered_dtypes()) rows.push_back(describe(d));
    if (common.json) {
      print(Json{{"formats", rows}}.dump(1) + "\n");
      return kDone;
    }
    constexpr std::pair<const char*, const char*> kColumns[] = {{"format", "name"},
                                                                {"long name", "long_name"},
                                                                {"kind", "kind"},
                                                                {"bits", "bits"},
                                                                {"exponent", "exponent_bits"},
                                                                {"mantissa", "mantissa_bits"},
                                                                {"bias", "bias"},
                                                                {"largest", "max"},
                                                                {"smallest normal", "min_normal"},
                                                                {"smallest", "min_subnormal"},
                                                                {"eps", "eps"},
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
    print(table.str() + "\nbits/weight: all scales counted, in a [1024, 1024] tensor.\n");
    return kDone;
  };
}

}  // namespace

extern const Command formats_command;
const Command formats_command = {"formats", "show the number formats tensors can have", "dyadic formats --json", setup};

}  // namespace dyadic::inline v1::cli
