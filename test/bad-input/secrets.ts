// Every secret of a test, in every spelling in which it could slip out: whole or in pieces, plain, base64, hex, escaped.

/** A piece of so many characters is a leak: JSON.parse and its like quote about that much of what they were given. */
const PIECE = 10;

export class Secrets {
  /** Piece → name of the secret. */
  readonly #pieces = new Map<string, string>();

  /** Adds a random value; texts that people know would be found everywhere. */
  add(name: string, value: string | Buffer): void {
    for (const spelling of spellings(Buffer.from(value))) for (const piece of piecesOf(spelling)) this.#pieces.set(piece, name);
  }

  /** A connector token: base64 of JSON, of which account and tunnel are public and the rest is not. */
  addConnectorToken(name: string, token: string): void {
    const { s } = JSON.parse(Buffer.from(token, 'base64').toString()) as { readonly s: string };
    for (const piece of piecesOf(token)) this.#pieces.set(piece, name);
    this.add(`${name} (its secret)`, s);
    this.add(`${name} (its secret, decoded)`, Buffer.from(s, 'base64'));
  }

  /** PEM: every line of it. */
  addPem(name: string, pem: string): void {
    this.add(name, pem);
    for (const line of pem.split('\n')) if (line.length > PIECE && !line.startsWith('---')) this.add(name, line);
    for (const line of pem.split('\n')) if (line.startsWith('---')) for (const piece of piecesOf(line)) this.#pieces.delete(piece);
  }

  /** Names of the secrets that stand in `text`, each with what stands around it. */
  secretsIn(text: string): readonly string[] {
    const found = new Map<string, string>();
    for (let at = 0; at + PIECE <= text.length; at += 1) {
      const name = this.#pieces.get(text.slice(at, at + PIECE));
      if (name !== undefined && !found.has(name)) found.set(name, text.slice(Math.max(0, at - 80), at + 40));
    }
    return [...found].map(([name, around]) => `${name}: …${around}…`);
  }
}

function piecesOf(text: string): readonly string[] {
  return Array.from({ length: Math.max(0, text.length - PIECE + 1) }, (_, at) => text.slice(at, at + PIECE));
}

function spellings(value: Buffer): readonly string[] {
  const text = value.toString('utf8');
  // Within base64 of something longer a secret has one of three spellings; what its neighbours share is cut off.
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), value])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4)
      .replace(/.{0,4}$/, ''),
  );
  const base64 = [...shifted, ...shifted.map((spelling) => spelling.replaceAll('+', '-').replaceAll('/', '_'))];
  const hex = value.toString('hex');
  return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed()), ...base64, hex, hex.toUpperCase()];
}
