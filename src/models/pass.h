// One forward of a model: what its layers share.
#pragma once
#include <map>
#include <tuple>

#include "dyadic/models.h"
#include "models/rope.h"

namespace dyadic::inline v1::models {

class Pass {
 public:
  // pad: i64 [B], how many tokens each row begins with that are none; or, without a cache, [B, T]: where each token's text
  // begins.
  Pass(const Tensor& ids, Cache* cache, const Tensor& pad, DType dtype);
  const int64_t tokens, past;  // new ones, and those before them
  Cache* const cache;
  std::map<int64_t, Cache::Seen> lent;  // by windows: keys and values that several layers see
  Tensor by_layer;                      // [B, T, layers, width]: what each layer is told of the tokens besides, or undefined

  // i64 [count] or [B, count], of tokens first ... first + count - 1, counted from their text's first; 0 where a row is padded.
  Tensor positions(int64_t first, int64_t count) const;
  // x [B, heads, T, D], tokens first ... first + T - 1, turned by their positions.
  Tensor turned(const Tensor& x, const Rope& rope, int64_t first);
  // x [B, T, ...] of the new tokens, zero where a row is padded: for layers that carry over what they saw, so that rows of
  // several texts are a ValueError.
  Tensor without_padding(const Tensor& x) const;
  // Which of the keys first ... first + count - 1 the new tokens see: bool [T, count] or [B, 1, T, count], of keys in other
  // texts false. window: how many back, with the token itself; 0: all. Undefined where each new token sees every key.
  Tensor mask(int64_t window, int64_t first, int64_t count);
  // Whether mask() would say what "causal" says.
  bool is_causal(int64_t window) const { return past == 0 && !pad_.defined() && (window == 0 || tokens <= window); }

 private:
  const std::pair<Tensor, Tensor>& angles(const Rope& rope, int64_t first, int64_t count);
  Tensor make_mask(int64_t window, int64_t first, int64_t count) const;
  void begin_texts(const Tensor& starts);
  Tensor pad_;      // i64 [B, 1], or [B, T] of several texts in a row; undefined where no row is padded
  int64_t length_;  // the longest row's, without padding
  DType dtype_;
  Device device_;
  std::map<std::tuple<const Rope*, int64_t, int64_t>, std::pair<Tensor, Tensor>> turns_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Tensor> masks_;
};

}  // namespace dyadic::inline v1::models
