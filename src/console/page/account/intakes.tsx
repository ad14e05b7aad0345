import { useRef, useState } from 'preact/hooks';
import type { IntakeList, ListedIntake, ListedPlace, MadeIntake } from '../../account/api-types.ts';
import { Fact } from '../shared/fact.tsx';
import { Moment } from '../shared/moment.tsx';
import { askAccount, useLoaded } from './client.ts';
import { Dialog, DialogForm, Field, MakeDialog } from './dialog.tsx';
import { Example } from './example-lines.tsx';
import { Empty, formatNumber, Name, SectionHead, Waiting } from './parts.tsx';

type Opened = { kind: 'new' } | { kind: 'remove'; intake: ListedIntake };

/** Where alerts of other systems come in, for all channels. */
export function IntakesSection() {
  const loaded = useLoaded<IntakeList>('intakes');
  const [opened, setOpened] = useState<Opened>();
  const [done, setDone] = useState('');
  const section = useRef<HTMLElement>(null);
  const { value } = loaded;
  const canMake = value !== undefined && value.places.length > 0;
  return (
    <section ref={section}>
      <SectionHead
        title="Intakes"
        about="An intake is an address that receives alerts from Alertmanager, Grafana, Uptime Kuma and others for one channel."
      >
        {canMake && (
          <button type="button" class="main" onClick={() => setOpened({ kind: 'new' })}>
            New intake
          </button>
        )}
      </SectionHead>
      <p class="done" role="status">
        {done}
      </p>
      <Waiting loaded={loaded} />
      {value && value.intakes.length === 0 && (
        <Empty title="No intakes yet">
          <p>
            Create one with “New intake”, or type <code>/monitor intake add</code> in a channel.
          </p>
        </Empty>
      )}
      {value && value.intakes.length > 0 && (
        <ul class="rows framed">
          {value.intakes.map((intake) => (
            <IntakeRow key={intake.id} intake={intake} onOpen={setOpened} />
          ))}
        </ul>
      )}
      {value && value.more > 0 && (
        <p class="more aside">
          {formatNumber(value.more)} older ones aren't listed. To see them, type{' '}
          <code>/monitor intake</code> in their channels.
        </p>
      )}
      {opened?.kind === 'new' && value && (
        <MakeDialog<MadeIntake>
          title="New intake"
          madeTitle="Copy the address now"
          form={(made, close) => <NewIntakeForm list={value} onMade={made} onCancel={close} />}
          view={(made, close) => <MadeIntakeView made={made} onDone={close} />}
          onMade={() => void loaded.reload()}
          onClose={() => setOpened(undefined)}
        />
      )}
      {opened?.kind === 'remove' && (
        <RemoveDialog
          intake={opened.intake}
          onRemoved={async () => {
            await loaded.reload();
            setDone(`Intake “${opened.intake.name}” removed. Its address no longer works.`);
            // The button that led here is gone with its intake.
            section.current?.querySelector('h2')?.focus();
          }}
          onClose={() => setOpened(undefined)}
        />
      )}
    </section>
  );
}

const placeText = ({ name, channel, platformTitle }: ListedPlace) =>
  `${name ?? channel} (${platformTitle})`;

function IntakeRow({ intake, onOpen }: { intake: ListedIntake; onOpen: (opened: Opened) => void }) {
  const { name, kindTitle, place, createdAtMs, by, lastHeardAtMs } = intake;
  return (
    <li class="key">
      <div class="who">
        <h3>
          <Name>{name}</Name>
        </h3>
        <p class="flow beside aside">
          <span class="service">{kindTitle}</span>
        </p>
      </div>
      <dl>
        <Fact label="Channel">
          <Name>{placeText(place)}</Name>
        </Fact>
        <Fact label="Created">
          <Moment atMs={createdAtMs} /> by <Name>{by}</Name>
        </Fact>
        <Fact label="Last used">
          {lastHeardAtMs === undefined ? 'Never' : <Moment atMs={lastHeardAtMs} />}
        </Fact>
      </dl>
      <div class="actions">
        <button
          type="button"
          class="plain danger"
          aria-label={`Remove ${name}`}
          onClick={() => onOpen({ kind: 'remove', intake })}
        >
          Remove
        </button>
      </div>
    </li>
  );
}

function NewIntakeForm({
  list: { kinds, places },
  onMade,
  onCancel,
}: {
  list: IntakeList;
  onMade: (made: MadeIntake) => void;
  onCancel: () => void;
}) {
  const [kind, setKind] = useState<string>(kinds[0]?.kind ?? '');
  const [place, setPlace] = useState(places[0]?.key ?? '');
  const [name, setName] = useState('');

  function create() {
    const named = name.trim();
    const body = { kind, place, ...(named !== '' && { name: named }) };
    return async () => {
      onMade(await askAccount<MadeIntake>('intakes', { method: 'POST', body }));
    };
  }

  return (
    <DialogForm act="Create intake" onAct={create} onCancel={onCancel}>
      <label class="choice">
        <span>System</span>
        <select value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
          {kinds.map((one) => (
            <option key={one.kind} value={one.kind}>
              {one.title}
            </option>
          ))}
        </select>
      </label>
      <label class="choice">
        <span>Channel</span>
        <select value={place} onChange={({ currentTarget }) => setPlace(currentTarget.value)}>
          {places.map((one) => (
            <option key={one.key} value={one.key}>
              {placeText(one)}
            </option>
          ))}
        </select>
      </label>
      <Field
        label="Name"
        value={name}
        problem={undefined}
        onType={setName}
        maxLength={80}
        placeholder="Defaults to the name of the system"
      />
      <p class="aside">
        Channel not listed? Type <code>/monitor intake add</code> there.
      </p>
    </DialogForm>
  );
}

/** The address, this once, and where it is pasted. */
function MadeIntakeView({
  made: { made, steps },
  onDone,
}: {
  made: MadeIntake;
  onDone: () => void;
}) {
  return (
    <div class="made">
      <p role="status">
        Intake “<Name>{made.name}</Name>” created. Copy its address now; you won't be able to see it
        again. Anyone who has it can post alerts in <Name>{placeText(made.place)}</Name>.
      </p>
      {steps.map(({ text, code }) => (
        <div key={text}>
          <p>{text}</p>
          <Example name={text}>{code}</Example>
        </div>
      ))}
      <div class="dialog-buttons flow">
        <button type="button" class="main" onClick={onDone}>
          Done, I've pasted it
        </button>
      </div>
    </div>
  );
}

/** Asks before an address is refused for good. */
function RemoveDialog({
  intake: { id, name },
  onRemoved,
  onClose,
}: {
  intake: ListedIntake;
  onRemoved: () => Promise<void>;
  onClose: () => void;
}) {
  async function remove(close: () => void) {
    await askAccount(`intakes/${encodeURIComponent(id)}/remove`, { method: 'POST', body: {} });
    close();
    await onRemoved();
  }
  return (
    <Dialog
      title={
        <>
          Remove “<Name>{name}</Name>”?
        </>
      }
      onClose={onClose}
    >
      {(close) => (
        <DialogForm act="Remove intake" danger onAct={() => () => remove(close)} onCancel={close}>
          <p>Its address stops working at once. Alerts it already sent are kept.</p>
        </DialogForm>
      )}
    </Dialog>
  );
}
