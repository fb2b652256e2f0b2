import { FoliopipeError } from './foliopipe-error.js';

/** Wrong usage or configuration: a person mends it and starts again. Exit 2. */
export class ConfigError extends FoliopipeError {
  override readonly exitCode = 2;
}
