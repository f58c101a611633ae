'''The commands.

A command is a function of its name in a module here, and a line in `COMMANDS` of `cli/main.py` (and in `HOMES`, where
the module is called otherwise: commands that ask for much the same share one, and each imports for itself what the
others do not need). It is called with one `Call`, which has the target and what the options say, and returns a result;
what it computes stands in a lower layer:

```python
from gradcli.cli.options import Call, target_command
from gradcli.analysis.gradient import compute_gradient


def unit(result):
    """Return gradients scaled to length 1 (this would stand in gradcli/analysis/)."""
    length = sum((abs(item.slope) ** 2).sum() for item in result.inputs) ** 0.5
    return result._replace(inputs=tuple(item._replace(grad=item.slope / length) for item in result.inputs))


@target_command("Example: gradcli ascent 'x * y' x=3 y=4", "wrt out")
def ascent(call: Call):
    """Print the direction of steepest ascent of TARGET."""
    program, values = call.program()
    return unit(compute_gradient(program, values, call.asked()))


ascent(["x * y", "x=3", "y=4", "-f", "csv"])  # name,value / x,0.8 / y,0.6
```

Its help, options and page of the manual follow (`make man`); `formats=` says which formats there are, those of
arrays unless given. If it has JSON, `schema/NAME.json` describes the keys. The examples of its epilog are run by
the tests, with the files of `tests/manual/`. A new type of result is a class in `show` that says
its `rows` and its `document`, from which tsv, csv and json follow, and its `arrays` if it has such, in which nan is
looked for; for tables, pages and pictures a function goes into `WRITERS` of the format's module.
'''
