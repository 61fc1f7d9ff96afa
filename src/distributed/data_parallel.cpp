#include "dyadic/data_parallel.h"

#include "base/check.h"
#include "base/text.h"
#include "distributed/buckets.h"
#include "distributed/units.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {
using data::Value;

namespace {

constexpr const char* kSpreads[] = {"none", "states", "gradients", "parameters"};

// A batch whose shards are computed one by one, each from the same buffers, with random numbers of its own.
class Sharded {
  using LossOf = data::Callback<Tensor(const Value&)>;
  const Value& batch_;
  const LossOf& loss_of_;
  double scale_;
  int64_t n_, shards_;
  std::vector<Tensor> buffers_, before_;
  GeneratorState random_ = generator_state();
  bool first_ = true;

  static constexpr uint64_t kDraws = 1 << 20;  // of random numbers, that a shard may use
  GeneratorState draws_of(int64_t k) const { return {random_.seed, random_.calls + uint64_t(k) * kDraws}; }
  int64_t begin(int64_t k) const { return even_begin(n_, int(k), int(shards_)); }

 public:
  Sharded(const Value& batch, int64_t shards, int rank, const std::vector<Tensor>& buffers, const LossOf& loss_of, double scale)
      : batch_(batch), loss_of_(loss_of), scale_(scale), n_(sample_count(batch)), shards_(shards), buffers_(buffers) {
    DY_CHECK_AS(ValueError, n_ > 0, "DataParallel: the batch {} has no tensor of samples", batch.str());
    DY_CHECK_AS(ValueError, n_ >= shards_,
                "DataParallel: rank {}: a batch of {} samples is cut into {} shards; make it larger, or "
                "pass fewer shards",
                rank, n_, shards_);
    for (const Tensor& b : buffers_) before_.push_back(b.clone());
  }
  double weight(int64_t k) const { return double(begin(k + 1) - begin(k)) / double(n_); }

  // Its weighed loss. Gradients are in the parameters, the buffers what the shard makes of them.
  double run(int64_t k) {
    for (size_t i = 0; i < buffers_.size() && !first_; ++i) buffers_[i].detach().copy_(before_[i]);
    first_ = false;
    set_generator_state(draws_of(k));
    double value = 0;
    const Tensor loss = loss_of_(samples(batch_, begin(k), begin(k + 1)));
    if (!loss.is_meta()) value = loss.item();
    (loss * (weight(k) * scale_)).backward();
    return value * weight(k);
  }
  void end() { set_generator_state(draws_of(shards_)); }
};

}  // namespace

Spread parse_spread(std::string_view name) {
  for (size_t i = 0; i < std::size(kSpreads); ++i)
    if (name == kSpreads[i]) return Spread(i);
  fail<ValueError>("spread: {} is none of {}", name, fmt::join(kSpreads, ", "));
}
const char* spread_name(Spread spread) { return kSpreads[int(spread)]; }

DataParallel::DataParallel(nn::Module& model, Group& group, int64_t shards, Spread spread, DType wire)
    : model_(model), group_(group), shards_(shards), spread_(group.size() > 1 ? spread : Spread::none), wire_(wire) {
  DY_CHECK_AS(ValueError, shards >= 1, "DataParallel: {} shards; at least one", shards);
  DY_CHECK_AS(ValueError, shards >= group.size(),
              "DataParallel: {} ranks share {} shards; start at most as many, or cut batches "
              "into more",
              group.size(), shards);
  if (wire) {
    check_wire(wire);
    DY_CHECK_AS(ValueError, group.size() == 1 || spread_ >= Spread::gradients,
                "DataParallel: gradients that travel in {} go to one rank each; spread gradients or parameters", wire.name());
  }
  begin_equal(model, group);
  buckets_ = std::make_shared<Buckets>(group, shards, spread_ == Spread::states, kBucketBytes);
  const Flat layout(model_.parameters(), model_.buffers());
  if (spread_ == Spread::states) {
    trained_ = layout.params();
    owners_ = layout.owners(group_.size());
  } else if (spread_ != Spread::none || wire) {
    sharing_ = std::make_shared<Sharing>(Sharing{group, spread_ == Spread::parameters, layout.dtype(), wire});
    units_ = make_units(model, sharing_);
    for (auto& unit : units_)
      for (size_t i = 0; i < unit->params().size(); ++i)
        if (unit->params()[i].requires_grad()) trained_.push_back(unit->params()[i]), owners_.push_back(unit->owners()[i]);
  }
}

DataParallel::~DataParallel() {
  for (auto& unit : units_) unit->module().remove_hook(unit.get());
}

void DataParallel::unspread() {
  for (auto& unit : units_) unit->unspread();
}

double DataParallel::backward(const Value& batch, const data::Callback<Tensor(const Value&)>& loss_of, double scale) {
  if (!units_.empty()) return backward_in_rounds(batch, loss_of, scale);
  const std::vector<Tensor> buffers = model_.buffers();
  Sharded shards(batch, shards_, group_.rank(), buffers, loss_of, scale);
  const std::vector<Tensor> params = model_.parameters();
  buckets_->begin(params, buffers);
  buckets_->watch(params);
  const int64_t last = buckets_->last();
  for (int64_t k = buckets_->first(); k < last; ++k) {
    if (k + 1 == last) buckets_->last_shard();
    const double value = shards.run(k);
    buckets_->add(shards.weight(k), {value, double(std::exchange(asking_, false))});
  }
  shards.end();
  double numbers[Flat::kNumbers];
  buckets_->end(numbers);
  asked_ = numbers[1] > 0;
  return numbers[0];
}

// Every rank goes through all rounds, since all take part in gathering: in the last one, which may have fewer shards than there
// are ranks, some make their last one again and give nothing.
double DataParallel::backward_in_rounds(const Value& batch, const data::Callback<Tensor(const Value&)>& loss_of, double scale) {
  const int64_t ranks = group_.size(), rank = group_.rank();
  const std::vector<Tensor> buffers = model_.buffers();
  Sharded shards(batch, shards_, int(rank), buffers, loss_of, scale);
  const Flat layout(buffers, sharing_->sums, trained_[0].device());
  const std::vector<Range> slices = even_ranges(layout.size(), int(ranks));
  RoundSum sum(group_, shards_, slices, layout.dtype(), layout.device());
  {
    const Gathered own(*this, false);
    const struct Running {
      Sharing& sharing;
      ~Running() {
        sharing.shards = 0;
        sharing.end_ahead(false);
      }
    } running{*sharing_};
    sharing_->shards = shards_;
    for (int64_t first = 0; first < shards_; first += ranks) {
      const int64_t k = first + rank < shards_ ? first + rank : first + rank - ranks;
      sharing_->counts = k >= first;
      sharing_->shard = k;
      sharing_->scale = scale;
      for (auto& unit : units_) unit->begin();
      sharing_->ahead = sharing_->parameters;
      const double value = shards.run(k);
      sharing_->end_ahead();
      for (auto& unit : units_) unit->finish(), unit->let_go();
      NoGrad guard;
      const Tensor leaf = layout.take(shards.weight(k), {value, double(asking_)});
      sum.leave(sharing_->counts ? leaf : Tensor());
      sum.end_round();
    }
  }
  shards.end();
  asking_ = false;
  NoGrad guard;
  for (auto& unit : units_) unit->give();
  const Tensor flat = empty({layout.size()}, layout.dtype(), layout.device());
  const Range mine = slices[size_t(rank)];
  flat.narrow(0, mine.begin, mine.end - mine.begin).copy_(sum.take());
  gather(Call(group_, "gathering of a sum", layout.device()), bytes_of(flat), slices, slices[0].end, layout.dtype().itemsize());
  double numbers[Flat::kNumbers];
  layout.give(flat, numbers);
  asked_ = numbers[1] > 0;
  return numbers[0];
}

Gathered::Gathered(DataParallel& parallel, bool all) {
  if (parallel.units_.empty()) return;
  units_.assign(all ? parallel.units_.begin() : parallel.units_.end() - 1, parallel.units_.end());
  for (auto& unit : units_) unit->keep();
}
Gathered::~Gathered() {
  for (auto& unit : units_) unit->unkeep();
}

}  // namespace dyadic::inline v1::distributed
