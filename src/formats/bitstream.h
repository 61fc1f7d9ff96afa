// Codes of fewer than 8 bits, one behind the other: code i takes bits [i * bits, (i + 1) * bits), counted from the lowest bit
// of the first byte. As many codes as fill whole bytes are a *word*; a vector of words is spread to a byte a code, or gathered
// from that, by halves: the upper half of each field moves by what a byte is longer than a code, times the codes in a half.
#pragma once
#include "formats/block/lanes.h"
#include "formats/packed_kernel.h"

namespace dyadic::DY_ISA {

template <int kBits> class BitStream {
  static_assert(kBits == 1 || kBits == 2 || kBits == 3 || kBits == 4 || kBits == 6);
  static constexpr int kBytes = kBits % 3 ? 1 : 3, kCodes = 8 * kBytes / kBits;  // of a word
  using Word = hwy::UnsignedFromSize<kCodes>;                                    // a byte a code
  static constexpr hn::CappedTag<uint8_t, kCodeRoom> kD{};
  static constexpr hn::Repartition<Word, decltype(kD)> kWords{};
  using Words = hn::Vec<hn::Repartition<Word, hn::CappedTag<uint8_t, kCodeRoom>>>;
  static constexpr int64_t kStep = int64_t(hn::MaxLanes(kD)), kPacked = kStep * kBits / 8;  // codes and bytes of a vector
  static constexpr int64_t kBlock = 16 * kBits / 8, kReach = kBytes == 1 ? kPacked : kPacked + 16 - kBlock;

  // The bits of `codes` codes at the bottom of every `bytes` bytes.
  static constexpr Word fields(int codes, int bytes) {
    Word mask = 0;
    for (int at = 0; at < 8 * kCodes; at += 8 * bytes) mask |= Word(((Word{1} << (codes * kBits)) - 1) << at);
    return mask;
  }
  // The lower halves of w's fields and the upper ones of `moved`. Codes of up to 4 bits move past each other.
  template <int kHalf> static Words merge(Words w, Words moved) {
    if constexpr (kBits <= 4) return hn::Or(w, moved);
    const Words lower = hn::Set(kWords, fields(kHalf, 2 * kHalf));
    return hn::Or(hn::And(lower, w), hn::AndNot(lower, moved));
  }
  template <int kHalf = kCodes / 2> static Words spread(Words w) {
    const Words apart = merge<kHalf>(w, hn::ShiftLeft<kHalf * (8 - kBits)>(w));
    const Words clean = hn::And(apart, hn::Set(kWords, fields(kHalf, kHalf)));
    if constexpr (kHalf == 1)
      return clean;
    else
      return spread<kHalf / 2>(clean);
  }
  template <int kHalf = 1> static Words gather(Words w) {
    if constexpr (kHalf == kCodes) {
      return w;
    } else {
      const Words together = merge<kHalf>(w, hn::ShiftRight<kHalf * (8 - kBits)>(w));
      return gather<2 * kHalf>(hn::And(together, hn::Set(kWords, fields(2 * kHalf, 2 * kHalf))));
    }
  }

  // The three bytes of each word of a block of 16 codes, and their way back.
  struct Order {
    alignas(16) uint8_t apart[16], together[16];
  };
  static constexpr Order make_order() {
    Order o{};
    for (int i = 0; i < 16; ++i) o.apart[i] = o.together[i] = 0x80;
    for (int i = 0; i < kBlock; ++i) {
      const int at = i / kBytes * kCodes + i % kBytes;
      o.apart[at] = uint8_t(i), o.together[i] = uint8_t(at);
    }
    return o;
  }
  static constexpr Order kOrder = make_order();

  // Blocks of 16 codes follow each other, in memory by kBlock bytes.
  using Bytes = hn::Vec<hn::CappedTag<uint8_t, kCodeRoom>>;
  static constexpr hn::Full128<uint8_t> kOne{};
#if DY_ISA_sse4
  static Bytes load_blocks(const uint8_t* p) { return hn::LoadU(kOne, p); }
  static void store_blocks(Bytes v, uint8_t* p) { hn::StoreU(v, kOne, p); }
#else
  static Bytes load_blocks(const uint8_t* p) { return hn::Combine(kD, hn::LoadU(kOne, p + kBlock), hn::LoadU(kOne, p)); }
  static void store_blocks(Bytes v, uint8_t* p) {
    hn::StoreU(hn::LowerHalf(kOne, v), kOne, p);
    hn::StoreU(hn::UpperHalf(kOne, v), kOne, p + kBlock);
  }
#endif
  static Words load(const uint8_t* p) {
    if constexpr (kBytes == 3) {
      return hn::BitCast(kWords, hn::TableLookupBytes(load_blocks(p), hn::LoadDup128(kD, kOrder.apart)));
    } else {
      const auto bytes = hn::LoadU(hn::Rebind<uint8_t, decltype(kWords)>(), p);
      if constexpr (kCodes < 8)
        return hn::PromoteTo(kWords, bytes);
      else
        return hn::PromoteTo(kWords, hn::PromoteTo(hn::Rebind<uint32_t, decltype(kWords)>(), bytes));
    }
  }
  static void store(Words w, uint8_t* p) {
    if constexpr (kBytes == 3) {
      store_blocks(hn::TableLookupBytes(hn::BitCast(kD, w), hn::LoadDup128(kD, kOrder.together)), p);
    } else {
      constexpr hn::Rebind<uint8_t, decltype(kWords)> bytes{};
      hn::StoreU(hn::TruncateTo(bytes, w), bytes, p);
    }
  }

  static uint8_t one(const uint8_t* packed, int64_t i) {
    const int64_t bit = i * kBits;
    uint32_t word = packed[bit / 8];
    if (bit % 8 + kBits > 8) word |= uint32_t(packed[bit / 8 + 1]) << 8;
    return uint8_t((word >> (bit % 8)) & ((1u << kBits) - 1));
  }

 public:
  // Codes [begin, begin + n); writes up to kCodeRoom more.
  static void unpack(const uint8_t* packed, int64_t begin, int64_t n, uint8_t* codes) {
    for (; n > 0 && begin % kCodes; ++begin, --n) *codes++ = one(packed, begin);
    const uint8_t* p = packed + begin / kCodes * kBytes;
    int64_t left = (n * kBits + 7) / 8;
    const auto step = [&](const uint8_t* from) {
      hn::StoreU(hn::BitCast(kD, spread(load(from))), kD, codes);
      n -= kStep, left -= kPacked, p += kPacked, codes += kStep;
    };
    while (n > 0 && left >= kReach) step(p);
    while (n > 0) {
      uint8_t rest[kReach] = {};
      __builtin_memcpy(rest, p, size_t(left));
      step(rest);
    }
  }
  // From a byte boundary on; the bits behind the last code become zero.
  static void pack(const uint8_t* codes, int64_t n, uint8_t* packed) {
    const auto gathered = [](const uint8_t* from) { return gather(hn::BitCast(kWords, hn::LoadU(kD, from))); };
    // What is written behind a vector's bytes is overwritten by the next ones.
    for (; n * kBits >= 8 * kReach; n -= kStep, codes += kStep, packed += kPacked) store(gathered(codes), packed);
    while (n > 0) {
      const int64_t m = n < kStep ? n : kStep;
      uint8_t rest[kStep] = {}, got[kPacked + 16];
      __builtin_memcpy(rest, codes, size_t(m));
      store(gathered(rest), got);
      __builtin_memcpy(packed, got, size_t((m * kBits + 7) / 8));
      n -= m, codes += m, packed += kPacked;
    }
  }
};

template <int kBits> void unpack_bits(const uint8_t* packed, int64_t begin, int64_t n, uint8_t* codes) {
  BitStream<kBits>::unpack(packed, begin, n, codes);
}
// The same where they lie, if each has a byte; else in `bytes`.
template <int kBits> const uint8_t* code_bytes(const uint8_t* packed, int64_t begin, int64_t n, uint8_t* bytes) {
  if constexpr (kBits == 8) {
    return packed + begin;
  } else {
    unpack_bits<kBits>(packed, begin, n, bytes);
    return bytes;
  }
}
template <int kBits> void pack_bits(const uint8_t* codes, int64_t n, uint8_t* packed) {
  BitStream<kBits>::pack(codes, n, packed);
}

}  // namespace dyadic::DY_ISA
