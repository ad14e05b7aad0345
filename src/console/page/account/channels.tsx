import { useState } from 'preact/hooks';
import type { AskedChannel, ChannelsAnswer } from '../../account/api-types.ts';
import type { Span } from '../../account/spans.ts';
import { Moment } from '../shared/moment.tsx';
import { useLoaded } from './client.ts';
import { Empty, formatNumber, Meter, Name, SectionHead, SpanChoice, Waiting } from './parts.tsx';
import { CountTable, Scrolled } from './usage-tables.tsx';

type Asked = ChannelsAnswer['total'];

/** What is counted of a person or a model, in the order of the columns; the last two where anything was looked up. */
const COUNTED = ['Answers', 'Tokens', 'Look-ups', 'Look-up tokens'];

/** Who asked how much, channel by channel. */
export function ChannelsSection() {
  const [days, setDays] = useState<Span>(30);
  const loaded = useLoaded<ChannelsAnswer>(`channels?days=${days}`);
  const { value } = loaded;
  const most = value?.channels[0]?.tokens ?? 0;
  return (
    <section>
      <SectionHead title="Channels" about="Use of /ask in every channel, by person and model." />
      <div class="choices flow">
        <SpanChoice days={days} onChange={setDays} />
      </div>
      <Waiting loaded={loaded} />
      {value && value.channels.length === 0 && (
        <Empty title="No questions in this period">
          <p>
            Type <code>/ask why is the sky blue</code> in the <a href="/">playground</a> or in a
            channel.
          </p>
        </Empty>
      )}
      {value && value.channels.length > 0 && (
        <>
          <p class="sum">{usageText(value.total)}</p>
          <ul class="rows framed">
            {value.channels.map((channel) => (
              <ChannelRow
                key={`${channel.platform}:${channel.channel}`}
                channel={channel}
                most={most}
              />
            ))}
          </ul>
          {value.moreChannels > 0 && (
            <p class="more aside">
              {formatNumber(value.moreChannels)} more channels with fewer tokens.
            </p>
          )}
        </>
      )}
    </section>
  );
}

function ChannelRow({ channel, most }: { channel: AskedChannel; most: number }) {
  const { platformTitle, channel: id, name, people, morePeople, models, moreModels } = channel;
  return (
    <li class="asked">
      <details>
        <summary>
          <span class="who flow beside">
            {name === undefined ? <code>{id}</code> : <Name>{name}</Name>}
            <span class="platform">{platformTitle}</span>
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

function AskedTable({
  heading,
  rows,
  more,
}: {
  heading: string;
  rows: ReadonlyArray<Omit<Asked, 'uncounted'> & { key: string; name: string }>;
  more: number;
}) {
  const counted = rows.some(({ lookups }) => lookups > 0) ? COUNTED : COUNTED.slice(0, 2);
  const shown = rows.map(({ key, name, answers, tokens, lookups, lookupTokens }) => ({
    key,
    names: [<Name key="name">{name}</Name>],
    counts: [answers, tokens, lookups, lookupTokens].slice(0, counted.length),
  }));
  const others = {
    key: 'others',
    names: [`${formatNumber(more)} others`],
    counts: counted.map(() => undefined),
  };
  return (
    <Scrolled label={`By ${heading.toLowerCase()}`}>
      <CountTable
        names={[heading]}
        counted={counted}
        rows={more > 0 ? [...shown, others] : shown}
      />
    </Scrolled>
  );
}

function usageText({ answers, tokens, uncounted, lookups, lookupTokens }: Asked): string {
  return [
    `${formatNumber(answers)} ${answers === 1 ? 'answer' : 'answers'}`,
    `${formatNumber(tokens)} tokens`,
    ...(lookups === 0
      ? []
      : [
          `${formatNumber(lookups)} ${lookups === 1 ? 'look-up' : 'look-ups'}${lookupTokens === 0 ? '' : ` (${formatNumber(lookupTokens)} tokens)`}`,
        ]),
    ...(uncounted === 0
      ? []
      : [
          `${formatNumber(uncounted)} ${uncounted === 1 ? 'answer without a token count' : 'answers without token counts'}`,
        ]),
  ].join(' · ');
}
