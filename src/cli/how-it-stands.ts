/** What a run leaves behind when its command fails: what is paid, what is here, and what is open at the service. */
import type { ProgressSnapshot } from '../../pipelines/index.js';
import { countOf, formatCount } from '../quantities.js';

/** Records and chunks of a run that is not complete. */
export interface Stand {
  readonly run: string;
  readonly pipeline: string;
  /** Records to send. */
  readonly records: number;
  /** Records that were accepted; those that were sent again count again. */
  readonly paid: number;
  /** Records of them whose answers are here. */
  readonly fetched: number;
  readonly open: { readonly folios: number; readonly records: number };
  /** Records of uploads of which it is not known whether they were accepted. */
  readonly perhaps: number;
  /** Nothing was paid: a local service has answered. */
  readonly rehearsal: boolean;
}

/** How a run stands; undefined if it has ended, or is not known. */
export function standOf(snapshot: ProgressSnapshot | undefined): Stand | undefined {
  if (snapshot?.state !== 'open') return undefined;
  const { run, pipeline, toSend, byState, recordsByState: of, rehearsal } = snapshot;
  const open = of.submitted + of.finished;
  const fetched = of.downloaded;
  return {
    run,
    pipeline,
    records: toSend,
    paid: fetched + open,
    fetched,
    open: { folios: byState.submitted + byState.finished, records: open },
    perhaps: of.ambiguous + of.uploading,
    rehearsal,
  };
}

/** Such as `run R: 30 of 60 records are paid for, 10 of them are fetched; 2 folios with 20 records go on at the service`. */
export function standText({ run, records, paid, fetched, open, perhaps, rehearsal }: Stand): string {
  const [name, isPaid] = rehearsal ? ['rehearsal', 'sent'] : ['run', 'paid for'];
  const doubt = perhaps === 0 ? '' : `; ${countOf(perhaps, 'record')} may have been accepted`;
  if (paid === 0) return `${name} ${run}: nothing is ${isPaid} yet${doubt}`;
  const what = `${formatCount(paid)} of ${countOf(records, 'record')} are ${isPaid}, ${formatCount(fetched)} of them are fetched`;
  const { folios } = open;
  const there = `${countOf(folios, 'folio')} with ${countOf(open.records, 'record')} ${folios === 1 ? 'goes' : 'go'} on at the service`;
  return `${name} ${run}: ${what}${folios === 0 ? '' : `; ${there}`}${doubt}`;
}
