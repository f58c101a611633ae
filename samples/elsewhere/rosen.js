// Rosenbrock's function and its gradient for gradcli, in lines of JSON; see gradcli-protocol(7).
// gradcli gradcheck 'cmd:node rosen.js' x0=[1.2,2]
const lines = require("readline").createInterface({ input: process.stdin });

const methods = {
  ModelInfo: () => ({ support: { Evaluate: true, Gradient: true } }),
  InputSizes: () => ({ inputSizes: [2] }),
  OutputSizes: () => ({ outputSizes: [1] }),
  Evaluate: ({ input: [[x, y]] }) => ({ output: [[(1 - x) ** 2 + 100 * (y - x * x) ** 2]] }),
  Gradient: ({ input: [[x, y]], sens: [s] }) => ({
    output: [s * (-2 * (1 - x) - 400 * x * (y - x * x)), s * 200 * (y - x * x)],
  }),
};

lines.on("line", (line) => {
  const request = JSON.parse(line);
  const method = methods[request.method];
  const unknown = () => ({ error: { type: "UnsupportedFeature", message: request.method } });
  console.log(JSON.stringify((method || unknown)(request)));
});
