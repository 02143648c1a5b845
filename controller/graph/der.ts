// Whether bytes have the outer structure of an X.509 certificate (RFC 5280, 4.1; X.690 for the encoding).
//
// OpenSSL in the proxy has the last word, but a truncated or foreign file must be told to its owner here, where the status is made.

const SEQUENCE = 0x30;
const BIT_STRING = 0x03;

interface Element {
  readonly tag: number;
  readonly start: number;
  readonly end: number;
}

/** The element that begins at `at`, or null when it has no definite length or ends beyond `limit`. */
function elementAt(bytes: Uint8Array, at: number, limit: number): Element | null {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) return null;
  let start = at + 2;
  let length = first;
  if (first >= 0x80) {
    const count = first - 0x80;
    // Lengths of more than four bytes would be more than any object of the API server can hold.
    if (count === 0 || count > 4) return null;
    length = 0;
    for (let index = 0; index < count; index++) length = length * 256 + (bytes[start + index] ?? 0);
    start += count;
  }
  const end = start + length;
  return end <= limit ? { tag, start, end } : null;
}

/** A sequence of exactly tbsCertificate, signatureAlgorithm and signatureValue, with nothing behind it. */
export function isCertificate(bytes: Uint8Array): boolean {
  const whole = elementAt(bytes, 0, bytes.length);
  if (whole === null || whole.tag !== SEQUENCE || whole.end !== bytes.length) return false;
  let at = whole.start;
  for (const tag of [SEQUENCE, SEQUENCE, BIT_STRING]) {
    const part = elementAt(bytes, at, whole.end);
    if (part === null || part.tag !== tag) return false;
    at = part.end;
  }
  return at === whole.end;
}
