import type { Script } from '../../fakes/model-provider.ts';

/** A model that proposes to watch these, and then says that it waits. */
export const proposing =
  (...targets: string[]): Extract<Script, (...given: never[]) => unknown> =>
  ({ messages }) =>
    messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : {
          calls: targets.map((target) => ({
            name: 'create_monitor',
            arguments: JSON.stringify({ target }),
          })),
        };
