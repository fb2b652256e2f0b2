/** Takes turns (A B A B ...), so that other load on a shared machine affects both sides alike. */

/**
 * @param sides name to a function that measures once.
 * @param afterFirst compares what the sides have done: called after a first round, which then does not count.
 * @returns name to the figures of each counted round, in order.
 */
export async function alternate(rounds, sides, afterFirst) {
  const names = Object.keys(sides);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  if (afterFirst !== undefined) {
    for (const name of names) await sides[name]();
    await afterFirst();
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) samples[name].push(await sides[name]());
  }
  return samples;
}
