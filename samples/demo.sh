#!/bin/sh
# A tour of gradcli in a minute. `make demo` runs it.
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
    command=$1
    shift
    gradcli "$command" -f table "$@"
}

echo 'Is my gradient right? This one is wrong, and the report says why:'
show gradcheck samples/gradients.py:mean_square --grad mean_square_gradient x='[1, 2, 4]'
echo
echo 'Which edit of the source repairs it?'
show fix samples/gradients.py:mean_square --grad mean_square_gradient --shape x=3
echo
echo 'These gradients are right at the points that the file declares:'
show gradcheck samples/gradients.py
echo
echo 'What is the derivative of a formula or a script?'
show grad 'x**2 * sin(y)' x=2 y=3
show grad samples/script.py a=9
echo
echo 'How does backward compute it?'
show trace 'u = x * y; sin(u) + u' x=2 y=3
echo
echo 'Which derivatives does an unchanged program pass to a solver?'
show watch -- python samples/fit.py
echo
echo 'An error message points at the mistake:'
show grad 'x**2 + sinn(y)' x=1 y=2 || true
