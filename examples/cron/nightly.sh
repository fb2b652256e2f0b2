#!/bin/sh
# One night, from cron: tries again after temporary trouble, and prints only what a person must know, which cron mails.
# Ends with foliopipe's exit code. The same command continues where the last one stopped: nothing is paid twice.
set -u
cd "$(dirname "$0")" || exit 2

# Seconds before each try after the first.
: "${PAUSES:=300 900 1800 3600}"

tell() {
    printf 'foliopipe ended with exit %s: %s\n\n' "$1" "$2"
    tail -n 40 night.txt
    printf '\nThe log: %s/night.log\n' "$PWD"
    exit "$1"
}

for pause in 0 $PAUSES; do
    sleep "$pause"
    : > night.txt # appended to below: a second night, which waits for the lock, may empty it meanwhile
    npx --no-install foliopipe run foliopipe.yaml --max-duration 4h --wait-lock 30m --log-file night.log >> night.txt 2>&1
    code=$?
    case $code in
        0) exit 0 ;;
        5 | 10 | 11 | 137) ;; # temporary trouble, still processing, locked, killed: the next try continues
        130 | 143) exit "$code" ;; # somebody stopped it, or the machine goes down: the next night or @reboot continues
        3) tell 3 'published, with too many failed or unprocessed records: decide' ;;
        8) tell 8 'not done in time: the next night goes on' ;;
        9) tell 9 'stopped by a limit of the config, or the output is withheld: decide' ;;
        2 | 4 | 7) tell "$code" 'it needs a correction' ;;
        *) tell "$code" 'look at it' ;; # 1, 6, and codes that this script does not know
    esac
done
tell "$code" 'it did not pass, after all tries'
