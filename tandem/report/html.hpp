// SPDX-License-Identifier: Apache-2.0
// Document -> one self-contained HTML file: style, chart library, data and pictures inside, nothing loaded
// from elsewhere.
//
// The page works offline and without scripts (charts then show as tables), in light and dark, on phones and
// on paper. Its content security policy allows the two embedded scripts by their hash and no others. The same
// document gives the same bytes. Errors (kInternal) mean an inconsistent document and name the block: unequal
// lengths, foreign SVG markup.
#pragma once

#include <string>

#include "tandem/base/result.hpp"
#include "tandem/report/document.hpp"

namespace tandem::report {

Result<std::string> to_html(const Document& document);

// The file appears under its name only when it is complete.
Status write_report(const Document& document, const std::string& path);

}  // namespace tandem::report
