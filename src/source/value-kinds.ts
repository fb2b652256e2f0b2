/**
 * What a value of a column looks like: the name of a business, a street address, a state of the USA; and whether a
 * header holds one.
 */

const STATES = new Set(
  `AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI
SC SD TN TX UT VT VA WA WV WI WY DC PR VI GU AS MP`.split(/\s+/),
);

const STATE_NAMES = new Set(
  `alabama,alaska,arizona,arkansas,california,colorado,connecticut,delaware,florida,georgia,hawaii,idaho,illinois,
indiana,iowa,kansas,kentucky,louisiana,maine,maryland,massachusetts,michigan,minnesota,mississippi,missouri,montana,
nebraska,nevada,new hampshire,new jersey,new mexico,new york,north carolina,north dakota,ohio,oklahoma,oregon,
pennsylvania,rhode island,south carolina,south dakota,tennessee,texas,utah,vermont,virginia,washington,west virginia,
wisconsin,wyoming,district of columbia,puerto rico`.split(/,\s*/),
);

/** Whether a value is a state, by its two letters or its name. */
export function looksLikeState(value: string): boolean {
  return STATES.has(value.toUpperCase()) || STATE_NAMES.has(value.toLowerCase());
}

const STREET_WORDS =
  /\b(?:st|street|ave|avenue|av|rd|road|blvd|boulevard|dr|drive|ln|lane|hwy|highway|way|ct|court|pl|place|pkwy|parkway|cir|circle|ter|terrace|sq|square|loop|trail|trl|route|rte|suite|ste|unit|calle|rue|avenida)\b|stra(?:ss|ß)e\b/i;

/** Whether a value is a street with its number, or a post office box. */
export function looksLikeStreet(value: string): boolean {
  if (/\bp\.?\s*o\.?\s*box\b/i.test(value)) return true;
  const hasNumber = /^\d+[a-z]?(?:[-/]\d+)?\s+\S/i.test(value) || /\s\d+[a-z]?$/i.test(value);
  return hasNumber && (STREET_WORDS.test(value) || /^\d+[a-z]?\s+\p{L}/iu.test(value));
}

const COMPANY_WORDS =
  /\b(?:inc|llc|l\.l\.c|corp|corporation|co|company|ltd|limited|lp|llp|pc|pllc|gmbh|ag|sa|srl|bv|plc|pty|group|holdings|services|solutions|partners|associates|enterprises|clinic|church|school|construction|restaurant|farm|farms|ranch|center|dental|systems|roofing|hardware|daycare|foundation|association)\b/i;

/** Whether a value could be the name of a business: words, with one that many businesses have, or several of them. */
export function looksLikeName(value: string): boolean {
  if (value.length < 3 || value.length > 120 || looksLikeStreet(value) || looksLikeState(value)) return false;
  if (/^[\d\s./:$%,+-]+$/.test(value) || /@|:\/\//.test(value)) return false;
  return (
    COMPANY_WORDS.test(value) ||
    /^\p{L}[\p{L}\p{M}'’.-]+(?:[\s&,]+[\p{L}\d(][\p{L}\p{M}\d'’.)-]*)+$/u.test(value)
  );
}

/**
 * Such as 59101, $150,000.00 or 4/14/20. Years and small numbers do not count, because tables number their columns with
 * them.
 */
function looksLikeFigure(value: string): boolean {
  return /^[$€£]?[\d.,/:%-]{3,}$/.test(value) && /\d{2}/.test(value) && !/^(?:19|20)\d\d$/.test(value);
}

type Kind = (value: string) => boolean;

const KINDS: readonly Kind[] = [looksLikeState, looksLikeStreet, looksLikeFigure];

/** How many of a column's values must be of the kind of the cell above them. */
const LEAST_SHARE = 0.8;

/**
 * The first cell of a header that looks like a value, and not like a name: it is a state, a street or a figure, as are the
 * values below it.
 * @param records values of the first records, by column.
 * @param mayBeFigure whether a figure counts in a column. Default: in every column. Many tables have months or numbers as
 *   names of columns.
 * @returns undefined if there is none.
 */
export function cellLikeValue(
  columns: readonly string[],
  records: readonly (readonly string[])[],
  mayBeFigure: (column: string) => boolean = () => true,
): string | undefined {
  return columns.find((cell, field) => {
    const values = records.map((record) => record[field]?.trim() ?? '').filter((value) => value !== '');
    const kind = KINDS.find((like) => like(cell.trim()));
    if (kind === undefined || values.length === 0) return false;
    if (kind === looksLikeFigure && !mayBeFigure(cell)) return false;
    return values.filter(kind).length >= values.length * LEAST_SHARE;
  });
}
