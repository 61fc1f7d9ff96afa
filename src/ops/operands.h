// The arguments and results of a call as kernels take them.
#pragma once
#include "loops/operand.h"
#include "ops/common.h"

namespace dyadic::inline v1 {

inline std::string describe(const Operand& o) { return o.dtype().name() + shape_text(o.sizes()); }

}  // namespace dyadic::inline v1

namespace dyadic::inline v1::ops {

inline Source source_of(const Tensor& t) { return {t.impl()->data(), t.dtype().format()}; }
inline Target target_of(const Tensor& t) { return {t.impl()->data(), t.dtype().format()}; }
// Empty for an argument that is not given and a result that is not wanted.
inline Source source_of(const Call& c, int i) { return c.has(i) ? source_of(c.tensor(i)) : Source{}; }
inline Target target_of(const Call& c, int i = 0) { return c.out[i].defined() ? target_of(c.out[i]) : Target{}; }

// The same for plans, which keep formats alone, null where there is nothing, and meet memory when they run.
inline const Format* format_of(const Call& c, int i) { return c.has(i) ? c.tensor(i).dtype().format() : nullptr; }
inline const Format* result_format(const Call& c, int j = 0) {
  return c.out[j].defined() ? c.out[j].dtype().format() : nullptr;
}
inline Source source(const Pointers& at, int i, const Format* f) { return {f ? at.in[i] : nullptr, f}; }
inline Target target(const Pointers& at, int j, const Format* f) { return {f ? at.out[j] : nullptr, f}; }

}  // namespace dyadic::inline v1::ops
