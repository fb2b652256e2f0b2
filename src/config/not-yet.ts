/** What the config can already say and this release cannot do: refused, never ignored. */
import type { Sections } from './parse-sections.js';

interface NotYet {
  readonly key: string;
  readonly isWanted: (sections: Sections) => boolean | undefined;
  readonly what: string;
  readonly leaveAt: string;
}

const DAY = 24 * 60 * 60 * 1000;
const caps = ['perRun', 'perDay', 'perMonth'] as const;

const notYet: readonly NotYet[] = [
  {
    key: 'source.onChange',
    isWanted: ({ source }) => source && source.onChange !== 'fail',
    what: 'superseding an unfinished run whose source has changed',
    leaveAt: 'fail',
  },
  {
    key: 'chunks.canary',
    isWanted: ({ chunks }) => chunks && chunks.canary !== 0,
    what: 'trying a small chunk before the rest is paid for',
    leaveAt: '0',
  },
  {
    key: 'failures.rounds',
    isWanted: ({ failures }) => failures && failures.rounds !== 0,
    what: 'retrying failed records',
    leaveAt: '0',
  },
  {
    key: 'failures.rescue',
    isWanted: ({ failures }) => failures && failures.rescue !== 'none',
    what: 'searching for failed records one by one',
    leaveAt: 'none',
  },
  {
    key: 'failures.maxSplits',
    isWanted: ({ failures }) => failures && failures.maxSplits !== 64,
    what: 'cutting a refused chunk until the bad record is found',
    leaveAt: '64',
  },
  ...caps.map((cap) => ({
    key: `budget.${cap}`,
    isWanted: ({ budget }: Sections) => budget && budget[cap] !== null,
    what: 'stopping at a number of paid records',
    leaveAt: 'null',
  })),
  {
    key: 'result.onChange',
    isWanted: ({ result }) => result && result.onChange === 'add',
    what: 'adding result columns in the middle of the nights',
    leaveAt: 'fail or ignore',
  },
  {
    key: 'retention.results',
    isWanted: ({ retention }) => retention && retention.results !== 30 * DAY,
    what: 'removing old results',
    leaveAt: '30d',
  },
];

/** Tells of every value that asks for what this release cannot do. */
export function findNotYet(sections: Sections, onProblem: (key: string, text: string) => void): void {
  for (const { key, isWanted, what, leaveAt } of notYet) {
    if (isWanted(sections)) onProblem(key, `${what} comes with a later release; leave it at ${leaveAt}`);
  }
}
