import { describe, expect, it } from 'vitest';
import { createOutputLayout, fieldOf, outputColumns, outputHeader } from '../../src/results/output-layout.js';
import { thrownBy } from '../helpers/csv/result-parts.js';

const sourceOf = (columns: string[], delimiter = ',') => ({ columns, files: [{ dialect: { delimiter } }] });
const options = { columns: 'all', prefix: 'prediction_', lineage: false } as const;

describe('a layout', () => {
  it('has all columns of the source, and behind them those that are added', () => {
    const layout = createOutputLayout(sourceOf(['a', 'b']), options);
    expect(layout.sourceFields).toEqual([0, 1]);
    expect(outputColumns(layout, ['code'])).toEqual([
      'a',
      'b',
      'prediction_status',
      'prediction_error_code',
      'prediction_error',
      'prediction_code',
    ]);
  });

  it('of chosen columns has them in the chosen order', () => {
    const chosen = createOutputLayout(sourceOf(['a', 'b', 'c']), { ...options, columns: ['c', 'a'] });
    expect(chosen.sourceFields).toEqual([2, 0]);
    expect(outputColumns(chosen, []).slice(0, 3)).toEqual(['c', 'a', 'prediction_status']);
  });

  it('with lineage ends with where a row comes from', () => {
    const layout = createOutputLayout(sourceOf(['a']), { ...options, prefix: 'p_', lineage: true });
    const last = ['p_x', 'p_run', 'p_folio', 'p_part', 'p_record', 'p_answered_at'];
    expect(outputColumns(layout, ['x']).slice(-6)).toEqual(last);
  });

  it('renames a column of the service whose name is taken', () => {
    const added = ['service_status', 'status', 'error', 'service_service_error', 'service_error', 'record'];
    const plain = createOutputLayout(sourceOf([]), { ...options, prefix: 'p_' });
    expect(outputColumns(plain, added).slice(3)).toEqual([
      ...['p_service_status', 'p_service_service_status', 'p_service_service_service_error'],
      ...['p_service_service_error', 'p_service_error', 'p_record'],
    ]);
    const withLineage = createOutputLayout(sourceOf([]), { ...options, lineage: true });
    const columns = outputColumns(withLineage, added);
    expect(columns).toContain('prediction_service_record');
    expect(new Set(columns).size).toBe(columns.length);
  });

  it('has a header that is quoted where needed', () => {
    const layout = createOutputLayout(sourceOf(['a,"b"', 'c\nd']), { ...options, prefix: 'p_' });
    expect(outputHeader(layout, []).toString()).toBe('"a,""b""","c\nd",p_status,p_error_code,p_error\n');
  });

  it('refuses a column that could be taken for an added one, unless it is left out', () => {
    const source = sourceOf(['a', 'prediction_status']);
    expect(thrownBy(() => createOutputLayout(source, options))).toMatchObject({
      code: 'OUTPUT_COLUMN_TAKEN',
      exitCode: 2,
    });
    createOutputLayout(source, { ...options, columns: ['a'] });
    createOutputLayout(source, { ...options, prefix: 'naics_' });
  });

  it('refuses a column that is not in the source, naming the key and the columns that are', () => {
    const make = () => createOutputLayout(sourceOf(['a', 'b']), { ...options, columns: ['a', 'A'] });
    expect(thrownBy(make)).toMatchObject({
      code: 'CONFIG_COLUMN_MISSING',
      message: 'output.columns: the source has no column "A"; it has "a", "b"',
    });
    expect(fieldOf(['a', 'b'], 'b', 'upload.columns.name')).toBe(1);
  });
});
