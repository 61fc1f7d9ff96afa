// Calls in an order of arguments that PyTorch has given up.
#include <algorithm>

#include "arguments.h"
#include "base/check.h"

namespace dyadic::inline v1::python {
namespace {

// PyTorch's older order has these numbers by position, before the tensors that they scale: add(self, alpha, other),
// addcmul(self, value, tensor1, tensor2), addmm(beta, self, alpha, mat1, mat2).
bool is_factor(const OpParameter& p) {
  const std::string_view name = p.text;
  return p.keyword_only && p.take == Take::scalar && (name == "alpha" || name == "beta" || name == "value");
}

}  // namespace

bool read_older(const OpInfo& op, PyObject** slots, int at, PyObject* const* given, Py_ssize_t count) {
  std::vector<int> factors;
  for (const char* name : {"beta", "alpha", "value"})
    for (size_t i = 0; i < op.parameters.size(); ++i)
      if (is_factor(op.parameters[i]) && std::string_view(op.parameters[i].text) == name) factors.push_back(int(i));
  if (at + count > op.positional + Py_ssize_t(factors.size())) return false;
  PyObject* order[kMaxArgs];
  std::copy_n(slots, at, order);
  int tensors = at;
  size_t numbers = 0;
  std::vector<std::pair<int, PyObject*>> scales;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (is_tensor(given[i]) && tensors < op.positional)
      order[tensors++] = given[i];
    else if (!is_tensor(given[i]) && numbers < factors.size() && read_number(given[i]))
      scales.emplace_back(factors[numbers++], given[i]);
    else
      return false;
  }
  if (tensors < op.positional) return false;
  const std::string text =
      fmt::format("{0}: numbers before tensors are a deprecated order of arguments; give {1} by name, as in {2}",
                  op.signature->name, op.parameters[size_t(factors[0])].text, op.def->sig);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw PythonError();
  std::copy_n(order, tensors, slots);
  for (auto [i, value] : scales) slots[i] = value;
  return true;
}

}  // namespace dyadic::inline v1::python
