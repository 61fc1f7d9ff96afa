// Writing files of torch.save: a zip with a pickle of protocol 2, which PyTorch reads with weights_only, and each storage once.
#include <bit>
#include <unordered_map>

#include "base/parallel.h"
#include "base/sha256.h"
#include "dyadic/ops.h"
#include "dyadic/torch_file.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/pickle.h"
#include "io/zip.h"
#include "tensor/impl.h"
#include "tensor/transfer.h"

namespace dyadic::inline v1::io {
namespace {

using Kind = Value::Kind;

// The class of a dtype's memory; null: PyTorch has the dtype, but writes its memory untyped; "": PyTorch has it not.
const char* storage_class(DType d) {
  static constexpr std::pair<DType, const char*> kClasses[] = {
      {f64, "DoubleStorage"}, {f32, "FloatStorage"},    {f16, "HalfStorage"},         {bf16, "BFloat16Storage"},
      {i64, "LongStorage"},   {i32, "IntStorage"},      {i16, "ShortStorage"},        {i8, "CharStorage"},
      {u8, "ByteStorage"},    {boolean, "BoolStorage"}, {c64, "ComplexFloatStorage"}, {c128, "ComplexDoubleStorage"}};
  for (auto& [dtype, name] : kClasses)
    if (d == dtype) return name;
  for (const DType known : {u16, u32, u64, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0fnu})
    if (d == known) return nullptr;
  return "";
}

bool is_sparse(const Value::Node& n) {
  return !n.raw && n.args.kind() == Kind::tuple &&
         (n.text == "torch._utils._rebuild_sparse_tensor" || n.text == "torch.serialization._get_layout");
}

std::string utf8_of_latin1(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    if (uint8_t(c) < 0x80)
      out += c;
    else
      out += {char(0xc0 | uint8_t(c) >> 6), char(0x80 | (uint8_t(c) & 0x3f))};
  return out;
}

class TorchWriter {
  std::string out_ = "\x80\x02";
  std::unordered_map<const Node*, uint32_t> memo_;
  std::unordered_map<std::string, uint32_t> words_;  // names of classes, texts
  uint32_t next_ = 0;
  struct Memory {
    std::string key;
    const char* type;  // what PyTorch will take it for: as what it was first written
    DType dtype;
  };
  std::unordered_map<const Storage*, Memory> memory_;
  int depth_ = 0;
  const bool promised_;

 public:
  std::vector<Tensor> storages;  // a tensor of each, in the order of their keys

  explicit TorchWriter(bool promised = false) : promised_(promised) {}  // tensors on meta stand for others

  std::string pickle(const Value& v) {
    value(v);
    return out_ + '.';
  }

 private:
  void number(uint64_t n, int width) {
    for (int i = 0; i < width; ++i) out_ += char(n >> 8 * i & 255);
  }
  uint32_t put() {
    out_ += next_ < 256 ? 'q' : 'r';
    number(next_, next_ < 256 ? 1 : 4);
    return next_++;
  }
  void get(uint32_t index) {
    out_ += index < 256 ? 'h' : 'j';
    number(index, index < 256 ? 1 : 4);
  }
  void word(const std::string& bytes) {  // with its opcode, remembered
    if (const auto it = words_.find(bytes); it != words_.end()) return get(it->second);
    out_ += bytes;
    words_[bytes] = put();
  }
  void global(const std::string& module, const std::string& name) { word("c" + module + "\n" + name + "\n"); }
  void text(const std::string& s) {
    DY_CHECK_AS(ValueError, s.size() < (uint64_t(1) << 32), "save_torch: a text of {} bytes", s.size());
    std::string head = "X";
    for (int i = 0; i < 4; ++i) head += char(s.size() >> 8 * i & 255);
    word(head + s);
  }
  void integer(int64_t n) {
    if (n >= 0 && n < 256) return out_ += 'K', number(uint64_t(n), 1);
    if (n >= 0 && n < 65536) return out_ += 'M', number(uint64_t(n), 2);
    if (n == int32_t(n)) return out_ += 'J', number(uint64_t(n), 4);
    out_ += "\x8a\x08", number(uint64_t(n), 8);
  }
  void real(double x) {
    out_ += 'G';
    number(__builtin_bswap64(std::bit_cast<uint64_t>(x)), 8);
  }
  void sizes(IntList list) {
    out_ += '(';
    for (const int64_t n : list) integer(n);
    out_ += 't';
  }
  void empty_ordered_dict() {
    global("collections", "OrderedDict");
    out_ += ")R";
  }

  void tensor(const Node& n) {
    const Tensor& t = n.tensor;
    DY_CHECK_AS(ValueError, t.defined() && (promised_ || !t.is_meta()), "save_torch: a tensor without values: {}; leave it out",
                t.defined() ? describe(t) : "it is undefined");
    const char* type = storage_class(t.dtype());
    DY_CHECK_AS(ValueError, !type || *type, "save_torch: PyTorch has no {}: a tensor is {}; convert it with .to",
                t.dtype().name(), describe(t));
    if (n.parameter) {
      global("torch._utils", "_rebuild_parameter");
      out_ += '(';
    }
    const Storage& s = *t.impl()->storage;
    if (s.bytes % t.dtype().itemsize()) type = nullptr;
    const auto [it, is_new] = memory_.try_emplace(&s, Memory{std::to_string(storages.size()), type, t.dtype()});
    if (is_new) storages.push_back(t);
    const Memory& memory = it->second;
    if (!memory.type || memory.dtype != t.dtype()) type = nullptr;
    global("torch._utils", type ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    out_ += "((";
    text("storage");
    global(type ? "torch" : "torch.storage", type ? type : "UntypedStorage");
    text(memory.key);
    text("cpu");
    integer(type ? s.bytes / t.dtype().itemsize() : s.bytes);
    out_ += "tQ";
    integer(t.impl()->offset);
    sizes(t.sizes());
    sizes(t.strides());
    out_ += n.requires_grad && !n.parameter ? '\x88' : '\x89';
    empty_ordered_dict();
    if (!type) global("torch", t.dtype().long_name());
    out_ += "tR";
    if (!n.parameter) return;
    out_ += n.requires_grad ? '\x88' : '\x89';
    empty_ordered_dict();
    out_ += "tR";
  }

  void list(const Value::List& items) {
    if (items.empty()) return;
    out_ += '(';
    for (const Value& v : items) value(v);
    out_ += 'e';
  }
  void entries(const Value::Entries& all) {
    if (all.empty()) return;
    out_ += '(';
    for (auto& [key, v] : all) value(key), value(v);
    out_ += 'u';
  }
  void dict(const Node& n) {
    const bool ordered = n.text == "collections.OrderedDict", counter = n.text == "collections.Counter";
    if (ordered)
      empty_ordered_dict();
    else if (counter)
      global("collections", "Counter"), out_ += '}';
    else
      out_ += '}';
    if (counter) {
      entries(n.entries);
      out_ += "\x85R";
      return;
    }
    remember(n, put(), [&] {
      entries(n.entries);
      if (!ordered || n.state.kind() == Kind::none) return;
      value(n.state);
      out_ += 'b';
    });
  }
  // From when it is whole: what contains itself, which readers refuse, ends as what is too deep.
  template <class F> void remember(const Node& n, uint32_t index, F fill) {
    fill();
    memo_[&n] = index;
  }

  void value(const Value& v) {
    const Node* n = v.node();
    if (!n) {
      if (v.kind() == Kind::none) out_ += 'N';
      if (v.kind() == Kind::boolean) out_ += v.boolean() ? '\x88' : '\x89';
      if (v.kind() == Kind::integer) integer(v.integer());
      if (v.kind() == Kind::real) real(v.real());
      return;
    }
    if (n->kind == Kind::text) return text(n->text);
    if (const auto it = memo_.find(n); it != memo_.end()) return get(it->second);
    DY_CHECK_AS(ValueError, ++depth_ <= kMostDepth, "save_torch: lists in lists, deeper than {}, or one in itself", kMostDepth);
    whole(*n);
    --depth_;
    if (!memo_.contains(n)) memo_[n] = put();
  }
  void whole(const Node& n) {
    switch (n.kind) {
      case Kind::tensor:
        return tensor(n);
      case Kind::dict:
        return dict(n);
      case Kind::list:
        out_ += ']';
        return remember(n, put(), [&] { list(n.items); });
      case Kind::set:
        DY_CHECK_AS(ValueError, n.text.empty(), "save_torch: a {} is not what PyTorch reads as plain data; make it a set",
                    n.text);
        global("__builtin__", "set");
        out_ += ']';
        list(n.items);
        out_ += "\x85R";
        return;
      case Kind::tuple:
        if (!n.text.empty()) global("torch", "Size");
        out_ += '(';
        for (const Value& v : n.items) value(v);
        out_ += 't';
        if (!n.text.empty()) out_ += "\x85R";
        return;
      case Kind::bytes:
        global("_codecs", "encode");
        text(utf8_of_latin1(n.text));
        text("latin1");
        out_ += "\x86R";
        return;
      case Kind::complex:
        global("__builtin__", "complex");
        real(n.re), real(n.im);
        out_ += "\x86R";
        return;
      case Kind::big:
        DY_CHECK_AS(ValueError, n.text.size() < 256, "save_torch: an integer of {} bytes", n.text.size());
        out_ += '\x8a';
        number(n.text.size(), 1);
        out_ += n.text;
        return;
      case Kind::device:
        global("torch", "device");
        text(n.text);
        out_ += "\x85R";
        return;
      case Kind::dtype:
        DY_CHECK_AS(ValueError, n.dtype && n.text.empty() && (!storage_class(n.dtype) || *storage_class(n.dtype)),
                    "save_torch: PyTorch has no dtype {}", n.dtype ? n.dtype.name() : "of this kind");
        return global("torch", n.dtype.long_name());
      case Kind::object:
        if (is_sparse(n)) {  // what PyTorch's own reader knows to make
          const size_t dot = n.text.rfind('.');
          global(n.text.substr(0, dot), n.text.substr(dot + 1));
          value(n.args);
          out_ += 'R';
          return;
        }
        [[fallthrough]];
      default:
        fail<ValueError>("save_torch: an object of {}, which is no plain data", quote_name(n.text));
    }
  }
};

// 40 digits that depend on the content: PyTorch compares them where it must know whether two files are one.
std::string identity(std::string_view pickle) {
  Sha256 sum;
  sum.update(pickle.data(), pickle.size());
  const std::string hex = sum.hex();
  std::string out;
  for (int i = 0; i < 40; ++i)
    out += char('0' + (hex[size_t(i)] >= 'a' ? hex[size_t(i)] - 'a' + 10 : hex[size_t(i)] - '0') % 10);
  return out;
}

}  // namespace

// bytes: of storage i.
static void write_archive(const std::string& path, const std::string& pickle, size_t storages,
                          FunctionRef<Tensor(size_t i)> bytes) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (const size_t dot = name.rfind('.'); dot != name.npos && dot > 0) name.resize(dot);
  const std::string folder = (name.empty() ? "archive" : name) + "/";
  ZipWriter out("save_torch", path);
  out.add(folder + "data.pkl", {pickle});
  out.add(folder + ".format_version", {"1"});
  out.add(folder + ".storage_alignment", {"64"});
  out.add(folder + "byteorder", {"little"});
  for (size_t i = 0; i < storages; ++i) {
    const Tensor row = bytes(i);
    out.add(folder + "data/" + std::to_string(i), {std::string_view(row.impl()->data(), size_t(row.nbytes()))});
  }
  out.add(folder + "version", {"3\n"});
  out.add(folder + ".data/serialization_id", {identity(pickle)});
  out.commit();
}

void save_torch(const std::string& path, const Value& value) {
  TorchWriter writer;
  const std::string pickle = writer.pickle(value);
  write_archive(path, pickle, writer.storages.size(), [&](size_t i) { return storage_row(writer.storages[i], u8).cpu(); });
}

void write_torch(const std::string& path, const TensorFile& source) {
  const std::vector<TensorInfo>& all = source.tensors();
  Value::Entries entries;
  std::vector<Tensor> shown;
  std::unordered_map<const Storage*, size_t> numbers;
  for (size_t i = 0; i < all.size(); ++i) {
    const TensorInfo& t = all[i];
    const char* type = t.dtype ? storage_class(t.dtype) : "";
    DY_CHECK_AS(ValueError, !type || *type, "save_torch: tensor {}: PyTorch has no {}; convert it first", quote_name(t.name),
                t.dtype ? t.dtype.name() : t.stored);
    const size_t first = source.same_as(i);
    shown.push_back(first < i ? shown[first] : make_tensor(t.shape, t.dtype, meta));
    numbers.emplace(&*shown.back().impl()->storage, first);
    entries.emplace_back(Value(t.name), Value(shown.back()));
  }
  TorchWriter writer(true);
  const std::string pickle = writer.pickle(Value::dict(std::move(entries)));
  write_archive(path, pickle, writer.storages.size(),
                [&](size_t i) { return source.get(numbers.at(&*writer.storages[i].impl()->storage)).contiguous().cpu(); });
}

}  // namespace dyadic::inline v1::io
