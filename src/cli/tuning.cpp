#include "cli/tuning.h"

#include "base/check.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/on_disk.h"
#include "device/limit.h"
#include "dyadic/interrupt.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::cli {
namespace {

std::string loss_text(const std::optional<double>& loss) { return loss ? fmt::format("{:.4f}", *loss) : "not evaluated"; }

std::string memory_text(const tune::MemoryUse& m) {
  return fmt::format("{} at the peak: weights {}, gradients {}, optimizer {}, activations {}", human_bytes(m.peak),
                     human_bytes(m.parameters), human_bytes(m.gradients), human_bytes(m.optimizer), human_bytes(m.activations));
}

Json bytes_json(const tune::MemoryUse& m) {
  return {{"parameters", m.parameters},
          {"gradients", m.gradients},
          {"optimizer", m.optimizer},
          {"activations", m.activations},
          {"peak", m.peak}};
}

Json document(const Tuning& f, const tune::FinetuneReport& r) {
  const auto loss = [](const std::optional<double>& l) { return l ? number(*l) : Json(nullptr); };
  Json merges = Json::array();
  for (const tune::MergeChoice& m : r.merges)
    merges.push_back({{"into", tune::merge_name(m.into)},
                      {"error", number(m.error)},
                      {"loss", number(m.loss)},
                      {"bytes", m.bytes},
                      {"chosen", m.chosen}});
  return {{"model", f.model},
          {"finished", r.finished},
          {"steps", r.steps},
          {"samples", r.samples},
          {"rows", r.rows},
          {"eval_samples", r.eval_samples},
          {"tokens", r.tokens},
          {"learned_tokens", r.learned},
          {"cut", r.cut},
          {"dropped", r.dropped},
          {"split", r.split},
          {"trained_parameters", r.trained},
          {"train_loss", number(r.train_loss)},
          {"eval_loss_before", loss(r.eval_loss_before)},
          {"eval_loss", loss(r.eval_loss)},
          {"seconds", r.seconds},
          {"predicted_bytes", bytes_json(r.predicted)},
          {"measured_bytes", bytes_json(r.measured)},
          {"ranks", distributed::world().size()},
          {"shards", r.shards},
          {"bytes_sent_per_step", r.sent_per_step},
          {"repeated_calls", r.repeated_calls},
          {"merges", merges},
          {"out", f.o.out.empty() ? Json(nullptr) : Json(f.o.out)}};
}

std::string report_text(const Tuning& f, const tune::FinetuneReport& r) {
  std::string text = fmt::format("{} samples in {} rows, {} tokens, {} of them learned; {} parameters trained\n", r.samples,
                                 r.rows, r.tokens, r.learned, human_count(double(r.trained)));
  if (r.cut) text += fmt::format("{} samples were longer than {} tokens and were cut\n", r.cut, f.o.context);
  if (r.dropped) text += fmt::format("{} samples were longer than {} tokens and were dropped\n", r.dropped, f.o.context);
  if (r.split)
    text += fmt::format("{} chats became a sample for each answer: the template shows earlier answers otherwise\n", r.split);
  if (r.repeated_calls)
    text += fmt::format("to fit into memory, backward made {} calls of forward again in each step\n", r.repeated_calls);
  text += fmt::format("{} steps in {}, training loss {:.4f}, evaluation loss {} -> {}\n", r.steps, human_duration(r.seconds),
                      r.train_loss, loss_text(r.eval_loss_before), loss_text(r.eval_loss));
  if (!r.merges.empty()) {
    Table table({"merged into", "KL from trained", "loss", "size", ""},
                {Align::left, Align::right, Align::right, Align::right, Align::left});
    for (const tune::MergeChoice& m : r.merges)
      table.row({tune::merge_name(m.into), fmt::format("{:.2e}", m.error), fmt::format("{:.4f}", m.loss), human_bytes(m.bytes),
                 m.chosen ? "taken" : ""});
    text += "\n" + table.str();
  }
  if (r.finished && !f.o.out.empty()) text += f.o.out + (r.merges.empty() ? "\n" : "/merged\n");
  if (!r.finished && !f.o.out.empty()) text += fmt::format("{}: stopped with a checkpoint; --resume goes on\n", f.o.out);
  return text;
}

}  // namespace

models::LoadOptions stored_in(const std::string& format) {
  const DType stored = format.empty() ? DType() : DType::parse(format);
  return stored && stored.is_scaled() ? models::LoadOptions{.linear = stored} : models::LoadOptions{.dtype = stored};
}

int run_tuning(Tuning& t, const Common& common, const TuneModel& run) {
  install_interrupt_handler();
  if (!t.lora.empty()) t.o.lora = tune::parse_lora(t.lora);
  if (t.o.lora) t.o.lora->base_model_name_or_path = t.model;
  t.o.too_long = tune::parse_too_long(t.too_long), t.o.merge = tune::parse_merge(t.merge);
  t.o.memory_limit = memory_limit();
  t.o.packing = !t.no_packing, t.o.model_path = t.model, t.o.progress = true;
  t.o.spread = distributed::parse_spread(t.spread), t.o.measure = true;
  if (!t.wire.empty()) t.o.wire = DType::parse(t.wire);
  if (!t.state.empty()) t.o.state = DType::parse(t.state);
  if (!t.compute.empty()) t.o.compute = DType::parse(t.compute);
  if (!t.eval_data.empty()) t.o.eval = tune::read_data(t.eval_data);
  const tune::Data data = tune::read_data(t.data);
  const Tokenizer tokenizer = Tokenizer::load(t.model);
  models::LoadOptions load = stored_in(t.base);
  load.offload_folder = t.offload_folder;
  const models::Model model =
      t.o.lora ? load_within_limit(load, t.model, "twice in every step",
                                   [&](auto& m, int64_t, int64_t loading) { return tune::place_to_finetune(m, t.o, loading); })
               : models::load(t.model, load);
  const bool first = distributed::world().rank() == 0;
  if (first && !common.json) print("it will take " + memory_text(tune::predict(*model, t.o)) + "\n");
  const tune::FinetuneReport r = run(*model, tokenizer, data);
  if (first) print(common.json ? json_text(document(t, r)) : report_text(t, r));
  return r.finished ? kDone : kInterrupted;
}

void declare_tuning(Options& options, Tuning& t) {
  const auto is_format = [](const std::string& text) { DType::parse(text); };
  options.value("model", t.model, "MODEL", "a language model's folder or GGUF file, with its tokenizer", {}, true)
      .required("--data", t.data, "FILE",
                "lines of {\"messages\": ...}, {\"prompt\", \"completion\"} or {\"text\"}; or a plain text")
      .value("--lora", t.lora, "rank=16[,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora,dora]",
             "train an adapter; without it all weights are trained", [](const std::string& text) { tune::parse_lora(text); })
      .value("--base", t.base, "FORMAT",
             "of the weights that an adapter stands on: nf4, i8(row), q4_0, bf16 ... (default: as they are)", is_format)
      .value("--context", t.o.context, "N", "tokens of a row (default: 512)", at_least(2))
      .value("--too-long", t.too_long, "WHAT", "becomes of longer samples: cut, drop or refuse (default: cut)",
             [](const std::string& text) { tune::parse_too_long(text); })
      .flag("--no-packing", t.no_packing, "a row for each sample, instead of several that do not see each other")
      .value("--epochs", t.o.epochs, "X", "passes over the data (default: 1)", between(1e-6, 1e6))
      .value("--steps", t.o.steps, "N", "of the optimizer, instead of --epochs", at_least(1))
      .value("--batch", t.o.batch, "N", "rows at once (default: 4)", at_least(1))
      .value("--accumulate", t.o.accumulate, "N", "batches whose gradients make a step (default: 1)", at_least(1))
      .value("--lr", t.o.lr, "X", "the largest learning rate (default: 2e-4 of an adapter, 2e-5 of all weights)",
             between(1e-12, 100))
      .value("--warmup", t.o.warmup, "X", "share of the steps in which it rises (default: 0.03)", between(0, 0.99))
      .value("--weight-decay", t.o.weight_decay, "X", "(default: 0)", between(0, 10))
      .value("--clip", t.o.clip, "X", "largest norm of all gradients (default: 1)", between(1e-9, 1e9))
      .value("--optimizer", t.o.optimizer, "NAME", "AdamW, SGD, Lion ... (default: AdamW)",
             [](const std::string& text) { optim::optimizer_def(text); })
      .value("--state", t.state, "FORMAT", "what its states are kept in: dynamic8 ... (default: f32)", is_format)
      .value("--compute", t.compute, "FORMAT", "of products, by autocast: bf16 or f16 (default: as the weights are)", is_format)
      .value("--eval-data", t.eval_data, "FILE", "like --data, to evaluate on")
      .value("--eval-split", t.o.eval_split, "X", "share of the samples that is held back to evaluate on (default: 0)",
             between(0, 0.99))
      .value("--eval-every", t.o.eval_every, "N", "steps between evaluations (default: before and after)", at_least(1))
      .value("--checkpoint-every", t.o.checkpoint_every, "N", "write a checkpoint after every N steps (Ctrl-C always does)",
             at_least(1))
      .value("--offload-folder", t.offload_folder, "DIR", kOffloadHelp)
      .flag("--keep-zeros", t.o.keep_zeros, "weights that are zero stay so: of a pruned model")
      .value("--seed", t.o.seed, "N", "of the adapter and the order of the data (default: 0)")
      .value("--out", t.o.out, "DIR", "a folder for the adapter (or the model), history.csv, and the merged model")
      .value("--merge", t.merge, "INTO",
             "add the adapter to the weights, in DIR/merged: dequantized, original, requantized, or best of these by loss",
             [](const std::string& text) { tune::parse_merge(text); })
      .flag("--resume", t.o.resume, "go on from the checkpoint in --out, to the same bits as an unbroken run");
}

}  // namespace dyadic::inline v1::cli
