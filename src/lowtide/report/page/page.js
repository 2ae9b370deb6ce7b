// The page that `lowtide report` writes. Data is in #data, schema lowtide.report/1; all text of it goes
// through textContent, as names in a model are other people's. Nothing is loaded.
"use strict";
(() => {
  const documents = JSON.parse(document.getElementById("data").textContent).networks;
  const page = document.getElementById("page");
  const two = documents.length > 1;
  const redraws = [];
  const PAPER = 680; // what plots are drawn for on paper, whose width nobody tells before it is printed
  let printing = false;

  const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const draw = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }
  const count = (n) => Math.round(n).toLocaleString("en-US");
  const bytes = (n) => `${count(n)} B`;
  const millions = (n) => (n >= 1e7 ? `${(n / 1e6).toFixed(1)} M` : n >= 1e5 ? `${(n / 1e6).toFixed(2)} M` : count(n));
  const percent = (part) => `${(100 * part).toFixed(1)} %`;

  // Where ticks go on an axis from 0 to `most`, at steps that are easily read, `binary` or decimal.
  function ticks(most, wanted, binary) {
    const raw = most / wanted;
    const base = binary ? 2 ** Math.floor(Math.log2(Math.max(1, raw))) : 10 ** Math.floor(Math.log10(Math.max(1e-9, raw)));
    const step = (binary ? [1, 2, 4] : [1, 2, 5, 10]).map((k) => k * base).find((s) => s >= raw) || raw;
    const found = [];
    for (let at = 0; at <= most * 1.0001; at += step) found.push(at);
    return found;
  }
  const kilobytes = (n) => (n >= 1 << 20 && n % 1024 === 0 ? `${+(n / (1 << 20)).toFixed(2)} MiB`
    : n >= 1024 ? `${+(n / 1024).toFixed(1)} KiB` : `${n} B`);

  function table(columns, rows, caption, sortable = false) {
    const head = make("tr");
    const body = make("tbody");
    const cells = (row) =>
      row.map((cell, i) => {
        const classes = [columns[i].text ? "text" : "", columns[i].wrap ? "wrap" : ""].join(" ").trim();
        const named = i ? { "data-name": columns[i].name } : {};
        return make("td", { ...(classes ? { class: classes } : {}), ...named }, cell.node ?? String(cell.shown ?? cell));
      });
    const show = (sorted) => body.replaceChildren(...sorted.map((row) => make("tr", {}, cells(row))));
    columns.forEach((column, i) => {
      const cell = make("th", { scope: "col", ...(column.text ? { class: "text" } : {}) });
      if (!sortable) {
        cell.append(column.name);
      } else {
        const button = make("button", { type: "button" }, column.name);
        button.addEventListener("click", () => {
          const up = cell.getAttribute("aria-sort") === "descending";
          head.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
          cell.setAttribute("aria-sort", up ? "ascending" : "descending");
          const value = (row) => row[i].value ?? row[i].shown ?? row[i];
          const order = (a, b) => (typeof value(a) === "number" ? value(a) - value(b) : String(value(a)).localeCompare(String(value(b))));
          show([...rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
        });
        cell.append(button);
      }
      head.append(cell);
    });
    show(rows);
    const made = make("table", { "aria-label": caption }, make("thead", {}, head), body);
    const frame = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, made);
    // Where its columns have no room side by side, a row becomes a paragraph, so that none is cut off.
    const fit = () => {
      frame.classList.remove("narrow");
      frame.classList.toggle("narrow", !printing && frame.scrollWidth > frame.clientWidth);
    };
    redraws.push(fit);
    requestAnimationFrame(fit);
    return make("div", {}, make("p", { class: "dim caption" }, caption), frame);
  }

  // A plot that is drawn anew whenever its width changes: `paint(svg, width)` returns its height.
  function plot(label, paint) {
    const tip = make("div", { class: "tip", hidden: "" });
    const holder = make("div", { class: "plot" });
    const svg = draw("svg", { role: "img", "aria-label": label });
    holder.append(svg, tip);
    const redraw = () => {
      const width = printing ? PAPER : Math.max(280, Math.floor(holder.clientWidth || 800));
      svg.replaceChildren();
      const height = paint(svg, width, tip);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    };
    redraws.push(redraw);
    return { holder, svg, tip, redraw };
  }

  function place(tip, holder, x, y, text) {
    tip.textContent = text;
    tip.hidden = false;
    const width = holder.clientWidth;
    tip.style.left = `${Math.max(0, Math.min(x + 12, width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, y - tip.offsetHeight - 10)}px`;
  }

  // The RAM of common parts as lines across a picture: of two that would touch, the more common one. Their
  // names stand clear of `marks`, places of what is drawn; `taken` is a height that has a line already.
  function partLines(svg, parts, low, high, y, left, right, marks, taken) {
    const kept = [];
    for (const part of [...parts].sort((a, b) => b.count - a.count || a.bytes - b.bytes)) {
      if (part.bytes <= low || part.bytes >= high || Math.abs(y(taken ?? Infinity) - y(part.bytes)) < 20) continue;
      if (kept.every((other) => Math.abs(y(other.bytes) - y(part.bytes)) >= 22)) kept.push(part);
    }
    for (const part of kept) {
      const line = y(part.bytes), wide = 6.2 * part.name.length;
      const spots = [[right, "end", -4], [right, "end", 12], [left + 4, "start", -4], [left + 4, "start", 12]];
      const free = ([x, anchor, up]) => marks.every(([px, py]) => {
        const from = anchor === "end" ? x - wide : x;
        return px < from - 8 || px > from + wide + 8 || py < line + up - 16 || py > line + up + 8;
      });
      const [x, anchor, up] = spots.find(free) || spots[0];
      svg.append(
        draw("line", { x1: left, x2: right, y1: line, y2: line, class: "part" }),
        draw("text", { x, y: line + up, "text-anchor": anchor, class: "dim label" }, part.name),
      );
    }
  }

  const dotted = (network) =>
    `Dotted lines are the RAM of common parts; allow ${count(network.rest_bytes)} B more for the stack and the instance.`;

  {{memory}}

  // Which of the parts that are known have room for it, and which way.
  function fitting(network) {
    if (!network.fits.length) return [];
    const said = (f) => ({ "as is": "fits", streamed: "input streamed", not: "no" }[f.way]
      || `${f.overhead < 1.005 ? "with lean kernels" : `${f.overhead.toFixed(2)} times the work`}${f.streamed ? ", input streamed" : ""}`);
    const rank = { "as is": 0, streamed: 1, "more work": 2, not: 9 };
    const rows = [...network.fits].sort((a, b) => a.ram - b.ram || a.spare_flash_bytes - b.spare_flash_bytes).map((f) => [
      { shown: f.part }, { shown: f.core }, { shown: kilobytes(f.ram), value: f.ram },
      { shown: f.flash === null ? "external" : kilobytes(f.flash), value: f.flash ?? Infinity },
      { shown: said(f), value: rank[f.way] + f.overhead / 100 },
      { shown: count(f.spare_ram_bytes), value: f.spare_ram_bytes },
      { shown: f.flash === null ? "-" : count(f.spare_flash_bytes), value: f.spare_flash_bytes },
    ]);
    const fits = network.fits.filter((f) => f.way !== "not");
    const plainly = fits.filter((f) => f.way === "as is").length;
    const kind = network.core === "any" ? "microcontrollers in the table" : `microcontrollers in the table with a ${network.core}`;
    const shown = table(
      [{ name: "part", text: true }, { name: "core", text: true }, { name: "RAM" }, { name: "flash" }, { name: "runs it", text: true },
        { name: "RAM left, B" }, { name: "flash left, B" }],
      rows, "Parts by RAM; a negative value is the number of missing bytes", true);
    return [
      make("h2", {}, "Parts"),
      make("p", {}, plainly === network.fits.length ? `All ${count(plainly)} ${kind} run it without changes.`
        : `Of ${count(network.fits.length)} ${kind} ${plainly} run it without changes${fits.length > plainly ? `, and ${fits.length - plainly} more with the input given row by row or with more work` : ""}.`),
      make("details", { class: "noprint" }, make("summary", {}, `All ${count(network.fits.length)} parts`), shown),
    ];
  }

  // RAM against work, for the plans that no other beats in RAM, instructions and MACs.
  function front(network) {
    const lines = network.fronts.filter((f) => f.points.length);
    if (!lines.length) return [];
    const cost = (p) => p.instructions ?? p.macs;
    const unit = lines[0].points[0].instructions === null ? "MACs" : "instructions, predicted";
    const all = lines.flatMap((f) => f.points);
    const shown = plot(`RAM against ${unit}; the table below has the figures.`, (svg, width) => {
      const left = 62, right = 14, top = 34, height = 320, bottom = 44;
      const low = Math.min(...all.map(cost)), far = Math.max(...all.map(cost));
      const span = far - low || low || 1;
      const high = Math.max(...all.map((p) => p.ram_bytes)) * 1.12;
      const x = (c) => left + 8 + ((width - left - right - 16) * (c - low)) / span;
      const y = (r) => top + (height - top - bottom) * (1 - r / high);
      for (const at of ticks(high, 5, true)) {
        svg.append(draw("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), class: "grid" }),
          draw("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end", class: "dim" }, kilobytes(at)));
      }
      const marks = lines.flatMap((line) => line.points.map((p) => [x(cost(p)), y(p.ram_bytes)]));
      partLines(svg, network.parts, high / 12, high * 0.97, y, left, width - right, marks);
      lines.forEach((line, i) => {
        const points = [...line.points].sort((a, b) => cost(a) - cost(b) || a.ram_bytes - b.ram_bytes);
        let least = points[0].ram_bytes, d = `M${x(cost(points[0]))} ${y(least)}`;
        for (const p of points) {
          if (p.ram_bytes < least) d += `H${x(cost(p))}V${y((least = p.ram_bytes))}`;
        }
        svg.append(draw("path", { d: `${d}H${width - right}`, class: i ? "second" : "step" }));
        for (const p of points) {
          const dot = i
            ? draw("circle", { cx: x(cost(p)), cy: y(p.ram_bytes), r: 5, class: "second" })
            : draw("rect", { x: x(cost(p)) - 4.5, y: y(p.ram_bytes) - 4.5, width: 9, height: 9, class: "dot" });
          const text = `${line.title}\n${bytes(p.ram_bytes)} of RAM\n${millions(cost(p))} ${unit}\n${p.overhead.toFixed(3)} times the MACs`;
          dot.addEventListener("pointerenter", (event) => {
            const frame = shown.svg.getBoundingClientRect();
            place(shown.tip, shown.holder, event.clientX - frame.left, event.clientY - frame.top, text);
          });
          dot.addEventListener("pointerleave", () => { shown.tip.hidden = true; });
          svg.append(dot);
        }
        const at = left + 140 * i;
        svg.append(i
          ? draw("circle", { cx: at + 5, cy: 10, r: 5, class: "second" })
          : draw("rect", { x: at, y: 5.5, width: 9, height: 9, class: "dot" }),
        draw("text", { x: at + 15, y: 14 }, line.title));
      });
      svg.append(draw("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), class: "axis" }));
      for (const [c, anchor] of [[low, "start"], [far, "end"]]) {
        svg.append(draw("text", { x: x(c), y: height - 26, "text-anchor": anchor, class: "dim" }, millions(c)));
        if (low === far) break;
      }
      svg.append(draw("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle", class: "dim" }, unit));
      return height;
    });
    requestAnimationFrame(shown.redraw);
    if (lines.every((line) => line.points.length === 1)) {
      return [make("h2", {}, "RAM against work"), make("p", {}, network.fronts_note)];
    }
    const rows = lines.flatMap((line) => line.points.map((p) => [
      { shown: line.title }, { shown: bytes(p.ram_bytes), value: p.ram_bytes },
      { shown: p.instructions === null ? "-" : count(p.instructions), value: p.instructions ?? 0 },
      { shown: count(p.macs), value: p.macs }, { shown: p.overhead.toFixed(4), value: p.overhead }]));
    const figures = table(
      [{ name: "plans", text: true }, { name: "RAM" }, { name: "instructions, predicted" }, { name: "MACs" }, { name: "times the network's MACs" }],
      rows, "Plans that no other beats in RAM, instructions and MACs", true);
    return [
      make("h2", {}, "RAM against work"),
      make("p", {}, network.fronts_note),
      shown.holder,
      make("p", { class: "dim" }, dotted(network)),
      make("details", {}, make("summary", {}, "All plans as a table"), figures),
    ];
  }

  function operators(network) {
    const measured = network.operators.some((o) => o.measured !== null);
    const total = network.operators.reduce((sum, o) => sum + (o.measured ?? o.instructions ?? 0), 0) || 1;
    const largest = Math.max(...network.operators.map((o) => (o.measured ?? o.instructions ?? 0) / total), 0.01);
    const columns = [
      { name: "operator", text: true }, { name: "type", text: true }, { name: "output" }, { name: "MACs" },
      { name: "weights, B" }, { name: "output, B" },
      { name: measured ? "instructions, measured" : "instructions, predicted" }, { name: "share", text: true },
    ];
    const rows = network.operators.map((o) => {
      const value = o.measured ?? o.instructions ?? 0;
      const bar = make("span", { class: "bar", style: `width:${((60 * value) / total / largest).toFixed(1)}px`, "aria-hidden": "true" });
      return [
        { shown: o.ids, value: o.first }, { shown: o.type }, { shown: o.shape, value: o.output_bytes }, { shown: count(o.macs), value: o.macs },
        { shown: count(o.weights_bytes), value: o.weights_bytes }, { shown: count(o.output_bytes), value: o.output_bytes },
        { shown: value ? count(value) : "-", value }, { node: make("span", {}, percent(value / total), bar), value },
      ];
    });
    return [
      make("h2", {}, "Operators"),
      make("p", { class: "dim" }, network.operators_note),
      table(columns, rows, "Operators of the program; click a heading to sort", true),
    ];
  }

  // Operators from top to bottom in the order they begin, stages as frames, skips as arcs at the side.
  function drawn(network) {
    const nodes = network.graph;
    const shown = plot(`The network as ${nodes.length} operators from top to bottom; the table of operators lists them.`, (svg, width) => {
      const high = 22, top = 10, middle = Math.min(width * 0.62, 460);
      const at = new Map(nodes.map((node, i) => [node.id, i]));
      const y = (i) => top + high * i + high / 2;
      let begin = 0;
      nodes.forEach((node, i) => {
        if (i + 1 === nodes.length || nodes[i + 1].stage !== node.stage) {
          if (node.stage !== null) {
            svg.append(draw("rect", { x: 1, y: top + high * begin + 2, width: middle, height: high * (i + 1 - begin) - 4, rx: 5, class: "band" }));
            svg.append(draw("text", { x: 8, y: y(begin) + 4, class: "dim" }, `stage ${node.stage}`));
          }
          begin = i + 1;
        }
      });
      const lanes = [];
      for (const node of nodes) {
        for (const source of node.sources) {
          const [a, b] = [at.get(source), at.get(node.id)];
          if (a === undefined || b === undefined) continue;
          if (b - a === 1) {
            svg.append(draw("line", { x1: 92, x2: 92, y1: y(a) + 8, y2: y(b) - 8, class: "edge" }));
            continue;
          }
          let lane = lanes.findIndex((until) => until <= Math.min(a, b));
          if (lane < 0) lane = lanes.length;
          lanes[lane] = Math.max(a, b);
          const out = Math.min(middle + 14 + 11 * lane, width - 4);
          svg.append(draw("path", { d: `M${middle + 2} ${y(a)}C${out} ${y(a)} ${out} ${y(a)} ${out} ${(y(a) + y(b)) / 2}S${out} ${y(b)} ${middle + 2} ${y(b)}`, class: "edge" }));
        }
      }
      nodes.forEach((node, i) => {
        svg.append(draw("text", { x: 100, y: y(i) + 4 }, `${node.number} ${node.type}`));
        svg.append(draw("text", { x: middle - 8, y: y(i) + 4, "text-anchor": "end", class: "dim" }, node.shape));
      });
      return top * 2 + high * nodes.length;
    });
    requestAnimationFrame(shown.redraw);
    const few = nodes.length <= 30 ? { open: "" } : {};
    return [
      make("h2", {}, "The network"),
      make("p", {}, "Operators in the order in which they start. Operators in one frame run interleaved, row by row. An arc is a tensor that an operator further down reads."
        + (nodes.some((node) => node.stage === null) ? " Operators without a frame need no code of their own: other operators do their work." : "")),
      make("details", few, make("summary", {}, `${nodes.length} operator${nodes.length === 1 ? "" : "s"}`), shown.holder),
    ];
  }

  function flash(network) {
    const parts = network.flash.parts.filter((p) => p.bytes);
    const sum = parts.reduce((all, p) => all + p.bytes, 0) || 1;
    const shown = plot(`Flash: ${parts.map((p) => `${p.name} ${bytes(p.bytes)}`).join(", ")}`, (svg, width) => {
      let x = 0;
      parts.forEach((part, i) => {
        const wide = (width * part.bytes) / sum;
        svg.append(draw("rect", { x, y: 0, width: wide, height: 26, class: "box", style: `fill:var(--c${i % 4})` }));
        x += wide;
      });
      return 28;
    });
    requestAnimationFrame(shown.redraw);
    const key = (p, i) => make("span", {}, make("span", { class: "swatch", style: `background:var(--c${i % 4})`, "aria-hidden": "true" }), p.name);
    const rows = parts.map((p, i) => [{ node: key(p, i) }, { shown: bytes(p.bytes), value: p.bytes }, { shown: percent(p.bytes / sum) }]);
    const state = network.state.map((v) => [{ shown: v.name }, { shown: bytes(v.bytes), value: v.bytes }]);
    return [
      make("h2", {}, "Flash and state"),
      shown.holder,
      table([{ name: "part", text: true }, { name: "bytes" }, { name: "share" }], rows, network.flash.note),
      network.slid ? table(
        [{ name: "tensor", text: true }, { name: "rows" }, { name: "kept" }, { name: "new or recomputed" }, { name: "bytes kept" }],
        network.slid.map((of) => [
          { shown: `${of.tensor} ${of.name}` },
          ...[of.rows, of.rows_kept, of.rows_made, of.state_bytes].map((n) => ({ shown: count(n), value: n })),
        ]),
        "Rows of the sliding window, in each run",
      ) : null,
      state.length ? table([{ name: "variable", text: true }, { name: "bytes" }], state, "State, kept from run to run") : null,
    ];
  }

  // What is proved for all inputs, if --prove asked for it.
  function proved(network) {
    if (!network.proved) return [];
    const { said, tables, lists } = network.proved;
    return [
      make("h2", {}, "Proved for all inputs"),
      ...said.map((sentence) => make("p", {}, sentence)),
      ...tables.map((t) => make("details", {}, make("summary", {}, t.caption), table(t.columns, t.rows, t.caption))),
      ...lists.flatMap((l) => [make("p", {}, l.title), make("ul", {}, l.lines.map((line) => make("li", {}, line)))]),
    ];
  }

  function next(network) {
    if (!network.advice.length) return [];
    const items = network.advice.map((entry) => {
      const button = make("button", { type: "button", class: "copy" }, "Copy");
      button.addEventListener("click", () => {
        const done = () => { button.textContent = "Copied"; };
        if (navigator.clipboard) navigator.clipboard.writeText(entry.command).then(done, () => select(code));
        else select(code);
      });
      const code = make("code", {}, entry.command);
      return make("li", {}, make("b", {}, entry.gain), make("div", {}, entry.why), make("div", { class: "command" }, code, button));
    });
    return [make("h2", {}, "What to try next"), make("ul", { class: "next" }, items)];
  }

  function select(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }

  function head(network) {
    const figures = network.figures.map((f) => make("li", {}, f.name, make("b", {}, f.shown), make("span", { class: "dim" }, f.note)));
    return [
      make(two ? "h2" : "h1", {}, network.name),
      make("p", { class: "verdict" }, network.verdict),
      make("ul", { class: "figures" }, figures),
    ];
  }

  function compared() {
    const [a, b] = documents;
    const rows = a.compared.map(([name, value], i) => {
      const other = b.compared[i][1];
      const known = value !== null && other !== null;
      return [{ shown: name }, value === null ? "-" : count(value), other === null ? "-" : count(other),
        known && value ? `${other >= value ? "+" : "\u2212"}${percent(Math.abs(other / value - 1))}` : "-"];
    });
    return make("section", { class: "compared" }, make("h1", {}, `${a.name} and ${b.name}`),
      table([{ name: "figure", text: true }, { name: a.name }, { name: b.name }, { name: "change" }], rows, "Both networks in figures"));
  }

  const most = Math.max(...documents.flatMap((d) => d.views.map((v) => v.ram_bytes)));
  if (two) page.append(compared());
  const parts = [
    head,
    (network, i) => [make("h2", {}, "Memory over time"), ...memory(network, i, most)],
    front, fitting, next, operators, flash, proved, drawn,
  ];
  for (const part of parts) {
    const cells = documents.map((network, i) => make("div", {}, part(network, i)));
    if (cells.some((cell) => cell.childNodes.length)) page.append(make("section", { class: `pair${two ? " two" : ""}` }, cells));
  }
  page.append(make("p", { class: "dim" }, documents[0].made_by));
  let width = innerWidth;
  const again = () => redraws.forEach((redraw) => redraw());
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; again(); } });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.noprint)").forEach((d) => { d.open = true; });
    printing = true;
    again();
  });
  addEventListener("afterprint", () => { printing = false; again(); });
  document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", again));
})();
