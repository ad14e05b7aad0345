import { type CaseOfKind, down, failing } from '../case.ts';

const missing = (from: string) => down(from, 'keyword', 'keyword not found in 14 KB of text/html');

const keyword = (target_keyword: string) => ({
  type: 'KEYWORD' as const,
  config: { target_keyword },
});

export const KEYWORDS: readonly CaseOfKind[] = [
  {
    id: 'keyword-setting-changed',
    startedAt: '11:48',
    monitors: [
      {
        ...{ name: 'Shop front', ...keyword('Add to cart!') },
        settingsChanged: '11:47:20',
        periods: [missing('11:48')],
      },
      { name: 'Shop API' },
    ],
    cause: 'Somebody changed what the check of Shop front expects at 11:47; the page answers',
    nextStep: 'Restore the keyword of the check',
    right: [/setting|check|monitor|expectation/i, /chang|edit|modif/i],
    shownBy: [/Somebody changed the settings of Shop front/],
    wrong: [/shop api/i],
  },
  {
    id: 'keyword-text-changed',
    startedAt: '11:41',
    monitors: [{ name: 'Product page', ...keyword('Add to cart'), periods: [missing('11:41')] }],
    found: {
      find_deployments: [
        '2026-11-26T11:39:55Z content r900 by Lena: button text: Add to cart becomes Add to basket',
      ],
    },
    cause:
      'The button says Add to basket since r900 at 11:39, so the keyword of the check is wrong',
    nextStep: 'Change the keyword to Add to basket',
    right: [/basket|r900|renam|wording/i],
    shownBy: [/Add to cart becomes Add to basket/],
    wrong: [/(shop|page) is (down|broken)/i],
  },
  {
    id: 'keyword-noted',
    startedAt: '11:36',
    monitors: [{ name: 'Kundenportal', ...keyword('Anmelden'), periods: [missing('11:36')] }],
    notes: [
      {
        by: 'Jonas',
        text: 'Wir haben „Anmelden“ absichtlich in „Einloggen“ umbenannt',
        at: '11:52',
      },
    ],
    cause: 'The page says Einloggen on purpose, and the check still expects Anmelden',
    nextStep: 'Change the keyword to Einloggen',
    right: [/einloggen|renamed|umbenannt/i],
    shownBy: [/absichtlich in „Einloggen“ umbenannt/],
  },
  {
    id: 'keyword-new-monitor',
    startedAt: '11:43:30',
    monitors: [
      {
        ...{ name: 'Gift cards', ...keyword('Gift Cards') },
        created: '11:43',
        periods: [missing('11:43:30')],
      },
      { name: 'Gift cards API' },
    ],
    cause: 'Gift cards was added at 11:43 and never passed: its keyword does not fit the page',
    nextStep: 'Compare the keyword with the page, also its case',
    right: [/added|new|never|created/i, /keyword|expect|monitor|check/i],
    shownBy: [/Gift cards was added to the monitors/],
    wrong: [/gift cards api/i],
  },
  {
    id: 'keyword-other-status',
    startedAt: '11:39',
    monitors: [
      failing('Webhook receiver', '11:39', 'status', 'answered 204 No Content, expected 200', {
        config: { expected_status: '200' },
      }),
    ],
    found: {
      search_issues: [
        '#1204 Webhook receiver answers 204 from version 3 on (closed): intended, released 2026-11-26T11:38:00Z',
      ],
    },
    cause: 'It answers 204 on purpose since version 3 (issue 1204), and the check expects 200',
    nextStep: 'Expect 204 in the check',
    right: [/204/, /intend|purpose|deliberate|version 3|1204/i],
    shownBy: [/answers 204 from version 3 on/, /answered 204 No Content, expected 200/],
    wrong: [/answered 5/],
  },
];
