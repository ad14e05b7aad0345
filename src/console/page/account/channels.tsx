import { useState } from 'preact/hooks';
import type { AskedChannel, ChannelsAnswer } from '../../account/api-types.ts';
import type { DaySpan } from '../../account/spans.ts';
import { Moment } from '../shared/moment.tsx';
import { useLoaded } from './client.ts';
import { formatNumber, Meter, Name, Rows, Section, SpanChoice } from './parts.tsx';
import { CountTable, Scrolled } from './usage-tables.tsx';

type Asked = ChannelsAnswer['total'];

/** Columns of a table. The last two are left out if nobody looked anything up. */
const COUNTED = ['Answers', 'Tokens', 'Look-ups', 'Look-up tokens'];

export function ChannelsSection() {
  const [days, setDays] = useState<DaySpan>(30);
  const loaded = useLoaded<ChannelsAnswer>(`channels?days=${days}`);
  const { channels = [], moreChannels = 0, total } = loaded.value ?? {};
  const most = channels[0]?.tokens ?? 0;
  return (
    <Section
      title="Channels"
      about="Use of /ask in every channel, by person and model."
      controls={<SpanChoice days={days} onChange={setDays} />}
      loaded={loaded}
      empty={channels.length === 0 ? NO_QUESTIONS : undefined}
    >
      {total && channels.length > 0 && <p class="sum">{usageText(total)}</p>}
      <Rows
        more={moreChannels > 0 && `${formatNumber(moreChannels)} more channels with fewer tokens.`}
      >
        {channels.map((channel) => (
          <ChannelRow
            key={`${channel.platform}:${channel.channel}`}
            channel={channel}
            most={most}
          />
        ))}
      </Rows>
    </Section>
  );
}

const NO_QUESTIONS = {
  title: 'No questions in this period',
  text: (
    <>
      Type <code>/ask why is the sky blue</code> in the <a href="/">playground</a> or in a channel.
    </>
  ),
};

function ChannelRow({ channel, most }: { channel: AskedChannel; most: number }) {
  const { platformTitle, channel: id, name, people, morePeople, models, moreModels } = channel;
  return (
    <li class="asked">
      <details>
        <summary>
          <span class="who flow beside">
            {name === undefined ? <code>{id}</code> : <Name>{name}</Name>}
            <span class="pill">{platformTitle}</span>
          </span>
          <Meter kind="tokens" share={most > 0 ? channel.tokens / most : 0} />
          <span class="counts aside digits">{usageText(channel)}</span>
        </summary>
        <div class="inside">
          <AskedTable
            heading="Person"
            rows={people.map((one) => ({ ...one, key: one.id }))}
            more={morePeople}
          />
          <AskedTable
            heading="Model"
            rows={models.map((one) => ({ ...one, key: one.model, name: one.model }))}
            more={moreModels}
          />
          {channel.lookups > 0 && (
            <p class="more aside">
              Tokens include look-up tokens: what models wrote to request a look-up, and the prompts
              sent again with its result.
            </p>
          )}
          <p class="more aside">
            Last asked <Moment atMs={channel.lastAtMs} />
            {name !== undefined && (
              <>
                {' '}
                in <code>{id}</code>
              </>
            )}
          </p>
        </div>
      </details>
    </li>
  );
}

function AskedTable(props: {
  heading: string;
  rows: ReadonlyArray<Omit<Asked, 'uncounted'> & { key: string; name: string }>;
  more: number;
}) {
  const { heading, rows, more } = props;
  const columns = rows.some(({ lookups }) => lookups > 0) ? COUNTED : COUNTED.slice(0, 2);
  const shown = rows.map(({ key, name, answers, tokens, lookups, lookupTokens }) => ({
    key,
    names: [<Name key="name">{name}</Name>],
    counts: [answers, tokens, lookups, lookupTokens].slice(0, columns.length),
  }));
  const others = {
    key: 'others',
    names: [`${formatNumber(more)} others`],
    counts: columns.map(() => undefined),
  };
  return (
    <Scrolled label={`By ${heading.toLowerCase()}`}>
      <CountTable
        names={[heading]}
        counted={columns}
        rows={more > 0 ? [...shown, others] : shown}
      />
    </Scrolled>
  );
}

function usageText({ answers, tokens, uncounted, lookups, lookupTokens }: Asked): string {
  const ofLookups = lookupTokens === 0 ? '' : ` (${formatNumber(lookupTokens)} tokens)`;
  return [
    counted(answers, 'answer', 'answers'),
    `${formatNumber(tokens)} tokens`,
    lookups > 0 && counted(lookups, 'look-up', 'look-ups') + ofLookups,
    uncounted > 0 &&
      counted(uncounted, 'answer without a token count', 'answers without token counts'),
  ]
    .filter(Boolean)
    .join(' · ');
}

const counted = (count: number, one: string, many: string) =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;
