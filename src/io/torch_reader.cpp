// Files of torch.save: a zip of a pickle and the memory of its tensors; before PyTorch 1.6 pickles one after the other and the
// memory behind them, always little-endian.
#include "io/torch_reader.h"

#include <algorithm>
#include <cstring>

#include "dyadic/ops.h"
#include "io/bad_file.h"
#include "io/npy.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using Kind = Value::Kind;
constexpr std::string_view kPickle = "/data.pkl";
// The number that the older form begins with, as protocols from 2 on and the earlier ones write it.
constexpr std::string_view kTorchMagic = "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
                           kTorchMagicText = "L119547037146038801333356L";

// The one pickle of a zip; null: it is none of torch.save.
const ZipEntry* pickle_of(const ZipFile& zip) {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& e : zip.entries())
    if (e.name.ends_with(kPickle) && std::ranges::count(e.name, '/') == 1) {
      if (found) return nullptr;
      found = &e;
    }
  return found;
}

}  // namespace

bool TorchReader::is_zip(const MappedFile& file) {
  return ZipFile::begins(file.bytes()) && pickle_of(ZipFile(file.path(), file.bytes()));
}
bool TorchReader::is_older(const MappedFile& file) {
  const std::string_view begin = file.bytes().substr(0, 48);
  return begin.find(kTorchMagic) != begin.npos || begin.find(kTorchMagicText) != begin.npos;
}

TorchReader::TorchReader(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {
  if (is_older(*file_))
    open_older();
  else
    open_zip();
}

void TorchReader::open_zip() {
  if (!ZipFile::begins(file_->bytes())) wrong("not a file of torch.save: it begins as none");
  zip_.emplace(file_->path(), file_->bytes());
  const ZipEntry* pickle = pickle_of(*zip_);
  if (!pickle) wrong("not a file of torch.save: a zip without data.pkl, or with several");
  prefix_ = pickle->name.substr(0, pickle->name.size() - kPickle.size() + 1);
  if (const ZipEntry* order = zip_->find(prefix_ + "byteorder"); order && order->size < 16) {
    const std::string word = zip_->read(*order, ZipFile::Checksum::ignored);
    if (word != "little" && word != "big") wrong(fmt::format("its byte order is {}, neither little nor big", quote_name(word)));
    big_endian_ = word == "big";
  }
  const Pickle::Host host{[this](const Value& id) { return persistent(id); },
                          [this](const std::string& name, const Value& args) { return call(name, args); }};
  const std::string unpacked = pickle->method ? zip_->read(*pickle, ZipFile::Checksum::ignored) : "";
  Pickle p(file_->path() + ": data.pkl", pickle->method ? unpacked : file_->bytes().substr(pickle->begin, pickle->size), host);
  root_ = p.run();
  globals_ = p.globals();
}

std::string TorchReader::version() const {
  const ZipEntry* e = zip_ ? zip_->find(prefix_ + "version") : nullptr;
  if (!e || e->size > 16) return "";
  std::string text = zip_->read(*e, ZipFile::Checksum::ignored);
  while (!text.empty() && uint8_t(text.back()) <= ' ') text.pop_back();
  return text;
}

Value TorchReader::run(const std::string& what, uint64_t& at, const Pickle::Host& host) {
  Pickle p(fmt::format("{}: {} from byte {} on", file_->path(), what, at), file_->bytes().substr(at), host);
  Value v = p.run();
  at += p.used();
  for (const std::string& name : p.globals())
    if (std::ranges::find(globals_, name) == globals_.end()) globals_.push_back(name);
  return v;
}

void TorchReader::open_older() {
  const Pickle::Host none, host{[this](const Value& id) { return persistent(id); },
                                [this](const std::string& name, const Value& args) { return call(name, args); }};
  uint64_t at = 0;
  run("the magic number", at, none);
  const Value version = run("the version", at, none);
  if (version.kind() != Kind::integer || version.integer() != 1001) wrong("of the older form, but not of version 1001");
  run("the description of the system", at, none);
  root_ = run("the values", at, host);
  const Value keys = run("the list of memory", at, none);
  if (keys.kind() != Kind::list || keys.items().size() != stored_.size()) wrong("the list of memory does not fit the tensors");
  std::vector<bool> seen(stored_.size());
  for (const Value& key : keys.items()) {
    const auto it = key.kind() == Kind::text ? by_key_.find(key.text()) : by_key_.end();
    if (it == by_key_.end() || seen[size_t(it->second)]) wrong("the list of memory does not fit the tensors");
    seen[size_t(it->second)] = true;
    Stored& s = stored_[size_t(it->second)];
    const std::string_view rest = file_->bytes().substr(at);
    uint64_t n = 0;
    for (size_t i = 8; i-- > 0 && rest.size() >= 8;) n = n << 8 | uint8_t(rest[i]);
    // What is written untyped counts elements of the tensor's dtype, which is not known here: any of up to 16 bytes.
    if (rest.size() < 8 || n > s.bytes ||
        (n * uint64_t(s.itemsize) != s.bytes && (s.itemsize > 1 || !n || s.bytes % n || s.bytes / n > 16)))
      wrong(fmt::format("byte {}: memory {} has {} bytes, the file says {} elements", at, quote_name(s.key), s.bytes, n));
    if (s.bytes > rest.size() - 8)
      wrong(fmt::format("byte {}: memory {} is {} bytes, {} are there", at, quote_name(s.key), s.bytes, rest.size() - 8));
    s.begin = at + 8;
    at = s.begin + s.bytes;
  }
}

// Another look at the memory of a tensor.
static Tensor look(const Tensor& memory, int64_t n, DType dtype) {
  return make_foreign_view(
      memory.impl()->data(), {n}, dtype, [](void* of) { delete static_cast<Tensor*>(of); }, new Tensor(memory));
}

Tensor TorchReader::read(const Stored& s, DType dtype) const {
  const int64_t n = int64_t(s.bytes) / dtype.itemsize();
  Tensor memory = make_tensor({s.bytes % uint64_t(dtype.itemsize()) ? int64_t(s.bytes) : n},
                              s.bytes % uint64_t(dtype.itemsize()) ? u8 : dtype, cpu);
  void* target = memory.impl()->data();
  if (s.entry)
    zip_->read(*s.entry, target, ZipFile::Checksum::ignored);
  else
    std::memcpy(target, file_->bytes().data() + s.begin, s.bytes);
  if (big_endian_) swap_bytes(target, n, dtype);
  return memory.dtype() == dtype ? memory : look(memory, n, dtype);
}

Tensor TorchReader::values_of(const Tensor& t, const TorchView& v) const {
  if (v.quantizer) return with_scales(t, v);
  const NoGrad guard;
  const Tensor own = v.pairs ? view_as_complex(t.to(f32).contiguous()) : t;
  const Tensor turned = v.conj ? conj(own) : own;
  return v.neg ? -turned : turned;
}

Tensor TorchReader::map(const std::string& name, const TorchView& v) const {
  if (v.numel == 0) return make_tensor(v.shape(), v.result(), cpu);
  const Stored& s = stored_[size_t(v.storage)];
  const int64_t item = v.dtype.itemsize();
  if (big_endian_ || (s.entry && s.entry->method))
    return values_of(make_view(read(s, v.dtype), v.sizes, v.strides, v.offset), v);
  const Tensor memory = file_->tensor(name, v.dtype, {v.reach}, s.begin + uint64_t(v.offset * item), uint64_t(v.reach * item));
  return values_of(make_view(memory, v.sizes, v.strides, 0), v);
}

void TorchReader::read_all() {
  std::vector<std::vector<Tensor>> memory(stored_.size());  // of each, by dtype
  const auto of = [&](const TorchView& v) {
    std::vector<Tensor>& all = memory[size_t(v.storage)];
    for (const Tensor& t : all)
      if (t.dtype() == v.dtype) return t;
    const Stored& s = stored_[size_t(v.storage)];
    // The same bytes as another dtype; swapped, they are others.
    const Tensor t =
        all.empty() || big_endian_ ? read(s, v.dtype) : look(all[0], int64_t(s.bytes) / v.dtype.itemsize(), v.dtype);
    all.push_back(t);
    return t;
  };
  for (const std::shared_ptr<Node>& n : tensors_) {
    if (n.use_count() == 1) continue;  // the values do not hold it
    const TorchView& v = view(*n);
    n->tensor =
        v.numel ? values_of(make_view(of(v), v.sizes, v.strides, v.offset), v) : make_tensor(v.shape(), v.result(), cpu);
    if (n->requires_grad) n->tensor.requires_grad_();
  }
  tensors_.clear();
}

}  // namespace dyadic::inline v1::io
