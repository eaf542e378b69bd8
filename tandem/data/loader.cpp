// SPDX-License-Identifier: Apache-2.0
// A ring of slots, one a sample: threads take the next free number and fill its slot, the caller empties
// slots in order. The ring is what bounds memory.
#include "tandem/data/loader.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "tandem/base/check.hpp"

namespace tandem::data {
namespace {

// Inception-style random crop (Szegedy et al., Going deeper with convolutions, 2014, section 6) with a milder
// lower bound.
Box random_box(const Image& image, Rng& rng) {
  constexpr double kSmallestArea = 0.35;
  constexpr int kTries = 10;
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  for (int i = 0; i < kTries; ++i) {
    const double area = width * height * rng.uniform(kSmallestArea, 1);
    const double ratio = std::exp(rng.uniform(std::log(3.0 / 4), std::log(4.0 / 3)));
    const auto w = static_cast<int64_t>(std::llround(std::sqrt(area * ratio)));
    const auto h = static_cast<int64_t>(std::llround(std::sqrt(area / ratio)));
    if (w < 1 || h < 1 || w > image.width || h > image.height) continue;
    const auto x = static_cast<int64_t>(rng.below(static_cast<uint64_t>(image.width - w + 1)));
    const auto y = static_cast<int64_t>(rng.below(static_cast<uint64_t>(image.height - h + 1)));
    return {x, y, w, h};
  }
  return {0, 0, image.width, image.height};
}

// The reason alone, without the name that a skipped image carries anyway.
std::string reason_of(const Error& error, const std::string& name) {
  std::string what = error.what();
  const std::string prefix = "'" + name + "': ";
  if (what.compare(0, prefix.size(), prefix) == 0) what.erase(0, prefix.size());
  return error.because_text().empty() ? what : what + ": " + error.because_text();
}

}  // namespace

Result<Image> fit_augmented(const Preprocess& preprocess, const Image& image, const Augment& augment,
                            Rng rng) {
  if (!augment.any()) return fit(preprocess, image);
  const bool mirrored = augment.flip && rng.below(2) == 1;
  Image fitted;
  if (augment.crop) {
    ResizeOptions options;
    options.width = preprocess.width;
    options.height = preprocess.height;
    options.filter = preprocess.filter;
    options.antialias = preprocess.antialias;
    fitted = resize(crop(image, random_box(image, rng)), options);
  } else {
    fitted = TANDEM_TRY(fit(preprocess, image));
  }
  constexpr int kMirrored = 2;  // EXIF
  return mirrored ? oriented(std::move(fitted), kMirrored) : std::move(fitted);
}

struct BatchLoader::State {
  const Dataset& dataset;
  const Preprocess preprocess;
  const LoaderOptions options;
  const DecodeOptions decoding;
  const Rng root;

  // Guarded by mutex.
  std::mutex mutex;
  std::condition_variable filled, emptied;
  std::vector<std::optional<Result<Image>>> ring;
  size_t taken = 0;     // visits handed to threads
  size_t consumed = 0;  // visits that next() is done with
  size_t running = 0;   // threads that still take visits
  bool stopping = false;

  // The caller's side.
  std::vector<Skipped> skipped;
  bool delivered = false;

  std::vector<std::thread> threads;

  State(const Dataset& d, const Preprocess& p, LoaderOptions o)
      : dataset(d),
        preprocess(p),
        options(std::move(o)),
        decoding(decode_options(p)),
        root(Rng(options.seed).fork(options.epoch)) {
    TANDEM_CHECK(options.batch > 0 && options.ahead > 0 && options.threads > 0);
    for (const size_t sample : options.order) TANDEM_CHECK(sample < dataset.samples.size());
    const auto wanted = static_cast<size_t>(options.batch) * static_cast<size_t>(options.ahead);
    ring.resize(std::max<size_t>(1, std::min(wanted + options.threads, visits())));
  }

  size_t visits() const { return options.order.empty() ? dataset.samples.size() : options.order.size(); }
  size_t sample_of(size_t visit) const { return options.order.empty() ? visit : options.order[visit]; }
  bool cancelled() const { return options.cancel != nullptr && options.cancel->requested(); }

  Result<Image> prepare(size_t visit) const {
    try {
      const size_t sample = sample_of(visit);
      const Image image = TANDEM_TRY(load_image(dataset, sample, decoding));
      return fit_augmented(preprocess, image, options.augment, root.fork(sample));
    } catch (const std::exception& exception) {
      return internal_error("cannot decode").because(exception.what());  // out of memory
    }
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      emptied.wait(lock, [&] { return stopping || taken == visits() || taken < consumed + ring.size(); });
      if (stopping || taken == visits() || cancelled()) break;
      const size_t visit = taken++;
      lock.unlock();
      Result<Image> image = prepare(visit);
      lock.lock();
      ring[visit % ring.size()].emplace(std::move(image));
      filled.notify_one();
    }
    --running;
    filled.notify_one();
  }

  // The next prepared visit; nothing when all are done or the threads stopped.
  std::optional<Result<Image>> take() {
    std::unique_lock lock(mutex);
    if (consumed == visits()) return std::nullopt;
    auto& slot = ring[consumed % ring.size()];
    filled.wait(lock, [&] { return slot.has_value() || running == 0; });
    std::optional<Result<Image>> image = std::move(slot);
    slot.reset();
    if (image) ++consumed;
    emptied.notify_one();
    return image;
  }
};

BatchLoader::BatchLoader(const Dataset& dataset, const Preprocess& preprocess, LoaderOptions options)
    : state_(std::make_unique<State>(dataset, preprocess, std::move(options))) {
  State* state = state_.get();
  const size_t count = std::min(state->options.threads, std::max<size_t>(1, state->visits()));
  state->running = count;
  for (size_t i = 0; i < count; ++i) state->threads.emplace_back([state] { state->run(); });
}

BatchLoader::BatchLoader(BatchLoader&&) noexcept = default;

BatchLoader::~BatchLoader() {
  if (!state_) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->emptied.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

const std::vector<Skipped>& BatchLoader::skipped() const { return state_->skipped; }

Result<std::optional<Batch>> BatchLoader::next() {
  State& state = *state_;
  const auto batch = static_cast<size_t>(state.options.batch);
  std::vector<Image> images;
  Batch result;
  while (images.size() < batch) {
    if (state.cancelled()) return state.options.cancel->check().error();
    const size_t visit = state.consumed;  // only this thread changes it
    auto image = state.take();
    if (!image) break;
    const size_t sample = state.sample_of(visit);
    if (!image->ok()) {
      const std::string name = state.dataset.name(sample);
      state.skipped.push_back({name, reason_of(image->error(), name)});
      if (state.options.strict) return refuse_skipped({&state.skipped.back(), 1}).error();
      continue;
    }
    images.push_back(std::move(*image).value());
    result.samples.push_back(sample);
    result.labels.push_back(state.dataset.samples[sample].label);
  }
  if (state.cancelled()) return state.options.cancel->check().error();
  if (images.empty()) {
    if (state.delivered || state.skipped.empty()) return std::optional<Batch>();
    Error none = refuse_skipped(state.skipped).error();
    return bad_input("none of the images can be used").because(none.because_text());
  }
  state.delivered = true;
  const Preprocess& p = state.preprocess;
  const auto count = static_cast<int64_t>(images.size());
  const Shape shape = state.options.layout == PixelLayout::kNchw
                          ? Shape{count, p.channels(), p.height, p.width}
                          : Shape{count, p.height, p.width, p.channels()};
  result.images = Tensor(state.options.levels ? DType::kU8 : DType::kF32, shape);
  const auto elements = static_cast<size_t>(p.elements());
  for (size_t i = 0; i < images.size(); ++i) {
    if (state.options.levels) {
      write_levels(p, images[i], state.options.layout,
                   result.images.as<uint8_t>().subspan(i * elements, elements));
    } else {
      normalize(p, images[i], state.options.layout,
                result.images.as<float>().subspan(i * elements, elements));
    }
  }
  return std::optional<Batch>(std::move(result));
}

}  // namespace tandem::data
