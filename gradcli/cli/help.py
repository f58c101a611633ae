"""What `--help` prints: examples before everything else."""

from __future__ import annotations

import re

import click


class Command(click.Command):
    """A command whose help begins with its examples, one a line. They are in its epilog: `Examples: one; another`."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        examples = examples_of(self)
        if examples:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)


def examples_of(command: click.Command) -> list[str]:
    text = (command.epilog or "").removeprefix("Examples: ").removeprefix("Example: ")
    return re.split(r"; (?=gradcli )", text) if text else []
