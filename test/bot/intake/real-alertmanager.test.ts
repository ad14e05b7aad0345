import { describe, expect, test } from 'vitest';
import { decodeAction, encodeAction } from '../../../src/bot/shared/card.ts';
import { textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { OPS, openIntakeServer } from '../../helpers/intake/intake-server.ts';
import { hasAlertmanager, startAlertmanager } from '../../helpers/intake/real-alertmanager.ts';

describe.skipIf(!hasAlertmanager)('with a real Alertmanager', () => {
  test('an alert is told, silenced with its snooze, and told to be over', async () => {
    // The address is known once the server listens.
    const alertmanagerUrls: string[] = [];
    const { bot, slack, url, token } = await openIntakeServer({ settings: { alertmanagerUrls } });
    const webhook = { url: `${url}/hooks/alertmanager/${token}`, send_resolved: true };
    const route = { receiver: 'askwatch', group_wait: '100ms', group_interval: '500ms' };
    const alertmanager = await startAlertmanager({
      config: JSON.stringify({
        route: { ...route, group_by: ['...'] },
        receivers: [{ name: 'askwatch', webhook_configs: [webhook] }],
      }),
    });
    alertmanagerUrls.push(alertmanager.url);
    const shown = () => {
      const [message] = slack.messages;
      return message ? textOf(message.card) : '';
    };
    async function press(label: string) {
      const action = slack.messages[0]?.card.actions?.find((one) => one.label === label);
      if (!action) throw new Error(`There is no button ${label}.`);
      const request = decodeAction(encodeAction(action));
      if (!request) throw new Error('The button carries nothing.');
      const person = { id: 'U1', name: 'Grace' };
      return await bot.dispatch({ id: label, request, place: OPS, person });
    }

    const labels = { alertname: 'ShopDown', instance: 'shop "1"', severity: 'page' };
    const annotations = { summary: 'It is down' };
    await alertmanager.tell([{ labels, annotations }]);
    await eventually(() => shown().includes('FIRING: ShopDown'));
    expect(shown()).toContain('Cause: It is down');

    await press('Snooze 1 h');
    await eventually(() => shown().includes('Silenced in Alertmanager until'));
    const [silence, ...others] = await alertmanager.silences();
    expect(others).toEqual([]);
    expect(silence).toMatchObject({ createdBy: 'Grace', state: 'active' });
    expect(
      Object.fromEntries(silence?.matchers.map(({ name, value }) => [name, value]) ?? []),
    ).toEqual(labels);

    await press('End snooze');
    await eventually(() => shown().includes('Silence in Alertmanager: ended'));
    expect((await alertmanager.silences()).map(({ state }) => state)).toEqual(['expired']);

    await alertmanager.tell([{ labels, annotations, endsAt: new Date().toISOString() }]);
    await eventually(() => slack.messages[0]?.card.tone === 'good');
    expect(slack.messages).toHaveLength(1);
  });
});
