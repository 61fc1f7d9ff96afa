#include "quant/quantizer.h"

#include "base/check.h"
#include "dyadic/autograd.h"
#include "nn/stored.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

Tensor* slot_of(nn::Module& m, const std::string& name) {
  for (auto& [own, slot] : m.own_parameters())
    if (own == name) return slot;
  return nullptr;
}

class Around : public nn::Hook {
  Quantizer& quantizer_;  // a child of the module, as long as this is its hook

 public:
  explicit Around(Quantizer& q) : quantizer_(q) {}
  void before(nn::Module& m, std::vector<Tensor>& inputs) override {
    const Tensor x = quantizer_.enter(m, inputs.empty() ? Tensor() : inputs[0]);
    if (!inputs.empty()) inputs[0] = x;
  }
  void after(nn::Module& m, const std::vector<Tensor>&, std::vector<Tensor>&) override { quantizer_.leave(m); }
};

}  // namespace

Quantizer::Quantizer(DType activations, bool learned) : activations_(activations), learned_(learned) {
  if (!can_be_static()) return;
  input_scale_ = zeros({});
  if (learned)
    add_parameter("input_scale", input_scale_.requires_grad_());
  else
    add_buffer("input_scale", input_scale_);
  if (integer_codes(activations_)->zero) add_buffer("input_zero", input_zero_ = zeros({}));
}

// One scale for all, of integers: those of rows are what each row is.
bool Quantizer::can_be_static() const {
  return activations_ && activations_.format()->params.granularity == Granularity::tensor && integer_codes(activations_);
}

void Quantizer::add_weight(const std::string& name, const Tensor& weight, DType format, bool filters, const Tensor* like) {
  Part& part = *parts_.emplace_back(new Part{name, format, filters, {}, {}});
  if (!learned_) return;
  part.scale = like ? *like : first_scales(weight, format, filters).requires_grad_();
  add_parameter(name + "_scale", part.scale);
}
const Tensor* Quantizer::scale_of(const std::string& name) const {
  for (auto& part : parts_)
    if (part->name == name && part->scale.defined()) return &part->scale;
  return nullptr;
}

Tensor Quantizer::Part::seen(const Tensor& w) const {
  return scale.defined() ? through_scales(w, scale, format, filters) : through_format(w, format, filters);
}
Tensor Quantizer::Part::stored(const Tensor& w) const {
  return scale.defined() ? stored_with_scales(w, scale, format, filters) : nn::in_format(w.detach(), format, filters);
}

Tensor Quantizer::enter(nn::Module& m, const Tensor& x) {
  for (auto& part : parts_) {
    Tensor* slot = slot_of(m, part->name);
    DY_CHECK(slot, "quantizer: {} has no parameter {} any more", m.kind(), part->name);
    if (part->kept.defined()) *slot = part->kept;  // the forward before failed
    part->kept = *slot;
    *slot = part->seen(part->kept);
  }
  if (!x.defined() || !activations_ || !x.dtype().is_floating_point()) return x;
  if (observed_) {
    observed_->add(x, calibration_);
    return x;
  }
  return rounded(x);
}
void Quantizer::leave(nn::Module& m) {
  for (auto& part : parts_)
    if (part->kept.defined()) *slot_of(m, part->name) = std::exchange(part->kept, {});
}

Tensor Quantizer::rounded(const Tensor& x) const {
  if (!input_scale_.defined() || input_scale_.detach().item() == 0) {
    return straight_through(round_inputs(x.detach(), activations_), x);
  }
  const double zero = input_zero_.defined() ? double(input_zero_.item()) : 0;
  return through_scale(x, input_scale_, zero, *integer_codes(activations_));
}

void Quantizer::set_range(double low, double high, RangeReport& report) {
  const NoGrad guard;
  const Grid g = grid_of(low, high, *integer_codes(activations_));
  input_scale_.detach().fill_(g.scale);
  if (input_zero_.defined()) input_zero_.fill_(double(g.zero));
  report.low = low, report.high = high, report.scale = g.scale, report.zero = g.zero;
}

void Quantizer::freeze() {
  for (auto& part : parts_)
    if (part->scale.defined()) remove(part->name + "_scale");
  parts_.clear();
  if (input_scale_.defined()) input_scale_.requires_grad_(false);
}

void Quantizer::watch(nn::Module& m) { m.add_hook(hook_ = std::make_shared<Around>(*this)); }
void Quantizer::unwatch(nn::Module& m) {
  if (hook_) m.remove_hook(hook_.get());
  hook_.reset();
}

std::string Quantizer::extra_repr() const {
  std::string text;
  for (auto& part : parts_) text += fmt::format("{}: {}, ", part->name, part->format.name());
  if (activations_) text += fmt::format("inputs: {}, ", activations_.name());
  return text.substr(0, text.empty() ? 0 : text.size() - 2);
}

Quantizer* quantizer_of(nn::Module& m) {
  for (auto& [name, child] : m.children())
    if (name == kQuantizer) return dynamic_cast<Quantizer*>(child);
  return nullptr;
}

}  // namespace dyadic::inline v1::quant
