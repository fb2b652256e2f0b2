/** A proxy between client and service, which notices the first request of a client. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Must be closed. Passes bytes on unchanged; calls `onRequest`, if it is set, at the first request of a new connection. */
export async function openProxy(target) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  const proxy = { onRequest: undefined };
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      // A killed client cuts its connections: the other half goes with it, and that is no error here.
      socket.on('error', () => undefined);
    }
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    near.once('data', () => {
      proxy.onRequest?.();
      proxy.onRequest = undefined;
    });
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  proxy.close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return proxy;
}
