"""Every option that takes a count has bounds, and says so beyond them."""

import click
import pytest

from gradcli.cli.main import COMMANDS, cli, main
from gradcli.cli.option_table import MOST_COUNTED, Count

COUNTS = [
    (name, option)
    for name in COMMANDS
    for option in cli.get_command(click.Context(cli), name).params
    if isinstance(option.type, click.types.IntParamType)
]


@pytest.mark.parametrize(("command", "option"), COUNTS, ids=lambda x: getattr(x, "name", x))
def test_counts_have_bounds(command, option, capsys):
    assert isinstance(option.type, Count)
    least, most = option.type.min, option.type.max
    for wrong in (most + 1, least - 1):
        assert main([command, "x*x", "x=2", f"{option.opts[-1]}={wrong}"]) == 2
        expected = f"{wrong} is not " + (f"{least} or more" if most == MOST_COUNTED else f"from {least} to {most}")
        assert expected in capsys.readouterr().err
