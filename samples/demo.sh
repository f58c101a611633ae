#!/bin/sh
# What gradcli does, in a minute. `make demo` runs it.
cd "$(dirname "$0")/.." || exit 1

show() {
    printf '\n$ gradcli'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./=:-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    gradcli "$@" -f table --color always
}

show grad 'x**2 * sin(y)' x=2 y=3
show grad samples/logistic.expr
show grad samples/arrays.expr --retain residual --hook 'residual=clip(g, -3, 3)'
show grad samples/script.py a=9
show grad samples/function.py:rosenbrock x=-1 y=2
echo
echo 'A mistake is pointed at:'
show grad 'x**2 + sinn(y)' x=1 y=2 || true
