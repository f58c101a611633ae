"""Scripts in the way of ordinary tutorials, which run correctly: nothing is to be reported. T is the framework."""

TUTORIALS = {
    "first gradients": """
x = T.ones(2, 2, requires_grad=True)
print(x.grad)
y = x + 2
z = y * y * 3
out = z.mean()
out.backward()
print(x.grad)
""",
    "polynomial by hand": """
import math
T.manual_seed(0)
x = T.linspace(-math.pi, math.pi, 50)
y = T.sin(x)
a = T.randn((), requires_grad=True)
b = T.randn((), requires_grad=True)
for t in range(20):
    y_pred = a + b * x
    loss = (y_pred - y).pow(2).sum()
    if t % 10 == 9:
        print(t, loss.item())
    loss.backward()
    with T.no_grad():
        a -= 1e-4 * a.grad
        b -= 1e-4 * b.grad
        a.grad = None
        b.grad = None
print(f"{a.item():.3f} + {b.item():.3f} x")
""",
    "training loop": """
nn = T.nn
def main():
    T.manual_seed(0)
    x, y = T.randn(16, 3), T.randn(16, 1)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    criterion = nn.MSELoss()
    optimizer = T.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(5):
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        model.eval()
        with T.no_grad():
            error = criterion(model(x), y).item()
        print(epoch, round(error, 3))
if __name__ == "__main__":
    main()
""",
    "classifier": """
nn = T.nn
T.manual_seed(1)
x = T.randn(20, 4)
labels = (x.sum(1) > 0).long()
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
optimizer = T.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(5):
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (logits.argmax(1) == labels).float().mean().item()
    print(accuracy)
""",
    "autograd.grad": """
x = T.tensor(2.0, requires_grad=True)
y = x ** 3
(first,) = T.autograd.grad(y, x, create_graph=True)
(second,) = T.autograd.grad(first, x)
print(first.item(), second.item())
""",
    "accumulate and zero": """
x = T.tensor([1.0, 2.0], requires_grad=True)
for k in range(3):
    y = (x ** 2).sum()
    y.backward()
    print(k, x.grad)
x.grad.zero_()
y = (3 * x).sum()
y.backward()
print(x.grad)
""",
    "frozen backbone": """
nn = T.nn
T.manual_seed(0)
backbone = nn.Sequential(nn.Linear(3, 5), nn.Tanh())
for p in backbone.parameters():
    p.requires_grad = False
head = nn.Linear(5, 1)
optimizer = T.optim.SGD(head.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (head(backbone(T.randn(4, 3))) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    "batch norm and dropout": """
nn = T.nn
T.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = T.optim.SGD(net.parameters(), lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    loss = ((net(T.randn(12, 4)) - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
""",
    "custom function": """
class Cube(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * x
        return y * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * g
x = T.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x)
y.sum().backward()
print(x.grad)
""",
    "two networks": """
nn = T.nn
T.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid())
opt_g = T.optim.Adam(G.parameters(), lr=0.01)
opt_d = T.optim.Adam(D.parameters(), lr=0.01)
bce = nn.BCELoss()
for _ in range(3):
    real, noise = T.randn(6, 2) + 2, T.randn(6, 2)
    fake = G(noise)
    opt_d.zero_grad()
    loss_d = bce(D(real), T.ones(6, 1)) + bce(D(fake.detach()), T.zeros(6, 1))
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = bce(D(fake), T.ones(6, 1))
    loss_g.backward()
    opt_g.step()
    print(loss_d.item(), loss_g.item())
""",
    "recurrent": """
nn = T.nn
T.manual_seed(0)
rnn = nn.RNN(2, 5, batch_first=True)
head = nn.Linear(5, 1)
parameters = list(rnn.parameters()) + list(head.parameters())
optimizer = T.optim.Adam(parameters, lr=0.01)
hidden = T.zeros(1, 3, 5)
for step in range(3):
    x, y = T.randn(3, 4, 2), T.randn(3, 1)
    out, hidden = rnn(x, hidden)
    hidden = hidden.detach()
    loss = ((head(out[:, -1]) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "convolution": """
nn = T.nn
F = nn.functional
T.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3)
        self.fc = nn.Linear(3 * 3 * 3, 2)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))
net = Net()
images, labels = T.randn(8, 1, 8, 8), T.randint(0, 2, (8,))
optimizer = T.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    _, predicted = T.max(net(images), 1)
    print((predicted == labels).sum().item())
print(list(net.parameters())[0].grad is not None)
""",
    "attention": """
nn = T.nn
F = nn.functional
T.manual_seed(0)
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        score = q @ k.transpose(-2, -1) / 2.0
        mask = T.tril(T.ones(x.shape[1], x.shape[1]))
        score = score.masked_fill(mask == 0, float("-inf"))
        return self.norm(x + F.softmax(score, dim=-1) @ v)
emb = nn.Embedding(7, 4)
block, head = Attention(4), nn.Linear(4, 7)
tokens = T.randint(0, 7, (2, 5))
loss = F.cross_entropy(head(block(emb(tokens))).reshape(-1, 7), tokens.reshape(-1))
loss.backward()
""",
    "gradient of an image": """
T.manual_seed(0)
nn = T.nn
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
image = T.rand(1, 4)
image.requires_grad_()
score = net(image)
score[0, score.argmax()].backward()
adversarial = image + 0.1 * image.grad.sign()
print(adversarial.shape)
""",
    "hooks": """
v = T.tensor([0.0, 1.0, 2.0], requires_grad=True)
h = v.register_hook(lambda g: g * 2)
(v ** 2 + v).sum().backward()
print(v.grad)
h.remove()
""",
    "reinforce": """
nn = T.nn
T.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = T.optim.Adam(policy.parameters(), lr=0.01)
for episode in range(2):
    states = T.randn(5, 2)
    log_probs = T.log_softmax(policy(states), dim=-1)
    actions = log_probs.detach().argmax(-1)
    rewards = [float(s.sum() > 0) for s in states]
    returns = T.tensor(rewards) + 0.5
    chosen = log_probs[T.arange(5), actions]
    loss = -(chosen * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "target network": """
import copy
nn = T.nn
T.manual_seed(0)
online = nn.Linear(3, 2)
target = copy.deepcopy(online)
optimizer = T.optim.SGD(online.parameters(), lr=0.1)
for _ in range(3):
    s, s2 = T.randn(4, 3), T.randn(4, 3)
    with T.no_grad():
        goal = 1 + 0.9 * target(s2).max(1)[0]
    loss = ((online(s)[:, 0] - goal) ** 2).mean() + online(s)[:, 1].pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    target.load_state_dict(online.state_dict())
""",
}
