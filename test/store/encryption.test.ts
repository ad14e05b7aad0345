import { expect, test } from 'vitest';
import { createEncryption } from '../../src/store/encryption.ts';

const seal = createEncryption('client-secret', 'a purpose');
const TEXT = '{"botToken":"xoxb-1-ü"}';

test('an encrypted text is decrypted only with the same secret and for the same owner', () => {
  const sealed = seal.encrypt(TEXT, 'T1');
  expect(seal.decrypt(sealed, 'T1')).toBe(TEXT);
  expect(createEncryption('client-secret', 'a purpose').decrypt(sealed, 'T1')).toBe(TEXT);
  expect(seal.decrypt(sealed, 'T2')).toBeUndefined();
  expect(createEncryption('client-secreT', 'a purpose').decrypt(sealed, 'T1')).toBeUndefined();
  expect(createEncryption('client-secret', 'another').decrypt(sealed, 'T1')).toBeUndefined();
});

test('an encrypted text shows nothing of the original, and no two are alike', () => {
  const [one, two] = [seal.encrypt(TEXT, 'T1'), seal.encrypt(TEXT, 'T1')];
  expect(one).not.toBe(two);
  expect(Buffer.from(one, 'base64url').toString()).not.toContain('xoxb');
  expect(one).toMatch(/^[\w-]+$/);
});

test('an encrypted text that was changed anywhere is not decrypted', () => {
  const bytes = Buffer.from(seal.encrypt(TEXT, 'T1'), 'base64url');
  for (const at of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[at] = (bytes[at] ?? 0) ^ 1;
    expect(seal.decrypt(changed.toString('base64url'), 'T1')).toBeUndefined();
    expect(seal.decrypt(bytes.subarray(0, at).toString('base64url'), 'T1')).toBeUndefined();
  }
  for (const garbage of ['', 'x', '<>', 'ü'.repeat(100)]) {
    expect(seal.decrypt(garbage, 'T1')).toBeUndefined();
  }
});
