// dyadic convert: a file of tensors into another kind or other formats.
#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/json.h"
#include "dyadic/interrupt.h"
#include "dyadic/model_files.h"
#include "io/bad_file.h"
#include "io/checkpoint_files.h"

namespace dyadic::inline v1::cli {
namespace {

struct ConvertCommandOptions {
  std::string in, out, format, max_shard_size, base;
  std::vector<std::string> map;
};

// A run's checkpoint stays one, in one file or as many as asked for: what several processes wrote in parts goes on as any
// other.
int convert_checkpoint(const ConvertCommandOptions& o, const Common& common) {
  const io::Checkpoint whole = io::Checkpoint::load(o.in);
  const std::string out = whole.save(o.out, o.max_shard_size.empty() ? 0 : byte_count(o.max_shard_size));
  print(common.json ? json_text({{"in", o.in}, {"out", out}, {"checkpoint", parse_json<Json>(whole.json)}})
                    : fmt::format("{}: a checkpoint, as {} was\n", out, o.in));
  return kDone;
}

// What is said of several tensors, once.
class Notes {
  struct Note {
    std::string first, what;
    size_t count = 0;
  };
  std::vector<Note> all_;

 public:
  void add(const std::string& name, std::string what) {
    auto at = std::ranges::find(all_, what, &Note::what);
    if (at == all_.end()) at = all_.insert(at, Note{name, std::move(what)});
    ++at->count;
  }
  std::string str() const {
    std::string text;
    for (const Note& n : all_) {
      const size_t verb = n.what.find(' ');
      text += n.count == 1 ? fmt::format("{} {}s{}\n", n.first, n.what.substr(0, verb), n.what.substr(verb))
                           : fmt::format("{} and {} more {}\n", n.first, n.count - 1, n.what);
    }
    return text;
  }
};

int convert(const ConvertCommandOptions& o, const Common& common) {
  install_interrupt_handler();
  if (o.format.empty() && o.map.empty() && o.out.ends_with(".safetensors") && io::is_checkpoint(o.in))
    return convert_checkpoint(o, common);
  std::unique_ptr<Steps> steps;  // made at the first, when their number is known
  io::ConvertOptions options;
  if (!o.format.empty()) options.format = DType::parse(o.format);
  for (const std::string& rule : o.map) options.map.push_back(parse_rule(rule));
  if (!o.max_shard_size.empty()) options.save.max_shard_size = uint64_t(byte_count(o.max_shard_size));
  options.context = &steps;
  options.progress = [](void* context, size_t, size_t all) {
    auto& made = *static_cast<std::unique_ptr<Steps>*>(context);
    if (!made) made = std::make_unique<Steps>("convert", all);
    made->step();
  };
  std::vector<io::Converted> tensors;
  try {
    tensors = models::convert(o.in, o.out, options, o.base);
  } catch (const Stopped&) { return kInterrupted; }
  Json out = {{"in", o.in}, {"out", o.out}, {"tensors", Json::array()}};
  Table table({"tensor", "from", "to", "max. error", "rms error"},
              {Align::left, Align::left, Align::left, Align::right, Align::right});
  Notes notes;
  size_t exact = 0;
  for (const io::Converted& t : tensors) {
    Json row = {{"name", t.name},
                {"from", t.from.name()},
                {"to", t.to.name()},
                {"exact", t.difference.exact},
                {"max_abs", number(t.difference.max_abs)},
                {"rmse", number(t.difference.rmse)}};
    if (!t.kept.empty()) row["kept"] = t.kept;
    out["tensors"].push_back(std::move(row));
    exact += t.difference.exact;
    std::string name = io::quote_name(t.name);
    name = name.substr(1, name.size() - 2);
    if (!t.kept.empty()) notes.add(name, fmt::format("{} {}: {}", t.to == t.from ? "stay" : "become", t.to.name(), t.kept));
    if (!t.difference.exact)
      table.row({name, t.from.name(), t.to.name(), fmt::format("{:.4g}", t.difference.max_abs),
                 fmt::format("{:.4g}", t.difference.rmse)});
  }
  if (common.json)
    print(json_text(out));
  else
    print((table.size() ? table.str() + "\n" : "") + notes.str() +
          fmt::format("{}: {} tensors, {} of them exact\n", o.out, tensors.size(), exact));
  return kDone;
}

Run setup_convert(Options& options) {
  auto o = std::make_shared<ConvertCommandOptions>();
  options
      .required("in", o->in, "IN",
                "a file of tensors, an index.json, or a model's folder; a model becomes GGUF or a folder with all it needs")
      .required("out", o->out, "OUT",
                "the file to write, its kind by its ending; a folder gets model.safetensors and what else a model's folder has")
      .value("--format", o->format, "FORMAT",
             "of floating-point tensors: bf16, q4_K, nf4(block=64) ...; what has scales only of those with two dimensions and "
             "more (default: as they are)",
             [](const std::string& text) { DType::parse(text); })
      .value("--map", o->map, "NAME=FORMAT ...",
             "the format of tensors by name (GGUF's or the model's own), with * and ?; keep: as it is; before --format",
             [](const std::string& text) { parse_rule(text); })
      .value("--base", o->base, "MODEL",
             "of an adapter: the model that it is for (default: what its adapter_config.json names)")
      .value("--max-shard-size", o->max_shard_size, "BYTES",
             "several files and an index, none larger: 500M, 5G (default: one file)",
             [](const std::string& text) { byte_count(text); });
  return [o](const Common& common) { return convert(*o, common); };
}

}  // namespace

extern const Command convert_command;
const Command convert_command = {"convert", "write a file of tensors as another kind, or in other formats",
                                 "dyadic convert model.safetensors small.safetensors --format q8_0 --map 'lm_head.*=keep'",
                                 setup_convert};

}  // namespace dyadic::inline v1::cli
