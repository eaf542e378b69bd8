// SPDX-License-Identifier: Apache-2.0
// The only way to libxir: the program tandem-xir, started for one file and gone afterwards. libxir aborts its
// process on a bad file; here that is an exit status that becomes an error.
#pragma once

#include <string>
#include <string_view>

#include "tandem/base/result.hpp"
#include "tandem/xir_io/xmodel.hpp"

namespace tandem::xir_io {

inline constexpr const char* kHelperName = "tandem-xir";

// Safe in programs with threads (posix_spawn, no fork). Errors: kBadInput with libxir's own reason when it
// refuses, kInternal when the helper is found neither next to the program, nor in ../libexec/tandem
// of it, nor where this build installs it.
Result<XModel> read_xmodel(std::string_view bytes);
// The bytes of an .xmodel file. Error kUnsupported with libxir's reason when it does not take the model.
Result<std::string> write_xmodel(const XModel& model);
// What libtarget-factory knows of a DPU target, as text of its protobuf: by name or by fingerprint (0x...).
// Error kUsage for one that it does not know.
Result<std::string> describe_target(const std::string& name_or_fingerprint);

// The path of the helper program.
Result<std::string> find_helper();

}  // namespace tandem::xir_io
