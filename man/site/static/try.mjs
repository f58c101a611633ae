// The page "Try it": sends command lines to try-worker.mjs, and shows what they print.

const part = (name) => document.getElementById(`try-${name}`);
const WORKER = new URL("try-worker.mjs", import.meta.url);
const LETTER = 8.4; // pixels, of the output's font

let worker = null;
let busy = false;

function show(text, kind) {
  const line = document.createElement("div");
  line.className = kind;
  line.textContent = text;
  part("output").append(line);
  part("output").scrollTop = part("output").scrollHeight;
}

function setBusy(now, text = "") {
  busy = now;
  part("run").disabled = now;
  part("stop").disabled = !now;
  part("state").textContent = text;
}

function receive({ data }) {
  if (data.state === "loading") {
    setBusy(true, `Loading ${data.text} …`);
  } else if (data.state === "ready") {
    setBusy(false, "Ready");
    if (worker.waiting) send(worker.waiting);
  } else if (data.state === "failed") {
    setBusy(false, "");
    show(data.text, "messages");
  } else {
    if (data.out) show(data.out.trimEnd(), "out");
    if (data.messages) show(data.messages.trimEnd(), "messages");
    show(`exit code ${data.code}`, "code");
    setBusy(false, "Ready");
  }
}

function begin(waiting) {
  worker = new Worker(WORKER, { type: "module" });
  worker.waiting = waiting;
  worker.onmessage = receive;
  worker.onerror = (event) => receive({ data: { state: "failed", text: event.message } });
  setBusy(true, "Loading …");
}

function send(line) {
  worker.waiting = null;
  show(`$ ${line}`, "line");
  setBusy(true, "Running …");
  const columns = Math.max(40, Math.floor(part("output").clientWidth / LETTER) - 2);
  worker.postMessage({ line, columns, file: part("file").value });
}

function run(line) {
  if (busy || !line.trim()) return;
  if (worker === null) begin(line);
  else send(line);
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(part("line").value);
});
part("stop").addEventListener("click", () => {
  worker?.terminate();
  worker = null;
  setBusy(false, "Stopped");
});
for (const button of document.querySelectorAll("#try-examples button")) {
  button.addEventListener("click", () => {
    part("line").value = button.textContent;
    run(button.textContent);
  });
}
setBusy(false, "");
