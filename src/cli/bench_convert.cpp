// dyadic bench convert: every format to and from f32, beside a plain copy measured in turns with it.
#include <algorithm>

#include "cli/bench.h"
#include "dyadic/dyadic.h"
#include "formats/format.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int64_t kConvertRows = 16384, kConvertCols = 1024, kConvertN = kConvertRows * kConvertCols;

struct ConvertOptions {
  std::vector<std::string> formats;
  int runs = 7;
};

// Bytes read and written by the best run of `f`, as a share of what the best copy moves, in turns with it.
Row beside_copy(std::string name, const Tensor& source, int runs, double bytes, FunctionRef<Tensor()> f) {
  Tensor keep;
  Time own, copy;
  own.min = copy.min = 1e9;
  std::vector<double> medians;
  for (int i = 0; i < runs; ++i) {
    const Time a = time_runs(i == 0, 1, [&] { keep = source.clone(); });
    const Time b = time_runs(i == 0, 1, [&] { keep = f(); });
    copy.min = std::min(copy.min, a.min);
    own.min = std::min(own.min, b.min);
    medians.push_back(b.min);
  }
  std::sort(medians.begin(), medians.end());
  own.median = medians[medians.size() / 2];
  Row row = bytes_row(std::move(name), source.dtype().name(), own, bytes);
  row.peak = Peak::given;
  row.given = 8.0 * double(kConvertN) / copy.min;
  return row;
}

std::vector<Row> convert_rows(const ConvertOptions& o) {
  std::vector<DType> dtypes;
  for (const std::string& text : o.formats) dtypes.push_back(DType::parse(text));
  if (dtypes.empty())
    for (DType d : registered_dtypes())
      if (d != f32) dtypes.push_back(d);
  NoGrad guard;
  const Tensor values = randn({kConvertRows, kConvertCols});
  std::vector<Row> rows;
  for (DType d : dtypes) {
    if (!d.format()->can_encode()) continue;
    const Tensor stored = values.to(d);
    const double bytes = 4.0 * double(kConvertN) + double(stored.nbytes());
    Row to = beside_copy("to " + d.name(), values, o.runs, bytes, [&] { return values.to(d); });
    to.dtype = d.name();
    rows.push_back(std::move(to));
    Row from = beside_copy("from " + d.name(), values, o.runs, bytes, [&] { return stored.to(f32); });
    from.dtype = d.name();
    rows.push_back(std::move(from));
  }
  return rows;
}

Run setup_bench_convert(Options& options) {
  auto o = std::make_shared<ConvertOptions>();
  options.value("--format", o->formats, "F ...", "only these formats (default: all)",
                [](const std::string& text) { DType::parse(text); });
  options.value("--runs", o->runs, "N", "times each is run (default: 7)", at_least(1));
  return [o](const Common& common) { return bench(common, [&] { return convert_rows(*o); }); };
}

}  // namespace

const Command bench_convert_command = {"convert",
                                       "every format to and from f32, 16 Mi elements; the share is of a plain copy's GB/s",
                                       "dyadic bench convert --format bf16 q8_0 --json", setup_bench_convert};

}  // namespace dyadic::inline v1::cli
