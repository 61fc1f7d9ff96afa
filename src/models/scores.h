// Log-probabilities of given tokens.
#pragma once
#include <span>

#include "dyadic/models.h"
#include "nn/device_of.h"

namespace dyadic::inline v1::models {

// Calls f(log-probabilities f32 [n, vocab], first) for the tokens number first ... first + n - 1 of ids, given those before
// each, piece by piece from number `from`, at least 1, to the last. kv: formats of what is kept of them meanwhile.
template <class F> void for_scores(CausalLM& m, const KvFormats& kv, std::span<const int64_t> ids, int64_t from, F f) {
  constexpr int64_t kRead = 512, kMostBytes = 64 << 20;  // of a piece's logits
  const NoGrad guard;
  const auto n = int64_t(ids.size());
  const Tensor all = from_data(ids.data(), {1, n}, i64).to(nn::device_of(m));
  Cache cache(n, kv);
  cache.expect(n);
  for (int64_t at = 0; at < from - 1; at += kRead) m.read(narrow(all, 1, at, std::min(kRead, from - 1 - at)), cache);
  int64_t piece = 16;
  for (int64_t at = from - 1; at < n - 1;) {
    const int64_t count = std::min(piece, n - 1 - at);
    const Tensor logits = m(narrow(all, 1, at, count), cache);
    f(log_softmax(logits.reshape({count, logits.size(2)}).to(f32), -1), at + 1);
    at += count;
    piece = std::clamp<int64_t>(kMostBytes / (logits.size(2) * 4), 16, kRead);
  }
}

// Each row's value at its token: f32 [n], on the cpu.
inline Tensor values_at(const Tensor& rows, std::span<const int64_t> tokens) {
  return gather(rows, 1, from_data(tokens.data(), {int64_t(tokens.size()), 1}, i64).to(rows.device())).reshape({-1}).cpu();
}

}  // namespace dyadic::inline v1::models
