// Which files the --data arguments mean, and their text.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "dyadic/study_result.h"

namespace dyadic::inline v1::study {

struct CorpusText {
  std::string text;               // of all files, one after the other
  std::vector<CorpusFile> files;  // in that order
  std::vector<std::string> notes;
};
CorpusText read_corpus_files(std::span<const std::string> paths);

// A path as text that can stand in a message or a report: control characters and broken UTF-8 become U+FFFD.
std::string printable(std::string_view text);

}  // namespace dyadic::inline v1::study
