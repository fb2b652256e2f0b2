/** Holds what was simulated to the goals of the schedule, and shows it as a table. */

/** At most: makespan over its lower bound, notice over a folio's time, polls a folio after the first window. */
const GOALS = { makespan: 1.05, notice: 0.05, polls: 15 };

/** @returns the missed goals, without those from which the scenario is spared. */
export function missedGoals({ spared, model }, { makespan, bound, notice, polls }) {
  const figures = { makespan: makespan / bound.time, notice, polls: isHonest(model) ? polls : null };
  return Object.keys(GOALS).filter(
    (goal) => figures[goal] !== null && figures[goal] > GOALS[goal] && !spared.includes(goal),
  );
}

function isHonest({ percentage }) {
  return percentage === 'honest' || percentage === 'whole';
}

const COLUMNS = {
  'a folio': ({ scenario }) => scenario.pace,
  service: ({ scenario }) => scenario.name,
  open: ({ scenario }) => scenario.concurrency.folios,
  chunks: ({ scenario }) => scenario.chunks.toLocaleString('en'),
  makespan: ({ result }) => timeText(result.makespan),
  'over bound': ({ result, scenario }) =>
    marked(scenario, 'makespan', (result.makespan / result.bound.time).toFixed(3)),
  noticed: ({ result, scenario }) => marked(scenario, 'notice', `${(100 * result.notice).toFixed(1)} %`),
  polls: ({ result, scenario }) =>
    result.polls === null ? '' : marked(scenario, 'polls', result.polls.toFixed(1)),
  'in the first window': ({ result }) => result.firstPolls.toFixed(1),
  'upload waits': ({ result }) => timeText(result.uploadWait),
  'requests a second': ({ result }) => ((1000 * result.requests) / result.makespan).toPrecision(2),
  missed: ({ missed }) => (missed.length === 0 ? '' : `**${missed.join(', ')}**`),
};

export const tableHead = [line(Object.keys(COLUMNS)), line(Object.keys(COLUMNS).map(() => '---'))];

export function tableRow(judged) {
  return line(Object.values(COLUMNS).map((cell) => cell(judged)));
}

/** Why goals are spared, one line a scenario. */
export function sparedNotes(scenarios) {
  return scenarios
    .filter(({ spared }) => spared.length > 0)
    .map(({ pace, name, spared, why }) => `- ${pace}, ${name} (not held to: ${spared.join(', ')}): ${why}.`);
}

function line(cells) {
  return `| ${cells.join(' | ')} |`;
}

/** A figure that is not held to its goal is shown in brackets. */
function marked({ spared }, goal, text) {
  return spared.includes(goal) ? `(${text})` : text;
}

/** Milliseconds as people say them. */
export function timeText(time) {
  const units = { h: 3_600_000, min: 60_000, s: 1000 };
  const [unit, size] = Object.entries(units).find(([, size]) => time >= size) ?? ['ms', 1];
  const value = time / size;
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`;
}
