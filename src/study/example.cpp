#include "study/example.h"

#include <algorithm>

#include "data/each_tensor.h"
#include "dyadic/device.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::study {
namespace {

// How many elements of memory lie between a tensor's first and its last, both counted.
int64_t extent(const Tensor& t) {
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return t.numel() ? last + 1 : 0;
}

std::vector<Tensor> tensors_of(const data::Value& batch) {
  std::vector<Tensor> all;
  data::with_each_tensor(batch, [&](const Tensor& t) { return all.emplace_back(t); });
  return all;
}

std::vector<int64_t> with_rows(const Tensor& t, int64_t from, int64_t to) {
  std::vector<int64_t> sizes = t.sizes().vec();
  if (to && !sizes.empty() && sizes[0] == from) sizes[0] = to;
  return sizes;
}

int64_t first_size(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.dim() > 0) return t.size(0);
  return 0;
}

}  // namespace

void as_data(const data::Value& batch) {
  for (const Tensor& t : tensors_of(batch))
    if (t.impl()->storage->category == Category::temporary) set_category(t, Category::data);
}

Example::Example(const data::Value& batch) : rows_(first_size(tensors_of(batch))) {
  for (const Tensor& t : tensors_of(batch)) parts_.push_back({empty(t.sizes(), t.dtype(), meta), parts_.size(), 1, 0, true});
  size_t i = 0;
  like_ = data::with_each_tensor(batch, [&](const Tensor&) { return parts_[i++].like; });
}

Example::Example(Source& source, FunctionRef<void(const data::Value&)> look) {
  const CategoryScope scope(Category::data);
  const auto stream = source.alone();
  reset_peak_memory_stats();
  data::Value batch = stream->next(0);
  const MemoryStats made = memory_stats();
  making_ = made.peak[size_t(Category::data)] - made.live[size_t(Category::data)];
  as_data(batch);
  look(batch);
  std::vector<Tensor> tensors = tensors_of(batch);
  rows_ = first_size(tensors);
  std::vector<bool> unfolded;  // made for whoever looks, of another language's arrays: training's batches hold no such tensor
  for (size_t k = 0; const Tensor& again : tensors_of(batch))
    unfolded.push_back(again.impl()->storage != tensors[k++].impl()->storage);
  for (const Tensor& t : tensors) {
    const Storage* memory = t.impl()->storage;
    const auto same =
        std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& o) { return o.impl()->storage == memory; });
    const auto sharing =
        std::count_if(tensors.begin(), tensors.end(), [&](const Tensor& o) { return o.impl()->storage == memory; });
    const bool whole = sharing == 1 && t.is_contiguous() && t.nbytes() == memory->bytes;
    const size_t first =
        tensors[size_t(same - tensors.begin())].dtype() == t.dtype() ? size_t(same - tensors.begin()) : parts_.size();
    const Tensor like = whole || t.dtype().format()->is_blocked()
                            ? empty(t.sizes(), t.dtype(), meta)
                            : as_strided(empty({extent(t)}, t.dtype(), meta), t.sizes(), t.strides(), 0);
    parts_.push_back({like, first, memory->bytes, t.impl()->offset, whole});
  }
  size_t i = 0;
  like_ = data::with_each_tensor(batch, [&](const Tensor&) { return parts_[i++].like; });
  batch = {};
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (parts_[k].first != k) continue;
    const int64_t before = memory_stats().total;
    for (size_t j = k; j < tensors.size(); ++j)
      if (parts_[j].first == k) tensors[j] = Tensor();
    const int64_t gone = before - memory_stats().total;
    if (gone <= 0 || unfolded[k]) parts_[k].bytes = 0;
    ahead_ += unfolded[k] ? 0 : gone;
    arrays_ = arrays_ || unfolded[k];
  }
  ahead_ = source.ahead().batches * ahead_ + source.ahead().workers * making_;
}

data::Value Example::blank(int64_t rows) const {
  const CategoryScope scope(Category::data);
  std::vector<Tensor> memory(parts_.size());
  size_t i = 0;
  data::Value made = data::with_each_tensor(like_, [&](const Tensor& t) {
    const Part& p = parts_[i];
    const int64_t bytes = parts_[p.first].bytes;
    Tensor& own = memory[i++];
    if (bytes && p.whole) return own = empty(with_rows(t, rows_, rows), t.dtype(), meta);
    own = p.first + 1 < i ? memory[p.first] : bytes ? empty({bytes / t.dtype().itemsize()}, t.dtype(), meta) : Tensor();
    const Tensor view = bytes ? as_strided(own, t.sizes(), t.strides(), p.offset) : t;
    return rows && t.dim() > 0 && t.size(0) == rows_ ? narrow(view, 0, 0, rows) : view;
  });
  for (const int64_t bytes : {making_ % 4096, making_ - making_ % 4096})  // each a size that the allocator takes as it is
    if (bytes) empty({bytes}, u8, meta);
  return made;
}

data::Value Example::zeros() const {
  const CategoryScope scope(Category::data);
  return data::with_each_tensor(like_, [](const Tensor& t) { return dyadic::v1::zeros(t.sizes(), t.dtype()); });
}

bool Example::like(const data::Value& batch) const {
  size_t i = 0;
  bool same = true;
  for (const Tensor& t : tensors_of(batch)) {
    same = same && i < parts_.size() && t.sizes() == parts_[i].like.sizes() && t.dtype() == parts_[i].like.dtype();
    ++i;
  }
  return same && i == parts_.size();
}

}  // namespace dyadic::inline v1::study
