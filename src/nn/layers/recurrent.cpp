// Recurrent layers: the products with the inputs of all time steps are one matrix product, the steps are one op (ops/rnn).
// Sequences of their own lengths are padded behind: a backward direction sees each one reversed within its length.
// Formulas and order of gates are PyTorch's: LSTM input, forget, cell, output (Hochreiter and Schmidhuber 1997, Sak et al. 2014
// with proj_size); GRU reset, update, new (Cho et al. 2014).
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "nn/layers/layers.h"
#include "nn/parts.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::nn {
namespace {

enum class Cell : uint8_t { tanh, relu, lstm, gru };

Cell cell_of(const Layer& self) {
  std::string_view kind = self.def().sig;
  if (kind.starts_with("LSTM")) return Cell::lstm;
  if (kind.starts_with("GRU")) return Cell::gru;
  std::string_view f = self.text("nonlinearity");
  DY_CHECK_AS(ValueError, f == "tanh" || f == "relu", "{}: unknown nonlinearity \"{}\"; the known ones are tanh and relu",
              self.kind(), f);
  return f == "relu" ? Cell::relu : Cell::tanh;
}
int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

struct Weights {
  Tensor ih, hh, bias_ih, bias_hh, hr;
};
struct State {
  Tensor h, c;  // c of LSTM alone
};

void check_states(const Layer& self, const State& s, IntList h, IntList c) {
  DY_CHECK(s.h.sizes() == h, "{}: the state does not fit: h is {}, {} is needed", self.kind(), describe(s.h), shape_text(h));
  DY_CHECK(!s.c.defined() || s.c.sizes() == c, "{}: the state does not fit: c is {}, {} is needed", self.kind(), describe(s.c),
           shape_text(c));
}

// One step: `x` [N, gates H] is input W_ih^T + b_ih, for all but GRU with b_hh.
State step(Cell cell, const Tensor& x, const State& s, const Weights& w) {
  if (cell == Cell::gru) {
    const std::vector<Tensor> a = parts_of<-1>(x, 3), b = parts_of<-1>(linear(s.h, w.hh, w.bias_hh), 3);
    const Tensor reset = sigmoid(add(a[0], b[0])), update = sigmoid(add(a[1], b[1]));
    const Tensor fresh = tanh(add(a[2], mul(reset, b[2])));
    return {add(fresh, mul(update, sub(s.h, fresh))), {}};
  }
  const Tensor sum = add(x, linear(s.h, w.hh));
  if (cell != Cell::lstm) return {cell == Cell::relu ? relu(sum) : tanh(sum), {}};
  const std::vector<Tensor> gate = parts_of<-1>(sum, 4);
  const Tensor c = add(mul(sigmoid(gate[1]), s.c), mul(sigmoid(gate[0]), tanh(gate[2])));
  return {mul(sigmoid(gate[3]), tanh(c)), c};
}
Tensor of_inputs(Cell cell, const Tensor& x, const Weights& w) {
  const bool both = cell != Cell::gru && w.bias_ih.defined() && w.bias_hh.defined();
  return linear(x, w.ih, both ? add(w.bias_ih, w.bias_hh) : w.bias_ih);
}

// States of all steps [T, N, ...]; c of LSTM alone.
struct States {
  Tensor h, c;
};
// The recurrence itself runs in f32 at least: a state that is rounded at every step forgets.
States all_steps(Cell cell, const Tensor& projected, const State& state, const Weights& w, bool backwards) {
  const DType given = projected.dtype(), wide = given == f64 ? f64 : f32;
  auto in = [&](const Tensor& t) { return t.defined() ? t.to(wide) : t; };
  auto back = [&](const Tensor& t) { return t.to(given); };
  if (cell == Cell::gru)
    return {back(call_all(Op::gru_scan_, in(projected), in(w.hh), in(w.bias_hh), in(state.h), backwards)[0]), {}};
  if (cell != Cell::lstm)
    return {back(call(Op::rnn_scan_, in(projected), in(w.hh), in(state.h), cell == Cell::relu, backwards)), {}};
  const std::vector<Tensor> r =
      call_all(Op::lstm_scan_, in(projected), in(w.hh), in(state.h), in(state.c), in(w.hr), backwards);
  return {back(r[0]), back(r[1])};
}

// Of padded sequences, each [N]: where a step of the reversed ones lies, the last step, which steps there are.
struct Lengths {
  Tensor reversed, last, real;  // [T, N, 1], [1, N, 1], [T, N, 1]
  explicit Lengths(const Tensor& lengths, int64_t steps) {
    const Tensor t = arange(0, steps, 1, i64, lengths.device()).view({steps, 1, 1}), n = lengths.to(i64).view({1, -1, 1});
    real = lt(t, n);
    last = sub(n, 1);
    reversed = where(real, sub(last, t), t);
  }
  static Tensor take(const Tensor& x, const Tensor& index) {
    return gather(x, 0, index.expand({index.size(0), x.size(1), x.size(2)}));
  }
};

// One direction of one layer over x [T, N, in]: [T, N, out] and the last state.
Tensor scan(Cell cell, const Tensor& x, State& state, const Weights& w, bool backwards, const Lengths* lengths) {
  const Tensor along = lengths && backwards ? Lengths::take(x, lengths->reversed) : x;
  const bool reverse = backwards && !lengths;
  const int64_t steps = x.size(0);
  const Tensor projected =
      of_inputs(cell, along.reshape({steps * x.size(1), x.size(2)}), w).view({steps, x.size(1), w.ih.size(0)});
  const States all = all_steps(cell, projected, state, w, reverse);
  auto end = [&](const Tensor& t) {
    return !t.defined() ? t : lengths ? squeeze(Lengths::take(t, lengths->last), 0) : select(t, 0, reverse ? 0 : steps - 1);
  };
  state = {end(all.h), end(all.c)};
  return lengths && backwards ? Lengths::take(all.h, lengths->reversed) : all.h;
}

std::string suffix(int64_t layer, int64_t direction) { return fmt::format("_l{}{}", layer, direction ? "_reverse" : ""); }

Weights weights_of(const Layer& self, const std::string& suffix) {
  auto named = [&](const char* name) { return self.value(name + suffix); };
  return {named("weight_ih"), named("weight_hh"), named("bias_ih"), named("bias_hh"), named("weight_hr")};
}

int64_t projection(const Layer& self, Cell cell) { return cell == Cell::lstm ? self.integer("proj_size") : 0; }

void add_weights(Layer& self, const std::string& suffix, int64_t gates, int64_t in, int64_t out, int64_t projected,
                 Options options) {
  const int64_t hidden = self.integer("hidden_size");
  const double bound = hidden > 0 ? 1 / std::sqrt(double(hidden)) : 0;
  add_uniform(self, ("weight_ih" + suffix).c_str(), {gates * hidden, in}, bound, options);
  add_uniform(self, ("weight_hh" + suffix).c_str(), {gates * hidden, out}, bound, options);
  if (self.boolean("bias"))
    for (const char* name : {"bias_ih", "bias_hh"})
      add_uniform(self, (name + suffix).c_str(), {gates * hidden}, bound, options);
  if (projected) add_uniform(self, ("weight_hr" + suffix).c_str(), {projected, hidden}, bound, options);
}

void make_rnn(Layer& self, Options options) {
  const Cell cell = cell_of(self);
  const int64_t hidden = self.integer("hidden_size"), projected = projection(self, cell);
  const double p = self.real("dropout");
  DY_CHECK_AS(ValueError, hidden > 0 && self.integer("num_layers") > 0,
              "{}: hidden_size and num_layers are positive: they are {} and {}", self.kind(), hidden,
              self.integer("num_layers"));
  DY_CHECK_AS(ValueError, p >= 0 && p <= 1, "{}: dropout is not a probability: it is {}", self.kind(), p);
  DY_CHECK_AS(ValueError, projected >= 0 && projected < hidden, "{}: proj_size is below hidden_size: they are {} and {}",
              self.kind(), projected, hidden);
  const int64_t out = projected ? projected : hidden, directions = self.boolean("bidirectional") ? 2 : 1;
  for (int64_t l = 0; l < self.integer("num_layers"); ++l)
    for (int64_t d = 0; d < directions; ++d)
      add_weights(self, suffix(l, d), gates_of(cell), l ? out * directions : self.integer("input_size"), out, projected,
                  options);
}
void make_cell(Layer& self, Options options) {
  const int64_t hidden = self.integer("hidden_size");
  add_weights(self, "", gates_of(cell_of(self)), self.integer("input_size"), hidden, 0, options);
}

State zero_state(Cell cell, const Tensor& x, IntList h, IntList c) {
  return {zeros(h, x.dtype(), x.device()), cell == Cell::lstm ? zeros(c, x.dtype(), x.device()) : Tensor()};
}

// x [T, N, in] through all layers; the states [layers directions, N, ...] become the last ones.
Tensor run_layers(const Layer& self, Cell cell, Tensor x, State& state, const Lengths* lengths) {
  const int64_t layers = self.integer("num_layers"), directions = self.boolean("bidirectional") ? 2 : 1;
  std::vector<Tensor> last_h, last_c;
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t i = l * directions + d;
      State s{select(state.h, 0, i), state.c.defined() ? select(state.c, 0, i) : Tensor()};
      outputs.push_back(scan(cell, x, s, weights_of(self, suffix(l, d)), d == 1, lengths));
      last_h.push_back(s.h);
      if (s.c.defined()) last_c.push_back(s.c);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, -1);
    if (l + 1 < layers && self.training()) x = dropout(x, self.real("dropout"));
  }
  state = {stack(last_h), last_c.empty() ? Tensor() : stack(last_c)};
  return lengths ? where(lengths->real, x, zeros({}, x.dtype(), x.device())) : x;
}

std::optional<Lengths> read_lengths(const Layer& self, const Arg& a, const Tensor& x) {
  if (a.kind == Arg::Kind::none) return {};
  const Tensor& t = *a.tensor;
  DY_CHECK(t.dim() == 1 && t.size(0) == x.size(1) && t.dtype().is_integer(),
           "{}: lengths does not fit: it is {}, an integer for each of {} sequences is needed", self.kind(), describe(t),
           x.size(1));
  if (!t.is_meta() && t.numel() > 0)
    DY_CHECK_AS(ValueError, amin(t).item() > 0 && amax(t).item() <= double(x.size(0)),
                "{}: a length is out of range: they are {} to {}; there are {} steps", self.kind(), amin(t).item(),
                amax(t).item(), x.size(0));
  return Lengths(t, x.size(0));
}

// forward(input, h_0, c_0, lengths) -> (output, h_n, c_n)
std::vector<Tensor> run_rnn(Layer& self, const Arg* a) {
  const Cell cell = cell_of(self);
  const Tensor& input = *a[0].tensor;
  const int64_t in = self.integer("input_size"), hidden = self.integer("hidden_size"), projected = projection(self, cell);
  DY_CHECK((input.dim() == 3 || input.dim() == 2) && input.size(-1) == in,
           "{}: input is [T, N, {}], with batch_first [N, T, {}], or [T, {}]: it is {}", self.kind(), in, in, in,
           describe(input));
  const bool batched = input.dim() == 3, swapped = batched && self.boolean("batch_first");
  const Tensor x = swapped ? input.transpose(0, 1) : batched ? input : unsqueeze(input, 1);
  DY_CHECK(x.size(0) > 0, "{}: no time step: input is {}", self.kind(), describe(input));
  const int64_t count = self.integer("num_layers") * (self.boolean("bidirectional") ? 2 : 1), n = x.size(1);
  const int64_t h[] = {count, n, projected ? projected : hidden}, c[] = {count, n, hidden};
  State state;
  const bool lstm = cell == Cell::lstm;
  if (a[1].kind == Arg::Kind::none) {
    DY_CHECK(!lstm || a[2].kind == Arg::Kind::none, "{}: c_0 is given without h_0", self.kind());
    state = zero_state(cell, x, h, c);
  } else {
    auto given = [&](const Tensor& t) { return batched ? t : unsqueeze(t, 1); };
    DY_CHECK(!lstm || a[2].kind == Arg::Kind::tensor, "{}: h_0 is given without c_0", self.kind());
    state = {given(*a[1].tensor), lstm ? given(*a[2].tensor) : Tensor()};
    check_states(self, state, h, c);
  }
  const std::optional<Lengths> lengths = read_lengths(self, a[lstm ? 3 : 2], x);
  Tensor y = run_layers(self, cell, x, state, lengths ? &*lengths : nullptr);
  auto back = [&](const Tensor& t) { return batched || !t.defined() ? t : squeeze(t, 1); };
  std::vector<Tensor> results{swapped ? y.transpose(0, 1) : back(y), back(state.h)};
  if (lstm) results.push_back(back(state.c));
  return results;
}

// forward(input, h, c) -> (h, c)
std::vector<Tensor> run_cell(Layer& self, const Arg* a) {
  const Cell cell = cell_of(self);
  const Tensor& input = *a[0].tensor;
  const int64_t in = self.integer("input_size"), hidden = self.integer("hidden_size");
  DY_CHECK((input.dim() == 2 || input.dim() == 1) && input.size(-1) == in, "{}: input is [N, {}] or [{}]: it is {}",
           self.kind(), in, in, describe(input));
  const bool batched = input.dim() == 2, lstm = cell == Cell::lstm;
  auto rows = [&](const Tensor& t) { return batched ? t : unsqueeze(t, 0); };
  const Tensor x = rows(input);
  const int64_t size[] = {x.size(0), hidden};
  State s = zero_state(cell, x, size, size);
  if (a[1].kind == Arg::Kind::tensor) {
    DY_CHECK(!lstm || a[2].kind == Arg::Kind::tensor, "{}: h is given without c", self.kind());
    s = {rows(*a[1].tensor), lstm ? rows(*a[2].tensor) : Tensor()};
    check_states(self, s, size, size);
  }
  const Weights w = weights_of(self, "");
  s = step(cell, of_inputs(cell, x, w), s, w);
  std::vector<Tensor> results{batched ? s.h : squeeze(s.h, 0)};
  if (lstm) results.push_back(batched ? s.c : squeeze(s.c, 0));
  return results;
}

constexpr const char* kForwardRnn = "forward(Tensor input, Tensor? hx=None, Tensor? lengths=None) -> (Tensor, Tensor)";
constexpr const char* kForwardLstm =
    "forward(Tensor input, Tensor? h_0=None, Tensor? c_0=None, Tensor? lengths=None) -> (Tensor, Tensor, Tensor)";
constexpr const char* kForwardCell = "forward(Tensor input, Tensor? hx=None) -> Tensor";
constexpr const char* kForwardLstmCell = "forward(Tensor input, Tensor? h_0=None, Tensor? c_0=None) -> (Tensor, Tensor)";

constexpr LayerDef kRecurrentLayers[] = {
    {"RNN(int input_size, int hidden_size, int num_layers=1, str nonlinearity='tanh', bool bias=True, bool batch_first=False, "
     "float dropout=0.0, bool bidirectional=False)",
     "h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh) over input [T, N, input_size], in layers; gives the last layer's h of "
     "all steps and every layer's last h.",
     nullptr, 0, make_rnn, nullptr, kForwardRnn, run_rnn},
    {"LSTM(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, float dropout=0.0, bool "
     "bidirectional=False, int proj_size=0)",
     "Long short-term memory over input [T, N, input_size], in layers; gives the last layer's h of all steps and every layer's "
     "last (h, c).",
     nullptr, 0, make_rnn, nullptr, kForwardLstm, run_rnn},
    {"GRU(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool batch_first=False, float dropout=0.0, bool "
     "bidirectional=False)",
     "Gated recurrent units over input [T, N, input_size], in layers; gives the last layer's h of all steps and every layer's "
     "last h.",
     nullptr, 0, make_rnn, nullptr, kForwardRnn, run_rnn},
    {"RNNCell(int input_size, int hidden_size, bool bias=True, str nonlinearity='tanh')",
     "One step of an RNN: [N, hidden_size].", nullptr, 0, make_cell, nullptr, kForwardCell, run_cell},
    {"LSTMCell(int input_size, int hidden_size, bool bias=True)", "One step of an LSTM: (h, c).", nullptr, 0, make_cell,
     nullptr, kForwardLstmCell, run_cell},
    {"GRUCell(int input_size, int hidden_size, bool bias=True)", "One step of a GRU: [N, hidden_size].", nullptr, 0, make_cell,
     nullptr, kForwardCell, run_cell},
};

}  // namespace

std::span<const LayerDef> recurrent_layers() { return kRecurrentLayers; }

}  // namespace dyadic::inline v1::nn
