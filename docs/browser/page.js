// The form, what is going on, and what came out. All work is done by worker.js.
"use strict";

(() => {
  const app = document.querySelector(".lowtide-app");
  const part = (name) => app.querySelector(`[data-part=${name}]`);
  const field = (name) => app.querySelector(`[name=${name}]`);
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  let worker = null; // a Promise of one that has started
  let running = null; // the Worker itself
  let ready = false; // whether it has loaded all it needs
  let dropped = null; // the file that was dropped last, in place of what a picker holds
  let since = 0;
  let clock = null;
  let links = []; // object URLs of downloads

  // ---- the worker

  function started() {
    if (worker) return worker;
    running = new Worker(new URL("worker.js", document.baseURI));
    const mine = running;
    worker = new Promise((resolve, reject) => {
      mine.onerror = (event) => reject(new Error(event.message || "the worker did not start"));
      mine.onmessage = ({ data }) => {
        if (data.kind === "told") say(data.text);
        else if (data.kind === "ready") resolve((ready = true) && mine);
        else reject(new Error(data.what));
      };
      const absolute = (url) => new URL(url, document.baseURI).href;
      const { pyodide, wheel } = app.dataset;
      mine.postMessage({ kind: "start", pyodide: absolute(pyodide), wheel: absolute(wheel) });
    });
    return worker;
  }

  function ask(mine, kind, asked, files) {
    return new Promise((resolve, reject) => {
      mine.onerror = (event) => reject(new Error(event.message));
      mine.onmessage = ({ data }) => {
        if (data.kind === "told") say(data.text);
        else if (data.kind === "failed") reject(new Error(data.what));
        else resolve(data.found);
      };
      mine.postMessage({ kind, asked, files });
    });
  }

  function stop() {
    if (running) running.terminate();
    worker = running = null;
    ready = false;
  }

  // ---- what is asked

  async function filled() {
    const files = [];
    const add = async (file, folder) => {
      const path = `${folder}${file.name}`;
      files.push({ path, bytes: await file.arrayBuffer() });
      return path;
    };
    const own = dropped || field("file").files[0];
    const other = field("compare").files[0];
    const asked = {
      model: own ? await add(own, "") : field("zoo").value,
      compare: other ? await add(other, own && own.name === other.name ? "other/" : "") : "",
      core: field("core").value,
      input_mode: field("input").value,
      quantized_io: field("quantized").checked,
      max_ram: field("ram").value.trim(),
    };
    return { asked, files };
  }

  async function run(kinds) {
    const { asked, files } = await filled();
    if (!asked.model) {
      wrong("you chose no network", "choose a .tflite file, or one of the built-in networks");
      return;
    }
    busy(true);
    clear(kinds);
    try {
      const mine = await started();
      for (const kind of kinds) {
        const found = await ask(mine, kind, asked, files);
        if (found.error) {
          wrong(found.error.cause, found.error.remedy);
          return;
        }
        SHOW[kind](found, asked);
      }
    } catch (error) {
      const [what, remedy] = ready
        ? ["lowtide stopped", "a large network can need more memory than a browser has; install lowtide on your computer"]
        : ["Python could not be loaded", "check your connection and try again"];
      stop();
      wrong(`${what}: ${error.message}`, remedy);
    } finally {
      busy(false);
    }
    if (kinds.includes("report")) part("status").textContent = "The report is ready. It is below.";
  }

  // ---- what is going on

  function say(text) {
    part("status").textContent = `${text[0].toUpperCase()}${text.slice(1)} …`;
  }

  function busy(is) {
    app.setAttribute("aria-busy", String(is));
    part("fields").disabled = is;
    part("working").hidden = !is;
    if (!is) part("status").textContent = "";
    clearInterval(clock);
    since = Date.now();
    part("seconds").textContent = "";
    if (is) {
      clock = setInterval(() => {
        part("seconds").textContent = `${Math.round((Date.now() - since) / 1000)} s`;
      }, 1000);
    }
  }

  function clear(kinds) {
    part("wrong").replaceChildren();
    for (const kind of kinds) part(kind).replaceChildren();
    if (!kinds.includes("report")) return;
    part("fit").replaceChildren();
    links.forEach((url) => URL.revokeObjectURL(url));
    links = [];
  }

  function wrong(cause, remedy) {
    part("wrong").replaceChildren(
      make("p", {}, make("strong", { textContent: "It didn't work: " }), cause),
      make("p", {}, `What to do: ${remedy}`),
    );
  }

  // ---- what came out

  const number = (value) => (value === null ? "unknown" : value.toLocaleString("en"));
  const MODES = {
    resident: "in the arena",
    const: "in your own memory",
    streamed: "row by row",
  };

  function table(caption, head, rows) {
    const cells = (tag, texts) => make("tr", {}, ...texts.map((text) => make(tag, {}, text)));
    const titles = cells("th", head);
    for (const cell of titles.children) cell.scope = "col";
    const made = make(
      "table", {}, make("caption", { textContent: caption }), make("thead", {}, titles),
      make("tbody", {}, ...rows.map((row) => cells("td", row))),
    );
    return make("div", { className: "lowtide-scroll", tabIndex: 0, role: "group", ariaLabel: caption }, made);
  }

  function showLook(found) {
    const over = (needs) =>
      found.budget !== null && (needs.arena_bytes === null || needs.arena_bytes > found.budget);
    const rows = found.needs.map((needs) => [
      MODES[needs.mode],
      `${number(needs.ram_bytes)} B${over(needs) ? ", over the limit" : ""}`,
      `${number(needs.flash_bytes)} B`,
      number(needs.instructions),
    ]);
    part("look").replaceChildren(
      make("h2", { textContent: "At a glance" }),
      table(
        `Estimated for ${found.core === "any" ? "any core" : found.core}, without recomputed rows; ` +
          `TensorFlow Lite Micro's tensors take ${number(found.tflm_bytes)} B`,
        ["Input", "RAM in all", "Flash in all", "Instructions of one run"],
        rows,
      ),
    );
  }

  function download(name, text, type, label) {
    const href = URL.createObjectURL(new Blob([text], { type }));
    links.push(href);
    return make("li", {}, make("a", { href, download: name, textContent: label }));
  }

  // The report may draw and nothing else: it has no origin, and may load nothing.
  const RULES = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
  const MOST_PIXELS = 100_000;
  // What a frame out of sight observes, it is told late: so it also tells its height once it is drawn.
  const MEASURE =
    "const tell = () => parent.postMessage({ height: document.documentElement.getBoundingClientRect().height }, '*');" +
    "new ResizeObserver(tell).observe(document.documentElement); addEventListener('load', tell)";

  function framed(page) {
    const frame = make("iframe", { title: "The report", className: "lowtide-report" });
    frame.setAttribute("sandbox", "allow-scripts");
    frame.setAttribute("allow", "clipboard-write");
    frame.srcdoc = page.replace(
      "<head>",
      `<head><meta http-equiv="Content-Security-Policy" content="${RULES}"><script>${MEASURE}</script>`,
    );
    return frame;
  }

  addEventListener("message", ({ source, data }) => {
    const frame = app.querySelector("iframe");
    if (frame && source === frame.contentWindow && Number.isFinite(data.height)) {
      frame.style.height = `${Math.min(Math.ceil(data.height), MOST_PIXELS) + 2}px`;
    }
  });

  function showReport(found, asked) {
    const name = asked.model.split("/").pop().replace(/^zoo:/, "").replace(/\.\w+$/, "");
    const json = (document_) => JSON.stringify(document_, null, 2);
    const of = "application/json";
    part("report").replaceChildren(
      make("h2", { textContent: "The report" }),
      ...found.verdicts.map((text) => make("p", { className: "lowtide-verdict", textContent: text })),
      make(
        "ul", { className: "lowtide-links" },
        download(`${name}-report.html`, found.page, "text/html", "Download the report (HTML)"),
        download(`${name}-report.json`, json(found.report), of, "Download its figures (JSON)"),
        download(`${name}-plan.json`, json(found.plan), of, "Download the plan, for lowtide compile --plan"),
        download(`${name}-analysis.json`, json(found.analysis), of, "Download the analysis (JSON)"),
      ),
      framed(found.page),
    );
    const fit = make("button", { type: "button", className: "md-button", textContent: "List the microcontrollers that fit" });
    fit.addEventListener("click", () => run(["fit"]));
    part("fit").replaceChildren(fit);
  }

  function showFit(found) {
    const rows = found.parts.map((of) => [
      of.name, of.core, `${number(of.ram_bytes)} B`,
      of.flash_bytes === null ? "external" : `${number(of.flash_bytes)} B`, of.sentence,
    ]);
    const fit = found.parts.filter((of) => of.fits).length;
    part("fit").replaceChildren(
      make("h2", { textContent: "Microcontrollers" }),
      table(
        `The network fits ${fit} of ${rows.length} parts (estimated), without recomputed rows`,
        ["Part", "Core", "RAM", "Flash", "Result"],
        rows,
      ),
    );
  }

  const SHOW = { look: showLook, report: showReport, fit: showFit };

  // ---- what the reader does

  const ALL = ["look", "report"];
  const zone = part("drop");

  // One source at a time: a file that was dropped, one that was picked, or a built-in network.
  function chosen(file) {
    dropped = file;
    part("chosen").textContent = file ? `Dropped: ${file.name}` : "";
  }

  field("file").addEventListener("change", () => {
    chosen(null);
    if (!field("file").files.length) return;
    field("zoo").value = "";
    run(ALL);
  });
  field("zoo").addEventListener("change", () => {
    chosen(null);
    field("file").value = "";
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("lowtide-over", kind === "dragenter" || kind === "dragover");
      if (kind !== "drop" || app.getAttribute("aria-busy") === "true") return;
      const [file] = event.dataTransfer.files;
      if (!file) return;
      field("file").value = field("zoo").value = "";
      chosen(file);
      run(ALL);
    });
  }
  part("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run(ALL);
  });
  part("form").addEventListener("reset", () => chosen(null));
  part("stop").addEventListener("click", () => {
    stop();
    busy(false);
    part("status").textContent = "Stopped.";
  });

  if (location.protocol === "file:") {
    wrong("a page that is opened as a file may start no worker", "serve the folder: python -m http.server");
  }
  part("form").hidden = false;
})();
