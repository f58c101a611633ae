"""Scripts whose gradient is None, zero or not finite, and right twins: `# CAUSE` marks the line to be found.

A case is (title, tensor, state, wrong script, right script). In each, T is the framework. A right script must give no
finding at all, asked or not.
"""

CASES = []


def case(title, tensor, state, wrong, right, rules=()):
    CASES.append((title, tensor, state, wrong.strip() + "\n", right.strip() + "\n"))


X = "x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
NET = """
nn = T.nn
T.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.last = nn.Linear(4, 1)
    def forward(self, x):
        return self.last(T.tanh(self.first(x)))
net = Net()
data = T.randn(5, 3)
"""
case(
    "non-leaf", "y", "none",
    X + "y = x * 2  # CAUSE\nloss = (y ** 2).sum()\nloss.backward()\nprint(y.grad)",
    X + "y = x * 2\ny.retain_grad()\nloss = (y ** 2).sum()\nloss.backward()\nprint(y.grad)",
)  # fmt: skip
case(
    "to", "w", "none",
    "w = T.randn(3, dtype=T.float32, requires_grad=True).to(T.float64)  # CAUSE\nloss = (w * w).sum()\nloss.backward()\nprint(w.grad)",
    "w = T.randn(3).to(T.float64).requires_grad_()\nloss = (w * w).sum()\nloss.backward()\nprint(w.grad)",
)  # fmt: skip
case(
    "arithmetic leaf", "w", "none",
    "w = 0.1 * T.randn(3, requires_grad=True)  # CAUSE\nloss = (w * w).sum()\nloss.backward()\nprint(w.grad)",
    "w = (0.1 * T.randn(3)).requires_grad_()\nloss = (w * w).sum()\nloss.backward()\nprint(w.grad)",
)  # fmt: skip
case(
    "detach", "x", "none",
    X + "def scale(v):\n    v = v.detach()  # CAUSE\n    return v * 3\nw = T.ones(3, requires_grad=True)\n"
    "loss = (scale(x) * w).sum()\nloss.backward()\nprint(x.grad)",
    X + "def scale(v):\n    print(v.detach().sum().item())\n    return v * 3\nw = T.ones(3, requires_grad=True)\n"
    "loss = (scale(x) * w).sum()\nloss.backward()\nprint(x.grad)",
)  # fmt: skip
case(
    "data", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nh = x.data * 2  # CAUSE\nloss = (h * w).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nh = x * 2\nloss = (h * w).sum()\nloss.backward()\nprint(x.data)",
)  # fmt: skip
case(
    "item", "net.first.weight", "none",
    NET + "b = T.tensor(1.0, requires_grad=True)\nscore = net(data).sum()\nvalue = score.item()  # CAUSE\n"
    "value = value * 2 + 1\nh = T.tensor(value)\nloss = (h - b) ** 2\nloss.backward()",
    NET + "b = T.tensor(1.0, requires_grad=True)\nscore = net(data).sum()\nvalue = score.item()\nprint(value)\n"
    "loss = (score - b) ** 2\nloss.backward()",
)  # fmt: skip
case(
    "float", "x", "none",
    X + "b = T.tensor(1.0, requires_grad=True)\ns = float(x.sum())  # CAUSE\nloss = b * s\nloss.backward()",
    X + "b = T.tensor(1.0, requires_grad=True)\ns = x.sum()\nloss = b * s\nloss.backward()",
)  # fmt: skip
case(
    "tolist", "x", "none",
    X + "b = T.tensor(1.0, requires_grad=True)\nparts = []\nfor v in (x * 2).tolist():  # CAUSE\n    parts.append(v + 1)\n"
    "loss = b * T.tensor(parts).sum()\nloss.backward()",
    X + "b = T.tensor(1.0, requires_grad=True)\nparts = []\nfor v in x * 2:\n    parts.append(v + 1)\n"
    "loss = b * T.stack(parts).sum()\nloss.backward()",
)  # fmt: skip
case(
    "numpy", "x", "none",
    "import numpy as np\n" + X + "w = T.ones(3, requires_grad=True)\na = x.detach().numpy()  # CAUSE\nb = np.sin(a)\n"
    "h = T.from_numpy(b)\nloss = (h * w).sum()\nloss.backward()",
    "import numpy as np\n" + X + "w = T.ones(3, requires_grad=True)\nh = T.sin(x)\n"
    "np.testing.assert_allclose(h.detach().numpy(), np.sin(x.detach().numpy()), rtol=1e-5)\n"
    "loss = (h * w).sum()\nloss.backward()",
)  # fmt: skip
case(
    "tensor of tensor", "x", "none",
    "import warnings\nwarnings.simplefilter('ignore')\n" + X + "w = T.ones(3, requires_grad=True)\n"
    "h = T.tensor(x * 1.5)  # CAUSE\nloss = (h * w).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nh = (x * 1.5).clone()\nloss = (h * w).sum()\nloss.backward()",
)  # fmt: skip
case(
    "no_grad", "net.first.weight", "none",
    NET + "def encode(v):\n    with T.no_grad():\n        return T.tanh(net.first(v))  # CAUSE\n"
    "loss = net.last(encode(data)).sum()\nloss.backward()",
    NET + "def encode(v):\n    return T.tanh(net.first(v))\nloss = net.last(encode(data)).sum()\nloss.backward()\n"
    "with T.no_grad():\n    print(net(data).shape)",
)  # fmt: skip
case(
    "inference_mode", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nwith T.no_grad():\n    h = x * 2  # CAUSE\nloss = (h.clone() * w).sum()\n"
    "loss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nh = x * 2\nwith T.inference_mode():\n    print(x.sum())\n"
    "loss = (h.clone() * w).sum()\nloss.backward()",
)  # fmt: skip
case(
    "integer cast", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nlevel = (x * 2).long()  # CAUSE\nloss = (level * w).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nloss = (x * 2 * w).sum()\nloss.backward()\nprint(x.long())",
)  # fmt: skip
case(
    "comparison", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nhit = x > 1.5  # CAUSE\nloss = (hit.float() * w).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nhit = x > 1.5\nloss = (hit.float() * w * x).sum()\nloss.backward()",
)  # fmt: skip
case(
    "argmax", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nbest = x.argmax()  # CAUSE\nloss = w[best] * 2\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nbest = x.argmax()\nloss = w[best] * x[best]\nloss.backward()",
)  # fmt: skip
case(
    "argsort", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\norder = T.argsort(x)  # CAUSE\nloss = (order.float() * w).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nvalues, order = T.sort(x)\nloss = (values * w).sum()\nloss.backward()",
)  # fmt: skip
case(
    "frozen", "net.first.weight", "none",
    NET + "for p in net.first.parameters():\n    p.requires_grad_(False)  # CAUSE\nloss = net(data).sum()\n"
    "loss.backward()\nprint(net.first.weight.grad)",
    NET + "loss = net(data).sum()\nloss.backward()\nprint(net.first.weight.grad.shape)",
)  # fmt: skip
case(
    "frozen attribute", "w", "none",
    X + "w = T.ones(3, requires_grad=True)\nw.requires_grad = False  # CAUSE\nloss = (w * x).sum()\nloss.backward()",
    X + "w = T.ones(3, requires_grad=True)\nloss = (w * x).sum()\nloss.backward()",
)  # fmt: skip
case(
    "never used", "b", "none",
    "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)  # CAUSE\nloss = a ** 2\nloss.backward()\n"
    "print(b.grad)",
    "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\nloss = a ** 2 * b\nloss.backward()\n"
    "print(b.grad)",
)  # fmt: skip
case(
    "unused layer", "net.extra.weight", "none",
    "nn = T.nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.first = nn.Linear(3, 1)\n"
    "        self.extra = nn.Linear(3, 1)  # CAUSE\n    def forward(self, x):\n        return self.first(x)\n"
    "net = Net()\nnet(T.randn(4, 3)).sum().backward()",
    "nn = T.nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.first = nn.Linear(3, 1)\n"
    "        self.extra = nn.Linear(3, 1)\n    def forward(self, x):\n        return self.first(x) + self.extra(x)\n"
    "net = Net()\nnet(T.randn(4, 3)).sum().backward()",
)  # fmt: skip
case(
    "no backward", "x", "none",
    X + "loss = (x ** 2).sum()  # CAUSE\nprint(x.grad)",
    X + "loss = (x ** 2).sum()\nloss.backward()\nprint(x.grad)",
)  # fmt: skip
case(
    "other output", "b", "none",
    "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\nloss = a ** 2\npenalty = b ** 2\n"
    "loss.backward()  # CAUSE\nprint(a.grad, b.grad)",
    "a = T.tensor(2.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\nloss = a ** 2\npenalty = b ** 2\n"
    "(loss + penalty).backward()\nprint(a.grad, b.grad)",
)  # fmt: skip
case(
    "cleared", "net.first.weight", "none",
    NET + "opt = T.optim.SGD(net.parameters(), lr=0.1)\nfor _ in range(3):\n    loss = (net(data) ** 2).mean()\n"
    "    loss.backward()\n    opt.zero_grad()  # CAUSE\n    opt.step()",
    NET + "opt = T.optim.SGD(net.parameters(), lr=0.1)\nfor _ in range(3):\n    loss = (net(data) ** 2).mean()\n"
    "    loss.backward()\n    opt.step()\n    opt.zero_grad()",
)  # fmt: skip
case(
    "cleared by hand", "w", "zero",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nw.grad.zero_()  # CAUSE\n"
    "print(w.grad)",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nfor _ in range(2):\n    if w.grad is not None:\n        w.grad.zero_()\n"
    "    loss = (w ** 2).sum()\n    loss.backward()\n    with T.no_grad():\n        w -= 0.1 * w.grad\nprint(w.grad)",
)  # fmt: skip
case(
    "replaced", "net.last.weight", "none",
    NET + "opt = T.optim.SGD(net.parameters(), lr=0.1)\nnet.last = nn.Linear(4, 1)  # CAUSE\n"
    "loss = (net(data) ** 2).mean()\nloss.backward()\nopt.step()",
    NET + "net.last = nn.Linear(4, 1)\nopt = T.optim.SGD(net.parameters(), lr=0.1)\n"
    "loss = (net(data) ** 2).mean()\nloss.backward()\nopt.step()",
)  # fmt: skip
# -- zero ----------------------------------------------------------------------------------------------------
case(
    "dead relu", "x", "zero",
    X + "h = T.relu(x - 10)  # CAUSE\nloss = (h * 3).sum()\nloss.backward()\nprint(x.grad)",
    X + "h = T.relu(x - 1.5)\nloss = (h * 3).sum()\nloss.backward()\nprint(x.grad)",
)  # fmt: skip
case(
    "dead relu in a module", "net.first.weight", "zero",
    NET.replace("T.tanh(self.first(x))", "self.act(self.first(x))").replace(
        "        self.last =", "        self.act = nn.ReLU()\n        self.last ="
    ).replace("    return self.last(self.act(self.first(x)))", "    h = self.first(x)\n        h = self.act(h)  # CAUSE\n"
    "        return self.last(h)")
    + "with T.no_grad():\n    net.first.bias.fill_(-50.0)\nloss = (net(data) ** 2).sum()\nloss.backward()",
    NET.replace("T.tanh(self.first(x))", "T.relu(self.first(x))") + "loss = (net(data) ** 2).sum()\nloss.backward()",
)  # fmt: skip
case(
    "clamp", "x", "zero",
    X + "h = T.clamp(x * 5, 0, 1)  # CAUSE\nloss = h.sum()\nloss.backward()",
    X + "h = T.clamp(x / 5, 0, 1)\nloss = h.sum()\nloss.backward()",
)  # fmt: skip
case(
    "mask", "x", "zero",
    X + "mask = (x > 100).float()\nh = x * mask  # CAUSE\nloss = h.sum()\nloss.backward()",
    X + "mask = (x > 2).float()\nh = x * mask\nloss = h.sum()\nloss.backward()",
)  # fmt: skip
case(
    "round", "x", "zero",
    X + "h = T.round(x * 1.3)  # CAUSE\nloss = (h ** 2).sum()\nloss.backward()",
    X + "h = x * 1.3\nh = h + (h.round() - h).detach()\nloss = (h ** 2).sum()\nloss.backward()",
)  # fmt: skip
case(
    "floor", "x", "zero",
    X + "loss = (x * 1.5).floor().sum()  # CAUSE\nloss.backward()",
    X + "loss = (x * 1.5).sum()\nprint(x.detach().floor())\nloss.backward()",
)  # fmt: skip
case(
    "where branch", "a", "zero",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\nv = T.tensor([0.5, 0.7])\n"
    "y = T.where(v > 1, a, b)  # CAUSE\nloss = y.sum()\nloss.backward()",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\nv = T.tensor([0.5, 1.7])\n"
    "y = T.where(v > 1, a, b)\nloss = y.sum()\nloss.backward()",
)  # fmt: skip
case(
    "maximum", "a", "zero",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\n"
    "y = T.maximum(a, b)  # CAUSE\nloss = y.sum()\nloss.backward()",
    "a = T.tensor([1.0, 5.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\n"
    "y = T.maximum(a, b)\nloss = y.sum()\nloss.backward()",
)  # fmt: skip
case(
    "max of a stack", "a", "zero",
    "a = T.tensor(1.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\ns = T.stack([a, b])\n"
    "loss = s.max()  # CAUSE\nloss.backward()",
    "a = T.tensor(1.0, requires_grad=True)\nb = T.tensor(3.0, requires_grad=True)\ns = T.stack([a, b])\n"
    "loss = s.logsumexp(0)\nloss.backward()",
)  # fmt: skip
case(
    "saturation", "w", "zero",
    "w = T.tensor([200.0, 300.0], requires_grad=True)\np = T.sigmoid(w)  # CAUSE\nloss = ((p - 0.5) ** 2).sum()\nloss.backward()",
    "w = T.tensor([2.0, 3.0], requires_grad=True)\np = T.sigmoid(w)\nloss = ((p - 0.5) ** 2).sum()\nloss.backward()",
)  # fmt: skip
case(
    "tanh saturation", "w", "zero",
    "w = T.tensor([40.0, 50.0], requires_grad=True)\nx = T.tensor([1.0, 2.0])\np = T.tanh(w * x)  # CAUSE\nloss = p.sum()\n"
    "loss.backward()",
    "w = T.tensor([0.4, 0.5], requires_grad=True)\nx = T.tensor([1.0, 2.0])\np = T.tanh(w * x)\nloss = p.sum()\nloss.backward()",
)  # fmt: skip
case(
    "times zero", "x", "zero",
    X + "scale = 0.0\nh = x * scale  # CAUSE\nloss = (h + 1).sum()\nloss.backward()",
    X + "scale = 0.5\nh = x * scale\nloss = (h + 1).sum()\nloss.backward()",
)  # fmt: skip
case(
    "zero weights", "v", "zero",
    "v = T.tensor([1.0, 2.0], requires_grad=True)\nw = T.zeros(2, requires_grad=True)\nh = v * w  # CAUSE\nloss = (h - 1).sum()\n"
    "loss.backward()",
    "v = T.tensor([1.0, 2.0], requires_grad=True)\nw = T.ones(2, requires_grad=True)\nh = v * w\nloss = (h - 1).sum()\n"
    "loss.backward()",
)  # fmt: skip
case(
    "softmax summed", "x", "zero",
    X + "p = T.softmax(x * 1.3, dim=0)  # CAUSE\nloss = p.sum()\nloss.backward()",
    X + "p = T.softmax(x * 1.3, dim=0)\nloss = (p ** 2).sum()\nloss.backward()",
)  # fmt: skip
case(
    "difference", "x", "zero",
    X + "y = x * 2\nd = y - x - x  # CAUSE\nloss = d.sum()\nloss.backward()",
    X + "y = x * 3\nd = y - x - x\nloss = d.sum()\nloss.backward()",
)  # fmt: skip
case(
    "centred", "x", "zero",
    X + "c = x - x.mean()  # CAUSE\nloss = c.sum()\nloss.backward()",
    X + "c = x - x.mean()\nloss = (c ** 3).sum()\nloss.backward()",
)  # fmt: skip
case(
    "abs at 0", "w", "zero",
    "w = T.zeros(3, requires_grad=True)\nloss = w.abs().sum()  # CAUSE\nloss.backward()",
    "w = T.ones(3, requires_grad=True)\nloss = w.abs().sum()\nloss.backward()",
)  # fmt: skip
case(
    "sign", "x", "zero",
    X + "s = T.sign(x)  # CAUSE\nloss = (s * 2).sum()\nloss.backward()",
    X + "s = T.tanh(x / 3)\nloss = (s * 2).sum()\nloss.backward()",
)  # fmt: skip
# -- nan and inf ------------------------------------------------------------------------------------------------
case(
    "where sqrt", "x", "nan",
    "x = T.tensor([0.0, 4.0], requires_grad=True)\nroot = T.sqrt(x)  # CAUSE\ny = T.where(x > 0, root, T.zeros(2))\n"
    "loss = y.sum()\nloss.backward()",
    "x = T.tensor([0.0, 4.0], requires_grad=True)\nroot = T.sqrt(T.where(x > 0, x, T.ones(2)))\n"
    "y = T.where(x > 0, root, T.zeros(2))\nloss = y.sum()\nloss.backward()",
)  # fmt: skip
case(
    "sqrt", "x", "inf",
    "x = T.tensor([0.0, 4.0], requires_grad=True)\nloss = (T.sqrt(x) * 2).sum()  # CAUSE\nloss.backward()",
    "x = T.tensor([0.1, 4.0], requires_grad=True)\nloss = (T.sqrt(x) * 2).sum()\nloss.backward()",
)  # fmt: skip
case(
    "norm by hand", "x", "nan",
    "x = T.zeros(3, requires_grad=True)\ns = (x ** 2).sum()\nn = T.sqrt(s)  # CAUSE\nloss = n * 3\nloss.backward()",
    "x = T.zeros(3, requires_grad=True)\ny = x + 1\ns = (y ** 2).sum()\nn = T.sqrt(s)\nloss = n * 3\nloss.backward()",
)  # fmt: skip
case(
    "log", "p", "inf",
    "p = T.tensor([0.0, 0.5], requires_grad=True)\nloss = -T.log(p).sum()  # CAUSE\nloss.backward()",
    "p = T.tensor([0.1, 0.5], requires_grad=True)\nloss = -T.log(p).sum()\nloss.backward()",
)  # fmt: skip
case(
    "entropy", "p", "nan",
    "p = T.tensor([0.0, 1.0], requires_grad=True)\nlogs = T.log(p)  # CAUSE\nloss = -(p * logs).sum()\nloss.backward()",
    "p = T.tensor([0.1, 0.9], requires_grad=True)\nlogs = T.log(p)\nloss = -(p * logs).sum()\nloss.backward()",
)  # fmt: skip
case(
    "power", "x", "inf",
    "x = T.tensor([0.0, 2.0], requires_grad=True)\ny = x ** 0.5  # CAUSE\nloss = y.sum()\nloss.backward()",
    "x = T.tensor([0.0, 2.0], requires_grad=True)\ny = (x + 0.1) ** 0.5\nloss = y.sum()\nloss.backward()",
)  # fmt: skip
case(
    "acos", "c", "inf",
    "c = T.tensor([1.0, 0.5], requires_grad=True)\nangle = T.acos(c)  # CAUSE\nloss = angle.sum()\nloss.backward()",
    "c = T.tensor([0.9, 0.5], requires_grad=True)\nangle = T.acos(c)\nloss = angle.sum()\nloss.backward()",
)  # fmt: skip
case(
    "atan2", "y", "zero",
    "y = T.tensor([0.0, 0.0], requires_grad=True)\nx = T.tensor([0.0, 0.0], requires_grad=True)\n"
    "angle = T.atan2(y, x)  # CAUSE\nloss = angle.sum()\nloss.backward()",
    "y = T.tensor([0.5, 1.0], requires_grad=True)\nx = T.tensor([0.5, 1.0], requires_grad=True)\n"
    "angle = T.atan2(y, x)\nloss = angle.sum()\nloss.backward()",
)  # fmt: skip
case(
    "division", "a", "inf",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([0.0, 2.0])\ny = a / b  # CAUSE\nloss = y.sum()\nloss.backward()",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([0.5, 2.0])\ny = a / b\nloss = y.sum()\nloss.backward()",
)  # fmt: skip
case(
    "masked division", "a", "nan",
    "a = T.tensor([0.0, 2.0], requires_grad=True)\ndef ratio(v):\n    q = v / v  # CAUSE\n    return T.where(v == 0, T.ones(2), q)\n"
    "loss = (ratio(a) * a).sum()\nloss.backward()",
    "a = T.tensor([0.0, 2.0], requires_grad=True)\ndef ratio(v):\n    safe = T.where(v == 0, T.ones(2), v)\n"
    "    return T.where(v == 0, T.ones(2), v / safe)\nloss = (ratio(a) * a).sum()\nloss.backward()",
)  # fmt: skip
case(
    "std of one", "x", "nan",
    "import warnings\nwarnings.simplefilter('ignore')\nx = T.tensor([2.0], requires_grad=True)\ns = x.std()  # CAUSE\n"
    "loss = s * 2\nloss.backward()",
    "x = T.tensor([2.0, 3.0], requires_grad=True)\ns = x.std()\nloss = s * 2\nloss.backward()",
)  # fmt: skip
case(
    "log_softmax", "x", "nan",
    X + "m = x + T.tensor([-float('inf')] * 3)\n"
    "lp = T.log_softmax(m, 0)  # CAUSE\nloss = -lp[0]\nloss.backward()",
    X + "m = x + T.tensor([-float('inf'), 0.0, 0.0])\n"
    "lp = T.log_softmax(m, 0)\nloss = -lp[1]\nloss.backward()",
)  # fmt: skip
case(
    "overflow", "x", "inf",
    "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = T.exp(x * 1000)  # CAUSE\nloss = y.sum()\nloss.backward()",
    "x = T.tensor([1.0, 2.0], requires_grad=True)\ny = T.exp(x)\nloss = y.sum()\nloss.backward()",
)  # fmt: skip

case(
    "loss made anew", "net.first.weight", "none",
    NET + "loss = (net(data) ** 2).mean()\nloss = T.tensor(loss.item(), requires_grad=True)  # CAUSE\nloss.backward()\n",
    NET + "loss = (net(data) ** 2).mean()\nloss.backward()\n",
)  # fmt: skip
case(
    "requires_grad of a loss", "net.first.weight", "none",
    NET + "hit = net(data) > 0  # CAUSE\nloss = hit.float().mean()\nloss.requires_grad_(True)\nloss.backward()\n",
    NET + "loss = T.sigmoid(net(data)).mean()\nloss.backward()\n",
)  # fmt: skip
case(
    "failed backward", "x", "none",
    X + "h = x.detach() * 2  # CAUSE\nloss = h.sum()\ntry:\n    loss.backward()\nexcept RuntimeError as e:\n    print('failed')\n",
    X + "h = x * 2\nloss = h.sum()\ntry:\n    loss.backward()\nexcept RuntimeError as e:\n    print('failed')\n",
)  # fmt: skip
case(
    "loss.grad", "loss", "none",
    X + "loss = (x ** 2).sum()  # CAUSE\nloss.backward()\nprint(loss.grad)\nprint(x.grad)\n",
    X + "loss = (x ** 2).sum()\nloss.retain_grad()\nloss.backward()\nprint(loss.grad)\nprint(x.grad)\n",
)  # fmt: skip
case(
    "rebound by to", "x", "none",
    "x = T.ones(3, dtype=T.float32, requires_grad=True)\nx = x.to(T.float64)  # CAUSE\nloss = (x ** 2).sum()\nloss.backward()\n"
    "print(x.grad)\n",
    "x = T.ones(3, dtype=T.float32, requires_grad=True)\nz = x.to(T.float64)\nloss = (z ** 2).sum()\nloss.backward()\n"
    "print(x.grad)\n",
)  # fmt: skip
case(
    "step made a non-leaf", "w", "none",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nw = w - 0.1 * w.grad  # CAUSE\n"
    "loss = (w ** 2).sum()\nloss.backward()\nprint(w.grad)\n",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nwith T.no_grad():\n"
    "    w -= 0.1 * w.grad\nw.grad = None\nloss = (w ** 2).sum()\nloss.backward()\nprint(w.grad)\n",
)  # fmt: skip
case(
    "math", "x", "none",
    "import math\n" + X + "b = T.tensor(1.0, requires_grad=True)\ndef energy(v):\n    e = v.sum().item()  # CAUSE\n"
    "    return math.exp(e / 10)\nscale = energy(x)\nloss = b * scale\nloss.backward()\n",
    X + "b = T.tensor(1.0, requires_grad=True)\ndef energy(v):\n    e = v.sum()\n    return T.exp(e / 10)\n"
    "scale = energy(x)\nloss = b * scale\nloss.backward()\n",
)  # fmt: skip
case(
    "int", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nk = x.int()  # CAUSE\nloss = (k.float() * w).sum()\nloss.backward()\n",
    X + "w = T.ones(3, requires_grad=True)\nloss = (x * w).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "max indices", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nv, i = x.max(0)  # CAUSE\nloss = w[i] ** 2\nloss.backward()\n",
    X + "w = T.ones(3, requires_grad=True)\nv, i = x.max(0)\nloss = w[i] ** 2 * v\nloss.backward()\n",
)  # fmt: skip
case(
    "topk", "x", "none",
    X + "w = T.ones(3, requires_grad=True)\nbest = x.topk(2)[1]  # CAUSE\nloss = w[best].sum()\nloss.backward()\n",
    X + "w = T.ones(3, requires_grad=True)\nbest = x.topk(2)[0]\nloss = (w[:2] * best).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "asked of data", "d", "none",
    X + "d = T.tensor([1.0, 2.0, 3.0])  # CAUSE\nloss = (x * d).sum()\nloss.backward()\nprint(d.grad)\n",
    X + "d = T.tensor([1.0, 2.0, 3.0], requires_grad=True)\nloss = (x * d).sum()\nloss.backward()\nprint(d.grad)\n",
)  # fmt: skip
case(
    "grad=None", "w", "none",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nw.grad = None  # CAUSE\nprint(w.grad)\n",
    "w = T.tensor([1.0, 2.0], requires_grad=True)\nw.grad = None\nloss = (w ** 2).sum()\nloss.backward()\nprint(w.grad)\n",
)  # fmt: skip
case(
    "new model", "net.first.weight", "none",
    NET + "opt = T.optim.Adam(net.parameters(), lr=0.1)\nnet = Net()  # CAUSE\nfor _ in range(2):\n    opt.zero_grad()\n"
    "    loss = (net(data) ** 2).mean()\n    loss.backward()\n    opt.step()\n",
    NET + "opt = T.optim.Adam(net.parameters(), lr=0.1)\nfor _ in range(2):\n    opt.zero_grad()\n"
    "    loss = (net(data) ** 2).mean()\n    loss.backward()\n    opt.step()\n",
)  # fmt: skip
case(
    "decorated", "w", "none",
    "w = T.tensor(2.0, requires_grad=True)\nb = T.tensor(1.0, requires_grad=True)\n@T.no_grad()\ndef model(v):\n"
    "    return w * v  # CAUSE\nloss = (model(3.0) + b) ** 2\nloss.backward()\n",
    "w = T.tensor(2.0, requires_grad=True)\nb = T.tensor(1.0, requires_grad=True)\ndef model(v):\n"
    "    return w * v\nloss = (model(3.0) + b) ** 2\nloss.backward()\n",
)  # fmt: skip
case(
    "used aside", "net.aux.weight", "none",
    NET.replace("        self.last =", "        self.aux = nn.Linear(4, 2)\n        self.last =").replace(
        "    return self.last(T.tanh(self.first(x)))", "    h = T.tanh(self.first(x))\n        side = self.aux(h)  # CAUSE\n"
        "        return self.last(h)")
    + "loss = net(data).sum()\nloss.backward()\n",
    NET.replace("        self.last =", "        self.aux = nn.Linear(4, 4)\n        self.last =").replace(
        "    return self.last(T.tanh(self.first(x)))", "    h = T.tanh(self.first(x))\n        return self.last(self.aux(h))")
    + "loss = net(data).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "softmax saturated", "x", "zero",
    "x = T.tensor([1000.0, 0.0, 1.0], requires_grad=True)\np = T.softmax(x, 0)  # CAUSE\nloss = (p[0] - 2) ** 2\nloss.backward()\n",
    "x = T.tensor([1.0, 0.0, 1.0], requires_grad=True)\np = T.softmax(x, 0)\nloss = (p[0] - 2) ** 2\nloss.backward()\n",
)  # fmt: skip
case(
    "empty selection", "x", "zero",
    X + "chosen = x[x > 100]  # CAUSE\nloss = (chosen * 2).sum()\nloss.backward()\n",
    X + "chosen = x[x > 1]\nloss = (chosen * 2).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "slice", "a", "zero",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\ny = T.cat([a, b])\n"
    "z = y[2:]  # CAUSE\nloss = (z ** 2).sum()\nloss.backward()\n",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\ny = T.cat([a, b])\n"
    "z = y[1:]\nloss = (z ** 2).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "masked_fill", "x", "zero",
    X + "m = T.tensor([True, True, True])\nh = x.masked_fill(m, 0.5)  # CAUSE\nloss = (h ** 2).sum()\nloss.backward()\n",
    X + "m = T.tensor([True, False, True])\nh = x.masked_fill(m, 0.5)\nloss = (h ** 2).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "minimum", "b", "zero",
    "a = T.tensor([1.0, 2.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\n"
    "loss = T.min(a, b).sum()  # CAUSE\nloss.backward()\n",
    "a = T.tensor([1.0, 5.0], requires_grad=True)\nb = T.tensor([3.0, 4.0], requires_grad=True)\n"
    "loss = T.min(a, b).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "clamp of a module", "net.first.weight", "zero",
    NET + "out = net(data)\nout = out.clamp(min=100.0)  # CAUSE\nloss = (out ** 2).mean()\nloss.backward()\n",
    NET + "out = net(data)\nout = out.clamp(min=-100.0)\nloss = (out ** 2).mean()\nloss.backward()\n",
)  # fmt: skip
case(
    "log of softplus", "x", "nan",
    "x = T.tensor([1000.0, 1.0], requires_grad=True)\ne = T.exp(x)  # CAUSE\nloss = T.log(1 + e).sum()\nloss.backward()\n",
    "x = T.tensor([10.0, 1.0], requires_grad=True)\ne = T.exp(x)\nloss = T.log(1 + e).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "zero over zero", "x", "nan",
    "x = T.tensor([0.0, 0.0], requires_grad=True)\ntotal = x.sum()\np = x / total  # CAUSE\nloss = (p * 2).sum()\nloss.backward()\n",
    "x = T.tensor([1.0, 0.0], requires_grad=True)\ntotal = x.sum()\np = x / total\nloss = (p ** 2).sum()\nloss.backward()\n",
)  # fmt: skip
case(
    "normalized", "x", "nan",
    "x = T.zeros(3, requires_grad=True)\nlength = T.sqrt((x * x).sum())  # CAUSE\nunit = x / (length + 1)\nloss = unit.sum()\n"
    "loss.backward()\n",
    "x = T.ones(3, requires_grad=True)\nlength = T.sqrt((x * x).sum())\nunit = x / (length + 1)\nloss = unit.sum()\n"
    "loss.backward()\n",
)  # fmt: skip
case(
    "mask times log", "p", "nan",
    "p = T.tensor([0.0, 0.5], requires_grad=True)\nmask = (p > 0).double().to(p.dtype)\nlogs = T.log(p)  # CAUSE\n"
    "safe = T.where(p > 0, logs, T.zeros(2, dtype=p.dtype))\nloss = (mask * safe).sum()\nloss.backward()\n",
    "p = T.tensor([0.0, 0.5], requires_grad=True)\nmask = (p > 0).double().to(p.dtype)\nlogs = T.log(p + 1e-6)\n"
    "loss = (mask * logs).sum()\nloss.backward()\n",
)  # fmt: skip

TORCH_ONLY = [
    (
        "inference_mode", "x", "none",
        X + "w = T.ones(3, requires_grad=True)\nwith T.inference_mode():\n    h = x * 2  # CAUSE\nloss = (h.clone() * w).sum()\n"
        "loss.backward()\n",
        X + "w = T.ones(3, requires_grad=True)\nh = x * 2\nloss = (h.clone() * w).sum()\nloss.backward()\n",
    ),
    (
        "custom function", "x", "none",
        X + "class F(T.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, b):\n        return a * b  # CAUSE\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return None, g\n"
        "w = T.ones(3, requires_grad=True)\nF.apply(x, w).sum().backward()\n",
        X + "class F(T.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, b):\n        return a * b\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g, g\n"
        "w = T.ones(3, requires_grad=True)\nF.apply(x, w).sum().backward()\n",
    ),
    (
        "attention", "v", "nan",
        "q, k, v = (T.randn(2, 3, requires_grad=True) for _ in range(3))\nscore = (q @ k.T).masked_fill(\n"
        "    T.ones(2, 2, dtype=T.bool), -T.inf)\na = T.softmax(score, -1)  # CAUSE\n(a @ v).sum().backward()\n",
        "q, k, v = (T.randn(2, 3, requires_grad=True) for _ in range(3))\nscore = (q @ k.T).masked_fill(\n"
        "    T.tensor([[False, True], [False, False]]), -T.inf)\na = T.softmax(score, -1)\n(a @ v).pow(2).sum().backward()\n",
    ),
    (
        "checkpoint", "net.weight", "none",
        "from torch.utils.checkpoint import checkpoint\nimport warnings\nwarnings.simplefilter('ignore')\n"
        "net = T.nn.Linear(3, 3)\nhead = T.nn.Linear(3, 1)\ndef block(v):\n    return T.tanh(net(v))\n"
        "h = checkpoint(block, T.randn(2, 3), use_reentrant=True)  # CAUSE\nhead(h).sum().backward()\n",
        "from torch.utils.checkpoint import checkpoint\n"
        "net = T.nn.Linear(3, 3)\nhead = T.nn.Linear(3, 1)\ndef block(v):\n    return T.tanh(net(v))\n"
        "h = checkpoint(block, T.randn(2, 3), use_reentrant=False)\nhead(h).sum().backward()\n",
    ),
    (
        "norm", "x", "nan",
        "x = T.zeros(3, requires_grad=True)\nn = T.cdist(x[None], T.zeros(1, 3))\nr = T.rsqrt((x * x).sum())  # CAUSE\n"
        "loss = (x * r).sum()\nloss.backward()\n",
        "x = T.ones(3, requires_grad=True)\nr = T.rsqrt((x * x).sum())\nloss = (x * r)[0]\nloss.backward()\n",
    ),
]  # fmt: skip


def script(text, engine):
    """Return a script that imports a framework under the name T, its marked line one lower."""
    return {"torch": "import torch as T\n", "gradcli": "import gradcli as T\n"}[engine] + text


def marked(text):
    """Return the number of the marked line of a script; None for none."""
    return next((i + 1 for i, line in enumerate(text.split("\n")) if "# CAUSE" in line), None)
