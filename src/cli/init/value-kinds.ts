/** What a value of a column looks like: the name of a business, a street address, a state of the USA. */

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
