"""The dynamic graph. Importing any module here completes the Tensor class with methods that record or run backward.

Read node (what the graph consists of), send (what a node passes to its parents), record (how an operation becomes a
node) and backward (the walk) first; man/site/pages/differentiation.md says which functions are the kernel. Then read
tensor with operators and protocols, memory and inplace (versions and views), modes, function, hooks and anomaly.
"""

from . import backward, operators
from .tensor import Tensor

for _name, _method in {**operators.METHODS, "backward": backward.backward_from}.items():
    _method.__name__ = _name  # in tracebacks and help
    setattr(Tensor, _name, _method)
