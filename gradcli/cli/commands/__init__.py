'''The commands.

A command is a function with the command's name in one of these modules, and a line in `GROUPS` of `cli/main.py`. If
the module has a different name, because related commands share it, `HOMES` names the module; what only one of its
commands needs is imported inside that function. The arguments are a `Call`, which holds the target and the request, and
the options that are not part of the request. The function returns a result, which a lower layer computes:

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

The decorator adds help and options, and `make man` writes the manual page. `formats=` lists the output formats, by
default those of arrays. If there is JSON output, `schema/NAME.json` describes its keys. Tests run the examples of the
epilog with the files of `tests/manual/`. A new type of result is a class in `show`. It declares its JSON fields
(`@declare(json=...)`) and `rows`, from which tsv, csv and json are written, and `arrays` if it has any, which are
searched for nan. Tables, pages and pictures need a function in `WRITERS` of the format's module.
'''
