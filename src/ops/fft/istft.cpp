#include "ops/demand.h"
#include "ops/fft/frames.h"

namespace dyadic::inline v1::ops::istft_op {
namespace {

// frames [B, T, n] added where they overlap: [B, n + hop (T - 1)].
Tensor overlap_add(const Tensor& frames, int64_t hop) {
  const int64_t b = frames.size(0), t = frames.size(1), n = frames.size(2);
  const Device device = frames.device();
  const Tensor at = add(mul(unsqueeze(arange(0, t, 1, i64, device), 1), hop), arange(0, n, 1, i64, device));
  auto place = [&](const Tensor& x) {
    return index_add(zeros({b, n + hop * (t - 1)}, x.dtype(), device), 1, at.reshape({t * n}), x.reshape({b, t * n}));
  };
  return frames.dtype().is_complex() ? complex(place(real(frames)), place(imag(frames))) : place(frames);
}

Tensor compose(Args a) {
  const char* who = "istft";
  const Tensor& t = a[arg::self];
  DY_CHECK_AS(TypeError, t.dtype().is_complex(), "{}: needs complex numbers: self is {}", who, describe(t));
  DY_CHECK(t.dim() == 2 || t.dim() == 3, "{}: needs [frequencies, frames] or a batch of them: self is {}", who, describe(t));
  const Frames f(who, a);
  const bool center = a[arg::center], complex_out = a[arg::return_complex];
  const bool onesided = !a.has(arg::onesided) ? t.size(-2) != f.size : a[arg::onesided];
  DY_CHECK(t.size(-2) == (onesided ? f.size / 2 + 1 : f.size) && !(onesided && complex_out),
           "{}: the frequencies do not fit: self is {}, n_fft is {}, onesided is {}, return_complex is {}", who, describe(t),
           f.size, onesided, complex_out);
  Tensor x = (t.dim() == 2 ? unsqueeze(t, 0) : t).transpose(1, 2);
  const std::string_view scale = a[arg::normalized] ? "ortho" : "backward";
  if (!onesided && !complex_out) x = narrow(x, -1, 0, f.size / 2 + 1);  // the other half is taken for its mirror
  x = complex_out ? transform(who, x, Arg(), -1, scale, Direction::inverse)
                  : transform_half(who, x, f.size, -1, scale, Direction::inverse);
  const Tensor window = f.window.defined() ? f.window : ones({f.size}, x.dtype().to_real(), x.device());
  const int64_t frames = x.size(1), all = f.size + f.hop * (frames - 1), from = center ? f.size / 2 : 0;
  const bool given = a.has(arg::length);
  const int64_t to = std::min(all, given ? from + a[arg::length] : center ? all - f.size / 2 : all);
  DY_CHECK(to > from, "{}: nothing is left: self is {}, n_fft is {}", who, describe(t), f.size);
  const Tensor weights = narrow(overlap_add(expand(square(window), {1, frames, f.size}), f.hop), 1, from, to - from);
  demand_all(who, gt(amin(abs(weights.detach())), 1e-11),
             [&] { return fmt::format("{}: the windows leave gaps: hop_length is {}, n_fft is {}", who, f.hop, f.size); });
  Tensor y = div(narrow(overlap_add(mul(x, window), f.hop), 1, from, to - from), weights);
  if (given && y.size(1) < a[arg::length]) y = resized(who, y, 1, a[arg::length]);
  return t.dim() == 2 ? squeeze(y, 0) : y;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool "
        "normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
    .doc =
        "The signals [..., time] whose stft is self [..., frequencies, frames], in the least squares sense: frames are "
        "transformed "
        "back, windowed, added and divided by the sum of the squared windows. length: cut or padded with zeros to it.",
    .kind = OpKind::composite,
    .low = 0.5,
    .samples =
        "istft(randn(3, 5; complex), 4)\n"
        "istft(randn(2, 5, 4; complex), 8, 3, 6, rand(6), True, True)\n"
        "istft(randn(2, 8, 4; complex), 8, 4, 8, None, False, False, False, 15, True)",
    .bad =
        "istft(zeros(3, 4), 4) => istft: needs complex numbers: self is f32[3, 4]\n"
        "istft(randn(4, 4; complex), 4, None, None, None, True, False, True) => istft: the frequencies do not fit: self is "
        "c64[4, "
        "4], n_fft is 4, onesided is true, return_complex is false",
    .skip =
        "threads: a frame is as long as the signal grows\n"
        "result_dtype: it follows the frequencies', not the window's",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::istft_op
