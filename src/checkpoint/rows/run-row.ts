/** A run as both databases store it. */
import type { Choice, JoinMethod, Source } from '../../types.js';
import type { Confirmed, NewPublication, Publication, PublishedFile, Withheld } from '../publication.js';
import type { Run, RunHead, RunState } from '../state.js';

/** A row of the table `runs`. */
export interface RunRow {
  id: string;
  pipeline: string;
  service: string;
  label: string | null;
  source: string;
  frozen: string;
  canary: number;
  choice: string | null;
  created_at: number;
  state: RunState;
  chunks: number | null;
  columns: string | null;
  join_way: string | null;
  round: number;
  rehearsal: number;
  publication: string | null;
  partial: string | null;
  withheld: string | null;
  confirmed: string | null;
  finished_at: number | null;
  pruned_at: number | null;
}

export function toRunIfAny(row: RunRow | undefined): Run | undefined {
  return row && toRun(row);
}

/**
 * Parses the source of a run, and keeps the last one: a process reads its run twice a second to show progress, and the
 * source may list many files.
 */
export function createSourceParser(): (json: string) => Source {
  let last = { json: 'null', source: null as unknown as Source };
  return (json) => {
    if (json !== last.json) last = { json, source: JSON.parse(json) as Source };
    return last.source;
  };
}

/** @param sourceOf parses the column `source`. */
export function toRun(row: RunRow, sourceOf: (json: string) => Source = JSON.parse): Run {
  return {
    id: row.id,
    pipeline: row.pipeline,
    service: row.service,
    label: row.label,
    source: sourceOf(row.source),
    frozen: JSON.parse(row.frozen) as Run['frozen'],
    canary: row.canary,
    choice: parseOrNull<Choice>(row.choice),
    createdAt: row.created_at,
    state: row.state,
    chunks: row.chunks,
    columns: parseOrNull<string[]>(row.columns),
    join: toJoinMethod(row.join_way),
    round: row.round,
    rehearsal: row.rehearsal === 1,
    publication: toPublication(row.publication),
    partial: toPublication(row.partial),
    withheld: parseOrNull<Withheld>(row.withheld),
    confirmed: parseOrNull<Confirmed>(row.confirmed),
    finishedAt: row.finished_at,
    prunedAt: row.pruned_at,
  };
}

/** A row of `runHeads`. */
export interface HeadRow extends Omit<RunHead, 'rehearsal' | 'hasChoice'> {
  readonly rehearsal: number;
  readonly hasChoice: number | boolean;
}

export function toRunHead({ rehearsal, hasChoice, ...row }: HeadRow): RunHead {
  return { ...row, rehearsal: rehearsal === 1, hasChoice: Boolean(hasChoice) };
}

/** A row of the table `publications`, and whether its run is a sample. */
export type FileRow = Omit<PublishedFile, 'isSample'> & { readonly isSample: number | boolean };

export function toFile(row: FileRow): PublishedFile {
  return { ...row, isSample: Boolean(row.isSample) };
}

/** A publication from before version 0.1.0 has no `partial`, because it was never partial. */
function toPublication(json: string | null): Publication | null {
  return json === null ? null : { partial: false, ...(JSON.parse(json) as Omit<Publication, 'partial'>) };
}

/** A join from before version 0.1.0 has no `judged`. */
function toJoinMethod(json: string | null): JoinMethod | null {
  return json === null ? null : ({ judged: null, ...JSON.parse(json) } as JoinMethod);
}

function parseOrNull<T>(json: string | null): T | null {
  return json === null ? null : (JSON.parse(json) as T);
}

/** The number of a file that is committed as "publishing" again; undefined for another one. */
export function numberOfSame(
  { state, publication }: Pick<RunRow, 'state' | 'publication'>,
  { bytes, sha256, partial, output }: NewPublication,
): number | undefined {
  if (state !== 'publishing') return undefined;
  const before = JSON.parse(publication!) as Publication;
  const isSame =
    before.bytes === bytes &&
    before.sha256 === sha256 &&
    before.partial === partial &&
    before.output.path === output.path;
  return isSame ? before.number : undefined;
}
