// A map by hostname pattern: exact names, wildcards, and one value for every other host. The most specific pattern owns a host.

/** No DNS name is longer (RFC 1035 section 2.3.4); a longer Host can only be meant for the value of every host. */
const MAX_HOSTNAME = 253;

/** Patterns are lower case: a name, `*.` and a name, or '' for every host. */
export class HostMap<Value> {
  readonly #exact = new Map<string, Value>();
  /** By what follows the star, dot included. */
  readonly #wildcards = new Map<string, Value>();
  #any: Value | null = null;

  set(pattern: string, value: Value): void {
    if (pattern === '') this.#any = value;
    else if (pattern.startsWith('*.')) this.#wildcards.set(pattern.slice(1), value);
    else this.#exact.set(pattern, value);
  }

  /** Exact before the longest wildcard before the value of every host. A star stands for one or more labels, never for none. */
  find(host: string): Value | null {
    if (host.length > MAX_HOSTNAME) return this.#any;
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    if (this.#wildcards.size > 0) {
      for (let dot = host.indexOf('.', 1); dot !== -1; dot = host.indexOf('.', dot + 1)) {
        const wildcard = this.#wildcards.get(host.slice(dot));
        if (wildcard !== undefined) return wildcard;
      }
    }
    return this.#any;
  }
}

/** A hostname of the configuration as a pattern: lower case, without trailing dot; `*` alone is every host. */
export function hostPattern(hostname: string | undefined): string {
  const pattern = (hostname ?? '').toLowerCase().replace(/\.$/, '');
  return pattern === '*' ? '' : pattern;
}
