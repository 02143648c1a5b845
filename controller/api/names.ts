// Names and labels derived from names of up to 253 characters, for objects that may have 63.
import { hash } from 'node:crypto';

const LONGEST = 63;

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const HASHED = /-[0-9a-f]+$/;

/** Digits of a hash for names within one namespace: short, for people. Whoever searches finds two texts with the same. */
const SHORT = 8;

/** Digits of a hash for names of what belongs to different namespaces: nobody finds a second text for it, to take over what is another's. */
export const ACROSS_NAMESPACES = 32;

/**
 * A DNS label that stands for `text`: the text itself if it is one, otherwise as much of it as fits and a hash of the whole. A text that
 * looks like the second is hashed as well, so that nobody gets the name that another's long one becomes by asking for it.
 */
export function dnsLabel(text: string, digits = SHORT): string {
  if (DNS_LABEL.test(text) && HASHED.exec(text)?.[0].length !== digits + 1) return text;
  const body = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, LONGEST - 1 - digits)
    .replaceAll(/^-+|-+$/g, '');
  const digest = hash('sha256', text, 'hex').slice(0, digits);
  return body === '' ? digest : `${body}-${digest}`;
}

/** A label value that stands for the name of an object: the name itself wherever it may be one (GEP-1762), dots included. */
export const labelValue = (name: string): string => (LABEL_VALUE.test(name) ? name : dnsLabel(name));
