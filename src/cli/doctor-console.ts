import { isLoopback, type Settings } from '../app/settings.ts';
import { type Finding, ok, warning } from '../bot/shared/finding.ts';

/** Reports who can open the console. The settings already require a password if other machines can reach it. */
export function checkConsole({ roles, host, consolePassword }: Settings): Finding {
  const check = 'Console';
  if (!roles.has('console')) return ok(check, 'off (not in ASKWATCH_ROLES)');
  if (consolePassword === undefined) {
    return ok(
      check,
      'open only on this machine, to everyone there, because CONSOLE_PASSWORD is not set',
    );
  }
  if (isLoopback(host)) return ok(check, 'protected by CONSOLE_PASSWORD');
  return warning(
    check,
    'People who open it over http send CONSOLE_PASSWORD unencrypted. Put an HTTPS proxy in front, and let only the proxy reach PORT.',
  );
}

export function checkProxies({ publicUrl, trustedProxies }: Settings): Finding[] {
  const check = 'Proxies';
  if (trustedProxies.length > 0) {
    return [ok(check, `trusts what ${trustedProxies.join(', ')} forwards`)];
  }
  if (!publicUrl?.startsWith('https:')) return [];
  return [
    warning(
      check,
      'PUBLIC_URL is https, so there is a proxy in front, and everyone behind it counts as one address: one person trying wrong passwords or keys slows down everyone. Set TRUSTED_PROXIES to the address that the proxy connects from, such as 127.0.0.1.',
    ),
  ];
}
