// Paths as they are compared: RFC 3986 normalisation of percent-encodings, and PathPrefix by whole elements.
//
// Compared is the path as it arrived, without query, except that encodings of unreserved characters are decoded (`%41` is `A`, section
// 6.2.2.2) and the hexadecimal digits of the others are upper-cased (6.2.2.1): two spellings of one URI match alike. Nothing that separates
// is ever decoded, so `%2F` is no slash; malformed sequences stand for themselves. Dot segments and empty segments are not touched.

/** The path in the form that all comparisons use; routes' values go through it too. Linear, and free when there is no `%`. */
export function normalisePath(path: string): string {
  let percent = path.indexOf('%');
  if (percent === -1) return path;
  let result = '';
  let copied = 0;
  for (; percent !== -1; percent = path.indexOf('%', percent)) {
    const byte = hexByte(path, percent + 1);
    if (byte === -1) {
      percent++;
      continue;
    }
    result +=
      path.slice(copied, percent) + (isUnreserved(byte) ? String.fromCharCode(byte) : path.slice(percent, percent + 3).toUpperCase());
    percent += 3;
    copied = percent;
  }
  return result + path.slice(copied);
}

/** A PathPrefix value in the form that is compared: normalised, without trailing slash; '' stands for `/` and matches every path. */
export function normalisePrefix(value: string): string {
  const path = normalisePath(value);
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Whether `path` is below `prefix` by whole elements: `/v2` covers `/v2` and `/v2/x`, not `/v2example`. Both normalised. */
export function hasPrefix(path: string, prefix: string): boolean {
  if (prefix === '') return true;
  return path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === SLASH);
}

const SLASH = 0x2f;

/** Value of the two hexadecimal digits at `at`, or -1. */
export function hexByte(text: string, at: number): number {
  const high = hexDigit(text.charCodeAt(at));
  const low = hexDigit(text.charCodeAt(at + 1));
  return high === -1 || low === -1 ? -1 : high * 16 + low;
}

function hexDigit(c: number): number {
  if (c >= 0x30 && c <= 0x39) return c - 0x30;
  const lower = c | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1;
}

/** RFC 3986 section 2.3. */
function isUnreserved(byte: number): boolean {
  const lower = byte | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2e || byte === 0x5f || byte === 0x7e
  );
}
