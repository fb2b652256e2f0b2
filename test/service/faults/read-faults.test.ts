/** What valid rules are parsed to, and the messages for invalid ones. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ConfigError } from '../../../src/errors.js';
import { faultSchema } from '../../../src/service/faults/fault.js';
import { parseFaults, readFaults } from '../../../src/service/faults/read-faults.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';

const root = join(import.meta.dirname, '../../..');

function messageOf(given: unknown): string {
  try {
    parseFaults(given);
  } catch (error) {
    if (error instanceof ConfigError && error.code === 'FAULTS_INVALID') return error.message;
    throw error;
  }
  return 'no problem';
}

const problemOf = (rule: object) => messageOf({ rules: [{ fault: { forget: true }, ...rule }] });

describe('parseFaults', () => {
  it('reads durations, shares and sets of numbers', () => {
    const rule = {
      on: 'download',
      calls: { every: 3 },
      folio: 2,
      folioCalls: [1, 5],
      between: { after: '10m', until: '1h' },
      probability: '10%',
      fault: { stall: '2m', truncate: 0.5 },
    };
    expect(parseFaults({ seed: 7, rules: [rule] })).toEqual({
      seed: 7,
      rules: [
        {
          on: 'download',
          calls: { from: 3, to: Number.POSITIVE_INFINITY, every: 3 },
          folio: { among: [2] },
          folioCalls: { among: [1, 5] },
          between: { after: 600_000, until: 3_600_000 },
          probability: 0.1,
          fault: { stall: 120_000, truncate: 0.5 },
        },
      ],
    });
  });

  it('lists every problem, each with its key', () => {
    const rules = [
      { on: 'uplaod', fault: { stall: 3 } },
      { calls: { form: 2 }, fault: { records: { mising: 1 } } },
      { on: 'track', fault: { brokenBase64: true }, probability: 2 },
    ];
    const message = messageOf({ sede: 1, rules });
    expect(message).toContain('the faults have 6 problems:');
    expect(message).toContain('the file: unknown key "sede", did you mean seed?');
    expect(message).toContain(
      'rules[0].on: expected upload or track or download or search or any, got "uplaod"',
    );
    expect(message).toContain('rules[0].fault.stall: expected a duration with its unit');
    expect(message).toContain('rules[1].calls: unknown key "form", did you mean from?');
    expect(message).toContain('rules[1].fault.records: unknown key "mising", did you mean missing?');
    expect(message).toContain(
      'rules[2].probability: expected a share such as 10% or 0.1, from 0 to 1, got 2',
    );
  });

  it.each([
    [{ fault: undefined }, 'rules[0].fault: is missing; expected a map with the keys status,'],
    [{ fault: {} }, 'rules[0].fault: is empty'],
    [{ fault: { records: {} } }, 'rules[0].fault.records: is empty'],
    [{ fault: { html: false } }, 'rules[0].fault.html: expected true, got false'],
    [{ fault: { retryAfter: '3s' } }, 'rules[0].fault.retryAfter: needs a status'],
    [{ fault: { status: 200 } }, 'rules[0].fault.status: expected a whole number from 300 to 599, got 200'],
    [{ calls: 0 }, 'rules[0].calls: expected a whole number from 1'],
    [{ calls: [2, 'x'] }, 'rules[0].calls[1]: expected a whole number from 1'],
    [{ calls: { from: 4, to: 2 } }, 'rules[0].calls: ends before it begins'],
    [{ between: { after: '2h', until: '1h' } }, 'rules[0].between: ends before it begins'],
    [
      { on: 'upload', folio: 2, fault: { status: 503 } },
      'rules[0].folio: cannot be combined with on: upload',
    ],
    [{ on: 'track', fileStatus: 'FAILED' }, 'rules[0].fileStatus: applies to downloads only'],
    [{ on: 'download', contains: 'a', fault: { status: 413 } }, 'rules[0].contains: applies to uploads only'],
    [{ on: 'track', records: { from: 1 } }, 'rules[0].records: applies to uploads only'],
    [{ records: { from: 0 } }, 'rules[0].records.from: expected a whole number from 1'],
    [{ records: 5 }, 'rules[0].records: expected a map with the keys from'],
    [{ contains: '' }, 'rules[0].contains: expected a text that the file contains'],
    [{ fault: { fail: '101%' } }, 'rules[0].fault.fail: expected a share such as 10%'],
    [{ on: 'track', fault: { fail: '7%' } }, 'rules[0].fault.fail: fail cannot hit on: track, only upload'],
    [
      { on: 'track', fault: { expire: '1h' } },
      'rules[0].fault.expire: expire cannot hit on: track, only download',
    ],
    [
      { on: 'search', fault: { cut: 'after-accepting' } },
      'rules[0].fault.cut: cut: after-accepting cannot hit on: search, only upload',
    ],
    [
      { on: 'upload', fault: { counts: { failed: 1 } } },
      'rules[0].fault.counts: counts cannot hit on: upload, only',
    ],
  ])('refuses %j', (rule, problem) => {
    expect(problemOf(rule)).toContain(problem);
  });

  it.each([[undefined], [null], [[]], ['rules']])('refuses %j instead of rules', (given) => {
    expect(messageOf(given)).toContain('the file: ');
  });
});

describe('readFaults', () => {
  const newFolder = useSharedFolder();
  let folder: string;
  beforeAll(async () => {
    folder = await newFolder();
  });

  it('gives the line of a problem', async () => {
    const file = join(folder, 'wrong.yaml');
    await writeFile(
      file,
      'rules:\n  - on: upload\n    fault:\n      stal: 2m\n  - on: track\n    calls: x\n',
    );
    await expect(readFaults(file)).rejects.toThrow(`did you mean stall? (${file}:4)`);
    await expect(readFaults(file)).rejects.toThrow(`rules[1].fault: is missing`);
    await expect(readFaults(file)).rejects.toThrow(`(${file}:6)`);
  });

  it('refuses a file that is not YAML, or missing', async () => {
    const file = join(folder, 'broken.yaml');
    await writeFile(file, 'rules: [\n');
    await expect(readFaults(file)).rejects.toMatchObject({ code: 'FAULTS_INVALID', exitCode: 2 });
    await expect(readFaults(join(folder, 'none.yaml'))).rejects.toMatchObject({ code: 'FAULTS_UNREADABLE' });
  });

  it('reads the example', async () => {
    const { rules } = await readFaults(join(root, 'config/faults.example.yaml'));
    expect(rules.length).toBeGreaterThan(0);
  });
});

describe('docs/faults.md', () => {
  it('shows every fault in a valid example', async () => {
    const text = await readFile(join(root, 'docs/faults.md'), 'utf8');
    const examples = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml]) => parseFaults(parse(yaml!)));
    const shown = new Set(examples.flatMap(({ rules }) => rules.flatMap(({ fault }) => Object.keys(fault))));
    const known = Object.keys(faultSchema.def.type === 'object' ? faultSchema.shape : {});
    expect(known.length).toBeGreaterThan(10);
    expect([...shown].sort()).toEqual([...known].sort());
  });
});
