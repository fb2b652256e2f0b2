import { expect, it } from 'vitest';
import type { ChunkRow, Run, RunSummary } from '../../../pipelines/index.js';
import { unfinishedText, workingText } from '../../../src/cli/texts/status-text.js';
import { someSnapshot } from '../../helpers/progress/some-snapshot.js';

const run = { id: 'R', state: 'open', createdAt: Date.now(), source: { files: [] } } as unknown as Run;
const summary = {
  ...{ abandoned: [], adoptable: [], lost: [], chunks: { byState: {} } },
  ...{ partial: null, outdated: null },
} as unknown as RunSummary;

/** The text of a run with so many open folios. */
function textOf(folios: number): Promise<string> {
  const chunks = Array.from({ length: folios }, (_, at) => ({
    ...{ number: at + 1, state: 'submitted', folio: `F${at + 1}` },
    submittedAt: Date.now(),
  })) as unknown as readonly ChunkRow[];
  const chunksIn = async (_run: string, _states: unknown, _after: number, most: number) =>
    chunks.slice(0, most);
  const snapshot = someSnapshot(Date.now(), { byState: { submitted: folios } });
  return unfinishedText({ chunksIn }, run, summary, snapshot, 60_000);
}

it('names the first open folios, and says how many more there are', async () => {
  const few = await textOf(50);
  expect(few).toContain('  chunk 50: submitted, folio F50');
  expect(few).not.toContain('more chunk');
  const many = await textOf(1234);
  expect(many).not.toContain('folio F51');
  expect(many).toContain('  and 1,184 more chunks: foliopipe report R lists them on a page\n');
});

it('names the program that goes on with the records that it has handed in', () => {
  const snapshot = someSnapshot(Date.now(), { byState: { submitted: 1 } });
  const said = (name?: string) => workingText(undefined, undefined, snapshot, name);
  expect(said()).toContain('go on with: foliopipe run, which ');
  expect(said('stdin')).toContain('go on with: foliopipe run, which ');
  for (const name of ['records', 'bytes']) {
    expect(said(name)).toContain('go on with: the program that has handed in its records, which ');
  }
});
