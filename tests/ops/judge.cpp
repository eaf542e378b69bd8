// SPDX-License-Identifier: Apache-2.0
// Running and judging of backend tests.
#include "tests/ops/judge.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "tandem/base/file.hpp"
#include "tandem/onnx_io/onnx_io.hpp"
#include "tandem/tensor/compare.hpp"

namespace tandem::ops {
namespace {

namespace fs = std::filesystem;

// input_0.pb, input_1.pb, ... as far as they exist.
std::vector<std::string> numbered_files(const fs::path& directory, const std::string& stem) {
  std::vector<std::string> files;
  for (int i = 0;; ++i) {
    const fs::path path = directory / (stem + "_" + std::to_string(i) + ".pb");
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return files;
    files.push_back(path.string());
  }
}

std::vector<std::string> data_sets(const fs::path& test) {
  std::vector<std::string> sets;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(test, ignored)) {
    if (entry.path().filename().string().rfind("test_data_set_", 0) == 0)
      sets.push_back(entry.path().string());
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& files) {
  std::vector<Tensor> tensors;
  for (const std::string& file : files) {
    tensors.push_back(
        TANDEM_TRY(onnx_io::tensor_from_proto_file(file).context(fs::path(file).filename().string())));
  }
  return tensors;
}

struct Tolerance {
  double rtol = kRelativeTolerance;
  double atol = kAbsoluteTolerance;

  // ONNX's own runner allows two steps of bfloat16's 8 bits. The same for float16's 11: an operator written
  // out as a function rounds after every node, in an order that is the author's.
  double rtol_of(DType dtype) const {
    if (dtype == DType::kBF16) return std::max(rtol, 0x1p-6);
    return dtype == DType::kF16 ? std::max(rtol, 0x1p-9) : rtol;
  }
};

// A test may bring its own (tests/ops/write_backend_tests.py).
Result<Tolerance> tolerance_of(const fs::path& test) {
  const std::string path = (test / "tolerance.json").string();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Tolerance{};
  const std::string text = TANDEM_TRY(read_file(path));
  const Json stated = TANDEM_TRY(Json::parse(text));
  return Tolerance{.rtol = stated["rtol"].as_number(kRelativeTolerance),
                   .atol = stated["atol"].as_number(kAbsoluteTolerance)};
}

Status compare_outputs(const std::vector<Tensor>& expected, const std::vector<Tensor>& actual,
                       const Tolerance& tolerance) {
  if (expected.size() > actual.size()) {
    return Error(ErrorCode::kGateFailed,
                 fmt::format("{} outputs, expected {}", actual.size(), expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string which = fmt::format("output {}", i);
    if (expected[i].dtype() != actual[i].dtype()) {
      return Error(ErrorCode::kGateFailed,
                   fmt::format("{} is {}, expected {}", which, to_string(actual[i].dtype()),
                               to_string(expected[i].dtype())));
    }
    TANDEM_TRY(all_close(expected[i], actual[i], tolerance.rtol_of(expected[i].dtype()), tolerance.atol)
                   .context(which));
  }
  return {};
}

// Tests of Debian's data (ONNX 1.12) that contradict their own model, and how; nobody can pass them as they
// are. ONNX 1.23 has mended all five: its adam model states epsilon 0.01, and 'like' is declared with the
// shape that it has.
struct WrongTest {
  std::string_view name, reason;
};
constexpr WrongTest kWrongTests[] = {
    {"node/test_adam_multiple", "the outputs are those of epsilon 0.01, the model says nothing (1e-6)"},
    {"node/test_castlike_BFLOAT16_to_FLOAT", "the data of 'like' have shape [1], the model says [3,4]"},
    {"node/test_castlike_BFLOAT16_to_FLOAT_expanded",
     "the data of 'like' have shape [1], the model says [3,4]"},
    {"node/test_castlike_FLOAT_to_BFLOAT16", "the data of 'like' have shape [1], the model says [3,4]"},
    {"node/test_castlike_FLOAT_to_BFLOAT16_expanded",
     "the data of 'like' have shape [1], the model says [3,4]"},
};

// NumPy has no bfloat16: the data files store its bits as u16.
void take_bits_of_bf16(Tensor& t, DType wanted) {
  if (wanted != DType::kBF16 || t.dtype() != DType::kU16) return;
  Tensor bits(DType::kBF16, t.shape());
  std::memcpy(bits.data(), t.data(), t.size_bytes());
  t = std::move(bits);
}

Status run_data_set(const std::string& directory, const ir::Graph& graph, const Executor& executor,
                    const Tolerance& tolerance) {
  std::vector<Tensor> inputs = TANDEM_TRY(read_tensors(numbered_files(directory, "input")));
  std::vector<Tensor> expected = TANDEM_TRY(read_tensors(numbered_files(directory, "output")));
  for (size_t i = 0; i < std::min(inputs.size(), graph.inputs.size()); ++i) {
    take_bits_of_bf16(inputs[i], graph.value(graph.inputs[i]).dtype);
  }
  const std::vector<Tensor> actual = TANDEM_TRY(executor.run(graph, inputs));
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    take_bits_of_bf16(expected[i], actual[i].dtype());
  }
  return compare_outputs(expected, actual, tolerance);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void conclude(Verdict& verdict, const Error& error) {
  verdict.outcome = error.code() == ErrorCode::kUnsupported ? Outcome::kRefused : Outcome::kFail;
  verdict.reason = first_line(error.what());
  const size_t path_end = verdict.reason.find("model.onnx': ");
  if (path_end != std::string::npos) verdict.reason.erase(0, path_end + std::strlen("model.onnx': "));
  if (!error.because_text().empty()) verdict.reason += ": " + first_line(error.because_text());
}

// A failure of a test that is known to be wrong is a refusal; newer data may have mended it, and then it
// passes.
void excuse(Verdict& verdict) {
  for (const WrongTest& wrong : kWrongTests) {
    if (verdict.set + "/" + verdict.test != wrong.name) continue;
    verdict.outcome = Outcome::kRefused;
    verdict.reason = "wrong test: " + std::string(wrong.reason);
  }
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "pass";
    case Outcome::kFail: return "FAIL";
    case Outcome::kRefused: return "refused";
  }
  return "?";
}

std::vector<std::string> list_tests(const std::string& data_dir, const std::string& set,
                                    const std::string& filter) {
  std::vector<std::string> tests;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(data_dir) / set, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(filter) != std::string::npos && fs::exists(entry.path() / "model.onnx", ignored))
      tests.push_back(name);
  }
  std::sort(tests.begin(), tests.end());
  return tests;
}

Verdict judge(const std::string& data_dir, const std::string& set, const std::string& test,
              const Executor& executor) {
  Verdict verdict;
  verdict.set = set;
  verdict.test = test;
  const fs::path directory = fs::path(data_dir) / set / test;
  const std::string model_path = (directory / "model.onnx").string();
  if (const auto bytes = read_file(model_path)) verdict.names = model_names(*bytes);
  const auto model = onnx_io::load_model(model_path);
  if (!model) {
    conclude(verdict, model.error());
    return verdict;
  }
  if (!model->report.opaque_ops.empty()) {
    verdict.outcome = Outcome::kRefused;
    verdict.reason = model->report.opaque_ops.front();
    return verdict;
  }
  const std::vector<std::string> sets = data_sets(directory);
  if (sets.empty()) {
    verdict.reason = "the test has no data";
    return verdict;
  }
  const auto tolerance = tolerance_of(directory);
  if (!tolerance.ok()) {
    conclude(verdict, tolerance.error());
    return verdict;
  }
  for (const std::string& data_set : sets) {
    const Status status = run_data_set(data_set, model->graph, executor, *tolerance);
    if (!status.ok()) {
      conclude(verdict, status.error());
      excuse(verdict);
      return verdict;
    }
  }
  verdict.outcome = Outcome::kPass;
  return verdict;
}

std::map<std::string, Counts> count(const std::vector<Verdict>& verdicts) {
  std::map<std::string, Counts> counts;
  for (const Verdict& v : verdicts) {
    Counts& c = counts[v.set];
    ++(v.outcome == Outcome::kPass ? c.pass : v.outcome == Outcome::kFail ? c.fail : c.refused);
  }
  return counts;
}

Status gate(const std::vector<Verdict>& verdicts, const std::map<std::string, int>& floors) {
  std::string failed;
  for (const Verdict& v : verdicts) {
    if (v.outcome == Outcome::kFail)
      failed += fmt::format("{}{}/{}", failed.empty() ? "" : ", ", v.set, v.test);
  }
  if (!failed.empty())
    return Error(ErrorCode::kGateFailed, "tests of supported operators fail").because(failed);
  std::map<std::string, Counts> counts = count(verdicts);
  for (const auto& entry : floors) {
    const int pass = counts[entry.first].pass;
    if (pass >= entry.second) continue;
    return Error(ErrorCode::kGateFailed, fmt::format("only {} tests of set '{}' pass", pass, entry.first))
        .because(fmt::format("{} passed before", entry.second));
  }
  return {};
}

Json to_json(const std::vector<Verdict>& verdicts) {
  Json tests = Json::array();
  for (const Verdict& v : verdicts) {
    Json operators = Json::array();
    for (const std::string& name : v.names.operators) operators.push(name);
    tests.push(Json::object({{"set", v.set},
                             {"test", v.test},
                             {"outcome", to_string(v.outcome)},
                             {"reason", v.reason},
                             {"opset", v.names.opset},
                             {"operators", std::move(operators)}}));
  }
  Json sets = Json::object();
  for (const auto& entry : count(verdicts)) {
    sets.set(entry.first, Json::object({{"pass", entry.second.pass},
                                        {"fail", entry.second.fail},
                                        {"refused", entry.second.refused}}));
  }
  return Json::object({{"sets", std::move(sets)}, {"tests", std::move(tests)}});
}

}  // namespace tandem::ops
