/** Whether an address always means this machine: only there may a secret go over http://. */
import { isIPv4 } from 'node:net';

export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
