"""One training step of a network with two layers, and a hook on its last layer.

Run it with `python samples/network.py`, or print the gradients of all weights with `gradcli grad samples/network.py`;
`--hook net.out=print` prints the gradients that pass through the last layer.
"""

import gradcli
from gradcli import nn


class Network(nn.Module):
    """Two inputs, three hidden units, one output."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 3)
        self.out = nn.Linear(3, 1)
        with gradcli.no_grad():  # fixed initial values
            self.hidden.weight.copy_(gradcli.tensor([[1.0, -1.0], [-1.0, 1.0], [0.5, 0.5]]))
            self.hidden.bias.zero_()
            self.out.weight.copy_(gradcli.tensor([[1.0, 1.0, 0.0]]))
            self.out.bias.zero_()

    def forward(self, x):
        """Return the prediction for each row of x."""
        return self.out(self.hidden(x).relu())


def report(module, grad_input, grad_output):
    """Print the size of the gradient that the layer passes to its input."""
    print("gradient of the hidden units:", grad_input[0].abs().sum().item())


inputs = gradcli.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = gradcli.tensor([[0.0], [2.0], [1.0], [0.0]])

net = Network()
net.out.register_full_backward_hook(report)
optimizer = gradcli.optim.SGD(net.parameters(), lr=0.1)

loss = nn.MSELoss()(net(inputs), targets)
print("loss before:", loss.item())
loss.backward()
optimizer.step()
print("loss after: ", round(nn.MSELoss()(net(inputs), targets).item(), 6))
