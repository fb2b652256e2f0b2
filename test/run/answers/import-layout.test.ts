/** What the header of a file of answers says. */
import { describe, expect, it } from 'vitest';
import { importLayout } from '../../../src/run/answers/import-layout.js';

const upload = { columns: { name: 'Business', city: 'Town' } };
const config = { upload, output: { prefix: 'p_' } } as unknown as Parameters<typeof importLayout>[1];
const layout = (header: string, names: Partial<Parameters<typeof importLayout>[2]> = {}) =>
  importLayout(header.split(','), config, { known: [], ...names });

describe('importLayout', () => {
  it('of an output takes every added column that is not of foliopipe itself', () => {
    const header = 'Id,Business,Town,p_status,p_error_code,p_error,p_code,p_service_status,p_run';
    expect(layout(header)).toEqual({
      sent: [1, 2],
      columns: ['code', 'status', 'run'],
      answers: [6, 7, 8],
      status: { status: 3, code: 4, error: 5 },
      lineage: null,
    });
  });

  it('of an output of known columns takes those that are named like one of foliopipe', () => {
    const known = ['change', 'status', 'service_status'];
    const header =
      'Business,Town,p_status,p_error_code,p_error,p_change,p_service_service_status,p_service_status';
    expect(layout(header, { known })).toMatchObject({ columns: known, answers: [5, 6, 7] });
    // That of the delta.
    expect(layout(`${header},p_row_change`, { known })).toMatchObject({ columns: known });
    expect(layout(header.replace(/,p_service.*/, ''), { known: ['code'] })).toMatchObject({ columns: [] });
  });

  it('of an output with lineage says who has paid', () => {
    const lineage = 'p_run,p_folio,p_part,p_record,p_answered_at';
    const header = `Business,Town,p_status,p_error_code,p_error,p_code,${lineage}`;
    expect(layout(header)).toMatchObject({ columns: ['code'], lineage: { run: 6, answered_at: 10 } });
  });

  it('of any CSV takes the known columns, with the prefix or without', () => {
    const found = layout('name,Town,code,p_title', { known: ['code', 'title'] });
    expect(found).toMatchObject({ sent: [0, 1], columns: ['code', 'title'], answers: [2, 3], status: null });
    expect(layout('name,city,x', { columns: { code: 'x' } })).toMatchObject({ sent: [0, 1], answers: [2] });
  });

  it.each([
    ['Business,code', { known: ['code'] }, 'IMPORT_COLUMN_MISSING'],
    ['Business,Town,x', { known: ['code'] }, 'IMPORT_COLUMN_MISSING'],
    ['Business,Town,x', { columns: { code: 'y' } }, 'IMPORT_COLUMN_MISSING'],
    ['Business,Town,x', {}, 'IMPORT_COLUMNS_UNKNOWN'],
    ['Business,Town,code,Town', { known: ['code'] }, 'IMPORT_COLUMN_TWICE'],
    ['Business,Town,p_status,p_error_code,p_error,p_code,p_code', {}, 'IMPORT_COLUMN_TWICE'],
    ['Business,Town,x', { known: ['code'], columns: { y: 'x' } }, 'IMPORT_COLUMN_UNKNOWN'],
  ])('refuses %s', (header, names, code) => {
    expect(() => layout(header, names)).toThrow(expect.objectContaining({ code, exitCode: 2 }));
  });
});
