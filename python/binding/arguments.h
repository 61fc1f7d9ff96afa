// Reading the arguments of an op as its record's signature says: by position and keyword, with defaults.
#pragma once
#include <memory>
#include <vector>

#include "corridor/signature.h"
#include "dyadic/generator.h"
#include "object.h"

namespace dyadic::inline v1::python {

enum class Take : uint8_t { tensor, tensors, scalar, integer, real, boolean, ints, dtype, device, text };

struct OpParameter {
  Take take;
  bool required, optional, keyword_only;
  Arg fallback;
  PyObject* name;    // interned
  const char* text;  // the same
};

// An op as Python calls it, computed from its record.
struct OpInfo {
  Op id{};
  const OpDef* def = nullptr;
  const Signature* signature = nullptr;
  std::vector<OpParameter> parameters;
  int positional = 0;
  int outputs = 1;
  int tensors_only = -1;  // the number of parameters, if all are tensors but those by keyword only
  bool method = false;
  bool numbers = false;                 // numbers are operands: pointwise ops
  bool requires_grad = false;           // a creation op: also takes requires_grad=
  int device = -1;                      // of a creation op: the parameter that says where
  bool takes_out = false;               // a function that also takes out=
  int spread = -1;                      // zeros(2, 3): the only positional parameter (but self) is this int[]
  bool spread_tensors = false;          // meshgrid(x, y): the first parameter is a Tensor[] that may be given one by one
  OpInfo* next = nullptr;               // of the ops that share this one's name in Python
  bool follows = false;                 // it is such a next one
  PyTypeObject* result_type = nullptr;  // the named tuple of several results
  std::string function_doc, method_doc;
};

// Puts a call in PyTorch's older order into today's, with a warning; false: it is not such a call.
bool read_older(const OpInfo& op, PyObject** slots, int at, PyObject* const* given, Py_ssize_t count);
// Whether the number, names and kinds of a call's arguments could be this op's: where not, ArgumentFrame::read would throw,
// which takes microseconds.
bool may_fit(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords);

// One call's arguments, and what must live as long as they do.
class ArgumentFrame {
 public:
  Arg args[kMaxArgs];
  bool requires_grad = false;
  PyObject* out = nullptr;         // borrowed: where the results go
  Generator* generator = nullptr;  // borrowed: where random numbers come from
  bool strict = false;             // a 0-d tensor is no number
  bool truth = false;              // a flag is whatever is true or false, as in a layer's __init__

  // `self` is null for a function. Throws TypeError naming the op and the argument.
  void read(const OpInfo& op, PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords);

 private:
  Tensor held_[kMaxArgs];
  int64_t ints_[32];
  int used_ = 0;
  std::vector<std::unique_ptr<int64_t[]>> more_ints_;
  std::vector<std::unique_ptr<std::vector<Tensor>>> lists_;

  // One call on its way into slots: what is given by position and spread over several arguments.
  struct Reading {
    const OpInfo& op;
    PyObject* slots[kMaxArgs];
    PyObject* const* given;
    Py_ssize_t count;
    int at;                  // 1 if self is given apart
    int spread_ints = 0;     // given one by one: x.view(2, 3)
    int spread_tensors = 0;  // meshgrid(x, y)
    bool filled(int i) const { return slots[i] || (spread_ints && i == op.spread) || (spread_tensors && i == 0); }
  };
  void read_spread(Reading& r);
  void read_keywords(Reading& r, PyObject* keywords);
  bool read_option(const OpInfo& op, PyObject* name, PyObject* value);

  int64_t* take_ints(size_t n);
  Arg convert(const OpInfo& op, int i, PyObject* o);
  Arg convert_tensor(const OpInfo& op, int i, PyObject* o);
  bool takes_int(PyObject* o) const;
  std::optional<Scalar> read_scalar(PyObject* o) const;
  bool convert_ints(PyObject* o, Arg& arg);
  bool convert_tensors(PyObject* o, Arg& arg);
};

// Fills `parameters` and `positional` from the signature.
void read_parameters(OpInfo& op);
const char* describe(Take t);  // "a Tensor", "an int or a list of ints"

}  // namespace dyadic::inline v1::python
