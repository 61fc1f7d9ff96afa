// Philox on vectors, and what is made of its bits: see base/random.h, Note [Random streams].
#include "base/random.h"
#include "base/simd/simd.h"

namespace dyadic::DY_ISA {

namespace {

constexpr hn::ScalableTag<uint64_t> d64;
constexpr hn::ScalableTag<uint32_t> d32;
using V64 = hn::Vec<decltype(d64)>;
using V32 = hn::Vec<decltype(d32)>;
constexpr int64_t kBlocks = hn::MaxLanes(d64);  // Philox blocks per step

// kBlocks blocks: words 0 and 1 of a block in the halves of one lane of `a`, words 2 and 3 in `b`. Lane 2j holds block j and
// lane 2j + 1 block j + kBlocks/2, so that interleaving within 128 bits puts the blocks in order.
struct Words {
  V64 a, b;
};
alignas(64) constexpr uint64_t kOrder[8] = {0, kBlocks / 2, 1, kBlocks / 2 + 1, 2, kBlocks / 2 + 2, 3, kBlocks / 2 + 3};

DY_INLINE V64 multiply(V64 x, V32 factor) { return hn::MulEven(hn::BitCast(d32, x), factor); }  // of the low halves
// Brings the high half down. A shift would too, but shares a port with the products (13 % slower on AVX2).
DY_INLINE V64 swap_halves(V64 x) { return hn::BitCast(d64, hn::Shuffle2301(hn::BitCast(d32, x))); }
DY_INLINE V64 xor3(V64 x, V64 y, V64 z) {
#if DY_AVX512
  return V64{_mm512_ternarylogic_epi64(x.raw, y.raw, z.raw, 0x96)};
#else
  return hn::Xor(hn::Xor(x, y), z);
#endif
}

// A stream's key as each round takes it.
struct Keys {
  uint64_t stream, k0[10], k1[10];
  DY_INLINE Keys(uint64_t seed, uint64_t stream) : stream(stream) {
    for (uint32_t round = 0; round < 10; round++) {
      k0[round] = uint32_t(seed) + round * 0x9e3779b9u;
      k1[round] = uint32_t(seed >> 32) + round * 0xbb67ae85u;
    }
  }
};

// The high halves of c0 ... c3 carry rubbish through the rounds: the products ignore them.
DY_INLINE Words philox_blocks(const Keys& key, uint64_t block) {
  const V32 m0 = hn::Set(d32, 0xd2511f53u), m1 = hn::Set(d32, 0xcd9e8d57u);
  V64 c0 = hn::Add(hn::Set(d64, block), hn::Load(d64, kOrder)), c1 = hn::ShiftRight<32>(c0);
  V64 c2 = hn::Set(d64, key.stream), c3 = hn::ShiftRight<32>(c2);
  for (int round = 0; round < 10; round++) {
    V64 p = multiply(c0, m0), q = multiply(c2, m1);
    c0 = xor3(swap_halves(q), c1, hn::Set(d64, key.k0[round]));
    c2 = xor3(swap_halves(p), c3, hn::Set(d64, key.k1[round]));
    c1 = q;
    c3 = p;
  }
  const V64 low = hn::Set(d64, 0xffffffffu);
  return {hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1)), hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3))};
}
// The same in stream order: 2 * MaxLanes(d32) words.
struct Ordered {
  V64 first, second;
};
DY_INLINE Ordered in_order(V64 a, V64 b) { return {hn::InterleaveLower(d64, a, b), hn::InterleaveUpper(d64, a, b)}; }
DY_INLINE Ordered in_order(Vec<double> a, Vec<double> b) { return in_order(hn::BitCast(d64, a.v), hn::BitCast(d64, b.v)); }

template <class T> DY_INLINE void store_bits(Ordered o, T* out) {
  constexpr hn::ScalableTag<T> d;
  hn::StoreU(hn::BitCast(d, o.first), d, out);
  hn::StoreU(hn::BitCast(d, o.second), d, out + hn::MaxLanes(d));
}

// Each of these makes one step's elements: PerBlock * kBlocks of them from kBlocks blocks.
struct Bits {
  using Element = uint32_t;
  static constexpr int64_t kPerBlock = 4;
  static DY_INLINE void make(Words w, uint32_t* out) { store_bits(in_order(w.a, w.b), out); }
};
struct UniformF32 {
  using Element = float;
  static constexpr int64_t kPerBlock = 4;
  static DY_INLINE V64 convert(V64 words) {
    constexpr hn::ScalableTag<int32_t> di;
    auto top = hn::BitCast(di, hn::ShiftRight<8>(hn::BitCast(d32, words)));
    return hn::BitCast(d64, (Vec<float>(hn::ConvertTo(Vec<float>::d, top)) * 0x1p-24f).v);
  }
  static DY_INLINE void make(Words w, float* out) {
    Ordered o = in_order(w.a, w.b);
    store_bits({convert(o.first), convert(o.second)}, out);
  }
};
struct UniformF64 {
  using Element = double;
  static constexpr int64_t kPerBlock = 2;
  static DY_INLINE Vec<double> convert(V64 bits) {
    // 53 bits are one too many for the mantissa of [1, 2): the lowest comes as 2^-53 or 0.
    V64 one = hn::Set(d64, 0x3ff0000000000000u);
    Vec<double> high = hn::BitCast(Vec<double>::d, hn::Or(hn::ShiftRight<12>(bits), one));
    V64 last = hn::And(hn::ShiftRight<11>(bits), hn::Set(d64, 1));
    Vec<double> low = hn::BitCast(Vec<double>::d, hn::And(hn::Sub(hn::Zero(d64), last), hn::Set(d64, 0x3ca0000000000000u)));
    return (high - 1) + low;
  }
  static DY_INLINE void make(Words w, double* out) { store_bits(in_order(convert(w.a), convert(w.b)), out); }
};

// sqrt(-2 log u) times the cosine and the sine of a random angle. The angle's octant comes from three bits (two signs, a swap),
// its place there, in [0, pi/4), from the others: no range reduction, and no bit serves twice.
template <class T> struct Pair {
  Vec<T> first, second;
};
template <class T, class U> DY_INLINE Pair<T> box_muller(Vec<T> u, Vec<T> angle, U sign_bits, U swap_bits) {
  constexpr auto d = Vec<T>::d;
  Vec<T> radius = sqrt(math::log_unrepaired(u) * -2);
  math::Angle<T> a{math::bits(Vec<T>(0)), angle, 0};
  Vec<T> s = math::sin_near(a), c = math::cos_near(a);
  Mask<T> swap = signbit(Vec<T>(hn::BitCast(d, swap_bits)));
  Vec<T> sign0 = hn::And(hn::BitCast(d, sign_bits), hn::SignBit(d));
  Vec<T> sign1 = hn::And(hn::BitCast(d, hn::ShiftLeft<1>(sign_bits)), hn::SignBit(d));
  Vec<T> x = select(swap, s, c) * radius, y = select(swap, c, s) * radius;
  return {hn::Xor(x.v, sign0.v), hn::Xor(y.v, sign1.v)};
}

struct NormalF32 {
  using Element = float;
  static constexpr int64_t kPerBlock = 4;
  // Even words of both vectors are radii, odd ones angles: gathered into one vector each, so that no lane is idle.
  static DY_INLINE void make(Words w, float* out) {
    constexpr hn::ScalableTag<float> d;
    constexpr hn::ScalableTag<int32_t> di;
    Ordered o = in_order(w.a, w.b);
    V32 p = hn::BitCast(d32, o.first), q = hn::BitCast(d32, o.second);
    V32 even = hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(o.second)), p);
    V32 odd = hn::OddEven(q, hn::BitCast(d32, hn::ShiftRight<32>(o.first)));
    Vec<float> u = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<1>(even)));
    Vec<float> a = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<3>(hn::ShiftLeft<3>(odd))));
    constexpr float kStep = 0.78539816339744831 * 0x1p-29;
    Pair<float> z = box_muller((u + 0.5f) * 0x1p-31f, (a + 0.5f) * kStep, odd, hn::ShiftLeft<2>(odd));
    V64 x = hn::BitCast(d64, z.first.v), y = hn::BitCast(d64, z.second.v);
    V32 first = hn::OddEven(hn::BitCast(d32, hn::ShiftLeft<32>(y)), hn::BitCast(d32, x));
    V32 second = hn::OddEven(hn::BitCast(d32, y), hn::BitCast(d32, hn::ShiftRight<32>(x)));
    store_bits({hn::BitCast(d64, first), hn::BitCast(d64, second)}, out);
  }
};
struct NormalF64 {
  using Element = double;
  static constexpr int64_t kPerBlock = 2;
  static DY_INLINE Vec<double> fraction(V64 bits) {  // the top 52 bits as [1, 2)
    return hn::BitCast(Vec<double>::d, hn::Or(hn::ShiftRight<12>(bits), hn::Set(d64, 0x3ff0000000000000u)));
  }
  static DY_INLINE void make(Words w, double* out) {
    Vec<double> u = fraction(w.a) - (1 - 0x1p-53), a = fraction(hn::ShiftLeft<3>(w.b)) - (1 - 0x1p-53);
    Pair<double> z = box_muller(u, a * 0.78539816339744831, w.b, hn::ShiftLeft<2>(w.b));
    store_bits(in_order(z.first, z.second), out);
  }
};

// Whole steps go straight to `out`; what a step has beyond either end of [begin, begin + n) is made and dropped.
template <class Maker>
[[gnu::flatten]] void fill(uint64_t seed, uint64_t stream, uint64_t begin, int64_t n, typename Maker::Element* out) {
  constexpr int64_t kStep = Maker::kPerBlock * kBlocks;
  const Keys key(seed, stream);
  uint64_t block = begin / Maker::kPerBlock;
  int64_t skip = int64_t(begin % Maker::kPerBlock);
  for (int64_t i = 0; i < n; block += kBlocks) {
    if (skip == 0 && n - i >= kStep) {
      Maker::make(philox_blocks(key, block), out + i);
      i += kStep;
    } else {
      alignas(64) typename Maker::Element step[kStep];
      Maker::make(philox_blocks(key, block), step);
      for (; skip < kStep && i < n; i++) out[i] = step[skip++];
      skip = 0;
    }
  }
}

}  // namespace

extern const RandomKernel random_kernel = {fill<Bits>, fill<UniformF32>, fill<UniformF64>, fill<NormalF32>, fill<NormalF64>};

}  // namespace dyadic::DY_ISA
