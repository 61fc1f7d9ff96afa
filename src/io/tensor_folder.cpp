// A model in several files: what an index lists (Hugging Face's model.safetensors.index.json, pytorch_model.bin.index.json), or
// what lies in a folder. The files are opened when their tensors are first asked for.
#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <unordered_map>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/quantized/packing.h"

namespace dyadic::inline v1::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr uint64_t kMaxIndex = 32'000'000;  // bytes; those of the largest models known have 10 MB
constexpr int kMaxDepth = 8;

class TensorFiles final : public TensorFile {
  std::string metadata_;
  std::vector<std::string> files_;
  std::unordered_map<std::string, size_t> index_;  // which file has which tensor; empty: nothing says so
  mutable std::once_flag once_;
  mutable std::vector<std::shared_ptr<TensorFile>> opened_;
  mutable std::vector<TensorInfo> tensors_;
  mutable std::vector<std::pair<size_t, size_t>> where_;  // file, number in it
  mutable std::vector<size_t> same_;

 public:
  TensorFiles(std::string path, std::string metadata, std::vector<std::string> files,
              std::unordered_map<std::string, size_t> index)
      : TensorFile(std::move(path)), metadata_(std::move(metadata)), files_(std::move(files)), index_(std::move(index)) {}

  std::string_view kind() const override {
    open_all();
    return opened_[0]->kind();
  }
  const std::vector<TensorInfo>& tensors() const override {
    open_all();
    return tensors_;
  }
  std::string metadata() const override {  // what the files say, and above it what the index does
    open_all();
    json all = parse_json(opened_[0]->metadata());
    all.update(parse_json(metadata_));
    return dump_json(all);
  }
  Tensor get(size_t i) const override {
    open_all();
    DY_CHECK_AS(IndexError, i < where_.size(), "{}: tensor {} of {}", path(), i, where_.size());
    return opened_[where_[i].first]->get(where_[i].second);
  }
  size_t same_as(size_t i) const override {
    open_all();
    return same_.at(i);
  }

 private:
  void open_all() const {
    std::call_once(once_, [&] {
      opened_.clear(), tensors_.clear(), where_.clear(), same_.clear();  // of an attempt that failed
      std::unordered_map<std::string, size_t> seen;
      for (size_t f = 0; f < files_.size(); ++f) {
        opened_.push_back(open(files_[f]));
        if (dynamic_cast<TensorFiles*>(opened_[f].get())) bad(path(), "{} is an index too, no file of tensors", short_name(f));
        add_tensors(f, seen);
      }
      for (auto& [name, f] : index_)
        if (!seen.contains(name) && !is_plane(name, seen))
          bad(path(), "tensor {}: it is not in {}, where the index says it is", quote_name(name), short_name(f));
      add_ties(seen);
    });
  }
  void add_tensors(size_t f, std::unordered_map<std::string, size_t>& seen) const {
    const std::vector<TensorInfo>& there = opened_[f]->tensors();
    std::vector<size_t> numbers(there.size());
    for (size_t i = 0; i < there.size(); ++i) {
      const size_t own = numbers[i] = tensors_.size();
      auto listed = index_.find(there[i].name);
      if (listed != index_.end() && listed->second != f) continue;
      if (auto [it, fresh] = seen.emplace(there[i].name, own); !fresh)
        bad(path(), "tensor {}: it is in {} and in {}", quote_name(there[i].name), short_name(where_[it->second].first),
            short_name(f));
      const size_t first = numbers[opened_[f]->same_as(i)];
      same_.push_back(first < own && tensors_[first].name == there[opened_[f]->same_as(i)].name ? first : own);
      tensors_.push_back(there[i]);
      where_.emplace_back(f, i);
    }
  }
  // As Hugging Face's tools leave them out: the index's metadata says {"lm_head.weight": "embed.weight"}.
  void add_ties(const std::unordered_map<std::string, size_t>& seen) const {
    const json all = parse_json(metadata_);
    for (auto& [name, kept] : all.items()) {
      auto it = kept.is_string() && !seen.contains(name) ? seen.find(kept.get_ref<const std::string&>()) : seen.end();
      if (it == seen.end()) continue;
      tensors_.push_back(tensors_[it->second]);
      tensors_.back().name = name;
      tensors_.back().bytes = 0;
      where_.push_back(where_[it->second]);
      same_.push_back(same_[it->second]);
    }
  }
  std::string short_name(size_t f) const { return quote_name(fs::path(files_[f]).filename().native()); }
  // The index lists the arrays of a scaled tensor w: w.codes, w.scales.
  bool is_plane(const std::string& name, const std::unordered_map<std::string, size_t>& seen) const {
    const size_t dot = name.rfind('.');
    auto it = dot == name.npos ? seen.end() : seen.find(name.substr(0, dot));
    if (it == seen.end()) return false;
    return tensors_[it->second].dtype.is_blocked();
  }
};

json parse_index(const MappedFile& file) {
  if (file.size() > kMaxIndex) bad(file.path(), "{} bytes long; the limit is {}", file.size(), kMaxIndex);
  json all = bounded_json(file.bytes(), kMaxDepth);
  if (all.is_discarded()) bad(file.path(), "it is not JSON");
  return all;
}

std::shared_ptr<TensorFile> open_index(std::shared_ptr<const MappedFile> file) {
  const std::string& path = file->path();
  const json index = parse_index(*file);
  auto map = index.find("weight_map");
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty())
    bad(path, "an index of files has the object weight_map, names of tensors and where they are; this has none");
  const fs::path folder = fs::path(path).parent_path();
  std::map<std::string, size_t> files;
  for (auto& [name, where] : map->items()) {
    if (!where.is_string()) bad(path, "tensor {}: its file is no text", quote_name(name));
    files.emplace(where.get_ref<const std::string&>(), 0);
  }
  std::vector<std::string> paths;
  for (auto& [name, number] : files) {
    const bool plain =
        !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
    if (!plain) bad(path, "{} is no name of a file beside it", quote_name(name));
    if (std::error_code error; !fs::is_regular_file(folder / name, error))
      bad(path, "{}, which it lists, is not there", quote_name(name));
    number = paths.size();
    paths.push_back((folder / name).native());
  }
  std::unordered_map<std::string, size_t> where;
  for (auto& [name, f] : map->items()) where[name] = files.at(f.get_ref<const std::string&>());
  auto metadata = index.find("metadata");
  const std::string text = metadata != index.end() && metadata->is_object() ? metadata->dump() : "{}";
  return std::make_shared<TensorFiles>(path, text, std::move(paths), std::move(where));
}

// JSON begins so; the eighth byte of a safetensors file is 0: its header has less than 2^56 bytes.
bool matches_index(const MappedFile& file) { return file.size() > 8 && file.bytes()[0] == '{' && file.bytes()[7] != 0; }

std::shared_ptr<TensorFile> open_files(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().native());
  if (error) fail("{}: cannot be opened: {}", path, error.message());
  std::ranges::sort(names);
  const auto full = [&](const std::string& name) { return (fs::path(path) / name).native(); };
  for (const char* model : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                            "pytorch_model.bin.index.json", "adapter_model.safetensors"})
    if (std::ranges::binary_search(names, model)) return open(full(model));
  for (const char* ending : {".index.json", ".safetensors", ".gguf", ".bin", ".pth", ".pt", ".npz", ".npy"}) {
    std::vector<std::string> found;
    for (const std::string& name : names)
      if (name.ends_with(ending)) found.push_back(full(name));
    const std::string_view kind(ending);
    if (found.size() == 1 || (kind == ".gguf" && found.size() > 1 && found[0].find("-00001-of-") != std::string::npos))
      return open(found[0]);  // a split GGUF file knows its other parts
    if (found.size() > 1 && kind == ".safetensors")
      return std::make_shared<TensorFiles>(path, "{}", found, std::unordered_map<std::string, size_t>());
    if (found.size() > 1)
      bad(path, "it has {} files *{}, and nothing says which is meant: {}, {} ...", found.size(), ending,
          quote_name(fs::path(found[0]).filename().native()), quote_name(fs::path(found[1]).filename().native()));
  }
  bad(path, "there is no file of tensors in this folder");
}

json config_of(const std::string& folder) {  // null where there is none
  constexpr uintmax_t kMost = 1 << 20;
  const fs::path file = fs::path(folder) / "config.json";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kMost) return nullptr;
  return bounded_json(read_text(file.native()));
}

}  // namespace

const FileKind index_kind = {"index.json", matches_index, open_index};

std::shared_ptr<TensorFile> open_folder(const std::string& path) {
  std::shared_ptr<TensorFile> file = open_files(path);
  const json quantization = quantization_of(config_of(path));
  if (quantization.is_null()) return file;
  try {
    if (auto weights = unpacked(file, quantization)) return weights;
  } catch (const ValueError& e) { warn(fmt::format("{}; its tensors are shown as they are stored", e.what())); }
  return file;
}

}  // namespace dyadic::inline v1::io
