// Reading the language, and turning a call into a frame by its signature.
#include <cctype>
#include <charconv>

#include "dyadic/ops.h"
#include "tests/op_suite/language.h"

namespace dyadic::op_suite {
namespace {

class Parser {
  std::string_view all_, rest_;

 public:
  explicit Parser(std::string_view line) : all_(line), rest_(line) {}

  Sample call() {
    Sample s;
    s.line = std::string(all_);
    s.op = find_op(word());
    expect('(');
    if (peek() != ')') do
        s.args.push_back(value());
      while (take(','));
    expect(')');
    if (!rest_.empty()) wrong("nothing more");
    return s;
  }

 private:
  [[noreturn]] void wrong(const char* expected) const { fail("sample \"{}\": expected {} at \"{}\"", all_, expected, rest_); }
  char peek() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    peek();
    return true;
  }
  void expect(char c) {
    const char text[] = {c, '\0'};
    if (!take(c)) wrong(text);
  }
  std::string_view word() {
    peek();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    if (n == 0) wrong("a name");
    std::string_view w = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return w;
  }
  Value number() {
    Value v;
    size_t n = rest_.find_first_not_of("+-.0123456789eE");
    std::string_view text = rest_.substr(0, n);
    const bool real = text.find_first_of(".eE") != text.npos;
    v.kind = real ? Value::Kind::real : Value::Kind::integer;
    auto done = real ? std::from_chars(text.data(), text.data() + text.size(), v.real)
                     : std::from_chars(text.data(), text.data() + text.size(), v.integer);
    if (done.ec != std::errc() || done.ptr != text.data() + text.size()) wrong("a number");
    if (!real) v.real = double(v.integer);
    rest_.remove_prefix(text.size());
    return v;
  }
  int64_t integer() {
    peek();
    Value v = number();
    if (v.kind != Value::Kind::integer) wrong("a whole number");
    return v.integer;
  }
  Value tensor(std::string_view maker) {
    Value v;
    v.kind = Value::Kind::tensor;
    v.text = std::string(maker);
    expect('(');
    if (maker == "indices") {
      v.classes = integer();
      expect(';');
    }
    if (peek() != ')' && peek() != ';') do
        v.shape.push_back(integer());
      while (take(','));
    if (take(';')) {
      const std::string_view what = word();
      if (what != "wide" && what != "complex") wrong("wide or complex");
      (what == "wide" ? v.wide : v.complex) = true;
    }
    expect(')');
    return v;
  }
  Value value() {
    Value v;
    char c = peek();
    if (c == '[') {
      expect('[');
      v.kind = Value::Kind::list;
      if (peek() != ']') do
          v.list.push_back(value());
        while (take(','));
      expect(']');
      return v;
    }
    if (c == '\'') {
      size_t end = rest_.find('\'', 1);
      if (end == rest_.npos) wrong("a closing quote");
      v.kind = Value::Kind::text;
      v.text = std::string(rest_.substr(1, end - 1));
      rest_.remove_prefix(end + 1);
      return v;
    }
    if (c == '-' || c == '+' || c == '.' || std::isdigit(static_cast<unsigned char>(c))) return number();
    std::string_view w = word();
    if (w == "None") return v;
    if (w == "True" || w == "False") {
      v.kind = Value::Kind::boolean;
      v.integer = w == "True";
      return v;
    }
    for (std::string_view maker : {"randn", "rand", "steps", "zeros", "ones", "mask", "indices", "spd"})
      if (w == maker) return tensor(maker);
    v.kind = Value::Kind::word;
    v.text = std::string(w);
    return v;
  }
};

void collect(const Value& v, std::vector<const Value*>& out) {
  if (v.kind == Value::Kind::tensor) out.push_back(&v);
  for (const Value& inner : v.list) collect(inner, out);
}

}  // namespace

Sample parse_sample(std::string_view line) { return Parser(line).call(); }

std::vector<std::string> lines_of(const char* text) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t n = rest.find('\n');
    if (n != 0) lines.emplace_back(rest.substr(0, n));
    rest.remove_prefix(n == rest.npos ? rest.size() : n + 1);
  }
  return lines;
}

std::vector<const Value*> tensor_values(const Sample& sample) {
  std::vector<const Value*> out;
  for (const Value& v : sample.args) collect(v, out);
  return out;
}

CallFrame::CallFrame(const Sample& s, const std::vector<Tensor>& tensors) : op_(s.op) {
  const Signature& sig = signature(s.op);
  DY_CHECK(s.args.size() <= sig.parameters.size(), "sample \"{}\": more arguments than {} has", s.line, op_def(s.op).sig);
  const size_t n = sig.parameters.size();
  given_.resize(n);  // frames point into these: they must not grow
  lists_.resize(n);
  ints_.resize(n);
  size_t next = 0;
  for (size_t i = 0; i < n; ++i) {
    const Parameter& p = sig.parameters[i];
    if (i >= s.args.size()) {
      DY_CHECK(p.optional || !p.fallback.empty(), "sample \"{}\": {} has no default", s.line, p.name);
      args_.push_back(default_argument(p));
      continue;
    }
    const Value& v = s.args[i];
    const bool number = v.kind == Value::Kind::integer || v.kind == Value::Kind::real;
    const Scalar scalar = v.kind == Value::Kind::boolean   ? Scalar(v.integer != 0)
                          : v.kind == Value::Kind::integer ? Scalar(v.integer)
                                                           : Scalar(v.real);
    if (v.kind == Value::Kind::none) {
      args_.emplace_back();
    } else if (p.type == "Tensor") {
      given_[i] = v.kind == Value::Kind::tensor ? tensors.at(next++) : scalar_tensor(scalar);
      args_.emplace_back(given_[i]);
    } else if (p.type == "Tensor[]") {
      for (size_t k = 0; k < v.list.size(); ++k) lists_[i].push_back(tensors.at(next++));
      args_.emplace_back(std::span<const Tensor>(lists_[i]));
    } else if (p.type == "int[]") {
      for (const Value& e : v.list) ints_[i].push_back(e.integer);
      args_.emplace_back(IntList(ints_[i]));
    } else if (p.type == "Scalar" && (number || v.kind == Value::Kind::boolean)) {
      args_.emplace_back(scalar);
    } else if (p.type == "int" && v.kind == Value::Kind::integer) {
      args_.emplace_back(v.integer);
    } else if (p.type == "float" && number) {
      args_.emplace_back(v.real);
    } else if (p.type == "bool" && v.kind == Value::Kind::boolean) {
      args_.emplace_back(v.integer != 0);
    } else if (p.type == "str" && v.kind == Value::Kind::text) {
      args_.emplace_back(std::string_view(v.text));
    } else if (p.type == "ScalarType" && v.kind == Value::Kind::word) {
      args_.emplace_back(DType::parse(v.text));
    } else if (p.type == "Device" && v.kind == Value::Kind::word) {
      args_.emplace_back(Device::parse(v.text));
    } else {
      fail("sample \"{}\": argument {} does not fit {} {}", s.line, i, p.type, p.name);
    }
  }
}

std::vector<Tensor> CallFrame::run() {
  manual_seed(1234);  // random ops: the same draw every time
  return call_op_all(op_, args_.data(), int(args_.size()));
}
void CallFrame::run_inplace() {
  manual_seed(1234);
  call_op_inplace(op_, args_.data(), int(args_.size()));
}

}  // namespace dyadic::op_suite
