// Names and labels derived from names of up to 253 characters, for objects that may have 63.
import { hash } from 'node:crypto';

const LONGEST = 63;
const DIGITS = 8;

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const LABEL_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LOOKS_HASHED = new RegExp(`-[0-9a-f]{${DIGITS}}$`);

/**
 * A DNS label that stands for `text`: the text itself if it is one, otherwise as much of it as fits and a hash of the whole. A text that
 * looks like the second is hashed as well, so that nobody gets the name that another's long one becomes by asking for it.
 *
 * The hash is short, for people: it keeps the objects of one namespace apart, not those of people who wish each other ill.
 */
export function dnsLabel(text: string): string {
  if (DNS_LABEL.test(text) && !LOOKS_HASHED.test(text)) return text;
  const body = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, LONGEST - 1 - DIGITS)
    .replaceAll(/^-+|-+$/g, '');
  const digest = hash('sha256', text, 'hex').slice(0, DIGITS);
  return body === '' ? digest : `${body}-${digest}`;
}

/** A label value that stands for the name of an object: the name itself wherever it may be one (GEP-1762), dots included. */
export const labelValue = (name: string): string => (LABEL_VALUE.test(name) ? name : dnsLabel(name));
