"""Three lines, to follow backward step by step: gradcli trace samples/trace.py, or gradcli graph samples/trace.py."""

import gradcli

x = gradcli.tensor(2.0, requires_grad=True)
y = gradcli.tensor(3.0, requires_grad=True)

u = x * y
z = u.sin() + u
z.backward()

print(x.grad, y.grad)
