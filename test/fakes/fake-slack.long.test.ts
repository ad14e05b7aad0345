import { expect, test } from 'vitest';
import { post, takesAMinute, untilRefused } from '../helpers/slack/calls-of-an-app.ts';
import { startSlack } from './slack/slack.ts';

test.each([
  ['conversations.history', 50],
  ['users.info', 100],
  ['chat.postEphemeral', 100],
])('%s: %d a minute, wherever they are', takesAMinute);

test('posts: some hundreds a minute in a workspace', async () => {
  const fake = await startSlack();
  fake.clock.set(0);
  for (let at = 0; at < 400; at += 1) fake.addChannel({ id: `C00N${at}` });
  let at = 0;
  const refused = await untilRefused(() => post(fake, `C00N${at++}`));
  expect(refused).toMatchObject({ taken: 300, status: 429, retryAfter: 60 });
});
