/** Turns whatever an operation threw into an answer; nothing of our inside reaches the client. */
import type { Answer } from './answer.js';
import { HttpRefusal } from './http-refusal.js';

/** A refusal keeps its status; a 4xx of the framework (broken JSON, no multipart) too; anything else is a 500. */
export function refusalAnswer(error: unknown): Answer {
  if (error instanceof HttpRefusal) {
    return { ...refused(error.status, error.message), retryAfter: error.retryAfter };
  }
  const status = frameworkStatus(error);
  return status === undefined
    ? refused(500, 'the service met an unexpected error')
    : refused(status, (error as Error).message);
}

function refused(status: number, message: string): Answer {
  return { status, body: { message, response: null } };
}

function frameworkStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  const status = error.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
