/** Mistakes of a program's own client of the service: they lose no folio, and no file is paid for twice unnoticed. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { checkedApi } from '../../src/api/handed-api.js';
import type { PredictionApi } from '../../src/api/prediction-api.js';
import { AmbiguousUploadError, BrokenReplyError, RefusedError } from '../../src/errors.js';
import { contentOf, createFakeApi, report } from '../fake-service/fake-api.js';

const file = { name: 'p-1.csv', bytes: 5, open: () => contentOf('id\n1\n') };
const request = { file, description: 'p' };
const part = { folio: 'F1', part: 0, fileStatus: 'SUCCESSFUL' as const, maxBytes: 1_000 };
const { signal } = new AbortController();

/** A client whose methods give whatever a program in plain JavaScript may give. */
const clientWith = (methods: object, grace = 5): PredictionApi =>
  checkedApi({ ...createFakeApi(), ...methods }, grace);
const never = () => new Promise<never>(() => undefined);
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    (error: unknown) => error as AmbiguousUploadError,
  );

describe('upload', () => {
  const uploadWith = (upload: object) => clientWith({ upload }).upload(request, signal);

  it.each([
    ['nothing', undefined],
    ['no folio', { id: 'F1', totalRecords: 1, rehearsal: false }],
    ['an empty folio', { folio: '', totalRecords: 1, rehearsal: false }],
    ['another kind of folio', { folio: { id: 1 }, totalRecords: 1, rehearsal: false }],
  ])('is in doubt, and not sent again, after %s', async (_, receipt) => {
    const error = await errorOf(uploadWith(async () => receipt));
    expect(error).toBeInstanceOf(AmbiguousUploadError);
    expect(error).toMatchObject({ doubt: 'unreadable', facts: { fileName: 'p-1.csv' } });
    expect(error.message).toContain('the client of the program (api)');
  });

  it('takes a folio that is a number, and does without what is optional', async () => {
    const receipt = await uploadWith(async () => ({ folio: 12 }));
    expect(receipt).toEqual({ folio: '12', totalRecords: null, rehearsal: false });
  });

  /** Aborts the call when the client has read the file, and then does as told. */
  const stopWhenRead = (stop: AbortController, then: (given: AbortSignal) => unknown) => ({
    upload: async (sent: typeof request, given: AbortSignal) => {
      for await (const _ of sent.file.open());
      stop.abort();
      return then(given);
    },
  });

  it('gets its reply after an abort, though the client would obey the signal as fetch does', async () => {
    const stop = new AbortController();
    const receipt = { folio: 'F1', totalRecords: 1, rehearsal: false };
    const client = clientWith(
      stopWhenRead(stop, (given) => {
        given.throwIfAborted();
        return receipt;
      }),
      60_000,
    );
    expect(await client.upload(request, stop.signal)).toEqual(receipt);
  });

  it.each([
    ['obeys the signal', (given: AbortSignal) => once(given, 'abort').then(() => given.throwIfAborted())],
    ['listens to nothing', never],
  ])('is in doubt without a reply in that time, from a client that %s', async (_, then) => {
    const stop = new AbortController();
    const error = await errorOf(clientWith(stopWhenRead(stop, then)).upload(request, stop.signal));
    expect(error).toMatchObject({ code: 'AMBIGUOUS_UPLOAD', doubt: 'no-reply' });
  });

  it('keeps what the client itself says of a file that it has read, such as that it was refused', async () => {
    const refused = new RefusedError('REFUSED', 'the service refuses the file');
    const upload = async (sent: typeof request) => {
      for await (const _ of sent.file.open());
      throw refused;
    };
    expect(await errorOf(uploadWith(upload))).toBe(refused);
  });

  it('was not sent when it ends before the file is read, and then the file cannot be read', async () => {
    const stop = new AbortController();
    let late: Promise<unknown> | undefined;
    const upload = (sent: typeof request, given: AbortSignal) => {
      late = once(given, 'abort').then(() => sent.file.open());
      stop.abort();
      return never();
    };
    expect(await errorOf(clientWith({ upload }).upload(request, stop.signal))).toBe(stop.signal.reason);
    await expect(late).rejects.toBe(stop.signal.reason);
  });
});

describe('ends with its signal, though the client listens to nothing:', () => {
  it('a poll', async () => {
    const stop = new AbortController();
    const asked = clientWith({ track: never }).track('F1', stop.signal);
    stop.abort();
    expect(await errorOf(asked)).toBe(stop.signal.reason);
  });

  it('a download, when nothing reads its part any more', async () => {
    const stop = new AbortController();
    let late: Promise<unknown> | undefined;
    const download = async (_: object, use: (content: unknown) => Promise<unknown>) => {
      late = once(stop.signal, 'abort').then(() => use(contentOf('id')));
      await use(contentOf('id\n1')).catch(() => undefined);
      return never();
    };
    let isRead = false;
    const consume = async (content: AsyncIterable<Buffer>) => {
      try {
        for await (const _ of content) stop.abort();
      } finally {
        await Promise.resolve();
        isRead = true;
      }
    };
    expect(await errorOf(clientWith({ download }).download(part, consume, stop.signal))).toBe(
      stop.signal.reason,
    );
    expect(isRead).toBe(true);
    await expect(late).rejects.toBe(stop.signal.reason);
  });
});

it('calls a report broken that does not say what it must', async () => {
  const client = clientWith({ track: async () => ({ ...report('FINISHED', 5), counts: { successful: 5 } }) });
  const error = await errorOf(client.track('F1', signal));
  expect(error).toBeInstanceOf(BrokenReplyError);
  expect(error.message).toContain('counts.failed');
});

it('takes the facts that a report leaves out as missing, and each part once', async () => {
  const client = clientWith({ track: async () => ({ status: 'PROCESSING', successfulParts: [1, 0, 1] }) });
  const expected = { ...report('PROCESSING'), successfulParts: [0, 1] };
  expect(await client.track('F1', signal)).toEqual(expected);
});

describe('download', () => {
  const collect = async (content: AsyncIterable<Buffer>) => {
    let bytes = 0;
    for await (const piece of content) bytes += piece.length;
    return bytes;
  };
  const downloadWith = (download: object) => clientWith({ download }).download(part, collect, signal);
  type Consume = (content: unknown, reply?: unknown) => Promise<unknown>;

  it('gives what the last call of consume has given', async () => {
    const bytes = await downloadWith(async (_: unknown, consume: Consume) => {
      await consume(contentOf('i'));
      await consume(contentOf('id', '\n1'));
    });
    expect(bytes).toBe(4);
  });

  it.each([
    ['never calls consume', async () => undefined, 'no whole part'],
    [
      'hides that its last call of consume has failed',
      async (_: unknown, consume: Consume) => {
        await consume(contentOf('i'));
        await consume([5]).catch(() => undefined);
      },
      'no whole part',
    ],
    [
      'hands texts in',
      async (_: unknown, consume: Consume) => consume(['id\n1']),
      'a piece of a part is a string',
    ],
  ])('is broken by a client that %s', async (_, download, message) => {
    const error = await errorOf(downloadWith(download));
    expect(error).toBeInstanceOf(BrokenReplyError);
    expect(error.message).toContain(message);
  });
});

it('counts a search as possibly paid that has no reply when its time is over', async () => {
  const stop = new AbortController();
  const search = (_: object, given: AbortSignal) => {
    stop.abort();
    return once(given, 'abort').then(() => given.throwIfAborted());
  };
  const error = await errorOf(clientWith({ search }).search({ name: 'A' }, stop.signal));
  expect(error).toMatchObject({ code: 'AMBIGUOUS_SEARCH', doubt: 'no-reply' });
});

it('counts a search as possibly paid whose answer holds itself, and so cannot be written', async () => {
  const answer: Record<string, unknown> = {};
  answer.self = answer;
  const search = async () => ({ answer, rehearsal: false });
  const error = await errorOf(clientWith({ search }).search({ name: 'A' }, signal));
  expect(error).toMatchObject({ code: 'AMBIGUOUS_SEARCH', doubt: 'unreadable' });
});

it('hands the client all that it is asked with: who polls, fetches or searches waits and ends by it', async () => {
  const given: Record<string, readonly unknown[]> = {};
  const keep = (name: string, first: number, reply?: unknown) => {
    return async (...args: readonly unknown[]) => {
      given[name] = args.slice(first);
      return reply;
    };
  };
  const [until, begins, waits] = [new AbortController().signal, () => undefined, { begins: () => undefined }];
  const client = clientWith({
    track: keep('track', 2, report('PROCESSING')),
    download: keep('download', 3),
    search: keep('search', 2, { answer: {}, rehearsal: false }),
    ready: keep('ready', 0),
  });
  await client.track('F1', signal, until, begins);
  await errorOf(client.download(part, async () => undefined, signal, until));
  await client.search({ name: 'A' }, signal, waits);
  await client.ready?.(signal);
  expect(given).toEqual({ track: [until, begins], download: [until], search: [waits], ready: [signal] });
});
