// A safetensors file as a TensorFile: the header is read, the data mapped.
#include <cstring>

#include "base/json.h"
#include "base/sha256.h"
#include "formats/packed.h"
#include "io/file_kinds.h"
#include "io/safetensors.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

class SafetensorsFile final : public TensorFile {
  std::shared_ptr<const MappedFile> file_;
  Header header_;
  Layout layout_;
  std::vector<TensorInfo> tensors_;
  uint64_t data_ = 0;  // where it begins

 public:
  explicit SafetensorsFile(std::shared_ptr<const MappedFile> file) : TensorFile(file->path()), file_(std::move(file)) {
    const uint64_t size = file_->size();
    if (size < 8) bad(path(), "too short: {} bytes, the header's length alone takes 8", size);
    unsigned char prefix[8];
    std::memcpy(prefix, file_->bytes().data(), sizeof prefix);
    const uint64_t length = header_length(prefix, size, path());
    data_ = 8 + length;
    header_ = parse_header(file_->bytes().substr(8, length), size - data_, path());
    check_version(header_, path());
    layout_ = layout_of(header_, path());
    for (const Item& item : layout_.items) tensors_.push_back(info(item));
    for (const Tie& tie : layout_.ties) {
      tensors_.push_back(tensors_[tie.item]);
      tensors_.back().name = tie.name;
      tensors_.back().bytes = 0;
    }
  }

  std::string_view kind() const override { return "safetensors"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  std::string metadata() const override {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    const bool ours = header_.metadata.contains(kFormatKey);
    for (auto& [key, value] : header_.metadata)
      if (!ours || !key.starts_with(kReserved)) all[key] = value;
    return dump_json(all);
  }
  const Metadata& all_metadata() const { return header_.metadata; }
  Tensor get(size_t i) const override {
    DY_CHECK_AS(IndexError, i < tensors_.size(), "{}: tensor {} of {}", path(), i, tensors_.size());
    const Item& item = layout_.items[same_as(i)];
    const Entry& first = header_.entries[item.entries[0]];
    if (!item.scaled) {
      if (first.dtype == "BOOL") check_bool(item.name, bytes_of(first), path());
      return file_->tensor(item.name, dtype_of_file(first.dtype), first.shape, data_ + first.begin, first.end - first.begin);
    }
    const Scaled& s = *item.scaled;
    const bool rows_as_stored = !s.permuted && !s.shape.empty() && s.shape.back() == s.geometry.cols;
    if (item.entries.size() == 1 && rows_as_stored)
      return file_->tensor(item.name, s.dtype, s.shape, data_ + first.begin, first.end - first.begin);
    const Tensor t = storage_of(s);
    const PlaneList planes = planes_of(*s.dtype.format(), s.geometry);
    for (size_t k = 0; k < item.entries.size(); ++k) {
      const std::string_view bytes = bytes_of(header_.entries[item.entries[k]]);
      if (!bytes.empty())
        std::memcpy(static_cast<char*>(t.impl()->storage->data) + planes.plane[k].offset, bytes.data(), bytes.size());
    }
    return seen_as_saved(s, t);
  }
  size_t same_as(size_t i) const override { return i < layout_.items.size() ? i : layout_.ties[i - layout_.items.size()].item; }

 private:
  std::string_view bytes_of(const Entry& e) const { return file_->bytes().substr(data_ + e.begin, e.end - e.begin); }
  TensorInfo info(const Item& item) const {
    TensorInfo t{item.name, {}, {}, {}, 0};
    for (size_t i : item.entries) t.bytes += header_.entries[i].end - header_.entries[i].begin;
    const Entry& first = header_.entries[item.entries[0]];
    t.dtype = item.scaled ? item.scaled->dtype : dtype_of_file(first.dtype);
    t.stored = item.scaled ? t.dtype.name() : first.dtype;
    t.shape = item.scaled ? item.scaled->shape : first.shape;
    if (item.scaled && item.scaled->permuted) t.order = storage_order(item.scaled->shape, item.scaled->strides);
    return t;
  }
};

// By the header's opening brace. A name is believed too, so that what is wrong with a damaged file is said.
bool matches(const MappedFile& file) {
  return (file.size() > 8 && file.bytes()[8] == '{') || file.path().ends_with(".safetensors");
}

std::shared_ptr<TensorFile> open_file(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<SafetensorsFile>(std::move(file));
}

// The header's bytes with the checksum's digits blanked, as they were hashed; the digits themselves go to `digits`.
std::string blank_seal(std::string text, const std::string& file, std::string& digits) {
  const std::string key = fmt::format("\"{}\":\"", kSealKey);
  size_t at = text.find(key);
  if (at == text.npos || text.size() - at - key.size() < kSealDigits) bad(file, "its checksum is missing");
  digits = text.substr(at + key.size(), kSealDigits);
  text.replace(at + key.size(), kSealDigits, kSealDigits, '0');
  return text;
}

// The file's bytes but for the digits, against them. Pages are not kept: there may be more of them than memory.
void check_seal(const MappedFile& file) {
  const std::string& path = file.path();
  unsigned char prefix[8];
  std::memcpy(prefix, file.bytes().data(), sizeof prefix);
  const uint64_t data = 8 + header_length(prefix, file.size(), path);
  std::string digits;
  const std::string header = blank_seal(std::string(file.bytes().substr(8, data - 8)), path, digits);
  Sha256 sum;
  sum.update(prefix, sizeof prefix);
  sum.update(header);
  constexpr uint64_t kPiece = uint64_t(16) << 20;
  for (uint64_t at = data; at < file.size(); at += kPiece) {
    sum.update(file.bytes().substr(at, kPiece));
    file.drop(at, kPiece);
  }
  if (sum.hex() != digits) bad(path, "its content does not match its checksum");
}

}  // namespace

SafeTensors map_sealed(const std::string& path) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(path);
  if (mapped->size() < 8) bad(path, "too short: {} bytes, the header's length alone takes 8", mapped->size());
  check_seal(*mapped);
  const SafetensorsFile file(mapped);
  return {file.all(), file.all_metadata()};
}

const FileKind safetensors_kind = {"safetensors", matches, open_file};

}  // namespace dyadic::inline v1::io
