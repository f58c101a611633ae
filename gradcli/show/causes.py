"""Findings by name: what each means, an example, and how to fix it. `gradcli help RULE` prints a page.

Whoever adds a kind of finding adds a `Cause` here, in the group of the command that reports it.
"""

from typing import Any, NamedTuple

from ..errors import EXIT_FAIL, EXIT_OK
from .results import Rows, fields


class Cause(NamedTuple):
    """A finding. group: the command that reports it. title: what it is, in a line. fix: in general; a report may say
    more. wrong, right: code that shows it, and that avoids it."""

    name: str
    group: str
    title: str
    meaning: str
    fix: str
    wrong: str
    right: str

    @property
    def page(self) -> str:
        """The text of its page."""
        parts = [f"{self.name} - {self.title} (found by gradcli {self.group})", self.meaning]
        parts += [f"For example:\n\n{indent(self.wrong)}", f"Fix: {self.fix}.", f"Then:\n\n{indent(self.right)}"]
        return "\n\n".join(parts) + "\n"


def indent(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.split("\n"))


def why(name: str, title: str, meaning: str, fix: str, wrong: str, right: str) -> Cause:
    return Cause(name, "why", title, meaning, fix, wrong, right)


X = "x = torch.tensor([1.0, 2.0], requires_grad=True)\n"
ALL = (
    # -- None -------------------------------------------------------------------------------------------
    why(
        "non-leaf",
        "the tensor is the result of an operation",
        "backward fills `.grad` of leaves only: tensors that you made yourself. The gradient of an intermediate\n"
        "result passes through and is dropped, unless the tensor asks to keep it.",
        "call retain_grad() on it before backward",
        f"{X}y = x * 2\ny.sum().backward()\ny.grad          # None",
        f"{X}y = x * 2\ny.retain_grad()\ny.sum().backward()\ny.grad          # tensor([1., 1.])",
    ),
    why(
        "lost-leaf",
        "an operation replaced the leaf by its result",
        "`.to(...)`, `.double()`, `.cuda()` and arithmetic return a new tensor. The leaf that requires grad has no name\n"
        "any more, and the tensor that has the name is a result, whose `.grad` stays None.",
        "do the operation first and call requires_grad_() on its result",
        "w = torch.randn(3, requires_grad=True) * 0.1",
        "w = (torch.randn(3) * 0.1).requires_grad_()",
    ),
    why(
        "not-required",
        "the tensor does not require grad",
        "Nothing asked for its gradient: it was made without requires_grad=True, and from tensors that do not\n"
        "require grad either.",
        "make it with requires_grad=True, or call requires_grad_() before it is used",
        "x = torch.tensor(2.0)\n(w * x).backward()\nx.grad          # None",
        "x = torch.tensor(2.0, requires_grad=True)\n(w * x).backward()",
    ),
    why(
        "detached",
        "the graph ends at detach(), .data, .item(), float(), tolist() or a copy",
        "What these return holds the numbers and nothing of how they were computed. Everything before that line gets\n"
        "no gradient. torch.tensor(x) of a tensor copies the numbers in the same way.",
        "go on with the tensor itself; detach only what you print or store",
        "h = torch.tensor(score.item())\nloss = (h - 1) ** 2",
        "h = score\nloss = (h - 1) ** 2",
    ),
    why(
        "numpy",
        "the numbers went through NumPy",
        "NumPy's functions do not record what they do. A tensor that is made of their result is a new leaf.",
        "use the tensor's own functions: torch.sin instead of np.sin",
        "y = torch.from_numpy(np.sin(x.detach().numpy()))",
        "y = torch.sin(x)",
    ),
    why(
        "no-grad",
        "the operation ran inside no_grad() or inference_mode()",
        "In such a block nothing is recorded, so results do not require grad.",
        "move the line out of the block, or remove the block",
        "with torch.no_grad():\n    h = encoder(x)\nloss = head(h).sum()",
        "h = encoder(x)\nloss = head(h).sum()",
    ),
    why(
        "integer-cast",
        "the tensor was cast to integers",
        "Integers have no derivative, so the graph ends at the cast.",
        "keep floats; round only what you print",
        "level = x.long()\nloss = (level * w).sum()",
        "loss = (x * w).sum()",
    ),
    why(
        "comparison",
        "a comparison has no derivative",
        "True and False jump: counting them, or multiplying with them, sends nothing back to what was compared.",
        "use a smooth function of the difference, such as torch.sigmoid(k * (x - limit))",
        "accuracy = (score > 0).float().mean()\nloss = 1 - accuracy",
        "loss = torch.sigmoid(-score).mean()",
    ),
    why(
        "indices",
        "indices have no derivative",
        "argmax, argsort, topk and their like return positions. What is selected by them gets a gradient; what they\n"
        "were computed from gets none.",
        "use the values that max and sort return besides, or softmax for a soft choice",
        "best = score.argmax()\nloss = best.float()",
        "weights = score.softmax(0)\nloss = (weights * torch.arange(3.0)).sum()",
    ),
    why(
        "frozen",
        "requires_grad was switched off",
        "A frozen tensor is a constant: no gradient is computed for it, and an optimizer leaves it alone.",
        "remove requires_grad_(False), or switch it on again before the forward pass",
        "net.requires_grad_(False)\nnet(x).sum().backward()",
        "net.requires_grad_(True)\nnet(x).sum().backward()",
    ),
    why(
        "never-used",
        "the output does not depend on it",
        "No operation on the way to the tensor that backward started from reads this one.",
        "use it in the computation of the loss, or remove it",
        "a = torch.tensor(1.0, requires_grad=True)\nb = torch.tensor(2.0, requires_grad=True)\n(a * 3).backward()\n"
        "b.grad          # None",
        "(a * b).backward()",
    ),
    why(
        "no-backward",
        "backward was never called",
        "Gradients are computed by backward(), not by the forward pass.",
        "call backward() on the loss",
        f"{X}loss = (x ** 2).sum()\nx.grad          # None",
        f"{X}loss = (x ** 2).sum()\nloss.backward()",
    ),
    why(
        "other-output",
        "backward started from another output",
        "The tensor leads to an output, but backward was called on one that does not depend on it.",
        "add the outputs before backward, or call backward on each",
        "loss = (a ** 2).sum()\npenalty = (b ** 2).sum()\nloss.backward()\nb.grad          # None",
        "(loss + penalty).backward()",
    ),
    why(
        "grad-returned",
        "autograd.grad returns gradients and leaves .grad alone",
        "Only backward() adds to `.grad`. torch.autograd.grad gives the gradients back instead.",
        "use what grad returns, or call backward()",
        "torch.autograd.grad(loss, x)\nx.grad          # None",
        "(gradient,) = torch.autograd.grad(loss, x)",
    ),
    why(
        "cleared",
        "the gradient was cleared before it was used",
        "zero_grad() and `.grad = None` drop what backward has added.",
        "clear gradients before backward, and read them or step after it",
        "loss.backward()\noptimizer.zero_grad()\noptimizer.step()",
        "optimizer.zero_grad()\nloss.backward()\noptimizer.step()",
    ),
    why(
        "replaced",
        "the optimizer holds a parameter that was replaced",
        "An optimizer keeps the tensors that it was given. A parameter that is made anew afterwards is another tensor:\n"
        "the old one gets no gradient, and the new one is never changed.",
        "make the optimizer after the last change of the parameters",
        "optimizer = SGD(net.parameters(), lr=0.1)\nnet.head = nn.Linear(3, 1)",
        "net.head = nn.Linear(3, 1)\noptimizer = SGD(net.parameters(), lr=0.1)",
    ),
    why(
        "checkpoint",
        "a reentrant checkpoint whose inputs need no grad",
        "checkpoint(..., use_reentrant=True) runs the function without recording it, and backward runs it again only if\n"
        "one of the inputs requires grad. Else no parameter inside gets a gradient.",
        "pass use_reentrant=False",
        "y = checkpoint(block, x, use_reentrant=True)",
        "y = checkpoint(block, x, use_reentrant=False)",
    ),
    why(
        "no-derivative",
        "a function sends no gradient back",
        "The function has no derivative for this input, or its backward returned None.",
        "return a gradient from backward, or use a function that has one",
        "def backward(ctx, g):\n    return None",
        "def backward(ctx, g):\n    return 2 * g",
    ),
    # -- zero -------------------------------------------------------------------------------------------
    why(
        "dead-relu",
        "relu got no positive input",
        "The slope of relu is 0 for inputs up to 0. If all inputs are negative, nothing gets through, and the weights\n"
        "before it stop learning.",
        "use leaky_relu, a smaller learning rate, or another initial bias",
        "h = torch.relu(x - 10)",
        "h = torch.nn.functional.leaky_relu(x - 10)",
    ),
    why(
        "clamped",
        "all values are outside the limits of a clamp",
        "Outside its limits clamp is constant, so its slope is 0.",
        "widen the limits, or use a smooth limit such as tanh",
        "y = torch.clamp(5 * x, 0, 1)",
        "y = torch.sigmoid(5 * x)",
    ),
    why(
        "masked",
        "a mask is 0 everywhere",
        "A gradient that is multiplied by a mask of zeros, or filled over, is zero.",
        "check the condition of the mask",
        "y = x * (x > 100)",
        "y = x * (x > 0)",
    ),
    why(
        "rounded",
        "a step function has slope 0",
        "round, floor, ceil, trunc and sign are constant between their jumps, so their derivative is 0.",
        "leave it out in training, or pass the gradient by: x + (x.round() - x).detach()",
        "y = x.round()",
        "y = x + (x.round() - x).detach()",
    ),
    why(
        "unselected-branch",
        "where took the other branch everywhere",
        "The branch of where that is not selected gets the gradient 0.",
        "check the condition",
        "y = torch.where(x > 100, x, w)",
        "y = torch.where(x > 0, x, w)",
    ),
    why(
        "not-chosen",
        "a maximum or minimum chose other elements",
        "The gradient of max, min, topk and pooling goes to the elements that they chose; others get 0.",
        "use a smooth maximum such as logsumexp, or expect it",
        "y = torch.maximum(a, b)     # a < b everywhere: a gets 0",
        "y = torch.logsumexp(torch.stack([a, b]), 0)",
    ),
    why(
        "not-selected",
        "indexing left these elements out",
        "Elements that an index does not select do not influence the output.",
        "check the index",
        "y = torch.cat([a, b])[3:]   # nothing of a is left",
        "y = torch.cat([a, b])",
    ),
    why(
        "saturated",
        "the function is flat at these inputs",
        "For large inputs sigmoid, tanh and softmax are constant within rounding, so their slope is 0.",
        "scale the inputs down, or use a loss that takes logits, such as binary_cross_entropy_with_logits",
        "p = torch.sigmoid(100 * x)",
        "loss = torch.nn.functional.binary_cross_entropy_with_logits(x, target)",
    ),
    why(
        "times-zero",
        "a factor is zero",
        "The derivative of a product for one factor is the other one. If that is 0 everywhere, so is the gradient.",
        "make the other factor differ from 0, for example by random initial weights",
        "w = torch.zeros(3)\ny = (w * x).sum()",
        "w = torch.randn(3)\ny = (w * x).sum()",
    ),
    why(
        "cancelled",
        "contributions cancel",
        "The tensor influences the output in ways that add up to 0, as in the sum of a softmax, which is always 1, or\n"
        "of a tensor minus its mean.",
        "use an output that depends on it",
        "loss = x.softmax(0).sum()   # always 1",
        "loss = -x.log_softmax(0)[target]",
    ),
    why(
        "flat-point",
        "the slope is 0 at this point",
        "At 0, abs has a corner, where its derivative is taken as 0, and powers are stationary: nothing moves from there.",
        "start from another point",
        "x = torch.zeros(3, requires_grad=True)\nx.abs().sum().backward()",
        "x = torch.full((3,), 0.1, requires_grad=True)\nx.abs().sum().backward()",
    ),
    why(
        "zero-slope",
        "an operation sends zeros back",
        "The gradient that arrives is not zero; what this operation sends on is.",
        "check the operation's inputs and its backward",
        "def backward(ctx, g):\n    return torch.zeros_like(g)",
        "def backward(ctx, g):\n    return 2 * g",
    ),
    # -- nan and inf --------------------------------------------------------------------------------------
    why(
        "nan-where",
        "where or a mask hides a value whose slope is infinite",
        "where and masks multiply the gradient of what they do not select by 0. If the slope there is infinite, or nan,\n"
        "the product is nan, although the value never reaches the output.",
        "give the function a safe argument: apply where before it",
        "y = torch.where(x > 0, torch.sqrt(x), 0)",
        "y = torch.where(x > 0, torch.sqrt(torch.where(x > 0, x, 1)), 0)",
    ),
    why(
        "nan-sqrt",
        "sqrt at 0 or below",
        "The slope of sqrt(x) is 1 / (2 sqrt(x)): infinite at 0 and nan below.",
        "add a small number: sqrt(x + 1e-12), or clamp its argument",
        "y = torch.sqrt(x)           # x = 0",
        "y = torch.sqrt(x + 1e-12)",
    ),
    why(
        "nan-norm",
        "a norm at 0",
        "The slope of a norm is x / norm(x): 0 / 0 at 0.",
        "use sqrt((x ** 2).sum() + 1e-12), or the square of the norm",
        "y = x.norm()                # x = 0",
        "y = torch.sqrt((x ** 2).sum() + 1e-12)",
    ),
    why(
        "nan-log",
        "log at 0 or below",
        "The slope of log(x) is 1 / x: infinite at 0; below 0 the value is nan.",
        "add a small number, clamp the argument, or use log_softmax, logsigmoid or log1p",
        "y = torch.log(p)            # p = 0",
        "y = torch.log(p.clamp(min=1e-12))",
    ),
    why(
        "nan-power",
        "a power at 0, or of a negative number",
        "x ** p has an infinite slope at 0 for p below 1, and no value below 0 for fractions.",
        "keep the base above 0: x.clamp(min=1e-12) ** p",
        "y = x ** 0.5                # x = 0",
        "y = x.clamp(min=1e-12) ** 0.5",
    ),
    why(
        "nan-arc",
        "acos or asin at the end of its domain",
        "The slope of acos(x) is -1 / sqrt(1 - x ** 2): infinite at 1 and -1. Rounding brings cosines there.",
        "clamp the argument: x.clamp(-1 + 1e-6, 1 - 1e-6), or use atan2",
        "angle = torch.acos(cosine)  # cosine = 1",
        "angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))",
    ),
    why(
        "nan-atan2",
        "atan2 at the origin",
        "The derivatives of atan2(y, x) are x / (x ** 2 + y ** 2) and -y / (x ** 2 + y ** 2): 0 / 0 at the origin.",
        "keep away from the origin",
        "angle = torch.atan2(y, x)   # y = x = 0",
        "angle = torch.atan2(y, x + 1e-12)",
    ),
    why(
        "nan-division",
        "division by 0",
        "The derivatives of a / b are 1 / b and -a / b ** 2: infinite or nan at b = 0.",
        "add a small number to the divisor",
        "y = a / b                   # b = 0",
        "y = a / (b + 1e-12)",
    ),
    why(
        "nan-std",
        "std or var of one element, or std of equal ones",
        "The unbiased variance divides by n - 1: 0 / 0 for one element. The slope of std is infinite where all elements\n"
        "are equal.",
        "use unbiased=False with more than one element, or sqrt(var + 1e-12)",
        "s = x.std()                 # one element",
        "s = torch.sqrt(x.var(unbiased=False) + 1e-12)",
    ),
    why(
        "nan-softmax",
        "softmax of a row that is -inf everywhere, or holds inf",
        "A row that is masked completely has no largest element: -inf minus -inf is nan.",
        "leave one element of each row unmasked, or mask with a large negative number such as -1e9",
        "a = torch.log_softmax(score.masked_fill(mask, -torch.inf), -1)",
        "a = torch.log_softmax(score.masked_fill(mask, -1e9), -1)",
    ),
    why(
        "overflow",
        "a number became too large",
        "The value, or its slope, is beyond the largest number of this type.",
        "scale the inputs down, or use a stable form such as logsumexp",
        "y = torch.exp(1000 * x)",
        "y = torch.logsumexp(x, 0)",
    ),
    why(
        "nan-made",
        "an operation makes nan or inf",
        "The gradient that arrives is finite; what this operation sends on is not.",
        "check the operation's inputs",
        "y = torch.special.digamma(x)    # x = 0",
        "y = torch.special.digamma(x + 1)",
    ),
    why(
        "nan-input",
        "an input holds nan or inf",
        "The nan was there before the first operation: in the data, in a parameter, or in the gradient that backward\n"
        "was given.",
        "clean the data, or look for the step that spoiled the parameter",
        "x = torch.tensor([1.0, float('nan')], requires_grad=True)",
        "x = torch.nan_to_num(x)",
    ),
)
CAUSES = {cause.name: cause for cause in ALL}


class Explained(NamedTuple):
    """Why the gradient of one tensor is as it is. state: ok, none, zero, nan or inf. rule: a cause's name. code: the
    line of the script. text: what happened there; of one that is fine, its size."""

    name: str
    state: str
    rule: str | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""
    fix: str | None = None
    code: str = ""
    share: str = ""

    def document(self) -> dict[str, Any]:
        return fields(self, "name state rule file line text fix")


class Explanation(NamedTuple):
    """What `why` says of a script."""

    target: str
    gradients: tuple[Explained, ...]

    columns = ("name", "state", "rule", "file", "line", "text", "fix")

    def rows(self) -> Rows:
        for item in self.gradients:
            line = "" if item.line is None else str(item.line)
            yield (item.name, item.state, item.rule or "", item.file or "", line, item.text, item.fix or "")

    def document(self) -> dict[str, Any]:
        return {"gradients": list(self.gradients)}

    @property
    def exit_code(self) -> int:
        return EXIT_OK if all(item.state == "ok" for item in self.gradients) else EXIT_FAIL
