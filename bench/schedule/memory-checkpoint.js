/** A checkpoint in memory that knows only what submitting, tracking and downloading ask. */

export function createMemoryCheckpoint() {
  const chunks = new Map();
  const parts = new Map();
  let accepted = 0;
  const change = (number, from, changes) => {
    const chunk = chunks.get(number);
    if (!from.includes(chunk?.state)) throw new Error(`chunk ${number} is ${chunk?.state}, not ${from}`);
    chunks.set(number, { ...chunk, ...changes });
  };
  /** Chunks are numbered in the order of the source here, and the first ones are soon done. */
  const firstBehind = (record) => {
    const number = Math.floor(record / chunks.get(1).records) + 1;
    return chunks.get(number);
  };

  return {
    recordCut: async (_, chunk) => {
      const row = { state: 'cut', round: 0, attempt: 0, folio: null, submittedAt: null, counts: null };
      chunks.set(chunk.number, { ...chunk, ...row });
    },
    recordIntent: async (_, number, fileName, startedAt) => {
      change(number, ['cut'], { state: 'uploading', attempt: 1 });
      return { chunk: number, attempt: 1, fileName: fileName(1), startedAt };
    },
    recordAccepted: async (_, number, { folio }, submittedAt) => {
      accepted += 1;
      change(number, ['uploading'], { state: 'submitted', folio, submittedAt });
    },
    recordFinished: async (_, number, counts, listed) => {
      change(number, ['submitted'], { state: 'finished', counts });
      parts.set(number, { listed, stored: [] });
    },
    recordPart: async (_, number, part) => void parts.get(number).stored.push(part),
    recordDownloaded: async (_, number) => {
      change(number, ['finished'], { state: 'downloaded' });
      parts.delete(number);
    },
    chunk: async (_, number) => chunks.get(number),
    nextChunk: async (_, _round, afterRecord) => firstBehind(afterRecord),
    chunksIn: async (_, states, after, limit) => {
      const found = [];
      for (const chunk of chunks.values()) {
        if (chunk.number > after && states.includes(chunk.state) && found.length < limit) found.push(chunk);
      }
      return found;
    },
    listedParts: async (_, number) => parts.get(number).listed,
    parts: async (_, number) => parts.get(number).stored,
    misreadUpload: async () => undefined,
    tally: async () => ({ uploads: { accepted }, chunks: { split: 0 }, ambiguousRecords: 0 }),
  };
}
