#!/bin/sh
# Runs every case: a bill and the total that it must give.
set -u
failed=0

check() {
    got=$(printf "$3" | sh src/total.sh)
    if [ "$got" = "$2" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: expected $2, got $got"
        failed=1
    fi
}

check 'one of each'     3.50  'tea 1 150\ncake 1 200\n'
check 'several of one'  4.50  'tea 3 150\n'
check 'empty bill'      0.00  ''
exit $failed
