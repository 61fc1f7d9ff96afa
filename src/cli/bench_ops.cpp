// dyadic bench ops: single ops on 16 Mi elements, and matrix products. Every result is a fresh tensor, as in a program that
// writes y = f(x).
#include <algorithm>
#include <memory>

#include "base/check.h"
#include "cli/bench.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int64_t kOpsN = 1 << 24, kSide = 4096, kMatrix = 1024;
constexpr const char* kMatmul = "matmul1024";

struct Inputs {
  Tensor a, b, m;  // m: a as a matrix
  explicit Inputs(DType d) : a(rand({kOpsN}, d.bits() < 32 ? f32 : d).to(d)), b(rand({kOpsN}, d.bits() < 32 ? f32 : d).to(d)) {
    m = a.view({kSide, kSide});
  }
};
struct OpCase {
  const char* name;
  double bytes;  // read and written per element; of kFloating: as many elements
  Tensor (*run)(const Inputs&);
  DType source{}, shown{};
};

Tensor chain(const Inputs& x) {
  Tensor t = tanh(x.a * x.b + x.a);
  t.mul_(0.5);
  return t.add_(scalar_tensor(1.0));
}

constexpr OpCase kFloating[] = {
    {"add", 3, [](const Inputs& x) { return x.a + x.b; }},
    {"exp", 2, [](const Inputs& x) { return exp(x.a); }},
    {"gelu", 2, [](const Inputs& x) { return gelu(x.a); }},
    {"sum", 1, [](const Inputs& x) { return sum(x.a); }},
    {"transpose copy", 2, [](const Inputs& x) { return x.m.t().contiguous(); }},
    {"softmax4096", 2, [](const Inputs& x) { return softmax(x.m, -1); }},
    {"layernorm4096", 2, [](const Inputs& x) { return layer_norm(x.m, {kSide}); }},
    {"chain4", 3, chain},
    {"sum dim0", 1, [](const Inputs& x) { return sum(x.m, {0}); }},
    {"rand", 1, [](const Inputs& x) { return rand({kOpsN}, x.a.dtype()); }},
    {"randn", 1, [](const Inputs& x) { return randn({kOpsN}, x.a.dtype()); }},
};
constexpr OpCase kNarrow[] = {
    {"f32->bf16", 6, [](const Inputs& x) { return x.a.to(bf16); }, f32, bf16},
    {"f32->f16", 6, [](const Inputs& x) { return x.a.to(f16); }, f32, f16},
    {"bf16->f32", 6, [](const Inputs& x) { return x.a.to(f32); }, bf16, f32},
    {"bf16 add", 6, [](const Inputs& x) { return x.a + x.a; }, bf16, bf16},
    {"fp16 sum", 2, [](const Inputs& x) { return sum(x.a); }, f16, f16},
    {"f64->f32", 12, [](const Inputs& x) { return x.a.to(f32); }, f64, f32},
};

struct OpsOptions {
  std::vector<std::string> cases;
  int runs = 7;
  bool wanted(std::string_view name) const {
    return cases.empty() || std::find(cases.begin(), cases.end(), name) != cases.end();
  }
};

void check_case(const std::string& name) {
  std::string known;
  for (const OpCase& c : kFloating) known += std::string(c.name) + ", ";
  for (const OpCase& c : kNarrow) known += std::string(c.name) + ", ";
  known += kMatmul;
  DY_CHECK_AS(ValueError, (", " + known + ",").find(", " + name + ",") != known.npos,
              "unknown case \"{}\"; the known ones are {}", name, known);
}

void add_op(const OpsOptions& o, const OpCase& c, const Inputs& x, DType shown, double bytes, std::vector<Row>& rows) {
  if (o.wanted(c.name))
    rows.push_back(bytes_row(c.name, shown.name(), time_runs(1, o.runs, [&] { c.run(x); }), bytes * double(kOpsN)));
}

void add_products(const OpsOptions& o, std::vector<Row>& rows) {
  constexpr std::pair<DType, Peak> kKinds[] = {
      {f32, Peak::flops_f32}, {bf16, Peak::flops_bf16}, {f16, Peak::flops_f32}, {f64, Peak::flops_f64}};
  for (auto [d, peak] : kKinds) {
    Tensor a = rand({kMatrix, kMatrix}).to(d), b = rand({kMatrix, kMatrix}).to(d);
    Time t = time_runs(2, o.runs, [&] { matmul(a, b); });
    rows.push_back(flops_row(kMatmul, d.name(), t, 2.0 * kMatrix * kMatrix * kMatrix, peak));
  }
}

std::vector<Row> measure_ops(const OpsOptions& o) {
  NoGrad guard;
  std::vector<Row> rows;
  for (DType d : {f32, f64}) {
    Inputs x(d);
    for (const OpCase& c : kFloating) add_op(o, c, x, d, c.bytes * double(d.itemsize()), rows);
  }
  for (const OpCase& c : kNarrow)
    if (o.wanted(c.name)) add_op(o, c, Inputs(c.source), c.shown, c.bytes, rows);
  if (o.wanted(kMatmul)) add_products(o, rows);
  return rows;
}

Run setup_bench_ops(Options& options) {
  auto o = std::make_shared<OpsOptions>();
  options.value("--case", o->cases, "NAME", "only these rows, by name", check_case)
      .value("--runs", o->runs, "N", "times each is run (default: 7)", at_least(1));
  return [o](const Common& common) { return bench(common, [&] { return measure_ops(*o); }); };
}

}  // namespace

const Command bench_ops_command = {
    "ops", "single ops on 16 Mi elements (results are fresh tensors), 1024^3 matrix products (f16 beside f32's peak)",
    "dyadic bench ops --case add \"transpose copy\" --json", setup_bench_ops};

}  // namespace dyadic::inline v1::cli
