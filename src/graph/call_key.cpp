#include "graph/call_key.h"

#include <algorithm>

#include "corridor/run.h"

namespace dyadic::inline v1::graph {

void append_layout(std::string& key, const TensorImpl& t) {
  append(key, t.dtype.format());
  append(key, t.ndim);
  append(key, bool(t.flags & kNumber));
  for (int d = 0; d < t.ndim; ++d) append(key, t.sizes[d]), append(key, t.strides[d]);
  if (t.dtype.is_blocked()) append(key, t.offset), append(key, t.storage->geometry.rows), append(key, t.storage->geometry.cols);
}

namespace {

void append_scalar(std::string& key, const Scalar& s) {
  append(key, s.kind());
  append(key, s.is_unsigned());
  append(key, s.integer());
  append(key, s.real());
  append(key, s.imag());
}

}  // namespace

std::string key_of(const Call& c) {
  std::string key;
  append(key, c.id);
  append(key, c.kernel);
  append(key, c.compute);
  append(key, default_dtype().format());
  for (int i = 0; i < c.nargs; ++i) {
    const Arg& a = c.args[i];
    append(key, a.kind);
    switch (a.kind) {
      case Arg::Kind::none:
        break;
      case Arg::Kind::tensor:
        append_layout(key, *a.tensor->impl());
        break;
      case Arg::Kind::tensors:
        append(key, a.n);
        for (uint32_t k = 0; k < a.n; ++k) append_layout(key, *a.tensor[k].impl());
        break;
      case Arg::Kind::scalar:
        append_scalar(key, a.scalar);
        break;
      case Arg::Kind::integer:
        append(key, a.integer);
        break;
      case Arg::Kind::real:
        append(key, a.real);
        break;
      case Arg::Kind::boolean:
        append(key, a.boolean);
        break;
      case Arg::Kind::ints:
        append(key, a.n);
        key.append(reinterpret_cast<const char*>(a.ints), a.n * sizeof(int64_t));
        break;
      case Arg::Kind::dtype:
        append(key, a.dtype.format());
        break;
      case Arg::Kind::device:
        append(key, a.device);
        break;
      case Arg::Kind::text:
        append(key, a.n);
        key.append(a.text, a.n);
        break;
    }
  }
  for (int j = 0; j < c.nout; ++j)
    if (c.out[j].defined()) append_layout(key, *c.out[j].impl());
  return key;
}

// A plan of the call's own: parameters stay where they were made, by the rules first.
std::shared_ptr<const Plan> plan_of(const Call& c) {
  auto again = std::make_shared<Call>(c.id, c.op, c.args, c.nargs, c.out);
  infer(*again);
  std::copy_n(c.spec, kMaxOutputs, again->spec);
  again->nout = c.nout;
  again->compute = c.compute;
  again->kernel->plan(*again);
  return {again, &again->plan};
}

}  // namespace dyadic::inline v1::graph
