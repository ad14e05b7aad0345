import fc from 'fast-check';
import { expect, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { newIncident } from '../../../src/bot/incidents/incidents.ts';
import { shownTarget, targetLink } from '../../../src/bot/shared/target-link.ts';
import { long } from '../../helpers/long.ts';

const linkTo = (target: string, checkType = 'HTTP') => targetLink({ checkType, target });

test('the alert of a page opens it, also when it is over', () => {
  const monitor = {
    ...{
      id: 'a',
      name: 'Shop',
      check_type: 'KEYWORD',
      target: 'https://shop.example:8443/cart?a=1',
    },
    ...{ status: 'DOWN', interval_seconds: 60 },
  };
  const around = { nowMs: 1000, newId: () => 'i', placesFor: () => [] };
  const incident = newIncident(monitor, [], around);
  const link = { label: 'Open shop.example:8443', url: 'https://shop.example:8443/cart?a=1' };
  expect(alertCard(incident, {}).link).toEqual(link);
  expect(alertCard({ ...incident, status: 'UP', endedAtMs: 2000 }, {}).link).toEqual(link);
  const named = newIncident({ ...monitor, check_type: 'DNS', target: 'shop.example' }, [], around);
  expect(alertCard(named, {}).link).toBeUndefined();
});

test.each<[string, string]>([
  ['ada:s3cret@', 'https://ada:s3cret@shop.example/'],
  ['ada@', 'https://ada@shop.example/'],
  ['a token for a password', 'https://:s3cret@shop.example/'],
  ['an escaped name', 'https://ada%40corp:s3%3Acret@shop.example/'],
])('credentials are taken out: %s', (_, target) => {
  expect(linkTo(target)).toEqual({ label: 'Open shop.example', url: 'https://shop.example/' });
});

test('secrets in a target are neither shown nor opened', () => {
  const target = 'https://shop.example/a?page=1&token=s3cret';
  expect(shownTarget(target)).toBe('https://shop.example/a?page=1&token=…');
  expect(linkTo(target)?.url).toBe('https://shop.example/a?page=1&token=');
});

test('a target that is no web page, or too long for a button, has no link', () => {
  for (const target of [
    'ftp://shop.example',
    'javascript:alert(1)',
    'shop.example',
    '',
    'http://',
  ]) {
    expect(linkTo(target)).toBeUndefined();
  }
  expect(linkTo('https://shop.example', 'HEARTBEAT')).toBeUndefined();
  expect(linkTo(`https://shop.example/${'a'.repeat(491)}`)?.url).toHaveLength(512);
  expect(linkTo(`https://shop.example/${'a'.repeat(492)}`)).toBeUndefined();
});

test('a link is an address of the web without credentials, whatever the target', () => {
  const part = fc.string({ unit: 'binary-ascii', maxLength: 20 });
  const target = fc.oneof(
    fc
      .tuple(fc.constantFrom('http', 'HTTPS', 'ftp'), part, part, part)
      .map(([scheme, user, password, path]) => `${scheme}://${user}:${password}@h.example/${path}`),
    fc.string(),
  );
  fc.assert(
    fc.property(target, (text) => {
      const link = linkTo(text);
      if (!link) return;
      const url = new URL(link.url);
      expect(['http:', 'https:']).toContain(url.protocol);
      expect(url.username + url.password).toBe('');
      expect(link.url.length).toBeLessThanOrEqual(512);
      expect(link.label.length).toBeLessThanOrEqual(75);
    }),
    { numRuns: long ? 20_000 : 150 },
  );
});

test.each<[string, string]>([
  ['https://ada:secret@shop.example/a@b', 'https://shop.example/a@b'],
  ['https://ada:s@e:cret@shop.example', 'https://shop.example'],
  ['https://shop.example/ada:secret@x', 'https://shop.example/ada:secret@x'],
  ['https://shop.example?mail=a@b.example', 'https://shop.example?mail=a@b.example'],
  ['shop.example', 'shop.example'],
])('%s is shown as %s', (target, shown) => {
  expect(shownTarget(target)).toBe(shown);
});
