/** Guesses which columns of a source are a business's name, address and state: by their names and by their values. */
import { looksLikeName, looksLikeState, looksLikeStreet } from '../../../pipelines/index.js';

/** The columns that the service knows. */
export const SENT = ['name', 'address', 'state'] as const;
export type Sent = (typeof SENT)[number];

export interface Guess {
  readonly column: string;
  /** `sure`: names and values agree; `likely`: one of them says so; `unsure`: they disagree. */
  readonly certainty: 'sure' | 'likely' | 'unsure';
  /** In a few words. */
  readonly why: string;
}

export type Guesses = Readonly<Partial<Record<Sent, Guess>>>;

/** Names of columns in lower case without signs, the clearest ones first. Long ones are also found in longer names. */
const NAMES: Readonly<Record<Sent, readonly string[]>> = {
  name: [
    ...[
      'businessname',
      'companyname',
      'legalname',
      'organizationname',
      'organisationname',
      'businesslegalname',
    ],
    ...['entityname', 'merchantname', 'employername', 'firmname', 'vendorname', 'facilityname', 'storename'],
    ...[
      'tradename',
      'dbaname',
      'borrowername',
      'customername',
      'accountname',
      'razonsocial',
      'raisonsociale',
    ],
    ...[
      'firmenname',
      'nombreempresa',
      'business',
      'company',
      'organization',
      'organisation',
      'employer',
      'merchant',
    ],
    ...['firm', 'empresa', 'firma', 'entreprise', 'dba', 'name', 'nombre', 'nom'],
  ],
  address: [
    ...['streetaddress', 'businessaddress', 'addressline1', 'address1', 'streetaddress1', 'physicaladdress'],
    ...['fulladdress', 'addressstreet', 'mailingaddress', 'address', 'addr1', 'addr', 'street', 'street1'],
    ...['direccion', 'domicilio', 'calle', 'adresse', 'anschrift', 'strasse', 'rue', 'location'],
  ],
  state: [
    ...['statecode', 'stateabbreviation', 'stateabbr', 'businessstate', 'usstate', 'stateprovince', 'state'],
    ...['mailingstate', 'province', 'region', 'estado', 'bundesland', 'st'],
  ],
};

/** Most records whose values are looked at. */
export const GUESSED_FROM = 200;

const LOOKS: Readonly<Record<Sent, { readonly like: (value: string) => boolean; readonly words: string }>> = {
  name: { like: looksLikeName, words: 'names of businesses' },
  address: { like: looksLikeStreet, words: 'street addresses' },
  state: { like: looksLikeState, words: 'states' },
};

/**
 * @param columns the header.
 * @param records values of the first records, by column. Without records, only the names decide.
 */
export function guessColumns(columns: readonly string[], records: readonly (readonly string[])[]): Guesses {
  const scores = SENT.flatMap((sent) =>
    columns.map((column, field) => {
      const named = nameScore(sent, column);
      const valued = valueScore(sent, records, field);
      return { sent, column, named, valued, score: scoreOf(named, valued) };
    }),
  )
    .filter(
      ({ column, named, score }) =>
        score >= (named > 0 ? LEAST.named : LEAST.valued) && isOnce(column, columns),
    )
    .sort((a, b) => b.score - a.score);
  const guesses: Partial<Record<Sent, Guess>> = {};
  const taken = new Set<string>();
  for (const { sent, column, named, valued } of scores) {
    if (guesses[sent] !== undefined || taken.has(column)) continue;
    taken.add(column);
    guesses[sent] = { column, ...certaintyOf(sent, named, valued) };
  }
  return guesses;
}

function isOnce(column: string, columns: readonly string[]): boolean {
  return column !== '' && columns.indexOf(column) === columns.lastIndexOf(column);
}

/** The lowest score of a guess: for a column with a known name, and for one that only has such values. */
const LEAST = { named: 0.6, valued: 0.8 };

/** @param valued undefined if all values are blank, or there are none. */
function scoreOf(named: number, valued: number | undefined): number {
  return 2 * named + (valued ?? 0.3) - (named > 0 && valued !== undefined && valued < 0.1 ? 0.7 : 0);
}

/** 1 for the clearest name, 0 for a name that says nothing. */
function nameScore(sent: Sent, column: string): number {
  const plain = column
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFD')
    .replaceAll(/[^a-z0-9]/g, '');
  const known = NAMES[sent];
  const exact = known.indexOf(plain);
  if (exact >= 0) return 1 - (0.3 * exact) / known.length;
  // Longer names are less clear, and some mean something else: a file name, a second line, a lender's name.
  if (OTHERS.test(plain)) return 0;
  const within = known.findIndex((word) => word.length > 4 && plain.includes(word));
  return within < 0 ? 0 : 0.6 - (0.2 * within) / known.length;
}

const OTHERS =
  /line2|address2|addr2|street2|email|web|phone|type|status|date|first|last|contact|lender|bank|file|country/;

/** The share of values that look like the wanted ones; undefined without values. */
function valueScore(sent: Sent, records: readonly (readonly string[])[], field: number): number | undefined {
  const values = records.map((record) => record[field]?.trim() ?? '').filter((value) => value !== '');
  if (values.length === 0) return undefined;
  return values.filter(LOOKS[sent].like).length / values.length;
}

function certaintyOf(sent: Sent, named: number, valued: number | undefined): Omit<Guess, 'column'> {
  const { words } = LOOKS[sent];
  const share = valued === undefined ? '' : `${Math.round(valued * 100)}% of its values look like ${words}`;
  if (named === 0) return { certainty: (valued ?? 0) > 0.9 ? 'likely' : 'unsure', why: share };
  if (valued === undefined) return { certainty: 'likely', why: 'by its name; it has no values to look at' };
  if (valued >= 0.5) return { certainty: named >= 0.4 ? 'sure' : 'likely', why: `by its name, and ${share}` };
  return { certainty: 'unsure', why: `by its name, but only ${share}` };
}
