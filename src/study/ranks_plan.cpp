#include "study/ranks_plan.h"

#include <algorithm>

#include "base/check.h"
#include "corridor/call.h"
#include "distributed/call.h"
#include "distributed/paper.h"
#include "plan/cost.h"
#include "study/numbers.h"
#include "study/text_table.h"
#include "study/trainer.h"

namespace dyadic::inline v1::study {
namespace {

using distributed::PaperWorld;
using distributed::Spread;

// Which rank has the most of what is spread.
int heaviest(Subject& subject, const Recipe& recipe, const Plan& plan, int ranks) {
  if (plan.spread == Spread::none) return 0;
  const PaperWorld world(0, ranks);
  Trainer t(subject, recipe, plan, meta);
  std::vector<int64_t> load(static_cast<size_t>(ranks));
  for (const Tensor& p : t.model().parameters()) load[size_t(t.parallel()->owner(p))] += p.nbytes();
  return int(std::max_element(load.begin(), load.end()) - load.begin());
}

RanksCandidate dry_run(Subject& subject, const Recipe& recipe, const Plan& plan, int64_t ranks, const RanksRequest& request) {
  const GeneratorState random = generator_state();
  PaperWorld world(heaviest(subject, recipe, plan, int(ranks)), int(ranks));
  const MemoryStats before = memory_stats(meta);
  RanksCandidate c{.spread = plan.spread, .ranks = ranks, .batch = distributed::sample_count(subject.blank())};
  Trainer t(subject, recipe, plan, meta);
  reset_peak_memory_stats(meta);
  t.step();
  const int64_t sent = world.group().bytes_sent(), messages = distributed::messages_sent();
  {
    planning::Stopwatch watch;
    t.step();  // this one holds the optimizer's states from its beginning
    c.compute = watch.seconds() * request.scale;
  }
  c.sent = world.group().bytes_sent() - sent;
  c.messages = distributed::messages_sent() - messages;
  c.network = double(c.sent) / request.link + double(c.messages) * request.latency;
  fill_bytes(c.bytes, memory_stats(meta), before, &Amount::predicted);
  c.fits = !request.limit || *c.bytes.peak.predicted <= request.limit;
  set_generator_state(random);
  return c;
}

}  // namespace

double predicted_seconds(Subject& subject, const Recipe& recipe, Plan plan) {
  plan.shards = 0;
  Trainer t(subject, recipe, plan, meta);
  t.step();
  planning::Stopwatch watch;
  t.step();
  return watch.seconds();
}

RanksPlan plan_ranks(const SubjectOf& subject_of, const Recipe& recipe, Plan plan, const RanksRequest& r) {
  DY_CHECK_AS(ValueError, r.shards >= r.ranks && r.shards <= r.batch,
              "plan: {} ranks and a batch of {} with {} shards: shards are at least the ranks and at most the batch", r.ranks,
              r.batch, r.shards);
  RanksPlan p{.request = r};
  const std::unique_ptr<Subject> subject = subject_of(r.batch);
  plan.shards = r.shards;
  for (const Spread s : {Spread::none, Spread::states, Spread::gradients, Spread::parameters}) {
    plan.spread = s;
    p.spreads.push_back(dry_run(*subject, recipe, plan, r.ranks, r));
    const RanksCandidate& c = p.spreads.back();
    if (c.fits && (p.chosen < 0 || c.seconds() < p.spreads[size_t(p.chosen)].seconds())) p.chosen = int(p.spreads.size()) - 1;
  }
  if (p.chosen < 0) return p;
  plan.spread = p.spreads[size_t(p.chosen)].spread;
  for (int64_t ranks = 8; ranks <= 1024; ranks *= 2) {
    plan.shards = ranks;
    p.growth.push_back(dry_run(*subject_of(ranks * (r.batch / r.shards)), recipe, plan, ranks, r));
    const RanksCandidate& c = p.growth.back();
    if (c.network <= c.compute)
      p.limited_from = 0;
    else if (!p.limited_from)
      p.limited_from = ranks;
  }
  return p;
}

std::string RanksPlan::text(int width, bool color) const {
  const auto ms = [](double seconds) { return milliseconds_text(seconds * 1e3); };
  TextTable t;
  t.columns = {{"spread", true, 0},   {"params", false, 1},  {"grads", false, 1},     {"states", false, 1},
               {"activ.", false, 2},  {"peak", false, 0},    {"sent/step", false, 0}, {"computing", false, 3},
               {"network", false, 3}, {"ms/step", false, 0}, {"fits", false, 0}};
  for (size_t i = 0; i < spreads.size(); ++i) {
    const RanksCandidate& c = spreads[i];
    const Bytes& b = c.bytes;
    t.rows.push_back({distributed::spread_name(c.spread), bytes_text(b.parameters.predicted), bytes_text(b.gradients.predicted),
                      bytes_text(b.optimizer.predicted), bytes_text(b.activations.predicted), bytes_text(b.peak.predicted),
                      bytes_text(c.sent), ms(c.compute), ms(c.network), ms(c.seconds()), c.fits ? "yes" : "no"});
    t.styles.emplace_back(int(i) == chosen ? "\033[1m" : "");
  }
  std::string out =
      fmt::format("{} ranks, a batch of {} in {} shards, {:.3g} Gbit/s and {:.3g} us a message; of the rank that has most:\n",
                  request.ranks, request.batch, request.shards, request.link * 8e-9, request.latency * 1e6) +
      t.text(width, color) + "\n";
  if (chosen < 0) {
    const auto least = std::min_element(spreads.begin(), spreads.end(),
                                        [](auto& a, auto& b) { return *a.bytes.peak.predicted < *b.bytes.peak.predicted; });
    return out + fmt::format("Nothing fits into {}: the least is {} ({}); take more ranks, or a smaller batch or model.\n",
                             bytes_text(request.limit), bytes_text(least->bytes.peak.predicted),
                             distributed::spread_name(least->spread));
  }
  const RanksCandidate& best = spreads[size_t(chosen)];
  out += fmt::format("Fastest{}: --spread {}, {} at the peak of a rank.\n\n",
                     request.limit ? " in " + bytes_text(request.limit) : "", distributed::spread_name(best.spread),
                     bytes_text(best.bytes.peak.predicted));
  TextTable g;
  g.columns = {{"ranks", false, 0},     {"batch", false, 1},   {"peak", false, 0},    {"sent/step", false, 1},
               {"computing", false, 2}, {"network", false, 2}, {"ms/step", false, 0}, {"samples/s", false, 0}};
  for (const RanksCandidate& c : growth) {
    g.rows.push_back({std::to_string(c.ranks), std::to_string(c.batch), bytes_text(c.bytes.peak.predicted), bytes_text(c.sent),
                      ms(c.compute), ms(c.network), ms(c.seconds()), fmt::format("{:.4g}", double(c.batch) / c.seconds())});
    g.styles.emplace_back(c.ranks == limited_from ? "\033[1m" : "");
  }
  out += "With one shard of that size on each rank:\n" + g.text(width, color) + "\n";
  return out + (limited_from ? fmt::format("From {} ranks on the network takes longer than computing.\n", limited_from)
                             : "The network takes less than computing up to 1024 ranks.\n");
}

}  // namespace dyadic::inline v1::study
