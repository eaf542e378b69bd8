// SPDX-License-Identifier: Apache-2.0
// A small reader that knows only what is allowed; everything else is refused by name.
#include "tandem/report/svg.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tandem::report {
namespace {

constexpr auto kElements = std::to_array<std::string_view>(
    {"svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title",
     "desc", "defs", "linearGradient", "radialGradient", "stop", "clipPath", "marker"});

// No style, no href, no event handler, no class (a class could borrow the page's own look).
constexpr auto kAttributes = std::to_array<std::string_view>({"xmlns",
                                                              "viewBox",
                                                              "width",
                                                              "height",
                                                              "x",
                                                              "y",
                                                              "x1",
                                                              "y1",
                                                              "x2",
                                                              "y2",
                                                              "cx",
                                                              "cy",
                                                              "r",
                                                              "rx",
                                                              "ry",
                                                              "dx",
                                                              "dy",
                                                              "fx",
                                                              "fy",
                                                              "d",
                                                              "points",
                                                              "transform",
                                                              "fill",
                                                              "fill-opacity",
                                                              "fill-rule",
                                                              "stroke",
                                                              "stroke-width",
                                                              "stroke-opacity",
                                                              "stroke-dasharray",
                                                              "stroke-linecap",
                                                              "stroke-linejoin",
                                                              "opacity",
                                                              "font-size",
                                                              "font-weight",
                                                              "text-anchor",
                                                              "dominant-baseline",
                                                              "id",
                                                              "offset",
                                                              "stop-color",
                                                              "stop-opacity",
                                                              "clip-path",
                                                              "marker-end",
                                                              "marker-start",
                                                              "markerWidth",
                                                              "markerHeight",
                                                              "refX",
                                                              "refY",
                                                              "orient",
                                                              "gradientUnits",
                                                              "gradientTransform",
                                                              "clipPathUnits",
                                                              "preserveAspectRatio",
                                                              "role",
                                                              "aria-label"});

template <typename List>
bool has(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

Error refused(std::string why) {
  return internal_error("cannot put the drawing into the report").because(std::move(why));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Status read() {
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        if (open_.empty()) return refused("text outside the svg element");
        ++at_;
      } else {
        TANDEM_TRY(tag());
      }
    }
    if (!open_.empty()) return refused("element '" + open_.back() + "' is not closed");
    if (!seen_root_) return refused("there is no svg element");
    return {};
  }

 private:
  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  Status tag() {
    ++at_;
    if (take('/')) {
      const std::string element = name();
      if (!take('>') || open_.empty() || open_.back() != element)
        return refused("'</" + element + "' closes nothing");
      open_.pop_back();
      return {};
    }
    const std::string element = name();
    if (!has(kElements, element)) return refused("element '" + element + "' is not allowed");
    if (open_.empty() && (seen_root_ || element != "svg")) return refused("not one svg element");
    seen_root_ = true;
    for (;;) {
      const size_t before = at_;
      skip_spaces();
      if (take('>')) {
        open_.push_back(element);
        return {};
      }
      if (take('/')) return take('>') ? Status{} : Status(refused("'/' inside '" + element + "'"));
      if (before == at_) return refused("malformed element '" + element + "'");
      TANDEM_TRY(attribute());
    }
  }

  Status attribute() {
    const std::string attribute_name = name();
    if (!has(kAttributes, attribute_name))
      return refused("attribute '" + attribute_name + "' is not allowed");
    if (!take('=') || !take('"')) return refused("attribute '" + attribute_name + "' has no quoted value");
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) return refused("attribute '" + attribute_name + "' does not end");
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    if (value.find_first_of("<>\\") != std::string_view::npos) {
      return refused("attribute '" + attribute_name + "' holds markup");
    }
    // A reference may only point into the drawing; '&' could spell one out in character references.
    const bool is_text = attribute_name == "aria-label";
    if (!is_text && value.find('&') != std::string_view::npos) {
      return refused("attribute '" + attribute_name + "' holds a character reference");
    }
    for (size_t at = value.find('('); !is_text && at != std::string_view::npos;
         at = value.find('(', at + 1)) {
      const bool is_function = attribute_name == "transform" || attribute_name == "gradientTransform";
      const std::string_view word = value.substr(0, at);
      const bool is_colour = word == "rgb" || word == "rgba" || word == "hsl" || word == "var";
      const bool is_local = word == "url" && value.substr(at, 2) == "(#";
      if (!is_function && !is_colour && !is_local)
        return refused("'" + std::string(value) + "' refers to elsewhere");
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  bool seen_root_ = false;
  std::vector<std::string> open_;
};

}  // namespace

Status check_svg(std::string_view markup) { return Reader(markup).read(); }

}  // namespace tandem::report
