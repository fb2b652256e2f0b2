/** The first records of a plan as a table that fits into the terminal. */
import type { Plan } from '../../../pipelines/index.js';
import { countOf } from '../../quantities.js';
import { escapeUnprintable } from '../../text.js';

const INDENT = 2;
const GAP = 2;
/** The narrowest column that is still of use. */
const LEAST = 6;

/** @param width characters in a line. */
export function previewLines({ columns, records }: Plan['preview'], width: number): string[] {
  const room = width - INDENT - 1;
  const most = Math.max(1, Math.floor((room + GAP) / (LEAST + GAP)));
  const rows = [columns, ...records].map((cells) =>
    cells.slice(0, most).map((cell) => escapeUnprintable(cell)),
  );
  const widths = fittingWidths(
    rows[0]!.map((_, at) => Math.max(...rows.map((cells) => widthOf(cells[at]!)))),
    room - GAP * (rows[0]!.length - 1),
  );
  const lines = rows.map((cells) =>
    cells
      .map((cell, at) => fitted(cell, widths[at]!))
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
  const left = columns.length - most;
  return [...lines, ...(left > 0 ? [`and ${countOf(left, 'more column')}`] : [])];
}

/** Narrows the widest column until all fit into the room. */
function fittingWidths(wanted: readonly number[], room: number): readonly number[] {
  const widths = [...wanted];
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    const widest = Math.max(...widths);
    if (widest <= LEAST) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

function fitted(cell: string, width: number): string {
  const own = widthOf(cell);
  if (own <= width) return cell + ' '.repeat(width - own);
  let kept = '';
  let used = 0;
  for (const character of cell) {
    const next = widthOf(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…${' '.repeat(width - 1 - used)}`;
}

/** Letters of East Asia and pictures, which take two places of a line. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

/** How many places a text takes in a line. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1;
  return width;
}
