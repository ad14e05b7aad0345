// Checks the Slack manifests against Slack's own JSON schema of app manifests, whose file is the argument.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
// Formats (uri and the like) need another package and say little about our constants.
const validate = new Ajv({ strict: false, validateFormats: false }).compile(read(process.argv[2]));
for (const path of ['manifests/slack.json', 'manifests/slack-http.json']) {
  if (!validate(read(path))) {
    console.error(`${path} does not fit the schema:`, validate.errors);
    process.exit(1);
  }
  console.log(`${path} fits Slack's schema`);
}
