/** Proves one cell of the matrix with real client processes: a night with the fault, and the same command the night after. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkOutput } from './check-output.js';
import { writeJob } from './job.js';
import { countFolios, runClient, startService } from './processes.js';

const SEARCH = ['--name', 'Harbor Hardware 1', '--address', '1 Main St', '--state', 'MT'];

/**
 * @param undisturbed `{ output, answer }` of a service without faults.
 * @returns every problem, none when the cell holds.
 */
export async function proveCell(cell, parent, undisturbed) {
  const folder = join(parent, cell.id.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  const prove = cell.operation === 'search' ? proveSearch : proveRun;
  const problems = await prove(cell, folder, undisturbed);
  if (problems.length === 0) rmSync(folder, { recursive: true, force: true });
  return problems;
}

/** What a run and a search give on a service without faults; takes a folder of its own in `parent`. */
export async function undisturbedRun(parent) {
  const folder = join(parent, 'undisturbed');
  const service = await startService(folder, {});
  try {
    const { config, output } = writeJob(folder, service.url);
    const run = await runClient(['run', config]);
    const search = await runClient(['search', config, ...SEARCH]);
    if (run.code !== 0 || search.code !== 0) {
      throw new Error(`the undisturbed run failed: ${run.stderr}${search.stderr}`);
    }
    return { output: readFileSync(output), answer: JSON.stringify(search.summary.answer) };
  } finally {
    await service.stop();
  }
}

async function proveRun({ rules, config: changes, expect, later }, folder, { output: undisturbed }) {
  const problems = [];
  const first = await startService(folder, { rules });
  const { port } = new URL(first.url);
  const { config, output } = writeJob(folder, first.url, changes);
  const check = (when, end, expected) => {
    const found = [...checkEnd(end, expected), checkOutput(output, expected.output, undisturbed)];
    for (const problem of found) if (problem !== undefined) problems.push(`${when}: ${problem}`);
  };

  check('first run', await runClient(['run', config]), expect);
  await first.stop();
  if (first.hits() === 0) problems.push('first run: the fault hit no call');
  const paid = countFolios(folder);

  const again = await startService(folder, { port, rules: later });
  const end = await runClient(['run', config]);
  check('second run', end, expect.second);
  await again.stop();
  const folios = countFolios(folder);
  if (expect.code === 0 || expect.code === 3) {
    if (folios !== paid) problems.push(`second run: ${folios - paid} uploads of a run that was done`);
  }
  problems.push(...checkPaid(folios, end.summary.uploads, expect));

  if (expect.wayOut !== undefined) {
    const third = await startService(folder, { port, rules: later });
    check('way out', await runClient(['run', config, ...expect.wayOut.args]), {
      message: null,
      ...expect.wayOut,
    });
    await third.stop();
    const all = countFolios(folder);
    // How many were sent before a poll stopped the run depends on timing.
    const expected = expect.wayOut.folios ?? all;
    if (all !== expected) problems.push(`way out: ${all} folios, ${expected} expected`);
  }
  return problems;
}

/** Nothing is paid twice except what was reported as ambiguous. @param uploads of a run that was published. */
function checkPaid(folios, uploads, { chunks, ambiguous, paidTwice }) {
  const expected = chunks + paidTwice;
  if (uploads === undefined)
    return folios > expected ? [`${folios} folios, at most ${expected} expected`] : [];
  const problems = [];
  if (folios !== expected) problems.push(`${folios} folios, ${expected} expected`);
  if (uploads.ambiguous !== ambiguous) {
    problems.push(`${uploads.ambiguous} ambiguous uploads, ${ambiguous} expected`);
  }
  return problems;
}

async function proveSearch({ rules, config: changes, expect }, folder, { answer }) {
  const first = await startService(folder, { rules });
  const { port } = new URL(first.url);
  const { config } = writeJob(folder, first.url, changes);
  const args = ['search', config, ...SEARCH];
  const night = await runClient(args);
  await first.stop();
  const again = await startService(folder, { port });
  const morning = await runClient(args);
  await again.stop();
  return [
    ...checkEnd(night, expect).map((problem) => `first search: ${problem}`),
    ...checkAnswer(night, expect, answer).map((problem) => `first search: ${problem}`),
    ...checkEnd(morning, { code: 0, message: null }).map((problem) => `second search: ${problem}`),
    ...checkAnswer(morning, { code: 0 }, answer).map((problem) => `second search: ${problem}`),
    ...(first.hits() === 0 ? ['the fault hit no call'] : []),
  ];
}

function checkAnswer({ summary }, { code }, answer) {
  const found = JSON.stringify(summary.answer);
  const expected = code === 0 ? answer : undefined;
  return found === expected ? [] : [`answers ${found}, expected ${expected}`];
}

/** The exit code, and what the operator reads: the error's code, or a warning, or nothing at all. */
function checkEnd({ code, summary, stderr }, expected) {
  if (code !== expected.code)
    return [`exit ${code}, expected ${expected.code}: ${stderr.trim() || JSON.stringify(summary)}`];
  const problems = [];
  if (code !== 0 && code !== 3) {
    const found = summary.error?.code;
    if (found !== expected.message) problems.push(`the error is ${found}, expected ${expected.message}`);
  } else if (expected.message === null) {
    if (stderr !== '') problems.push(`something was logged: ${stderr.trim()}`);
  } else if (!stderr.includes(expected.message)) {
    problems.push(`no warning has ${expected.message}: ${stderr.trim()}`);
  }
  return problems;
}
