#include <cmath>

#include "ops/fft/frames.h"

namespace dyadic::inline v1::ops::stft_op {
namespace {

Tensor compose(Args a) {
  const char* who = "stft";
  const Tensor& t = a[arg::self];
  DY_CHECK(t.dim() == 1 || t.dim() == 2, "{}: needs one signal or a batch of them: self is {}", who, describe(t));
  const Frames f(who, a);
  const bool complex_in = t.dtype().is_complex() || (f.window.defined() && f.window.dtype().is_complex());
  const bool onesided = !a.has(arg::onesided) ? !complex_in : a[arg::onesided];
  DY_CHECK(!(onesided && complex_in), "{}: half of the spectrum of complex numbers is not all: self is {}; use onesided=False",
           who, describe(t));
  Tensor x = floating(t.dim() == 1 ? unsqueeze(t, 0) : t);
  if (a[arg::center])
    x = squeeze(pad(unsqueeze(x, 0), {f.size / 2, f.size / 2}, {a.arg(arg::pad_mode).text, a.arg(arg::pad_mode).n}), 0);
  DY_CHECK(x.size(1) >= f.size, "{}: the signal is shorter than a frame: self is {}, n_fft is {}", who, describe(t), f.size);
  x = unfold(x, 1, f.size, f.hop);  // [B, frames, n_fft]
  if (f.window.defined()) x = mul(x, f.window);
  const std::string_view scale = a[arg::normalized] ? "ortho" : "backward";
  x = onesided ? transform_real(who, x, Arg(), -1, scale, Direction::forward)
               : transform(who, x, Arg(), -1, scale, Direction::forward);
  x = x.transpose(1, 2);
  if (t.dim() == 1) x = squeeze(x, 0);
  return !a.has(arg::return_complex) || a[arg::return_complex] ? x : view_as_real(x.contiguous());
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, str "
        "pad_mode='reflect', bool normalized=False, bool? onesided=None, bool? return_complex=None) -> Tensor",
    .doc =
        "The Fourier transforms of frames of n_fft values, hop_length (n_fft / 4) apart, of signals [..., time]: [..., "
        "frequencies, frames]. center: frame k is around k hop_length, the signal being padded as pad_mode says. normalized: "
        "scaled by 1 / sqrt(n_fft). onesided (real signals): n_fft / 2 + 1 frequencies. return_complex=False: pairs of reals.",
    .kind = OpKind::composite,
    .low = 0.5,
    .samples =
        "stft(randn(16), 4, None, None, None, True, 'reflect', False, None, True)\n"
        "stft(randn(2, 20), 8, 3, 6, rand(6), True, 'constant', True, False, True)\n"
        "stft(randn(2, 20), 8, 4, 8, rand(8), False, 'reflect', False, True, True)",
    .bad =
        "stft(zeros(4), 8, None, None, None, False) => stft: the signal is shorter than a frame: self is f32[4], n_fft is 8\n"
        "stft(zeros(16), 8, None, 4, zeros(8)) => stft: the window has not win_length values: window is f32[8], win_length is "
        "4",
    .skip = "threads: a frame is as long as the signal grows",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::stft_op
