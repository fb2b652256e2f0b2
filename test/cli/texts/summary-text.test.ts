import { describe, expect, it } from 'vitest';
import { summaryText } from '../../../src/cli/texts/summary-text.js';
import type { RunSummary } from '../../../src/report/run-summary.js';
import { nothingTallied } from '../../helpers/checkpoint/samples.js';

const none = { records: 0, successful: 0, failed: 0, unprocessed: 0 };
const done: RunSummary = {
  unusual: [],
  run: 'r1',
  pipeline: 'nightly',
  service: 'https://service.test',
  state: 'done',
  exitCode: 0,
  rehearsal: false,
  sample: null,
  found: 'new',
  prunedAt: null,
  published: true,
  confirmed: false,
  publication: 7,
  publishedAgain: null,
  released: null,
  withheld: null,
  partial: null,
  counts: { read: 1010, successful: 900, failed: 100, unprocessed: 0, rejected: 10 },
  origins: {
    sent: { records: 1000, successful: 900, failed: 100, unprocessed: 0 },
    reused: none,
    duplicates: none,
    skipped: none,
  },
  failedBy: [],
  failedWithoutReason: 0,
  saved: { records: 0, amount: null, currency: 'USD' },
  paid: { records: 0, amount: null, currency: 'USD' },
  retried: { records: 0, searches: 0 },
  inVain: { records: 0, amount: null, perhaps: 0 },
  outdated: null,
  chunks: { all: 3, byState: { ...nothingTallied, downloaded: 3 } },
  uploads: { accepted: 3, ambiguous: 0, resubmitted: 0 },
  searches: { answered: 0, ambiguous: 0 },
  ambiguousRecords: 0,
  adoptable: [],
  lost: [],
  abandoned: [],
  indistinct: 0,
  joinedOnWord: null,
  columnsMissing: {},
  columns: ['naics_code'],
  output: { path: 'out.csv', bytes: 2048, records: 1000, sha256: 'ff', inPlace: true, heldBy: null },
  manifest: 'out.csv.manifest.json',
  marker: 'out.csv._SUCCESS',
  createdAt: 1,
  finishedAt: 2,
  thisProcess: null,
};
const terms = {
  tolerate: 0.05,
  mayRetry: true,
  reusesAnswers: false,
  rescue: 'none',
  budget: { pricePerRecord: null, currency: 'USD' },
} as const;
const textOf = (changes: Partial<RunSummary>) => summaryText({ ...done, ...changes }, terms);
/** With each sentence in one line. */
const flatOf = (changes: Partial<RunSummary>) => textOf(changes).replaceAll(/\s+/g, ' ');

describe('summaryText', () => {
  it('shows the output, the files and the balance', () => {
    expect(textOf({})).toBe(`run r1 is done
  output    out.csv (1,000 records, 2 KB), publication 7
  records   1,010 read = 900 successful + 100 failed (10%) + 0 unprocessed + 10
            rejected
  columns   naics_code
  manifest  out.csv.manifest.json
  marker    out.csv._SUCCESS
  10 records rejected, see out.csv.rejects.csv
  next: nothing; or foliopipe retry r1 sends 100 failed records once more (paid again)
`);
  });
  it('of a sample with failures says what to do before the whole source, and not to send them again', () => {
    const sample = { sample: 20, exitCode: 3 } as const;
    expect(textOf(sample)).toContain(
      '\n  next: foliopipe run --set failures.tolerate=15% (leave --limit out) does the whole source, if so many records may fail\n',
    );
    expect(flatOf(sample)).not.toContain('does all of it');
    expect(flatOf({ ...sample, exitCode: 0 })).toContain('foliopipe run (leave --limit out) does all of it.');
    const none = textOf({ ...sample, counts: { ...done.counts, successful: 0, failed: 1000 } });
    expect(none).toContain(
      '\n  next: foliopipe plan shows the first records as they are sent: does upload.columns',
    );
    expect(textOf({ ...sample, exitCode: 0 }) + none + textOf(sample)).not.toContain('foliopipe retry');
  });
  it('after too many failed records says how to ask again, and how to accept them', () => {
    const ended = { exitCode: 3 } as const;
    expect(textOf(ended)).toContain(`
  next: foliopipe retry r1 sends 100 failed records once more (paid again)
  or: foliopipe publish r1 --set failures.tolerate=10% accepts so many: the output is published again with exit 0, and nothing is paid
`);
    const raised = summaryText({ ...done, ...ended }, { ...terms, tolerate: 0.2 });
    expect(raised).toContain('\n  or: foliopipe publish r1 accepts so many: ');
    const unprocessed = textOf({ ...ended, counts: { ...done.counts, successful: 890, unprocessed: 10 } });
    const gone = textOf({ ...ended, prunedAt: 1 }) + textOf({ ...ended, confirmed: true });
    expect(unprocessed + gone).not.toContain('accepts so many');
    expect(textOf({ ...ended, confirmed: true })).not.toContain('foliopipe retry');
  });
  it('breaks a long line behind a path, and never the path', () => {
    const path = `/srv/my nights/${'deep/'.repeat(12)}out.csv`;
    expect(textOf({ output: { ...done.output!, path } })).toContain(
      `\n  output    ${path}\n            (1,000 records, 2 KB), publication 7\n`,
    );
  });
  it('says when result.echo alone decides how results are joined', () => {
    expect(textOf({ joinedOnWord: 'result.echo: [] does not tell' })).toContain(
      '\n  result.echo: [] does not tell.\n',
    );
  });
  it('never lets a rehearsal look real', () => {
    expect(flatOf({ rehearsal: true })).toMatch(/^rehearsal r1 is done .*predictions are not real/);
  });
  it('says that a run was done already, and that --new pays again', () => {
    expect(textOf({ found: 'done' })).toMatch(/done already; nothing was sent\. --new .* pays again\n/);
    expect(summaryText({ ...done, found: 'done' }, { ...terms, reusesAnswers: true })).toMatch(
      /--new starts over and pays for records without a stored answer\n/,
    );
  });
  it('says why a done run was published again, and under which number', () => {
    expect(textOf({ found: 'done', publishedAgain: 'its output was not there' })).toMatch(
      /^run r1 is done already; nothing was sent\. It was published again, as publication 7: its output was not there\n/,
    );
  });
  it('says how to write a missing output again', () => {
    const output = { ...done.output!, inPlace: false };
    expect(textOf({ found: 'done', output })).toContain('write it again with: foliopipe publish r1');
  });
  it('names the other publication at the output path', () => {
    const output = { ...done.output!, inPlace: false, heldBy: { publication: 3, run: 'r0' } };
    const text = textOf({ found: 'done', output });
    expect(text).toContain('\n  out.csv now holds publication 3 of run r0.\n');
    expect(text).not.toContain('foliopipe publish');
  });
  it('says that nothing is next, unless a loss that is named above needs a command', () => {
    const all = { counts: { ...done.counts, successful: 1000, failed: 0 } };
    const origins = { ...done.origins, sent: { records: 1000, successful: 1000, failed: 0, unprocessed: 0 } };
    const end = '\n  next: nothing; foliopipe report r1 makes a page of it\n';
    expect(textOf({ ...all, origins })).toContain(end);
    expect(textOf({ found: 'done' })).toContain(end);
    const output = { ...done.output!, inPlace: false };
    expect(textOf({ ...all, origins, output })).not.toContain('next: nothing');
    const rehearsed = summaryText({ ...done, ...all, origins }, { ...terms, mayRetry: false });
    expect(rehearsed).toMatch(/\n {2}next: nothing\n$/);
  });
  it('after an unusual night lets a person look at it first', () => {
    const text = textOf({ unusual: [{ text: '52% failed' } as RunSummary['unusual'][number]] });
    expect(text).toMatch(/\n {2}next: foliopipe report r1 shows it .*\n {2}or: foliopipe retry r1 sends/);
  });
  it('after a deadline names the command that goes on', () => {
    expect(textOf({ state: 'open', exitCode: 8 })).toMatch(/\n {2}next: foliopipe run goes on with it/);
    // Without the flag it would be the whole job.
    expect(textOf({ state: 'open', exitCode: 8, sample: 20 })).toContain(
      'next: foliopipe run --limit 20 goes on with it; foliopipe status --run r1 shows',
    );
  });
  it('does not call an unfinished run balanced', () => {
    const counts = { read: 1000, successful: 181, failed: 19, unprocessed: 0, rejected: 0 };
    expect(flatOf({ state: 'open', exitCode: 8, counts })).toContain(
      'records 1,000 read; 200 rows written so far = 181 successful + 19 failed (9.5%) + 0 unprocessed',
    );
  });
  it('says how to go on with a run that is not done', () => {
    const open = { state: 'open', output: null, manifest: null, marker: null } as const;
    const chunks = { all: 3, byState: { ...nothingTallied, submitted: 1 } };
    expect(textOf({ ...open, chunks })).toBe('run r1: 1 open folio; go on with: foliopipe collect\n');
    const finished = { all: 3, byState: { ...nothingTallied, submitted: 1, finished: 2 } };
    expect(textOf({ ...open, chunks: finished })).toBe(
      'run r1: 1 open folio, 2 finished ones; go on with: foliopipe collect\n',
    );
  });
  it.each([
    [
      2,
      1,
      '2 uploads (20 records): it is unknown whether they were accepted; 1 sent again, perhaps paid twice, and',
    ],
    [1, 1, '1 upload (20 records): it is unknown whether it was accepted; sent again, perhaps paid twice.'],
    [
      1,
      0,
      '1 upload (20 records): it is unknown whether it was accepted; not sent again, perhaps paid in vain.',
    ],
  ])(
    'of %i ambiguous uploads, %i sent again, says what may have been paid twice or in vain',
    (ambiguous, resubmitted, text) => {
      const uploads = { accepted: 3, ambiguous, resubmitted };
      expect(flatOf({ uploads, ambiguousRecords: 20 })).toContain(` ${text}`);
    },
  );
  it('of an upload that was accepted after its chunk was sent again, says that it is paid twice', () => {
    const uploads = { accepted: 4, ambiguous: 0, resubmitted: 1 };
    expect(flatOf({ uploads })).toContain('1 upload sent again before the reply to an earlier one came');
  });

  it('names the file to look for and the command that binds its folio', () => {
    const uploads = { accepted: 2, ambiguous: 1, resubmitted: 0 };
    const adoptable = [{ chunk: 3, fileName: 'nightly-r1-3-1-0a1b2c3d.csv' }];
    expect(textOf({ uploads, ambiguousRecords: 10, adoptable })).toContain(
      'chunk 3 was possibly accepted; if the service lists the file nightly-r1-3-1-0a1b2c3d.csv, bind it: foliopipe adopt --run r1 --chunk 3 FOLIO\n',
    );
  });
  it('names each folio that is lost, and what can be done', () => {
    const chunk = { folio: 'd7b2', records: 100 };
    const text = textOf({
      lost: [
        { ...chunk, chunk: 3, round: 0 },
        { ...chunk, chunk: 9, records: 1, round: 2 },
      ],
    });
    expect(text).toContain(
      '\n  chunk 3: folio d7b2 is lost (100 records UNPROCESSED); the next foliopipe run asks for it again; or foliopipe adopt --run r1 --chunk 3 FOLIO\n',
    );
    expect(text).toContain('chunk 9: folio d7b2 is lost (1 record FAILED as before)');
    expect(text).not.toContain('more chunk');
    const sample = textOf({ sample: 100, lost: [{ ...chunk, chunk: 3, round: 0 }] });
    expect(sample).toContain('; the next foliopipe run --limit 100 asks for it again;');
  });
  it('says how many more chunks without an answer there are than it names', () => {
    const chunks = { all: 40, byState: { ...nothingTallied, downloaded: 4, unprocessed: 35, ambiguous: 1 } };
    const lost = Array.from({ length: 10 }, (_, at) => ({
      chunk: at + 1,
      ...{ folio: 'F', records: 1, round: 0 },
    }));
    expect(textOf({ chunks, lost })).toContain(
      '\n  and 26 more chunks without an answer: foliopipe report r1 lists them on a page\n',
    );
  });
  it('counts the records that the service refused', () => {
    const chunks = { all: 5, byState: { ...nothingTallied, downloaded: 3, refused: 2, split: 1 } };
    expect(textOf({ chunks })).toContain(
      '  2 records refused by the service, one by one: FAILED with RECORD_REFUSED',
    );
  });
  it('says how many records took a known answer, and what that saved', () => {
    const reused = { records: 900, successful: 900, failed: 0, unprocessed: 0 };
    const duplicates = { records: 60, successful: 0, failed: 60, unprocessed: 0 };
    const sent = { records: 40, successful: 0, failed: 40, unprocessed: 0 };
    const saved = { records: 960, amount: 3.84, currency: 'USD' };
    const changes = { origins: { sent, reused, duplicates, skipped: none }, saved, outdated: 7 };
    expect(textOf(changes)).toContain(
      '\n  reuse     900 reused + 60 duplicates, 40 sent (7 with an outdated answer):\n            3.84 USD saved\n',
    );
    expect(textOf({ ...changes, rehearsal: true })).toContain(' 3.84 USD would be saved\n');
    expect(textOf({ ...changes, saved: { ...saved, amount: null } })).toContain('outdated answer)\n');
    expect(textOf({})).not.toContain('reuse');
  });
  it('says that nothing was sent if every answer was known', () => {
    const reused = { ...none, records: 1000, successful: 1000 };
    const origins = { sent: none, reused, duplicates: none, skipped: none };
    const uploads = { accepted: 0, ambiguous: 0, resubmitted: 0 };
    const text = textOf({ origins, uploads, outdated: 0 });
    expect(text).toMatch(/^run r1 is done; every answer was known, and nothing was sent\n/);
    expect(text).toContain('1,000 reused + 0 duplicates, 0 sent\n');
    expect(textOf({ origins, outdated: 0 })).toMatch(/^run r1 is done\n/);
  });
  it('says how many records were blank, and judges the others', () => {
    const sent = { records: 990, successful: 900, failed: 90, unprocessed: 0 };
    const skipped = { ...none, records: 10, failed: 10 };
    const text = textOf({ origins: { sent, reused: none, duplicates: none, skipped }, exitCode: 3 });
    expect(text).toContain(
      '\n  10 records blank in all sent columns: FAILED with NOTHING_TO_SEND, not sent\n  and not paid for.\n',
    );
    expect(text).toContain('Exit 3: 90 of 990 records failed (9.1%)');
  });
  it('warns of results that cannot be assigned to a record', () => {
    expect(textOf({ indistinct: 2 })).toMatch(/2 records have equal echoed columns/);
  });
});

describe('the figures of a summary', () => {
  const figures = {
    paid: { records: 1_320, amount: 5.28, currency: 'USD' },
    saved: { records: 20_740, amount: 82.96, currency: 'USD' },
    retried: { records: 100, searches: 3 },
    inVain: { records: 200, amount: 0.8, perhaps: 40 },
    thisProcess: {
      phases: { check: 4_000, upload: 60_000, download: 3_000, wait: 600_000, merge: 0 },
      requests: { uploads: 132, polls: 1_042, downloads: 264, searches: 3 },
      bytes: { uploaded: 5_000_000, downloaded: 9_000_000 },
      admitted: 8,
    },
  };
  const linesOf = (changes: Partial<RunSummary>) => textOf(changes).split('\n');

  it('are what was paid, paid again and in vain, and how long each phase took', () => {
    expect(textOf(figures)).toContain(`
  retried   100 failed records sent once more, 3 failed records searched one by
            one; paid again
  paid      up to 1,320 records (5.28 USD); saved 20,740 records (82.96 USD)
  in vain   200 records (0.80 USD) without an answer, perhaps 40 records (0.16
            USD)
  time      11m: check 4s, upload 1m, download 3s, waiting for the service 10m;
            4.77 MB sent, 8.58 MB received, 1,042 polls
  folios    the service allows 8 open folios and has refused more of them (429):
            concurrency.folios is too high for it
`);
    const one = { ...figures, thisProcess: { ...figures.thisProcess, admitted: 1 } };
    expect(textOf(one)).toContain('the service allows 1 open folio and has refused');
  });

  it('say once what was saved', () => {
    expect(textOf({ ...figures, outdated: 0 })).toContain('\n  paid      up to 1,320 records (5.28 USD)\n');
  });

  it('leave out what is zero, and money where no price is known', () => {
    const paid = { ...figures.paid, amount: null };
    expect(textOf({ paid })).toContain('\n  paid      1,320 records\n');
    expect(textOf({})).not.toMatch(/^ {2}(?:paid|in vain|retried|time) /m);
    expect(textOf({ ...figures, rehearsal: true })).not.toMatch(/^ {2}(?:paid|in vain) /m);
  });

  it('name the commonest reasons, cut and escaped', () => {
    const failedBy: RunSummary['failedBy'] = [
      { code: 'SERVICE_FAILED', reason: `no address \u{1b}[31m${'x'.repeat(300)}`, records: 60 },
      { code: 'SERVICE_FAILED', reason: 'state unknown', records: 30 },
      { code: 'NOTHING_TO_SEND', reason: 'blank', records: 5 },
      { code: 'SERVICE_FAILED', reason: null, records: 5 },
    ];
    const text = textOf({ failedBy });
    expect(text).toMatch(
      /\n {2}reasons {3}60 SERVICE_FAILED: no address \\u\{1b\}\[31mx+…\n {2,}30 SERVICE_FAILED: state unknown\n/,
    );
    expect(text).toMatch(/\n {13}5 other reasons\n/);
  });

  it('say how many reasons are not known, so that they add up', () => {
    const failedBy = [{ code: 'SERVICE_FAILED' as const, reason: 'state unknown', records: 30 }];
    const text = textOf({ failedBy, failedWithoutReason: 70 });
    expect(text).toContain(
      '30 SERVICE_FAILED: state unknown\n            70 no reason was kept (by an older',
    );
    expect(textOf({ failedWithoutReason: 9, prunedAt: 1 })).toContain(
      '9 the reason was removed with the results',
    );
  });

  it('fit a terminal of 80 columns', () => {
    const failedBy = [{ code: 'SERVICE_FAILED' as const, reason: 'x'.repeat(400), records: 1e9 }];
    const counts = { read: 1e9, successful: 9e8, failed: 9e7, unprocessed: 9e6, rejected: 1e6 };
    const columns = Array.from({ length: 30 }, (_, at) => `column_${at}`);
    const lines = linesOf({ ...figures, failedBy, counts, columns, outdated: 7 });
    // A command is one line, so that it can be copied.
    expect(lines.filter((line) => line.length > 80 && !line.startsWith('  next: '))).toEqual([]);
  });
});

describe('exit 3', () => {
  const next = '  next: foliopipe retry r1 sends 100 failed records once more (paid again)\n';
  it('says how many failed, how many are tolerated, and the next command', () => {
    expect(textOf({ exitCode: 3 })).toContain(
      `  Exit 3: 100 of 1,000 records failed (10%), and failures.tolerate is 5%\n${next}`,
    );
  });
  it('says how many are unprocessed, and what buys only them: retry sends none of them', () => {
    const counts = { ...done.counts, successful: 899, failed: 1, unprocessed: 100 };
    const why = 'Exit 3: 100 records are unprocessed';
    const does = 'sends up to 100 unprocessed records once more, and the others keep their answers';
    expect(textOf({ exitCode: 3, counts })).toMatch(
      new RegExp(
        `  ${why}\\n  next: foliopipe run --new --set reuse.maxAge=90d ${does} \\(paid again\\)\\n$`,
      ),
    );
    const of = (changes: Partial<RunSummary>, more = {}) =>
      summaryText({ ...done, exitCode: 3, counts, ...changes }, { ...terms, reusesAnswers: true, ...more });
    expect(of({ rehearsal: true })).toContain(`${why}\n  next: foliopipe run --new ${does}\n`);
    const adoptable = [{ chunk: 3, fileName: 'nightly-r1-3-1-0a1b2c3d.csv' }];
    expect(of({ adoptable })).toContain(`${does} (paid again); what adopt binds first is not sent again\n`);
    expect(of({ prunedAt: 5 })).toMatch(new RegExp(`${why}\\n$`));
    expect(of({}, { mayRetry: false })).toMatch(new RegExp(`${why}\\n$`));
    const none = { ...counts, successful: 0, failed: 0, unprocessed: 1000 };
    expect(of({ counts: none })).toContain('sends up to 1,000 unprocessed records once more (paid again)\n');
  });
  it('says how failures of earlier nights are sent again, which retry leaves out', () => {
    const reused = { records: 300, successful: 201, failed: 99, unprocessed: 0 };
    const ended = { ...done, exitCode: 3 } as const;
    const of = (failed: number, more = {}) =>
      summaryText(
        { ...ended, origins: { ...done.origins, reused, sent: { ...done.origins.sent, failed } } },
        { ...terms, reusesAnswers: true, ...more },
      );
    const way = 'or: foliopipe run --new --set reuse.failedAge=0 sends';
    expect(of(0)).toContain(
      `and nothing is paid\n  ${way} 99 failed records once more, those of earlier nights too (paid again)\n`,
    );
    expect(of(1)).toContain(`${way} 100 failed records once more`);
    expect(of(0, { reusesAnswers: false }) + of(0, { mayRetry: false })).not.toContain(way);
    expect(of(0, { tolerate: 0.5 }) + summaryText(ended, terms)).not.toContain(way);
  });
  it('gives both reasons', () => {
    const counts = { ...done.counts, successful: 899, unprocessed: 1 };
    expect(textOf({ exitCode: 3, counts })).toContain('tolerate is 5%; 1 record is unprocessed\n  next: ');
  });
  it('gives a reason even if more is tolerated now', () => {
    const text = summaryText({ ...done, exitCode: 3 }, { ...terms, tolerate: 0.5 });
    expect(text).toContain('  Exit 3: more failed than failures.tolerate allowed when it was published\n');
  });
  it('says what a retry costs, how it asks, and names none that would send nothing', () => {
    const budget = { pricePerRecord: 0.01, currency: 'EUR' };
    const of = (changes: Partial<RunSummary>, more = {}) =>
      summaryText({ ...done, exitCode: 3, ...changes }, { ...terms, budget, ...more });
    expect(of({})).toContain('sends 100 failed records once more (paid again: 1.00 EUR)\n');
    expect(of({}, { rescue: 'search' })).toContain('searches up to 100 failed records one by one (paid');
    expect(of({ rehearsal: true })).toMatch(/sends 100 failed records once more\n/);
    const byState = { ...nothingTallied, refused: 100 };
    expect(of({ chunks: { all: 3, byState } })).not.toContain('retry');
    expect(of({ chunks: { all: 3, byState } }, { rescue: 'search' })).toContain('searches up to 100 failed');
  });
  it('names no second search of the same records, but a file of them', () => {
    const searches = { answered: 99, ambiguous: 1 };
    const text = summaryText({ ...done, exitCode: 3, searches }, { ...terms, rescue: 'search' });
    expect(text).toContain(
      '\n  next: foliopipe retry r1 --by upload sends 100 failed records once more (paid again)\n',
    );
  });
  it('says why a retry sends fewer than have failed', () => {
    const sent = { ...done.origins.sent, failed: 1 };
    const reused = { records: 300, successful: 201, failed: 99, unprocessed: 0 };
    const origins = { ...done.origins, sent, reused };
    const does = 'sends 1 failed record once more (paid again), and not the 99 of earlier nights';
    expect(textOf({ origins })).toContain(`next: nothing; or foliopipe retry r1 ${does}\n`);
  });
  it('offers no retry of a rehearsal, whose state is its own', () => {
    expect(summaryText({ ...done, exitCode: 3 }, { ...terms, mayRetry: false })).not.toContain('retry');
  });
});

describe('a withheld output', () => {
  const withheld = { tolerate: 0.05, path: 'out.csv', inPlace: { publication: 6, run: 'r0' } };
  const files = { output: null, manifest: null, marker: null, publication: null, published: false };
  const held = { ...done, ...files, state: 'withheld', exitCode: 9, withheld } as const;

  it('says what stays in its place, why, and each way out', () => {
    expect(summaryText(held, terms)).toBe(`run r1 is complete, and its output is withheld
  output    out.csv still holds publication 6 of run r0
  records   1,010 read = 900 successful + 100 failed (10%) + 0 unprocessed + 10
            rejected
  Exit 9: 100 of 1,000 records failed (10%), and failures.tolerate is 5%; failures.onExceeded: withhold keeps such an output back
  next: foliopipe publish r1 publishes it as it is (exit 3)
  or: foliopipe retry r1 sends 100 failed records once more (paid again)
  or: foliopipe run --set failures.tolerate=10% publishes it (exit 0)
`);
  });
  it('names no tolerance if records are unprocessed, and no retry if none failed', () => {
    const counts = { ...done.counts, successful: 990, failed: 0, unprocessed: 10 };
    const sent = { records: 1000, successful: 990, failed: 0, unprocessed: 10 };
    const origins = { ...done.origins, sent };
    const text = summaryText({ ...held, counts, origins, found: 'done' }, terms);
    expect(text).toMatch(/^run r1 is still withheld; nothing was sent\n/);
    expect(text).toMatch(/ {2}Exit 9: 10 records are unprocessed; .*\n {2}next: foliopipe publish r1 .*\n/);
    expect(text).toMatch(
      / {2}or: foliopipe run --new .* sends up to 10 unprocessed records once more, and .*\n$/,
    );
    expect(text).not.toMatch(/foliopipe retry|failures\.tolerate=/);
  });
  it('names the failed records that a new run sends beside the unprocessed ones, and no retry that releases nothing', () => {
    const counts = { ...done.counts, successful: 980, failed: 10, unprocessed: 10 };
    const sent = { records: 1000, successful: 980, failed: 10, unprocessed: 10 };
    const text = summaryText({ ...held, counts, origins: { ...done.origins, sent } }, terms);
    expect(text).toContain('sends up to 10 unprocessed and 10 failed records once more');
    expect(text).not.toContain('foliopipe retry');
  });
  it('still has its reason if more is tolerated now, and says where nothing is in place', () => {
    const text = summaryText(
      { ...held, withheld: { ...withheld, inPlace: null } },
      { ...terms, tolerate: 0.5 },
    );
    expect(text).toContain('failures.tolerate is 5%');
    expect(text).toContain('\n  output    no publication of the pipeline is at out.csv\n');
  });
  it('of a rehearsal names only what reaches its own state', () => {
    const text = summaryText({ ...held, rehearsal: true }, { ...terms, mayRetry: false });
    expect(text).toMatch(
      /\n {2}next: the same run --rehearse with --set failures\.tolerate=10% publishes it/,
    );
    expect(text).not.toMatch(/foliopipe (publish|retry|run)/);
    const output = { ...done.output!, inPlace: false };
    for (const prunedAt of [null, 1]) {
      for (const gone of [{ ...done, output }, held]) {
        const told = summaryText({ ...gone, rehearsal: true, prunedAt }, { ...terms, mayRetry: false });
        expect(told).not.toMatch(/foliopipe (publish|retry|run)/);
        expect(told).toMatch(/the same run --rehearse\s+with/);
      }
    }
  });
  it('of a run whose results were removed names no command that needs them', () => {
    const pruned = { ...held, prunedAt: Date.UTC(2026, 0, 2) };
    const text = summaryText(pruned, terms);
    expect(text).toMatch(
      /\n {2}next: its results were removed on 2026-01-02 .*; foliopipe run --new sends each record again that has no stored answer .*, and pays for it\n$/,
    );
    expect(text).not.toMatch(/foliopipe (publish|retry)/);
    const gone = { ...done.output!, inPlace: false };
    const missing = textOf({ prunedAt: pruned.prunedAt, output: gone, exitCode: 3 });
    expect(missing).toContain('The output is missing or was changed, and its results were removed');
    expect(missing).not.toMatch(/foliopipe (publish|retry)/);
  });
  it('says why it is published now', () => {
    const text = textOf({ released: 'failures.tolerate is 10%' });
    expect(text).toMatch(
      /^run r1 was withheld; nothing was sent\. It is published now, as publication 7: failures\.tolerate is 10%\n/,
    );
  });
});
