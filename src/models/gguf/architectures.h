// How GGUF files hold the families of models: their names for architectures, keys and tensors, and what they store otherwise
// than Hugging Face's files. The names are llama.cpp's.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyadic::inline v1::models {

enum class Stored {
  plain,
  query_rows,  // of each head the two halves that turn together are interleaved, row by row
  key_rows,
  shifted,   // 1 + weight, which the module adds itself
  turned,    // the last two dimensions the other way round
  row,       // [width], or [1, width] as the module has it
  experts,   // one tensor of all experts, whose number stands for the * in the module's name
  even_odd,  // of two tensors rows in turns, then turned; the other one is `pair`
};

struct TensorName {
  const char* gguf;  // without "blk.N." and its ending, .weight or .bias
  const char* own;   // the module's, without "model.layers.N." and its ending
  Stored stored = Stored::plain;
  const char *weight = ".weight", *bias = ".bias";  // the module's endings
  const char* pair = nullptr;
};

enum class KeyType : uint8_t { whole, real };
struct KeyName {
  const char* gguf;  // after "<architecture>."
  const char* own;   // config.json's
  KeyType type = KeyType::whole;
};

struct FamilyName {
  const char *type, *architecture;  // config.json's model_type, architectures[0]
};

struct Architecture {
  const char* name;
  std::vector<FamilyName> families;  // that are stored so
  const char* layers;                // the module's prefix of a layer, before its number
  std::vector<TensorName> whole, layer;
  std::vector<KeyName> keys;
  double eps = 1e-6;      // of norms, where a config.json leaves it out
  int64_t head_dim = 0;   // the same; 0: hidden_size / num_attention_heads
  int64_t every = 0;      // every so many layers one sees all, the others a window; 0: all alike
  bool own_rope = false;  // windows turn positions by a base of their own, unstretched
  bool tied = false;      // the head is the embedding, whatever the file has
};
std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);             // general.architecture
const Architecture* find_architecture_of(const std::string& model_type);  // null: GGUF has none for it

}  // namespace dyadic::inline v1::models
