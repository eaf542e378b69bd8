// SPDX-License-Identifier: Apache-2.0
// The type of an attribute is implied where the Opaque has one like it, and written down elsewhere.
#include "tandem/xir_io/opaque_attributes.hpp"

#include <bit>

#include "tandem/base/overload.hpp"

namespace tandem::xir_io {
namespace {

// Anything at all, as text: a model that has nothing but this attribute.
std::string packed(const Attribute& attribute) {
  XModel model;
  model.attributes["v"] = attribute;
  return to_wire(model);
}

}  // namespace

ir::AttributeMap to_opaque(const Attributes& attributes, std::vector<std::string>& types) {
  ir::AttributeMap made;
  for (const auto& [key, attribute] : attributes) {
    const std::string& name = key;
    const auto typed = [&](const char* type, ir::AttributeValue value) {
      types.push_back(name + "=" + type);
      made[name] = std::move(value);
    };
    std::visit(
        Overload{
            [&](bool v) { typed("bool", int64_t{v}); }, [&](int32_t v) { made[name] = int64_t{v}; },
            [&](uint32_t v) { typed("u32", int64_t{v}); }, [&](int64_t v) { typed("i64", v); },
            [&](uint64_t v) { typed("u64", std::bit_cast<int64_t>(v)); },
            [&](float v) { made[name] = double{v}; }, [&](double v) { typed("f64", v); },
            [&](const std::string& v) { made[name] = v; }, [&](const Blob& v) { typed("bytes", v.bytes); },
            [&](const std::vector<int32_t>& v) { made[name] = std::vector<int64_t>(v.begin(), v.end()); },
            [&](const std::vector<float>& v) { made[name] = std::vector<double>(v.begin(), v.end()); },
            [&](const std::vector<std::string>& v) { made[name] = v; },
            [&](const auto&) { typed("packed", packed(attribute)); }},
        attribute);
  }
  return made;
}

Result<Attributes> from_opaque(const ir::AttributeMap& attributes, const std::vector<std::string>& types) {
  std::map<std::string, std::string> type_of;
  for (const std::string& entry : types) {
    const size_t at = entry.rfind('=');
    if (at != std::string::npos) type_of[entry.substr(0, at)] = entry.substr(at + 1);
  }
  Attributes made;
  for (const auto& [key, value] : attributes) {
    const std::string& name = key;
    if (name.starts_with("xir.")) continue;
    const auto found = type_of.find(name);
    const std::string type = found == type_of.end() ? "" : found->second;
    const bool fits = std::visit(
        Overload{[&](int64_t v) {
                   if (type == "bool")
                     made[name] = v != 0;
                   else if (type == "u32")
                     made[name] = static_cast<uint32_t>(v);
                   else if (type == "i64")
                     made[name] = v;
                   else if (type == "u64")
                     made[name] = std::bit_cast<uint64_t>(v);
                   else if (v < INT32_MIN || v > INT32_MAX)
                     made[name] = v;
                   else
                     made[name] = static_cast<int32_t>(v);
                   return true;
                 },
                 [&](double v) {
                   if (type == "f64")
                     made[name] = v;
                   else
                     made[name] = static_cast<float>(v);
                   return true;
                 },
                 [&](const std::string& v) {
                   if (type == "bytes") {
                     made[name] = Blob{v};
                   } else if (type == "packed") {
                     const Result<XModel> model = from_wire(v);
                     if (!model.ok() || model->attributes.count("v") == 0) return false;
                     made[name] = model->attributes.at("v");
                   } else {
                     made[name] = v;
                   }
                   return true;
                 },
                 [&](const std::vector<int64_t>& v) {
                   made[name] = std::vector<int32_t>(v.begin(), v.end());
                   return true;
                 },
                 [&](const std::vector<double>& v) {
                   std::vector<float> floats;
                   for (const double d : v) floats.push_back(static_cast<float>(d));
                   made[name] = std::move(floats);
                   return true;
                 },
                 [&](const std::vector<std::string>& v) {
                   made[name] = v;
                   return true;
                 },
                 [](const ConstTensor&) { return false; }, [](const ir::EncodedAttribute&) { return false; }},
        value);
    if (!fits) return bad_input(fmt::format("attribute '{}' of an XIR op is damaged", name));
  }
  return made;
}

}  // namespace tandem::xir_io
