import type { Settings } from '../app/settings.ts';
import { type Finding, ok, problem, warning } from '../bot/shared/finding.ts';
import { counted } from '../bot/shared/text-format.ts';
import { JSON_LIMITS, parseUntrustedJson } from '../contracts/parse-json.ts';
import { readCatalog, textModels } from '../gateway/catalog/catalog.ts';
import { explainNames } from '../gateway/models/served-models-refresh.ts';
import { providerHeaders } from '../gateway/providers/openai-dialect.ts';
import type { Provider } from '../gateway/providers/provider.ts';
import { conventionalStatus, errorOfResponse } from '../gateway/providers/provider-errors.ts';
import { PROVIDER_TABLE, PROVIDERS } from '../gateway/providers/provider-table.ts';
import {
  configuredProviders,
  findProviders,
  type ProviderSettings,
} from '../gateway/providers/providers.ts';
import { readServedModels } from '../gateway/providers/served-models.ts';
import { liveUpstreams, unservedSentence } from '../gateway/upstreams/routing.ts';
import type { NoAnswerError, Probe } from './doctor-fetch.ts';

export async function checkProviders(
  settings: Omit<Settings, 'providers'> & { providers: ProviderSettings },
  probe: Probe,
): Promise<Finding[]> {
  if (!settings.roles.has('gateway')) return [];
  const live = await findProviders(settings.providers);
  const findings = await Promise.all([...live.values()].map((one) => checkProvider(one, probe)));
  const set = configuredProviders(settings.providers);
  for (const [name, { local, title, setting }] of Object.entries(PROVIDER_TABLE)) {
    if (!local || !set.has(name) || live.has(name)) continue;
    const text = `${setting}: no ${title} with a chat model answers there. ${local.howToStart}`;
    findings.push(problem(title, text));
  }
  if (findings.length > 0 || settings.gateway) {
    return joined([...findings, ...(await checkServed(settings, live))]);
  }
  const text =
    'None (built-in offline engine). Set OPENAI_API_KEY or another provider’s key for real answers.';
  return [warning('Model providers', text)];
}

/** Joins the `ok` findings of a check into one line. */
function joined(findings: readonly Finding[]): Finding[] {
  const all: Finding[] = [];
  for (const finding of findings) {
    const before = all.findIndex(({ check, level }) => level === 'ok' && check === finding.check);
    const first = all[before];
    if (first && finding.level === 'ok') {
      all[before] = { ...first, text: `${first.text}. ${finding.text.replace(/\.$/, '')}` };
    } else {
      all.push(finding);
    }
  }
  return all;
}

/** Reports models that answer under other names, and models without a provider, with what to set. */
async function checkServed(
  settings: Pick<Settings, 'catalogFile' | 'bot' | 'gateway'> & { providers: ProviderSettings },
  providers: ReadonlyMap<string, Provider>,
): Promise<Finding[]> {
  const set = configuredProviders(settings.providers);
  if (providers.size + set.size === 0) return [];
  // Another check reports a catalog that can't be read.
  const catalog = await readCatalog(settings.catalogFile).catch(() => undefined);
  if (!catalog) return [];
  const unserved = textModels(catalog).filter(
    (model) => liveUpstreams(model, providers).length === 0,
  );
  const names = explainNames(catalog, providers).map(({ isProblem, text }) =>
    isProblem ? problem(PROVIDERS.openai.title, text) : ok(PROVIDERS.openai.title, text),
  );
  const served = unserved.map((model) => {
    const why = unservedSentence(model, { providers, set });
    const isDefault = !settings.gateway && model.id === settings.bot.askModel;
    return isDefault
      ? problem('Model catalog', `ASK_MODEL: ${why} Or choose another model.`)
      : warning('Model catalog', `${why} Until then, this model answers with a 503.`);
  });
  return [...names, ...served];
}

async function checkProvider(provider: Provider, probe: Probe): Promise<Finding> {
  const { title, setting, baseUrl, served, keyCheckPath } = provider;
  if (served) return ok(title, `running; ${counted(served.length, 'chat model')}`);
  const address = provider.address?.setting ?? 'the network';
  try {
    const url = `${baseUrl}${keyCheckPath}`;
    const answer = await probe.fetch(url, { headers: providerHeaders(provider) });
    const body = await answer.text();
    const listed = provider.isElsewhere && answer.status === 200 ? readServedModels(body) : [];
    if (listed?.length) provider.served = listed;
    return judge(provider, address, { status: answer.status, body });
  } catch (error) {
    const { message } = error as NoAnswerError;
    return problem(title, `${setting}: could not reach ${title} (${message}). Check ${address}.`);
  }
}

function judge(
  provider: Provider,
  address: string,
  answer: { status: number; body: string },
): Finding {
  const { title, setting } = provider;
  const { status } = answer;
  switch (conventionalStatus(answer, provider)) {
    case 200:
      if (provider.isElsewhere && provider.served === undefined && isJson(answer.body)) {
        const text =
          "accepts the key, but lists no chat model, so Askwatch uses the catalog's model names. If answers fail, name its models in ASKWATCH_CATALOG.";
        return warning(title, text);
      }
      if (isJson(answer.body)) return ok(title, 'accepts the key');
      return problem(title, `${setting}: a web page answered instead of an API. Check ${address}.`);
    case 401:
    case 402:
    case 403:
      return problem(title, errorOfResponse(provider, '', { ...answer, headers: {} }).message);
    case 404:
      // The list of models is optional in OpenAI-compatible APIs.
      return warning(
        title,
        `${setting}: the provider has no list of models (404), so the key was not tested. If answers fail, check ${provider.address?.setting ?? 'the key'}.`,
      );
    case 429:
      return warning(
        title,
        `${title} is rate limiting, so the key was not tested. Try again later.`,
      );
    default:
      return warning(
        title,
        `${title} answered with an error (${status}), so the key was not tested. Try again later.`,
      );
  }
}

function isJson(text: string): boolean {
  try {
    parseUntrustedJson(text, { ...JSON_LIMITS, values: 200_000 });
    return true;
  } catch {
    return false;
  }
}
