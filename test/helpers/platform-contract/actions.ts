import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { deliverTo, folderWithIntake } from '../intake/deliver-to.ts';
import { delivery } from '../intake/intake-server.ts';
import {
  ANSWER,
  ask,
  type ChatWorld,
  find,
  inThread,
  type OpenWorld,
  openForm,
  prompted,
  seen,
  told,
  wholeAnswer,
  withAlert,
} from './world.ts';

const TARGET = 'https://example.com/shop';

/** Asks for a monitor, and returns the card that proposes it. */
async function propose(world: ChatWorld, { isPrivate = false } = {}) {
  world.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name: 'create_monitor', arguments: JSON.stringify({ target: TARGET }) }] },
  );
  world.command('ask', { question: 'watch my shop', ...(isPrivate && { private: true }) });
  const card = await find(world, ({ buttons }) => buttons.join() === 'Watch,Cancel', 'a proposal');
  return { card };
}

/** Proposals, buttons under alerts, and forms, which every platform shows alike. */
export function testActions(open: OpenWorld): void {
  describe.each([
    ['a thread', false],
    ['private', true],
  ])('a proposal in %s', (_where, isPrivate) => {
    test('is carried out once it is confirmed, and its card says so', async () => {
      const world = await open();
      const { card } = await propose(world, { isPrivate });
      expect(card.isPrivate).toBe(isPrivate);
      expect(world.service.monitors).toEqual([]);
      world.press(card.id, 'Watch');
      await eventually(() => seen(world, card.id).buttons.length === 0);
      expect(seen(world, card.id).text).toMatch(
        new RegExp(`Now watching [\\s\\S]*Confirmed by ${world.people[0]}`),
      );
      expect(world.service.monitors).toMatchObject([{ target: TARGET }]);
    });

    test('is dropped when it is cancelled, and its card says so', async () => {
      const world = await open();
      const { card } = await propose(world, { isPrivate });
      world.press(card.id, 'Cancel');
      await eventually(() => seen(world, card.id).buttons.length === 0);
      expect(seen(world, card.id).text).toMatch(
        new RegExp(`Nothing was done[\\s\\S]*Cancelled by ${world.people[0]}`),
      );
      expect(world.service.monitors).toEqual([]);
    });
  });

  test('only the person who asked can decide about a proposal', async () => {
    const world = await open();
    const { card } = await propose(world);
    world.press(card.id, 'Watch', 1);
    await told(world, 'Only the person who asked for this can decide.');
    expect(seen(world, card.id)).toEqual(card);
    expect(world.service.monitors).toEqual([]);
  });

  test('Acknowledge shows in the alert who pressed it', async () => {
    const { world, alert } = await withAlert(open);
    expect(alert.buttons.slice(0, 4)).toEqual([
      'Acknowledge',
      'Snooze 1 h',
      'Check now',
      'Ask why',
    ]);
    world.press(alert.id, 'Acknowledge', 1);
    await eventually(() => !seen(world, alert.id).buttons.includes('Acknowledge'));
    expect(seen(world, alert.id).text).toMatch(
      new RegExp(`Acknowledged by[\\s\\S]*${world.people[1]}`),
    );
    expect(world.messages()).toHaveLength(1);
  });

  test('Check now answers in private and leaves the alert as it is', async () => {
    const { world, alert } = await withAlert(open);
    world.press(alert.id, 'Check now');
    await told(world, 'Shop can’t be checked now');
    expect(seen(world, alert.id)).toEqual(alert);
  });

  test('Ask why is answered in the alert’s thread, which knows the incident', async () => {
    const { world, alert } = await withAlert(open);
    world.press(alert.id, 'Ask why', 1);
    const answer = await wholeAnswer(world, ANSWER);
    expect(answer.thread).toBe(alert.id);
    expect(inThread(world, alert.id)[0]?.text).toMatch(/ask(s|ed)[\s\S]*Why is this down/);
    const [system] = world.provider.calls[0]?.body.messages ?? [];
    expect(system.content).toContain('Monitor: Shop');
    world.provider.answerWith('Disk 2.');
    world.say('Which disk?', { thread: alert.id });
    await wholeAnswer(world, 'Disk 2.');
    expect(prompted(world)).toEqual([
      expect.stringContaining('Why is this down'),
      ANSWER,
      'Which disk?',
    ]);
  });

  test('Ask why without a model says what is known and can be tried again', async () => {
    const { world, alert } = await withAlert(open);
    world.provider.failWith({ kind: 'status', status: 503 });
    world.press(alert.id, 'Ask why');
    const answer = await wholeAnswer(world, 'What we know so far', ['Try again']);
    expect(answer.text).toMatch(/Shop is down[\s\S]*The model gateway answered with an error/);
  });

  test('a repeated delivery of a press acts once', async () => {
    const { world, alert } = await withAlert(open);
    world.press(alert.id, 'Ask why');
    world.repeat();
    await wholeAnswer(world, ANSWER);
    world.repeat();
    world.press(alert.id, 'Check now');
    await told(world, 'can’t be checked now');
    expect(world.provider.calls).toHaveLength(1);
    expect(inThread(world, alert.id)).toHaveLength(2);
  });

  test('buttons of an alert work after a restart', async () => {
    const { world, alert } = await withAlert(open);
    await world.restart();
    world.press(alert.id, 'Acknowledge');
    await eventually(() => !seen(world, alert.id).buttons.includes('Acknowledge'));
  });

  test('Summarise attaches a postmortem in the alert’s thread, without a model, too', async () => {
    const { world, alert, shop } = await withAlert(open, 'Shop <!channel> @everyone');
    world.service.setStatus(shop.id, 'UP');
    await eventually(() => seen(world, alert.id).buttons.includes('Summarise'));
    world.provider.failWith({ kind: 'status', status: 503 });
    world.press(alert.id, 'Summarise');
    const { files } = await find(
      world,
      (one) => one.files.length > 0 && one.thread === alert.id,
      'a postmortem',
    );
    expect(files).toMatchObject([
      { name: expect.stringMatching(/^postmortem-[a-z\d]{8}-\d{4}-\d\d-\d\d\.md$/) },
    ]);
    expect(files[0]?.text).toMatch(/^# Postmortem draft: Shop [\s\S]*## Timeline/);
    expect(files[0]?.text).not.toMatch(/<!|@everyone/);
    await wholeAnswer(world, 'The file was created without a model.', ['Try again']);
    expect(world.messages().flatMap(({ notified }) => notified)).toEqual([]);
  });

  test('an alert of another system is one message until its end, and notifies nobody', async () => {
    let token = '';
    const world = await open({
      alerts: true,
      async folderFor(place) {
        const made = await folderWithIntake(place, 'alertmanager');
        ({ token } = made);
        return made.folder;
      },
    });
    const deliver = await deliverTo(world, `/hooks/alertmanager/${token}`);
    const firing = delivery([{ name: 'Queue <!channel> @everyone' }]);
    const summary = 'Ask <@U00ADA> or [your bank](https://evil.example) @here';
    Object.assign(firing.alerts[0]?.annotations ?? {}, { summary });
    expect(await deliver(firing)).toBe(200);
    const alert = await find(world, ({ text }) => text.includes('Reported by'), 'an alert');
    expect(alert.buttons.slice(0, 3)).toEqual(['Acknowledge', 'Snooze 1 h', 'Ask why']);
    expect(await deliver(firing)).toBe(200);
    for (const one of firing.alerts) one.status = 'resolved';
    expect(await deliver(firing)).toBe(200);
    await eventually(() => world.messages().length === 2);
    await world.stop();
    const shown = world.messages();
    expect(shown.map(({ text }) => text)).toEqual(
      [1, 2].map(() => expect.stringContaining('RESOLVED: ')),
    );
    expect(shown.flatMap(({ notified }) => notified)).toEqual([]);
  });

  test('/monitor add alone opens a form, which adds one monitor', async () => {
    const world = await open();
    world.command('monitor add');
    const form = await openForm(world);
    expect(form.title).toBe('Add a monitor');
    expect(Object.keys(form.inputs)).toEqual(expect.arrayContaining(['type', 'target', 'name']));
    world.submit({ target: 'https://shop.example', name: 'Shop' });
    await find(world, ({ text }) => text.includes('Now watching Shop'));
    world.repeat();
    await ask(world);
    expect(world.service.monitors).toMatchObject([
      { name: 'Shop', check_type: 'HTTP', target: 'https://shop.example' },
    ]);
  });

  test('a person without the right gets no form, and can’t send one that was opened before', async () => {
    const world = await open({ settings: { mayAdd: 'managers' } });
    const refusals = () =>
      world.messages().filter(({ text }) => /Only people .* can add monitors/.test(text));
    world.command('monitor add');
    await eventually(() => refusals().length === 1);
    expect(world.form()).toBeUndefined();
    world.setManager(1, true);
    world.command('monitor add', {}, 1);
    await openForm(world);
    world.setManager(1, false);
    world.submit({ target: 'https://shop.example' });
    await eventually(() => refusals().length === 2);
    expect(refusals().every(({ isPrivate }) => isPrivate)).toBe(true);
    expect(world.service.monitors).toEqual([]);
  });

  test.each([
    ['model', { model: 'test-vision' }, 'test-vision answers here from now on'],
    [
      'prompt',
      { prompt: 'Be brief.\n<!channel> @everyone & more' },
      "This channel's prompt has changed",
    ],
  ])('/askwatch %s alone opens a form with the current value', async (name, values, changed) => {
    const world = await open();
    world.setManager(1, true);
    world.command(`askwatch ${name}`, {}, 1);
    await openForm(world);
    world.submit(values);
    await find(world, ({ text, isPrivate }) => text.includes(changed) && !isPrivate);
    world.command(`askwatch ${name}`, {}, 1);
    await eventually(() => world.form()?.inputs[name] === Object.values(values)[0]);
    expect(world.messages().flatMap(({ notified }) => notified)).toEqual([]);
  });

  test('a person without the right sees the current value of /askwatch model', async () => {
    const world = await open();
    world.command('askwatch model');
    await told(world, 'test-model answers here');
    expect(world.form()).toBeUndefined();
  });
}
