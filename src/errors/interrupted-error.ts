import { FoliopipeError } from './foliopipe-error.js';

/** The signals that stop a command; a closed terminal sends SIGHUP. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Stopped from outside by a signal; everything bought is kept and the same command goes on. Exit 130 or 143. */
export class InterruptedError extends FoliopipeError {
  override readonly exitCode: 130 | 143;

  constructor(signalName: StopSignal = 'SIGINT') {
    super('INTERRUPTED', `interrupted by ${signalName}`, {
      hint: 'run the same command again: it goes on where this one stopped',
      facts: { signal: signalName },
    });
    this.exitCode = signalName === 'SIGINT' ? 130 : 143;
  }
}
