#include "dyadic/nested.h"

#include "base/check.h"
#include "base/text.h"
#include "dyadic/ops.h"
#include "ops/print.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {

NestedTensor::NestedTensor(std::vector<Tensor> parts) : parts_(std::move(parts)) {
  DY_CHECK(!parts_.empty(), "nested_tensor: a list of tensors is needed that has one at least");
  const Tensor& first = parts_.front();
  for (const Tensor& t : parts_)
    DY_CHECK(t.dtype() == first.dtype() && t.dim() == first.dim() && t.dim() > 0,
             "nested_tensor: tensors are of one dtype and one number of dimensions, at least 1: one is {}, another {}",
             describe(first), describe(t));
}

std::optional<int64_t> NestedTensor::size(int64_t d) const {
  DY_CHECK_AS(IndexError, d >= -dim() && d < dim(), "size: dimension {} of a nested tensor of {}", d, dim());
  const int64_t at = d < 0 ? d + dim() : d;
  if (at == 0) return int64_t(parts_.size());
  for (const Tensor& t : parts_)
    if (t.size(at - 1) != parts_.front().size(at - 1)) return {};
  return parts_.front().size(at - 1);
}

int64_t NestedTensor::numel() const {
  int64_t n = 0;
  for (const Tensor& t : parts_) n += t.numel();
  return n;
}

Tensor NestedTensor::values() const {
  for (int64_t d = 2; d < dim(); ++d)
    DY_CHECK(size(d), "values: parts differ in dimension {}, not in the first alone; unbind() has them", d - 1);
  return cat(parts_);
}

Tensor NestedTensor::offsets() const {
  std::vector<int64_t> at{0};
  for (const Tensor& t : parts_) at.push_back(at.back() + t.size(0));
  return tensor(at);
}

Tensor NestedTensor::to_padded_tensor(double padding, std::optional<IntList> output_size) const {
  std::vector<int64_t> sizes(size_t(dim()), 0);
  for (const Tensor& t : parts_)
    for (int64_t d = 1; d < dim(); ++d) sizes[size_t(d)] = std::max(sizes[size_t(d)], t.size(d - 1));
  sizes[0] = int64_t(parts_.size());
  if (output_size) {
    bool fits = output_size->size() == sizes.size() && output_size->front() == sizes[0];
    for (size_t d = 1; fits && d < sizes.size(); ++d) fits = (*output_size)[d] >= sizes[d];
    DY_CHECK(fits, "to_padded_tensor: output_size has room for all parts: it is {}, they need {}", shape_text(*output_size),
             shape_text(sizes));
    sizes = output_size->vec();
  }
  std::vector<Tensor> rows;
  for (const Tensor& t : parts_) {
    std::vector<int64_t> around;  // before and behind, the last dimension first
    for (int64_t d = t.dim() - 1; d >= 0; --d) around.insert(around.end(), {0, sizes[size_t(d + 1)] - t.size(d)});
    rows.push_back(pad(t, around, "constant", padding));
  }
  return stack(rows);
}

std::string NestedTensor::str() const {
  std::string text = "nested_tensor([\n";
  for (const Tensor& t : parts_) {
    std::string part = "  " + t.str();
    for (size_t at = 0; (at = part.find('\n', at)) != part.npos; at += 3) part.insert(at + 1, "  ");
    text += part + (&t == &parts_.back() ? "\n" : ",\n");
  }
  return text + "])";
}

NestedTensor nested_tensor_from_jagged(const Tensor& values, const Tensor& offsets, const Tensor& lengths) {
  constexpr const char* kWho = "nested_tensor_from_jagged";
  DY_CHECK(offsets.dim() == 1 && offsets.size(0) >= 2 && values.dim() >= 1,
           "{}: offsets are a vector of two numbers at least: they are {}", kWho, describe(offsets));
  const std::vector<double> at = offsets.to_vector();
  std::vector<double> n;
  for (size_t i = 0; i + 1 < at.size(); ++i) n.push_back(at[i + 1] - at[i]);
  if (lengths.defined()) {
    DY_CHECK(lengths.dim() == 1 && lengths.size(0) == int64_t(n.size()),
             "{}: there is a length for each part: lengths are {}, offsets {}", kWho, describe(lengths), describe(offsets));
    n = lengths.to_vector();
  }
  std::vector<Tensor> parts;
  for (size_t i = 0; i < n.size(); ++i) {
    DY_CHECK(at[i] >= 0 && n[i] >= 0 && at[i] + n[i] <= double(values.size(0)),
             "{}: part {} is [{}, {}) of values with {} rows", kWho, i, at[i], at[i] + n[i], values.size(0));
    parts.push_back(values.narrow(0, int64_t(at[i]), int64_t(n[i])));
  }
  return NestedTensor(std::move(parts));
}

}  // namespace dyadic::inline v1
