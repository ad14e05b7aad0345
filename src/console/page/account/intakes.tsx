import { useState } from 'preact/hooks';
import type {
  CreatedIntake,
  IntakeList,
  ListedIntake,
  ListedPlace,
} from '../../account/api-types.ts';
import { Fact } from '../shared/fact.tsx';
import { Moment } from '../shared/moment.tsx';
import { focusHeading, requestAccount, useList } from './client.ts';
import { ConfirmDialog, CreateDialog, DialogForm, Example, Field } from './dialog.tsx';
import { Choice, formatNumber, Name, NamedRow, Rows, Section } from './parts.tsx';

/** The addresses that receive alerts from other systems, in all channels. */
export function IntakesSection() {
  const { loaded, done, finish } = useList<IntakeList>('intakes');
  const [isCreating, setIsCreating] = useState(false);
  const [removed, setRemoved] = useState<ListedIntake>();
  const { value } = loaded;
  const canCreate = value !== undefined && value.places.length > 0;

  async function remove({ id, name }: ListedIntake, close: () => void) {
    await requestAccount(`intakes/${encodeURIComponent(id)}/remove`, { method: 'POST', body: {} });
    close();
    await finish(`Intake “${name}” removed. Its address no longer works.`);
    focusHeading();
  }

  return (
    <Section
      title="Intakes"
      about="An intake is an address that receives alerts from Alertmanager, Grafana, Uptime Kuma and others for one channel."
      button={canCreate ? { text: 'New intake', onClick: () => setIsCreating(true) } : undefined}
      done={done}
      loaded={loaded}
      empty={value?.intakes.length === 0 ? NO_INTAKES : undefined}
    >
      <Rows more={value && value.more > 0 && <OlderIntakes count={value.more} />}>
        {(value?.intakes ?? []).map((intake) => (
          <IntakeRow key={intake.id} intake={intake} onRemove={() => setRemoved(intake)} />
        ))}
      </Rows>
      {isCreating && value && (
        <CreateDialog<CreatedIntake>
          title="New intake"
          createdTitle="Copy the address now"
          doneText="Done, I've pasted it"
          form={(onCreated, close) => (
            <NewIntakeForm list={value} onCreated={onCreated} onCancel={close} />
          )}
          view={(created) => <CreatedIntakeView created={created} />}
          onCreated={() => void loaded.reload()}
          onClose={() => setIsCreating(false)}
        />
      )}
      {removed && (
        <ConfirmDialog
          question="Remove"
          name={removed.name}
          act="Remove intake"
          onConfirm={(close) => remove(removed, close)}
          onClose={() => setRemoved(undefined)}
        >
          Its address stops working at once. Alerts it already sent are kept.
        </ConfirmDialog>
      )}
    </Section>
  );
}

const NO_INTAKES = {
  title: 'No intakes yet',
  text: (
    <>
      Create one with “New intake”, or type <code>/monitor intake add</code> in a channel.
    </>
  ),
};

const OlderIntakes = ({ count }: { count: number }) => (
  <>
    {formatNumber(count)} older ones aren't listed. To see them, type <code>/monitor intake</code>{' '}
    in their channels.
  </>
);

const placeText = ({ name, channel, platformTitle }: ListedPlace) =>
  `${name ?? channel} (${platformTitle})`;

function IntakeRow({ intake, onRemove }: { intake: ListedIntake; onRemove: () => void }) {
  const { name, kindTitle, place, createdAtMs, by, lastDeliveryAtMs } = intake;
  return (
    <NamedRow
      name={name}
      tags={<span class="pill">{kindTitle}</span>}
      buttons={[{ text: 'Remove', label: `Remove ${name}`, danger: true, onClick: onRemove }]}
    >
      <Fact label="Channel">
        <Name>{placeText(place)}</Name>
      </Fact>
      <Fact label="Created">
        <Moment atMs={createdAtMs} /> by <Name>{by}</Name>
      </Fact>
      <Fact label="Last used">
        {lastDeliveryAtMs === undefined ? 'Never' : <Moment atMs={lastDeliveryAtMs} />}
      </Fact>
    </NamedRow>
  );
}

function NewIntakeForm({
  list: { kinds, places },
  onCreated,
  onCancel,
}: {
  list: IntakeList;
  onCreated: (created: CreatedIntake) => void;
  onCancel: () => void;
}) {
  const [kind, setKind] = useState<string>(kinds[0]?.kind ?? '');
  const [place, setPlace] = useState(places[0]?.key ?? '');
  const [name, setName] = useState('');

  async function create() {
    const body = { kind, place, name: name.trim() || undefined };
    onCreated(await requestAccount<CreatedIntake>('intakes', { method: 'POST', body }));
  }

  return (
    <DialogForm act="Create intake" onAct={() => create} onCancel={onCancel}>
      <Choice
        label="System"
        value={kind}
        options={kinds.map((one) => ({ value: one.kind, label: one.title }))}
        onChange={setKind}
      />
      <Choice
        label="Channel"
        value={place}
        options={places.map((one) => ({ value: one.key, label: placeText(one) }))}
        onChange={setPlace}
      />
      <Field
        label="Name"
        value={name}
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

function CreatedIntakeView({ created: { made, steps } }: { created: CreatedIntake }) {
  return (
    <>
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
    </>
  );
}
