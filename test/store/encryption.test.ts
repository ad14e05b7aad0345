import { expect, test } from 'vitest';
import { createSeal } from '../../src/store/encryption.ts';

const seal = createSeal('client-secret', 'a purpose');
const TEXT = '{"botToken":"xoxb-1-ü"}';

test('what is sealed is opened with the same secret alone, for its owner alone', () => {
  const sealed = seal.close(TEXT, 'T1');
  expect(seal.open(sealed, 'T1')).toBe(TEXT);
  expect(createSeal('client-secret', 'a purpose').open(sealed, 'T1')).toBe(TEXT);
  expect(seal.open(sealed, 'T2')).toBeUndefined();
  expect(createSeal('client-secreT', 'a purpose').open(sealed, 'T1')).toBeUndefined();
  expect(createSeal('client-secret', 'another').open(sealed, 'T1')).toBeUndefined();
});

test('nothing of the text can be seen, and no two are sealed alike', () => {
  const [one, two] = [seal.close(TEXT, 'T1'), seal.close(TEXT, 'T1')];
  expect(one).not.toBe(two);
  expect(Buffer.from(one, 'base64url').toString()).not.toContain('xoxb');
  expect(one).toMatch(/^[\w-]+$/);
});

test('whatever is changed in it, it is not opened', () => {
  const bytes = Buffer.from(seal.close(TEXT, 'T1'), 'base64url');
  for (const at of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[at] = (bytes[at] ?? 0) ^ 1;
    expect(seal.open(changed.toString('base64url'), 'T1')).toBeUndefined();
    expect(seal.open(bytes.subarray(0, at).toString('base64url'), 'T1')).toBeUndefined();
  }
  for (const garbage of ['', 'x', '<>', 'ü'.repeat(100)]) {
    expect(seal.open(garbage, 'T1')).toBeUndefined();
  }
});
