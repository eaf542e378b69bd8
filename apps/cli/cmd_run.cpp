// SPDX-License-Identifier: Apache-2.0
// tandem run
#include <memory>

#include "apps/cli/shared_flags.hpp"
#include "tandem/base/file.hpp"
#include "tandem/base/units.hpp"
#include "tandem/jobs/classify.hpp"

namespace tandem::cli {
namespace {

struct Options {
  jobs::ClassifyOptions job;
  std::vector<std::string> files, data;
  std::string csv;
  PreprocessFlags preprocess;
  EngineFlags engine;
};

// RFC 4180.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_of(const std::vector<jobs::Classified>& all) {
  std::string text = "image,rank,index,class,score,probability\n";
  for (const jobs::Classified& c : all) {
    for (size_t rank = 0; rank < c.best.size(); ++rank) {
      const jobs::ClassScore& s = c.best[rank];
      text += fmt::format("{},{},{},{},{},{}\n", csv_cell(c.image), rank + 1, s.index, csv_cell(s.name),
                          s.score, s.probability);
    }
  }
  return text;
}

Json json_of(const std::vector<jobs::Classified>& all, const jobs::ClassifySummary& summary) {
  Json images = Json::array();
  for (const jobs::Classified& c : all) {
    Json best = Json::array();
    for (const jobs::ClassScore& s : c.best) {
      best.push(Json::object(
          {{"index", s.index}, {"class", s.name}, {"score", s.score}, {"probability", s.probability}}));
    }
    images.push(Json::object({{"image", c.image}, {"top", best}}));
  }
  Json skipped = Json::array();
  for (const data::Skipped& s : summary.skipped)
    skipped.push(Json::object({{"path", s.path}, {"reason", s.reason}}));
  return Json::object({{"images", images},
                       {"skipped", skipped},
                       {"fallbacks", Json(summary.fallbacks)},
                       {"load_seconds", summary.load_seconds},
                       {"seconds", summary.seconds}});
}

std::string table_of(const std::vector<jobs::Classified>& all) {
  TextTable table({{"image"}, {"class"}, {"probability", Align::kRight}, {"score", Align::kRight}});
  for (const jobs::Classified& c : all) {
    bool first = true;
    for (const jobs::ClassScore& s : c.best) {
      table.add_row({first ? c.image : "", s.name, percent(s.probability), fmt::format("{:.4g}", s.score)});
      first = false;
    }
  }
  return table.to_string();
}

Status run(Session& session, Options& options) {
  options.job.images = options.files;
  options.job.images.insert(options.job.images.end(), options.data.begin(), options.data.end());
  if (options.job.images.empty()) return usage_error("no images").hint("give files, or folders with --data");
  options.job.preprocess = TANDEM_TRY(options.preprocess.overrides());
  options.job.engine = TANDEM_TRY(options.engine.engine());
  options.job.threads = options.engine.threads;
  options.job.dump_dir = options.engine.dump_dir;
  options.job.strict = session.strict;
  std::vector<jobs::Classified> all;
  const auto keep = [&all](const jobs::Classified& c) -> Status {
    all.push_back(c);
    return {};
  };
  const jobs::ClassifySummary summary = TANDEM_TRY(jobs::classify(options.job, session.hooks(), keep));
  for (const data::Skipped& s : summary.skipped)
    session.note(fmt::format("skipped {}: {}", s.path, s.reason));
  if (options.csv == "-")
    session.print(csv_of(all));
  else
    session.print(table_of(all));
  if (!options.csv.empty() && options.csv != "-") TANDEM_TRY(write_file(options.csv, csv_of(all)));
  TANDEM_TRY(session.write_json(json_of(all, summary)));
  session.note(fmt::format("{} in {}, {:.1f}/s, after {} of loading", image_count(summary.images),
                           format_duration_ns(static_cast<int64_t>(summary.seconds * 1e9)),
                           static_cast<double>(summary.images) / summary.seconds,
                           format_duration_ns(static_cast<int64_t>(summary.load_seconds * 1e9))));
  return session.accept_fallbacks(summary.fallbacks);
}

}  // namespace

Verb run_verb() {
  const auto o = std::make_shared<Options>();
  Verb verb{"run", "the likeliest classes of images"};
  verb.description =
      "MODEL is an ONNX file, a plan.json beside its model, or a run directory of tandem adapt. The parts of "
      "a "
      "plan run on the devices that it names, after the contracts of what crosses between them were checked; "
      "--device host or ref runs all of them there.";
  verb.flags = {
      required({"MODEL", &o->job.model, "The model"}),
      {"FILE", &o->files, "Images or folders of images"},
      {"--data", &o->data, "The same as FILE; may be given several times", "PATH", {}, Takes::kPath},
      {"--top", &o->job.top, "How many classes per image", "K"},
      {"--csv", &o->csv, "Write CSV to FILE; - is stdout, in place of the table", "FILE", {}, Takes::kFile},
      {"--labels",
       &o->job.labels,
       "File with class names, one a line, in place of the model's",
       "FILE",
       {},
       Takes::kFile},
      {"--batch", &o->job.batch, "Images computed together by one worker", "N"}};
  o->engine.add_to(verb.flags);
  o->preprocess.add_to(verb.flags);
  verb.examples = {
      {"run lite0.onnx cat.jpg", "one photo"},
      {"run RUN --data photos/ --csv answers.csv", "a folder through an adapted model"},
      {"run net.onnx --data x/ --mean 127 --std 128 --size 224 --device ref", "by the reference"}};
  verb.run = [o](Session& session) { return run(session, *o); };
  return verb;
}

}  // namespace tandem::cli
