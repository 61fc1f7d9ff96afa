#include "models/gguf/forms.h"

#include "dyadic/numbers.h"
#include "models/gguf/rows.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

Tensor rows_to_columns(const Tensor& t) { return t.dim() > 2 ? t.transpose(1, 2).contiguous() : t; }

// Heads of values, `each` rows of [rows, ...] a head: those of one key in a row, or (`apart`) the first of each key, then the
// second.
Tensor move_values(const Tensor& t, const Dims& d, int64_t each, bool apart) {
  const int64_t of_one = d.value_heads / d.key_heads;
  DY_CHECK_AS(ValueError, t.dim() >= 1 && t.size(0) == each * of_one * d.key_heads, "{}: its rows are not {} heads of {}",
              describe(t), of_one * d.key_heads, each);
  if (of_one == 1) return t;
  const Tensor rows = rows_of(t);
  const int64_t first = apart ? d.key_heads : of_one, second = apart ? of_one : d.key_heads;
  return from_rows(rows.reshape({first, second, each, -1}).transpose(0, 1).reshape(rows.sizes()), t);
}
Tensor move_state(const Tensor& t, const Dims& d, bool apart) {
  const int64_t keys = 2 * d.key_heads * d.key_dim;
  DY_CHECK_AS(ValueError, t.dim() >= 1 && t.size(0) > keys, "{}: it has no more rows than {} of queries and keys", describe(t),
              keys);
  if (d.value_heads == d.key_heads) return t;
  const Tensor values = move_values(narrow(t, 0, keys, t.size(0) - keys), d, d.value_dim, apart);
  return from_rows(cat(std::vector{rows_of(narrow(t, 0, 0, keys)), rows_of(values)}, 0), t);
}
Tensor move_columns(const Tensor& t, const Dims& d, bool apart) {
  return move_values(t.transpose(0, 1), d, d.value_dim, apart).transpose(0, 1).contiguous();
}

Tensor half(const Tensor& t, int64_t number) {
  DY_CHECK_AS(ValueError, t.dim() == 3 && t.size(1) % 2 == 0, "{}: expected [experts, gate and up, width]", describe(t));
  return narrow(t, 1, number * (t.size(1) / 2), t.size(1) / 2).contiguous();
}

Tensor heads_of_latent(const Tensor& t, const Dims& d) {
  DY_CHECK_AS(ValueError, t.dim() == 2 && t.size(0) % d.heads == 0 && t.size(0) / d.heads == d.plain_dim + d.latent_value_dim,
              "{}: its rows are not those of {} heads' {} and {}", describe(t), d.heads, d.plain_dim, d.latent_value_dim);
  return t.reshape({d.heads, d.plain_dim + d.latent_value_dim, t.size(1)});
}

}  // namespace

Dims::Dims(const Config& c) {
  const auto set = [&](int64_t& to, const char* key) {
    if (c.has(key)) to = c.size(key);
  };
  set(heads, "num_attention_heads");
  kv_heads = heads;
  if (!c.has("per_layer_config")) set(kv_heads, "num_key_value_heads");
  set(key_heads, "linear_num_key_heads"), set(value_heads, "linear_num_value_heads");
  set(key_dim, "linear_key_head_dim"), set(value_dim, "linear_value_head_dim");
  set(plain_dim, "qk_nope_head_dim"), set(latent_value_dim, "v_head_dim");
  DY_CHECK_AS(ValueError, value_heads % key_heads == 0,
              "config.json: linear_num_value_heads {} is no multiple of linear_num_key_heads {}", value_heads, key_heads);
}

extern const Form query_rows{[](const Tensor& t, const Dims& d) { return interleave_halves(t, d.heads); },
                             [](const Tensor& t, const Dims& d) { return part_halves(t, d.heads); }, Form::turned_round};
extern const Form key_rows{[](const Tensor& t, const Dims& d) { return interleave_halves(t, d.kv_heads); },
                           [](const Tensor& t, const Dims& d) { return part_halves(t, d.kv_heads); }, Form::turned_round};
extern const Form shifted{[](const Tensor& t, const Dims&) { return t + 1; },
                          [](const Tensor& t, const Dims&) { return t - 1; }, Form::computed};
extern const Form turned{[](const Tensor& t, const Dims&) { return t.transpose(-1, -2).contiguous(); },
                         [](const Tensor& t, const Dims&) { return t.transpose(-1, -2); }, Form::viewed, true};
extern const Form row{[](const Tensor& t, const Dims&) { return t; },
                      [](const Tensor& t, const Dims&) {
                        DY_CHECK_AS(ValueError, t.dim() == 1 || (t.dim() == 2 && t.size(0) == 1), "{}: expected one row",
                                    describe(t));
                        return t.reshape({1, -1});
                      },
                      Form::viewed};
extern const Form even_odd{.put = [](const Tensor& t, const Dims&) { return every_second(rows_to_columns(t), 1, 0); },
                           .take = nullptr,
                           .put_second = [](const Tensor& t, const Dims&) { return every_second(rows_to_columns(t), 1, 1); },
                           .take_both =
                               [](const Tensor& gate, const Tensor& up, const Dims&) {
                                 const Tensor both = in_turns(gate, up, 1);
                                 return both.dim() > 2 ? both.transpose(1, 2) : both;
                               }};
extern const Form gate_above_up{
    .put = [](const Tensor& t, const Dims&) { return half(t, 0); },
    .take = nullptr,
    .put_second = [](const Tensor& t, const Dims&) { return half(t, 1); },
    .take_both = [](const Tensor& gate, const Tensor& up,
                    const Dims&) { return from_rows(cat(std::vector{rows_of(gate), rows_of(up)}, 1), gate); }};
extern const Form unpacked_latent{
    .put = [](const Tensor& t,
              const Dims& d) { return narrow(heads_of_latent(t, d), 1, 0, d.plain_dim).transpose(1, 2).contiguous(); },
    .take = nullptr,
    .blocks = Form::decoded,
    .put_second = [](const Tensor& t,
                     const Dims& d) { return narrow(heads_of_latent(t, d), 1, d.plain_dim, d.latent_value_dim).contiguous(); },
    .take_both =
        [](const Tensor& keys, const Tensor& values, const Dims&) {
          const Tensor both = cat(std::vector{keys.transpose(1, 2), values}, 1);
          return both.reshape({-1, both.size(2)});
        }};
extern const Form state_rows{[](const Tensor& t, const Dims& d) { return move_state(t, d, true); },
                             [](const Tensor& t, const Dims& d) { return move_state(t, d, false); }};
extern const Form value_rows{[](const Tensor& t, const Dims& d) { return move_values(t, d, d.value_dim, true); },
                             [](const Tensor& t, const Dims& d) { return move_values(t, d, d.value_dim, false); }};
extern const Form value_columns{[](const Tensor& t, const Dims& d) { return move_columns(t, d, true); },
                                [](const Tensor& t, const Dims& d) { return move_columns(t, d, false); }, Form::decoded};
extern const Form value_numbers{[](const Tensor& t, const Dims& d) { return move_values(t, d, 1, true); },
                                [](const Tensor& t, const Dims& d) { return move_values(t, d, 1, false); }};
extern const Form state_kernel{
    [](const Tensor& t, const Dims& d) {
      DY_CHECK_AS(ValueError, t.dim() == 3 && t.size(1) == 1, "{}: expected [channels, 1, reach]", describe(t));
      return move_state(t.reshape({t.size(0), t.size(2)}), d, true);
    },
    [](const Tensor& t, const Dims& d) { return unsqueeze(move_state(t, d, false), 1); }, Form::decoded};
extern const Form minus_exp{[](const Tensor& t, const Dims& d) { return -exp(move_values(t, d, 1, true).to(f64)).to(f32); },
                            [](const Tensor& t, const Dims& d) { return move_values(log(-t.to(f64)).to(f32), d, 1, false); },
                            Form::computed};

}  // namespace dyadic::inline v1::models
