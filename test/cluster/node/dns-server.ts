// The cluster's DNS server: the names of Services, and whatever else the test has on its Internet.
import dgram from 'node:dgram';
import { once } from 'node:events';
import { readQuery, responseCodes, typeNumbers, writeAnswer, type ResourceRecord } from './dns-message.ts';

/** All records of a name (lower case, no dot at its end); null when there is no such name. */
export type Zone = (name: string) => readonly ResourceRecord[] | null;

const DNS_PORT = 53;

export class DnsServer {
  readonly #zones: readonly Zone[];
  readonly #socket = dgram.createSocket('udp4');

  /** The first zone that knows a name answers. */
  constructor(zones: readonly Zone[]) {
    this.#zones = zones;
    this.#socket.on('message', (message, { address, port }) => {
      const answer = this.#answer(message);
      // Whoever asked may be gone; UDP asks again.
      if (answer !== null) this.#socket.send(answer, port, address, () => {});
    });
  }

  async listen(address: string): Promise<void> {
    this.#socket.bind(DNS_PORT, address);
    await once(this.#socket, 'listening');
  }

  stop(): void {
    this.#socket.close();
  }

  #answer(message: Buffer): Buffer | null {
    const question = readQuery(message);
    if (question === null) return null;
    const records = this.#lookUp(question.name);
    if (records === null) return writeAnswer(question, responseCodes.noSuchName, []);
    // A name that stands for another one does so for every type.
    const asked = records.filter(({ type }) => type === 'CNAME' || typeNumbers[type] === question.type);
    return writeAnswer(question, responseCodes.ok, asked);
  }

  /** With the records of what a name stands for: stub resolvers do not ask a second time. */
  #lookUp(name: string, depth = 0): readonly ResourceRecord[] | null {
    for (const zone of this.#zones) {
      const records = zone(name);
      if (records === null) continue;
      const [first] = records;
      if (first?.type !== 'CNAME' || depth > 4) return records;
      return [first, ...(this.#lookUp(first.target.toLowerCase().replace(/\.$/, ''), depth + 1) ?? [])];
    }
    return null;
  }
}
