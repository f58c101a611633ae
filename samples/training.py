"""Accumulate gradients over four batches: the last window of an epoch has only two of them.

gradcli watch --loss samples/training.py:full_loss -- python samples/training.py
"""

import torch
from torch.nn.functional import mse_loss

torch.manual_seed(0)
x = torch.randn(48, 5)
data = torch.utils.data.TensorDataset(x, (x**2).sum(1, keepdim=True))
loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(5, 20), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(20, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
WINDOW = 4


def full_loss(model, batches):
    """Return the mean over the batches of a step, however many there are."""
    return sum(mse_loss(model(x), y) for x, y in batches) / len(batches)


if __name__ == "__main__":
    for number, (inputs, targets) in enumerate(loader, 1):
        (mse_loss(model(inputs), targets) / WINDOW).backward()
        if number % WINDOW == 0 or number == len(loader):
            optimizer.step()
            optimizer.zero_grad()
