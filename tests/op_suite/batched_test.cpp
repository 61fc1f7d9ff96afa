// vmap: a call of many entries gives what each of them gives, forward, backward and in place, whichever of the tensors differ.
#include <algorithm>

#include "corridor/batching.h"
#include "dyadic/vmap.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

using Kind = Case::Kind;
constexpr int64_t kEntries = 3;

// Another entry's tensor: floats closer to 0, of integers and masks the same ones in another order.
Tensor entry_of(const Tensor& t, int64_t e) {
  if (e == 0 || t.numel() == 0) return t;
  if (t.dtype().is_floating_point() || t.dtype().is_complex()) return mul(t, e == 1 ? 0.75 : 0.5).to(t.dtype());
  return t.dim() ? flip(t, {e == 1 ? -1 : 0}) : t;
}

struct Batched {
  std::vector<std::vector<Tensor>> each;  // the inputs of each entry
  std::vector<Tensor> joined;             // of all: [entries, ...], or the entries last
  std::vector<int64_t> dims;              // where the entries lie; -1: the same for all
  Batched(const std::vector<Tensor>& inputs, uint32_t differ, bool inner)
      : each(kEntries) {  // inner: ops that may ask for dense rows
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<Tensor> entries;
      const bool own = differ >> i & 1;
      for (int64_t e = 0; e < kEntries; ++e) {
        entries.push_back(own ? entry_of(inputs[i], e) : inputs[i]);
        each[size_t(e)].push_back(entries.back());
      }
      dims.push_back(!own ? -1 : i % 2 && !inner ? inputs[i].dim() : 0);
      joined.push_back(own ? stack(entries, dims.back()) : inputs[i]);
    }
  }
  std::vector<Tensor> enter(const Entries& entries) const {
    std::vector<Tensor> out;
    for (size_t i = 0; i < joined.size(); ++i) out.push_back(dims[i] < 0 ? joined[i] : entries.enter(joined[i], dims[i]));
    return out;
  }
};

// All differ, then each of several alone.
std::vector<uint32_t> choices(size_t n) {
  std::vector<uint32_t> out;
  if (n) out.push_back((1u << n) - 1);
  for (size_t i = 0; n > 1 && i < n; ++i) out.push_back(1u << i);
  return out;
}

double wide_allowance(Op op, DType d) { return 2 * allowance(op_def(op), d); }

void compare(Op op, const Entries& entries, const std::vector<Tensor>& all, const std::vector<std::vector<Tensor>>& expected,
             double factor) {
  for (size_t j = 0; j < all.size(); ++j) {
    if (!all[j].defined()) continue;
    const Tensor whole = entries.leave(all[j]);
    for (int64_t e = 0; e < kEntries; ++e) {
      const Tensor &actual = select(whole, 0, e), &wanted = expected[size_t(e)][j];
      if (!wanted.defined()) continue;
      ASSERT_EQ(shape_text(actual.sizes()), shape_text(wanted.sizes())) << "output " << j;
      ASSERT_EQ(actual.dtype().name(), wanted.dtype().name()) << "output " << j;
      EXPECT_TRUE(close(actual.dtype().is_complex() ? view_as_real(actual) : actual,
                        wanted.dtype().is_complex() ? view_as_real(wanted) : wanted,
                        factor * wide_allowance(op, wanted.dtype())))
          << "output " << j << ", entry " << e;
    }
  }
}

// Whether all entries give something of one kind: what depends on values has no batch.
bool alike(const std::vector<Outcome>& outcomes) {
  for (const Outcome& o : outcomes) {
    if (o.failed()) return false;
    for (size_t j = 0; j < o.out.size(); ++j) {
      const Tensor &t = o.out[j], &first = outcomes[0].out[j];
      if (t.defined() != first.defined() || (t.defined() && t.sizes() != first.sizes())) return false;
    }
  }
  return true;
}

template <class F, class G> void check_all(Op op, DType dtype, double factor, F&& one, G&& prepare) {
  int64_t calls = 0;
  for (const Case& c : cases(op)) {
    const std::vector<Tensor> inputs = make_inputs(c, dtype);
    for (uint32_t differ : choices(inputs.size())) {
      SCOPED_TRACE(c.sample.line + ", differing " + std::to_string(differ));
      const Batched batched(inputs, differ, op_def(op).internal);
      std::vector<Outcome> outcomes;
      for (const std::vector<Tensor>& each : batched.each) outcomes.push_back(one(c, prepare(each)));
      if (!alike(outcomes)) continue;
      Entries entries(kEntries, Randomness::same);
      const int64_t before = t_entry_calls;
      const Outcome all = one(c, prepare(batched.enter(entries)));
      calls += t_entry_calls - before;
      if (all.error.find("vmap: the values of a batched tensor") != std::string::npos) continue;  // it depends on them
      if (all.error.find("writes entries into a tensor that is the same") != std::string::npos && !(differ & 1)) continue;
      ASSERT_FALSE(all.failed()) << all.error;
      std::vector<std::vector<Tensor>> expected;
      for (const Outcome& o : outcomes) expected.push_back(o.out);
      entries.end();
      compare(op, entries, all.out, expected, factor);
      if (::testing::Test::HasFailure()) return;
    }
  }
  ::testing::Test::RecordProperty("calls_per_entry", int(calls));
}

std::vector<Tensor> as_they_are(const std::vector<Tensor>& x) { return x; }
std::vector<Tensor> copies(const std::vector<Tensor>& x) {
  return each(x, [](const Tensor& t) { return t.clone(); });
}

void check_batched(Op op, DType dtype, Layout) {
  NoGrad guard;
  check_all(op, dtype, 1, run, as_they_are);
}
void check_batched_inplace(Op op, DType dtype, Layout) {
  NoGrad guard;
  check_all(op, dtype, 1, run_inplace, copies);
}
void check_batched_grad(Op op, DType dtype, Layout) {
  const auto one = [](const Case& c, const std::vector<Tensor>& inputs) {
    Outcome o;
    if (c.kind == Kind::special || c.kind == Kind::ties) return o.error = "no gradients", o;
    try {
      o.out = gradients(c, inputs);
    } catch (const std::exception& e) { o.error = e.what(); }
    return o;
  };
  check_all(op, dtype, 16, one, as_they_are);
}

bool batches(Op, const OpDef& def) { return !def.random; }
[[maybe_unused]] const bool kBatchedAdded =
    add_check({"batched", {"f32", "bf16", "i64"}, {Layout::contiguous}, batches, check_batched, kOnce}) &&
    add_check({"batched_inplace",
               {"f32"},
               {Layout::contiguous},
               [](Op op, const OpDef& def) { return def.inplace && batches(op, def); },
               check_batched_inplace,
               kOnce}) &&
    add_check({"batched_grad",
               {"f64"},
               {Layout::contiguous},
               [](Op op, const OpDef& def) { return differentiable(def) && batches(op, def); },
               check_batched_grad,
               kOnce});

}  // namespace
}  // namespace dyadic::op_suite
