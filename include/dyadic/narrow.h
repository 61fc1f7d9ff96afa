// Structured pruning of language models: channels of gated layers and heads of attention are taken out, and what is left is a
// smaller model of the same family, which takes fewer bytes and less time.
//
//   dy::models::Model small = dy::prune::narrowed(*m, {.channels = 0.25, .heads = 0.25, .calibration = &data});
//   small->save_pretrained("small");
#pragma once
#include "dyadic/models.h"
#include "dyadic/quant.h"

namespace dyadic::inline v1::prune {

struct NarrowOptions {
  nn::ByName by_name = {};
  // Shares that go, of each layer: channels of its gated layer; heads of keys and values, with the queries that see them. What
  // stays is rounded up: channels to a multiple of 32 where there was one.
  double channels = 0, heads = 0;
  // With data, what a channel or head adds to its layer's results counts, and the columns that stay make good what goes as far
  // as least squares can; without, the weights alone.
  quant::Calibration* calibration = nullptr;
};
// A new model; the given one is as it was. Layers must have mlp.gate_proj, up_proj and down_proj, and self_attn.q_proj, k_proj,
// v_proj and o_proj, as llama's and its relatives' have. ValueError for others, for weights of a scaled format (narrow before
// quantizing), and where nothing would go.
models::Model narrowed(models::CausalLM& model, const NarrowOptions& options);

}  // namespace dyadic::inline v1::prune
