// Runs lowtide in Pyodide, away from the page, so that the page stays alive while networks are planned.
//
// Once Python, numpy and lowtide are loaded, everything that could send something is taken away: what
// the reader's network is made of cannot leave, whatever runs here.
"use strict";

const SENDERS = [
  "fetch", "XMLHttpRequest", "WebSocket", "WebTransport", "EventSource", "importScripts", "Worker",
  "SharedWorker", "BroadcastChannel", "RTCPeerConnection", "indexedDB", "caches",
];

let answer; // lowtide.browser.answer
let files; // Pyodide's file system, in this worker's memory

onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") {
      await start(data.pyodide, data.wheel);
      postMessage({ kind: "ready" });
      return;
    }
    for (const { path, bytes } of data.files) {
      if (path.includes("/")) files.mkdirTree(`${files.cwd()}/${path.slice(0, path.lastIndexOf("/"))}`);
      files.writeFile(path, new Uint8Array(bytes));
    }
    const tell = (text) => postMessage({ kind: "told", text });
    const text = answer(data.kind, JSON.stringify(data.asked), tell);
    postMessage({ kind: "answer", of: data.kind, found: JSON.parse(text) });
  } catch (error) {
    postMessage({ kind: "failed", starting: data.kind === "start", what: lastLine(error) });
  }
};

async function start(pyodide, wheel) {
  const tell = (text) => postMessage({ kind: "told", text });
  tell("loading Python");
  importScripts(`${pyodide}pyodide.js`);
  const [python, own] = await Promise.all([loadPyodide({ indexURL: pyodide }), bytesOf(wheel)]);
  tell("loading numpy");
  await python.loadPackage("numpy", { messageCallback: () => {} });
  for (const name of SENDERS) {
    Object.defineProperty(self, name, { value: undefined, writable: false, configurable: false });
  }
  tell("loading lowtide");
  python.unpackArchive(own, "wheel");
  files = python.FS;
  answer = python.pyimport("lowtide.browser").answer;
}

async function bytesOf(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function lastLine(error) {
  const lines = String((error && error.message) || error).trim().split("\n");
  return lines[lines.length - 1];
}
