import { linkOf } from '../../bot/shared/card.ts';
import {
  type Body,
  type Card,
  type CardAction,
  type CardPart,
  MAX_ACTION_LABEL,
  MAX_ACTIONS,
  type Message,
} from './api-types.ts';

/** Most characters of one answer that are kept; a longer one ends with a mark. */
export const MAX_ANSWER_CHARACTERS = 60_000;

const MAX_TEXT = 16_000;
const MAX_CELL = 1_000;
const MAX_ROWS = 100;
const MAX_COLUMNS = 10;
const MAX_PARTS = 20;
const MAX_POINTS = 200;
const MAX_UNIT = 20;

/** The message with every text and list in it cut to a size that can be stored and sent to each browser. */
export function limitedMessage(message: Message): Message {
  const { command, body } = message;
  return {
    ...message,
    ...(command !== undefined && { command: cut(command, MAX_TEXT) }),
    body: limitedBody(body),
  };
}

function limitedBody(body: Body): Body {
  switch (body.kind) {
    case 'text':
      return { ...body, text: cut(body.text, MAX_TEXT) };
    case 'answer': {
      const actions = body.actions && limitedActions(body.actions);
      return { ...body, text: cut(body.text, MAX_ANSWER_CHARACTERS), ...(actions && { actions }) };
    }
    case 'card':
      return { ...body, card: limitedCard(body.card) };
  }
}

/** Whom a card calls is left out: here is nobody else to be called. */
export function limitedCard(card: Card): Card {
  const link = linkOf(card);
  return {
    tone: card.tone,
    title: cut(card.title, MAX_CELL),
    parts: card.parts.slice(0, MAX_PARTS).map(limitedPart),
    ...(card.footer === undefined ? {} : { footer: cut(card.footer, MAX_CELL) }),
    ...(card.actions === undefined ? {} : { actions: limitedActions(card.actions) }),
    ...(card.goesOn === undefined ? {} : { goesOn: card.goesOn }),
    ...(link ? { link: { label: cut(link.label, MAX_ACTION_LABEL), url: link.url } } : {}),
  };
}

/** What a button carries stays whole: cut, it would ask for something else. */
function limitedActions(actions: CardAction[]): CardAction[] {
  return actions.slice(0, MAX_ACTIONS).map(({ label, command, values }) => ({
    label: cut(label, MAX_ACTION_LABEL),
    command,
    values,
  }));
}

function limitedPart(part: CardPart): CardPart {
  switch (part.kind) {
    case 'text':
    case 'code':
      return { ...part, text: cut(part.text, MAX_TEXT) };
    case 'facts':
      return {
        kind: 'facts',
        facts: part.facts.slice(0, MAX_ROWS).map(({ label, value }) => ({
          label: cut(label, MAX_CELL),
          value: typeof value === 'string' ? cut(value, MAX_CELL) : { atMs: value.atMs },
        })),
      };
    case 'table':
      return {
        kind: 'table',
        columns: part.columns.slice(0, MAX_COLUMNS).map((name) => cut(name, MAX_CELL)),
        rows: part.rows
          .slice(0, MAX_ROWS)
          .map((row) => row.slice(0, MAX_COLUMNS).map((cell) => cut(cell, MAX_CELL))),
      };
    case 'chart':
      return {
        ...part,
        title: cut(part.title, MAX_CELL),
        unit: cut(part.unit, MAX_UNIT),
        points: part.points.slice(-MAX_POINTS),
        outages: part.outages.slice(-MAX_POINTS),
        text: cut(part.text, MAX_CELL),
      };
  }
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1)}…`;
}
