// SPDX-License-Identifier: Apache-2.0
// Each type lists its fields once; a writer and a reader visit them.
#include "tandem/report/document_json.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "tandem/report/escape.hpp"

namespace tandem::report {
namespace {

constexpr int kDepthMax = 32;  // of Details in Details

// fields(visit, object): visit(name, member) for each member.
template <typename V>
void fields(V& v, Paragraph& b) {
  v("text", b.text);
}
template <typename V>
void fields(V& v, KeyValue& b) {
  v("label", b.label), v("value", b.value), v("note", b.note), v("tone", b.tone);
}
template <typename V>
void fields(V& v, KeyValues& b) {
  v("items", b.items);
}
template <typename V>
void fields(V& v, Column& b) {
  v("title", b.title), v("align", b.align);
}
template <typename V>
void fields(V& v, Cell& b) {
  v("text", b.text), v("value", b.value);
}
template <typename V>
void fields(V& v, Row& b) {
  v("cells", b.cells), v("highlighted", b.highlighted);
}
template <typename V>
void fields(V& v, Table& b) {
  v("caption", b.caption), v("columns", b.columns), v("rows", b.rows);
}
template <typename V>
void fields(V& v, Series& b) {
  v("name", b.name), v("x", b.x), v("y", b.y);
}
template <typename V>
void fields(V& v, LineChart& b) {
  v("title", b.title), v("x_label", b.x_label), v("y_label", b.y_label), v("series", b.series);
  v("log_x", b.log_x), v("log_y", b.log_y), v("half_width", b.half_width);
}
template <typename V>
void fields(V& v, BarSeries& b) {
  v("name", b.name), v("values", b.values), v("low", b.low), v("high", b.high);
}
template <typename V>
void fields(V& v, BarChart& b) {
  v("title", b.title), v("value_label", b.value_label), v("labels", b.labels), v("series", b.series);
  v("horizontal", b.horizontal), v("order", b.order), v("drawn_max", b.drawn_max),
      v("half_width", b.half_width);
}
template <typename V>
void fields(V& v, Histogram& b) {
  v("title", b.title), v("x_label", b.x_label), v("values", b.values), v("bins", b.bins),
      v("counts", b.counts);
  v("low", b.low), v("high", b.high), v("half_width", b.half_width);
}
template <typename V>
void fields(V& v, Heatmap& b) {
  v("title", b.title), v("row_title", b.row_title), v("column_title", b.column_title);
  v("row_labels", b.row_labels), v("column_labels", b.column_labels), v("values", b.values);
  v("shade", b.shade), v("half_width", b.half_width);
}
template <typename V>
void fields(V& v, Image& b) {
  v.bytes("bytes", b.bytes), v("caption", b.caption), v("note", b.note), v("tone", b.tone);
}
template <typename V>
void fields(V& v, ImageGrid& b) {
  v("title", b.title), v("images", b.images);
}
template <typename V>
void fields(V& v, Pre& b) {
  v("caption", b.caption), v("text", b.text);
}
template <typename V>
void fields(V& v, Callout& b) {
  v("kind", b.kind), v("title", b.title), v("text", b.text);
}
template <typename V>
void fields(V& v, Svg& b) {
  v("title", b.title), v("label", b.label), v("markup", b.markup);
}
template <typename V>
void fields(V& v, Details& b) {
  v("summary", b.summary), v("blocks", b.blocks), v("open", b.open);
}
template <typename V>
void fields(V& v, Section& b) {
  v("title", b.title), v("blocks", b.blocks);
}
template <typename V>
void fields(V& v, Document& b) {
  v("title", b.title), v("subtitle", b.subtitle), v("sections", b.sections), v("footer", b.footer);
}

// In the order of Block::Content.
constexpr std::array<const char*, std::variant_size_v<Block::Content>> kKinds = {
    "paragraph", "key_values", "table", "line_chart", "bar_chart", "histogram",
    "heatmap",   "image_grid", "pre",   "callout",    "svg",       "details"};

template <typename T>
T blank() {
  return T{};
}
template <>
Column blank() {
  return Column("");
}
template <>
Cell blank() {
  return Cell("");
}
template <>
Block blank() {
  return Block(Paragraph{});
}

// Enumerators go as numbers; the last one bounds what may be read.
template <typename E>
constexpr int kLast = 0;
template <>
constexpr int kLast<Tone> = static_cast<int>(Tone::kBad);
template <>
constexpr int kLast<Align> = static_cast<int>(Align::kCenter);
template <>
constexpr int kLast<Order> = static_cast<int>(Order::kAscending);
template <>
constexpr int kLast<Shade> = static_cast<int>(Shade::kValue);
template <>
constexpr int kLast<CalloutKind> = static_cast<int>(CalloutKind::kError);

std::string from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int digit = -1;
    if (c >= 'A' && c <= 'Z')
      digit = c - 'A';
    else if (c >= 'a' && c <= 'z')
      digit = c - 'a' + 26;
    else if (c >= '0' && c <= '9')
      digit = c - '0' + 52;
    else if (c == '+' || c == '/')
      digit = c == '+' ? 62 : 63;
    if (digit < 0) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

struct Writer {
  Json out = Json::object();

  template <typename T>
  void operator()(const char* name, T& member) {
    out.set(name, write(member));
  }
  void bytes(const char* name, std::string& member) { out.set(name, base64(member)); }

  static Json write(std::string& text) { return Json(text); }
  static Json write(bool flag) { return Json(flag); }
  static Json write(double number) { return std::isfinite(number) ? Json(number) : Json(); }
  static Json write(uint32_t number) { return Json(number); }
  static Json write(std::optional<double>& number) { return number ? write(*number) : Json(); }
  static Json write(Block& block) {
    Writer writer;
    writer.out.set("block", kKinds[block.content.index()]);
    std::visit([&writer](auto& content) { fields(writer, content); }, block.content);
    return writer.out;
  }
  template <typename T>
  static Json write(std::vector<T>& list) {
    Json array = Json::array();
    for (T& item : list) array.push(write(item));
    return array;
  }
  template <typename T>
  static Json write(T& object) {
    if constexpr (std::is_enum_v<T>) {
      return Json(static_cast<int>(object));
    } else {
      Writer writer;
      fields(writer, object);
      return writer.out;
    }
  }
};

struct Reader {
  const Json& in;
  int depth = 0;
  std::optional<Error>& error;

  template <typename T>
  void operator()(const char* name, T& member) {
    if (error) return;
    if (!in.has(name)) return complain(name, "is missing");
    if (!read(in[name], member)) complain(name, "has a wrong type");
  }
  void bytes(const char* name, std::string& member) {
    (*this)(name, member);
    member = from_base64(member);
  }
  void complain(const char* name, const char* what) {
    if (!error) error = bad_input(fmt::format("a report as JSON: '{}' {}", name, what));
  }

  bool read(const Json& json, std::string& text) const { return text = json.as_string(), json.is_string(); }
  bool read(const Json& json, bool& flag) const { return flag = json.as_bool(), json.is_bool(); }
  bool read(const Json& json, double& number) const {
    number = json.as_number(std::numeric_limits<double>::quiet_NaN());
    return json.is_number() || json.is_null();
  }
  bool read(const Json& json, uint32_t& number) const {
    const int64_t value = json.as_int(-1);
    number = static_cast<uint32_t>(value);
    return value >= 0 && value <= UINT32_MAX;
  }
  bool read(const Json& json, std::optional<double>& number) const {
    if (json.is_number()) number = json.as_number();
    return json.is_number() || json.is_null();
  }
  bool read(const Json& json, Block& block) const {
    const std::string kind = json["block"].as_string();
    return depth < kDepthMax && read_kind<0>(json, kind, block);
  }
  template <size_t I>
  bool read_kind(const Json& json, const std::string& kind, Block& block) const {
    if constexpr (I == kKinds.size()) {
      return false;
    } else {
      if (kind != kKinds[I]) return read_kind<I + 1>(json, kind, block);
      std::variant_alternative_t<I, Block::Content> content{};
      if (!read(json, content)) return false;
      block.content = std::move(content);
      return true;
    }
  }
  template <typename T>
  bool read(const Json& json, std::vector<T>& list) const {
    for (const Json& item : json.items()) {
      list.push_back(blank<T>());
      if (!read(item, list.back())) return false;
    }
    return json.is_array();
  }
  template <typename T>
  bool read(const Json& json, T& object) const {
    if constexpr (std::is_enum_v<T>) {
      const int64_t value = json.as_int(-1);
      if (value < 0 || value > kLast<T>) return false;
      object = static_cast<T>(value);
      return true;
    } else {
      if (!json.is_object()) return false;
      Reader reader{json, depth + 1, error};
      fields(reader, object);
      return !error;
    }
  }
};

}  // namespace

Json to_json(const Document& document) {
  Document copy = document;  // The visitors take members as they would for reading.
  return Writer::write(copy);
}

Result<Document> document_from_json(const Json& json) {
  Document document;
  std::optional<Error> error;
  const Json whole = Json::object({{"document", json}});
  Reader reader{whole, 0, error};
  reader("document", document);
  if (error) return *error;
  return document;
}

}  // namespace tandem::report
