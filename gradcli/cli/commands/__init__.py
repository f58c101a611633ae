r'''One module per command.

A command is a module here with a function of its name, and a line in `COMMANDS` of `cli/main.py`. It parses, calls
and shows a result; what it computes stands in a lower layer:

```python
import click

from gradcli.cli.help import Command
from gradcli.cli.options import command_options
from gradcli.cli.context import Context, request_of
from gradcli.analysis.gradient import compute_gradient


def unit(result):
    """Return gradients scaled to length 1 (this would stand in gradcli/program/)."""
    length = sum((abs(item.grad) ** 2).sum() for item in result.inputs) ** 0.5
    return result._replace(inputs=tuple(item._replace(grad=item.grad / length) for item in result.inputs))


@click.command(cls=Command, epilog="Example: gradcli ascent 'x * y' x=3 y=4")
@command_options("wrt", "out", "gradient")
def ascent(context: Context) -> None:
    """Print the direction of steepest ascent of TARGET."""
    program, values = context.program()
    context.output.show(unit(compute_gradient(program, values, request_of(context))))


ascent(["x * y", "x=3", "y=4", "-f", "tsv"])  # x	0.8 / y	0.6
```

Its help, options, formats and page of the manual follow; if it has JSON, `schema/NAME.json` describes the keys. The
examples of its epilog are run by the tests, with the files of `tests/manual/`. A new result type gets a function
`render_TYPE` in every module of `render` whose format it has.
'''
