// What the subcommands about files of tensors share.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "dyadic/convert.h"
#include "dyadic/progress.h"

namespace dyadic::inline v1::cli {

// ValueError where the path is a folder and no language model lies in it; what else it may be is for its reader to say.
void expect_model(const std::string& path, std::string_view or_else = {});

// Progress on standard error of what turns out to take longer than two seconds.
class Steps {
  std::string name_;
  int64_t total_, done_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::unique_ptr<train::Progress> progress_;

 public:
  Steps(std::string name, size_t total) : name_(std::move(name)), total_(int64_t(total)) {}
  ~Steps();
  void step();  // before each tensor; throws Stopped after Ctrl-C
};
struct Stopped {};

std::string dtype_text(const io::TensorInfo& t);  // "bf16"; the file's word for what is no dtype here
int64_t elements(const io::TensorInfo& t);

// "NAME=FORMAT", a name with * and ? and the text of a dtype or "keep"; ValueError.
std::pair<std::string, std::string> parse_rule(const std::string& text);

}  // namespace dyadic::inline v1::cli
