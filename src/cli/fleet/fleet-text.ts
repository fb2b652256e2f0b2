/** What `foliopipe fleet` prints: first what a person has to do. */
import { madeUpText } from '../../fleet/missed-times.js';
import {
  type FleetFacts,
  FORGOTTEN_MS,
  isSilent,
  type WaitingRun,
  type WorkedRun,
} from '../../fleet/read-fleet.js';
import { countOf, formatCount, formatDuration } from '../../quantities.js';
import { escapeUnprintable, oneLine, presentTexts, quoteForShell } from '../../text.js';
import { completeCommands } from '../texts/complete-commands.js';
import { asFlags } from '../texts/next-steps.js';
import { leaseText } from '../texts/unfinished-text.js';

/** @param now epoch milliseconds. */
export function fleetText(facts: FleetFacts, now: number): string {
  const { workers, runs, waiting, schedules, deadLetters } = facts;
  const alive = workers.filter(({ isAlive }) => isAlive);
  const gone = workers.length - alive.length;
  const silent = alive.filter(({ silentMs }) => isSilent(silentMs)).length;
  if (workers.length + runs.length + waiting.length + schedules.length + deadLetters.length === 0) {
    return 'nothing here yet: enqueue a run with: foliopipe enqueue; and start a worker with: foliopipe worker\n';
  }
  const sections = [
    section(
      `${countOf(deadLetters.length, 'run')} ${deadLetters.length === 1 ? 'waits' : 'wait'} for a person`,
      deadLetters.flatMap((letter) => letterLines(letter, now)),
    ),
    section(
      presentTexts([
        countOf(alive.length - silent, 'worker'),
        silent !== 0 && `${gone === 0 ? 'and ' : ''}${formatCount(silent)} not heard from`,
        gone !== 0 && `and ${formatCount(gone)} gone`,
      ]).join(', '),
      workers.map(({ host, pid, version, node, runs: most, state, pipelines, isAlive, silentMs }) => {
        const how = isAlive
          ? aliveText(state, silentMs)
          : `gone: not seen for ${formatDuration(silentMs)}; forgotten after ${formatDuration(FORGOTTEN_MS)}`;
        const load = isAlive ? `, ${pipelines.length} of ${countOf(most, 'run')}` : '';
        return `${shown(host)} ${pid}  ${how}${load}  (foliopipe ${shown(version)}, Node ${shown(node)})`;
      }),
    ),
    section(
      `${countOf(runs.length, 'run')} worked on`,
      runs.map((run) => workedText(run, now)),
    ),
    section(
      `${countOf(waiting.length, 'job')} ${waiting.length === 1 ? 'waits' : 'wait'}`,
      waiting.map((one) => waitingText(one, now)),
    ),
    section(
      `${countOf(schedules.length, 'schedule')}`,
      schedules.map((one) => scheduleText(one, now)),
    ),
  ];
  const isStuck = alive.length === 0 && waiting.length + schedules.length > 0;
  const advice = isStuck ? 'no worker is running; start one with: foliopipe worker\n' : '';
  return `${sections.join('')}${advice}`;
}

function aliveText(state: string, silentMs: number): string {
  return isSilent(silentMs) ? `${state} when it was last heard, ${formatDuration(silentMs)} ago` : state;
}

function scheduleText(
  { pipeline, schedule, timeZone, next, missed }: FleetFacts['schedules'][number],
  now: number,
): string {
  const when =
    next === null ? 'never' : `next in ${formatDuration(next - now)}, ${new Date(next).toISOString()}`;
  const line = `${pipeline}  ${schedule} (${timeZone})  ${when}`;
  if (missed === null) return line;
  const what = `${line}; ${new Date(missed.at).toISOString()} was missed: no worker was running`;
  return missed.isMadeUp
    ? `${what}; the first one makes up for it`
    : `${what}; too long ago to make up for it: foliopipe enqueue begins a run now`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function letterLines({ pipeline, from, problem }: FleetFacts['deadLetters'][number], now: number): string[] {
  const { exitCode, code, message, hint, run, at, host } = problem;
  // Without --yes, the run would ask again.
  const asks = exitCode === 9 && hint?.includes('--yes') === true;
  const which = run === null ? '' : `, run ${shown(run)}`;
  const words = (name: string, values: readonly string[]) =>
    values.map((value) => ` ${name}${quoteForShell(escapeUnprintable(value))}`).join('');
  const { files, settings = [], host: there } = from;
  const named = words('-c ', files.slice(0, -1)) + words('--set ', settings) + words('', files.slice(-1));
  const hintText = hint ? shown(completeCommands(hint, asFlags(from))) : '';
  const again = `foliopipe enqueue --again ${asks ? '--yes ' : ''}${pipeline}`;
  // `--again` keeps the config of the job, so a changed file needs a new job.
  const changed =
    files.length === 0
      ? ''
      : `if you have changed the config: foliopipe enqueue${named} (on ${shown(there)})`;
  return [
    `${pipeline}${which}: ${endOf(exitCode)}, ${formatDuration(Math.max(0, now - at))} ago on ${shown(host)}`,
    `  ${shown(message)} [${shown(code)}]`,
    `  next: ${stepsText(hintText, again, changed)}`,
  ];
}

/** What to type: the hint, then one of the commands that put the run back. */
function stepsText(hintText: string, again: string, changed: string): string {
  // The hint may name such a command already.
  if (/\bfoliopipe enqueue\b/.test(hintText)) return changed === '' ? hintText : `${hintText}; ${changed}`;
  const ways = changed === '' ? again : `${changed}; if not: ${again}`;
  if (hintText === '') return ways;
  return changed === '' ? `${hintText}; then: ${ways}` : `${hintText}; then, ${ways}`;
}

function endOf(exitCode: number | null): string {
  return exitCode === null ? 'killed' : `exit ${exitCode}`;
}

function workedText(
  { pipeline, holder, leaseLeftMs, leaseSilentMs, isJob, workerSilentMs, since, madeUpFor }: WorkedRun,
  now: number,
): string {
  const age =
    since === null ? '' : ` for ${formatDuration(Math.max(0, now - since))}${madeUpText(madeUpFor)}`;
  const silent =
    workerSilentMs === null ? '' : `its worker was last heard ${formatDuration(workerSilentMs)} ago`;
  if (holder == null) return `${pipeline}  ${silent === '' ? `starting${age}` : silent}`;
  const by = isJob ? '' : ', by hand and not by a worker';
  const lease = leaseText(leaseLeftMs!, leaseSilentMs);
  return `${pipeline}  process ${holder.pid} on ${shown(holder.host ?? '?')}${age}${by}${silent === '' ? '' : `, ${silent}`}; ${lease}`;
}

function waitingText({ pipeline, since, from, trouble, madeUpFor }: WaitingRun, now: number): string {
  const age = `waits for ${formatDuration(Math.max(0, now - since))}${madeUpText(madeUpFor)}`;
  if (trouble === null) {
    return `${pipeline}  ${age}${from > now ? `, to be taken in ${formatDuration(from - now)}` : ''}`;
  }
  const { exitCode, code, message, times } = trouble;
  const when = from > now ? `in ${formatDuration(from - now)}` : 'now';
  return `${pipeline}  again ${when}: ${endOf(exitCode)}, ${rowText(times, now - trouble.since)}: ${shown(message)} [${shown(code)}]`;
}

/** @param age of the first time, in ms. */
function rowText(times: number, age: number): string {
  return times === 1
    ? `once, ${formatDuration(age)} ago`
    : `${formatCount(times)} times in a row, the first ${formatDuration(age)} ago`;
}

function shown(text: string): string {
  return escapeUnprintable(oneLine(text));
}
