import { useState } from 'preact/hooks';
import type { Card, CardAction, Fact as CardFact, CardPart } from '../../../shared/api-types.ts';
import { factText, hostLink, linkOf } from '../../../shared/from-bot.ts';
import { CopyButton } from '../../shared/copy-button.tsx';
import { Fact } from '../../shared/fact.tsx';
import { ToneIcon } from '../../shared/icons.tsx';
import { needSeconds } from '../../shared/is-short.ts';
import { Moment, TextWithMoments } from '../../shared/moment.tsx';
import { CardButton } from './card-button.tsx';
import { ChartView } from './chart-view.tsx';

/** A cell that is only one of these words gets its colour. */
const STATUS_TONES: Record<string, Card['tone']> = {
  UP: 'good',
  DOWN: 'bad',
  DEGRADED: 'warning',
  MAINTENANCE: 'info',
  PAUSED: 'info',
};

/** A press of such a button decides for the other buttons of its card. */
const DECIDES = /^proposal /;

/** A word this long must break, or the table would not fit. */
const LONG_WORD = /\S{25}/;

/** Characters of the longest cell that stays on one line: a name must not break at a hyphen. */
const MAX_WHOLE = 24;

/** Characters of the longest fact that shares its row with others. */
const MAX_NARROW = 34;

/** A word too wide for one column. */
const WIDE_WORD = /\S{26}/;

const BARS = /[\u2581-\u2588]/;

/** A card. All its words are plain text. */
export function CardView(props: { card: Card; onPress: (action: CardAction) => Promise<unknown> }) {
  const { card, onPress } = props;
  const { actions = [] } = card;
  const [deciding, setDeciding] = useState(false);
  async function press(action: CardAction) {
    setDeciding(DECIDES.test(action.command));
    await onPress(action);
    setDeciding(false);
  }
  const link = linkOf(card);
  return (
    <div class={`card framed ${card.tone}`}>
      <p class="title">
        <ToneIcon tone={card.tone} />
        <span>{card.title}</span>
      </p>
      {card.parts.map((part, index) => (
        <PartView key={index} part={part} />
      ))}
      {card.footer !== undefined && <p class="footer fine">{card.footer}</p>}
      {(actions.length > 0 || link) && (
        <div class="actions flow">
          {actions.map((action) => (
            <CardButton
              key={JSON.stringify(action)}
              action={action}
              waits={deciding}
              onPress={press}
            />
          ))}
          {link && <WebLink url={link.url}>{link.label}</WebLink>}
        </div>
      )}
    </div>
  );
}

function PartView({ part }: { part: CardPart }) {
  switch (part.kind) {
    case 'chart':
      return <ChartView chart={part} />;
    case 'text':
      return (
        <p class="words">
          <TextWithMoments text={part.text} />
        </p>
      );
    case 'facts': {
      const seconds = needSeconds(
        part.facts.flatMap(({ value }) =>
          typeof value === 'object' && 'atMs' in value ? [value.atMs] : [],
        ),
      );
      return (
        <dl>
          {part.facts.map((fact) => (
            <Fact key={fact.label} label={fact.label} wide={isWide(factText(fact, String))}>
              <FactValue value={fact.value} seconds={seconds} />
            </Fact>
          ))}
        </dl>
      );
    }
    case 'findings':
      return (
        <div class="markdown">
          {part.heading && <strong>{part.heading}</strong>}
          <ul>
            {part.items.map(({ atMs, text, url }, at) => (
              <li key={at}>
                {atMs !== undefined && <Moment atMs={atMs} />} <TextWithMoments text={text} />{' '}
                <HostLink url={url} />
              </li>
            ))}
          </ul>
        </div>
      );
    case 'table':
      return <TableView columns={part.columns} rows={part.rows} />;
    case 'code':
      return (
        <div class="code">
          <pre>
            <code>{part.text}</code>
          </pre>
          <CopyButton text={part.text} />
        </div>
      );
  }
}

function FactValue({ value, seconds }: { value: CardFact['value']; seconds: boolean }) {
  if (typeof value === 'string') return <Words text={value} />;
  if ('atMs' in value) return <Moment atMs={value.atMs} seconds={seconds} />;
  const link = hostLink(value.url);
  if (!link) return value.text;
  return (
    <>
      <WebLink url={link.url}>{value.text || link.host}</WebLink> ({link.host})
    </>
  );
}

function HostLink({ url }: { url: string | undefined }) {
  const link = hostLink(url);
  return link ? <WebLink url={link.url}>{link.host}</WebLink> : null;
}

const WebLink = ({ url, children }: { url: string; children: string }) => (
  <a href={url} target="_blank" rel="noopener noreferrer">
    {children}
  </a>
);

function TableView({ columns, rows }: { columns: string[]; rows: string[][] }) {
  return (
    <section
      class="table framed"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
      tabIndex={0}
      aria-label="Table"
    >
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column} class={cellClass(cell)}>
                  <Words text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const isWide = (text: string) =>
  text.length > MAX_NARROW || WIDE_WORD.test(text) || BARS.test(text);

function cellClass(cell: string): string {
  if (LONG_WORD.test(cell)) return 'long';
  if (cell.length > MAX_WHOLE) return 'sentence';
  return cell.includes(' ') ? 'phrase' : 'whole';
}

function Words({ text }: { text: string }) {
  const tone = Object.hasOwn(STATUS_TONES, text) ? STATUS_TONES[text] : undefined;
  return tone ? <span class={`status pill ${tone}`}>{text}</span> : <TextWithMoments text={text} />;
}
