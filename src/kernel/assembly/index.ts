// What the kernel gives to its TypeScript side.

export { countLines, isFilled, lineCount } from './count';
export { nextRow, rowsEnd, rowsStop, writeRows } from './rows';
export { count, isDoubtful, lines, next, scan } from './scan';
export { needsRoom, outEnd, writeUpload, written } from './upload';
