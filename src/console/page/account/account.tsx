import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { TopBar } from '../shared/top-bar.tsx';
import { useHash } from '../shared/use-hash.ts';
import { Version } from '../shared/version.tsx';
import { ChannelsSection } from './channels.tsx';
import { IntakesSection } from './intakes.tsx';
import { KeysSection } from './keys.tsx';
import { ModelsSection } from './models.tsx';
import { UsageSection } from './usage.tsx';

interface Section {
  hash: string;
  name: string;
  View: () => JSX.Element;
}

const KEYS: Section = { hash: '#keys', name: 'Keys', View: KeysSection };
const SECTIONS: readonly Section[] = [
  KEYS,
  { hash: '#usage', name: 'Usage', View: UsageSection },
  { hash: '#models', name: 'Models', View: ModelsSection },
  { hash: '#channels', name: 'Channels', View: ChannelsSection },
  { hash: '#intakes', name: 'Intakes', View: IntakesSection },
];

export function Account() {
  const [section] = useHash(sectionInAddress);
  useEffect(() => {
    document.title = `${section.name} · Askwatch`;
  }, [section]);
  return (
    <>
      <TopBar here="/account" />
      <main class="account column">
        <h1>Account</h1>
        <nav class="tabs" aria-label="Account">
          <ul>
            {SECTIONS.map(({ hash, name }) => (
              <li key={hash}>
                <a href={hash} {...(hash === section.hash && { 'aria-current': 'true' })}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <section.View key={section.hash} />
        <footer class="fine">
          <Version />
        </footer>
      </main>
    </>
  );
}

const sectionInAddress = () => SECTIONS.find(({ hash }) => hash === location.hash) ?? KEYS;
