// Loaded before a server that knows no address but all: it listens on this machine alone, and says on which port.
import { type AddressInfo, Server } from 'node:net';

const listen = Server.prototype.listen as (...args: unknown[]) => Server;
Server.prototype.listen = function (this: Server, port: number, ...rest: unknown[]): Server {
  const ready = rest.find((argument) => typeof argument === 'function');
  this.once('listening', () => {
    process.stdout.write(`listening on ${(this.address() as AddressInfo).port}.\n`);
  });
  return listen.call(this, port, '127.0.0.1', ready);
} as typeof Server.prototype.listen;
