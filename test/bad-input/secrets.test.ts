// The helper that looks for secrets finds them in every spelling, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secrets } from './secrets.ts';

const SECRET = 'Hn5+rW/0qYt2-KfL"8xZ';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('a secret in any spelling, and a piece of it', () => {
  const secrets = new Secrets();
  secrets.add('mine', SECRET);
  const texts = {
    plain: `token=${SECRET}`,
    piece: `Unexpected token 'H', "${SECRET.slice(0, 10)}"... is not valid JSON`,
    json: JSON.stringify({ token: SECRET }),
    url: `https://a/?token=${encodeURIComponent(SECRET)}`,
    base64: base64(SECRET),
    'base64 within another text': base64(`Bearer ${SECRET} and more`),
    'base64, another shift': base64(`Bearer: ${SECRET} and more`),
    base64url: base64(`x${SECRET}`).replaceAll('+', '-').replaceAll('/', '_'),
    hex: Buffer.from(SECRET).toString('hex'),
    'upper-case hex': Buffer.from(SECRET).toString('hex').toUpperCase(),
  };
  for (const [name, text] of Object.entries(texts)) assert.equal(secrets.secretsIn(`some words, ${text}, more words`).length, 1, name);
  assert.deepEqual(secrets.secretsIn('the API token is not valid: it is unknown, revoked, expired or not a token'), []);
});

test('a connector token: account and tunnel may be told, the rest may not', () => {
  const [account, tunnel] = ['0123456789abcdef0123456789abcdef', '6ba7b810-9dad-41d1-80b4-00c04fd430c8'];
  const s = base64('a secret of thirty-two bytes...!');
  const token = base64(JSON.stringify({ a: account, t: tunnel, s }));
  const secrets = new Secrets();
  secrets.addConnectorToken('connector', token);
  assert.deepEqual(secrets.secretsIn(`tunnel ${tunnel} of account ${account}`), []);
  for (const text of [token, token.slice(0, 12), `{"s":"${s}"}`, Buffer.from(s, 'base64').toString('hex')]) {
    assert.notDeepEqual(secrets.secretsIn(text), [], text);
  }
});

test('PEM: its lines, but not the words around them', () => {
  const lines = ['MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', 'hQ2vB7kLmN8pRsT4uVwXyZ1aBcDeFgHi'];
  const pem = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
  const secrets = new Secrets();
  secrets.addPem('key', pem);
  assert.deepEqual(secrets.secretsIn('has no -----BEGIN PRIVATE KEY----- under tls.key'), []);
  assert.notDeepEqual(secrets.secretsIn('…hQ2vB7kLmN8pRsT…'), []);
});
