// Autocast: what runs in which dtype, as the records say, and as PyTorch's does (torch/make_autocast.py).
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "dyadic/amp.h"
#include "tests/op_suite/suite.h"
#include "tests/test_data.h"

namespace dyadic::op_suite {
namespace {

// Of f32 inputs a `lower` op makes bf16, of bf16 inputs an `f32` op makes f32; the others keep what they are given. f64 is left
// alone by all.
void check_autocast(Op op, DType dtype, Layout) {
  NoGrad guard;
  const Amp policy = op_def(op).amp;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    Outcome plain = run(c, inputs);
    if (plain.failed() || !(plain.out[0].dtype() == dtype)) continue;  // masks, numbers of classes
    Outcome cast;
    {
      Autocast scope(bf16);
      cast = run(c, inputs);
    }
    ASSERT_FALSE(cast.failed()) << cast.error;
    const DType expected = dtype == f64 ? f64 : policy == Amp::lower ? bf16 : policy == Amp::f32 ? f32 : dtype;
    EXPECT_EQ(cast.out[0].dtype().name(), expected.name());
    compared();
    EXPECT_TRUE(cast.out[0].sizes() == plain.out[0].sizes());
  }
}

bool has_policy(Op op, const OpDef& def) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return def.kind == OpKind::pointwise || def.kind == OpKind::kernel;
  return false;
}
// torch/autocast.txt: an op and the dtypes that PyTorch's results have, on the CPU from f32 and bf16, on a GPU likewise.
// torch/autocast_differences.txt: where Dyadic's differ from a GPU's, why. Records have one policy for every device, the GPU's:
// its lists are the longer ones, and made for f16's range; the CPU's are taken where a GPU cannot run the op.
const std::map<std::string, std::vector<std::string>, std::less<>>& table(const char* name) {
  static std::map<std::string, std::map<std::string, std::vector<std::string>, std::less<>>> tables;
  auto& rows = tables[name];
  if (!rows.empty()) return rows;
  std::ifstream file(test_data(fmt::format("op_suite/torch/{}.txt", name)));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> cells;
    for (size_t from = 0, to; from <= line.size(); from = to + 3) {
      to = std::min(line.find(" | ", from), line.size());
      cells.push_back(line.substr(from, to - from));
    }
    rows[cells[0]] = {cells.begin() + 1, cells.end()};
  }
  return rows;
}

std::string dtype_under_autocast(Op op, DType dtype) {
  for (const Case& c : cases(op)) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    const bool floats = std::any_of(inputs.begin(), inputs.end(), [dtype](const Tensor& t) { return t.dtype() == dtype; });
    if (c.kind != Case::Kind::plain || !floats || names_dtype(c.sample) || run(c, inputs).failed()) continue;
    const Autocast scope(bf16);
    const Outcome result = run(c, inputs);
    for (const Tensor& t : result.out)
      if (t.defined() && t.dtype().is_floating_point()) return t.dtype().name();
  }
  return "-";
}

void check_list(Op op, DType dtype, Layout) {
  NoGrad guard;
  const std::vector<std::string>& torch = table("autocast").find(op_name(op))->second;
  const size_t from = dtype == bf16;
  const std::string& expected = torch[2 + from] != "-" ? torch[2 + from] : torch[from];
  const std::string got = dtype_under_autocast(op, dtype);
  if (expected == "-") GTEST_SKIP() << "PyTorch has no result";
  if (got == "-") GTEST_SKIP() << "no floating-point result of floating-point inputs";
  compared();
  auto difference = table("autocast_differences").find(fmt::format("{}/{}", op_name(op), dtype.name()));
  if (difference == table("autocast_differences").end())
    EXPECT_EQ(got, expected) << "PyTorch's is the second; a reason goes to torch/autocast_differences.txt";
  else
    EXPECT_NE(got, expected) << "it is listed as a difference: " << difference->second[0];
}

bool is_listed(Op op, const OpDef&) { return table("autocast").contains(op_name(op)); }

[[maybe_unused]] const bool kListed =
    add_check({"autocast_list", {"f32", "bf16"}, {Layout::contiguous}, is_listed, check_list, kOnce});
[[maybe_unused]] const bool kAutocastAdded =
    add_check({"autocast", {"f32", "bf16", "f64"}, {Layout::contiguous}, has_policy, check_autocast, kOnce});

}  // namespace
}  // namespace dyadic::op_suite
