// SPDX-License-Identifier: Apache-2.0
// Goal: the tree keeps the house rules, and each rule is seen to fail on a planted fault. Method: the rules
// are functions over texts (tests/tidy/), so a fault is a small invented tree.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/tidy/tidy.hpp"

namespace tandem::tidy {
namespace {

using Files = std::vector<SourceFile>;

constexpr const char* kTop = "foreach(room base tensor ir testing exec)\nendforeach()\n";
const std::string kStart = "// SPDX-License-Identifier: Apache-2.0\n// A file.\n";

// Three healthy rooms and what is planted among them; a planted file replaces the healthy one of its name.
Files tree_with(const Files& planted) {
  Files files = {
      {"CMakeLists.txt", kTop},
      {"tandem/base/CMakeLists.txt", "tandem_layer(base LINKS x::y)\n"},
      {"tandem/base/a.hpp", kStart + "#pragma once\n#include <fmt/format.h>\n#include <vector>\n"},
      {"tandem/base/log.cpp", kStart + "#include <spdlog/logger.h>\n#include \"tandem/base/a.hpp\"\n"},
      {"tandem/tensor/CMakeLists.txt",
       "# tandem_layer(no DEPENDS exec)\ntandem_layer(tensor\n  DEPENDS base)\n"},
      {"tandem/tensor/t.cpp", kStart + "#include <sys/mman.h>\n#include \"tandem/base/a.hpp\"\n"},
      {"tandem/ir/CMakeLists.txt", "tandem_layer(ir DEPENDS base tensor TEST_DEPENDS testing)\n"},
      {"tandem/ir/i_test.cpp", kStart + "#include <gtest/gtest.h>\n#include \"tandem/testing/g.hpp\"\n"},
      {"tandem/testing/CMakeLists.txt", "tandem_layer(testing DEPENDS base tensor ir)\n"},
      {"tandem/testing/g.hpp",
       kStart + "#pragma once\n#include <gtest/gtest.h>\n#include \"tandem/ir/i.hpp\"\n"},
  };
  for (const SourceFile& file : planted) {
    bool replaced = false;
    for (SourceFile& healthy : files) {
      if (healthy.path != file.path) continue;
      healthy = file;
      replaced = true;
    }
    if (!replaced) files.push_back(file);
  }
  return files;
}

std::string report(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

// The one finding must name the place, the rule and the words.
void expect_one(const Files& planted, const std::string& path, size_t line, const std::string& rule,
                const std::string& words) {
  const std::vector<Finding> findings = check_all(tree_with(planted));
  ASSERT_EQ(findings.size(), 1u) << report(findings) << "wanted: " << words;
  EXPECT_EQ(findings[0].path, path);
  EXPECT_EQ(findings[0].line, line);
  EXPECT_EQ(findings[0].rule, rule);
  EXPECT_NE(findings[0].message.find(words), std::string::npos) << findings[0].message;
}

// A line of code planted in a library source file.
void expect_refused(const std::string& code, const std::string& words) {
  expect_one({{"tandem/tensor/t.cpp", kStart + code + "\n"}}, "tandem/tensor/t.cpp", 3, "banned", words);
}
void expect_allowed(const std::string& path, const std::string& code) {
  EXPECT_EQ(report(check_all(tree_with({{path, kStart + code + "\n"}}))), "");
}

TEST(Tidy, ThisTreeKeepsTheRules) {
  const auto files = read_tree(".");
  ASSERT_TRUE(files.ok()) << files.error().message();
  ASSERT_GT(files->size(), 20u) << "run from the root of the repository";
  std::vector<Finding> refused;
  for (const Finding& finding : check_all(*files)) {
    if (finding.warning) {
      std::printf("%s\n", to_string(finding).c_str());
    } else {
      refused.push_back(finding);
    }
  }
  EXPECT_EQ(report(refused), "");
}

TEST(Tidy, HealthyTreeHasNoFinding) { EXPECT_EQ(report(check_all(tree_with({}))), ""); }

TEST(Tidy, SeesCodeWithoutCommentsAndStrings) {
  EXPECT_EQ(without_comments("a // b\nc /* d\n */ e", false), "a     \nc     \n    e");
  EXPECT_EQ(without_comments("\"a//\\\"b\" 1'000 'x'", true), "\"      \" 1'000 ' '");
  EXPECT_EQ(without_comments("R\"x(a\")b)x\" c", true), "R\"        \" c");
  EXPECT_EQ(without_comments("\"open\nnew", true).substr(6), "new");
}

TEST(TidyRooms, RefusesCycles) {
  const auto findings =
      check_all(tree_with({{"tandem/base/CMakeLists.txt", "tandem_layer(base DEPENDS ir)\n"}}));
  EXPECT_NE(report(findings).find("cycle: rooms depend on each other: base -> ir -> base"), std::string::npos)
      << report(findings);
}

TEST(TidyRooms, RefusesUnknownAndLaterAndUnlistedRooms) {
  const std::string path = "tandem/tensor/CMakeLists.txt";
  expect_one({{path, "tandem_layer(tensor DEPENDS base nowhere)\n"}}, path, 0, "room",
             "'nowhere', which is no room");
  expect_one({{path, "tandem_layer(tensor DEPENDS base TEST_DEPENDS nowhere)\n"}}, path, 0, "room",
             "tests depend on 'nowhere'");
  expect_one({{path, "tandem_layer(shape DEPENDS base)\n"},
              {"CMakeLists.txt", "foreach(room base tensor shape ir testing)\n"}},
             path, 0, "room", "room 'shape' lies in folder 'tensor'");
  expect_one({{"CMakeLists.txt", "foreach(room tensor base ir testing)\n"}}, path, 0, "room", "adds later");
  expect_one({{"tandem/new_one/CMakeLists.txt", "tandem_layer(new_one)\n"}}, "tandem/new_one/CMakeLists.txt",
             0, "room", "does not list room 'new_one'");
  expect_one({{"tandem/exec/CMakeLists.txt", "add_library(x)\n"}}, "tandem/exec/CMakeLists.txt", 0, "room",
             "tandem_layer(");
}

TEST(TidyIncludes, RefusesARoomThatIsNotListed) {
  expect_one({{"tandem/tensor/t.cpp", kStart + "#include \"tandem/ir/i.hpp\"\n"}}, "tandem/tensor/t.cpp", 3,
             "include", "room 'tensor' does not list 'ir'");
  expect_one({{"tandem/ir/i.cpp", kStart + "#include \"tandem/testing/g.hpp\"\n"}}, "tandem/ir/i.cpp", 3,
             "include", "room 'ir' does not list 'testing'");
  expect_one({{"tandem/lost/l.cpp", kStart + "#include \"tandem/base/a.hpp\"\n"}}, "tandem/lost/l.cpp", 3,
             "include", "has no CMakeLists.txt");
  expect_one({{"tandem/tensor/t.cpp", kStart + "#include <tandem/base/a.hpp>\n"}}, "tandem/tensor/t.cpp", 3,
             "include", "with quotes");
  expect_allowed("tandem/tensor/t.cpp", "// #include \"tandem/ir/i.hpp\"");
  expect_allowed("tests/x_test.cpp", "#include \"tandem/ir/i.hpp\"");
}

TEST(TidyIncludes, RefusesThirdPartyOutsideItsRoom) {
  const std::string path = "tandem/tensor/t.cpp";
  for (const char* header :
       {"<dnnl.hpp>", "<nlohmann/json.hpp>", "<gtest/gtest.h>", "<boost/any.hpp>", "\"t.hpp\""}) {
    expect_one({{path, kStart + "#include " + header + "\n"}}, path, 3, "include", "is neither ours");
  }
  expect_one({{"tandem/base/other.cpp", kStart + "#include <spdlog/spdlog.h>\n"}}, "tandem/base/other.cpp", 3,
             "include", "is neither ours");
  expect_one({{"tandem/exec/e.hpp", kStart + "#pragma once\n#include <dnnl.hpp>\n"}}, "tandem/exec/e.hpp", 4,
             "include", "in a .cpp file only");
  expect_allowed("tandem/exec/e.cpp", "#  include <oneapi/dnnl/dnnl.hpp>");
}

TEST(TidyBanned, NamesTheReplacement) {
  expect_refused("using namespace std;", "use qualified names");
  expect_refused("auto* x = new int(3);", "std::make_unique");
  expect_refused("void f() { delete x; }", "let an owner do it");
  expect_refused("void f() { delete[] x; }", "let an owner do it");
  expect_refused("std::normal_distribution<float> d;",
                 "'std::normal_distribution' is not used here: use tandem::Rng");
  expect_refused("std::mt19937 engine;", "tandem::Rng");
  expect_refused("int x = rand ();", "tandem::Rng");
  expect_refused("int x = std::rand();", "tandem::Rng");
  expect_refused("const char* x = std::getenv(\"X\");", "an options struct");
  expect_refused("int x = ::system(\"ls\");", "posix_spawn");
  expect_refused("int x = std::stoi(y);", "it throws");
  expect_refused("std::cout << 1;", "return data");
  expect_refused("void f() { throw 1; }", "an Error");
  expect_refused("void f() { std::exit(1); }", "travels to main");
  expect_refused("std::thread t;", "std::jthread");
  expect_refused("struct S { virtual void f(); };", "Device, Policy and Clock");
  expect_refused("std::  regex x;", "glob_match");
}

TEST(TidyBanned, LeavesOtherThingsAlone) {
  const std::string path = "tandem/tensor/t.cpp";
  expect_allowed(path, "// using namespace std; new delete rand()");
  expect_allowed(path, "const char* x = \"new delete rand() using namespace\";");
  expect_allowed(path, "S& operator=(const S&) = delete;");
  expect_allowed(path, "int renew = new_size + brand() + o.system() + p->exit() + lib::rand();");
  expect_allowed(path, "std::jthread t; std::this_thread::yield();");
  expect_allowed("tandem/testing/g.cpp",
                 "void* operator new(size_t n); const char* x = getenv(\"UPDATE_GOLDEN\");");
  expect_allowed("tandem/device/device.hpp", "#pragma once\nstruct Device { virtual void f() = 0; };");
}

TEST(TidyForm, FirstLinesAndGuards) {
  expect_one({{"tandem/tensor/t.cpp", "// Something.\n"}}, "tandem/tensor/t.cpp", 1, "licence", "SPDX");
  expect_one({{"tandem/tensor/t.hpp", "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"}},
             "tandem/tensor/t.hpp", 2, "licence", "in a sentence");
  expect_one({{"tools/x", "#!/bin/sh\ntrue\n"}}, "tools/x", 2, "licence", "# SPDX");
  expect_one({{"tandem/tensor/t.hpp", kStart}}, "tandem/tensor/t.hpp", 0, "guard", "#pragma once");
  expect_one({{"tandem/tensor/BadName.cpp", kStart}}, "tandem/tensor/BadName.cpp", 0, "name", "snake_case");
}

TEST(TidyForm, Macros) {
  expect_one({{"tandem/tensor/t.hpp", kStart + "#pragma once\n#define MAX(a) a\n"}}, "tandem/tensor/t.hpp", 4,
             "macro", "macro 'MAX'");
  std::string many = kStart + "#pragma once\n";
  for (int i = 0; i < 7; ++i) many += fmt::format("#define TANDEM_M{}(x) x\n", i);
  expect_one({{"tandem/tensor/t.hpp", many}}, "tandem", 0, "macro", "7 macros");
}

TEST(TidyForm, WhiteSpaceMachinePathsAndOpenEnds) {
  const std::string path = "tandem/tensor/t.cpp";
  expect_one({{path, kStart + "int x; \n"}}, path, 3, "space", "end of a line");
  expect_one({{path, kStart + "\tint x;\n"}}, path, 3, "space", "spaces");
  expect_one({{path, kStart + "int x;\r\n"}}, path, 3, "space", "carriage return");
  expect_one({{path, kStart + "int x;"}}, path, 0, "space", "no end");
  expect_one({{"docs/x.md", std::string("see /ho") + "me/jane/x\n"}}, "docs/x.md", 1, "path",
             "one machine only");
  expect_one({{path, kStart + "// TO" + "DO: later\n"}}, path, 3, "todo", "#issue");
  expect_allowed(path, std::string("// TO") + "DO(#12): later");
  expect_allowed(path, std::string("// net/wo") + "rk/x and ${build}/ho" + "me/x");
}

TEST(TidySizes, WarnsThenRefuses) {
  const std::string path = "tandem/tensor/t.cpp";
  const auto judge = [&](const std::string& text) {
    const auto findings = check_all(tree_with({{path, kStart + text}}));
    EXPECT_EQ(findings.size(), 1u) << report(findings);
    return findings.empty() ? Finding{} : findings[0];
  };
  const auto lines = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "  x();\n";
    return text;
  };
  EXPECT_TRUE(judge("// " + std::string(108, 'x') + "\n").warning);
  EXPECT_FALSE(judge("// " + std::string(220, 'x') + "\n").warning);
  EXPECT_TRUE(judge("namespace n {\nvoid f() {\n" + lines(69) + "}\n}\n").warning);
  EXPECT_EQ(judge("namespace n {\nvoid f() {\n" + lines(140) + "}\n}\n").message,
            "function of 142 lines, 70 is the guidance and 140 the end");
  EXPECT_EQ(judge("int x;\n" +
                  [] {
                    std::string text;
                    for (int i = 0; i < 1200; ++i) text += "int y;\n";
                    return text;
                  }())
                .message,
            "file of 1203 lines, 600 is the guidance and 1200 the end");
  expect_allowed(path, "namespace n {\nvoid f() {\n" + lines(68) + "}\n}");
  // A table of data is no function.
  std::string table = "constexpr int kTable[] = {\n";
  for (int i = 0; i < 200; ++i) table += "    1,\n";
  expect_allowed(path, table + "};");
}

}  // namespace
}  // namespace tandem::tidy
