// Values in messages: cut, and nothing that may be a secret which was pasted into the wrong field.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quote } from '#controller/watch/folder/finding.ts';

test('a long text of letters, capitals and digits is not shown', () => {
  const token = Buffer.from(JSON.stringify({ a: 'account', t: 'tunnel', s: 'secret' })).toString('base64');
  assert.equal(quote(token), `a text of ${token.length} characters that looks like a secret`);
  assert.match(quote('Ab1'.repeat(11)), /looks like a secret/);
});

test('names, sentences and short values are', () => {
  for (const value of ['6BA7B810-9dad-41d1', 'a-name-of-an-object-that-is-long-1', 'Not 1 Secret but a sentence of some words', 5, null])
    assert.equal(quote(value), JSON.stringify(value));
  assert.equal(quote('x'.repeat(100)), `"${'x'.repeat(59)}…`);
});
