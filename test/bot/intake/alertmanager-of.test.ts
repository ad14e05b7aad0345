import { expect, test } from 'vitest';
import { alertmanagerOf, bareUrl } from '../../../src/bot/intake/alertmanager-of.ts';

const URLS = ['http://first.example:9093', 'https://user:pass@second.example/am'];

test.each([
  [{ kind: 'alertmanager' }, URLS[0]],
  [{ kind: 'grafana' }, undefined],
  [{ kind: 'grafana', alertmanagerUrl: 'https://second.example/am' }, URLS[1]],
  [{ kind: 'alertmanager', alertmanagerUrl: 'https://second.example/am/' }, URLS[1]],
  [{ kind: 'alertmanager', alertmanagerUrl: 'https://third.example' }, undefined],
] as const)('silences for %j are made at %s', (intake, url) => {
  expect(alertmanagerOf(intake, URLS)).toBe(url);
});

test('there are none without an address', () => {
  expect(alertmanagerOf({ kind: 'alertmanager' })).toBe(undefined);
  expect(bareUrl('not an address')).toBe('');
});
