/** What the config can already say and this release cannot do: refused, never ignored. */
import type { Sections } from './parse-sections.js';

interface NotYet {
  readonly key: string;
  readonly isWanted: (sections: Sections) => boolean | undefined;
  readonly what: string;
  readonly leaveAt: string;
}

const notYet: readonly NotYet[] = [
  {
    key: 'result.onChange',
    isWanted: ({ result }) => result && result.onChange === 'add',
    what: 'adding result columns in the middle of the nights',
    leaveAt: 'fail or ignore',
  },
];

/** Tells of every value that asks for what this release cannot do. */
export function findNotYet(sections: Sections, onProblem: (key: string, text: string) => void): void {
  for (const { key, isWanted, what, leaveAt } of notYet) {
    if (isWanted(sections)) onProblem(key, `${what} comes with a later release; leave it at ${leaveAt}`);
  }
}
