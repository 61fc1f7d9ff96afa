// Generation: the prompt in pieces, then token by token.
#include <algorithm>

#include "base/json.h"
#include "base/random.h"
#include "dyadic/interrupt.h"
#include "dyadic/numbers.h"
#include "models/config.h"
#include "models/generation.h"
#include "models/loss.h"
#include "models/row_text.h"
#include "models/sampling.h"
#include "nn/device_of.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

constexpr uint64_t kStream = 0x67656e6d;  // of the choices; element step * B + row

// How many zeros each row of the mask begins with; ValueError for zeros elsewhere.
std::vector<int64_t> padding_of(const Tensor& mask, const Tensor& ids) {
  DY_CHECK_AS(ValueError, mask.sizes() == ids.sizes(), "generate: attention_mask is {}, ids are {}", describe(mask),
              describe(ids));
  const Tensor m = ne(mask.cpu(), 0).to(i64).contiguous();
  const int64_t B = ids.size(0), T = ids.size(1);
  std::vector<int64_t> pad(size_t(B), 0);
  for (int64_t b = 0; b < B; ++b) {
    const int64_t* row = m.data<int64_t>() + b * T;
    const int64_t* first = std::find(row, row + T, 1);
    pad[size_t(b)] = first - row;
    DY_CHECK_AS(ValueError, first != row + T && std::find(first, row + T, 0) == row + T,
                "generate: attention_mask: row {} is to be zeros and then ones: shorter rows are padded on their left", b);
  }
  return pad;
}

class Rows {  // of a batch, as they grow
  int64_t length_;
  std::vector<std::vector<int64_t>> all_;
  std::vector<int64_t> pad_;
  std::vector<bool> done_;
  std::vector<int64_t> ends_;
  int64_t filler_;
  std::vector<RowText> texts_;  // none without stop strings

 public:
  Rows(const Tensor& ids, std::vector<int64_t> pad, std::vector<int64_t> ends, int64_t filler, const GenerateOptions& o)
      : length_(ids.size(1)), pad_(std::move(pad)), done_(size_t(ids.size(0))), ends_(std::move(ends)), filler_(filler) {
    const Tensor host = ids.contiguous().cpu();
    for (int64_t b = 0; b < ids.size(0); ++b) {
      const int64_t* row = host.data<int64_t>() + b * length_;
      all_.emplace_back(row, row + length_);
      if (!o.stop_strings.empty()) texts_.emplace_back(*o.tokenizer, o.stop_strings);
    }
  }
  size_t size() const { return all_.size(); }
  std::span<const int64_t> seen(size_t b) const { return std::span(all_[b]).subspan(size_t(pad_.empty() ? 0 : pad_[b])); }
  bool done(size_t b) const { return done_[b]; }
  bool all_done() const {
    return std::ranges::all_of(done_, [](bool d) { return d; });
  }
  int64_t append(size_t b, int64_t token) {  // what it became
    if (done_[b]) token = filler_;
    all_[b].push_back(token);
    if (std::ranges::find(ends_, token) != ends_.end() || (!done_[b] && completes_stop(b, token))) done_[b] = true;
    return token;
  }
  Tensor tensor() const {
    std::vector<int64_t> flat;
    for (auto& row : all_) flat.insert(flat.end(), row.begin(), row.end());
    return from_data(flat.data(), {int64_t(all_.size()), int64_t(all_[0].size())}, i64);
  }

 private:
  bool completes_stop(size_t b, int64_t token) {
    if (texts_.empty()) return false;
    texts_[b].push(token);
    return texts_[b].stopped();
  }
};

// Whether what the cache holds serves a prompt: where a text's length decides how positions turn, all of it is read anew.
bool serves(const Cache& cache, int64_t tokens, int64_t turning) {
  DY_CHECK_AS(ValueError, cache.length() < tokens, "generate: the cache holds {} tokens, and ids are {}: one more at least",
              cache.length(), tokens);
  return turning == 0 || (std::max(cache.length(), cache.expected()) > turning) == (tokens > turning);
}

}  // namespace

Cache make_cache(const CausalLM& m, int64_t prompt_tokens, const GenerateOptions& o) {
  return Cache(std::min<int64_t>(prompt_tokens + o.max_new_tokens, 4096), o.kv.value_or(m.kv));
}

Streamer::~Streamer() = default;

void check_starts(const char* who, const Tensor& ids, const Tensor& starts) {
  DY_CHECK_AS(ValueError, starts.defined() && starts.sizes() == ids.sizes() && ids.dim() == 2,
              "{}: starts is {}, and ids {}: a number for each token is needed", who, describe(starts), describe(ids));
}

Tensor CausalLM::forward_packed(const Tensor& ids, const Tensor& starts) {
  check_starts("forward_packed", ids, starts);
  return forward_with(ids, {.pad = starts});
}

Tensor CausalLM::forward_with(const Tensor& ids, const ForwardOptions& o) {
  std::optional<NoGrad> unrecorded;
  if (o.cache) unrecorded.emplace();
  const nn::ModuleScope scope(*this);
  const Tensor& e = o.embeddings;
  if (!e.defined()) {
    DY_CHECK_AS(ValueError, ids.defined(), "forward: there are neither ids nor embeddings");
    DY_CHECK_AS(ValueError, ids.dim() == 2, "forward: ids are i64 [B, T]: they are {}", describe(ids));
    return head(hidden(ids, o));
  }
  DY_CHECK_AS(ValueError,
              e.dim() == 3 && (!ids.defined() || (ids.dim() == 2 && e.size(0) == ids.size(0) && e.size(1) == ids.size(1))),
              "forward: embeddings are [B, T, width], a row for each token: they are {}", describe(e));
  return head(hidden(ids.defined() ? ids : zeros({e.size(0), e.size(1)}, i64, e.device()), o));
}

Tensor CausalLM::operator()(const Tensor& ids, Cache& cache, const Tensor& pad) {
  return forward_with(ids, {.cache = &cache, .pad = pad});
}

Tensor CausalLM::read(const Tensor& ids, Cache& cache, const Tensor& pad) {
  return forward_with(ids, {.cache = &cache, .pad = pad, .last_alone = true});
}

std::vector<int64_t> CausalLM::eos_token_ids() const {
  const json own = bounded_json(generation_config);
  return own.is_object() && own.contains("eos_token_id") ? integers_of(own, "eos_token_id")
                                                         : Config(config).integers("eos_token_id");
}

Tensor CausalLM::generate(const Tensor& prompt, const GenerateOptions& o) {
  const NoGrad guard;
  check(o);
  const nn::ModuleScope scope(*this);
  DY_CHECK_AS(ValueError, prompt.dtype() == i64 && prompt.dim() == 2 && prompt.numel() > 0,
              "generate: ids are i64 [B, T], at least one each: they are {}", describe(prompt));
  const Config c(config);
  const std::vector<int64_t> ends = o.eos_token_id ? *o.eos_token_id : eos_token_ids();
  const std::vector<int64_t> fillers = c.integers("pad_token_id");
  const int64_t filler = o.pad_token_id ? *o.pad_token_id : !fillers.empty() ? fillers[0] : ends.empty() ? 0 : ends[0];
  const Device there = nn::device_of(*this);
  std::vector<int64_t> padding;
  Tensor pad;
  if (o.attention_mask.defined()) {
    padding = padding_of(o.attention_mask, prompt);
    pad = from_data(padding.data(), {int64_t(padding.size())}, i64).to(there);
  }
  Rows rows(prompt, padding, ends, filler, o);
  const int64_t B = prompt.size(0), T = prompt.size(1);
  if (o.max_new_tokens == 0) return rows.tensor().to(prompt.device());
  std::optional<Cache> own;
  Cache& cache = o.cache ? *o.cache : own.emplace(make_cache(*this, T, o));
  const auto read_from = [&](const Tensor& given, int64_t first) {
    const Tensor ids = given.to(there);
    Tensor last;
    if (first == 0) cache.clear();
    cache.expect(ids.size(1));
    for (int64_t at = first; at < ids.size(1); at += o.prompt_chunk)
      last = read(narrow(ids, 1, at, std::min(o.prompt_chunk, ids.size(1) - at)), cache, pad);
    return last;
  };
  const int64_t turning = turning_point(), shift = padding.empty() ? 0 : std::ranges::min(padding);
  const int64_t most = most_tokens() > 0 ? most_tokens() - T + shift : o.max_new_tokens;
  Tensor next = read_from(prompt, serves(cache, T, turning) ? cache.length() : 0);
  for (int64_t step = 0; !interrupted(); ++step) {
    const Tensor host = next.to(f32).contiguous().cpu();
    const int64_t vocab = host.size(2);
    std::vector<int64_t> made;
    for (int64_t b = 0; b < B; ++b) {
      double uniform = 0;
      if (o.do_sample) random_kernel().uniform_f64(o.seed, kStream, uint64_t(step * B + b), 1, &uniform);
      const std::span row(host.data<float>() + b * vocab, size_t(vocab));
      const auto row_of = size_t(b);
      made.push_back(rows.append(row_of, rows.done(row_of) ? filler : choose(row, rows.seen(row_of), o, uniform)));
    }
    if (o.streamer && !o.streamer->put(made)) break;
    if (step + 1 >= o.max_new_tokens || step >= most || rows.all_done()) break;
    const bool turns = turning > 0 && T + step - shift == turning;  // with this token it is longer
    next = turns ? read_from(rows.tensor(), 0) : read(from_data(made.data(), {B, 1}, i64).to(there), cache, pad);
  }
  return rows.tensor().to(prompt.device());
}

}  // namespace dyadic::inline v1::models
