/** Adds the flags that were typed to the commands that a text names. */
import { quoteForShell } from '../../text.js';

/** A flag of the command line that chooses the config, such as `--set` with `chunks.maxRecords=5`. */
export interface ConfigFlag {
  readonly name: '-c' | '--source' | '--output' | '--base-url' | '--state-dir' | '--set' | '--limit';
  readonly value: string;
  /** Gives a value with which the unfinished run began: only commands that continue this run need it. */
  readonly isOfRun?: true;
}

/**
 * Adds the flags to each command of foliopipe in a text, except a flag that the command has already, and, if it continues
 * the unfinished run, a flag whose key has another value in that run. `--set` is compared by its key.
 */
export function completeCommands(text: string, flags: readonly ConfigFlag[]): string {
  const ofRun = new Set(flags.filter(({ isOfRun }) => isOfRun).map(keyOf));
  return text.replace(commandInText, (_, command: string, own: string) => {
    const goesOn = /^foliopipe (?:run|submit|collect|adopt)$/.test(command) && !/--(?:new|limit)\b/.test(own);
    const known = flags.filter((flag) =>
      flag.isOfRun ? goesOn : !goesOn || !withParents(keyOf(flag)).some((key) => ofRun.has(key)),
    );
    const added = known.filter((flag) => !hasFlag(own, flag) && takes(command, flag));
    const words = added.flatMap(({ name, value }) => [name, quoteForShell(value)]);
    return [command, ...words].join(' ') + own;
  });
}

/** As `completeCommands`, only for commands that need no more than the state. The others: see `asRehearsed`. */
export function completeRehearsed(text: string, flags: readonly ConfigFlag[]): string {
  return text.replace(commandInText, (whole) =>
    ofStateAlone.test(whole) ? completeCommands(whole, flags) : whole,
  );
}

const ofStateAlone = /^foliopipe (?:abandon|adopt|ledger|report|runs|status)\b/;

/** The key of the config that a flag sets; the name of the flag if it sets none. */
export function keyOf({ name, value }: ConfigFlag): string {
  return name === '--set' ? value.split('=', 1)[0]! : (KEYS[name] ?? name);
}

/** A key and the maps that hold it: a flag that sets one of them sets the key too. */
function withParents(key: string): readonly string[] {
  const words = key.split('.');
  return words.map((_, at) => words.slice(0, words.length - at).join('.'));
}

const KEYS: Readonly<Partial<Record<ConfigFlag['name'], string>>> = {
  '--source': 'source.path',
  '--output': 'output.path',
  '--base-url': 'service.baseUrl',
  '--state-dir': 'stateDir',
};

const GROUPS = {
  runs: ['show', 'prune'],
  state: ['backup', 'restore', 'copy'],
  reuse: ['show', 'prune', 'forget', 'import'],
  config: ['show'],
};
const OTHERS =
  'init run submit collect plan status report publish load retry adopt abandon recover ledger search check enqueue worker fleet serve';

/** Every command, with its own commands. `test/cli/program.test.ts` compares them with the program. */
export const COMMANDS: ReadonlyMap<string, readonly string[]> = new Map([
  ...OTHERS.split(' ').map((name): [string, string[]] => [name, []]),
  ...Object.entries(GROUPS),
]);

/** Commands that take no config, or only with some of their flags. */
const TAKE_NONE = ['init', 'config', 'serve', 'enqueue'];
const takesConfig = [...COMMANDS]
  .filter(([name]) => !TAKE_NONE.includes(name))
  // Of those with commands of their own, only `runs` does something alone.
  .map(([name, own]) =>
    own.length === 0 ? name : `${name}(?: (?:${own.join('|')}))${name === 'runs' ? '?' : ''}`,
  );
const typed = [...takesConfig, 'enqueue --(?:again|dismiss|remove)', 'enqueue(?= --schedule)'].join('|');

/** Skips "the next foliopipe run", which is not a command to type. The second group is what follows the name. */
const commandInText = new RegExp(
  `(?<![\\w./-]|the next )(foliopipe (?:${typed}))(?![\\w/-])((?:(?!foliopipe )[^;,\\n\`])*)`,
  'g',
);

/** Whether a command takes a flag. Those without `--limit` name a sample by its run; `--output` of `report` is its page. */
function takes(command: string, { name, value }: ConfigFlag): boolean {
  // The commands of a fleet read only `state` and `scratchDir`.
  const isFleet = /^foliopipe (?:worker|fleet|enqueue --\w+)$/.test(command);
  if (isFleet) return name === '-c' || (name === '--set' && /^(?:state|scratchDir)=/.test(value));
  if (name === '--output') return command !== 'foliopipe report';
  return name !== '--limit' || /^foliopipe (?:run|submit|collect|plan)$/.test(command);
}

function hasFlag(words: string, flag: ConfigFlag): boolean {
  const { name, value } = flag;
  const own = words.split(/[\s=]+/);
  // A config may be an argument too, as in a command that is repeated as it was typed.
  if (name === '-c') return own.includes('-c') || own.includes('--config') || own.includes(value);
  const key = keyOf(flag);
  const names = [key, `'${key}`, ...(name === '--set' ? [] : [name])];
  // Only after `--set`: the rest of the text may contain the name of a map as a word.
  const set = own.flatMap((word, at) => (own[at - 1] === '--set' ? [word.replace(/^'/, '')] : []));
  return names.some((one) => own.includes(one)) || withParents(key).some((one) => set.includes(one));
}
