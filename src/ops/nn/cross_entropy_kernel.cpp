// Cross entropy: one pass over memory forward (maximum and sum of exponentials block by block), one backward.
#include "ops/nn/cross_entropy_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements

int64_t first_bad(const CrossEntropyShape& s, const int64_t* targets) {
  for (int64_t r = 0; r < s.rows; r++) {
    const bool is_class = static_cast<uint64_t>(targets[r]) < static_cast<uint64_t>(s.classes);
    if (!is_class && targets[r] != s.ignore_index) return r;
  }
  return -1;
}

// A row's largest logit, the sum of exponentials relative to it, and the plain sum of the logits (for label smoothing only).
template <class T> struct RowSums {
  T top = 0;
  double exponentials = 1, logits = 0;
};

// The running sum is rescaled when a block brings a new maximum; as long as there is only -inf, exponentials are taken as they
// are (0, or NaN for NaN).
template <class T> RowSums<T> sum_row(RowTiles<T> x, int64_t n, bool smooth) {
  using V = Vec<T>;
  RowSums<T> r{T(-kInf), 0, 0};
  for_blocks(n, [&](int64_t i, int64_t count) {
    const T* from = x.read(i, count);
    const T block = largest(from, count);
    if (block > r.top) {
      if (r.exponentials != 0) r.exponentials *= scalar_exp(r.top - block);
      r.top = block;
    }
    const T shift = r.top == -kInf ? T(0) : r.top;
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) { term[0] = exp(access.load(from + j) - V(shift)); });
    r.exponentials += sum[0];
    if (!smooth) return;
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) { term[0] = access.load(from + j); });
    r.logits += sum[0];
  });
  return r;
}

// The logarithms of a batch of rows are taken together: one by one they cost as much as 32 classes.
template <class T> void forward_as(const CrossEntropyShape& s, Source logits, const int64_t* targets, T* loss, T* lse) {
  constexpr int64_t kRows = 64;
  const T smoothing = static_cast<T>(s.label_smoothing);
  parallel_for(s.rows, max_of(1, kGrain / max_of(s.classes, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T buffer[kTile<T>], top[kRows], exponentials[kRows];
    double sum_of_logits[kRows];
    for (int64_t first = begin; first < end; first += kRows) {
      const int64_t count = min_of(kRows, end - first);
      for (int64_t k = 0; k < count; k++) {
        const int64_t r = first + k;
        RowSums<T> sums;
        if (targets[r] != s.ignore_index) sums = sum_row(RowTiles<T>{logits, r * s.classes, buffer}, s.classes, smoothing != 0);
        top[k] = sums.top;
        exponentials[k] = static_cast<T>(sums.exponentials);
        sum_of_logits[k] = sums.logits;
      }
      for_vectors<T>(count, [&](auto access, int64_t k) {
        access.store(lse + first + k, access.load(top + k) + log(access.load(exponentials + k)));
      });
      for (int64_t k = 0; k < count; k++) {
        const int64_t r = first + k;
        loss[r] = 0;
        if (targets[r] == s.ignore_index) continue;
        T one[1];
        loss[r] = lse[r] - *read_tile(logits, r * s.classes + targets[r], 1, one);
        if (smoothing == 0) continue;
        const T all = lse[r] - static_cast<T>(sum_of_logits[k] / static_cast<double>(s.classes));
        loss[r] = (1 - smoothing) * loss[r] + smoothing * all;
      }
    }
  });
}

template <class T>
void backward_as(const CrossEntropyShape& s, Source logits, const int64_t* targets, const T* lse, const T* grad,
                 int64_t grad_step, double scale, Target dlogits) {
  using V = Vec<T>;
  const double smoothing = s.label_smoothing;
  const V even(static_cast<T>(smoothing / static_cast<double>(max_of(s.classes, 1))));
  parallel_for(s.rows, max_of(1, kGrain / max_of(s.classes, 1)), [&](int64_t begin, int64_t end) {
    alignas(64) T in[kTile<T>], out[kTile<T>];
    for (int64_t r = begin; r < end; r++) {
      const int64_t row = r * s.classes, target = targets[r];
      const bool ignored = target == s.ignore_index;
      const T factor = static_cast<T>(static_cast<double>(grad[r * grad_step]) * scale);
      RowTiles<T> tiles{logits, row, in};
      for_blocks(s.classes, [&](int64_t i, int64_t count) {
        const T* from = tiles.read(i, count);
        T* to = open_tile(dlogits, row + i, out);
        const bool here = target >= i && target < i + count;
        // The target's own logit is read before dlogits, which may be the same memory, is written.
        const T own = here ? scalar_exp(from[target - i] - lse[r]) - static_cast<T>(1 - smoothing) : T(0);
        for_vectors<T>(count, [&](auto access, int64_t j) {
          const V softmax = exp(access.load(from + j) - V(lse[r]));
          access.store(to + j, ignored ? V(0) : (softmax - even) * V(factor));
        });
        if (here && !ignored) to[target - i] = (own - hn::GetLane(even.v)) * factor;
        close_tile(dlogits, row + i, count, out);
      });
    }
  });
}

template <class T> double sum_losses(const T* loss, int64_t rows) {
  double total = 0;
  for_blocks(rows, [&](int64_t i, int64_t count) {
    T sum[1];
    lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, Vec<T>* term) { term[0] = access.load(loss + i + j); });
    total += sum[0];
  });
  return total;
}

int64_t forward(const CrossEntropyShape& s, Source logits, const int64_t* targets, void* loss, void* lse) {
  const int64_t bad = first_bad(s, targets);
  if (bad >= 0) return bad;
  if (logits.format->def->compute == Compute::f64) {
    forward_as(s, logits, targets, static_cast<double*>(loss), static_cast<double*>(lse));
  } else {
    forward_as(s, logits, targets, static_cast<float*>(loss), static_cast<float*>(lse));
  }
  return -1;
}

void backward(const CrossEntropyShape& s, Source logits, const int64_t* targets, const void* lse, const void* grad,
              int64_t grad_step, double scale, Target dlogits) {
  if (logits.format->def->compute == Compute::f64) {
    backward_as(s, logits, targets, static_cast<const double*>(lse), static_cast<const double*>(grad), grad_step, scale,
                dlogits);
  } else {
    backward_as(s, logits, targets, static_cast<const float*>(lse), static_cast<const float*>(grad), grad_step, scale, dlogits);
  }
}

int64_t total(const CrossEntropyShape& s, const void* loss, Compute compute, const int64_t* targets, double* sum) {
  int64_t rows = 0;
  for (int64_t r = 0; r < s.rows; r++) rows += targets[r] != s.ignore_index;
  *sum = compute == Compute::f64 ? sum_losses(static_cast<const double*>(loss), s.rows)
                                 : sum_losses(static_cast<const float*>(loss), s.rows);
  return rows;
}

}  // namespace

extern const CrossEntropyKernel cross_entropy_kernel = {forward, backward, total};

}  // namespace dyadic::DY_ISA
