"""Pages of the manual as plain text: the words are those that groff prints."""

import re
import shutil

import pytest

from gradcli.show.mdoc import render_page

from ..command import ROOT, run

PAGES = sorted((ROOT / "man").glob("*.[1-9]"))


def words(text: str) -> list[str]:
    text = re.sub("‐\\n *", "", text)  # groff parts words at the end of a line
    return re.sub("[‘’“”`']", "'", text).replace("—", "-").split()


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_words_are_those_of_groff(path):
    printed = run(["groff", "-mdoc", "-Tutf8", "-P-cbou", path]).stdout
    body = printed.strip().partition("\n")[2].rpartition("\n")[0]  # without the heading and the foot of the page
    assert words(render_page(path.read_text(), 80)) == words(body)


def test_forms():
    source = """.\\" a comment
.Sh NAME
.Nm gradcli-x
.Nd what it\\(aqs for
.Sh SYNOPSIS
.Nm gradcli x
.Op Fl h | Fl \\-help
.Ar word
.Sh DESCRIPTION
One sentence, with
.Ql "a b" ,
and
.Xr gradcli 1 .
.Pp
.Bl -tag -width Ds
.It Fl f Ar NAME , Fl \\-file Ar NAME
Text.
.El
.Bd -literal -offset indent
$ x  \\e
.Ed
"""
    assert (
        render_page(source, 60)
        == """NAME
     gradcli-x - what it's for

SYNOPSIS
     gradcli x [-h | --help] word

DESCRIPTION
     One sentence, with ‘a b’, and gradcli(1).

     -f NAME, --file NAME
          Text.

          $ x  \\
"""
    )
