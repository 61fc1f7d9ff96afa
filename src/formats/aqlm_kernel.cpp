#include "formats/aqlm_kernel.h"

#include "formats/block/aqlm.h"

namespace dyadic::DY_ISA {
namespace {

using namespace aqlm;

void search_all(const float* words, int64_t books, int bits, const float* x, int64_t n, uint8_t* codes) {
  Book book[kMostCodebooks];
  for (int64_t b = 0; b < books; ++b) book[b].read(words + b * (kVector << bits), int64_t{1} << bits);
  for (int64_t i = 0; i < n; ++i) search(book, books, x + i * kVector, codes + i * books);
}

void pack(const uint8_t* codes, int64_t n, int bits, uint8_t* row) {
  if (n > 0) row[(n * bits - 1) / 8] = 0;
  for (int64_t i = 0; i < n; ++i) write_code(row, i, bits, codes[i]);
}

}  // namespace

extern constexpr AqlmKernel aqlm_kernel = {search_all, pack};

}  // namespace dyadic::DY_ISA
