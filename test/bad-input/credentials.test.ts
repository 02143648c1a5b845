// Secrets, tokens, accounts and tunnels that are not what they should be: the class says so, and no secret is told to anybody.
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import type { TunnelSeed } from '#test/cloudflare/api/state.ts';
import type { TokenSeed } from '#test/cloudflare/api/server.ts';
import * as o from './objects.ts';
import { System } from './rig.ts';

let system: System;
const OTHER_ACCOUNT = 'fedcba9876543210fedcba9876543210';
const random = (): string => randomBytes(30).toString('base64url');

before(async () => {
  system = await System.start({ flags: ['--proxy-token-secret=tenant/connector'] });
  system.api.addAccount({ id: OTHER_ACCOUNT, name: 'Other' });
});
after(() => system?.stop());

/** What is wrong with one class: its Secret, or what the API makes of it. */
interface Case {
  /** Of the Secret with the API token; a string is the token, null means that there is no Secret. */
  readonly secret: string | o.Fields | null;
  readonly config?: o.Fields;
  readonly tunnel?: Partial<TunnelSeed> | null;
  /** `type reason: message` of conditions of the GatewayClassConfig that are False. */
  readonly condition: RegExp;
}

const token = (seed: Partial<TokenSeed> = {}): string => {
  const value = `cfut_${random()}`;
  system.secrets.add('API token', value);
  system.api.addToken({ name: 'bad', value, ...seed });
  return value;
};

const secretText = (name: string, text: string): string => {
  system.secrets.add(name, text);
  return text;
};

const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');

const cases = (): Readonly<Record<string, Case>> => ({
  'no-secret': {
    secret: null,
    condition:
      /SecretsResolved SecretsMissing: Secret tenant\/no-secret \(spec\.cloudflareCredentialsSecretRef\) does not exist: create it with the Cloudflare API token under the key api-token/,
  },
  'no-key': {
    secret: { stringData: { token: secretText('under another key', random()) } },
    condition:
      /SecretsResolved SecretsMissing: Secret tenant\/no-key .* has no key api-token: put the Cloudflare API token there or correct/,
  },
  'empty-key': {
    secret: { stringData: { 'api-token': '' } },
    condition: /SecretsMissing: key api-token of Secret tenant\/empty-key .* is empty: put/,
  },
  'blank-key': {
    secret: { stringData: { 'api-token': ' \n\t ' } },
    condition: /SecretsMissing: key api-token of Secret tenant\/blank-key .* is empty: put/,
  },
  'binary-key': {
    secret: { stringData: {}, data: { 'api-token': base64(randomBytes(64)) } },
    condition:
      /SecretsMissing: key api-token of Secret tenant\/binary-key .* is not base64 of a text: write the Cloudflare API token again/,
  },
  'two-lines': {
    secret: `${secretText('first line', random())}\n${secretText('second line', random())}`,
    condition:
      /TunnelSynced ApiTokenInvalid: .*the API token is empty, has more than 512 characters, or some that no token has, such as a line break/,
  },
  'not-ascii': {
    secret: secretText('umlauts', `äöü${random()}`),
    condition: /TunnelSynced ApiTokenInvalid: .*or some that no token has/,
  },
  'too-long': {
    secret: secretText('too long', random().repeat(1000)),
    condition: /TunnelSynced ApiTokenInvalid: .*has more than 512 characters/,
  },
  unknown: {
    secret: secretText('unknown token', `cfut_${random()}`),
    condition:
      /TunnelSynced ApiTokenInvalid: Cloudflare refused to .* \(HTTP 401, code 9109: Invalid access token\)\. The API token is not valid: .* Put a valid API token/,
  },
  powerless: {
    secret: token({ permissions: [] }),
    condition:
      /TunnelSynced PermissionDenied: Cloudflare refused to read tunnel [-0-9a-f]{36} \(HTTP 403, code 10000.*lacks the permission "Account → Cloudflare Tunnel: Edit"/,
  },
  'read-only': {
    secret: token({ permissions: ['Cloudflare Tunnel: Read'] }),
    condition:
      /TunnelSynced PermissionDenied: Cloudflare refused to write the configuration of tunnel .* lacks the permission "Account → Cloudflare Tunnel: Edit"/,
  },
  'other-account': {
    secret: token({ accounts: [OTHER_ACCOUNT] }),
    condition: /TunnelSynced PermissionDenied: .*or does not cover this account/,
  },
  'no-account': {
    secret: token({ accounts: [] }),
    config: { accountId: undefined },
    condition: /TunnelSynced AccountNotFound: The API token sees no account, .* set spec\.accountId/,
  },
  'two-accounts': {
    secret: token(),
    config: { accountId: undefined },
    condition: /TunnelSynced AccountAmbiguous: The API token sees 2 accounts: .*\(Bad input\), .*\(Other\)\. Set spec\.accountId/,
  },
  'account-in-secret': {
    secret: { stringData: { 'api-token': token(), 'account-id': secretText('account id', random()) } },
    condition: /Valid Invalid: key account-id of Secret tenant\/account-in-secret is not a Cloudflare account id/,
  },
  'no-tunnel': {
    secret: token(),
    tunnel: null,
    condition:
      /TunnelSynced TunnelNotFound: Cloudflare refused to read tunnel [-0-9a-f]{36} \(HTTP 404.*Check spec\.tunnelID and spec\.accountId/,
  },
  'local-tunnel': {
    secret: token(),
    tunnel: { configSrc: 'local' },
    condition: /TunnelSynced TunnelLocallyManaged: Tunnel .* is locally managed .* Migrate it/,
  },
  'no-tunnel-id': {
    secret: token(),
    config: { tunnelID: undefined, deriveFromToken: true },
    condition: /Valid Invalid: .*accountId|Valid Invalid/,
  },
});

const uuidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

function objectsOf(name: string, index: number, { secret, config = {}, tunnel = {} }: Case): readonly o.Fields[] {
  const tunnelID = uuidOf(index);
  if (tunnel !== null) system.api.addTunnel(o.ACCOUNT_ID, { id: tunnelID, name, ...tunnel });
  const spec = { tunnelID, accountId: o.ACCOUNT_ID, cloudflareCredentialsSecretRef: { name, namespace: o.NAMESPACE }, ...config };
  return [
    o.gatewayClass(name, name),
    o.classConfig(name, spec),
    o.gateway(name, { gatewayClassName: name }),
    o.httpRoute(name, { parentRefs: [{ name }] }),
    ...(secret === null
      ? []
      : [typeof secret === 'string' ? o.secret(name, { 'api-token': secret }) : { ...o.secret(name, {}), ...secret }]),
  ];
}

const falseConditions = (name: string): readonly string[] =>
  Object.entries(system.conditions('GatewayClassConfig', name)).flatMap(([type, { status, reason, message }]) =>
    status === 'False' ? [`${type} ${reason}: ${message}`] : [],
  );

const says = (name: string, condition: RegExp): boolean => falseConditions(name).some((text) => condition.test(text));

suite('bad credentials', () => {
  test('Secrets, API tokens, accounts and tunnels: each class says what is wrong with its own', async () => {
    const all = Object.entries(cases());
    await system.endures(
      'bad credentials',
      () => {
        for (const [index, [name, one]] of all.entries()) system.write(`${name}.yaml`, o.yaml(...objectsOf(name, index, one)));
      },
      () => all.every(([name, { condition }]) => says(name, condition)),
      {
        missing: () =>
          all
            .filter(([name, { condition }]) => !says(name, condition))
            .map(([name, { condition }]) => `${name}: ${condition} is not in ${falseConditions(name).join('; ')}`),
      },
    );
    for (const [name] of all) system.remove(`${name}.yaml`);
  });

  test('connector tokens that are none, or another\u2019s, stop nothing that is configured', async () => {
    const of = (value: unknown): string => base64(JSON.stringify(value));
    const part = (): string => secretText('secret of a bad connector token', randomBytes(32).toString('base64'));
    const right = system.api.connectorToken(o.TUNNEL_ID);
    const WRONG = 'key tunnel-token of Secret tenant/connector \\(--proxy-token-secret\\) is not a connector token: ';
    const bad: readonly (readonly [string, RegExp])[] = [
      [`?${secretText('no base64', random())}`, new RegExp(`Valid Invalid: ${WRONG}it is not base64; copy the token of the tunnel again`)],
      [base64(secretText('no JSON', random())), new RegExp(`${WRONG}it is not base64 of a JSON object`)],
      [of([part()]), new RegExp(`${WRONG}its field "a" is not an account id`)],
      [of({ a: o.ACCOUNT_ID, t: part(), s: part() }), new RegExp(`${WRONG}its field "t" is not a tunnel id`)],
      [of({ a: o.ACCOUNT_ID, t: o.TUNNEL_ID, s: 5 }), new RegExp(`${WRONG}its field "s" is missing`)],
      [
        of({ a: o.ACCOUNT_ID, t: uuidOf(99), s: part() }),
        /Valid Invalid: spec\.tunnelID is 6ba7b810-.*, but the connector token .* is for tunnel 0{8}-.*: make them agree/,
      ],
      [
        of({ a: OTHER_ACCOUNT, t: o.TUNNEL_ID, s: part() }),
        /Valid Invalid: spec\.accountId is 0123456789abcdef.*, but the connector token .* is for account fedcba98.*: make them agree/,
      ],
      [
        '',
        /Valid Invalid: Secret tenant\/connector \(--proxy-token-secret\) has no value under the key tunnel-token: put the connector token there/,
      ],
      [secretText('much too long', random()).repeat(20_000), new RegExp(`${WRONG}it is not base64`)],
    ];
    for (const [value, condition] of bad) {
      system.write('connector.yaml', o.yaml(o.secret('connector', { 'tunnel-token': value })));
      await system.until(`it says ${condition.source}`, () => says('good', condition));
    }
    await system.endures(
      'the right connector token',
      () => system.write('connector.yaml', o.yaml(o.secret('connector', { 'tunnel-token': `${right}\n` }))),
      () => falseConditions('good').length === 0,
    );
  });

  test('answers of the API that are none, or that quote the token', async () => {
    const name = (index: number): string => `answer-${index}`;
    const troubles = [
      [
        { answer: 400, message: `bad token ${system.apiToken} for Bearer ${system.apiToken}` },
        /ConfigurationRejected: Cloudflare refused to write .*bad token \[redacted\]/,
      ],
      [
        { answer: 'html' },
        /UnexpectedAnswer: The answer to the attempt to read .* does not come from Cloudflare's API .* check proxies, captive portals and the API base URL/,
      ],
    ] as const;
    for (const [index, [trouble, condition]] of troubles.entries()) {
      const end = system.api.fail({ ...trouble, match: trouble.answer === 400 ? { method: 'PUT' } : {}, times: 1000 });
      await system.endures(
        `an answer: ${trouble.answer}`,
        () => system.write('answer.yaml', o.yaml(o.rule(name(index), {}))),
        async () => says('good', condition) && (await system.visit(`${name(index)}.example.com`)).body === 'good',
        { missing: () => falseConditions('good') },
      );
      end();
    }
  });

  test('keys of certificates', async () => {
    const key = pem('PRIVATE KEY');
    const files: readonly (readonly [string, o.Fields, RegExp])[] = [
      ['no-pem', { 'tls.crt': pem('CERTIFICATE'), 'tls.key': secretText('key', random()) }, /has no PEM under tls\.key/],
      ['swapped', { 'tls.crt': key, 'tls.key': pem('CERTIFICATE') }, /has no PEM under tls\.crt/],
      ['cut', { 'tls.crt': pem('CERTIFICATE'), 'tls.key': key.slice(0, -40) }, /has no PEM under tls\.key/],
      ['empty', { 'tls.crt': pem('CERTIFICATE'), 'tls.key': '' }, /has nothing under tls\.key/],
    ];
    const reason = (name: string): string => JSON.stringify(system.status('Gateway', `tenant/${name}`)['listeners'] ?? '');
    await system.endures(
      'keys that are none',
      () => {
        for (const [name, data] of files) {
          const listeners = [{ name: 'a', protocol: 'HTTPS', port: 443, tls: { certificateRefs: [{ name }] } }];
          system.write(`${name}.yaml`, o.yaml(o.secret(name, data, { type: 'kubernetes.io/tls' }), o.gateway(name, { listeners })));
        }
      },
      () =>
        files.every(([name, , problem]) =>
          new RegExp(`Secret tenant/${name} \\(tls\\.certificateRefs\\[0\\]\\) ${problem.source}: it must be of type`).test(reason(name)),
        ),
      { missing: () => files.map(([name]) => reason(name)) },
    );
  });

  test('leave both processes small and silent about secrets', () => system.checkEnd({ controller: 400, proxy: 250 }));
});

function pem(label: string): string {
  const body = randomBytes(300).toString('base64').replaceAll(/.{64}/g, '$&\n');
  const text = `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
  if (label !== 'CERTIFICATE') system.secrets.addPem('key of a certificate', text);
  return text;
}
