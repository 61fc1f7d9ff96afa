// The residual stream of a model in another basis (Ashkboos et al. 2024, "QuaRot: Outlier-Free 4-Bit Inference in Rotated
// LLMs", arXiv:2404.00456, section 4). x becomes R x in the whole of the stream: what writes to it is multiplied by R, what
// reads from it by R^T, and the norms in between, which only divide by a length, do not notice, once their factors are in what
// reads them. Values within heads get a basis of their own, between v_proj and o_proj.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "dyadic/autograd.h"
#include "dyadic/models.h"
#include "dyadic/quant.h"
#include "models/config.h"
#include "models/rotation.h"
#include "nn/stored.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr uint64_t kStream = 0x726f74;  // of the signs

constexpr const char* kAttention[] = {"q_proj", "k_proj", "v_proj", "qkv_proj"};
constexpr const char* kFeed[] = {"gate_proj", "up_proj", "gate_up_proj", "gate", "shared_expert_gate", "w1", "w3"};
constexpr const char* kWriters[] = {"o_proj", "down_proj", "w2"};
constexpr const char* kWithinHeads[] = {"q_norm", "k_norm"};  // or of scores: they do not see the stream

bool is_one_of(std::string_view name, std::span<const char* const> all) { return std::ranges::find(all, name) != all.end(); }
std::string_view last_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }

void set(const Tensor& t, const Tensor& value) { t.detach().copy_(value); }
Tensor wide(const Tensor& t) { return t.detach().to(t.dtype() == f64 ? f64 : f32); }

struct Layer {  // what reads what one norm gives
  nn::Module* norm = nullptr;
  std::vector<nn::Linear*> readers;
};
struct Stream {
  nn::Embedding* tokens = nullptr;
  nn::Linear* head = nullptr;
  nn::Module* last_norm = nullptr;
  std::vector<Layer> layers;  // two for each of the model's
  std::vector<nn::Linear*> writers;
  std::vector<std::pair<nn::Linear*, nn::Linear*>> values;  // v_proj and o_proj of each layer
};

[[noreturn]] void refuse(const std::string& path, const char* kind) {
  fail<ValueError>(
      "rotate: {} is {}, and what it does with the residual stream is not known here: rotations are for decoders of "
      "norms before attention and gated layers, as Llama's; quantize without",
      path, kind);
}

// One layer's parts, by the names that Decoder gives them.
void read_layer(const std::string& path, nn::Module& layer, Stream& s) {
  Layer attention, feed;
  std::pair<nn::Linear*, nn::Linear*> values{};
  for (auto& [name, m] : layer.named_modules()) {
    if (name.empty()) continue;
    const std::string whole = path + "." + name;
    const std::string_view last = last_of(name);
    auto* linear = m->as<nn::Linear>();
    if (name == "input_layernorm") {
      attention.norm = m;
    } else if (name == "post_attention_layernorm") {
      feed.norm = m;
    } else if (linear && name.starts_with("self_attn.") && is_one_of(last, kAttention)) {
      attention.readers.push_back(linear);
      if (last == "v_proj") values.first = linear;
    } else if (linear && is_one_of(last, kFeed)) {
      feed.readers.push_back(linear);
    } else if (linear && is_one_of(last, kWriters)) {
      s.writers.push_back(linear);
      if (last == "o_proj") values.second = linear;
    } else if (linear || (!m->own_parameters().empty() && !is_one_of(last, kWithinHeads))) {
      if (last != "self_attn") refuse(whole, m->kind());  // sinks stand among scores
    }
  }
  if (!attention.norm || !feed.norm || attention.readers.empty() || feed.readers.empty()) refuse(path, layer.kind());
  s.layers.push_back(std::move(attention)), s.layers.push_back(std::move(feed));
  if (values.first && values.second) s.values.push_back(values);
}

Stream read(nn::Module& model) {
  Stream s;
  for (auto& [path, m] : model.named_modules()) {
    if (path == "model.embed_tokens") s.tokens = m->as<nn::Embedding>();
    if (path == "model.norm") s.last_norm = m;
    if (path == "lm_head") s.head = m->as<nn::Linear>();
    if (path.starts_with("model.layers.") && path.find('.', 13) == path.npos) read_layer(path, *m, s);
  }
  if (!s.tokens || !s.last_norm || s.layers.empty()) refuse("the model", model.kind());
  DY_CHECK_AS(
      ValueError, s.head && !s.head->weight.is_same(s.tokens->weight),
      "rotate: the model's head is its embedding; rotated they would be two: quantize without, or give it a head of its own");
  for (auto& [name, t] : model.named_parameters())
    DY_CHECK_AS(ValueError, t.dtype().is_floating_point() && !t.dtype().is_blocked(),
                "rotate: {} is {}; rotate a model before it is quantized", name, t.dtype().name());
  return s;
}

// What a norm multiplies by, and the weight that would make it 1: asked of the norm, which may add 1 to it.
Tensor factor_of(nn::Module& norm, int64_t width) {
  return wide(norm(full({1, width}, 1e4, norm.own_parameters()[0].second->dtype())).reshape({-1}));
}
void make_plain(nn::Module& norm, int64_t width) {
  const Tensor weight = norm.own_parameters()[0].second->detach();
  for (const double value : {1.0, 0.0}) {
    weight.fill_(value);
    if (max(abs(factor_of(norm, width) - 1)).item() < 1e-3) return;
  }
  fail<ValueError>("rotate: a {} does not multiply by its weight", norm.kind());
}

class Rotation {
  Tensor signs_;  // f32 [width]

 public:
  Rotation(int64_t width, uint64_t seed) {
    std::vector<double> u(static_cast<size_t>(width));
    random_kernel().uniform_f64(seed, kStream, 0, width, u.data());
    std::vector<float> signs;
    for (double v : u) signs.push_back(v < 0.5 ? -1.0f : 1.0f);
    signs_ = from_data(signs.data(), {width}, f32);
  }
  Tensor rows(const Tensor& x) const { return models::rotated(wide(x) * signs_); }  // [..., width]
  Tensor columns(const Tensor& w) const { return rows(w.detach().t()).t(); }        // [width, ...]
};

void rotate_heads(nn::Linear& v, nn::Linear& o, int64_t head_dim) {
  const auto turned = [&](const Tensor& x) {  // [..., heads * head_dim]
    return models::rotated(wide(x).reshape({-1, head_dim})).reshape(x.sizes());
  };
  set(v.weight, turned(v.weight.detach().t().contiguous()).t());
  if (v.bias.defined()) set(v.bias, turned(v.bias));
  set(o.weight, turned(o.weight));
}

}  // namespace

void rotate(nn::Module& model, uint64_t seed) {
  const NoGrad guard;
  auto* m = model.as<models::CausalLM>();
  if (!m) refuse("the model", model.kind());
  const Stream s = read(model);
  const int64_t width = s.tokens->weight.size(1);
  const Rotation r(width, seed);
  set(s.tokens->weight, r.rows(s.tokens->weight));
  std::vector<Layer> readers = s.layers;
  readers.push_back({s.last_norm, {s.head}});
  for (const Layer& layer : readers) {
    const Tensor factor = factor_of(*layer.norm, width);
    for (nn::Linear* linear : layer.readers) set(linear->weight, r.rows(wide(linear->weight) * factor));
    make_plain(*layer.norm, width);
  }
  for (nn::Linear* linear : s.writers) {
    set(linear->weight, r.columns(linear->weight));
    if (linear->bias.defined()) set(linear->bias, r.rows(linear->bias));
  }
  const models::Config c(m->config);
  const int64_t heads = c.size("num_attention_heads");
  for (auto& [v, o] : s.values)
    if (const int64_t head_dim = o->weight.size(1) / heads; v->weight.size(0) % head_dim == 0) rotate_heads(*v, *o, head_dim);
}

}  // namespace dyadic::inline v1::quant
