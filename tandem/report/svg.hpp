// SPDX-License-Identifier: Apache-2.0
// The gate for drawings: only shapes, text and paint may pass, nothing that runs, links or loads.
#pragma once

#include <string_view>

#include "tandem/base/result.hpp"

namespace tandem::report {

// Ok when `markup` is one <svg> element made of listed elements and attributes, well nested. Text in it must
// have been escaped with escape_html(). The error names what is not allowed.
Status check_svg(std::string_view markup);

}  // namespace tandem::report
