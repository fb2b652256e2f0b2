/** A checkpoint in memory that knows only what submitting, tracking and downloading ask. */

export function createMemoryCheckpoint() {
  const chunks = new Map();
  const parts = new Map();
  let accepted = 0;
  const change = (number, from, changes) => {
    const chunk = chunks.get(number);
    if (!from.includes(chunk?.state)) throw new Error(`chunk ${number} is ${chunk?.state}, not ${from}`);
    const changed = { ...chunk, ...changes };
    chunks.set(number, changed);
    return changed;
  };

  return {
    recordCut: async (_, chunk) => {
      const row = { state: 'cut', round: 0, attempt: 0, folio: null, submittedAt: null, counts: null };
      const cut = { ...chunk, ...row, number: chunks.size + 1 };
      chunks.set(cut.number, cut);
      return cut;
    },
    recordIntent: async (_, number, { before, after }, startedAt) => {
      change(number, ['cut'], { state: 'uploading', attempt: 1 });
      return { chunk: number, attempt: 1, fileName: `${before}1${after}`, startedAt };
    },
    recordAccepted: async (_, number, { folio }, submittedAt) => {
      accepted += 1;
      return change(number, ['uploading'], { state: 'submitted', folio, submittedAt });
    },
    recordFinished: async (_, number, counts, listed) => {
      parts.set(number, { listed, stored: [] });
      return change(number, ['submitted'], { state: 'finished', counts });
    },
    recordParts: async (_, number, some) => void parts.get(number).stored.push(...some),
    recordDownloaded: async (_, number) => {
      parts.delete(number);
      return change(number, ['finished'], { state: 'downloaded' });
    },
    chunksIn: async (_, states, after, limit) => {
      const found = [];
      for (const chunk of chunks.values()) {
        if (chunk.number > after && states.includes(chunk.state)) found.push(chunk);
        if (found.length === limit) break;
      }
      return found;
    },
    listedParts: async (_, number) => parts.get(number).listed,
    parts: async (_, number) => [...parts.get(number).stored],
    misreadUpload: async () => undefined,
    replyKinds: async () => ({ other: true, local: false, mixed: false }),
    doubtsInRow: async () => 0,
    attempts: async () => [],
    run: async () => ({ choice: null, chunks: chunks.size }),
    recordDropped: async (_, number) => void change(number, ['uploading'], { state: 'cut' }),
    tally: async () => ({ uploads: { accepted }, chunks: { split: 0 }, ambiguousRecords: 0 }),
  };
}
