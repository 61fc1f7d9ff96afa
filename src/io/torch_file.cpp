// Files of torch.save as values, and as files of tensors: named by the paths of keys and positions that lead to them.
#include "dyadic/torch_file.h"

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "io/torch_reader.h"

namespace dyadic::inline v1::io {
namespace {

using Kind = Value::Kind;
using nlohmann::json;
constexpr size_t kMostPath = 1024, kMostShown = 1000;

class Torch final : public TensorFile {
  TorchReader reader_;
  std::vector<TensorInfo> infos_;
  std::vector<const Node*> nodes_;
  std::unordered_set<const Node*> seen_;  // what is shared is gone through once
  std::unordered_set<std::string> names_;
  json values_ = json::object();
  size_t room_;  // for all names together: what is shared may make paths longer than the file

 public:
  explicit Torch(std::shared_ptr<const MappedFile> file)
      : TensorFile(file->path()), reader_(file), room_((1 << 20) + 4 * file->size()) {
    walk("", reader_.root());
  }
  std::string_view kind() const override { return "torch"; }
  const std::vector<TensorInfo>& tensors() const override { return infos_; }
  using TensorFile::get;
  Tensor get(size_t i) const override { return reader_.map(infos_[i].name, reader_.view(*nodes_[i])); }

  std::string metadata() const override {
    json out = {{"form", reader_.zipped() ? "zip" : "legacy"}, {"byteorder", reader_.big_endian() ? "big" : "little"}};
    if (const std::string v = reader_.version(); !v.empty()) out["version"] = v;
    out["globals"] = reader_.globals();  // what it would have run
    if (!values_.empty()) out["values"] = values_;
    return dump_json(out, -1, NotUtf8::replaced);
  }

 private:
  void walk(const std::string& path, const Value& v) {
    const Node* n = v.node();
    if (!n) return show(path, v);
    if (n->kind == Kind::tensor) return add(path, *n);
    if (n->kind == Kind::text) return show(path, v);
    if (path.size() > kMostPath) bad(this->path(), "a name of more than {} bytes: {}", kMostPath, quote_name(path));
    if (!seen_.insert(n).second) return;
    const std::string dot = path.empty() ? "" : path + ".";
    for (size_t i = 0; i < n->items.size(); ++i) walk(dot + std::to_string(i), n->items[i]);
    for (auto& [key, value] : n->entries) walk(dot + word(key), value);
    if (n->kind != Kind::object) return;  // attributes of dicts are versions of modules
    if (n->args.kind() == Kind::tuple && !n->args.items().empty()) walk(dot + "args", n->args);
    if (n->state.kind() == Kind::dict)
      walk(path, n->state);
    else
      walk(dot + "state", n->state);
  }
  std::string word(const Value& key) const {
    if (key.kind() == Kind::text && key.text().size() > kMostPath)
      bad(this->path(), "a name of more than {} bytes: {}", kMostPath, quote_name(key.text()));
    if (key.kind() == Kind::text) return key.text();
    if (key.kind() == Kind::integer) return std::to_string(key.integer());
    if (key.kind() == Kind::tuple && key.items().size() < 9) {
      std::vector<std::string> parts;
      for (const Value& v : key.items()) parts.push_back(v.kind() == Kind::tuple ? "()" : word(v));
      return "(" + join(parts, ",") + ")";
    }
    return "?";
  }
  void add(const std::string& path, const Node& n) {
    const TorchView& v = reader_.view(n);
    std::string name = path.empty() ? "tensor" : path;
    if (name.size() > kMostPath) bad(this->path(), "a name of more than {} bytes: {}", kMostPath, quote_name(name));
    for (int again = 2; !names_.insert(name).second; ++again) {
      if (again > 100) bad(this->path(), "more than 100 tensors are called {}", quote_name(path));
      name = fmt::format("{}#{}", path, again);
    }
    if (name.size() > room_) bad(this->path(), "the names of its tensors are longer than the file");
    room_ -= name.size();
    infos_.push_back({name, v.result(), v.stored, v.shape(), uint64_t(v.numel) * uint64_t(v.dtype.itemsize())});
    if (v.quantizer && v.quantizer->to.is_scaled() && v.quantizer->axis) infos_.back().order = {1, 0};
    nodes_.push_back(&n);
  }
  void show(const std::string& path, const Value& v) {
    if (values_.size() >= kMostShown || path.size() > kMostPath) return;
    if (v.kind() == Kind::boolean) values_[path] = v.boolean();
    if (v.kind() == Kind::integer) values_[path] = v.integer();
    if (v.kind() == Kind::real) values_[path] = v.real();
    if (v.kind() == Kind::text && v.text().size() <= kMostPath) values_[path] = v.text();
  }
};

std::shared_ptr<TensorFile> open_torch(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<Torch>(std::move(file));
}

}  // namespace

extern const FileKind torch_zip_files = {"torch", TorchReader::is_zip, open_torch};
extern const FileKind torch_older_files = {"torch before 1.6", TorchReader::is_older, open_torch};

TorchFile read_torch(const std::string& path, const std::vector<std::string>& allowed) {
  TorchReader reader(MappedFile::open(path));
  if (std::ranges::find(allowed, "*") == allowed.end()) {
    std::vector<std::string> asked;
    for (const std::string& name : reader.globals())
      if (std::ranges::find(allowed, name) == allowed.end() && asked.size() < 5) asked.push_back(quote_name(name));
    if (!asked.empty())
      bad(path, "it asks for {}, which is no data and is not run; save the model's state_dict() instead", join(asked, ", "));
  }
  reader.read_all();
  return {reader.root(), reader.globals()};
}

Value load_torch(const std::string& path) { return read_torch(path, {}).value; }

}  // namespace dyadic::inline v1::io
