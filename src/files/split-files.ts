/**
 * The files of runs that any machine can go on with: parts, which were paid for, are where every machine sees them;
 * chunk files, which are cut again from the source where they are missing, are on this machine.
 */
import type { FileStore, PartStore } from './run-files.js';

/**
 * @param expectHeld throws if this process may not remove what another one may need.
 */
export function createSplitFiles(
  chunks: FileStore,
  parts: PartStore,
  expectHeld: () => Promise<void>,
): FileStore {
  return {
    ofRun: async (run) => {
      const shared = await parts.ofRun(run);
      return {
        ...(await chunks.ofRun(run)),
        writePart: shared.writePart,
        readPart: shared.readPart,
        removePart: async (chunk, part) => {
          await expectHeld();
          await shared.removePart(chunk, part);
        },
      };
    },
    sizeOf: async (run) => {
      const sizes = [await parts.sizeOf(run), await chunks.sizeOf(run)].filter((size) => size !== undefined);
      return sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0);
    },
    remove: async (run) => {
      await expectHeld();
      await parts.remove(run);
      await chunks.remove(run);
    },
    runs: async () => {
      const found = [...(await parts.runs()), ...(await chunks.runs())];
      return [...new Map(found.reverse().map((one) => [one.run, one])).values()];
    },
  };
}
