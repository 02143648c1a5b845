// CA certificates that a policy or a Gateway refers to: is the object there, and does its ca.crt hold certificates?
import type { ConfigMap, Secret } from '../api/core.ts';
import type { Key } from '../api/ref.ts';
import { isCertificate } from './der.ts';
import { coreGroup } from './grant.ts';
import { lastFor } from './memo.ts';
import { secretValue } from './token.ts';

export interface CaObjects {
  readonly configMaps: ReadonlyMap<Key, ConfigMap>;
  readonly secrets: ReadonlyMap<Key, Secret>;
}

/** Where people look for CA certificates by convention, and where the specification tells them to put them. */
const KEY = 'ca.crt';

export type CaKind = 'ConfigMap' | 'Secret';

/** The kind, when objects of it can hold CA certificates. */
export const caKind = ({ group, kind }: { readonly group: string; readonly kind: string }): CaKind | null =>
  coreGroup(group) === '' && (kind === 'ConfigMap' || kind === 'Secret') ? kind : null;

/** Certificates as PEM and nothing else, or what keeps the object from being used; the problem continues a sentence about it. */
export type Bundle = { readonly pem: string } | { readonly problem: string };

export function readBundle(objects: CaObjects, kind: CaKind, key: Key): Bundle {
  const object = kind === 'Secret' ? objects.secrets.get(key) : objects.configMaps.get(key);
  return object === undefined ? { problem: 'does not exist, or may not be read' } : bundleOf(object);
}

const bundleOf = lastFor((object: ConfigMap | Secret): Bundle => {
  const text = object.kind === 'Secret' ? secretValue(object, KEY) : configValue(object);
  if (text === undefined || text === '') return { problem: `has nothing under ${KEY}` };
  return text === null ? { problem: `has no PEM under ${KEY}` } : parseBundle(text);
});

const configValue = ({ data }: ConfigMap): string | undefined => (data !== undefined && Object.hasOwn(data, KEY) ? data[KEY] : undefined);

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';
// The class does not contain the dash that the markers begin with: linear, whatever the text is.
const BLOCK = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;

/** What stands between the certificates is left out: comments, and keys that do not belong there. */
function parseBundle(text: string): Bundle {
  const bodies = [...text.matchAll(BLOCK)].map(([, body = '']) => body.replaceAll(/\s+/g, ''));
  const begun = text.split(BEGIN).length - 1;
  if (begun === 0) return { problem: `has no PEM certificate under ${KEY}` };
  const broken = bodies.findIndex((body) => !isCertificate(bytesOf(body)));
  if (broken >= 0) return { problem: `has something else than an X.509 certificate in block ${broken + 1} under ${KEY}` };
  if (bodies.length < begun) return { problem: `has a PEM certificate under ${KEY} that is cut or damaged` };
  return { pem: bodies.map((body) => `${BEGIN}\n${body.replaceAll(/.{64}(?=.)/g, '$&\n')}\n${END}\n`).join('') };
}

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
