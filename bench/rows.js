/** Rows of the results: medians with their range, ratios pair by pair, and whether the goal is reached. */

/** How many times faster ours is: the peer's figure over ours. */
export function timesFaster({ what, beside, figure, ours, peer, atLeast }) {
  const ratios = ours.map((sample, pair) => peer[pair][figure] / sample[figure]);
  return {
    what,
    ours: shown(of(ours, figure), UNITS[figure]),
    beside: `${beside}: ${shown(of(peer, figure), UNITS[figure])}`,
    ratio: `${shown(ratios, '')}×`,
    goal: atLeast === undefined ? '' : `≥ ${atLeast}×`,
    reached: atLeast === undefined ? '' : verdict(median(ratios) >= atLeast),
  };
}

/** The same for wall time and CPU time of the processes, for CPU time without their start, and for memory. */
export function timesFasterInAll({ atLeast, ...compared }) {
  const { what } = compared;
  return [
    timesFaster({ ...compared, figure: 'wallSeconds', atLeast }),
    timesFaster({ ...compared, figure: 'cpuSeconds', atLeast }),
    timesFaster({ ...compared, what: `${what}, without start`, figure: 'workCpuSeconds', atLeast }),
    timesFaster({ ...compared, what: `${what}, peak memory`, figure: 'peakRssMB' }),
  ];
}

/** Which share of the peer's figure ours is. */
export function shareOf({ what, beside, figure, ours, peer, atMost }) {
  const ratios = ours.map((sample, pair) => sample[figure] / peer[pair][figure]);
  return {
    what,
    ours: shown(of(ours, figure), UNITS[figure]),
    beside: `${beside}: ${shown(of(peer, figure), UNITS[figure])}`,
    ratio: shown(ratios, ''),
    goal: atMost === undefined ? '' : `≤ ${precise(atMost)}`,
    reached: atMost === undefined ? '' : verdict(median(ratios) <= atMost),
  };
}

/** A figure that is compared with no other one. */
export function within({ what, values, unit, atMost, atLeast }) {
  const goals = [
    ...(atMost === undefined
      ? []
      : [{ goal: `≤ ${precise(atMost)} ${unit}`, isReached: median(values) <= atMost }]),
    ...(atLeast === undefined
      ? []
      : [{ goal: `≥ ${precise(atLeast)} ${unit}`, isReached: median(values) >= atLeast }]),
  ];
  return {
    what,
    ours: shown(values, unit),
    beside: '',
    ratio: '',
    goal: goals.map(({ goal }) => goal).join(', '),
    reached: goals.length === 0 ? '' : verdict(goals.every(({ isReached }) => isReached)),
  };
}

export function table(rows) {
  const head = ['figure', 'ours', 'beside', 'ratio', 'goal', 'reached'];
  const cells = rows.map((row) => [row.what, row.ours, row.beside, row.ratio, row.goal, row.reached]);
  const line = (row) => `| ${row.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...cells.map(line)].join('\n');
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function of(samples, figure) {
  return samples.map((sample) => sample[figure]);
}

const UNITS = {
  wallSeconds: 's',
  cpuSeconds: 's CPU',
  /** Without the start of the process. */
  seconds: 's',
  workCpuSeconds: 's CPU',
  allCpuSeconds: 's CPU',
  peakRssMB: 'MB',
  /** Of CPU time, a record. */
  microseconds: 'µs',
};

/** The median, and the range where there is more than one value. */
function shown(values, unit) {
  const range =
    values.length > 1 ? ` (${precise(Math.min(...values))} to ${precise(Math.max(...values))})` : '';
  return `${precise(median(values))}${unit === '' ? '' : ` ${unit}`}${range}`;
}

/** Three significant digits. */
function precise(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function verdict(reached) {
  return reached ? 'yes' : '**no**';
}
