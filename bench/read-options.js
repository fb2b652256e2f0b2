/** The command line of the programs of bench/ and test/prove/: `--help` and every refusal show the usage. */
import { parseArgs } from 'node:util';

/**
 * Reads the arguments of this process. Ends it after `--help` with 0, and with 2 if something is wrong.
 * @param usage what to type.
 * @param options as `parseArgs` takes them, and of two more types: `count`, a whole number, and `number`, each not below
 *   `least` (default: 1).
 * @param fits whether this number of words beside the options is right. Default: none.
 * @returns the values, the words, and a function that refuses them for another reason.
 */
export function readOptions(usage, options, fits = (count) => count === 0) {
  const refuse = (why) => {
    console.error(`${why}\nusage: ${usage}`);
    process.exit(2);
  };
  const { values, positionals } = parsed(options, refuse);
  if (values.help) {
    console.log(`usage: ${usage}`);
    process.exit(0);
  }
  if (!fits(positionals.length)) {
    refuse(positionals.length === 0 ? 'something is missing' : `not understood: ${positionals.join(' ')}`);
  }
  for (const [name, { type, least = 1 }] of Object.entries(options)) {
    if (!Object.hasOwn(NUMBERS, type) || values[name] === undefined) continue;
    const number = values[name].trim() === '' ? Number.NaN : Number(values[name]);
    if (!NUMBERS[type].is(number) || number < least) {
      refuse(`--${name} ${values[name]}: expected ${NUMBERS[type].what} from ${least}`);
    }
    values[name] = number;
  }
  return { values, words: positionals, refuse };
}

const NUMBERS = {
  count: { is: Number.isSafeInteger, what: 'a whole number' },
  number: { is: Number.isFinite, what: 'a number' },
};

function parsed(options, refuse) {
  const read = Object.entries(options).map(([name, { least: _, ...option }]) => [
    name,
    Object.hasOwn(NUMBERS, option.type) ? { ...option, type: 'string' } : option,
  ]);
  try {
    return parseArgs({
      options: { ...Object.fromEntries(read), help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
  } catch (error) {
    // The sentences after the first one explain how to write a word that looks like an option.
    return refuse(error.message.split('. ')[0]);
  }
}
