/** Settings from flags: `--set chunks.maxRecords=500`, `--output out.csv`. */
import type { Problems } from './problems.js';
import { type Setting, toSettings } from './setting.js';
import { textValue } from './text-value.js';

/** A value that a flag gives to a key. */
export interface Override {
  /** Dotted key, such as `chunks.maxRecords`. */
  readonly key: string;
  /** A text is read as the key wants it: as it stands, or as YAML. */
  readonly value: unknown;
  /** Absolute folder to which a relative path is relative. */
  readonly baseDir: string;
  /** The flag, as it is shown in problems. */
  readonly origin: string;
}

/** @param problems is told of tokens: every user of the machine can read the flags of a process. */
export function overrideSettings(overrides: readonly Override[], problems: Problems): Setting[] {
  return overrides.flatMap(({ key, value, baseDir, origin }) => {
    const parts = key.split('.');
    const read = typeof value === 'string' ? textValue(parts, value) : value;
    const settings = toSettings(read, parts, () => ({ label: origin, baseDir }));
    for (const setting of settings) {
      if (isOpenToken(setting)) {
        const text =
          'a token in a flag can be read by every user of the machine; use FOLIOPIPE_TOKEN or tokenFile';
        problems.add('service.token', text, origin);
      }
    }
    return settings;
  });
}

function isOpenToken({ key, value }: Setting): boolean {
  return key.join('.') === 'service.token' && typeof value === 'string' && !/^\$\{\w+\}$/.test(value);
}
