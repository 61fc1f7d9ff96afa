// A run from data to files, whatever is learned.
#pragma once
#include "tune/loop.h"
#include "tune/rows.h"

namespace dyadic::inline v1::tune {

// What the loss is, once it is known which rows there are.
using MakeLesson = data::Callback<std::shared_ptr<Lesson>(const RowDataset& training)>;

// `settings`: a JSON object of what else a resumed run must agree with.
FinetuneReport run_lesson(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data, const FinetuneOptions& options,
                          const MakeLesson& make_lesson, const std::string& settings = "{}");
// The rows that such a run trains on.
std::shared_ptr<RowDataset> training_rows(models::CausalLM& model, const Tokenizer& tokenizer, const Data& data,
                                          const FinetuneOptions& options);

}  // namespace dyadic::inline v1::tune
