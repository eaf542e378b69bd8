// SPDX-License-Identifier: Apache-2.0
// Text into HTML, data into script blocks, bytes into data URIs: the only ways in which content enters a
// page.
#pragma once

#include <string>
#include <string_view>

#include "tandem/base/json.hpp"

namespace tandem::report {

// Safe in element content and in quoted attributes of HTML and SVG. Invalid UTF-8 (overlong forms and
// surrogates included) and control characters except tab and newline become U+FFFD.
std::string escape_html(std::string_view text);

// JSON that cannot end the script element around it: <, > and & are written as \u escapes, as are U+2028 and
// U+2029.
std::string script_json(const Json& value);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace tandem::report
