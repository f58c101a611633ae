#!/bin/sh
# A gradient at every row of a table, three ways: from a file, from a pipe, and on a Dask cluster of two workers.
#
#     sh samples/sweep.sh [FOLDER]
#
# The third needs `pip install 'dask[distributed]' pyarrow`. All results must be equal. ROWS: number of points (3000).
set -eu

folder=${1:-$(mktemp -d)}
cd "$folder"
program='x**2 * sin(y) + exp(-x*y)'
awk -v rows="${ROWS:-3000}" 'BEGIN {
    srand(1)
    print "id,x,y"
    for (i = 1; i <= rows; i++) printf "p%d,%.6f,%.6f\n", i, 4 * rand() - 2, 4 * rand() - 2
}' > points.csv

echo "== from a file"
gradcli sweep "$program" points.csv --keep id -o slopes.csv --json
head -n 3 slopes.csv
# If this command is interrupted, the same command resumes it.

echo "== from a pipe: the steepest point"
gradcli sweep "$program" - --keep id < points.csv | tee piped.csv | sed 1d |
    awk -F, '{ length2 = $4^2 + $5^2 } length2 > most { most = length2; name = $6 } END { print name, sqrt(most) }'
cmp slopes.csv piped.csv

echo "== on a Dask cluster"
if ! command -v dask > /dev/null; then
    echo "skipped: the command 'dask' is missing; pip install 'dask[distributed]' pyarrow"
    exit 0
fi
# Start one scheduler and two workers by hand, as on several machines that share a folder.
dask scheduler --scheduler-file cluster.json --host 127.0.0.1 --port 0 --no-dashboard > dask.log 2>&1 &
started=$!
trap 'kill -9 $started' EXIT
for name in one two; do
    dask worker --scheduler-file cluster.json --name "$name" --nthreads 1 --no-nanny --no-dashboard >> dask.log 2>&1 &
    started="$started $!"
done
gradcli sweep "$program" points.csv --keep id -o dask.csv --dask cluster.json --json
cmp slopes.csv dask.csv
echo "the same"
