// Optimizers as Python has them: groups are its list of dicts, states its dict by parameter.
#pragma once
#include "dyadic/optim.h"
#include "options.h"

namespace dyadic::inline v1::python {

// Tensors are named by their position (count goes on), (name, tensor) pairs as they say.
nn::NamedTensors read_params(const std::string& who, nb::handle params, size_t& count);

// A dict as it was: its keys, and the values that count. While these are the same objects there is nothing to read.
struct SeenGroup {
  optim::Options options;
  std::vector<std::pair<nb::object, nb::object>> entries;
  bool known = false;  // no value is one that changes in place
};
struct SeenState {
  enum class Kind : uint8_t { step, number, tensor, other };
  struct Entry {
    nb::object key;
    Tensor value;
    Kind kind;
    double* number;
  };
  optim::ParamState* state = nullptr;
  std::vector<Entry> entries;
  size_t tensors = 0;
  bool steps = false, settled = false;  // whether this step moves the parameter, whether the dict is as it was
};

// The Python object's param_groups and state are what counts: whoever reads groups and states here pulls them before, whoever
// changes them pushes them after. A pull compares; only what has changed is read.
class PyOptimizer final : public optim::Optimizer {
  nb::object owner_;                    // a weak reference to Python's object
  std::vector<nb::object> keys_;        // the options' names
  std::vector<SeenGroup> seen_;         // by group
  std::vector<SeenState> seen_states_;  // by parameter, in the groups' order
  bool written_;                        // in Python, with options of its own

  void replace(nb::list groups);
  void pull_options(size_t group, nb::dict from);
  void pull_written(size_t group, nb::dict from);
  void push_options(size_t group, nb::dict to);
  void remember(size_t group, nb::dict dict);
  nb::object self() const;
  nb::object states_dict() const;
  void pull_states(PyObject* states, bool every);  // of all, or of those that a step moves
  void push_states(PyObject* states, bool every);
  void pull_state(const optim::ParamGroup& group, const std::string& name, const Tensor& p, PyObject* kept);
  void push_state(PyObject* states, PyObject* parameter, const optim::ParamState& state);
  void pull_searches(PyObject* states);
  void push_searches(PyObject* states);

 public:
  PyOptimizer(nb::handle owner, const std::string& name);
  void pull(bool states = false) override;
  void push(bool states = false) override;
  nb::object step(nb::object closure, double grad_scale);
  void load_flat_state(nb::dict state);
};

}  // namespace dyadic::inline v1::python
