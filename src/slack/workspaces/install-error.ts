import { readFailure } from '../api/call-failure.ts';

/** Askwatch cannot be installed; the message is shown to whoever tries: what happened and what to do next. */
export class InstallError extends Error {
  override name = 'InstallError' as const;
  /** Of the page. */
  readonly status: number;

  constructor(message: string, { status = 400 }: { status?: number } = {}) {
    super(message);
    this.status = status;
  }
}

/** What somebody is told whose installation did not come about. */
export interface InstallProblem {
  status: number;
  title: string;
  sentence: string;
  /** For the log; undefined where only the person can do something about it. */
  reason?: string;
}

const FAILED = 'Askwatch was not installed';

/** Of Bolt's installer. Source: @slack/oauth 4.0.0, `ErrorCode`. */
const BY_INSTALLER: Record<string, InstallProblem> = {
  slack_oauth_installer_authorization_error: {
    status: 200,
    title: 'Nothing was installed',
    sentence:
      'You cancelled it, and nothing has changed. To install Askwatch after all, begin again.',
  },
  slack_oauth_missing_code: {
    status: 400,
    title: FAILED,
    sentence:
      'Slack did not say that it lets Askwatch in. Where apps need the approval of an admin, ask for it; then begin again.',
  },
};

const OPERATOR = 'Whoever runs Askwatch has to';

/** Slack's refusals that the person who installs can do nothing about. Source: Slack docs, "oauth.v2.access", errors. */
const BY_SLACK: Record<string, string> = {
  bad_client_secret: `${OPERATOR} correct SLACK_CLIENT_SECRET ("Basic Information" of the Slack app).`,
  bad_redirect_uri: `${OPERATOR} correct the redirect URL ("OAuth & Permissions" of the Slack app).`,
  invalid_client_id: `${OPERATOR} correct SLACK_CLIENT_ID ("Basic Information" of the Slack app).`,
  invalid_team_for_non_distributed_app: `${OPERATOR} activate the distribution of the Slack app to other workspaces ("Manage Distribution").`,
};

/** Reads what the installer failed with. Nothing of what came with the request is repeated. */
export function installProblem(error: unknown): InstallProblem {
  if (error instanceof InstallError) {
    return { status: error.status, title: FAILED, sentence: error.message };
  }
  const known = BY_INSTALLER[codeOf(error)];
  if (known) return known;
  if (codeOf(error).startsWith('slack_oauth_') && codeOf(error).endsWith('_state')) {
    return { status: 400, title: FAILED, sentence: STALE };
  }
  const { kind, code } = readFailure(error);
  if (kind !== 'refused') {
    const sentence = 'Slack did not answer as it should. Begin again in a minute.';
    return { status: 502, title: FAILED, sentence, reason: code };
  }
  const sentence =
    BY_SLACK[code] ?? 'Slack did not take what this browser brought back. Begin again.';
  return { status: 502, title: FAILED, sentence, reason: code };
}

/** Where a state is not one, not this browser's, too old or used before. */
export const STALE =
  'This is not the browser in which the installation was begun, or it was begun more than ten minutes ago, or not over https. Begin again.';

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error ? String(error.code) : '';
