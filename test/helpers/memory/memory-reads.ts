/** The reading half of the in-memory checkpoint: plain filters, simple rather than fast. */
import { isDeepStrictEqual } from 'node:util';
import type {
  ChunkRow,
  ChunkState,
  ChunkTimes,
  FailureReason,
  Night,
  NightFacts,
  PublishedFile,
  RecordedLoad,
  ReplyKinds,
  Run,
  RunHead,
  Search,
  SingleSearch,
  Stretch,
  Upload,
  UploadSum,
} from '../../../src/checkpoint/checkpoint.js';
import { createReasonCounter } from '../../../src/failure-reasons.js';
import type { Choice, Doubt, PartReference, Segment, StoredPart } from '../../../src/types.js';
import { spendingOf, spentByDay } from './memory-budget.js';
import {
  attemptsOf,
  chunksInOrder,
  type ListedPart,
  type Memory,
  type MemoryChunk,
  type MemoryRun,
} from './memory-state.js';
import { answeredOf, tallyOf } from './memory-tally.js';

/** Makes the methods of the port that change nothing. */
export function memoryReads(memory: Memory) {
  const chunksOf = (run: string): MemoryChunk[] =>
    [...(memory.runs.get(run)?.chunks.values() ?? [])].sort((a, b) => a.row.number - b.row.number);
  const uploadsOf = (run: string): Upload[] =>
    [...(memory.runs.get(run)?.uploads ?? [])].sort((a, b) => a.chunk - b.chunk || a.attempt - b.attempt);
  const listedOf = (run: string, chunk: number): ListedPart[] =>
    [...(memory.runs.get(run)?.chunks.get(chunk)?.listed ?? [])].sort(
      (a, b) => rank(a) - rank(b) || a.part - b.part,
    );
  const newestFirst = (): Run[] => [...memory.runs.values()].map(({ row }) => row).reverse();

  return {
    run: (id: string): Run | undefined => memory.runs.get(id)?.row,
    runs: (pipeline?: string): Run[] =>
      newestFirst().filter((run) => pipeline === undefined || run.pipeline === pipeline),
    runHeads: (): RunHead[] =>
      newestFirst().map(({ id, pipeline, service, state, chunks, rehearsal, prunedAt, choice }) => {
        const hasChoice = choice !== null;
        return { id, pipeline, service, state, chunks, rehearsal, prunedAt, hasChoice };
      }),
    longestAges: (): Pick<Choice, 'maxAge' | 'failedAge'> => {
      const kept = newestFirst().flatMap(({ choice, prunedAt }) => (prunedAt === null && choice) || []);
      return {
        maxAge: Math.max(0, ...kept.map(({ maxAge }) => maxAge)),
        failedAge: Math.max(0, ...kept.map(({ failedAge }) => failedAge)),
      };
    },
    unfinishedRun: (pipeline: string, limit?: number): Run | undefined =>
      newestFirst().find(
        (run) =>
          run.pipeline === pipeline &&
          run.source.limit === limit &&
          (run.state === 'open' || run.state === 'publishing'),
      ),
    latestRun: (pipeline: string, limit?: number): Run | undefined => {
      const runs = newestFirst().filter((run) => run.pipeline === pipeline && run.source.limit === limit);
      const unfinished = runs.find(({ state }) => state === 'open' || state === 'publishing');
      const published = runs
        .filter(({ state, publication }) => state === 'done' && publication !== null)
        .sort((a, b) => b.publication!.number - a.publication!.number)[0];
      const withheld = runs
        .filter(({ state, confirmed }) => state === 'withheld' || confirmed !== null)
        .sort((a, b) => b.finishedAt! - a.finishedAt!)[0];
      if (unfinished !== undefined || published === undefined || withheld === undefined) {
        return unfinished ?? published ?? withheld;
      }
      const later =
        withheld.finishedAt! - published.finishedAt! || runs.indexOf(published) - runs.indexOf(withheld);
      return later > 0 ? withheld : published;
    },
    doneRuns: (pipeline: string, service: string, sourceSha256: string): Run[] =>
      newestFirst().filter(
        (run) =>
          (run.state === 'done' || run.state === 'withheld') &&
          isDeepStrictEqual(
            [run.pipeline, run.service, run.source.sha256],
            [pipeline, service, sourceSha256],
          ),
      ),
    publications: (pipeline: string): PublishedFile[] =>
      [...(memory.published.get(pipeline) ?? [])].reverse().map(({ night: _, ...file }) => file),
    nights: (pipeline: string, limit: number, upTo = Number.POSITIVE_INFINITY): Night[] =>
      nightsIn(memory.published.get(pipeline))
        .filter(({ publication }) => publication <= upTo)
        .slice(0, limit),
    nightOf: (run: string): Night | undefined =>
      [...memory.published.values()].flatMap(nightsIn).find((night) => night.run === run),
    lastLoad: (run: string): RecordedLoad | undefined => memory.loads.get(run),

    chunk: (run: string, number: number): ChunkRow | undefined =>
      memory.runs.get(run)?.chunks.get(number)?.row,
    chunksIn: (run: string, states: readonly ChunkState[], after: number, limit: number): ChunkRow[] =>
      chunksOf(run)
        .map(({ row }) => row)
        .filter(({ state, number }) => states.includes(state) && number > after)
        .slice(0, limit),
    nextChunk: (run: string, round: number, afterRecord: number): ChunkRow | undefined =>
      chunksInOrder(memory.runs.get(run), round).find(({ row }) => row.lastRecord > afterRecord)?.row,
    lastCut: (run: string, round: number): ChunkRow | undefined =>
      chunksInOrder(memory.runs.get(run), round).at(-1)?.row,
    lastRound: (run: string): number => Math.max(0, ...chunksOf(run).map(({ row }) => row.round)),
    chunkTimes: (run: string, after: number, limit: number): ChunkTimes[] =>
      chunksOf(run)
        .filter(({ row }) => row.number > after && row.state !== 'split')
        .slice(0, limit)
        .map(({ row, times }) => {
          const { number, round, records, state, attempt, folio, counts, cause, submittedAt, lastRecord } =
            row;
          const begun = attemptsOf(memory.runs.get(run), number).filter((one) => one.state !== 'dropped');
          const merged = memory.runs
            .get(run)!
            .stretches.find((one) => one.firstRecord <= lastRecord && one.lastRecord >= lastRecord);
          return {
            ...{ number, round, records, state, attempt, folio, counts, cause, submittedAt },
            cutAt: times.cutAt ?? null,
            uploadAt: begun.length === 0 ? null : Math.max(...begun.map(({ startedAt }) => startedAt)),
            finishedAt: times.finishedAt ?? null,
            downloadedAt: times.downloadedAt ?? null,
            mergedAt: (round > 0 ? undefined : merged?.mergedAt) ?? null,
          };
        }),
    failureReasons: (run: string): readonly FailureReason[] => {
      const counter = createReasonCounter();
      for (const { reasons = [] } of memory.runs.get(run)?.stretches ?? []) reasons.forEach(counter.add);
      return counter.top();
    },
    lastStretch: (run: string, beforeRecord = Number.POSITIVE_INFINITY): Stretch | undefined =>
      bare(memory.runs.get(run)?.stretches.findLast(({ firstRecord }) => firstRecord < beforeRecord)),
    nextStretch: (run: string, afterRecord: number): Stretch | undefined =>
      bare(memory.runs.get(run)?.stretches.find(({ firstRecord }) => firstRecord > afterRecord)),
    pickedRecords: (run: string, chunk: number): readonly number[] | undefined =>
      memory.runs.get(run)?.chunks.get(chunk)?.picked,

    misreadUpload: (run: string): Upload | undefined =>
      uploadsOf(run).find(
        (each) => each.state === 'accepted' && ![null, each.records].includes(each.serviceRecords),
      ),
    doubtsInRow: (run: string, wanted: Doubt): number => {
      const accepted = uploadsOf(run).filter(({ state }) => state === 'accepted');
      const since = Math.max(
        0,
        ...accepted.map((one) => (wanted === 'redirected' ? one.startedAt : one.endedAt!)),
      );
      return uploadsOf(run).filter(({ doubt, endedAt }) => doubt === wanted && endedAt! >= since).length;
    },
    replyKinds: (run: string): ReplyKinds => {
      const kinds = uploadsOf(run).map(({ local }) => local);
      const [local, other] = [kinds.includes(true), kinds.includes(false)];
      return { local, other, mixed: memory.runs.get(run)?.mixed === true || (local && other) };
    },
    attempts: (run: string, chunk: number): Upload[] => attemptsOf(memory.runs.get(run), chunk),
    uploads: (run: string, after: number, limit: number): Upload[] => {
      const behind = uploadsOf(run).filter(({ chunk }) => chunk > after);
      const page = [...new Set(behind.map(({ chunk }) => chunk))].slice(0, limit);
      return behind.filter(({ chunk }) => page.includes(chunk));
    },
    unusualUploads: (run: string, after: number, limit: number): Upload[] => {
      const page = [...unusualChunks(uploadsOf(run))].filter((chunk) => chunk > after).slice(0, limit);
      return uploadsOf(run).filter(({ chunk }) => page.includes(chunk));
    },
    uploadSums: (run: string): UploadSum[] => {
      const unusual = unusualChunks(uploadsOf(run));
      const plain = uploadsOf(run).filter(({ chunk }) => !unusual.has(chunk));
      return [false, true].flatMap((local) => {
        const summed = plain.filter((upload) => (upload.local === true) === local);
        if (summed.length === 0) return [];
        const times = summed.map(({ startedAt }) => startedAt);
        const records = summed.reduce((sum, upload) => sum + upload.records, 0);
        const range = { firstAt: Math.min(...times), lastAt: Math.max(...times) };
        return [{ local, uploads: summed.length, records, ...range }];
      });
    },
    uploadOf: (service: string, folio: string): Upload | undefined =>
      [...memory.runs.values()]
        .filter(({ row }) => row.service === service)
        .sort((a, b) => (a.row.id < b.row.id ? -1 : 1))
        .flatMap(({ row }) => uploadsOf(row.id))
        .find((upload) => upload.folio === folio),
    parts: (run: string, chunk: number): StoredPart[] =>
      listedOf(run, chunk).flatMap(({ stored }) => (stored === undefined ? [] : [stored])),
    listedParts: (run: string, chunk: number): PartReference[] =>
      listedOf(run, chunk).map(({ fileStatus, part }) => ({ fileStatus, part })),
    searches: (run: string, after: number, limit: number): Search[] =>
      [...(memory.runs.get(run)?.searches.values() ?? [])]
        .filter(({ record }) => record > after)
        .sort((a, b) => a.record - b.record)
        .slice(0, limit),

    singleSearches: (pipeline: string | undefined, after: string, limit: number): SingleSearch[] =>
      [...memory.singles.values()]
        .filter((search) => (pipeline === undefined || search.pipeline === pipeline) && search.id > after)
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit),

    tally: (run: string) => tallyOf(memory.runs.get(run)),
    answered: (run: string) => answeredOf(memory.runs.get(run)),
    spending: (pipeline: string, run: string | null, day: string) => spendingOf(memory, pipeline, run, day),
    spendingByDay: (pipeline: string, day: string) => spentByDay(memory, pipeline, day),
    knownColumns: (pipeline: string, service: string): readonly string[] | undefined =>
      memory.columns.get(JSON.stringify([pipeline, service])),
    segments: (): Segment[] =>
      [...memory.segments].sort((a, b) => b.newest - a.newest || (a.id < b.id ? 1 : -1)),
  };
}

function rank({ fileStatus }: PartReference): number {
  return fileStatus === 'SUCCESSFUL' ? 0 : 1;
}

function bare(stretch: MemoryRun['stretches'][number] | undefined): Stretch | undefined {
  if (stretch === undefined) return undefined;
  const { mergedAt: _, ...rest } = stretch;
  return rest;
}

/** The nights of whole outputs, newest first. */
function nightsIn(
  files: readonly (PublishedFile & { readonly night?: NightFacts | undefined })[] = [],
): Night[] {
  return [...files]
    .reverse()
    .flatMap(({ night, run, number, isSample }) =>
      night === undefined || isSample ? [] : [{ ...night, run, publication: number }],
    );
}

/** Chunks whose upload was not simply accepted at the first attempt, ascending. */
function unusualChunks(uploads: readonly Upload[]): Set<number> {
  const isUnusual = ({ attempt, state, records, serviceRecords }: Upload) =>
    attempt > 1 || state !== 'accepted' || (serviceRecords ?? records) !== records;
  return new Set(uploads.filter(isUnusual).map(({ chunk }) => chunk));
}
