import { accessSync, constants, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { Agent, request } from 'undici';
import { startProcess, type TargetProcess } from '../shared/target-process.ts';

/** Debian's name, and the name in its own releases. */
const NAMES = ['prometheus-blackbox-exporter', 'blackbox_exporter'];

/** Returns the path of the installed program. */
export function findBlackboxExporter(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Prometheus' blackbox_exporter, which probes a target whenever it is asked to. */
export interface BlackboxExporter extends TargetProcess {
  /** Probes `host:port`; throws when that fails. */
  probe(module: 'connect' | 'tls', target: string): Promise<void>;
}

/** Starts it on a core; its log says only what goes wrong, and nothing of each probe. */
export async function startBlackboxExporter(options: {
  program: string;
  folder: string;
  /** The file with the authority that it trusts. */
  authority: string;
  core: number | undefined;
}): Promise<BlackboxExporter> {
  const { program, folder, authority, core } = options;
  const config = join(folder, 'blackbox.yml');
  const tcp = 'prober: tcp, timeout: 5s, tcp: { preferred_ip_protocol: ip4';
  writeFileSync(
    config,
    `modules:
  connect: { ${tcp} } }
  tls: { ${tcp}, tls: true, tls_config: { ca_file: ${JSON.stringify(authority)} } } }
`,
  );
  const port = await freePort();
  const started = await startProcess({
    name: 'blackbox_exporter',
    program,
    args: [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, '--log.level=info'],
    ready: /[Ll]istening on.* address=\S*?:(\d+)/,
    core,
  });
  const dispatcher = new Agent({ connections: 32 });
  return {
    ...started,
    async probe(module, target) {
      const url = `http://127.0.0.1:${port}/probe?module=${module}&target=${target}`;
      const answer = await request(url, { dispatcher });
      const text = await answer.body.text();
      if (!/^probe_success 1$/m.test(text)) throw new Error(`${target} failed: ${text}`);
    },
    async stop() {
      await dispatcher.close();
      await started.stop();
    },
  };
}

/** A port that nobody listens on just now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
