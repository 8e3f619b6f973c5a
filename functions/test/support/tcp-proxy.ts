import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy on a loopback port that can fail in the two ways that a network does. */
export interface TcpProxy {
  port: number;
  /** Time of each connection attempt, in Unix milliseconds. */
  attempts: number[];
  /** Drops all further bytes of the open connections, without closing them. New connections are forwarded. */
  silence: () => void;
  /** Closes all connections, and each new one at once, until {@link TcpProxy.restore}. */
  interrupt: () => void;
  restore: () => void;
  close: () => Promise<void>;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const attempts: number[] = [];
  const pairs = new Set<readonly [Socket, Socket]>();
  let isInterrupted = false;
  const closeAll = () => pairs.forEach((pair) => pair.forEach((socket) => socket.destroy()));

  const server = createServer((client) => {
    attempts.push(Date.now());
    if (isInterrupted) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    const pair = [client, target] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        pairs.delete(pair);
        pair.forEach((each) => each.destroy());
      });
    }
    client.pipe(target).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    attempts,
    silence: () => {
      for (const [client, target] of pairs) {
        client.unpipe(target).resume();
        target.unpipe(client).resume();
      }
    },
    interrupt: () => {
      isInterrupted = true;
      closeAll();
    },
    restore: () => {
      isInterrupted = false;
    },
    close: async () => {
      closeAll();
      server.close();
      await once(server, 'close');
    },
  };
}
