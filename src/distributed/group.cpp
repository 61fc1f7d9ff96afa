#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/sha256.h"
#include "distributed/call.h"
#include "distributed/tree.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::distributed {
namespace {

// A tensor's elements side by side, of formats with scales its planes. What is not so already is a copy that is written back.
class Dense {
  const Tensor& t_;
  Tensor held_;
  std::string packed_;

  template <class F> void each_plane(F f) {
    size_t at = 0;
    for (auto& [name, plane] : planes(held_)) {
      f(static_cast<char*>(plane.data_ptr()), packed_.data() + at, size_t(plane.nbytes()));
      at += size_t(plane.nbytes());
    }
  }

 public:
  explicit Dense(const Tensor& t) : t_(t), held_(t.is_contiguous() ? t.detach() : t.detach().contiguous()) {
    if (!t.dtype().is_blocked()) return;
    packed_.resize(size_t(held_.nbytes()));
    each_plane([](char* plane, char* packed, size_t n) { std::memcpy(packed, plane, n); });
  }
  char* data() { return t_.dtype().is_blocked() ? packed_.data() : static_cast<char*>(held_.data_ptr()); }
  int64_t bytes() const { return held_.nbytes(); }
  void changed() {
    if (!packed_.empty()) each_plane([](char* plane, char* packed, size_t n) { std::memcpy(plane, packed, n); });
    if (held_.data_ptr() == t_.data_ptr())
      bump(t_);
    else
      t_.detach().copy_(held_);
  }
};

const char* name_of(Reduce how) {
  constexpr const char* kNames[] = {"sum", "mean", "product", "min", "max"};
  return kNames[int(how)];
}

// What numbers are added in.
DType adding(const char* who, const Tensor& t, Reduce how) {
  const DType d = t.dtype();
  DY_CHECK_AS(TypeError, !d.is_scaled() && !d.is_blocked() && d != dyadic::boolean && (!d.is_complex() || how <= Reduce::mean),
              "{}: {} of {} is none; pass numbers", who, name_of(how), describe(t));
  DY_CHECK_AS(TypeError, how != Reduce::mean || d.is_floating_point() || d.is_complex(), "{}: the mean of {} is no {}", who,
              describe(t), d.name());
  return d.is_floating_point() && d.itemsize() < 4 ? f32 : d;
}

Tensor combine(const Tensor& a, const Tensor& b, Reduce how) {
  switch (how) {
    case Reduce::product:
      return a * b;
    case Reduce::min:
      return minimum(a, b);
    case Reduce::max:
      return maximum(a, b);
    default:
      return a + b;
  }
}

// Rows [size, n] to one.
Tensor reduced(const Tensor& rows, Reduce how) {
  const Tensor all = in_tree<Tensor>(
      0, rows.size(0), [&](int64_t r) { return rows.select(0, r); },
      [&](const Tensor& a, const Tensor& b) { return combine(a, b, how); });
  return how == Reduce::mean ? all / double(rows.size(0)) : all;
}

// Of [size, n] elements every rank's.
std::vector<Range> rows_of(int64_t n, int size) {
  std::vector<Range> out;
  for (int r = 0; r < size; ++r) out.push_back({r * n, (r + 1) * n});
  return out;
}

}  // namespace

// Tensors with scales cannot be laid side by side.
static void check_plain(const char* who, const Tensor& t) {
  DY_CHECK_AS(TypeError, !t.dtype().is_blocked(), "{}: {} has scales of its own; send it, or its planes() one by one", who,
              describe(t));
}

int Group::rank() const { return engine_ ? engine_->rank() : 0; }
int Group::size() const { return engine_ ? engine_->size() : 1; }
void Group::refuse(const std::string& why) { throw Error(why); }

void Group::barrier() {
  if (size() > 1) Call(*this, "barrier");
}

// All at once, within one call.
static void broadcast_all(const Call& call, const std::vector<Tensor>& tensors, const std::vector<int>& roots) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (call.rank() == roots[i]) call.sent(tensors[i].nbytes() * (call.size() - 1));
  if (call.on_paper()) return;
  NoGrad guard;
  std::vector<Dense> dense;
  std::vector<void*> requests;
  dense.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dense& d = dense.emplace_back(tensors[i]);
    for (int64_t at = 0; at < d.bytes(); at += kMostBytes) {
      const int64_t n = std::min(kMostBytes, d.bytes() - at);
      requests.push_back(call.engine().broadcast(d.data() + at, n, roots[i]));
    }
  }
  for (void* request : requests) call.wait(request);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (call.rank() != roots[i]) dense[i].changed();
}

void Group::broadcast(const Tensor& t, int root) {
  DY_CHECK_AS(ValueError, root >= 0 && root < size(), "broadcast: there is no rank {} among {}", root, size());
  if (size() > 1) broadcast_all(Call(*this, fmt::format("broadcast of {} from {}", describe(t), root)), {t}, {root});
}

void Group::broadcast(const std::vector<Tensor>& tensors, const std::vector<int>& roots) {
  if (size() == 1 || tensors.empty()) return;
  std::string all;
  for (size_t i = 0; i < tensors.size(); ++i) all += fmt::format("{} from {};", describe(tensors[i]), roots[i]);
  const std::string what = fmt::format("broadcast of {} tensors ({})", tensors.size(), sha256_hex(all).substr(0, 8));
  broadcast_all(Call(*this, what, tensors[0].device()), tensors, roots);
}

void Group::all_reduce(const Tensor& t, Reduce how) {
  const DType wide = adding("all_reduce", t, how);
  if (size() == 1 || t.numel() == 0) return;
  const Call call(*this, fmt::format("all_reduce of {} ({})", describe(t), name_of(how)), t.device());
  NoGrad guard;
  const Tensor flat = t.detach().to(wide).contiguous().view({-1});
  const std::vector<Range> slices = even_ranges(flat.numel(), size());
  const Range mine = slices[size_t(rank())];
  const int64_t n = mine.end - mine.begin, longest = slices[0].end;
  const Tensor rows = empty({size(), n}, wide, t.device()), result = empty({flat.numel()}, wide, t.device());
  exchange(call, bytes_of(flat), slices, bytes_of(rows), rows_of(n, size()), longest, wide.itemsize());
  if (n) result.narrow(0, mine.begin, n).copy_(reduced(rows, how));
  gather(call, bytes_of(result), slices, longest, wide.itemsize());
  t.detach().copy_(result.view(t.sizes()));
}

void Group::reduce_scatter(const Tensor& t, const Tensor& all, Reduce how) {
  const DType wide = adding("reduce_scatter", t, how);
  DY_CHECK_AS(ValueError, all.numel() == t.numel() * size() && all.dtype() == t.dtype(),
              "reduce_scatter: of {} each of {} ranks gets a part as large as {}; they do not fit", describe(all), size(),
              describe(t));
  NoGrad guard;
  const int64_t n = t.numel();
  if (size() == 1) return void(t.detach().copy_(all.view(t.sizes())));
  const Call call(*this, fmt::format("reduce_scatter of {} ({})", describe(all), name_of(how)));
  const Tensor flat = all.detach().to(wide).contiguous().view({-1}), rows = empty({size(), n}, wide);
  exchange(call, bytes_of(flat), rows_of(n, size()), bytes_of(rows), rows_of(n, size()), n, wide.itemsize());
  t.detach().copy_(reduced(rows, how).view(t.sizes()));
}

void Group::all_gather(const Tensor& all, const Tensor& t) {
  check_plain("all_gather", t);
  DY_CHECK_AS(ValueError, all.numel() == t.numel() * size() && all.dtype() == t.dtype(),
              "all_gather: {} has no room for {} of {} ranks", describe(all), describe(t), size());
  const Call call(*this, fmt::format("all_gather of {}", describe(t)));
  NoGrad guard;
  Dense from(t), to(all);
  const int64_t n = from.bytes();
  if (n) std::memcpy(to.data() + rank() * n, from.data(), size_t(n));
  if (size() > 1) gather(call, to.data(), rows_of(n, size()), n, 1);
  to.changed();
}

void Group::all_to_all(const Tensor& to, const Tensor& from) {
  check_plain("all_to_all", from);
  DY_CHECK_AS(ValueError,
              to.dtype() == from.dtype() && to.sizes() == from.sizes() && from.dim() > 0 && from.size(0) % size() == 0,
              "all_to_all: {} into {}: of one shape and dtype, the first size a multiple of the {} ranks", describe(from),
              describe(to), size());
  const Call call(*this, fmt::format("all_to_all of {}", describe(from)));
  NoGrad guard;
  Dense source(from), target(to);
  const int64_t n = source.bytes() / size();
  if (size() > 1)
    exchange(call, source.data(), rows_of(n, size()), target.data(), rows_of(n, size()), n, 1);
  else if (n)
    std::memcpy(target.data(), source.data(), size_t(n));
  target.changed();
}

static void check_peer(const char* what, int peer, const Group& group) {
  DY_CHECK_AS(ValueError, peer >= 0 && peer < group.size() && peer != group.rank(), "{}: rank {} of {} cannot, with rank {}",
              what, group.rank(), group.size(), peer);
}
void Group::send(const Tensor& t, int to, int tag) {
  check_peer("send", to, *this);
  const Call call(*this, fmt::format("send to {}", to), false);
  NoGrad guard;
  Dense dense(t);
  for (int64_t at = 0; at < dense.bytes(); at += kMostBytes) {
    const int64_t n = std::min(kMostBytes, dense.bytes() - at);
    call.wait(call.engine().send(dense.data() + at, n, to, tag));
    call.sent(n);
  }
}
void Group::receive(const Tensor& t, int from, int tag) {
  check_peer("receive", from, *this);
  const Call call(*this, fmt::format("receive from {}", from), false);
  NoGrad guard;
  Dense dense(t);
  for (int64_t at = 0; at < dense.bytes(); at += kMostBytes)
    call.wait(call.engine().receive(dense.data() + at, std::min(kMostBytes, dense.bytes() - at), from, tag));
  dense.changed();
}

std::vector<std::string> Group::all_gather(std::string_view mine) {
  const auto ranks = size_t(size());
  std::vector<std::string> all(ranks, std::string(mine));
  if (size() == 1) return all;
  const Call call(*this, "all_gather of texts");
  int64_t length = int64_t(mine.size());
  std::vector<int64_t> lengths(ranks, 0);
  lengths[size_t(rank())] = length;
  gather(call, reinterpret_cast<char*>(lengths.data()), rows_of(1, size()), 1, sizeof length);
  std::vector<Range> ranges;
  int64_t end = 0;
  for (const int64_t n : lengths) ranges.push_back({end, end + n}), end += n;
  std::string text(size_t(end), '\0');
  const Range own = ranges[size_t(rank())];
  std::copy(mine.begin(), mine.end(), text.begin() + own.begin);
  gather(call, text.data(), ranges, *std::max_element(lengths.begin(), lengths.end()), 1);
  for (size_t r = 0; r < all.size(); ++r) all[r] = text.substr(size_t(ranges[r].begin), size_t(lengths[r]));
  return all;
}

std::string Group::broadcast(std::string_view text, int root) {
  return all_gather(rank() == root ? text : std::string_view())[size_t(root)];
}

void Group::require_equal(std::string_view what, std::string_view mine) {
  const std::vector<std::string> all = all_gather(mine);
  for (size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0]) {
      const size_t at =
          size_t(std::mismatch(all[0].begin(), all[0].end(), all[r].begin(), all[r].end()).first - all[0].begin());
      const size_t word = std::min(all[0].rfind(", ", at), at), begin = word == at ? 0 : word + 2;
      const auto shown = [&](const std::string& s) { return s.substr(begin, std::max(s.find(", ", at), begin) - begin); };
      fail(
          "distributed: ranks do not agree on {}: rank 0 has {}, rank {} {}; start them with the same program, options and "
          "files",
          what, shown(all[0]), r, shown(all[r]));
    }
}

}  // namespace dyadic::inline v1::distributed
