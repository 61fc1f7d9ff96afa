// vmap. The tape records calls with one entry; a gradient that comes out of a vmap to what stands outside is summed over the
// entries, one that is asked for inside (per-sample gradients) is not.
#include "autograd/batches.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/check.h"
#include "corridor/batching.h"
#include "corridor/tape.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

std::atomic<uint64_t> g_levels{1};

// Dimension `from` at `to`, without a history.
Tensor moved(const Tensor& t, int64_t from, int64_t to) {
  std::vector<int64_t> sizes = t.sizes().vec(), strides = t.strides().vec();
  const auto move = [&](std::vector<int64_t>& v) {
    const int64_t x = v[size_t(from)];
    v.erase(v.begin() + from);
    v.insert(v.begin() + to, x);
  };
  move(sizes), move(strides);
  return make_view(t, sizes, strides, t.storage_offset());
}

// `result` is x in another form; back(gradient) brings its gradient into that of x.
template <class F> Tensor with_history(const char* name, const Tensor& x, Tensor result, F back) {
  if (!GradMode::enabled() || !x.requires_grad()) return result;
  NodeExtra function;
  function.name = name;
  function.backward = [back](std::span<const Tensor> g) { return std::vector<Tensor>{back(g[0])}; };
  std::vector<Tensor> out = {std::move(result)};
  record_function({&x, 1}, out, std::move(function));
  return out[0];
}

}  // namespace

Tensor enter_batch(const Tensor& x, int64_t dim, const LevelPtr& level) {
  Tensor entry = make_batched(moved(x, dim, 0), level);
  entry.impl()->flags |= kOneOfMany;
  return with_history("vmap_enter", x, std::move(entry), [dim, level](const Tensor& g) { return leave_batch(g, dim, level); });
}

Tensor leave_batch(const Tensor& t, int64_t dim, const LevelPtr& level) {
  if (!entries_at(t, *level)) {
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.insert(sizes.begin() + dim, level->size);
    return expand(unsqueeze(t, dim), sizes);
  }
  return with_history("vmap_leave", t, moved(whole_of(t), 0, dim),
                      [dim, level](const Tensor& g) { return enter_batch(g, dim, level); });
}

static bool differs_at(const Storage* s, const BatchLevel& level) {
  for (const Batch* b = s ? entries_of(*s) : nullptr; b; b = entries_of(b->memory))
    if (b->level->number == level.number) return true;
  return false;
}

Tensor outside_gradient(Tensor g, uint64_t since, const Storage* target) {
  for (const Batch* b = entries_of(g); b && !b->level->active && since < b->level->start; b = entries_of(g)) {
    if (differs_at(target, *b->level)) break;
    const LevelPtr level = b->level;
    g = sum(leave_batch(g, 0, level), {0});
  }
  return g;
}

Tensor as_many(const Tensor& g, const Tensor& t) {
  const Batch* b = entries_of(t);
  return !b || entries_at(g, *b->level) ? g : mul(g, ones_like(t.detach(), g.dtype()));
}

Entries::Entries(int64_t count, Randomness randomness) : level_(std::make_shared<BatchLevel>()) {
  DY_CHECK_AS(ValueError, count >= 0, "vmap: {} entries", count);
  level_->number = g_levels.fetch_add(1, std::memory_order_relaxed);
  level_->size = count;
  level_->randomness = randomness;
  level_->start = tape_position();
  level_->outer = t_batch_level;
  t_batch_level = level_.get();
}
void Entries::end() {
  if (!level_ || !level_->active) return;
  level_->active = false;
  t_batch_level = level_->outer;
}
Tensor Entries::enter(const Tensor& x, int64_t dim) const {
  DY_CHECK_AS(ValueError, x.dim() > 0 && dim >= -x.dim() && dim < x.dim(), "vmap: in_dims is {} for a tensor of {} dimensions",
              dim, x.dim());
  dim = wrap_dim("vmap", dim, x.dim());
  DY_CHECK_AS(ValueError, x.size(dim) == level_->size, "vmap: {} has {} entries along dimension {}; there are {}", describe(x),
              x.size(dim), dim, level_->size);
  return enter_batch(x, dim, level_);
}
Tensor Entries::leave(const Tensor& t, int64_t dim) const {
  DY_CHECK_AS(IndexError, dim >= -t.dim() - 1 && dim <= t.dim(), "vmap: out_dims is {} for a result of {} dimensions", dim,
              t.dim());
  return leave_batch(t, dim < 0 ? dim + t.dim() + 1 : dim, level_);
}
bool Entries::holds(const Tensor& t) const { return entries_at(t, *level_); }

std::vector<Tensor> vmap(TensorFunction f, std::span<const Tensor> inputs, IntList in_dims, IntList out_dims,
                         Randomness randomness) {
  const auto dim_of = [](IntList dims, size_t i) { return i < dims.size() ? dims[i] : 0; };
  int64_t count = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t dim = dim_of(in_dims, i);
    if (dim == kShared) continue;
    DY_CHECK_AS(ValueError, dim >= -inputs[i].dim() && dim < inputs[i].dim(),
                "vmap: in_dims is {} for a tensor of {} dimensions", dim, inputs[i].dim());
    if (count < 0) count = inputs[i].size(dim);
  }
  DY_CHECK_AS(ValueError, count >= 0, "vmap: the mapped dimensions are of no tensor");
  Entries entries(count, randomness);
  std::vector<Tensor> x(inputs.begin(), inputs.end());
  for (size_t i = 0; i < x.size(); ++i)
    if (const int64_t dim = dim_of(in_dims, i); dim != kShared) x[i] = entries.enter(x[i], dim);
  std::vector<Tensor> y = f(x);
  entries.end();
  for (size_t i = 0; i < y.size(); ++i) y[i] = entries.leave(y[i], dim_of(out_dims, i));
  return y;
}

}  // namespace dyadic::inline v1
