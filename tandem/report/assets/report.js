// SPDX-License-Identifier: Apache-2.0
// Draws the charts of a report from the JSON beside each canvas, and sorts tables. Names of the data only
// ever become text: on the canvas or as textContent. A chart that fails is reported to the console and its
// table opened instead.
(() => {
  "use strict";
  const root = document.documentElement;
  const drawn = [];  // undo functions of what is drawn, run before drawing anew in other colours

  function theme() {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const series = [];
    for (let i = 1; i <= 8; i++) series.push(colour("c" + i));
    return {
      text: colour("text"),
      muted: colour("muted"),
      line: colour("line-soft"),
      axis: colour("line"),
      card: colour("card"),
      on: colour("on"),
      off: colour("off"),
      series,
      font: getComputedStyle(document.body).fontFamily,
    };
  }

  // Names are shortened in the middle (layers often differ at the end); tooltips and tables have them whole.
  function short(text, length) {
    const points = Array.from(String(text));
    if (points.length <= length) return String(text);
    const tail = Math.floor((length - 1) * 0.4);
    return points.slice(0, length - 1 - tail).join("") + "…" + points.slice(points.length - tail).join("");
  }

  function number(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e9 || size < 1e-3))
      return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    return value.toLocaleString("en", {maximumSignificantDigits: size >= 1e4 ? 9 : 5});
  }

  // For labels beside bars: three digits are what the eye takes in.
  function brief(value) {
    const size = Math.abs(value);
    return size !== 0 && size < 1e-3 ?
        number(value) :
        value.toLocaleString("en", size >= 100 ? {maximumFractionDigits: 0} : {maximumSignificantDigits: 3});
  }

  function tick(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3))
      return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
    return value.toLocaleString("en", {maximumSignificantDigits: 6});
  }

  // Powers of ten, and 2 and 5 between them when the axis spans few decades.
  function logTick(value, index, ticks) {
    const digit = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
    const wide = ticks.length > 40;
    return digit === 1 || (!wide && (digit === 2 || digit === 5)) ? tick(value) : "";
  }

  function axis(t, title, log) {
    return {
      type: log ? "logarithmic" : "linear",
      title: {display: title !== "", text: short(title, 60), color: t.muted, padding: 6},
      ticks: {
        color: t.muted,
        callback: log ? logTick : tick,
        maxRotation: 0,
        maxTicksLimit: log ? 200 : 8,
        autoSkipPadding: 12,
        includeBounds: false
      },
      grid: {color: t.line, borderColor: t.axis, tickColor: "transparent", tickLength: 4},
    };
  }

  function base(t, seriesCount) {
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      locale: "en",
      font: {family: t.font},
      color: t.text,
      layout: {padding: {top: 4, right: 6}},
      plugins: {
        legend: {
          display: seriesCount > 1,
          position: "top",
          align: "start",
          labels: {
            color: t.text,
            boxWidth: 14,
            boxHeight: 3,
            padding: 14,
            generateLabels(chart) {
              const labels = Chart.defaults.plugins.legend.labels.generateLabels(chart);
              for (const label of labels) label.text = short(label.text, 32);
              return labels;
            },
          },
        },
        tooltip: {
          backgroundColor: t.text,
          titleColor: t.card,
          bodyColor: t.card,
          padding: 10,
          cornerRadius: 8,
          boxPadding: 4,
          displayColors: seriesCount > 1,
        },
      },
    };
  }

  function lineChart(t, data) {
    const options = base(t, data.series.length);
    options.scales = {x: axis(t, data.x, data.logX), y: axis(t, data.y, data.logY)};
    if (!data.logX) options.scales.x.bounds = "data";
    options.interaction = {mode: "nearest", axis: "x", intersect: false};
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? (data.x || "x") + " " + number(items[0].parsed.x) : "",
      label: (item) => short(item.dataset.label, 40) + ": " + number(item.parsed.y),
    };
    const datasets = data.series.map((series, i) => {
      const colour = t.series[i % t.series.length];
      // A point between two gaps has no line to stand on, so it gets a dot.
      const alone = (k) => (k === 0 || series.points[k - 1][1] === null) &&
          (k + 1 >= series.points.length || series.points[k + 1][1] === null);
      const dots = series.points.length <= 40;
      return {
        label: series.name,
        data: series.points.map(([x, y]) => ({x, y: y === null ? NaN : y})),
        parsing: false,
        borderColor: colour,
        backgroundColor: colour,
        borderWidth: 2,
        borderJoinStyle: "round",
        borderDash: i < t.series.length ? [] : [6, 3],
        pointRadius: series.points.map(
            (_, k) => alone(k) ? 3 :
                dots           ? 2.5 :
                                 0),
        pointHoverRadius: 5,
        pointHitRadius: 8,
      };
    });
    return {type: "line", data: {datasets}, options, plugins: []};
  }

  // Whiskers of intervals, and the value at the end of each bar where one series lies.
  function barMarks(t, data) {
    const single = data.series.length === 1;
    const labelled = single && (data.horizontal || data.labels.length <= 12);
    return {
      id: "marks",
      afterDatasetsDraw(chart) {
        const ctx = chart.ctx;
        const scale = chart.scales[data.horizontal ? "x" : "y"];
        ctx.save();
        ctx.font = "12px " + t.font;
        ctx.fillStyle = t.muted;
        ctx.strokeStyle = t.text;
        ctx.lineWidth = 1.5;
        data.series.forEach((series, s) => {
          if (!chart.isDatasetVisible(s)) return;
          chart.getDatasetMeta(s).data.forEach((bar, i) => {
            const value = series.values[i];
            if (value === null) return;
            let end = scale.getPixelForValue(value);
            const whole = series.low.length > 0 && series.low[i] !== null;
            if (whole) {
              const a = scale.getPixelForValue(series.low[i]), b = scale.getPixelForValue(series.high[i]);
              const at = data.horizontal ? bar.y : bar.x;
              ctx.beginPath();
              const line = (u0, v0, u1, v1) => {
                ctx.moveTo(data.horizontal ? u0 : v0, data.horizontal ? v0 : u0);
                ctx.lineTo(data.horizontal ? u1 : v1, data.horizontal ? v1 : u1);
              };
              line(a, at, b, at);
              line(a, at - 4, a, at + 4);
              line(b, at - 4, b, at + 4);
              ctx.stroke();
              end = value < 0 ? scale.getPixelForValue(series.low[i]) : b;
            }
            if (!labelled) return;
            const side = value < 0 ? -1 : 1;
            ctx.textBaseline = data.horizontal ? "middle" : side > 0 ? "bottom" : "top";
            ctx.textAlign = !data.horizontal ? "center" : side > 0 ? "left" : "right";
            ctx.fillText(
                brief(value), data.horizontal ? end + 6 * side : bar.x,
                data.horizontal ? bar.y : end - 4 * side);
          });
        });
        ctx.restore();
      },
    };
  }

  function barChart(t, data, width) {
    const options = base(t, data.series.length);
    const values = axis(t, data.value, false);
    const ends = data.series.flatMap((s) => s.low.concat(s.high)).filter((v) => v !== null);
    if (ends.length)
      Object.assign(values, {suggestedMin: Math.min(0, ...ends), suggestedMax: Math.max(0, ...ends)});
    if (data.series.length === 1) {  // room for the values beside the bars
      if (data.series[0].values.some((v) => v !== null && v < 0)) values.grace = "12%";
      options.layout.padding = data.horizontal ? {top: 4, right: 48} : {top: 20, right: 6};
    }
    const names = axis(t, "", false);
    names.type = "category";
    names.grid.display = false;
    const room = data.horizontal ? Math.min(28, Math.floor(width / 3 / 7)) : 18;
    names.ticks.callback = (_, i) => short(data.labels[i], room);
    names.ticks.maxTicksLimit = 200;
    names.ticks.maxRotation = 60;
    if (data.horizontal) names.ticks.autoSkip = false;
    options.indexAxis = data.horizontal ? "y" : "x";
    options.scales = data.horizontal ? {x: values, y: names} : {x: names, y: values};
    options.interaction = {mode: "index", intersect: false, axis: data.horizontal ? "y" : "x"};
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? short(data.labels[items[0].dataIndex], 60) : "",
      label(item) {
        const series = data.series[item.datasetIndex], i = item.dataIndex;
        const whole = series.low.length > 0 && series.low[i] !== null;
        return (data.series.length > 1 ? short(series.name, 40) + ": " : "") + number(series.values[i]) +
            (whole ? " (" + number(series.low[i]) + " to " + number(series.high[i]) + ")" : "");
      },
    };
    const datasets = data.series.map((series, i) => ({
                                       label: series.name,
                                       data: series.values.map((v) => v === null ? NaN : v),
                                       backgroundColor: t.series[i % t.series.length],
                                       borderRadius: 3,
                                       maxBarThickness: data.horizontal ? 22 : 64,
                                       categoryPercentage: 0.78,
                                       barPercentage: 0.92,
                                     }));
    return {type: "bar", data: {labels: data.labels, datasets}, options, plugins: [barMarks(t, data)]};
  }

  function histogram(t, data) {
    const options = base(t, 1);
    const n = data.counts.length;
    const x = axis(t, data.x, false);
    Object.assign(x, {offset: false, min: data.edges[0], max: data.edges[n]});
    x.grid.display = false;
    x.grid.offset = false;
    options.scales = {x, y: axis(t, "count", false)};
    options.interaction = {mode: "index", intersect: false};
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ?
          number(data.edges[items[0].dataIndex]) + " to " + number(data.edges[items[0].dataIndex + 1]) :
          "",
      label: (item) => number(item.parsed.y),
    };
    const points = data.counts.map((count, i) => ({x: data.edges[i] / 2 + data.edges[i + 1] / 2, y: count}));
    const dataset = {
      label: data.x,
      data: points,
      parsing: false,
      backgroundColor: t.series[0],
      barPercentage: n > 30 ? 1 : 0.94,
      categoryPercentage: 1,
      borderRadius: 2
    };
    return {type: "bar", data: {datasets: [dataset]}, options, plugins: []};
  }

  function readoutFor(figure) {
    let readout = figure.querySelector(".readout");
    if (readout) return readout;
    readout = document.createElement("p");
    readout.className = "readout note";
    readout.setAttribute("aria-live", "polite");
    figure.querySelector(".plot").after(readout);
    return readout;
  }

  function drawMatrix(t, data, figure, canvas) {
    const plot = canvas.parentElement;
    plot.classList.add("matrix");
    const rows = data.rows.length, columns = data.columns.length;
    const ctx = canvas.getContext("2d");
    const fontSize = 10;
    const font = fontSize + "px " + t.font;
    const wide = plot.clientWidth > 600;
    const shown = (name) => short(name, wide ? 22 : 12);
    ctx.font = font;
    const widest = (names) =>
        Math.ceil(names.reduce((most, name) => Math.max(most, ctx.measureText(shown(name)).width), 0));
    const left = widest(data.rows) + 10, top = widest(data.columns) + 10;
    const most = Math.max(rows, columns);
    // Cells keep 7 px so that they can be told apart (the box scrolls), unless that makes a picture beyond
    // reason.
    const least = most <= 200 ? 7 : Math.max(1, Math.floor(1400 / most));
    const size = Math.max(least, Math.min(28, Math.floor((plot.clientWidth - left - 1) / columns)));
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = left + size * columns + 1, height = top + size * rows + 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    ctx.scale(ratio, ratio);
    const gap = size >= 6 ? 1 : 0;
    ctx.fillStyle = t.line;
    ctx.fillRect(left, top, size * columns, size * rows);
    for (const [r, c, , strength] of data.cells) {
      ctx.fillStyle = "rgb(" + (data.square && r !== c ? t.off : t.on) + " / " + strength + "%)";
      ctx.fillRect(left + c * size, top + r * size, size - gap, size - gap);
    }
    ctx.font = font;
    ctx.fillStyle = t.muted;
    ctx.textBaseline = "middle";
    const step = Math.ceil((fontSize + 2) / size);
    ctx.textAlign = "right";
    for (let r = 0; r < rows; r += step) ctx.fillText(shown(data.rows[r]), left - 6, top + (r + 0.5) * size);
    ctx.textAlign = "left";
    for (let c = 0; c < columns; c += step) {
      ctx.save();
      ctx.translate(left + (c + 0.5) * size, top - 6);
      ctx.rotate(-Math.PI / 2);
      ctx.fillText(shown(data.columns[c]), 0, 0);
      ctx.restore();
    }
    const readout = readoutFor(figure);
    const rest =
        "Rows: " + data.rowTitle + ". Columns: " + data.columnTitle + ". Point at a cell to read it.";
    readout.textContent = rest;
    const known = new Map(data.cells.map((cell) => [cell[0] * columns + cell[1], cell]));
    const sums = new Array(rows).fill(0);
    for (const [r, , value] of data.cells) sums[r] += value || 0;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      const c = Math.floor((event.clientX - box.left - left) / size),
            r = Math.floor((event.clientY - box.top - top) / size);
      if (c < 0 || r < 0 || c >= columns || r >= rows) {
        readout.textContent = rest;
        return;
      }
      const cell = known.get(r * columns + c);
      const value = cell ? cell[2] : 0;
      const share = data.shares && sums[r] > 0 ?
          " (" + number(Math.round(1000 * value / sums[r]) / 10) + " % of the row)" :
          "";
      readout.textContent = data.rowTitle + " " + data.rows[r] + ", " + data.columnTitle + " " +
          data.columns[c] + ": " + number(value) + share;
    };
    canvas.onpointermove = point;
    canvas.onpointerdown = point;
    canvas.onpointerleave = () => {
      readout.textContent = rest;
    };
  }

  function drawChart(figure) {
    const canvas = figure.querySelector("canvas");
    const source = figure.querySelector("script[type='application/json']");
    if (!canvas || !source) return;
    const t = theme();
    const data = JSON.parse(source.textContent);
    if (data.type === "heatmap") {
      let width = -1;
      const observer = new ResizeObserver(() => {
        if (canvas.parentElement.clientWidth === width || canvas.parentElement.clientWidth === 0) return;
        width = canvas.parentElement.clientWidth;
        drawMatrix(t, data, figure, canvas);
      });
      observer.observe(canvas.parentElement);
      drawn.push(() => observer.disconnect());
      return;
    }
    Chart.defaults.font.family = t.font;
    Chart.defaults.font.size = 12;
    const width = canvas.parentElement.clientWidth || 600;
    const kinds = {line: lineChart, bar: barChart, histogram};
    const chart = new Chart(canvas, kinds[data.type](t, data, width));
    drawn.push(() => chart.destroy());
  }

  function drawAll() {
    while (drawn.length) drawn.pop()();
    for (const figure of document.querySelectorAll("figure.chart")) {
      try {
        drawChart(figure);
      } catch (error) {
        console.error("cannot draw chart:", error);
        const table = figure.querySelector("details.data");
        if (table) table.open = true;
      }
    }
  }

  // Numbers by value with blanks last, words by the reader's order; a second click turns the order around.
  function sortBy(header) {
    const row = header.parentElement, body = header.closest("table").tBodies[0];
    const column = Array.prototype.indexOf.call(row.children, header);
    const numeric = header.classList.contains("num");
    const before = header.getAttribute("aria-sort");
    const direction = before ? (before === "ascending" ? "descending" : "ascending") :
        numeric              ? "descending" :
                               "ascending";
    const sign = direction === "ascending" ? 1 : -1;
    const key = (tr) => {
      const cell = tr.children[column];
      return numeric ? (cell.dataset.v === undefined ? NaN : Number(cell.dataset.v)) : cell.textContent;
    };
    const compare = (a, b) => {
      if (!numeric) return sign * a.localeCompare(b, "en", {numeric: true});
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return a === b ? 0 : a < b ? -sign : sign;
    };
    const keyed = Array.from(body.rows, (tr) => [key(tr), tr]);
    keyed.sort((a, b) => compare(a[0], b[0]));
    for (const [, tr] of keyed) body.append(tr);
    for (const other of row.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("table.sortable th button");
    if (button && !button.closest("table").querySelector("tr.none")) sortBy(button.parentElement);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  // Paper is white whatever the screen shows.
  addEventListener("beforeprint", () => {
    root.dataset.scheme = "light";
    drawAll();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.scheme;
    drawAll();
  });
  drawAll();
})();
