"""Exports the businesses, lets foliopipe predict and load them, and builds the models that read them."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import tempfile
from collections import deque
from datetime import timedelta

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import Connection, dag, task

try:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
except ImportError:  # the first versions of Airflow 3 have them elsewhere
    from airflow.exceptions import AirflowException, AirflowFailException

log = logging.getLogger(__name__)

HOME = os.environ.get("FOLIOPIPE_HOME", "/srv/foliopipe")
COMMAND = ["npx", "--no-install", "foliopipe", "run", "foliopipe.yaml", "--json"]
# foliopipe stops by itself, resumably, before execution_timeout kills the task.
TIMES = ["--max-duration", "5h", "--wait-lock", "30m"]

# What the task does at each exit code of foliopipe. A retry is the same command, and goes on where the last one stopped:
# nothing is paid twice. Everything else would end the same way again, so it fails at once. Unknown codes fail too.
GO_ON, RETRY, FAIL = "go on", "retry", "fail"
EXITS = {
    0: (GO_ON, "done and loaded"),
    1: (FAIL, "a bug in foliopipe: report it"),
    2: (FAIL, "usage, config, state or table: mend it"),
    3: (FAIL, "published and not loaded, too many records failed: decide (foliopipe retry, load.partial)"),
    4: (FAIL, "the export is missing, malformed or has changed: mend it"),
    5: (RETRY, "passing trouble"),
    6: (FAIL, "answers that cannot be trusted: look"),
    7: (FAIL, "refused by the service or the database: token, quota, rights"),
    8: (FAIL, "not done in time: decide. Clear this task to go on, or let the next night do it"),
    9: (FAIL, "stopped by budget, canary, failure rate or reuse.maxMiss, or withheld: decide"),
    10: (RETRY, "still processing"),
    11: (RETRY, "another run of the pipeline works"),
    130: (RETRY, "interrupted"),
    143: (RETRY, "interrupted"),
}


def environment() -> dict[str, str]:
    """Secrets from Airflow's connections. They are in no command line, no file and no XCom."""
    service = Connection.get("foliopipe")  # host: the service's address, with https://; password: the token
    database = Connection.get("analytics")
    return {
        **os.environ,
        "FOLIOPIPE_HOME": HOME,
        "FOLIOPIPE_BASE_URL": service.host,
        "FOLIOPIPE_TOKEN": service.password,
        "FOLIOPIPE_DATABASE": database.get_uri(),
    }


def run(command: list[str]) -> tuple[int, dict]:
    """Gives the exit code and the summary, which is the last line of stdout. The log goes to the log of the task."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, cwd=HOME, env=environment(), stdout=out, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        try:
            for line in process.stderr:
                log.info(line.rstrip())
            code = process.wait()
        except BaseException:
            # Airflow ends the task: foliopipe waits for uploads that are in flight, because they are paid for.
            process.terminate()
            process.wait()
            raise
        out.seek(0)
        last = deque(out, maxlen=1)
    return code, json.loads(last[0]) if last else {}


def decide(code: int, summary: dict) -> dict:
    """Returns the facts for the next tasks, or raises the exception that tells Airflow what to do."""
    # A negative code is a signal that foliopipe could not handle, such as SIGKILL on a machine that is out of memory.
    action, meaning = (RETRY, "killed") if code < 0 else EXITS.get(code, (FAIL, "an unknown code"))
    if action == GO_ON:
        return {key: summary[key] for key in ("run", "publication", "counts", "saved", "load") if key in summary}
    error = summary.get("error", {})
    parts = [f"foliopipe ended with exit {code}: {meaning}", error.get("message"), error.get("hint")]
    text = "; ".join(part for part in parts if part)
    raise (AirflowException if action == RETRY else AirflowFailException)(text)


@dag(
    schedule="0 1 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,  # a past night has no export of its own
    max_active_runs=1,
    tags=["foliopipe"],
)
def foliopipe_nightly():
    # Under another name until it is complete. PG* variables or a service file name the server and the user.
    export = BashOperator(
        task_id="export",
        cwd=HOME,
        bash_command="set -e; "
        'psql -X -v ON_ERROR_STOP=1 -c "\\copy (select account, business_name, address, city, state, zip'
        ' from crm.businesses order by account) to businesses.csv.new csv header"; '
        "mv businesses.csv.new businesses.csv",
    )

    @task(
        retries=6,
        retry_delay=timedelta(minutes=10),
        retry_exponential_backoff=True,
        max_retry_delay=timedelta(hours=1),
        execution_timeout=timedelta(hours=5, minutes=45),
    )
    def enrich() -> dict:
        return decide(*run(COMMAND + TIMES))

    models = BashOperator(task_id="models", cwd=f"{HOME}/dbt", bash_command="dbt source freshness && dbt build")

    export >> enrich() >> models


foliopipe_nightly()
