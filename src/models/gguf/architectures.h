// How GGUF files hold the families of models: their names for architectures, keys and tensors, and what they store otherwise
// than Hugging Face's files. The names are llama.cpp's.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/io.h"
#include "models/gguf/forms.h"

namespace dyadic::inline v1::models {

struct TensorName {
  const char* gguf;  // without "blk.N." and its ending, .weight or .bias
  const char* own;   // the module's, without "model.layers.N." and its ending; a * stands for an expert's number
  const Form* form = nullptr;
  const char* pair = nullptr;                       // of a form of two tensors the second one's
  const char *weight = ".weight", *bias = ".bias";  // the module's endings
  bool complete = false;                            // both names have their ending in them
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

class KeyReader;
class KeyWriter;

struct Architecture {
  const char* name;
  std::vector<FamilyName> families;  // that are stored so
  const char* layers;                // the module's prefix of a layer, before its number
  std::vector<TensorName> whole, layer;
  std::vector<KeyName> keys;
  double eps = 1e-6;            // of norms, where a config.json leaves it out
  int64_t head_dim = 0;         // the same; 0: hidden_size / num_attention_heads
  int64_t every = 0;            // every so many layers one sees all, the others a window; 0: all alike
  bool own_rope = false;        // windows turn positions by a base of their own, unstretched
  bool tied = false;            // the head is the embedding, whatever the file has
  const char* body = "model.";  // what names may leave out; a name of the tables begins with it, if of a body at all
  bool decoder = true;          // with the keys that decoders share
  bool headless = false;        // a file has the body alone
  // What else its files say, and what they say otherwise: after all of the above.
  void (*put)(KeyWriter& w, const Config& c) = nullptr;
  void (*take)(json& c, const KeyReader& r) = nullptr;
  io::NamedTensors (*made)(const Config& c) = nullptr;  // tensors that the configuration becomes
};
std::span<const Architecture> architectures();
const Architecture* find_architecture(std::string_view name);             // general.architecture
const Architecture* find_architecture_of(const std::string& model_type);  // null: GGUF has none for it

}  // namespace dyadic::inline v1::models
