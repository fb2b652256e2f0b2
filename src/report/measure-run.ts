/**
 * Measures what a process does for a run: its requests, their bytes, and what it waits for. Each moment counts for one
 * phase: the process uploads, else it downloads, else it waits for the service, else it works itself. So the times of the
 * phases add up to the time of the process. The figures are not stored.
 */
import { performance } from 'node:perf_hooks';
import type { PredictionApi } from '../api/prediction-api.js';
import type { Bytes, Milliseconds } from '../types.js';

/** What a process does at a moment. */
export const phases = ['check', 'upload', 'download', 'wait', 'merge'] as const;

/** What a process has done for a run. */
export interface ProcessFigures {
  /**
   * How long each phase took. `check`: until the source is checked and the run is found or begun. `upload`: an upload is
   * in flight. `download`: a download is in flight, and no upload. `wait`: the service works on folios, and neither is in
   * flight. `merge`: the rest, which is merging, publishing and loading.
   */
  readonly phases: Readonly<Record<(typeof phases)[number], Milliseconds>>;
  readonly requests: {
    readonly uploads: number;
    readonly polls: number;
    readonly downloads: number;
    readonly searches: number;
  };
  /** Of chunk files and of decoded parts. */
  readonly bytes: { readonly uploaded: Bytes; readonly downloaded: Bytes };
  /** How many open folios the service allows, if it has refused more; else null. */
  readonly admitted: number | null;
}

/** Measures what a process does for a run. */
export interface RunMeasure {
  /** Called when the run is found or begun. From then on, the rest of the time counts as `merge` and not as `check`. */
  begin(): void;
  /** Wraps the client, to measure its requests. */
  watch(api: PredictionApi): PredictionApi;
  /** @param folios see `ProcessFigures.admitted`. */
  admit(folios: number | null): void;
  figures(): ProcessFigures;
}

/** Begins to measure. @param now a monotonic clock, in milliseconds. */
export function createRunMeasure(now: () => Milliseconds = () => performance.now()): RunMeasure {
  const times = { check: 0, upload: 0, download: 0, wait: 0, merge: 0 };
  const requests = { uploads: 0, polls: 0, downloads: 0, searches: 0 };
  const bytes = { uploaded: 0, downloaded: 0 };
  const inFlight = { upload: 0, download: 0 };
  /** The folios that the service works on, as far as this process has seen. */
  const folios = new Set<string>();
  let admitted: number | null = null;
  let hasBegun = false;
  let since = now();

  const phase = () => {
    if (inFlight.upload > 0) return 'upload';
    if (inFlight.download > 0) return 'download';
    if (folios.size > 0) return 'wait';
    return hasBegun ? 'merge' : 'check';
  };
  /** Adds the time until now to the phase that ends, or goes on, now. */
  const count = () => {
    const at = now();
    times[phase()] += at - since;
    since = at;
  };
  const during = async <T>(kind: keyof typeof inFlight, work: () => Promise<T>): Promise<T> => {
    count();
    inFlight[kind] += 1;
    try {
      return await work();
    } finally {
      count();
      inFlight[kind] -= 1;
    }
  };
  const wait = (folio: string, isOpen: boolean) => {
    if (folios.has(folio) === isOpen) return;
    count();
    if (isOpen) folios.add(folio);
    else folios.delete(folio);
  };

  return {
    begin: () => {
      count();
      hasBegun = true;
    },
    watch: (api) => ({
      upload: (request, signal) => {
        requests.uploads += 1;
        return during('upload', async () => {
          const receipt = await api.upload(request, signal);
          bytes.uploaded += request.file.bytes;
          wait(receipt.folio, true);
          return receipt;
        });
      },
      track: async (folio, signal, until, begins) => {
        requests.polls += 1;
        wait(folio, true);
        try {
          const report = await api.track(folio, signal, until, begins);
          if (report.status === 'FINISHED') wait(folio, false);
          return report;
        } catch (error) {
          wait(folio, false);
          throw error;
        }
      },
      download: (request, consume, signal, until) => {
        requests.downloads += 1;
        const counted = async function* (content: AsyncIterable<Buffer>) {
          for await (const piece of content) {
            bytes.downloaded += piece.length;
            yield piece;
          }
        };
        return during('download', () =>
          api.download(request, (content, reply) => consume(counted(content), reply), signal, until),
        );
      },
      search: (record, signal, waits) => {
        requests.searches += 1;
        return api.search(record, signal, waits);
      },
      ready: async (signal) => api.ready?.(signal),
      close: () => api.close(),
    }),
    admit: (most) => {
      admitted = most;
    },
    figures: () => {
      count();
      const rounded = Object.entries(times).map(([name, time]) => [name, Math.round(time)]);
      return {
        phases: Object.fromEntries(rounded),
        requests: { ...requests },
        bytes: { ...bytes },
        admitted,
      };
    },
  };
}
