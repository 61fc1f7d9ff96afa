// The calls of an op: what its record gives, and what follows from its signature.
#include <map>
#include <mutex>

#include "dyadic/counters.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

using Kind = Case::Kind;

std::string tensor_text(const char* maker, const std::vector<int64_t>& shape) {
  return fmt::format("{}({})", maker, fmt::join(shape, ", "));
}

// A pointwise call on tensors of the given shapes (the last serves for the inputs that are left). Scalars without a default are
// -0.5, 0.75 ...: in order, which clamp wants.
std::string pointwise_call(const Signature& sig, const char* maker, const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<std::string> args;
  size_t tensors = 0;
  double scalar = -0.5;
  for (const Parameter& p : sig.parameters) {
    if (p.type == "Tensor") {
      args.push_back(tensor_text(maker, shapes[std::min(tensors++, shapes.size() - 1)]));
    } else {
      args.push_back(p.fallback.empty() ? fmt::format("{}", scalar) : p.fallback);
      scalar += 1.25;
    }
  }
  return fmt::format("{}({})", sig.name, fmt::join(args, ", "));
}

// Two dimensions, long enough for the kernels' vectors and for an odd rest.
constexpr int64_t kRows = 3, kCols = 131;

void add_pointwise(Op op, std::vector<Case>& out) {
  const Signature& sig = signature(op);
  int64_t inputs = 0;
  for (const Parameter& p : sig.parameters) inputs += p.type == "Tensor";
  auto add = [&](Kind kind, const char* maker, const std::vector<std::vector<int64_t>>& shapes) {
    out.push_back({kind, parse_sample(pointwise_call(sig, maker, shapes))});
  };
  add(Kind::plain, "rand", {{2, 3}});
  add(Kind::plain, "rand", {{kRows, kCols}});
  add(Kind::ties, "steps", {{5, 7}});
  add(Kind::special, "rand", {{8, 21}});
  add(Kind::empty, "rand", {{}});
  add(Kind::empty, "rand", {{0}});
  add(Kind::empty, "rand", {{2, 0, 3}});
  if (inputs < 2) return;
  add(Kind::broadcast, "rand", {{3, 1}, {1, 5}});
  add(Kind::broadcast, "rand", {{5}, {2, 3, 5}});
  add(Kind::broadcast, "rand", {{}, {4}});
  add(Kind::broadcast, "rand", {{2, 1, 3}, {}});
  add(Kind::empty, "rand", {{0}, {1}});
  add(Kind::empty, "rand", {{3, 1}, {0}});
}

bool is_reduction(const Signature& sig) {
  bool dim = false, keepdim = false, defaults = true;
  for (const Parameter& p : sig.parameters) {
    dim |= p.name == "dim", keepdim |= p.name == "keepdim";
    if (p.name != "dim" && p.name != "keepdim" && p.name != "self") defaults &= !p.fallback.empty();
  }
  return dim && keepdim && defaults && sig.parameters[0].type == "Tensor";
}

void add_reduction(Op op, std::vector<Case>& out) {
  const Signature& sig = signature(op);
  auto add = [&](Kind kind, const char* maker, const std::vector<int64_t>& shape, const std::vector<int64_t>& dims,
                 bool keepdim) {
    std::vector<std::string> args;
    for (const Parameter& p : sig.parameters) {
      if (p.type == "Tensor")
        args.push_back(tensor_text(maker, shape));
      else if (p.name == "keepdim")
        args.emplace_back(keepdim ? "True" : "False");
      else if (p.name != "dim")
        args.push_back(p.fallback);
      else if (dims.empty() && p.optional)
        args.emplace_back("None");
      else if (dims.empty() && p.type == "int")
        return;  // it takes one dimension
      else if (p.type == "int")
        args.push_back(std::to_string(dims.empty() ? 0 : dims[0]));
      else
        args.push_back(fmt::format("[{}]", fmt::join(dims, ", ")));
    }
    out.push_back({kind, parse_sample(fmt::format("{}({})", sig.name, fmt::join(args, ", ")))});
  };
  add(Kind::plain, "rand", {3, 4}, {}, false);
  add(Kind::plain, "rand", {3, 4}, {1}, true);
  add(Kind::plain, "rand", {2, 3, 4}, {-2}, false);
  add(Kind::plain, "rand", {2, 3, 4}, {0, 2}, true);
  add(Kind::plain, "rand", {kRows, kCols}, {0}, false);
  add(Kind::plain, "rand", {kRows, kCols}, {1}, false);
  add(Kind::plain, "rand", {1, 1}, {1}, false);
  add(Kind::ties, "steps", {5, 7}, {1}, false);
  add(Kind::special, "rand", {21, 8}, {1}, false);
  add(Kind::empty, "rand", {}, {}, false);
  add(Kind::empty, "rand", {}, {0}, true);
  add(Kind::empty, "rand", {0}, {}, false);
  add(Kind::empty, "rand", {2, 0}, {1}, false);
  add(Kind::empty, "rand", {0, 2}, {1}, true);
}

void scale(Value& v, int64_t by) {
  auto grow = [by](int64_t& n) { n *= n > 1 ? by : 1; };
  for (int64_t& s : v.shape) grow(s);
  grow(v.classes);
  if (v.kind == Value::Kind::integer) grow(v.integer), v.real = double(v.integer);
  for (Value& inner : v.list) scale(inner, by);
}

}  // namespace

const std::vector<Case>& cases(Op op) {
  static std::mutex mutex;
  static std::map<Op, std::vector<Case>> all;
  std::lock_guard lock(mutex);
  auto [it, fresh] = all.try_emplace(op);
  if (!fresh) return it->second;
  const OpDef& def = op_def(op);
  for (const std::string& line : lines_of(def.samples)) {
    Case c{Kind::plain, parse_sample(line)};
    DY_CHECK(c.sample.op == op, "sample \"{}\" stands in the record of {}", line, op_name(op));
    for (const Value* v : tensor_values(c.sample)) {
      int64_t n = 1;
      for (int64_t s : v->shape) n *= s;
      if (n == 0 || v->shape.empty()) c.kind = Kind::empty;
    }
    it->second.push_back(std::move(c));
  }
  if (def.kind == OpKind::pointwise) add_pointwise(op, it->second);
  if (is_reduction(signature(op))) add_reduction(op, it->second);
  return it->second;
}

namespace {

// What a call computes, by a dry run; 0 where that needs values.
double flops_of(const Case& c) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : make_inputs(c, f32)) inputs.push_back(t.to(meta));
  Counting::clear();
  {
    Counting counting;
    run(c, inputs);
  }
  const double flops = Counting::flops();
  Counting::clear();
  return flops;
}

// Numbers that are sizes grow with the tensors; axes, counts of things and values don't.
Case grown(Case c, const Signature& sig, int64_t by) {
  for (size_t i = 0; i < c.sample.args.size(); ++i) {
    const std::string& name = sig.parameters[i].name;
    const bool size = name == "normalized_shape" || name == "normalized" || name == "num_weights";
    Value& v = c.sample.args[i];
    if (size || v.kind == Value::Kind::tensor || sig.parameters[i].type == "Tensor[]") scale(v, by);
  }
  return c;
}

}  // namespace

std::vector<Case> large_cases(Op op) {
  std::vector<Case> out;
  const Signature& sig = signature(op);
  for (Case c : cases(op)) {
    if (c.kind != Kind::plain) continue;  // broadcasting makes results of the product of the sizes
    double elements = 1;
    size_t dims = 1;
    for (const Value* v : tensor_values(c.sample)) {
      double n = 1;
      size_t wide = 0;
      for (int64_t s : v->shape) n *= double(s), wide += s > 1;
      elements = std::max(elements, n);
      dims = std::max(dims, wide);
    }
    constexpr double kElements = 150'000;
    NoGrad guard;
    constexpr double kFlops = 2e7;  // some convolutions would take the suite seconds
    auto by = int64_t(std::pow(kElements / elements, 1.0 / double(dims)));
    Case large = grown(c, sig, by);
    while (by > 2 && flops_of(large) > kFlops) large = grown(c, sig, by = by * 3 / 4);
    c = std::move(large);
    constexpr int64_t kMostBytes = int64_t(32) << 20;  // a result of the sizes' product would take the suite seconds
    set_memory_limit(memory_allocated() + kMostBytes);
    if (!run(c, make_inputs(c, f32)).failed()) out.push_back(std::move(c));
    set_memory_limit(0);
  }
  return out;
}

}  // namespace dyadic::op_suite
