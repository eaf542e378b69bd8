// SPDX-License-Identifier: Apache-2.0
// labels.txt: one class name a line, in the order of the labels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/base/result.hpp"

namespace tandem::data {

struct Labels {
  std::vector<std::string> names;
  std::vector<std::string> notes;  // that blank lines were left out
};

// Blank lines are left out with a note; spaces around a name and carriage returns are dropped; a name twice
// is an error.
Result<Labels> parse_labels(std::string_view text);

// labels.txt in the folder; nothing when there is none.
Result<std::optional<Labels>> find_labels(const std::string& folder);

// "'cat', 'dog' (2)"; long lists are cut in the middle.
std::string list_of(std::span<const std::string> names);

// The class order: labels.txt where there is one and it names exactly the `found` classes (else an error with
// both lists), `found` otherwise.
Result<std::vector<std::string>> order_classes(std::vector<std::string> found,
                                               const std::optional<Labels>& labels);

}  // namespace tandem::data
