/** The folios of the independent service and its honest replies, bent by the behaviour it was told. */
import { parse } from 'csv-parse/sync';
import type { FileStatus } from '../../src/types.js';
import type { Behaviour, OtherFolio, Reply } from './other-service-behaviour.js';
import type { UploadForm } from './other-service-multipart.js';
import { cutParts, foreseenAnswer, type OtherPart, type SentRecord } from './other-service-parts.js';

/** A part's name as it is asked for: `SUCCESSFUL 0`. */
export function partName({ fileStatus, part }: Pick<OtherPart, 'fileStatus' | 'part'>): string {
  return `${fileStatus} ${part}`;
}

export function chunkOf(fileName: string): number {
  return Number(/-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(fileName)?.[1] ?? Number.NaN);
}

/** @param number of the folio at this service, from 1. */
export function createFolio({ fileName, fields, file }: UploadForm, number: number): OtherFolio {
  const records: SentRecord[] = parse(file, { columns: true, bom: true });
  return {
    id: `F${number}X${Buffer.from(fileName).toString('hex').slice(-12)}`,
    fileName,
    description: fields.description ?? '',
    records,
    chunk: chunkOf(fileName),
    polls: 0,
    finished: false,
    forgotten: false,
  };
}

/** Interface, 4.1. */
export function uploadReply(folio: OtherFolio, behaviour: Behaviour): Reply {
  const reply = {
    folio: folio.id,
    fileName: folio.fileName,
    dateUpload: '2026-11-21T03:10:02.000+00:00',
    status: 'PROCESSING',
    totalRecords: folio.records.length,
  };
  return behaviour.receipt?.(reply, folio) ?? reply;
}

/** Interface, 4.2: each poll brings the folio nearer to its end. */
export function trackReply(folio: OtherFolio, behaviour: Behaviour): Reply {
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

export function partsOf(folio: OtherFolio, behaviour: Behaviour): OtherPart[] {
  const { answer = foreseenAnswer, results, partRecords = 10_000, failedPart = 0 } = behaviour;
  const honest = folio.records.map((sent, place) => ({ sent, ...answer(sent, place) }));
  return cutParts(results?.(honest, folio) ?? honest, partRecords, failedPart);
}

function recordsIn(parts: readonly OtherPart[], status: FileStatus): number {
  return parts.filter(({ fileStatus }) => fileStatus === status).flatMap(({ results }) => results).length;
}

/** Its file names would lead far away, if they ever became paths. */
function segmentOf({ part, range, fileStatus }: OtherPart): object {
  return { part, range, filename: `../../${fileStatus}-${part}.csv` };
}
