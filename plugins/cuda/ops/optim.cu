// What optimizers do to a parameter (`adamw_step` and its like), one pass over memory for each: optim/update_op.cpp's ops,
// whose arguments these are.
#include <algorithm>
#include <cstddef>

#include "plugins/cuda/kernel.h"
#include "plugins/cuda/optim/update.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

enum Argument { kParam, kGrad, kNumbers, kRest, kStates, kRule, kSeed, kStream, kStochastic };
constexpr int kHead = 3;  // of the numbers: grad_scale, coupled, decoupled; the constants follow

using UpdateKernel = void (*)(UpdateWork);
struct RuleKernels {
  UpdateKernel f32 = nullptr, f64 = nullptr, codes = nullptr, rare = nullptr;
  UpdateKernel plain = nullptr, plain_codes = nullptr;
};
template <class Tag> RuleKernels kernels_of() {
  using R = typename Tag::Rule;
  RuleKernels k{.f32 = update_runs<Tag, float, Way::runs, false>};
  if constexpr (!R::kFolded) k.f64 = update_runs<Tag, double, Way::runs, false>;  // (AdamW's own is of f32)
  if constexpr (R::kStates > 0) k.codes = update_runs<Tag, float, Way::codes, false>;
  if constexpr (!R::kFolded && R::kChanges != Changes::states) k.rare = update_runs<Tag, float, Way::rare, false>;
  if constexpr (R::kFolded) {
    k.plain = update_runs<Tag, float, Way::runs, true>;
    k.plain_codes = update_runs<Tag, float, Way::codes, true>;
  }
  return k;
}
// Name, what it changes, how many states it has, its lambda.
#define DY_RULES(X)                                          \
  X(sgd, all, 0, kSgd)                                       \
  X(sgd_momentum, all, 1, kMomentum)                         \
  X(adagrad, all, 1, kAdagrad)                               \
  X(rmsprop, all, 1, kRmsprop<false, false>)                 \
  X(rmsprop_momentum, all, 2, kRmsprop<false, true>)         \
  X(rmsprop_centered, all, 2, kRmsprop<true, false>)         \
  X(rmsprop_centered_momentum, all, 3, kRmsprop<true, true>) \
  X(adam, all, 2, kAdam<false>)                              \
  X(adam_amsgrad, all, 3, kAdam<true>)                       \
  X(adamax, all, 2, kAdamax)                                 \
  X(nadam, all, 2, kNadam)                                   \
  X(radam, all, 2, kRadam)                                   \
  X(adadelta, all, 2, kAdadelta)                             \
  X(lion, all, 1, kLion)                                     \
  X(rprop, all, 2, kRprop)                                   \
  X(asgd, all, 1, kAsgd)                                     \
  X(schedule_free, all, 2, kScheduleFree)                    \
  X(lamb_measure, states, 2, kLambMeasure)                   \
  X(lamb_apply, param, 2, kLambApply)                        \
  X(gradient_measure, states, 0, kGradient)
#define DY_NAMED(name, changes, states, ...)                                                    \
  struct name##_rule {                                                                          \
    using Rule = LambdaRule<states, std::remove_cv_t<decltype(__VA_ARGS__)>, Changes::changes>; \
  };
DY_RULES(DY_NAMED)  // nvcc takes a lambda's type in no kernel's name
#undef DY_NAMED
struct adamw_rule {
  using Rule = AdamwRule;
};
#define DY_NUMBERED(name, ...)                   \
  case offsetof(RuleTable, name) / sizeof(Rule): \
    return kernels_of<name##_rule>();
RuleKernels kernels_of(int64_t rule) {
  switch (rule) {
    DY_RULES(DY_NUMBERED)
    default:
      return kernels_of<adamw_rule>();
  }
}
#undef DY_NUMBERED
#undef DY_RULES

// An operand in a format that the kernels do not read: in the workspace it has the compute type.
const FormatDef kFloats{.name = "f32", .kind = Kind::floating, .compute = Compute::f32, .bits = 32};
const Format kFloat{.def = &kFloats};
const FormatDef kDoubles{.name = "f64", .kind = Kind::floating, .compute = Compute::f64, .bits = 64};
const Format kDouble{.def = &kDoubles};

enum Place { kParamPlace, kGradPlace, kRestPlace, kStatePlace, kStepPlaces = kStatePlace + kMaxStates };
struct Decoded {
  int place;
  bool changes;
  Operand stored, plain;
  int64_t at, room;  // in the workspace: the plain one, and what converting needs
  Round round;
};

struct Update {
  UpdateWork work;
  UpdateKernel kernel, plain;  // plain: null, or what is faster where all is f32 and aligned
  int run, constants, states, decoded;
  bool adamw;
  const Decoded* copies;
  int64_t count, pieces;  // of blocks, and where what they measured lies in the workspace
};

Held& held(UpdateWork& w, int place) {
  return place == kParamPlace  ? w.param
         : place == kGradPlace ? w.grad
         : place == kRestPlace ? w.rest
                               : w.state[place - kStatePlace];
}
int input_of(int place) { return place == kParamPlace ? 0 : place == kGradPlace ? 1 : place + 1; }  // among the op's tensors

constexpr int kAddThreads = 512;
__global__ void __launch_bounds__(kAddThreads) add_pieces(const Measured* pieces, int64_t n, Measured* out) {
  Measured mine;
  DY_UNROLL
  for (int64_t i = threadIdx.x; i < n; i += kAddThreads) mine = AddMeasured()(mine, pieces[i]);
  __shared__ Measured room[kGroupRoom<kAddThreads>];
  const Measured all = group_all<kAddThreads>(mine, room, AddMeasured());
  if (threadIdx.x == 0) *out = all;
}

void give_numbers(const Update& p, UpdateWork& w, const double* numbers) {
  w.scale = numbers[0], w.coupled = numbers[1], w.decoupled = numbers[2];
  const double* c = numbers + kHead;
  std::copy_n(c, std::min(p.constants, kMaxConstants), w.constants);
  if (!p.adamw) return;
  const AdamwStep step{c[0], c[1], c[2], c[3], w.decoupled, c[4], c[5], w.scale, w.rounding};
  const adamw::Constants constants(step);
  __builtin_memcpy(w.adamw, &constants, sizeof(constants));
}

// One block where that takes no longer than another kernel; else as many as there may be, each with as much to do.
int64_t pieces_of(const Update& p) {
  constexpr int64_t kAlone = 4096;
  if (p.work.n <= kAlone) return 1;
  const int64_t each = int64_t{kStepThreads} * p.run, rounds = (p.work.n + each - 1) / each;
  const int64_t longest = (rounds + kMostPieces - 1) / kMostPieces;
  return (rounds + longest - 1) / longest;
}

void run(const Update& p, const Pointers& at) {
  UpdateWork w = p.work;
  give_numbers(p, w, static_cast<const double*>(at.in[kNumbers]));
  for (int k = 0; k < kStatePlace + p.states; ++k) held(w, k).at = static_cast<char*>(at.in[input_of(k)]);
  const auto plain = [&](const Decoded& d) { return Array(d.plain, at_place(at.workspace, d.at)); };
  const auto stored = [&](const Decoded& d) { return Array(d.stored, at.in[input_of(d.place)]); };
  for (int j = 0; j < p.decoded; ++j) {
    const Decoded& d = p.copies[j];
    assign(plain(d), stored(d), Round{}, at_place(at.workspace, d.room));
    held(w, d.place).at = plain(d).at;
  }
  bool all_plain = p.plain && w.rounds_to == Code::f32;
  for (int k = 0; k < kStatePlace + p.states; ++k) {
    Held& h = held(w, k);
    h.aligned = !h.bytes || is_aligned(h.at, std::min(16, p.run * h.bytes));
    all_plain &= k == kRestPlace ? !w.has_rest : h.kept != Kept::plain || (h.code == Code::f32 && h.aligned);
  }
  auto* const out = static_cast<Measured*>(at.out[0]);
  w.pieces = p.count == 1 ? out : static_cast<Measured*>(at_place(at.workspace, p.pieces));
  launch(all_plain ? p.plain : p.kernel, Grid{.blocks = p.count, .threads = kStepThreads}, w);
  for (int j = 0; j < p.decoded; ++j) {
    const Decoded& d = p.copies[j];
    if (d.changes) assign(stored(d), plain(d), d.round, at_place(at.workspace, d.room));
  }
  if (p.count > 1) launch(add_pieces, Grid{.threads = kAddThreads}, static_cast<const Measured*>(w.pieces), p.count, out);
}

class Planner {
  Call& c_;
  Update& p_;
  Room room_;
  const bool wide_;
  Decoded* copies_ = nullptr;

 public:
  Planner(Call& c, Update& p) : c_(c), p_(p), room_(c.plan), wide_(c.impl(kParam).dtype.format()->compute() == Compute::f64) {}
  void plan() {
    UpdateWork& w = p_.work;
    const bool stochastic = c_.boolean(kStochastic);
    const auto seed = uint64_t(c_.integer(kSeed)), stream = uint64_t(c_.integer(kStream));
    if (stochastic) w.rounding = {Rounding::stochastic, seed, stream, 0};
    w.n = c_.impl(kParam).numel;
    w.rounds_to = code_of(c_.impl(kParam).dtype.format());
    w.has_rest = c_.has(kRest);
    p_.constants = int(c_.impl(kNumbers).numel) - kHead;
    p_.adamw = c_.integer(kRule) < 0;
    hold(kParamPlace, c_.impl(kParam), true, {});  // what is stored there has been rounded
    hold(kGradPlace, c_.impl(kGrad), false, {});
    if (w.has_rest) hold(kRestPlace, c_.impl(kRest), true, {});
    bool codes = false;
    for (const Tensor& t : c_.tensors(kStates)) {
      const uint64_t k = uint64_t(p_.states++);
      const Round round = stochastic ? Round{Rounding::stochastic, ~seed, stream + (k << 32), 0} : Round{};
      hold(kStatePlace + int(k), *t.impl(), true, round);
      codes |= w.state[k].kept != Kept::plain;
    }
    const RuleKernels rule = kernels_of(c_.integer(kRule));
    const Code to = w.rounds_to;
    const bool rare = !wide_ && rule.rare && to != Code::f32 && to != Code::bf16 && to != Code::f16;
    DY_CHECK(!rare || !codes, "{}: states in dynamic8 of a parameter in {} have no kernel on a cuda device; keep them in f32",
             c_.name, c_.impl(kParam).dtype.format()->text);
    p_.kernel = rare ? rule.rare : codes ? rule.codes : wide_ ? rule.f64 : rule.f32;
    p_.plain = codes ? rule.plain_codes : rule.plain;
    p_.run = rare ? kTaken<float, Way::rare> : wide_ ? kStepRun<double> : kStepRun<float>;
    p_.count = pieces_of(p_);
    if (p_.count > 1) p_.pieces = room_.take(p_.count * int64_t(sizeof(Measured)));
  }

 private:
  bool reads(Code code, const Round& round) const {
    if (wide_) return code == Code::f64;
    return code == Code::f32 || (round.mode == Rounding::nearest && (code == Code::bf16 || code == Code::f16));
  }
  void hold(int place, const TensorImpl& t, bool changes, const Round& round) {
    Held& h = held(p_.work, place);
    const Format& f = *t.dtype.format();
    if (!f.is_blocked() && reads(code_of(&f), round)) return void(h = {.code = code_of(&f), .bytes = uint8_t(f.itemsize())});
    const std::string_view name = f.def->name;
    if (!wide_ && (name == "dynamic8" || name == "udynamic8") && f.params.block == kStateBlock && !f.params.doubled) {
      h = {.code = Code::u8, .bytes = 1, .kept = name == "dynamic8" ? Kept::dynamic : Kept::udynamic};
      h.absmax = f.def->planes(f, t.storage->geometry).plane[1].offset;
      return;
    }
    decode(place, t, changes, round);
  }
  void decode(int place, const TensorImpl& t, bool changes, const Round& round) {
    Decoded d{place, changes, Operand(t), Operand(), 0, 0, round};
    d.stored.ndim = d.plain.ndim = 1;
    d.stored.lengths[0] = d.plain.lengths[0] = d.plain.count = t.numel;
    d.stored.steps[0] = d.plain.steps[0] = 1;
    d.plain.format = wide_ ? &kDouble : &kFloat;
    const int64_t to = assign_room(d.plain, d.stored), from = changes ? assign_room(d.stored, d.plain) : 0;
    DY_CHECK(to >= 0 && from >= 0, "{}: a tensor in {} has no code on a cuda device; f32, bf16, f16, f64 and dynamic8 have",
             c_.name, d.stored.format->text);
    d.at = room_.take(t.numel * d.plain.itemsize());
    d.room = room_.take(std::max(to, from));
    held(p_.work, place) = {.code = code_of(d.plain.format), .bytes = uint8_t(d.plain.itemsize())};
    if (!copies_) p_.copies = copies_ = c_.plan.list<Decoded>(kStepPlaces);
    copies_[p_.decoded++] = d;
  }
};

void plan(Call& c) {
  Update& p = c.plan.make<run, Update>();
  p = Update{};
  Planner(c, p).plan();
}

const char* const kOptimizers[] = {"sgd",
                                   "asgd",
                                   "rprop",
                                   "lion",
                                   "lars",
                                   "adam",
                                   "adamw",
                                   "adamax",
                                   "nadam",
                                   "radam",
                                   "lamb",
                                   "adagrad",
                                   "rmsprop",
                                   "adadelta",
                                   "muon",
                                   "adafactor",
                                   "schedulefreeadamw",
                                   "lbfgs"};
struct RegisteredSteps {
  RegisteredSteps() {
    static std::string names[std::size(kOptimizers)];
    for (size_t i = 0; i < std::size(kOptimizers); ++i) {
      names[i] = std::string(kOptimizers[i]) + "_step";
      Registered(names[i].c_str(), {.plan = plan, .blocked = 0xffff});
    }
  }
} const registered_steps;

}  // namespace
}  // namespace dyadic::gpu
