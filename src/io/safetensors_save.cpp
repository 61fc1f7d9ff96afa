// Safetensors as a kind that io::save writes: in one file, or in several with an index.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/json.h"
#include "io/atomic_file.h"
#include "io/checkpoint_files.h"
#include "io/file_kinds.h"
#include "io/safetensors.h"

namespace dyadic::inline v1::io {
namespace {

namespace fs = std::filesystem;
using Parts = std::vector<std::vector<size_t>>;

// In the source's order, as many to a file as fit; a second name of a tensor goes where the first is.
Parts cut(const TensorFile& source, uint64_t most) {
  const std::vector<TensorInfo>& all = source.tensors();
  Parts parts(1);
  std::vector<size_t> part_of(all.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (source.same_as(i) != i) continue;
    const uint64_t more = stored_bytes(all[i]);
    if (most && bytes > 0 && more > most - std::min(bytes, most)) {
      parts.emplace_back();
      bytes = 0;
    }
    bytes += more;
    part_of[i] = parts.size() - 1;
    parts.back().push_back(i);
  }
  for (size_t i = 0; i < all.size(); ++i)
    if (const size_t kept = source.same_as(i); kept != i) parts[part_of[kept]].push_back(i);
  return parts;
}

// Files that go again if what they are for does not come about. A killed process's are removed by the next to write there.
struct Unfinished {
  std::vector<std::string> files;
  ~Unfinished() {
    std::error_code ignored;
    for (const std::string& file : files) fs::remove(file, ignored);
  }
};

std::string save_parts(const std::string& path, const TensorFile& source, const Parts& parts, const Metadata& metadata) {
  const std::vector<std::string> files = shard_paths(path, parts.size());
  Unfinished unfinished;
  nlohmann::json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", nlohmann::json::object()}};
  uint64_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    std::vector<std::string> arrays;
    write_safetensors_part(files[p], source, parts[p], metadata, &arrays);
    unfinished.files.push_back(files[p]);
    for (const std::string& name : arrays) index["weight_map"][name] = fs::path(files[p]).filename().native();
    for (size_t i : parts[p]) {
      const TensorInfo& t = source.tensors()[i];
      if (const size_t kept = source.same_as(i); kept != i)
        index["metadata"][t.name] = source.tensors()[kept].name;
      else
        total += stored_bytes(t);
    }
  }
  index["metadata"]["total_size"] = total;
  write_whole("save", path + kIndexExtension, dump_json(index, 2) + "\n");
  unfinished.files.clear();
  return path + kIndexExtension;
}

std::string save_safetensors_files(const std::string& path, const TensorFile& source, const SaveOptions& options) {
  Metadata metadata = options.metadata;
  for (auto& [key, value] : metadata)
    DY_CHECK_AS(ValueError, !key.starts_with(kReserved),
                "save: a reserved key: the metadata has {}; keys that begin with \"{}\" are ours", quote_name(key), kReserved);
  metadata.emplace("format", "pt");  // Hugging Face's loaders refuse a file that does not say
  const Parts parts = cut(source, options.max_shard_size);
  std::set<std::string> replaced;
  try {
    replaced = named_by(path + kIndexExtension);
  } catch (const std::exception&) {}  // there is none
  std::string written = path;
  if (parts.size() == 1)
    write_safetensors_part(path, source, parts[0], metadata, nullptr);
  else
    written = save_parts(path, source, parts, metadata);
  remove_others(path, written, replaced);
  return written;
}

}  // namespace

const FileWriter safetensors_writer = {"safetensors", ".safetensors", "model.safetensors", save_safetensors_files};

}  // namespace dyadic::inline v1::io
