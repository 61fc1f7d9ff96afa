// Fourier transforms against the sum that defines them, their accuracy, gradients of complex numbers, threads.
#include "dyadic/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "base/parallel.h"
#include "dyadic/autograd.h"

namespace dyadic {
namespace {

using Tensors = std::vector<Tensor>;

double difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item(); }
Tensor random_complex(IntList sizes) { return complex(randn(sizes, f64), randn(sizes, f64)); }

// The definition, angles reduced exactly.
Tensor by_definition(const Tensor& x, int sign) {
  const int64_t n = x.numel();
  const std::vector<double> v = view_as_real(x).to_vector();
  std::vector<double> out(size_t(2 * n));
  for (int64_t k = 0; k < n; ++k) {
    std::complex<double> sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::complex<double>(v[size_t(2 * j)], v[size_t(2 * j) + 1]) *
             std::polar(1.0, sign * 2 * std::numbers::pi * double(j * k % n) / double(n));
    out[size_t(2 * k)] = sum.real(), out[size_t(2 * k) + 1] = sum.imag();
  }
  return view_as_complex(from_data(out.data(), {n, 2}, f64));
}

TEST(Fft, IsItsDefinitionForEveryLength) {
  manual_seed(1);
  std::vector<int64_t> lengths = {49, 77, 97, 121, 125, 128, 143, 169, 211, 360, 1001, 1009, 1024, 1040};
  for (int64_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (int64_t n : lengths) {
    const Tensor x = random_complex({n});
    const double allowed = 1e-15 * double(n) * std::sqrt(double(n)) + 2e-15;
    EXPECT_LT(difference(fft::fft(x), by_definition(x, -1)), allowed) << n;
    EXPECT_LT(difference(fft::ifft(x, {}, -1, "forward"), by_definition(x, 1)), allowed) << n;
    const Tensor real_part = real(x), half = fft::rfft(real_part);
    EXPECT_LT(difference(half, narrow(by_definition(complex(real_part, zeros_like(real_part)), -1), 0, 0, n / 2 + 1)), allowed)
        << n;
    EXPECT_LT(difference(fft::irfft(half, n), real_part), 1e-13) << n;
    const Tensor whole = by_definition(complex(real_part, zeros_like(real_part)), -1);
    EXPECT_LT(difference(fft::fft(real_part), whole), allowed) << n;
    EXPECT_LT(difference(fft::ifft(real_part, {}, -1, "forward"), conj(whole)), allowed) << n;
  }
}

// Lines that fill the lanes, and a rest that does not, against each alone.
TEST(Fft, ManyLinesAreEachOfThem) {
  manual_seed(6);
  for (int64_t n : {1, 2, 6, 16, 30, 37, 91, 256, 400, 1024})
    for (DType d : {c64, c128}) {
      const Tensor x = random_complex({37, n}).to(d), y = fft::fft(x), z = fft::rfft(real(x)), w = fft::irfft(x, 2 * n - 1);
      const double allowed = (d == c64 ? 1e-6 : 1e-14) * double(n);
      for (int64_t i : {0, 5, 31, 36}) {
        EXPECT_LT(difference(select(y, 0, i), fft::fft(select(x, 0, i))), allowed) << n;
        EXPECT_LT(difference(select(z, 0, i), fft::rfft(real(select(x, 0, i)))), allowed) << n;
        EXPECT_LT(difference(select(w, 0, i), fft::irfft(select(x, 0, i), 2 * n - 1)), allowed) << n;
      }
    }
}

// However the lines lie in memory: rows, columns, every second number, several distances.
TEST(Fft, SameBitsForAnyStrides) {
  manual_seed(7);
  for (DType d : {c64, c128})
    for (int64_t n : {24, 37, 64}) {
      const Tensor wide = random_complex({2, 40, 2 * n}).to(d), x = narrow(wide, 2, 0, n), spread = slice(wide, 2, 0, 2 * n, 2);
      for (const Tensor& t : {x, spread}) {
        const Tensor dense = t.contiguous(), columns = dense.transpose(1, 2).contiguous();
        EXPECT_EQ(difference(fft::fft(t), fft::fft(dense)), 0) << n;
        EXPECT_EQ(difference(fft::fft(columns, {}, 1).transpose(1, 2), fft::fft(dense)), 0) << n;
        EXPECT_EQ(difference(fft::fft(real(t)), fft::fft(real(dense).contiguous())), 0) << n;
        EXPECT_EQ(difference(fft::rfft(real(columns), {}, 1).transpose(1, 2), fft::rfft(real(dense))), 0) << n;
        EXPECT_EQ(difference(fft::irfft(columns, {}, 1).transpose(1, 2), fft::irfft(t)), 0) << n;
      }
    }
}

// Each of log2(n) steps adds at most half an ulp of the whole to its error, on average; PyTorch's f32 has that too.
TEST(Fft, OfF32LosesAnUlpPerOctaveAtMost) {
  manual_seed(2);
  auto error = [](const Tensor& x, const Tensor& exact) {
    return norm(x.to(exact.dtype()) - exact).item() / norm(exact).item();
  };
  for (int64_t n : {16, 100, 1000, 1001, 2187, 4096, 65536, 531441, 1048576})
    for (int64_t lines : {1, 20}) {
      if (n * lines > 2000000) continue;
      const Tensor x = complex(randn({lines, n}), randn({lines, n})), wide = x.to(c128);
      const double allowed = 0x1p-25 * std::log2(double(n));
      EXPECT_LT(error(fft::fft(x), fft::fft(wide)), allowed) << n;
      EXPECT_LT(error(fft::ifft(x), fft::ifft(wide)), allowed) << n;
      EXPECT_LT(error(fft::rfft(real(x)), fft::rfft(real(wide))), allowed) << n;
      EXPECT_LT(error(fft::irfft(x), fft::irfft(wide)), allowed) << n;
    }
}
TEST(Fft, OfF32ByAChirpIsRoundedOnce) {
  manual_seed(2);
  for (int64_t n : {17, 1009, 2018}) {
    const Tensor x = complex(randn({n}), randn({n}));
    EXPECT_EQ(difference(fft::fft(x), fft::fft(x.to(c128)).to(c64)), 0) << n;
  }
}

TEST(Fft, InversesUndo) {
  manual_seed(3);
  const Tensor x = randn({3, 4, 6}, f64);
  for (const char* norm : {"backward", "forward", "ortho"}) {
    EXPECT_LT(difference(real(fft::ifft(fft::fft(x, {}, 1, norm), {}, 1, norm)), x), 1e-14);
    EXPECT_LT(difference(real(fft::ifftn(fft::fftn(x, {}, {}, norm), {}, {}, norm)), x), 1e-14);
    EXPECT_LT(difference(fft::irfft2(fft::rfft2(x, {}, {0, 2}, norm), IntList({3, 6}), {0, 2}, norm), x), 1e-14);
    EXPECT_LT(difference(fft::hfft(fft::ihfft(x, {}, -1, norm), 6, -1, norm), x), 1e-14);
  }
  EXPECT_LT(difference(fft::ifftshift(fft::fftshift(x)), x), 1e-300);
}

TEST(Fft, GradientsOfComplexNumbers) {
  manual_seed(4);
  auto check = [](IntList sizes, auto f) {
    const Tensors leaves = {randn(sizes, f64).requires_grad_(), randn(sizes, f64).requires_grad_()};
    auto on_parts = [&](const Tensors& x) {
      const Tensor y = f(complex(x[0], x[1]));
      return Tensors{y.dtype().is_complex() ? view_as_real(y) : y};
    };
    EXPECT_NO_THROW(gradcheck(on_parts, leaves));
    EXPECT_NO_THROW(gradgradcheck(on_parts, leaves));
  };
  for (int64_t n : {4, 5}) {
    check({2, n}, [](const Tensor& z) { return fft::fft(z); });
    check({2, n}, [](const Tensor& z) { return fft::ifft(z, 7, -1, "ortho"); });
    check({n, 2}, [](const Tensor& z) { return fft::fft(z, 3, 0); });
    check({n}, [](const Tensor& z) { return fft::irfft(z); });
    check({n}, [](const Tensor& z) { return fft::irfft(z, 7); });
    check({n}, [](const Tensor& z) { return fft::hfft(z, 5); });
    check({2, n}, [](const Tensor& z) { return fft::irfftn(z); });
    check({2, n}, [n](const Tensor& z) { return fft::rfft(real(z) * imag(z), n, -1, "ortho"); });
    check({2, n}, [](const Tensor& z) { return fft::ihfft(real(z)); });
  }
}

// Of one element: the element. Lines enough for the threads to meet in whatever they share.
TEST(Fft, ManyLinesOfOneElement) {
  const Tensor x = randn({200000, 1}, f64);
  EXPECT_EQ(all(eq(real(fft::fft(x)), x)).item(), 1);
  EXPECT_EQ(all(eq(real(fft::rfft(x)), x)).item(), 1);
  EXPECT_EQ(all(eq(fft::irfft(fft::rfft(x), 1), x)).item(), 1);
}

TEST(Fft, SameBitsForAnyNumberOfThreads) {
  manual_seed(5);
  const Tensor x = complex(randn({70, 24, 33}), randn({70, 24, 33}));
  auto run = [&] {
    std::string bytes;
    for (int64_t d = 0; d < 3; ++d) {
      const Tensor y = fft::fft(x, {}, d);
      bytes.append(static_cast<const char*>(y.data_ptr()), size_t(y.nbytes()));
    }
    return bytes;
  };
  const int before = num_threads();
  set_num_threads(1);
  const std::string one = run();
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(run() == one) << threads;
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace dyadic
