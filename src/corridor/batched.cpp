// Calls with batched tensors: Note [Batched tensors]. The rules have been asked what becomes of one entry; here all entries are
// computed at once, without being recorded: the tape sees the entry's call.
#include "corridor/batching.h"

#include <algorithm>
#include <vector>

#include "corridor/run.h"
#include "corridor/signature.h"
#include "dyadic/ops.h"
#include "tensor/resize.h"

namespace dyadic::inline v1 {

constinit thread_local int t_inner = 0;
constinit thread_local int64_t t_entry_calls = 0;

namespace {

// The innermost of the tensors' levels, or the thread's where numbers are drawn.
LevelPtr level_of(const Call& c) {
  LevelPtr found;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) {
    if (const Batch* b = entries_of(t); b && (!found || b->level->number > found->number)) found = b->level;
  });
  if (c.op.random && t_batch_level && (!found || t_batch_level->number > found->number))
    return t_batch_level->shared_from_this();
  return found;
}

// What is called meanwhile belongs to the levels around this one.
class Outside {
  const NoGrad quiet_;
  const ModeScope plain_{0, kAutocast | kAutocastOff};
  BatchLevel* const before_ = t_batch_level;

 public:
  explicit Outside(const BatchLevel& level) {
    while (t_batch_level && t_batch_level->number >= level.number) t_batch_level = t_batch_level->outer;
    ++t_inner;
  }
  ~Outside() {
    --t_inner;
    t_batch_level = before_;
  }
  Outside(const Outside&) = delete;
};

Tensor viewed(const Tensor& t, IntList sizes) { return t.sizes() == sizes ? t : t.reshape(sizes); }

struct Sizes {  // [entries, ...]
  int64_t at[kMaxDims + 1];
  size_t n;
  Sizes(int64_t entries, IntList rest) : n(rest.size() + 1) {
    DY_CHECK_AS(ValueError, n <= kMaxDims, "vmap: too many dimensions: an entry has {}, and there are at most {}", n - 1,
                kMaxDims);
    at[0] = entries;
    std::copy(rest.begin(), rest.end(), at + 1);
  }
  operator IntList() const { return {at, n}; }
};

// Which arguments name dimensions.
enum class Names : uint8_t { nothing, dim, dims };
struct DimArguments {
  Names names[kMaxArgs]{};
  int size = -1, keepdim = -1;
  bool any = false;
  explicit DimArguments(Op op) {
    const std::vector<Parameter>& all = signature(op).parameters;
    for (size_t i = 0; i < all.size() && i < kMaxArgs; ++i) {
      const std::string &name = all[i].name, &type = all[i].type;
      if (name == "keepdim") keepdim = int(i);
      if (name == "size" && type == "int[]") size = int(i);
      if (name == "dim" || name == "dims" || name == "dim1" || name == "dim2")
        names[i] = type == "int" ? Names::dim : type == "int[]" ? Names::dims : Names::nothing;
      any |= names[i] != Names::nothing;
    }
  }
};

// Arguments with other tensors in the place of some, which it holds.
struct Frame {
  Arg args[kMaxArgs];
  Tensor held[kMaxArgs];
  std::vector<Tensor> lists[kMaxArgs];
  int64_t ints[kMaxArgs][kMaxDims];
  explicit Frame(const Call& c) { std::copy(c.args, c.args + c.nargs, args); }
  // f(tensor, its number) gives what comes in its place.
  template <class F> void replace(const Call& c, F&& f) {
    int k = 0;
    for (int i = 0; i < c.nargs; ++i) {
      if (args[i].kind == Arg::Kind::none) ++k;
      if (args[i].kind == Arg::Kind::tensor) {
        held[i] = f(*args[i].tensor, k++);
        args[i].tensor = &held[i];
      } else if (args[i].kind == Arg::Kind::tensors) {
        for (uint32_t j = 0; j < args[i].n; ++j) lists[i].push_back(f(args[i].tensor[j], k++));
        args[i].tensor = lists[i].data();
      }
    }
  }
  void set_ints(int i, IntList values) {
    std::copy(values.begin(), values.end(), ints[i]);
    args[i] = Arg(IntList(ints[i], values.size()));
  }
};

uint16_t bit(int k) { return in(std::min(k, 7)); }

const Tensor& first_tensor(const Call& c) {
  const Tensor* found = nullptr;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { found = found ? found : &t; });
  return *found;
}

}  // namespace

bool is_batched(const Call& c) { return (c.op.random && t_batch_level) || any_batched(c.args, c.nargs); }

bool BatchedCall::is_batched(int arg) const {
  return c.args[arg].kind == Arg::Kind::tensor && entries_at(*c.args[arg].tensor, *level);
}
Tensor BatchedCall::given(int arg) const {
  const Tensor& t = *c.args[arg].tensor;
  return entries_at(t, *level) ? whole_of(t) : t;
}
// [entries, ...] with ndim dimensions behind the first, new ones of size 1 before the others.
static Tensor widened(const Tensor& t, int64_t ndim) {
  const int64_t own = t.dim() - 1;
  if (own == ndim) return t;
  std::vector<int64_t> sizes(size_t(ndim) + 1, 1), strides(sizes.size(), 0);
  for (int64_t d = 0; d <= own; ++d) {
    const auto to = size_t(d ? ndim - own + d : 0);
    sizes[to] = t.size(d), strides[to] = t.stride(d);
  }
  return make_view(t, sizes, strides, t.storage_offset());
}
Tensor BatchedCall::aligned(int arg, int64_t ndim) const { return is_batched(arg) ? widened(given(arg), ndim) : given(arg); }

// The op on all entries; `same_rank` false: the results may have other dimensions of size 1, and get those that they should.
template <class F> bool BatchedCall::run_as(Arg* args, bool same_rank, F&& unfold) {
  Tensor out[kMaxOutputs];
  Call all(c.id, c.op, args, c.nargs, out);
  all.name = c.name;
  try {
    infer(all);
  } catch (const Error&) {  // that of an entry says what it is
    return false;
  }
  for (int j = 0; j < c.nout; ++j) {
    const Spec &own = c.spec[j], &made = all.spec[j];
    if (!own.dtype) continue;
    const Sizes wanted(entries, own.shape());
    if (made.dtype != own.dtype || (same_rank ? made.shape() != IntList(wanted) : made.numel() != entries * own.numel()))
      return false;
  }
  execute(all, true);
  observe(all);
  for (int j = 0; j < c.nout; ++j)
    if (c.spec[j].dtype) results[j] = viewed(unfold(out[j]), Sizes(entries, c.spec[j].shape()));
  return true;
}
bool BatchedCall::run(Arg* args, bool same_rank) {
  return run_as(args, same_rank, [](const Tensor& t) { return t; });
}

bool BatchedCall::by_dims() {
  const DimArguments a(c.id);
  if (!a.any) return false;
  const int64_t rank = first_tensor(c).dim();
  Frame f(c);
  bool flat = false, numbers = false;  // 0-d tensors count as 1-d
  if (a.size >= 0) f.set_ints(a.size, Sizes(entries, {c.args[a.size].ints, c.args[a.size].n}));
  for (int i = 0; i < c.nargs; ++i) {
    const Arg& given = c.args[i];
    if (a.names[i] == Names::nothing) continue;
    if (given.kind == Arg::Kind::integer) {
      f.args[i].integer += given.integer >= 0;
    } else if (given.kind == Arg::Kind::ints && (given.n || a.keepdim < 0)) {
      int64_t dims[kMaxDims];
      std::transform(given.ints, given.ints + given.n, dims, [](int64_t d) { return d + (d >= 0); });
      f.set_ints(i, {dims, given.n});
    } else if (a.names[i] == Names::dims) {  // all of them
      int64_t dims[kMaxDims];
      for (int64_t d = 0; d < std::max<int64_t>(rank, 1); ++d) dims[d] = d + 1;
      f.set_ints(i, {dims, size_t(std::max<int64_t>(rank, 1))});
    } else {
      flat = true;
      f.args[i] = Arg(int64_t(1));
    }
  }
  f.replace(c, [&](const Tensor& t, int) {
    const Tensor all = whole(t);
    numbers |= t.dim() == 0;
    return flat ? all.reshape({entries, t.numel()}) : t.dim() == 0 ? unsqueeze(all, 1) : all;
  });
  return run(f.args, !numbers && !flat);
}

bool BatchedCall::leading(uint16_t shared) {
  Frame f(c);
  bool fits = true;
  int64_t ndim = 1;  // those that have fewer may be broadcast
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int k) {
    if (!(shared & bit(k))) ndim = std::max(ndim, t.dim());
  });
  f.replace(c, [&](const Tensor& t, int k) {
    if (!(shared & bit(k))) return widened(whole(t), ndim);
    fits &= !entries_at(t, *level);
    return t;
  });
  return fits && run(f.args, false);
}

bool BatchedCall::folded(uint16_t shared, FunctionRef<Tensor(const Tensor&)> fold, FunctionRef<Tensor(const Tensor&)> unfold) {
  Frame f(c);
  bool fits = true;
  f.replace(c, [&](const Tensor& t, int k) {
    fits &= !(shared & bit(k)) ? t.dim() > 0 : !entries_at(t, *level);
    return !fits || (shared & bit(k)) ? t : fold(whole(t));
  });
  for (int j = 0; j < c.nout; ++j) fits &= !c.spec[j].dtype || c.spec[j].ndim > 0;
  return fits && run_as(f.args, false, unfold);
}
bool BatchedCall::first(uint16_t shared) {
  return folded(shared, [](const Tensor& t) { return t.flatten(0, 1); }, [](const Tensor& t) { return t; });
}

bool BatchedCall::per_entry() {
  const bool again = c.op.random && level->randomness == Randomness::same;
  const GeneratorState start = again ? generator_state() : GeneratorState{};
  std::vector<Tensor> rows[kMaxOutputs];
  t_entry_calls += entries;
  for (int64_t e = 0; e < entries; ++e) {
    if (again) set_generator_state(start);
    Frame f(c);
    f.replace(c, [&](const Tensor& t, int) { return entries_at(t, *level) ? select(whole_of(t), 0, e) : t; });
    Tensor out[kMaxOutputs];
    Call one(c.id, c.op, f.args, c.nargs, out);
    one.name = c.name;
    infer(one);
    execute(one, true);
    observe(one);
    for (int j = 0; j < c.nout; ++j)
      if (c.spec[j].dtype) rows[j].push_back(out[j]);
  }
  for (int j = 0; j < c.nout; ++j) {
    if (!c.spec[j].dtype) continue;
    DY_CHECK(!c.spec[j].dtype.is_scaled(), "vmap: {} gives {}, whose scales a batch would share; call it outside", c.name,
             c.spec[j].dtype.name());
    results[j] = entries ? stack(rows[j]) : make_tensor(Sizes(0, c.spec[j].shape()), c.spec[j].dtype, c.spec[j].device);
  }
  return true;
}

namespace {

// Tiles broadcast: an entry's dimensions are its last. What it is computed in, the entry's rule has decided.
void pointwise(BatchedCall& b, Tensor* out, bool allocate) {
  Call& c = b.c;
  Frame f(c);
  Tensor none[kMaxOutputs];
  for (int i = 0; i < c.nargs; ++i) {
    if (c.args[i].kind != Arg::Kind::tensor) continue;
    const Tensor& t = *c.args[i].tensor;
    f.held[i] = b.aligned(i, c.spec[0].ndim);
    // A number among dimensioned tensors is compared as what it is in their dtype.
    if (c.op.types == Types::compare && t.dim() == 0 && c.spec[0].ndim && b.is_batched(i) && t.dtype().is_floating_point())
      if (const DType common = result_type(c.args, c.nargs); common != t.dtype()) f.held[i] = f.held[i].to(common);
    f.args[i].tensor = &f.held[i];
  }
  Call all(c.id, c.op, f.args, c.nargs, out);
  all.name = c.name;
  all.compute = c.compute;
  all.spec[0] = c.spec[0];
  all.spec[0].shape(Sizes(b.entries, c.spec[0].shape()));
  execute(all, allocate);
  observe(all);
}

// Fresh memory of a composition or a gradient that nobody else has seen becomes that of all entries; else, PyTorch's rule.
void become_many(const Call& c, const Tensor& self, const LevelPtr& level, bool inner) {
  const TensorImpl& i = *self.impl();
  const bool own =
      inner && !i.face && !i.base && !i.meta && i.storage->refs.load() == 1 && i.storage->category == Category::temporary;
  DY_CHECK(
      own,
      "vmap: {}_ writes entries into a tensor that is the same for all of them: self is {}; it would have to be one of the "
      "mapped arguments, or made of one: use the out-of-place form",
      c.name, describe(self));
  become_view(self, make_batched(repeated(self, level->size).clone(), level));
}

void into_self(BatchedCall& b, bool inner) {
  Call& c = b.c;
  const Tensor& self = *c.args[0].tensor;
  if (!entries_at(self, *b.level)) become_many(c, self, b.level, inner);
  const Tensor whole = whole_of(self);
  check_writable(c.name, whole);
  if (c.op.kind == OpKind::pointwise) {
    Tensor out[kMaxOutputs] = {whole};
    pointwise(b, out, false);
  } else {
    const Tensor source = c.id == Op::copy_ ? b.aligned(1, self.dim()) : (b.compute(), b.results[0]);
    Arg copy[] = {Arg(whole), Arg(source)};
    call_op_inplace(Op::copy_, copy, 2);
    return;
  }
  bump(whole);
}

// True: the call has been made. Numbers are drawn for each entry, or once.
bool draws(BatchedCall& b) {
  Call& c = b.c;
  check_draws(*b.level);
  bool any = false, tensors = false;
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { tensors = true, any |= entries_at(t, *b.level) != nullptr; });
  if (b.level->randomness == Randomness::same) {
    if (any) return b.per_entry();
    execute(c, true);
    return false;
  }
  const DimArguments a(c.id);
  if (tensors || a.size < 0) return tensors && b.leading(0) ? true : b.per_entry();
  Frame f(c);
  f.set_ints(a.size, Sizes(b.entries, {c.args[a.size].ints, c.args[a.size].n}));
  return b.run(f.args, true) || b.per_entry();
}

}  // namespace

void check_draws(const BatchLevel& level) {
  DY_CHECK(level.randomness != Randomness::error,
           "vmap: the function draws random numbers: randomness=\"different\" draws for each entry, \"same\" once for all");
}

void BatchedCall::compute() {
  const Batching* own = batching_of(c.id);
  bool done = false;
  if (!own)
    done = by_dims();
  else if (own->how == Batching::How::own)
    done = own->rule(*this);
  else
    done = own->how == Batching::How::leading ? leading(own->shared) : first(own->shared);
  if (!done) per_entry();
  for (int j = 0; j < c.nout; ++j)
    if (c.spec[j].dtype) results[j] = viewed(results[j].to(c.spec[j].dtype), Sizes(entries, c.spec[j].shape()));
}

void execute_batched(Call& c, bool allocate) {
  const LevelPtr level = level_of(c);
  BatchedCall b(c, level);
  const bool inner = t_inner;
  const Outside outside(*level);
  if (!allocate) {
    DY_CHECK(c.nargs && c.args[0].kind == Arg::Kind::tensor && c.out[0].is_same(*c.args[0].tensor),
             "vmap: {}: results cannot be given with out= here; use the form without it", c.name);
    return into_self(b, inner);
  }
  if (c.op.random) {
    if (!draws(b)) return;
  } else if (c.op.kind == OpKind::pointwise) {
    pointwise(b, b.results, true);
  } else {
    b.compute();
  }
  for (int j = 0; j < c.nout; ++j) {
    if (!c.spec[j].dtype) continue;
    c.out[j] = make_batched(b.results[j], level);
    if (!c.out[j].is_contiguous() || c.out[j].storage_offset())  // what a kernel makes is dense
      c.out[j] = make_batched(b.results[j].clone(), level);
  }
}

}  // namespace dyadic::inline v1
