/** What a command needs of the section `service`, and placeholders for what it does not need or what is not given. */
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { withVariables } from './interpolate.js';
import type { Environment, Setting } from './settings.js';

/**
 * What a command needs. `service`: the whole section, to send requests; `address`: only the address, to which runs and
 * answers belong; `given`: what is given, and the command works without the rest; `preview`: as `given`, and the command
 * neither reports nor loads; `database`: only that of `load`; `nothing`. What is not needed may be missing.
 */
export type ServiceNeeds = 'service' | 'address' | 'given' | 'preview' | 'database' | 'nothing';

/** The placeholder for an address that is not given. No machine has it: `.invalid` is reserved (RFC 2606). */
export const NO_ADDRESS = 'https://no-address.invalid';
/** The placeholder for a token that is not given or not needed. It is never sent. */
export const NO_TOKEN = 'no-token-is-given';

/** The settings, with placeholders for what the command does not need or what is not given. */
export function withStandIns(
  settings: readonly Setting[],
  needs: ServiceNeeds,
  env: Environment,
): readonly Setting[] {
  if (needs === 'service') return settings;
  const used = needs === 'preview' || needs === 'nothing' ? withoutUnset(settings, env) : settings;
  const optional: readonly string[] = needs === 'address' ? TOKENS : [...ADDRESSES, ...TOKENS];
  const left = optional.reduce((some, name) => withoutUngiven(some, name, env), used);
  const isToken = (setting: Setting) => TOKENS.some((name) => isKey(setting, name));
  const hasToken =
    (needs === 'given' || needs === 'preview') && (Boolean(env.FOLIOPIPE_TOKEN) || left.some(isToken));
  return [
    ...(needs === 'address' ? [] : [standIn('baseUrl', NO_ADDRESS)]),
    ...(hasToken ? left : [...left.filter((setting) => !isToken(setting)), standIn('token', NO_TOKEN)]),
  ];
}

const ADDRESSES = ['baseUrl', 'legacyBaseUrl'];
const TOKENS = ['token', 'tokenFile'];

/**
 * Replaces places for reports and loads whose variable is not set, because the command neither reports nor loads. With
 * `none` as its database, the section `load` stays valid.
 */
function withoutUnset(settings: readonly Setting[], env: Environment): readonly Setting[] {
  return settings.map((setting) => {
    const isReport = setting.key[0] === 'report' && setting.key.length > 1;
    const isLoad = setting.key.join('.') === 'load.into';
    if (!(isReport || isLoad) || isResolved(setting, env)) return setting;
    return { ...setting, value: isLoad ? 'none' : null };
  });
}

/** Leaves out the settings of a key whose last value is missing: a variable is not set, or there is no such file. */
function withoutUngiven(settings: readonly Setting[], name: string, env: Environment): readonly Setting[] {
  const last = settings.findLast((setting) => isKey(setting, name));
  if (last === undefined || isReadable(last, env)) return settings;
  return settings.filter((setting) => !isKey(setting, name));
}

function isKey({ key }: Setting, name: string): boolean {
  return key[0] === 'service' && key[1] === name;
}

function standIn(name: string, value: string): Setting {
  return { key: ['service', name], value, origin: undefined };
}

/** Whether a setting has a value, and each variable in it is set. */
function isResolved(setting: Setting, env: Environment): boolean {
  let isKnown = true;
  const value = withVariables(setting, env, () => {
    isKnown = false;
  });
  return isKnown && value !== null && value !== '';
}

/** Whether a setting has a value and, if that is a token file, the file exists. */
function isReadable(setting: Setting, env: Environment): boolean {
  if (!isResolved(setting, env)) return false;
  if (!isKey(setting, 'tokenFile')) return true;
  const path = String(withVariables(setting, env, () => undefined));
  return existsSync(isAbsolute(path) ? path : join(setting.origin?.baseDir ?? '', path));
}
