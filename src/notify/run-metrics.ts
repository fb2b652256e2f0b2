/**
 * The end of a run as metrics for Prometheus. Their only label from outside is the pipeline, whose name is a short word;
 * every other label has a fixed list of values.
 */
import type { Gauge as GaugeOf, Registry as RegistryOf } from 'prom-client';
import { phases } from '../report/measure-run.js';
import { outcomes, type RunEnd } from './run-end.js';

const PREFIX = 'foliopipe_';

/**
 * The text of the metrics. Records and money are those of the run, over all its processes; durations, requests and bytes
 * are those of the last process. What is not known is left out.
 * @param lastSuccess epoch milliseconds; null if none is known.
 */
export async function metricsText(end: RunEnd, lastSuccess: number | null): Promise<string> {
  // Loaded only when it is needed: that takes as long as loading the command line itself.
  const { Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  registry.setDefaultLabels({ pipeline: end.pipeline });
  const add = addTo(registry, Gauge);
  const { summary, thisProcess } = end;
  const seconds = (time: number) => time / 1000;

  if (lastSuccess !== null) {
    add('last_success_timestamp_seconds', 'When a run of the pipeline last ended with exit code 0.', [
      [{}, seconds(lastSuccess)],
    ]);
  }
  add('last_run_timestamp_seconds', 'When the last command on a run of the pipeline ended.', [
    [{}, seconds(Date.parse(end.times.ended))],
  ]);
  add('last_run_exit_code', 'The exit code of the last command.', [[{}, end.exitCode]]);
  add(
    'last_run_outcome',
    'How the last command ended: 1 for its outcome, 0 for the others.',
    outcomes.map((outcome) => [{ outcome }, Number(end.outcome === outcome)]),
  );
  add('last_run_duration_seconds', 'How long the last command took.', [
    [{}, seconds(Date.parse(end.times.ended) - Date.parse(end.times.began))],
  ]);
  if (summary !== null) addSummary(add, summary);
  if (thisProcess !== null) {
    add(
      'last_run_phase_seconds',
      'How long each phase of the last command took. The phases do not overlap.',
      phases.map((phase) => [{ phase }, seconds(thisProcess.phases[phase])]),
    );
    add('last_run_requests', 'Requests to the service by the last command.', [
      [{ operation: 'upload' }, thisProcess.requests.uploads],
      [{ operation: 'poll' }, thisProcess.requests.polls],
      [{ operation: 'download' }, thisProcess.requests.downloads],
      [{ operation: 'search' }, thisProcess.requests.searches],
    ]);
    add('last_run_transfer_bytes', 'Bytes of chunks and of parts that the last command sent and received.', [
      [{ direction: 'sent' }, thisProcess.bytes.uploaded],
      [{ direction: 'received' }, thisProcess.bytes.downloaded],
    ]);
  }
  return registry.metrics();
}

type Values = readonly (readonly [Readonly<Record<string, string>>, number])[];
type Add = (name: string, help: string, values: Values) => void;

function addTo(registry: RegistryOf, Gauge: typeof GaugeOf): Add {
  return (name, help, values) => {
    const labelNames = Object.keys(values[0]?.[0] ?? {});
    const gauge = new Gauge({ name: `${PREFIX}${name}`, help, labelNames, registers: [registry] });
    for (const [labels, value] of values) gauge.set(labels, value);
  };
}

function addSummary(add: Add, summary: NonNullable<RunEnd['summary']>): void {
  const { counts, origins, paid, saved, inVain, output, rehearsal } = summary;
  add('last_run_rehearsal', '1 if a local service answered the run, so that its predictions are not real.', [
    [{}, Number(rehearsal)],
  ]);
  add('last_run_source_records', 'Records of the source, and how many of them were rejected.', [
    [{ kind: 'read' }, counts.read],
    [{ kind: 'rejected' }, counts.rejected],
  ]);
  add(
    'last_run_records',
    'Records of the run by the origin of their answer and by how they ended.',
    (['sent', 'reused', 'duplicates', 'skipped'] as const).flatMap((origin) =>
      (['successful', 'failed', 'unprocessed'] as const).map(
        (ended) => [{ origin, ended }, origins[origin][ended]] as const,
      ),
    ),
  );
  add('last_run_paid_records', 'Records that the run has paid for, or may have paid for.', [
    [{}, paid.records],
  ]);
  add('last_run_saved_records', 'Records of the run that took a known answer.', [[{}, saved.records]]);
  add('last_run_in_vain_records', 'Records without an answer that are paid for; certain="no": or may be.', [
    [{ certain: 'yes' }, inVain.records],
    [{ certain: 'no' }, inVain.perhaps],
  ]);
  const { currency } = paid;
  if (paid.amount !== null) {
    add('last_run_paid_amount', 'The cost of the records that the run has paid for.', [
      [{ currency }, paid.amount],
    ]);
  }
  if (saved.amount !== null) {
    add('last_run_saved_amount', 'What the records that took a known answer would have cost.', [
      [{ currency }, saved.amount],
    ]);
  }
  if (output !== null) {
    add('last_run_output_bytes', 'The size of the published output.', [[{}, output.bytes]]);
  }
}
