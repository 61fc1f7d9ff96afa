// From recorded calls to a program: what nobody holds and nobody reads is left out, what is there already is not computed
// again, what only calls read stays in tiles.
#include <algorithm>

#include "account/machine.h"
#include "base/text.h"
#include "graph/recording.h"

namespace dyadic::inline v1::graph {
namespace {

// Of each call the first that gives the same; itself where none does. Among writes in place each is its own: what the first
// gave may have been written over by then.
std::vector<int> firsts(std::span<Recorded* const> calls) {
  std::vector<int> first;
  const bool writes = std::ranges::any_of(calls, [](const Recorded* r) { return r->in_place; });
  for (int k = 0; k < int(calls.size()); ++k) {
    first.push_back(k);
    for (int j = 0; j < k && !writes && first[size_t(k)] == k; ++j)
      if (first[size_t(j)] == j && calls[size_t(k)]->repeats(*calls[size_t(j)], first)) first[size_t(k)] = j;
  }
  return first;
}

uint64_t needed(std::span<Recorded* const> calls, uint64_t held, const std::vector<int>& first) {
  for (size_t k = calls.size(); k-- > 0;) {
    if (!(held >> k & 1)) continue;
    for (int i = 0; i < calls[k]->tensors; ++i)
      if (const int source = resolve(calls[k]->in[i].source, first); source >= 0 && source < kMostCalls)
        held |= uint64_t(1) << source;
  }
  return held;
}

}  // namespace

Program& Recording::program(Recorded& last, std::span<Recorded* const> calls, int outside, uint64_t held, const End& end) {
  for (const std::unique_ptr<Program>& p : last.programs)
    if (p->held == held && p->calls == int(calls.size()) && p->end == end) return *p;
  auto p = std::make_unique<Program>();
  p->held = held;
  p->end = end;
  p->eager_passes = int(end.sources.size());
  p->calls = int(calls.size());
  p->outside = outside;
  const std::vector<int> first_like = firsts(calls);
  const uint64_t runs = needed(calls, held, first_like);
  std::vector<FusedValue> values(size_t(kMostCalls + outside));
  std::vector<FusedStep> steps;
  for (size_t k = 0; k < calls.size(); ++k) {
    const Recorded& r = *calls[k];
    p->eager_passes += 1;
    for (int i = 0; i < r.tensors; ++i) p->eager_passes += r.in[i].source >= 0 && r.in[i].numel > 1;
    if (!(runs >> k & 1)) continue;
    FusedStep s;
    s.converts = r.converts;
    s.what = r.what;
    s.expression = r.expression;
    s.inputs = r.tensors;
    s.out = int(k);
    for (int i = 0; i < r.tensors; ++i) {
      s.in[i] = resolve(r.in[i].source, first_like);
      if (s.in[i] < kMostCalls) continue;
      FusedValue& v = values[size_t(s.in[i])];
      const bool first = !v.format;
      p->passes += first && r.in[i].numel > 1;
      if (first) p->moved += double(r.in[i].numel * r.in[i].format->itemsize());
      v.format = r.in[i].format, v.lies = r.in[i].lies, v.repeat = r.in[i].repeat, v.period = r.in[i].period;
    }
    const bool kept = held >> k & 1;
    values[k].format = r.dtype.format();
    values[k].lies = kept ? FusedValue::Lies::dense : FusedValue::Lies::tile;
    const bool written = kept && !(end.passing >> k & 1);
    p->passes += written;
    if (written) p->bytes += r.numel * r.dtype.itemsize();
    const Pointwise& pw = op_def(r.op).pw;
    if (!r.converts) p->flops += double(r.numel) * (r.dtype.is_complex() ? pw.complex_flops : pw.flops);
    p->names.push_back(fmt::format("{}{}", op_name(r.op), r.in_place ? "_" : ""));
    steps.push_back(s);
  }
  const Recorded& r = *calls[0];
  p->moved += double(p->bytes);
  p->text = fmt::format("{}{}{}", fmt::join(p->names, " "), end.name.empty() ? "" : ", band by band ", end.name) + " of " +
            r.dtype.name() + shape_text({r.sizes, size_t(r.ndim)});
  p->plan = std::make_shared<const FusedPlan>(r.numel, std::move(values), std::move(steps));
  return *last.programs.emplace_back(std::move(p));
}

namespace {

void collect(const Recorded& r, std::vector<const Program*>& all) {
  for (const auto& p : r.programs) all.push_back(p.get());
  for (const auto& n : r.next) collect(*n, all);
}

}  // namespace

// What is read from memory are boxes, steps are ellipses, bold where the result is written to memory.
std::string Recording::dot() const {
  std::vector<const Program*> all;
  collect(root, all);
  std::string text = "digraph compiled {\n  node [fontname=\"sans-serif\", fontsize=10];\n";
  for (size_t n = 0; n < all.size(); ++n) {
    const FusedPlan& plan = *all[n]->plan;
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"{} runs, {} through {}\";\n", n, all[n]->runs, all[n]->text,
                        plan.threaded() ? "registers" : "tiles");
    const std::vector<FusedStep>& steps = plan.steps();
    for (size_t v = kMostCalls; v < plan.values().size(); ++v)
      if (const FusedValue& value = plan.values()[v]; value.format)
        text += fmt::format("    p{}_{} [shape=box, label=\"{}{}\"];\n", n, v, DType(value.format).name(),
                            value.lies == FusedValue::Lies::single   ? ", one element"
                            : value.lies == FusedValue::Lies::spread ? ", repeated"
                                                                     : "");
    for (size_t k = 0; k < steps.size(); ++k) {
      const FusedValue& made = plan.values()[size_t(steps[k].out)];
      text += fmt::format("    p{}_{} [label=\"{}\\n{}\"{}];\n", n, steps[k].out, all[n]->names[k], DType(made.format).name(),
                          made.lies == FusedValue::Lies::tile ? "" : ", style=bold");
      for (int i = 0; i < steps[k].inputs; ++i)
        if (steps[k].in[i] >= 0) text += fmt::format("    p{}_{} -> p{}_{};\n", n, steps[k].in[i], n, steps[k].out);
    }
    text += "  }\n";
  }
  return text + "}\n";
}

std::string Recording::explain() const {
  std::vector<const Program*> all;
  collect(root, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Program* a, const Program* b) { return a->runs * a->bytes > b->runs * b->bytes; });
  std::string text = fmt::format("{} runs: {} calls matched what was recorded, {} were recorded\n", runs, matched, recorded);
  Table t({"one pass", "calls", "runs", "passes over memory", "eagerly", "through", "results", "FLOPs", "us", "at the peak"});
  for (const Program* p : all) {
    const account::Peaks& peak = account::peaks();
    const double limit = std::max(p->flops / peak.flops_f32, p->moved / peak.bytes_per_s);
    t.row({p->text, std::to_string(p->calls), std::to_string(p->runs), std::to_string(p->passes),
           std::to_string(p->eager_passes), p->plan->threaded() ? "registers" : fmt::format("{} tiles", p->plan->tiles()),
           human_bytes(p->bytes), fmt::format("{:.3g}", p->flops),
           p->runs ? fmt::format("{:.3g}", p->seconds / double(p->runs) * 1e6) : "", fmt::format("{:.3g}", limit * 1e6)});
  }
  if (!all.empty()) text += t.str();
  if (steps->options.whole) text += steps->explain(runs);
  if (!eager.empty() || alone || rested) text += "run as they came:\n";
  if (rested) text += fmt::format("  whole runs, after {} that had put nothing off ({})\n", kAlone, rested);
  if (alone) text += fmt::format("  what no other call comes after ({})\n", alone);
  for (const auto& [what, count] : eager) text += fmt::format("  {} ({})\n", what, count);
  return text;
}

}  // namespace dyadic::inline v1::graph
