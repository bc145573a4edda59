// Shows the data of a report. All figures come from the data; they are only drawn here. Names come
// from users' files, so they reach the page as text alone: textContent, or letters on a canvas.
"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("data").textContent);
  const report = data.report;
  const kPhases = { f: "forward", b: "backward", u: "update" };
  const kPhaseOpacity = { f: 0.95, b: 0.62, u: 0.35 };

  // --- Elements ----------------------------------------------------------------------------------

  function make(tag, properties = {}, children = []) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "text") {
        made.textContent = value;
      } else if (name === "style") {
        Object.assign(made.style, value);
      } else if (name.startsWith("aria-") || name === "scope") {
        made.setAttribute(name, value);
      } else {
        made[name] = value;
      }
    }
    made.append(...children);
    return made;
  }

  // Shows pairs of a name and a value; those without a value are left out.
  function showFacts(list, facts) {
    list.replaceChildren(
      ...facts
        .filter(([, value]) => value !== null && value !== "")
        .map(([name, value]) => make("div", {}, [make("dt", { text: name }), make("dd", { text: value })])),
    );
  }

  function showNote(text) {
    element("notes").append(make("p", { className: "note", text }));
  }

  function fillSelect(select, options) {
    select.replaceChildren(...options.map((text, at) => make("option", { value: String(at), text })));
  }

  // A box next to the pointer: a title and lines of text, or of a colour and text.
  function tip(title, lines) {
    const line = (one) =>
      make("div", {}, Array.isArray(one) ? [make("span", { className: "swatch", style: { background: one[0] } }), one[1]] : [one]);
    return make("div", { className: "tip" }, [make("b", { text: title }), ...lines.filter(Boolean).map(line)]);
  }

  // --- Numbers -----------------------------------------------------------------------------------

  const isNumber = (value) => typeof value === "number";
  const fixed = (value, digits) => (isNumber(value) ? halfToEven(value, digits).toFixed(digits) : "");

  // A number that lies in the middle goes to the even neighbour, as in the other forms of a report.
  function halfToEven(value, digits) {
    const scaled = value * 10 ** digits;
    return Math.abs(scaled % 1) === 0.5 ? (2 * Math.round(scaled / 2)) / 10 ** digits : value;
  }

  const ms = (us) => (isNumber(us) ? fixed(us / 1e3, 3) : "");
  const percent = (share) => (isNumber(share) ? fixed(share * 100, 1) : "");

  // In the unit of `size`, by default its own.
  function time(us, size = Math.abs(us)) {
    if (!isNumber(us)) return "none";
    if (size >= 1e6) return `${Number((us / 1e6).toPrecision(4))} s`;
    if (size >= 1e3) return `${Number((us / 1e3).toPrecision(4))} ms`;
    return `${Number(us.toPrecision(4))} µs`;
  }

  // In the unit of axes of times, so that values can be compared.
  const inMs = (us) => `${Number((us / 1e3).toPrecision(5))} ms`;

  function bytes(count) {
    for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
      if (Math.abs(count) >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
    }
    return `${count} bytes`;
  }

  const short = (value) => String(Number(value.toPrecision(3)));

  // --- Colours -----------------------------------------------------------------------------------

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const isDark = () => dark.matches && !printing;

  // The colours of text and lines in the style sheet.
  function theme() {
    if (printing) return { text: "#000", muted: "#444", line: "#ccc", surface: "#fff", path: "#c1121f" };
    const style = getComputedStyle(document.documentElement);
    const names = ["text", "muted", "line", "surface", "path"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  // The same hue, light enough for a dark page.
  function shown(color) {
    if (!isDark()) return color;
    const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const light = (0.3 * parts[0] + 0.6 * parts[1] + 0.1 * parts[2]) / 255;
    const mix = Math.max(0, 0.5 - light);
    return `rgb(${parts.map((part) => Math.round(part + (255 - part) * mix)).join(",")})`;
  }

  const agents = new Map(data.agents.map((agent) => [agent.label, agent]));
  // Of many agents only the best have a colour; the others are grey until somebody points at them.
  const hasColor = (label) => Boolean(agents.get(label)?.color);
  const agentColor = (label) => (hasColor(label) ? shown(agents.get(label).color) : isDark() ? "#666e79" : "#b3b9c2");
  const paletteColor = (at) => shown(data.palette[at % data.palette.length]);

  // --- Charts ------------------------------------------------------------------------------------

  const charts = new Map();

  // Draws `option(theme)` into the element; again when the theme changes.
  function draw(id, option, height) {
    const box = element(id);
    if (height) box.style.height = `${height}px`;
    let chart = charts.get(id);
    if (!chart) {
      chart = { instance: echarts.init(box), option };
      charts.set(id, chart);
    }
    chart.option = option;
    // Lazily, so that it is drawn once, at its new size.
    chart.instance.setOption({ animation: false, ...option(theme()) }, { notMerge: true, lazyUpdate: true });
    chart.instance.resize();
    return chart.instance;
  }

  function redrawAll() {
    for (const { instance, option } of charts.values()) {
      instance.setOption({ animation: false, ...option(theme()) }, { notMerge: true });
    }
  }

  // The wheel alone, and a finger, scroll the page.
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const zoomable = (more) => ({
    type: "inside",
    filterMode: "none",
    zoomOnMouseWheel: "ctrl",
    moveOnMouseMove: !touch,
    preventDefaultMouseMove: !touch,
    ...more,
  });

  const narrow = () => window.innerWidth < 600;

  function axis(colors, name, { label, ...more } = {}) {
    return {
      name,
      nameLocation: "middle",
      nameTextStyle: { color: colors.muted, fontSize: 12 },
      axisLine: { show: true, lineStyle: { color: colors.muted } },
      axisTick: { lineStyle: { color: colors.muted } },
      axisLabel: { color: colors.muted, fontSize: 11, hideOverlap: true, ...label },
      splitLine: { lineStyle: { color: colors.line } },
      ...more,
    };
  }

  // Puts a tooltip below a chart, or above it where the window ends: it hides no curve.
  const outside = (id) => ([x], _, __, ___, { contentSize: [width, height], viewSize: [most, below] }) => {
    const box = element(id).getBoundingClientRect();
    const fits = box.bottom + height <= window.innerHeight || box.top < height;
    return [Math.max(Math.min(x - width / 2, most - width), 0), fits ? below : -height];
  };

  // A box at the pointer, or outside the chart of that id.
  function tooltip(colors, formatter, id) {
    return {
      ...(id ? { position: outside(id) } : { confine: true }),
      backgroundColor: colors.surface,
      borderColor: colors.line,
      textStyle: { color: colors.text },
      formatter,
    };
  }

  // Makes a tooltip follow the pointer along the axis of a grid.
  const pointAlong = (colors) => ({
    show: true,
    trigger: "axis",
    axisPointer: { type: "line", snap: false, lineStyle: { color: colors.muted }, label: { show: false } },
  });

  // Returns the last of points, by their first members, that is not after `at`.
  function lastBefore(points, at) {
    let [from, to] = [0, points.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (points[middle][0] <= at) from = middle + 1;
      else to = middle;
    }
    return from > 0 ? points[from - 1] : null;
  }

  // What the legends hide: names of agents, and of devices. A click hides one in all charts.
  const hidden = new Set();

  const legend = (names) => ({
    show: false,
    data: names,
    selected: Object.fromEntries(names.map((name) => [name, !hidden.has(name)])),
  });

  // Shows a legend below its charts; `entries` returns [name, color] in the colours of now.
  const legends = new Map();

  const keyOf = (color) => make("span", { className: "key", style: { background: color } });

  // Of what a click does not hide.
  function showKeys(id, entries) {
    legends.set(id, { entries, show: showKeys });
    element(id).replaceChildren(...entries().map(([name, color]) => make("span", {}, color ? [keyOf(color), name] : [name])));
  }

  function showLegend(id, entries) {
    legends.set(id, { entries, show: showLegend });
    element(id).replaceChildren(
      ...entries().map(([name, color]) => {
        const button = make("button", { type: "button", title: "Hide or show", "aria-pressed": !hidden.has(name) }, [keyOf(color), name]);
        const inAll = (type, query) => charts.forEach(({ instance }) => instance.dispatchAction({ type, ...query }));
        button.addEventListener("mouseenter", () => inAll("highlight", { seriesName: name }));
        button.addEventListener("mouseleave", () => inAll("downplay", { seriesName: name }));
        button.addEventListener("click", () => {
          if (!hidden.delete(name)) hidden.add(name);
          for (const one of document.querySelectorAll(".legend button")) {
            if (one.textContent === name) one.setAttribute("aria-pressed", !hidden.has(name));
          }
          inAll(hidden.has(name) ? "legendUnSelect" : "legendSelect", { name });
        });
        return button;
      }),
    );
  }

  const agentEntries = (labels) => () =>
    [...labels].sort((a, b) => hasColor(b) - hasColor(a)).map((label) => [label, agentColor(label)]);

  // The style of a series of an agent.
  const agentSeries = (label, colors, width = 2) => ({
    name: label,
    type: "line",
    z: hasColor(label) ? 3 : 2,
    color: agentColor(label),
    lineStyle: { color: agentColor(label), width: hasColor(label) ? width : width / 2 },
    triggerLineEvent: true,
    emphasis: { focus: "series", lineStyle: hasColor(label) ? {} : { color: colors.text, width } },
    blur: { lineStyle: { opacity: 0.35 } },
  });

  // --- Saving ------------------------------------------------------------------------------------

  function save(name, blob) {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Draws as on a canvas, and writes SVG: as much of a canvas as charts use.
  class SvgContext {
    constructor(canvas) {
      Object.assign(this, { canvas, body: [], states: [], clips: 0, path: "" });
      this.state = { globalAlpha: 1, lineWidth: 1, font: "12px sans-serif", matrix: [1, 0, 0, 1, 0, 0], dash: [] };
      for (const name of [
        "globalAlpha", "fillStyle", "strokeStyle", "lineWidth", "lineCap", "lineJoin", "miterLimit", "lineDashOffset",
        "font", "textAlign", "textBaseline",
      ]) {
        Object.defineProperty(this, name, { get: () => this.state[name], set: (value) => (this.state[name] = value) });
      }
    }
    save() { this.states.push({ ...this.state }); }
    restore() { this.state = this.states.pop() ?? this.state; }
    setTransform(...matrix) { this.state.matrix = matrix; }
    transform(a, b, c, d, e, f) {
      const [k, l, m, n, x, y] = this.state.matrix;
      this.state.matrix = [k * a + m * b, l * a + n * b, k * c + m * d, l * c + n * d, k * e + m * f + x, l * e + n * f + y];
    }
    scale(x, y) { this.transform(x, 0, 0, y, 0, 0); }
    translate(x, y) { this.transform(1, 0, 0, 1, x, y); }
    setLineDash(dash) { this.state.dash = dash; }
    beginPath() { this.path = ""; }
    add(letter, ...numbers) { this.path += letter + numbers.map((number) => Number(number.toFixed(3))).join(" "); }
    moveTo(...at) { this.add("M", ...at); }
    lineTo(...at) { this.add("L", ...at); }
    bezierCurveTo(...at) { this.add("C", ...at); }
    quadraticCurveTo(...at) { this.add("Q", ...at); }
    closePath() { this.path += "Z"; }
    rect(x, y, width, height) {
      this.add("M", x, y);
      this.path += `h${width}v${height}h${-width}Z`;
    }
    // An arc in halves: SVG has none from a point to itself.
    arc(x, y, radius, from, to, isBack = false) {
      const turn = isBack ? from - to : to - from;
      const angles = [from, (from + to) / 2, to].map((angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
      this.add(this.path ? "L" : "M", ...angles[0]);
      for (const end of angles.slice(1)) this.add("A", radius, radius, 0, turn > 2 * Math.PI ? 1 : 0, isBack ? 0 : 1, ...end);
    }
    clip() {
      const inside = this.state.clip ? ` clip-path="url(#clip${this.state.clip})"` : "";
      this.state.clip = ++this.clips;
      this.body.push(`<clipPath id="clip${this.clips}"${inside}><path d="${this.path}"${this.placed()}/></clipPath>`);
    }
    placed() { return ` transform="matrix(${this.state.matrix.map((one) => Number(one.toFixed(4))).join(" ")})"`; }
    write(shape, attributes, content = "") {
      const clip = this.state.clip ? [`<g clip-path="url(#clip${this.state.clip})">`, "</g>"] : ["", ""];
      const opacity = this.state.globalAlpha < 1 ? ` opacity="${this.state.globalAlpha}"` : "";
      this.body.push(`${clip[0]}<${shape} ${attributes}${opacity}${this.placed()}>${content}</${shape}>${clip[1]}`);
    }
    fill() { this.write("path", `d="${this.path}" fill="${this.state.fillStyle}"`); }
    stroke() {
      const { strokeStyle, lineWidth, dash } = this.state;
      const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
      this.write("path", `d="${this.path}" fill="none" stroke="${strokeStyle}" stroke-width="${lineWidth}"${dashes}`);
    }
    fillRect(x, y, width, height) {
      this.write("rect", `x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.state.fillStyle}"`);
    }
    clearRect() {}
    strokeText() {}
    measureText(text) {
      const { font } = this.state;
      return Object.assign(SvgContext.ruler, { font }).measureText(text);
    }
    fillText(text, x, y) {
      const { font, textAlign, textBaseline, fillStyle } = this.state;
      const [, size, family] = /([\d.]+)px (.*)$/.exec(font) ?? [0, 12, "sans-serif"];
      const anchor = { center: "middle", right: "end", end: "end" }[textAlign] ?? "start";
      // The middle and the top of letters, which not all viewers find.
      const down = { middle: 0.35, top: 0.8, bottom: -0.2 }[textBaseline] ?? 0;
      const escaped = text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]);
      this.write(
        "text",
        `x="${x}" y="${y + down * size}" font-size="${size}" font-family="${family.replaceAll('"', "'")}" ` +
          `text-anchor="${anchor}" fill="${fillStyle}"${/bold/.test(font) ? ' font-weight="bold"' : ""}`,
        escaped,
      );
    }
  }
  SvgContext.ruler = document.createElement("canvas").getContext("2d");

  // Returns a chart, and below it what its colours mean, as SVG in the colours of paper.
  function svgOf(id) {
    const { clientWidth: width, clientHeight, dataset } = element(id);
    const context = new SvgContext();
    const { getContext } = HTMLCanvasElement.prototype;
    let height = clientHeight;
    printing = true;
    HTMLCanvasElement.prototype.getContext = () => context;
    try {
      const drawn = echarts.init(make("div"), null, { width, height, devicePixelRatio: 1 });
      const option = charts.get(id).option(theme());
      const dataZoom = option.dataZoom?.filter((one) => one.type !== "slider");
      drawn.setOption({ animation: false, ...option, dataZoom });
      drawn.getZr().flush();
      drawn.dispose();
      Object.assign(context, { font: "12px sans-serif", textAlign: "left", textBaseline: "middle" });
      context.setTransform(1, 0, 0, 1, 0, 0);
      let x = 8;
      const names = (dataset.legends ?? "").split(" ").filter(Boolean).flatMap((one) => [
        ...(element(one).dataset.of ? [[`${element(one).dataset.of}:`, ""]] : []),
        ...(legends.get(one)?.entries() ?? []),
      ]);
      for (const [name, color] of names.filter(([one]) => !hidden.has(one))) {
        const wide = 40 + context.measureText(name).width;
        if (x === 8 || x + wide > width) [x, height] = [8, height + 18];
        context.fillStyle = color || "none";
        context.fillRect(x, height - 11, 18, 4);
        context.fillStyle = theme().text;
        context.fillText(name, color ? x + 24 : x, height - 9);
        x += wide;
      }
    } finally {
      HTMLCanvasElement.prototype.getContext = getContext;
      printing = false;
    }
    height += 8;
    const text =
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
      `<rect width="${width}" height="${height}" fill="#fff"/>\n${context.body.join("\n")}\n</svg>\n`;
    return { width, height, text };
  }

  async function savePng(id) {
    const { width, height, text } = svgOf(id);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const sharpness = 2;
    const canvas = make("canvas", { width: sharpness * width, height: sharpness * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${id}.png`, blob));
  }

  // Offers each chart as a file.
  function offerPictures() {
    for (const chart of document.querySelectorAll(".chart")) {
      const button = (text, saveIt) => {
        const made = make("button", { type: "button", text, title: `Save this chart as ${text}` });
        made.addEventListener("click", saveIt);
        return made;
      };
      chart.before(
        make("div", { className: "save" }, [
          button("SVG", () => save(`${chart.id}.svg`, new Blob([svgOf(chart.id).text], { type: "image/svg+xml" }))),
          button("PNG", () => savePng(chart.id)),
        ]),
      );
    }
  }

  // --- Head --------------------------------------------------------------------------------------

  function commandOf(start) {
    const quoted = start.arguments.map((text) =>
      /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`,
    );
    if (quoted.length > 0) quoted[0] = "emplace";
    return quoted.join(" ");
  }

  // Says how much shorter the steps of the best agent are than those of a row, and how sure that is.
  function gainOver(best, { agent, against }, what) {
    const shorter = (ratio) => percent(1 - 1 / ratio);
    const by = `${shorter(against.ratio)} % shorter than ${agent}${what}`;
    if (against.interval) {
      const [least, most] = against.interval;
      return (
        `${by}: 95 % interval ${shorter(least)} to ${shorter(most)} %, over ${against.pairs} graphs and clusters; ` +
        `p = ${short(against.p)} (Wilcoxon), corrected ${short(against.corrected_p)} (Holm)` +
        (least > 1 ? "" : "; this may be chance")
      );
    }
    if (against.pairs === 2) {
      return `${by}: ${against.range.map(shorter).join(" and ")} % on the two graphs and clusters, too few for a test`;
    }
    const rows = report.tables.map(({ rows: all }) => [best, agent].map((name) => all.find((row) => row.agent === name)));
    const [mine, other] = rows.find((pair) => pair.every((row) => isNumber(row?.step_time_us)));
    return (
      `${by}: ${inMs(mine.step_time_us)} against ${inMs(other.step_time_us)}` +
      (mine.repetitions < 2 ? ", on one graph, once" : mine.largest_us < other.least_us ? ", in every repetition" : "; repetitions overlap")
    );
  }

  // Who won, by how much, and how sure that is.
  function showVerdict() {
    const [best, ...others] = data.overall.rows.map((row) => ({ ...row, against: row.against_best }));
    const has = Boolean(best?.times_best.length > 0);
    element("verdict").hidden = !has;
    if (!has) return;
    const wins = report.tables.filter(({ rows }) => rows.some((row) => row.agent === best.agent && isBest(row, rows))).length;
    const compared = others.filter((row) => row.against);
    const isWhole = report.cells_finished === report.cells_total;
    const isBaseline = ({ agent }) => (report.baselines.length > 0 ? report.baselines.includes(agent) : agent === "single-gpu");
    const baseline = isBaseline(best) ? undefined : compared.find(isBaseline);
    const what = report.baselines.length > 1 ? ", the fastest baseline" : report.baselines.length > 0 ? ", the baseline" : "";
    element("verdict").replaceChildren(
      make("p", {}, [
        make("b", { text: best.agent }),
        ` is the fastest${data.overall.problems > 1 ? " over all" : ""}${isWhole ? "" : " so far"}: first on ${wins} of ${data.overall.problems} graph${data.overall.problems === 1 ? "" : "s"} and ` +
          `cluster${data.overall.problems === 1 ? "" : "s"}. Its steps are`,
      ]),
      make("ul", {}, [
        ...(baseline ? [make("li", { text: `${gainOver(best.agent, baseline, what)}.` })] : []),
        ...(compared.length > 0 && compared[0] !== baseline
          ? [make("li", { text: `${gainOver(best.agent, compared[0], ", the second")}.` })]
          : []),
      ]),
    );
  }

  function showHead() {
    element("suite").textContent = report.suite;
    element("summary").textContent = data.summary;
    const graphs = new Set(report.tables.map((table) => table.graph));
    const clusters = new Set(report.tables.map((table) => table.cluster));
    showVerdict();
    showFacts(element("facts"), [
      ["cells", `${report.cells_finished} of ${report.cells_total}`],
      ["failed cells", report.cells_failed > 0 ? String(report.cells_failed) : ""],
      ["graphs", String(graphs.size)],
      ["clusters", String(clusters.size)],
      ["agents", String(data.agents.length)],
      ["repetitions", String(data.repetitions)],
      ["most evaluations", String(data.max_evaluations)],
    ]);
    if (report.shard) {
      showNote(
        `A part of the suite: shard ${report.shard.index} of ${report.shard.count}, ` +
          `${report.cells_total} of ${report.shard.cells_suite} cells.`);
    }
    if (report.cells_finished < report.cells_total) {
      showNote(`${report.cells_total - report.cells_finished} cells have not run yet: this report covers the finished ones.`);
    }
    const withoutCurve = data.trainings.filter((training) => training.points.length === 0).length;
    if (withoutCurve > 0) {
      showNote(
        `Of ${withoutCurve} of ${data.trainings.length} trained policies there is no learning curve: their training ` +
          "is not finished.",
      );
    }
    const starts = data.starts.map((start) =>
      make("div", {}, [
        make("h3", { text: start.arguments.includes("--resume") ? "Resumed" : "Started" }),
        make("pre", { text: commandOf(start) }),
        make("p", {
          className: "hint",
          text:
            `${start.time}. emplace ${start.version}, git ${start.git_revision}, ${start.compiler}, ` +
            `${start.build_type}; ${start.libraries.join(", ")}. ${start.cpu}, ${start.cores} cores, ` +
            `${bytes(start.memory_bytes)} of memory, ${start.system}.`,
        }),
      ]),
    );
    element("starts").replaceChildren(
      make("p", {
        text:
          `Root seed ${report.root_seed}. The same command gives the same placements and step times, on any machine ` +
          "and with any number of threads. Wall times differ.",
      }),
      ...starts,
    );
    if (report.published) {
      element("starts").append(
        make("h3", { text: "Published figures" }),
        make("p", {
          className: "hint",
          text:
            report.published.source +
            (report.published.recalled ? " (from memory, not checked against a copy)" : "") +
            (report.published.comment ? `. ${report.published.comment}` : ""),
        }),
      );
    }
  }

  // --- Overview ----------------------------------------------------------------------------------

  // What agents are compared over: all problems, or a family of graphs.
  const sets = [
    {
      name: "all graphs and clusters",
      problems: data.overall.problems,
      tables: report.tables,
      what: "graphs and clusters",
      reference: data.overall.rows.length > 0 ? `the best agent, ${data.overall.rows[0].agent}` : "",
      rows: data.overall.rows.map((row) => ({ ...row, against: row.against_best })),
    },
    ...report.families.map((family) => ({
      name: `${family.family ?? "all graphs"} on ${family.cluster}`,
      problems: family.graphs,
      tables: report.tables.filter((table) => table.family === family.family && table.cluster === family.cluster),
      what: "graphs",
      reference: family.reference
        ? `the best agent, ${family.reference}`
        : report.baselines.length > 0
          ? "the fastest baseline"
          : "",
      rows: family.rows.map((row) => ({
        ...row,
        over_best: row.all_graphs?.over_best ?? null,
        against: row.against_reference ?? null,
      })),
    })),
  ];

  // An axis of ratios; logarithmic where they span more than that reads well otherwise.
  const timesAxis = (min, max, nameGap) => ({
    ...(max > 4 * min ? { type: "log", logBase: 2 } : { type: "value" }),
    min,
    max,
    nameGap,
    label: { showMinLabel: min === 1, showMaxLabel: false, formatter: short },
  });

  const kChartHeight = 380;
  const kMostTimesBest = 4; // what is slower cannot be told apart at this scale

  function drawProfile(set) {
    const rows = set.rows.filter((row) => row.times_best.length > 0);
    const worst = Math.max(1.05, ...rows.map((row) => row.times_best.at(-1)));
    const most = Math.min(worst * 1.02, kMostTimesBest);
    const option = (colors) => ({
      grid: { left: 52, right: 18, top: 12, bottom: 46 },
      tooltip: {
        ...tooltip(colors, (item) => {
          const row = rows.find((one) => one.agent === item.seriesName);
          const [times, share] = item.value;
          return tip(row.agent, [
            `at most ${short(times)} times the best on ${Math.round(share * set.problems)} of ${set.problems}`,
            row.over_best === null ? "no mean: it has no step time on some" : `on average ${percent(row.over_best - 1)} % over the best`,
          ]);
        }),
        trigger: "item",
      },
      legend: legend(rows.map((row) => row.agent)),
      dataZoom: [zoomable({ xAxisIndex: 0 })],
      xAxis: axis(colors, "step time over that of the best agent", timesAxis(1, most, 24)),
      yAxis: axis(colors, `share of ${set.what}`, { type: "value", min: 0, max: 1, nameGap: 36 }),
      series: rows.map((row) => {
        const points = [[1, 0]];
        row.times_best.forEach((times, at) => points.push([times, (at + 1) / set.problems]));
        points.push([Math.max(most, worst) * 2, row.times_best.length / set.problems]);
        return { ...agentSeries(row.agent, colors), step: "end", data: points, symbol: "circle", symbolSize: 4 };
      }),
    });
    draw("profile", option, kChartHeight);
    showLegend("profile-legend", agentEntries(rows.map((row) => row.agent)));
    element("profile-caption").textContent =
      `For each agent, the share of ${set.problems} ${set.what} on which its step (median over repetitions) takes at ` +
      "most so many times that of the fastest agent (Dolan and Moré 2002). What runs out of memory never gets there." +
      (worst > most ? ` Drawn up to ${short(most)}.` : "");
  }

  const kFewProblems = 5; // fewer make no distribution, and are shown one by one
  const kMarks = [["circle", "\u25cf"], ["diamond", "\u25c6"], ["triangle", "\u25b2"], ["rect", "\u25a0"]];

  // Shows each agent's step times, of few problems, over the fastest of each.
  function drawDots(set) {
    const places = set.rows.filter((row) => row.times_best.length > 0).map((row) => row.agent).reverse();
    const tables = set.tables.filter(({ rows }) => isNumber(rows[0]?.step_time_us) && rows[0].step_time_us > 0);
    const worst = Math.max(1.05, ...set.rows.flatMap((row) => row.times_best));
    const most = Math.min(worst * 1.05, kMostTimesBest);
    draw("profile", (colors) => ({
      grid: { left: narrow() ? 112 : 190, right: 56, top: 12, bottom: 46 },
      tooltip: tooltip(colors, ({ value }) => {
        const [, agent, times, us] = value;
        return tip(agent, [`${inMs(us)}, ${short(times)} times the fastest`, ...(tables.length > 1 ? [value[4]] : [])]);
      }),
      xAxis: axis(colors, "step time over that of the fastest agent", timesAxis(1, most, 24)),
      yAxis: axis(colors, "", {
        type: "category",
        data: places,
        axisLabel: { color: colors.text, fontSize: 11, width: narrow() ? 100 : 178, overflow: "truncate", interval: 0 },
        splitLine: { show: true, lineStyle: { color: colors.line } },
      }),
      series: tables.map((table, at) => ({
        type: "scatter",
        symbol: kMarks[at][0],
        symbolSize: 10,
        data: table.rows
          .filter((row) => isNumber(row.step_time_us))
          .map((row) => {
            const times = row.step_time_us / table.rows[0].step_time_us;
            return {
              value: [Math.min(times, most), row.agent, times, row.step_time_us, `${table.graph} on ${table.cluster}`],
              itemStyle: { color: agentColor(row.agent), opacity: 0.85 },
              label: { show: times > most, position: "right", color: colors.muted, fontSize: 10, formatter: `\u203a ${short(times)}` },
            };
          }),
      })),
    }), Math.max(160, 70 + places.length * 22));
    showKeys("profile-legend", () => tables.map((table, at) => [`${kMarks[at][1]} ${table.graph} on ${table.cluster}`, ""]));
    element("profile-caption").textContent =
      "Medians over repetitions; further right is slower. What runs out of memory is not drawn." +
      (worst > most ? ` At the right edge is what takes more than ${short(most)} times as long.` : "");
  }

  function drawPairs(set) {
    const rows = set.rows.filter((row) => row.against).reverse();
    element("pairs-title").textContent = set.reference ? `Against ${set.reference}` : "In pairs";
    const ratios = rows.flatMap((row) => [row.against.ratio]);
    const least = Math.min(0.95, ...ratios.map((ratio) => ratio * 0.9));
    const most = Math.max(1.1, ...ratios.map((ratio) => ratio * 1.4));
    const interval = (row) => row.against.interval ?? [row.against.ratio, row.against.ratio];
    const option = (colors) => ({
      grid: { left: narrow() ? 112 : 190, right: 18, top: 12, bottom: 52 },
      tooltip: tooltip(colors, (item) => {
        const { agent, against } = rows[item.dataIndex];
        return tip(agent, [
          `${fixed(against.ratio, 3)} times as long (geometric mean)`,
          against.interval ? `95 % interval ${fixed(against.interval[0], 3)} to ${fixed(against.interval[1], 3)}` : "",
          `faster on ${against.faster}, slower on ${against.slower} of ${against.pairs} (of ${set.problems} in all)`,
          `p = ${short(against.p)} (Wilcoxon), corrected ${short(against.corrected_p)} (Holm)`,
        ]);
      }),
      xAxis: axis(colors, "step time over the other's", timesAxis(least, most, 26)),
      yAxis: axis(colors, "", {
        type: "category",
        data: rows.map((row) => row.agent),
        axisLabel: { color: colors.text, fontSize: 11, width: narrow() ? 100 : 178, overflow: "truncate", interval: 0 },
        splitLine: { show: false },
      }),
      series: [
        {
          type: "custom",
          clip: true,
          data: rows.map((row, at) => [row.against.ratio, at, ...interval(row)]),
          encode: { x: [0], y: 1 },
          renderItem: (_, api) => {
            const row = rows[api.value(1)];
            const color = agentColor(row.agent);
            const [x, y] = api.coord([api.value(0), api.value(1)]);
            const [from] = api.coord([Math.max(api.value(2), least / 2), api.value(1)]);
            const [to] = api.coord([Math.min(api.value(3), most * 2), api.value(1)]);
            return {
              type: "group",
              children: [
                { type: "line", shape: { x1: from, y1: y, x2: to, y2: y }, style: { stroke: color, lineWidth: 2.5 } },
                { type: "circle", shape: { cx: x, cy: y, r: 5 }, style: { fill: color, stroke: colors.surface } },
              ],
            };
          },
          markLine: {
            silent: true,
            symbol: "none",
            label: { show: false },
            lineStyle: { color: colors.muted, type: "dashed" },
            data: [{ xAxis: 1 }],
          },
        },
      ],
    });
    draw("pairs", option, Math.max(200, 90 + rows.length * 22));
    element("pairs-caption").textContent =
      rows.length === 0
        ? "There is nothing to compare with here."
        : "Geometric mean of the ratios of step times on the same graph and cluster, with Student's paired 95 % " +
          "interval. Right of 1 is slower. Only graphs on which both fit form pairs; point at a row for their number. " +
          "Intervals assume that graphs are drawn independently.";
  }

  function showOverview() {
    const select = element("set");
    fillSelect(select, sets.map((set) => set.name));
    const show = () => {
      const set = sets[select.value];
      const few = set.problems < kFewProblems;
      element("pairs-figure").hidden = few;
      element("over-problems").classList.toggle("pair", !few);
      element("profile-title").textContent = few ? "Step times of all agents" : "Performance profile";
      if (few) {
        drawDots(set);
      } else {
        drawProfile(set);
        drawPairs(set);
      }
    };
    select.addEventListener("change", show);
    show();
  }

  // The courses of trainings, of one family and cluster at a time.
  function showLearning() {
    const kept = data.trainings.filter((training) => training.points.length > 0);
    const names = [...new Set(kept.map((training) => `${training.family} on ${training.cluster}`))];
    element("learning").hidden = names.length === 0;
    if (names.length === 0) return;
    const policies = [...new Set(kept.map((training) => training.policy))];
    const select = element("training");
    const show = () => {
      const shownOnes = kept.filter((training) => `${training.family} on ${training.cluster}` === names[select.value]);
      const ends = shownOnes.flatMap((training) => [training.points[0][0], training.points.at(-1)[0]]);
      const times = shownOnes.flatMap((training) => training.points.map((point) => point[1])).filter(isNumber);
      const curve = (training, member, width, opacity) => ({
        type: "line",
        name: training.policy,
        data: training.points.map((point) => [point[0], point[member]]),
        step: member === 2 ? "end" : false,
        showSymbol: false,
        color: agentColor(training.agent),
        lineStyle: { color: agentColor(training.agent), width, opacity },
      });
      draw("learning-chart", (colors) => ({
        grid: { left: 52, right: 18, top: 12, bottom: 46, tooltip: pointAlong(colors) },
        tooltip: tooltip(colors, (items) => {
          const at = items[0]?.axisValue;
          return tip(
            `after ${Math.round(at)} evaluations`,
            shownOnes
              .filter((training) => !hidden.has(training.policy))
              .map((training) => [training, lastBefore(training.points, at)])
              .filter(([, point]) => point)
              .map(([training, point]) => [
                agentColor(training.agent),
                `${training.policy}: best ${short(point[2])}, last ${short(point[1])}, entropy ${short(point[3])}`,
              ]),
          );
        }, "learning-chart"),
        legend: legend(policies),
        dataZoom: [zoomable({ xAxisIndex: 0 })],
        xAxis: axis(colors, "evaluations", {
          // A logarithmic axis has numbers at powers of ten alone.
          type: Math.max(...ends) > 100 * Math.min(...ends) ? "log" : "value",
          min: Math.min(...ends), max: Math.max(...ends, Math.min(...ends) + 1), nameGap: 24,
          label: { showMinLabel: false, showMaxLabel: false, formatter: (value) => value.toLocaleString("en") },
        }),
        yAxis: axis(colors, "over the best", timesAxis(1, Math.max(1.01, ...times), 36)),
        series: shownOnes.flatMap((training) => [curve(training, 1, 1, 0.5), curve(training, 2, 2.2, 1)]),
      }));
      showLegend("learning-legend", () => policies.map((policy) => {
        const { agent } = kept.find((training) => training.policy === policy);
        return [policy, agentColor(agent)];
      }));
    };
    fillSelect(select, names);
    select.addEventListener("change", show);
    show();
  }

  // --- Results -----------------------------------------------------------------------------------

  const isBest = (row, rows) => outcomeOf(row) === "ok" && row.step_time_us === rows[0].step_time_us;

  function outcomeOf(row) {
    if (row.repetitions > row.out_of_memory + row.failed) return "ok";
    return row.out_of_memory > 0 ? "out of memory" : "failed";
  }

  const results = report.tables.flatMap((table) =>
    table.rows.map((row) => ({
      ...row,
      graph: table.graph,
      cluster: table.cluster,
      best: isBest(row, table.rows),
      outcome: outcomeOf(row),
      note: [row.note, row.message].filter(Boolean).join("; "),
    })),
  );

  const whole = (value) => (isNumber(value) ? String(Math.round(value * 10) / 10) : "");

  // What published figures are compared with, ours with ours and published with published.
  const references = [
    ...new Set(results.flatMap((row) => (row.published?.ratios ?? []).map((ratio) => ratio.reference))),
  ];
  const ratioTo = (row, reference) => row.published?.ratios?.find((ratio) => ratio.reference === reference);

  function textOf(value, { unit, decimals }) {
    if (!isNumber(value)) return value ?? "";
    if (unit === "ms") return ms(value);
    if (unit === "%") return percent(value);
    if (unit === "GB") return value > 0 ? fixed(value / 1e9, 3) : "";
    return decimals > 0 ? fixed(value, decimals) : whole(value);
  }

  // Ranges are sorted by their lengths.
  const rangeOf = (ends) => ({
    value: (row) => (ends(row) ? ends(row)[1] - ends(row)[0] : null),
    text: (row) => ends(row)?.map(ms).join(" .. ") ?? "",
  });

  // Columns that are more than a member of rows.
  const special = {
    agent: { swatch: true },
    step_time_us: { isStep: true },
    interval_us: rangeOf((row) => row.interval_us),
    range_us: rangeOf((row) => (row.repetitions > 1 && isNumber(row.least_us) ? [row.least_us, row.largest_us] : null)),
    published_step_time_s: { text: (row) => fixed(row.published?.step_time_s, 2) || (row.published ? "out of memory" : "") },
    note: { wide: true },
  };
  const member = (row, id) => (id.startsWith("published_") ? row.published?.[id.slice("published_".length)] : row[id]);

  // How rows are sorted and shown, the note last; what no row has is no column.
  const described = data.columns.map((column) => ({
    name: column.unit ? `${column.title} [${column.unit}]` : column.title,
    hint: column.meaning,
    importance: column.importance,
    value: (row) => member(row, column.id),
    text: (row) => textOf(member(row, column.id), column),
    ...special[column.id],
  }));
  const columns = [
    ...described.slice(0, -1),
    ...references.map((reference) => ({
      name: `over ${reference ?? "baseline"}`,
      value: (row) => ratioTo(row, reference)?.ours ?? ratioTo(row, reference)?.published,
      text: (row) => {
        const ratio = ratioTo(row, reference);
        return ratio ? `${fixed(ratio.ours, 2) || "-"} / ${fixed(ratio.published, 2) || "-"}` : "";
      },
      hint: "step time over that of this one, ours / published",
      importance: 1,
    })),
    ...described.slice(-1),
  ].filter((column) => results.some((row) => !["", null, undefined].includes(column.value(row))));
  // The agent and its step come first on a phone.
  if (narrow()) columns.sort((a, b) => Boolean(b.swatch) * 2 + Boolean(b.isStep) - Boolean(a.swatch) * 2 - Boolean(a.isStep));
  for (const column of columns) {
    column.number = results.some((row) => isNumber(column.value(row)));
  }

  // Those that the user chose or, until then, the most important ones for which there is room.
  let chosen = null;
  let fitting = columns;
  const shownColumns = () => chosen ?? fitting;

  const order = { column: null, descending: false };

  function compareBy(column, descending) {
    return (a, b) => {
      const [one, other] = [column.value(a), column.value(b)];
      const empty = [one, other].map((value) => value === null || value === undefined || value === "");
      if (empty[0] || empty[1]) return empty[0] - empty[1];
      const difference = column.number ? one - other : String(one).localeCompare(String(other));
      return descending ? -difference : difference;
    };
  }

  const classOf = (column) => (column.swatch ? "agent" : column.number ? "number" : column.wide ? "text" : "");

  function rowElement(row) {
    const className = [row.best ? "best" : "", row.outcome.replaceAll(" ", "-")].join(" ").trim();
    return make(
      "tr",
      { className, title: "Show this step" },
      shownColumns().map((column) => {
        const cell = make("td", { className: classOf(column) });
        if (column.swatch) {
          cell.append(make("span", { className: "swatch", style: { background: agentColor(row.agent) } }));
        }
        cell.append(column.text(row));
        return cell;
      }),
    );
  }

  function rowsToShow() {
    const words = element("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const filters = ["graph", "cluster", "outcome"].map((name) => {
      const select = element(`filter-${name}`);
      return [name, select.value === "0" ? null : select.options[select.value].text];
    });
    const rows = results.filter(
      (row) =>
        filters.every(([name, value]) => value === null || row[name] === value) &&
        words.every((word) => `${row.graph} ${row.cluster} ${row.agent} ${row.note}`.toLowerCase().includes(word)),
    );
    return order.column ? rows.sort(compareBy(order.column, order.descending)) : rows;
  }

  function headElement(column) {
    const button = make("button", { type: "button", text: column.name, title: column.hint ?? "" });
    button.addEventListener("click", () => {
      order.descending = order.column === column && !order.descending;
      order.column = column;
      showRows();
    });
    // Browsers repeat the heads on each printed page, but not their buttons.
    const printed = make("span", { className: "printed", text: column.name, "aria-hidden": true });
    return make("th", { className: classOf(column), scope: "col" }, [button, printed]);
  }

  function showTable() {
    element("table").style.setProperty("--columns", shownColumns().length);
    element("table").tHead.replaceChildren(make("tr", {}, shownColumns().map(headElement)));
    for (const box of element("choose").querySelectorAll("input")) {
      box.checked = shownColumns().includes(columns[box.value]);
    }
    showRows();
  }

  function showRows() {
    const rows = rowsToShow();
    element("table").tBodies[0].replaceChildren(
      ...rows.map((row) => {
        const line = rowElement(row);
        line.addEventListener("click", () => showStepOf(row));
        return line;
      }),
    );
    element("shown").textContent = `${rows.length} of ${results.length} rows`;
    for (const [at, head] of [...element("table").tHead.rows[0].cells].entries()) {
      const isSorted = shownColumns()[at] === order.column;
      head.setAttribute("aria-sort", isSorted ? (order.descending ? "descending" : "ascending") : "none");
    }
  }

  // Chooses the columns: all are drawn once to see how wide they are.
  function fitColumns() {
    if (data.compares_placements) return;
    fitting = columns;
    showTable();
    if (chosen || printing) return;
    const table = element("table");
    table.style.width = "auto";
    const widths = [...table.tHead.rows[0].cells].map((cell) => cell.offsetWidth);
    let room = table.parentElement.clientWidth;
    table.style.width = "";
    const kept = new Set();
    // What is the same in all rows need not be shown.
    const varies = (column) => column.swatch || column.isStep || column.wide || new Set(results.map(column.text)).size > 1;
    const importance = (column) => (column.wide ? 0 : column.importance);
    for (const column of columns.filter(varies).sort((a, b) => importance(a) - importance(b))) {
      const width = widths[columns.indexOf(column)];
      if (importance(column) > 0 && width > room) continue;
      room -= width;
      kept.add(column);
    }
    fitting = columns.filter((column) => kept.has(column));
    showTable();
  }

  function showResults() {
    element("table").append(make("thead"), make("tbody"));
    for (const name of ["graph", "cluster", "outcome"]) {
      const values = [...new Set(results.map((row) => row[name]))];
      fillSelect(element(`filter-${name}`), ["all", ...values]);
      element(`filter-${name}`).addEventListener("change", showRows);
      element(`filter-${name}`).parentElement.hidden = values.length < 2;
    }
    element("filter").addEventListener("input", showRows);
    const boxes = columns.map((column, at) =>
      make("label", {}, [make("input", { type: "checkbox", value: String(at) }), column.name]),
    );
    element("choose").append(...boxes);
    element("choose").addEventListener("change", () => {
      chosen = columns.filter((_, at) => boxes[at].firstChild.checked);
      showTable();
    });
    element("save-table").addEventListener("click", () => {
      const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const lines = [columns.map((column) => column.name), ...rowsToShow().map((row) => columns.map((column) => column.text(row)))];
      const text = lines.map((line) => `${line.map(quoted).join(",")}\n`).join("");
      save("results.csv", new Blob([text], { type: "text/csv" }));
    });
    element("columns").textContent =
      "One row for each agent on each graph and cluster; times are medians over repetitions, the fastest are bold. " +
      "Click a column head to sort by it, and again to reverse the order; click a row to see its step. " +
      columns.filter((column) => column.hint).map((column) => `${column.name}: ${column.hint}`).join("; ") +
      ".";
    fitColumns();
  }

  // --- Convergence -------------------------------------------------------------------------------

  const kMostToldOf = 10; // agents at a point of the axis
  const kMostOverBest = 2.5; // what is further above the best is not drawn

  function drawCurves(id, convergence, table, key, unit) {
    const curves = convergence.curves.filter((curve) => curve[key].some((point) => point[1] !== null));
    const published = data.published.filter(
      (figure) =>
        figure.graph === convergence.graph && figure.cluster === convergence.cluster && isNumber(figure.step_time_us),
    );
    const times = curves.flatMap((curve) => curve[key].map((point) => point[1])).filter(isNumber);
    const starts = curves.flatMap((curve) => curve[key].map((point) => point[0])).filter((at) => at > 0);
    // Published figures of agents that evaluate nothing are at the left.
    const marks = key === "by_evaluations" ? published : [];
    const everywhere = [...times, ...marks.map((figure) => figure.step_time_us)];
    const lines = [["lower bound", table.bound_us], ["best known", table.best_known_us]].filter(
      ([, us]) => isNumber(us) && us > 0,
    );
    const least = Math.min(...everywhere, ...lines.map(([, us]) => us));
    const cut = kMostOverBest * Math.min(...everywhere);
    const most = Math.max(...everywhere.filter((us) => us <= cut), ...lines.map(([, us]) => us));
    const room = Math.max(most - least, most * 0.01) * 0.05;
    const xLeast = key === "by_evaluations" ? 1 : Math.min(...starts, 1);
    const xMost = Math.max(...starts, ...marks.map((figure) => figure.evaluations ?? 0), xLeast * 10);
    // Of agents that evaluate nothing, a level line from where they are done.
    const pointsOf = (curve) => {
      const points = curve[key].map(([at, ...best]) => [Math.max(at, xLeast), ...best]);
      const last = points.at(-1);
      return curve.level && last[0] < xMost ? [...points, [xMost, ...last.slice(1)]] : points;
    };
    const lasting = curves.map((curve) => {
      const level = curve.by_evaluations.at(-1)[0] === 0;
      const one = { ...curve, level };
      return { ...one, points: pointsOf(one) };
    });
    const option = (colors) => ({
      grid: { left: 56, right: 18, top: 14, bottom: 46, tooltip: pointAlong(colors) },
      tooltip: tooltip(colors, (items) => {
        const at = items[0]?.axisValue ?? items.value[0];
        const best = lasting
          .filter((curve) => !hidden.has(curve.agent))
          .map((curve) => [curve, lastBefore(curve.points, at)])
          .filter(([, point]) => point && isNumber(point[1]))
          .sort(([, a], [, b]) => a[1] - b[1]);
        return tip(
          `after ${at < 100 ? short(at) : Math.round(at)} ${unit}`,
          best.slice(0, kMostToldOf).map(([curve, point]) => [
            agentColor(curve.agent),
            `${curve.agent}: ${inMs(point[1])}` +
              (curve.repetitions > 1 && point[3] > point[2] ? ` (${inMs(point[2])} to ${inMs(point[3])})` : ""),
          ]).concat(best.length > kMostToldOf ? [`and ${best.length - kMostToldOf} slower ones`] : []),
        );
      }, id),
      legend: legend(lasting.map((curve) => curve.agent)),
      dataZoom: [
        zoomable({ xAxisIndex: 0 }),
        zoomable({ yAxisIndex: 0, zoomOnMouseWheel: "shift" }),
      ],
      xAxis: axis(colors, unit, {
        type: "log", min: xLeast, max: xMost, nameGap: 24,
        label: {
          showMinLabel: xLeast === 1, showMaxLabel: false,
          formatter: (value) => (value < 1 ? String(value) : value.toLocaleString("en")),
        },
      }),
      yAxis: axis(colors, "step [ms]", {
        type: "value",
        min: (least - room) / 1e3,
        max: (most + room) / 1e3,
        nameGap: 40,
        label: { showMinLabel: false, showMaxLabel: false, formatter: short },
      }),
      series: [
        ...lasting.filter((curve) => curve.repetitions > 1 && hasColor(curve.agent)).map((curve) => bandOf(curve)),
        ...lasting.map((curve) => ({
          ...agentSeries(curve.agent, colors, curve.level ? 1.2 : 2),
          step: "end",
          data: curve.points.map((point) => [point[0], isNumber(point[1]) ? point[1] / 1e3 : null]),
          symbol: "circle",
          symbolSize: curve.points.length > 25 ? 2.5 : 4,
          ...(curve.level
            ? { lineStyle: { color: agentColor(curve.agent), width: 1.2, type: "dotted" } }
            : {}),
        })),
        ...marks.map((figure) => ({
          type: "scatter",
          name: figure.agent,
          symbol: "diamond",
          symbolSize: 13,
          color: agentColor(figure.agent),
          itemStyle: { borderColor: colors.text, borderWidth: 1.5 },
          data: [[figure.evaluations ?? xLeast, figure.step_time_us / 1e3]],
          tooltip: {
            trigger: "item",
            formatter: () =>
              tip(`${figure.agent}, published`, [
                inMs(figure.step_time_us) + (isNumber(figure.evaluations) ? ` after ${figure.evaluations} ${unit}` : ""),
              ]),
          },
          z: 5,
        })),
        {
          type: "line",
          data: [],
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: colors.text, type: "dashed", width: 1 },
            label: { position: "insideStartTop", color: colors.text, fontSize: 11, formatter: "{b}" },
            data: lines.map(([name, us]) => ({ name, yAxis: us / 1e3 })),
          },
        },
      ],
    });
    draw(id, option);
    showLegend("curves-legend", agentEntries(lasting.map((curve) => curve.agent)));
    return Math.max(...everywhere) > most;
  }

  // The area between the least and the largest of the repetitions.
  function bandOf(curve) {
    const points = curve.points.filter((point) => isNumber(point[3]));
    return {
      type: "custom",
      name: curve.agent,
      silent: true,
      clip: true,
      z: 1,
      color: agentColor(curve.agent),
      data: points.length > 1 ? [[points[0][0], points[0][1] / 1e3]] : [],
      renderItem: (_, api) => {
        const upper = [];
        const lower = [];
        points.forEach((point, at) => {
          const place = (us) => api.coord([point[0], us / 1e3]);
          if (at > 0) {
            upper.push(place(points[at - 1][3]));
            lower.push(place(points[at - 1][2]));
          }
          upper.push(place(point[3]));
          lower.push(place(point[2]));
        });
        return {
          type: "polygon",
          shape: { points: [...upper, ...lower.reverse()] },
          style: { fill: agentColor(curve.agent), opacity: 0.14 },
        };
      },
    };
  }

  function showConvergence(table) {
    const convergence = data.convergence.find((one) => one.graph === table.graph && one.cluster === table.cluster);
    const any = convergence?.curves.some((curve) => curve.by_evaluations.length > 0) ?? false;
    element("convergence").hidden = !any;
    element("curves-legend").hidden = !any;
    if (!any) {
      element("convergence-caption").textContent = "No agent here has a history of a placement that fits.";
      return;
    }
    const isCut = drawCurves("by-evaluations", convergence, table, "by_evaluations", "evaluations");
    drawCurves("by-seconds", convergence, table, "by_seconds", "seconds");
    element("convergence-caption").textContent =
      "Lines are medians over repetitions, bands reach from the least to the largest. Dotted lines are agents that " +
      "evaluate nothing." +
      (data.published.length > 0 ? " Diamonds are published figures; those without evaluations are at the left." : "") +
      (isCut ? ` What is more than ${kMostOverBest} times the best is not drawn.` : "") +
      " Ctrl and the wheel zoom, with Shift up and down; a click on a name hides its curves.";
  }

  // --- The step ----------------------------------------------------------------------------------

  const kLaneHeight = 30;
  const kMostArrows = 150; // in sight, if no group is selected; of more none is drawn
  const kMemoryHeight = 130;
  const kLeastWidth = 1; // of a box, in pixels; what sticks out by less than half of it is not drawn
  const kLeastSelected = 4; // of one that is selected
  const kLaneRight = 16; // of the lanes, in pixels
  const kLeastSpan = 0.01; // of what is in sight, in percent

  // What both steps share if two are shown: their axis, and what is in sight.
  let longest_us = 0;
  let zoomed = [0, 100]; // in percent of the axis
  const views = [];
  const shownViews = () => views.filter((view) => view.isShown());

  const deviceColor = (device) => paletteColor(device);

  // A timeline and a graph, of one step at a time.
  function stepView(suffix) {
    const part = (name) => element(`${name}${suffix}`);
    const root = element("step-view").content.firstElementChild.cloneNode(true);
    for (const one of root.querySelectorAll("[data-part]")) one.id = `${one.dataset.part}${suffix}`;
    element("steps").append(root);
    part("timeline").dataset.legends = `layers-legend${suffix} devices-legend${suffix}`;
    part("graph").dataset.legends = `devices-legend${suffix}`;
    let step = null;
    let selected = null; // a group
    const isDimmed = (group) => selected !== null && group !== selected;

    function nameOf(op) {
      const name = step.ops.name[op];
      return step.ops.in_scope[op] ? step.scopes[step.ops.scope[op]] + name : name;
    }

    function opTip(op) {
      const { ops } = step;
      return tip(nameOf(op), [
        `${step.kinds[ops.kind[op]]}, ${kPhases[ops.phase[op]]}${step.scopes[ops.scope[op]] ? `, in ${step.scopes[ops.scope[op]]}` : ""}`,
        `${time(ops.start[op])} to ${time(ops.end[op])}, on ${step.lanes[ops.lane[op]].name}`,
        `cost ${time(ops.cost[op])} (${ops.source[op]})`,
        `outputs take ${bytes(ops.bytes[op])}; group ${ops.group[op]}`,
      ]);
    }

    function transferTip(at) {
      const { transfers } = step;
      const to = transfers.to[at].map((device) => step.devices[device].name).join(", ");
      return tip(nameOf(transfers.producer[at]), [
        `${bytes(transfers.bytes[at])} from ${step.devices[transfers.from[at]].name} to ${to}`,
        `${time(transfers.start[at])} to ${time(transfers.end[at])}` +
          (transfers.waited[at] > 0 ? `, waited ${time(transfers.waited[at])} before` : ""),
        `over ${transfers.links[at].map((link) => step.links[link]).join(", ")}`,
      ]);
    }

    const laneLeft = () => (part("timeline").clientWidth < 600 ? 92 : 150); // of the lanes, in pixels

    // Boxes of the lanes in the order of their starts, as columns: a step may have a million. `what` is an op or a
    // transfer.
    function boxesOf(places) {
      const boxes = {
        from: new Float64Array(places.length), to: new Float64Array(places.length), what: new Int32Array(places.length),
        lane: new Int32Array(places.length), row: new Int32Array(places.length), group: new Int32Array(places.length),
      };
      places.sort((a, b) => a.from - b.from || a.to - b.to);
      places.forEach((place, at) => Object.keys(boxes).forEach((column) => (boxes[column][at] = place[column])));
      return boxes;
    }

    // Computes what the timeline draws from.
    function prepare() {
      const { ops, transfers, lanes } = step;
      // Layers have colours, or kinds where all ops are of one layer; the longest ones, if they are many.
      [step.colored, step.nameOfColored] = step.layers.length > 1 ? [ops.layer, step.layers] : [ops.kind, step.kinds];
      const spent = step.nameOfColored.map(() => 0);
      step.colored.forEach((one, op) => (spent[one] += ops.end[op] - ops.start[op]));
      const ofRank = spent.map((_, one) => one).sort((a, b) => spent[b] - spent[a]);
      const most = data.palette.length - 1; // the last colour is for the others
      step.kept = ofRank.slice(0, ofRank.length > most + 1 ? most : most + 1).sort((a, b) => a - b);
      step.colorOf = step.nameOfColored.map((_, one) => (step.kept.includes(one) ? step.kept.indexOf(one) : most));
      step.opBoxes = boxesOf(ops.start.map((from, op) => (
        { from, to: ops.end[op], what: op, lane: ops.lane[op], row: ops.row[op], group: ops.group[op] })));
      step.transferBoxes = boxesOf(transfers.lanes.flatMap((places, at) =>
        places.map(([lane, row]) => ({
          from: transfers.start[at], to: transfers.end[at], what: at, lane, row, group: ops.group[transfers.producer[at]],
        }))));
      // Rows are numbered over all lanes.
      step.rowsBefore = [0];
      lanes.forEach((lane, at) => step.rowsBefore.push(step.rowsBefore[at] + lane.rows));
    }

    // Start and end of what is in sight, and the time of a pixel.
    function inSight() {
      const [from, to] = zoomed.map((percent) => (longest_us * percent) / 100);
      const pixels = Math.max(part("timeline").clientWidth - laneLeft() - kLaneRight, 1);
      return { from, to, pixel: (to > from ? to - from : 1) / pixels }; // a step may take no time
    }

    // [from, to, what, lane, row] of boxes in sight, without those that others of their row hide. What is selected stays.
    function visibleBoxes(boxes) {
      const { from, to, pixel } = inSight();
      const drawnTo = new Float64Array(step.rowsBefore.at(-1)).fill(-Infinity);
      const visible = [];
      for (let at = 0; at < boxes.from.length && boxes.from[at] <= to; at++) {
        if (boxes.to[at] < from) continue;
        const isSelected = boxes.group[at] === selected;
        const row = step.rowsBefore[boxes.lane[at]] + boxes.row[at];
        const end = Math.max(boxes.to[at], Math.max(boxes.from[at], from) + kLeastWidth * pixel);
        if (!isSelected && end <= drawnTo[row] + (kLeastWidth / 2) * pixel) continue;
        drawnTo[row] = end;
        visible.push([boxes.from[at], boxes.to[at], boxes.what[at], boxes.lane[at], boxes.row[at]]);
      }
      return visible;
    }

    // [from, to, lane, segment] of the critical path in sight, without what others of their lane hide.
    function visiblePath() {
      if (!element("show-path").checked) return [];
      const { from, to, pixel } = inSight();
      const drawnTo = new Float64Array(step.lanes.length).fill(-Infinity);
      const { path } = step;
      const visible = [];
      for (let at = 0; at < path.from.length; at++) {
        const lane = path.lane[at];
        if (lane < 0 || path.to[at] < from || path.from[at] > to) continue;
        if (path.to[at] <= drawnTo[lane] + (kLeastWidth / 2) * pixel) continue;
        drawnTo[lane] = path.to[at];
        visible.push([path.from[at], path.to[at], lane, at]);
      }
      return visible;
    }

    // [end of the producer, end, transfer, receiver] of the arrows in sight: of the selected group, or of all if they are few.
    function visibleArrows() {
      const { from, to } = inSight();
      const { ops, transfers } = step;
      const visible = [];
      for (let at = 0; at < transfers.producer.length; at++) {
        const producer = transfers.producer[at];
        if (transfers.end[at] < from || ops.end[producer] > to) continue;
        if (selected !== null && ops.group[producer] !== selected) continue;
        for (const device of transfers.to[at]) visible.push([ops.end[producer], transfers.end[at], at, device]);
        if (selected === null && visible.length > kMostArrows) return [];
      }
      return visible;
    }

    // [us, GB] of a device's memory in sight, for each pixel its first, least, largest and last amount.
    function visibleMemory(memory) {
      const { from, to, pixel } = inSight();
      const visible = [];
      let kept = []; // positions of the points of one pixel, some of which may have the same time
      const flush = () => {
        visible.push(...[...new Set(kept)].sort((a, b) => a - b).map((which) => memory[which]));
        kept = [];
      };
      let last = -1; // the pixel of `kept`
      memory.forEach((point, at) => {
        if (point[0] > to || memory[at + 1]?.[0] < from) return;
        const column = Math.floor((point[0] - from) / pixel);
        if (column !== last) flush();
        last = column;
        if (kept.length === 0) kept = [at, at, at, at];
        if (point[1] < memory[kept[1]][1]) kept[1] = at;
        if (point[1] > memory[kept[2]][1]) kept[2] = at;
        kept[3] = at;
      });
      flush();
      const end = [Math.min(to, step.makespan_us), visible.at(-1)?.[1] ?? 0];
      return [...visible, end].map(([us, count]) => [us, count / 1e9]);
    }

    // Returns where a box of visibleBoxes() is drawn.
    function boxOf(params, api, isSelected) {
      const [lane, row] = [api.value(3), api.value(4)];
      const [left, middle] = api.coord([api.value(0), lane]);
      const [right] = api.coord([api.value(1), lane]);
      const field = params.coordSys;
      if (right < field.x || left > field.x + field.width) return null;
      const x = Math.max(left, field.x);
      const width = Math.max(Math.min(right, field.x + field.width) - x, isSelected ? kLeastSelected : kLeastWidth);
      const height = kLaneHeight * 0.72;
      const rows = step.lanes[lane].rows;
      return { x, y: middle - height / 2 + (height / rows) * row, width, height: height / rows };
    }

    function opItem(params, api) {
      const op = api.value(2);
      const { ops } = step;
      const dimmed = isDimmed(ops.group[op]);
      const shape = boxOf(params, api, selected === ops.group[op]);
      if (!shape) return null;
      const item = {
        type: "rect",
        shape,
        style: {
          fill: paletteColor(step.colorOf[step.colored[op]]),
          opacity: dimmed ? 0.12 : kPhaseOpacity[ops.phase[op]],
        },
      };
      // Always a text, even if empty: an item without one keeps the text of the op that it drew before.
      const named = shape.width > 46 && shape.height > 12 && !dimmed;
      item.textContent = {
        style: {
          text: named ? step.nameOfColored[step.colored[op]] || step.kinds[ops.kind[op]] : "",
          fill: theme().text,
          fontSize: 10,
          width: shape.width - 6,
          overflow: "truncate",
        },
      };
      item.textConfig = { position: "inside" };
      return item;
    }

    function transferItem(params, api) {
      const at = api.value(2);
      const { transfers, ops } = step;
      const group = ops.group[transfers.producer[at]];
      const shape = boxOf(params, api, selected === group);
      if (!shape) return null;
      return {
        type: "rect",
        shape: { ...shape, y: shape.y + 1, height: Math.max(shape.height - 2, 2) },
        style: { fill: deviceColor(transfers.from[at]), opacity: isDimmed(group) ? 0.12 : 0.75 },
      };
    }

    // Arrows of transfers, from their producers to the devices that want their outputs.
    function arrowItem(colors) {
      return (params, api) => {
        const at = api.value(2);
        const { transfers, ops } = step;
        const producer = transfers.producer[at];
        const [x1, y1] = api.coord([ops.end[producer], ops.lane[producer]]);
        const lane = step.lanes.findIndex((one) => one.device === api.value(3));
        const [x2, y2] = api.coord([transfers.end[at], lane]);
        const field = params.coordSys;
        if (Math.max(x1, x2) < field.x || Math.min(x1, x2) > field.x + field.width) return null;
        const strong = selected !== null;
        const tip_y = y2 + Math.sign(y1 - y2) * kLaneHeight * 0.36;
        return {
          type: "group",
          children: [
            {
              type: "line",
              shape: { x1, y1: y1 + Math.sign(y2 - y1) * kLaneHeight * 0.36, x2, y2: tip_y },
              style: { stroke: strong ? colors.text : colors.muted, lineWidth: strong ? 1.5 : 0.7, opacity: strong ? 1 : 0.55 },
            },
            {
              type: "circle",
              shape: { cx: x2, cy: tip_y, r: strong ? 3 : 1.6 },
              style: { fill: strong ? colors.text : colors.muted },
            },
          ],
        };
      };
    }

    function pathItem(colors) {
      return (params, api) => {
        const at = api.value(3);
        const { path } = step;
        const lane = path.lane[at];
        const [left, middle] = api.coord([path.from[at], lane]);
        const [right] = api.coord([path.to[at], lane]);
        const field = params.coordSys;
        if (right < field.x || left > field.x + field.width) return null;
        const y = middle + kLaneHeight * 0.43;
        const style = { stroke: colors.path, lineWidth: 2.6 };
        const children = [{ type: "line", shape: { x1: left, y1: y, x2: Math.max(right, left + 0.6), y2: y }, style }];
        const next = path.lane[at + 1];
        if (next !== undefined && next >= 0 && next !== lane) {
          const [, other] = api.coord([path.to[at], next]);
          children.push({
            type: "line",
            shape: { x1: right, y1: y, x2: right, y2: other + kLaneHeight * 0.43 },
            style: { stroke: colors.path, lineWidth: 1 },
          });
        }
        return { type: "group", children };
      };
    }

    const usedDevices = () =>
      step.devices.map((device, at) => ({ ...device, at })).filter((device) => device.peak_bytes > 0);

    function timelineOption(colors) {
      const { ops, transfers, path, lanes } = step;
      const left = laneLeft();
      const lanesHeight = lanes.length * kLaneHeight;
      const end = longest_us > 0 ? longest_us : 1;
      const used = usedDevices();
      const timeAxis = (more) =>
        axis(colors, "", {
          type: "value",
          min: 0,
          max: end,
          label: { showMaxLabel: false, formatter: (us) => (us === 0 ? "0" : time(us, longest_us)) },
          ...more,
        });
      const span = { minSpan: kLeastSpan, start: zoomed[0], end: zoomed[1] };
      const onLanes = (type) => ({ type, xAxisIndex: 0, yAxisIndex: 0, progressive: 0 });
      return {
        grid: [
          { left, right: kLaneRight, top: 6, height: lanesHeight },
          { left, right: kLaneRight, top: lanesHeight + 44, height: kMemoryHeight, tooltip: pointAlong(colors) },
        ],
        tooltip: {
          ...tooltip(colors, (item) => {
            if (item.seriesId === "ops") return opTip(item.value[2]);
            if (item.seriesId === "transfers") return transferTip(item.value[2]);
            if (item.seriesId === "path") {
              const at = item.value[3];
              return tip(`critical path: ${path.kind[at]}`, [
                nameOf(path.op[at]),
                `${time(path.from[at])} to ${time(path.to[at])}`,
              ]);
            }
            if (!Array.isArray(item) || item.length === 0) return null;
            const at = item[0].axisValue;
            return tip(
              `memory at ${time(at)}`,
              used.map(
                (device) =>
                  `${device.name}: ${bytes(lastBefore(device.memory, at)?.[1] ?? 0)} of ${bytes(device.capacity_bytes)}`,
              ),
            );
          }),
          trigger: "item",
        },
        legend: legend(used.map((device) => device.name)),
        dataZoom: [
          zoomable({ id: "inside", xAxisIndex: [0, 1], ...span }),
          {
            id: "slider", type: "slider", xAxisIndex: [0, 1], filterMode: "none", bottom: 6, height: 20, ...span,
            borderColor: colors.line, textStyle: { color: colors.muted, fontSize: 10 }, labelFormatter: (us) => time(us),
            showDataShadow: false, brushSelect: false,
          },
        ],
        xAxis: [timeAxis({ gridIndex: 0 }), timeAxis({ gridIndex: 1 })],
        yAxis: [
          axis(colors, "", {
            type: "category", inverse: true, data: lanes.map((lane) => lane.name), gridIndex: 0,
            axisLabel: {
              color: colors.text, fontSize: 11, lineHeight: 13, width: left - 12, overflow: "truncate", interval: 0,
              formatter: (name, at) => (isNumber(lanes[at].busy) ? `${name}\n{busy|${Math.round(lanes[at].busy * 100)} % busy}` : name),
              rich: { busy: { color: colors.muted, fontSize: 10, lineHeight: 12 } },
            },
            axisTick: { show: false },
            splitLine: { show: true, lineStyle: { color: colors.line } },
          }),
          axis(colors, "memory [GB]", {
            type: "value", min: 0, gridIndex: 1, nameGap: 36, splitNumber: 3,
          }),
        ],
        series: [
          { ...onLanes("custom"), id: "ops", clip: true, renderItem: opItem, encode: { x: [0, 1], y: 3 },
            data: visibleBoxes(step.opBoxes) },
          { ...onLanes("custom"), id: "transfers", clip: true, renderItem: transferItem, encode: { x: [0, 1], y: 3 },
            data: visibleBoxes(step.transferBoxes) },
          { ...onLanes("custom"), id: "arrows", clip: true, silent: true, renderItem: arrowItem(colors), z: 4,
            encode: { x: [0, 1], y: -1 }, data: visibleArrows() },
          { ...onLanes("custom"), id: "path", clip: true, renderItem: pathItem(colors), z: 3, encode: { x: [0, 1], y: 2 },
            data: visiblePath() },
          ...used.map((device) => ({
            type: "line", id: `memory-${device.at}`, name: device.name, xAxisIndex: 1, yAxisIndex: 1, step: "end", showSymbol: false,
            symbol: "circle", symbolSize: 5, color: deviceColor(device.at),
            lineStyle: { color: deviceColor(device.at), width: 1.6 },
            data: visibleMemory(device.memory),
          })),
        ],
      };
    }

    function graphOption(colors) {
      const { groups, ops, devices } = step;
      const most = Math.max(...groups.cost, 1e-9);
      const [left, right] = [Math.min(...groups.x), Math.max(...groups.x)];
      const [top, bottom] = [Math.min(...groups.y), Math.max(...groups.y)];
      const [marginX, marginY] = [(right - left) * 0.01 + 5, (bottom - top) * 0.04 + 6];
      const used = [...new Set(groups.device)].sort((a, b) => a - b);
      const edges = groups.edges;
      const heaviest = Math.max(...edges.bytes, 1);
      const dot = narrow() ? 3 : 5;
      return {
        grid: { left: 8, right: 8, top: 8, bottom: 8 },
        tooltip: tooltip(colors, (item) => {
          if (item.seriesType !== "scatter") return null;
          const group = item.value[2];
          return tip(groups.label[group], [
            `group ${group} on ${devices[groups.device[group]].name}`,
            `${groups.ops[group]} op${groups.ops[group] === 1 ? "" : "s"}, ${time(groups.cost[group])}, keeps ${bytes(groups.kept_bytes[group])}`,
          ]);
        }),
        legend: legend(used.map((device) => devices[device].name)),
        dataZoom: [zoomable({ xAxisIndex: 0, minSpan: 0.5 })],
        xAxis: { type: "value", min: left - marginX, max: right + marginX, show: false },
        yAxis: { type: "value", min: top - marginY, max: bottom + marginY, inverse: true, show: false },
        series: [
          {
            type: "custom", id: "edges", clip: true, silent: true, z: 1, progressive: 0,
            data: edges.from.map((from, at) => [groups.x[from], groups.x[edges.to[at]], at]),
            encode: { x: [0, 1], y: -1 },
            renderItem: (params, api) => {
              const at = api.value(2);
              const [from, to] = [edges.from[at], edges.to[at]];
              const [x1, y1] = api.coord([groups.x[from], groups.y[from]]);
              const [x2, y2] = api.coord([groups.x[to], groups.y[to]]);
              const field = params.coordSys;
              if (Math.max(x1, x2) < field.x || Math.min(x1, x2) > field.x + field.width) return null;
              const crosses = groups.device[from] !== groups.device[to];
              const strong = selected === from || selected === to;
              const bend = (x2 - x1) * 0.4;
              return {
                type: "bezierCurve",
                shape: { x1, y1, x2, y2, cpx1: x1 + bend, cpy1: y1, cpx2: x2 - bend, cpy2: y2 },
                style: {
                  stroke: strong ? colors.text : crosses ? colors.path : colors.muted,
                  fill: "none",
                  lineWidth: strong ? 2 : 0.5 + 1.5 * (edges.bytes[at] / heaviest),
                  opacity: strong ? 1 : selected !== null ? 0.1 : crosses ? 0.75 : 0.4,
                },
              };
            },
          },
          ...used.map((device) => ({
            type: "scatter", name: devices[device].name, id: `device-${device}`, z: 2, color: deviceColor(device),
            data: groups.device.flatMap((one, group) =>
              one !== device
                ? []
                : [{
                    value: [groups.x[group], groups.y[group], group],
                    symbolSize: dot + 9 * Math.sqrt(groups.cost[group] / most),
                    itemStyle: {
                      opacity: isDimmed(group) ? 0.25 : 0.95,
                      borderColor: selected === group ? colors.text : colors.surface,
                      borderWidth: selected === group ? 2.5 : 0.5,
                    },
                  }]),
          })),
        ],
      };
    }

    // Draws again what a selection changes, and leaves the zoom as it is.
    function refresh() {
      for (const [id, option] of [["timeline", timelineOption], ["graph", graphOption]]) {
        if (id === "graph" && !step.groups) continue;
        const { series } = option(theme());
        chartOf(id).setOption({ series }, { replaceMerge: [] });
      }
      showSelection();
    }

    function select(group) {
      selected = group;
      refresh();
    }

    // Groups of the other step have the same numbers if there are as many.
    function selectIn(group) {
      const chosen = group === selected ? null : group;
      shownViews()
        .filter((view) => view.numGroups() === step.groups_of_problem)
        .forEach((view) => view.select(chosen));
    }

    const chartOf = (id) => charts.get(`${id}${suffix}`).instance;

    function showSelection() {
      const line = part("selection");
      if (selected === null) {
        line.textContent = "Click an op or a group to see it in both pictures.";
        return;
      }
      const { groups } = step;
      const device = step.ops.lane[step.ops.group.indexOf(selected)];
      const clear = make("button", { type: "button", text: "Clear", id: `clear${suffix}` });
      clear.addEventListener("click", () => selectIn(null));
      line.replaceChildren(
        groups
          ? `Group ${selected}, ${groups.label[selected]}: ${groups.ops[selected]} ops, ${time(groups.cost[selected])} on ${step.lanes[device].name} `
          : `Group ${selected} on ${step.lanes[device].name} `,
        clear,
      );
    }

    // Draws what came into sight.
    function drawSight() {
      chartOf("timeline").setOption({
        series: [
          { id: "ops", data: visibleBoxes(step.opBoxes) },
          { id: "transfers", data: visibleBoxes(step.transferBoxes) },
          { id: "arrows", data: visibleArrows() },
          { id: "path", data: visiblePath() },
          ...usedDevices().map((device) => ({ id: `memory-${device.at}`, data: visibleMemory(device.memory) })),
        ],
      });
    }

    // Reads a step, which show() then draws.
    function load(found) {
      step = found?.data ? JSON.parse(element(found.data).textContent) : null;
      selected = null;
      root.hidden = !found;
      const cell = found?.cell ? ` (cell ${found.cell})` : "";
      part("step-title").textContent = found?.agent ? `By ${found.agent}${cell}` : "";
      part("step-missing").textContent = found?.missing ?? "";
      part("step-missing").hidden = Boolean(step);
      part("step").hidden = !step;
      if (step) prepare();
      return step?.makespan_us ?? 0;
    }

    function show() {
      if (!step) return;
      const isNew = !charts.has(`timeline${suffix}`);
      const timeline = draw(`timeline${suffix}`, timelineOption, step.lanes.length * kLaneHeight + kMemoryHeight + 106);
      const height = step.groups ? Math.min(Math.max(Math.max(...step.groups.y) - Math.min(...step.groups.y) + 90, 200), 460) : 0;
      part("graph").hidden = !step.groups;
      const graph = step.groups ? draw(`graph${suffix}`, graphOption, height) : null;
      if (isNew) {
        timeline.on("datazoom", (event) => {
          const { start, end } = event.batch?.[0] ?? event;
          const isOwn = start !== zoomed[0] || end !== zoomed[1];
          zoomed = [start, end];
          drawSight();
          showRange();
          if (isOwn) shownViews().forEach((view) => view.suffix !== suffix && view.zoom(start, end));
        });
        timeline.on("click", (item) => {
          if (item.seriesId === "ops") selectIn(step.ops.group[item.value[2]]);
          if (item.seriesId === "transfers") selectIn(step.ops.group[step.transfers.producer[item.value[2]]]);
        });
      }
      if (graph && !graph.hasClick) {
        graph.hasClick = true;
        graph.on("click", (item) => {
          if (item.seriesType === "scatter") selectIn(item.value[2]);
        });
      }
      showLegend(`devices-legend${suffix}`, () =>
        step.devices
          .map((device, at) => [device.name, deviceColor(at)])
          .filter((_, at) => step.devices[at].peak_bytes > 0),
      );
      showKeys(`layers-legend${suffix}`, () => [
        ...step.kept.map((one, at) => [step.nameOfColored[one] || "no layer", paletteColor(at)]),
        ...(step.kept.length < step.nameOfColored.length ? [["others", paletteColor(data.palette.length - 1)]] : []),
      ]);
      const sources = new Map();
      step.ops.source.forEach((source) => sources.set(source, (sources.get(source) ?? 0) + 1));
      part("timeline-caption").textContent =
        `${step.ops_of_graph} ops and ${step.transfers.producer.length} transfers in ${time(step.makespan_us)}. Lanes of ` +
        `devices show ops in the colours of their ${step.layers.length > 1 ? "layers" : "kinds"} (forward strong, backward ` +
        "lighter, update lightest), those below show transfers in the colours of their senders. The red line is the " +
        "critical path. Ctrl and the wheel zoom, dragging moves. Memory below is within 0.2 % of the peak. Costs: " +
        [...sources].map(([source, count]) => `${count} ${source}`).join(", ") +
        ".";
      part("graph-caption").textContent = step.groups
        ? `${step.groups.x.length} groups, the forward pass from left to right and the backward pass back next to it; ` +
          "larger where they take longer. Red edges lead to another device."
        : `The graph is not drawn: it has ${step.groups_of_problem} groups.`;
      showSelection();
    }

    const zoomTo = (start, end) => chartOf("timeline").dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start, end });

    return { suffix, load, show, refresh, drawSight, zoom: zoomTo, select, isShown: () => step !== null, numGroups: () => step.groups_of_problem };
  }

  function showRange() {
    const [from, to] = zoomed.map((percent) => (longest_us * percent) / 100);
    element("range").textContent = `${time(from, longest_us)} to ${time(to, longest_us)}`;
  }

  function zoom(start, end) {
    const width = Math.min(Math.max(end - start, kLeastSpan), 100);
    const from = Math.min(Math.max(start, 0), 100 - width);
    shownViews()[0]?.zoom(from, from + width);
  }

  function zoomBy(factor) {
    const [start, end] = zoomed;
    const middle = (start + end) / 2;
    zoom(middle - ((end - start) / 2) * factor, middle + ((end - start) / 2) * factor);
  }

  function moveBy(share) {
    const [start, end] = zoomed;
    zoom(start + (end - start) * share, end + (end - start) * share);
  }

  // The steps of a graph and cluster, the fastest first.
  const stepsOf = (table) => data.steps.filter((one) => one.graph === table.graph && one.cluster === table.cluster);

  // Shows the chosen step, and another one next to it if there is a choice.
  function showSteps(table) {
    const steps = stepsOf(table);
    const others = [steps[element("agent").value], steps[element("agent-next").value - 1]];
    longest_us = Math.max(...views.map((view, at) => view.load(others[at])));
    zoomed = [0, 100];
    element("step-controls").hidden = !steps.some((one) => one.data);
    element("steps").classList.toggle("pair", Boolean(others[1]));
    shownViews().forEach((view) => view.show());
    showRange();
  }

  function showStep(table) {
    const names = stepsOf(table).map((one) => {
      const row = table.rows.find(({ agent }) => agent === one.agent);
      return isNumber(row?.step_time_us) ? `${one.agent}, ${inMs(row.step_time_us)}` : one.agent;
    });
    fillSelect(element("agent"), names);
    fillSelect(element("agent-next"), ["nothing", ...names]);
    if (data.compares_placements) element("agent-next").value = 2;
    element("steps-left-out").textContent =
      names.length > 0 && names.length < table.rows.filter((row) => isNumber(row.step_time_us)).length
        ? "Only the fastest agents are listed: the steps of all take too much room. emplace simulate --placement DIR:CELL --trace step.svg draws any."
        : "";
    showSteps(table);
  }

  function showProblem(at) {
    const table = report.tables[at];
    if (!data.compares_placements) showFactsOf(table);
    showStep(table);
  }

  function showFactsOf(table) {
    const winner = table.rows.find((row) => outcomeOf(row) === "ok");
    showFacts(element("problem-facts"), [
      ["fastest", winner ? winner.agent : "none fits"],
      ["its step, median", winner ? time(winner.step_time_us) : ""],
      ["lower bound", time(table.bound_us)],
      ["gap", winner ? `${percent(winner.gap)} %` : ""],
      ["best known", isNumber(table.best_known_us) ? time(table.best_known_us) : ""],
      ["groups", table.groups > 0 ? String(table.groups) : ""],
      ["family", table.family ?? ""],
    ]);
    showConvergence(table);
  }

  // Shows the step of a row of the results.
  function showStepOf({ graph, cluster, agent }) {
    const at = report.tables.findIndex((table) => table.graph === graph && table.cluster === cluster);
    element("choice").value = at;
    showProblem(at);
    const step = stepsOf(report.tables[at]).findIndex((one) => one.agent === agent);
    if (step > 0) {
      element("agent").value = step;
      showSteps(report.tables[at]);
    }
    element("step-head").scrollIntoView();
  }

  function showProblems() {
    if (report.tables.length === 0) {
      element("problem").hidden = true;
      return;
    }
    views.push(stepView(""), stepView("-next"));
    const choice = element("choice");
    for (const id of ["agent", "agent-next"]) {
      element(id).addEventListener("change", () => showSteps(report.tables[choice.value]));
    }
    fillSelect(choice, report.tables.map((table) => `${table.graph} on ${table.cluster}`));
    choice.addEventListener("change", () => showProblem(Number(choice.value)));
    element("zoom-in").addEventListener("click", () => zoomBy(0.5));
    element("zoom-out").addEventListener("click", () => zoomBy(2));
    element("earlier").addEventListener("click", () => moveBy(-0.5));
    element("later").addEventListener("click", () => moveBy(0.5));
    element("whole").addEventListener("click", () => zoom(0, 100));
    element("show-path").addEventListener("change", () => shownViews().forEach((view) => view.refresh()));
    showProblem(0);
  }

  // --- All ---------------------------------------------------------------------------------------

  function redraw() {
    redrawAll();
    fitColumns();
    legends.forEach(({ entries, show }, id) => show(id, entries));
  }

  // A page of compared placements has tables of its own, and steps.
  function showPlacements() {
    element("suite").textContent = report.suite;
    element("kind").textContent = "emplace compare";
    element("writer").textContent = "emplace compare --format html";
    element("problem-head").textContent = "Steps";
    const unused = ["summary", "sections", "verdict", "overview", "results", "run", "problem-choice", "problem-facts", "convergence"];
    for (const id of [...unused, "curves-legend", "convergence-caption", "step-head"]) element(id).hidden = true;
    element("placements").hidden = false;
  }

  if (data.compares_placements) {
    showPlacements();
  } else {
    showHead();
    showOverview();
    showLearning();
    showResults();
  }
  showProblems();
  offerPictures();
  window.addEventListener("resize", () => {
    charts.forEach(({ instance }) => instance.resize());
    shownViews().forEach((view) => view.drawSight());
    fitColumns();
  });
  dark.addEventListener("change", redraw);
  for (const [event, value] of [["beforeprint", true], ["afterprint", false]]) {
    window.addEventListener(event, () => {
      printing = value;
      // As wide as paper, before it is laid out.
      document.documentElement.classList.toggle("printing", value);
      charts.forEach(({ instance }) => instance.resize());
      redraw();
    });
  }
})();
