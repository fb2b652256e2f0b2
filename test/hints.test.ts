/** Errors of storage name no command: those of the checkpoint carry no hint. The terminal has one for each code. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ConfigError, GuardError, LockedError, TroubleError } from '../src/errors.js';
import { hintOf } from '../src/hints.js';

const sources = sourcesOf('checkpoint');

function sourcesOf(folder: string): string[] {
  const place = new URL(`../src/${folder}/`, import.meta.url);
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, place), 'utf8'));
}

it('the checkpoint throws no hint, and names no command and no flag in a message', () => {
  for (const source of sources) expect(source).not.toMatch(/\bhint\b|foliopipe [a-z]+`|['` ]--[a-z]/);
});

it.each(['files', 'reuse', 'delta'])('the stores of %s name no command and no flag', (folder) => {
  for (const source of sourcesOf(folder)) {
    const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(code).not.toMatch(
      /\bfoliopipe (?:check|load|plan|publish|recover|retry|reuse(?! \d)|run|state|status)\b/,
    );
    expect(code).not.toMatch(/['` (]--[a-z]/);
  }
});

it('each code of the checkpoint has a hint', () => {
  const thrown = sources.flatMap((source) =>
    [...source.matchAll(/new (?:Config|Guard|Locked|Trouble)Error\(\s*'([A-Z_]+)'/g)].map(
      ([, code]) => code!,
    ),
  );
  expect(thrown.length).toBeGreaterThan(10);
  for (const code of thrown) expect(hintOf(new ConfigError(code, 'what')), code).toBeTruthy();
});

it('a hint says what to do, with the facts', () => {
  expect(hintOf(new GuardError('BUDGET_REACHED', 'what', { facts: { cap: 'perDay' } }))).toBe(
    'raise budget.perDay, or wait for the next day (budget.timeZone), and run the same command again: it goes on where this one stopped',
  );
  const below = { cap: 'perDay', limit: 35, records: 40 };
  expect(hintOf(new GuardError('BUDGET_REACHED', 'what', { facts: below }))).toBe(
    'raise budget.perDay (waiting does not help: this request alone has 40), and run the same command again: it goes on where this one stopped',
  );
  expect(hintOf(new GuardError('BUDGET_REACHED', 'what', { facts: { cap: 'perRun' } }))).toBe(
    'raise budget.perRun, and run the same command again: it goes on where this one stopped',
  );
  expect(hintOf(new TroubleError('CHECKPOINT_IO', 'what'))).toBe(
    'look at the disk, then run the same command again',
  );
  expect(hintOf(new LockedError('PIPELINE_LOCKED', 'what'))).toBe(
    'wait until it ends (--wait-lock 30m does), or look at it: foliopipe status',
  );
  const gone = (facts: Record<string, string | boolean>) =>
    hintOf(new ConfigError('CHECKPOINT_GONE', 'what', { facts }));
  expect(gone({ path: 'a.db' })).toBe('put the state folder back as it was, then run the same command again');
  expect(gone({ path: 'a.db', saved: 'a.db.saved', database: 'a.db' })).toContain('mv a.db.saved a.db');
  expect(gone({ saved: "it's", database: 'a.db', hasLog: true })).toContain(
    "or the copy: rm -f a.db-wal a.db-shm && mv 'it'\\''s' a.db; then",
  );
  expect(hintOf(new ConfigError('STATE_DIR_UNWRITABLE', 'what', { facts: { hasCheckpoint: true } }))).toMatch(
    /^let this user write there again, then run the same command again/,
  );
  const hidden = new ConfigError('STATE_DIR_UNWRITABLE', 'what', { facts: { hasCheckpoint: 'hidden' } });
  expect(hintOf(hidden)).toMatch(
    /^let this user enter that folder.*with another stateDir it would be paid again/,
  );
  const inFolder = new ConfigError('STATE_IN_FOLDER', 'what', { facts: { stateDir: "it's/state" } });
  expect(hintOf(inFolder)).toContain("foliopipe state copy --from 'it'\\''s/state'; or");
  const moved = new ConfigError('STATE_MOVED', 'what', { facts: { state: "it's", place: 'p' } });
  expect(hintOf(moved)).toMatch(/remove the mark: rm 'it'\\''s\/copy\.json'/);
  const behind = (facts: Record<string, string>) =>
    hintOf(new ConfigError('CHECKPOINT_BEHIND', 'what', { facts }));
  expect(behind({ newest: 'r1' })).toBe(
    'rebuild it with: foliopipe recover; or put back a copy of checkpoint.db, together with its checkpoint.db-wal',
  );
  expect(behind({ journal: 'state/runs/r1/paid.log' })).toBe(
    'rebuild it with: foliopipe recover; or put the newer checkpoint.db back, together with its checkpoint.db-wal',
  );
});

it("an error's own hint comes first, and a code that nobody knows has none", () => {
  expect(hintOf(new TroubleError('DISK_FULL', 'what', { hint: 'look there' }))).toBe('look there');
  expect(hintOf(new ConfigError('NO_SUCH_CODE', 'what'))).toBeUndefined();
});
