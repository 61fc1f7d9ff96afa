#include "cli/files.h"

#include <filesystem>

#include "base/check.h"
#include "dyadic/interrupt.h"
#include "dyadic/model_files.h"

namespace dyadic::inline v1::cli {

void expect_model(const std::string& path, std::string_view or_else) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || models::is_model(path)) return;
  fail<ValueError>(
      "{}: there is no model in this folder: expected config.json with weights (model.safetensors, or its index) and "
      "tokenizer.json, or a .gguf file{}",
      path, or_else);
}

void Steps::step() {
  if (interrupted()) throw Stopped{};
  if (!progress_ && std::chrono::steady_clock::now() - begin_ > std::chrono::seconds(2)) {
    progress_ = std::make_unique<train::Progress>();
    progress_->begin(name_, total_, done_);
  }
  if (progress_) progress_->step(done_);
  ++done_;
}

Steps::~Steps() {
  if (progress_) progress_->end();
}

std::string dtype_text(const io::TensorInfo& t) { return t.dtype ? t.dtype.name() : t.stored; }

int64_t elements(const io::TensorInfo& t) {
  int64_t n = 1;
  for (int64_t size : t.shape)
    if (__builtin_mul_overflow(n, size, &n)) return 0;  // of a dtype that nothing here holds
  return n;
}

std::pair<std::string, std::string> parse_rule(const std::string& text) {
  const size_t at = text.rfind('=');
  // A dtype has "=" only within its parentheses: w*=nf4(block=64).
  const size_t open = text.find('(');
  const size_t cut = open == text.npos ? at : text.rfind('=', open);
  DY_CHECK_AS(ValueError, cut != text.npos && cut > 0,
              "{} is no rule; write 'NAME=FORMAT', '*.norm.weight=f32' or 'lm_head.*=keep'", text);
  std::pair<std::string, std::string> rule{text.substr(0, cut), text.substr(cut + 1)};
  if (rule.second != "keep") DType::parse(rule.second);
  return rule;
}

}  // namespace dyadic::inline v1::cli
