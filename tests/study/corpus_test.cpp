// Corpora: which files are read, what is refused and how it is said, the split, the entropy, the batches and windows.
#include "study/corpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "dyadic/error.h"
#include "study/corpus_files.h"

namespace dyadic::study {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("dyadic_corpus_test_" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
  std::string str() const { return path.string(); }
};

std::string message(const std::vector<std::string>& paths, TokenKind tokens = TokenKind::bytes) {
  try {
    Corpus::load(paths, tokens);
  } catch (const ValueError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "no error";
}

std::string text_of(const Corpus& c) {
  std::vector<int64_t> ids(size_t(c.size()));
  c.copy(0, c.size(), ids.data());
  return c.vocabulary().decode(ids);
}

TEST(Corpus, FoldersInTheOrderOfPaths) {
  const Folder f;
  f.write("b.txt", "B");
  f.write("a/z.txt", "Z");
  f.write("a/b/c.md", "C");
  f.write("a.txt", "A");  // '.' sorts before '/'
  f.write(".hidden", "H");
  f.write(".git/config", "G");
  f.write("picture.png", std::string("P\0NG", 4));
  fs::create_symlink(f.path / "nowhere", f.path / "dangling");
  fs::create_symlink(f.path / "a", f.path / "link");  // not followed
  const Corpus c = Corpus::load(std::vector{f.str()}, TokenKind::bytes);
  EXPECT_EQ(text_of(c), "ACZB");
  ASSERT_EQ(c.info().files.size(), 4u);
  EXPECT_EQ(c.info().files[1].path, f.str() + "/a/b/c.md");
  EXPECT_EQ(c.info().files[1].bytes, 1);
  ASSERT_EQ(c.info().notes.size(), 2u);
  EXPECT_EQ(c.info().notes[0], f.str() + "/dangling was left out: No such file or directory");
  EXPECT_EQ(c.info().notes[1], f.str() + "/picture.png was left out: not text, it has a NUL byte at offset 1");
  EXPECT_EQ(c.info().source, f.str());
}

TEST(Corpus, ExplicitFilesAsGivenAndOnce) {
  const Folder f;
  const std::string b = f.write("b", "B"), a = f.write("a", "A"), hidden = f.write(".h", "H");
  const Corpus c = Corpus::load(std::vector{b, hidden, f.str(), b}, TokenKind::bytes);
  EXPECT_EQ(text_of(c), "BHA");  // the folder's b is known already
  ASSERT_EQ(c.info().notes.size(), 2u);
  EXPECT_EQ(c.info().notes[1], b + " is named twice and read once");
}

TEST(Corpus, BadInputIsNamed) {
  const Folder f;
  const std::string binary = f.write("x.bin", std::string("ab\0", 3)), empty = f.write("empty", ""),
                    broken = f.write("t.txt", "ab\xc3(");
  EXPECT_EQ(message({f.str() + "/none"}),
            "data: no such file or folder: " + f.str() + "/none; give the path of a text file or of a folder of them");
  EXPECT_EQ(message({""}), "data: no such file or folder: \"\"; give the path of a text file or of a folder of them");
  EXPECT_EQ(message({binary}), "data: the file cannot be used: " + binary +
                                   ": not text, it has a NUL byte at offset 2; give a text file that you may read");
  EXPECT_EQ(message({empty}), "data: there is no text in: " + empty + "; give text files or folders that hold some");
  EXPECT_EQ(message({broken}, TokenKind::chars),
            "data: the text is not UTF-8: " + broken + " is broken at byte 2; use --tokens bytes");
  EXPECT_EQ(message({broken}), "no error");
  EXPECT_EQ(
      message({f.str() + "/evil\x1b[2J\n"}),
      "data: no such file or folder: " + f.str() + "/evil\uFFFD[2J\uFFFD; give the path of a text file or of a folder of them");
  if (fs::exists("/proc/self/mem")) {  // opens, but reading its first page fails, for root too
    EXPECT_EQ(message({"/proc/self/mem"}),
              "data: the file cannot be used: /proc/self/mem: Input/output error; give a text file that you may read");
  }
}

TEST(Corpus, BrokenCharactersDoNotHideBehindTheNextFile) {
  const Folder f;
  const std::string a = f.write("a", "x\xc3"), b = f.write("b", "\xa9y");  // together a valid é
  EXPECT_EQ(message({a, b}, TokenKind::chars),
            "data: the text is not UTF-8: " + a + " is broken at byte 1; use --tokens bytes");
}

TEST(Corpus, ManyNotesAreShortened) {
  const Folder f;
  for (int i = 0; i < 30; ++i) f.write("b" + std::to_string(i), std::string(1, '\0'));
  f.write("z", "text");
  const Corpus c = Corpus::load(std::vector{f.str()}, TokenKind::bytes);
  ASSERT_EQ(c.info().notes.size(), 21u);
  EXPECT_EQ(c.info().notes.back(), "and 10 more like these");
}

TEST(Corpus, SplitHashAndEntropy) {
  const Corpus c = Corpus::from_text(std::string(95, 'x') + "aabbc", TokenKind::bytes);  // validation: xxxxxaabbc
  EXPECT_EQ(c.train_size(), 90);
  EXPECT_EQ(c.val_size(), 10);
  const double expected = -(0.5 * std::log(0.5) + 2 * 0.2 * std::log(0.2) + 0.1 * std::log(0.1));
  EXPECT_NEAR(c.info().unigram_nats, expected, 1e-12);
  EXPECT_EQ(c.info().unigram_token_nats, c.info().unigram_nats);
  EXPECT_EQ(Corpus::from_text("abc", TokenKind::bytes).info().sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (int64_t n : {2, 9, 10, 11, 19, 1'115'394}) {
    EXPECT_EQ(Corpus::from_text(std::string(size_t(n), 'x'), TokenKind::bytes).train_size(), n * 9 / 10) << n;
  }
}

TEST(Corpus, Characters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += i < 90 ? "ab" : "é中";
  const Corpus c = Corpus::from_text(text, TokenKind::chars);
  EXPECT_EQ(c.size(), 200);
  EXPECT_EQ(c.vocabulary().size(), 4);
  EXPECT_EQ(text_of(c), text);
  EXPECT_EQ(c.info().bytes, int64_t(text.size()));
  EXPECT_NEAR(c.info().unigram_token_nats, std::log(2), 1e-12);
  EXPECT_NEAR(c.info().unigram_nats, std::log(5), 1e-12);  // five different bytes, equally often
  std::string many;
  for (char32_t x = 0x4E00; x < 0x4E00 + 300; ++x) append_utf8(many, x);
  EXPECT_EQ(text_of(Corpus::from_text(many, TokenKind::chars)), many);  // ids beyond a byte
}

TEST(Corpus, TooShort) {
  const Corpus c = Corpus::from_text(std::string(800, 'x'), TokenKind::bytes, "x.txt");
  c.require(64, 11);
  try {
    c.require(64, 12);
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(),
                 "data: fewer tokens than one batch: the training part of x.txt is 720 tokens, a batch of 12 windows of 64 "
                 "takes 769; give "
                 "more text or a smaller preset");
  }
  EXPECT_THROW(Corpus::from_text("x", TokenKind::bytes).require(1, 1), ValueError);
  EXPECT_THROW(TextBatches(c, 64, 12, 0), ValueError);
}

TEST(Corpus, Builtin) {
  const Corpus c = Corpus::load({}, TokenKind::bytes);
  EXPECT_EQ(c.info().source, "built-in");
  EXPECT_GE(c.size(), 200'000);
  EXPECT_LE(c.size(), 1'000'000);
  EXPECT_EQ(text_of(c), Corpus::builtin_text());
  EXPECT_GT(c.info().unigram_nats, 2.5);
  EXPECT_LT(c.info().unigram_nats, 4);
  Corpus::load({}, TokenKind::chars);  // valid UTF-8
}

Corpus counting(int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) text += char(uint8_t(i % 251));
  return Corpus::from_text(text, TokenKind::bytes);
}

TEST(Batches, DependOnSeedAndStepAlone) {
  const Corpus c = counting(10'000);
  const TextBatches a(c, 32, 7, 5), b(c, 32, 7, 5), other(c, 32, 7, 6);
  b.start(123, 3);
  std::set<int64_t> starts;
  int equal = 0;
  for (int64_t step : {0, 1, 2, 1000, 1 << 30}) {
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_EQ(a.start(step, i), b.start(step, i));
      equal += a.start(step, i) == other.start(step, i);
      starts.insert(a.start(step, i));
    }
  }
  EXPECT_GT(starts.size(), 32u);
  EXPECT_LT(equal, 3);
}

TEST(Batches, StayInTrainingAndCoverIt) {
  const Corpus c = counting(1000);  // 900 to train
  const TextBatches b(c, 32, 4, 1);
  int64_t lo = 900, hi = 0;
  double sum = 0;
  for (int64_t step = 0; step < 5000; ++step) {
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t at = b.start(step, i);
      lo = std::min(lo, at), hi = std::max(hi, at);
      sum += double(at);
    }
  }
  EXPECT_EQ(lo, 0);
  EXPECT_EQ(hi, 867);  // the last target is the last training token, 867 + 32
  EXPECT_NEAR(sum / 20'000, 433.5, 4 * 250.6 / std::sqrt(20'000));
}

TEST(Batches, TargetsAreInputsShifted) {
  const Corpus c = counting(5000);
  const TextBatches b(c, 16, 3, 9);
  std::vector<int64_t> inputs(48), targets(48);
  b.fill(17, inputs.data(), targets.data());
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(inputs[size_t(row) * 16], b.start(17, row) % 251);
    for (int t = 0; t < 16; ++t) EXPECT_EQ(targets[size_t(row * 16 + t)], (inputs[size_t(row * 16 + t)] + 1) % 251);
  }
}

TEST(Batches, OneWindowOnly) {
  const Corpus c = counting(100);  // 90 to train: block 89 fits once
  const TextBatches b(c, 89, 1, 0);
  for (int64_t step = 0; step < 20; ++step) EXPECT_EQ(b.start(step, 0), 0);
}

TEST(ValidationWindows, CoverEveryTokenOnce) {
  for (int64_t n : {20, 100, 639, 640, 641, 650, 1000}) {
    const Corpus c = counting(n);
    const std::vector<Window> windows = validation_windows(c, 8);
    int64_t next = c.train_size();
    for (const Window& w : windows) {
      EXPECT_EQ(w.begin, next);
      EXPECT_GT(w.length, 0);
      EXPECT_LE(w.length, 8);
      next += w.length;
    }
    EXPECT_EQ(next, c.size() - 1) << n;  // the last token is a target
    for (size_t i = 0; i + 1 < windows.size(); ++i) EXPECT_EQ(windows[i].length, 8);
  }
}

}  // namespace
}  // namespace dyadic::study
