// Two sockets that have left HTTP: bytes pass both ways with back pressure, an end passes as an end, a break as a break.
import type { Socket } from 'node:net';

export interface TunnelOwner {
  /** Something has moved. */
  moved(): void;
  /** Both sides are closed. Called exactly once. */
  over(): void;
}

/** Joins the sockets. `fromClient` and `fromBackend` are bytes that each side sent before it was known that HTTP ends. */
export function join(client: Socket, backend: Socket, fromClient: Buffer, fromBackend: Buffer, owner: TunnelOwner): void {
  let open = 2;
  const closed = (): void => {
    open -= 1;
    if (open === 0) owner.over();
  };
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    // After an end in one direction the other may go on for as long as it likes.
    from.allowHalfOpen = true;
    from.setTimeout(0);
    from.setNoDelay(true);
    from.on('error', ignore);
    from.on('data', (chunk: Buffer) => {
      owner.moved();
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => {
      owner.moved();
      from.resume();
    });
    from.on('end', () => to.end());
    from.on('close', () => {
      // After an orderly end in both directions the other side closes by itself, once it has sent all it has.
      if (!(from.readableEnded && from.writableFinished)) to.destroy();
      closed();
    });
  }
  if (fromClient.length > 0) backend.write(fromClient);
  if (fromBackend.length > 0) client.write(fromBackend);
  client.resume();
  backend.resume();
}

function ignore(): void {}
