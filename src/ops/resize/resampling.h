// What resample and its transpose share: only which side of the map the input is on differs.
#pragma once
#include "ops/operands.h"
#include "ops/resize/resample.h"
#include "ops/resize/resample_kernel.h"

namespace dyadic::inline v1::ops {

// op(Tensor input, int dim, int size, int[] map, float scale)
template <bool kTransposed> struct Resampling {
  static int64_t dim(const Call& c) { return wrap_dim(c.name, c[resample_op::arg::dim], c[resample_op::arg::input].dim()); }
  static ResampleShape shape(const Call& c) {
    const Tensor& x = c[resample_op::arg::input];
    const int64_t along = dim(c);
    ResampleShape s;
    for (int64_t d = 0; d < along; ++d) s.outer *= x.size(d);
    for (int64_t d = along + 1; d < x.dim(); ++d) s.inner *= x.size(d);
    (kTransposed ? s.out : s.in) = x.size(along);
    (kTransposed ? s.in : s.out) = c[resample_op::arg::size];
    s.width = window_width(c[resample_op::arg::map], s.in, s.out, c[resample_op::arg::scale]);
    return s;
  }
  static void infer(Call& c) {
    const char* name = kTransposed ? "grad" : "input";
    check_float(c.name, c[resample_op::arg::input], name);
    DY_CHECK(c[resample_op::arg::input].dim() > 0 && c[resample_op::arg::map].size() > 0,
             "{}: no axis or no map: {} is {}, map is {}", c.name, name, describe(c[resample_op::arg::input]),
             shape_text(c[resample_op::arg::map]));
    const IntList map = c[resample_op::arg::map];
    constexpr int64_t kMost = int64_t(1) << 31;  // products of two fit
    const size_t numbers = map[0] == kAverage                                                     ? 6
                           : map[0] == kNearest || map[0] == kNearestExact || map[0] == kAdaptive ? 1
                                                                                                  : 2;
    bool fits = map[0] >= kNearest && map[0] <= kSmoothCubic && map.size() >= numbers && c[resample_op::arg::size] >= 0 &&
                c[resample_op::arg::size] < kMost;
    for (size_t i = 1; fits && i < numbers; ++i) fits = map[i] >= 0 && map[i] < kMost;
    DY_CHECK(fits && (map[0] != kAverage || (map[1] > 0 && map[2] > 0)), "{}: no such map: size is {}, map is {}", c.name,
             c[resample_op::arg::size], shape_text(map));
    infer_like_first(c);
    c.spec[0].sizes[dim(c)] = c[resample_op::arg::size];
  }
  struct Parameters {
    ResampleShape shape;
    const Format *x, *y;
  };
  static void run(const Parameters& p, const Pointers& at) {
    const auto kernel = kTransposed ? resample_kernel().backward : resample_kernel().forward;
    kernel(p.shape, {at.in[0], p.x}, {at.out[0], p.y}, at.workspace);
  }
  static void plan(Call& c) {
    ResampleShape s = shape(c);
    const Windows w = make_windows(c[resample_op::arg::map], s.in, s.out, c[resample_op::arg::scale],
                                   c.plan.list<char>(size_t(window_bytes(s.width, s.out))));
    s.begin = w.begin, s.count = w.count, s.weight = w.weight;
    c.plan.workspace = resample_kernel().workspace(s);
    c.plan.set<run>(Parameters{s, format_of(c, 0), result_format(c)});
  }
  static void backward(Grad& g) {
    const Meta& m = g.in_meta(resample_op::arg::input);
    const int64_t along = wrap_dim("resample", g[resample_op::arg::dim], m.ndim);
    g.set(resample_op::arg::input, call(kTransposed ? Op::resample_ : Op::resample_backward_, g.g(), along, m.sizes[along],
                                        g[resample_op::arg::map], g[resample_op::arg::scale]));
  }
  static double flops(const Call& c) {
    const ResampleShape s = shape(c);
    return 2.0 * double(s.outer * s.inner) * double(s.out * s.width);
  }
};

}  // namespace dyadic::inline v1::ops
