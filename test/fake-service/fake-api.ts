/**
 * The fake service as an object behind the port `PredictionApi`: the same folios, parts and behaviours without HTTP,
 * for tests of single stages and for virtual clocks. A test replaces the methods that it needs otherwise.
 */
import type { FolioReport, PredictionApi } from '../../src/api/prediction-api.js';
import { FolioLostError } from '../../src/errors.js';
import { wholeContent } from '../helpers/streams/collect.js';
import type { Behaviour, FakeFolio, Reply } from './behaviour.js';
import { createFolio, partName, partsOf, trackReply, uploadReply } from './folios.js';
import { type Answer, type SentRecord, writePart } from './parts.js';

export interface FakeApi extends PredictionApi {
  readonly folios: Map<string, FakeFolio>;
  /** The calls in order: `upload F1`, `track F1`, `download F1 SUCCESSFUL 0`. */
  readonly asked: string[];
}

/** One part that gives the id of each record and a code. */
const codeById: Behaviour = {
  answer: ({ id }) => ({ status: 'SUCCESSFUL', added: { code: `c${id}` } }),
  style: () => ({ columns: () => ['id', 'code'] }),
};

/** Finishes every folio at its second poll; the folios are F1, F2, ... */
export function createFakeApi(behaviour: Behaviour = codeById): FakeApi {
  const folios = new Map<string, FakeFolio>();
  const asked: string[] = [];
  const known = (id: string): FakeFolio => {
    const found = folios.get(id);
    if (found === undefined) throw new FolioLostError('FOLIO_LOST', `folio ${id} is not known`);
    return found;
  };
  return {
    folios,
    asked,
    upload: async ({ file, description }) => {
      const form = { fileName: file.name, fields: { description }, file: await wholeContent(file.open()) };
      const folio = createFolio(form, `F${folios.size + 1}`);
      asked.push(`upload ${folio.id}`);
      folios.set(folio.id, folio);
      const { totalRecords } = uploadReply(folio, behaviour);
      return { folio: folio.id, totalRecords, rehearsal: false };
    },
    track: async (id) => {
      asked.push(`track ${id}`);
      return reportOf(trackReply(known(id), behaviour));
    },
    download: async ({ folio: id, ...wanted }, consume) => {
      asked.push(`download ${id} ${partName(wanted)}`);
      const folio = known(id);
      const part = partsOf(folio, behaviour).find((one) => partName(one) === partName(wanted));
      if (part === undefined) throw new Error(`${id} has no part ${partName(wanted)}`);
      const text = writePart(part, behaviour.style?.(folio) ?? {}).toString();
      return consume(contentOf(text), { rehearsal: false });
    },
    search: async () => ({ answer: {}, rehearsal: false }),
    close: async () => undefined,
  };
}

function reportOf({
  filename,
  description,
  records,
  progressInfo,
  segmentation,
  failedInfo,
}: Reply): FolioReport {
  const { status, processedPercentage, processedRecords, successfulRecords, failedRecords } = progressInfo;
  return {
    ...report(status),
    fileName: filename,
    description,
    records,
    percentage: processedPercentage,
    processed: processedRecords,
    counts: status === 'FINISHED' ? { successful: successfulRecords, failed: failedRecords } : null,
    successfulParts: segmentation.map(({ part }: Reply) => part),
    listedRecords: status === 'FINISHED' ? successfulRecords : null,
    failedPart: failedInfo.part,
  };
}

/** The report of a poll; with counts and one part where `successful` is given. */
export function report(status: string, successful?: number, changes: Partial<FolioReport> = {}): FolioReport {
  return {
    status,
    fileName: null,
    description: null,
    records: null,
    percentage: null,
    processed: null,
    counts: successful === undefined ? null : { successful, failed: 0 },
    successfulParts: successful === undefined ? [] : [0],
    listedRecords: successful ?? null,
    failedPart: 0,
    rehearsal: false,
    ...changes,
  };
}

export async function* contentOf(...pieces: string[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

/** The ids of the records that an upload held. */
export function idsOf({ records }: FakeFolio): string[] {
  return records.map(({ id = '' }) => id);
}

/**
 * A service whose answer to a record depends on how often the record was sent. The n-th attempt at record 3 gives
 * the code `c3.n` or the reason `r3.n`; the name of that record is `n3`.
 * @param successes by record, whether its n-th attempt succeeds; later attempts fail.
 */
export function createAttemptsApi(successes: readonly (readonly boolean[])[]): {
  readonly api: FakeApi;
  /** How often each record was sent, by number. */
  readonly attempts: ReadonlyMap<number, number>;
} {
  const attempts = new Map<number, number>();
  const answers = new Map<string, Answer[]>();
  const answerTo = ({ name = '' }: SentRecord): Answer => {
    const number = Number(name.slice(1));
    const attempt = (attempts.get(number) ?? 0) + 1;
    attempts.set(number, attempt);
    return successes[number - 1]![attempt - 1]
      ? { status: 'SUCCESSFUL', added: { code: `c${number}.${attempt}` } }
      : { status: 'FAILED', added: { reason: `r${number}.${attempt}` } };
  };
  const api = createFakeApi({
    finishedAtPoll: () => 1,
    receipt: (reply, folio) => {
      answers.set(folio.id, folio.records.map(answerTo));
      return reply;
    },
    // In another order than they were sent.
    results: (results, { id }) => results.map((one, at) => ({ ...one, ...answers.get(id)![at]! })).reverse(),
  });
  return { api, attempts };
}
