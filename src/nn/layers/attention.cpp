// MultiheadAttention (Vaswani et al. 2017). Without weights asked for and without a mask it runs the blocked kernel, otherwise
// the T x T matrix of weights exists.
#include <limits>

#include "base/check.h"
#include "nn/layers/layers.h"
#include "nn/parts.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn {
namespace {

void make(Layer& self, Options options) {
  const int64_t embed = self.integer("embed_dim"), heads = self.integer("num_heads");
  DY_CHECK_AS(ValueError, heads > 0 && embed > 0 && embed % heads == 0,
              "{}: num_heads does not divide embed_dim: they are {} and {}", self.kind(), heads, embed);
  auto size = [&](const char* name) { return self.argument(name).kind == Arg::Kind::none ? embed : self.integer(name); };
  const int64_t k = size("kdim"), v = size("vdim");
  auto add = [&](const char* name, IntList shape) {
    init::xavier_uniform_(self.register_parameter(name, make_parameter(shape, options)));
  };
  if (k == embed && v == embed) {
    add("in_proj_weight", {3 * embed, embed});
  } else {
    add("q_proj_weight", {embed, embed});
    add("k_proj_weight", {embed, k});
    add("v_proj_weight", {embed, v});
  }
  const bool bias = self.boolean("bias");
  if (bias) add_constant(self, "in_proj_bias", {3 * embed}, 0, options);
  auto out = std::make_shared<Linear>(embed, embed, bias, options);
  if (bias) init::constant_(out->bias, 0);
  self.Module::add("out_proj", out);
  if (self.boolean("add_bias_kv"))
    for (const char* name : {"bias_k", "bias_v"})
      init::xavier_normal_(self.register_parameter(name, make_parameter({1, 1, embed}, options)));
}

struct Heads {
  Tensor q, k, v;
};

// input W^T + b for queries, keys and values; one product where they are the same tensor.
Heads project(const Layer& self, const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor packed = self.value("in_proj_weight"), bias = self.value("in_proj_bias");
  if (packed.defined() && q.impl() == k.impl() && k.impl() == v.impl()) {
    std::vector<Tensor> all = parts_of<-1>(linear(q, packed, bias), 3);
    return {all[0], all[1], all[2]};
  }
  std::vector<Tensor> w = packed.defined() ? parts_of<0>(packed, 3)
                                           : std::vector<Tensor>{self.value("q_proj_weight"), self.value("k_proj_weight"),
                                                                 self.value("v_proj_weight")};
  std::vector<Tensor> b = bias.defined() ? parts_of<0>(bias, 3) : std::vector<Tensor>(3);
  return {linear(q, w[0], b[0]), linear(k, w[1], b[1]), linear(v, w[2], b[2])};
}

// [N, T, E] or [T, N, E] as [N, H, T, E / H].
Tensor split_heads(const Tensor& x, int64_t heads, bool batch_first) {
  const Tensor parts = x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads});
  return batch_first ? parts.permute({0, 2, 1, 3}) : parts.permute({1, 2, 0, 3});
}

// A mask of several: hidden where `hide` is true, `add` added to the scores.
struct Mask {
  Tensor hide, add;
  void join(const Tensor& m) {
    Tensor& mine = m.dtype() == boolean ? hide : add;
    mine = !mine.defined() ? m : m.dtype() == boolean ? logical_or(mine, m) : dyadic::add(mine, m);
  }
  // What attention_weights takes.
  Tensor whole() const {
    if (!add.defined()) return hide.defined() ? logical_not(hide) : Tensor();
    return hide.defined() ? masked_fill(add, hide, -std::numeric_limits<double>::infinity()) : add;
  }
};

struct Call {
  Layer& self;
  Device device;
  int64_t batch, heads, queries, keys;

  // attn_mask [L, S] or [N H, L, S], key_padding_mask [N, S]; True hides.
  Mask masks(const Arg& padding, const Arg& mask) const {
    Mask all;
    if (mask.kind == Arg::Kind::tensor) {
      const Tensor& m = *mask.tensor;
      const int64_t flat[] = {queries, keys}, each[] = {batch * heads, queries, keys};
      DY_CHECK(m.sizes() == IntList(flat) || m.sizes() == IntList(each), "{}: attn_mask is [{}, {}] or [{}, {}, {}]: it is {}",
               self.kind(), queries, keys, batch * heads, queries, keys, describe(m));
      all.join(m.dim() == 2 ? m : m.reshape({batch, heads, queries, keys}));
    }
    if (padding.kind == Arg::Kind::tensor) {
      const Tensor& m = *padding.tensor;
      DY_CHECK(m.numel() == batch * keys, "{}: key_padding_mask is [{}, {}]: it is {}", self.kind(), batch, keys, describe(m));
      all.join(m.reshape({batch, 1, 1, keys}));
    }
    return all;
  }
  // Keys behind the query.
  Tensor later() const { return logical_not(tril(ones({queries, keys}, boolean, device), keys - queries)); }
};

// bias_k and bias_v, and with add_zero_attn zeros, as further keys and values that nothing hides.
void add_keys(const Layer& self, Heads& h, Mask& mask) {
  auto append = [&](const Tensor& key, const Tensor& value) {
    const Tensor with_k[] = {h.k, key}, with_v[] = {h.v, value};
    h.k = cat(with_k, 2);
    h.v = cat(with_v, 2);
    for (Tensor* m : {&mask.hide, &mask.add})
      if (m->defined()) *m = constant_pad_nd(*m, {0, 1});
  };
  const int64_t n = h.k.size(0), heads = h.k.size(1), d = h.k.size(3), size[] = {n, heads, 1, d};
  auto spread = [&](const Tensor& bias) { return bias.reshape({1, heads, 1, d}).expand(size); };
  if (self.boolean("add_bias_kv")) append(spread(self.value("bias_k")), spread(self.value("bias_v")));
  if (self.boolean("add_zero_attn")) {
    const Tensor none = zeros(size, h.k.dtype(), h.k.device());
    append(none, none);
  }
}

// forward(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
std::vector<Tensor> run(Layer& self, const Arg* a) {
  const Tensor &query = *a[0].tensor, &key = *a[1].tensor, &value = *a[2].tensor;
  const bool batched = query.dim() == 3, first = batched ? self.boolean("batch_first") : true;
  DY_CHECK((batched || query.dim() == 2) && key.dim() == query.dim() && value.dim() == query.dim(),
           "{}: query, key and value are [T, N, E], with batch_first [N, T, E], or [T, E]: they are {}, {} and {}", self.kind(),
           describe(query), describe(key), describe(value));
  const int64_t heads = self.integer("num_heads"), time = first ? -2 : 0;
  Heads h = project(self, query, key, value);
  for (Tensor* t : {&h.q, &h.k, &h.v}) *t = split_heads(batched ? *t : unsqueeze(*t, 0), heads, first);
  const Call call{self, query.device(), h.q.size(0), heads, query.size(time), key.size(time)};
  const bool need_weights = a[4].boolean, more_keys = self.boolean("add_bias_kv") || self.boolean("add_zero_attn");
  const bool unmasked = a[5].kind == Arg::Kind::none, plain = a[3].kind == Arg::Kind::none && !more_keys;
  const bool causal = a[7].boolean && plain && call.queries == call.keys && (unmasked || !need_weights);
  Mask mask = call.masks(a[3], causal ? Arg() : a[5]);
  if (a[7].boolean && !causal && unmasked) mask.join(call.later());
  add_keys(self, h, mask);
  const double p = self.training() ? self.real("dropout") : 0;
  Tensor weights, mixed;
  if (need_weights) {
    weights = dropout(attention_weights(h.q, h.k, mask.whole(), causal), p, p > 0);
    mixed = matmul(weights, h.v);
  } else {
    mixed = scaled_dot_product_attention(h.q, h.k, h.v, mask.whole(), p, causal);
  }
  const Tensor joined = first ? mixed.permute({0, 2, 1, 3}) : mixed.permute({2, 0, 1, 3});
  const int64_t embed = self.integer("embed_dim");
  Tensor y = self.child("out_proj")(joined.reshape({joined.size(0), joined.size(1), embed}));
  if (weights.defined() && a[6].boolean) weights = mean(weights, {1});
  if (batched) return {y, weights};
  return {squeeze(y, 0), weights.defined() ? squeeze(weights, 0) : weights};
}

constexpr LayerDef kAttentionLayers[] = {
    {"MultiheadAttention(int embed_dim, int num_heads, float dropout=0.0, bool bias=True, bool add_bias_kv=False, bool "
     "add_zero_attn=False, int? kdim=None, int? vdim=None, bool batch_first=False)",
     "Attention of query [L, N, embed_dim] to key and value [S, N, ...] in num_heads parts; gives the result and, with "
     "need_weights, the weights [N, L, S]. Where a bool mask is True a key is hidden; float masks are added to the scores. A "
     "query that sees no key has weights 0.",
     nullptr, 0, make, nullptr,
     "forward(Tensor query, Tensor key, Tensor value, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? "
     "attn_mask=None, bool average_attn_weights=True, bool is_causal=False) -> (Tensor, Tensor)",
     run},
};

}  // namespace

std::span<const LayerDef> attention_layers() { return kAttentionLayers; }

}  // namespace dyadic::inline v1::nn
