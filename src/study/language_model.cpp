// A language model as it was loaded, its weights in every format, by rounding to nearest and by other methods.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "dyadic/interrupt.h"
#include "dyadic/quant.h"
#include "dyadic/tokenizer.h"
#include "dyadic/version.h"
#include "study/conclude.h"
#include "study/corpus.h"
#include "study/corpus_files.h"
#include "study/evaluate.h"
#include "study/language_text.h"
#include "study/layers.h"
#include "study/recommend.h"
#include "study/report_json.h"
#include "study/request.h"
#include "study/run.h"
#include "study/save_report.h"
#include "study/statistics.h"
#include "study/stored.h"
#include "study/words.h"

namespace dyadic::inline v1::study {
namespace {

namespace fs = std::filesystem;

std::vector<int64_t> tokens_of(const std::string& model, const std::vector<std::string>& data) {
  const std::string text = data.empty() ? std::string(Corpus::builtin_text()) : read_corpus_files(data).text;
  return Tokenizer::load(model).encode(text, false);
}

class Work {
  const std::string path_;
  const LanguageModelOptions& o_;
  train::Progress progress_;
  const double started_ = seconds_now();
  double earlier_ = 0;  // seconds of the study that is gone on with
  const TextWindows text_;
  const models::Model model_;
  LanguageText judged_;
  Study found_;

  StudyResult& s() { return found_.result; }
  std::string file(const char* name) const { return found_.folder + "/" + name; }

  struct Entry {  // a row of the report
    DType format;
    const quant::Method* method = nullptr;  // null: to nearest
    std::string name() const { return method ? format.name() + ", " + method->name() : format.name(); }
  };
  std::vector<Entry> entries_;

  // Everything that can be refused is, before anything is measured.
  void plan() {
    DY_CHECK_AS(ValueError, o_.methods.empty() || !o_.formats.empty(),
                "study: methods take their time for each format; name the formats too");
    for (const std::string& name : weight_formats(*model_, o_.formats)) entries_.push_back({DType::parse(name)});
    for (const std::string& name : o_.methods) {
      const quant::Method& m = quant::method(name);
      if (m.name() == "rtn") continue;
      size_t served = 0;
      for (const std::string& format : o_.formats) {
        const DType d = DType::parse(format);
        if (!m.refuses(d).empty()) continue;
        entries_.push_back({d, &m}), ++served;
      }
      DY_CHECK_AS(ValueError, served > 0, "study: the method {} serves none of the formats: {}", name,
                  m.refuses(DType::parse(o_.formats.front())));
    }
  }

  void describe() {
    s().version = DYADIC_VERSION;
    s().command = o_.command;
    s().model.kind = model_->kind();
    s().model.preset = o_.name;
    s().model.parameters = model_->num_parameters();
    s().measure = {"token", "nats", "", false, false};
    s().options.tolerance = o_.tolerance;
    s().options.minimize = o_.minimize;
    for (const Entry& e : entries_) {
      s().options.formats.push_back(e.name());
      FormatResult f;
      f.name = e.name();
      s().formats.push_back(std::move(f));
    }
    s().notes.push_back(fmt::format(
        "Judged on {} tokens of {}, in windows of {}.", text_.judged * (text_.window - 1),
        o_.data.empty() ? "the text built into the program" : fmt::format("{}", fmt::join(o_.data, ", ")), text_.window));
    if (!o_.methods.empty()) s().notes.push_back("Methods learned from the text before that.");
    s().machine = this_machine();
  }

  void make_folder() {
    found_.folder = o_.out.empty() ? run_folder("study", o_.name, o_.resume) : o_.out;
    const bool there = fs::exists(file("report.json"));
    DY_CHECK_AS(ValueError, o_.resume || !there, "study: {} already holds a report; resume goes on with it", found_.folder);
    check_writable(found_.folder, "out");
    if (!o_.resume) return;
    if (!there) return warn(fmt::format("study: {} has no report yet; the study begins anew", found_.folder));
    std::ifstream in(file("report.json"));
    const StudyResult old = parse_report(std::string(std::istreambuf_iterator<char>(in), {}));
    DY_CHECK_AS(ValueError,
                old.options.formats == s().options.formats && old.notes == s().notes &&
                    old.model.parameters == s().model.parameters && old.model.kind == s().model.kind,
                "study: {} holds a study of another model, text or formats; repeat the options it was begun with, or name "
                "another folder",
                found_.folder);
    s().formats = old.formats;
    earlier_ = std::isfinite(old.seconds) ? old.seconds : 0;
  }

  FormatResult measure(const Reference& reference, const Entry& e) {
    if (!e.method) return evaluate_format(reference, e.format);
    const models::Model other = models::load(path_, {.dtype = f32});
    quant::Batches data(text_.before(o_.calibration));
    quant::quantize(*other, {.weights = e.format, .method = e.method->name(), .calibration = &data});
    return evaluate_stored(reference, *other, e.name());
  }

  void write_report() {
    s().seconds = earlier_ + seconds_now() - started_;
    s().recommendation = recommend(s());
    save_report(s(), found_.folder);
  }

  // False: interrupted.
  bool run_all() {
    progress_.begin("formats", int64_t(entries_.size()));
    const Reference reference = evaluate_reference(judged_, *model_, 1, s().measure);
    for (size_t i = 0; i < entries_.size(); ++i) {
      FormatResult& f = s().formats[i];
      if (interrupted()) return false;
      if (f.status != Status::done) f = judged_or_failed(f.name, [&] { return measure(reference, entries_[i]); });
      if (f.status == Status::running) return false;
      if (f.name == "f32") f.vs_f32 = no_difference();
      progress_.step(int64_t(i) + 1, f.val_loss);
      write_report();
    }
    progress_.end();
    if (o_.per_layer) add_layers(reference, s(), progress_);
    return !interrupted();
  }

 public:
  Work(const std::string& path, const LanguageModelOptions& o)
      : path_(path),
        o_(o),
        progress_(o.progress ? train::Progress::standard_error() : train::Progress::silent()),
        text_(tokens_of(path, o.data), o.window, o.samples),
        model_(models::load(path, {.dtype = f32})),
        judged_(text_, *model_) {}
  Study run() {
    const NoGrad guard;
    plan();
    describe();
    make_folder();
    found_.interrupted = !run_all();
    progress_.end();
    s().complete = !found_.interrupted;
    write_report();
    return std::move(found_);
  }
};

// "models/Qwen3-0.6B/" and "small.gguf" by their last names.
std::string name_of(const std::string& path) {
  const fs::path p = fs::path(path).lexically_normal();
  return (p.has_filename() ? p : p.parent_path()).stem().native();
}

}  // namespace

Study language_model(const std::string& path, const LanguageModelOptions& options) {
  LanguageModelOptions o = options;
  if (o.name.empty()) o.name = name_of(path);
  DY_CHECK_AS(ValueError, o.window >= 2 && o.samples >= 1 && o.calibration >= 1,
              "study: window is {}, samples {}, calibration {}: a window has two tokens, and there is one at least", o.window,
              o.samples, o.calibration);
  check_tolerance("study", o.command.empty() ? "tolerance" : "--tolerance", o.tolerance);
  return Work(path, o).run();
}

}  // namespace dyadic::inline v1::study
