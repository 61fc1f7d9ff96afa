// Transforms of images, in ops: what they draw belongs to the batch they are made for.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/images.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data::transforms {
namespace {

int64_t height(const Tensor& t) { return t.size(-2); }
int64_t width(const Tensor& t) { return t.size(-1); }
double uniform(double low, double high) { return low + (high - low) * rand({}, f64).item(); }
int64_t below(int64_t n) { return std::min(int64_t(uniform(0, double(n))), n - 1); }

std::pair<int64_t, int64_t> both(const char* who, const std::vector<int64_t>& size) {
  DY_CHECK_AS(ValueError, (size.size() == 1 || size.size() == 2) && size.front() > 0 && size.back() > 0,
              "{}: the size is one positive number or two, height and width: it is {}", who, shape_text(size));
  return {size.front(), size.back()};
}

Tensor crop(const Tensor& t, int64_t top, int64_t left, int64_t h, int64_t w) {
  return narrow(narrow(t, -2, top, h), -1, left, w);
}
Tensor padded(const Tensor& t, int64_t left, int64_t right, int64_t top, int64_t bottom, double fill) {
  if (!left && !right && !top && !bottom) return t;
  return dyadic::pad(t, {left, right, top, bottom}, "constant", fill);
}
// [out, in]: each row a triangle over the inputs that fall into it, as wide as the scale; PyTorch's antialiased bilinear.
Tensor resampling(int64_t in, int64_t out) {
  const double scale = double(in) / double(out), support = std::max(scale, 1.0);
  std::vector<double> weights(size_t(in * out), 0);
  for (int64_t i = 0; i < out; ++i) {
    const double center = scale * (double(i) + 0.5);
    const int64_t begin = std::max(int64_t(center - support + 0.5), int64_t(0));
    const int64_t end = std::min(int64_t(center + support + 0.5), in);
    double* row = weights.data() + i * in;
    double sum = 0;
    for (int64_t j = begin; j < end; ++j) sum += row[j] = std::max(0.0, 1 - std::abs(double(j) - center + 0.5) / support);
    for (int64_t j = begin; j < end; ++j) row[j] /= sum;
  }
  return from_data(weights.data(), {out, in}, f64).to(f32);
}
Tensor resized(const Tensor& t, int64_t h, int64_t w) {
  if (h == height(t) && w == width(t)) return t;
  const bool integer = t.dtype() == u8;
  const Tensor x = matmul(matmul(resampling(height(t), h), t.to(f32)), resampling(width(t), w).t());
  return integer ? clamp(round(x), 0, 255).to(u8) : x.to(t.dtype());
}
// A rectangle of `scale` times the area and an aspect within `ratio` (log-uniform) that fits; nothing after ten attempts.
struct Box {
  int64_t top, left, h, w;
};
std::optional<Box> random_box(const Tensor& t, std::pair<double, double> scale, std::pair<double, double> ratio) {
  const double area = double(height(t)) * double(width(t));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double part = area * uniform(scale.first, scale.second);
    const double aspect = std::exp(uniform(std::log(ratio.first), std::log(ratio.second)));
    const int64_t w = std::lrint(std::sqrt(part * aspect)), h = std::lrint(std::sqrt(part / aspect));
    if (w < 1 || h < 1 || w > width(t) || h > height(t)) continue;
    const int64_t top = below(height(t) - h + 1);
    return Box{top, below(width(t) - w + 1), h, w};
  }
  return {};
}
Tensor gray(const Tensor& t) {  // the luma of ITU-R BT.601
  if (t.size(0) == 1) return t;
  DY_CHECK_AS(ValueError, t.dim() == 3 && t.size(0) == 3, "grayscale: the image is not [1 or 3, height, width]: it is {}",
              describe(t));
  const Tensor x = t.to(f32);
  return (narrow(x, 0, 0, 1) * 0.2989 + narrow(x, 0, 1, 1) * 0.587 + narrow(x, 0, 2, 1) * 0.114).to(t.dtype());
}
Tensor flipped(const Tensor& t, int64_t dim, double p) { return uniform(0, 1) < p ? flip(t, {dim}) : t; }

}  // namespace

Transform compose(std::vector<Transform> steps) {
  return [steps = std::move(steps)](Tensor t) {
    for (const Transform& step : steps) t = step(std::move(t));
    return t;
  };
}
Transform to_float() {
  return [](Tensor t) { return t.dtype().is_floating_point() ? t : t.to(f32) / 255; };
}
Transform normalize(std::vector<double> mean, std::vector<double> std) {
  DY_CHECK_AS(ValueError, mean.size() == std.size() && !mean.empty() && std::find(std.begin(), std.end(), 0.0) == std.end(),
              "normalize: as many means as standard deviations, none of these zero: {} and {}", mean.size(), std.size());
  const int64_t channels[] = {int64_t(mean.size()), 1, 1};
  const Tensor m = from_data(mean.data(), channels, f64).to(f32), s = from_data(std.data(), channels, f64).to(f32);
  return [m, s](Tensor t) {
    DY_CHECK_AS(TypeError, t.dtype().is_floating_point(), "normalize: the image is {}; to_float() comes before", describe(t));
    return (t - m.to(t.dtype())) / s.to(t.dtype());
  };
}
Transform resize(std::vector<int64_t> size) {
  both("resize", size);
  return [size = std::move(size)](Tensor t) {
    if (size.size() == 2) return resized(t, size[0], size[1]);
    const int64_t h = height(t), w = width(t);
    return h < w ? resized(t, size[0], size[0] * w / h) : resized(t, size[0] * h / w, size[0]);
  };
}
Transform center_crop(std::vector<int64_t> size) {
  return [hw = both("center_crop", size)](Tensor t) {
    const auto [h, w] = hw;
    const int64_t dh = std::max(h - height(t), int64_t(0)), dw = std::max(w - width(t), int64_t(0));
    t = padded(t, dw / 2, dw - dw / 2, dh / 2, dh - dh / 2, 0);
    // PyTorch rounds half to even.
    return crop(t, std::lrint(double(height(t) - h) / 2), std::lrint(double(width(t) - w) / 2), h, w);
  };
}
Transform pad(int64_t padding, double fill) {
  return [=](Tensor t) { return padded(t, padding, padding, padding, padding, fill); };
}
Transform random_crop(std::vector<int64_t> size, int64_t padding) {
  return [padding, hw = both("random_crop", size)](Tensor t) {
    const auto [h, w] = hw;
    t = padded(t, padding, padding, padding, padding, 0);
    DY_CHECK_AS(ValueError, height(t) >= h && width(t) >= w, "random_crop: {} x {} is more than there is: the image is {}", h,
                w, describe(t));
    const int64_t top = below(height(t) - h + 1), left = below(width(t) - w + 1);
    return crop(t, top, left, h, w);
  };
}
Transform random_horizontal_flip(double p) {
  return [p](Tensor t) { return flipped(t, -1, p); };
}
Transform random_vertical_flip(double p) {
  return [p](Tensor t) { return flipped(t, -2, p); };
}
Transform random_resized_crop(std::vector<int64_t> size, std::pair<double, double> scale, std::pair<double, double> ratio) {
  return [scale, ratio, hw = both("random_resized_crop", size)](Tensor t) {
    if (const auto box = random_box(t, scale, ratio))
      return resized(crop(t, box->top, box->left, box->h, box->w), hw.first, hw.second);
    // The largest part in the middle whose aspect is allowed.
    const double aspect = std::clamp(double(width(t)) / double(height(t)), ratio.first, ratio.second);
    const int64_t w = std::min(width(t), int64_t(std::lrint(double(height(t)) * aspect)));
    const int64_t h = std::min(height(t), int64_t(std::lrint(double(width(t)) / aspect)));
    return resized(crop(t, (height(t) - h) / 2, (width(t) - w) / 2, h, w), hw.first, hw.second);
  };
}
Transform random_erasing(double p, std::pair<double, double> scale, std::pair<double, double> ratio, double value) {
  return [=](Tensor t) {
    if (uniform(0, 1) >= p) return t;
    const auto box = random_box(t, scale, ratio);
    if (!box) return t;
    t = t.clone();
    crop(t, box->top, box->left, box->h, box->w).fill_(value);
    return t;
  };
}

Transform grayscale(int64_t channels) {
  DY_CHECK_AS(ValueError, channels == 1 || channels == 3, "grayscale: channels are 1 or 3: it is {}", channels);
  return [channels](Tensor t) {
    Tensor g = gray(t);
    return channels == 1 ? g : expand(g, {3, height(t), width(t)}).contiguous();
  };
}
Transform color_jitter(double brightness, double contrast, double saturation) {
  const double strength[] = {brightness, contrast, saturation};
  for (double s : strength) DY_CHECK_AS(ValueError, s >= 0, "color_jitter: a strength is negative: {}", s);
  return [brightness, contrast, saturation](Tensor t) {
    const double strengths[] = {brightness, contrast, saturation};
    int order[] = {0, 1, 2};
    std::swap(order[2], order[below(3)]);
    std::swap(order[1], order[below(2)]);
    for (int step : order) {
      if (strengths[step] == 0) continue;
      const double factor = uniform(std::max(0.0, 1 - strengths[step]), 1 + strengths[step]);
      const Tensor other = step == 0 ? zeros({}) : step == 1 ? mean(gray(t).to(f32)) : gray(t).to(f32);
      const bool bytes = t.dtype() == u8;
      t = clamp(t.to(f32) * factor + other * (1 - factor), 0, bytes ? 255 : 1).to(t.dtype());
    }
    return t;
  };
}

}  // namespace dyadic::inline v1::data::transforms
