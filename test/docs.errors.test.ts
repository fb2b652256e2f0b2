/** docs/generated/errors.md names every error code that the sources give. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/generated/errors.md'), 'utf8');
const rows = [...page.matchAll(/^\| `(\w+)` \| ([\d, ]+) \| (.+) \| (.*) \|$/gm)];

it('is what npm run docs:errors makes of the sources now', async () => {
  const { errorsPage } = await import(join(root, 'test/prove/errors-page.js'));
  expect(page === errorsPage(), 'type npm run docs:errors, and commit docs/generated/errors.md').toBe(true);
});

it('gives each code its exit code, and nearly each one what to do', () => {
  expect(rows.length).toBeGreaterThan(240);
  const byCode = new Map(rows.map(([, code, exit, cure]) => [code!, { exit, cure: cure! }]));
  expect(byCode.size).toBe(rows.length);
  expect(byCode.get('TOKEN_REFUSED')).toMatchObject({
    exit: '7',
    cure: expect.stringContaining('service.token'),
  });
  expect(byCode.get('DISK_FULL')).toMatchObject({ exit: '5', cure: expect.stringContaining('make room') });
  expect(byCode.get('FOLDER_UNWRITABLE')).toMatchObject({ exit: '2' });
  expect(byCode.get('SOURCE_FIELD_COUNT')).toMatchObject({ exit: '4' });
  expect(byCode.get('CHECKPOINT_LOST')!.cure).toContain('foliopipe recover');
  expect(byCode.get('SOURCE_ESCAPED')!.cure).toContain('HEADER = TRUE');
  expect(byCode.get('USAGE')!.cure).toMatch(/--to '\$\{STATE_URL\}'/);
  const uncured = [...byCode].filter(([, { cure }]) => cure === 'the hint of the message says it');
  expect(uncured.length).toBeLessThan(20);
});

/** Codes of Node, of other programs, of records and of requests within a retry: no command ends with one of them. */
const NO_ERRORS =
  /^(?:CERT|ERR|CSV|SQLITE|UNABLE_TO|SELF_SIGNED)_|^(?:DEPTH_ZERO_SELF_SIGNED_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|HTTPS?_PROXY|NO_PROXY|SQL_ASCII|FOLIOPIPE_TOKEN|READ_ONLY|WHEN_REQUIRED|TOO_LARGE|(?:CONNECT|HEADERS|BODY)_TIMEOUT|REPLY_TOO_SLOW|PROXY_FAILED|PROXY_DENIED|MALFORMED_REPLY|AMBIGUOUS_HELD|FOLIO_ABANDONED|NOTHING_TO_SEND|RECORD_REFUSED|SERVICE_FAILED)$/;

it('names every code in the sources, however it is written there', () => {
  const named = new Set(rows.map(([, code]) => code));
  const sources = ['src', 'pipelines'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  );
  const codes = new Set(
    sources.flatMap((text) =>
      [...text.matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g)].map(([, code]) => code!),
    ),
  );
  expect(codes.size).toBeGreaterThan(240);
  expect([...codes].filter((code) => !named.has(code) && !NO_ERRORS.test(code))).toEqual([]);
});

it('names the codes that docs/failures.md explains', () => {
  const named = new Set(rows.map(([, code]) => code));
  const failures = readFileSync(join(root, 'docs/failures.md'), 'utf8');
  const tables = failures.slice(0, failures.indexOf('## What `check` says'));
  const codes = [...tables.matchAll(/^\| (`[A-Z].*?) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`/g)].map(([, code]) => code!),
  );
  expect(codes.length).toBeGreaterThan(60);
  expect(codes.filter((code) => !named.has(code))).toEqual([]);
});
