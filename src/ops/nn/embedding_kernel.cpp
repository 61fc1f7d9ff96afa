// Embedding: gather by memcpy; scatter by a counting sort of the positions, so that each row of the gradient is written once,
// by one thread, its terms in order. No atomics: the same bits for any number of threads.
#include "ops/nn/embedding_kernel.h"

#include "loops/lanes.h"

namespace dyadic::DY_ISA {
namespace {

constexpr int64_t kColumns = 1024;  // added up at once
constexpr int64_t kGrain = 65536;   // bytes

int64_t first_bad(const EmbeddingShape& s, const int64_t* index) {
  for (int64_t i = 0; i < s.count; i++) {
    if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(s.rows)) return i;
  }
  return -1;
}

int64_t gather(const EmbeddingShape& s, const void* weight, int64_t itemsize, const int64_t* index, void* out) {
  const int64_t bad = first_bad(s, index), bytes = s.dim * itemsize;
  if (bad >= 0 || bytes == 0) return bad;
  const auto* from = static_cast<const char*>(weight);
  auto* to = static_cast<char*>(out);
  parallel_for(s.count, max_of(1, kGrain / bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) __builtin_memcpy(to + i * bytes, from + index[i] * bytes, bytes);
  });
  return -1;
}

int64_t scatter_workspace(const EmbeddingShape& s) { return (s.rows + 1 + s.count) * 8; }

// positions[start[v] .. start[v + 1]) are those whose index is v, ascending; start has rows + 1 entries.
void sort_positions(const EmbeddingShape& s, const int64_t* index, int64_t* start, int64_t* positions) {
  for (int64_t v = 0; v <= s.rows; v++) start[v] = 0;
  for (int64_t i = 0; i < s.count; i++) start[index[i] + 1]++;
  for (int64_t v = 0; v < s.rows; v++) start[v + 1] += start[v];
  for (int64_t i = s.count - 1; i >= 0; i--) positions[--start[index[i] + 1]] = i;  // leaves start[v + 1] at the start of v
  for (int64_t v = 0; v < s.rows; v++) start[v] = start[v + 1];
  start[s.rows] = s.count;
}

template <class T>
void add_row(const EmbeddingShape& s, Source grad, const int64_t* positions, int64_t count, Target dweight, int64_t row,
             bool accumulate, bool mean) {
  alignas(64) T in[kColumns], out[kColumns];
  const T factor = mean && count > 1 ? T(1) / T(count) : T(1);
  for (int64_t c = 0; c < s.dim; c += kColumns) {
    const int64_t width = min_of(kColumns, s.dim - c), at = row * s.dim + c;
    T* sum = open_tile(dweight, at, out);
    if (!accumulate) {
      for (int64_t j = 0; j < width; j++) sum[j] = 0;
    } else if (!stores<T>(dweight.format)) {
      dweight.format->def->decode(element(dweight, at), sum, width);
    }
    for (int64_t k = 0; k < count; k++) {
      const T* term = read_tile(grad, positions[k] * s.dim + c, width, in);
      for_vectors<T>(width, [&](auto access, int64_t j) {
        access.store(sum + j, fma(access.load(term + j), Vec<T>(factor), access.load(sum + j)));
      });
    }
    close_tile(dweight, at, width, out);
  }
}

template <class T>
void scatter_as(const EmbeddingShape& s, Source grad, const int64_t* start, const int64_t* positions, int64_t skip,
                Target dweight, bool accumulate, bool mean) {
  // Few tokens make up most of a text, so rows are handed out in small groups.
  const int64_t group = max_of(1, min_of(64, s.rows / 64));
  parallel_each((s.rows + group - 1) / group, [&](int64_t g) {
    for (int64_t v = g * group; v < min_of(s.rows, (g + 1) * group); v++) {
      const int64_t count = v == skip ? 0 : start[v + 1] - start[v];
      if (count == 0 && accumulate) continue;
      add_row<T>(s, grad, positions + start[v], count, dweight, v, accumulate, mean);
    }
  });
}

int64_t scatter(const EmbeddingShape& s, Source grad, const int64_t* index, int64_t skip, Target dweight, bool accumulate,
                bool mean, void* workspace) {
  const int64_t bad = first_bad(s, index);
  if (bad >= 0) return bad;
  auto* start = static_cast<int64_t*>(workspace);
  int64_t* positions = start + s.rows + 1;
  sort_positions(s, index, start, positions);
  if (grad.format->def->compute == Compute::f64) {
    scatter_as<double>(s, grad, start, positions, skip, dweight, accumulate, mean);
  } else {
    scatter_as<float>(s, grad, start, positions, skip, dweight, accumulate, mean);
  }
  return -1;
}

}  // namespace

extern const EmbeddingKernel embedding_kernel = {gather, scatter_workspace, scatter};

}  // namespace dyadic::DY_ISA
