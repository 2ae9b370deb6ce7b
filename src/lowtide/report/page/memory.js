// The part of page.js, within its function, that draws memory over time.
  // Memory over time, before and after: both to one scale, bytes upwards and instructions to the right.
  function memory(network, number, most) {
    const before = network.views[0];
    const ways = network.views.filter((v) => v.key === v.way);
    const plans = (way) => network.views.filter((v) => v.way === way);
    let after = network.views.find((v) => v.key === "rows") || before;
    let together = true, from = 0, until = 1, followed = new Set(), scales = [];
    const whole = () => Math.max(1, before.instructions, after.instructions);
    const [caption, why, culprits] = [make("p"), make("p"), make("p", { class: "culprits" })];
    const result = make("p", { role: "status" }), trail = make("p", { class: "trail", "aria-live": "polite" });
    const details = make("div");
    const matches = (view, tensor) => !followed.size || followed.has(view.names[tensor]?.[0]);

    const shown = plot(`Memory over time of ${network.name}`, (svg, width) => {
      const left = 62, right = 8, room = printing ? 280 : 340;
      const one = (together && two ? most : before.ram_bytes) * 1.02 || 1;
      let top = 0;
      scales = [before, after].map((view, i) => {
        const high = i === 0 || together ? room * Math.max(0.02, (i && together ? view.ram_bytes * 1.02 : one) / one) : room;
        const span = i === 0 ? one : together ? one * high / room : view.ram_bytes * 1.04 || 1;
        const scale = { view, left, width, right, top: top + 44, bottom: top + 44 + high, span, times: moments(view) };
        scale.y = (address) => scale.bottom - (high * address) / span;
        const unit = (width - left - right) / ((until - from) * whole());
        scale.at = (time) => left + (time - from * whole()) * unit;
        scale.x = (slot) => scale.at(scale.times[slot]);
        top = scale.bottom + 14;
        return scale;
      });
      const height = top + 34;
      const clip = `inside${number}`;
      svg.append(draw("defs", {}, draw("clipPath", { id: clip }, draw("rect", { x: left, y: 0, width: width - left - right, height }))));
      scales.forEach((scale, i) => panel(svg, scale, i, width, clip));
      for (const at of ticks(whole(), (width > 600 ? 8 : 4) / (until - from))) {
        const x = scales[0].at(at);
        if (x < left - 1 || x > width - right - 12) continue;
        svg.append(draw("line", { x1: x, x2: x, y1: top - 14, y2: top - 10, class: "axis" }),
          draw("text", { x, y: top + 4, "text-anchor": at ? "middle" : "start", class: "dim" }, millions(at)));
      }
      svg.append(draw("text", { x: left, y: top + 22, class: "dim" }, width > 600 ? network.work_note : "instructions, predicted"));
      return height;
    });

    function panel(svg, scale, i, width, clip) {
      const { view, y, x, left, right, top, bottom } = scale;
      const end = width - right;
      svg.append(
        draw("text", { x: 0, y: top - 28, class: "title" }, `${i ? "After" : "Before"}: ${view.title}`),
        draw("text", { x: 0, y: top - 11, class: "dim" }, `${bytes(view.ram_bytes)} of RAM${i && before.ram_bytes ? `, ${change(view)}` : ""}`),
      );
      for (const at of ticks(scale.span, Math.max(2, (bottom - top) / 45), true)) {
        svg.append(
          draw("line", { x1: left, x2: end, y1: y(at), y2: y(at), class: "grid" }),
          draw("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end", class: "dim" }, kilobytes(at)),
        );
      }
      const inside = draw("g", { "clip-path": `url(#${clip})` });
      svg.append(inside);
      const paths = new Map(); // with an edge, or without where it would leave nothing of the box
      const thin = new Set();
      for (const [tensor, start, stop, offset, size] of view.boxes) {
        if (Math.min(x(stop) - x(start), y(offset) - y(offset + size)) < 3) thin.add(tensor);
        const box = `M${x(start).toFixed(1)} ${y(offset).toFixed(1)}H${x(stop).toFixed(1)}V${y(offset + size).toFixed(1)}H${x(start).toFixed(1)}Z`;
        paths.set(tensor, (paths.get(tensor) || "") + box);
      }
      for (const [tensor, d] of paths) {
        const dull = matches(view, tensor) ? "" : " dull";
        const mark = tensor < 0 ? { class: `scratch${dull}` } : { class: (thin.has(tensor) ? "" : "box") + dull, style: `fill:var(--c${view.colours[tensor]})` };
        inside.append(draw("path", { d, ...mark }));
      }
      for (const [tensor, label, slot, address] of labels(view, x, y, left, end)) {
        if (matches(view, tensor)) inside.append(draw("text", { x: slot, y: y(address) + 4, "text-anchor": "middle", class: "label" }, label));
      }
      const peak = x(view.peak_slot) + Math.min(2, (x(view.peak_slot + 1) - x(view.peak_slot)) / 2);
      inside.append(draw("line", { x1: peak, x2: peak, y1: y(0), y2: y(view.ram_bytes), class: "peak" }));
      svg.append(
        draw("line", { x1: left, x2: end, y1: y(view.ram_bytes), y2: y(view.ram_bytes), class: "top" }),
        draw("line", { x1: left, x2: end, y1: y(0), y2: y(0), class: "axis" }),
      );
      const budget = network.budget;
      if (budget && budget.bytes < scale.span) {
        svg.append(draw("line", { x1: left, x2: end, y1: y(budget.bytes), y2: y(budget.bytes), class: "part" }),
          draw("text", { x: end, y: y(budget.bytes) + (y(budget.bytes) - top < 14 ? 13 : -4), "text-anchor": "end", class: "label" }, `room in ${budget.name}`));
      }
    }

    const change = (view) => `${percent(Math.abs(1 - view.ram_bytes / before.ram_bytes))} ${view.ram_bytes <= before.ram_bytes ? "less" : "more"}`;
    const found = (event) => {
      const frame = shown.svg.getBoundingClientRect();
      const factor = scales[0].width / frame.width;
      const px = (event.clientX - frame.left) * factor, py = (event.clientY - frame.top) * factor;
      const scale = scales.find((s) => py >= s.top - 2 && py <= s.bottom + 2);
      if (!scale || px < scale.left || px > scale.width - scale.right) return {};
      const address = ((scale.bottom - py) * scale.span) / (scale.bottom - scale.top);
      const box = scale.view.boxes.find(([, start, end, offset, size]) => scale.x(start) <= px && px < scale.x(end) && offset <= address && address < offset + size);
      let slot = 0;
      while (slot < scale.view.slots - 1 && scale.x(slot + 1) <= px) slot += 1;
      return { box, slot, view: scale.view, px: event.clientX - frame.left, py: event.clientY - frame.top };
    };
    const hover = (event) => {
      const { box, slot, view, px, py } = found(event);
      if (!box) {
        shown.tip.hidden = true;
        return;
      }
      const [tensor, start, end, offset, size] = box;
      const [short, origin] = tensor < 0 ? ["scratch", "memory of a kernel"] : view.names[tensor];
      const own = network.tensors[short];
      place(shown.tip, shown.holder, px, py,
        `${short} ${origin ? `(${origin})` : ""}\n${bytes(size)} at address ${count(offset)}\nsteps ${count(start)} to ${count(end - 1)}\nstep ${count(slot)}: ${step(view, slot)}${own ? `\n${own}` : ""}`);
    };

    // Followed tensors are bright in both pictures, all others dull; what became of the first is said.
    function follow(names) {
      followed = new Set(names);
      const held = (view, name) => {
        const edges = new Map();
        for (const [tensor, start, end, , size] of view.boxes) {
          if (view.names[tensor]?.[0] !== name) continue;
          edges.set(start, (edges.get(start) || 0) + size);
          edges.set(end, (edges.get(end) || 0) - size);
        }
        let sum = 0, top = 0;
        for (const at of [...edges.keys()].sort((a, b) => a - b)) top = Math.max(top, (sum += edges.get(at)));
        return top;
      };
      const of = (name) => [before, after].flatMap((v) => Object.values(v.names)).find(([short]) => short === name)[1];
      const said = [...followed].slice(0, 3).map((n) => `${n} (${of(n)}): at most ${bytes(held(before, n))} before, ${bytes(held(after, n))} after`);
      trail.textContent = said.join("; ") + (followed.size > 3 ? `; and ${followed.size - 3} more` : "");
      shown.redraw();
    }
    let down = null;
    shown.svg.addEventListener("pointerdown", (event) => { down = { x: event.clientX, from, until, moved: false }; hover(event); });
    shown.svg.addEventListener("pointermove", (event) => {
      hover(event);
      if (!down || !event.buttons || Math.abs(event.clientX - down.x) < 4) return;
      down.moved = true;
      zoom(down.until - down.from, down.from - ((event.clientX - down.x) / shown.svg.clientWidth) * (down.until - down.from));
    });
    shown.svg.addEventListener("pointerleave", () => { shown.tip.hidden = true; });
    shown.svg.addEventListener("click", (event) => {
      const moved = down?.moved;
      down = null;
      if (moved) return;
      const { box, view } = found(event);
      const short = box && box[0] >= 0 ? view.names[box[0]][0] : null;
      find.value = "";
      follow(short && !followed.has(short) ? [short] : []);
    });
    shown.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      const frame = shown.svg.getBoundingClientRect();
      const at = (event.clientX - frame.left) / frame.width;
      const wide = (until - from) * (event.deltaY < 0 ? 0.8 : 1.25);
      zoom(wide, from + at * (until - from - wide));
    }, { passive: false });
    function zoom(wide, start) {
      wide = Math.min(1, Math.max(1e-3, wide));
      from = Math.min(1 - wide, Math.max(0, start));
      until = from + wide;
      shown.redraw();
    }
    const press = (text, label, act) => {
      const button = make("button", { type: "button", class: "copy", "aria-label": label, title: label }, text);
      button.addEventListener("click", act);
      return button;
    };
    const near = (factor) => () => zoom((until - from) * factor, from + ((until - from) * (1 - factor)) / 2);
    const pan = (part) => () => zoom(until - from, from + part * (until - from));
    const find = make("input", { type: "search", placeholder: "tensor or operator", "aria-label": "Find a tensor or an operator" });
    find.addEventListener("input", () => {
      const words = find.value.trim().toLowerCase();
      const all = [before, after].flatMap((v) => Object.values(v.names));
      const text = ([short, origin]) => `${short} ${origin} ${network.tensors[short] || ""}`.toLowerCase();
      const hits = all.filter((name) => name[0] === words);
      follow(words ? (hits.length ? hits : all.filter((name) => text(name).includes(words))).map(([short]) => short) : []);
    });
    const save = press("Save the picture (SVG)", "Save the picture of before and after as SVG", () => {
      const link = make("a", { href: URL.createObjectURL(new Blob([network.picture], { type: "image/svg+xml" })), download: `${network.name}.svg` });
      link.click();
      URL.revokeObjectURL(link.href);
    });

    const update = () => {
      caption.textContent = after.caption;
      const first = before;
      const less = after === first || !first.ram_bytes ? "" : `, ${change(after)} than ${first.title}`;
      const lost = after.arena_bytes - after.peak_bytes;
      const apart = lost > 0 ? ` At its peak ${bytes(after.peak_bytes)} are live; ${bytes(lost)} are lost to fragmentation.` : "";
      result.textContent = `${after.title}: ${bytes(after.ram_bytes)} of RAM${after.state_bytes ? `, ${bytes(after.state_bytes)} of it state` : ""}${less}.${apart}`;
      why.textContent = after.why;
      culprits.textContent = `Before, ${before.culprits}. After, ${after.culprits}.`;
      const rows = after.peak.map((held) => [{ shown: held.name }, { shown: bytes(held.bytes), value: held.bytes },
        { shown: held.of ? bytes(held.of) : "" }, held.pieces, { shown: held.why }]);
      details.replaceChildren(
        table(
          [{ name: "in memory", text: true }, { name: "bytes" }, { name: "of" }, { name: "pieces" }, { name: "for", text: true, wrap: true }],
          rows,
          `The peak, step ${count(after.peak_slot)}: ${step(after, after.peak_slot)}`,
        ),
      );
      shown.svg.setAttribute("aria-label",
        `Memory over time, ${before.title} ${bytes(before.ram_bytes)}, below it ${after.title} ${bytes(after.ram_bytes)}; the peak is in step ${after.peak_slot}, ${step(after, after.peak_slot)}. The table below lists what is in memory then.`);
      const choices = plans(after.way);
      slide.hidden = choices.length < 2;
      slider.max = choices.length - 1;
      slider.value = choices.indexOf(after);
      chosen.textContent = ` ${bytes(after.ram_bytes)}, ${millions(after.instructions)} instructions`;
      follow(followed);
    };
    const slider = make("input", { type: "range", min: "0", step: "1", "aria-label": "Plans with less RAM and more work" });
    const chosen = make("output");
    const slide = make("label", { class: "slide noprint" }, "Less RAM for more work ", slider, chosen);
    slider.addEventListener("input", () => { after = plans(after.way)[Number(slider.value)]; update(); });
    const choices = make("fieldset", {}, make("legend", { class: "dim" }, "Ways to run the network, with the RAM of each"));
    const largest = Math.max(...ways.map((v) => v.ram_bytes)) || 1;
    for (const each of ways) {
      const input = make("input", { type: "radio", name: `view${number}`, value: each.key });
      input.checked = each === after;
      input.addEventListener("change", () => { after = each; update(); });
      const bar = make("span", { class: "share", style: `width:${((100 * each.ram_bytes) / largest).toFixed(1)}%`, "aria-hidden": "true" });
      choices.append(make("label", { class: "choice" }, input,
        make("span", { class: "way" }, make("span", {}, each.title), make("b", {}, bytes(each.ram_bytes)), bar)));
    }
    const same = make("input", { type: "checkbox" });
    same.checked = together;
    same.addEventListener("change", () => { together = same.checked; shown.redraw(); });
    requestAnimationFrame(update);
    return [
      culprits,
      make("div", { class: "tools noprint" }, find, press("+", "Zoom in", near(0.5)), press("\u2212", "Zoom out", near(2)),
        press("\u2190", "Earlier", pan(-0.5)), press("\u2192", "Later", pan(0.5)), press("All", "The whole run", () => zoom(1, 0)),
        make("label", {}, same, " same scale"), save),
      trail, shown.holder, slide, choices, result, caption, why,
      make("p", { class: "dim" }, "Each box is a tensor, or a row of one. Its width is the instructions that run while it's needed, its height is its bytes, and its position is its address. A tensor has the same colour before and after. Hover over or tap a box to see its tensor; click it to follow the tensor. Grey boxes are scratch memory of kernels. State, which is kept between runs, is on top. The dashed red line marks the peak."
        + (network.budget ? ` The dotted line is the RAM of ${network.budget.name} minus ${count(network.rest_bytes)} B for the stack and the instance.` : "")),
      details,
      make("p", { class: "dim" }, network.how),
    ];
  }

  // When each slot begins, in instructions; the last is the end. Steps alone where nothing is predicted.
  function moments(view) {
    if (!view.moments) {
      view.moments = [0];
      for (const [, work, slots] of view.steps) {
        for (let i = 0; i < slots; i += 1) view.moments.push(view.moments.at(-1) + (view.instructions ? work : 1 / view.slots));
      }
    }
    return view.moments;
  }

  function step(view, slot) {
    let at = 0;
    for (const [label, , length] of view.steps) {
      at += length;
      if (slot < at) return label;
    }
    return "";
  }

  // The largest box of each tensor that has room for its name.
  function labels(view, x, y, left, right) {
    const best = new Map();
    for (const [tensor, start, end, offset, size] of view.boxes) {
      if (tensor < 0) continue;
      const first = Math.max(left, x(start)), wide = Math.min(right, x(end)) - first, high = y(offset) - y(offset + size);
      const label = `${view.names[tensor][0]}${offset >= view.arena_bytes ? ", state" : ""}`;
      if (wide < 8 * label.length || high < 14) continue;
      const old = best.get(tensor);
      if (!old || wide * high > old[4]) best.set(tensor, [tensor, label, first + wide / 2, offset + size / 2, wide * high]);
    }
    return best.values();
  }
