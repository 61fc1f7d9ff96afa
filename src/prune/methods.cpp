// The methods' records, and masks from scores.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/autograd.h"
#include "prune/methods.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::prune {
namespace {

Tensor magnitudes(const Tensor& weight, const quant::Inputs*) { return abs(weight); }
// The smallest `count` of each row of [groups, n] are false.
Tensor without_smallest(const Tensor& scores, int64_t count) {
  const Tensor stays = ones(scores.sizes(), boolean);
  if (count == 0) return stays;
  const auto smallest = topk(scores, count, 1, false);
  return scatter(stays, 1, smallest.indices, zeros({scores.size(0), count}, boolean));
}

double number(std::string_view text, std::string_view whole) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  DY_CHECK_AS(ValueError, error == std::errc() && end == text.data() + text.size() && std::isfinite(v),
              "prune: {} is no sparsity: write 0.5, 50% or 2:4", whole);
  return v;
}

}  // namespace

Tensor by_inputs(const Tensor& weight, const quant::Inputs* inputs) { return abs(weight) * sqrt(diagonal(inputs->products())); }

Sparsity parse_sparsity(std::string_view text) {
  Sparsity s;
  if (const size_t colon = text.find(':'); colon != text.npos) {
    const double zeros = number(text.substr(0, colon), text), of = number(text.substr(colon + 1), text);
    DY_CHECK_AS(ValueError, zeros >= 1 && of > zeros && of <= 1024 && zeros == std::floor(zeros) && of == std::floor(of),
                "prune: {} is no sparsity: N:M has 0 < N < M", text);
    return {zeros / of, int64_t(zeros), int64_t(of)};
  }
  const bool percent = text.ends_with('%');
  s.share = number(text.substr(0, text.size() - percent), text) / (percent ? 100 : 1);
  DY_CHECK_AS(ValueError, s.share >= 0 && s.share < 1, "prune: sparsity is {}, not in [0, 1)", text);
  return s;
}

Scope parse_scope(std::string_view word) {
  constexpr std::string_view kNames[] = {"matrix", "row", "global", "rows"};
  for (int i = 0; i < 4; ++i)
    if (word == kNames[i]) return Scope(i);
  throw ValueError(fmt::format("prune: scope {} is none of matrix, row, global and rows", word));
}

Tensor mask_of(const Tensor& scores, const Sparsity& s, Scope scope, const std::string& name) {
  const auto count = [&](int64_t n) { return int64_t(std::llround(s.share * double(n))); };
  if (scope == Scope::whole_rows) {
    const Tensor rows = sum(square(scores).flatten(1), {1});
    return without_smallest(unsqueeze(rows, 0), count(rows.size(0)))
        .reshape({-1, 1})
        .expand(scores.flatten(1).sizes())
        .reshape(scores.sizes());
  }
  if (s.of > 0) {
    DY_CHECK_AS(ValueError, scores.size(-1) % s.of == 0, "prune: {}:{} needs rows of a multiple of {}: {} is {}; exclude it",
                s.zeros, s.of, s.of, name, describe(scores));
    return without_smallest(scores.reshape({-1, s.of}), s.zeros).reshape(scores.sizes());
  }
  const Tensor groups = scope == Scope::row ? scores.flatten(1) : scores.reshape({1, -1});
  return without_smallest(groups, count(groups.size(1))).reshape(scores.sizes());
}

static const Method kMagnitude = {
    "magnitude", "The smallest weights become zero.", "Han, Pool, Tran, Dally 2015, arXiv:1506.02626", false, Scope::matrix,
    magnitudes};
static const Method kWanda = {"wanda",
                              "The smallest of |w| times the norm of the inputs that it multiplies, in each row.",
                              "Sun, Liu, Bair, Kolter 2023, arXiv:2306.11695",
                              true,
                              Scope::row,
                              by_inputs};

const std::vector<const Method*>& methods() {
  static const std::vector<const Method*> all = {&kMagnitude, &kWanda, &kSparseGpt};
  return all;
}
const Method& method(std::string_view name) {
  std::vector<std::string> names;
  for (const Method* m : methods()) {
    if (m->name == name) return *m;
    names.emplace_back(m->name);
  }
  throw ValueError(fmt::format("prune: {} is no method: did you mean {}?", name, nearest(name, names)));
}

Tensor pruned(const Method& m, const Task& t) {
  if (m.run && t.scope != Scope::whole_rows) return m.run(t);
  return t.weight * mask_of(m.scores(t.weight, t.inputs), t.sparsity, t.scope, t.name).to(t.weight.dtype());
}

Tensor prune_matrix(const Method& m, const Tensor& weight, const Tensor& inputs, const Sparsity& sparsity,
                    std::optional<Scope> scope) {
  const NoGrad guard;
  DY_CHECK_AS(ValueError, weight.dim() == 2, "{}: weight is {}, no matrix", m.name, describe(weight));
  DY_CHECK_AS(ValueError, inputs.defined() || !m.needs_inputs, "{}: it needs inputs [..., {}]", m.name, weight.size(1));
  DY_CHECK_AS(ValueError, !inputs.defined() || inputs.size(-1) == weight.size(1), "{}: weight is {}, and inputs {}", m.name,
              describe(weight), describe(inputs));
  const quant::Inputs caught = inputs.defined() ? quant::Inputs(inputs) : quant::Inputs();
  return pruned(m, {"weight", weight.detach().to(f32).contiguous(), inputs.defined() ? &caught : nullptr, sparsity,
                    scope.value_or(m.scope)})
      .to(weight.dtype());
}

}  // namespace dyadic::inline v1::prune
