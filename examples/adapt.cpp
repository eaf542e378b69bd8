// SPDX-License-Identifier: Apache-2.0
// Teaches a network the classes of a folder of photos: adapt MODEL.onnx DATA RUN
#include <cstdio>

#include "tandem/jobs/adapt.hpp"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s MODEL.onnx DATA RUN\n", argv[0]);
    return static_cast<int>(tandem::ErrorCode::kUsage);
  }
  tandem::jobs::AdaptOptions options;
  options.model = argv[1];   // brings its preprocessing, as `tandem quantize` and tools/zoo write it
  options.data = argv[2];    // folders train/ and val/ with a folder a class
  options.output = argv[3];  // adapted.onnx, report.html and more
  options.train.batch = 4;   // few photos: small steps, many epochs
  options.train.epochs = 40;
  options.train.rate = 0.05;

  const auto result = tandem::jobs::adapt(options);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    return static_cast<int>(result.error().code());
  }
  std::printf("%s head: INT8 %.1f %%, FP32 %.1f %% of %lld photos\n", result->head.c_str(),
              100 * result->int8.value, 100 * result->fp32->value,
              static_cast<long long>(result->validation_count));
}
