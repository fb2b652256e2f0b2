/** The folios of the fake service and its replies (service-interface.md), correct unless a behaviour changes them. */
import { parse } from 'csv-parse/sync';
import type { FileStatus } from '../../src/types.js';
import type { Behaviour, FakeFolio, Reply } from './behaviour.js';
import type { UploadForm } from './multipart.js';
import { cutParts, type FakePart, predictedAnswer, type SentRecord } from './parts.js';

/** How a part is asked for: `SUCCESSFUL 0`. */
export function partName({ fileStatus, part }: Pick<FakePart, 'fileStatus' | 'part'>): string {
  return `${fileStatus} ${part}`;
}

export function chunkOf(fileName: string): number {
  return Number(/-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(fileName)?.[1] ?? Number.NaN);
}

export function createFolio({ fileName, fields, file }: UploadForm, id: string): FakeFolio {
  const records = recordsOf(file);
  return {
    id,
    fileName,
    description: fields.description ?? '',
    records,
    chunk: chunkOf(fileName),
    polls: 0,
    finished: false,
    forgotten: false,
  };
}

function recordsOf(file: Buffer): SentRecord[] {
  if (file.includes('"')) return parse(file, { columns: true, bom: true });
  // Without quotes each line is a record. csv-parse takes most of the time of a test with large chunks.
  const [header = [], ...rows] = file
    .toString()
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => line.split(','));
  if (rows.some(({ length }) => length !== header.length))
    throw new Error(`a line of the upload has not ${header.length} fields`);
  return rows.map((row) => Object.fromEntries(header.map((name, at) => [name, row[at]!])));
}

/** Interface, 4.1. */
export function uploadReply(folio: FakeFolio, behaviour: Behaviour): Reply {
  const reply = {
    folio: folio.id,
    fileName: folio.fileName,
    dateUpload: '2026-11-21T03:10:02.000+00:00',
    status: 'PROCESSING',
    totalRecords: folio.records.length,
  };
  return behaviour.receipt?.(reply, folio) ?? reply;
}

/** Interface, 4.2. Each call counts as a poll and advances the folio. */
export function trackReply(folio: FakeFolio, behaviour: Behaviour): Reply {
  folio.polls += 1;
  const finishedAt = behaviour.finishedAtPoll?.(folio) ?? 2;
  folio.finished ||= folio.polls >= finishedAt;
  const share = folio.finished ? 1 : folio.polls / finishedAt;
  const parts = folio.finished ? partsOf(folio, behaviour) : [];
  const failed = parts.find(({ fileStatus }) => fileStatus === 'FAILED');
  const reply = {
    folio: folio.id,
    filename: folio.fileName,
    description: folio.description,
    createdAt: '2026-11-21T03:10:02.000+00:00',
    records: folio.records.length,
    progressInfo: {
      status: folio.finished ? 'FINISHED' : 'PROCESSING',
      processedPercentage: Math.floor(100 * share),
      processedRecords: Math.floor(folio.records.length * share),
      successfulRecords: recordsIn(parts, 'SUCCESSFUL'),
      failedRecords: recordsIn(parts, 'FAILED'),
    },
    segmentation: parts.filter(({ fileStatus }) => fileStatus === 'SUCCESSFUL').map(segmentOf),
    failedInfo: failed === undefined ? { part: 0, range: '[0-0]', filename: '' } : segmentOf(failed),
  };
  return behaviour.tracking?.(reply, folio) ?? reply;
}

export function partsOf(folio: FakeFolio, behaviour: Behaviour): FakePart[] {
  const { answer = predictedAnswer, results, partRecords = 10_000, failedPart = 0 } = behaviour;
  const correct = folio.records.map((sent, index) => ({ sent, ...answer(sent, index) }));
  return cutParts(results?.(correct, folio) ?? correct, partRecords, failedPart);
}

function recordsIn(parts: readonly FakePart[], status: FileStatus): number {
  return parts.filter(({ fileStatus }) => fileStatus === status).flatMap(({ results }) => results).length;
}

/** The file name would leave the folder if a client used it as a path. */
function segmentOf({ part, range, fileStatus }: FakePart): object {
  return { part, range, filename: `../../${fileStatus}-${part}.csv` };
}
