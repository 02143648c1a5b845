// The names and encodings that a connector and the edge agree on over HTTP/2. Shared by the native connector and the edge double.

/** Marks what a request of the edge is; absent on an ordinary one. The edge never lets a visitor's header of this name through. */
export const UPGRADE_HEADER = 'cf-cloudflared-proxy-connection-upgrade';
export const UPGRADE_CONTROL_STREAM = 'control-stream';
export const UPGRADE_CONFIGURATION = 'update-configuration';
export const UPGRADE_WEBSOCKET = 'websocket';
/** A request for a private network address (TCP), which only cloudflared can serve. */
export const TCP_SOURCE_HEADER = 'cf-cloudflared-proxy-src';

/** The origin's response headers travel as one encoded value, so that HTTP/2's rules for headers do not apply to them. */
export const RESPONSE_HEADERS = 'cf-cloudflared-response-headers';
/** Says who made the response: the origin, or the connector because it could not reach the origin. */
export const RESPONSE_META = 'cf-cloudflared-response-meta';
export const META_ORIGIN = '{"src":"origin"}';
export const META_CONNECTOR = '{"src":"cloudflared"}';

export const EDGE_SERVER_NAME = 'h2.cftunnel.com';
/** Server name of cloudflared's connectivity checks before it starts. */
export const PROBE_SERVER_NAME = 'probe.cftunnel.com';

/** HTTP/2 in Node cannot carry a single header value of 64 KiB or more: sending one ends the whole session. */
export const MAX_HEADER_VALUE = 65_000;

/** Response headers reserved for the tunnel itself: an origin cannot set them. Lower-case name. */
export function isControlHeader(name: string): boolean {
  return name.startsWith('cf-') && (name.startsWith('cf-int-') || name.startsWith('cf-cloudflared-') || name.startsWith('cf-proxy-'));
}

/** Encodes flat name, value pairs: unpadded base64 of each, `name:value` joined by `;`. Values are latin1, as HTTP/1.1 delivers them. */
export function encodeHeaders(pairs: readonly string[]): string {
  let text = '';
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    if (i > 0) text += ';';
    text += `${base64(pairs[i] ?? '')}:${base64(pairs[i + 1] ?? '')}`;
  }
  return text;
}

/** Decodes to flat name, value pairs, or null when the text is not what `encodeHeaders` makes. */
export function decodeHeaders(text: string): string[] | null {
  const pairs: string[] = [];
  if (text === '') return pairs;
  for (const part of text.split(';')) {
    const fields = ENCODED_PAIR.exec(part);
    if (fields === null) return null;
    pairs.push(Buffer.from(fields[1] ?? '', 'base64').toString('latin1'), Buffer.from(fields[2] ?? '', 'base64').toString('latin1'));
  }
  return pairs;
}

const ENCODED_PAIR = /^([A-Za-z0-9+/]+):([A-Za-z0-9+/]*)$/;

function base64(text: string): string {
  const encoded = Buffer.from(text, 'latin1').toString('base64');
  // Padding is at most two characters; a regular expression here costs more than the encoding.
  if (encoded.endsWith('==')) return encoded.slice(0, -2);
  return encoded.endsWith('=') ? encoded.slice(0, -1) : encoded;
}
