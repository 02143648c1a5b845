// What the pure stages decide and what the IO stages report back: desired values one way, facts the other.
import type { ConfigItem } from '#proxy/config/schema.ts';
import type { TunnelReason } from './condition.ts';
import type { Condition, KubeObject, ObjectMeta } from './core.ts';
import type { ListenerStatus, RouteParentStatus } from './gateway.ts';
import type { PolicyAncestorStatus } from './policy.ts';
import type { KindName } from './snapshot.ts';
import type { Key, ObjectRef } from './ref.ts';

/** One rule of a tunnel's ingress document, as Cloudflare's API takes it. */
export interface IngressRule {
  readonly hostname?: string;
  readonly path?: string;
  readonly service: string;
  readonly originRequest?: Readonly<Record<string, unknown>>;
}

/** The document that a tunnel should have. */
export interface TunnelPlan {
  /** The tunnel's, with something behind it where there is a plan for another connector token of the same tunnel; facts are told by it. */
  readonly id: string;
  readonly tunnelId: string;
  /** Known account, or null: the only account that the API token can see. */
  readonly accountId: string | null;
  /** Secret value: never logged, never in a status. */
  readonly apiToken: string;
  readonly policy: 'Exclusive' | 'Merge' | 'Observe';
  /** Ours, exact before wildcard, without the last rule. */
  readonly rules: readonly IngressRule[];
  /** The rule without hostname at the end. */
  readonly last: IngressRule;
  /** Secret value: the connector token that the proxies are told, which must be this tunnel's; null where they have it from elsewhere. */
  readonly connectorToken: string | null;
  /** GatewayClassConfigs and GatewayConfigs by which this tunnel is configured; statuses and events about the tunnel go to them. */
  readonly configs: readonly ObjectRef[];
  /** True when the rules were folded into the last one because there were too many for the API. */
  readonly folded: boolean;
}

export interface TunnelFact {
  /** Pending: not tried since the process started. Synced: what the plan wants is there. Failed: the last try failed, retried with backoff. */
  readonly state: 'Pending' | 'Synced' | 'Failed';
  readonly accountId: string | null;
  /** Version of the document at Cloudflare, 0 when unknown. */
  readonly version: number;
  readonly reason: TunnelReason;
  /** A sentence for people that names what to do; no secret in it. */
  readonly message: string;
  /** Hostnames of rules in the document that are not ours, at most 20. */
  readonly foreignRules: readonly string[];
}

/** The tunnels that should be made with one API token. */
export interface ProvisionPlan {
  /** Name of the GatewayClassConfig. */
  readonly id: string;
  /** Secret value: never logged, never in a status. */
  readonly apiToken: string;
  /** Known account, or null: the only account that the API token can see. */
  readonly accountId: string | null;
  /** Begins the names of all tunnels that were made for this cluster. */
  readonly prefix: string;
  /** What is noted with each of them, besides its Gateway. */
  readonly owner: Readonly<Record<string, string>>;
  readonly tunnels: readonly ProvisionedTunnel[];
  /** Gateways that there are: tunnels made for others are deleted. */
  readonly gateways: ReadonlySet<Key>;
}

export interface ProvisionedTunnel {
  readonly gateway: Key;
  readonly name: string;
  /** The Secret that keeps its connector token. */
  readonly secret: Key;
  /** Secret value: what is in that Secret now. */
  readonly connectorToken: string | null;
}

/** Why a Gateway has no tunnel yet. */
export interface ProvisionFact {
  readonly reason: 'Pending' | 'NoResources';
  readonly message: string;
}

/** Configuration of one set of proxies. */
export interface PlanePlan {
  /** `shared` for the proxies named by --proxy-endpoints. */
  readonly id: string;
  readonly items: readonly ConfigItem[];
}

/** An object that should exist, as server-side apply takes it. */
export interface ObjectPlan {
  readonly kind: 'Service' | 'EndpointSlice';
  readonly key: Key;
  readonly manifest: ObjectManifest;
}

export interface ObjectManifest extends KubeObject {
  readonly metadata: ObjectMeta & { readonly ownerReferences: readonly object[] };
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface ObjectFact {
  /** Refused: it cannot be until somebody changes something. Failed: the last try failed. Both are tried again with backoff. */
  readonly state: 'Applied' | 'Refused' | 'Failed';
  readonly message: string;
}

export interface PlaneFact {
  /**
   * Unknown: no push round has ended yet. Acknowledged: every ready proxy that answers has this plan.
   * Behind: some answering proxy has not taken it yet. Unreachable: no proxy has answered for 30 s. Rejected: a proxy refuses the configuration.
   */
  readonly state: 'Unknown' | 'Acknowledged' | 'Behind' | 'Unreachable' | 'Rejected';
  readonly message: string;
  readonly proxies: number;
}

/** What the IO stages know, as input of the next status rendering. */
export interface Facts {
  readonly tunnels: ReadonlyMap<string, TunnelFact>;
  readonly planes: ReadonlyMap<string, PlaneFact>;
  /** By kind and key, as `Service default/shop`. */
  readonly objects: ReadonlyMap<string, ObjectFact>;
  /** By Gateway, as long as its tunnel cannot be made. */
  readonly provisions: ReadonlyMap<Key, ProvisionFact>;
}

/**
 * The status that an object should have. The writer merges it into what is there: foreign conditions and foreign parents stay,
 * transition times move only when a condition's status does, an equal result is not written.
 */
export interface StatusUpdate {
  readonly ref: ObjectRef & { readonly kind: KindName };
  readonly key: Key;
  readonly uid: string;
  /** Generation that was looked at; a stored condition of ours with a newer one makes the update void. */
  readonly generation: number;
  readonly desired: DesiredStatus;
}

export type DesiredStatus =
  | { readonly form: 'conditions'; readonly conditions: readonly Condition[]; readonly ownTypes: readonly string[] }
  | {
      readonly form: 'class';
      readonly conditions: readonly Condition[];
      readonly ownTypes: readonly string[];
      /** Sorted by name; null when it is not known what may be claimed: then the field is taken away. */
      readonly supportedFeatures: readonly { readonly name: string }[] | null;
    }
  | {
      readonly form: 'gateway';
      readonly conditions: readonly Condition[];
      readonly ownTypes: readonly string[];
      readonly addresses: readonly { readonly type: string; readonly value: string }[];
      readonly listeners: readonly ListenerStatus[];
      readonly attachedListenerSets?: number;
    }
  | {
      readonly form: 'listeners';
      readonly conditions: readonly Condition[];
      readonly ownTypes: readonly string[];
      readonly listeners: readonly ListenerStatus[];
    }
  /** All our entries of a route; an empty list removes ours. */
  | { readonly form: 'parents'; readonly controllerName: string; readonly parents: readonly RouteParentStatus[] }
  /** All our entries of a policy, most important first; an empty list removes ours. */
  | {
      readonly form: 'ancestors';
      readonly controllerName: string;
      /** Of the conditions in our entries. */
      readonly ownTypes: readonly string[];
      readonly ancestors: readonly PolicyAncestorStatus[];
    };

/** A Kubernetes Event to record once per change of its text. */
export interface EventPlan {
  readonly ref: ObjectRef;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly message: string;
}

/** Objects that must be in the snapshot although their kind is not watched as a whole. */
export interface WantedObjects {
  readonly secrets: ReadonlySet<Key>;
  readonly configMaps: ReadonlySet<Key>;
}
