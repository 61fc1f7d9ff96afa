#include "distributed/flat.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {

void Flat::add(const Tensor& t, std::vector<Tensor>& list) {
  DY_CHECK_AS(TypeError, t.dtype().is_floating_point() && !t.dtype().is_scaled(),
              "distributed: gradients of {} parameters are not added; keep them frozen, or in floats", t.dtype().name());
  if (t.dtype() == f64) dtype_ = f64;
  device_ = t.device();
  n_ += t.numel();
  list.push_back(t);
}

Flat::Flat(const std::vector<Tensor>& params, const std::vector<Tensor>& buffers, DType dtype) : dtype_(dtype) {
  for (const Tensor& p : params)
    if (p.requires_grad()) add(p, params_);
  parameter_end_ = n_;
  for (const Tensor& b : buffers)
    if (b.dtype().is_floating_point() && !b.dtype().is_scaled()) add(b, buffers_);
}

Flat::Flat(const std::vector<Tensor>& buffers, DType dtype, Device device) : Flat({}, buffers) {
  dtype_ = dtype;
  device_ = device;
}

Tensor Flat::take(double weight, const double (&numbers)[kNumbers]) const {
  const CategoryScope scope(Category::gradient);
  NoGrad guard;
  const Tensor flat = empty({size()}, dtype_, device_);
  int64_t at = 0, flag = n_;
  for (const Tensor& p : params_) {
    const Tensor place = flat.narrow(0, at, p.numel()), g = p.grad();
    g.defined() ? place.copy_(g.contiguous().view({-1})) : place.zero_();
    flat.narrow(0, flag++, 1).fill_(g.defined());
    p.set_grad({});
    at += p.numel();
  }
  for (const Tensor& b : buffers_) {
    flat.narrow(0, at, b.numel()).copy_(b.contiguous().view({-1})).mul_(weight);
    at += b.numel();
  }
  for (const double x : numbers) flat.narrow(0, flag++, 1).fill_(x);
  return flat;
}

std::vector<Range> Flat::spread(int ranks) const {
  std::vector<Range> out(size_t(ranks), Range{parameter_end_, parameter_end_});
  int64_t at = 0;
  for (const Tensor& p : params_) {
    const int64_t n = p.numel(),
                  rank = std::min<int64_t>((at + n / 2) * ranks / std::max<int64_t>(parameter_end_, 1), ranks - 1);
    Range& r = out[size_t(rank)];
    if (r.begin == parameter_end_) r.begin = at;
    r.end = at += n;
  }
  int64_t end = parameter_end_;  // of what nobody has, an empty range that follows the one before
  for (size_t r = out.size(); r-- > 0;) {
    if (out[r].begin == parameter_end_) out[r] = {end, end};
    end = out[r].begin;
  }
  out.back().end = size();
  return out;
}

std::vector<int> Flat::owners(int ranks) const {
  const std::vector<Range> slices = spread(ranks);
  std::vector<int> out;
  int64_t at = 0;
  int rank = 0;
  for (const Tensor& p : params_) {
    while (rank < ranks - 1 && at >= slices[size_t(rank)].end) ++rank;
    out.push_back(rank);
    at += p.numel();
  }
  return out;
}

void Flat::give(const Tensor& flat, double (&numbers)[kNumbers]) const { give(flat, numbers, {0, size()}); }

void Flat::give(const Tensor& flat, double (&numbers)[kNumbers], const Range& mine) const {
  const CategoryScope scope(Category::gradient);
  NoGrad guard;
  const Tensor rest = flat.narrow(0, n_, size() - n_).to(f64);
  const double* flags = device_.is_meta() ? nullptr : rest.data<double>();
  const bool whole = mine.begin == 0 && mine.end == size();
  const int64_t end = std::min(mine.end, parameter_end_), begin = std::min(mine.begin, end);
  const Tensor kept = whole ? flat : flat.narrow(0, begin, end - begin).clone();
  int64_t at = 0;
  for (size_t i = 0; i < params_.size(); at += params_[i++].numel()) {
    const Tensor& p = params_[i];
    if (at < begin || at + p.numel() > end || (flags && flags[i] == 0)) continue;
    p.set_grad(kept.narrow(0, whole ? at : at - begin, p.numel()).view(p.sizes()).to(p.dtype()));
  }
  for (const Tensor& b : buffers_) {
    b.copy_(flat.narrow(0, at, b.numel()).view(b.sizes()));
    at += b.numel();
  }
  for (int64_t k = 0; k < kNumbers; ++k) numbers[k] = flags ? flags[int64_t(params_.size()) + k] : 0;
}

}  // namespace dyadic::inline v1::distributed
