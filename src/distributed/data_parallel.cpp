#include "dyadic/data_parallel.h"

#include "base/check.h"
#include "distributed/call.h"
#include "distributed/shards.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {
namespace {

using data::Value;

const Tensor* first_tensor(const Value& v) {
  if (v.kind() == Value::Kind::tensor) return &v.tensor();
  if (v.kind() == Value::Kind::list) {
    for (const Value& inside : v.list())
      if (const Tensor* t = first_tensor(inside)) return t;
  } else if (v.kind() == Value::Kind::named) {
    for (auto& [name, inside] : v.named())
      if (const Tensor* t = first_tensor(inside)) return t;
  }
  return nullptr;
}

// What a shard makes, side by side: gradients, floating buffers, whether there was a gradient, the loss, and who asked.
class Flat {
  std::vector<Tensor> params_, buffers_, all_buffers_;  // counts (all but buffers_) are what the last shard makes of them
  int64_t n_ = 0;
  DType dtype_ = f32;
  Device device_ = cpu;

 public:
  explicit Flat(const nn::Module& model) {
    const auto take = [&](const Tensor& t, std::vector<Tensor>& list) {
      DY_CHECK_AS(TypeError, t.dtype().is_floating_point() && !t.dtype().is_scaled(),
                  "DataParallel: parameters and buffers are floats; one is {}", t.dtype().name());
      if (t.dtype() == f64) dtype_ = f64;
      device_ = t.device();
      n_ += t.numel();
      list.push_back(t);
    };
    for (const auto& entry : model.named_parameters())
      if (entry.second.requires_grad()) take(entry.second, params_);
    all_buffers_ = model.buffers();
    for (const Tensor& b : all_buffers_)
      if (b.dtype().is_floating_point() && !b.dtype().is_scaled()) take(b, buffers_);
  }
  int64_t size() const { return n_ + int64_t(params_.size()) + 2; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  std::vector<Tensor> saved_buffers() const {
    std::vector<Tensor> out;
    for (const Tensor& b : all_buffers_) out.push_back(b.clone());
    return out;
  }
  void restore_buffers(const std::vector<Tensor>& saved) const {
    for (size_t i = 0; i < saved.size(); ++i) all_buffers_[i].copy_(saved[i]);
  }

  // Gradients go from the parameters into it.
  Tensor take(double loss, double weight, bool asking) const {
    const CategoryScope scope(Category::gradient);
    Tensor flat = empty({size()}, dtype_, device_);
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
    flat.narrow(0, flag, 1).fill_(loss * weight);
    flat.narrow(0, flag + 1, 1).fill_(asking);
    return flat;
  }
  // The loss; and whether someone asked.
  double give(const Tensor& flat, bool& asked) const {
    const CategoryScope scope(Category::gradient);
    const Tensor rest = flat.narrow(0, n_, size() - n_).to(f64);
    const double* flags = device_.is_meta() ? nullptr : rest.data<double>();
    int64_t at = 0;
    for (size_t i = 0; i < params_.size(); ++i) {
      const Tensor& p = params_[i];
      if (!flags || flags[i] > 0) p.set_grad(flat.narrow(0, at, p.numel()).view(p.sizes()).to(p.dtype()));
      at += p.numel();
    }
    for (const Tensor& b : buffers_) {
      b.copy_(flat.narrow(0, at, b.numel()).view(b.sizes()));
      at += b.numel();
    }
    asked = flags && flags[params_.size() + 1] > 0;
    return flags ? flags[params_.size()] : 0;
  }
};

}  // namespace

Value samples(const Value& batch, int64_t begin, int64_t end) {
  switch (batch.kind()) {
    case Value::Kind::tensor:
      return batch.tensor().dim() ? batch.tensor().narrow(0, begin, end - begin) : batch.tensor();
    case Value::Kind::list: {
      Value::List out;
      for (const Value& v : batch.list()) out.push_back(samples(v, begin, end));
      return out;
    }
    case Value::Kind::named: {
      Value::Named out;
      for (auto& [name, v] : batch.named()) out.emplace_back(name, samples(v, begin, end));
      return out;
    }
    default:
      return batch;
  }
}

int64_t sample_count(const Value& batch) {
  const Tensor* t = first_tensor(batch);
  DY_CHECK_AS(ValueError, t && t->dim() > 0, "DataParallel: the batch {} has no tensor of samples", batch.str());
  return t->size(0);
}

DataParallel::DataParallel(nn::Module& model, Group& group, int64_t shards) : model_(model), group_(group), shards_(shards) {
  DY_CHECK_AS(ValueError, shards >= 1, "DataParallel: {} shards; at least one", shards);
  DY_CHECK_AS(ValueError, shards >= group.size(),
              "DataParallel: {} ranks share {} shards; start at most as many, or cut batches "
              "into more",
              group.size(), shards);
  for (const auto& entry : model.named_parameters())
    if (!entry.second.is_meta()) group.broadcast(entry.second);
  for (const Tensor& b : model.buffers())
    if (!b.is_meta()) group.broadcast(b);
}

double DataParallel::backward(const Value& batch, const data::Callback<Tensor(const Value&)>& loss_of, double scale) {
  constexpr uint64_t kDraws = 1 << 20;  // of random numbers, that a shard may use
  const int64_t n = sample_count(batch);
  DY_CHECK_AS(ValueError, n >= shards_,
              "DataParallel: rank {}: a batch of {} samples is cut into {} shards; make it larger, or "
              "pass fewer shards",
              group_.rank(), n, shards_);
  const Flat layout(model_);
  const std::vector<Tensor> before = layout.saved_buffers();
  const GeneratorState random = generator_state();
  ShardSum sum(group_, shards_, layout.size(), layout.dtype(), layout.device());
  for (int64_t k = sum.first(); k < sum.last(); ++k) {
    if (k > sum.first()) {
      NoGrad guard;
      layout.restore_buffers(before);
    }
    set_generator_state({random.seed, random.calls + uint64_t(k) * kDraws});
    const int64_t begin = even_begin(n, int(k), int(shards_)), end = even_begin(n, int(k) + 1, int(shards_));
    const double weight = double(end - begin) / double(n);
    double value = 0;
    {
      const Tensor loss = loss_of(samples(batch, begin, end));
      if (!loss.is_meta()) value = loss.item();
      (loss * (weight * scale)).backward();
    }
    NoGrad guard;
    sum.add(layout.take(value, weight, asking_ && k == sum.first()));
  }
  set_generator_state({random.seed, random.calls + uint64_t(shards_) * kDraws});
  asking_ = false;
  NoGrad guard;
  return layout.give(sum.sum(), asked_);
}

}  // namespace dyadic::inline v1::distributed
