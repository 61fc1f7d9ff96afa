// x[...] for every kind of index, from C++ and Python: which views, index tensors and masks it is made of.
//
// Note [Advanced indexing]: numbers, slices and new axes make views, as if they stood alone. Integer tensors index the
// dimension they stand at, masks as many dimensions as they have, a bool none (it adds one of size 1 or 0). The tensors are
// broadcast; their shape takes the place of the dimensions they index if those are neighbours, else it comes first. A 0-d
// integer tensor is a number. As in PyTorch a number among tensors is applied first (numpy broadcasts it with them).
#include "ops/index/indexed.h"
#include "tensor/batched.h"

namespace dyadic::inline v1 {
namespace ops {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == boolean || t.dtype() == u8; }

bool is_number(const Index& i) {
  return i.kind == Index::Kind::tensor && i.tensor.dim() == 0 && i.tensor.dtype().is_integer() && !is_mask(i.tensor);
}

int64_t dims_of(const Index& i) {
  switch (i.kind) {
    case Index::Kind::at:
    case Index::Kind::slice:
      return 1;
    case Index::Kind::tensor:
      return is_mask(i.tensor) ? i.tensor.dim() : 1;
    default:
      return 0;
  }
}

// What is left of a key once its views are taken.
struct Target {
  Tensor view;
  std::vector<Tensor> indices;
  std::vector<int64_t> dims;
};

class Resolver {
  Target& t_;
  bool merge_;  // masks of several dimensions may index them merged into one
  int64_t d_ = 0;

 public:
  Resolver(Target& t, bool merge) : t_(t), merge_(merge) {}

  void add(const Index& i, int64_t skipped) {
    switch (i.kind) {
      case Index::Kind::at:
        t_.view = select(t_.view, d_, i.i);
        break;
      case Index::Kind::new_axis:
        t_.view = unsqueeze(t_.view, d_++);
        break;
      case Index::Kind::ellipsis:
        d_ += skipped;
        break;
      case Index::Kind::slice:
        slice_at(i.slice);
        break;
      case Index::Kind::boolean:
        boolean_at(i.i != 0);
        break;
      default:
        tensor_at(i);
    }
  }

 private:
  void slice_at(const Slice& s) {
    auto bound = [](int64_t v) { return v == kNone ? std::nullopt : std::optional(v); };
    if (s.start != kNone || s.stop != kNone || s.step != 1) t_.view = slice(t_.view, d_, bound(s.start), bound(s.stop), s.step);
    ++d_;
  }
  void push(Tensor positions) {
    t_.indices.push_back(std::move(positions));
    t_.dims.push_back(d_++);
  }
  void boolean_at(bool on) {
    t_.view = unsqueeze(t_.view, d_);
    push(zeros({on ? 1 : 0}, i64, t_.view.device()));
  }
  void tensor_at(const Index& i) {
    const Tensor& index = i.tensor;
    DY_CHECK_AS(IndexError, index.dtype().is_integer() || index.dtype() == boolean,
                "index: index tensors are integers or masks: one is {}; convert with .to(i64)", describe(index));
    if (is_number(i) && !entries_of(index)) {
      t_.view = select(t_.view, d_, index.item_scalar().integer());
    } else if (!is_mask(index)) {
      push(contiguous(to(index, i64)));
    } else if (index.dim() == 0) {
      boolean_at(index.item_scalar().integer() != 0);
    } else {
      mask_at(index);
    }
  }
  void mask_at(const Tensor& mask) {
    const int64_t m = mask.dim();
    bool fits = true;
    for (int64_t k = 0; fits && k < m; ++k) fits = mask.size(k) == t_.view.size(d_ + k);
    DY_CHECK_AS(IndexError, fits, "index: the mask does not fit: it is {}, at dimension {} of {}", describe(mask), d_,
                describe(t_.view));
    std::vector<int64_t> sizes = t_.view.sizes().vec();
    sizes.erase(sizes.begin() + d_, sizes.begin() + d_ + m);
    sizes.insert(sizes.begin() + d_, mask.numel());
    if (m > 1 && merge_ && can_view(t_.view, sizes)) {
      t_.view = view(t_.view, sizes);
      push(reshape(nonzero(reshape(mask, {-1})), {-1}));
      return;
    }
    const Tensor rows = nonzero(mask);
    for (int64_t k = 0; k < m; ++k) push(contiguous(select(rows, 1, k)));
  }
};

Target resolve(const Tensor& self, std::span<const Index> key, bool merge) {
  int64_t used = 0, ellipses = 0;
  for (const Index& i : key) {
    used += dims_of(i);
    ellipses += i.kind == Index::Kind::ellipsis;
  }
  DY_CHECK_AS(IndexError, used <= self.dim(), "index: too many indices: {} for {}", used, describe(self));
  DY_CHECK_AS(IndexError, ellipses <= 1, "index: at most one ... is possible: {} given", ellipses);
  Target t;
  t.view = self;
  Resolver resolver(t, merge);
  for (const Index& i : key) resolver.add(i, self.dim() - used);
  return t;
}

// The values that are written: of the target's dtype and device, without leading dimensions of size 1 beyond `ndim`.
Tensor fit_values(const Tensor& values, const Tensor& target, int64_t ndim) {
  Tensor v = values.dtype() == target.dtype() ? values : to(values, plain(target));
  while (v.dim() > ndim && v.size(0) == 1) v = select(v, 0, 0);
  return v;
}
int64_t result_dims(const Target& t) {
  int64_t most = 0;
  for (const Tensor& i : t.indices) most = std::max(most, i.dim());
  return t.view.dim() - int64_t(t.dims.size()) + most;
}

}  // namespace

Tensor with_indexed(const Tensor& self, std::span<const Index> key, const Tensor& values, bool accumulate) {
  const Target t = resolve(self, key, false);
  return call(Op::index_write_, t.view, fit_values(values, t.view, result_dims(t)), std::span<const Tensor>(t.indices),
              IntList(t.dims), accumulate);
}

}  // namespace ops

Tensor index(const Tensor& self, std::span<const Index> key) {
  if (key.size() == 1 && key[0].kind == Index::Kind::tensor && key[0].tensor.dtype() == boolean &&
      key[0].tensor.sizes() == self.sizes() && self.dim() > 0)
    return masked_select(self, key[0].tensor);
  const ops::Target t = ops::resolve(self, key, true);
  if (t.indices.empty()) return t.view;
  return call(Op::index_, t.view, std::span<const Tensor>(t.indices), IntList(t.dims));
}

void index_put_(const Tensor& self, std::span<const Index> key, const Tensor& values, bool accumulate) {
  const bool recorded = GradMode::enabled() && (self.requires_grad() || values.requires_grad());
  const ops::Target t = ops::resolve(self, key, !recorded);
  if (t.indices.empty()) {
    const Tensor source = ops::fit_values(values, t.view, t.view.dim());
    if (accumulate)
      t.view.add_(source);
    else if (!same_elements(t.view, source))  // x[i] += y ends here: it has been written
      t.view.copy_(source);
    return;
  }
  const Tensor source = ops::fit_values(values, t.view, ops::result_dims(t));
  call_inplace(Op::index_write_, t.view, source, std::span<const Tensor>(t.indices), IntList(t.dims), accumulate);
}

}  // namespace dyadic::inline v1
