// SPDX-License-Identifier: Apache-2.0
// Escaping works code point by code point, so that broken UTF-8 cannot hide markup.
#include "tandem/report/escape.hpp"

#include <cstddef>
#include <cstdint>

#include "tandem/base/text.hpp"

namespace tandem::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\'': out += "&#39;"; break;
    case '\t':
    case '\n': out += c; break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        out += kReplacement;
      } else {
        out += c;
      }
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::string_view before = text;
    const auto code_point = take_code_point(text);
    if (!code_point) {
      out += kReplacement;
    } else if (*code_point < 0x80) {
      append_ascii(out, before[0]);
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

std::string script_json(const Json& value) {
  const std::string plain = value.dump();
  std::string out;
  out.reserve(plain.size());
  for (size_t at = 0; at < plain.size(); ++at) {
    const char c = plain[at];
    const std::string_view three = std::string_view(plain).substr(at, 3);
    // These five can stand only inside JSON strings, where an escape means the same.
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else if (three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9") {
      out += three[2] == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t n = bytes.size() - at < 3 ? bytes.size() - at : 3;
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < n ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= n ? kDigits[group >> (18 - 6 * i) & 63u] : '=';
  }
  return out;
}

}  // namespace tandem::report
