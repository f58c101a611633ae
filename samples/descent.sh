#!/bin/sh
# Gradient descent in the shell: gradcli gives the gradient, awk takes the step.
#
#     sh samples/descent.sh ['EXPRESSION' NAME=START...]
#
# RATE is the step size (0.2), STEPS the maximum number of steps (50), and SMALL the gradient norm at which it stops
# (1e-4). Each line has the number of the step, the gradient norm, and the point.
set -eu

[ $# -gt 0 ] || set -- '(x - 1)^2 + 2*(y + 0.5)^2 + x*y/2' x=3 y=2
expression=$1
shift
point=$*
step=0

while [ "$step" -le "${STEPS:-50}" ]; do
    # $point is split into its words NAME=VALUE on purpose
    # shellcheck disable=SC2086
    gradient=$(gradcli grad "$expression" $point -f tsv)
    line=$(printf '%s\n' "$gradient" | awk -F '\t' -v point="$point" -v rate="${RATE:-0.2}" '
        BEGIN { count = split(point, words, " ")
                for (i = 1; i <= count; i++) { split(words[i], pair, "="); name[i] = pair[1]; value[pair[1]] = pair[2] } }
        { value[$1] -= rate * $2; squares += $2 * $2 }
        END { printf "%.3g", sqrt(squares)
              for (i = 1; i <= count; i++) printf " %s=%.17g", name[i], value[name[i]] }')
    length=${line%% *}
    echo "$step $length $point"
    if awk -v length_="$length" -v small="${SMALL:-1e-4}" 'BEGIN { exit !(length_ < small) }'; then
        exit 0
    fi
    point=${line#* }
    step=$((step + 1))
done
echo "no minimum in ${STEPS:-50} steps; is RATE=${RATE:-0.2} too large, or too small?" >&2
exit 1
