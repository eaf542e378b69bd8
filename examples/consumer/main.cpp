// SPDX-License-Identifier: Apache-2.0
// Uses the installed library from outside: reads JSON and reports an error the way the library does.
#include <cstdio>

#include "tandem/base/json.hpp"
#include "tandem/base/units.hpp"

int main() {
  const auto config = tandem::Json::parse(R"({"buffer": "1.5MiB"})");
  if (!config.ok()) {
    std::fprintf(stderr, "%s\n", config.error().message().c_str());
    return static_cast<int>(config.error().code());
  }
  const auto bytes = tandem::parse_bytes((*config)["buffer"].as_string());
  if (!bytes.ok()) return static_cast<int>(bytes.error().code());
  std::printf("buffer of %llu bytes\n", static_cast<unsigned long long>(*bytes));
  return 0;
}
