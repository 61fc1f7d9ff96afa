#include "study/model_file.h"

#include <filesystem>
#include <map>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/ops.h"
#include "dyadic/tensor_file.h"
#include "io/atomic_file.h"
#include "study/paths.h"
#include "text/stages.h"
#include "text/tokenizer_document.h"

namespace dyadic::inline v1::study {
namespace {

using Json = nlohmann::ordered_json;

models::GptConfig parse_config(const std::string& path, const std::string& text) {
  auto j = bounded_json(text);
  models::GptConfig c;
  // Beyond these no weights could be in the file, and building the model would take forever.
  std::tuple<const char*, int64_t*, int64_t> fields[] = {{"vocab", &c.vocab, 1 << 24},
                                                         {"block", &c.block, 1 << 24},
                                                         {"layers", &c.layers, 1 << 12},
                                                         {"heads", &c.heads, 1 << 16},
                                                         {"width", &c.width, 1 << 16}};
  for (auto& [name, out, most] : fields) {
    bool there = j.is_object() && j.contains(name) && j[name].is_number_integer();
    *out = there ? j[name].get<int64_t>() : 0;
    DY_CHECK_AS(ValueError, *out >= 1 && *out <= most,
                "model {}: its metadata gives no usable \"{}\"; was it written by dyadic train?", path, name);
  }
  c.bias = j.value("bias", true);
  return c;
}

// GPT-2's names for the parameters of models::Gpt.
std::string gpt2_name(const std::string& name) {
  static const std::map<std::string, std::string> parts = {
      {"tok", "wte"},  {"pos", "wpe"},          {"ln", "ln_f"},     {"ln1", "ln_1"},      {"qkv", "attn.c_attn"},
      {"ln2", "ln_2"}, {"proj", "attn.c_proj"}, {"fc", "mlp.c_fc"}, {"out", "mlp.c_proj"}};
  const std::string module = parent_of(name), last = module.substr(module.rfind('.') + 1);
  std::string block;
  if (module != last) block = "h." + parent_of(module).substr(std::string_view("blocks.").size()) + ".";
  return "transformer." + block + parts.at(last) + name.substr(module.size());
}
bool is_norm(const std::string& name) { return parent_of(name).substr(parent_of(name).rfind('.') + 1).starts_with("ln"); }
// Its matrices of linear layers are [in, out].
bool is_turned(const std::string& name) { return name.starts_with("blocks.") && name.ends_with(".weight") && !is_norm(name); }

// A model without biases has zeros for them.
io::NamedTensors gpt2_weights(const models::Gpt& model) {
  const NoGrad guard;
  io::NamedTensors out;
  for (auto& [name, p] : model.named_parameters()) {
    const Tensor w = p.detach();
    out.emplace_back(gpt2_name(name), is_turned(name) ? w.t() : w);  // turned as they are written
    if (!model.config.bias && (is_norm(name) || is_turned(name)))
      out.emplace_back(gpt2_name(parent_of(name) + ".bias"), zeros({w.size(0)}, w.dtype()));
  }
  return out;
}

std::string gpt2_config(const models::GptConfig& c, DType dtype) {
  return dump_json(Json{{"architectures", {"GPT2LMHeadModel"}},
                        {"model_type", "gpt2"},
                        {"vocab_size", c.vocab},
                        {"n_positions", c.block},
                        {"n_ctx", c.block},
                        {"n_embd", c.width},
                        {"n_layer", c.layers},
                        {"n_head", c.heads},
                        {"activation_function", "gelu"},
                        {"layer_norm_epsilon", 1e-5},
                        {"tie_word_embeddings", true},
                        {"bos_token_id", nullptr},
                        {"eos_token_id", nullptr},
                        {"torch_dtype", dtype.long_name()}},
                   2) +
         "\n";
}

// BPE of single bytes or characters, that merges nothing.
std::string tokenizer_json(const Vocabulary& vocabulary) {
  Json words = Json::object();
  const bool bytes = vocabulary.kind() == TokenKind::bytes;
  for (int64_t id = 0; id < vocabulary.size(); ++id)
    words[bytes ? text::byte_characters()[size_t(id)] : vocabulary.decode({&id, 1})] = id;
  const Json by_bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  Json all = text::tokenizer_document<Json>();
  if (bytes) all["pre_tokenizer"] = by_bytes;
  all["decoder"] = bytes ? by_bytes : Json{{"type", "Fuse"}};
  all["model"] = text::bpe_document<Json>(words, Json::array());
  return dump_json(all, 1) + "\n";
}

}  // namespace

void save_model(const std::string& folder, const models::Gpt& model, const Vocabulary& vocabulary, const io::Metadata& more) {
  const models::GptConfig& c = model.config;
  io::Metadata metadata = more;
  metadata["format"] = "pt";
  metadata["model"] = dump_json(Json{
      {"vocab", c.vocab}, {"block", c.block}, {"layers", c.layers}, {"heads", c.heads}, {"width", c.width}, {"bias", c.bias}});
  metadata["vocabulary"] = vocabulary.save();
  io::write_whole("model", folder + "/config.json", gpt2_config(c, model.tok.weight.dtype()));
  io::write_whole("model", folder + "/tokenizer.json", tokenizer_json(vocabulary));
  io::save_safetensors(folder + "/model.safetensors", gpt2_weights(model), metadata);
}

io::NamedTensors weights_of(const nn::Module& model, const io::TensorFile& file) {
  const NoGrad guard;
  io::NamedTensors out;
  for (auto& [name, p] : model.named_parameters()) {
    const std::string theirs = gpt2_name(name);
    DY_CHECK_AS(ValueError, file.has(theirs), "model {}: tensor \"{}\" is missing", file.path(), theirs);
    const Tensor w = file.get(theirs);
    out.emplace_back(name, is_turned(name) ? w.t() : w);
  }
  return out;
}

static std::string file_of(const std::string& given) {
  std::error_code ignored;
  return std::filesystem::is_directory(given, ignored) ? (std::filesystem::path(given) / "model.safetensors").native() : given;
}

io::Metadata texts_of(const io::TensorFile& file) {
  io::Metadata texts;
  const Json all = parse_json<Json>(file.metadata());
  for (auto& [key, value] : all.items())
    if (value.is_string()) texts[key] = value.get<std::string>();
  return texts;
}

bool is_trained(const std::string& path) try {
  const io::Metadata metadata = texts_of(*io::open(file_of(path)));
  return metadata.contains("model") && metadata.contains("vocabulary");
} catch (const std::exception&) { return false; }  // what it is instead, its reader says

TrainedModel load_model(const std::string& given) {
  TrainedModel t;
  t.path = file_of(given);
  CategoryScope scope(Category::parameter);
  const std::shared_ptr<io::TensorFile> file = io::open(t.path);
  io::Metadata metadata = texts_of(*file);
  for (const char* key : {"model", "vocabulary"})
    DY_CHECK_AS(ValueError, metadata.count(key),
                "model {}: its metadata has no \"{}\": a file written by dyadic train or dyadic study is needed", t.path, key);
  models::GptConfig config = parse_config(t.path, metadata["model"]);
  t.vocabulary = Vocabulary::parse(metadata["vocabulary"]);
  t.preset = metadata["preset"];
  DY_CHECK_AS(ValueError, t.vocabulary.size() <= config.vocab, "model {}: its vocabulary has {} tokens, its embedding {} rows",
              t.path, t.vocabulary.size(), config.vocab);
  t.model = std::make_unique<models::Gpt>(config, nn::Options{f32, meta});
  for (auto& [name, weight] : weights_of(*t.model, *file))
    t.model->set_parameter(name, weight.is_contiguous() ? weight.clone() : weight.contiguous());
  t.model->eval();
  return t;
}

}  // namespace dyadic::inline v1::study
