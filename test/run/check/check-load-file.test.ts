/** What is said of a file that cannot be loaded: which command helps depends on what stands in its place. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Publication, Run } from '../../../src/checkpoint/checkpoint.js';
import type { PublishedFile } from '../../../src/checkpoint/publication.js';
import { checkLoadFile, publicationOf } from '../../../src/run/check/check-load-file.js';
import { samplePublication } from '../../helpers/checkpoint/samples.js';
import { createMemoryOutputStore } from '../../helpers/memory/memory-output-store.js';

const { path } = samplePublication.output;
const fileOf = (text: string) => ({
  bytes: text.length,
  sha256: createHash('sha256').update(text).digest('hex'),
});
const publicationWith = (text: string): Publication => ({
  ...samplePublication,
  ...fileOf(text),
  number: 1,
});

/**
 * Checks the publication of run `a`, whose content was `published`.
 * @param there what is in its place; undefined: nothing.
 * @param newest the pipeline's last publication.
 */
function check(
  published: string,
  there: string | undefined,
  newest: Partial<PublishedFile> = {},
  options: Parameters<typeof checkLoadFile>[3] = {},
): Promise<void> {
  const output = createMemoryOutputStore();
  if (there !== undefined) output.contents.set(path, { content: Buffer.from(there), stamp: 's' });
  const last = { ...fileOf(published), number: 1, run: 'a', path, stamp: null, isSample: false, ...newest };
  const checkpoint = { publications: async () => [last] };
  return checkLoadFile(
    { checkpoint, output },
    { id: 'a', pipeline: 'p' },
    publicationWith(published),
    options,
  );
}

describe('the file of a publication', () => {
  it('is taken by its length, and where it is asked for by its content', async () => {
    await check('rows of a', 'rows of a');
    await check('rows of a', 'rows of a', {}, { content: true });
    // A load compares the content while it reads.
    await check('rows of a', 'rows of x');
    await expect(check('rows of a', 'rows of x', {}, { content: true })).rejects.toMatchObject({
      code: 'OUTPUT_CHANGED',
    });
  });

  it.each<[string, string | undefined, Partial<PublishedFile>, object, string]>([
    [
      'is not there',
      undefined,
      {},
      { code: 'OUTPUT_MISSING', facts: { run: 'a', path } },
      'write it again with: foliopipe publish a; then: foliopipe load a',
    ],
    [
      'was edited',
      'other rows',
      {},
      { code: 'OUTPUT_CHANGED', message: expect.stringContaining('is not what this run has published') },
      'write it again with: foliopipe publish a; then: foliopipe load a',
    ],
    [
      'was replaced by a later run',
      'rows of run b',
      { ...fileOf('rows of run b'), number: 2, run: 'b' },
      { code: 'OUTPUT_CHANGED', message: expect.stringContaining('holds publication 2 of run b') },
      'load that one with: foliopipe load b; or go back to this run with: foliopipe publish a; then: foliopipe load a',
    ],
    [
      'was replaced by a later run, and edited then',
      'rows of run B',
      { ...fileOf('rows of run b'), number: 2, run: 'b' },
      { code: 'OUTPUT_CHANGED', message: expect.stringContaining('is not what this run has published') },
      'write it again with: foliopipe publish a; then: foliopipe load a',
    ],
    [
      'was edited, while a later run has published elsewhere',
      'rows of run b',
      { ...fileOf('rows of run b'), number: 2, run: 'b', path: '/out/other.csv' },
      { code: 'OUTPUT_CHANGED', message: expect.stringContaining('is not what this run has published') },
      'write it again with: foliopipe publish a; then: foliopipe load a',
    ],
  ])('%s', async (_, there, newest, error, hint) => {
    await expect(check('rows of a', there, newest)).rejects.toMatchObject({ ...error, exitCode: 2, hint });
  });

  it('is needed as a CSV, compressed or not', async () => {
    const store = createMemoryOutputStore();
    const publicationAt = (name: string): Publication => {
      store.contents.set(name, { content: Buffer.from('packed'), stamp: 's' });
      const { output } = samplePublication;
      return { ...publicationWith('packed'), content: fileOf('rows'), output: { ...output, path: name } };
    };
    const checkAt = (name: string) =>
      checkLoadFile(
        { checkpoint: { publications: async () => [] }, output: store },
        { id: 'a', pipeline: 'p' },
        publicationAt(name),
      );
    await checkAt('/out/enriched.csv.gz');
    await expect(checkAt('/out/enriched.parquet')).rejects.toMatchObject({
      code: 'LOAD_NEEDS_CSV',
      hint: 'let output.path end in .csv, .csv.gz or .csv.zst, then: foliopipe publish a; then: foliopipe load a',
    });
  });

  it('is named with the command that was typed', async () => {
    const command = 'foliopipe load --print snowflake';
    await expect(check('rows of a', undefined, {}, { command })).rejects.toMatchObject({
      hint: `write it again with: foliopipe publish a; then: ${command} a`,
    });
  });
});

it.each<[string, Partial<Run>, string]>([
  ['open', { state: 'open' }, 'finish it with: foliopipe run, which loads it too'],
  [
    'publishing',
    { state: 'publishing', publication: publicationWith('rows of a') },
    'finish it with: foliopipe run, which loads it too',
  ],
  ['superseded', { state: 'superseded' }, 'see the runs that are done with: foliopipe runs'],
  ['withheld', { state: 'withheld' }, 'publish it anyway with: foliopipe publish a; then: foliopipe load a'],
  [
    'confirmed without an output',
    { state: 'done', confirmed: {} as Run['confirmed'] },
    'publish it anyway with: foliopipe publish a; then: foliopipe load a',
  ],
])('a run that is %s has nothing to load', (text, changes, hint) => {
  const run = { id: 'a', publication: null, confirmed: null, ...changes } as Run;
  const message = `run a is ${text}, and has nothing to load`;
  expect(() => publicationOf(run)).toThrow(
    expect.objectContaining({ code: 'RUN_UNFINISHED', message, hint }),
  );
});
