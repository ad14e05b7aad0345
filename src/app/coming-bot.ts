import type { Bot } from '../bot/platform.ts';

/**
 * The bot for platforms that connect before this process has the lease: what they ask of it waits until it is there, and is
 * then done in the order in which it came.
 */
export function comingBot(
  coming: Promise<Bot>,
  known: Pick<Bot, 'commands' | 'forms' | 'interrupt'>,
): Bot {
  return {
    ...known,
    dispatch: async (...of) => (await coming).dispatch(...of),
    formOfPress: async (...of) => (await coming).formOfPress(...of),
    openForm: async (...of) => (await coming).openForm(...of),
    suggest: async (...of) => (await coming).suggest(...of),
    homes: {
      of: async (...of) => (await coming).homes.of(...of),
      open: async (...of) => (await coming).homes.open(...of),
    },
    answersIn: async (...of) => (await coming).answersIn(...of),
    isConversation: async (...of) => (await coming).isConversation(...of),
    shownAnswers: {
      of: async (...of) => (await coming).shownAnswers.of(...of),
      add: async (...of) => (await coming).shownAnswers.add(...of),
    },
    webhookAddress: async (...of) => (await coming).webhookAddress(...of),
    retryClosed: async (...of) => (await coming).retryClosed(...of),
    keptChannels: async (...of) => (await coming).keptChannels(...of),
    forget: async (...of) => (await coming).forget(...of),
    forgetAll: async (...of) => (await coming).forgetAll(...of),
  };
}
