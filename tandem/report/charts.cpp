// SPDX-License-Identifier: Apache-2.0
// Line charts, bar charts and histograms: what to draw as data for the script, and the same data as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tandem/report/decimate.hpp"
#include "tandem/report/number.hpp"
#include "tandem/report/page.hpp"

namespace tandem::report {
namespace {

constexpr size_t kDrawnPointsMax =
    1200;  // about one per pixel of a wide screen, with least and greatest each
constexpr size_t kTableRowsMax = 500;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string counted(size_t n, std::string_view singular, std::string_view plural) {
  return format_number(static_cast<double>(n)) + " " + std::string(n == 1 ? singular : plural);
}

void add_note(std::string& note, std::string sentence) {
  if (!note.empty()) note += ' ';
  note += std::move(sentence);
}

std::string name_of(const std::string& name, size_t index) {
  return name.empty() ? fmt::format("series {}", index + 1) : name;
}

template <typename SeriesList>
std::string series_names(const SeriesList& series) {
  std::string names;
  for (size_t s = 0; s < series.size(); ++s) names += (s == 0 ? "" : ", ") + name_of(series[s].name, s);
  return names;
}

double x_of(const Series& series, size_t i) {
  return series.x.empty() ? static_cast<double>(i) : series.x[i];
}

bool can_draw(double value, bool log) { return std::isfinite(value) && (!log || value > 0); }

// Points as [x, y] with y null at gaps. A gap keeps the x before it, so that it never stretches the axis.
Json line_points(const LineChart& chart, const Series& series, size_t& gaps) {
  std::vector<double> y(series.y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const bool drawn = can_draw(series.y[i], chart.log_y) && can_draw(x_of(series, i), chart.log_x);
    y[i] = drawn ? series.y[i] : kNan;
    if (!drawn) ++gaps;
  }
  Json points = Json::array();
  double x_before = kNan;
  for (const size_t i : decimate(y, kDrawnPointsMax)) {
    const bool drawn = std::isfinite(y[i]);
    if (drawn) x_before = x_of(series, i);
    if (!std::isfinite(x_before)) continue;  // a gap at the very start is no gap
    points.push(Json::array().push(x_before).push(drawn ? Json(y[i]) : Json()));
  }
  return points;
}

bool same_x(const std::vector<Series>& series) {
  for (const Series& s : series) {
    if (s.y.size() != series[0].y.size()) return false;
    for (size_t i = 0; i < s.y.size(); ++i) {
      if (!(x_of(s, i) == x_of(series[0], i))) return false;
    }
  }
  return true;
}

Table line_table(const LineChart& chart) {
  const std::string x_title = chart.x_label.empty() ? "x" : chart.x_label;
  const std::string y_title = chart.y_label.empty() ? "y" : chart.y_label;
  Table table{.caption = "Data of " + chart.title, .columns = {}};
  size_t total = 0;
  for (const Series& s : chart.series) total += s.y.size();
  const auto number = [](double v) { return Cell(format_number(v), v); };
  if (!chart.series.empty() && same_x(chart.series)) {
    table.columns.push_back({x_title, Align::kRight});
    for (size_t s = 0; s < chart.series.size(); ++s) {
      const bool named = chart.series.size() > 1 || !chart.series[s].name.empty();
      table.columns.push_back({named ? name_of(chart.series[s].name, s) : y_title, Align::kRight});
    }
    const size_t n = chart.series[0].y.size();
    const size_t step = n / kTableRowsMax + 1;
    for (size_t i = 0; i < n; i += step) {
      Row row{.cells = {number(x_of(chart.series[0], i))}};
      for (const Series& s : chart.series) row.cells.push_back(number(s.y[i]));
      table.rows.push_back(std::move(row));
    }
    return table;
  }
  table.columns = {{"series", Align::kLeft}, {x_title, Align::kRight}, {y_title, Align::kRight}};
  const size_t step = total / kTableRowsMax + 1;
  for (size_t s = 0; s < chart.series.size(); ++s) {
    for (size_t i = 0; i < chart.series[s].y.size(); i += step) {
      table.rows.push_back({.cells = {name_of(chart.series[s].name, s), number(x_of(chart.series[s], i)),
                                      number(chart.series[s].y[i])}});
    }
  }
  return table;
}

// The labels in drawing order.
std::vector<size_t> bar_order(const BarChart& chart) {
  std::vector<size_t> order(chart.labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (chart.order == Order::kAsGiven || chart.series.empty()) return order;
  const auto& key = chart.series[0].values;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (std::isnan(key[a]) || std::isnan(key[b])) return !std::isnan(key[a]) && std::isnan(key[b]);
    return chart.order == Order::kDescending ? key[a] > key[b] : key[a] < key[b];
  });
  return order;
}

Status check_bars(const BarChart& chart) {
  for (const BarSeries& s : chart.series) {
    const size_t n = chart.labels.size();
    const bool intervals_fit = (s.low.empty() && s.high.empty()) || (s.low.size() == n && s.high.size() == n);
    if (s.values.size() == n && intervals_fit) continue;
    return internal_error(
        fmt::format("bar chart '{}': series '{}' has {} values, {} low and {} high ends for {} labels",
                    chart.title, s.name, s.values.size(), s.low.size(), s.high.size(), n));
  }
  return {};
}

Table bar_table(const BarChart& chart, const std::vector<size_t>& order) {
  Table table{.caption = "Data of " + chart.title, .columns = {{"", Align::kLeft}}};
  for (size_t s = 0; s < chart.series.size(); ++s) {
    const bool named = chart.series.size() > 1 || !chart.series[s].name.empty() || chart.value_label.empty();
    const std::string title = named ? name_of(chart.series[s].name, s) : chart.value_label;
    table.columns.push_back({title, Align::kRight});
    if (chart.series[s].low.empty()) continue;
    table.columns.push_back({title + " from", Align::kRight});
    table.columns.push_back({title + " to", Align::kRight});
  }
  for (const size_t i : order) {
    Row row{.cells = {chart.labels[i]}};
    for (const BarSeries& s : chart.series) {
      row.cells.push_back(Cell(format_number(s.values[i]), s.values[i]));
      if (s.low.empty()) continue;
      row.cells.push_back(Cell(format_number(s.low[i]), s.low[i]));
      row.cells.push_back(Cell(format_number(s.high[i]), s.high[i]));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

int bar_height_px(const BarChart& chart, size_t drawn) {
  if (!chart.horizontal) return 300;
  const size_t per_label = chart.series.size() > 1 ? 12 + 12 * chart.series.size() : 28;
  return static_cast<int>(std::min<size_t>(80 + drawn * per_label, 6000));
}

struct Bins {
  double low = 0;
  double high = 1;
  std::vector<double> counts;
  size_t left_out = 0;
};

// Freedman and Diaconis (1981): width = 2 IQR / n^(1/3), here kept between 8 and 60 bins.
Bins count_bins(const Histogram& chart) {
  Bins bins;
  std::vector<double> sorted;
  for (const double v : chart.values) {
    if (std::isfinite(v)) sorted.push_back(v);
  }
  bins.left_out = chart.values.size() - sorted.size();
  if (sorted.empty()) return bins;
  std::sort(sorted.begin(), sorted.end());
  bins.low = sorted.front();
  bins.high = sorted.back();
  const double half = std::max(std::fabs(bins.low), 1.0) / 2;
  // One value only (or nearly): bins around it.
  if (!(bins.high / 2 - bins.low / 2 > half * 1e-12)) {
    bins.low -= half;
    bins.high += half;
  }
  const double half_range = bins.high / 2 - bins.low / 2;  // halved, so that it cannot overflow
  size_t n_bins = chart.bins;
  if (n_bins == 0) {
    const double iqr = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
    const double half_width = iqr / std::cbrt(static_cast<double>(sorted.size()));
    const double wanted = half_range / half_width;
    n_bins = wanted < 60 ? static_cast<size_t>(std::max(8.0, std::ceil(wanted))) : 60;
  }
  n_bins = std::min<size_t>(n_bins, 1000);
  bins.counts.assign(n_bins, 0.0);
  for (const double v : sorted) {
    const double place = (v / 2 - bins.low / 2) / half_range * static_cast<double>(n_bins);
    bins.counts[std::min(static_cast<size_t>(place), n_bins - 1)] += 1;
  }
  return bins;
}

}  // namespace

Status render(Page& page, const LineChart& block) {
  Json series = Json::array();
  size_t gaps = 0;
  size_t thinned = 0;
  size_t drawn = 0;
  for (size_t s = 0; s < block.series.size(); ++s) {
    const Series& one = block.series[s];
    if (!one.x.empty() && one.x.size() != one.y.size()) {
      return internal_error(fmt::format("line chart '{}': series '{}' has {} x and {} y values", block.title,
                                        one.name, one.x.size(), one.y.size()));
    }
    Json points = line_points(block, one, gaps);
    drawn += points.size();
    if (one.y.size() > kDrawnPointsMax) thinned += one.y.size();
    series.push(Json::object({{"name", name_of(one.name, s)}, {"points", std::move(points)}}));
  }
  ChartFrame frame{.title = block.title, .kind = "line", .half_width = block.half_width};
  frame.label = fmt::format("Line chart: {}. {} over {}. {}.", block.title, block.y_label, block.x_label,
                            series_names(block.series));
  if (thinned > 0) {
    add_note(frame.note, counted(thinned, "point", "points") + ", thinned for drawing; peaks are kept.");
  }
  if (gaps > 0) {
    const bool log = block.log_x || block.log_y;
    add_note(frame.note,
             counted(gaps, "point", "points") +
                 (log ? " without a finite positive value left out." : " without a finite value left out."));
  }
  if (drawn > 0) {
    frame.data = Json::object({{"type", "line"},
                               {"x", block.x_label},
                               {"y", block.y_label},
                               {"logX", block.log_x},
                               {"logY", block.log_y},
                               {"series", std::move(series)}});
  }
  frame.table = line_table(block);
  return render_chart(page, frame);
}

Status render(Page& page, const BarChart& block) {
  TANDEM_TRY(check_bars(block));
  const std::vector<size_t> order = bar_order(block);
  const size_t drawn = std::min<size_t>(order.size(), block.drawn_max);
  Json labels = Json::array();
  for (size_t i = 0; i < drawn; ++i) labels.push(block.labels[order[i]]);
  Json series = Json::array();
  size_t gaps = 0;
  bool any = false;
  for (size_t s = 0; s < block.series.size(); ++s) {
    const BarSeries& one = block.series[s];
    Json values = Json::array(), low = Json::array(), high = Json::array();
    for (size_t i = 0; i < drawn; ++i) {
      const double v = one.values[order[i]];
      if (std::isfinite(v))
        any = true;
      else
        ++gaps;
      values.push(std::isfinite(v) ? Json(v) : Json());
      if (one.low.empty()) continue;
      const double from = one.low[order[i]], to = one.high[order[i]];
      const bool whole = std::isfinite(from) && std::isfinite(to);
      low.push(whole ? Json(from) : Json());
      high.push(whole ? Json(to) : Json());
    }
    series.push(Json::object({{"name", name_of(one.name, s)},
                              {"values", std::move(values)},
                              {"low", std::move(low)},
                              {"high", std::move(high)}}));
  }
  ChartFrame frame{.title = block.title, .kind = "bar", .half_width = block.half_width};
  frame.label = fmt::format("Bar chart: {}. {} of {}. {}.", block.title, block.value_label,
                            counted(order.size(), "item", "items"), series_names(block.series));
  if (drawn < order.size()) {
    add_note(frame.note, fmt::format("The first {} of {} are drawn; the table has all.", drawn,
                                     format_number(static_cast<double>(order.size()))));
  }
  if (gaps > 0) add_note(frame.note, counted(gaps, "bar", "bars") + " without a finite value left out.");
  if (any) {
    frame.data = Json::object({{"type", "bar"},
                               {"horizontal", block.horizontal},
                               {"value", block.value_label},
                               {"labels", std::move(labels)},
                               {"series", std::move(series)}});
  }
  frame.height_px = bar_height_px(block, drawn);
  frame.table = bar_table(block, order);
  return render_chart(page, frame);
}

Status render(Page& page, const Histogram& block) {
  Bins bins;
  if (block.counts.empty()) {
    bins = count_bins(block);
  } else {
    if (!block.values.empty() || !std::isfinite(block.low) || !(block.high > block.low) ||
        std::isinf(block.high)) {
      return internal_error(
          fmt::format("histogram '{}': give values, or counts with low < high", block.title));
    }
    bins = {.low = block.low, .high = block.high, .counts = block.counts};
  }
  const size_t n = bins.counts.size();
  const auto edge = [&](size_t i) {
    const double t = static_cast<double>(i) / static_cast<double>(n);
    return bins.low * (1 - t) + bins.high * t;
  };
  ChartFrame frame{.title = block.title, .kind = "histogram", .half_width = block.half_width};
  frame.table = {.caption = "Data of " + block.title,
                 .columns = {{"from", Align::kRight}, {"to", Align::kRight}, {"count", Align::kRight}}};
  Json edges = Json::array(), counts = Json::array();
  double total = 0;
  for (size_t i = 0; i < n; ++i) {
    const double count = std::isfinite(bins.counts[i]) ? bins.counts[i] : 0;
    total += count;
    edges.push(edge(i));
    counts.push(count);
    frame.table.rows.push_back(
        {.cells = {Cell(format_number(edge(i)), edge(i)), Cell(format_number(edge(i + 1)), edge(i + 1)),
                   Cell(format_number(count), count)}});
  }
  if (n > 0) edges.push(edge(n));
  frame.label = fmt::format("Histogram: {}. {} values of {} in {}.", block.title, format_number(total),
                            block.x_label, counted(n, "bin", "bins"));
  if (bins.left_out > 0) {
    add_note(frame.note,
             counted(bins.left_out, "value that is", "values that are") + " not finite left out.");
  }
  if (total > 0) {
    frame.data = Json::object({{"type", "histogram"},
                               {"x", block.x_label},
                               {"edges", std::move(edges)},
                               {"counts", std::move(counts)}});
  }
  return render_chart(page, frame);
}

}  // namespace tandem::report
