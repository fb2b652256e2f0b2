/** What a run of a worker says is right for those who have enqueued it. */
import { expect, it } from 'vitest';
import { inJobWords, problemInJobWords } from '../../../src/cli/fleet/job-words.js';

const file = '/tmp/my scratch/jobs/east-7.json';
const job = { pipeline: 'east', from: { host: 'a', files: ['/cfg/base.yaml', '/cfg/my east.yaml'] } };
const config = "-c /cfg/base.yaml -c '/cfg/my east.yaml'";

it.each([
  [
    `correct it, then run the same command again: foliopipe check -c '${file}'`,
    `correct it, then put it back with: foliopipe enqueue --again east: foliopipe check ${config}`,
  ],
  [
    `to go on: foliopipe run -c '${file}' --yes; or begin: foliopipe run -c '${file}' --new, which pays again`,
    `to go on: foliopipe enqueue ${config} --yes; or begin: foliopipe run ${config} --new, which pays again`,
  ],
  [
    'to buy them, add --yes; else see foliopipe reuse show',
    'to buy them, type foliopipe enqueue --again --yes east; else see foliopipe reuse show',
  ],
  [`chunks: wrong (${file}:23)`, 'chunks: wrong (/cfg/base.yaml and /cfg/my east.yaml)'],
])('%s', (text, said) => {
  expect(inJobWords(text, job, file)).toBe(said);
  expect(inJobWords(said, job, file)).toBe(said);
});

it('names no command where the worker does the run again by itself', () => {
  const hint =
    'look whether the database is up, then run the same command again: it goes on where it stopped';
  expect(inJobWords(hint, job, file, 5)).toBe(
    'look whether the database is up, then wait until the worker does it again: it goes on where it stopped',
  );
  expect(inJobWords(hint, job, file, 7)).toContain('foliopipe enqueue --again east');
});

it('says of a variable which worker lacks it, and what to do', () => {
  const error = {
    code: 'CONFIG_INVALID',
    message: `the config has a problem:\n  service.token: the variable BAD_TOKEN is not set (${file}:23)`,
    hint: 'correct it and try again',
  };
  const told = problemInJobWords(error, 2, job, { file, host: 'node-3' });
  expect(told.message).toContain(
    'the variable BAD_TOKEN is not set for the worker on node-3 (/cfg/base.yaml',
  );
  expect(told.hint).toBe(
    'stop the workers, set BAD_TOKEN where they are started, start them again; then: foliopipe enqueue --again east',
  );
});

it('says how a worker gets a new token, and that of no other trouble', () => {
  const hint = `set FOLIOPIPE_TOKEN, then run the same command again: foliopipe run -c '${file}'`;
  const hintOf = (exitCode: number | null, given: string | null = hint) =>
    problemInJobWords({ code: 'TOKEN_REFUSED', message: 'm', hint: given }, exitCode, job, {
      file,
      host: 'h',
    }).hint;
  const own = `set FOLIOPIPE_TOKEN, then put it back with: foliopipe enqueue --again east: foliopipe enqueue ${config}`;
  expect(hintOf(7)).toBe(`${own}; a variable must be set for the worker, which reads it when it starts`);
  expect(hintOf(2)).toBe(own);
  expect(hintOf(null)).toBe(own);
  expect(hintOf(7, null)).toBeNull();
  expect(hintOf(5)).toContain('wait until the worker does it again');
});

it('names the config of a job that was enqueued without a file', () => {
  const none = { pipeline: 'east', from: { host: 'a', files: [] } };
  expect(inJobWords(`chunks: wrong (${file}:23), 12:30`, none, file)).toBe(
    'chunks: wrong (the config), 12:30',
  );
  expect(inJobWords(':9 at the beginning', none, file)).toBe(':9 at the beginning');
});
