/** Columns are guessed by their names in several spellings, and by their values. */
import { describe, expect, it } from 'vitest';
import { guessColumns, SENT } from '../../../src/cli/init/guess-columns.js';

const records = [
  ['Acme Inc', '12 Main St', 'MT', 'Active', '59801', '4/3/20'],
  ['Bitterroot Dental Clinic', '1200 W Oak Ave Suite 5', 'Idaho', 'Closed', '59802', '4/4/20'],
  ['Harbor Hardware', 'P.O. Box 12', 'wy', 'Active', '01001', '4/5/20'],
];
const found = (columns: readonly string[], rows = records) => {
  const guesses = guessColumns(columns, rows);
  return SENT.map((sent) => guesses[sent] && `${guesses[sent].column}, ${guesses[sent].certainty}`);
};

describe('guessed columns', () => {
  it.each([
    ['BusinessName', 'Address', 'State'],
    ['business_name', 'street_address', 'state_code'],
    ['COMPANY NAME', 'ADDRESS LINE 1', 'ST'],
    ['Legal Name', 'Street', 'US State'],
    ['Organization', 'Mailing Address', 'Mailing State'],
    ['Razón Social', 'Dirección', 'Estado'],
    ['Borrower Name', 'Borrower Address', 'Borrower State'],
  ])('%s, %s, %s are sure', (...names) => {
    expect(found([...names, 'Status', 'Zip', 'DateApproved'])).toEqual(names.map((name) => `${name}, sure`));
  });

  it('are found by their values alone', () => {
    expect(found(['a', 'b', 'c', 'd', 'e', 'f'])).toEqual(['a, likely', 'b, likely', 'c, likely']);
  });

  it('are found by their names alone', () => {
    expect(found(['Zip', 'Company', 'Addr', 'Region'], [])).toEqual([
      'Company, likely',
      'Addr, likely',
      'Region, likely',
    ]);
  });

  it('are unsure where names and values disagree, such as in another country', () => {
    const german = [['Müller GmbH', 'Hauptstraße 5', 'Bayern']];
    expect(found(['Firma', 'Straße', 'Bundesland'], german)).toEqual([
      'Firma, sure',
      'Straße, sure',
      'Bundesland, unsure',
    ]);
  });

  it('are none of the columns that only sound like them, nor doubled or empty ones', () => {
    const others = ['Lender Name', 'Address 2', 'Statement Date', 'Name', 'Name', ''];
    expect(found(others, [['x', '', '1/1/20', '7', '8', '9']])).toEqual([undefined, undefined, undefined]);
  });

  it('take the clearest of several', () => {
    const rows = [['Jane Doe', 'Acme Inc', 'Acme Holdings LLC', '1 Oak Ave', '2 Oak Ave', 'MT', 'ID']];
    const columns = ['Contact Name', 'DBA Name', 'Business Name', 'Mailing Address', 'Business Address'];
    expect(found([...columns, 'State', 'Mailing State'], rows)).toEqual([
      'Business Name, sure',
      'Business Address, sure',
      'State, sure',
    ]);
  });
});
