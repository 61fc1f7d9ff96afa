// dyadic formats --error: what storing random numbers in each format does to them.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "cli/formats.h"
#include "cli/json.h"
#include "dyadic/dyadic.h"
#include "formats/format.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int64_t kErrorCols = 1024;  // whole blocks of every format

struct Distribution {
  const char* name;
  Tensor (*draw)(int64_t rows);
};
constexpr Distribution kDistributions[] = {
    {"normal", [](int64_t rows) { return randn({rows, kErrorCols}); }},
    {"uniform", [](int64_t rows) { return rand({rows, kErrorCols}) * 2.0 - 1.0; }},
    {"lognormal", [](int64_t rows) { return exp(randn({rows, kErrorCols})); }},
};

struct Errors {
  std::string name;
  double bits = 0, mae = 0, mse = 0, snr_db = 0;
};
Errors measure(DType d, const Tensor& x, double power) {
  const Tensor error = (x.to(d).to(f32) - x).to(f64);
  const double n = double(x.numel());
  Errors e{d.name(), bits_per_weight(*d.format())};
  e.mae = sum(abs(error)).item() / n;
  e.mse = sum(square(error)).item() / n;
  e.snr_db = 10 * std::log10(power / e.mse);
  return e;
}

}  // namespace

void one_of_distributions(const std::string& name) {
  std::string known;
  for (const Distribution& d : kDistributions) {
    if (name == d.name) return;
    known += (known.empty() ? "" : ", ") + std::string(d.name);
  }
  fail<ValueError>("unknown distribution \"{}\"; the known ones are {}", name, known);
}

int show_errors(DType format, const std::string& distribution, int64_t size, bool json) {
  manual_seed(0);
  NoGrad guard;
  const auto* kind = std::find_if(std::begin(kDistributions), std::end(kDistributions),
                                  [&](const Distribution& d) { return distribution == d.name; });
  const Tensor x = kind->draw((size + kErrorCols - 1) / kErrorCols);
  const double power = sum(square(x.to(f64))).item() / double(x.numel());
  std::vector<Errors> rows;
  for (DType d : format ? std::vector<DType>{format} : registered_dtypes()) {
    const bool narrow = d.is_floating_point() && d.bits() < 32;
    if (format || narrow || (d.is_scaled() && d.format()->can_encode())) rows.push_back(measure(d, x, power));
  }
  // A format that makes NaN of numbers comes last.
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Errors& a, const Errors& b) { return std::isnan(b.mse) ? !std::isnan(a.mse) : a.mse < b.mse; });
  if (json) {
    Json out = {{"distribution", distribution}, {"size", x.numel()}, {"rows", Json::array()}};
    for (const Errors& e : rows)
      out["rows"].push_back({{"name", e.name},
                             {"bits_per_weight", e.bits},
                             {"mae", number(e.mae)},
                             {"mse", number(e.mse)},
                             {"snr_db", number(e.snr_db)},
                             {"snr_db_per_bit", number(e.snr_db / e.bits)}});
    print(json_text(out));
    return kDone;
  }
  Table t({"format", "bits/weight", "mean abs. error", "mean sq. error", "signal to noise", "per bit"},
          {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  const auto decibels = [](double v) { return std::isfinite(v) ? fmt::format("{:.2f} dB", v) : std::string("-"); };
  for (const Errors& e : rows)
    t.row({e.name, fmt::format("{:.2f}", e.bits), fmt::format("{:.4g}", e.mae), fmt::format("{:.4g}", e.mse),
           decibels(e.snr_db), decibels(e.snr_db / e.bits)});
  print(t.str() + fmt::format("\n{} {} numbers, in rows of {}.\n", x.numel(), distribution, kErrorCols));
  return kDone;
}

}  // namespace dyadic::inline v1::cli
