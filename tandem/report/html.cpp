// SPDX-License-Identifier: Apache-2.0
// The page as a whole: head with the security policy, header, contents, sections, scripts.
#include "tandem/report/html.hpp"

#include <fmt/format.h>

#include "tandem/base/file.hpp"
#include "tandem/report/assets.hpp"
#include "tandem/report/page.hpp"

namespace tandem::report {
namespace {

constexpr size_t kContentsFrom = 3;  // sections

std::string hash_source(std::string_view hexadecimal) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
    bytes += static_cast<char>(digit(hexadecimal[i]) << 4 | digit(hexadecimal[i + 1]));
  }
  return "'sha256-" + base64(bytes) + "'";
}

void script(Page& page, const Asset& asset) {
  page.markup("<script>");
  page.markup(asset.text);
  page.markup("</script>\n");
}

void head(Page& page, const Document& document) {
  page.markup(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n");
  // Nothing is fetched, and a name that slipped through as markup could still not run: scripts go by hash.
  page.markup(
      fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                  "style-src 'unsafe-inline'; script-src {} {}; base-uri 'none'; form-action 'none'\">\n",
                  hash_source(chart_library().sha256), hash_source(page_script().sha256)));
  page.markup("<link rel=\"icon\" href=\"data:,\">\n<title>");
  page.text(document.title);
  page.markup("</title>\n<style>\n");
  page.markup(page_style().text);
  page.markup("</style>\n<noscript><style>.plot{display:none}</style></noscript>\n</head>\n");
}

void contents(Page& page, const Document& document) {
  if (document.sections.size() < kContentsFrom) return;
  page.markup("<nav aria-label=\"Contents\"><ul>\n");
  for (size_t s = 0; s < document.sections.size(); ++s) {
    page.markup(fmt::format("<li><a href=\"#s{}\">", s + 1));
    page.text(document.sections[s].title);
    page.markup("</a></li>\n");
  }
  page.markup("</ul></nav>\n");
}

}  // namespace

Result<std::string> to_html(const Document& document) {
  Page page;
  head(page, document);
  page.markup(document.sections.size() < kContentsFrom ? "<body>\n" : "<body class=\"with-contents\">\n");
  page.markup("<header><h1>");
  page.text(document.title);
  page.markup("</h1>");
  if (!document.subtitle.empty()) {
    page.markup("<p>");
    page.text(document.subtitle);
    page.markup("</p>");
  }
  page.markup("</header>\n");
  contents(page, document);
  page.markup("<main>\n");
  for (size_t s = 0; s < document.sections.size(); ++s) {
    const Section& section = document.sections[s];
    page.markup(fmt::format("<section id=\"s{}\"><h2>", s + 1));
    page.text(section.title);
    page.markup("</h2>\n");
    TANDEM_TRY(
        render_blocks(page, section.blocks).context(fmt::format("report section '{}'", section.title)));
    page.markup("</section>\n");
  }
  page.markup("</main>\n");
  if (!document.footer.empty()) {
    page.markup("<footer>");
    page.text(document.footer);
    page.markup("</footer>\n");
  }
  if (page.has_charts) {
    page.markup("<!--\n");
    page.markup(chart_licence().text);
    page.markup("-->\n");
    script(page, chart_library());
  }
  script(page, page_script());
  page.markup("</body>\n</html>\n");
  return std::move(page.out);
}

Status write_report(const Document& document, const std::string& path) {
  const std::string html = TANDEM_TRY(to_html(document));
  return write_file(path, html).context("writing the report");
}

}  // namespace tandem::report
