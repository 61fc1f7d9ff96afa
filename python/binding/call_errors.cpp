// What nanobind says of a call whose arguments fit no overload is a page. Here it becomes one line, as the ops' own messages
// are.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/check.h"
#include "object.h"

namespace dyadic::inline v1::python {
namespace {

constexpr std::string_view kWords = "(): incompatible function arguments. The following argument types are supported:\n";
constexpr std::string_view kGiven = "\nInvoked with types: ";

// "name(self, x: int) -> None" as "(x: int)".
std::string parameters(std::string_view signature) {
  std::string_view inner = signature.substr(signature.find('(') + 1);
  inner = inner.substr(0, inner.rfind(") ->"));
  if (inner.ends_with(')')) inner.remove_suffix(1);
  if (inner.starts_with("self")) inner.remove_prefix(inner.starts_with("self, ") ? 6 : 4);
  return "(" + std::string(inner) + ")";
}

// nanobind's text of a call of something of `type` in one line; empty if it is another text.
std::string in_a_line(std::string_view text, std::string_view type) {
  const size_t at = text.find(kWords), given = text.find(kGiven);
  if (at == text.npos || given == text.npos) return {};
  std::string name(text.substr(0, at)), forms;
  std::string_view list = text.substr(at + kWords.size(), given - at - kWords.size());
  bool method = false;
  while (!list.empty()) {  // "    1. name(self, x: int) -> None"
    const std::string_view line = list.substr(0, list.find('\n'));
    list.remove_prefix(std::min(list.size(), line.size() + 1));
    const size_t dot = line.find(". ");
    if (dot == line.npos) continue;
    method |= line.find("(self") != line.npos;
    forms += (forms.empty() ? "" : " or ") + parameters(line.substr(dot + 2));
  }
  std::string_view arguments = text.substr(given + kGiven.size());
  if (method) {
    const size_t comma = arguments.find(", ");
    arguments = comma == arguments.npos ? "" : arguments.substr(comma + 2);
  }
  if (name == "__init__") name = type;
  return name + ": the arguments do not fit: given (" + std::string(arguments) + "), taken " + forms;
}

void shorten(PyObject* self) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  nb::python_error error;  // takes it
  const nb::str text(error.value());
  const char* type = self ? Py_TYPE(self)->tp_name : "";
  std::string line = in_a_line(text.c_str(), type);
  const bool made = std::string_view(text.c_str()).starts_with("__init__(");
  if (!line.empty() && !made && self && nb::inst_check(self) && !nb::inst_ready(self))
    line = fmt::format("{}: __init__ has not run: call super().__init__() first", type);
  if (line.empty()) return error.restore();
  PyErr_SetString(PyExc_TypeError, line.c_str());
}

// nanobind calls its functions in a few ways (by a function's kind of parameters), of which each function holds one. Each way
// gets one of ours around it: 1 ns a call.
constexpr size_t kWays = 12;
std::array<vectorcallfunc, kWays> g_ways;

template <size_t I> PyObject* call(PyObject* f, PyObject* const* args, size_t n, PyObject* names) {
  PyObject* r = g_ways[I](f, args, n, names);
  if (!r) [[unlikely]]
    shorten(PyVectorcall_NARGS(n) ? args[0] : nullptr);
  return r;
}
template <size_t... I> constexpr std::array<vectorcallfunc, kWays> calls(std::index_sequence<I...>) { return {call<I>...}; }
constexpr auto kCalls = calls(std::make_index_sequence<kWays>());

void wrap_calls(nb::handle f) {
  const Py_ssize_t at = Py_TYPE(f.ptr())->tp_vectorcall_offset;
  auto& own = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(f.ptr()) + at);
  if (std::ranges::find(kCalls, own) != kCalls.end()) return;
  auto way = std::ranges::find(g_ways, own);
  if (way == g_ways.end()) way = std::ranges::find(g_ways, nullptr);
  if (way == g_ways.end()) return;
  *way = own;
  own = kCalls[size_t(way - g_ways.begin())];
}

// Every function in it, and in its classes and modules.
void wrap_all(nb::handle holder) {
  for (nb::handle o : nb::list(holder.attr("__dict__").attr("values")())) {
    const std::string_view kind = Py_TYPE(o.ptr())->tp_name;
    if (kind.ends_with("nb_func") || kind.ends_with("nb_method"))
      wrap_calls(o);
    else if ((PyType_Check(o.ptr()) && nb::type_check(o)) || PyModule_Check(o.ptr()))
      wrap_all(o);
  }
}

}  // namespace

void shorten_call_errors(nb::module_& m) {
  wrap_all(m);
  wrap_all(reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace dyadic::inline v1::python
