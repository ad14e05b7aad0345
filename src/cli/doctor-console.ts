import { type Finding, ok, warning } from '../bot/shared/finding.ts';
import { isLoopback, type Settings } from '../config/settings.ts';

/** Who gets into the console. That it has a password where others reach it, the settings see to. */
export function checkConsole({ roles, host, consolePassword }: Settings): Finding {
  const check = 'Console';
  if (!roles.has('console')) return ok(check, 'off: not in ASKWATCH_ROLES');
  if (consolePassword === undefined) {
    return ok(check, 'opens on this machine only, for everyone there; CONSOLE_PASSWORD is not set');
  }
  if (isLoopback(host)) return ok(check, 'asks for CONSOLE_PASSWORD');
  return warning(
    check,
    'It asks for CONSOLE_PASSWORD, which crosses the network in clear where people open it over http. Put a web server with HTTPS in front, and let only that reach PORT.',
  );
}

/** Whether those behind a proxy are told apart. HTTPS is spoken by something in front, so there is one. */
export function checkProxies({ publicUrl, trustedProxies }: Settings): Finding[] {
  const check = 'Proxies';
  if (trustedProxies.length > 0) {
    return [ok(check, `what ${trustedProxies.join(', ')} forwards is believed`)];
  }
  if (!publicUrl?.startsWith('https:')) return [];
  return [
    warning(
      check,
      'PUBLIC_URL is https, so a proxy is in front, and everybody behind it counts as one address: one who tries wrong passwords or keys holds up all. Set TRUSTED_PROXIES to the address from which the proxy connects, such as 127.0.0.1.',
    ),
  ];
}
