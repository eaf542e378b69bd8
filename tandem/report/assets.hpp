// SPDX-License-Identifier: Apache-2.0
// The style and scripts that every page carries, embedded at build time (embed.cmake writes the definitions).
#pragma once

#include <string_view>

namespace tandem::report {

// Text of a file and its SHA-256 as 64 hexadecimal digits.
struct Asset {
  std::string_view text;
  std::string_view sha256;
};

Asset page_style();     // assets/report.css
Asset page_script();    // assets/report.js
Asset chart_library();  // Debian's libjs-chart.js (Chart.js, MIT), licence header kept
Asset chart_licence();  // the MIT permission notice that must go with it

}  // namespace tandem::report
