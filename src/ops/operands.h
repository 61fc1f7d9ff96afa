// The arguments and results of a call as raw kernels take them: memory and format.
#pragma once
#include "loops/operand.h"
#include "ops/common.h"

namespace dyadic::inline v1 {

inline std::string describe(const Operand& o) { return o.dtype().name() + shape_text(o.sizes()); }

}  // namespace dyadic::inline v1

namespace dyadic::inline v1::ops {

// Plans keep formats alone, null where there is nothing, and meet memory when they run.
inline const Format* format_of(const Call& c, int i) { return c.has(i) ? c.tensor(i).dtype().format() : nullptr; }
inline const Format* format_of(const Call& c, AnyArg h) { return format_of(c, h.at); }
inline const Format* result_format(const Call& c, int j = 0) {
  return c.out[j].defined() ? c.out[j].dtype().format() : nullptr;
}
inline Source source(const Pointers& at, int i, const Format* f) { return {f ? at.in[i] : nullptr, f}; }
inline Target target(const Pointers& at, int j, const Format* f) { return {f ? at.out[j] : nullptr, f}; }
// From an element on.
inline Source from(Source x, int64_t element) {
  return {x.data ? static_cast<const char*>(x.data) + element * x.format->itemsize() : nullptr, x.format};
}
inline Target from(Target y, int64_t element) {
  return {y.data ? static_cast<char*>(y.data) + element * y.format->itemsize() : nullptr, y.format};
}

}  // namespace dyadic::inline v1::ops
