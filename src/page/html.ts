/** HTML from templates: every value is escaped, unless it is HTML that a template has made. */
import { escapeUnprintable } from '../text.js';

/** Text that is HTML already, or stands in a style or a script, and is not escaped. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | null | undefined | false | readonly Value[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Values that are null, undefined or false give nothing. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(texts.map((text, at) => text + (at < values.length ? written(values[at]) : '')).join(''));
}

function written(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(written).join('');
  return escaped(String(value));
}

/** Text of the service or of a source may hold control characters, and characters that reverse the direction of text. */
function escaped(text: string): string {
  return escapeUnprintable(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

export interface Cell {
  readonly text: string | Html;
  /** The value by which the column is sorted. Default: the text. */
  readonly value?: number | null;
}

/** A table whose numbers are aligned to the right. @param numeric indexes of its columns with numbers. */
export function tableOf(
  head: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
  numeric: readonly number[],
): Html {
  const kind = (at: number) => (numeric.includes(at) ? html` class="n"` : '');
  const cell = (given: string | Cell, at: number) => {
    const { text, value } = typeof given === 'string' ? { text: given } : given;
    return html`<td${kind(at)}${value === undefined ? '' : html` data-v="${value ?? ''}"`}>${text}</td>`;
  };
  return html`<table><thead><tr>${head.map((name, at) => html`<th scope="col"${kind(at)}>${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody></table>`;
}
