// Field names that an HTTP/1.1 response parser must act on, found by length and first letter before any string is compared. Pure.

/** Name → code, with a bit per (length, first letter) that rules out almost every other name without a comparison. */
export class NameTable {
  private readonly slots = new Uint8Array(1024);
  private readonly codes = new Map<string, number>();

  /** Names in lower case; codes above 0. */
  constructor(entries: readonly (readonly [string, number])[]) {
    for (const [name, code] of entries) {
      this.slots[NameTable.slot(name)] = 1;
      this.codes.set(name, code);
      // The usual spelling is found without making a lower-case copy.
      this.codes.set(
        name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
        code,
      );
    }
  }

  private static slot(name: string): number {
    return ((name.length & 31) << 5) | (name.charCodeAt(0) & 31);
  }

  /** True when no name of the table has this length and first letter. */
  excludes(name: string): boolean {
    return this.slots[NameTable.slot(name)] === 0;
  }

  /** 0 when the name is not in the table; any case. */
  find(name: string): number {
    return this.codes.get(name) ?? this.codes.get(name.toLowerCase()) ?? 0;
  }
}

/** The elements of a comma-separated list in lower case, empty ones dropped. */
export function listElements(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '');
}
