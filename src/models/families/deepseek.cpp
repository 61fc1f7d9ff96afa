// DeepSeek-V3 (2024): keys and values of all heads come from one short vector for each token, which is all that is kept
// (multi-head latent attention); experts in groups, chosen by sigmoids and a bias that balances their load.
#include <cmath>

#include "dyadic/ops_nn.h"
#include "models/families/families.h"
#include "models/lora.h"

namespace dyadic::inline v1::models {
namespace {

struct LatentShape {
  int64_t width, heads, query_rank, rank;    // query_rank 0: queries come from the input at once
  int64_t plain_dim, turned_dim, value_dim;  // of a head: the query's and key's part without positions, the one with, the value
  bool bias, interleaved;
  double eps, scale;
  std::shared_ptr<const Rope> rope;
};

class LatentAttention : public Mixer {
 public:
  LatentAttention(const LatentShape& s, nn::Options o)
      : shape_(s),
        keys_norm_(s.rank, s.eps, false, o),
        down_(s.width, s.rank + s.turned_dim, s.bias, o),
        up_(s.rank, s.heads * (s.plain_dim + s.value_dim), false, o),
        out_(s.heads * s.value_dim, s.width, s.bias, o) {
    const int64_t asked = s.heads * (s.plain_dim + s.turned_dim);
    if (s.query_rank) {
      add("q_a_proj", query_down_ = std::make_shared<nn::Linear>(s.width, s.query_rank, s.bias, o));
      add("q_a_layernorm", query_norm_ = std::make_shared<RmsNorm>(s.query_rank, s.eps, false, o));
      add("q_b_proj", query_ = std::make_shared<nn::Linear>(s.query_rank, asked, false, o));
    } else {
      add("q_proj", query_ = std::make_shared<nn::Linear>(s.width, asked, false, o));
    }
    add("kv_a_proj_with_mqa", down_), add("kv_a_layernorm", keys_norm_), add("kv_b_proj", up_), add("o_proj", out_);
  }
  const char* kind() const override { return "LatentAttention"; }

  // A head's key is up_k latent, so its score is (up_k^T q) . latent; its value is up_v latent, so what it sees is up_v (sum of
  // shares x latent): one key and value for all heads, and none is ever unpacked.
  Tensor run(const Tensor& x, Pass& pass, size_t layer) override {
    const nn::ModuleScope scope(*this);
    const LatentShape& s = shape_;
    const Tensor q = split_heads((*query_)(query_down_ ? (*query_norm_)((*query_down_)(x)) : x), s.heads);
    const Tensor down = down_(x);
    const Tensor latent = unsqueeze(keys_norm_(narrow(down, -1, 0, s.rank)), 1);
    const Rope& rope = *s.rope;
    Tensor key = paired(unsqueeze(narrow(down, -1, s.rank, s.turned_dim), 1));
    const Tensor turned_query = pass.turned(paired(narrow(q, -1, s.plain_dim, s.turned_dim)), rope, pass.past);
    if (!rope.changes()) key = pass.turned(key, rope, pass.past);
    Cache::Seen seen{latent, key, 0};
    if (pass.cache) seen = pass.cache->append(layer, latent, key, 0).plain(x.dtype());
    if (rope.changes()) seen.values = pass.turned(seen.values, rope, seen.first);

    const Tensor by_head = weight_of(up_, x.dtype()).view({s.heads, s.plain_dim + s.value_dim, s.rank});
    const Tensor query = matmul(narrow(q, -1, 0, s.plain_dim), narrow(by_head, 1, 0, s.plain_dim));
    const Cache::Seen one{cat(std::vector{seen.keys, seen.values}, -1), seen.keys, seen.first};
    const Tensor mixed = attend(cat(std::vector{query, turned_query}, -1), one, pass, s.scale, 0);
    const Tensor values = matmul(mixed, narrow(by_head, 1, s.plain_dim, s.value_dim).transpose(1, 2));
    return out_(values.transpose(1, 2).reshape({x.size(0), x.size(1), s.heads * s.value_dim}));
  }

 private:
  // Pairs of neighbours are turned: brought to where the two of a pair stand elsewhere, in both halves.
  Tensor paired(const Tensor& x) const {
    if (!shape_.interleaved) return x;
    const std::vector<int64_t> pairs{x.size(0), x.size(1), x.size(2), shape_.turned_dim / 2, 2};
    return x.reshape(pairs).transpose(3, 4).reshape(x.sizes());
  }
  LatentShape shape_;
  std::shared_ptr<nn::Linear> query_down_, query_;
  std::shared_ptr<RmsNorm> query_norm_;
  RmsNorm keys_norm_;
  nn::Linear down_, up_, out_;
};

struct Groups {
  int64_t count, kept;  // experts are in so many, of which each token sees so many
  double scale;         // of all shares
};

class GroupedExperts : public Experts {
 public:
  GroupedExperts(int64_t width, int64_t hidden, int64_t shared, const std::string& activation, const Routing& routing,
                 const Groups& groups, nn::Options o)
      : Experts(width, hidden, 0, activation, routing, o),
        groups_(groups),
        bias_(nn::make_parameter({routing.experts}, o)),
        shared_(width, hidden * shared, activation, false, o) {
    gate_.add_parameter("e_score_correction_bias", bias_);
    add("shared_experts", shared_);
  }
  const char* kind() const override { return "GroupedExperts"; }
  Tensor forward(const Tensor& x) override { return Experts::forward(x) + shared_(x); }

 private:
  // A group counts as much as its best two.
  std::pair<Tensor, Tensor> route(const Tensor& x) override {
    const DType wide = x.dtype() == f64 ? f64 : f32;
    const Tensor scores = sigmoid(linear(x.to(wide), weight_of(gate_, wide)));
    Tensor choice = scores.detach() + bias_.detach().to(wide);
    if (groups_.kept < groups_.count) {
      const Tensor grouped = choice.view({x.size(0), groups_.count, -1});
      const Tensor best = sum(std::get<0>(topk(grouped, 2)), {-1});
      const Tensor kept = std::get<1>(topk(best, groups_.kept));
      const Tensor passed_by = scatter(ones(best.sizes(), boolean, x.device()), 1, kept, zeros(kept.sizes(), boolean));
      choice = masked_fill(grouped, unsqueeze(passed_by, -1), -INFINITY).view(scores.sizes());
    }
    const Tensor chosen = std::get<1>(topk(choice, routing_.chosen));
    Tensor shares = gather(scores, 1, chosen);
    if (routing_.normed) shares = shares / (sum(shares, {-1}, true) + 1e-20);
    return {shares * groups_.scale, chosen};
  }
  Groups groups_;
  Tensor bias_;
  GatedMlp shared_;
};

Plan deepseek_v3_plan(const Config& given) {
  Config c = given;
  c.usually("max_position_embeddings", 4096).usually("head_dim", c.size("qk_rope_head_dim", 64));
  Plan p = common_plan(c);
  LatentShape s{.width = p.attention.width,
                .heads = p.attention.heads,
                .query_rank = c.integer("q_lora_rank", 0),
                .rank = c.size("kv_lora_rank", 512),
                .plain_dim = c.size("qk_nope_head_dim", 128),
                .turned_dim = c.size("qk_rope_head_dim", 64),
                .value_dim = c.size("v_head_dim", 128),
                .bias = p.attention.bias,
                .interleaved = c.flag("rope_interleave", true),
                .eps = 1e-6,  // whatever rms_norm_eps says
                .scale = 1,
                .rope = nullptr};
  const json rope = c.rope();
  s.rope = std::make_shared<Rope>(rope, s.turned_dim, p.longest);
  s.scale = 1 / std::sqrt(double(s.plain_dim + s.turned_dim));
  if (const double all = real_of(rope, "mscale_all_dim", 0), stretch = real_of(rope, "factor", 1);
      rope["rope_type"] != "default" && all != 0 && stretch > 1)
    s.scale *= std::pow(0.1 * all * std::log(stretch) + 1, 2);
  p.ropes.assign(p.ropes.size(), s.rope);
  p.mixer = [=](int64_t, nn::Options o) { return std::make_shared<LatentAttention>(s, o); };

  const Routing routing{c.size("n_routed_experts", 256), c.size("num_experts_per_tok", 8), c.flag("norm_topk_prob", true)};
  const Groups groups{c.size("n_group", 1), c.size("topk_group", 1), c.real("routed_scaling_factor", 2.5)};
  const bool fit = routing.experts % groups.count == 0 && groups.kept <= groups.count &&
                   (groups.kept == groups.count || routing.experts / groups.count >= 2) &&
                   routing.chosen <= routing.experts / groups.count * groups.kept;
  DY_CHECK_AS(ValueError, fit, "config.json: {} of {} experts are to be chosen from {} of {} groups (topk_group of n_group)",
              routing.chosen, routing.experts, groups.kept, groups.count);
  c.check_modules(p.layers, routing.experts, "experts");
  const int64_t plain = c.integer("first_k_dense_replace", 3), expert_hidden = c.size("moe_intermediate_size");
  const int64_t shared = c.size("n_shared_experts", 1);
  p.feed = [=, width = s.width, hidden = p.hidden, act = p.activation](int64_t layer,
                                                                       nn::Options o) -> std::shared_ptr<nn::Module> {
    if (layer < plain) return std::make_shared<GatedMlp>(width, hidden, act, false, o);
    return std::make_shared<GroupedExperts>(width, expert_hidden, shared, act, routing, groups, o);
  };
  return p;
}

}  // namespace

extern const Family deepseek_v3{"deepseek_v3", make_with<deepseek_v3_plan>};

}  // namespace dyadic::inline v1::models
