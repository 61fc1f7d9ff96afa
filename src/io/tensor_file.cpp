#include "dyadic/tensor_file.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"

namespace dyadic::inline v1::io {

NamedTensors TensorFile::all() const {
  NamedTensors all;
  for (size_t i = 0; i < tensors().size(); ++i) all.emplace_back(tensors()[i].name, get(i));
  return all;
}
bool TensorFile::has(std::string_view name) const {
  return std::ranges::any_of(tensors(), [&](const TensorInfo& t) { return t.name == name; });
}

Tensor TensorFile::get(std::string_view name) const {
  const std::vector<TensorInfo>& all = tensors();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return get(i);
  std::vector<std::string> names;
  for (const TensorInfo& t : all) names.push_back(t.name);
  fail<ValueError>("{}: no tensor {}{}", path_, quote_name(name),
                   names.empty() ? "" : "; nearest there: " + nearest(name, names));
}

extern const FileKind npy_files, npz_files, torch_older_files, torch_zip_files;

// In the order in which they are asked: those with a signature first.
static const std::initializer_list<const FileKind*> kKinds = {
    &npy_files, &torch_zip_files, &npz_files, &torch_older_files, &gguf_files, &index_kind, &safetensors_kind};

std::shared_ptr<TensorFile> open(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return open_folder(path);
  std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  std::string known;
  for (const FileKind* kind : kKinds) {
    if (kind->matches(*file)) return kind->open(std::move(file));
    known += (known.empty() ? "" : ", ") + std::string(kind->name);
  }
  bad(path, "not a file of tensors of a known kind ({})", known);
}

}  // namespace dyadic::inline v1::io
