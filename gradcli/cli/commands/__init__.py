'''The commands.

A command is a function of its name in a module here, and a line in `GROUPS` of `cli/main.py` (and in `HOMES` if the
module has another name: related commands share a module, and each imports what the others do not need). It is called
with a `Call`, which has the target and the request, and with the options that are not part of the request. It returns a
result, which a lower layer computes:

```python
from gradcli.cli.options import Call, target_command
from gradcli.analysis.gradient import compute_gradient


def unit(result):
    """Return gradients scaled to length 1 (this would be in gradcli/analysis/)."""
    length = sum((abs(item.slope) ** 2).sum() for item in result.inputs) ** 0.5
    return result._replace(inputs=tuple(item._replace(grad=item.slope / length) for item in result.inputs))


@target_command("Example: gradcli ascent 'x * y' x=3 y=4", "wrt out")
def ascent(call: Call):
    """Print the direction of steepest ascent of TARGET."""
    program, values = call.program()
    return unit(compute_gradient(program, values, call.asked()))


ascent(["x * y", "x=3", "y=4", "-f", "csv"])  # name,value / x,0.8 / y,0.6
```

Its help, options and page of the manual follow (`make man`); `formats=` lists its formats, by default those of arrays.
If it has JSON, `schema/NAME.json` describes the keys. Tests run the examples of its epilog, with the files of
`tests/manual/`. A new type of result is a class in `show` with its JSON fields (`@declare(json=...)`) and `rows`, which
give tsv, csv and json, and `arrays` if it has any, in which nan is searched for; tables, pages and pictures have a
function in `WRITERS` of the format's module.
'''
