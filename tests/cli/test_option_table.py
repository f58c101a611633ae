"""The options that commands share: each is declared once."""

import click

from gradcli.cli.main import COMMANDS, cli
from gradcli.cli.option_table import OPTIONS, Option, option

EVERY = [(name, param) for name in COMMANDS for param in cli.get_command(click.Context(cli), name).params]


def made(usage, **more):
    """Return the only option of a new command."""
    return click.command()(option(usage, "Help.", **more)(lambda: None)).params[0]


def test_the_usage_of_an_option_is_its_declaration():
    flag, named, chosen = made("-q --quiet"), made("-o --output FILE", name="table"), made("--mode", choices="rev fwd")
    assert (flag.is_flag, flag.opts, flag.metavar) == (True, ["-q", "--quiet"], None)
    assert (named.is_flag, named.name, named.metavar) == (False, "table", "FILE")
    assert (chosen.is_flag, chosen.type.choices) == (False, ("rev", "fwd"))
    limited = made("--fast", needs="grad vjp", targets="script", formats="table json")
    assert isinstance(limited, Option)
    assert (limited.needs, limited.excludes, limited.targets) == (["grad", "vjp"], [], ["script"])


def test_every_option_has_one_meaning_in_a_command():
    for name in COMMANDS:
        params = cli.get_command(click.Context(cli), name).params
        flags = [flag for param in params if isinstance(param, click.Option) for flag in param.opts]
        assert len(flags) == len(set(flags)), name


def test_options_refer_to_existing_options():
    parameters = {param.name for _, param in EVERY}
    for key in OPTIONS:
        (made_here,) = click.command()(OPTIONS[key](lambda: None)).params
        assert {*made_here.needs, *made_here.excludes} <= parameters, key
