// Distillation: a model learns from another one's results.
//
//   auto student = dy::models::load("small"), teacher = dy::models::load("large", {.linear = dy::nf4});
//   dy::tune::distill(*student, &*teacher, tokenizer, dy::tune::read_data("chat.jsonl"), {.temperature = 2}, {.out =
//   "runs/small"});
//
// The losses are functions of tensors, for whatever model.
#pragma once
#include "dyadic/finetune.h"

namespace dyadic::inline v1::tune {

// temperature^2 times the mean over rows of KL(softmax(teacher / temperature) || softmax(student / temperature)): logits [...,
// classes] of both, f32 scalar. (Hinton, Vinyals, Dean 2015, arXiv:1503.02531; the square keeps gradients of one size.)
Tensor distillation_loss(const Tensor& student, const Tensor& teacher, double temperature = 2);
// The mean over rows [..., width] of |student - teacher|^2 / |teacher|^2: hidden states of equal width.
Tensor hidden_loss(const Tensor& student, const Tensor& teacher);
// How tokens see each other: the mean over tokens and heads of KL(softmax(t t^T / sqrt(d)) || softmax(s s^T / sqrt(d))) of
// queries, keys or values [B, T, width], cut into `heads` heads of d = width / heads. Student and teacher may differ in width.
// (MiniLMv2: Wang, Bao, Huang, Dong, Wei 2020, arXiv:2012.15828.) mask: bool [T, T] or [B, T, T], which of the others a token
// may see.
Tensor relation_loss(const Tensor& student, const Tensor& teacher, int64_t heads = 1, const Tensor& mask = {});

struct DistillOptions {
  nn::ByName by_name = {};
  double temperature = 2;
  double share = 0.5;  // of the teacher's logits in the loss; the rest is the samples' own answers'
  // Modules whose results are held to each other, by their names in student and teacher: hidden states of equal width, and
  // queries, keys or values (q_proj ...), as tokens are learned.
  std::vector<std::pair<std::string, std::string>> hidden = {}, relations = {};
  double hidden_weight = 1, relation_weight = 1;
  int64_t heads = 1;  // of the relations
  // A file for the teacher's logits of the training rows: made if it is not there, and then the teacher is not needed. The
  // `top_k` largest of each token are kept, in f16, and the teacher's distribution is over these.
  std::string cache = {};
  int64_t top_k = 128;
};

// Writes the file that `cache` names, for the same data and options; true where it was not there already.
bool cache_logits(models::CausalLM& teacher, const Tokenizer& tokenizer, const Data& data, const DistillOptions& options,
                  const FinetuneOptions& run);

// A run as finetune()'s, all weights or an adapter; evaluation is of the answers alone, and what it is predicted to take is the
// student's. teacher: null where the cache is there. ValueError for a teacher of another vocabulary, a cache of other data,
// modules that are not there, hidden states of different widths.
FinetuneReport distill(models::CausalLM& student, models::CausalLM* teacher, const Tokenizer& tokenizer, const Data& data,
                       const DistillOptions& options = {}, const FinetuneOptions& run = {});

}  // namespace dyadic::inline v1::tune
