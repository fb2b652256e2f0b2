#!/bin/sh
# One night: extract, predict, load. Ends with foliopipe's exit code, or with that of bq. After any failure, the same
# command goes on: an export is kept until it is loaded, so nothing is extracted or paid twice.
set -eu
cd "$(dirname "$0")"
: "${PROJECT:?}" "${DATASET:?}" "${BUCKET:?}"

warehouse() {
    bq --quiet --headless --project_id="$PROJECT" --dataset_id="$DATASET" "$@"
}

if [ ! -e extract/complete ]; then
    rm -rf extract.new
    mkdir extract.new
    warehouse query --use_legacy_sql=false < export.sql
    gcloud storage rm --quiet "gs://$BUCKET/foliopipe/**" || true # empty before the first night
    warehouse extract --compression=GZIP foliopipe_export "gs://$BUCKET/foliopipe/businesses-*.csv.gz"
    gcloud storage cp "gs://$BUCKET/foliopipe/*" extract.new/
    touch extract.new/complete
    rm -rf extract
    mv extract.new extract
fi

npx --no-install foliopipe run # any exit code except 0 ends here: what is not done, or has too many failures, is not loaded

npx --no-install foliopipe load --print bigquery > load.sql
# The load job is a comment in the script, because it is not SQL.
eval "$(sed -n 's/^-- bq load /warehouse load /p' load.sql)"
warehouse query --use_legacy_sql=false < load.sql
rm extract/complete
