import { expect, test } from 'vitest';
import { HttpError } from '../../src/http/errors.ts';
import { createRequireOwnHost } from '../../src/mcp/own-hosts.ts';

const PUBLIC = 'https://askwatch.example.com';

test.each([
  // On this machine alone.
  [{}, 'localhost:3000', undefined, 'in'],
  [{}, '127.0.0.1:3000', undefined, 'in'],
  [{}, '[::1]:3000', undefined, 'in'],
  [{}, 'LOCALHOST.:3000', undefined, 'in'],
  [{}, 'localhost:3000', 'http://localhost:6274', 'in'],
  [{}, 'evil.example:3000', undefined, 'out'],
  [{}, 'localhost.evil.example', undefined, 'out'],
  [{}, '127.0.0.1.evil.example', undefined, 'out'],
  [{}, '192.168.0.7:3000', undefined, 'out'],
  [{}, 'localhost@evil.example', undefined, 'out'],
  [{}, '', undefined, 'out'],
  [{}, 'localhost:3000', 'https://evil.example', 'out'],
  [{}, 'localhost:3000', 'null', 'out'],
  [{}, 'localhost:3000', 'chrome-extension://localhost', 'out'],
  // Behind a proxy on this machine.
  [{ publicUrl: PUBLIC }, 'askwatch.example.com', undefined, 'in'],
  [{ publicUrl: PUBLIC }, 'askwatch.example.com', PUBLIC, 'in'],
  [{ publicUrl: PUBLIC }, '127.0.0.1:3000', PUBLIC, 'in'],
  [{ publicUrl: PUBLIC }, 'other.example.com', undefined, 'out'],
  [{ publicUrl: PUBLIC }, 'askwatch.example.com', 'https://other.example.com', 'out'],
  // Others reach it, by whatever name they have for it.
  [{ isOpen: true }, 'nas.local:3000', undefined, 'in'],
  [{ isOpen: true }, 'nas.local:3000', 'http://nas.local:3000', 'in'],
  [{ isOpen: true }, 'nas.local:3000', 'https://evil.example', 'out'],
  [{ isOpen: true }, 'nas.local:3000', 'null', 'out'],
  [{ isOpen: true }, 'a b', undefined, 'out'],
  // A page that is led here by its own name is still another's page.
  [{ isOpen: true, publicUrl: PUBLIC }, 'askwatch:3000', undefined, 'in'],
  [{ isOpen: true, publicUrl: PUBLIC }, 'evil.example', 'https://evil.example', 'out'],
  [{ isOpen: true, publicUrl: PUBLIC }, 'askwatch:3000', PUBLIC, 'in'],
])('Of a listener %j, the host %j with the origin %j is let %s', (listener, host, origin, is) => {
  const requireOwnHost = createRequireOwnHost({ isOpen: false, publicUrl: undefined, ...listener });
  const ask = () => requireOwnHost({ host, headers: { origin } });
  if (is === 'in') expect(ask).not.toThrow();
  else expect(ask).toThrow(HttpError);
});
