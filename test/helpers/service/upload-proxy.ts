/** A proxy between client and service. It forwards everything at once but holds the replies to uploads until released. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface UploadProxy {
  readonly url: string;
  /** Uploads that have begun to arrive. */
  readonly uploads: number;
  /** Resolves when the service has accepted this many uploads, of which the client does not know yet. */
  accepted(count: number): Promise<void>;
  /** Forwards all held replies and all later ones. */
  release(): void;
  close(): Promise<void>;
}

export async function openUploadProxy(target: string): Promise<UploadProxy> {
  let uploads = 0;
  let accepted = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const watchers = new Set<() => void>();

  const forward = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const isUpload = incoming.method === 'POST';
    if (isUpload) uploads += 1;
    const { method, headers, url } = incoming;
    const onward = request(`${target}${url}`, { method, headers }, async (reply) => {
      if (isUpload) {
        accepted += 1;
        for (const look of watchers) look();
        await released;
      }
      outgoing.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  };

  const server = createServer(forward).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get uploads() {
      return uploads;
    },
    accepted: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (accepted >= count) resolve();
        };
        watchers.add(look);
        look();
      }),
    release: () => release(),
    close: async () => {
      release();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
