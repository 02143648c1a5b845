// spec.addresses of a Gateway: which of them its entries can have. A host name is the tunnel's, an IP address that of the Service.
import * as cause from '../api/cause-listener.ts';
import type { Cause } from '../api/condition.ts';
import type { Gateway } from '../api/gateway.ts';
import { isIp, sameIp } from './address.ts';

export interface EntryAddresses {
  /** The name of the tunnel; undefined for Gateways without a tunnel, null while it is not known. */
  readonly host: string | null | undefined;
  /** Whether there is a Service, whose address is asked of the cluster. */
  readonly hasService: boolean;
}

export interface RequestedAddresses {
  /** Names of the tunnel to publish. */
  readonly hostnames: readonly string[];
  /** Asked of the cluster; null for any. */
  readonly requestedIp: string | null;
  /** Whether the address of the Service is to be published. */
  readonly publishesIp: boolean;
  /** An address of a type that there is not here. */
  readonly unsupported: Cause | null;
  /** An address that cannot be had. */
  readonly unusable: Cause | null;
}

/** Without a wish every entry publishes what it has; with wishes, those alone. An address without value leaves the choice to us. */
export function requestAddresses(gateway: Gateway, { host, hasService }: EntryAddresses): RequestedAddresses {
  const wishes = gateway.spec.addresses ?? [];
  if (wishes.length === 0) {
    const hostnames = typeof host === 'string' ? [host] : [];
    return { hostnames, requestedIp: null, publishesIp: hasService, unsupported: null, unusable: null };
  }
  const hostnames = new Set<string>();
  let [requestedIp, publishesIp]: [string | null, boolean] = [null, false];
  let [unsupported, unusable]: [Cause | null, Cause | null] = [null, null];
  for (const [index, { type = 'IPAddress', value = '' }] of wishes.entries()) {
    if (type === 'Hostname' && host !== undefined) {
      if (host !== null && (value === '' || value.toLowerCase() === host)) hostnames.add(host);
      else unusable ??= cause.addressNotUsable(index, value, host);
    } else if (type === 'IPAddress' && hasService) {
      if (value !== '' && !isIp(value)) unusable ??= cause.addressMalformed(index, value);
      else if (value !== '' && requestedIp !== null && !sameIp(value, requestedIp))
        unusable ??= cause.addressSecond(index, value, requestedIp);
      else [requestedIp, publishesIp] = [value || requestedIp, true];
    } else {
      unsupported ??= cause.addressTypeUnsupported(
        index,
        type,
        host === undefined ? ['IPAddress'] : hasService ? ['Hostname', 'IPAddress'] : ['Hostname'],
      );
    }
  }
  return { hostnames: [...hostnames], requestedIp, publishesIp, unsupported, unusable };
}
