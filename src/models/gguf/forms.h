// What a tensor is in a GGUF file where it is not as the module has it: a record for each such form.
#pragma once
#include "dyadic/ops.h"
#include "dyadic/tensor_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "models/config.h"
#include "models/gguf/rows.h"

namespace dyadic::inline v1::models {

// Of a model, as far as its tensors' forms depend on them; 1 where it has no such thing.
struct Dims {
  int64_t heads = 1, kv_heads = 1;
  int64_t key_heads = 1, value_heads = 1, key_dim = 1, value_dim = 1;  // of layers with a recurrent state
  int64_t plain_dim = 1, latent_value_dim = 1;                         // of a head whose keys and values are unpacked
  Dims() = default;
  explicit Dims(const Config& c);
};

struct Form {
  enum Blocks : uint8_t {
    viewed,        // blocks stay where they are
    turned_round,  // rows of one tensor change places; where scales are of other parts of it, all become f32
    moved,         // rows of one or several do; where scales are not of rows, all become f32
    decoded,       // they cannot follow, and become f32
    computed,      // so does everything
  };
  Tensor (*put)(const Tensor& own, const Dims& d);  // as the file has it
  Tensor (*take)(const Tensor& stored, const Dims& d);
  Blocks blocks = moved;
  bool weight_only = false;  // the bias is as it is
  // Of what are two tensors in the file: the second, and both as one.
  Tensor (*put_second)(const Tensor& own, const Dims& d) = nullptr;
  Tensor (*take_both)(const Tensor& first, const Tensor& second, const Dims& d) = nullptr;

  DType dtype(DType of, int64_t columns) const {
    const bool kept = blocks == viewed || (blocks == turned_round && rows_move_within(of, columns)) ||
                      (blocks == moved && rows_move(of, columns)) || (blocks == decoded && !of.is_blocked());
    return kept ? of : f32;
  }
  // What put, take and the others are given.
  Tensor ready(const Tensor& t) const { return t.dtype() == dtype(t.dtype(), t.size(-1)) ? t : t.to(f32); }
};

// `info` as a form makes it of `t`: its shape and the order of its storage; ValueError naming t where it makes nothing of it.
template <class F> void set_shape(io::TensorInfo& info, const std::string& path, const io::TensorInfo& t, const F& form) {
  try {
    const Tensor made = form(zeros(t.shape, f32, meta));
    info.shape = made.sizes().vec();
    info.order =
        info.dtype && info.dtype.is_blocked() ? io::storage_order(made.sizes(), made.strides()) : std::vector<int64_t>{};
  } catch (const Error& e) { io::bad(path, "tensor {}: {}", io::quote_name(t.name), e.what()); }
}

extern const Form query_rows, key_rows;  // of each head the two halves that turn together are interleaved, row by row
extern const Form shifted;               // 1 + weight, which the module adds itself
extern const Form turned;                // the last two dimensions the other way round
extern const Form row;                   // [width], or [1, width] as the module has it
extern const Form even_odd;              // rows in turns, then turned
extern const Form gate_above_up;         // [experts, 2 n, width]: two of [experts, n, width]
// kv_b_proj [heads * (plain + value), rank]: [heads, rank, plain] of keys, [heads, value, rank] of values.
extern const Form unpacked_latent;
// Of layers with a recurrent state: heads of values that share a key stand apart, not in a row. In rows after all heads'
// queries and keys, in rows, in columns, and one for each head.
extern const Form state_rows, value_rows, value_columns, value_numbers;
extern const Form state_kernel;  // [channels, 1, reach], rows as state_rows: [channels, reach]
extern const Form minus_exp;     // of one for each head

}  // namespace dyadic::inline v1::models
