// JSON from outside, without the traps of JSON.parse.

/** Parses without ever putting a piece of the input into the error, as JSON.parse does: it may be a Secret. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString()) as unknown;
  } catch {
    throw new Error('not valid JSON');
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
