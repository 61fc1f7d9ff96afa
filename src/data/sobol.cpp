#include "data/sobol.h"

#include <bit>
#include <cmath>

#include "base/check.h"
#include "base/parallel.h"
#include "dyadic/generator.h"
#include "dyadic/quasirandom.h"

namespace dyadic::inline v1 {
namespace sobol {
namespace {

constexpr int kPolynomialBits = 14;

class Bits {
  int64_t at_ = 0;

 public:
  uint32_t next(int n) {
    uint32_t value = 0;
    for (int k = 0; k < n; ++k, ++at_) value |= uint32_t(kNumbers[at_ / 64] >> (at_ % 64) & 1) << k;
    return value;
  }
};

}  // namespace

// P. Bratley and B. L. Fox, ACM Trans. Math. Softw. 14, 88 (1988): m_k is made of the s before by the polynomial's
// coefficients.
std::vector<uint32_t> directions(int64_t dimensions, int bits) {
  std::vector<uint32_t> out(size_t(dimensions * bits));
  for (int k = 0; k < bits; ++k) out[size_t(k)] = 1u << (bits - 1 - k);
  Bits packed;
  for (int64_t d = 1; d < dimensions; ++d) {
    uint32_t* v = &out[size_t(d * bits)];
    const uint32_t polynomial = packed.next(kPolynomialBits);
    const int degree = int(std::bit_width(polynomial)) - 1;
    for (int k = 0; k < degree; ++k) v[k] = (packed.next(k) << 1 | 1) << (bits - 1 - k);
    for (int k = degree; k < bits; ++k) {
      v[k] = v[k - degree] ^ v[k - degree] >> degree;
      for (int i = 1; i < degree; ++i)
        if (polynomial >> (degree - i) & 1) v[k] ^= v[k - i];
    }
  }
  return out;
}

}  // namespace sobol

namespace quasirandom {
namespace {

// Each direction times a lower triangular matrix with a diagonal of ones; the highest bit is the first.
void scramble_directions(std::vector<uint32_t>& directions, int64_t dimensions, Generator& g) {
  constexpr int kBits = SobolEngine::kBits;
  const std::vector<double> random = randint(0, int64_t(1) << kBits, {dimensions, kBits}, g, i64).to_vector();
  for (int64_t d = 0; d < dimensions; ++d)
    for (int k = 0; k < kBits; ++k) {
      uint32_t& v = directions[size_t(d * kBits + k)];
      uint32_t scrambled = 0;
      for (int row = 0; row < kBits; ++row) {
        const uint32_t diagonal = 1u << (kBits - 1 - row),
                       below = uint32_t(random[size_t(d * kBits + row)]) & ~(2 * diagonal - 1);
        scrambled |= (std::popcount(v & (diagonal | below)) & 1u) << (kBits - 1 - row);
      }
      v = scrambled;
    }
}

}  // namespace

SobolEngine::SobolEngine(int64_t dimension, bool scramble, std::optional<uint64_t> seed) : dimension_(dimension) {
  DY_CHECK_AS(ValueError, dimension >= 1 && dimension <= kMaxDim, "SobolEngine: dimension is 1 to {}: it is {}", kMaxDim,
              dimension);
  directions_ = sobol::directions(dimension, kBits);
  first_.resize(size_t(dimension));
  if (!scramble) return;
  Generator own(seed.value_or(0));
  Generator& g = seed ? own : default_generator();
  const std::vector<double> shift = randint(0, int64_t(1) << kBits, {dimension}, g, i64).to_vector();
  for (size_t d = 0; d < first_.size(); ++d) first_[d] = uint32_t(shift[d]);
  scramble_directions(directions_, dimension, g);
}

SobolEngine& SobolEngine::fast_forward(int64_t n) {
  DY_CHECK_AS(ValueError, n >= 0 && n <= (int64_t(1) << kBits) - generated_,
              "SobolEngine: there are 2^{} points, {} are drawn: no {} more", kBits, generated_, n);
  generated_ += n;
  return *this;
}
SobolEngine& SobolEngine::reset() {
  generated_ = 0;
  return *this;
}

// Point i is the sum of the directions that the bits of i's Gray code name; each next one differs by one direction.
Tensor SobolEngine::draw(int64_t n, DType dtype) {
  const int64_t begin = generated_;
  fast_forward(n);
  std::vector<double> points(size_t(n * dimension_));
  parallel_for(dimension_, 1 + 4096 / (n + 1), [&](int64_t from, int64_t to) {
    for (int64_t d = from; d < to; ++d) {
      const uint32_t* v = &directions_[size_t(d * kBits)];
      uint32_t x = first_[size_t(d)];
      for (int k = 0; k < kBits; ++k)
        if ((begin ^ begin >> 1) >> k & 1) x ^= v[k];
      for (int64_t i = 0; i < n; ++i) {
        points[size_t(i * dimension_ + d)] = std::ldexp(double(x), -kBits);
        if (i + 1 < n) x ^= v[std::countr_one(uint64_t(begin + i))];
      }
    }
  });
  return from_data(points.data(), {n, dimension_}, f64).to(dtype ? dtype : default_dtype());
}

Tensor SobolEngine::draw_base2(int64_t m, DType dtype) {
  DY_CHECK_AS(ValueError, m >= 0 && m <= kBits, "SobolEngine.draw_base2: m is 0 to {}: it is {}", kBits, m);
  const int64_t total = generated_ + (int64_t(1) << m);
  DY_CHECK_AS(ValueError, std::has_single_bit(uint64_t(total)),
              "SobolEngine.draw_base2: points are even where they are a power of 2 in number: {} and 2^{} are {}; draw() draws "
              "any number",
              generated_, m, total);
  return draw(int64_t(1) << m, dtype);
}

}  // namespace quasirandom
}  // namespace dyadic::inline v1
