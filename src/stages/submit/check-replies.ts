/**
 * Checks three things about the replies to a run's uploads: that they all come from one service, that the service counts
 * as many records as were sent, and that they can be read. Replies to earlier processes count too, so a failed check also
 * stops every later process.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { AmbiguousUploadError, UntrustedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { newRunCommand, newRunCommandFor } from '../../report/adoptable.js';

/**
 * Checks that either all replies, including those of reused answers, come from a local service, or none (rule "A rehearsal
 * never looks real", docs/architecture.md#a-rehearsal-never-looks-real). A mix means that two services answer at one
 * address, and it is unknown which answers are real and paid for.
 * @param isLocal what the only reply since the last call says. If it is left out, all replies are checked.
 * @throws UntrustedError `SERVICE_MIXED`.
 */
export async function checkOneService(
  checkpoint: Pick<Checkpoint, 'run' | 'replyKinds' | 'tally'>,
  run: string,
  isLocal?: boolean,
): Promise<void> {
  if (isLocal !== undefined && oneService.get(checkpoint)?.get(run) === isLocal) return;
  const { local, other, mixed } = await checkpoint.replyKinds(run);
  const isReusedMixed = other && (await checkpoint.run(run))?.choice?.rehearsal === true;
  if (!mixed && !isReusedMixed) {
    if (local || other) oneService.set(checkpoint, new Map([[run, local]]));
    return;
  }
  const which = mixed ? '' : ', among them those to earlier runs whose answers it reuses';
  throw mixedError(run, which, await newRunCommandFor(checkpoint, run));
}

/** For each run, what all its replies say so far. Another reply that says the same needs no check. */
const oneService = new WeakMap<object, ReadonlyMap<string, boolean>>();

/** Notes what the reply to a chunk's upload says. */
export function noteService(row: ChunkRow, isLocal: boolean): void {
  saidByUpload.set(row, isLocal);
}

/** Carries the note over to a newer row of the same chunk. */
export function noteNewerRow(row: ChunkRow, newer: ChunkRow): void {
  const isLocal = saidByUpload.get(row);
  if (isLocal !== undefined && newer.folio === row.folio) saidByUpload.set(newer, isLocal);
}

/**
 * Compares a reply about a chunk's folio with the reply to the chunk's upload. A contradiction is recorded.
 * @param isLocal whether the new reply says that it comes from a local service.
 * @throws UntrustedError `SERVICE_MIXED`.
 */
export async function checkSameService(
  checkpoint: Pick<Checkpoint, 'attempts' | 'recordMixed'>,
  run: string,
  row: ChunkRow,
  isLocal: boolean,
): Promise<void> {
  if (saidByUpload.get(row) === isLocal) return;
  const { number: chunk, folio } = row;
  const attempts = await checkpoint.attempts(run, chunk);
  const upload = attempts.find((attempt) => attempt.folio === folio);
  if (upload === undefined || upload.local === null) return;
  if (upload.local === isLocal) {
    noteService(row, isLocal);
    return;
  }
  await checkpoint.recordMixed(run);
  throw mixedError(run, `, that of chunk ${chunk} among them (folio ${folio})`, newRunCommand(true), {
    chunk,
    folio,
  });
}

/** What the reply to a chunk's upload says, as far as it is known: a folio is polled often, and may have many parts. */
const saidByUpload = new WeakMap<ChunkRow, boolean>();

function mixedError(
  run: string,
  which: string,
  newRun: string,
  facts: { chunk?: number; folio?: string | null } = {},
) {
  return new UntrustedError(
    'SERVICE_MIXED',
    `run ${run}: some replies say that they come from a local service, and others do not${which}`,
    {
      hint: `nothing more is uploaded and nothing is published: check what answers at service.baseUrl, and see foliopipe ledger; start a new run with ${newRun}, which pays again`,
      facts: { run, ...facts },
    },
  );
}

/**
 * Checks that the service counted as many records in each file as were sent. A different count means that the service
 * reads the files differently.
 * @throws UntrustedError `UPLOAD_MISREAD`.
 */
export async function checkNotMisread(
  checkpoint: Pick<Checkpoint, 'misreadUpload'>,
  run: string,
): Promise<void> {
  const misread = await checkpoint.misreadUpload(run);
  if (misread === undefined) return;
  const { chunk, folio, records, serviceRecords, fileName } = misread;
  throw new UntrustedError(
    'UPLOAD_MISREAD',
    `chunk ${chunk}: ${countOf(records, 'record')} sent, and the service read ${serviceRecords}`,
    {
      hint: `nothing more is uploaded; ask the service provider about ${fileName}; once the cause is removed, start a new run with ${newRunCommand(true)}, which pays again`,
      facts: { chunk, folio },
    },
  );
}

/**
 * Circuit breaker for paid requests. If a reply cannot be read, its request may be paid for without a result. So three
 * unreadable replies in a row open the breaker, which stops the requests. A readable reply closes it again.
 */
export interface ReplyBreaker {
  /** Unreadable replies since the last readable one. */
  readonly unreadable: number;
  /** Whether there were too many unreadable replies in a row. */
  readonly isOpen: boolean;
  /** Whether another request may be sent. If an earlier process opened the breaker, one trial request is allowed. */
  readonly allowsRequest: boolean;
  /** Counts the outcome of a request and passes it on. The count is up to date before the caller sees the outcome. */
  watch<T>(request: Promise<T>): Promise<T>;
}

/** @param unreadable the count left by earlier processes; if it opens the breaker, one trial request is allowed. */
export function createReplyBreaker(unreadable: number): ReplyBreaker {
  let limit = Math.max(threshold, unreadable + 1);
  return {
    get unreadable() {
      return unreadable;
    },
    get isOpen() {
      return unreadable >= threshold;
    },
    get allowsRequest() {
      return unreadable < limit;
    },
    watch: async (request) => {
      try {
        const result = await request;
        unreadable = 0;
        limit = threshold;
        return result;
      } catch (error) {
        if (error instanceof AmbiguousUploadError && error.doubt === 'unreadable') unreadable += 1;
        throw error;
      }
    },
  };
}

const threshold = 3;
