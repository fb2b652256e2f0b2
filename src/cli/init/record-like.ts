/** Tells whether the first line of a file is a record and no header: by cells that look like the values below them. */
import { looksLikeState, looksLikeStreet } from './value-kinds.js';

/** Such as 59101, $150,000.00 or 4/14/20, but no year and no small number, which number columns. */
function looksLikeFigure(value: string): boolean {
  return /^[$€£]?[\d.,/:%-]{3,}$/.test(value) && /\d{2}/.test(value) && !/^(?:19|20)\d\d$/.test(value);
}

const KINDS: readonly ((value: string) => boolean)[] = [looksLikeState, looksLikeStreet, looksLikeFigure];

/** So many of a column's values must be of the kind of the cell above them. */
const LEAST_SHARE = 0.8;

/**
 * The first cell of a header that looks like a value, and not like a name: it is a state, a street or a figure as those
 * below it.
 * @param records values of the first records, by column.
 * @returns undefined if there is none.
 */
export function cellLikeValue(
  columns: readonly string[],
  records: readonly (readonly string[])[],
): string | undefined {
  return columns.find((cell, field) => {
    const values = records.map((record) => record[field]?.trim() ?? '').filter((value) => value !== '');
    const kind = KINDS.find((like) => like(cell.trim()));
    if (kind === undefined || values.length === 0) return false;
    return values.filter(kind).length >= values.length * LEAST_SHARE;
  });
}
