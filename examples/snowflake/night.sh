#!/bin/sh
# One night: unload, predict, load. Ends with foliopipe's exit code, or with that of snowsql. After any failure, the same
# command goes on: an export is kept until it is loaded, so nothing is unloaded or paid twice.
set -eu
cd "$(dirname "$0")"

if [ ! -e unload/complete ]; then
    rm -rf unload.new
    mkdir unload.new
    snowsql -o exit_on_error=true -o variable_substitution=true -D folder="$PWD/unload.new" -f unload.sql
    touch unload.new/complete
    rm -rf unload
    mv unload.new unload
fi

npx --no-install foliopipe run # any exit code except 0 ends here: what is not done, or has too many failures, is not loaded

npx --no-install foliopipe load --print snowflake > load.sql
snowsql -o exit_on_error=true -s analytics -f load.sql
rm unload/complete
