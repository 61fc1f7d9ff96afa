// numpy's files: one array (.npy), or a zip of them (.npz).
#include "dyadic/numpy_file.h"

#include <algorithm>
#include <cstring>

#include "dyadic/ops.h"
#include "io/atomic_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/npy.h"
#include "io/zip.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr size_t kMostHeader = (1 << 16) + 12;
constexpr std::string_view kSuffix = ".npy";

struct Array {
  NpyHeader header;
  TensorInfo info;
};

// From the first bytes of an array's file; `size` of them there are.
Array array(const std::string& where, std::string name, std::string_view begin, uint64_t size) {
  Array a;
  a.header = parse_npy_header(where, begin);
  const NpyHeader& h = a.header;
  int64_t n = 0, bytes = 0;
  try {
    n = checked_numel("npy", h.shape);
  } catch (const ValueError&) { bytes = -1; }
  if (bytes < 0 || __builtin_mul_overflow(n, h.dtype.itemsize(), &bytes) || uint64_t(bytes) > size - uint64_t(h.size))
    bad(where, "{}{} from byte {} on is more than the {} bytes there are", h.dtype.name(), shape_text(h.shape), h.size, size);
  a.info = {std::move(name), h.dtype, {}, h.shape, uint64_t(bytes)};
  const std::string text = npy_header(h.dtype, {});
  a.info.stored = text.substr(text.find("'descr': '") + 10);
  a.info.stored.resize(a.info.stored.find('\''));
  if (h.big_endian) a.info.stored[0] = '>';
  return a;
}

// Elements as they lie in the file become the array: swapped if need be, seen in Fortran's order.
Tensor seen(const NpyHeader& h, const Tensor& t) {
  if (h.big_endian && t.numel()) swap_bytes(t.impl()->data(), t.numel(), h.dtype);
  if (!h.fortran_order || h.shape.size() < 2) return t;
  std::vector<int64_t> strides(h.shape.size());
  int64_t step = 1;
  for (size_t d = 0; d < strides.size(); ++d) {
    strides[d] = step;
    step *= std::max<int64_t>(h.shape[d], 1);
  }
  return make_view(t, h.shape, strides, 0);
}

class NumpyFile : public TensorFile {
 protected:
  std::shared_ptr<const MappedFile> file_;
  std::vector<Array> arrays_;
  std::vector<TensorInfo> infos_;
  void add(Array a) {
    infos_.push_back(a.info);
    arrays_.push_back(std::move(a));
  }
  Tensor lying(size_t i, uint64_t at) const {
    const Array& a = arrays_[i];
    const Tensor t = file_->tensor(a.info.name, a.header.dtype, a.header.shape, at + uint64_t(a.header.size), a.info.bytes);
    return seen(a.header, a.header.big_endian ? clone(t) : t);
  }

 public:
  explicit NumpyFile(std::shared_ptr<const MappedFile> file) : TensorFile(file->path()), file_(std::move(file)) {}
  const std::vector<TensorInfo>& tensors() const override { return infos_; }
};

class NpyFile final : public NumpyFile {
 public:
  explicit NpyFile(const std::shared_ptr<const MappedFile>& file) : NumpyFile(file) {
    std::string name = path().substr(path().rfind('/') + 1);
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    add(array(path(), std::move(name), file->bytes().substr(0, kMostHeader), file->size()));
  }
  std::string_view kind() const override { return "npy"; }
  using TensorFile::get;
  Tensor get(size_t) const override { return lying(0, 0); }
};

class NpzFile final : public NumpyFile {
  ZipFile zip_;
  std::vector<const ZipEntry*> entries_;

 public:
  explicit NpzFile(const std::shared_ptr<const MappedFile>& file) : NumpyFile(file), zip_(file->path(), file->bytes()) {
    for (const ZipEntry& e : zip_.entries()) {
      if (!e.name.ends_with(kSuffix)) continue;  // numpy gives the bytes of other files; they are no tensors
      const std::string where = path() + ": entry " + quote_name(e.name);
      std::string unpacked;
      std::string_view begin = file->bytes().substr(e.begin, std::min<uint64_t>(e.packed, kMostHeader));
      if (e.method) begin = unpacked = zip_.begin_of(e, kMostHeader);
      add(array(where, e.name.substr(0, e.name.size() - kSuffix.size()), begin, e.size));
      entries_.push_back(&e);
    }
  }
  std::string_view kind() const override { return "npz"; }
  using TensorFile::get;
  Tensor get(size_t i) const override {
    const ZipEntry& e = *entries_[i];
    if (!e.method) return lying(i, e.begin);
    const Array& a = arrays_[i];
    const std::string content = zip_.read(e, ZipFile::Checksum::checked);
    const Tensor t = make_tensor(a.header.shape, a.header.dtype, cpu);
    if (a.info.bytes) std::memcpy(t.impl()->data(), content.data() + a.header.size, a.info.bytes);
    return seen(a.header, t);
  }
  void check(size_t i) const {  // what is mapped is not read before it is used; whoever reads it all can tell
    if (const ZipEntry& e = *entries_[i]; !e.method) zip_.check(e);
  }
};

bool is_npz(const MappedFile& file) {
  if (!ZipFile::begins(file.bytes())) return false;
  const ZipFile zip(file.path(), file.bytes());
  return zip.entries().empty() ||
         std::ranges::any_of(zip.entries(), [](const ZipEntry& e) { return e.name.ends_with(kSuffix); });
}

std::string_view bytes_of(const Tensor& dense) {
  return dense.numel() ? std::string_view(dense.impl()->data(), size_t(dense.nbytes())) : std::string_view();
}

}  // namespace

extern const FileKind npy_files = {
    "npy", [](const MappedFile& f) { return f.bytes().starts_with(kNpyMagic); },
    [](std::shared_ptr<const MappedFile> f) -> std::shared_ptr<TensorFile> { return std::make_shared<NpyFile>(f); }};
extern const FileKind npz_files = {"npz", is_npz, [](std::shared_ptr<const MappedFile> f) -> std::shared_ptr<TensorFile> {
                                     return std::make_shared<NpzFile>(f);
                                   }};

void save_npy(const std::string& path, const Tensor& t) {
  const std::string header = npy_header(t.dtype(), t.sizes());
  const Tensor dense = t.detach().contiguous().cpu();
  AtomicFile out("save_npy", path);
  out.write(header.data(), header.size());
  if (const std::string_view bytes = bytes_of(dense); !bytes.empty()) out.write(bytes.data(), bytes.size());
  out.commit();
}

void save_npz(const std::string& path, const NamedTensors& tensors, NpzOptions options) {
  for (auto& [name, t] : tensors)
    DY_CHECK_AS(ValueError, t.defined() && !t.is_meta(), "save_npz: tensor {} has no values; leave it out", quote_name(name));
  write_npz(path, *in_memory(tensors), options);
}

void write_npz(const std::string& path, const TensorFile& source, NpzOptions options) {
  std::vector<std::string> names, headers;
  for (const TensorInfo& t : source.tensors()) {
    names.push_back(t.name);
    try {
      DY_CHECK_AS(TypeError, t.dtype, "no dtype here holds it: it is {}; leave it out", t.stored);
      headers.push_back(npy_header(t.dtype, t.shape));
    } catch (const TypeError& e) { fail<TypeError>("save_npz: tensor {}: {}", quote_name(t.name), e.what()); }
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  DY_CHECK_AS(ValueError, twice == names.end(), "save_npz: the name {} is there twice; rename one", quote_name(*twice));
  ZipWriter out("save_npz", path);
  for (size_t i = 0; i < source.tensors().size(); ++i) {
    const Tensor dense = source.get(i).detach().contiguous().cpu();
    out.add(source.tensors()[i].name + std::string(kSuffix), {headers[i], bytes_of(dense)}, options.compressed);
  }
  out.commit();
}

NamedTensors load_npz(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  if (!ZipFile::begins(file->bytes())) bad(path, "not a .npz file: it is no zip archive");
  const NpzFile npz(file);
  NamedTensors out;
  for (size_t i = 0; i < npz.tensors().size(); ++i) {
    npz.check(i);
    const Tensor t = npz.get(i);
    out.emplace_back(npz.tensors()[i].name, t.impl()->storage->read_only ? clone(t) : t);
  }
  return out;
}

}  // namespace dyadic::inline v1::io
