#include <algorithm>
#include <mutex>

#include "base/check.h"
#include "base/text.h"
#include "corridor/signature.h"
#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

bool has_op(std::string_view name) {
  for (int i = 0; i < kOps; ++i)
    if (name == op_name(Op(i))) return true;
  return false;
}
const Signature& parsed_text(const char* text, const char* result) {
  static std::mutex mutex;
  static std::map<const char*, Signature> all;
  std::lock_guard lock(mutex);
  auto it = all.find(text);
  if (it == all.end()) it = all.emplace(text, parse_signature((std::string(text) + result).c_str())).first;
  return it->second;
}
const Signature& parsed(const LayerDef& def) { return parsed_text(def.sig, " -> Tensor"); }
std::vector<const LayerDef*> every_def() {
  std::vector<const LayerDef*> all;
  for (auto table : {convolution_layers(), pooling_layers(), normalization_layers(), activation_layers(), dropout_layers(),
                     loss_layers(), other_layers(), recurrent_layers(), attention_layers(), transformer_layers()})
    for (const LayerDef& def : table) all.push_back(&def);
  return all;
}
std::string_view name_of(const LayerDef& def) {
  const std::string_view sig = def.sig;
  return sig.substr(0, sig.find('('));
}

}  // namespace

const std::vector<const LayerDef*>& layer_defs() {
  static const std::vector<const LayerDef*> all = [] {
    std::vector<const LayerDef*> defs = every_def();
    std::erase_if(defs, [](const LayerDef* def) { return def->op && !has_op(def->op); });
    return defs;
  }();
  return all;
}
const LayerDef& layer_def(std::string_view name) {
  for (const LayerDef* def : layer_defs())
    if (name_of(*def) == name) return *def;
  std::vector<std::string> names;
  for (const LayerDef* def : layer_defs()) names.emplace_back(name_of(*def));
  fail<ValueError>("Layer: unknown layer \"{}\"; did you mean {}?", name, nearest(name, names));
}

// Arguments and what they point to; how the op's parameters are filled.
struct Layer::State {
  struct Held {
    Arg arg;
    std::vector<int64_t> ints;
    std::string text;
  };
  enum class From : uint8_t { tensor, training, momentum, argument, fallback };
  struct Parameter {
    From from;
    size_t index = 0;
  };
  std::vector<Held> held;
  Op op{};
  bool running = false;            // the op takes running statistics
  std::optional<size_t> in_place;  // the argument of that name
  std::vector<Parameter> plan;

  static bool fits(const dyadic::Parameter& p, Arg::Kind kind) {
    using K = Arg::Kind;
    if (kind == K::none) return true;
    if (p.type == "int") return kind == K::integer;
    if (p.type == "float") return kind == K::real || kind == K::integer;
    if (p.type == "bool") return kind == K::boolean;
    if (p.type == "int[]") return kind == K::ints || kind == K::integer;
    if (p.type == "str") return kind == K::text;
    return true;
  }
  void hold(Held& h, const dyadic::Parameter& p, const Arg& value, int rank, const char* who) {
    DY_CHECK_AS(TypeError, fits(p, value.kind), "{}: {} has the wrong type: it takes {}", who, p.name, p.type);
    h.arg = value;
    switch (value.kind) {
      case Arg::Kind::ints:
        h.ints.assign(value.ints, value.ints + value.n);
        if (rank > 1 && h.ints.size() == 1) h.ints.assign(size_t(rank), h.ints[0]);
        h.arg = IntList(h.ints);
        break;
      case Arg::Kind::text:
        h.text.assign(value.text, value.n);
        h.arg = std::string_view(h.text);
        break;
      case Arg::Kind::integer:
        if (p.type == "float") h.arg = double(value.integer);
        if (p.type == "int[]") {
          h.ints.assign(size_t(std::max(rank, 1)), value.integer);
          h.arg = IntList(h.ints);
        }
        break;
      case Arg::Kind::none:
        DY_CHECK_AS(TypeError, p.optional, "{}: {} is None; it takes {}", who, p.name, p.type);
        break;
      default:
        break;
    }
  }
};

Layer::Layer(const LayerDef& def, std::span<const Arg> args, Options options) : def_(&def), state_(std::make_unique<State>()) {
  read_arguments(args, false);
  if (def.op) plan();
  if (def.make) def.make(*this, options);
}
Layer::Layer(const LayerDef& def, Bare) : def_(&def), state_(std::make_unique<State>()) {
  read_arguments({}, true);
  if (def.op) plan();
}

void Layer::read_arguments(std::span<const Arg> args, bool bare) {
  const LayerDef& def = *def_;
  const Signature& sig = parsed(def);
  State& s = *state_;
  DY_CHECK_AS(TypeError, args.size() <= sig.parameters.size(), "{}: too many arguments: the signature is {}", kind(), def.sig);
  s.held.resize(sig.parameters.size());
  for (size_t i = 0; i < s.held.size(); ++i) {
    const dyadic::Parameter& p = sig.parameters[i];
    if (p.name == "inplace") s.in_place = i;
    if (bare && p.fallback.empty()) continue;
    DY_CHECK_AS(TypeError, i < args.size() || !p.fallback.empty(), "{}: an argument is missing: {}; the signature is {}",
                kind(), p.name, def.sig);
    s.hold(s.held[i], p, i < args.size() ? args[i] : default_argument(p), def.rank, kind());
    if (s.held[i].arg.kind == Arg::Kind::tensor) {
      register_buffer(p.name, *s.held[i].arg.tensor);
      s.held[i].arg = Arg();
    }
  }
}
void Layer::plan() {
  const Signature& sig = parsed(*def_);
  State& s = *state_;
  s.op = find_op(def_->op);
  const Signature& op = dyadic::signature(s.op);
  s.running = std::any_of(op.parameters.begin(), op.parameters.end(), [](auto& p) { return p.name == "running_mean"; });
  for (const dyadic::Parameter& p : op.parameters) {
    auto own = std::find_if(sig.parameters.begin(), sig.parameters.end(), [&](auto& q) { return q.name == p.name; });
    const auto index = size_t(own - sig.parameters.begin());
    using From = State::From;
    const From from = p.type == "Tensor"                                    ? From::tensor
                      : p.name == "training" || p.name == "use_input_stats" ? From::training
                      : p.name == "momentum" && s.running                   ? From::momentum
                      : own != sig.parameters.end()                         ? From::argument
                                                                            : From::fallback;
    s.plan.push_back({from, index});
  }
}
Layer::~Layer() = default;

const char* Layer::kind() const { return parsed(*def_).name.c_str(); }
bool Layer::is_matrix(std::string_view parameter) const {
  return !(def_->op && std::string_view(def_->op).ends_with("_norm")) && Module::is_matrix(parameter);
}
const Signature& Layer::signature() const { return parsed(*def_); }
const Arg& Layer::argument(size_t i) const { return state_->held[i].arg; }
const Arg& Layer::argument(std::string_view name) const {
  const auto& all = signature().parameters;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) {
      check_set(i);
      return argument(i);
    }
  fail<ValueError>("{}: no argument {}", kind(), name);
}
bool Layer::is_set(size_t i) const {
  const dyadic::Parameter& p = signature().parameters[i];
  return argument(i).kind != Arg::Kind::none || p.optional || p.type == "Tensor";
}
void Layer::check_set(size_t i) const {
  if (argument(i).kind == Arg::Kind::none)
    DY_CHECK_AS(TypeError, is_set(i), "{}: {} is not set: the layer was made without arguments; assign it", kind(),
                signature().parameters[i].name);
}
void Layer::set_argument(size_t i, const Arg& value) {
  state_->hold(state_->held[i], signature().parameters[i], value, def_->rank, kind());
}
std::vector<std::string> Layer::input_names() const {
  std::vector<std::string> names;
  if (def_->run) return names;
  const auto& all = dyadic::signature(state_->op).parameters;
  for (size_t i = 0; i < all.size(); ++i)
    if (state_->plan[i].from == State::From::tensor && !tensor(all[i].name) && !all[i].optional)
      names.push_back(all[i].name == "self" ? "input" : all[i].name);
  const std::string_view name = kind();
  if (name == "RMSNorm") names[0] = "x";
  if (name == "PoissonNLLLoss") names[0] = "log_input";
  return names;
}
Tensor* Layer::tensor(std::string_view name) const {
  for (auto* list : {&own_parameters(), &own_buffers(), &computed()})
    for (auto& [key, slot] : *list)
      if (key == name) return slot;
  return nullptr;
}
Tensor Layer::value(std::string_view name) const {
  const Tensor* t = tensor(name);
  return t ? *t : Tensor();
}
Module& Layer::child(std::string_view name) const {
  for (auto& [key, m] : children())
    if (m && key == name) return *m;
  fail<ValueError>("{}: no child {}", kind(), name);
}
Layer& Layer::layer(std::string_view name) const {
  auto* l = dynamic_cast<Layer*>(&child(name));
  DY_CHECK_AS(TypeError, l, "{}: {} is {}; a layer of this library is needed there", kind(), name, child(name).kind());
  return *l;
}
const Signature* Layer::forward_signature() const { return def_->forward ? &parsed_text(def_->forward, "") : nullptr; }

Tensor Layer::hooked_run(std::span<const Tensor> inputs) {
  ModuleScope scope(*this);
  if (!hooked()) return run(inputs);
  return around({inputs.begin(), inputs.end()},
                [this](const std::vector<Tensor>& in) { return std::vector<Tensor>{run(in)}; })[0];
}
Tensor Layer::operator()(const Tensor& a, const Tensor& b) {
  const Tensor inputs[] = {a, b};
  return hooked_run(inputs);
}
Tensor Layer::operator()(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor inputs[] = {a, b, c};
  return hooked_run(inputs);
}

// Hooks see the tensors among the arguments.
std::vector<Tensor> Layer::call_args(std::span<const Arg> args) {
  ModuleScope scope(*this);
  if (!hooked()) return execute(args);
  std::vector<Tensor> tensors;
  for (const Arg& a : args)
    if (a.kind == Arg::Kind::tensor) tensors.push_back(*a.tensor);
  return around(std::move(tensors), [&](const std::vector<Tensor>& in) {
    std::vector<Arg> all(args.begin(), args.end());
    size_t next = 0;
    for (Arg& a : all)
      if (a.kind == Arg::Kind::tensor) a = in.at(next++);
    return execute(all);
  });
}

std::vector<Tensor> Layer::execute(std::span<const Arg> args) {
  const Signature* sig = forward_signature();
  DY_CHECK_AS(TypeError, sig, "{}: its forward takes tensors alone: call it with them", kind());
  const auto& parameters = sig->parameters;
  DY_CHECK_AS(TypeError, args.size() <= parameters.size(), "{}: too many inputs: {} given, it takes {}", kind(), args.size(),
              def_->forward);
  Arg all[kMaxArgs];
  for (size_t i = 0; i < parameters.size(); ++i) {
    all[i] = i < args.size() ? args[i] : default_argument(parameters[i]);
    const bool missing = parameters[i].optional || !parameters[i].fallback.empty() ? false : all[i].kind == Arg::Kind::none;
    DY_CHECK_AS(TypeError, !missing, "{}: an input is missing: {} given, {} is next", kind(), args.size(), parameters[i].name);
  }
  return def_->run(*this, all);
}

Tensor Layer::run(std::span<const Tensor> inputs) {
  if (def_->run) return execute(std::vector<Arg>(inputs.begin(), inputs.end()))[0];
  if (def_->before && !inputs.empty()) def_->before(*this, inputs[0]);
  const State& s = *state_;
  const Signature& op = dyadic::signature(s.op);
  Arg args[kMaxArgs];
  size_t next = 0;
  const bool tracked = value("running_mean").defined();
  for (size_t i = 0; i < s.plan.size(); ++i) {
    const dyadic::Parameter& p = op.parameters[i];
    const State::Parameter& from = s.plan[i];
    switch (from.from) {
      case State::From::tensor:
        if (const Tensor* t = tensor(p.name)) {
          args[i] = *t;
        } else if (next < inputs.size()) {
          args[i] = inputs[next++];
        } else {
          DY_CHECK_AS(TypeError, p.optional, "{}: an input is missing: {} given, {} is next", kind(), inputs.size(), p.name);
        }
        break;
      case State::From::training:
        args[i] = training() || (s.running && !tracked);
        break;
      case State::From::momentum:
        args[i] = argument("momentum");
        if (args[i].kind == Arg::Kind::none)  // the average of all batches
          args[i] = tracked ? 1 / std::max(tensor("num_batches_tracked")->item(), 1.0) : 0.0;
        break;
      case State::From::argument:
        check_set(from.index);
        args[i] = s.held[from.index].arg;
        if (p.type == "Scalar" && args[i].kind == Arg::Kind::real) args[i] = Scalar(args[i].real);
        break;
      default:
        args[i] = default_argument(p);
    }
  }
  DY_CHECK_AS(TypeError, next == inputs.size(), "{}: too many inputs: {} given, it takes {}", kind(), inputs.size(), next);
  Tensor out[kMaxOutputs];
  if (s.in_place && argument(*s.in_place).boolean) {
    call_op_inplace(s.op, args, int(s.plan.size()));
    return inputs[0];
  }
  call_op(s.op, args, int(s.plan.size()), out);
  return out[0];
}

namespace {

std::string shown(const Arg& a) {
  switch (a.kind) {
    case Arg::Kind::integer:
      return fmt::format("{}", a.integer);
    case Arg::Kind::real:
      return fmt::format("{}", a.real);
    case Arg::Kind::boolean:
      return a.boolean ? "True" : "False";
    case Arg::Kind::text:
      return fmt::format("'{}'", std::string_view(a.text, a.n));
    case Arg::Kind::ints:
      return fmt::format("({}{})", fmt::join(a.ints, a.ints + a.n, ", "), a.n == 1 ? "," : "");
    default:
      return "None";
  }
}

}  // namespace

// What is required, then what differs from its default.
std::string Layer::extra_repr() const {
  std::vector<std::string> parts;
  const auto& all = signature().parameters;
  for (size_t i = 0; i < all.size(); ++i) {
    State::Held fallback;
    const bool required = all[i].fallback.empty();
    if (!required) {
      state_->hold(fallback, all[i], default_argument(all[i]), def_->rank, kind());
      if (all[i].type == "Tensor" || shown(argument(i)) == shown(fallback.arg)) continue;
    }
    const bool bare = required && argument(i).kind == Arg::Kind::integer;
    parts.push_back(bare ? shown(argument(i)) : fmt::format("{}={}", all[i].name, shown(argument(i))));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_uniform(Layer& self, const char* name, IntList shape, double bound, Options options) {
  init::uniform_(self.register_parameter(name, make_parameter(shape, options)), -bound, bound);
}
void add_constant(Layer& self, const char* name, IntList shape, double value, Options options) {
  init::constant_(self.register_parameter(name, make_parameter(shape, options)), value);
}

}  // namespace dyadic::inline v1::nn
