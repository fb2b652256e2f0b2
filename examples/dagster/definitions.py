"""The table of predicted businesses as an asset: foliopipe makes it, and its summary is the asset's metadata."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import deque
from pathlib import Path

import dagster as dg

HOME = Path(__file__).parent
# Token and addresses come from the environment of the code location.
COMMAND = ["npx", "--no-install", "foliopipe", "run", "foliopipe.yaml", "--json"]
TIMES = ["--max-duration", "5h", "--wait-lock", "30m"]

# What the asset does at each exit code of foliopipe. A retry is the same command, and goes on where the last one stopped:
# nothing is paid twice. Everything else would end the same way again, so it fails at once. Unknown codes fail too.
GO_ON, RETRY, FAIL = "go on", "retry", "fail"
EXITS = {
    0: (GO_ON, "done and loaded"),
    1: (FAIL, "a bug in foliopipe: report it"),
    2: (FAIL, "usage, config, state or table: mend it"),
    3: (FAIL, "published and not loaded, too many records failed: decide (foliopipe retry, load.partial)"),
    4: (FAIL, "the source is missing, malformed or has changed: mend it"),
    5: (RETRY, "passing trouble"),
    6: (FAIL, "answers that cannot be trusted: look"),
    7: (FAIL, "refused by the service or the database: token, quota, rights"),
    8: (FAIL, "not done in time: decide. Materialize again to go on"),
    9: (FAIL, "stopped by budget, canary, failure rate or reuse.maxMiss, or withheld: decide"),
    10: (RETRY, "still processing"),
    11: (RETRY, "another run of the pipeline works"),
    130: (RETRY, "interrupted"),
    143: (RETRY, "interrupted"),
}


def run(command: list[str], log) -> tuple[int, dict]:
    """Gives the exit code and the summary, which is the last line of stdout."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, cwd=HOME, stdout=out, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        try:
            for line in process.stderr:
                log.info(line.rstrip())
            code = process.wait()
        except BaseException:
            # The run is terminated: foliopipe waits for uploads that are in flight, because they are paid for.
            process.terminate()
            process.wait()
            raise
        out.seek(0)
        last = deque(out, maxlen=1)
    return code, json.loads(last[0]) if last else {}


def metadata(summary: dict) -> dict:
    """The metadata of the asset: the numbers of the balance, and the publication that the table holds."""
    counts, load = summary["counts"], summary.get("load") or {}
    return {
        "run": summary["run"],
        "publication": summary["publication"],
        "dagster/row_count": summary["output"]["records"],
        **{f"records {name}": number for name, number in counts.items()},
        "records sent": summary["origins"]["sent"]["records"],
        "records reused": summary["origins"]["reused"]["records"],
        "load": load.get("state", "none"),
        "rows written": load.get("written") or 0,
        "rows removed": load.get("removed") or 0,
        "manifest": dg.MetadataValue.path(summary["manifest"]),
    }


def decide(code: int, summary: dict) -> dg.MaterializeResult:
    # A negative code is a signal that foliopipe could not handle, such as SIGKILL on a machine that is out of memory.
    action, meaning = (RETRY, "killed") if code < 0 else EXITS.get(code, (FAIL, "an unknown code"))
    if action == GO_ON:
        # Assets below are stale only if the content of the output has changed.
        version = dg.DataVersion(summary["output"]["sha256"])
        return dg.MaterializeResult(metadata=metadata(summary), data_version=version)
    if action == RETRY:
        raise dg.RetryRequested(max_retries=6, seconds_to_wait=600)
    error = summary.get("error", {})
    parts = [f"foliopipe ended with exit {code}: {meaning}", error.get("message"), error.get("hint")]
    facts = {"exit code": code, **({"error": error["code"]} if error else {})}
    raise dg.Failure(description="; ".join(filter(None, parts)), metadata=facts, allow_retries=False)


@dg.asset(group_name="foliopipe", description="analytics.businesses, with predictions")
def businesses(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    return decide(*run(COMMAND + TIMES, context.log))


nightly = dg.define_asset_job("nightly", selection=[businesses])

defs = dg.Definitions(
    assets=[businesses],
    jobs=[nightly],
    schedules=[dg.ScheduleDefinition(job=nightly, cron_schedule="0 1 * * *")],
)
