// Durations of the Gateway API (GEP-2257): `1h30m`, `500ms`; at most four parts of at most five digits.

const FORM = /^(?:[0-9]{1,5}(?:h|ms|m|s)){1,4}$/;
const PART = /([0-9]+)(h|ms|m|s)/g;
const MILLISECONDS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds, or null when the text is not a duration. */
export function parseDuration(text: string): number | null {
  if (!FORM.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) total += Number(amount) * (MILLISECONDS[unit ?? ''] ?? 0);
  return total;
}
