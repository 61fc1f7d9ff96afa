#include <algorithm>
#include <cmath>

#include "ops/resize/resample.h"

namespace dyadic::inline v1::ops {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

double source_scale(int64_t in, int64_t out, bool align, double scale) {
  if (align) return out > 1 ? double(in - 1) / double(out - 1) : 0;
  return scale > 0 ? scale : double(in) / double(out);
}
// Where result i stands among the elements.
double source_position(int64_t i, double scale, bool align) {
  return align ? scale * double(i) : scale * (double(i) + 0.5) - 0.5;
}

// Keys' cubic convolution at a distance of 0 to 2.
double cubic(double x, double a) {
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}
void cubic_weights(double t, double* w) {
  constexpr double a = -0.75;
  w[0] = cubic(1 + t, a), w[1] = cubic(t, a), w[2] = cubic(1 - t, a), w[3] = cubic(2 - t, a);
}

bool is_smooth(IntList map) { return map[0] == kSmoothLinear || map[0] == kSmoothCubic; }
bool aligns(IntList map) { return (map[0] == kLinear || map[0] == kCubic || is_smooth(map)) && map[1]; }
// How far an antialiasing filter reaches to either side; with a = -0.5, PyTorch's cubic there.
double reach(IntList map, double step) { return (map[0] == kSmoothCubic ? 2 : 1) * std::max(step, 1.0); }
void smooth(Windows& w, IntList map, int64_t i, double step) {
  const double center = step * (double(i) + 0.5), far = reach(map, step), wide = std::max(step, 1.0);
  const int64_t from = std::max<int64_t>(int64_t(center - far + 0.5), 0);
  const int64_t to = std::min(int64_t(center + far + 0.5), w.in);
  w.begin[i] = std::min(from, w.in - 1);
  w.count[i] = std::clamp<int64_t>(to - from, 0, w.width);
  double sum = 0, *weight = w.weight + i * w.width;
  for (int64_t k = 0; k < w.count[i]; ++k) {
    const double x = std::abs((double(k + from) - center + 0.5) / wide);
    weight[k] = map[0] == kSmoothCubic ? (x < 2 ? cubic(x, -0.5) : 0) : std::max(1 - x, 0.0);
    sum += weight[k];
  }
  for (int64_t k = 0; k < w.count[i] && sum != 0; ++k) weight[k] /= sum;
}

// `taps` weights from element `first`; those beyond an end count for the element at the end.
void clamped(Windows& w, int64_t i, int64_t first, const double* weights, int64_t taps) {
  auto inside = [&](int64_t k) { return std::clamp<int64_t>(first + k, 0, w.in - 1); };
  w.begin[i] = inside(0);
  w.count[i] = inside(taps - 1) - inside(0) + 1;
  for (int64_t k = 0; k < taps; ++k) w.weight[i * w.width + inside(k) - w.begin[i]] += weights[k];
}

void average(Windows& w, IntList map, int64_t i) {
  const int64_t kernel = map[1], from = i * map[2] - map[3], to = std::min(from + kernel, w.in + map[4]);
  const int64_t first = std::max<int64_t>(from, 0), last = std::min(to, w.in), n = std::max<int64_t>(last - first, 0);
  w.begin[i] = std::min(first, w.in);
  w.count[i] = n;
  const double value = map[5] == 2 ? 1 : 1 / double(map[5] == 1 ? to - from : std::max<int64_t>(n, 1));
  std::fill_n(w.weight + i * w.width, n, value);
}

}  // namespace

int64_t window_width(IntList map, int64_t in, int64_t out, double scale) {
  if (is_smooth(map)) return out ? 2 * int64_t(std::ceil(reach(map, source_scale(in, out, aligns(map), scale)))) + 1 : 1;
  switch (map[0]) {
    case kLinear:
      return 2;
    case kCubic:
      return 4;
    case kAverage:
      return map[1];
    case kAdaptive:
      return out ? ceil_div(in, out) + 1 : 1;
    default:
      return 1;
  }
}

Windows make_windows(IntList map, int64_t in, int64_t out, double scale, void* memory) {
  Windows w{in, out, window_width(map, in, out, scale), static_cast<int64_t*>(memory), nullptr, nullptr};
  w.count = w.begin + out;
  w.weight = reinterpret_cast<double*>(w.count + out);
  std::fill_n(w.weight, out * w.width, 0.0);
  const bool align = aligns(map);
  const double step = out ? source_scale(in, out, align, scale) : 0;
  const auto step32 = float(step);  // as PyTorch's nearest has it: which of two neighbours is near depends on it
  for (int64_t i = 0; i < out; ++i) {
    const double one = 1, at = source_position(i, step, align);
    double taps[4];
    switch (map[0]) {
      case kNearest:
        clamped(w, i, int64_t(std::floor(float(i) * step32)), &one, 1);
        break;
      case kNearestExact:
        clamped(w, i, int64_t(std::floor((double(i) + 0.5) * step)), &one, 1);
        break;
      case kLinear: {
        const double x = std::max(at, 0.0), floor = std::floor(x);
        taps[0] = 1 - (x - floor), taps[1] = x - floor;
        clamped(w, i, int64_t(floor), taps, 2);
        break;
      }
      case kCubic:
        cubic_weights(at - std::floor(at), taps);
        clamped(w, i, int64_t(std::floor(at)) - 1, taps, 4);
        break;
      case kAverage:
        average(w, map, i);
        break;
      case kSmoothLinear:
      case kSmoothCubic:
        smooth(w, map, i, step);
        break;
      default: {
        w.begin[i] = i * in / out;
        w.count[i] = ceil_div((i + 1) * in, out) - w.begin[i];
        std::fill_n(w.weight + i * w.width, w.count[i], 1 / double(w.count[i]));
      }
    }
  }
  return w;
}

int64_t pooled_size(const char* who, int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  DY_CHECK(room >= 0, "{}: the window does not fit: {} elements with padding {}, the window spans {}", who, in, padding,
           dilation * (kernel - 1) + 1);
  int64_t out = (ceil_mode ? ceil_div(room, stride) : room / stride) + 1;
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;  // the last window begins inside
  return out;
}

Tensor interpolated(Args a) {
  namespace arg = interpolate_op::arg;
  struct Mode {
    std::string_view name;
    int64_t rank, kind;  // rank 0: any
  };
  constexpr Mode kModes[] = {{"nearest", 0, kNearest}, {"nearest-exact", 0, kNearestExact}, {"linear", 1, kLinear},
                             {"bilinear", 2, kLinear}, {"trilinear", 3, kLinear},           {"bicubic", 2, kCubic},
                             {"area", 0, kAdaptive}};
  const Tensor& x = a[arg::input];
  const int64_t rank = x.dim() - 2;
  const auto* mode = std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode& m) { return m.name == a[arg::mode]; });
  DY_CHECK_AS(
      ValueError, mode != std::end(kModes),
      "interpolate: unknown mode \"{}\"; the known ones are nearest, nearest-exact, linear, bilinear, trilinear, bicubic "
      "and area",
      a[arg::mode]);
  check_float("interpolate", x, "input");
  DY_CHECK(rank >= 1 && rank <= 3 && (mode->rank == 0 || mode->rank == rank),
           "interpolate: {} does not go with the input: input is {}", mode->name, describe(x));
  DY_CHECK_AS(ValueError, a.has(arg::size) != a.has(arg::scale_factor), "interpolate: one of size and scale_factor is needed{}",
              a.has(arg::size) ? ", not both" : "");
  DY_CHECK_AS(ValueError, !a.has(arg::align_corners) || mode->kind == kLinear || mode->kind == kCubic,
              "interpolate: align_corners does not go with {}", mode->name);
  const bool antialias = a[arg::antialias];
  DY_CHECK_AS(ValueError, !antialias || mode->name == "bilinear" || mode->name == "bicubic",
              "interpolate: antialias does not go with {}; it is for bilinear and bicubic", mode->name);
  const int64_t kind = !antialias ? mode->kind : mode->kind == kLinear ? kSmoothLinear : kSmoothCubic;
  int64_t size[3];
  if (a.has(arg::size)) spread("interpolate", "size", a[arg::size], rank, size);
  const bool align = a.has(arg::align_corners) && a[arg::align_corners];
  const bool narrow = rank > 1 && compute_type(plain(x)) == Compute::f32;
  Tensor y = narrow ? dyadic::to(x, f32) : x;
  for (int64_t d = 0; d < rank; ++d) {
    if (a.has(arg::scale_factor)) size[d] = int64_t(double(x.size(2 + d)) * a[arg::scale_factor]);
    DY_CHECK(size[d] > 0 && x.size(2 + d) > 0, "interpolate: nothing is left: input is {}, dimension {} would have {} elements",
             describe(x), 2 + d, size[d]);
    const int64_t map[] = {kind, align};
    y = call(Op::resample_, y, 2 + d, size[d], IntList(map), a.has(arg::scale_factor) ? 1 / a[arg::scale_factor] : 0.0);
  }
  return narrow ? dyadic::to(y, plain(x)) : y;
}

}  // namespace dyadic::inline v1::ops
