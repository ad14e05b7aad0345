import type { ScriptedPlatform } from './scripted-platform.ts';

const isCause = ({ label }: { label: string }) => label === 'Cause';

/** Messages about a monitor: its own, or its line in a group. */
export function messagesOf({ messages }: Pick<ScriptedPlatform, 'messages'>, name: string) {
  return messages.flatMap(({ id, channel, card, titles }) => {
    const facts = card.parts.flatMap((part) => (part.kind === 'facts' ? part.facts : []));
    const line = facts.find(({ label }) => label === name)?.value;
    if (typeof line === 'string') {
      if (/^(was )?degraded( |,|$)/.test(line)) return [];
      const [, times = '1'] = /down (\d+) times/.exec(line) ?? [];
      const isDown = /^down(:|,|$)/.test(line);
      return [{ id, channel, outages: Number(times), isDown, line, titles, card }];
    }
    if (!card.title.startsWith(`${name} `)) return [];
    // A monitor that was never DOWN has no cause in these tests, and no outage.
    if (titles.some((title) => title.includes('degraded')) && !facts.some(isCause)) return [];
    const [, flaps] = /down (\d+) times in /.exec(card.title) ?? [];
    const earlier = facts.find(({ label }) => label === 'Also down before')?.value;
    const times = facts.find(({ label }) => label === 'Outages')?.value;
    const outages =
      Number(flaps ?? times ?? 1) +
      (typeof earlier === 'string' ? Number.parseInt(earlier, 10) : 0);
    const isDown = card.title === `${name} is down`;
    return [{ id, channel, outages, isDown, line: card.title, titles, card }];
  });
}
