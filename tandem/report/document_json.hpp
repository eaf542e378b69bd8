// SPDX-License-Identifier: Apache-2.0
// Document as JSON and back: a run keeps what its report says beside its results, so that the page can be
// made again by a later program without the run's inputs.
#pragma once

#include "tandem/base/json.hpp"
#include "tandem/base/result.hpp"
#include "tandem/report/document.hpp"

namespace tandem::report {

// Pictures go in as base64, numbers that are not finite as null.
Json to_json(const Document& document);
// Error kBadInput names the member that is missing or of a wrong type.
Result<Document> document_from_json(const Json& json);

}  // namespace tandem::report
