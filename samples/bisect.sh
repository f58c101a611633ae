#!/bin/sh
# Find the commit that broke a gradient: `git bisect run gradcli gradcheck --bisect`, tried in a small repository.
#
#     sh samples/bisect.sh
#
# There are eight revisions. One cannot be imported: gradcheck exits with 3, but with --bisect it exits with 125 (skip).
# From the sixth revision on, the gradient lacks the factor 1/n.

set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
git init -q
git config user.name sample
git config user.email sample@example.org

commit() {
    printf 'import numpy as np\n%s\n\ndef loss(x, t):\n    return np.mean((x - t) ** 2)\n\ndef loss_gradient(x, t):\n    return %s, %s\n' \
        "$3" "$2" "-($2)" >loss.py
    git add loss.py
    git commit -q -m "$1"
}

commit 'Add the loss'            '2 * (x - t) / x.size'       '# version 1'
commit 'Explain the loss'        '2 * (x - t) / x.size'       '# mean squared error'
commit 'Scale by reciprocals'    '(2 / x.size) * (x - t)'     '# mean squared error'
commit 'Move the helpers'        '(2 / x.size) * (x - t)'     'import helpers_that_are_not_there_yet'
commit 'Put the helpers back'    '(2 / x.size) * (x - t)'     '# mean squared error'
commit 'Save a division'         '2 * (x - t)'                '# mean squared error'
commit 'Write out the sum'       '(x - t) + (x - t)'          '# mean squared error'
commit 'Say who wrote it'        '(x - t) + (x - t)'          '# by us'

git bisect start HEAD "$(git rev-list --max-parents=0 HEAD)" >/dev/null
git bisect run gradcli gradcheck loss.py:loss --grad loss_gradient --shape x=3 --shape t=3 --bisect >bisect.log 2>&1
git show -s --format='the first bad commit: %s' refs/bisect/bad
echo "revisions that could not be checked: $(grep -c "^error" bisect.log)"
