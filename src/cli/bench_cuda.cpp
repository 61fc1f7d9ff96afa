// dyadic bench cuda: figures of a device, each beside what the device was seen to do in the same run.
#include "cli/bench_cuda.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/bench.h"
#include "device/backend.h"
#include "dyadic/interrupt.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::cli {
namespace {

struct Group {
  const char* name;
  void (*run)(CudaBench&);
};
constexpr Group kGroups[] = {{"pointwise", bench_pointwise}, {"rows", bench_rows},         {"products", bench_products},
                             {"attention", bench_attention}, {"weights", bench_weights},   {"optimizer", bench_optimizer},
                             {"calls", bench_calls},         {"training", bench_training}, {"generation", bench_generation}};

struct CudaOptions {
  std::vector<std::string> cases;
  bool quick = false;
  int64_t repeats = 0;
  bool wanted(const char* name) const { return cases.empty() || std::find(cases.begin(), cases.end(), name) != cases.end(); }
};

void check_group(const std::string& name) {
  std::vector<std::string> known;
  for (const Group& g : kGroups) known.push_back(g.name);
  DY_CHECK_AS(ValueError, std::find(known.begin(), known.end(), name) != known.end(),
              "unknown case \"{}\"; the known ones are {}", name, join(known, ", "));
}

bool is_simulated(const cuda::Properties& p) { return p.name.find("simulated") != p.name.npos; }

Json sizes_json(const CudaSizes& s) {
  return {{"kind", s.name()},
          {"elements", s.elements},
          {"row_width", kRowWidth},
          {"products", s.products},
          {"lengths", s.lengths},
          {"attention_tokens", s.attention_tokens},
          {"weight_rows", s.weight_rows},
          {"weight_columns", s.weight_columns},
          {"parameters", s.parameters},
          {"calls", s.calls},
          {"gpt_block", s.gpt_block},
          {"gpt_batch", s.gpt_batch}};
}

Json document(const CudaBench& b) {
  const cuda::Properties p = cuda::properties();
  const auto [free, total] = cuda::mem_get_info();
  Json out = {{"device",
               {{"name", p.name},
                {"capability", fmt::format("{}.{}", p.major, p.minor)},
                {"multiprocessors", p.multi_processor_count},
                {"memory", total},
                {"memory_free", free},
                {"versions", cuda::versions()},
                {"simulated", is_simulated(p)}}},
              {"sizes", sizes_json(b.sizes())},
              {"ceilings", {{"copy_bytes_per_s", b.ceilings().copy}, {"product_bf16_flops_per_s", b.ceilings().product}}},
              {"rows", Json::array()}};
  for (const CudaFigure& f : b.figures()) {
    Json row = {{"case", f.name}, {"dtype", f.dtype}};
    if (!f.error.empty()) {
      row["error"] = f.error;
    } else {
      row.update(
          {{"ms_median", number(f.time.median)}, {"ms_min", number(f.time.best)}, {"rate", number(f.rate)}, {"unit", f.unit}});
      if (!f.of.empty()) row.update({{"share", number(f.share)}, {"of", f.of}});
      row.update(f.more);
    }
    out["rows"].push_back(std::move(row));
  }
  return out;
}

std::string table(const CudaBench& b) {
  const cuda::Properties p = cuda::properties();
  Table t({"case", "dtype", "ms, median", "ms, best", "rate", "", "beside"},
          {Align::left, Align::left, Align::right, Align::right, Align::right, Align::left, Align::left});
  for (const CudaFigure& f : b.figures()) {
    if (!f.error.empty()) {
      t.row({f.name, f.dtype, "failed"});
      continue;
    }
    std::string beside = std::isnan(f.share) ? "" : fmt::format("{:.0f} % of {}", 100 * f.share, f.of);
    for (auto& [key, value] : f.more.items())
      beside += fmt::format("{}{} {}", beside.empty() ? "" : ", ", key,
                            value.is_number_float() ? fmt::format("{:.3g}", value.get<double>()) : dump_json(value));
    const auto ms = [](double x) { return x > 0 ? fmt::format("{:.4g}", x) : std::string(); };
    t.row({f.name, f.dtype, ms(f.time.median), ms(f.time.best), fmt::format("{:.4g}", f.rate), f.unit, beside});
  }
  std::string out = t.str();
  for (const CudaFigure& f : b.figures())
    if (!f.error.empty()) out += fmt::format("{} ({}): {}\n", f.name, f.dtype, f.error);
  out += fmt::format("\n{}, {}; measured there: a copy moves {:.2f} TB/s, the largest bf16 product {:.0f} TFLOP/s\n", p.name,
                     cuda::versions(), b.ceilings().copy / 1e12, b.ceilings().product / 1e12);
  if (is_simulated(p)) out += "This device is simulated: its times mean nothing.\n";
  return out;
}

int run(const CudaOptions& o, const Common& common) {
  install_interrupt_handler();
  CudaBench b(cuda_sizes(cuda::properties(), o.quick));
  manual_seed(0);
  try {
    if (o.repeats) {
      if (o.wanted("calls")) repeat_calls(b, o.repeats);
      if (o.wanted("training")) repeat_training(b, o.repeats);
    } else {
      b.measure_ceilings();
      for (const Group& g : kGroups)
        if (o.wanted(g.name)) g.run(b);
      b.measure_ceilings();
    }
  } catch (const Interrupted&) { return kInterrupted; }
  print(common.json ? json_text(document(b)) : table(b));
  const auto failed = [](const CudaFigure& f) { return !f.error.empty(); };
  return std::any_of(b.figures().begin(), b.figures().end(), failed) ? kFailed : kDone;
}

Run setup_bench_cuda(Options& options) {
  auto o = std::make_shared<CudaOptions>();
  options
      .value("--case", o->cases, "NAME",
             "pointwise, rows, products, attention, weights, optimizer, calls, training, generation; several may follow "
             "(default: all)",
             check_group)
      .flag("--quick", o->quick, "smaller calls: a minute instead of several, on any device")
      .value("--repeat", o->repeats, "N",
             "instead: calls and training steps N times on one stream and on two, and whether all results have the same bits",
             at_least(1));
  return [o](const Common& common) { return run(*o, common); };
}

}  // namespace

CudaSizes cuda_sizes(const cuda::Properties& device, bool quick) {
  if (is_simulated(device))
    return {.kind = CudaSizes::Kind::smoke,
            .elements = 1 << 13,
            .products = {64, 32},
            .lengths = {128},
            .attention_tokens = 128,
            .weight_rows = 64,
            .weight_columns = 256,
            .parameters = {8192},
            .calls = 20,
            .gpt_block = 16,
            .gpt_batch = 2,
            .llama_layers = 1,
            .llama_width = 512,
            .tokens = 2};
  if (quick || device.total_memory < (int64_t{40} << 30))
    return {.kind = CudaSizes::Kind::quick,
            .elements = 1 << 26,
            .products = {4096, 1024},
            .lengths = {4096},
            .attention_tokens = 4096,
            .weight_rows = 14336,
            .weight_columns = 4096,
            .parameters = {10'000'000},
            .calls = 1000,
            .gpt_block = 1024,
            .gpt_batch = 2,
            .llama_layers = 4,
            .llama_width = 4096,
            .tokens = 16};
  return {.kind = CudaSizes::Kind::full,
          .elements = 1 << 28,
          .products = {8192, 4096, 2048, 1024, 512},
          .lengths = {4096, 16384},
          .attention_tokens = 16384,
          .weight_rows = 28672,
          .weight_columns = 8192,
          .parameters = {100'000'000, 1'000'000'000},
          .calls = 2000,
          .gpt_block = 1024,
          .gpt_batch = 16,
          .llama_layers = 32,
          .llama_width = 4096,
          .tokens = 64};
}

void CudaBench::measure_ceilings() {
  const NoGrad guard;
  const int64_t bytes = sizes_.smoke() ? 1 << 16 : sizes_.kind == CudaSizes::Kind::full ? 1 << 30 : 1 << 28;
  {
    const Tensor from = rand({bytes / 4}, f32, device), to = empty({bytes / 4}, f32, device);
    const Milliseconds t = time([&] { backend().copy(device, to.impl()->place(), device, from.impl()->place(), bytes); });
    ceilings_.copy = std::max(ceilings_.copy, 2.0 * double(bytes) / (t.median * 1e-3));
  }
  const int64_t side = sizes_.products.front();
  const Tensor a = randn({side, side}, bf16, device), b = randn({side, side}, bf16, device);
  const Milliseconds t = time([&] { matmul(a, b); });
  ceilings_.product = std::max(ceilings_.product, 2.0 * double(side * side * side) / (t.median * 1e-3));
}

Milliseconds CudaBench::time(const FunctionRef<void()>* prepare, FunctionRef<void()> run) const {
  constexpr double kLeastSpan = 1, kPatience = 300;  // milliseconds: between two events, of all of them
  struct Span {
    cuda::Event begin{true}, end{true};
    int64_t runs;
    double each() const { return begin.elapsed_time(end) / double(runs); }
  };
  const auto span = [&](int64_t runs) {
    Span s{.runs = runs};
    if (prepare) (*prepare)();
    s.begin.record();
    for (int64_t i = 0; i < runs; ++i) run();
    s.end.record();
    return s;
  };
  span(1).each();  // what is made once: plans, code that is loaded
  const double once = std::max(span(1).each(), 1e-4);
  const int64_t runs = sizes_.smoke() || prepare ? 1 : std::clamp<int64_t>(int64_t(kLeastSpan / once), 1, 200);
  const int64_t samples = sizes_.smoke() ? 2 : std::clamp<int64_t>(int64_t(kPatience / (once * double(runs))), 5, 50);
  std::vector<Span> spans;
  for (int64_t i = 0; i < samples; ++i) {
    if (interrupted()) throw Interrupted{};
    spans.push_back(span(runs));
  }
  std::vector<double> times;
  for (const Span& s : spans) times.push_back(s.each());
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

void CudaBench::add(std::string name, std::string dtype, FunctionRef<void(CudaFigure&)> body) {
  CudaFigure f{.name = std::move(name), .dtype = std::move(dtype)};
  try {
    body(f);
    cuda::synchronize();  // what kernels have found wrong belongs to this case
  } catch (const Error& e) { f.error = e.what(); }
  figures_.push_back(std::move(f));
  empty_cache();
}

void CudaBench::bytes(CudaFigure& f, Milliseconds t, double bytes) const {
  const double rate = bytes / (t.median * 1e-3);
  f.time = t, f.rate = rate / 1e9, f.unit = "GB/s";
  f.share = rate / ceilings_.copy, f.of = "the copy";
}
void CudaBench::flops(CudaFigure& f, Milliseconds t, double flops) const {
  const double rate = flops / (t.median * 1e-3);
  f.time = t, f.rate = rate / 1e12, f.unit = "TFLOP/s";
  f.share = rate / ceilings_.product, f.of = "the bf16 product";
}

const Command bench_cuda_command = {
    "cuda", "a device: ops, products, attention, block weights, training, beside what it was seen to do",
    "dyadic bench cuda --quick --json", setup_bench_cuda};

}  // namespace dyadic::inline v1::cli
