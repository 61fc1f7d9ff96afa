// The records themselves: calls that must fail, with their exact text; documentation; what they skip.
#include <algorithm>

#include "corridor/signature.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

void check_bad(Op op, DType dtype, Layout) {
  for (const std::string& line : lines_of(op_def(op).bad)) {
    SCOPED_TRACE(line);
    const size_t arrow = line.find(" => ");
    ASSERT_NE(arrow, line.npos) << "a line is `call => text`";
    Case c{Case::Kind::plain, parse_sample(std::string_view(line).substr(0, arrow))};
    EXPECT_EQ(run(c, make_inputs(c, dtype)).error, line.substr(arrow + 4));
    compared();
  }
}

void check_record(Op op, DType, Layout) {
  const OpDef& def = op_def(op);
  const Signature& sig = signature(op);
  EXPECT_EQ(sig.name, op_name(op));
  compared();
  EXPECT_FALSE(std::string_view(def.doc).empty()) << "no documentation";
  EXPECT_FALSE(cases(op).empty()) << "no call to test it with: give the record samples";
  EXPECT_LE(sig.parameters.size(), size_t(kMaxArgs));
  EXPECT_LE(sig.returns.size(), size_t(kMaxOutputs));
  for (const std::string& alias : aliases(op)) EXPECT_EQ(find_op(alias), op) << alias << " is another op's name or alias";
  for (const Parameter& p : sig.parameters) EXPECT_NO_THROW(default_argument(p)) << p.name;
  for (const std::string& line : lines_of(def.skip)) {
    const std::string check = line.substr(0, line.find(": "));
    const auto& known = check_names();
    const std::string_view words[] = {"second_output", "layout_bits",   "result_dtype",   "integer_values",
                                      "torch_digits",  "torch_special", "torch_gradients"};
    EXPECT_TRUE(std::ranges::find(words, check) != std::end(words) ||
                std::find(known.begin(), known.end(), check) != known.end())
        << "skip: no such check: " << line;
    EXPECT_NE(line.find(": "), line.npos) << "skip: a line is `check: reason`: " << line;
  }
}

bool has_bad(Op, const OpDef& def) { return *def.bad; }

[[maybe_unused]] const bool kRecordAdded = add_check({"bad", {"f32"}, {Layout::contiguous}, has_bad, check_bad, kOnce}) &&
                                           add_check({"record", {"f32"}, {Layout::contiguous}, always, check_record, kOnce});

TEST(OpSuiteLanguage, ReadsWhatRecordsWrite) {
  Sample s = parse_sample("cat([randn(2, 3), zeros(0)], -1)");
  EXPECT_EQ(s.op, Op::cat_);
  ASSERT_EQ(s.args.size(), 2u);
  EXPECT_EQ(s.args[0].list[1].text, "zeros");
  EXPECT_EQ(s.args[1].integer, -1);
  s = parse_sample("layer_norm(randn(3; wide), [3], None, rand(), 1e-05)");
  EXPECT_TRUE(s.args[0].wide);
  EXPECT_EQ(s.args[2].kind, Value::Kind::none);
  EXPECT_TRUE(s.args[3].shape.empty());
  EXPECT_EQ(s.args[4].real, 1e-5);
  for (const char* wrong : {"", "add", "add(", "add(randn(2)", "add(randn(2),)", "add(randn(x))", "add(1..2)", "add('a)",
                            "add() x", "nothing(1)", "add(randn(2; far))"})
    EXPECT_THROW(parse_sample(wrong), Error) << wrong;
}

TEST(OpSuiteLanguage, EveryOpHasItsPlace) {
  EXPECT_GT(kOps, 100);
  EXPECT_GT(check_names().size(), 10u);
}

}  // namespace
}  // namespace dyadic::op_suite
