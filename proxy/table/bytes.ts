// Text as byte strings: one character per UTF-8 byte, which is how node:http hands over what arrived on the wire.
//
// A route says `é`, the visitor's header arrives as the two characters `Ã©`. Turning the route's text into bytes once, when it is
// compiled, makes every comparison at request time a plain string comparison.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return false;
  }
  return true;
}

/** UTF-8 of `text`, one character (U+0000 to U+00FF) per byte. */
export function toBytes(text: string): string {
  if (isAscii(text)) return text;
  let bytes = '';
  for (const byte of encoder.encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** The text behind a byte string; bytes that are no UTF-8 become U+FFFD, as they do in Go's regular expressions. */
export function fromBytes(bytes: string): string {
  if (isAscii(bytes)) return bytes;
  const buffer = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) buffer[i] = bytes.charCodeAt(i);
  return decoder.decode(buffer);
}
