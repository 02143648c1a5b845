// IP addresses of endpoints: parsing, and which of them a proxy must never dial.

/** Four bytes, or null. Leading zeros are refused: programs disagree on whether they mean octal. */
function parseIPv4(text: string): readonly number[] | null {
  const parts = text.split('.');
  if (parts.length !== 4) return null;
  const bytes: number[] = [];
  for (const part of parts) {
    if (!/^(?:0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return null;
    bytes.push(Number(part));
  }
  return bytes;
}

/** Eight groups of 16 bits, or null. Zone identifiers are refused: they have no meaning outside of one node. */
function parseIPv6(text: string): readonly number[] | null {
  if (text.length > 45 || !text.includes(':')) return null;
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const groups = halves.map(parseGroups);
  const [head, tail] = groups;
  if (head === null || head === undefined || tail === null) return null;
  if (tail === undefined) return head.length === 8 ? head : null;
  const missing = 8 - head.length - tail.length;
  return missing < 1 ? null : [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

function parseGroups(text: string): readonly number[] | null {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [index, part] of parts.entries()) {
    const ipv4 = index === parts.length - 1 ? parseIPv4(part) : null;
    if (ipv4 !== null) groups.push(((ipv4[0] ?? 0) << 8) | (ipv4[1] ?? 0), ((ipv4[2] ?? 0) << 8) | (ipv4[3] ?? 0));
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return null;
  }
  return groups;
}

const parse = (address: string): readonly number[] | null => parseIPv4(address) ?? parseIPv6(address);

export const isIp = (address: string): boolean => parse(address) !== null;

/** Whatever way they are written. */
export const sameIp = (a: string, b: string): boolean => a === b || (isIp(a) && parse(a)?.join() === parse(b)?.join());

/** What kind of address it is that must not be dialled, or null when it may be. */
export type Forbidden = 'not an IP address' | 'unspecified' | 'loopback' | 'link-local' | 'multicast';

function forbiddenIPv4([a = 0, b = 0]: readonly number[]): Forbidden | null {
  if (a === 0) return 'unspecified';
  if (a === 127) return 'loopback';
  if (a === 169 && b === 254) return 'link-local';
  if (a >= 224) return 'multicast'; // and the reserved block with the broadcast address behind it
  return null;
}

function forbiddenIPv6(groups: readonly number[]): Forbidden | null {
  const [first = 0, ...rest] = groups;
  const embedded = [groups[6] ?? 0, groups[7] ?? 0].flatMap((group) => [group >> 8, group & 255]);
  if (groups.slice(0, 6).every((group) => group === 0)) {
    if (groups[6] === 0 && groups[7] === 0) return 'unspecified';
    if (groups[6] === 0 && groups[7] === 1) return 'loopback';
    return forbiddenIPv4(embedded); // IPv4-compatible
  }
  const mapped = first === 0 && rest.slice(0, 4).every((group) => group === 0) && groups[5] === 0xffff;
  // IPv4-mapped and NAT64 addresses reach the IPv4 address inside them.
  if (mapped || (first === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)))
    return forbiddenIPv4(embedded);
  if ((first & 0xffc0) === 0xfe80) return 'link-local';
  if ((first & 0xff00) === 0xff00) return 'multicast';
  return null;
}

/**
 * Why an endpoint address must not be dialled. Whoever may write an EndpointSlice chooses it, and from the proxy loopback is the proxy
 * itself while link-local is the node's metadata service.
 */
export function forbidden(address: string): Forbidden | null {
  const ipv4 = parseIPv4(address);
  if (ipv4 !== null) return forbiddenIPv4(ipv4);
  const ipv6 = parseIPv6(address);
  return ipv6 === null ? 'not an IP address' : forbiddenIPv6(ipv6);
}

/** `address:port`, with IPv6 in brackets (RFC 3986 section 3.2.2). */
export const hostPort = (address: string, port: number): string => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`);
