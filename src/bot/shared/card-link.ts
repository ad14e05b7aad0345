import type { Card } from './card.ts';

/** Buttons under one card. Source: Discord docs, "Component Reference": five in a row. */
const MAX_BUTTONS = 5;

/** Longest address of a button. Source: the same page, field `url`; Slack takes 3,000. */
const MAX_ADDRESS = 512;

/**
 * The link of a card as it may be shown: last among the buttons, only where there is room for it, and only to the web.
 * The address is the one that a browser makes of it.
 */
export function linkOf({ link, actions = [] }: Pick<Card, 'link' | 'actions'>): Card['link'] {
  if (!link || actions.length >= MAX_BUTTONS || !URL.canParse(link.url)) return undefined;
  const { protocol, href } = new URL(link.url);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  return isWeb && href.length <= MAX_ADDRESS ? { label: link.label, url: href } : undefined;
}
