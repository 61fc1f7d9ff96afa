// Which parameters scaled formats are for, and a module's dtypes.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "dyadic/nn.h"
#include "formats/format.h"
#include "nn/stored.h"
#include "tensor/impl.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::nn {
namespace {

struct Stored {
  std::string name;
  Tensor weight;
  bool filters;
};

// Elements that share no scale with those before and behind them: of the last dimension, or of all dimensions but the first,
// for filters and for formats whose blocks run on through storage order.
int64_t row_of(const Tensor& t, const Format& f, bool filters) {
  if (f.params.granularity != Granularity::flat && !filters) return t.size(-1);
  return t.size(0) ? t.numel() / t.size(0) : 0;
}
bool gains(const Tensor& t, DType format, bool filters) {
  const Format& f = *format.format();
  return t.dim() >= 2 && (t.dtype().is_floating_point() || t.dtype().is_scaled()) &&
         row_of(t, f, filters) >= std::max(f.params.block, 1) && row_of(t, f, filters) % f.row_step() == 0;
}
void collect(const Module& m, const std::string& prefix, DType format, bool whole_filters, std::set<TensorImpl*>& seen,
             std::vector<Stored>& all) {
  const bool filters = whole_filters && rows_are_filters(m);
  for (auto& [name, slot] : m.own_parameters())
    if (slot->defined() && m.is_matrix(name) && gains(*slot, format, filters) && seen.insert(slot->impl()).second)
      all.push_back({prefix + name, *slot, filters});
  for (auto& [name, child] : m.children())
    if (child) collect(*child, prefix + name + ".", format, whole_filters, seen, all);
}

void convert(const Tensor& t, DType dtype, bool filters = false) {
  if (t.dtype() == dtype) return;
  CategoryScope scope(Category::parameter);
  store(t, in_format(t.detach(), dtype, filters));
}

std::vector<Stored> collect(const Module& m, DType format, bool whole_filters) {
  DY_CHECK_AS(TypeError, format.is_scaled(), "quantizable: {} has no scales: any parameter can be stored in it", format.name());
  std::vector<Stored> all;
  std::set<TensorImpl*> seen;
  collect(m, "", format, whole_filters, seen, all);
  return all;
}

}  // namespace

bool rows_are_filters(const Module& m) { return std::string_view(m.kind()).starts_with("Conv"); }
Tensor in_format(const Tensor& weight, DType format, bool filters) {
  if (!filters || weight.dim() <= 2 || !format.is_scaled()) return dyadic::to(weight, format);
  return dyadic::to(weight.reshape({weight.size(0), -1}), format).view(weight.sizes());
}

void store(Tensor t, const Tensor& value) {
  if (value.dtype().is_scaled()) t.requires_grad_(false);
  const Tensor gradient = t.grad();
  t.set_grad({});
  become_view(t, value);
  if (gradient.defined() && !value.dtype().is_scaled()) t.set_grad(dyadic::to(gradient.to(value.device()), value.dtype()));
}

bool Module::is_matrix(std::string_view parameter) const { return parameter.find("weight") != parameter.npos; }

namespace {

NamedItems<Tensor> named(std::vector<Stored> stored) {
  NamedItems<Tensor> all;
  for (Stored& s : stored) all.emplace_back(std::move(s.name), s.weight);
  return all;
}

}  // namespace

NamedItems<Tensor> quantizable(const Module& m, DType format) { return named(collect(m, format, false)); }
NamedItems<Tensor> storable(const Module& m, DType format) { return named(collect(m, format, true)); }

Module& Module::to(DType dtype, bool) {
  NoGrad guard;
  if (dtype.is_scaled()) {
    const std::vector<Stored> stored = collect(*this, dtype, true);
    const NamedItems<Tensor> mine = named_parameters();
    DY_CHECK_AS(
        ValueError, !stored.empty() || mine.empty(),
        "{}: nothing here gains from {}: it is for weights that products or lookups read, of rows with at least {} elements "
        "and a multiple of {}; {} is {}",
        kind(), dtype.name(), std::max(dtype.format()->params.block, 1), dtype.format()->row_step(), mine[0].first,
        describe(mine[0].second));
    for (const Stored& s : stored) convert(s.weight, dtype, s.filters);
    return *this;
  }
  DY_CHECK_AS(TypeError, dtype.is_floating_point() || dtype.is_complex(),
              "{}: to: parameters are floating-point or complex numbers, or in a scaled format: dtype is {}", kind(),
              dtype.name());
  for (auto& [path, module] : named_modules())
    for (auto* list : {&module->parameters_, &module->buffers_})
      for (auto& [name, slot] : *list)
        if (slot->defined() && (slot->dtype().is_floating_point() || slot->dtype().is_scaled())) convert(*slot, dtype);
  return *this;
}

Module& Module::to(Device device, bool) {
  NoGrad guard;
  CategoryScope scope(Category::parameter);
  for (auto& [path, module] : named_modules())
    for (auto* list : {&module->parameters_, &module->buffers_})
      for (auto& [name, slot] : *list) {
        if (!slot->defined() || slot->device() == device) continue;
        DY_CHECK(!slot->is_meta() && !device.is_meta(), "{}: it stays where it was made: a parameter is on {}, not {}", kind(),
                 slot->device().name(), device.name());
        store(*slot, slot->detach().to(device));
      }
  return *this;
}

}  // namespace dyadic::inline v1::nn
