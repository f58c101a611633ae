"""Hooks see a gradient on its way, and what they return replaces it.

The gradient that reaches `y` is clipped, so x gets less of it. The same from the command line, on the sample
`arrays.expr`: gradcli grad samples/arrays.expr --hook residual='clip(g, -1, 1)'
"""

import gradcli

x = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = 2 * x
y.register_hook(lambda g: print("before clipping:", g))
y.register_hook(lambda g: g.clamp(-5, 5))
y.register_hook(lambda g: print("after clipping: ", g))
(y**2).sum().backward()
