// SPDX-License-Identifier: Apache-2.0
// The shared flags, and numbers as tables show them.
#include "apps/cli/shared_flags.hpp"

#include <cmath>

namespace tandem::cli {

void PreprocessFlags::add_to(std::vector<Flag>& flags) {
  flags.push_back(
      {"--size", &size, "Height and width of the model's input, in place of the model's own word", "N"});
  flags.push_back(
      {"--resize-short", &resize_short, "Length of the shorter side after resizing, before the crop", "N"});
  flags.push_back({"--crop", &crop, "How the input is cut from the resized image", "", {"center", "none"}});
  flags.push_back(
      {"--mean", &mean, "Subtracted from each channel, in 0..255 units: one number or three", "R,G,B"});
  flags.push_back({"--std", &std, "Divides each channel after that, in 0..255 units", "R,G,B"});
  flags.push_back({"--color", &color, "Order of the channels", "", {"rgb", "bgr", "gray"}});
}

Result<data::PreprocessOverrides> PreprocessFlags::overrides() const {
  data::PreprocessOverrides overrides;
  overrides.size = size;
  overrides.resize_short = resize_short;
  overrides.mean = mean;
  overrides.std = std;
  if (!crop.empty()) overrides.crop = TANDEM_TRY(data::crop_from_string(crop));
  if (!color.empty()) overrides.color = TANDEM_TRY(data::color_from_string(color));
  return overrides;
}

void EngineFlags::add_to(std::vector<Flag>& flags, std::vector<std::string> devices) {
  flags.push_back({"--device", &device,
                   "int8: quantized nodes in integers; host: all in floating point; ref: plain loops", "",
                   std::move(devices)});
  flags.push_back({"--threads", &threads, "Worker threads; one per core when not given", "N"});
  add_dump_dir(flags);
}

void EngineFlags::add_dump_dir(std::vector<Flag>& flags) {
  flags.push_back(
      {"--dump-dir", &dump_dir, "Write numbered IR text there after each pass", "DIR", {}, Takes::kFolder});
}

Flag required(Flag flag) {
  flag.required = true;
  return flag;
}

std::string image_count(int64_t count) { return fmt::format("{} image{}", count, count == 1 ? "" : "s"); }

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string decibel(double db) {
  if (std::isinf(db)) return db > 0 ? "equal" : "-inf dB";
  return fmt::format("{:.1f} dB", db);
}

}  // namespace tandem::cli
