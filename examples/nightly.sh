#!/bin/sh
# A job for cron: release today's table, check the release as a stranger would, and hand it over only if it holds.
#
#   0 3 * * *  /opt/jobs/nightly.sh /data/patients.csv /data/schema.toml /srv/outgoing
#
# What is added to the line goes to `sfumato release`, such as --sign NAME.key.
# Every run costs its epsilon, and those of all nights add up for whoever stays in the table: thirty nights at 0.05 are at
# most 1.5. Set EPSILON by the time that you mean to go on.
set -eu

data=$1 schema=$2 outgoing=$3
shift 3
epsilon=${EPSILON:-0.05}
name=release-$(date +%Y-%m-%d)
work=$(mktemp -d "$outgoing/.nightly.XXXXXX")   # on the same disk, so that handing over is one move
trap 'rm -rf "$work"' EXIT

status=0
sfumato release "$data" --schema "$schema" --epsilon "$epsilon" --out "$work/$name" --json "$@" > "$work/facts.json" ||
    status=$?
case $status in
    0) ;;
    1|2) echo "nightly: refused; the sentence above says why" >&2; exit $status ;;
    *) echo "nightly: stopped with code $status; nothing was handed over" >&2; exit $status ;;
esac

if ! sfumato verify "$work/$name" --quiet > "$work/verified.txt"; then
    cat "$work/verified.txt" >&2
    echo "nightly: the release does not bear out its claim; nothing was handed over" >&2
    exit 3
fi

mv "$work/$name" "$outgoing/$name"
echo "nightly: $outgoing/$name"
