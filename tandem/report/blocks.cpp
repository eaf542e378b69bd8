// SPDX-License-Identifier: Apache-2.0
// The blocks that need no computation: text, tiles, pictures, code, callouts, drawings, folds, and the chart
// frame.
#include <fmt/format.h>

#include "tandem/report/page.hpp"
#include "tandem/report/svg.hpp"

namespace tandem::report {
namespace {

constexpr int kDepthMax = 8;

std::string_view media_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xFF\xD8\xFF")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP") return "image/webp";
  return {};
}

void caption(Page& page, std::string_view words) {
  if (words.empty()) return;
  page.markup("<figcaption>");
  page.text(words);
  page.markup("</figcaption>");
}

void paragraphs(Page& page, std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find("\n\n");
    const std::string_view one = text.substr(0, end);
    if (one.find_first_not_of(" \n\t") != std::string_view::npos) {
      page.markup("<p>");
      page.text(one);
      page.markup("</p>");
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 2);
  }
}

}  // namespace

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kNeutral: return "";
    case Tone::kGood: return " good";
    case Tone::kWarning: return " warning";
    case Tone::kBad: return " bad";
  }
  return "";
}

Status render(Page& page, const Paragraph& block) {
  page.markup("<div class=\"block prose\">");
  paragraphs(page, block.text);
  page.markup("</div>\n");
  return {};
}

Status render(Page& page, const KeyValues& block) {
  if (block.items.empty()) return {};
  page.markup("<dl class=\"block tiles\">\n");
  for (const KeyValue& item : block.items) {
    page.markup("<div class=\"tile");
    page.markup(tone_class(item.tone));
    page.markup("\"><dt>");
    page.text(item.label);
    // Long words in a tile get a smaller type, so that paths and names do not tower over figures.
    const size_t length = item.value.size();
    page.markup(length > 14  ? "</dt><dd class=\"value long\">"
                : length > 8 ? "</dt><dd class=\"value middle\">"
                             : "</dt><dd class=\"value\">");
    page.text(item.value);
    page.markup("</dd>");
    if (!item.note.empty()) {
      page.markup("<dd class=\"note\">");
      page.text(item.note);
      page.markup("</dd>");
    }
    page.markup("</div>\n");
  }
  page.markup("</dl>\n");
  return {};
}

Status render(Page& page, const ImageGrid& block) {
  page.markup("<figure class=\"block pictures\">");
  caption(page, block.title);
  page.markup(block.images.empty() ? "<p class=\"none\">No pictures</p>" : "<ul>\n");
  for (const Image& image : block.images) {
    page.markup("<li class=\"picture");
    page.markup(tone_class(image.tone));
    page.markup("\">");
    const std::string_view type = media_type(image.bytes);
    if (type.empty()) {
      page.markup("<div class=\"missing\">not a picture</div>");
    } else {
      page.markup("<img alt=\"");
      page.text(image.caption);
      page.markup("\" src=\"data:");
      page.markup(type);
      page.markup(";base64,");
      page.markup(base64(image.bytes));
      page.markup("\">");
    }
    page.markup("<p>");
    page.text(image.caption);
    page.markup("</p>");
    if (!image.note.empty()) {
      page.markup("<p class=\"note\">");
      page.text(image.note);
      page.markup("</p>");
    }
    page.markup("</li>\n");
  }
  page.markup(block.images.empty() ? "</figure>\n" : "</ul></figure>\n");
  return {};
}

Status render(Page& page, const Pre& block) {
  page.markup("<figure class=\"block code\">");
  caption(page, block.caption);
  // The parser drops the first newline after <pre>.
  page.markup("<pre tabindex=\"0\">\n");
  page.text(block.text);
  page.markup("</pre></figure>\n");
  return {};
}

Status render(Page& page, const Callout& block) {
  const auto [name, word] = block.kind == CalloutKind::kNote      ? std::pair{"info", "Note"}
                            : block.kind == CalloutKind::kWarning ? std::pair{"warning", "Warning"}
                                                                  : std::pair{"bad", "Error"};
  page.markup(
      fmt::format("<div class=\"block callout {}\" role=\"note\"><p class=\"head\"><b>{}</b> ", name, word));
  page.text(block.title);
  page.markup("</p>");
  paragraphs(page, block.text);
  page.markup("</div>\n");
  return {};
}

Status render(Page& page, const Svg& block) {
  const Status allowed = check_svg(block.markup);
  if (!allowed.ok()) return Error(allowed.error()).context(fmt::format("drawing '{}'", block.title));
  page.markup("<figure class=\"block drawing\">");
  caption(page, block.title);
  page.markup("<div class=\"scroll\" role=\"img\" aria-label=\"");
  page.text(block.label);
  page.markup("\">");
  page.markup(block.markup);
  page.markup("</div></figure>\n");
  return {};
}

Status render(Page& page, const Details& block) {
  if (page.depth >= kDepthMax) return internal_error("details are nested too deeply").context(block.summary);
  page.markup(block.open ? "<details class=\"block fold\" open><summary>"
                         : "<details class=\"block fold\"><summary>");
  page.text(block.summary);
  page.markup("</summary>\n");
  ++page.depth;
  TANDEM_TRY(render_blocks(page, block.blocks));
  --page.depth;
  page.markup("</details>\n");
  return {};
}

Status render_chart(Page& page, const ChartFrame& frame) {
  const bool drawn = !frame.data.is_null();
  page.markup(fmt::format("<figure class=\"block chart{}\" data-kind=\"{}\">",
                          frame.half_width ? " half" : "", frame.kind));
  caption(page, frame.title);
  if (drawn) {
    page.has_charts = true;
    page.markup(fmt::format("<div class=\"plot\" style=\"--height:{}px\"><canvas role=\"img\" aria-label=\"",
                            frame.height_px));
    page.text(frame.label);
    page.markup("\"></canvas></div>\n<script type=\"application/json\">");
    page.markup(script_json(frame.data));
    page.markup("</script>\n");
  } else {
    page.markup("<p class=\"none\">No data to draw</p>");
  }
  if (!frame.note.empty()) {
    page.markup("<p class=\"note\">");
    page.text(frame.note);
    page.markup("</p>");
  }
  if (!frame.table.rows.empty()) {
    page.markup("<details class=\"data\"><summary>");
    page.text(frame.kind == "heatmap" ? std::string_view(frame.table.caption) : "Data as a table");
    page.markup("</summary>");
    TANDEM_TRY(render_table(page, frame.table));
    page.markup("</details>");
  }
  page.markup("</figure>\n");
  return {};
}

Status render_blocks(Page& page, const std::vector<Block>& blocks) {
  page.markup("<div class=\"blocks\">\n");
  for (const Block& block : blocks) {
    TANDEM_TRY(std::visit([&](const auto& content) { return render(page, content); }, block.content));
  }
  page.markup("</div>\n");
  return {};
}

}  // namespace tandem::report
