// Discrete Fourier transforms under PyTorch's names (torch.fft), one line each; documentation is in the records (src/ops/fft/).
// `norm` is "backward" (the inverse is scaled by 1 / n), "forward" or "ortho".
#pragma once
#include "dyadic/ops.h"

namespace dyadic::inline v1::fft {

// clang-format off
#define DY_FFT(name) \
  inline Tensor name(const Tensor& self, std::optional<int64_t> n = {}, int64_t dim = -1, std::string_view norm = "backward") { return call(Op::fft_##name##_, self, n, dim, norm); }
DY_FFT(fft) DY_FFT(ifft) DY_FFT(rfft) DY_FFT(irfft) DY_FFT(hfft) DY_FFT(ihfft)
#undef DY_FFT
#define DY_FFT2(name) \
  inline Tensor name(const Tensor& self, std::optional<IntList> s = {}, IntList dim = {-2, -1}, std::string_view norm = "backward") { return call(Op::fft_##name##_, self, s, dim, norm); }
DY_FFT2(fft2) DY_FFT2(ifft2) DY_FFT2(rfft2) DY_FFT2(irfft2) DY_FFT2(hfft2) DY_FFT2(ihfft2)
#undef DY_FFT2
#define DY_FFTN(name) \
  inline Tensor name(const Tensor& self, std::optional<IntList> s = {}, std::optional<IntList> dim = {}, std::string_view norm = "backward") { return call(Op::fft_##name##_, self, s, dim, norm); }
DY_FFTN(fftn) DY_FFTN(ifftn) DY_FFTN(rfftn) DY_FFTN(irfftn) DY_FFTN(hfftn) DY_FFTN(ihfftn)
#undef DY_FFTN
inline Tensor fftfreq(int64_t n, double d = 1, DType dtype = {}, Device device = cpu) { return call(Op::fft_fftfreq_, n, d, dtype, device); }
inline Tensor rfftfreq(int64_t n, double d = 1, DType dtype = {}, Device device = cpu) { return call(Op::fft_rfftfreq_, n, d, dtype, device); }
inline Tensor fftshift(const Tensor& self, std::optional<IntList> dim = {}) { return call(Op::fft_fftshift_, self, dim); }
inline Tensor ifftshift(const Tensor& self, std::optional<IntList> dim = {}) { return call(Op::fft_ifftshift_, self, dim); }
// clang-format on

}  // namespace dyadic::inline v1::fft
