/** The preview of a plan fits into any terminal, and what a source says cannot act on it. */
import { describe, expect, it } from 'vitest';
import { previewLines } from '../../../src/cli/texts/preview-text.js';

const records = [
  ['1', 'BETTER BUSINESS SYSTEMS INC', '175 North 27th Street Suite 800', 'MT'],
  ['2', 'Two\nlines \u001b[31mred', '日本橋', 'Zürich'],
];

describe('the preview', () => {
  it.each([20, 40, 80, 200])('fits into %i characters', (width) => {
    const lines = previewLines({ columns: ['record_id', 'name', 'address', 'state'], records }, width);
    const wide = (line: string) => line.replaceAll(/[日本橋]/g, 'xx').length;
    expect(Math.max(...lines.map(wide))).toBeLessThan(width - 1);
    expect(lines.join('')).not.toMatch(/\p{Cc}/u);
  });

  it('shows values as they are where there is room, and aligns them', () => {
    const lines = previewLines({ columns: ['record_id', 'name', 'address', 'state'], records }, 100);
    expect(lines).toEqual([
      'record_id  name                         address                          state',
      '1          BETTER BUSINESS SYSTEMS INC  175 North 27th Street Suite 800  MT',
      '2          Two\\u{a}lines \\u{1b}[31mred  日本橋                           Zürich',
    ]);
  });

  it('says how many columns are left out', () => {
    const columns = Array.from({ length: 30 }, (_, at) => `column ${at}`);
    expect(previewLines({ columns, records: [columns] }, 80).at(-1)).toBe('and 21 more columns');
  });
});
