/** What a client sees of each fault, over real HTTP. */
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { parseFaults } from '../../../src/service/faults/read-faults.js';
import type { ServiceOptions } from '../../../src/service/open-service.js';
import {
  acceptedFolio,
  download,
  partText,
  search,
  TOKEN,
  track,
  trackFinished,
  trackUntil,
  upload,
  uploadForm,
  withService,
} from '../../helpers/service/client.js';
import { expectedResults, uploadCsv } from '../../helpers/service/expected-results.js';

const BULK = '/naics/naics/external/upload';
const RECORDS = 120;
const { successful, failed } = expectedResults(RECORDS);

type Rule = Readonly<Record<string, unknown>>;

function withFaults(
  rules: readonly Rule[],
  use: (url: string) => Promise<void>,
  options: Partial<ServiceOptions> = {},
): Promise<void> {
  return withService({ ...options, faults: parseFaults({ seed: 7, rules }) }, ({ baseUrl }) => use(baseUrl));
}

function postFile(url: string): Promise<Response> {
  return fetch(`${url}${BULK}?token=${TOKEN}`, { method: 'POST', body: uploadForm(uploadCsv(RECORDS)) });
}

function getPart(url: string, folio: string, fileStatus = 'SUCCESSFUL'): Promise<Response> {
  return fetch(
    `${url}${BULK}/file/download?${new URLSearchParams({ token: TOKEN, folio, part: '0', fileStatus })}`,
  );
}

async function finishedFolio(url: string): Promise<string> {
  const folio = await acceptedFolio(url, uploadCsv(RECORDS));
  await trackFinished(url, folio);
  return folio;
}

/** The values of a part's records, the header first. */
async function partRows(url: string, folio: string, fileStatus = 'SUCCESSFUL'): Promise<string[][]> {
  return parse(await partText(url, folio, 0, fileStatus));
}

describe('a reply fault', () => {
  it('answers with a status and Retry-After, and accepts nothing', async () => {
    const rules = [{ on: 'upload', calls: 1, fault: { status: 503, retryAfter: '30s', html: true } }];
    await withFaults(
      rules,
      async (url) => {
        const refused = await postFile(url);
        expect(refused.status).toBe(503);
        expect(refused.headers.get('retry-after')).toBe('30');
        expect(refused.headers.get('content-type')).toContain('text/html');
        expect(refused.headers.get('foliopipe-service')).toBe('local');
        expect(await refused.text()).toContain('<html>');
        const next = await postFile(url);
        expect(next.status).toBe(200); // The one slot is still free.
      },
      { maxOpen: 1, recordsPerSecond: 1 },
    );
  });

  it('hits every operation under "any"', async () => {
    await withFaults([{ fault: { status: 429 } }], async (url) => {
      const replies = await Promise.all([
        upload(url, uploadCsv(1)),
        track(url, 'f'),
        download(url, { folio: 'f' }),
        search(url, { token: TOKEN, name: 'a' }),
      ]);
      expect(replies.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
      expect(replies.map(({ headers }) => headers.get('foliopipe-service'))).toEqual(Array(4).fill('local'));
    });
  });

  it('leaves out the header of the local service', async () => {
    const rules = [
      { on: 'upload', calls: 2, fault: { foreign: true } },
      { on: 'track', calls: 1, fault: { foreign: true, unknownStatus: 'QUEUED' } },
    ];
    await withFaults(rules, async (url) => {
      const uploads = [await postFile(url), await postFile(url)];
      expect(uploads.map(({ status }) => status)).toEqual([200, 200]);
      const { response } = (await uploads[1]!.json()) as { response: { folio: string } };
      const { folio } = response;
      const polls = [await track(url, folio), await track(url, folio)];
      expect(polls[0]!.body).toMatchObject({ response: { progressInfo: { status: 'QUEUED' } } });
      const header = 'foliopipe-service';
      expect([...uploads, ...polls].map(({ headers }) => headers.get(header))).toEqual([
        'local',
        null,
        null,
        'local',
      ]);
    });
  });

  it('cuts an upload before anything is accepted, or after', async () => {
    const rules = [
      { on: 'upload', calls: 1, fault: { cut: 'before-reply' } },
      { on: 'upload', calls: 3, fault: { cut: 'after-accepting' } },
    ];
    await withFaults(
      rules,
      async (url) => {
        await expect(postFile(url)).rejects.toThrow();
        expect((await postFile(url)).status).toBe(200);
        await expect(postFile(url)).rejects.toThrow();
        // Both slots are taken: by the second upload, and by the third, whose reply was cut.
        expect((await postFile(url)).status).toBe(429);
      },
      { maxOpen: 2, recordsPerSecond: 1 },
    );
  });

  it('cuts a reply in the middle, or ends it after half', async () => {
    const rules = [
      { on: 'download', calls: 1, fault: { cut: 'in-reply' } },
      { on: 'download', calls: 2, fault: { truncate: '50%' } },
    ];
    await withFaults(rules, async (url) => {
      const folio = await finishedFolio(url);
      await expect(getPart(url, folio).then((reply) => reply.text())).rejects.toThrow();
      const half = await (await getPart(url, folio)).text();
      const whole = await (await getPart(url, folio)).text();
      expect(whole.startsWith(half)).toBe(true);
      expect(half.length).toBe(Math.floor(whole.length / 2));
    });
  });

  it('stalls one call while others are answered, until the service closes', async () => {
    const rules = [
      { on: 'track', calls: 1, fault: { stall: '1m' } },
      { on: 'track', calls: 2, fault: { stall: '10h' } },
    ];
    let stalled: Promise<unknown> | undefined;
    const answered: string[] = [];
    await withFaults(
      rules,
      async (url) => {
        const folio = await acceptedFolio(url, uploadCsv(1));
        const short = track(url, folio).then(() => answered.push('1m'));
        stalled = track(url, folio).catch((error: unknown) => error);
        await track(url, folio).then(() => answered.push('none'));
        await short;
      },
      { timeScale: 200 },
    );
    expect(answered).toEqual(['none', '1m']);
    expect(await stalled).toBeInstanceOf(Error);
  });

  it('sends a whole reply in slow pieces', async () => {
    await withFaults([{ on: 'track', fault: { slow: { bytesPerSecond: 2000 } } }], async (url) => {
      const folio = await acceptedFolio(url, uploadCsv(1));
      const reply = await fetch(`${url}${BULK}/file/info?${new URLSearchParams({ folio, token: TOKEN })}`);
      const pieces: Buffer[] = [];
      for await (const piece of reply.body!) pieces.push(Buffer.from(piece));
      expect(pieces.length).toBeGreaterThan(1);
      expect(JSON.parse(Buffer.concat(pieces).toString()).response.folio).toBe(folio);
    });
  });

  it('answers an HTML page although it did the work', async () => {
    await withFaults(
      [{ on: 'upload', calls: 1, fault: { html: true } }],
      async (url) => {
        const page = await postFile(url);
        expect([page.status, (await page.text()).slice(0, 9)]).toEqual([200, '<!doctype']);
        expect((await postFile(url)).status).toBe(429);
      },
      { maxOpen: 1, recordsPerSecond: 1 },
    );
  });

  it('breaks the base64 of a part once', async () => {
    await withFaults([{ on: 'download', folioCalls: 1, fault: { brokenBase64: true } }], async (url) => {
      const folio = await finishedFolio(url);
      const query = { folio, part: '0', fileStatus: 'SUCCESSFUL' };
      const broken = (await download(url, query)).body.response.content;
      const right = (await download(url, query)).body.response.content;
      expect(broken).toBe(`${right[0]}*${right.slice(2)}`);
    });
  });
});

describe('a fault of the content', () => {
  it('changes counts but not the parts', async () => {
    const counts = { successful: 1, failed: -1, total: 2 };
    await withFaults([{ fault: { counts } }], async (url) => {
      const { body } = await upload(url, uploadCsv(RECORDS));
      expect(body.response.totalRecords).toBe(RECORDS + 2);
      const { records, progressInfo } = await trackFinished(url, body.response.folio);
      expect(records).toBe(RECORDS + 2);
      expect(progressInfo).toMatchObject({
        processedRecords: RECORDS,
        successfulRecords: successful.length + 1,
        failedRecords: failed.length - 1,
      });
      expect(await partRows(url, body.response.folio)).toHaveLength(successful.length + 1);
    });
  });

  it('sends a lower percentage than before, and an unknown status', async () => {
    const rules = [
      { on: 'track', folioCalls: { from: 2, to: 3 }, fault: { percentage: 'back' } },
      { on: 'track', folioCalls: 3, fault: { unknownStatus: 'QUEUED' } },
    ];
    await withFaults(rules, async (url) => {
      const folio = await acceptedFolio(url, uploadCsv(RECORDS));
      await expect.poll(async () => (await getPart(url, folio)).status).toBe(200);
      const seen: unknown[] = [];
      for (let poll = 0; poll < 4; poll++) {
        const { status, processedPercentage } = (await track(url, folio)).body.response.progressInfo;
        seen.push([status, processedPercentage]);
      }
      expect(seen).toEqual([
        ['FINISHED', 100],
        ['FINISHED', 50],
        ['QUEUED', 50],
        ['FINISHED', 100],
      ]);
    });
  });

  it('changes the records of a part in the same way at each matching download', async () => {
    const records = { missing: 1, doubled: 2, strange: 1, shuffled: true };
    const rules = [{ on: 'download', fileStatus: 'SUCCESSFUL', folioCalls: [1, 2], fault: { records } }];
    await withFaults(rules, async (url) => {
      const folio = await finishedFolio(url);
      const changed = await partText(url, folio, 0);
      expect(await partText(url, folio, 0)).toBe(changed);
      const unchanged: string[][] = parse(await partText(url, folio, 0));
      const rows: string[][] = parse(changed);
      expect(rows[0]).toEqual(unchanged[0]);
      const sent = new Set(unchanged.slice(1).map(String));
      const received = rows.slice(1).map(String);
      expect(received).toHaveLength(sent.size + 2);
      expect(received.filter((row) => !sent.has(row))).toHaveLength(1);
      expect(new Set(received).size).toBe(sent.size);
      expect(received.map((row) => Number.parseInt(row, 10))).not.toEqual(
        received.map((row) => Number.parseInt(row, 10)).sort((one, other) => one - other),
      );
      expect(await partRows(url, folio, 'FAILED')).toHaveLength(failed.length + 1);
    });
  });

  it('changes the columns of one folio', async () => {
    const columns = { rename: { naics_code: 'code' }, add: ['score'], drop: ['confidence', 'Address'] };
    await withFaults([{ on: 'download', folio: 2, fault: { columns } }], async (url) => {
      const [first, second] = [await finishedFolio(url), await finishedFolio(url)];
      const [header, record] = await partRows(url, first);
      const [changedHeader, changedRecord] = await partRows(url, second);
      expect(header).toEqual(['record_id', 'Name', 'Address', 'naics_code', 'naics_title', 'confidence']);
      expect(changedHeader).toEqual(['record_id', 'Name', 'code', 'naics_title', 'score']);
      const [id, name, , code, title] = record!;
      expect(changedRecord).toEqual([id, name, code, title, 'added']);
    });
  });
});

describe('a fault of a folio', () => {
  it('forgets it until the service ends', async () => {
    await withFaults([{ on: 'track', folio: 1, folioCalls: 2, fault: { forget: true } }], async (url) => {
      const [lost, kept] = [await acceptedFolio(url, uploadCsv(1)), await acceptedFolio(url, uploadCsv(1))];
      const statuses = [];
      for (let poll = 0; poll < 3; poll++) statuses.push((await track(url, lost)).status);
      expect(statuses).toEqual([200, 404, 404]);
      expect((await getPart(url, lost)).status).toBe(404);
      await trackFinished(url, kept);
      expect((await getPart(url, kept)).status).toBe(200);
    });
  });

  it('never finishes it', async () => {
    await withFaults([{ folio: 1, fault: { neverFinishes: true } }], async (url) => {
      const stuck = await acceptedFolio(url, uploadCsv(RECORDS));
      await finishedFolio(url);
      const { progressInfo } = await trackUntil(
        url,
        stuck,
        (response) => response.progressInfo.processedPercentage === 99,
      );
      expect(progressInfo.status).toBe('PROCESSING');
      expect((await getPart(url, stuck)).status).toBe(409);
    });
  });

  it('expires its results', async () => {
    const rules = [
      { on: 'download', folio: 1, fault: { expire: '24d' } },
      { on: 'download', folio: 2, fault: { expire: '1ms' } },
    ];
    await withFaults(rules, async (url) => {
      const [kept, gone] = [await finishedFolio(url), await finishedFolio(url)];
      expect((await getPart(url, kept)).status).toBe(200);
      await expect.poll(async () => (await getPart(url, gone)).status).toBe(410);
      expect((await track(url, gone)).body.response.progressInfo.status).toBe('FINISHED');
    });
  });

  it('begins at its time, and sends Retry-After in real time', async () => {
    const rules = [{ between: { after: '1m' }, fault: { status: 503, retryAfter: '30m' } }];
    await withFaults(
      rules,
      async (url) => {
        await expect.poll(async () => (await track(url, 'f')).status).toBe(503);
        expect((await track(url, 'f')).headers.get('retry-after')).toBe('2');
      },
      { timeScale: 1200 },
    );
  });
});

describe('a service with faults', () => {
  it('answers calls that no rule matches as without faults', async () => {
    await withFaults([{ on: 'search', calls: 2, fault: { status: 500 } }], async (url) => {
      const body = { token: TOKEN, name: 'Acme' };
      const [first, second, third] = [
        await search(url, body),
        await search(url, body),
        await search(url, body),
      ];
      expect([first.status, second.status, third.status]).toEqual([200, 500, 200]);
      const folio = await finishedFolio(url);
      expect(await partRows(url, folio)).toHaveLength(successful.length + 1);
    });
  });

  it('still refuses what it refuses without faults', async () => {
    await withFaults([{ on: 'track', fault: { percentage: 'back' } }], async (url) => {
      expect((await track(url, 'f', 'another-token')).status).toBe(401);
      expect((await track(url, 'unknown')).status).toBe(404);
    });
  });

  it('processes as many records as its scaled time allows', async () => {
    await withService({ recordsPerSecond: 1, timeScale: 1000 }, async ({ baseUrl: url }) => {
      const folio = await acceptedFolio(url, uploadCsv(RECORDS));
      expect((await trackFinished(url, folio)).progressInfo.processedRecords).toBe(RECORDS);
    });
  });
});
