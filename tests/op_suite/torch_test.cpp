// Values and gradients against those that PyTorch computed: torch/<op>.safetensors, written by torch/make_torch_values.py from
// the suite's own calls. A hash of the calls and their inputs tells whether the file still belongs to them.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/sha256.h"
#include "dyadic/io.h"
#include "tests/op_suite/suite.h"
#include "tests/test_data.h"

namespace dyadic::op_suite {
namespace {

using Kind = Case::Kind;

// One call whose results are stored, as `<key>.out0`, `<key>.grad1` ...
struct StoredCall {
  std::string key;  // f32.3, i64.3, or special.3 (f32 without gradients)
  const Case* c;
  DType dtype;
  std::vector<Tensor> inputs;
};

constexpr int64_t kMost = 200, kMostIntegers = 64;  // elements: the files of all ops are to stay small

bool takes_integers(Op op, const OpDef& def) {
  bool dim = false;
  for (const Parameter& p : signature(op).parameters) dim |= p.name == "dim";
  return def.kind == OpKind::pointwise || dim;
}
bool runs(const Case& c, const std::vector<Tensor>& inputs, int64_t most) {
  NoGrad guard;
  for (const Tensor& t : inputs)
    if (t.numel() > most) return false;
  const Outcome result = run(c, inputs);
  for (const Tensor& t : result.out)
    if (t.defined() && t.numel() > most) return false;
  return !result.failed();
}

std::vector<StoredCall> stored_calls(Op op) {
  std::vector<StoredCall> calls;
  const OpDef& def = op_def(op);
  if (def.random || !skip_reason(op, "values").empty()) return calls;
  const std::vector<Case>& all = cases(op);
  for (size_t i = 0; i < all.size(); ++i) {
    const Case& c = all[i];
    std::vector<Tensor> floats = make_inputs(c, f32), integers = make_inputs(c, i64);
    if (runs(c, floats, kMost))
      calls.push_back({fmt::format("{}.{}", c.kind == Kind::special ? "special" : "f32", i), &c, f32, floats});
    if (takes_integers(op, def) && c.kind != Kind::special && runs(c, integers, kMostIntegers))
      calls.push_back({fmt::format("i64.{}", i), &c, i64, integers});
  }
  return calls;
}

std::string hash_of(const std::vector<StoredCall>& calls) {
  Sha256 hash;
  for (const StoredCall& s : calls) hash.update(s.key + " " + s.c->sample.line + bits(s.inputs));
  return hash.hex().substr(0, 32);
}

// Exact in every float type, so that PyTorch's side needs no file of them.
std::vector<double> stored_upstream(size_t j, int64_t n) {
  std::vector<double> g(static_cast<size_t>(n));
  for (size_t i = 0; i < g.size(); ++i) g[i] = (double((5 * i + 3 * j) % 11) - 4.5) / 4;
  return g;
}

void write_calls(Op op, const std::string& path) {
  const std::vector<StoredCall> calls = stored_calls(op);
  io::NamedTensors tensors;
  std::string lines;
  for (const StoredCall& s : calls) {
    lines += s.key + " " + s.c->sample.line + "\n";
    for (size_t k = 0; k < s.inputs.size(); ++k) tensors.emplace_back(fmt::format("{}.in{}", s.key, k), s.inputs[k]);
  }
  io::save_safetensors(path, tensors,
                       {{"signature", op_def(op).sig},
                        {"calls", lines},
                        {"inputs", hash_of(calls)},
                        {"gradients", skip_reason(op, "second_output").empty() ? "all" : "first"}});
}

class Stored {
  std::map<std::string, Tensor> tensors_;

 public:
  io::Metadata metadata;
  explicit Stored(const std::string& path) {
    io::SafeTensors file = io::load_safetensors(path);
    tensors_ = {file.tensors.begin(), file.tensors.end()};
    metadata = std::move(file.metadata);
  }
  const Tensor* find(const std::string& name) const {
    auto it = tensors_.find(name);
    return it == tensors_.end() ? nullptr : &it->second;
  }
  // The largest value (or gradient) of a pointwise op over its domain: what errors are measured by, PyTorch's too. Its gelu of
  // -3 is made from 1 - 0.9988.
  double scale(Op op, std::string_view what) const {
    double largest = 0;
    if (op_def(op).kind != OpKind::pointwise) return largest;
    for (const auto& [name, t] : tensors_)
      if (name.starts_with("f32.") && name.find(what) != name.npos)
        for (double v : t.to_vector())
          if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    return largest;
  }
};

// In eps of the dtype under test; of f32 where PyTorch has no more digits.
double tolerance(Op op, DType dtype, double ulps) {
  const bool coarse = dtype == f64 && !skip_reason(op, "torch_digits").empty();
  return coarse ? ulps * 0x1p29 : ulps;
}

void compare_values(const StoredCall& s, const Stored& stored, DType dtype, const std::vector<Tensor>& inputs) {
  NoGrad guard;
  const Op op = s.c->sample.op;
  const OpDef& def = op_def(op);
  const Outcome actual = run(*s.c, inputs);
  ASSERT_EQ(actual.error, "");
  for (size_t j = 0; j < actual.out.size(); ++j) {
    const Tensor* expected = stored.find(fmt::format("{}.out{}", s.key, j));
    if (j > 0 && !expected) break;  // PyTorch gives fewer unless asked: unique
    ASSERT_NE(expected, nullptr) << "PyTorch has no output " << j;
    if (actual.out[j].dtype().is_complex()) {  // stored as pairs
      EXPECT_EQ(actual.out[j].dtype().name(), dtype == f64 ? "c128" : "c64");
      EXPECT_TRUE(close(view_as_real(actual.out[j]), *expected, allowance(def, dtype))) << "output " << j;
      continue;
    }
    if (!names_dtype(s.c->sample) && skip_reason(op, "result_dtype").empty()) {
      const bool real = expected->dtype() == f64;                         // PyTorch computed in f64
      const bool follows = dtype.is_floating_point() && !inputs.empty();  // else the default dtype
      const DType expected_type = !real ? expected->dtype() : follows ? dtype : f32;
      EXPECT_EQ(actual.out[j].dtype().name(), expected_type.name());
    }
    EXPECT_TRUE(close(actual.out[j], *expected, tolerance(op, dtype, allowance(def, dtype)), stored.scale(op, "out")))
        << "output " << j;
  }
}

// A gradient that is not there is one of zeros.
void compare_gradients(const StoredCall& s, const Stored& stored, const std::vector<Tensor>& inputs) {
  const Op op = s.c->sample.op;
  const double ulps = tolerance(op, inputs.empty() ? f32 : inputs[0].dtype(), op_def(op).kind == OpKind::pointwise ? 8 : 32);
  const std::vector<Tensor> actual = gradients(*s.c, inputs, stored_upstream);
  size_t k = 0;
  for (const Tensor& input : inputs) {
    if (!input.dtype().is_floating_point()) continue;
    const std::string name = fmt::format("{}.grad{}", s.key, k);
    const Tensor* expected = stored.find(name);
    const bool given = k < actual.size() && actual[k].defined();
    const Tensor zero = zeros(input.sizes(), input.dtype());
    if (!stored.metadata.contains(name)) {  // else PyTorch has no such gradient
      EXPECT_TRUE(close(given ? actual[k] : zero, expected ? *expected : zero, ulps, stored.scale(op, "grad")))
          << "gradient " << k;
    }
    ++k;
  }
}

void check_torch(Op op, DType dtype, Layout) {
  const std::string command = fmt::format("run tests/op_suite/torch/make_torch_values.py <this program> {}", op_name(op));
  const std::string path = test_data(fmt::format("op_suite/torch/{}.safetensors", op_name(op)));
  ASSERT_TRUE(std::filesystem::exists(path)) << "no stored results of PyTorch: " << command;
  const Stored stored(path);
  if (stored.metadata.contains("none")) GTEST_SKIP() << stored.metadata.at("none");
  const std::vector<StoredCall> calls = stored_calls(op);
  ASSERT_EQ(stored.metadata.at("inputs"), hash_of(calls)) << "the stored results are of other calls: " << command;
  for (const StoredCall& s : calls) {
    if (s.dtype.is_floating_point() != dtype.is_floating_point() || stored.metadata.contains(s.key)) continue;
    if (s.c->kind == Kind::special && !skip_reason(op, "torch_special").empty()) continue;
    SCOPED_TRACE(s.c->sample.line);
    const std::vector<Tensor> inputs = dtype == f64 ? widened(*s.c, s.inputs) : s.inputs;
    compare_values(s, stored, dtype, inputs);
    if (dtype.is_floating_point() && s.c->kind != Kind::special && skip_reason(op, "torch_gradients").empty())
      compare_gradients(s, stored, inputs);
  }
}

bool repeatable(Op op, const OpDef& def) { return !def.random && skip_reason(op, "values").empty(); }
bool repeatable_integers(Op op, const OpDef& def) { return repeatable(op, def) && takes_integers(op, def); }

[[maybe_unused]] const bool kTorchAdded =
    add_check({"torch", {"f32", "f64"}, {Layout::contiguous}, repeatable, check_torch}) &&
    add_check({"torch_integers", {"i64"}, {Layout::contiguous}, repeatable_integers, check_torch});

// DYADIC_TORCH_CALLS=<folder> makes one more test, which writes what make_torch_values.py reads.
class WriteCalls : public ::testing::Test {
  void TestBody() override {
    const std::filesystem::path folder = std::getenv("DYADIC_TORCH_CALLS");
    for (int i = 0; i < kOps; ++i)
      if (repeatable(Op(i), op_def(Op(i)))) write_calls(Op(i), folder / fmt::format("{}.safetensors", op_name(Op(i))));
  }
};
[[maybe_unused]] const auto* const kWriter =
    std::getenv("DYADIC_TORCH_CALLS") ? ::testing::RegisterTest("op_suite_torch", "write_calls", nullptr, nullptr, __FILE__,
                                                                __LINE__, []() -> WriteCalls* { return new WriteCalls; })
                                      : nullptr;

}  // namespace
}  // namespace dyadic::op_suite
