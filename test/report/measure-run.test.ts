/** The phases of a process add up to its time, whatever overlaps. */
import { expect, it } from 'vitest';
import type { FolioReport, PredictionApi } from '../../src/api/prediction-api.js';
import { createRunMeasure } from '../../src/report/measure-run.js';

/** A client whose calls end when the test says so, and a clock that the test sets. */
function createScene() {
  let at = 0;
  const ends: Record<string, ((value: never) => void) | undefined> = {};
  const later = (name: string) =>
    new Promise<never>((resolve) => {
      ends[name] = resolve;
    });
  const api = {
    upload: ({ file }: { file: { name: string } }) => later(file.name),
    track: (folio: string) => later(folio),
    download: async (_: unknown, consume: (content: AsyncIterable<Buffer>) => Promise<unknown>) => {
      await later('download');
      return consume(
        (async function* () {
          yield Buffer.alloc(7);
          yield Buffer.alloc(5);
        })(),
      );
    },
  } as unknown as PredictionApi;
  const measure = createRunMeasure(() => at);
  const watched = measure.watch(api);
  const { signal } = new AbortController();
  return {
    measure,
    upload: (name: string) =>
      watched.upload({ file: { name, bytes: 100 } as never, description: '' }, signal),
    track: (folio: string) => watched.track(folio, signal),
    download: async () => {
      const read = async (content: AsyncIterable<Buffer>) => {
        let bytes = 0;
        for await (const piece of content) bytes += piece.length;
        return bytes;
      };
      return watched.download({} as never, read, signal);
    },
    until: (time: number) => {
      at = time;
    },
    end: async (name: string, call: Promise<unknown>, value: unknown = {}) => {
      ends[name]!(value as never);
      return call;
    },
  };
}

const finished = { status: 'FINISHED' } as FolioReport;

it('what overlaps counts once: an upload before a download before waiting', async () => {
  const scene = createScene();
  scene.until(5);
  scene.measure.begin();
  const first = scene.upload('first');
  scene.until(15);
  const second = scene.upload('second');
  scene.until(20);
  await scene.end('first', first, { folio: 'f1' });
  scene.until(30);
  await scene.end('second', second, { folio: 'f2' });
  scene.until(130);
  await scene.end('f1', scene.track('f1'), finished);
  const part = scene.download();
  scene.until(150);
  expect(await scene.end('download', part)).toBe(12);
  scene.until(200);
  await scene.end('f2', scene.track('f2'), finished);
  scene.until(210);
  expect(scene.measure.figures()).toEqual({
    phases: { check: 5, upload: 25, download: 20, wait: 150, merge: 10 },
    requests: { uploads: 2, polls: 2, downloads: 1, searches: 0 },
    bytes: { uploaded: 200, downloaded: 12 },
    admitted: null,
  });
});

it('a folio that is lost, or was sent by another process, is waited for only while it is asked for', async () => {
  const scene = createScene();
  scene.measure.begin();
  const poll = scene.track('older');
  scene.until(40);
  await expect(scene.end('older', poll, Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  scene.until(50);
  expect(scene.measure.figures().phases).toEqual({ check: 0, upload: 0, download: 0, wait: 40, merge: 10 });
});
