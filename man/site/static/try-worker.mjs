// Runs gradcli in Pyodide, apart from the page, so that a long command can be stopped by ending this worker.
//
// Receives {line, columns, file}; sends {state: "loading" | "ready" | "answer" | "failed", ...}.

const VERSION = "314.0.7";
const PYODIDE = `https://cdn.jsdelivr.net/pyodide/v${VERSION}/full/pyodide.mjs`;
const PACKAGES = ["numpy", "scipy", "sympy", "click", "rich"];

export async function start(loadPyodide, fetchFile, send) {
  send({ state: "loading", text: "Python" });
  const python = await loadPyodide();
  send({ state: "loading", text: PACKAGES.join(", ") });
  await python.loadPackage(PACKAGES, { messageCallback: () => {} });
  send({ state: "loading", text: "gradcli" });
  const [archive, code] = await Promise.all([fetchFile("gradcli.zip"), fetchFile("_static/try.py")]);
  python.unpackArchive(archive, "zip", { extractDir: "/home/pyodide" });
  python.runPython(new TextDecoder().decode(code));
  send({ state: "ready" });
  return python.globals.get("answer");
}

export function reply(answer, { line, columns, file }, send) {
  const result = answer(line, columns, file);
  const [out, messages, code] = result.toJs();
  result.destroy();
  send({ state: "answer", out, messages, code });
}

async function serve(root) {
  const send = (message) => postMessage(message);
  const fetchFile = async (name) => {
    const response = await fetch(new URL(name, root));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    return response.arrayBuffer();
  };
  const report = (error) => send({ state: "failed", text: String(error) });
  try {
    const { loadPyodide } = await import(PYODIDE);
    const answer = await start(loadPyodide, fetchFile, send);
    onmessage = ({ data }) => {
      try {
        reply(answer, data, send);
      } catch (error) {
        report(error);
      }
    };
  } catch (error) {
    report(error);
  }
}

if (typeof WorkerGlobalScope !== "undefined") {
  serve(new URL("..", import.meta.url));
}
