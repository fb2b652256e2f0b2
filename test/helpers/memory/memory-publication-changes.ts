/** The model's end of a run: an output in its place, whole or partial, or withheld, and the results forgotten. */
import type {
  Confirmed,
  NewPublication,
  Publication,
  RecordedLoad,
  Run,
  Withheld,
} from '../../../src/checkpoint/checkpoint.js';
import type { Segment } from '../../../src/types.js';
import { type Memory, must, runIn, unmerge } from './memory-state.js';

const REOPENED = { state: 'open', publication: null, withheld: null, confirmed: null, finishedAt: null };

export function memoryPublicationChanges(memory: Memory) {
  const filesOf = (pipeline: string) => {
    const files = memory.published.get(pipeline) ?? [];
    memory.published.set(pipeline, files);
    return files;
  };
  const keepSegment = (segment: Segment) => {
    memory.segments = [...memory.segments.filter(({ run }) => run !== segment.run), segment];
  };
  return {
    recordPublishing(id: string, file: NewPublication, values: Run['frozen'] = {}, above = 0): Publication {
      const { row } = runIn(memory, 'recordPublishing', id, 'open', 'publishing', 'done', 'withheld');
      must('recordPublishing', row.prunedAt === null);
      const files = filesOf(row.pipeline);
      const { bytes, sha256, output } = file;
      const isSample = row.source.limit !== undefined;
      const fields = { run: id, path: output.path, bytes, sha256, isSample };
      const before = row.state === 'publishing' ? row.publication : null;
      const isSame = before !== null && sameText(before) === sameText(file);
      const number = isSame ? before.number : Math.max(files.at(-1)?.number ?? 0, above) + 1;
      if (!isSame) files.push({ ...fields, number, stamp: null });
      const publication = { ...structuredClone(file), number };
      const frozen = { ...row.frozen, ...values };
      Object.assign(row, { state: 'publishing', publication, withheld: null, confirmed: null, frozen });
      return publication;
    },
    recordDone(id: string, at: number, stamp: string | null = null, segment?: Segment) {
      const { row } = runIn(memory, 'recordDone', id, 'publishing');
      if (segment !== undefined) keepSegment(segment);
      const file = filesOf(row.pipeline).find(({ number }) => number === row.publication!.number)!;
      Object.assign(file, { stamp, night: row.publication!.night });
      if (row.publication!.partial) Object.assign(row, { partial: row.publication }, REOPENED);
      else Object.assign(row, { state: 'done', partial: null, finishedAt: at });
    },
    recordLoad(id: string, load: RecordedLoad) {
      must('recordLoad', memory.runs.has(id));
      memory.loads.set(id, structuredClone(load));
    },
    outputUpload: (name: string) => memory.outputUploads.get(name),
    recordOutputUpload(name: string, upload: string | null) {
      if (upload === null) memory.outputUploads.delete(name);
      else memory.outputUploads.set(name, upload);
    },
    recordWithheld(id: string, withheld: Withheld, at: number, segment?: Segment) {
      const { row } = runIn(memory, 'recordWithheld', id, 'open', 'withheld');
      must('recordWithheld', row.prunedAt === null);
      if (segment !== undefined) keepSegment(segment);
      Object.assign(row, { state: 'withheld', withheld: structuredClone(withheld), finishedAt: at });
    },
    recordConfirmed(id: string, confirmed: Confirmed, at: number, segment?: Segment) {
      const { row } = runIn(memory, 'recordConfirmed', id, 'open', 'withheld');
      must('recordConfirmed', row.prunedAt === null);
      if (segment !== undefined) keepSegment(segment);
      const end = {
        state: 'done',
        withheld: null,
        partial: null,
        confirmed: structuredClone(confirmed),
        finishedAt: at,
      };
      Object.assign(row, end);
    },
    recordUnpublished(id: string) {
      const run = runIn(memory, 'recordUnpublished', id, 'publishing');
      if (!run.row.publication!.partial) unmerge(run, 1);
      Object.assign(run.row, REOPENED);
    },
    recordReopened(id: string) {
      const { row } = runIn(memory, 'recordReopened', id, 'done', 'withheld');
      must('recordReopened', row.prunedAt === null);
      Object.assign(row, REOPENED);
    },
    recordPruned(id: string, at: number) {
      const run = runIn(memory, 'recordPruned', id, 'done', 'withheld', 'superseded');
      must('recordPruned', run.row.prunedAt === null);
      run.row.prunedAt = at;
      run.chunks.clear();
      run.stretches = [];
      for (const search of run.searches.values()) Object.assign(search, { values: null });
    },
  };
}

/** Equal for what is the same file, committed twice. */
function sameText({ bytes, sha256, partial, output }: NewPublication): string {
  return JSON.stringify([bytes, sha256, partial, output.path]);
}
