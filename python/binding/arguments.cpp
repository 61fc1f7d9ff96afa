#include "arguments.h"

#include <algorithm>

#include "base/text.h"
#include "dyadic/ops.h"
#include "ignored.h"

namespace dyadic::inline v1::python {
namespace {

bool is_int(PyObject* o) { return PyLong_Check(o) ? !PyBool_Check(o) : PyIndex_Check(o) && !is_tensor(o); }

int64_t read_int(PyObject* o) {
  nb::object index;
  if (!PyLong_CheckExact(o)) {
    index = nb::steal(PyNumber_Index(o));
    if (!index.is_valid()) throw PythonError();
    o = index.ptr();
  }
  long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}

std::string signature_text(const OpInfo& op) { return op.def->sig; }

[[noreturn]] void wrong_type(const OpInfo& op, int i, PyObject* o) {
  const OpParameter& p = op.parameters[size_t(i)];
  fail<TypeError>("{}: an argument has the wrong type: {} is {}; it takes {}{}{}", op.signature->name, p.text,
                  Py_TYPE(o)->tp_name, describe(p.take), p.take == Take::tensor && op.numbers ? " or a number" : "",
                  p.optional ? " or None" : "");
}

// torch.div(7, 2, rounding_mode="floor"): PyTorch computes these of numbers, as of tensors with one element.
bool takes_numbers_alone(const OpInfo& op) {
  constexpr std::string_view kNames[] = {"add", "sub", "mul", "div", "floor_divide"};
  return std::ranges::find(kNames, std::string_view(op.signature->name)) != std::end(kNames);
}

int find_keyword(const OpInfo& op, PyObject* name) {
  for (size_t i = 0; i < op.parameters.size(); ++i)
    if (op.parameters[i].name == name) return int(i);
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) throw PythonError();
  std::string_view wanted = text;
  for (size_t i = 0; i < op.parameters.size(); ++i)
    if (op.parameters[i].text == wanted) return int(i);
  if (wanted == "input") {  // PyTorch's name for the self of functions
    for (size_t i = 0; i < op.parameters.size(); ++i)
      if (op.parameters[i].text == std::string_view("self")) return int(i);
    if (op.parameters[0].take == Take::tensor) return 0;
  }
  // numpy's names, and PyTorch's for what are several ops here.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"axis", "dim"},
      {"keepdims", "keepdim"},
      {"tensor", "self"},
      {"split_size_or_sections", "split_size"},
      {"split_size_or_sections", "split_sizes"},
      {"split_size", "split_sizes"},
      {"indices_or_sections", "sections"},
      {"indices_or_sections", "indices"},
      {"tensor_indices_or_sections", "sections"},
      {"tensor_indices_or_sections", "indices"},
  };
  for (auto [other, ours] : kOthers)
    if (wanted == other)
      for (size_t i = 0; i < op.parameters.size(); ++i)
        if (op.parameters[i].text == ours) return int(i);
  return -1;
}

[[noreturn]] void unknown_keyword(const OpInfo& op, PyObject* name) {
  std::vector<std::string> known;
  for (const OpParameter& p : op.parameters) known.emplace_back(p.text);
  if (op.requires_grad) known.emplace_back("requires_grad");
  if (op.takes_out) known.emplace_back("out");
  if (op.def->random) known.emplace_back("generator");
  const char* text = PyUnicode_AsUTF8(name);
  fail<TypeError>("{}: an unknown argument: {}; did you mean {}? The signature is {}", op.signature->name, text,
                  nearest(text, known), signature_text(op));
}

Take read_take(const Parameter& p) {
  constexpr std::pair<const char*, Take> kTypes[] = {
      {"Tensor", Take::tensor}, {"Tensor[]", Take::tensors}, {"Scalar", Take::scalar}, {"int", Take::integer},
      {"float", Take::real},    {"bool", Take::boolean},     {"int[]", Take::ints},    {"ScalarType", Take::dtype},
      {"Device", Take::device}, {"str", Take::text}};
  for (auto& [name, take] : kTypes)
    if (p.type == name) return take;
  fail("signature: parameter {} has the unknown type {}", p.name, p.type);
}

}  // namespace

void read_parameters(OpInfo& op) {
  for (const Parameter& p : op.signature->parameters) {
    OpParameter q{};
    q.take = read_take(p);
    q.optional = p.optional;
    q.required = p.fallback.empty();
    q.keyword_only = p.keyword_only;
    q.fallback = default_argument(p);
    q.name = PyUnicode_InternFromString(p.name.c_str());
    q.text = p.name.c_str();
    op.positional += !p.keyword_only;
    op.parameters.push_back(q);
  }
}

const char* describe(Take t) {
  switch (t) {
    case Take::tensor:
      return "a Tensor";
    case Take::tensors:
      return "a list of Tensors";
    case Take::scalar:
      return "a number";
    case Take::integer:
      return "an int";
    case Take::real:
      return "a float";
    case Take::boolean:
      return "True or False";
    case Take::ints:
      return "an int or a list of ints";
    case Take::dtype:
      return "a dtype";
    case Take::device:
      return "a device";
    default:
      return "a str";
  }
}

int64_t* ArgumentFrame::take_ints(size_t n) {
  if (size_t(used_) + n <= std::size(ints_)) {
    used_ += int(n);
    return ints_ + used_ - n;
  }
  return more_ints_.emplace_back(new int64_t[n]).get();
}

// Integers, and 0-d tensors of them where the call cannot mean the tensor.
bool ArgumentFrame::takes_int(PyObject* o) const {
  return is_int(o) || (!strict && is_tensor(o) && tensor_of(o).dim() == 0 && tensor_of(o).dtype().is_integer() &&
                       tensor_of(o).dtype() != boolean);
}

// A number, or the value of a 0-d tensor likewise.
std::optional<Scalar> ArgumentFrame::read_scalar(PyObject* o) const {
  if (is_tensor(o) && tensor_of(o).dim() == 0 && !strict) return tensor_of(o).item_scalar();
  return read_number(o);
}

bool ArgumentFrame::convert_ints(PyObject* o, Arg& arg) {
  if (takes_int(o)) {
    int64_t* p = take_ints(1);
    *p = read_int(o);
    arg = Arg(IntList(p, 1));
    return true;
  }
  bool tuple = PyTuple_Check(o);
  if (!tuple && !PyList_Check(o)) return false;
  auto n = size_t(Py_SIZE(o));
  int64_t* p = take_ints(n);
  for (size_t i = 0; i < n; ++i) {
    PyObject* item = tuple ? PyTuple_GET_ITEM(o, Py_ssize_t(i)) : PyList_GET_ITEM(o, Py_ssize_t(i));
    if (!takes_int(item)) return false;
    p[i] = read_int(item);
  }
  arg = Arg(IntList(p, n));
  return true;
}

bool ArgumentFrame::convert_tensors(PyObject* o, Arg& arg) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  auto& list = *lists_.emplace_back(std::make_unique<std::vector<Tensor>>());
  bool tuple = PyTuple_Check(o);
  for (Py_ssize_t i = 0; i < Py_SIZE(o); ++i) {
    PyObject* item = tuple ? PyTuple_GET_ITEM(o, i) : PyList_GET_ITEM(o, i);
    if (!is_tensor(item)) return false;
    list.push_back(tensor_of(item));
  }
  arg = Arg(std::span<const Tensor>(list));
  return true;
}

Arg ArgumentFrame::convert_tensor(const OpInfo& op, int i, PyObject* o) {
  if (is_tensor(o)) return Arg(tensor_of(o));
  std::optional<Scalar> number;
  if (op.numbers) number = read_number(o);
  if (!number) wrong_type(op, i, o);
  held_[i] = scalar_tensor(*number);
  return Arg(held_[i]);
}

Arg ArgumentFrame::convert(const OpInfo& op, int i, PyObject* o) {
  const OpParameter& p = op.parameters[size_t(i)];
  if (p.optional && o == Py_None) return {};
  Arg arg;
  switch (p.take) {
    case Take::tensor:
      return convert_tensor(op, i, o);
    case Take::tensors:
      if (convert_tensors(o, arg)) return arg;
      break;
    case Take::scalar:
      if (auto n = read_scalar(o)) return Arg(*n);
      break;
    case Take::integer:
      if (takes_int(o)) return Arg(read_int(o));
      break;
    case Take::real:
      if (auto n = read_scalar(o); n && n->kind() != Scalar::Kind::complex) return Arg(n->real());
      break;
    case Take::boolean:
      if (PyBool_Check(o)) return Arg(o == Py_True);
      if (truth) return Arg(nb::bool_(nb::handle(o)) ? true : false);
      break;
    case Take::ints:
      if (convert_ints(o, arg)) return arg;
      break;
    case Take::dtype:
      if (auto d = read_dtype(o)) return Arg(*d);
      break;
    case Take::device:
      if (auto d = read_device(o)) return Arg(*d);
      break;
    case Take::text:
      if (PyUnicode_Check(o)) {
        Py_ssize_t n;
        const char* s = PyUnicode_AsUTF8AndSize(o, &n);
        if (!s) throw PythonError();
        return Arg(std::string_view(s, size_t(n)));
      }
  }
  wrong_type(op, i, o);
}

void ArgumentFrame::read_spread(Reading& r) {
  const OpInfo& op = r.op;
  if (op.spread >= 0 && r.at + r.count > op.spread + 1 && op.spread >= r.at && takes_int(r.given[op.spread - r.at])) {
    const auto k = size_t(r.at + r.count - op.spread);
    int64_t* p = take_ints(k);
    for (size_t i = 0; i < k; ++i) {
      PyObject* item = r.given[size_t(op.spread - r.at) + i];
      if (!takes_int(item)) wrong_type(op, op.spread, item);
      p[i] = read_int(item);
    }
    args[op.spread] = Arg(IntList(p, k));
    r.spread_ints = int(k);
  }
  if (op.spread_tensors && r.count > 0 && is_tensor(r.given[0])) {
    auto& list = *lists_.emplace_back(std::make_unique<std::vector<Tensor>>());
    for (Py_ssize_t i = 0; i < r.count; ++i) {
      if (!is_tensor(r.given[i])) wrong_type(op, 0, r.given[i]);
      list.push_back(tensor_of(r.given[i]));
    }
    r.spread_tensors = int(r.count);
    args[0] = Arg(std::span<const Tensor>(list));
  }
  const Py_ssize_t plain = r.count - r.spread_ints - r.spread_tensors, most = op.positional - r.at - (r.spread_ints ? 1 : 0);
  if (plain > most && read_older(op, r.slots, r.at, r.given, plain)) return;
  if (plain > most) [[unlikely]]
    fail<TypeError>("{}: too many arguments: {} given; the signature is {}", op.signature->name, r.at + plain,
                    signature_text(op));
  for (Py_ssize_t i = 0; i < plain; ++i) r.slots[r.at + i] = r.given[i];
}

namespace {

// What is no parameter of the record: requires_grad= of what is created, out=, generator=, and PyTorch's words about memory.
enum class Option : uint8_t { none, requires_grad, out, generator, memory };
Option option_of(const OpInfo& op, PyObject* name) {
  const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (op.requires_grad && is("requires_grad")) return Option::requires_grad;
  if (op.takes_out && is("out")) return Option::out;
  if (op.def->random && is("generator")) return Option::generator;
  if (is(kFormat.name) && (op.id == Op::contiguous_ || op.id == Op::clone_)) return Option::memory;
  if (op.requires_grad && is(kLayout)) return Option::memory;
  for (const Ignored& i : kMemory)
    if (op.requires_grad && is(i.name)) return Option::memory;
  return Option::none;
}

}  // namespace

bool may_fit(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  if (op.spread >= 0 || op.spread_tensors) return true;
  const int at = self ? 1 : 0, n = int(op.parameters.size()), plain = at + int(count);
  if (plain > op.positional) return false;
  uint64_t filled = (uint64_t(1) << plain) - 1;
  for (Py_ssize_t k = 0, m = keywords ? PyTuple_GET_SIZE(keywords) : 0; k < m; ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    const int i = find_keyword(op, name);
    if (i < 0 && option_of(op, name) == Option::none) return false;
    if (i >= 0) filled |= uint64_t(1) << i;
  }
  for (int i = 0; i < n; ++i)
    if (op.parameters[size_t(i)].required && !(filled >> i & 1)) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Take take = op.parameters[size_t(at + i)].take;
    if (is_tensor(given[i]) && tensor_of(given[i]).dim() > 0 &&
        (take == Take::integer || take == Take::boolean || take == Take::text))
      return false;
  }
  return true;
}

bool ArgumentFrame::read_option(const OpInfo& op, PyObject* name, PyObject* value) {
  const Option option = option_of(op, name);
  if (option == Option::requires_grad) {
    DY_CHECK_AS(TypeError, PyBool_Check(value),
                "{}: an argument has the wrong type: requires_grad is {}; it takes True or False", op.signature->name,
                Py_TYPE(value)->tp_name);
    requires_grad = value == Py_True;
  }
  if (option == Option::out && value != Py_None) out = value;
  if (option == Option::generator && value != Py_None) {
    DY_CHECK_AS(TypeError, nb::isinstance<Generator>(value),
                "{}: an argument has the wrong type: generator is {}; it takes a Generator or None", op.signature->name,
                Py_TYPE(value)->tp_name);
    generator = nb::inst_ptr<Generator>(value);
  }
  if (option == Option::memory) about_memory(op.signature->name.c_str(), nb::borrow<nb::str>(name).c_str(), value);
  return option != Option::none;
}

void ArgumentFrame::read_keywords(Reading& r, PyObject* keywords) {
  for (Py_ssize_t k = 0, m = keywords ? PyTuple_GET_SIZE(keywords) : 0; k < m; ++k) {
    PyObject *name = PyTuple_GET_ITEM(keywords, k), *value = r.given[r.count + k];
    const int i = find_keyword(r.op, name);
    if (i < 0) {
      if (!read_option(r.op, name, value)) unknown_keyword(r.op, name);
      continue;
    }
    DY_CHECK_AS(TypeError, !r.filled(i), "{}: an argument is given twice: {}", r.op.signature->name,
                r.op.parameters[size_t(i)].text);
    r.slots[i] = value;
  }
}

void ArgumentFrame::read(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  Reading r{op, {self}, given, count, self ? 1 : 0};
  read_spread(r);
  read_keywords(r, keywords);
  const int n = int(op.parameters.size());
  for (int i = 0; i < n; ++i) {
    if (r.slots[i]) {
      args[i] = convert(op, i, r.slots[i]);
    } else if (!r.filled(i)) {
      const OpParameter& p = op.parameters[size_t(i)];
      DY_CHECK_AS(TypeError, !p.required, "{}: an argument is missing: {} (position {}); the signature is {}",
                  op.signature->name, p.text, i + 1, signature_text(op));
      args[i] = p.fallback;
    }
  }
  if (op.device >= 0 && args[op.device].kind == Arg::Kind::none) args[op.device] = Arg(default_device());
  if (op.numbers) [[likely]] {
    for (int i = 0; i < n; ++i)
      if (args[i].kind == Arg::Kind::tensor && args[i].tensor != &held_[i]) return;
    if (!takes_numbers_alone(op)) wrong_type(op, 0, r.slots[0] ? r.slots[0] : Py_None);
  }
}

}  // namespace dyadic::inline v1::python
