import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { FakeInteraction } from '../../fakes/discord/interactions.ts';
import { runDiscord } from '../../helpers/discord/run-discord.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdable } from '../../helpers/held.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

test('every kind of interaction is acknowledged while model, monitoring service and store hang', async () => {
  const discord = await startDiscord();
  const opened = await openTestStore({
    ...{ folder: await temporaryFolder(), log: recordingLog().log },
  });
  onTestFinished(() => opened.close());
  const held = holdable(opened);
  const { provider, service } = await runDiscord({ discord, bot: { store: held.store } });
  const asked = discord.slash('ask', { question: 'why?' });
  const thread = await eventually(() => asked.reply?.content && asked.reply.id);
  const answer = await eventually(() => {
    const [message] = discord.channel(thread);
    return message?.content.includes('-# test-model') && message;
  });
  const form = discord.slash('monitor add');
  await eventually(() => form.form);

  // From here on nothing that the bot needs comes back before every acknowledgement is there.
  const releases = [held.hold(), provider.holdAnswers()];
  const release = () => {
    for (const one of releases) one();
  };
  // Also where it fails, or what is stopped then would wait for ever.
  onTestFinished(release);
  service.failWith({ kind: 'hang' });
  const gestures: Record<string, FakeInteraction> = {
    question: discord.slash('ask', { question: 'and now?' }),
    private: discord.slash('ask', { question: 'and now?', private: true }),
    list: discord.slash('monitor list'),
    'bare command': discord.slash('monitor add'),
    button: discord.press(answer, 'Regenerate'),
    form: discord.send(form, { target: 'https://shop.example' }),
    autocomplete: discord.begin('monitor show', { monitor: 's' }),
  };
  for (const [name, interaction] of Object.entries(gestures)) {
    await eventually(() => interaction.acknowledged, { what: `an acknowledgement of the ${name}` });
  }
  // Behind the acknowledgements all of them wait.
  await eventually(() => held.waiting() > 0);
  expect(provider.calls).toHaveLength(1);
  expect(gestures.question?.reply?.content).toBe('');

  service.recover();
  release();
  await eventually(() => gestures.question?.reply?.content.includes('and now?'));
});
