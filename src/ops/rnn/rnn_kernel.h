// One time step of recurrent cells between its matrix products: everything that is elementwise, in one pass.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// Rows are contiguous: T is f32 or f64, H = hidden. Threads inside, over rows.
//
// LSTM: `gates` [rows, 4 H] holds the sums of input, forget, cell and output gate, and gets their activations i, f, g, o:
//   cell = f before + i g,  hidden = o tanh(cell)
struct LstmForward {
  int64_t rows, hidden;
  void* gates;
  const void* before;  // the cell's state [rows, H]
  void *cell, *out;
};
// Gradients of the gates' sums. d_hidden comes from the later step, d_cell too, which becomes the earlier step's. Those of the
// results may be null.
struct LstmBackward {
  int64_t rows, hidden;
  const void *gates, *before, *cell;
  const void *g_out, *g_cell, *g_gates;
  const void* d_hidden;
  void *d_cell, *d_gates;
};

// GRU: `gates` [rows, 3 H] of the input, `recurrent` [rows, 3 H] of the state; reset r, update z, new n:
//   n = tanh(gates_n + r recurrent_n),  hidden = n + z (before - n)
// `kept` [rows, 4 H] gets r, z, n and recurrent_n.
struct GruForward {
  int64_t rows, hidden;
  const void *gates, *recurrent, *before;
  void *kept, *out;
};
// d_hidden becomes z d_hidden, to which the caller adds what comes by way of d_recurrent.
struct GruBackward {
  int64_t rows, hidden;
  const void *kept, *before;
  const void *g_out, *g_kept;
  void *d_hidden, *d_gates, *d_recurrent;
};

// Plain: `states` [rows, H] holds the sums and gets the states, tanh or relu of them.
struct RnnForward {
  int64_t rows, hidden;
  void* states;
  bool relu;
};
struct RnnBackward {
  int64_t rows, hidden;
  const void *states, *g_out, *d_hidden;
  void* d_gates;
  bool relu;
};

struct RnnKernel {
  void (*rnn)(const RnnForward&, bool f64);
  void (*rnn_backward)(const RnnBackward&, bool f64);
  void (*add)(int64_t n, const void* from, void* to, bool f64);
  void (*lstm)(const LstmForward&, bool f64);
  void (*lstm_backward)(const LstmBackward&, bool f64);
  void (*gru)(const GruForward&, bool f64);
  void (*gru_backward)(const GruBackward&, bool f64);
};

}  // namespace dyadic::inline v1

DY_KERNEL(RnnKernel, rnn_kernel)
