// aqlm: sums of codebooks' words (aqlm.h). Planes: codes, a scale for each row, the codebooks, which all rows share. Rounding
// to nearest makes the codebooks: a row's scale is its root mean square, its vectors over it are a sample for k-means, codebook
// by codebook on what the ones before leave (residual k-means), then for all of them together, codes by the search and words by
// means in turn. The scale becomes at last the one that fits the row's codes best. A row with a NaN or an infinity is NaN and
// no part of the sample.
//
// Sums are taken of each word by one thread in the sample's order, and meanwhile the sample's codes lie in the codes' plane, so
// that the result is the same for any number of threads and nothing is allocated.
#include "formats/block/aqlm.h"

#include "base/parallel.h"
#include "formats/block/group.h"

namespace dyadic::DY_ISA {
namespace {

using namespace aqlm;

// Codebooks for a matrix, and its codes under them.
class Fit {
  static constexpr int kRounds = 8, kRoundsTogether = 8;  // of k-means
  static constexpr int64_t kMembers = 256;                // of the sample, for each word
  static constexpr int64_t kRun = 8;                      // vectors whose codes are whole bytes

  const MoreLayout l_;
  const float* in_;
  uint8_t* base_;
  const int64_t books_, words_, vectors_;
  const int bits_;
  int64_t sample_, stride_;
  float word_[kMostCodebooks * kMostWords * kVector];
  Book book_[kMostCodebooks];

 public:
  Fit(const Format& f, const MoreLayout& l, const float* in, uint8_t* base)
      : l_(l),
        in_(in),
        base_(base),
        books_(f.params.codebooks),
        words_(int64_t{1} << f.params.word_bits),
        vectors_(l.rows * l.cols / kVector),
        bits_(f.params.word_bits),
        sample_(vectors_ < kMembers * words_ ? vectors_ : kMembers * words_),
        stride_(sample_ ? vectors_ / sample_ : 1) {}

  void run() {
    parallel_for(l_.rows, 16384 / (l_.cols + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) measure(row);
    });
    for (int64_t b = 0; b < books_; ++b) {
      seed(b);
      for (int round = 1; round <= kRounds; ++round) choose(b, 1), update(b, round);
    }
    for (int round = 1; round <= kRoundsTogether && books_ > 1; ++round) {
      choose(0, books_);
      for (int64_t b = 0; b < books_; ++b) update(b, kRounds + round);
    }
    store_words();
    parallel_for(l_.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) encode(row);
    });
  }

 private:
  float* word(int64_t book, int64_t at) { return word_ + (book * words_ + at) * kVector; }

  void measure(int64_t row) {
    const float* x = in_ + row * l_.cols;
    double square = 0;
    for (int64_t i = 0; i < l_.cols; ++i) square += double(x[i]) * x[i];
    store(row, l_.cols ? float(__builtin_sqrt(square / double(l_.cols))) : 0.0f);
  }
  void store(int64_t row, float scale) {
    if (l_.scales_per_row == 0) return;
    store_scale(l_, base_, row, scale);
    if (!finite(load_scale(l_, base_, row))) store_scale(l_, base_, row, kNaN);
  }

  // A vector of the matrix by its number, in its row's scale; zeros where there is none.
  void read(int64_t vector, float* x) const {
    const float scale = load_scale(l_, base_, vector * kVector / l_.cols);
    const bool there = finite(scale) && scale != 0;
    for (int64_t k = 0; k < kVector; ++k) x[k] = there ? in_[vector * kVector + k] / scale : 0.0f;
  }
  static uint64_t mixed(uint64_t x) {
    x = (x + 1) * 0x9e3779b97f4a7c15u, x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u, x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }
  // The sample has one of each run of vectors, anywhere in it: matrices have patterns of columns.
  void read_sample(int64_t i, float* x) const {
    read(i * vectors_ / sample_ + int64_t(mixed(uint64_t(i)) % uint64_t(stride_)), x);
  }
  uint32_t code(int64_t i, int64_t book) const { return read_code(base_ + l_.codes, i * books_ + book, bits_); }

  void seed(int64_t book) {
    for (int64_t w = 0; w < words_ && sample_; ++w)
      rest_of(sample_ < words_ ? w % sample_ : w * sample_ / words_, 0, book, book, word(book, w));
  }
  // A vector of the sample less its words of the codebooks [0, count) but one.
  void rest_of(int64_t i, int64_t first, int64_t count, int64_t but, float* rest) {
    read_sample(i, rest);
    for (int64_t b = first; b < count; ++b)
      if (b != but) take_word(word(b, code(i, b)), rest);
  }
  // Codes of the sample for some codebooks, under what those before them leave.
  void choose(int64_t first, int64_t count) {
    for (int64_t b = first; b < first + count; ++b) book_[b].read(word(b, 0), words_);
    parallel_for((sample_ + kRun - 1) / kRun, 32, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * kRun; i < end * kRun && i < sample_; ++i) {
        float rest[kVector];
        uint8_t chosen[kMostCodebooks];
        rest_of(i, 0, first, -1, rest);
        search(book_ + first, count, rest, chosen);
        for (int64_t b = 0; b < count; ++b) write_code(base_ + l_.codes, i * books_ + first + b, bits_, chosen[b]);
      }
    });
  }
  // Each word becomes the mean of what the other codebooks leave of the vectors that have it; one that none has, what they
  // leave of some vector.
  void update(int64_t book, int round) {
    const int64_t known = round > kRounds ? books_ : book + 1;
    constexpr int64_t kWords = 16;
    parallel_for((words_ + kWords - 1) / kWords, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t low = part * kWords, high = low + kWords < words_ ? low + kWords : words_;
        double sum[kWords][kVector] = {};
        int64_t members[kWords] = {};
        float rest[kVector];
        for (int64_t i = 0; i < sample_; ++i) {
          const int64_t w = int64_t(code(i, book)) - low;
          if (w < 0 || w >= high - low) continue;
          rest_of(i, 0, known, book, rest);
          for (int64_t k = 0; k < kVector; ++k) sum[w][k] += rest[k];
          ++members[w];
        }
        for (int64_t w = low; w < high && sample_; ++w) {
          float* to = word(book, w);
          const int64_t n = members[w - low];
          for (int64_t k = 0; k < kVector && n; ++k) to[k] = float(sum[w - low][k] / double(n));
          if (n == 0) rest_of(int64_t(mixed(uint64_t(round * words_ + w)) % uint64_t(sample_)), 0, known, book, to);
        }
      }
    });
  }

  // As they are kept.
  void store_words() {
    auto* stored = reinterpret_cast<uint16_t*>(base_ + l_.more);
    for (int64_t i = 0; i < books_ * words_ * kVector; ++i) {
      stored[i] = sample_ ? f16_nearest(word_[i]) : uint16_t(0);
      word_[i] = f16_value(stored[i]);
    }
    for (int64_t b = 0; b < books_; ++b) book_[b].read(word(b, 0), words_);
  }
  void encode(int64_t row) {
    uint8_t* codes = base_ + l_.codes + row * l_.pitch;
    const int64_t vectors = l_.cols / kVector;
    double product = 0, power = 0;
    if (l_.pitch) codes[l_.pitch - 1] = 0;
    for (int64_t v = 0; v < vectors; ++v) {
      float x[kVector], sum[kVector] = {};
      uint8_t chosen[kMostCodebooks];
      read(row * vectors + v, x);
      search(book_, books_, x, chosen);
      for (int64_t b = 0; b < books_; ++b) {
        write_code(codes, v * books_ + b, bits_, chosen[b]);
        add_word(word(b, chosen[b]), sum);
      }
      for (int64_t k = 0; k < kVector; ++k) product += double(x[k]) * sum[k], power += double(sum[k]) * sum[k];
    }
    if (product > 0) store(row, load_scale(l_, base_, row) * float(product / power));
  }
};

struct Aqlm {
  static void decode_range(const Format& f, const void* storage, Geometry g, int64_t begin, int64_t end, float* out) {
    const MoreLayout l = more_layout(f, g);
    const auto* base = static_cast<const uint8_t*>(storage);
    const auto* words = reinterpret_cast<const hwy::float16_t*>(base + l.more);
    for_rows(l, begin, end, [&](int64_t row, int64_t col, int64_t stop) {
      const float scale = load_scale(l, base, row);
      const uint8_t* codes = base + l.codes + row * l.pitch;
      while (col < stop) {
        const int64_t vector = col / kVector, from = col % kVector;
        const int64_t to = stop - vector * kVector < kVector ? stop - vector * kVector : kVector;
        if (to - from == kVector) {
          decode(f.params, words, codes, vector, scale, out);
        } else {
          float whole[kVector];
          decode(f.params, words, codes, vector, scale, whole);
          for (int64_t k = from; k < to; ++k) out[k - from] = whole[k];
        }
        out += to - from, col += to - from;
      }
    });
  }
  static void encode_all(const Format& f, const float* in, void* storage, Geometry g, const Round&) {
    Fit(f, more_layout(f, g), in, static_cast<uint8_t*>(storage)).run();
  }

 private:
  static void decode(const Params& p, const hwy::float16_t* words, const uint8_t* codes, int64_t vector, float scale,
                     float* out) {
    constexpr hn::CappedTag<float, size_t(kVector)> d{};
    constexpr hn::Rebind<hwy::float16_t, decltype(d)> halves{};
    const int64_t first = vector * p.codebooks, book = kVector << p.word_bits;
    for (int64_t k = 0; k < kVector; k += int64_t(hn::MaxLanes(d))) {
      const auto word = [&](int64_t b) {
        const uint32_t code = read_code(codes, first + b, p.word_bits);
        return hn::PromoteTo(d, hn::LoadU(halves, words + b * book + code * kVector + k));
      };
      auto sum = word(0);
      for (int64_t b = 1; b < p.codebooks; ++b) sum = hn::Add(sum, word(b));
      hn::StoreU(hn::Mul(sum, hn::Set(d, scale)), d, out + k);
    }
  }
};

}  // namespace

extern constexpr FormatDef aqlm_format = {
    .name = "aqlm",
    .doc = "vectors of 8 as sums of words of the tensor's own codebooks (AQLM)",
    .kind = Kind::scaled,
    .compute = Compute::f32,
    .bits = 2,
    .defaults = {.granularity = Granularity::row, .codebooks = 2, .word_bits = 8, .scale = &detail::f32},
    .options = kCodebooks | kBits | kScale,
    .vector = kVector,
    .planes = codebook_planes,
    .decode_range = Aqlm::decode_range,
    .encode_all = Aqlm::encode_all,
};

}  // namespace dyadic::DY_ISA
