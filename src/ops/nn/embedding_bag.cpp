#include <limits>
#include <vector>

#include "ops/composite.h"

namespace dyadic::inline v1::ops::embedding_bag_op {
namespace {

// Where each bag begins, and where the last one ends.
std::vector<int64_t> bag_starts(Args a) {
  const Tensor& indices = a[arg::input];
  std::vector<int64_t> starts;
  if (!a.has(arg::offsets)) {
    for (int64_t i = 0; i <= indices.size(0); ++i) starts.push_back(i * indices.size(1));
    return starts;
  }
  for (double v : a[arg::offsets].to_vector()) starts.push_back(int64_t(v));
  if (!a[arg::include_last_offset]) starts.push_back(indices.numel());
  bool ordered = starts.size() > 1 && starts.front() == 0 && starts.back() <= indices.numel();
  for (size_t i = 1; i < starts.size(); ++i) ordered &= starts[i] >= starts[i - 1];
  DY_CHECK(ordered, "embedding_bag: offsets are not in order from 0 to {}", indices.numel());
  return starts;
}
Tensor bag_numbers(const std::vector<int64_t>& starts, int64_t n, Device device) {
  if (device.is_meta()) return empty({n}, i64, device);
  std::vector<int64_t> number(size_t(n), 0);
  for (size_t b = 0; b + 1 < starts.size(); ++b)
    for (int64_t i = starts[b]; i < starts[b + 1]; ++i) number[size_t(i)] = int64_t(b);
  return from_data(number.data(), {n}, i64).to(device);
}
Tensor largest_rows(const Tensor& rows, const Tensor& counts, const std::vector<int64_t>& starts) {
  std::vector<Tensor> largest;
  const int64_t first[] = {0};
  Tensor seen = where(ne(unsqueeze(counts, 1), 0.0), rows, scalar_tensor(-std::numeric_limits<double>::infinity()));
  for (size_t b = 0; b + 1 < starts.size(); ++b) {
    const int64_t n = starts[b + 1] - starts[b];
    Tensor r = n ? amax(narrow(seen, 0, starts[b], n), first) : zeros({rows.size(1)}, rows.dtype(), rows.device());
    largest.push_back(where(isinf(r), scalar_tensor(0.0), r));
  }
  return stack(largest);
}

Tensor compose(Args a) {
  const Tensor &indices = a[arg::input], &w = a[arg::weight];
  const std::string_view mode = a[arg::mode];
  DY_CHECK_AS(ValueError, mode == "mean" || mode == "sum" || mode == "max",
              "embedding_bag: unknown mode \"{}\"; the known ones are mean, sum and max", mode);
  DY_CHECK(indices.dim() == (a.has(arg::offsets) ? 1 : 2),
           "embedding_bag: input is a matrix, or a vector with offsets: input is {}", describe(indices));
  DY_CHECK_AS(ValueError,
              !a.has(arg::per_sample_weights) || (mode == "sum" && a[arg::per_sample_weights].sizes() == indices.sizes()),
              "embedding_bag: per_sample_weights go with sum and have the sizes of input: mode is {}, input is {}", mode,
              describe(indices));
  const std::vector<int64_t> starts = bag_starts(a);
  const auto bags = int64_t(starts.size()) - 1, n = indices.numel();
  int64_t skip = a.has(arg::padding_idx) ? a[arg::padding_idx] : -1;
  if (a.has(arg::padding_idx) && skip < 0) skip += w.size(0);
  Tensor flat = indices.contiguous().view({n}), rows = embedding(w, flat, skip, a[arg::scale_grad_by_freq]);
  Tensor counts = ne(flat, skip).to(plain(w));  // 0 for padding
  if (mode == "max") return largest_rows(rows, counts, starts);
  // Without offsets in calls alone, so that a step can run again without its program.
  Tensor number = a.has(arg::offsets) ? bag_numbers(starts, n, w.device())
                                      : arange(0, bags, 1, i64, w.device()).unsqueeze(1).expand(indices.sizes()).reshape({n});
  Tensor factor = a.has(arg::per_sample_weights) ? mul(counts, a[arg::per_sample_weights].reshape({n})) : counts;
  Tensor total = call(Op::embedding_backward_, mul(rows, unsqueeze(factor, 1)), number, bags, int64_t(-1), false);
  if (mode == "sum") return total;
  Tensor sizes = call(Op::embedding_backward_, unsqueeze(counts, 1), number, bags, int64_t(-1), false);
  return div(total, maximum(sizes, 1.0));
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, str mode='mean', Tensor? per_sample_weights=None, "
        "bool include_last_offset=False, int? padding_idx=None, bool scale_grad_by_freq=False) -> Tensor",
    .doc =
        "The mean, sum or maximum of the rows of weight that each bag names: bags are the rows of input, or parts of a vector "
        "that begin at offsets. padding_idx does not count; per_sample_weights multiply the rows of a sum. "
        "scale_grad_by_freq: a row's gradient is divided by how often it is read.",
    .kind = OpKind::composite,
    .samples =
        "embedding_bag(indices(5; 2, 3), randn(5, 4))\n"
        "embedding_bag(indices(5; 2, 3), randn(5, 4), None, 'sum', rand(2, 3), False, 4)\n"
        "embedding_bag(indices(5; 2, 3), randn(5, 4), None, 'max')",
    .bad =
        "embedding_bag(indices(5; 3), randn(5, 4)) => embedding_bag: input is a matrix, or a vector with offsets: input is "
        "i64[3]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::embedding_bag_op
