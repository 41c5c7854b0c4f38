#!/bin/sh
# Prints the total of a bill. Standard input has one line for each article: name, count, price of one in cents.
set -eu

total=0
while read -r name count price; do
    total=$((total + price))
done
printf '%d.%02d\n' $((total / 100)) $((total % 100))
