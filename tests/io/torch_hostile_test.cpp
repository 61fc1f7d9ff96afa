// Files of torch.save and zips that are not what they say: an error in one line, nothing run, nothing allocated that is not
// there.
#include "io/pickle.h"
#include "io/torch_reader.h"
#include "tests/io/helpers.h"
#include "tests/test_data.h"

namespace dyadic::testing {
namespace {

using io::Value;

std::string text_of(const std::string& s) { return std::string("X") + char(s.size()) + std::string(3, '\0') + s; }

// A zip of torch.save with this pickle and 16 bytes of memory, called 0.
std::string zip_of(const Folder& f, const std::string& pickle) {
  io::ZipWriter out("test", f / "x.pt");
  out.add("x/data.pkl", {pickle});
  out.add("x/data/0", {"0123456789abcdef"});
  out.commit();
  return f / "x.pt";
}
std::string error_for(const std::string& pickle) {
  const Folder f;
  const std::string path = zip_of(f, pickle);
  const std::string text = error_of([&] { io::load_torch(path); });
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}
std::string storage(int count, const std::string& key = "0") {
  return "(" + text_of("storage") + "ctorch\nFloatStorage\n" + text_of(key) + text_of("cpu") + "K" + char(count) + "tQ";
}
std::string tensor(const std::string& memory, const std::string& rest) {
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n(" +
         memory + rest + "tR.";
}

TEST(TorchHostile, TensorsBeyondTheirMemory) {
  const std::string end = "\x89N";
  EXPECT_EQ(error_for(tensor(storage(4), "K\1K\3\x85K\1\x85" + end)), "no error");
  EXPECT_EQ(error_for(tensor(storage(4), "K\2K\3\x85K\1\x85" + end)),
            "a tensor reaches beyond its memory: f32 [3] with strides [1] from element 2 of 4 in memory \"0\"");
  EXPECT_EQ(error_for(tensor(storage(4), std::string("K\0", 2) + "K\3\x85K\2\x85" + end))
                .substr(0, sizeof "a tensor reaches beyond its memory" - 1),
            "a tensor reaches beyond its memory");
  const std::string huge = "\x8a\x08" + std::string("\0\0\0\0\0\0\0\x40", 8);  // 2^62
  EXPECT_EQ(error_for(tensor(storage(4), "K\1" + huge + huge + "\x86" + huge + "K\1\x86" + end))
                .substr(0, sizeof "a tensor reaches beyond its memory" - 1),
            "a tensor reaches beyond its memory");
  EXPECT_EQ(error_for(tensor(storage(4), std::string("K\0", 2) + huge + "\x85K\1\x85" + end))
                .substr(0, sizeof "a tensor reaches beyond its memory" - 1),
            "a tensor reaches beyond its memory");
  EXPECT_NE(error_for(tensor(storage(4), std::string("J\xff\xff\xff\xff", 5) + "K\1\x85K\1\x85" + end)), "no error");
  EXPECT_EQ(error_for(tensor(storage(5), "K\1K\3\x85K\1\x85" + end)),
            "memory \"0\" has 16 bytes, not the 20 of 5 elements of f32");
  EXPECT_EQ(error_for(tensor(storage(4, "../0"), "K\1K\3\x85K\1\x85" + end)), "memory \"../0\" is not there");
  EXPECT_EQ(error_for(tensor(storage(4), "K\1K\3\x85]" + end)),
            "data.pkl: byte " + std::to_string(tensor(storage(4), "K\1K\3\x85]" + end).size() - 2) +
                ": torch._utils._rebuild_tensor_v2 is called with arguments that it does not take");
}

TEST(TorchHostile, NothingIsRun) {
  EXPECT_EQ(error_for("cos\nsystem\n(S'touch /tmp/never'\ntR."),
            "it asks for \"os.system\", which is no data and is not run; save the model's state_dict() instead");
  EXPECT_EQ(error_for("(S'x'\nios\nsystem\n.").substr(0, 24), "it asks for \"os.system\",");
  EXPECT_EQ(error_for("\x80\x04\x8c\x02os\x8c\x06system\x93)R.").substr(0, 24), "it asks for \"os.system\",");
  EXPECT_EQ(error_for("\x80\x02\x82\x01."), "data.pkl: byte 2: it names classes by the numbers of one program's registry");
  EXPECT_EQ(error_for("c_codecs\nencode\n(" + text_of("x") + text_of("rot13") + "tR.").substr(0, 8), "data.pkl");
}

TEST(TorchHostile, PicklesThatEndOrTurn) {
  const std::pair<std::string, std::string> bad[] = {
      {"", "data.pkl: byte 0: 1 bytes are wanted, 0 are there"},
      {".", "data.pkl: byte 0: a value is wanted, none is there"},
      {"a.", "data.pkl: byte 0: a value is wanted, none is there"},
      {"t.", "data.pkl: byte 0: a mark is wanted, none is there"},
      {"(a.", "data.pkl: byte 1: a value is wanted, none is there"},
      {"NNa.", "data.pkl: byte 2: items for what is no list or set"},
      {"N(NNu.", "data.pkl: byte 4: entries for what is no dict"},
      {"}(Nu.", "data.pkl: byte 3: a key without its value"},
      {"h\1.", "data.pkl: byte 0: value 1 is wanted before it is there"},
      {"X\xff\xff\xff\xff.", "data.pkl: byte 0: 4294967295 bytes are wanted, 1 are there"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "data.pkl: byte 0: 18446744073709551615 bytes are wanted, 1 are there"},
      {std::string("X\1\0\0\0\xff.", 7), "data.pkl: byte 0: a text is not UTF-8"},
      {"\x80\x06N.", "data.pkl: byte 0: protocol 6; 0 to 5 are known"},
      {"\xff.", "data.pkl: byte 0: an unknown opcode: 0xff"},
      {"I12x\n.", "data.pkl: byte 0: \"12x\" is no integer"},
      {"Np77777777777777777777\n.", "data.pkl: byte 1: what is to be a place in the memo is none"},
      {"Np-1\n.", "data.pkl: byte 1: what is to be a place in the memo is none"},
      {"Ng77777777777777777777\n.", "data.pkl: byte 1: what is to be a place in the memo is none"},
      {"Nb.", "data.pkl: byte 1: a value is wanted, none is there"},
      {"NQ.", "data.pkl: byte 1: a reference to something outside that is no memory of tensors"},
      {"]q\1h\1a.", "data.pkl: byte 6: a value contains itself"},
      {"K\1)R.", "data.pkl: byte 3: something is called that is no class or function"},
  };
  for (auto& [pickle, why] : bad) EXPECT_EQ(error_for(pickle), why) << pickle;
}

TEST(TorchHostile, DepthAndCopies) {
  const auto nested = [](size_t n) { return std::string(n, ']') + std::string(n - 1, 'a') + "."; };
  EXPECT_EQ(error_for(nested(200)), "no error");
  EXPECT_EQ(error_for(nested(300)).substr(15), "599: lists are nested deeper than 256");
  EXPECT_NE(error_for(nested(300000)), "no error");
  EXPECT_EQ(error_for("]" + std::string(300000, '\x85') + "]."), "no error");  // left on the stack
  EXPECT_NE(error_for("]" + std::string(300000, ')') + std::string(299999, '\x86')), "no error");
  // Each list holds the one before twice: 2^100 leaves in 100 lists.
  std::string doubled = "]q\0", path;
  doubled = std::string("]q\0", 3);
  for (int i = 1; i < 100; ++i) doubled += std::string("](h") + char(i - 1) + "h" + char(i - 1) + "eq" + char(i);
  EXPECT_EQ(error_for(doubled + "."), "no error");
  const Folder f;
  EXPECT_EQ(io::TorchReader(io::MappedFile::open(zip_of(f, doubled + "."))).root().items().size(), 2u);
  // A long text copied for each few bytes.
  std::string copies =
      "(c_codecs\nencode\nq\1" + std::string("X\0\0\1\0", 5) + std::string(65536, 'x') + "q\2" + text_of("latin1") + "q\3";
  for (int i = 0; i < 2000; ++i) copies += "h\1h\2h\3\x86R";
  EXPECT_EQ(error_for(copies + "l.").substr(0, 8), "data.pkl");
}

// Cut and changed here and there (the fuzzer tries the rest): an error, or values; never anything else. Memory is the
// sanitizers' affair.
TEST(TorchHostile, CutAndChangedFiles) {
  const Folder f;
  for (const char* name : {"torch_little.pt", "torch_big.pt", "torch_optimizer_legacy.pt", "torch_quantized.pt"}) {
    const std::string whole = read_bytes(test_data(std::string("io/data/") + name));
    const auto attempt = [&](const std::string& bytes) {
      write_bytes(f / "x.pt", bytes);
      try {
        io::load_torch(f / "x.pt");
        const auto file = io::TorchReader(io::MappedFile::open(f / "x.pt")).root();
        return true;
      } catch (const Error& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with(f / "x.pt")) << e.what();
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
        return false;
      }
    };
    for (size_t n = 0; n < whole.size(); n += 61) EXPECT_FALSE(attempt(whole.substr(0, n))) << name << " " << n;
    for (size_t i = 0; i < whole.size(); i += 23) {
      std::string changed = whole;
      changed[i] = char(changed[i] ^ (1 << i % 8));
      attempt(changed);
    }
  }
}

}  // namespace
}  // namespace dyadic::testing
