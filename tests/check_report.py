#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens an HTML report in headless Chromium, at phone, desk and paper width, in light and dark, and refuses
it when
  - the console shows an error, a script throws, or the page asks for anything outside itself,
  - a chart is missing: a canvas without coloured pixels, or a chart figure without a canvas,
  - text overflows: the page scrolls sideways, or an element cuts or spills its content,
  - a picture cannot be decoded, or the page has no text.
Folded parts are opened first. Exit 0: fine. 1: refused, one line per problem. 2: wrong usage, or no browser.
Only Python's standard library; the browser is driven over its debugging pipe (DevTools protocol)."""
import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

VIEWS = [  # name, width, height, phone, colour scheme, medium
    ("phone-light", 390, 844, True, "light", ""),
    ("phone-dark", 390, 844, True, "dark", ""),
    ("desk-light", 1280, 900, False, "light", ""),
    ("desk-dark", 1280, 900, False, "dark", ""),
    ("paper", 680, 960, False, "light", "print"),
]

# Runs in the page and returns what is wrong with it. Opens all folds, lets charts resize, then looks.
CHECK = r"""
(async (expectedWidth, chartsMin) => {
  const problems = [];
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (let i = 0; i < 4; i++) await new Promise((done) => setTimeout(done, 50));
  const name = (e) => {
    const words = (e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    const classes = e.getAttribute("class");
    return e.tagName.toLowerCase() + (classes ? "." + classes : "") + (words ? " '" + words + "'" : "");
  };
  const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";

  if (!document.body || document.body.innerText.trim() === "") return ["the page has no text"];
  const page = document.documentElement;
  if (innerWidth > expectedWidth + 20) {
    problems.push("laid out " + innerWidth + " px wide, screen has " + expectedWidth);
  }
  if (page.scrollWidth > page.clientWidth) {
    problems.push("the page scrolls sideways: " + page.scrollWidth + " > " + page.clientWidth + " px");
  }

  const scrolls = (style) => style.overflowX === "auto" || style.overflowX === "scroll";
  const boxed = (e) => {
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      if (scrolls(getComputedStyle(p))) return true;
    }
    return false;
  };
  for (const e of document.body.querySelectorAll("*")) {
    if (!(e instanceof HTMLElement) || !shown(e)) continue;
    const style = getComputedStyle(e);
    if (e.clientWidth > 0 && !scrolls(style) && e.scrollWidth > e.clientWidth + 1) {
      // Shortened on purpose, with the whole text at hand.
      const whole = style.textOverflow === "ellipsis" && e.title !== "";
      if (!whole) problems.push("overflows by " + (e.scrollWidth - e.clientWidth) + " px: " + name(e));
    }
    if (e.clientHeight > 0 && (style.overflowY === "hidden" || style.overflowY === "clip") &&
        e.scrollHeight > e.clientHeight + 2 && !(style.textOverflow === "ellipsis" && e.title !== "")) {
      problems.push("cut off by " + (e.scrollHeight - e.clientHeight) + " px: " + name(e));
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const e = node.parentElement;
    const shortened = getComputedStyle(e).textOverflow === "ellipsis" && e.title !== "";
    if (node.data.trim() === "" || !shown(e) || boxed(e) || shortened) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0 && (box.right > page.clientWidth + 1 || box.left < -1)) {
        problems.push("text outside the screen: " + name(e));
        break;
      }
    }
  }

  const canvases = Array.from(document.querySelectorAll("canvas"));
  if (canvases.length < chartsMin) problems.push(canvases.length + " charts, expected at least " + chartsMin);
  for (const figure of document.querySelectorAll("figure.chart")) {
    if (!figure.querySelector("canvas, .none")) problems.push("no canvas in " + name(figure));
  }
  for (const canvas of canvases) {
    const label = canvas.getAttribute("aria-label") || "";
    if (label === "") problems.push("a canvas has no aria-label");
    if (!shown(canvas) || canvas.width === 0 || canvas.height === 0) {
      problems.push("chart not shown: " + label);
      continue;
    }
    // Axes are grey; marks are coloured. Both ends of the test are far from antialiasing noise.
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let coloured = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      if (pixels[i + 3] < 64) continue;
      const most = Math.max(pixels[i], pixels[i + 1], pixels[i + 2]);
      const least = Math.min(pixels[i], pixels[i + 1], pixels[i + 2]);
      if (most - least > 50) coloured++;
    }
    if (coloured < 12) problems.push("missing chart, nothing drawn on the canvas: " + label);
  }
  for (const picture of document.images) {
    if (!picture.complete || picture.naturalWidth === 0) {
      problems.push("picture does not decode: " + picture.alt.slice(0, 60));
    }
  }
  return problems;
})
"""


class Browser:
    """A headless Chromium with one page, and the errors that page has shown."""

    def __init__(self, program, profile):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--disable-extensions",
                   "--host-resolver-rules=MAP * ~NOTFOUND",
                   "--user-data-dir=" + profile, "about:blank"]
        # The protocol wants the pipe at descriptors 3 and 4.
        shell = ["/bin/sh", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "sh"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(shell + command, pass_fds=(to_read, from_write), **quiet)
        os.close(to_read)
        os.close(from_write)
        self.write_fd, self.read_fd = to_write, from_read
        self.pending, self.last_id, self.session = b"", 0, None
        self.loaded, self.errors, self.own = False, [], ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_fd)
        os.close(self.read_fd)

    def message(self, deadline):
        while b"\0" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.read_fd, 1 << 20)
            if not chunk:
                raise ConnectionError("the browser has ended")
            self.pending += chunk
        line, self.pending = self.pending.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **parameters):
        self.last_id += 1
        request = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        deadline = time.monotonic() + 60
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        method, data = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            words = details.get("exception", {}).get("description", details["text"])
            self.errors.append("script error: " + words)
        elif method == "Runtime.consoleAPICalled" and data["type"] in ("error", "assert"):
            words = [str(a.get("value", a.get("description", ""))) for a in data["args"]]
            self.errors.append("console error: " + " ".join(words))
        elif method == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.errors.append("console error: " + data["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = data["request"]["url"]
            if not url.startswith(("data:", "blob:")) and url.split("#")[0] != self.own:
                self.errors.append("asks for " + url[:120])

    def open(self, url):
        self.loaded, self.errors, self.own = False, [], url
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 60
        while not self.loaded:
            self.note(self.message(deadline))

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("the check itself failed: " + json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")


def check_view(browser, view, url, options):
    name, width, height, phone, scheme, medium = view
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=2 if phone else 1, mobile=phone)
    browser.call("Emulation.setEmulatedMedia", media=medium,
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(url)
    if options.screenshots:
        browser.evaluate("new Promise((done) => setTimeout(done, 300))")
        size = browser.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        directory = pathlib.Path(options.screenshots)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    problems = browser.evaluate(f"{CHECK}({width}, {options.charts_min})")
    return [f"{name}: {problem}" for problem in browser.errors + problems]


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("file")
    parser.add_argument("--charts-min", type=int, default=0, help="refuse a page with fewer canvases")
    parser.add_argument("--view", action="append", choices=[view[0] for view in VIEWS],
                        help="look at this view only; may be repeated")
    parser.add_argument("--screenshots", metavar="DIR", help="write one whole-page PNG per view")
    parser.add_argument("--browser", help="the Chromium to use; otherwise the one on the PATH")
    options = parser.parse_args()
    path = pathlib.Path(options.file)
    if not path.is_file():
        print(f"{options.file}: no such file", file=sys.stderr)
        return 2
    names = ("chromium", "chromium-browser", "google-chrome")
    program = options.browser or next(filter(None, map(shutil.which, names)), None)
    if not program:
        print("no browser: install the Debian package chromium, or give --browser", file=sys.stderr)
        return 2
    problems = []
    with tempfile.TemporaryDirectory(prefix="check-report-", ignore_cleanup_errors=True) as profile:
        browser = None
        try:
            browser = Browser(program, profile)
            for view in VIEWS:
                if options.view and view[0] not in options.view:
                    continue
                problems += check_view(browser, view, path.resolve().as_uri(), options)
        except (OSError, TimeoutError, RuntimeError) as error:
            problems.append(f"browser: {error}")
        finally:
            if browser:
                browser.close()
    for problem in dict.fromkeys(problems):
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
