// Graph → the proxies' own entries: for each Gateway and port of its listeners a target port, with the certificates that it serves.
import type { Certificate, GatewayNode, Graph, ListenerNode } from '../graph/types.ts';
import { lastFor } from '../graph/memo.ts';
import { isServedLocally, localEntryId } from '../graph/entry.ts';
import type { CertificateConfig, LocalEntryConfig, LocalListenerConfig } from '#proxy/config/schema.ts';
import { listenersOf } from './listeners.ts';
import type { Ports } from './ports.ts';

/** A port that visitors dial. */
interface LocalPort {
  /** Id of the entry. */
  readonly id: string;
  readonly port: number;
  readonly protocol: 'HTTP' | 'HTTPS';
  /** At least one. */
  readonly listeners: readonly [ListenerNode, ...ListenerNode[]];
}

/** In ascending order. Listeners of one port agree on the protocol: others are in conflict. */
export function localPorts(gateway: GatewayNode): readonly LocalPort[] {
  if (gateway.local === null) return [];
  const byPort = new Map<number, [ListenerNode, ...ListenerNode[]]>();
  for (const listener of listenersOf(gateway)) {
    if (!isServedLocally(listener)) continue;
    const known = byPort.get(listener.spec.port);
    if (known === undefined) byPort.set(listener.spec.port, [listener]);
    else known.push(listener);
  }
  return [...byPort]
    .sort(([a], [b]) => a - b)
    .map(([port, listeners]) => {
      const protocol = listeners[0].spec.protocol === 'HTTPS' ? 'HTTPS' : 'HTTP';
      return { id: localEntryId(gateway.key, port), port, protocol, listeners };
    });
}

/** Ports for which there is no target port are left out. */
export function renderLocalEntries({ gateways }: Graph, targets: Ports): readonly (LocalEntryConfig | CertificateConfig)[] {
  const certificates = new Map<string, Certificate>();
  const entries = gateways.flatMap(localPorts).flatMap(({ id, port, protocol, listeners }): readonly LocalEntryConfig[] => {
    const target = targets.get(id);
    if (target === undefined) return [];
    for (const certificate of listeners.flatMap((listener) => listener.certificates)) certificates.set(certificate.id, certificate);
    const { clientValidation } = listeners[0];
    return [
      {
        kind: 'localEntry',
        id,
        port: target,
        listenerPort: port,
        protocol,
        listeners: listeners.map((listener) => renderListener(listener, protocol)),
        ...(clientValidation !== null && { clientValidation: { ...clientValidation } }),
      },
    ];
  });
  return [...entries, ...[...certificates.values()].map((certificate) => renderCertificate(certificate))];
}

/** The same item as long as the certificate is: it is the largest there is, and need not be written out again. */
const renderCertificate = lastFor(({ id, chain, key }: Certificate): CertificateConfig => ({ kind: 'certificate', id, cert: chain, key }));

const renderListener = ({ id, spec, hostname, certificates }: ListenerNode, protocol: 'HTTP' | 'HTTPS'): LocalListenerConfig => ({
  id,
  protocol,
  port: spec.port,
  ...(hostname !== '' && { hostname }),
  ...(protocol === 'HTTPS' && { certificates: certificates.map((certificate) => certificate.id) }),
});
