/** Results that cannot be trusted are fetched once more; then exit 6, nothing published, nothing paid again. */
import { describe, expect, it } from 'vitest';
import type { Behaviour, FakeFolio, Reply } from '../../fake-service/behaviour.js';
import type { FakeResult, PartStyle } from '../../fake-service/parts.js';
import { givingBack } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  expectUntrusted,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';

const all = failingAmong(60);
const isThird = ({ chunk }: FakeFolio) => chunk === 3;

/** Changes the results of the third chunk only. */
function inThird(change: (results: readonly FakeResult[]) => readonly FakeResult[]): Behaviour {
  return { results: (results, folio) => (isThird(folio) ? change(results) : results) };
}

function styleOfThird(style: PartStyle): Behaviour {
  return { style: (folio) => (isThird(folio) ? style : {}), finishedAtPoll: ({ chunk }) => 2 * chunk };
}

/** Changes the counts of the third chunk only. */
function countsOfThird(change: (counts: Reply) => object): Behaviour {
  return {
    tracking: (reply, folio) =>
      isThird(folio) && folio.finished
        ? { ...reply, progressInfo: { ...reply.progressInfo, ...change(reply.progressInfo) } }
        : reply,
  };
}

const withKey = (result: FakeResult, record_id: string): FakeResult => ({
  ...result,
  sent: { ...result.sent, record_id },
});

const untrusted: Readonly<Record<string, { code: string; behaviour: Behaviour }>> = {
  'a missing record that is not counted': { code: 'CHUNK_UNBALANCED', behaviour: inThird((r) => r.slice(1)) },
  'a missing record that is counted': {
    code: 'CHUNK_UNBALANCED',
    behaviour: {
      ...inThird((r) => r.slice(0, -1)),
      ...countsOfThird(({ successfulRecords: n }) => ({ successfulRecords: n + 1 })),
      tracking: (reply: Reply, folio: FakeFolio) => {
        if (!isThird(folio) || !folio.finished) return reply;
        const { successfulRecords, failedRecords } = reply.progressInfo;
        return {
          ...reply,
          progressInfo: { status: 'FINISHED', successfulRecords: successfulRecords + 1, failedRecords },
          segmentation: [{ part: 0, range: `[1-${successfulRecords + 1}]` }],
        };
      },
    },
  },
  'a doubled record': { code: 'CHUNK_UNBALANCED', behaviour: inThird((r) => [...r, r[0]!]) },
  'one record twice instead of another': {
    code: 'RESULTS_DO_NOT_MATCH',
    behaviour: inThird((r) => [r[1]!, ...r.slice(1)]),
  },
  'a key that was never sent': {
    code: 'RESULTS_DO_NOT_MATCH',
    behaviour: inThird(([first, ...rest]) => [withKey(first!, '4711'), ...rest]),
  },
  'the key of another chunk': {
    code: 'RESULTS_DO_NOT_MATCH',
    behaviour: inThird(([first, ...rest]) => [withKey(first!, '1'), ...rest]),
  },
  'a key written in another way': {
    code: 'RESULTS_DO_NOT_MATCH',
    behaviour: inThird((r) => r.map((result) => withKey(result, `0${result.sent.record_id}`))),
  },
  'a strange record among echoed ones': {
    code: 'RESULTS_DO_NOT_MATCH',
    behaviour: {
      ...inThird(([first, ...rest]) => [{ ...first!, sent: { ...first!.sent, name: 'Who?' } }, ...rest]),
      style: () => ({ columns: givingBack('name', 'address', 'state') }),
    },
  },
  'a wrong count of failures': {
    code: 'CHUNK_UNBALANCED',
    behaviour: countsOfThird(({ failedRecords, successfulRecords }) => ({
      failedRecords: failedRecords + 1,
      successfulRecords: successfulRecords - 1,
    })),
  },
  'counts larger than what was sent': {
    code: 'CHUNK_UNBALANCED',
    behaviour: countsOfThird(({ failedRecords }) => ({ failedRecords: failedRecords + 100 })),
  },
  'an additional column in a later folio': {
    code: 'COLUMNS_CHANGED',
    behaviour: {
      ...inThird((r) => r.map((result) => ({ ...result, added: { ...result.added, surprise: 'boo' } }))),
      finishedAtPoll: ({ chunk }) => 2 * chunk,
    },
  },
  'a column missing in a later folio': {
    code: 'COLUMNS_CHANGED',
    behaviour: styleOfThird({ columns: (names) => names.filter((name) => name !== 'confidence') }),
  },
  'no sent column echoed': {
    code: 'JOIN_IMPOSSIBLE',
    behaviour: { style: () => ({ columns: givingBack() }) },
  },
  'the key no longer echoed': {
    code: 'JOIN_WEAKER',
    behaviour: styleOfThird({ columns: givingBack('name', 'address', 'state') }),
  },
};

/** Errors that the config decides: reported at once, and the stored parts stay. */
const decided = ['COLUMNS_CHANGED'];

/** Expects that each part of a chunk was fetched this many times. */
function downloads(job: Job, chunk: number): number {
  const seen = job.service.seen.filter((one) => one.operation === 'download' && one.chunk === chunk);
  return Math.max(0, ...seen.map(({ again }) => again));
}

describe('results that do not fit', () => {
  it.concurrent.each(Object.entries(untrusted))('%s', async (_, { code, behaviour }) => {
    await withJob({ behaviour }, async (job) => {
      const error = await expectUntrusted(job, code);
      if (code !== 'JOIN_IMPOSSIBLE') expect(error.facts).toMatchObject({ chunk: 3 });
      expect(downloads(job, Number(error.facts.chunk))).toBe(decided.includes(code) ? 1 : 2);

      await expectUntrusted(job, code);
      job.service.behaviour = {};
      if (decided.includes(code)) {
        await expectUntrusted(job, code);
        expect(downloads(job, Number(error.facts.chunk))).toBe(1);
        return;
      }
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });

  it('are accepted if they fit the second time', async () => {
    let fetched = false;
    let mended = false;
    const behaviour: Behaviour = {
      results: (results, folio) => (isThird(folio) && !mended ? results.slice(1) : results),
      trouble: ({ operation, chunk }) => {
        if (chunk !== 3) return undefined;
        if (operation === 'download') fetched = true;
        else mended = fetched;
        return undefined;
      },
    };
    await withJob({ behaviour }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
      expect(downloads(job, 3)).toBe(2);
    });
  });
});

it('results of other records with the same state are fetched once more', async () => {
  const behaviour: Behaviour = {
    results: (results) =>
      results.map((result, at) => ({
        ...result,
        sent: { ...result.sent, name: `Other ${at}`, address: `${at} Other St` },
      })),
  };
  await withJob({ behaviour, config: { upload: { keyColumn: null } } }, async (job) => {
    const { facts } = await expectUntrusted(job, 'RESULTS_INDISTINCT');
    expect(downloads(job, Number(facts.chunk))).toBe(2);
    job.service.behaviour = {};
    await expectSuccess(job, await job.enrich(), all);
    await expectEnriched(job);
    expect(job.service.count('upload')).toBe(6);
  });
});

describe('a service that counts other records than were sent', () => {
  it.each([9, 11, 0])('stops further uploads: %i records for 10', async (totalRecords) => {
    const behaviour: Behaviour = { receipt: (reply) => ({ ...reply, totalRecords }) };
    await withJob({ behaviour }, async (job) => {
      await expectUntrusted(job, 'UPLOAD_MISREAD');
      const uploads = job.service.count('upload');
      expect(uploads).toBeLessThanOrEqual(2);
      await expectUntrusted(job, 'UPLOAD_MISREAD');
      // Right counts of later files do not correct this one.
      job.service.behaviour = {};
      const error = await expectUntrusted(job, 'UPLOAD_MISREAD');
      expect(job.service.count('upload')).toBe(uploads);
      const first = job.service.folios.find(({ chunk }) => chunk === error.facts.chunk)!;
      expect(error.facts).toEqual({ chunk: first.chunk, folio: first.id });
      expect(error.hint).toContain(first.fileName);
      expect(await job.failure({}, { fresh: true })).toMatchObject({ code: 'RUN_UNFINISHED_PAID' });
      expect(await job.enrich({}, { fresh: true, yes: true })).toMatchObject({ found: 'new', exitCode: 0 });
      await expectEnriched(job);
    });
  });

  it('is not assumed if the reply has no number', async () => {
    const behaviour: Behaviour = { receipt: ({ totalRecords: _, ...reply }) => reply };
    await withJob({ behaviour }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
    });
  });
});

describe('changed columns', () => {
  it('are accepted without paying again once the config allows them', async () => {
    const surprise = (row: FakeResult): FakeResult =>
      row.status === 'SUCCESSFUL' ? { ...row, added: { ...row.added, surprise: 'boo' } } : row;
    await withJob({ config: { chunks: { maxRecords: 30 } } }, async (job) => {
      await job.enrich();
      job.service.behaviour = { results: (results) => results.map(surprise) };
      const error = await job.failure({}, { fresh: true });
      expect(error).toMatchObject({ code: 'COLUMNS_CHANGED', exitCode: 6 });
      const uploads = job.service.count('upload');
      const columns = ['naics_code', 'naics_title', 'confidence', 'surprise'];
      const summary = await job.enrich({ result: { columns } });
      expect(summary).toMatchObject({ exitCode: 0, columns });
      expect(job.service.count('upload')).toBe(uploads);
    });
  });
});
