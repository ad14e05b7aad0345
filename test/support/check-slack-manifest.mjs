// Checks manifests/slack.json against Slack's own JSON schema of app manifests, whose file is the argument.
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
// Formats (uri and the like) need another package and say little about our constants.
const validate = new Ajv({ strict: false, validateFormats: false }).compile(read(process.argv[2]));
if (!validate(read('manifests/slack.json'))) {
  console.error('manifests/slack.json does not fit the schema:', validate.errors);
  process.exit(1);
}
console.log("manifests/slack.json fits Slack's schema");
