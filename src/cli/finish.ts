/** How a command tells what the process ends with. */

/** Told the exit code of a command that came to its end. */
export type Finish = (exitCode: number) => void;
