/**
 * One service answers a run (law 11): where some replies say that a local one does and others do not, somebody
 * stands in between, and what is real and paid for is no longer known.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { attemptsOf } from '../../checkpoint/walk-run.js';
import { UntrustedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';

export type RefuseMixedNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'replyKinds'>;
};

/** @throws UntrustedError when replies of the run contradict each other, in this process or an earlier one. */
export async function refuseMixed({ id, checkpoint }: RefuseMixedNeeds): Promise<void> {
  if ((await checkpoint.replyKinds(id)).mixed) throw mixed(id, '');
}

export type SameServiceNeeds = Pick<RunContext, 'id'> & {
  readonly checkpoint: Pick<Checkpoint, 'uploads' | 'recordMixed'>;
};

/**
 * Holds a reply about a chunk's folio to the one that its upload had.
 * @param isLocal whether the reply says that it comes from a local service.
 * @throws UntrustedError when they contradict each other; every later process is refused then.
 */
export async function expectSameService(
  { id, checkpoint }: SameServiceNeeds,
  { number: chunk, folio }: ChunkRow,
  isLocal: boolean,
): Promise<void> {
  const attempts = await attemptsOf(checkpoint, id, chunk);
  const upload = attempts.find((attempt) => attempt.folio === folio);
  if (upload === undefined || upload.local === null || upload.local === isLocal) return;
  await checkpoint.recordMixed(id);
  throw mixed(id, `, that of chunk ${chunk} among them (folio ${folio})`, { chunk, folio });
}

function mixed(run: string, which: string, facts: { chunk?: number; folio?: string | null } = {}) {
  return new UntrustedError(
    'SERVICE_MIXED',
    `run ${run}: some replies say that they come from a local service, and others do not${which}`,
    {
      hint: 'nothing more is uploaded and nothing is published: look what answers at service.baseUrl, and at foliopipe ledger; begin afresh with foliopipe run --new, which pays again',
      facts: { run, ...facts },
    },
  );
}
