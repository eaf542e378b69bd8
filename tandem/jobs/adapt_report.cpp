// SPDX-License-Identifier: Apache-2.0
// report.html of an adapt run: what a reader wants to know first, then what it rests on.
#include <algorithm>

#include "tandem/base/file.hpp"
#include "tandem/base/units.hpp"
#include "tandem/exec/isa.hpp"
#include "tandem/jobs/adaptation.hpp"
#include "tandem/report/document_json.hpp"
#include "tandem/report/html.hpp"

namespace tandem::jobs {
namespace {

using report::Block;
using report::Cell;
using report::Section;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string interval_text(const train::Interval& i) {
  return fmt::format("95 % interval {:.1f} to {:.1f} %", 100 * i.low, 100 * i.high);
}

std::string seconds_text(double seconds) { return format_duration_ns(static_cast<int64_t>(seconds * 1e9)); }

Section result_section(const Adaptation& a, const AdaptResult& r) {
  report::KeyValues tiles;
  tiles.items.push_back({"INT8 accuracy", percent(r.int8.value), interval_text(r.int8.interval)});
  if (r.fp32)
    tiles.items.push_back({"FP32 accuracy", percent(r.fp32->value), interval_text(r.fp32->interval)});
  if (r.difference) {
    const train::PairedDifference& d = *r.difference;
    const bool holds_zero = d.interval.low <= 0 && d.interval.high >= 0;
    tiles.items.push_back(
        {"INT8 minus FP32", fmt::format("{:+.2f} points", 100 * d.difference),
         fmt::format("paired 95 % interval {:+.2f} to {:+.2f}", 100 * d.interval.low, 100 * d.interval.high),
         holds_zero || d.difference > 0 ? report::Tone::kGood : report::Tone::kWarning});
  }
  if (r.int8_by_age) {
    const auto add = [&](const char* what, const Accuracy& int8, const Accuracy* fp32) {
      if (int8.count == 0) return;
      const std::string beside = fp32 == nullptr ? "" : fmt::format("; FP32 {}", percent(fp32->value));
      tiles.items.push_back({what, percent(int8.value), interval_text(int8.interval) + beside});
    };
    add("On old classes", r.int8_by_age->old_classes, r.fp32_by_age ? &r.fp32_by_age->old_classes : nullptr);
    add("On new classes", r.int8_by_age->new_classes, r.fp32_by_age ? &r.fp32_by_age->new_classes : nullptr);
  }
  tiles.items.push_back(
      {"Training images", std::to_string(r.train_count), fmt::format("{} classes", a.class_names.size())});
  tiles.items.push_back({"Validation images", std::to_string(r.validation_count), "never seen in training"});
  if (r.images_skipped > 0) {
    tiles.items.push_back(
        {"Images skipped", std::to_string(r.images_skipped), "listed below", report::Tone::kWarning});
  }
  tiles.items.push_back({"Time", seconds_text(r.seconds_total),
                         fmt::format("{} threads, {}", a.threads(), exec::isa().effective)});
  Section section{"Result", {tiles}};
  if (r.difference) {
    const train::PairedDifference& d = *r.difference;
    section.blocks.push_back(
        report::Paragraph{fmt::format("Both heads saw the same images. Of {} validation images {} were right "
                                      "only with the INT8 backbone and {} only with the "
                                      "FP32 one.",
                                      d.n, d.only_b, d.only_a)});
  }
  for (const std::string& note : a.notes)
    section.blocks.push_back(report::Callout{report::CalloutKind::kNote, note});
  return section;
}

report::Table trials_table(const Adaptation& a) {
  report::Table table{"Heads tried", {"Head", "Parameters", "Right", "Held-out accuracy"}, {}};
  for (const HeadTrial& t : a.trials) {
    table.rows.push_back({{t.kind, Cell(std::to_string(t.parameters), static_cast<double>(t.parameters)),
                           Cell(fmt::format("{} of {}", t.held.accuracy.correct, t.held.accuracy.count)),
                           Cell(percent(t.held.accuracy.value))},
                          t.kind == a.head_kind});
  }
  return table;
}

Section curves_section(const Adaptation& a) {
  Section section{"Training", {}};
  if (!a.trials.empty()) {
    section.blocks.push_back(trials_table(a));
    section.blocks.push_back(report::Paragraph{
        "The marked head was taken: the smallest whose accuracy is within one standard error of the best. "
        "\"keep\" is the model's own classifier."});
  }
  report::LineChart loss{"Loss", "epoch", "cross-entropy", {}};
  report::LineChart accuracy{"Accuracy on held-out training images", "epoch", "%", {}};
  loss.half_width = accuracy.half_width = true;
  report::Table table{
      "Per epoch", {"Backbone", "Epoch", "Training loss", "Held-out loss", "Held-out accuracy", "Time"}, {}};
  for (const Branch& branch : a.branches) {
    if (!branch.trained || branch.trained->epochs.empty()) continue;
    report::Series train_loss{branch.name + " training", {}, {}},
        held_loss{branch.name + " held out", {}, {}};
    report::Series held_accuracy{branch.name, {}, {}};
    for (const train::EpochMetrics& m : branch.trained->epochs) {
      const auto x = static_cast<double>(m.epoch);
      train_loss.x.push_back(x);
      train_loss.y.push_back(m.train_loss);
      held_loss.x.push_back(x);
      held_loss.y.push_back(m.holdout_loss);
      held_accuracy.x.push_back(x);
      held_accuracy.y.push_back(100 * m.holdout_accuracy);
      const bool held = branch.trained->holdout_rows > 0;
      table.rows.push_back(
          {{branch.name, Cell(std::to_string(m.epoch)), Cell(fmt::format("{:.4f}", m.train_loss)),
            Cell(held ? fmt::format("{:.4f}", m.holdout_loss) : ""),
            Cell(held ? percent(m.holdout_accuracy) : ""), Cell(seconds_text(m.seconds), m.seconds)},
           m.epoch == branch.trained->best_epoch});
    }
    loss.series.push_back(std::move(train_loss));
    if (branch.trained->holdout_rows > 0) {
      loss.series.push_back(std::move(held_loss));
      accuracy.series.push_back(std::move(held_accuracy));
    }
  }
  if (loss.series.empty()) return section;
  section.blocks.push_back(loss);
  if (!accuracy.series.empty()) section.blocks.push_back(accuracy);
  section.blocks.push_back(table);
  section.blocks.push_back(report::Paragraph{
      "The marked epoch of each backbone is the one kept: the best on the held-out images."});
  return section;
}

Section classes_section(const Adaptation& a) {
  const Evaluation& evaluation = a.branches.front().evaluation;
  Section section{"Classes (INT8)", {}};
  const auto classes = static_cast<int64_t>(a.class_names.size());
  constexpr int64_t kDrawnMax = 100;  // a larger matrix cannot be read
  if (classes <= kDrawnMax) {
    report::Heatmap map;
    map.title = "Confusion matrix";
    map.row_labels = a.class_names;
    for (int64_t t = 0; t < classes; ++t) {
      for (int64_t p = 0; p < classes; ++p)
        map.values.push_back(static_cast<double>(evaluation.confusion.at(t, p)));
    }
    section.blocks.push_back(map);
  }
  report::Table table{"Per class", {"Class", "Images", "Precision", "Recall"}, {}};
  const auto scores = evaluation.confusion.per_class();
  for (size_t c = 0; c < scores.size(); ++c) {
    table.rows.push_back({{a.class_names[c], Cell(std::to_string(scores[c].count)),
                           Cell(percent(scores[c].precision)), Cell(percent(scores[c].recall))}});
  }
  section.blocks.push_back(table);
  return section;
}

// Without the folder of the data.
std::string short_name(const Adaptation& a, std::string name) {
  const std::string folder = a.options.data + "/";
  if (name.rfind(folder, 0) == 0) name.erase(0, folder.size());
  return name;
}

Section mistakes_section(const Adaptation& a) {
  constexpr size_t kShown = 24;
  const Evaluation& evaluation = a.branches.front().evaluation;
  report::ImageGrid grid{"", {}};
  int64_t replayed = 0;
  for (const size_t i : confident_mistakes(evaluation, kShown)) {
    const int64_t sample = evaluation.rows[i] - a.val.replayed;
    if (sample < 0) {
      ++replayed;
      continue;
    }
    const auto image = data::load_image(a.val.dataset, static_cast<size_t>(sample),
                                        data::decode_options(a.model.preprocess));
    const auto bytes = image.ok() ? data::encode_thumbnail(*image, 160) : Result<std::string>(image.error());
    grid.images.push_back(
        {bytes.ok() ? *bytes : std::string(),
         fmt::format("{} taken for {}", a.class_names[static_cast<size_t>(evaluation.truth[i])],
                     a.class_names[static_cast<size_t>(evaluation.predicted[i])]),
         fmt::format("{:.0f} % sure; {}", 100 * evaluation.confidence[i],
                     short_name(a, a.val.dataset.name(static_cast<size_t>(sample)))),
         report::Tone::kBad});
  }
  Section section{"Most confident mistakes", {}};
  if (grid.images.empty() && replayed == 0) {
    section.blocks.push_back(report::Paragraph{"None: every validation image was classified correctly."});
  }
  if (!grid.images.empty()) section.blocks.push_back(grid);
  if (replayed > 0) {
    section.blocks.push_back(report::Paragraph{fmt::format(
        "{} of them are images of the run that was extended: only their features are kept.", replayed)});
  }
  return section;
}

Section quantization_section(const Adaptation& a) {
  const Json& q = a.quantized.report;
  Section section{"Quantization", {}};
  section.blocks.push_back(report::Paragraph{fmt::format(
      "Scheme {}, ranges by {}, from {} training images. {} nodes in fixed point, {} in float.",
      a.scheme == Scheme::kPow2 ? "pow2" : "affine", quant::to_string(a.options.method),
      q["calibration_images"].as_int(), q["quantized_nodes"].as_int(), q["float_nodes"].as_int())});
  report::Table table{"", {"Value", "Stored as", "Lowest seen", "Highest seen", "Clipped"}, {}};
  for (const Json& v : q["values"].items()) {
    table.rows.push_back(
        {{v["value"].as_string(), v["params"].as_string(), Cell(fmt::format("{:.4g}", v["min"].as_number())),
          Cell(fmt::format("{:.4g}", v["max"].as_number())),
          Cell(fmt::format("{:.3f} %", 100 * v["clipped"].as_number()))}});
  }
  std::vector<Block> inside;
  if (!table.rows.empty()) inside.push_back(table);
  if (!inside.empty())
    section.blocks.push_back(report::Details{fmt::format("All {} values", table.rows.size()), inside});
  if (q["notes"].size() > 0) {
    std::string text;
    for (const Json& note : q["notes"].items()) text += note.as_string() + "\n";
    section.blocks.push_back(report::Details{fmt::format("{} notes of the quantizer", q["notes"].size()),
                                             {report::Pre{"", text}}});
  }
  return section;
}

Section skipped_section(const Adaptation& a) {
  report::Table table{"", {"Part", "File", "Reason"}, {}};
  for (const DataPart* part : {&a.train, &a.val}) {
    for (const data::Skipped& s : part->skipped) table.rows.push_back({{part->name, s.path, s.reason}});
  }
  return {"Skipped images", {table}};
}

Section how_section(const Adaptation& a, const AdaptResult& r) {
  Section section{"How it was run", {}};
  if (!a.options.command.empty()) section.blocks.push_back(report::Pre{"Command", a.options.command});
  report::Table times{"Time per stage", {"Stage", "Time"}, {}};
  for (const auto& [name, seconds] : a.seconds)
    times.rows.push_back({{name, Cell(seconds_text(seconds), seconds)}});
  section.blocks.push_back(times);
  section.blocks.push_back(report::Details{"summary.json", {report::Pre{"", r.summary.dump(1)}}});
  return section;
}

}  // namespace

Status write_adapt_report(const Adaptation& a, const AdaptResult& result, const std::string& path) {
  report::Document document;
  document.title = fmt::format("Adapted to {} classes", a.class_names.size());
  document.subtitle = fmt::format("{} on {}", a.model.path, a.options.data);
  document.sections.push_back(result_section(a, result));
  if (!a.keeps_head()) document.sections.push_back(curves_section(a));
  document.sections.push_back(classes_section(a));
  document.sections.push_back(mistakes_section(a));
  document.sections.push_back(quantization_section(a));
  if (result.images_skipped > 0) document.sections.push_back(skipped_section(a));
  document.sections.push_back(how_section(a, result));
  document.footer = fmt::format("tandem adapt, seed {}, {}, {}", a.options.train.seed, exec::isa().library,
                                exec::isa().effective);
  // So that `tandem report` can make the page again.
  TANDEM_TRY(write_file(a.run->work("report.json"), report::to_json(document).dump() + "\n"));
  return report::write_report(document, path);
}

}  // namespace tandem::jobs
