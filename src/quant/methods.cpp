// The methods by name, their options, and one matrix by any of them.
#include <cmath>
#include <mutex>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/autograd.h"
#include "formats/format.h"
#include "optim/update.h"
#include "quant/codes.h"
#include "quant/methods.h"
#include "quant_methods.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {

#define DY_METHOD(name) extern const Method name##_method;
DY_QUANT_METHODS(DY_METHOD)

const std::vector<const Method*>& methods() {
#define DY_METHOD_ENTRY(name) &name##_method,
  static const std::vector<const Method*> all = {DY_QUANT_METHODS(DY_METHOD_ENTRY)};
  return all;
}
const Method& method(std::string_view name) {
  std::vector<std::string> names;
  for (const Method* m : methods()) {
    if (m->name() == name) return *m;
    names.push_back(m->name());
  }
  fail<ValueError>("quantize: unknown method \"{}\"; did you mean {}?", name, nearest(name, names));
}

const std::vector<OptionDef>& option_defs(const Method& m) {
  static std::mutex mutex;
  static std::map<const Method*, std::vector<OptionDef>> all;
  const std::lock_guard lock(mutex);
  const auto [it, is_new] = all.try_emplace(&m);
  if (is_new) it->second = optim::read_signature(m.sig);
  return it->second;
}

Options complete(const Method& m, const Options& given) {
  Options out;
  std::vector<std::string> names;
  for (const OptionDef& def : option_defs(m)) {
    names.push_back(def.name);
    const Option* o = given.find(def.name);
    if (o) optim::check_option(m.name(), def, *o);
    out.set(def.name, o ? *o : def.fallback);
  }
  for (auto& [name, value] : given)
    DY_CHECK_AS(ValueError, out.find(name), "{}: it has no option \"{}\"; {}", m.name(), name,
                names.empty() ? "it has none" : fmt::format("did you mean {}?", nearest(name, names)));
  return out;
}

std::string refuses_unencodable(DType format) {
  if (!format.is_scaled()) return fmt::format("{} has no scales; use to()", format.name());
  const Format& f = *format.format();
  return f.can_encode() ? "" : fmt::format("{} cannot be encoded here; use {}", format.name(), f.def->instead);
}
std::string refuses_without_codes(DType format) { return code_map(format) ? "" : why_no_codes(format); }
Tensor to_nearest(const Tensor& weight, DType format) { return weight.to(format); }
std::optional<Result> without_rows(const Task& t, const char* method) {
  constexpr int64_t kFewest = 16;
  if (t.inputs->rows() >= kFewest) return {};
  return Result{to_nearest(t.weight, t.format),
                fmt::format("{} rows of calibration data reached it; {} needs {}", t.inputs->rows(), method, kFewest)};
}

std::vector<DType> formats_served(const Method& m) {
  std::vector<DType> all;
  for (DType d : registered_dtypes())
    if (m.refuses(d).empty()) all.push_back(d);
  return all;
}

namespace {

// A matrix, its inputs and everything else checked.
struct Checked {
  Tensor weight;
  Inputs inputs;
  Options options;
};
Checked check(const Method& m, const Tensor& weight, const Tensor& inputs, DType format, const Options& options) {
  const std::string name = m.name();
  DY_CHECK_AS(ValueError, weight.dim() == 2 && weight.numel() > 0 && weight.dtype().is_floating_point(),
              "{}: it takes a matrix of floats [out, in]: weight is {}", name, describe(weight));
  const std::string refusal = m.refuses(format);
  DY_CHECK_AS(ValueError, refusal.empty(), "{}: it does not serve {}: {}", name, format.name(), refusal);
  Checked c{weight.detach().to(f32).contiguous(), {}, complete(m, options)};
  DY_CHECK_AS(ValueError, all(isfinite(c.weight)).item<bool>(), "{}: weight has NaN or infinities: it is {}", name,
              describe(weight));
  DY_CHECK_AS(ValueError, inputs.defined() || !m.needs_inputs, "{}: it needs inputs [rows, {}] of the weight: give some", name,
              weight.size(1));
  if (!inputs.defined()) return c;
  DY_CHECK_AS(ValueError, inputs.dim() >= 1 && inputs.size(-1) == weight.size(1) && inputs.numel() > 0,
              "{}: inputs are rows of the weight's width: weight is {}, inputs is {}", name, describe(weight),
              describe(inputs));
  c.inputs.add(inputs);
  return c;
}

}  // namespace

Scaled quantize_scaled(const Method& m, const Tensor& weight, const Tensor& inputs, DType format, const Options& options) {
  const NoGrad guard;
  const Checked c = check(m, weight, inputs, format, options);
  const Inputs* known = c.inputs.rows() ? &c.inputs : nullptr;
  const Task task{"weight", c.weight, known, format, c.options};
  if (!m.input_scale) return {m.run(task).weight, ones({c.weight.size(1)})};
  const Tensor scale = m.input_scale(task);
  const Inputs scaled = known ? c.inputs.divided_by(scale) : Inputs();
  return {m.run({task.name, c.weight * scale, known ? &scaled : nullptr, format, c.options}).weight, scale};
}
Result quantize_matrix(const Method& m, const Tensor& weight, const Tensor& inputs, DType format, const Options& options) {
  const NoGrad guard;
  const Checked c = check(m, weight, inputs, format, options);
  return m.run({"weight", c.weight, c.inputs.rows() ? &c.inputs : nullptr, format, c.options});
}

}  // namespace dyadic::inline v1::quant
