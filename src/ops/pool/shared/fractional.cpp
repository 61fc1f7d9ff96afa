#include "ops/pool/pool.h"

namespace dyadic::inline v1::ops {
namespace {

// Where the windows begin along an axis: [N, C, count], by samples [N, C] in [0, 1).
Tensor beginnings(const Tensor& sample, int64_t n, int64_t kernel, int64_t count) {
  const Tensor last = full({sample.size(0), sample.size(1), 1}, n - kernel, i64, sample.device());
  if (count == 1) return last;
  const double step = double(n - kernel) / double(count - 1);
  const Tensor s = unsqueeze(sample, -1), i = arange(0, count - 1, 1, sample.dtype(), sample.device());
  const Tensor before = sub(trunc(mul(add(i, s), step)), trunc(mul(s, step)));
  return cat(std::vector<Tensor>{to(before, i64), last}, -1);
}

}  // namespace

std::vector<Tensor> fractional_max(const char* who, int64_t rank, Args a) {
  namespace arg = fractional_max_pool2d_with_indices_op::arg;
  const Tensor& input = a[arg::input];
  check_float(who, input, "input");
  DY_CHECK(input.dim() == rank + 1 || input.dim() == rank + 2, "{}: the input has {} or {} dimensions: input is {}", who,
           rank + 1, rank + 2, describe(input));
  const Tensor x = input.dim() == rank + 1 ? unsqueeze(input, 0) : input;
  int64_t kernel[3], count[3];
  spread(who, "kernel_size", a[arg::kernel_size], rank, kernel);
  spread(who, "output_size", a[arg::output_size], rank, count);
  const Tensor drawn =
      a.has(arg::_random_samples) ? a[arg::_random_samples] : rand({x.size(0), x.size(1), rank}, plain(x), x.device());
  DY_CHECK(drawn.dim() == 3 && drawn.size(0) >= x.size(0) && drawn.size(1) == x.size(1) && drawn.size(2) == rank,
           "{}: a number in [0, 1) for each channel and dimension is needed: input is {}, _random_samples is {}", who,
           describe(input), describe(drawn));
  // The place of each element of each window in a channel: [N, C, windows ..., elements of one ...].
  Tensor place;
  int64_t stride = 1, elements = 1;
  std::vector<int64_t> sizes(x.sizes().begin(), x.sizes().begin() + 2), windows = sizes;
  for (int64_t k = rank - 1; k >= 0; --k) {
    const int64_t n = x.size(2 + k);
    DY_CHECK(kernel[k] > 0 && count[k] > 0 && count[k] + kernel[k] - 1 <= n,
             "{}: the windows do not fit: input is {}, kernel_size is {}, output_size is {}", who, describe(input),
             shape_text({kernel, size_t(rank)}), shape_text({count, size_t(rank)}));
    // Of the samples the last is the first dimension's in images; in volumes each has its own.
    const Tensor from =
        beginnings(select(narrow(drawn, 0, 0, x.size(0)), -1, rank == 2 ? 1 - k : k).detach(), n, kernel[k], count[k]);
    std::vector<int64_t> shape(size_t(2 + 2 * rank), 1);
    shape[0] = x.size(0), shape[1] = x.size(1), shape[size_t(2 + k)] = count[k], shape[size_t(2 + rank + k)] = kernel[k];
    Tensor at = add(unsqueeze(from, -1), arange(0, kernel[k], 1, i64, x.device())).reshape(shape);
    at = mul(at, stride);
    place = place.defined() ? add(place, at) : at;
    stride *= n, elements *= kernel[k];
  }
  for (int64_t k = 0; k < rank; ++k) windows.push_back(count[k]);
  const int64_t all = x.numel() ? place.numel() / (x.size(0) * x.size(1)) : 0;
  const Tensor flat = x.reshape({x.size(0), x.size(1), stride});
  const Tensor read = gather(flat, 2, place.reshape({x.size(0), x.size(1), all}));
  const Tensor rows = read.reshape({x.size(0), x.size(1), elements ? all / elements : 0, elements});
  const std::vector<Tensor> top = call_all(Op::max_dim_, rows, int64_t(-1), true);
  Tensor where = gather(place.reshape(rows.sizes()), -1, top[1]).reshape(windows), values = top[0].reshape(windows);
  if (input.dim() == rank + 1) values = squeeze(values, 0), where = squeeze(where, 0);
  return {values, where};
}

}  // namespace dyadic::inline v1::ops
