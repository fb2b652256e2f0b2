/** A service whose answer to a record depends on how often the record was sent. */
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { contentOf, createFakeService, type FakeService, report } from './fake-service.js';

interface Answer {
  readonly row: Readonly<Record<string, string>>;
  readonly text: string;
  readonly isSuccess: boolean;
}

export interface AttemptsService {
  readonly api: FakeService;
  /** How often each record was sent, by number. */
  readonly attempts: ReadonlyMap<number, number>;
}

/**
 * The n-th attempt at record 3 gives the code `c3.n` or the reason `r3.n`; its name is `n3`.
 * @param successes by record, whether its n-th attempt succeeds; those after fail.
 */
export function createAttemptsService(successes: readonly (readonly boolean[])[]): AttemptsService {
  const attempts = new Map<number, number>();
  const answers = new Map<string, Answer[]>();
  const answerTo = (row: Readonly<Record<string, string>>): Answer => {
    const number = Number(row.name!.slice(1));
    const attempt = (attempts.get(number) ?? 0) + 1;
    attempts.set(number, attempt);
    const isSuccess = successes[number - 1]![attempt - 1] ?? false;
    return { row, isSuccess, text: `${isSuccess ? 'c' : 'r'}${number}.${attempt}` };
  };
  const api = createFakeService({
    upload: async ({ file }) => {
      const rows = parse(await text(file.open()), { columns: true }) as Record<string, string>[];
      const folio = `F${answers.size + 1}`;
      answers.set(folio, rows.map(answerTo));
      return { folio, totalRecords: rows.length, rehearsal: false };
    },
    track: async (folio) => {
      const all = answers.get(folio)!;
      const successful = all.filter(({ isSuccess }) => isSuccess).length;
      const counts = { successful, failed: all.length - successful };
      return report('FINISHED', successful, { counts });
    },
    download: async ({ folio, fileStatus }, consume) => {
      const wanted = answers
        .get(folio)!
        .filter(({ isSuccess }) => isSuccess === (fileStatus === 'SUCCESSFUL'));
      const names = [...Object.keys(wanted[0]!.row), fileStatus === 'SUCCESSFUL' ? 'code' : 'reason'];
      // In another order than they were sent.
      const rows = wanted.reverse().map(({ row, text }) => `${[...Object.values(row), text].join(',')}\n`);
      return consume(contentOf(`${names.join(',')}\n`, ...rows), { rehearsal: false });
    },
  });
  return { api, attempts };
}
