import { FoliopipeError } from './foliopipe-error.js';

/** Stopped from outside by a signal; everything bought is kept and the same command goes on. Exit 130 or 143. */
export class InterruptedError extends FoliopipeError {
  override readonly exitCode: 130 | 143;

  constructor(signalName: 'SIGINT' | 'SIGTERM' = 'SIGINT') {
    super('INTERRUPTED', `interrupted by ${signalName}`, {
      hint: 'run the same command again: it goes on where this one stopped',
      facts: { signal: signalName },
    });
    this.exitCode = signalName === 'SIGTERM' ? 143 : 130;
  }
}
