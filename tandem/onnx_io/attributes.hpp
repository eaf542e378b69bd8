// SPDX-License-Identifier: Apache-2.0
// Attributes: typed reading of a node's attributes that remembers what was wrong and what nobody asked for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/ir/ops/opaque.hpp"

namespace tandem::onnx_io {

class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(ir::AttributeMap map) : map_(std::move(map)) {}

  // Each getter returns `other` when the attribute is absent; a wrong type is remembered and reported by
  // status().
  bool has(std::string_view name) const { return map_.count(std::string(name)) > 0; }
  int64_t integer(std::string_view name, int64_t other);
  bool flag(std::string_view name, bool other) { return integer(name, other ? 1 : 0) != 0; }
  float real(std::string_view name, float other);
  std::string text(std::string_view name, std::string other);
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> other = {});
  std::vector<float> reals(std::string_view name, std::vector<float> other = {});
  ConstTensor tensor(std::string_view name);
  // The same, but absence is remembered as an error.
  int64_t required_integer(std::string_view name);
  std::vector<int64_t> required_integers(std::string_view name);
  // Counts as read (attributes without meaning for inference).
  void ignore(std::string_view name) { read_.insert(std::string(name)); }

  // The first complaint.
  Status status() const;
  std::vector<std::string> unread() const;
  const ir::AttributeMap& map() const { return map_; }

 private:
  const ir::AttributeValue* find(std::string_view name);
  void complain(std::string_view name, std::string_view expected);
  ir::AttributeMap map_;
  std::set<std::string> read_;
  std::optional<Error> error_;
};

}  // namespace tandem::onnx_io
