// Two passes over a class for mean and variance (no cancellation), one for the result; backward takes one pass for the sums of
// each segment, which the parameters' gradients and dx share, and one for dx.
#include "ops/norm/channel_norm_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kGrain = 16384;  // elements
constexpr int64_t kAlign = 16;     // elements: parts of the workspace start at multiples of 64 bytes

int64_t padded(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }
bool is_wide(Source x) { return x.format->def->compute == Compute::f64; }
int64_t grain(const ChannelNormShape& s) { return max_of(1, kGrain / max_of(s.count(), 1)); }

// The elements of class k in stretches: f(place of the first, how many). A group's segments are neighbours: one stretch.
template <class F> void for_stretches(const ChannelNormShape& s, int64_t k, F&& f) {
  if (s.groups) return f(k * s.count(), s.count());
  for (int64_t j = 0; j < s.segments(); ++j) f(s.segment(k, j) * s.inner, s.inner);
}

template <class T> struct Moments {
  T mean, rstd;
};
template <class T> Moments<T> moments(const ChannelNormShape& s, Source x, int64_t k, double eps, T* buffer) {
  using V = Vec<T>;
  double total = 0, squares = 0;
  for_stretches(s, k, [&](int64_t at, int64_t n) {
    for_blocks(n, [&](int64_t i, int64_t count) {
      const T* from = read_tile(x, at + i, count, buffer);
      T sum[1];
      lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) { term[0] = access.load(from + j); });
      total += sum[0];
    });
  });
  const T mean = static_cast<T>(total / static_cast<double>(s.count()));
  for_stretches(s, k, [&](int64_t at, int64_t n) {
    for_blocks(n, [&](int64_t i, int64_t count) {
      const T* from = read_tile(x, at + i, count, buffer);
      T sum[1];
      lane_sums<T, 1>(count, sum, [&](auto access, int64_t j, V* term) {
        const V centred = access.load(from + j) - V(mean);
        term[0] = centred * centred;
      });
      squares += sum[0];
    });
  });
  return {mean, static_cast<T>(1 / __builtin_sqrt(squares / static_cast<double>(s.count()) + eps))};
}

// Segments of one element: a class is a row of neighbouring channels.
bool by_rows(const ChannelNormShape& s) { return s.groups && s.inner == 1; }
template <class T> DY_INLINE Vec<T> weights(const T* w, int64_t at, auto access) { return w ? access.load(w + at) : Vec<T>(1); }

template <class T>
void forward_row(const ChannelNormShape& s, Source x, const T* w, const T* b, Target y, int64_t k, const Moments<T>& m, T* in,
                 T* out) {
  using V = Vec<T>;
  const int64_t first = k * s.count(), channel = s.channel(k, 0);
  for_blocks(s.count(), [&](int64_t i, int64_t count) {
    const T* from = read_tile(x, first + i, count, in);
    T* to = open_tile(y, first + i, out);
    for_vectors<T>(count, [&](auto access, int64_t l) {
      const V scale = weights(w, channel + i + l, access) * V(m.rstd), shift = b ? access.load(b + channel + i + l) : V(0);
      access.store(to + l, (access.load(from + l) - V(m.mean)) * scale + shift);
    });
    close_tile(y, first + i, count, out);
  });
}

template <class T>
void forward_as(const ChannelNormShape& s, Source x, Source weight, Source bias, double eps, Target y, T* mean, T* rstd,
                T* workspace) {
  using V = Vec<T>;
  const T* w = whole(weight, s.channels, workspace);
  const T* b = whole(bias, s.channels, workspace + padded(s.channels));
  parallel_for(s.classes(), grain(s), [&](int64_t begin, int64_t end) {
    alignas(64) T in[kTile<T>], out[kTile<T>];
    for (int64_t k = begin; k < end; ++k) {
      const Moments<T> m = moments(s, x, k, eps, in);
      mean[k] = m.mean;
      rstd[k] = m.rstd;
      if (by_rows(s)) {
        forward_row(s, x, w, b, y, k, m, in, out);
        continue;
      }
      for (int64_t j = 0; j < s.segments(); ++j) {
        const int64_t at = s.segment(k, j) * s.inner, c = s.channel(k, j);
        const V scale(w ? m.rstd * w[c] : m.rstd), shift(b ? b[c] : T(0));
        for_blocks(s.inner, [&](int64_t i, int64_t count) {
          const T* from = read_tile(x, at + i, count, in);
          T* to = open_tile(y, at + i, out);
          for_vectors<T>(count, [&](auto access, int64_t l) {
            access.store(to + l, (access.load(from + l) - V(m.mean)) * scale + shift);
          });
          close_tile(y, at + i, count, out);
        });
      }
    }
  });
}

template <class T> struct Backward {
  ChannelNormShape s;
  Source dy, x;
  Target dx;
  const T *weight, *mean, *rstd;
  double *sum_dy, *sum_dyh;  // per segment, with h = (x - mean) rstd
  T *x_buffer, *dy_buffer, *out;

  void segment_sums(int64_t k, int64_t segment) const {
    using V = Vec<T>;
    double total[2] = {};
    for_blocks(s.inner, [&](int64_t i, int64_t count) {
      const T* x_at = read_tile(x, segment * s.inner + i, count, x_buffer);
      const T* dy_at = read_tile(dy, segment * s.inner + i, count, dy_buffer);
      T sum[2];
      lane_sums<T, 2>(count, sum, [&](auto access, int64_t j, V* term) {
        term[0] = access.load(dy_at + j);
        term[1] = term[0] * hat(k, access.load(x_at + j));
      });
      total[0] += sum[0];
      total[1] += sum[1];
    });
    sum_dy[segment] = total[0];
    sum_dyh[segment] = total[1];
  }
  Vec<T> hat(int64_t k, Vec<T> x_at) const { return (x_at - Vec<T>(mean[k])) * Vec<T>(rstd[k]); }

  // run() of a row.
  void run_row(int64_t k) const {
    using V = Vec<T>;
    const int64_t first = k * s.count(), channel = s.channel(k, 0);
    double g = 0, gh = 0;
    for_blocks(s.count(), [&](int64_t i, int64_t count) {
      const T* x_at = read_tile(x, first + i, count, x_buffer);
      const T* dy_at = read_tile(dy, first + i, count, dy_buffer);
      for (int64_t l = 0; l < count; ++l) {
        sum_dy[first + i + l] = double(dy_at[l]);
        sum_dyh[first + i + l] = double(dy_at[l] * ((x_at[l] - mean[k]) * rstd[k]));
      }
      T sum[2];
      lane_sums<T, 2>(count, sum, [&](auto access, int64_t l, V* term) {
        term[0] = access.load(dy_at + l) * weights(weight, channel + i + l, access);
        term[1] = term[0] * hat(k, access.load(x_at + l));
      });
      g += sum[0];
      gh += sum[1];
    });
    if (!dx.data) return;
    const V mean_g(static_cast<T>(g / double(s.count()))), mean_gh(static_cast<T>(gh / double(s.count())));
    for_blocks(s.count(), [&](int64_t i, int64_t count) {
      const T* x_at = read_tile(x, first + i, count, x_buffer);
      const T* dy_at = read_tile(dy, first + i, count, dy_buffer);
      T* to = open_tile(dx, first + i, out);
      for_vectors<T>(count, [&](auto access, int64_t l) {
        const V own = access.load(dy_at + l) * weights(weight, channel + i + l, access);
        access.store(to + l, V(rstd[k]) * (own - mean_g - hat(k, access.load(x_at + l)) * mean_gh));
      });
      close_tile(dx, first + i, count, out);
    });
  }
  // dx = rstd (g - mean(g) - h mean(g h)), g = dy weight.
  void run(int64_t k) const {
    using V = Vec<T>;
    if (by_rows(s)) return run_row(k);
    double g = 0, gh = 0;
    for (int64_t j = 0; j < s.segments(); ++j) {
      const int64_t segment = s.segment(k, j);
      segment_sums(k, segment);
      const double w = weight ? double(weight[s.channel(k, j)]) : 1;
      g += w * sum_dy[segment];
      gh += w * sum_dyh[segment];
    }
    if (!dx.data) return;
    const V mean_g(static_cast<T>(g / double(s.count()))), mean_gh(static_cast<T>(gh / double(s.count())));
    for (int64_t j = 0; j < s.segments(); ++j) {
      const int64_t at = s.segment(k, j) * s.inner;
      const V w(weight ? weight[s.channel(k, j)] : T(1));
      for_blocks(s.inner, [&](int64_t i, int64_t count) {
        const T* x_at = read_tile(x, at + i, count, x_buffer);
        const T* dy_at = read_tile(dy, at + i, count, dy_buffer);
        T* to = open_tile(dx, at + i, out);
        for_vectors<T>(count, [&](auto access, int64_t l) {
          access.store(to + l, V(rstd[k]) * (access.load(dy_at + l) * w - mean_g - hat(k, access.load(x_at + l)) * mean_gh));
        });
        close_tile(dx, at + i, count, out);
      });
    }
  }
};

// y[c] = the sum over the batch of the segments of channel c.
template <class T> void add_segments(const ChannelNormShape& s, const double* sums, Target y, T* buffer) {
  if (!y.data) return;
  for_blocks(s.channels, [&](int64_t i, int64_t count) {
    T* to = open_tile(y, i, buffer);
    for (int64_t c = 0; c < count; ++c) {
      double total = 0;
      for (int64_t n = 0; n < s.batch; ++n) total += sums[n * s.channels + i + c];
      to[c] = static_cast<T>(total);
    }
    close_tile(y, i, count, buffer);
  });
}

template <class T>
void backward_as(const ChannelNormShape& s, Source dy, Source x, Source weight, const T* mean, const T* rstd, Target dx,
                 Target dweight, Target dbias, void* workspace) {
  const int64_t all = padded(s.batch * s.channels);
  auto* sum_dy = static_cast<double*>(workspace);
  double* sum_dyh = sum_dy + all;
  const T* w = whole(weight, s.channels, reinterpret_cast<T*>(sum_dyh + all));
  parallel_for(s.classes(), grain(s), [&](int64_t begin, int64_t end) {
    alignas(64) T x_buffer[kTile<T>], dy_buffer[kTile<T>], out[kTile<T>];
    const Backward<T> b{s, dy, x, dx, w, mean, rstd, sum_dy, sum_dyh, x_buffer, dy_buffer, out};
    for (int64_t k = begin; k < end; ++k) b.run(k);
  });
  alignas(64) T buffer[kTile<T>];
  add_segments<T>(s, sum_dyh, dweight, buffer);
  add_segments<T>(s, sum_dy, dbias, buffer);
}

int64_t forward_workspace(const ChannelNormShape& s, Source x) { return 2 * padded(s.channels) * (is_wide(x) ? 8 : 4); }
int64_t backward_workspace(const ChannelNormShape& s, Source x) {
  return 2 * padded(s.batch * s.channels) * 8 + padded(s.channels) * (is_wide(x) ? 8 : 4);
}

void forward(const ChannelNormShape& s, Source x, Source weight, Source bias, double eps, Target y, void* mean, void* rstd,
             void* workspace) {
  auto as = [&](auto t) {
    using T = decltype(t);
    forward_as<T>(s, x, weight, bias, eps, y, static_cast<T*>(mean), static_cast<T*>(rstd), static_cast<T*>(workspace));
  };
  is_wide(x) ? as(double()) : as(float());
}
void backward(const ChannelNormShape& s, Source dy, Source x, Source weight, const void* mean, const void* rstd, Target dx,
              Target dweight, Target dbias, void* workspace) {
  auto as = [&](auto t) {
    using T = decltype(t);
    backward_as<T>(s, dy, x, weight, static_cast<const T*>(mean), static_cast<const T*>(rstd), dx, dweight, dbias, workspace);
  };
  is_wide(x) ? as(double()) : as(float());
}

}  // namespace

extern const ChannelNormKernel channel_norm_kernel = {forward_workspace, forward, backward_workspace, backward};

}  // namespace dyadic::DY_ISA
