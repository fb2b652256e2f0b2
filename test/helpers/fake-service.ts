/** The port to the service as a plain object that a test bends: uploads, polls and downloads in memory. */
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import type { FolioReport, PredictionApi } from '../../src/api/prediction-api.js';
import { FolioLostError } from '../../src/errors.js';

export interface FakeFolio {
  readonly folio: string;
  readonly fileName: string;
  readonly description: string;
  readonly ids: readonly string[];
  polls: number;
}

export interface FakeService extends PredictionApi {
  readonly folios: Map<string, FakeFolio>;
  /** What was asked, in order: `upload F1`, `track F1`, `download F1 SUCCESSFUL 0`. */
  readonly asked: string[];
}

/**
 * Finishes every folio at its second poll, with one part that gives each record's id and a code.
 * @param changes methods to put in place of these.
 */
export function createFakeService(changes: Partial<PredictionApi> = {}): FakeService {
  const folios = new Map<string, FakeFolio>();
  const asked: string[] = [];
  const known = (folio: string): FakeFolio => {
    const found = folios.get(folio);
    if (found === undefined) throw new FolioLostError('FOLIO_LOST', `folio ${folio} is not known`);
    return found;
  };

  const service: PredictionApi = {
    upload: async ({ file, description }) => {
      const rows = parse(await text(file.open()), { columns: true }) as { id: string }[];
      const folio = `F${folios.size + 1}`;
      asked.push(`upload ${folio}`);
      folios.set(folio, { folio, fileName: file.name, description, ids: rows.map(({ id }) => id), polls: 0 });
      return { folio, totalRecords: rows.length, rehearsal: false };
    },
    track: async (folio) => {
      asked.push(`track ${folio}`);
      const found = known(folio);
      found.polls += 1;
      return found.polls < 2 ? report('PROCESSING') : report('FINISHED', found.ids.length);
    },
    download: async ({ folio, fileStatus, part }, consume) => {
      asked.push(`download ${folio} ${fileStatus} ${part}`);
      const lines = known(folio).ids.map((id) => `${id},c${id}\n`);
      return consume(contentOf(`id,code\n${lines.join('')}`), { rehearsal: false });
    },
    search: async () => ({}),
    close: async () => undefined,
  };
  return { ...service, ...changes, folios, asked };
}

/** A poll's report; with counts where `successful` is given. */
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
