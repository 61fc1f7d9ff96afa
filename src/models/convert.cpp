// Models from one kind of file to another. What the kinds have otherwise than each other is models/gguf's affair.
#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "dyadic/call.h"
#include "dyadic/model_files.h"
#include "dyadic/models.h"
#include "io/atomic_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/gguf.h"
#include "io/quantized/packing.h"
#include "models/gguf/adapter_files.h"
#include "models/gguf/beside.h"
#include "models/gguf/files.h"
#include "models/gguf/tokenizer_keys.h"

namespace dyadic::inline v1::models {
namespace {

namespace fs = std::filesystem;
using Converted = std::vector<io::Converted>;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path.ends_with('/') || fs::is_directory(path, ignored);
}
std::string config_beside(const std::string& path) {
  std::error_code ignored;
  const std::string config = path + "/config.json";
  return fs::is_regular_file(config, ignored) ? config : "";
}
// Whether the name says a kind of file; "Qwen3-0.6B" is a folder's.
bool names_a_file(const std::string& path) {
  try {
    io::writer_of(path, "");
    return true;
  } catch (const ValueError&) { return false; }
}

// What llama.cpp reads in one dtype alone stays in it.
io::ConvertOptions kept(io::ConvertOptions o) {
  for (const char* name :
       {"*_norm.weight", "*.bias", "*.scale", "*ffn_gate_inp*", "*attn_sinks.weight", "*ssm_a", "*ssm_conv1d.weight",
        "*layer_output_scale.weight", "rope_*", "position_embd.weight", "token_types.weight"})
    o.otherwise.emplace_back(name, "keep");
  return o;
}

// What is packed in a way that is not known here can be copied, but not become anything else.
void check_known_packing(const std::string& folder, const std::string& config) {
  if (const json q = io::quantization_of(bounded_json(config)); !q.is_null()) io::check_packing(folder, q);
}

Converted to_gguf(const std::string& folder, const std::string& config_path, const std::string& out,
                  const io::ConvertOptions& options) {
  const std::string config = io::read_text(config_path);
  check_known_packing(folder, config);
  const std::shared_ptr<io::TensorFile> weights = io::open(folder);
  io::GgufMetadata keys = keys_of(config);
  put_folder(keys, folder, config_in_gguf(config), vocabulary_of(*weights, config));
  keys.emplace_back("general.quantization_version", uint32_t(2));
  put_beside(keys, io::beside_weights(*weights));
  const std::shared_ptr<io::TensorFile> named = gguf_of(weights, config, std::move(keys));
  io::ConvertOptions o = kept(by_gguf_names(options, *weights, config));
  for (auto& [name, dtype] : without_ggml_type(*weights, config))
    if (const auto t = std::ranges::find(named->tensors(), name, &io::TensorInfo::name); t != named->tensors().end())
      o.instead.emplace_back(name, io::nearest_ggml_dtype(dtype, t->shape.back()).name());
  return io::convert(*named, out, o);
}

// Tensors that only GGUF has as f32, by name, with the model's dtype.
void add_own_dtypes(io::ConvertOptions& o, const io::TensorFile& weights, const Config& c) {
  const DType dtype = c.half();
  if (o.format || !dtype) return;
  const NoGrad guard;
  for (size_t i = 0; i < weights.tensors().size(); ++i) {
    const io::TensorInfo& t = weights.tensors()[i];
    if (t.dtype != f32) continue;
    const Tensor values = weights.get(i);
    if (io::compare(values, values.to(dtype)).exact) o.otherwise.emplace_back(t.name, dtype.name());
  }
}

// A folder to write into, made if need be; one that was made goes again if nothing came to lie in it.
class OutFolder {
  const std::string path_;
  bool made_;

 public:
  explicit OutFolder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    made_ = fs::create_directories(path_, error);
    DY_CHECK(!error, "{}: cannot be made: {}", path_, error.message());
  }
  ~OutFolder() {
    std::error_code ignored;
    if (made_ && fs::is_empty(path_, ignored)) fs::remove(path_, ignored);
  }
  OutFolder(const OutFolder&) = delete;
};

bool stays(const io::ConvertOptions& o) {
  return !o.format && std::ranges::all_of(o.map, [](auto& rule) { return rule.second == "keep"; });
}

// Weights into a folder: as the tool that quantized them packs them, if they stay what they are; else config.json no longer
// says that they are packed. Gives what it says then.
std::pair<Converted, std::string> into_folder(std::shared_ptr<const io::TensorFile> weights, const std::string& config,
                                              const std::string& folder, io::ConvertOptions options,
                                              const io::BesideWeights& beside = {}) {
  json c = bounded_json(config);
  const json quantization = io::quantization_of(c);
  std::string text = config;
  if (!quantization.is_null()) {
    if (const auto packed = stays(options) ? io::packed(weights, quantization, beside) : nullptr) {
      io::check_rules(*weights, options);
      options.map.clear();
      weights = packed;
    } else {
      io::forget_quantization(c);
      text = dump_json(c, 2) + "\n";
    }
  }
  return {io::convert(*weights, folder, options), text};
}

Converted from_gguf(const std::shared_ptr<io::GgufFile>& file, const std::string& folder, io::ConvertOptions options) {
  const std::string config = config_of(*file);
  const OutFolder made(folder);
  options.save.metadata.emplace("format", "pt");
  if (file->has_key(kWideKey))
    for (std::string_view name : file->strings(kWideKey)) options.otherwise.emplace_back(name, "keep");
  const std::shared_ptr<io::TensorFile> weights = weights_of(file, config);
  add_own_dtypes(options, *weights, Config(config));
  auto [all, text] = into_folder(weights, config, folder + "/model.safetensors", options, beside_of(*file));
  write_folder(*file, folder, text);
  return all;
}

constexpr const char *kAdapterConfig = "/adapter_config.json", *kAdapterWeights = "/adapter_model.safetensors";

std::string config_of_base(const std::string& adapter_config, const std::string& base) {
  const json c = bounded_json(adapter_config);
  const bool named =
      base.empty() && c.is_object() && c.contains("base_model_name_or_path") && c["base_model_name_or_path"].is_string();
  const std::string path = named ? c["base_model_name_or_path"].get<std::string>() : base;
  DY_CHECK_AS(ValueError, !path.empty() && is_model(path),
              "convert: an adapter needs the model that it is for, and {} is none; give its path as base",
              io::quote_name(path));
  return config_json(path);
}

}  // namespace

bool is_model(const std::string& path) {
  if (!config_beside(path).empty()) return true;
  const auto file = io::GgufFile::find(path);
  return file && file->has_key("general.architecture");
}

Converted convert(const std::string& in, const std::string& out, const io::ConvertOptions& options, const std::string& base) {
  const bool gguf_out = options.save.kind.empty() ? out.ends_with(".gguf") : options.save.kind == "gguf";
  const bool folder_out = !gguf_out && (is_folder(out) || (options.save.kind.empty() && !names_a_file(out)));
  std::error_code ignored;
  if (gguf_out && fs::is_regular_file(in + kAdapterConfig, ignored)) {
    const std::string text = io::read_text(in + kAdapterConfig);
    return io::convert(*adapter_to_gguf(io::open(in + kAdapterWeights), text, config_of_base(text, base)), out, options);
  }
  const auto check_no_base = [&] {
    DY_CHECK_AS(ValueError, base.empty(),
                "convert: base is for adapters, and {} is none that becomes another kind; leave it out", in);
  };
  if (const std::string config = config_beside(in); !config.empty()) {
    check_no_base();
    if (gguf_out) return to_gguf(in, config, out, options);
    if (!folder_out) return io::convert(*io::open(in), out, options);
    const std::shared_ptr<io::TensorFile> weights = io::open(in);
    std::string text = io::read_text(config);
    if (!stays(options)) check_known_packing(in, text);
    const OutFolder made(out);
    Converted all;
    if (!stays(options) || io::is_unpacked(*weights))
      std::tie(all, text) = into_folder(weights, text, out, options);
    else
      all = io::convert(*weights, out, options);
    copy_small_files(in, out, text);
    return all;
  }
  const std::shared_ptr<io::TensorFile> source = io::open(in);
  const auto gguf = std::dynamic_pointer_cast<io::GgufFile>(source);
  if (gguf && folder_out && is_gguf_adapter(*gguf)) {
    const std::string text = adapter_config_of(*gguf);
    const auto factors = adapter_from_gguf(gguf, config_of_base(text, base));
    const OutFolder made(out);
    io::ConvertOptions o = options;
    o.save.metadata.emplace("format", "pt");
    Converted all = io::convert(*factors, out + kAdapterWeights, o);
    io::write_whole("convert", out + kAdapterConfig, text);
    return all;
  }
  check_no_base();
  if (gguf && gguf->has_key("general.architecture")) {
    if (folder_out) return from_gguf(gguf, out, options);
    if (gguf_out) return io::convert(*source, out, kept(options));
  }
  return io::convert(*source, out, options);
}

}  // namespace dyadic::inline v1::models
