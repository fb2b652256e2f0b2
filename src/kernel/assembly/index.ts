// What the kernel exports to TypeScript.

export { decodeBase64, decodedEnd, textEnd } from './base64';
export { findBlank } from './blank';
export {
  differing,
  fullBucket,
  indexEntries,
  matchIndexed,
  matchInOrder,
  spread,
  spreadHashes,
  spreadTo,
} from './buckets';
export { countLines, inQuotes, isFilled, lineCount } from './count';
export { blankField, blankRow, digestKeys, digestRows } from './digest';
export { differingPair, findDiffering } from './echo';
export { hashedTo, hashNeed, hashRecords } from './hash';
export {
  beginBlock,
  chainEqual,
  failed,
  firstMatches,
  matchBlock,
  outdated,
  reusedFirsts,
  stopMeta,
  stopNumber,
  stopOrigin,
  stopPaid,
  stopTaken,
  stopValue,
  successful,
  takeAnswers,
} from './join';
export { findUnequal, indexTuples, matchTuples } from './match';
export { joinBytes, pack, splitBytes, unpack } from './pack';
export { nextRow, rowsEnd, rowsNeed, rowsStop, writeRows } from './rows';
export { count, isDoubtful, lines, miscounted, next, scan } from './scan';
export { needsRoom, outEnd, writeUpload, written } from './upload';
