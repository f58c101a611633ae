"""Hooks receive a gradient during backward and may return a replacement.

Here the gradient of `y` is clipped before it reaches x. The same on the command line, with the sample `arrays.expr`:
gradcli grad samples/arrays.expr --hook residual='clip(g, -1, 1)'
"""

import gradcli

x = gradcli.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = 2 * x
y.register_hook(lambda g: print("before clipping:", g))
y.register_hook(lambda g: g.clamp(-5, 5))
y.register_hook(lambda g: print("after clipping: ", g))
(y**2).sum().backward()
