import { expect, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { noteIn, withNote } from '../../../src/bot/incidents/incident-service.ts';
import { newIncident } from '../../../src/bot/incidents/incidents.ts';
import { OPS, startAlertedBot } from '../../helpers/bot/alerted-bot.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';

/** A bot with an alert; `ask` is what platforms hand over when somebody says something in a thread. */
async function start(names: string[]) {
  const running = await startAlertedBot(names);
  const ask = (question: string, { thread = running.thread, name = 'Ada' } = {}) =>
    running.send(
      { command: 'ask', values: { question } },
      { place: OPS, thread, person: { id: 'U1', name } },
    );
  return { ...running, ask };
}

const MONITOR = {
  ...{ id: 'a', name: 'Shop', check_type: 'HTTP', target: 'https://shop.example' },
  ...{ status: 'DOWN', interval_seconds: 60 },
};
const AROUND = { nowMs: 1000, newId: () => 'i', placesFor: () => [] };

test('a note is kept with the incident, shown in every place, and not sent to a model', async () => {
  const { ask, alert, other, provider, recover } = await start(['Shop']);
  expect(alert.card.footer).toMatch(/^Incident \w{8} · Reply “note: …” to add a note$/);
  const reply = await ask('  NOTE:  restarted\n the database ');
  expect(reply).toMatchObject({ kind: 'card', private: false });
  expect(textOf(cardOf(reply))).toMatch(/^Noted\nThe alert shows this note/);
  for (const message of [alert, other]) {
    await eventually(() =>
      textOf(message.card).includes('\nNote by Ada: restarted the database\n'),
    );
  }
  expect(provider.calls).toEqual([]);

  // The model gets the note as data.
  await readAnswer(await ask('why is it down?'), alert.id);
  const messages = provider.calls[0]?.body.messages as Array<{ role: string; content: string }>;
  expect(messages[0]?.content).toMatch(
    /\nAcknowledged by: nobody\nNotes from people, oldest first:\n- [\d-]+T[\d:]+Z Ada: restarted the database\n/,
  );

  // For the summary, also when it is over.
  await recover();
  await ask('note: it was the disk', { name: 'Bob <!here>' });
  await eventually(() => textOf(alert.card).includes('Note by Bob <!here>: it was the disk'));
  expect(alert.card.title).toMatch(/^Shop recovered after /);
  await eventually(() => alert.lines.size === 1);
});

test('a note that comes before the platform has said which thread the alert has is kept', async () => {
  const { bot, service } = await startTestBot({ settings: { alertPlaces: [OPS] } });
  const slack = createScriptedPlatform('slack');
  let answer = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const post: typeof slack.post = async (alert) => {
    const posted = await slack.post(alert);
    await answered;
    return posted;
  };
  const { id } = service.add({ name: 'Shop' });
  await bot.start([{ ...slack, post }]);
  await eventually(() => service.requests.length > 1);
  service.setStatus(id, 'DOWN');
  const alert = await eventually(() => slack.messages[0]);

  const isOurs = bot.isConversation(OPS, alert.id);
  const note = bot.dispatch({
    ...{ id: 'early', request: { command: 'ask', values: { question: 'note: I look' } } },
    ...{ place: OPS, thread: alert.id, person: { id: 'U1', name: 'Ada' } },
  });
  const elsewhere = await bot.isConversation({ ...OPS, channel: 'C2' }, alert.id);
  answer();
  expect([await isOurs, elsewhere]).toEqual([true, false]);
  expect(textOf(cardOf(await note))).toMatch(/^Noted\n/);
  await eventually(() => textOf(alert.card).includes('Note by Ada: I look'));
});

test('a note in the thread of several outages is kept with them all', async () => {
  const { ask, alert, provider } = await start(['A', 'B', 'C']);
  expect(alert.titles.at(-1)).toBe('3 services are down');
  await ask('note: the switch in rack 4');
  await readAnswer(await ask('why?'), alert.id);
  const messages = provider.calls[0]?.body.messages as Array<{ content: string }>;
  expect(messages[0]?.content).toMatch(/Ada: the switch in rack 4\n/);
  // Each with its target.
  expect(messages[0]?.content).toMatch(/\n- B \(https:\/\/.+\): from /);
});

test('an empty note is refused, and “note:” elsewhere is a question like any other', async () => {
  const { ask, alert } = await start(['Shop']);
  const before = textOf(alert.card);
  const reply = await ask('note:  ');
  expect(reply).toMatchObject({ kind: 'card', private: true });
  expect(textOf(cardOf(reply))).toContain('Write the note after “note:”');
  expect(textOf(alert.card)).toBe(before);
  expect(await ask('note: what is a note?', { thread: 'another' })).toMatchObject({
    ...{ kind: 'answer', question: 'note: what is a note?' },
  });
  expect(noteIn('the note: x')).toBeUndefined();
  expect(noteIn('notes: x')).toBeUndefined();
});

test('the newest twenty are kept, of 500 characters each, and three are shown', () => {
  const noted = Array.from({ length: 25 }, (_, at) => ({
    ...{ by: `P${at}`, text: `${at} ${'x'.repeat(600)}`, atMs: at },
  })).reduce(withNote, newIncident(MONITOR, [], AROUND));
  expect(noted.version).toBe(26);
  expect(noted.notes).toHaveLength(20);
  expect(noted.notes?.map(({ by }) => by)).toEqual(
    Array.from({ length: 20 }, (_, at) => `P${at + 5}`),
  );
  expect(noted.notes?.every(({ text }) => text.length === 500)).toBe(true);
  const [part] = alertCard(noted, {}).parts;
  const facts = part?.kind === 'facts' ? part.facts : [];
  const shown = facts.filter(({ label }) => label.startsWith('Note by'));
  expect(shown.map(({ label }) => label)).toEqual(['Note by P22', 'Note by P23', 'Note by P24']);
  expect(shown.every(({ value }) => String(value).length === 200)).toBe(true);
});

test('a note that a person keeps twice within ten minutes is kept once, also where it was cut', () => {
  const text = 'x'.repeat(600);
  const notes = [
    { by: 'Ada', text, atMs: 1 },
    { by: 'Ada', text, atMs: 2 },
    { by: 'Bob', text, atMs: 3 },
    { by: 'Ada', text, atMs: 600_001 },
  ];
  const noted = notes.reduce(withNote, newIncident(MONITOR, [], AROUND));
  expect(noted.notes?.map(({ by, atMs }) => [by, atMs])).toEqual([
    ['Ada', 1],
    ['Bob', 3],
    ['Ada', 600_001],
  ]);
  expect(noted.version).toBe(4);
});
