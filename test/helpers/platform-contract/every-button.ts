import { expect, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { planMaintenance } from '../../../src/bot/commands/monitor/maintenance.ts';
import { actions } from '../../../src/bot/features.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startToolServer } from '../../fakes/tool-server.ts';
import { conclusion } from '../bot/investigated-bot.ts';
import { otherServer, startBotWithTools, untilOffered } from '../bot/other-tools.ts';
import { eventually } from '../eventually.ts';
import { folderWithSilentAlert } from '../intake/silent-alert.ts';
import { long } from '../long.ts';
import { startService } from '../monitoring/service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { type ChatWorld, type OpenWorld, prompted, type WorldOptions } from './world.ts';

/** The newest message with a button of this label. */
const showing = ({ messages }: ChatWorld, label: string) =>
  messages().findLast(({ buttons }) => buttons.includes(label));

/** Texts of public and of private messages. Slack shows a file as a message of its own, Discord doesn't. */
function textsOf({ messages }: ChatWorld) {
  const all = messages().filter(({ text }) => !text.startsWith('As a file: '));
  const textsWhere = (isPrivate: boolean) =>
    all.filter((one) => one.isPrivate === isPrivate).map(({ text }) => text);
  return { everybody: textsWhere(false), alone: textsWhere(true) };
}

interface Button {
  label: string;
  /** Brings a message with the button about. */
  begin(bed: ChatWorld): Promise<unknown> | undefined;
  /** Questions to the model, and messages for everybody, that come of one press. */
  model: number;
  posts: number;
  /** Matches the text that confirms the action; it must occur once. */
  says: RegExp;
  /** Each person sees by themselves what comes of it. */
  isPersonal?: true;
  /** Only a second person gets a reply. */
  isForSecond?: true;
  /** Only one person has the button. */
  isPrivate?: true;
  /** Over the real monitoring service, with one job. */
  isManaged?: true;
  /** With a tool of somebody else that is not what it was. */
  hasChangedTool?: true;
  /** Needs an alert without news for a long time. */
  hasSilentAlert?: true;
  /** In a channel that investigates outages at once. */
  isInvestigated?: true;
}

const ask = (bed: ChatWorld) => void bed.command('ask', { question: 'why?' });

async function down({ service }: ChatWorld) {
  const { id } = service.add({ name: 'Shop' });
  const asked = service.requests.length;
  await eventually(() => service.requests.length > asked + 1);
  service.setStatus(id, 'DOWN');
  return id;
}

/** Resolves once an outage is investigated; a later investigation finds another cause. */
async function investigated(bed: ChatWorld) {
  bed.provider.answerWith(conclusion({ cause: 'Its disk is full' }));
  await down(bed);
  await eventually(() =>
    textsOf(bed).everybody.some((text) => /is down[\s\S]*disk is full/.test(text)),
  );
  bed.provider.answerWith(conclusion({ cause: 'Its memory is full' }));
}

async function folderWithInvestigations(place: Place) {
  const folder = await temporaryFolder();
  const store = await openTestStore({ folder });
  const investigate = { afterMs: 1, tokensPerDay: 1_000_000 };
  await createChannels(store).change(place, { settings: { investigate } });
  await store.close();
  return folder;
}

/** Has the model propose to watch something. */
function propose(bed: ChatWorld) {
  const calls = [{ name: 'create_monitor', arguments: '{"target":"https://example.com"}' }];
  bed.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool' ? 'It waits for you.' : { calls },
  );
  bed.command('ask', { question: 'watch it' });
}

/** A store that knows a tool otherwise than its server has it now. */
async function changedTool(): Promise<Pick<WorldOptions, 'toolServers' | 'folderFor'>> {
  const folder = await temporaryFolder();
  const server = await startToolServer({ tools: [{ name: 'look' }] });
  const toolServers = [otherServer('docs', { url: server.url, tools: ['look'] })];
  const before = await startBotWithTools(toolServers, { folder });
  await untilOffered(before, 'docs__look');
  await before.stop();
  server.offer.tools = [{ name: 'look', description: 'Another.' }];
  return {
    folderFor: async () => folder,
    toolServers: [otherServer('docs', { url: server.url, tools: ['look'] })],
  };
}

const below = { isInvestigated: true, begin: investigated } as const;

const manage = { isManaged: true, isPrivate: true, model: 0 } as const;

/** Every button there is, by what it does. */
const BUTTONS: Record<string, Button> = {
  'answer stop': {
    ...{ label: 'Stop', model: 0, posts: 0, says: /Stopped by/ },
    begin(bed) {
      bed.provider.answerWith(['one ', 'two ']);
      bed.provider.failWith({ kind: 'stall', afterChunks: 2 });
      ask(bed);
      return eventually(() => textsOf(bed).everybody.some((text) => text.includes('one two')));
    },
  },
  'answer again': {
    label: 'Regenerate',
    begin: ask,
    model: 1,
    posts: 2,
    says: /(asks\n|asked: )why/,
  },
  'answer continue': {
    ...{ label: 'Continue', model: 1, posts: 2, says: /Continue exactly/ },
    begin(bed) {
      bed.provider.answerWith('Half', { finishReason: 'length' });
      ask(bed);
      return undefined;
    },
  },
  'answer rate': { label: '👍', begin: ask, model: 0, posts: 0, says: /rated/, isPersonal: true },
  'answer share': {
    ...{ label: 'Share', model: 0, posts: 2, says: /psst\?/, isPrivate: true },
    begin: (bed) => void bed.command('ask', { question: 'psst?', private: true }),
  },
  'incident acknowledge': {
    ...{ label: 'Acknowledge', begin: down, model: 0, posts: 0, says: /Acknowledged by/ },
  },
  'incident snooze': { label: 'Snooze 1 h', begin: down, model: 0, posts: 0, says: /Snoozed by/ },
  'incident unsnooze': {
    ...{ label: 'End snooze', model: 0, posts: 0, says: /already ended/ },
    isForSecond: true,
    async begin(bed) {
      await down(bed);
      bed.press((await eventually(() => showing(bed, 'Snooze 1 h'))).id, 'Snooze 1 h');
    },
  },
  'incident close': {
    ...{ label: 'Close', model: 0, posts: 1, says: /CLOSED: Queue[\s\S]*Fired from/ },
    hasSilentAlert: true,
    begin: () => undefined,
  },
  'incident check': {
    ...{ label: 'Check now', begin: down, model: 0, posts: 0, says: /can’t be checked now/ },
    isPersonal: true,
  },
  'incident why': { label: 'Ask why', begin: down, model: 1, posts: 2, says: /Why is this down/ },
  'incident summary': {
    ...{ label: 'Summarise', model: 1, posts: 2, says: /Write a postmortem draft/ },
    async begin(bed) {
      // With every heading, so that nothing is added and it fits into one message.
      bed.provider.answerWith(
        ['Summary', 'Timeline', 'Cause', 'Impact', 'Response', 'Open questions']
          .map((heading) => `## ${heading}`)
          .join('\n\n'),
      );
      const shop = await down(bed);
      await eventually(() => showing(bed, 'Ask why'));
      bed.service.setStatus(shop, 'UP');
      // The alert, and the line that says that it is over.
      await eventually(() => textsOf(bed).everybody.length === 2);
    },
  },
  'investigation again': {
    ...{ ...below, label: 'Investigate again', model: 1, posts: 0 },
    says: /memory is full[\s\S]*Try first/,
  },
  'investigation off': {
    ...{ ...below, label: 'Not now', model: 0, posts: 0, says: /turned investigations off/ },
  },
  'investigation details': {
    ...{ ...below, label: 'Details', model: 0, posts: 2, says: /Show the details/ },
  },
  'monitor intake test end': {
    ...{ label: 'End it', model: 0, posts: 0, says: /RESOLVED: Test alert for Production/ },
    ...{ isPrivate: true, hasSilentAlert: true },
    async begin(bed) {
      bed.command('monitor intake', { action: 'test', name: 'Production' });
      const isTold = (text: string) => text.includes('WARNING: Test alert for Production');
      await eventually(() => textsOf(bed).everybody.some(isTold));
    },
  },
  'monitor list page': {
    ...{ label: 'Next', model: 0, posts: 0, says: /Page 2 of 2/, isPersonal: true },
    async begin(bed) {
      for (let at = 0; at < 30; at += 1) bed.service.add({ name: `Shop ${at}` });
      bed.command('monitor list', {});
    },
  },
  'monitor pause': {
    ...{ ...manage, label: 'Pause', posts: 1, says: /Job is paused/ },
    begin: (bed) => void bed.command('monitor remove', { monitor: 'job' }),
  },
  'monitor remove for good': {
    ...{ ...manage, label: 'Remove', posts: 1, says: /Job was removed/ },
    begin: (bed) => void bed.command('monitor remove', { monitor: 'job' }),
  },
  'monitor resume': {
    ...{ label: 'Resume', model: 0, posts: 1, says: /Job resumed/, isManaged: true },
    begin: (bed) => void bed.command('monitor pause', { monitor: 'job' }),
  },
  'monitor push address': {
    ...{ label: 'New push address', model: 0, posts: 0, says: /Create a new push address/ },
    ...{ isManaged: true, isPersonal: true },
    begin: (bed) => void bed.command('monitor show', { monitor: 'job' }),
  },
  'monitor push address new': {
    ...{ ...manage, label: 'New address', posts: 0, says: /New push address for/ },
    async begin(bed) {
      bed.command('monitor show', { monitor: 'job' });
      bed.press((await eventually(() => showing(bed, 'New push address'))).id, 'New push address');
    },
  },
  'tools accept': {
    ...{ label: 'Accept look', model: 0, posts: 0, says: /look from docs is accepted/ },
    ...{ isPrivate: true, hasChangedTool: true },
    begin: (bed) => void bed.command('askwatch tools', {}),
  },
  'proposal confirm': {
    ...{ label: 'Watch', model: 0, posts: 0, says: /Now watching/, isPrivate: true },
    begin: (bed) => void propose(bed),
  },
  'proposal cancel': {
    ...{ label: 'Cancel', model: 0, posts: 0, says: /Nothing was done/, isPrivate: true },
    begin: (bed) => void propose(bed),
  },
};

/** Under a message about several outages a snooze is for all of them, and is shown and ended there. */
export function testSnoozeOfSeveral(open: OpenWorld) {
  test('a snooze under several outages is shown there, for who comes second too, and can be ended', async () => {
    const bed = await open({ alerts: true });
    const ids = ['Shop', 'Blog'].map((name) => bed.service.add({ name }).id);
    const asked = bed.service.requests.length;
    await eventually(() => bed.service.requests.length > asked + 1);
    for (const id of ids) bed.service.setStatus(id, 'DOWN');
    const about = () =>
      textsOf(bed).everybody.filter((text) => text.includes('2 services are down'));
    const message = await eventually(() => about().length === 1 && showing(bed, 'Snooze 1 h'));
    bed.press(message.id, 'Snooze 1 h', 0);
    await eventually(() => about().some((text) => /Snoozed until/.test(text)));
    const snoozed = await eventually(() => showing(bed, 'End snooze'));
    expect(showing(bed, 'Snooze 1 h')).toBeUndefined();
    bed.press(snoozed.id, 'End snooze', 1);
    await eventually(() => showing(bed, 'Snooze 1 h'));
    expect(about().filter((text) => text.includes('Snoozed'))).toEqual([]);
    expect(textsOf(bed).everybody).toHaveLength(1);
  });
}

/** One of each sort, which one person presses twice also in a short run. */
const BY_ONE = ['answer again', 'incident acknowledge', 'monitor list page'];

/** Presses every button twice at once, by one person and by two; what comes of it is counted when all of it is shown. */
export function testEveryButton(open: OpenWorld) {
  test('the table names every button there is', () => {
    // Typed commands that also have a button.
    const typed = ['monitor pause', 'monitor resume'];
    // Actions with a form are requested through it.
    const pressed = actions.filter(({ form }) => !form).map(({ name }) => name);
    // It opens a form, and does nothing else.
    const opening = [planMaintenance.name];
    const names = [...pressed.filter((name) => !opening.includes(name)), ...typed];
    expect(Object.keys(BUTTONS).sort()).toEqual(names.sort());
  });

  const rows = Object.entries(BUTTONS).flatMap(([command, { isPrivate }]) => {
    const byOne = isPrivate || long || BY_ONE.includes(command);
    return [
      ...(byOne ? [[command, 'one person', 0] as const] : []),
      ...(isPrivate ? [] : [[command, 'two people', 1] as const]),
    ];
  });

  test.each(rows)('%s, pressed twice at once by %s, is done once', async (command, _, other) => {
    const button = BUTTONS[command] as Button;
    const settings = { mayManage: 'everyone' as const };
    const service = await startMonitoringService({ limit: false });
    const real = button.isManaged ? await startService() : undefined;
    await real?.create({ name: 'Job', check_type: 'HEARTBEAT', target: 'job' });
    const bed = await open({
      ...{ alerts: true, settings, service },
      watched: real,
      ...(button.hasChangedTool && (await changedTool())),
      ...(button.hasSilentAlert && { folderFor: folderWithSilentAlert }),
      ...(button.isInvestigated && { folderFor: folderWithInvestigations }),
    });
    await button.begin(bed);
    const message = await eventually(() => showing(bed, button.label), { what: button.label });
    const before = { model: bed.provider.calls.length, posts: textsOf(bed).everybody.length };
    const said = () => {
      const { everybody, alone } = textsOf(bed);
      return [...everybody, ...alone].filter((text) => button.says.test(text)).length;
    };
    const saidBefore = said();
    bed.press(message.id, button.label, 0);
    bed.press(message.id, button.label, other);
    const times =
      (button.isForSecond ? 0 : 1) +
      ((button.isPersonal || button.isForSecond) && other === 1 ? 1 : 0);
    const posts = () => textsOf(bed).everybody.length - before.posts;
    await eventually(
      () =>
        said() - saidBefore >= times &&
        posts() >= button.posts &&
        bed.provider.calls.length - before.model >= button.model,
      { what: `what comes of ${button.label}` },
    );
    await bed.stop();
    expect({
      model: bed.provider.calls.length - before.model,
      posts: posts(),
      says: said() - saidBefore,
    }).toEqual({ model: button.model, posts: button.posts, says: times });
  });
}

/** Tests that prompts and threads stay in order when buttons are pressed during an answer. */
export function testOrder(open: OpenWorld) {
  const askBelow = (bed: ChatWorld, question: string) => {
    const thread = bed.messages().find((one) => one.isOurs && one.thread !== undefined)?.thread;
    bed.say(question, { thread, toBot: true });
  };

  test.each(['Regenerate', 'Continue'])(
    '%s while a later question is answered is refused in private; all stays in order',
    async (label) => {
      const bed = await open({});
      bed.provider.answerWith('First.', { finishReason: 'length' });
      bed.command('ask', { question: 'one' });
      const first = await eventually(() => showing(bed, label));
      bed.provider.answerWith('Later.');
      const letGo = bed.provider.holdChunks(0);
      askBelow(bed, 'two');
      await eventually(() => bed.provider.calls.length === 2);
      const posts = textsOf(bed).everybody.length;
      bed.press(first.id, label, 1);
      const refused = /A later question is being answered in this thread/;
      await eventually(() => textsOf(bed).alone.some((text) => refused.test(text)));
      expect(textsOf(bed).everybody).toHaveLength(posts);
      letGo();
      await eventually(() => textsOf(bed).everybody.some((text) => text.includes('Later.')));
      askBelow(bed, 'three');
      await eventually(() => bed.provider.calls.length === 3);
      expect(prompted(bed)).toEqual(['one', 'First.', 'two', 'Later.', 'three']);
    },
  );

  test('a question asked while an answer is made anew comes after the new one', async () => {
    const bed = await open({});
    bed.provider.answerWith('First.');
    bed.command('ask', { question: 'one' });
    const first = await eventually(() => showing(bed, 'Regenerate'));
    bed.provider.answerWith('Another.');
    const letGo = bed.provider.holdChunks(0);
    bed.press(first.id, 'Regenerate', 1);
    await eventually(() => bed.provider.calls.length === 2);
    askBelow(bed, 'two');
    letGo();
    await eventually(() => bed.provider.calls.length === 3);
    expect(prompted(bed)).toEqual(['one', 'Another.', 'two']);
  });
}
