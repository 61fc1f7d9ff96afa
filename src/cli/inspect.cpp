// dyadic inspect: what is in a file of tensors, or in a model's folder.
#include <cmath>
#include <filesystem>
#include <map>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/json.h"
#include "dyadic/interrupt.h"
#include "io/bad_file.h"
#include "io/quantized/packing.h"

namespace dyadic::inline v1::cli {
namespace {

namespace fs = std::filesystem;

struct InspectOptions {
  std::string path;
  bool tensors = false, stats = false;
};

fs::path folder_of(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
}
// A small JSON file in the model's folder; null where there is none.
Json beside(const std::string& path, const char* name) {
  constexpr uintmax_t kMost = 1 << 20;
  std::error_code ignored;
  const fs::path file = folder_of(path) / name;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kMost) return nullptr;
  try {
    const Json j = bounded_json<Json>(io::read_text(file.native()), 63);
    return j.is_discarded() ? Json(nullptr) : j;
  } catch (const std::exception&) { return nullptr; }
}

Json first_text(std::initializer_list<Json> candidates) {
  for (const Json& j : candidates)
    if (j.is_string()) return j;
  return nullptr;
}

Json architecture(const Json& config, const Json& metadata) {
  Json named = config.is_object() ? config.value("architectures", Json()) : Json();
  return first_text({named.is_array() && !named.empty() ? named[0] : Json(),
                     config.is_object() ? config.value("model_type", Json()) : Json(),
                     metadata.value("general.architecture", Json())});
}

Json quantization(const Json& config, const io::TensorFile& file) {
  if (config.is_object() && config.contains("quantization_config")) {
    const Json& q = config["quantization_config"];
    if (q.is_object()) {
      const std::string method = io::quantization_method(q);
      return method.empty() ? Json() : Json(method);
    }
  }
  std::map<std::string, uint64_t> formats;
  for (const io::TensorInfo& t : file.tensors())
    if (t.dtype && t.dtype.is_scaled()) formats[t.dtype.name()] += t.bytes;
  std::vector<std::string> names;
  for (auto& [name, bytes] : formats) names.push_back(name);
  return names.empty() ? Json() : Json(join(names, ", "));
}

Json tokenizer(const std::string& path, const Json& metadata) {
  for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"})
    if (std::error_code ignored; fs::is_regular_file(folder_of(path) / name, ignored)) return name;
  return metadata.value("tokenizer.ggml.model", Json());
}

Json tensor_row(const io::TensorFile& file, size_t i, bool stats) {
  const io::TensorInfo& t = file.tensors()[i];
  Json row = {{"name", t.name}, {"shape", t.shape}, {"dtype", dtype_text(t)}, {"stored", t.stored}, {"bytes", t.bytes}};
  if (const size_t first = file.same_as(i); first != i) row["same_as"] = file.tensors()[first].name;
  if (!stats || !t.dtype) return row;
  const io::Statistics s = io::statistics(file.get(i));
  row.update({{"min", number(s.min)},
              {"max", number(s.max)},
              {"mean", number(s.mean)},
              {"std", number(s.std)},
              {"nans", s.nans},
              {"infinities", s.infinities},
              {"histogram", s.histogram}});
  return row;
}

// A histogram as a row of small bars.
std::string bars(const Json& histogram) {
  static constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  int64_t most = 1;
  for (const Json& n : histogram) most = std::max(most, n.get<int64_t>());
  std::string out;
  for (const Json& n : histogram) out += kBars[n == 0 ? 0 : 1 + n.get<int64_t>() * 7 / most];
  return out;
}

std::string shape_of(const Json& shape) {
  std::vector<std::string> sizes;
  for (const Json& s : shape) sizes.push_back(dump_json(s));
  return "[" + join(sizes, ", ") + "]";
}

std::string tensor_table(const Json& rows, bool stats) {
  std::vector<std::string> head{"tensor", "shape", "dtype", "bytes"};
  if (stats) head.insert(head.end(), {"min", "max", "mean", "std", "NaN, inf", "histogram"});
  Table table(head, {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
                     Align::right, Align::right, Align::left});
  const auto text = [](const Json& j) { return j.is_number() ? fmt::format("{:.4g}", j.get<double>()) : std::string("-"); };
  for (const Json& r : rows) {
    const std::string name = io::quote_name(r["name"].get<std::string>());
    std::vector<std::string> cells{name.substr(1, name.size() - 2), shape_of(r["shape"]), r["dtype"],
                                   r.contains("same_as") ? "tied" : human_bytes(r["bytes"].get<int64_t>())};
    if (r.contains("min"))
      cells.insert(cells.end(),
                   {text(r["min"]), text(r["max"]), text(r["mean"]), text(r["std"]),
                    fmt::format("{}, {}", dump_json(r["nans"]), dump_json(r["infinities"])), bars(r["histogram"])});
    table.row(std::move(cells));
  }
  return table.str();
}

std::string summary(const Json& j) {
  std::string out;
  const auto line = [&](const char* name, const Json& value) {
    if (value.is_null()) return;
    out += fmt::format("{:14} {}\n", name, value.is_string() ? value.get<std::string>() : dump_json(value));
  };
  line("format", j["format"]);
  line("architecture", j["architecture"]);
  line("parameters", human_count(j["parameters"].get<double>()));
  line("bytes", human_bytes(j["bytes"].get<int64_t>()));
  for (auto& [dtype, bytes] : j["bytes_by_dtype"].items())
    out += fmt::format("  {:12} {}\n", dtype, human_bytes(bytes.get<int64_t>()));
  line("quantization", j["quantization"]);
  line("tokenizer", j["tokenizer"]);
  for (auto& [key, value] : j["metadata"].items()) {
    const std::string text = io::quote_name(value.is_string() ? value.get<std::string>() : dump_json(value));
    out += fmt::format("metadata       {} = {}\n", io::quote_name(key), text);
  }
  return out;
}

int inspect(const InspectOptions& o, const Common& common) {
  install_interrupt_handler();
  const auto file = io::open(o.path);
  const Json metadata = parse_json<Json>(file->metadata()), config = beside(o.path, "config.json");
  int64_t parameters = 0, bytes = 0;
  Json by_dtype = Json::object();
  for (size_t i = 0; i < file->tensors().size(); ++i) {
    const io::TensorInfo& t = file->tensors()[i];
    if (file->same_as(i) != i) continue;
    parameters += elements(t);
    bytes += int64_t(t.bytes);
    Json& sum = by_dtype[dtype_text(t)];
    sum = (sum.is_null() ? 0 : sum.get<int64_t>()) + int64_t(t.bytes);
  }
  Json out = {{"path", o.path},
              {"format", std::string(file->kind())},
              {"architecture", architecture(config, metadata)},
              {"parameters", parameters},
              {"bytes", bytes},
              {"bytes_by_dtype", by_dtype},
              {"quantization", quantization(config, *file)},
              {"tokenizer", tokenizer(o.path, metadata)},
              {"metadata", metadata},
              {"tensors", Json::array()}};
  Steps steps("inspect", file->tensors().size());
  try {
    for (size_t i = 0; i < file->tensors().size(); ++i) {
      if (o.stats) steps.step();
      out["tensors"].push_back(tensor_row(*file, i, o.stats));
    }
  } catch (const Stopped&) { return kInterrupted; }
  if (common.json)
    print(json_text(out));
  else
    print(summary(out) + (o.tensors || o.stats ? "\n" + tensor_table(out["tensors"], o.stats) : ""));
  return kDone;
}

Run setup_inspect(Options& options) {
  auto o = std::make_shared<InspectOptions>();
  options.required("path", o->path, "FILE|DIR", "a file of tensors, an index.json, or a model's folder")
      .flag("--tensors", o->tensors, "each tensor's shape, dtype and bytes (in --json always)")
      .flag("--stats", o->stats, "and what its values are: min, max, mean, std, NaN, a histogram (reads all of the file)");
  return [o](const Common& common) { return inspect(*o, common); };
}

}  // namespace

extern const Command inspect_command;
const Command inspect_command = {"inspect", "what is in a file of tensors or a model's folder",
                                 "dyadic inspect model.safetensors --stats", setup_inspect};

}  // namespace dyadic::inline v1::cli
