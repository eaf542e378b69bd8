// SPDX-License-Identifier: Apache-2.0
// libxir's graphs and the neutral form of them.
#pragma once

#include <string>

#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_helper {

// The file as libxir reads it. Aborts where libxir does.
xir_io::XModel read_graph(const std::string& bytes);
// The file of a model. Aborts where libxir does; returns an error for what libxir would take and get wrong.
Result<std::string> write_graph(const xir_io::XModel& model);

}  // namespace tandem::xir_helper
