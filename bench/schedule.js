/**
 * The schedule, simulated: the real stages on a virtual clock against modelled services, held to its goals.
 * After `npm run build`: node bench/schedule.js [--only TEXT] [--billion [--state-in DIR]] [--thousand] [--write]
 * Ends with 1 where a goal is missed.
 */
import { tmpdir } from 'node:os';
import { readOptions } from './read-options.js';
import { simulateBillion } from './schedule/billion.js';
import { missedGoals, sparedNotes, tableHead, tableRow } from './schedule/judge.js';
import { scenarios } from './schedule/scenarios.js';
import { writeSection } from './schedule/sections.js';
import { simulate } from './schedule/simulate.js';
import { simulateThousand } from './schedule/thousand.js';

const { values, refuse } = readOptions(
  'npm run bench:schedule -- [--only TEXT] [--billion [--state-in DIR]] [--thousand] [--write]',
  {
    /** Scenarios whose folio time and service, as the table shows them, contain this. */
    only: { type: 'string', default: '' },
    billion: { type: 'boolean', default: false },
    thousand: { type: 'boolean', default: false },
    /** Where the billion's checkpoint is made. */
    'state-in': { type: 'string', default: tmpdir() },
    /** Replaces the section in SCHEDULE.md. */
    write: { type: 'boolean', default: false },
  },
);

const lines = [];
function say(line) {
  lines.push(line);
  console.log(line);
}

if (values.thousand) {
  say('| figure | value |\n| --- | --- |');
  for (const row of await simulateThousand()) say(`| ${row.join(' | ')} |`);
  if (values.write) writeSection('A thousand pipelines, simulated', lines.join('\n'));
} else if (values.billion) {
  say('| figure | value |\n| --- | --- |');
  for (const row of await simulateBillion(values['state-in'])) say(`| ${row.join(' | ')} |`);
  if (values.write) writeSection('A billion records, simulated', lines.join('\n'));
} else {
  const chosen = scenarios.filter(({ pace, name }) => `${pace} ${name}`.includes(values.only));
  if (chosen.length === 0) refuse(`no scenario contains ${JSON.stringify(values.only)}`);
  for (const line of tableHead) say(line);
  let missing = 0;
  for (const scenario of chosen) {
    const result = await simulate(scenario);
    const missed = missedGoals(scenario, result);
    missing += missed.length;
    say(tableRow({ scenario, result, missed }));
  }
  say('');
  for (const note of sparedNotes(chosen)) say(note);
  if (values.write) writeSection('Every scenario', lines.join('\n').trimEnd());
  if (missing > 0) {
    console.error(`${missing} goals are missed`);
    process.exitCode = 1;
  }
}
